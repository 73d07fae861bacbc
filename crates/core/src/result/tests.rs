//! Merging, reading back, and the checked-in schema, over results filled through a recorder.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::metric::{Kind, Metrics, Registry, TagsId};
use crate::outcome::Outcome;
use crate::part::Place;
use crate::phase::Phase;
use crate::plan::Endpoint;
use crate::recorder::{Moments, Span};
use crate::usage::{CgroupUsage, NetworkUsage, UsageSample, Watched};

fn empty() -> RunResult {
    let plan = Draft { pin: vec![0], ..Draft::new(Endpoint::http("127.0.0.1", 8080, "/")) };
    RunResult {
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        elapsed_ns: 1_000_000_000,
        rate: Rate { window_ns: 1_000_000_000, ..Rate::default() },
        ..RunResult::empty(Tool { name: "plimsoll".to_owned(), version: "0".to_owned() }, &plan)
    }
}

/// A result of requests that took `latencies_ns`, of which every third is a 503.
fn of(latencies_ns: &[u64]) -> RunResult {
    let mut recorder = Recorder::new();
    record_metrics(&mut recorder, latencies_ns);
    for (i, &latency_ns) in latencies_ns.iter().enumerate() {
        let moments = Moments {
            first_byte_ns: latency_ns / 2,
            written_ns: latency_ns / 4,
            ..Moments::default()
        };
        recorder.scheduled(Place::NOWHERE);
        recorder.started(&moments, Place::NOWHERE);
        let ok = i % 3 != 0;
        let status = if ok { 200 } else { 503 };
        recorder.ended(&moments, latency_ns, Outcome::Completed { status, ok }, Place::NOWHERE);
        recorder.error(Phase::Waiting, "closed", 1, || format!("after {latency_ns}"));
    }
    let mut result = empty();
    let span = Span::nth(latencies_ns.len() as u64 % 4, 0);
    let mut interval = recorder.take_interval(span, 17, Box::default());
    result.series.add(&interval.pack());
    result.record(&recorder);
    result.loader.pauses.push(Pause { at_ns: latencies_ns.len() as u64, for_ns: 1 });
    result.target = latencies_ns.first().map(|&first_ns| watched(first_ns % 5));
    if !latencies_ns.is_empty() {
        result.groups = vec![Part::new("::visit")];
        result.iterations = Some(iterations(latencies_ns));
    }
    result
}

/// An iteration for each latency, the last of which is not finished.
fn iterations(latencies_ns: &[u64]) -> Iterations {
    let mut iterations = Iterations { target_per_second: Some(2.0), ..Iterations::default() };
    for &latency_ns in &latencies_ns[1..] {
        iterations.started();
        iterations.completed(0, 0, latency_ns);
    }
    iterations.started();
    iterations.unfinished += 1;
    iterations
}

/// The same as custom metrics of all kinds, some with tags and some rejected. Without latencies
/// nothing is declared.
fn record_metrics(recorder: &mut Recorder, latencies_ns: &[u64]) {
    let kinds = [Kind::Counter, Kind::Gauge, Kind::Rate, Kind::Trend, Kind::TimeTrend];
    let mut registry = Registry::default();
    let kinds = kinds.into_iter().take(latencies_ns.len());
    let ids: Vec<_> = kinds
        .map(|kind| registry.declare(&format!("m{}", kind as u8), kind).expect("a name"))
        .collect();
    recorder.metrics = Metrics::new(&Arc::new(registry));
    for (at, &latency_ns) in latencies_ns.iter().enumerate() {
        let home = recorder.metrics.tags(&[("page", "home")]);
        let tags = if at % 2 == 0 { home } else { TagsId::NONE };
        for id in &ids {
            let value = latency_ns as f64 / 7.0;
            recorder.metrics.record(*id, tags, value, at as u64);
            recorder.metrics.record(*id, tags, -value, at as u64);
        }
    }
}

/// A server that was watched, or the sum of two.
fn watched(seed: u64) -> Usage {
    let sample = |t_ns| UsageSample { t_ns, cpu_user_ns: seed * t_ns, ..UsageSample::default() };
    let mut usage = Usage {
        watched: vec![Watched { name: format!("server {seed}"), pids: vec![seed as u32] }],
        cpu_user_ns: seed * 1_000_000_000,
        network: (seed > 3).then_some(NetworkUsage { sent_bytes: seed, received_bytes: 1 }),
        cgroups: vec![CgroupUsage { path: "/".to_owned(), ..CgroupUsage::default() }],
        ended_ns: (seed == 2).then_some(5_000_000_000),
        samples: vec![sample(0), sample(1_000_000_000)],
        ..Usage::default()
    };
    usage.refresh();
    usage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn merge_is_associative_and_keeps_the_identities(
        a in prop::collection::vec(0u64..9_000_000_000, 0..9),
        b in prop::collection::vec(0u64..9_000_000_000, 0..9),
        c in prop::collection::vec(0u64..9_000_000_000, 0..9),
    ) {
        let (ra, rb, rc) = (of(&a), of(&b), of(&c));
        let mut left = ra.clone();
        left.merge(&rb);
        left.merge(&rc);
        let mut tail = rb;
        tail.merge(&rc);
        let mut right = ra;
        right.merge(&tail);
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(left.ledger.check(), Ok(()));
        prop_assert_eq!(left.status.values().sum::<u64>(), left.ledger.completed);
        prop_assert_eq!(left.latency.response.count(), (a.len() + b.len() + c.len()) as u64);
    }

    #[test]
    fn a_document_reads_back_whole(a in prop::collection::vec(0u64..9_000_000_000, 0..9)) {
        let result = of(&a);
        let json = serde_json::to_string(&result).unwrap();
        prop_assert_eq!(serde_json::from_str::<RunResult>(&json).unwrap(), result);
    }
}

#[test]
fn documents_meet_the_checked_in_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/result.schema.json");
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(path, &mut schemas).unwrap();
    for latencies_ns in [&[][..], &[5, 1_000, 9_999_999, 4, 3]] {
        let mut document = serde_json::to_value(of(latencies_ns)).unwrap();
        // Documents of runs that declare no metric have no word of them.
        let has_metrics = !latencies_ns.is_empty();
        assert_eq!(document.get("metrics").is_some(), has_metrics);
        let mut points = document["series"].as_array().unwrap().iter();
        assert_eq!(points.any(|point| point.get("metrics").is_some()), has_metrics);
        if let Err(error) = schemas.validate(&document, schema) {
            panic!("{error}");
        }
        document["ledger"]["sent"] = serde_json::json!(-1);
        assert!(schemas.validate(&document, schema).is_err(), "the schema refuses a bad count");
        document.as_object_mut().unwrap().remove("ledger");
        assert!(schemas.validate(&document, schema).is_err(), "the schema wants a ledger");
    }
}

/// 1571 responses in a window of two seconds and three stragglers, the last of them after eight.
#[test]
fn the_rate_is_that_of_the_window_whenever_the_last_response_came() {
    let with = |responses: Option<u64>, good: Option<u64>| {
        let mut result = empty();
        result.ledger.scheduled = 1580;
        result.ledger.redirects = 6;
        result.ledger.completed = 1574;
        let (window_ns, answered_ns) = (2_000_000_000, 8_000_000_000);
        result.rate = Rate { window_ns, answered_ns, responses, good, ..Rate::default() };
        result.refresh_rates();
        result
    };
    // Documents of before have no count, and their rate is over all the time.
    for (responses, good, achieved_rps, good_rps) in
        [(Some(1571), Some(1500), 782.5, Some(747.0)), (None, None, 196.0, None)]
    {
        let mut result = with(responses, good);
        let rates = |result: &RunResult| (result.rate.achieved_rps, result.rate.good_rps);
        assert_eq!(rates(&result), (achieved_rps, good_rps));
        assert_eq!((result.rate.offered_rps, result.rate.to_last_rps), (787.0, Some(196.0)));
        result.merge(&with(responses, good));
        assert_eq!(rates(&result), (2.0 * achieved_rps, good_rps.map(|rps| 2.0 * rps)), "of two");
        assert_eq!(result.rate.to_last_rps, Some(392.0));
        // What one of them does not know, the sum does not.
        result.merge(&with(None, None));
        assert_eq!(rates(&result), (3.0 * 196.0, None));
    }
}

/// Each request was redirected once: what was offered was achieved.
#[test]
fn redirects_are_in_no_rate() {
    let mut result = empty();
    result.ledger.scheduled = 2000;
    result.ledger.redirects = 1000;
    result.ledger.completed = 2000;
    let (window_ns, answered_ns) = (2_000_000_000, 2_000_000_000);
    let (responses, good) = (Some(2000), Some(2000));
    result.rate = Rate { window_ns, answered_ns, responses, good, ..Rate::default() };
    result.refresh_rates();
    let Rate { offered_rps, achieved_rps, good_rps, to_last_rps, .. } = result.rate;
    assert_eq!((offered_rps, achieved_rps), (500.0, 500.0));
    assert_eq!((good_rps, to_last_rps), (Some(500.0), Some(500.0)));
}
