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
    match ended.error_code {
        1050 => late(reached, TIMEOUT),
        1100..=1111 => broken(Phase::Dns, OTHER),
        1201 => broken(reached, "broken_pipe"),
        1202 => broken(reached, of_system(text)),
        1211 => late(Phase::Connect, "timed_out"),
        1212 => broken(Phase::Connect, "refused"),
        1213 => broken(Phase::Connect, of_system(text)),
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

/// The name of the system's error whose number stands in a text: ``errno `113` ``.
fn of_system(text: &str) -> &'static str {
    let number = text.split_once("errno `").and_then(|(_, rest)| rest.split_once('`'));
    let number = number.and_then(|(number, _)| number.parse().ok());
    number.map_or(OTHER, |number| kind_of_system(OsError(number)))
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

    use super::*;

    fn ended<'a>(error: &'a str, error_code: u16, timings: Timings) -> RequestEnded<'a> {
        RequestEnded {
            method: "GET",
            url: "http://a/",
            name: "http://a/",
            status: 0,
            proto: "",
            tls_version: "",
            remote_ip: "",
            error,
            error_code,
            is_expected: Some(false),
            tags: None,
            intended_ns: 0,
            started_ns: 0,
            is_redirected: false,
            ended_ns: 10,
            unread_ns: 0,
            timings,
        }
    }

    #[test]
    fn every_error_has_a_known_name_and_an_outcome() {
        let dialled = Timings { blocked_ns: 5, ..Timings::default() };
        let waited = Timings { waiting_ns: 5, ..Timings::default() };
        let reading = Timings { receiving_ns: 5, ..waited };
        let (broken, late) = (Outcome::Broken, Outcome::TimedOut);
        for (text, code, timings, phase, kind, want) in [
            ("request timeout", 1050, dialled, Phase::Connect, "timeout", late),
            ("request timeout", 1050, waited, Phase::Waiting, "timeout", late),
            ("request timeout", 1050, reading, Phase::Receiving, "timeout", late),
            ("lookup: no such host", 1101, dialled, Phase::Dns, "other", broken),
            ("dial: connection refused", 1212, dialled, Phase::Connect, "refused", broken),
            ("dial: i/o timeout", 1211, dialled, Phase::Connect, "timed_out", late),
            ("dial: unknown errno `99` on l", 1213, dialled, Phase::Connect, "no_ports", broken),
            ("dial: unknown errno `24` on l", 1213, dialled, Phase::Connect, "no_files", broken),
            ("dial: unknown errno `x` on l", 1213, dialled, Phase::Connect, "other", broken),
            ("read: connection reset by peer", 1220, waited, Phase::Waiting, "reset", broken),
            ("EOF", 1000, waited, Phase::Waiting, "closed", broken),
            ("unexpected EOF", 1000, reading, Phase::Receiving, "truncated_body", broken),
            ("x509: unknown authority", 1310, dialled, Phase::Tls, "tls_certificate", broken),
            ("got ErrCode CANCEL", 1639, waited, Phase::Waiting, "reset:CANCEL", broken),
            ("got ErrCode NO_ERROR", 1611, waited, Phase::Waiting, "goaway:UNKNOWN", broken),
            ("ErrCode REFUSED_STREAM", 1638, waited, Phase::Waiting, "request_refused", {
                Outcome::Refused
            }),
            ("what nobody knows", 1999, waited, Phase::Waiting, "other", broken),
        ] {
            let (found, fault) = outcome(&ended(text, code, timings));
            assert_eq!(fault, Some(Fault { phase, kind, outcome: want }), "{text}");
            assert_eq!(found, want, "{text}");
            assert!(ERROR_KINDS.contains(&kind), "{kind}");
        }
    }

    #[test]
    fn a_response_is_judged_by_what_is_expected() {
        for (is_expected, ok) in [(None, true), (Some(true), true), (Some(false), false)] {
            let response =
                RequestEnded { status: 404, is_expected, ..ended("", 1404, Timings::default()) };
            assert_eq!(outcome(&response), (Outcome::Completed { status: 404, ok }, None));
        }
    }
}
