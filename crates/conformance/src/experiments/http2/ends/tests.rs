//! The judges of goodbyes and resets, on hand-made readings and logs.

use super::*;
use crate::oracle::Connection;
use crate::tool::{Further, Reading};

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

fn reset(by: Side, code: u32) -> Entry {
    let reset = StreamReset { by, code, at_ns: 2 };
    Entry { received_ns: 1, reset: Some(reset), ..Entry::default() }
}

fn answered() -> Entry {
    Entry { received_ns: 1, sent_ns: 2, ..Entry::default() }
}

/// A run over this many connections.
fn run(entries: Vec<Entry>, connections: usize, completed: u64, errors: u64) -> Run {
    let connection = Connection { is_http2: true, requests: 1, ..Connection::default() };
    let reading =
        Reading { completed: Some(completed), errors: Some(errors), ..Reading::default() };
    let log = Log { entries, connections: vec![connection; connections], ..Log::default() };
    Run { reading, log, ..Run::default() }
}

#[test]
fn goodbyes_cost_nothing() {
    let judged = |connections, completed, errors, reconnects| {
        let mut run = run(vec![answered(); 1000], connections, completed, errors);
        run.further = Further { reconnects, ..Further::default() };
        passes(&judge_goaway(&run).unwrap())
    };
    assert!(judged(10, 1000, 0, None));
    assert!(judged(10, 1000, 0, Some(8)));
    assert!(!judged(10, 1000, 0, Some(0)), "reconnects hidden");
    assert!(!judged(2, 200, 800, None), "it gave up");
    assert!(!judged(10, 990, 10, None), "goodbyes as errors");
    assert!(!judged(100, 1000, 0, None), "a storm of connections");
    assert!(judge_goaway(&Run::default()).is_err());
}

#[test]
fn refusals_are_counted_and_not_sent_again() {
    let judged = |sent: usize, refused: usize, completed, errors, told| {
        let mut entries = vec![reset(Side::Oracle, code::REFUSED_STREAM); refused];
        entries.resize(sent, answered());
        let mut run = run(entries, 1, completed, errors);
        run.further = Further { refused: told, ..Further::default() };
        let mut checks = Checks::default();
        check_refused(&mut checks, "", &run).unwrap();
        checks.are_right()
    };
    assert!(judged(1000, 20, 980, 20, None));
    assert!(judged(1000, 20, 980, 20, Some(20)));
    assert!(!judged(1020, 20, 1000, 0, None), "sent again");
    assert!(!judged(1020, 20, 980, 20, Some(20)), "sent again, and counted");
    assert!(!judged(1000, 20, 1000, 0, None), "hidden");
    assert!(!judged(1000, 20, 980, 20, Some(0)), "called something else");
    assert!(!judged(1000, 0, 1000, 0, None), "nothing was refused");
}

#[test]
fn resets_cost_one_request_each() {
    // 20 at a time, each for 10 ms; one in a hundred is reset.
    let entry = |i: u64| {
        let (from_ns, to_ns) = (1 + i / 20 * 10 * MS, 1 + (i / 20 + 1) * 10 * MS);
        match i % 100 {
            0 => {
                let reset = StreamReset { by: Side::Oracle, code: code::CANCEL, at_ns: to_ns };
                Entry { received_ns: from_ns, reset: Some(reset), ..Entry::default() }
            }
            _ => Entry { received_ns: from_ns, sent_ns: to_ns, ..Entry::default() },
        }
    };
    let judged = |connections, broken, fewer: bool| {
        let keeps = |i: &u64| !fewer || i % 20 < 10 || *i < 1000;
        let entries: Vec<Entry> = (0..2000).filter(keeps).map(entry).collect();
        passes(&judge_resets(&run(entries, connections, 1, broken), 1.0).unwrap())
    };
    assert!(judged(2, 20, false));
    assert!(!judged(2, 0, false), "hidden");
    assert!(!judged(22, 20, false), "a connection for each");
    assert!(!judged(2, 20, true), "workers are lost");
}

#[test]
fn a_timeout_is_of_one_stream() {
    let judged = |connections, completed, lost, cancelled: usize| {
        let mut entries = vec![answered(); 980];
        entries.extend(vec![reset(Side::Tester, code::CANCEL); cancelled]);
        entries.resize(1000, Entry { received_ns: 1, ..Entry::default() });
        passes(&judge_timeouts(&run(entries, connections, completed, lost)).unwrap())
    };
    assert!(judged(2, 980, 20, 20));
    assert!(!judged(2, 980, 20, 0), "only on the tester's side");
    let late = Connection { end: End::Tester, closed_ns: 1001 * MS, ..Connection::default() };
    let log = |connection| Log { connections: vec![connection], ..Log::default() };
    let open = Entry { opened_ns: 2 * MS, ..Entry::default() };
    assert!(is_cancelled(&log(late), &open, TIMEOUT_S), "by the end of its connection");
    assert!(!is_cancelled(&log(Connection { end: End::Oracle, ..late }), &open, TIMEOUT_S));
    assert!(
        !is_cancelled(&log(Connection { closed_ns: 1003 * MS, ..late }), &open, TIMEOUT_S),
        "late"
    );
    assert!(!is_cancelled(&log(Connection::default()), &open, TIMEOUT_S), "never");
    assert!(!judged(22, 980, 20, 20), "a connection for each");
    assert!(!judged(2, 500, 500, 20), "others with them");
    assert!(!judged(2, 980, 0, 20), "hidden");
}

#[test]
fn an_early_answer_is_one() {
    let judged = |declined: usize, completed, errors| {
        let mut entries = vec![reset(Side::Oracle, code::NO_ERROR); declined];
        entries.resize(200, answered());
        passes(&judge_early(&run(entries, 1, completed, errors)).unwrap())
    };
    assert!(judged(20, 200, 0));
    assert!(!judged(20, 180, 20));
    assert!(!judged(0, 200, 0), "all were sent whole, so nothing is known");
}
