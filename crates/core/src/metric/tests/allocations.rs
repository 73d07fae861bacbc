//! Recording allocates nothing once a metric was used with its tags.

use allocation_counter::measure;

use super::*;
use crate::outcome::Outcome;
use crate::part::Place;
use crate::recorder::{Moments, Recorder, Span};

const PAGES: [&str; 3] = ["home", "search", "cart"];

/// Values of many sizes and signs, of every metric, with each page and without; some are rejected.
fn record(metrics: &mut Metrics, ids: &[MetricId], from: u64) {
    for number in from..from + 500 {
        let page = PAGES[(number % 3) as usize];
        let size = 2f64.powi((number * 37 % 400) as i32 - 200);
        let sign = if number.is_multiple_of(2) { 1.0 } else { -1.0 };
        let value = sign * size * (1.0 + number as f64 / 7.0);
        for id in ids {
            let tags = metrics.tags(&[("step", "2"), ("page", page)]);
            metrics.record(*id, tags, value, number);
            metrics.record(*id, TagsId::NONE, value, number);
            metrics.record(*id, TagsId::NONE, f64::NAN, number);
        }
    }
}

fn end_a_request(recorder: &mut Recorder, number: u64) {
    let moments = Moments { intended_ns: number, sent_ns: number, ..Moments::default() };
    let moments = Moments { available_ns: number, started_ns: number, ..moments };
    let moments = Moments { written_ns: number + 5, first_byte_ns: number * 2 + 5, ..moments };
    recorder.scheduled(Place::NOWHERE);
    recorder.started(&moments, Place::NOWHERE);
    let done = Outcome::Completed { status: 200, ok: number.is_multiple_of(2) };
    recorder.ended(&moments, number * 3 + 5, done, Place::NOWHERE);
}

/// Over seconds that end: the first ones make what the next ones use.
#[test]
fn recording_allocates_nothing_once_a_metric_was_used_with_its_tags() {
    let registry = registry();
    let ids = KINDS.map(|(name, _)| id(&registry, name));
    let mut recorder = Recorder::new();
    recorder.metrics = Metrics::new(&registry);
    let first = measure(|| record(&mut recorder.metrics, &ids, 0));
    assert!(first.count_total > 0, "the first use allocates");
    let mut spare = Box::default();
    for second in 1..5u64 {
        // The running second takes over what the one before had, so it allocates nothing either.
        spare = recorder.take_interval(Span::nth(second, 0), 0, spare);
        let _ = spare.pack();
        let count = measure(|| {
            record(&mut recorder.metrics, &ids, second * 500);
            for number in 0..500 {
                end_a_request(&mut recorder, second * number);
            }
        });
        assert_eq!(count.count_total, 0, "in second {second}");
    }
    let new_tags = measure(|| {
        let tags = recorder.metrics.tags(&[("page", "new")]);
        recorder.metrics.record(ids[0], tags, 1.0, 0);
    });
    assert!(new_tags.count_total > 0, "a new set of tags needs memory once");
    // Once the intervals that go around are made, ending one allocates nothing.
    let mut ended = None;
    let ending = measure(|| ended = Some(recorder.take_interval(Span::nth(9, 0), 0, spare)));
    assert_eq!((ending.count_total, ended.is_some()), (0, true));
}
