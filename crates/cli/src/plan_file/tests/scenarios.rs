//! Scenarios of a plan file: what a table has of its own, what it takes from above, and what is
//! refused.

use plimsoll_core::scenario::Scenarios;

use super::*;

const TWO: &str = r#"
url = "http://a.example/"
connections = 7
timeout = "3s"
gate = ["p99@scenario:api<250ms", "errors<1%"]
require-valid = true
seed = 5

[scenario.browse]
duration = "4s"
rate = 50

[scenario.api]
start = "1500ms"
url = "http://b.example:81/x"
requests = 30
connections = 2
"#;

impl Scratch {
    fn scenarios(&self, beside: &[&str]) -> Result<Scenarios, Exit> {
        let runs = self.read(beside)?;
        let [run] = &runs.runs[..] else { panic!("one run: {runs:?}") };
        Ok(run.prepare(&runs.beside, &run_definition())?.load.scenarios().clone())
    }

    fn refusal(&self, beside: &[&str]) -> String {
        match self.scenarios(beside) {
            Err(Exit::Usage(text) | Exit::CouldNotRun(text)) => {
                assert!(!text.contains('\n'), "{text}");
                text.replace(self.path().to_str().unwrap(), "plan.toml")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_table_takes_what_it_does_not_say_from_above() {
    let scenarios = Scratch::new(TWO).scenarios(&[]).unwrap();
    let [browse, api] = scenarios.list() else { panic!("{scenarios:?}") };
    assert_eq!((browse.name.as_str(), browse.start_ns), ("browse", 0));
    assert_eq!((api.name.as_str(), api.start_ns), ("api", 1_500_000_000));
    assert_eq!((browse.plan.endpoint.host.as_str(), browse.plan.connections), ("a.example", 7));
    assert_eq!((api.plan.endpoint.port, api.plan.connections), (81, 2));
    assert_eq!((api.plan.requests, api.plan.is_open_loop()), (Some(30), false));
    assert_eq!((browse.plan.timeout_ns, api.plan.timeout_ns), (3_000_000_000, 3_000_000_000));
    let run = scenarios.run();
    assert_eq!((run.gates.len(), run.require_valid, run.seed), (2, true, 5));
    assert!(scenarios.list().iter().all(|it| it.plan.gates.is_empty() && !it.plan.require_valid));
}

#[test]
fn flags_beside_the_file_go_over_what_stands_above() {
    let beside = ["-c", "9", "--timeout", "1s", "--gate", "p50<1s", "-d", "2s"];
    let scenarios = Scratch::new(TWO).scenarios(&beside).unwrap();
    let [browse, api] = scenarios.list() else { panic!("{scenarios:?}") };
    assert_eq!((browse.plan.connections, api.plan.connections), (9, 2));
    assert_eq!(
        (browse.plan.duration_ns, api.plan.duration_ns),
        (Some(4_000_000_000), Some(2_000_000_000))
    );
    assert_eq!((browse.plan.timeout_ns, api.plan.timeout_ns), (1_000_000_000, 1_000_000_000));
    assert_eq!(scenarios.run().gates, ["p50<1s"]);
}

#[test]
fn a_url_above_is_needed_only_where_a_table_has_none() {
    let text = "[scenario.a]\nurl = 'http://a.example'\n[scenario.b]\nstart = '1s'\n";
    assert_eq!(
        Scratch::new(text).refusal(&[]),
        "plan.toml:3: scenario 'b': say where to send the requests: give a URL or targets = 'FILE'"
    );
    let text = text.replace("start", "url = 'http://b.example'\nstart");
    assert_eq!(Scratch::new(&text).scenarios(&[]).unwrap().list().len(), 2);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let url = "url = 'http://a.example'\n";
    for (text, want) in [
        (
            "[scenario.a]\ngate = 'p99<1s'",
            "plan.toml:3: 'gate' is about the whole run: write it above",
        ),
        ("[scenario.a]\noutput = 'x'", "plan.toml:3: 'output' is about the whole run: "),
        ("[scenario.a]\nrepeat = 2", "plan.toml:3: 'repeat' is about the whole run: "),
        ("[scenario.a]\nmonitor = 'x'", "plan.toml:3: 'monitor' is about the whole run: "),
        ("[scenario.a]\nwait = '1s'", "plan.toml:3: 'wait' is about the whole run: "),
        ("[scenario.a]\nconections = 2", "plan.toml:3: 'conections' is not a key of a plan: "),
        ("[scenario.a]\nrate = 'fast'", "plan.toml:3: rate: invalid value 'fast'"),
        ("[scenario.a]\nconnections = 0", "plan.toml:3: connections: 0 connections cannot send"),
        ("[scenario.a]\nstart = 'soon'", "plan.toml:3: start: "),
        ("[scenario.'a b']\n", "plan.toml:2: 'a b' is not the name of a scenario: "),
        ("scenario = 3", "plan.toml:2: scenarios are tables: write [scenario.NAME] before each"),
        ("[scenario]\n", "plan.toml:2: scenarios are tables: write [scenario.NAME] before each"),
        ("[[run]]\n[scenario.a]\n", "plan.toml:2: a file has runs or scenarios: "),
        ("[[run]]\nstart = '1s'", "plan.toml:3: 'start' is not a key of a plan: "),
        (
            "gate = 'p99@scenario:b<1s'\n[scenario.bee]\n",
            "plan.toml:2: gate: condition 'p99@scenario:b<1s': no scenario 'b'",
        ),
    ] {
        let refusal = Scratch::new(&format!("{url}{text}")).refusal(&[]);
        assert!(refusal.starts_with(want), "{text}\n{refusal}\n{want}");
    }
}

#[test]
fn a_printed_file_makes_the_same_scenarios() {
    for text in [TWO, "url = 'http://a.example'\n[scenario.\"v1.2\"]\nstart = '2s'\n"] {
        let scratch = Scratch::new(text);
        let runs = scratch.read(&["--print-plan"]).unwrap();
        let printed = match super::super::execute(&runs) {
            Err(Exit::Text(printed)) => printed,
            other => panic!("{other:?}"),
        };
        let again = Scratch::new(&printed).scenarios(&[]).unwrap();
        assert_eq!(again, scratch.scenarios(&[]).unwrap(), "{printed}");
    }
}
