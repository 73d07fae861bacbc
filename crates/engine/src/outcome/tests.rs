//! Windows, rates and evidence of made-up records.

use plimsoll_core::outage::Outage;
use plimsoll_core::plan::{HttpVersion, Trace};
use plimsoll_core::protocol::{Allowed, ProtocolCounts};
use plimsoll_core::recorder::Recorder;
use plimsoll_core::result::Connections;
use plimsoll_core::schedule::Arrival;
use plimsoll_core::throughput::{Answers, per_second};

use super::*;
use crate::observer::CpuUse;
use crate::slots::planned_window_ns;
use crate::tests::{checked, plan};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// A worker that started requests for `started_ns` and had responses at these times.
fn record(plan: &Plan, started_ns: u64, times_ns: &[u64]) -> Record {
    let planned_ns = planned_window_ns(plan);
    let mut answers = planned_ns.map_or_else(Answers::closed, Answers::scheduled);
    for at_ns in times_ns {
        answers.answered(*at_ns, planned_ns.unwrap_or(started_ns), true);
    }
    let answered_ns = times_ns.iter().copied().max().unwrap_or(0);
    Record {
        measured: Recorder::new(),
        warmup: None,
        pauses: Vec::new(),
        paused_ns: 0,
        cpu: CpuUse::default(),
        spun_ns: 0,
        in_window: (CpuUse::default(), 0),
        elapsed_ns: answered_ns,
        window_ns: started_ns,
        answered_ns,
        answers,
        outage: Outage::default(),
        connections: Connections::default(),
        interrupted: false,
        details: plimsoll_core::details::Details::default(),
        iterations: None,
    }
}

fn at_rate(rps: u64, duration_ns: Option<u64>) -> Draft {
    let rate = Some(Profile::constant(rps * 1_000_000, duration_ns, Arrival::Uniform));
    Draft { rate, duration_ns, ..plan() }
}

/// 100 requests a second of 500 ms each are 50 at a time.
#[test]
fn connections_carry_as_many_streams_as_the_server_allows() {
    let mut draft = at_rate(100, Some(4 * S));
    draft.http_version = HttpVersion::Http2;
    draft.http2.streams = 100;
    let plan = checked(&draft);
    for (least, most, needed) in [
        (Some(1), Some(1), 50),
        (Some(10), Some(10), 5),
        (Some(100), Some(100), 1),
        (Some(250), Some(250), 1),
        (None, None, 1),
        // At its worst.
        (Some(2), Some(50), 25),
        // None at times, which no number of connections makes up for.
        (Some(0), Some(10), 5),
        (Some(0), None, 1),
    ] {
        let environment = HostEnvironment::read();
        let mut result = empty(&plan, &environment, &Gathered::nothing(clock::wall_time()));
        result.latency.service.record(500 * MS);
        let allowed = |streams| Allowed {
            streams,
            window_bytes: 65_535,
            header_table_bytes: 4096,
            frame_bytes: 16_384,
        };
        result.protocols = vec![ProtocolCounts {
            allowed: Some(allowed(least)),
            allowed_most: Some(allowed(most)),
            ..ProtocolCounts::default()
        }];
        let host = Watch::begin(0, 0, None).happened();
        let evidence = evidence(&plan, &result, &[], &host, None);
        assert_eq!(evidence.connections_needed, needed, "{least:?} to {most:?}");
    }
}

#[test]
fn the_window_is_what_the_plan_means_and_stragglers_are_not_in_it() {
    let closed = Draft { duration_ns: Some(2 * S), ..plan() };
    let of_requests = |requests, plan: Draft| Draft { requests: Some(requests), ..plan };
    let of_times = |offsets_ns| {
        let trace = Some(Trace { path: String::new(), offsets_ns });
        Draft { trace, duration_ns: None, ..plan() }
    };
    let every = |step_ns: u64, count: u64, late_ns: u64| {
        (0..count).map(|i| i * step_ns + late_ns).collect::<Vec<_>>()
    };
    let stragglers = [every(2 * MS, 1000, MS), vec![8 * S; 3]].concat();
    let counted = || of_requests(4, Draft { duration_ns: None, ..plan() });
    for (name, plan, started_ns, times_ns, window_ns, rps) in [
        ("stragglers of a closed loop", closed, 2 * S, stragglers, 2 * S, 500.0),
        (
            "200 ms at a rate",
            at_rate(100, Some(4 * S)),
            4 * S,
            every(10 * MS, 400, 200 * MS),
            4 * S,
            100.0,
        ),
        (
            "half of what is asked for, and a long drain",
            at_rate(100, Some(4 * S)),
            4 * S,
            every(20 * MS, 400, MS),
            4 * S,
            50.0,
        ),
        (
            "a number at a rate ends where the next one would be due",
            of_requests(10, at_rate(1, None)),
            9 * S + MS,
            every(S, 10, MS),
            10 * S,
            1.0,
        ),
        (
            "a number in a closed loop ends with the last one that was started",
            of_requests(1000, Draft { duration_ns: None, ..plan() }),
            2 * S,
            every(2 * MS, 1000, 2 * MS),
            2 * S,
            500.0,
        ),
        (
            "a list of times ends where the next one would be due",
            of_times((0..10).map(|i| i * S).collect()),
            9 * S,
            every(S, 10, MS),
            10 * S,
            1.0,
        ),
        ("one on each connection", counted(), 0, vec![S; 4], S, 4.0),
    ] {
        let plan = checked(&plan);
        let found = rate(&plan, &record(&plan, started_ns, &times_ns), Vec::new());
        assert_eq!(found.window_ns, window_ns, "{name}");
        let found_rps = per_second(found.responses.unwrap_or(0), found.window_ns);
        assert!((found_rps / rps - 1.0).abs() <= 0.01, "{name}: {found_rps}, should be {rps}");
    }
}

#[test]
fn a_schedule_that_was_changed_or_cut_has_the_window_of_what_it_became() {
    let plan = checked(&Draft { requests: Some(10), ..at_rate(1, None) });
    let times_ns: Vec<u64> = (0..5).map(|i| i * S + MS).collect();
    let mut sum = record(&plan, 5 * S, &times_ns);
    let change = RateChange { at_ns: S, rps: 7.0 };
    assert_eq!(rate(&plan, &sum, vec![change]).window_ns, 5 * S);
    sum.interrupted = true;
    assert_eq!(rate(&plan, &sum, Vec::new()).window_ns, 5 * S);
}

#[test]
fn parts_of_all_requests_have_all_responses_that_count() {
    // Nine in the window, five after it, on two endpoints.
    let times_ns = [[S / 2; 9].as_slice(), &[3 * S; 5]].concat();
    for responses in 9..=14 {
        let mut sum = record(&checked(&at_rate(9, Some(S))), S, &times_ns);
        let mut parts = [Part::new("a"), Part::new("b")];
        for (index, at_ns) in times_ns.iter().enumerate() {
            parts[index % 2].answered(*at_ns < S);
        }
        sum.measured.parts.endpoints = parts.to_vec();
        settle_parts(&mut sum, responses);
        let counts = sum.measured.parts.endpoints.iter().map(|part| part.responses.unwrap_or(0));
        assert_eq!(counts.sum::<u64>(), responses);
    }
}
