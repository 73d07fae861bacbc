//! What a load over TCP or UDP came to, in fortio's words.
//!
//! fortio counts its calls by the text of what went wrong. Its texts name the ports of both ends,
//! which makes a row of each call; those here leave them out.

use plimsoll_core::details::Calls;
use plimsoll_core::result::Bytes;
use plimsoll_core::{Phase, RunResult};

use super::command::{Carrier, Command};
use super::of_run::{address, named, sockets};
use super::result::Socket;

/// A load without a protocol. fortio counts the bytes of the warm-up with the run's.
pub(super) fn socket(
    command: &Command,
    carrier: Carrier,
    run: &RunResult,
    calls: &Calls,
) -> Socket {
    let (name, place) = (carrier.name(), address(calls, 0));
    let refused = format!("dial {name} {place}: connect: {}", refusal(run));
    let late = match carrier {
        Carrier::Tcp => "i/o timeout",
        Carrier::Udp => "timeout",
    };
    let ledger = &run.ledger;
    // Errors of connections without a call count in no other phase than the connect.
    let differing = errors(run, |kind| kind == "not_echoed");
    let cut = errors(run, |kind| !OTHERWISE.contains(&kind));
    let counts = [
        ("OK", ledger.ok),
        ("read not echoing writes", differing),
        ("short read", cut),
        (late, ledger.timed_out + ledger.unfinished),
        (&refused, ledger.broken.saturating_sub(differing + cut)),
    ];
    let before = warm_up(run);
    let bytes = |of_run: u64, before: u64| i64::try_from(of_run + before).unwrap_or(i64::MAX);
    Socket {
        destination: command.target.clone(),
        // fortio leaves out what it sent and how long it waited.
        payload: None,
        unix_domain_socket: match carrier {
            Carrier::Tcp => Some(command.unix_socket.clone()),
            Carrier::Udp => None,
        },
        req_timeout: 0,
        ret_codes: named(counts),
        socket_count: sockets(calls).values().sum(),
        bytes_sent: bytes(run.bytes.sent, before.sent),
        bytes_received: bytes(run.bytes.received, before.received),
    }
}

/// What the warm-up sent and received. All calls of a load have the same length.
fn warm_up(run: &RunResult) -> Bytes {
    let call_bytes = run.bytes.sent.checked_div(run.ledger.sent).unwrap_or(0);
    let ledger = run.warmup.as_ref().map(|warmup| warmup.ledger).unwrap_or_default();
    Bytes { sent: ledger.sent * call_bytes, received: ledger.ok * call_bytes }
}

/// Kinds of errors that stand for no call that was cut short.
const OTHERWISE: [&str; 4] = ["not_echoed", "timeout", "abandoned", "unsolicited"];

/// How many calls on open connections ended with errors of some kinds.
fn errors(run: &RunResult, is_meant: impl Fn(&str) -> bool) -> u64 {
    let open = run.errors.iter().filter(|error| error.phase != Phase::Connect);
    open.filter(|error| is_meant(&error.kind)).map(|error| error.count).sum()
}

/// Why connections were not opened, in Go's spelling.
fn refusal(run: &RunResult) -> String {
    let mut of_connects = run.errors.iter().filter(|error| error.phase == Phase::Connect);
    let sample = of_connects.next().map_or("failed", |error| error.sample.as_str());
    let text = sample.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_core::Ledger;
    use plimsoll_core::errors::ErrorCount;
    use plimsoll_core::plan::{Draft, Endpoint};
    use plimsoll_core::result::{Tool, Warmup};

    use super::*;
    use crate::fortio::{Task, parse};

    #[test]
    fn calls_are_counted_by_what_fortio_says_of_them() {
        let words = ["load", "-n", "10", "tcp://h:1"].map(str::to_owned);
        let Ok(Task::Load(command)) = parse(&words) else { panic!("a load") };
        let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
        let mut run = RunResult::empty(tool, &Draft::new(Endpoint::http("h", 1, "/")));
        run.ledger.sent = 100;
        run.ledger.ok = 90;
        run.ledger.timed_out = 3;
        run.ledger.broken = 2 + 1 + 2 + 4;
        run.bytes = Bytes { sent: 2400, received: 2300 };
        for (phase, kind, count, sample) in [
            (Phase::Waiting, "not_echoed", 2, "other bytes"),
            (Phase::Waiting, "closed", 1, "the server closed"),
            (Phase::Receiving, "reset", 2, "Connection reset by peer (os error 104)"),
            (Phase::Waiting, "timeout", 3, "nothing within 3s"),
            (Phase::Waiting, "unsolicited", 7, "bytes that answer no request"),
            (Phase::Connect, "refused", 9, "Connection refused (os error 111)"),
        ] {
            let (kind, sample) = (kind.to_owned(), sample.to_owned());
            run.errors.push(ErrorCount { phase, kind, count, sample });
        }
        let mut calls = Calls { addresses: vec!["127.0.0.1:1".to_owned()], ..Calls::default() };
        for connection in [0, 0, 1] {
            calls.opens.entry((connection, 0)).or_default().record(5);
        }
        let ledger = Ledger { sent: 2, ok: 1, ..Ledger::default() };
        run.warmup = Some(Warmup { ledger, ..Warmup::default() });
        let socket = socket(&command, Carrier::Tcp, &run, &calls);
        let counted: Vec<_> =
            socket.ret_codes.iter().map(|(code, n)| (code.as_str(), *n)).collect();
        let want = [
            ("OK", 90),
            ("dial tcp 127.0.0.1:1: connect: connection refused", 4),
            ("i/o timeout", 3),
            ("read not echoing writes", 2),
            ("short read", 3),
        ];
        assert_eq!(counted, want);
        assert_eq!(
            (socket.socket_count, socket.bytes_sent, socket.bytes_received),
            (3, 2448, 2324)
        );
    }
}
