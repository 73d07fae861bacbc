//! When users come and go, alone and in parts.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;

fn ramp(start: u64, stages: &[(u64, u64)]) -> UserRamp {
    let stage = |(duration_ns, target): &(u64, u64)| UserStage {
        duration_ns: *duration_ns,
        target: *target,
    };
    UserRamp { start, stages: stages.iter().map(stage).collect() }
}

fn steps(ramp: &UserRamp, part: &Stripe) -> Vec<(u64, u64)> {
    ramp.steps(part).map(|step| (step.at_ns, step.users)).collect()
}

#[test]
fn users_come_when_the_line_reaches_them_and_go_a_step_late() {
    let whole = Stripe::default();
    for (start, stages, want) in [
        (0, &[(2 * S, 2)][..], vec![(0, 0), (S, 1), (2 * S, 2)]),
        (2, &[(2 * S, 0)], vec![(0, 2), (S, 1), (2 * S, 0)]),
        (1, &[(0, 5), (S, 5), (0, 0)], vec![(0, 1), (0, 5), (S, 0)]),
        (
            1,
            &[(3 * S, 4), (S, 4), (3 * S, 1)],
            vec![(0, 1), (S, 2), (2 * S, 3), (3 * S, 4), (5 * S, 3), (6 * S, 2), (7 * S, 1)],
        ),
        (3, &[], vec![(0, 3)]),
        // A third of a second is not a whole number of ns: counted from the end of the stage.
        (0, &[(S, 3)], vec![(0, 0), (333_333_334, 1), (666_666_667, 2), (S, 3)]),
    ] {
        let ramp = ramp(start, stages);
        assert_eq!(steps(&ramp, &whole), want, "{start} {stages:?}");
        assert!(ramp.steps_max() >= want.len() as u64);
    }
}

#[test]
fn what_is_too_long_ends_at_the_end_of_time() {
    let ramp = ramp(0, &[(u64::MAX, 1), (u64::MAX, 2)]);
    assert_eq!(ramp.duration_ns(), u64::MAX);
    assert_eq!(steps(&ramp, &Stripe::default()).len(), 3);
    let huge = UserRamp { start: u64::MAX, ..ramp };
    assert_eq!(huge.steps_max(), u64::MAX);
}

/// Users over time: those of the last step at each time.
fn over_time(steps: &[(u64, u64)]) -> BTreeMap<u64, u64> {
    steps.iter().copied().collect()
}

proptest! {
    #[test]
    fn parts_add_up_to_the_whole_at_every_time(
        start in 0u64..20,
        stages in prop::collection::vec((prop_oneof![Just(0), 1..10 * S], 0u64..20), 0..5),
        shares in prop::collection::vec(1u64..6, 1..5),
    ) {
        let ramp = ramp(start, &stages);
        let whole = over_time(&steps(&ramp, &Stripe::default()));
        let parts = Stripe::deal(&shares).expect("small shares");
        let parts: Vec<_> = parts.iter().map(|part| over_time(&steps(&ramp, part))).collect();
        for (at_ns, users) in &whole {
            let sum: u64 = parts
                .iter()
                .filter_map(|part| part.range(..=at_ns).next_back())
                .map(|(_, users)| users)
                .sum();
            prop_assert_eq!(sum, *users, "at {}", at_ns);
        }
        let mut times = parts.iter().flat_map(|part| part.keys());
        prop_assert!(times.all(|at_ns| whole.contains_key(at_ns)), "only when the whole changes");
    }
}
