//! Scenarios against what k6 v1.8.1 said of the same ones.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::plan::{Limits, Need};
use super::*;
use crate::duration;
use crate::k6::options::{Configuration, Options, Sources, consolidate};
use crate::k6::segment::Part;

const S: u64 = 1_000_000_000;

fn configured(options: &Value) -> Result<Configuration, String> {
    let script = Options::from_script(options, &mut Vec::new()).map_err(|e| e.to_string())?;
    consolidate(&Sources { script, ..Sources::default() }).map_err(|e| e.to_string())
}

fn scenario(fields: &Value) -> Scenario {
    let made = configured(&json!({ "scenarios": { "a": fields } })).expect("a scenario");
    made.scenarios[0].clone()
}

/// VUs and durations that `k6 inspect --execution-requirements` printed.
#[test]
fn limits_are_those_of_k6() {
    let all: Vec<Value> =
        serde_json::from_str(include_str!("../fixtures/limits.json")).expect("JSON");
    for case in &all {
        let limits = configured(&case["options"]).expect("options").limits();
        let duration = duration::print(i64::try_from(limits.duration_ns).expect("short"));
        assert_eq!(json!(duration), case["duration"], "{case}");
        assert_eq!(json!(limits.max_vus), case["vus"], "{case}");
    }
    assert_eq!(all.len(), 10);
}

/// The lines that k6 printed for these scenarios.
#[test]
fn descriptions_are_k6s() {
    for (fields, want) in [
        (
            json!({ "executor": "shared-iterations", "vus": 3, "iterations": 7,
                "maxDuration": "90s", "gracefulStop": "0s" }),
            "7 iterations shared among 3 VUs (maxDuration: 1m30s)",
        ),
        (
            json!({ "executor": "per-vu-iterations", "vus": 3, "iterations": 2,
                "startTime": "1m30s", "exec": "other" }),
            "2 iterations for each of 3 VUs (maxDuration: 10m0s, exec: other, startTime: 1m30s, \
             gracefulStop: 30s)",
        ),
        (
            json!({ "executor": "constant-vus", "vus": 2, "duration": "61500ms",
                "gracefulStop": "1500ms" }),
            "2 looping VUs for 1m1.5s (gracefulStop: 1.5s)",
        ),
        (
            json!({ "executor": "ramping-vus", "startVUs": 1, "gracefulRampDown": "5s",
                "stages": [{ "duration": "10s", "target": 5 }, { "duration": "0s", "target": 2 },
                    { "duration": "20s", "target": 0 }] }),
            "Up to 5 looping VUs for 30s over 3 stages (gracefulRampDown: 5s, gracefulStop: 30s)",
        ),
        (
            json!({ "executor": "constant-arrival-rate", "rate": 7, "timeUnit": "3s",
                "duration": "1h30s", "preAllocatedVUs": 2, "maxVUs": 10 }),
            "2.33 iterations/s for 1h0m30s (maxVUs: 2-10, gracefulStop: 30s)",
        ),
        (
            json!({ "executor": "constant-arrival-rate", "rate": 30, "timeUnit": "1m",
                "duration": "10s", "preAllocatedVUs": 2, "startTime": "5s" }),
            "0.50 iterations/s for 10s (maxVUs: 2, startTime: 5s, gracefulStop: 30s)",
        ),
        (
            json!({ "executor": "ramping-arrival-rate", "startRate": 3, "timeUnit": "1m",
                "stages": [{ "duration": "1500ms", "target": 200 },
                    { "duration": "2s", "target": 10 }], "preAllocatedVUs": 4, "maxVUs": 4 }),
            "Up to 3.33 iterations/s for 3.5s over 2 stages (maxVUs: 4, gracefulStop: 30s)",
        ),
    ] {
        assert_eq!(scenario(&fields).describe(&Part::default()), want);
    }
    let half = configured(&json!({
        "executionSegment": "0:1/2",
        "executionSegmentSequence": "0,1/2,3/4,1",
        "scenarios": {
            "c": { "executor": "constant-arrival-rate", "rate": 20, "duration": "2s",
                "preAllocatedVUs": 4 },
            "s": { "executor": "shared-iterations", "vus": 5, "iterations": 17 },
        },
    }));
    let half = half.expect("options");
    let lines: Vec<String> = half.scenarios.iter().map(|it| it.describe(&half.part)).collect();
    assert_eq!(
        lines,
        [
            "10.00 iterations/s for 2s (maxVUs: 2, gracefulStop: 30s)",
            "10 iterations shared among 3 VUs (maxDuration: 10m0s, gracefulStop: 30s)",
        ]
    );
}

#[test]
fn all_that_is_wrong_is_named() {
    let stages = |stages: Value| json!({ "executor": "ramping-vus", "stages": stages });
    for (fields, want) in [
        (json!({ "vus": 1 }), "it has no executor: give one of shared-iterations,"),
        (json!(5), "it is not an object: write {executor: …}"),
        (json!({ "executor": "nope" }), "executor 'nope' is not one of shared-iterations,"),
        (
            json!({ "executor": "externally-controlled" }),
            "executor 'externally-controlled' is no longer part of k6: use ramping-vus",
        ),
        (
            json!({ "executor": "constant-vus", "foo": 1 }),
            "'foo' is not a field of constant-vus: it has vus, duration",
        ),
        (json!({ "executor": "constant-vus" }), "it has no duration: give one, such as '30s'"),
        (
            json!({ "executor": "constant-vus", "duration": "500ms", "vus": 0, "exec": "",
                "startTime": "-1s", "gracefulStop": "-2s" }),
            "exec is empty: give the name of a function, startTime is -1s: give 0s or more, \
             gracefulStop is -2s: give 0s or more, vus is 0: give 1 or more, duration is 500ms: \
             give 1s or more",
        ),
        (
            json!({ "executor": "constant-vus", "duration": "1s", "vus": 1_000_001 }),
            "vus is 1000001: give 1000000 at most",
        ),
        (
            json!({ "executor": "constant-arrival-rate", "duration": "1s" }),
            "it has no rate: give one, in iterations per timeUnit, it has no preAllocatedVUs: give \
             the number of VUs to start with",
        ),
        (
            json!({ "executor": "constant-arrival-rate", "duration": "1s", "rate": 0,
                "timeUnit": "-1s", "preAllocatedVUs": 5, "maxVUs": 3 }),
            "rate is 0: give 1 or more, timeUnit is -1s: give more than 0s, maxVUs is 3, less than \
             preAllocatedVUs: give 5 or more",
        ),
        (
            json!({ "executor": "constant-arrival-rate", "duration": "1s", "rate": 1.5 }),
            "rate: 1.5 is not a whole number",
        ),
        (
            json!({ "executor": "ramping-arrival-rate", "startRate": -1, "preAllocatedVUs": 1,
                "stages": [{ "duration": "-1s", "target": -1 }] }),
            "startRate is -1: give 0 or more, the duration of stage 1 is -1s: give 0s or more, the \
             target of stage 1 is -1: give 0 or more",
        ),
        (
            json!({ "executor": "ramping-arrival-rate", "startRate": 1_000_000_000_000_000u64,
                "preAllocatedVUs": 1, "stages": [{ "duration": "8760h", "target": 1 }] }),
            "rate and duration are too large to compute with: give a lower rate or a shorter time",
        ),
        (stages(json!([])), "it has no stages: give one or more"),
        (stages(json!([{ "target": 1 }])), "stage 1 has no duration"),
        (stages(json!([{ "duration": "1s" }])), "stage 1 has no target"),
        (stages(json!([{ "duration": "x" }])), "stages: stage 1: duration: 'x' is not a duration"),
        (
            json!({ "executor": "ramping-vus", "startVUs": 0,
                "stages": [{ "duration": "1s", "target": 0 }] }),
            "it never has a VU: give startVUs or a target above 0",
        ),
        (
            json!({ "executor": "shared-iterations", "vus": 5, "iterations": 2 }),
            "iterations is 2, less than the 5 VUs: give more, or fewer VUs",
        ),
        (
            json!({ "executor": "per-vu-iterations", "iterations": 0, "maxDuration": "10ms" }),
            "maxDuration is 10ms: give 1s or more, iterations is 0: give 1 or more",
        ),
        (
            json!({ "executor": "constant-vus", "duration": "1s", "tags": { "a": 1 } }),
            "tags: the value of 'a' is not text: put it in quotes",
        ),
    ] {
        let error = configured(&json!({ "scenarios": { "a": fields } })).expect_err(want);
        let start = format!("scenario 'a': {want}");
        assert!(error.contains(&start), "{error}\n{start}");
    }
    let two = json!({ "scenarios": {
        "a b": { "executor": "constant-vus", "duration": "1s" },
        "c": { "executor": "constant-vus", "duration": 1 },
    } });
    assert_eq!(
        configured(&two).expect_err("both are wrong"),
        "scenario 'a b': its name has other characters than letters, digits, _ and -; scenario \
         'c': duration is 1ms: give 1s or more"
    );
}

#[test]
fn vus_that_leave_are_needed_until_their_iterations_must_have_ended() {
    let fields = |graceful_stop: &str| {
        scenario(&json!({ "executor": "ramping-vus", "startVUs": 4, "gracefulRampDown": "3s",
            "gracefulStop": graceful_stop, "stages": [{ "duration": "2s", "target": 2 },
                { "duration": "4s", "target": 4 }, { "duration": "0s", "target": 0 }] }))
    };
    let steps = |needs: Vec<Need>| {
        needs.iter().map(|need| (need.at_ns / S, need.planned_vus)).collect::<Vec<_>>()
    };
    // From 4 to 3 after 1 s, back at 4 after 6 s: those who left may take until 4 s.
    let want = [(0, 4), (4, 3), (6, 4), (9, 0)];
    assert_eq!(steps(fields("30s").needs(&Part::default())), want);
    assert_eq!(steps(fields("1s").needs(&Part::default())), [(0, 4), (4, 3), (6, 4), (7, 0)]);
}

#[test]
fn scenarios_that_follow_each_other_share_vus() {
    let made = configured(&json!({ "scenarios": {
        "b": { "executor": "constant-vus", "vus": 5, "duration": "10s", "gracefulStop": "0s",
            "startTime": "10s" },
        "a": { "executor": "constant-arrival-rate", "rate": 1, "preAllocatedVUs": 2, "maxVUs": 9,
            "duration": "8s", "gracefulStop": "1s" },
    } }));
    let made = made.expect("options");
    let names: Vec<&str> = made.scenarios.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let want = Limits { planned_vus: 5, max_vus: 9, duration_ns: 20 * S };
    assert_eq!(made.limits(), want);
}

#[test]
fn missing_functions_are_named() {
    let made = configured(&json!({ "scenarios": {
        "a": { "executor": "constant-vus", "duration": "1s", "exec": "nope" },
        "b": { "executor": "constant-vus", "duration": "1s" },
    } }));
    let made = made.expect("options");
    let error = made.check_functions(&|name| name == "default").expect_err("one is missing");
    assert_eq!(error.to_string(), "scenario 'a' calls 'nope', which the script does not export");
    assert_eq!(error.code.code(), 104);
    assert_eq!(made.check_functions(&|_| true), Ok(()));
}

proptest! {
    /// VUs and iterations of all segments are those of the whole.
    #[test]
    fn segments_add_up(
        vus in 1u64..40,
        more in 0u64..100,
        borders in prop::collection::btree_set(1u64..12, 0..4),
    ) {
        let borders: Vec<String> = std::iter::once("0".to_owned())
            .chain(borders.iter().map(|border| format!("{border}/12")))
            .chain(["1".to_owned()])
            .collect();
        let (mut vus_sum, mut iterations_sum) = (0, 0);
        let mut numbers = Vec::new();
        for pair in borders.windows(2) {
            let made = configured(&json!({
                "vus": vus,
                "iterations": vus + more,
                "executionSegment": pair.join(":"),
                "executionSegmentSequence": borders.join(","),
            }));
            let made = made.map_err(TestCaseError::fail)?;
            vus_sum += made.part.scale(vus);
            let weighted = made.part.weighted(vus);
            iterations_sum += weighted.scale(vus + more);
            if let Some(stripe) = weighted.stripe() {
                let own = (0..).map_while(|count| stripe.nth(count));
                numbers.extend(own.take_while(|number| *number < vus + more));
            }
        }
        numbers.sort_unstable();
        prop_assert_eq!((vus_sum, iterations_sum), (vus, vus + more));
        prop_assert_eq!(numbers, (0..vus + more).collect::<Vec<_>>());
    }
}
