//! The request that each connection carries before the load begins.

use plimsoll_core::details::{CallsPlan, DetailsPlan};
use plimsoll_core::plan::{Draft, FirstRequest};
use plimsoll_io::sim::SimOptions;

use crate::peer::Answer;
use crate::world::{MS, Ran, S, START_NS, at_rate, plan, run};

const AT_ONCE: FirstRequest = FirstRequest { one_by_one: false, may_fail: false };

/// Forty requests of the load over four connections, and a first one on each.
fn forty(first_request: FirstRequest) -> Draft {
    let calls = Some(CallsPlan::default());
    let details = DetailsPlan { calls, ..DetailsPlan::default() };
    Draft { first_request: Some(first_request), details, ..at_rate(40_000_000, S) }
}

fn arrivals_ns(ran: &Ran) -> Vec<u64> {
    ran.logs.iter().flat_map(|log| log.borrow().arrivals_ns.clone()).collect()
}

fn connections(ran: &Ran) -> u64 {
    ran.logs.iter().map(|log| log.borrow().connections).sum()
}

/// What the connections of the load have carried before, and how many there were.
#[test]
fn the_load_goes_on_with_the_connections_of_the_first_requests() {
    let one_by_one = FirstRequest { one_by_one: true, ..AT_ONCE };
    let workers = Draft { workers: 2, ..forty(AT_ONCE) };
    let own = Draft { requests_per_connection: Some(1), ..forty(AT_ONCE) };
    let eleven = Draft { requests_per_connection: Some(11), ..forty(AT_ONCE) };
    let ten = Draft { requests_per_connection: Some(10), ..forty(AT_ONCE) };
    for (what, plan, want) in [
        ("at once", forty(AT_ONCE), 4),
        ("one by one", forty(one_by_one), 4),
        ("two workers", workers, 4),
        ("a connection for each request", own, 44),
        ("eleven on each connection", eleven, 8),
        ("ten on each connection", ten, 8),
    ] {
        let ran =
            run(&plan, &SimOptions::default(), |_| |_: u64, _: u64| Answer::Status(200, 10 * MS));
        assert_eq!((ran.arrivals(), connections(&ran)), (44, want), "{what}");
        let before = arrivals_ns(&ran).iter().filter(|at_ns| **at_ns < START_NS).count();
        assert_eq!(before, 4, "{what}");
        let sum = |count: fn(&plimsoll_engine::worker::Record) -> u64| {
            ran.records.iter().map(count).sum::<u64>()
        };
        assert_eq!(sum(|record| record.measured.ledger.ok), 40, "{what}");
        let warm = sum(|record| record.warmup.as_ref().map_or(0, |it| it.ledger.ok));
        assert_eq!(warm, 4, "{what}");
        let calls = |record: &plimsoll_engine::worker::Record| {
            let calls = record.details.calls.as_deref().expect("asked for");
            (calls.taken.count(), calls.connects.count())
        };
        let (taken, connects) =
            ran.records.iter().map(calls).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert_eq!((taken, connects), (40, want), "{what}");
        assert!(ran.opened.iter().all(|opened| opened.first_failure.is_none()), "{what}");
    }
}

#[test]
fn connections_take_turns_where_they_are_to() {
    let answer = |_: u64, _: u64| Answer::Status(200, 10 * MS);
    for (one_by_one, least_ns) in [(false, 0), (true, 30 * MS)] {
        let plan = forty(FirstRequest { one_by_one, ..AT_ONCE });
        let ran = run(&plan, &SimOptions::default(), |_| answer);
        let arrivals_ns = arrivals_ns(&ran);
        let between_ns = arrivals_ns[3] - arrivals_ns[0];
        assert!((least_ns..least_ns + 10 * MS).contains(&between_ns), "{between_ns}");
    }
}

/// In a closed loop too, and by what came of them.
#[test]
fn what_goes_wrong_with_them_is_told() {
    for (what, answer, statuses, reason) in [
        ("a bad status", Answer::Status(503, MS), vec![503], "503"),
        ("a close", Answer::Close, vec![], "closed"),
        ("silence", Answer::Hang, vec![], "100ms"),
        ("no HTTP", Answer::Garbage(MS), vec![], ""),
    ] {
        let first_request = Some(AT_ONCE);
        let plan = Draft { first_request, timeout_ns: 100 * MS, ..plan() };
        let ran = run(&plan, &SimOptions::default(), |_| {
            move |number: u64, _: u64| match number {
                0..4 => answer,
                _ => Answer::Status(200, MS),
            }
        });
        let failure = ran.opened[0].first_failure.as_ref().expect(what);
        assert_eq!(failure.statuses, statuses, "{what}");
        assert!(failure.reason.contains(reason), "{what}: {failure:?}");
        let record = &ran.records[0];
        let warm = record.warmup.as_ref().expect("asked for").ledger;
        assert_eq!((warm.sent, warm.ok), (4, 0), "{what}: {warm:?}");
        let measured = record.measured.ledger;
        assert_eq!((measured.ok, measured.sent > 100), (measured.sent, true), "{what}");
    }
}
