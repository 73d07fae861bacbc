//! Due times against the integral, for rates, units and stages of all sizes.

use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;

fn times(arrivals: &Arrivals) -> Vec<u64> {
    (0..arrivals.total()).filter_map(|index| arrivals.due_ns(index)).collect()
}

#[test]
fn a_constant_rate_is_exact_in_any_unit() {
    for (rate, unit_ns, duration_ns, total, index, want_ns) in [
        (10, S, 10 * S, 100, 99, 9_900_000_000),
        (7, 3 * S, 3630 * S, 8470, 8469, 3_629_571_428_571),
        // Just short of a third: a period that was rounded first would be 100 µs early here.
        (3, S, 100_000 * S, 300_000, 299_999, 99_999_666_666_666),
        (1, 60 * S, 61 * S, 2, 1, 60 * S),
        (1, 60 * S, 60 * S, 1, 0, 0),
        (50_000, S, S, 50_000, 49_999, 999_980_000),
        (3_000_000_000, S, S, 3_000_000_000, 2_999_999_999, 999_999_999),
    ] {
        let arrivals = Arrivals::constant(rate, unit_ns, duration_ns).expect("within the limits");
        assert_eq!(arrivals.total(), total, "{rate} in {unit_ns}");
        assert_eq!(arrivals.due_ns(index), Some(want_ns), "{rate} in {unit_ns}");
        assert_eq!(arrivals.due_ns(total), None);
    }
}

/// k6's own example: 0 to 1 a second in 5 s, a second of that, back to 0 in 5 s.
#[test]
fn a_ramp_is_the_integral_with_nothing_lost_between_stages() {
    let stage = |seconds, target| ArrivalStage { duration_ns: seconds * S, target };
    let stages = [stage(5, 1), stage(1, 1), stage(5, 0)];
    let arrivals = Arrivals::ramping(0, S, &stages).expect("within the limits");
    let ms: Vec<u64> = times(&arrivals).iter().map(|due_ns| due_ns / 1_000_000).collect();
    assert_eq!(ms, [3162, 4472, 5500, 6527, 7837, 11_000]);
    assert_eq!(arrivals.duration_ns(), 11 * S);

    let three = Arrivals::ramping(0, S, &[stage(5, 3), stage(1, 3), stage(5, 0)]);
    let three = three.expect("within the limits");
    assert_eq!(three.total(), 18);
    for (index, due_ns) in times(&arrivals).into_iter().enumerate() {
        assert_eq!(three.due_ns(3 * index as u64 + 2), Some(due_ns), "{index}");
    }
}

/// When k6 started iterations of this ramp, from its start, both cut off at the ms. It starts them
/// a little late.
#[test]
fn iterations_start_when_k6_starts_them() {
    let stage = |seconds, target| ArrivalStage { duration_ns: seconds * S, target };
    let stages = [stage(2, 40), stage(0, 4), stage(3, 30)];
    let arrivals = Arrivals::ramping(5, 2 * S, &stages).expect("within the limits");
    assert_eq!(arrivals.total(), 48);
    for (index, ms) in
        [(0, 272), (1, 448), (10, 1325), (21, 1976), (22, 2205), (35, 4077), (47, 5000)]
    {
        let due_ms = arrivals.due_ns(index).expect("below the total") as f64 / 1e6;
        assert!((-1.0..2.0).contains(&(f64::from(ms) - due_ms)), "{index}: {due_ms}");
    }
}

#[test]
fn a_stage_without_length_is_a_jump() {
    let jump = ArrivalStage { duration_ns: 0, target: 100 };
    let flat = ArrivalStage { duration_ns: S, target: 100 };
    let arrivals = Arrivals::ramping(0, S, &[jump, flat]).expect("within the limits");
    assert_eq!(arrivals.total(), 100);
    assert_eq!((arrivals.due_ns(0), arrivals.due_ns(99)), (Some(S / 100), Some(S)));
    assert_eq!((arrivals.rate_at(0), arrivals.rate_at(2 * S)), (100.0, 100.0));
    let none = Arrivals::ramping(0, S, &[]).expect("nothing is due");
    assert_eq!((none.total(), none.due_ns(0), none.rate_at(S)), (0, None, 0.0));
}

#[test]
fn what_cannot_be_computed_is_refused() {
    let stage = |duration_ns, target| [ArrivalStage { duration_ns, target }];
    assert_eq!(Arrivals::constant(1, 0, S), Err(ArrivalsError::Unit));
    for refused in [
        Arrivals::ramping(0, S, &stage(u64::MAX, u64::MAX)),
        Arrivals::ramping(0, 1, &stage(S * 86_400 * 366, 1_000_000_000)),
        Arrivals::constant(u64::MAX, 1, u64::MAX),
    ] {
        assert_eq!(refused, Err(ArrivalsError::Range));
    }
}

/// The integral at a time, in iterations, in the arithmetic of a book.
fn integral(start: u64, unit_ns: u64, stages: &[ArrivalStage], now_ns: u64) -> f64 {
    let (mut from, mut begin, mut sum) = (start as f64, 0u64, 0.0);
    for stage in stages {
        let inside = now_ns.saturating_sub(begin).min(stage.duration_ns) as f64;
        let to = stage.target as f64;
        if stage.duration_ns > 0 {
            let reached = from + (to - from) * inside / stage.duration_ns as f64;
            sum += (from + reached) / 2.0 * inside / unit_ns as f64;
        }
        begin += stage.duration_ns;
        from = to;
    }
    sum
}

proptest! {
    #[test]
    fn each_is_due_when_the_integral_reaches_it(
        start in 0u64..2000,
        unit_ns in prop_oneof![Just(S), Just(3 * S), Just(60 * S), 1_000_000..10 * S],
        stages in prop::collection::vec((0..20 * S, 0u64..2000), 0..6),
    ) {
        let stages: Vec<_> = stages
            .into_iter()
            .map(|(duration_ns, target)| ArrivalStage { duration_ns, target })
            .collect();
        let arrivals = Arrivals::ramping(start, unit_ns, &stages).expect("within the limits");
        let whole = integral(start, unit_ns, &stages, u64::MAX);
        prop_assert!((arrivals.total() as f64 - whole.floor()).abs() <= 1.0, "{}", whole);
        let step = (arrivals.total() / 500).max(1);
        let mut last_ns = 0;
        for index in (0..arrivals.total()).step_by(step as usize) {
            let due_ns = arrivals.due_ns(index).expect("below the total");
            prop_assert!(due_ns >= last_ns && due_ns <= arrivals.duration_ns());
            last_ns = due_ns;
            let want = index as f64 + 1.0;
            let (before, after) = (
                integral(start, unit_ns, &stages, due_ns),
                integral(start, unit_ns, &stages, due_ns + 1),
            );
            // Within the ns, but for what the arithmetic of the check rounds off.
            let slack = want * 1e-12;
            prop_assert!(before <= want + slack && after >= want - slack, "{}: {}", index, due_ns);
        }
    }
}
