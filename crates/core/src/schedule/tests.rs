//! Counts are exact, times are right, whatever the rate, the stages and the workers.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;

fn all(profile: &Profile, workers: u32, limit: Option<u64>) -> Vec<Slot> {
    // Some that share the connections evenly, and some that do not.
    dealt(profile, workers + workers / 2, workers, limit)
}

fn dealt(profile: &Profile, connections: u32, workers: u32, limit: Option<u64>) -> Vec<Slot> {
    let mut slots = Vec::new();
    for worker in 0..workers {
        let mut cursor = Cursor::new(profile, Deal::new(connections, worker, workers), limit, 7);
        while let Some(slot) = cursor.peek() {
            let connection = slot.index % u64::from(connections);
            assert_eq!(connection % u64::from(workers), u64::from(worker));
            slots.push(slot);
            cursor.advance();
        }
    }
    slots.sort_by_key(|slot| slot.index);
    slots
}

#[test]
fn constant_rates_are_exact_for_any_number_of_workers() {
    let cases = [
        ("0.5", 10 * S, 5),
        ("7", 10 * S, 70),
        ("997", 3 * S, 2991),
        ("1000", 10 * S, 10_000),
        ("100003", S, 100_003),
        ("0.3", 10 * S, 3),
        ("1", S / 2, 1),
        ("7.5", S, 8),
    ];
    for (rate, duration_ns, want) in cases {
        let rate_uhz = parse_rate_uhz(rate).unwrap();
        let profile = Profile::constant(rate_uhz, Some(duration_ns), Arrival::Uniform);
        assert_eq!(profile.total(), Some(want), "{rate}");
        for workers in [1, 2, 3, 7] {
            let slots = all(&profile, workers, None);
            assert_eq!(slots.len() as u64, want, "{rate} with {workers} workers");
            for (i, slot) in slots.iter().enumerate() {
                assert_eq!(slot.index, i as u64);
                let exact = u128::from(slot.index) * 1_000_000_000_000_000 / u128::from(rate_uhz);
                assert_eq!(u128::from(slot.due_ns), exact, "{rate} slot {i}");
                assert_eq!(profile.due_ns(slot.index), slot.due_ns);
            }
        }
    }
}

#[test]
fn stages_count_the_area_and_never_go_back() {
    let cases = [
        ("10s@100", 1000),
        ("10s@100,10s@100..300,5s@300", 1000 + 2000 + 1500),
        ("10s@0..100", 500),
        ("10s@100..0", 500),
        ("1s@0,1s@10", 10),
        ("1s@1..2,1s@2..1", 3),
        ("1h@0.5..10000", 18_000_900),
    ];
    for (text, want) in cases {
        let profile = Profile { stages: parse_stages(text).unwrap(), arrival: Arrival::Uniform };
        assert_eq!(profile.total(), Some(want), "{text}");
        if want > 100_000 {
            continue;
        }
        let slots = all(&profile, 3, None);
        assert_eq!(slots.len() as u64, want, "{text}");
        assert!(slots.windows(2).all(|pair| pair[0].due_ns <= pair[1].due_ns), "{text}");
        assert!(slots.iter().all(|slot| slot.due_ns < profile.duration_ns().unwrap()), "{text}");
    }
}

#[test]
fn a_ramp_follows_its_line() {
    let profile =
        Profile { stages: parse_stages("100s@0..1000").unwrap(), arrival: Arrival::Uniform };
    let slots = all(&profile, 2, None);
    for at_s in [10u64, 50, 90] {
        let before = slots.iter().filter(|slot| slot.due_ns < at_s * S).count() as u64;
        let area = 5 * at_s * at_s;
        assert!(before.abs_diff(area) <= 1, "{before} before {at_s} s, area {area}");
    }
}

#[test]
fn a_limit_ends_an_endless_schedule() {
    let profile = Profile::constant(1_000_000_000, None, Arrival::Uniform);
    assert_eq!(profile.total(), None);
    let slots = all(&profile, 3, Some(1234));
    assert_eq!(slots.len(), 1234);
    assert_eq!(slots[1233].due_ns, 1_233_000_000);
}

#[test]
fn poisson_is_seeded_independent_of_workers_and_has_the_right_spread() {
    let profile = Profile::constant(10_000_000_000, Some(10 * S), Arrival::Poisson);
    let slots = all(&profile, 1, None);
    assert_eq!(slots, all(&profile, 3, None));
    let n = slots.len() as f64;
    assert!((n - 100_000.0).abs() < 4.0 * 100_000f64.sqrt(), "{n} arrivals");
    let mut bins = vec![0f64; 10_000];
    for slot in &slots {
        bins[(slot.due_ns / 1_000_000) as usize] += 1.0;
    }
    let mean = n / 10_000.0;
    let variance = bins.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 10_000.0;
    assert!((variance / mean - 1.0).abs() < 0.06, "index of dispersion {}", variance / mean);
}

#[test]
fn stages_that_cannot_be_read() {
    for text in ["", "10s", "10s@", "@5", "0s@5", "10s@1..", "10s@5,,", "1s@2G"] {
        assert!(parse_stages(text).is_err(), "{text}");
    }
}

#[test]
fn shares_add_up() {
    for (total, workers) in [(0, 1), (1, 3), (12_345, 7), (6, 6)] {
        let sum: u32 = (0..workers).map(|worker| share(total, worker, workers)).sum();
        assert_eq!(sum, total);
    }
}

#[test]
fn slots_are_dealt_as_connections_are() {
    for (connections, workers) in [(1, 1), (3, 2), (2, 3), (7, 3), (8, 4), (100, 7)] {
        let owner = |index: u64| index % u64::from(connections) % u64::from(workers);
        for worker in 0..workers {
            let deal = Deal::new(connections, worker, workers);
            let is_own = |index: &u64| owner(*index) == u64::from(worker);
            for index in 0..250 {
                let next = (index..index + 200).find(is_own);
                assert_eq!(deal.next_from(index), next, "{deal:?} from {index}");
                let before = (0..index).filter(is_own).count() as u64;
                assert_eq!(deal.before(index), before, "{deal:?} before {index}");
            }
        }
    }
}

/// A schedule that is cut at any time and dealt anew there has the same slots.
#[test]
fn a_schedule_that_is_dealt_anew_loses_no_slot() {
    let stages = parse_stages("1s@0,2s@3..70,1s@70,1s@9..0").unwrap();
    let trace: Arc<[u64]> = (0..200).map(|n| n / 3 * 20_000_000).collect();
    for arrival in [Arrival::Uniform, Arrival::Poisson] {
        let profile = Profile { stages: stages.clone(), arrival };
        let of_profile = |deal| Cursor::new(&profile, deal, Some(150), 7);
        let of_trace = |deal| Cursor::of_trace(Arc::clone(&trace), deal, Some(150));
        for cut_ns in (0..5 * S).step_by(31_000_000).chain([S, 4 * S, 20_000_000]) {
            for make in [&of_profile as &dyn Fn(Deal) -> Cursor, &of_trace] {
                let whole = rest(&mut make(Deal::new(1, 0, 1)));
                let mut slots = Vec::new();
                for worker in 0..3 {
                    let mut cursor = make(Deal::new(4, worker, 3));
                    cursor.end_at(cut_ns);
                    slots.extend(rest(&mut cursor));
                    let before = whole.iter().filter(|slot| slot.due_ns < cut_ns).count() as u64;
                    assert_eq!(cursor.count_all(), before, "before {cut_ns}");
                    slots.extend(rest(&mut cursor.dealt(Deal::new(5, worker, 3))));
                }
                slots.sort_by_key(|slot| slot.index);
                assert_eq!(slots, whole, "cut at {cut_ns}, {arrival:?}");
            }
        }
    }
}

fn rest(cursor: &mut Cursor) -> Vec<Slot> {
    let mut slots = Vec::new();
    while let Some(slot) = cursor.peek() {
        slots.push(slot);
        cursor.advance();
    }
    slots
}

/// However often the rate is changed, there are as many slots as its integral.
#[test]
fn what_one_rate_leaves_the_next_begins_with() {
    for (step_ns, changes) in [(1_000_000, 10_000), (7_777_777, 1000), (3_000_000_000, 5)] {
        let (mut slots, mut asked, mut carry) = (0, 0.0, Carry::default());
        let mut last_ns = None;
        for change in 0..changes {
            let rps = 50 + change * 37 % 100;
            let profile = Profile::constant(rps * 1_000_000, None, Arrival::Uniform);
            let mut cursor = Cursor::new(&profile, Deal::new(1, 0, 1), None, 1).carrying(carry);
            cursor.end_at(step_ns);
            while let Some(slot) = cursor.peek() {
                let at_ns = change * step_ns + slot.due_ns;
                let gap_ns = last_ns.map_or(u64::MAX, |last_ns| at_ns - last_ns);
                assert!(gap_ns >= 1_000_000_000 / 149 - 1, "{gap_ns} ns at {at_ns}");
                last_ns = Some(at_ns);
                slots += 1;
                cursor.advance();
            }
            carry = cursor.carry();
            asked += rps as f64 * step_ns as f64 / 1e9;
        }
        assert!((slots as f64 - asked).abs() < 1.01, "{slots} of {asked}");
    }
}

#[test]
fn skipping_slots_is_taking_them() {
    let profiles = [
        Profile::constant(250_000_000, Some(2_000_000_000), Arrival::Uniform),
        Profile {
            stages: parse_stages("1s@10..90,500ms@0,1s@70").unwrap(),
            arrival: Arrival::Uniform,
        },
        Profile::constant(250_000_000, Some(2_000_000_000), Arrival::Poisson),
    ];
    let trace: Arc<[u64]> = (0..300).map(|n| n * n * 1000).collect();
    for (connections, workers) in [(1, 1), (4, 3), (7, 2), (2, 3)] {
        for worker in 0..workers {
            let deal = Deal::new(connections, worker, workers);
            let made = profiles.iter().map(|profile| Cursor::new(profile, deal, Some(400), 7));
            for cursor in made.chain([Cursor::of_trace(Arc::clone(&trace), deal, None)]) {
                for (before, count) in [(0, 0), (0, 1), (0, 5), (3, 1), (3, 60), (1, 10_000)] {
                    let (mut skipped, mut taken) = (cursor.clone(), cursor.clone());
                    (0..before).for_each(|_| skipped.advance());
                    skipped.skip(count);
                    (0..before + count).for_each(|_| taken.advance());
                    let what = format!("{before} + {count} of {deal:?}");
                    assert_eq!(rest(&mut skipped), rest(&mut taken), "{what}");
                }
            }
        }
    }
}

#[test]
fn what_waits_is_counted_for_each_worker() {
    let profile = Profile::constant(100_000_000, Some(10 * S), Arrival::Uniform);
    for now_ns in [0, 5_000_000, 10_000_000, 995_000_000, 2 * S, 20 * S] {
        for worker in 0..3 {
            let mut cursor = Cursor::new(&profile, Deal::new(4, worker, 3), Some(900), 7);
            cursor.advance();
            cursor.end_at(8 * S);
            let behind = cursor.behind(now_ns);
            let waits = rest(&mut cursor).iter().filter(|slot| slot.due_ns <= now_ns).count();
            assert_eq!(behind, waits as u64, "worker {worker} at {now_ns}");
        }
    }
}

proptest! {
    #[test]
    fn any_stages_any_workers(
        stages in prop::collection::vec(
            (1u64..3_000, 0u64..2_000_000_000, 0u64..2_000_000_000),
            1..5,
        ),
        workers in 1u32..6,
        connections in 1u32..12,
    ) {
        let stages = stages
            .into_iter()
            .map(|(ms, from_uhz, to_uhz)| {
                let duration_ns = Some(ms * 1_000_000);
                Stage { duration_ns, from_uhz, to_uhz }
            })
            .collect();
        let profile = Profile { stages, arrival: Arrival::Uniform };
        let slots = dealt(&profile, connections, workers, None);
        prop_assert!(slots.iter().all(|slot| profile.due_ns(slot.index) == slot.due_ns));
        prop_assert_eq!(Some(slots.len() as u64), profile.total());
        prop_assert!(slots.windows(2).all(|pair| pair[0].due_ns <= pair[1].due_ns));
    }
}
