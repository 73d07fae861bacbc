//! Loads that are searches for the load line: what the study has of them, and how servers rank.
//!
//! Probes take a second and only guide a search, so the answers are far from every line.

use serde_json::Value;

use super::{Suite, serve};
use crate::support::{plimsoll, run};

/// A search between 50 and 100 requests per second.
const SEARCH: &str = "\
[[loads]]
name = 'line'
kind = 'find'
slo = ['p99<500ms']
quick-only = true
settle = '0s'
quick = '1s'
max-rate = 100
min-rate = 50
";

fn suite(servers: &[(&str, &str)], loads: &str) -> Suite {
    let mut text = "name = 'test'\nrepeats = 1\nbaseline = 'good'\n".to_owned();
    for (name, path) in servers {
        let lines = serve(&format!("path = '{path}'\nexpect = ['status=200..599']"));
        text += &format!("[[servers]]\nname = '{name}'\n{lines}\n");
    }
    Suite::new(&(text + loads))
}

#[test]
fn servers_are_ranked_by_their_load_lines() {
    let servers = [("good", "/"), ("slow", "/delay/2s"), ("wrong", "/status/503")];
    let suite = suite(&servers, &format!("{SEARCH}expect = ['status=200..599']\n"));
    let finished = suite.run(&["--dry-run"]);
    assert!(finished.stdout.contains("take until the load lines are found"), "{finished:?}");
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for part in [
        "check good: ready after ",
        "also to one request of line",
        " good line #1: load line guessed 100/s, ",
        " slow line #1: load line not met, ",
    ] {
        assert!(finished.stderr.contains(part), "{part}: {}", finished.stderr);
    }
    for (server, outcome, rate_rps, verdict, code) in [
        ("good", "guessed", Some(100.0), "suspect", "load_line_guessed"),
        ("slow", "not_met", None, "valid", "load_line_not_met"),
        ("wrong", "guessed", Some(100.0), "suspect", "load_line_guessed"),
    ] {
        let run = &suite.runs(server, "line")[0];
        let line = &run["figures"]["load_line"];
        let found = (line["outcome"].as_str(), line["rate_rps"].as_f64());
        assert_eq!(found, (Some(outcome), rate_rps), "{run}");
        assert_eq!((&run["verdict"], &run["failure"]), (&verdict.into(), &Value::Null), "{run}");
        assert_eq!(run["causes"][0]["code"], code, "{run}");
        assert!(run["server"]["rss_peak_bytes"].as_u64().is_some_and(|rss| rss > 0), "{run}");
        let file = run["result"].as_str().expect("the file of the search");
        let text = std::fs::read_to_string(suite.path().join("results/test").join(file));
        let found: Value = serde_json::from_str(&text.expect("a document")).expect("JSON");
        crate::support::check_schema(&found, "find");
    }
    let columns = suite.study()["columns"].clone();
    assert_eq!(columns, serde_json::json!(["load_line", "fails_at", "rss", "cpu"]));
    let ended = "How the searches of line ended: good guessed 1; slow not met 1; wrong guessed 1";
    assert!(finished.stdout.contains(ended), "{finished:?}");
    let csv = suite.path().join("results/test/report.csv");
    let csv = std::fs::read_to_string(csv).expect("a table");
    assert!(csv.lines().next().expect("names").contains(",load_line,load_line_rps,fails_at_rps,"));
    assert!(csv.contains(",not met,,"), "{csv}");
    let compare = ["compare", "results/test", "results/test"];
    let compared = run(plimsoll(&compare).current_dir(suite.path()));
    assert!(compared.stdout.replace('_', " ").contains("load line"), "{compared:?}");
}

#[test]
fn a_search_as_a_command_line_is_one_too() {
    let args = "find --slo p99<500ms --quick-only --settle 0s --quick 1s --max-rate 50 {url}";
    let suite = suite(&[("good", "/")], &format!("[[loads]]\nname = 'line'\nargs = '{args}'\n"));
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let run = &suite.runs("good", "line")[0];
    assert_eq!(run["figures"]["load_line"]["rate_rps"], 50.0, "{run}");
}

#[test]
fn what_makes_no_search_is_refused_with_its_line() {
    for (from, to, want) in [
        ("slo = ['p99<500ms']", "slo = ['p99']", "12: load 'line': invalid value 'p99'"),
        ("max-rate = 100", "rate = 100", "16: load 'line': find has no --rate"),
        ("kind = 'find'", "kind = 'search'", "11: kind: 'search' is not one of run, find"),
        ("kind = 'find'", "", "load 'line': '"),
        ("kind = 'find'", "kind = 'find'\ntester = 'wrk'", "kind: only Plimsoll searches"),
        ("slo = ['p99<500ms']", "", "load 'line': 0 objectives"),
        ("quick = '1s'", "quick = '1ms'", "load 'line': quick probes of"),
    ] {
        let suite = suite(&[("good", "/")], &SEARCH.replace(from, to));
        let finished = suite.run(&[]);
        assert_eq!((finished.code, finished.stderr.lines().count()), (Some(2), 1), "{finished:?}");
        assert!(finished.stderr.contains(want), "{to}: {finished:?}");
    }
}
