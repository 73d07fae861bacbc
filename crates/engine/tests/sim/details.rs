//! Details kept for other testers' views: rates of workers, the first response, each request.

use plimsoll_core::details::DetailsPlan;
use plimsoll_core::plan::Draft;
use plimsoll_io::sim::SimOptions;

use crate::peer::Answer;
use crate::world::{MS, S, assert_quantile, plan, run};

const ALL: DetailsPlan =
    DetailsPlan { worker_rates: true, responses: true, same_length: false, requests: true };

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
