//! What makes a run of scenarios, what does not, and what their conditions may be about.

use super::*;
use crate::gate;
use crate::plan::{Script, Trace};
use crate::result::{RunResult, ScenarioResult, Tool};
use crate::schedule::{Arrival, Profile};

const SECOND_NS: u64 = 1_000_000_000;

fn open() -> Draft {
    let duration_ns = Some(4 * SECOND_NS);
    let rate = Some(Profile::constant(50_000_000, duration_ns, Arrival::Uniform));
    Draft { rate, duration_ns, ..Draft::new(Endpoint::http("a.example", 80, "/")) }
}

fn closed() -> Draft {
    let (duration_ns, requests) = (None, Some(30));
    Draft { duration_ns, requests, ..Draft::new(Endpoint::http("b.example", 80, "/")) }
}

fn scenario(name: &str, start_ns: u64, draft: Draft) -> Scenario {
    Scenario { name: name.to_owned(), start_ns, plan: draft.check().unwrap() }
}

fn of(list: Vec<Scenario>) -> Result<Scenarios, ScenarioError> {
    Scenarios::check(RunTerms::default(), list)
}

#[test]
fn a_plain_run_is_its_plan() {
    let plan = open().check().unwrap();
    let scenarios = Scenarios::from(plan.clone());
    assert_eq!((scenarios.plain(), scenarios.run()), (Some(&plan), &*plan));
    let again = scenarios.with_seed(7);
    assert_eq!((again.run().seed, again.list()[0].plan.seed), (7, 7));
}

#[test]
fn several_scenarios_make_a_run() {
    let warm = Draft { warmup_ns: 3 * SECOND_NS, connections: 7, ..open() };
    let list = vec![
        scenario("a", 0, open()),
        scenario("b", 2 * SECOND_NS, warm),
        scenario("later", 60 * SECOND_NS, open()),
    ];
    let scenarios = of(list).unwrap();
    let run = scenarios.run();
    assert_eq!((run.duration_ns, run.requests), (Some(64 * SECOND_NS), None));
    assert_eq!((run.connections, run.warmup_ns), (107, SECOND_NS));
    assert_eq!((run.endpoint.host.as_str(), &run.rate), ("", &None));
    assert_eq!(scenarios.plain(), None);
    let seeds = |of: &Scenarios| of.list().iter().map(|it| it.plan.seed).collect::<Vec<_>>();
    let (first, second) = (seeds(&scenarios.with_seed(1)), seeds(&scenarios.with_seed(2)));
    assert_eq!((first[0], second[0]), (1, 2));
    assert!(first[1] != first[2] && first[1] != second[1], "{first:?} {second:?}");
    // Nobody knows how long requests take.
    let endless = of(vec![scenario("a", 0, open()), scenario("c", 0, closed())]).unwrap();
    assert_eq!((endless.run().duration_ns, endless.run().requests), (None, None));
    let counted = of(vec![scenario("c", 0, closed()), scenario("d", 0, closed())]).unwrap();
    assert_eq!(counted.run().requests, Some(60));
}

#[test]
fn what_makes_no_run_is_refused() {
    let script = Script { path: "a.lua".to_owned(), text: "x=1".into(), arguments: Vec::new() };
    let many = (0..65).map(|n| scenario(&n.to_string(), 0, open())).collect();
    let gated = Draft { gates: vec!["p99<1s".to_owned()], ..open() };
    let required = Draft { require_valid: true, ..open() };
    let aborting = Draft { abort_when: vec!["p99>1s".to_owned()], ..open() };
    let scripted = Draft { script: Some(script), workers: 1, ..open() };
    let one = |name: &str, draft| vec![scenario(name, 0, draft)];
    for (list, want) in [
        (Vec::new(), "a run has 1 to 64 scenarios, and there are 0"),
        (many, "a run has 1 to 64 scenarios, and there are 65"),
        (one("", open()), "'' is not the name of a scenario: "),
        (one("a b", open()), "'a b' is not the name of a scenario: "),
        (one(&"x".repeat(65), open()), "'xxx"),
        (vec![scenario("a", 0, open()), scenario("a", 1, open())], "two scenarios are called 'a'"),
        (vec![scenario("a", u64::MAX, open())], "scenario 'a' starts too late: 8784h at most"),
        (
            one("a", gated),
            "scenario 'a' has gates of its own: give them to the run, as in 'p99@scenario:a<250ms'",
        ),
        (one("a", required), "scenario 'a' has a required verdict of its own: give it to the run"),
        (one("a", aborting), "scenario 'a' has conditions to end the run of its own: "),
        (one("a", scripted), "scenario 'a' has a script, which only a run without scenarios"),
    ] {
        let text = of(list).expect_err(want).to_string();
        assert!(text.starts_with(want), "{text}\n{want}");
    }
}

#[test]
fn conditions_are_about_the_run_or_a_scenario() {
    let trace = || Some(Trace { path: "times".to_owned(), offsets_ns: vec![0, 5] });
    let listed = || Draft { trace: trace(), rate: None, ..open() };
    let list = || {
        vec![
            scenario("api", 0, open()),
            scenario("batch", 0, closed()),
            scenario("list", 0, listed()),
        ]
    };
    for (gate, want) in [
        ("p99@scenario:api<1s", ""),
        ("errors<1%", ""),
        ("rate@scenario:api>=90%", ""),
        ("verdict@scenario:batch>=valid", ""),
        ("rate@0s..20s>10", ""),
        ("p99@scenario:apo<1s", "no scenario 'apo': did you mean 'api'?"),
        ("p99@scenario:x<1s", "no scenario 'x'; there is: api, batch, list"),
        ("rate>=90%", "scenario 'batch' is a closed loop and has no target: "),
        ("rate@scenario:batch>=90%", "scenario 'batch' is a closed loop and has no target: "),
        ("rate@scenario:list>=90%", "scenario 'list' is a list of times and has no target: "),
        (
            "p99@endpoint:/<1s",
            "each scenario has endpoints of its own: judge a whole one, with @scenario:api",
        ),
        ("p99@stage:1<1s", "each scenario has stages of its own: "),
        ("p99@address:x<1s", "each scenario has addresses of its own: "),
    ] {
        let terms = RunTerms { gates: vec![gate.to_owned()], ..RunTerms::default() };
        let text = Scenarios::check(terms, list()).err().map_or(String::new(), |it| it.to_string());
        let wanted =
            if want.is_empty() { String::new() } else { format!("condition '{gate}': {want}") };
        assert!(text.starts_with(&wanted) && text.is_empty() == want.is_empty(), "{text}\n{want}");
    }
    let with_abort = |text: &str| {
        let terms = RunTerms { abort_when: vec![text.to_owned()], ..RunTerms::default() };
        Scenarios::check(terms, list())
    };
    let scenarios = with_abort("p99>1s").unwrap();
    assert_eq!(scenarios.abort_conditions().len(), 1);
    assert!(scenarios.list().iter().all(|it| it.plan.notes_waiting()), "p99 counts what waits");
    with_abort("p99@scenario:api>1s").expect_err("only the whole run is known");
    let plain = Draft { gates: vec!["p99@scenario:api<1s".to_owned()], ..open() };
    let error = plain.check().expect_err("it has no scenarios").to_string();
    assert!(error.ends_with("the run has no scenarios: leave @scenario out"), "{error}");
}

#[test]
fn a_scenario_s_condition_is_judged_on_its_result() {
    let tool = || Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let result = |failed: u64| {
        let mut result = RunResult::empty(tool(), &open());
        result.elapsed_ns = SECOND_NS;
        let ledger = &mut result.ledger;
        (ledger.scheduled, ledger.sent, ledger.completed) = (10, 10, 10);
        (ledger.ok, ledger.failed) = (10 - failed, failed);
        result
    };
    let part = |name: &str, failed| ScenarioResult {
        name: name.to_owned(),
        start_ns: 0,
        result: result(failed),
    };
    let run = RunResult::of_scenarios(result(0), vec![part("good", 0), part("bad", 4)]);
    let gates = ["errors@scenario:bad<1%", "errors@scenario:good<1%", "errors@scenario:none<1%"];
    let judged = gate::judge(&gates.map(str::to_owned), &run).unwrap();
    let passes: Vec<(bool, Option<f64>)> = judged.iter().map(|it| (it.pass, it.value)).collect();
    assert_eq!(passes, [(false, Some(0.4)), (true, Some(0.0)), (false, None)]);
    assert_eq!(judged[2].note.as_deref(), Some("no scenario 'none'; there is: good, bad"));
}
