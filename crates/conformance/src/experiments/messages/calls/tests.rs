//! The judges of calls, on hand-made readings and logs.

use super::*;
use crate::oracle::{Connection, Side, StreamReset, code};
use crate::tool::Reading;

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

fn call(status: Option<u32>) -> Entry {
    let call = CallEntry { messages_in: 1, messages_out: 1, status, ..CallEntry::default() };
    Entry { received_ns: 1, sent_ns: 2, call: Some(call), ..Entry::default() }
}

fn run(entries: Vec<Entry>, reading: Reading) -> Run {
    let connection = Connection { is_http2: true, requests: 1, ..Connection::default() };
    let log = Log { entries, connections: vec![connection; 10], ..Log::default() };
    Run { reading, log, ..Run::default() }
}

/// Completed, failed, errors.
fn said(completed: u64, failed: Option<u64>, errors: u64) -> Reading {
    let (completed, errors) = (Some(completed), Some(errors));
    Reading { completed, failed, errors, ..Reading::default() }
}

#[test]
fn a_status_counts_wherever_it_stands() {
    let judged = |bad: Entry, sent: usize, reading: Reading, unavailable| {
        let mut entries = vec![bad; sent / 10];
        entries.resize(sent, call(Some(OK)));
        let mut run = run(entries, reading);
        run.further = Further { unavailable, ..Further::default() };
        let mut checks = Checks::default();
        check_status(&mut checks, "", &run).map(|()| checks.are_right())
    };
    let bad = call(Some(UNAVAILABLE));
    assert_eq!(judged(bad, 1000, said(1000, Some(100), 0), None), Ok(true));
    assert_eq!(judged(bad, 1000, said(900, Some(0), 100), Some(100)), Ok(true));
    assert_eq!(judged(bad, 1000, said(1000, Some(0), 0), None), Ok(false), "all good");
    assert_eq!(judged(bad, 1000, said(1000, Some(100), 0), Some(0)), Ok(false), "another code");
    assert_eq!(judged(bad, 900, said(900, Some(90), 0), Some(90)), Ok(false), "too few");
    assert_eq!(judged(call(Some(OK)), 1000, said(1000, Some(0), 0), None), Ok(false));
    let none = call(None);
    assert_eq!(judged(none, 1000, said(1000, Some(100), 0), Some(0)), Ok(true));
    assert_eq!(judged(none, 1000, said(1000, Some(0), 0), Some(0)), Ok(false));
    assert_eq!(judged(none, 1000, said(1000, Some(100), 0), Some(100)), Ok(false));
    let plain = Entry { call: None, ..bad };
    assert_eq!(judged(plain, 1000, said(1000, Some(100), 0), None), Ok(false), "no gRPC");
    assert!(judged(bad, 1000, said(1000, None, 0), None).is_err());
}

#[test]
fn a_stream_has_more_than_one_time() {
    let call = CallEntry {
        messages_in: 1,
        messages_out: 10,
        first_ns: 11 * MS,
        status: Some(OK),
        ..CallEntry::default()
    };
    let entry =
        Entry { received_ns: 10 * MS, sent_ns: 911 * MS, call: Some(call), ..Entry::default() };
    let judged = |p50_s, first_message_s, gap_s, messages_received| {
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
        let further = Further { first_message_s, gap_s, messages_received, ..Further::default() };
        let run = Run { further, ..run(vec![entry; 40], reading) };
        passes(&judge_messages(&run).unwrap())
    };
    assert!(judged(0.903, Some(0.001), Some(0.1), Some(400)));
    assert!(judged(0.903, Some(0.001), None, None));
    assert!(judged(0.903, None, Some(0.1), None));
    assert!(!judged(0.903, None, None, Some(400)), "one figure");
    assert!(!judged(0.001, Some(0.001), Some(0.1), Some(400)), "the first is taken for all");
    assert!(!judged(0.903, Some(0.9), Some(0.1), Some(400)), "the last is taken for the first");
    assert!(!judged(0.903, Some(0.001), Some(0.9), Some(400)));
    assert!(!judged(0.903, Some(0.001), Some(0.1), Some(40)), "messages are not counted");
    assert!(judge_messages(&run(vec![entry; 40], Reading::default())).is_err());
}

#[test]
fn a_deadline_is_told_and_kept() {
    let judged = |timeout_ns, cancelled_ns: Option<u64>, reading: Reading| {
        let told = CallEntry { messages_in: 1, timeout_ns, ..CallEntry::default() };
        let reset =
            cancelled_ns.map(|at_ns| StreamReset { by: Side::Tester, code: code::CANCEL, at_ns });
        let hung = Entry { received_ns: 1, reset, call: Some(told), ..Entry::default() };
        let answered = Entry { sent_ns: 2, reset: None, ..hung };
        let entries = [vec![hung; 40], vec![answered; 40]].concat();
        judge_deadline(&run(entries, reading)).map(|outcome| passes(&outcome))
    };
    let timed_out = Reading { timed_out: Some(40), errors: Some(0), ..said(40, Some(0), 0) };
    let given_up = || timed_out.clone();
    assert_eq!(judged(100 * MS, Some(105 * MS), given_up()), Ok(true));
    assert_eq!(judged(99 * MS, Some(105 * MS), said(80, Some(40), 0)), Ok(true), "as a status");
    assert_eq!(judged(99 * MS, Some(105 * MS), said(40, Some(0), 40)), Ok(true), "as an error");
    assert_eq!(judged(99 * MS, Some(105 * MS), said(38, Some(0), 42)), Ok(true), "late answers");
    assert_eq!(judged(99 * MS, Some(105 * MS), said(30, Some(0), 50)), Ok(false), "good ones too");
    assert_eq!(judged(0, Some(105 * MS), given_up()), Ok(false), "the server is not told");
    assert_eq!(judged(1000 * MS, Some(105 * MS), given_up()), Ok(false), "of another");
    assert_eq!(judged(100 * MS, None, given_up()), Ok(false), "not cancelled");
    assert_eq!(judged(100 * MS, Some(900 * MS), given_up()), Ok(false), "late");
    assert_eq!(judged(100 * MS, Some(105 * MS), said(80, Some(0), 0)), Ok(false), "hidden");
    assert!(judged(100 * MS, Some(105 * MS), Reading::default()).is_err());
    let nothing_hung = run(vec![call(Some(OK)); 80], said(80, Some(0), 0));
    assert!(!passes(&judge_deadline(&nothing_hung).unwrap()));
}
