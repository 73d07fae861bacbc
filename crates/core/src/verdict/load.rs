//! Finds what kept the load from being what the plan asks for: connections, ports, files, time; and
//! a load that had no effect at all.

use super::{Cause, Evidence, NO_RESPONSES, Verdict, cause, percent, share, vus};
use crate::units::{counted, format_count};

const UNSENT_SUSPECT: f64 = 0.01;
/// A rate that is lower by this much is not what the server can do.
const IDLING_SUSPECT: f64 = 0.02;

/// How many streams a server allows on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimit {
    /// The least that it allowed at any time, on any connection.
    pub least: u32,
    /// The most; `None`: no limit.
    pub most: Option<u32>,
}

impl StreamLimit {
    /// How many it allowed when it allowed any: what a connection can do at the worst.
    #[must_use]
    pub fn usable(self) -> u32 {
        if self.least > 0 { self.least } else { self.most.unwrap_or(u32::MAX) }
    }
}

pub(super) fn nothing(e: &Evidence) -> Option<Cause> {
    if e.completed > 0 || e.vus.answered_beside > 0 {
        return None;
    }
    cause(Verdict::Invalid, NO_RESPONSES, "not one response arrived".to_owned())
}

/// Nothing but failures: what was measured is how fast the server says no.
pub(super) fn none_ok(e: &Evidence) -> Option<Cause> {
    if e.outcomes.ok > 0 || e.outcomes.failed == 0 {
        return None;
    }
    let all = match e.outcomes.failed {
        1 => "the one response was not good".to_owned(),
        failed => format!("not one of {} responses was good", format_count(failed)),
    };
    let text = format!("{all}: rates and times are those of failures, see the statuses");
    cause(Verdict::Suspect, "none_ok", text)
}

pub(super) fn short(e: &Evidence) -> Option<Cause> {
    let Some(requests) = e.requests.filter(|requests| e.started < *requests) else {
        return vus::short(e);
    };
    let text = format!(
        "{} of {} could be sent before the run had to end",
        format_count(e.started),
        counted(requests, "request")
    );
    cause(Verdict::Suspect, "short", text)
}

pub(super) fn connections(e: &Evidence) -> Option<Cause> {
    if !e.open_loop || share(e.unsent, e.scheduled) < UNSENT_SUSPECT {
        return None;
    }
    let seen = format!(
        "{} of {} found no free connection in time",
        format_count(e.unsent),
        counted(e.scheduled, "request")
    );
    let there = counted(e.connections.into(), "connection");
    let needed = format_count(e.connections_needed);
    let text = if e.completed == 0 {
        // No service time was seen that could say how many connections would do.
        seen
    } else if e.connections_needed > u64::from(e.connections) {
        let limit = e.stream_limit.map(limit_on_each).unwrap_or_default();
        format!("{seen}: {there}, about {needed} needed at the service time seen{limit}")
    } else {
        let why = match e.stream_limit {
            Some(StreamLimit { least: 0, .. }) => "the server allowed no stream for a time",
            _ => "the server was away or stood still",
        };
        format!("{seen}, though {there} would do at the service time seen: {why}")
    };
    cause(Verdict::Suspect, "connections", text)
}

/// Why a connection carries fewer requests at a time than the plan gives it.
fn limit_on_each(limit: StreamLimit) -> String {
    let allowed = counted(limit.usable().into(), "stream");
    let at_times = if limit.most == Some(limit.usable()) { "" } else { " at times" };
    format!(", for the server allows {allowed} on each{at_times}")
}

/// A closed loop had fewer requests in flight than it was asked to have. At a rate a request that
/// finds no free stream waits for one, which is in its response time.
pub(super) fn draining(e: &Evidence) -> Option<Cause> {
    if e.open_loop || e.draining_share < IDLING_SUSPECT {
        return None;
    }
    let text = format!(
        "streams idled for {} of their time on connections that were to end while others of their \
         streams were open, so fewer requests were in flight than asked for: use more connections, \
         or keep them longer",
        percent(e.draining_share)
    );
    cause(Verdict::Suspect, "draining", text)
}

/// A closed loop had fewer requests in flight for a part of the time, so its rate and its quantiles
/// mix two loads.
pub(super) fn lowered_limit(e: &Evidence) -> Option<Cause> {
    if e.open_loop || e.lowered_share < IDLING_SUSPECT {
        return None;
    }
    let least = e.stream_limit.map_or(0, |limit| limit.least);
    let hint = match least {
        0 => String::new(),
        least => format!("; -m {least} gives the same load throughout"),
    };
    let text = format!(
        "the server lowered its limit to {} on a connection while the run went on, so streams \
         idled for {} of their time and rate and quantiles mix different loads{hint}",
        counted(least.into(), "stream"),
        percent(e.lowered_share)
    );
    cause(Verdict::Suspect, "lowered_limit", text)
}

pub(super) fn resources(e: &Evidence) -> Option<Cause> {
    let (code, count, what, hint) = if e.no_ports > 0 {
        ("ports", e.no_ports, "free local port", "net.ipv4.ip_local_port_range")
    } else if e.no_files > 0 {
        ("files", e.no_files, "free file descriptor", "ulimit -n")
    } else {
        return None;
    };
    let text = format!(
        "{} failed because this host had no {what}: raise {hint}",
        counted(count, "connect")
    );
    cause(Verdict::Invalid, code, text)
}

pub(super) fn beyond_hour(e: &Evidence) -> Option<Cause> {
    if e.beyond_hour == 0 {
        return None;
    }
    let text = format!(
        "{} took more than an hour: quantiles show an hour",
        counted(e.beyond_hour, "request")
    );
    cause(Verdict::Suspect, "beyond_hour", text)
}

/// How many connections a rate needs at a service time (Little's law), rounded up.
#[must_use]
pub fn connections_needed(rate_uhz: u64, service_mean_ns: f64) -> u64 {
    (rate_uhz as f64 / 1e6 * service_mean_ns / 1e9).ceil() as u64
}
