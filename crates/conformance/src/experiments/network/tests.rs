//! The judges of connections, on hand-made logs.

use super::*;
use crate::oracle::{Connection, Entry};

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

fn connections(of: impl Iterator<Item = Connection>) -> Log {
    Log { connections: of.collect(), ..Log::default() }
}

#[test]
fn connecting_takes_its_time() {
    let judged = |p50_s| {
        let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
        passes(&judge_connect_time(&reading, 0.2).unwrap())
    };
    assert!(judged(0.201));
    assert!(!judged(0.1), "only the answer");
    assert!(!judged(0.3));
}

#[test]
fn lost_connects_are_not_latency() {
    let lost = connections((0..256_u64).map(|i| Connection {
        accepted_ns: 1 + if i < 5 { 0 } else { 1_000 * MS },
        ..Connection::default()
    }));
    let judged = |max_s, log: &Log| {
        let reading = Reading { max_s: Some(max_s), ..Reading::default() };
        passes(&judge_connects(&reading, log).unwrap())
    };
    assert!(judged(0.02, &lost));
    assert!(!judged(1.02, &lost));
    assert!(judged(0.02, &connections((0..256).map(|_| Connection::default()))));
    assert!(judge_connects(&Reading::default(), &lost).is_err(), "neither maximum nor p99");
}

#[test]
fn a_request_on_a_lost_connection_has_to_be_told() {
    let late = || Judgement::fail("max 1.66 s", "max 0 ns to 900 ms");
    let says = |text: &str| Reading { text: text.to_owned(), ..Reading::default() };
    let judged =
        |said: &str, otherwise: &str| passes(&or_told(late(), &says(said), &says(otherwise)));
    let dropped = "listeners on this host dropped 7 connections because their queue was full";
    assert!(judged(dropped, "all well"));
    assert!(!judged("all well", "all well"), "silent");
    assert!(!judged(dropped, dropped), "it always says so");
}

fn death(busy: f64, back: u64, errors: u64) -> Run {
    let sample = |i: u64| Sample {
        at_ns: i * 50 * MS,
        cpu_ns: (busy * (i * 50 * MS) as f64) as u64,
        rss_bytes: 1,
    };
    let entry =
        |i: u64| Entry { received_ns: 3_500 * MS + i * 1_500 * MS / back, ..Entry::default() };
    Run {
        acted: vec![
            Acted { action: Action::KillOracle, at_ns: 1_500 * MS },
            Acted { action: Action::StartOracle, at_ns: 3_500 * MS },
        ],
        samples: (0..100).map(sample).collect(),
        log: Log { entries: (0..back).map(entry).collect(), ..Log::default() },
        reading: Reading { errors: Some(errors), ..Reading::default() },
        ..Run::default()
    }
}

#[test]
fn a_death_is_waited_out() {
    let quiet = Reading::default();
    assert!(passes(&judge_death(&death(0.03, 750, 20), &quiet).unwrap()));
    assert!(!passes(&judge_death(&death(0.9, 750, 20), &quiet).unwrap()), "it spins");
    assert!(!passes(&judge_death(&death(0.03, 10, 20), &quiet).unwrap()), "it does not come back");
    assert!(!passes(&judge_death(&death(0.03, 750, 0), &quiet).unwrap()), "not a word");
    assert!(!passes(&judge_death(&Run::default(), &quiet).unwrap()), "it gave up");
    let wolf = Reading { errors: Some(20), ..Reading::default() };
    assert!(!passes(&judge_death(&death(0.03, 750, 20), &wolf).unwrap()), "errors without cause");
}

#[test]
fn overload_is_shed_and_nothing_reconnects() {
    let judged = |errors, seen, opened| {
        let reading = Reading { errors: Some(errors), ..Reading::default() };
        passes(&judge_overload(&reading, seen, opened))
    };
    assert!(judged(2950, 1550, 50));
    assert!(!judged(2950, 1550, 900), "a storm");
    assert!(!judged(0, 1550, 50), "dropped without a word");
    assert!(!judged(0, 4500, 50), "nothing was shed");
}

#[test]
fn addresses_share_the_connections() {
    let log = |second: usize| {
        connections((0..40).map(|i| Connection {
            address: if i < second { 2 } else { 1 },
            requests: 9,
            ..Connection::default()
        }))
    };
    assert!(passes(&judge_addresses(&log(20))));
    assert!(!passes(&judge_addresses(&log(0))));
    assert!(!passes(&judge_addresses(&log(15))));
    assert!(!passes(&judge_addresses(&Log::default())));
}

#[test]
fn connections_share_the_load() {
    let log = |requests: [u32; 8]| Log {
        entries: vec![Entry::default(); requests.iter().sum::<u32>() as usize],
        ..connections(
            requests.into_iter().map(|requests| Connection { requests, ..Connection::default() }),
        )
    };
    assert!(passes(&judge_share(&log([500; 8]))));
    assert!(!passes(&judge_share(&log([570, 430, 500, 500, 500, 500, 500, 500]))));
    assert!(!passes(&judge_share(&log([1000, 1000, 1000, 1000, 0, 0, 0, 0]))));
}

#[test]
fn skew_has_to_be_said() {
    let told = |text: &str| Reading { text: text.to_owned(), ..Reading::default() };
    let judged = |text: &str, control: &str| passes(&judge_skew(&told(text), &told(control)));
    let even = "requests per connection: 1900 to 1910";
    assert!(judged("requests per connection: 95 to 1900", even));
    assert!(judged("slowest per connection: 1.01ms 20.3ms", "slowest per connection: 990us 1.1ms"));
    assert!(judged("connections differ: 95 requests on the slowest", "p50 1 ms"));
    assert!(!judged("p50 1 ms", "p50 1 ms"));
    assert!(!judged(even, even));
    assert!(!judged("connections differ", "connections differ"), "whether or not they do");
    assert!(!judged("sockets used for each connection:", "sockets used for each connection:"));
}

#[test]
fn threads_share_connections() {
    let judged = |mean_s, p99_s, seen| {
        let reading =
            Reading { mean_s: Some(mean_s), quantiles: vec![(0.99, p99_s)], ..Reading::default() };
        passes(&judge_sharing(&reading, seen).unwrap())
    };
    assert!(judged(0.0104, 0.012, 720));
    assert!(!judged(0.154, 0.4, 720), "one thread has one connection for half of the load");
    assert!(!judged(0.0104, 0.012, 650), "what did not fit was not sent");
    assert!(!judged(0.0004, 0.0005, 720));
    assert!(judge_sharing(&Reading::default(), 720).is_err());
}
