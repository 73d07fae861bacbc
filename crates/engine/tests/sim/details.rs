//! Details kept for other testers' views: rates of workers, the first response, each request.

use plimsoll_core::details::{Buckets, CallsPlan, DetailsPlan};
use plimsoll_core::plan::Draft;
use plimsoll_io::sim::SimOptions;

use crate::peer::Answer;
use crate::world::{MS, S, assert_quantile, at_rate, plan, run};

const ALL: DetailsPlan = DetailsPlan {
    worker_rates: true,
    responses: true,
    same_length: false,
    requests: true,
    calls: None,
    transcripts: false,
};

#[test]
fn rates_requests_and_the_first_response_are_kept() {
    let plan = Draft { details: ALL, requests: Some(400), duration_ns: None, ..plan() };
    let ran = run(&plan, &SimOptions::default(), |_| |_: u64, _: u64| Answer::Status(200, 10 * MS));
    let record = &ran.records[0];
    let details = &record.details;
    // Four connections, each served a hundred times a second.
    assert_quantile(&details.worker_rates, 0.5, 400, 10);
    let first = details.first.as_ref().unwrap();
    assert_eq!(first.status, 200);
    assert!(first.at_ns >= 10 * MS && first.at_ns < 11 * MS);
    assert_eq!(details.body_bytes, 400 * first.body_bytes);
    assert_eq!(details.kept_alive, 400);
    assert_eq!(details.requests.len(), 400);
    for request in &details.requests {
        assert_eq!(request.connect_ns, 0, "they were open before");
        assert!(request.total_ns >= 10 * MS && request.waiting_ns <= request.total_ns);
        assert!(request.start_ns + request.total_ns <= 2 * S);
    }
}

#[test]
fn a_connect_is_part_of_a_request_of_its_own() {
    let requests_per_connection = Some(1);
    let plan = Draft { details: ALL, requests: Some(10), requests_per_connection, ..plan() };
    let ran = run(&plan, &SimOptions::default(), |_| |_: u64, _: u64| Answer::Status(200, MS));
    let details = &ran.records[0].details;
    assert_eq!(details.requests.len(), 10);
    assert!(details.requests.iter().all(|request| request.connect_ns > 0));
}

/// In an open loop of 40 requests a second over four connections: each idles between its requests.
#[test]
fn calls_are_summed_up_with_what_was_opened_for_them() {
    // A bucket up to 2 ms, and one for what takes longer.
    let calls = CallsPlan { time_ends_ns: vec![2_500_000], ..CallsPlan::default() };
    let details = DetailsPlan { calls: Some(calls), ..DetailsPlan::default() };
    let plan = Draft { details, ..at_rate(40_000_000, S) };
    let answer = |number: u64, _: u64| match number {
        5 => Answer::Status(503, 2 * MS),
        7 => Answer::Close,
        _ => Answer::Status(200, 10 * MS),
    };
    let ran = run(&plan, &SimOptions::default(), |_| answer);
    let record = &ran.records[0];
    let calls = record.details.calls.as_deref().expect("asked for");
    assert_eq!((record.measured.ledger.sent, calls.taken.count()), (40, 40));
    assert_eq!((calls.failed.count(), calls.head_bytes.count()), (2, 40));
    let longest = |buckets: &Buckets| buckets.range().map_or(0, |(_, max)| max as u64);
    assert!(longest(&calls.taken) >= 10 * MS && longest(&calls.failed) < 10 * MS);
    assert_eq!(calls.taken.counts().collect::<Vec<_>>(), [(0, 2), (1, 38)]);
    let least_bytes = calls.response_bytes.range().map(|(min, _)| min);
    assert_eq!(least_bytes, Some(0), "without a response");
    let bytes = calls.head_bytes.sum() + calls.body_bytes.sum();
    assert_eq!(bytes, calls.response_bytes.sum());
    let bytes = u64::try_from(bytes).expect("not negative");
    assert_eq!(bytes, record.measured.received_bytes);
    // The first request of each of four connections was not waited for.
    assert_eq!((calls.idle.count(), calls.behind), (36, 0));
    assert!(longest(&calls.idle) <= 100 * MS);
    assert_eq!((calls.connects.count(), calls.addresses.len()), (5, 1));
    let opened: Vec<u64> = calls.opens.values().map(|tally| tally.count).collect();
    assert_eq!((opened.len(), opened.iter().sum::<u64>()), (4, 5));
}
