//! What went wrong with a request of a script, in the words of results: the phase, the stable name
//! of the error, and the outcome. Scripts are told k6's numbers and texts; both come from one
//! fault.

use plimsoll_core::Phase;
use plimsoll_core::errors::ERROR_KINDS;
use plimsoll_core::outcome::Outcome;
use plimsoll_io::OsError;

use crate::error::{OTHER, TIMEOUT, kind as kind_of_system};
use crate::vu::tally::RequestEnded;

/// An error as results count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub phase: Phase,
    /// One of [`ERROR_KINDS`].
    pub kind: &'static str,
    pub outcome: Outcome,
}

/// What became of a request, and what went wrong if something did. A status that is not as expected
/// is no error here: the response counts as failed.
pub(super) fn outcome(ended: &RequestEnded<'_>) -> (Outcome, Option<Fault>) {
    let is_good = ended.is_expected != Some(false);
    if ended.error.is_empty() {
        return (Outcome::Completed { status: ended.status, ok: is_good }, None);
    }
    let fault = fault(ended);
    (fault.outcome, Some(fault))
}

/// The numbers of k6 that stand for a code of HTTP/2 or for a status.
const GOAWAY: u16 = 1610;
const STREAM: u16 = 1630;
const HTTP2_CONNECTION: u16 = 1650;
const REFUSED_STREAM: u16 = STREAM + 8;

fn fault(ended: &RequestEnded<'_>) -> Fault {
    let timings = &ended.timings;
    let was_sent = timings.sending_ns + timings.waiting_ns + timings.receiving_ns > 0;
    let reached = match () {
        () if timings.receiving_ns > 0 => Phase::Receiving,
        () if was_sent => Phase::Waiting,
        () => Phase::Connect,
    };
    let broken = |phase, kind| Fault { phase, kind, outcome: Outcome::Broken };
    let late = |phase, kind| Fault { phase, kind, outcome: Outcome::TimedOut };
    let text = ended.error;
    let of_system = |otherwise| ended.errno.map_or(otherwise, |it| kind_of_system(OsError(it)));
    match ended.error_code {
        1050 => late(reached, TIMEOUT),
        1100..=1111 => broken(Phase::Dns, of_system(OTHER)),
        1201 => broken(reached, "broken_pipe"),
        1202 => broken(reached, of_system(OTHER)),
        1210 | 1213 => broken(Phase::Connect, of_system(OTHER)),
        1211 => late(Phase::Connect, "timed_out"),
        1212 => broken(Phase::Connect, "refused"),
        1220 => broken(reached, "reset"),
        1301 => broken(Phase::Tls, "tls_protocol"),
        1310 | 1311 => broken(Phase::Tls, "tls_certificate"),
        1300..=1399 => broken(Phase::Tls, "tls_internal"),
        REFUSED_STREAM => {
            Fault { phase: Phase::Waiting, kind: "request_refused", outcome: Outcome::Refused }
        }
        GOAWAY..STREAM => broken(reached, named("goaway:", text)),
        STREAM..HTTP2_CONNECTION => broken(reached, named("reset:", text)),
        // The whole response is there, and its body cannot be read.
        1701 => Fault {
            phase: Phase::Receiving,
            kind: OTHER,
            outcome: Outcome::Completed { status: ended.status, ok: false },
        },
        1000 if text == "EOF" => broken(reached, "closed"),
        1000 if text == "unexpected EOF" => broken(Phase::Receiving, "truncated_body"),
        _ => broken(reached, OTHER),
    }
}

/// The name of a code of HTTP/2 that a text ends with.
fn named(prefix: &str, text: &str) -> &'static str {
    let code = text.rsplit(' ').next().unwrap_or_default();
    let named = |wanted: &str| {
        ERROR_KINDS.iter().find(|kind| kind.strip_prefix(prefix) == Some(wanted)).copied()
    };
    named(code).or_else(|| named("UNKNOWN")).unwrap_or(OTHER)
}

#[cfg(test)]
mod tests {
    use plimsoll_script::js::Timings;
    use plimsoll_script::js::http::{Fault as Met, Operation};

    use super::*;

    /// A request that has met a fault, with the text and the numbers that faults have.
    fn ended<'a>(fault: &Met<'_>, text: &'a str, timings: Timings) -> RequestEnded<'a> {
        RequestEnded {
            error: text,
            error_code: fault.number(),
            errno: fault.errno(),
            timings,
            ..answered(0, Some(false))
        }
    }

    fn answered(status: u16, is_expected: Option<bool>) -> RequestEnded<'static> {
        RequestEnded {
            begun: None,
            method: "GET",
            url: "http://a/",
            name: "http://a/",
            status,
            proto: "",
            tls_version: "",
            remote_ip: "",
            error: "",
            error_code: 0,
            errno: None,
            is_expected,
            tags: None,
            intended_ns: 0,
            started_ns: 0,
            is_redirected: false,
            is_resent: false,
            ended_ns: 10,
            unread_ns: 0,
            timings: Timings::default(),
        }
    }

    #[test]
    fn every_error_has_a_known_name_and_an_outcome() {
        let dialled = Timings { blocked_ns: 5, ..Timings::default() };
        let waited = Timings { waiting_ns: 5, ..Timings::default() };
        let reading = Timings { receiving_ns: 5, ..waited };
        let (broken, late) = (Outcome::Broken, Outcome::TimedOut);
        let (read, write) = (Operation::Read, Operation::Write);
        let connect = |errno| Met::Connect { errno, text: "no luck" };
        let system = |errno| Met::System { operation: write, errno, text: "no luck" };
        let lookup = |errno| Met::Lookup { text: "no luck", errno };
        for (fault, timings, phase, kind, want) in [
            (Met::TimedOut, dialled, Phase::Connect, "timeout", late),
            (Met::TimedOut, waited, Phase::Waiting, "timeout", late),
            (Met::TimedOut, reading, Phase::Receiving, "timeout", late),
            (Met::NoSuchHost, dialled, Phase::Dns, "other", broken),
            (lookup(None), dialled, Phase::Dns, "other", broken),
            (lookup(Some(24)), dialled, Phase::Dns, "no_files", broken),
            (Met::Refused, dialled, Phase::Connect, "refused", broken),
            (Met::ConnectTimedOut, dialled, Phase::Connect, "timed_out", late),
            (connect(99), dialled, Phase::Connect, "no_ports", broken),
            (connect(98), dialled, Phase::Connect, "no_ports", broken),
            (connect(24), dialled, Phase::Connect, "no_files", broken),
            (connect(23), dialled, Phase::Connect, "no_files", broken),
            (connect(113), dialled, Phase::Connect, "unreachable", broken),
            (connect(5), dialled, Phase::Connect, "other", broken),
            (Met::NoSocket, dialled, Phase::Connect, "no_files", broken),
            (Met::ConnectOther("no luck"), dialled, Phase::Connect, "other", broken),
            (Met::Reset(read), waited, Phase::Waiting, "reset", broken),
            (Met::BrokenPipe(write), waited, Phase::Waiting, "broken_pipe", broken),
            (system(110), waited, Phase::Waiting, "timed_out", broken),
            (system(105), waited, Phase::Waiting, "other", broken),
            (Met::Closed, waited, Phase::Waiting, "closed", broken),
            (Met::ClosedWithin, reading, Phase::Receiving, "truncated_body", broken),
            (Met::UnknownAuthority, dialled, Phase::Tls, "tls_certificate", broken),
            (Met::Stream("CANCEL"), waited, Phase::Waiting, "reset:CANCEL", broken),
            (Met::GoAway("NO_ERROR"), waited, Phase::Waiting, "goaway:UNKNOWN", broken),
            (
                Met::Stream("REFUSED_STREAM"),
                waited,
                Phase::Waiting,
                "request_refused",
                Outcome::Refused,
            ),
            (Met::Other("what nobody knows"), waited, Phase::Waiting, "other", broken),
        ] {
            let text = fault.to_string();
            let (found, fault) = outcome(&ended(&fault, &text, timings));
            assert_eq!(fault, Some(Fault { phase, kind, outcome: want }), "{text}");
            assert_eq!(found, want, "{text}");
            assert!(ERROR_KINDS.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_response_is_judged_by_what_is_expected() {
        for (is_expected, ok) in [(None, true), (Some(true), true), (Some(false), false)] {
            let response = answered(404, is_expected);
            assert_eq!(outcome(&response), (Outcome::Completed { status: 404, ok }, None));
        }
    }
}
