//! What a recorder makes of requests, and of what goes wrong.

use super::*;
use crate::part::Part;

fn moments() -> Moments {
    Moments {
        intended_ns: 100,
        available_ns: 130,
        started_ns: 135,
        sent_ns: 200,
        written_ns: 210,
        first_byte_ns: 300,
    }
}

#[test]
fn phases_sum_to_the_response_time() {
    let mut recorder = Recorder::new();
    recorder.started(&moments(), Place::NOWHERE);
    recorder.phases[Phase::Connect].record(200 - 135);
    let done = Outcome::Completed { status: 200, ok: true };
    recorder.ended(&moments(), 333, done, Place::NOWHERE);
    let parts = [
        &recorder.phases[Phase::Blocked],
        &recorder.delays.lateness,
        &recorder.phases[Phase::Connect],
        &recorder.phases[Phase::Sending],
        &recorder.phases[Phase::Waiting],
        &recorder.phases[Phase::Receiving],
    ];
    let sum: u64 = parts.iter().map(|histogram| histogram.sum_ns()).sum();
    assert_eq!(sum, 233);
    assert_eq!(recorder.response().sum_ns(), 233);
    assert_eq!(recorder.service.sum_ns(), 133);
    assert_eq!(recorder.delays.lag.sum_ns(), 35);
}

/// With debug assertions it ends the program instead.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "from 333 to 300 ns"))]
fn a_duration_that_would_be_negative_is_counted_and_nothing() {
    let mut recorder = Recorder::new();
    assert_eq!(recorder.gap_ns(300, 333), 33);
    assert_eq!(recorder.disordered, 0);
    assert_eq!(recorder.gap_ns(333, 300), 0);
    assert_eq!(recorder.disordered, 1);
}

#[test]
fn every_outcome_stands_in_the_response_times() {
    let mut recorder = Recorder::new();
    let outcomes = [
        Outcome::Completed { status: 200, ok: true },
        Outcome::Completed { status: 503, ok: false },
        Outcome::TimedOut,
        Outcome::Broken,
        Outcome::Unfinished,
    ];
    for outcome in outcomes {
        recorder.scheduled(Place::NOWHERE);
        recorder.started(&moments(), Place::NOWHERE);
        recorder.ended(&moments(), 400, outcome, Place::NOWHERE);
    }
    recorder.unsent(1, 77, Place::NOWHERE);
    recorder.shed(1, 88, Place::NOWHERE);
    assert_eq!(recorder.ledger.check(), Ok(()));
    assert_eq!(recorder.response().count(), 7);
    assert_eq!(recorder.response().min_ns(), Some(77));
    assert_eq!(recorder.service.count(), 5);
    assert_eq!((recorder.status[200], recorder.status[503]), (1, 1));
}

#[test]
fn an_interval_holds_what_came_since_the_last() {
    let mut recorder = Recorder::new();
    for index in 0..3u64 {
        for _ in 0..=index {
            recorder.started(&moments(), Place::NOWHERE);
            recorder.ended(&moments(), 400, Outcome::TimedOut, Place::NOWHERE);
        }
        for status in [200, 503, 503].into_iter().take(index as usize + 1) {
            let outcome = Outcome::Completed { status, ok: status == 200 };
            recorder.ended(&moments(), 400, outcome, Place::NOWHERE);
        }
        recorder.shed(2 * index, 88, Place::NOWHERE);
        let point = recorder.take_interval(Span::nth(index, 0), 5, Box::default()).pack();
        assert_eq!((point.sent, point.timed_out), (index + 1, index + 1));
        assert_eq!(point.response.unpack().count(), 2 * (index + 1));
        assert_eq!(point.incomplete_response.unpack().count(), index + 1);
        assert_eq!(point.incomplete_service.unpack().count(), index + 1);
        let failed = Some(index).filter(|count| *count > 0);
        assert_eq!((point.status.get(&200), point.status.get(&503).copied()), (Some(&1), failed));
        let shed_waits = point.shed_waits.unpack();
        assert_eq!((point.shed, shed_waits.count()), (2 * index, 2 * index));
        assert_eq!(shed_waits.max_ns(), (index > 0).then_some(88));
        assert_eq!(point.lateness_max_ns, 5);
    }
}

#[test]
fn an_interval_is_empty_when_nothing_was_counted_in_it() {
    let mut recorder = Recorder::new();
    let acts: [fn(&mut Recorder); 6] = [
        |_| (),
        |it| it.shed(1, 5, Place::NOWHERE),
        |it| it.error(Phase::Connect, "refused", 1, String::new),
        |it| it.received_bytes += 1,
        |it| it.started_at_once(Place::NOWHERE),
        |it| it.ended(&moments(), 400, Outcome::TimedOut, Place::NOWHERE),
    ];
    for (index, act) in acts.into_iter().enumerate() {
        act(&mut recorder);
        let interval = recorder.take_interval(Span::nth(index as u64, 0), 5, Box::default());
        assert_eq!(interval.is_empty(), index == 0, "{index}");
    }
}

#[test]
fn parts_balance_like_the_whole() {
    let mut recorder = Recorder::new();
    recorder.parts.endpoints = vec![Part::new("a"), Part::new("b")];
    recorder.parts.stages = vec![Part::new("10s@5")];
    let place = |endpoint| Place { endpoint, stage: 0, ..Place::NOWHERE };
    for endpoint in [0, 1, 1] {
        recorder.scheduled(place(endpoint));
        recorder.started(&moments(), place(endpoint));
        let done = Outcome::Completed { status: 200, ok: true };
        recorder.ended(&moments(), 400, done, place(endpoint));
    }
    recorder.shed(1, 50, place(0));
    recorder.unsent(1, 60, place(1));
    let scheduled = |part: &Part| {
        assert_eq!(part.ledger.check(), Ok(()));
        assert_eq!(part.response.count(), part.ledger.scheduled);
        part.ledger.scheduled
    };
    assert_eq!(recorder.parts.endpoints.iter().map(scheduled).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(scheduled(&recorder.parts.stages[0]), 5);
    assert_eq!(recorder.ledger.check(), Ok(()));
}

#[test]
fn an_errors_sample_is_the_first() {
    let mut recorder = Recorder::new();
    for n in 0..3 {
        recorder.error(Phase::Connect, "refused", 1, || format!("sample {n}"));
    }
    recorder.error(Phase::Waiting, "reset", 1, || "other".to_owned());
    let counts: Vec<_> = recorder.errors.iter().map(|e| (e.count, e.sample.as_str())).collect();
    assert_eq!(counts, [(3, "sample 0"), (1, "other")]);
}

#[test]
fn calls_count_by_code_and_add_up() {
    let of = |codes: &[u32]| {
        let mut recorder = Recorder::new();
        codes.iter().for_each(|code| recorder.called(*code));
        recorder
    };
    let (none, some, odd) = (of(&[]), of(&[0, 14, 0]), of(&[16, 17, u32::MAX, 14]));
    assert!(none.grpc_status.is_empty(), "without gRPC there is nothing");
    assert_eq!((some.grpc_status[0], some.grpc_status[14]), (2, 1));
    assert_eq!((odd.grpc_status[16], odd.grpc_status[GRPC_OTHER]), (1, 2));
    for order in [[&none, &some, &odd], [&odd, &none, &some], [&some, &odd, &none]] {
        let mut sum = Recorder::new();
        order.into_iter().for_each(|it| sum.merge(it));
        let counts = [0, 14, 16, GRPC_OTHER].map(|code| sum.grpc_status[code]);
        assert_eq!((counts, sum.grpc_status.iter().sum::<u64>()), ([2, 2, 1, 2], 7));
    }
}
