//! The judges of messages over WebSockets, on hand-made readings and logs.

use super::*;
use crate::oracle::{Connection, Entry};
use crate::tool::{Further, Reading};

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

/// A run in which this many of 1000 messages were answered, each after this time, over this many
/// connections with these figures.
fn run(answered: usize, took_ns: u64, connections: usize, socket: SocketEntry) -> Run {
    let entry = Entry { received_ns: MS, sent_ns: MS + took_ns, ..Entry::default() };
    let mut entries = vec![entry; answered];
    entries.resize(1000, Entry { sent_ns: 0, ..entry });
    let connection = Connection { requests: 1, socket: Some(socket), ..Connection::default() };
    let log = Log { entries, connections: vec![connection; connections], ..Log::default() };
    Run { log, ..Run::default() }
}

/// Completed, errors, p50.
fn says(completed: u64, errors: u64, p50_s: f64) -> Reading {
    let quantiles = vec![(0.5, p50_s)];
    Reading { completed: Some(completed), errors: Some(errors), quantiles, ..Reading::default() }
}

#[test]
fn pushed_messages_are_no_replies() {
    let socket = SocketEntry { pushed: 255, ..SocketEntry::default() };
    let judged = |completed, p50_s, pushed| {
        let further = Further { pushed, ..Further::default() };
        let reading = says(completed, 0, p50_s);
        passes(&judge_pushed(&Run { reading, further, ..run(1000, 50 * MS, 4, socket) }).unwrap())
    };
    assert!(judged(1000, 0.0505, Some(1020)));
    assert!(judged(1000, 0.0505, Some(1014)), "some after the end");
    assert!(judged(1000, 0.0505, None));
    assert!(!judged(1000, 0.0205, None), "the pushed one is taken for the reply");
    assert!(!judged(1000, 0.0505, Some(0)), "not counted");
    assert!(!judged(1000, 0.0505, Some(2020)), "replies are counted as pushed");
    assert!(!judged(2020, 0.0505, Some(1020)), "all that comes is counted");
    assert!(judge_pushed(&run(1000, 50 * MS, 4, socket)).is_err(), "it says nothing");
}

#[test]
fn a_reply_ends_with_its_last_fragment() {
    let judged = |p50_s, pongs, pings| {
        let socket = SocketEntry { pings: 250, pongs, ..SocketEntry::default() };
        let further = Further { pings, ..Further::default() };
        let reading = says(1000, 0, p50_s);
        let run = Run { reading, further, ..run(1000, 200 * MS, 4, socket) };
        passes(&judge_fragments(&run).unwrap())
    };
    assert!(judged(0.201, 250, Some(1000)));
    assert!(judged(0.201, 250, None));
    assert!(!judged(0.1, 250, None), "before the last");
    assert!(!judged(0.0005, 250, None), "at the first");
    assert!(!judged(0.201, 0, None), "no pongs");
    assert!(!judged(0.201, 250, Some(3)), "pings are counted otherwise");
    let nothing_pinged = run(1000, 200 * MS, 4, SocketEntry::default());
    let reading = says(1000, 0, 0.201);
    assert!(!passes(&judge_fragments(&Run { reading, ..nothing_pinged }).unwrap()));
}

#[test]
fn a_close_costs_what_was_open() {
    let judged = |connections, completed, lost, reconnects| {
        let further = Further { reconnects, ..Further::default() };
        let run = run(950, 5 * MS, connections, SocketEntry::default());
        let reading = says(completed, lost, 0.005);
        passes(&judge_closed(&Run { reading, further, ..run }).unwrap())
    };
    assert!(judged(10, 950, 50, Some(8)));
    assert!(judged(10, 950, 50, None));
    assert!(!judged(10, 950, 0, Some(8)), "the lost are hidden");
    assert!(!judged(10, 1000, 0, Some(8)), "the lost are good");
    assert!(!judged(10, 900, 100, Some(8)), "more than those were lost");
    assert!(!judged(10, 950, 50, Some(0)), "reconnects are hidden");
    assert!(!judged(2, 950, 50, None), "it gave up");
    assert!(!judged(100, 950, 50, None), "a storm of connections");
    let mut unused = run(950, 5 * MS, 11, SocketEntry::default());
    unused.log.connections[10].requests = 0;
    for (reconnects, want) in [(7, false), (8, true), (9, true), (10, false)] {
        let further = Further { reconnects: Some(reconnects), ..Further::default() };
        let reading = says(950, 50, 0.005);
        let outcome = judge_closed(&Run { reading, further, ..unused.clone() }).unwrap();
        assert_eq!(passes(&outcome), want, "{reconnects} with one that carried nothing");
    }
    let mut fewer = run(95, 5 * MS, 10, SocketEntry::default());
    fewer.log.entries.truncate(100);
    let reading = says(95, 5, 0.005);
    assert!(!passes(&judge_closed(&Run { reading, ..fewer }).unwrap()), "the load ended");
}

#[test]
fn other_connections_and_broken_frames_fail() {
    let good =
        Connection { requests: 1, socket: Some(SocketEntry::default()), ..Connection::default() };
    let unmasked = Some(SocketEntry { unmasked: 1, ..SocketEntry::default() });
    for (connections, passes) in [
        (vec![good], true),
        (vec![good, Connection { socket: None, ..good }], false),
        (vec![good, Connection { socket: None, requests: 0, ..good }], true),
        (vec![Connection { socket: unmasked, ..good }], false),
        (vec![Connection { broke: 1002, ..good }], false),
    ] {
        let mut checks = Checks::default();
        keeps_to_websocket(&mut checks, &Log { connections, ..Log::default() });
        assert_eq!(checks.are_right(), passes);
    }
}
