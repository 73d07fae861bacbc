//! Intervals of figures, checked against times whose truth is known.

use proptest::prelude::*;

use super::*;
use crate::Histogram;

const MS: u64 = 1_000_000;

fn of(values_ms: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    values_ms.iter().for_each(|(ms, count)| histogram.record_n(ms * MS, *count));
    histogram
}

fn ms(interval: Interval) -> (f64, f64) {
    ((interval.low / 1e6).round(), (interval.high / 1e6).round())
}

#[test]
fn a_share_of_the_requests_moves_a_quantile_by_as_many_ranks() {
    let times = of(&[(10, 900), (100, 50), (400, 50)]);
    let all = Bounds::new(&times, 0, 0);
    for (reach, q, below, above) in [
        (Reach::Nothing, 0.5, 10.0, 10.0),
        (Reach::requests(0.02), 0.5, 10.0, 10.0),
        (Reach::requests(0.02), 0.92, 10.0, 100.0),
        (Reach::requests(0.02), 0.91, 10.0, 100.0),
        (Reach::requests(0.06), 0.95, 10.0, f64::INFINITY),
        (Reach::requests(0.02), 1.0, 400.0, f64::INFINITY),
        (Reach::requests(0.6), 0.5, 0.0, f64::INFINITY),
        (Reach::Any, 0.5, 0.0, f64::INFINITY),
        (Reach::share(0.1), 0.99, 360.0, 440.0),
        // Half of the requests is off by 5 ms at most, a few by 20 ms, none by more.
        (
            Reach::Requests(vec![Off::new(0, 1.0), Off::new(5 * MS, 0.01), Off::new(20 * MS, 0.0)]),
            0.5,
            5.0,
            15.0,
        ),
    ] {
        let touches = [Touch::either(Figure::Response, reach.clone())];
        let found = Doubts::of(&touches).quantile_ns(Figure::Response, &all, q);
        assert_eq!(ms(found), (below, above), "{q} {reach:?}");
        let one_sided = [Touch::below(Figure::Response, reach.clone())];
        let found = Doubts::of(&one_sided).quantile_ns(Figure::Response, &all, q);
        let value = times.quantile_ns(q).unwrap() as f64 / 1e6;
        assert_eq!(ms(found), (below, value.round()), "{q} {reach:?}");
        let untouched = Doubts::of(&touches).quantile_ns(Figure::Service, &all, q);
        assert_eq!(ms(untouched), (value.round(), value.round()));
    }
}

#[test]
fn what_befell_some_requests_may_have_befallen_those_of_one_part() {
    let times = of(&[(10, 90), (100, 10)]);
    let touches = [
        Touch::below(Figure::Response, Reach::requests(0.02)),
        Touch::either(Figure::Counts, Reach::requests(0.02)),
    ];
    let of_run = Doubts::of(&touches);
    let of_part = of_run.of_part(100, 1000);
    let low = |doubts: &Doubts<'_>| {
        ms(doubts.quantile_ns(Figure::Response, &Bounds::new(&times, 0, 0), 0.95)).0
    };
    assert_eq!((low(&of_run), low(&of_part)), (100.0, 10.0));
    let high = |doubts: &Doubts<'_>| doubts.value(Figure::Counts, 100.0).high.round();
    assert_eq!((high(&of_run), high(&of_part)), (102.0, 120.0));
}

#[test]
fn incomplete_requests_and_doubt_widen_the_same_interval() {
    let complete = of(&[(10, 90), (100, 6)]);
    let mut all = complete.clone();
    all.record_n(MS, 4);
    let bounds = Bounds::new(&all, 4, 0).with_complete(Some(complete));
    let touches = [Touch::below(Figure::Response, Reach::requests(0.05))];
    let doubts = Doubts::of(&touches);
    let at = |q: f64| ms(doubts.quantile_ns(Figure::Response, &bounds, q));
    assert_eq!(at(0.5), (10.0, 10.0));
    assert_eq!(at(0.96), (10.0, 100.0));
    assert_eq!(at(0.97), (10.0, f64::INFINITY));
    let mean = doubts.mean_ns(Figure::Response, &bounds);
    assert!(mean.low < all.mean_ns().unwrap() && mean.high.is_infinite(), "{mean:?}");
    assert_eq!(doubts.stdev_ns(Figure::Response, &bounds), Interval::unknown());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    /// Times of a server, each delayed by the tester: whatever the delays, true quantiles and the
    /// true mean lie within what the delays' quantiles say.
    #[test]
    fn the_truth_lies_within_the_interval(
        requests in prop::collection::vec((1u64..200, 0u64..8, 0u64..200), 20..300),
        earlier in any::<bool>(),
    ) {
        let [mut truth, mut seen, mut delays] = [(); 3].map(|()| Histogram::new());
        for (true_ms, luck, delay_ms) in &requests {
            let delay_ns = if *luck == 0 { delay_ms * MS } else { 0 };
            let (slow_ns, fast_ns) = (true_ms * MS + delay_ns, true_ms * MS);
            truth.record(if earlier { slow_ns } else { fast_ns });
            seen.record(if earlier { fast_ns } else { slow_ns });
            delays.record(delay_ns);
        }
        let offs: Vec<Off> = [0.5, 0.8, 0.9, 0.95, 1.0]
            .map(|q| Off::new(delays.quantile_ns(q).unwrap(), 1.0 - q))
            .into();
        let reach = Reach::Requests(offs);
        let touches = [match earlier {
            true => Touch::above(Figure::Service, reach),
            false => Touch::below(Figure::Service, reach),
        }];
        let doubts = Doubts::of(&touches);
        let bounds = Bounds::new(&seen, 0, 0);
        // Histograms have a precision of a thousandth.
        let has = |interval: Interval, value: f64| {
            interval.low * 0.998 <= value && value <= interval.high * 1.002
        };
        for q in [0.1, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0] {
            let value = truth.quantile_ns(q).unwrap() as f64;
            let interval = doubts.quantile_ns(Figure::Service, &bounds, q);
            prop_assert!(has(interval, value), "{q}: {value} in {interval:?}");
        }
        let mean = doubts.mean_ns(Figure::Service, &bounds);
        prop_assert!(has(mean, truth.mean_ns().unwrap()), "{mean:?} {:?}", truth.mean_ns());
    }
}

#[test]
fn a_part_without_requests_is_in_no_doubt_without_a_cause() {
    let none = Doubts::none().of_part(0, 20);
    assert_eq!(none.value(Figure::Counts, 20.0), Interval::exact(20.0));
    let touches = [Touch::below(Figure::Counts, Reach::share(0.1))];
    let some = Doubts::of(&touches).of_part(0, 20).value(Figure::Counts, 20.0);
    assert_eq!(some, Interval { low: 18.0, high: 20.0 });
}
