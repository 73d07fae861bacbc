//! Finds what TCP did between the tester and the server: its timers, not the server's work,
//! determine the times of the requests they hit.

use super::{Cause, Evidence, Verdict, cause, note, percent, share};
use crate::histogram::Histogram;
use crate::units::{counted, format_count};

/// From one request in a thousand on, the tail at 99.9 % is TCP's.
const STRUCK_SUSPECT: f64 = 0.001;
/// SYNs may be anybody's on the host, so it takes more of them.
const SYNS_SUSPECT: f64 = 0.01;
/// Fewer than this say nothing of a share.
const STRUCK_MIN: u64 = 10;
/// The first SYN is sent again after one second (RFC 6298 section 2), so a connect that took as
/// long had its SYN, or the answer, lost. A little less, for timers that round.
const SYN_RESENT_NS: u64 = 950_000_000;

/// What TCP counted. What begins with `host` is of everything in the tester's network namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpFacts {
    /// Segments that this run's connections sent again.
    pub resent: u64,
    /// Segments sent, again or for the first time.
    pub host_segments: u64,
    /// Segments sent again, SYNs left out.
    pub host_resent: u64,
    /// Connections opened or tried.
    pub host_opened: u64,
    /// SYNs sent again.
    pub host_syns_resent: u64,
    /// Connections lost by listeners because their queue was full.
    pub host_listen_drops: u64,
    /// Whether the server is in the same network namespace, so that its listener is among those.
    pub server_here: bool,
    /// Connections of this run that were opened.
    pub connects: u64,
    /// Of them, those whose SYN must have been sent again.
    pub connects_retried: u64,
    /// Whether requests may wait for a connect: it is not all done before the first of them.
    pub connects_delay_requests: bool,
}

/// How many of these connects took so long that a SYN must have been sent again.
#[must_use]
pub fn connects_retried(connect: &Histogram) -> u64 {
    connect.count() - connect.count_at_most(SYN_RESENT_NS)
}

/// Of this run's connections where that is known, else of the host's.
pub(super) fn retransmits(e: &Evidence) -> Option<Cause> {
    let tcp = &e.tcp;
    let strikes = |resent, of| resent >= STRUCK_MIN && share(resent, of) >= STRUCK_SUSPECT;
    let (resent, seen) = if strikes(tcp.resent, e.sent) {
        let share = percent(share(tcp.resent, e.sent));
        (tcp.resent, format!("of this run again, {share} of its requests"))
    } else if strikes(tcp.host_resent, tcp.host_segments) {
        let share = percent(share(tcp.host_resent, tcp.host_segments));
        (tcp.host_resent, format!("of this host again, {share} of all it sent"))
    } else {
        return None;
    };
    let text = format!(
        "TCP sent {} {seen}: that may cost a request 200 ms each time, which is the \
         network's doing and not the server's: look for a link or queue that loses packets",
        counted(resent, "segment")
    );
    cause(Verdict::Suspect, "retransmits", text)
}

pub(super) fn connect_retries(e: &Evidence) -> Option<Cause> {
    let tcp = &e.tcp;
    let (retried, of, what) = if share(tcp.connects_retried, tcp.connects) >= STRUCK_SUSPECT {
        (tcp.connects_retried, tcp.connects, "connects took 1 s or more, so their SYN was lost")
    } else if tcp.connects_delay_requests
        && tcp.host_syns_resent >= STRUCK_MIN
        && share(tcp.host_syns_resent, tcp.host_opened.max(tcp.connects)) >= SYNS_SUSPECT
    {
        (tcp.host_syns_resent, tcp.host_opened, "SYNs of this host were lost")
    } else {
        return None;
    };
    let text = format!(
        "{} of {} {what} and sent again after seconds, as when the server's queue of new \
         connections is full: raise its backlog, or open fewer at a time",
        format_count(retried),
        format_count(of.max(retried)),
    );
    if tcp.connects_delay_requests {
        return cause(Verdict::Suspect, "connect_retries", text);
    }
    note("connect_retries", format!("{text} (before the first request was sent)"))
}

/// Drops of a listener in the same network namespace. Others' cannot be seen.
pub(super) fn listen_drops(e: &Evidence) -> Option<Cause> {
    let tcp = &e.tcp;
    let dropped = tcp.host_listen_drops;
    if !tcp.server_here || dropped == 0 || share(dropped, tcp.connects.max(1)) < STRUCK_SUSPECT {
        return None;
    }
    let text = format!(
        "listeners on this host dropped {} because their queue was full: what waited for them \
         waited for TCP's timers: raise the server's backlog and net.core.somaxconn",
        counted(dropped, "connection")
    );
    cause(Verdict::Suspect, "listen_drops", text)
}

/// Addresses of the server's name that no connection was opened to.
pub(super) fn address_left_out(e: &Evidence) -> Option<Cause> {
    let left_out = e.addresses_left_out.as_slice();
    if left_out.is_empty() {
        return None;
    }
    let text = format!(
        "the server's name also stands for {}, which took no connection at the start and was left \
         out: the figures are those of the other addresses",
        left_out.join(", "),
    );
    note("address_left_out", text)
}
