//! Finds what kept virtual users from the load that their script asks for, and responses from being
//! read when they came.
//!
//! A script runs on the thread that reads responses. While it computes, responses wait, and their
//! times contain that wait. How long one waited is not known; it is no longer than the thread had
//! not looked. So this is an upper bound, and it is compared with the response times like lateness.

use super::lateness::{QUOTED, Quoted, QuotedQuantile};
use super::{Cause, Evidence, Verdict, cause, note, percent, share};
use crate::units::{counted, format_count, format_ns};

const DROPPED_SUSPECT: f64 = 0.01;
const CUT_OFF_SUSPECT: f64 = 0.01;

/// Evidence about virtual users; all zero in a run without them.
#[derive(Debug, Clone, Default)]
pub struct VuFacts {
    /// Iterations that came due.
    pub scheduled: u64,
    /// Of those, dropped because no virtual user was free.
    pub dropped: u64,
    /// The most virtual users that the scenarios may have.
    pub vus_max: u64,
    /// Virtual users that the rate would have needed at the durations seen (Little's law).
    pub vus_needed: u64,
    /// Iterations that scenarios ask for by number, if the run was not interrupted.
    pub wanted: u64,
    /// Of those, never started.
    pub unsent: u64,
    /// How long responses may have waited to be read, and the response time, at each of the
    /// quantiles [`QUOTED`].
    pub read: [Quoted; QUOTED.len()],
    /// Responses that were read.
    pub responses: u64,
    /// Requests that scripts asked for.
    pub requests: u64,
    /// Of those, cut off by the end of their iteration, before or after they were sent.
    pub cut_off: u64,
    /// Calls of gRPC that scripts made. They are counted beside the requests.
    pub calls: u64,
    /// WebSockets that scripts opened. They and their messages are counted beside the requests.
    pub sockets: u64,
    /// What the server answered of those.
    pub answered_beside: u64,
}

impl VuFacts {
    /// Whether virtual users made the load.
    pub(super) fn are_there(&self) -> bool {
        self.vus_max > 0
    }
}

/// Too few virtual users for the rate of iterations.
pub(super) fn dropped(e: &Evidence) -> Option<Cause> {
    let vus = &e.vus;
    let dropped = share(vus.dropped, vus.scheduled);
    if dropped < DROPPED_SUSPECT {
        return None;
    }
    let seen = format!(
        "{} of {} ({}) were dropped because no virtual user was free",
        format_count(vus.dropped),
        counted(vus.scheduled, "iteration"),
        percent(dropped),
    );
    let there = counted(vus.vus_max, "virtual user");
    let text = if vus.vus_needed > vus.vus_max {
        let needed = format_count(vus.vus_needed);
        format!(
            "{seen}: {there}, about {needed} needed at the durations seen; raise preAllocatedVUs \
             and maxVUs"
        )
    } else {
        format!(
            "{seen}, though {there} would do at the durations seen: they came too late, so raise \
             preAllocatedVUs, or the server stood still"
        )
    };
    cause(Verdict::Suspect, "vus", text)
}

/// Requests that the script itself ended before their response, by an exception for example.
pub(super) fn cut_off(e: &Evidence) -> Option<Cause> {
    let VuFacts { requests, cut_off, .. } = e.vus;
    let share = share(cut_off, requests);
    if share < CUT_OFF_SUSPECT {
        return None;
    }
    let text = format!(
        "{} of {} ({}) were cut off by the end of their iteration: the server may have taken \
         longer than their times say; mend exceptions of the script, or raise gracefulStop",
        format_count(cut_off),
        counted(requests, "request"),
        percent(share),
    );
    cause(Verdict::Suspect, "cut_off", text)
}

/// A part of the load that is counted, and that rates and times leave out.
pub(super) fn left_out(e: &Evidence) -> Option<Cause> {
    let VuFacts { calls, sockets, .. } = e.vus;
    let of_calls = (calls > 0).then(|| format!("{} of gRPC", counted(calls, "call")));
    let of_sockets = (sockets > 0).then(|| counted(sockets, "WebSocket"));
    let parts: Vec<String> = of_calls.into_iter().chain(of_sockets).collect();
    if parts.is_empty() {
        return None;
    }
    let text = format!(
        "the script used {}, counted beside the requests; rates and times are of requests alone, \
         and `plimsoll k6 run` shows those of the others",
        parts.join(" and "),
    );
    note("left_out", text)
}

/// Fewer iterations than the scenarios ask for.
pub(super) fn short(e: &Evidence) -> Option<Cause> {
    if e.vus.unsent == 0 || e.vus.wanted == 0 {
        return None;
    }
    let text = format!(
        "{} of {} never started: their scenario ended first; raise maxDuration",
        format_count(e.vus.unsent),
        counted(e.vus.wanted, "iteration"),
    );
    cause(Verdict::Suspect, "short", text)
}

/// Any of the quantiles that has samples enough may be the script's computing as much as the
/// server.
pub(super) fn read_late(e: &Evidence) -> Option<Cause> {
    let quoted = QUOTED.iter().zip(e.vus.read);
    let known = quoted.filter(|(at, _)| e.vus.responses >= at.samples);
    let distorted: Vec<(&QuotedQuantile, Quoted)> =
        known.filter(|(_, quoted)| quoted.is_distorted()).collect();
    let (last, worst) = distorted.last()?;
    let names: Vec<&str> = distorted.iter().map(|(at, _)| at.name).collect();
    let text = format!(
        "{} of the responses may have waited {} or more until the script left time to read them: \
         doubt {}; give the tester more CPUs, the script less to compute, or lower the load",
        last.beyond,
        format_ns(worst.lateness_ns),
        names.join(", "),
    );
    let is_lost = distorted.iter().any(|(_, quoted)| quoted.is_lost());
    cause(if is_lost { Verdict::Invalid } else { Verdict::Suspect }, "read_late", text)
}
