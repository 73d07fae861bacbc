//! Requests that a server says it did not process, and that are sent again.

use std::collections::BTreeMap;

use plimsoll_core::plan::Draft;

use crate::http2_script::{Asked, Change, Fate, Hello, Reply};
use crate::http2_truths::{allowing, at_rate, counted, errors, run};
use crate::world::{MS, S};

/// A server refuses one request in fifty, and ends connections while requests are open. Every
/// request is answered in the end, counts once, and has the time since it was due.
#[test]
fn what_was_not_processed_is_sent_again_until_it_is() {
    let script = |asked: &Asked| Reply {
        fate: if asked.number % 50 == 49 { Fate::Refused } else { Fate::Answered },
        change: (asked.number % 500 == 444)
            .then_some(Change::Abrupt(asked.stream.saturating_sub(8).max(1))),
        ..Reply::ok(MS)
    };
    let (ran, log) = run(&counted(10, 10_000), allowing(100), script);
    let (sum, did) = (ran.sum(), log.did);
    let ledger = sum.ledger;
    assert_eq!((ledger.ok, ledger.sent, ledger.refused), (10_000, 10_000, 0), "{ledger:?}");
    assert_eq!(ledger.resent, did.refused, "{ledger:?}");
    assert_eq!(did.requests, 10_000 + ledger.resent, "{ledger:?}");
    assert!(ledger.resent >= 200 + 20 * 4, "{ledger:?}");
    assert_eq!(errors(&sum), BTreeMap::new());
    // The response time has the first try in it, the service time has not.
    assert!(sum.response().max_ns() >= Some(2 * MS), "{:?}", sum.response().max_ns());
    assert!(sum.service.max_ns() < Some(2 * MS), "{:?}", sum.service.max_ns());
}

/// A server that never processes a request: it times out, and is sent again until then.
#[test]
fn what_is_never_processed_times_out() {
    let script = |_: &Asked| Reply { fate: Fate::Refused, ..Reply::ok(MS) };
    let plan = Draft { timeout_ns: 50 * MS, ..counted(1, 5) };
    let (ran, log) = run(&plan, allowing(10), script);
    let (sum, did) = (ran.sum(), log.did);
    let ledger = sum.ledger;
    assert_eq!((ledger.timed_out, ledger.scheduled), (5, 5), "{ledger:?}");
    assert_eq!(did.requests, ledger.sent + ledger.resent, "{ledger:?}");
    assert!(ledger.resent > 5, "{ledger:?}");
    assert_eq!(errors(&sum), BTreeMap::from([("timeout", 5)]));
}

/// A server that takes no request on a connection and leaves: the request goes on the next one.
#[test]
fn a_request_whose_connection_takes_none_goes_on_the_next() {
    let plan = Draft { requests_per_connection: Some(1), timeout_ns: 100 * MS, ..counted(1, 2) };
    let hello = Hello { then: Some((30 * MS, Change::Abrupt(0))), ..allowing(0) };
    let (ran, log) = run(&plan, hello, |_| Reply::ok(MS));
    let sum = ran.sum();
    let ledger = sum.ledger;
    assert_eq!((ledger.timed_out, log.did.requests), (2, 0), "{ledger:?}");
    assert!(ledger.resent >= 2 && log.did.connections > 3, "{ledger:?} {:?}", log.did);
}

/// A connection that ends waits for its slowest request. What it refused goes on another one
/// meanwhile.
#[test]
fn what_was_not_processed_does_not_wait_for_the_connection_that_ends() {
    let script = |asked: &Asked| Reply {
        change: (asked.number == 100)
            .then_some(Change::Abrupt(asked.stream.saturating_sub(8).max(1))),
        ..Reply::ok(if asked.number == 80 { 800 * MS } else { 20 * MS })
    };
    let plan = Draft { connections: 2, ..at_rate(100, 1000, S) };
    let (ran, _) = run(&plan, allowing(100), script);
    let sum = ran.sum();
    let ledger = sum.ledger;
    assert_eq!((ledger.ok, ledger.refused), (1000, 0), "{ledger:?}");
    assert!((1..50).contains(&ledger.resent), "{ledger:?}");
    let response = sum.response();
    let slow = response.buckets().filter(|(ns, _)| *ns > 100 * MS).map(|(_, count)| count);
    assert_eq!(slow.sum::<u64>(), 1, "the slow one alone: {:?}", response.max_ns());
}
