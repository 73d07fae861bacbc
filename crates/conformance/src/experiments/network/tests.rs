//! The judges of connections, on logs made by hand.

use super::*;
use crate::oracle::{Connection, Entry};

fn passes(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pass { .. })
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
    assert!(passes(&judge_death(&death(0.03, 750, 20)).unwrap()));
    assert!(!passes(&judge_death(&death(0.9, 750, 20)).unwrap()), "it spins");
    assert!(!passes(&judge_death(&death(0.03, 10, 20)).unwrap()), "it does not come back");
    assert!(!passes(&judge_death(&death(0.03, 750, 0)).unwrap()), "not a word");
    assert!(!passes(&judge_death(&Run::default()).unwrap()), "it gave up");
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
    assert!(passes(&judge_skew(&told("requests per connection: 95 to 1900"))));
    assert!(!passes(&judge_skew(&told("p50 1 ms"))));
}
