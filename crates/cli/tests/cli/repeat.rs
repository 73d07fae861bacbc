//! `--repeat` from the outside: the document and its readers, seeds, reports of each repeat, the
//! turns of several runs, and what a signal leaves.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::closed::ClosedPort;
use crate::support::{Finished, Report, Running, Server, check_schema, plimsoll, run};

/// A directory to run in.
struct Scratch(TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        run(plimsoll(arguments).current_dir(self.path()))
    }

    fn text(&self, name: &str) -> String {
        let read = fs::read_to_string(self.path().join(name));
        read.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A document of repeats, checked with every result in it.
    fn repeats(&self, name: &str) -> Repeats {
        Repeats::read(&self.text(name))
    }

    /// The files there are, by name.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).expect("a directory");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }
}

struct Repeats {
    document: Value,
    runs: Vec<Report>,
}

impl Repeats {
    fn read(text: &str) -> Self {
        let document: Value = serde_json::from_str(text).expect("JSON");
        check_schema(&document, "repeats");
        let runs = document["runs"].as_array().expect("a list").iter();
        let runs = runs.map(|run| Report::read(&run.to_string())).collect();
        Self { document, runs }
    }

    fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| run.count("/plan/seed")).collect()
    }

    /// How many count: a machine that takes the CPU away for long makes a repeat invalid.
    fn counted(&self) -> usize {
        self.runs.iter().filter(|run| run.text("/loader/verdict") != "invalid").count()
    }

    fn started(&self) -> Vec<&str> {
        self.runs.iter().map(|run| run.text("/started_at")).collect()
    }
}

#[test]
fn repeats_are_one_document_that_compare_and_report_read() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let url = server.url("/");
    for name in ["base.json", "new.json"] {
        let finished =
            scratch.run(&["run", "--repeat", "4", "-n", "200", "-c", "4", "--json", name, &url]);
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
        let again = scratch.run(&["report", name]);
        assert_eq!(again.stdout, finished.stdout, "the same as the run wrote");
        let repeats = scratch.repeats(name);
        assert_eq!(repeats.runs.len(), 4);
        let interval = if repeats.counted() == 4 { "87.5 % interval" } else { "takes 4 repeats" };
        for part in ["4 repeats, one after the other", interval, "\nrate ", "\n4 "] {
            assert!(finished.stdout.contains(part), "{part}: {finished:?}");
        }
    }
    let base = scratch.repeats("base.json");
    let spread = base.document["spread"].as_array().expect("a list");
    let names: Vec<&str> = spread.iter().filter_map(|it| it["measure"].as_str()).collect();
    assert_eq!(names, ["rate", "p50", "p99", "errors"]);
    let compared =
        scratch.run(&["compare", "base.json", "new.json", "--allow-different", "--format", "json"]);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    let compared: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    for side in ["base", "new"] {
        let counted = scratch.repeats(&format!("{side}.json")).counted();
        assert_eq!(compared["cases"][0]["headline"][side]["n"], counted, "{compared}");
    }
}

#[test]
fn every_repeat_has_a_seed_of_its_own_that_gives_it_alone() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let url = server.url("/");
    let load = ["-n", "20", "--form", "a=b", "--format", "json", &url];
    let all = scratch.run(&[&["run", "--seed", "7", "--repeat", "3"][..], &load].concat());
    let all = Repeats::read(&all.stdout);
    assert_eq!(all.seeds(), [7, 8, 9]);
    let alone = scratch.run(&[&["run", "--seed", "9"][..], &load].concat());
    assert_eq!(Report::read(&alone.stdout).at("/plan"), all.runs[2].at("/plan"));
}

#[test]
fn a_path_with_a_number_is_of_each_repeat() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let finished = scratch.run(&[
        "run",
        "--repeat=2",
        "-n20",
        "--json=run-{repeat}.json",
        "--html=run-{repeat}.html",
        "-o=run-{repeat}.md",
        "--format=md",
        &server.url("/"),
    ]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("2 repeats, one after the other"), "{finished:?}");
    let names = ["run-1.html", "run-1.json", "run-1.md", "run-2.html", "run-2.json", "run-2.md"];
    assert_eq!(scratch.files(), names);
    for name in ["run-1.json", "run-2.json"] {
        assert_eq!(Report::read(&scratch.text(name)).ledger(["completed"]), [20], "{name}");
    }
    assert!(scratch.text("run-1.md").contains("| Latency |"), "a whole report");
}

#[test]
fn what_is_of_one_run_needs_a_path_for_each() {
    let scratch = Scratch::new();
    let says = |arguments: &[&str]| {
        let load = ["--repeat", "2", "-n", "20", "http://127.0.0.1:1/"];
        let finished = scratch.run(&[&["run"][..], arguments, &load].concat());
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
        finished.stderr
    };
    for (arguments, want) in [
        (
            ["--html", "out/page.html"],
            "plimsoll: --html is a report of one run: put {repeat} into the path, as in --html \
             'out/page-{repeat}.html'\n",
        ),
        (
            ["--timeseries", "series"],
            "plimsoll: --timeseries is a report of one run: put {repeat} into the path, as in \
             --timeseries 'series-{repeat}'\n",
        ),
        (
            ["--format", "hgrm"],
            "plimsoll: this --format is a report of one run: give each a file, as in -o \
             'run-{repeat}'\n",
        ),
    ] {
        assert_eq!(says(&arguments), want);
    }
    assert!(scratch.files().is_empty());
}

#[test]
fn the_worst_repeat_decides_the_exit_code() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let url = server.url("/");
    let closed = ClosedPort::new();
    let nobody = closed.url();
    for (arguments, code) in [
        (&["--gate", "completed==20", &url][..], 0),
        (&["--gate", "completed==20", "--gate", "completed>20", &url], 3),
        (&["--abort-when", "completed>=0", "-d", "60s", "-r", "50", &url], 3),
        (&[&nobody], 1),
    ] {
        let load: &[&str] = if arguments.contains(&"60s") { &[] } else { &["-n", "20"] };
        let all = ["run", "--repeat", "2", "--json", "all.json"];
        let finished = scratch.run(&[&all, load, arguments].concat());
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        let repeats = scratch.repeats("all.json");
        let begun = if code == 1 { 1 } else { 2 };
        assert_eq!(repeats.runs.len(), begun, "{arguments:?}: without a server, one is tried");
        let gates = repeats.runs.iter().map(|run| run.at("/gates").as_array().map(Vec::len));
        let given = arguments.iter().filter(|word| **word == "--gate").count();
        assert!(gates.into_iter().all(|gates| gates == Some(given)), "each is judged");
    }
}

#[test]
fn runs_of_a_plan_take_turns_with_their_repeats() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let plan = format!(
        "url = '{}'\nrequests = 20\njson = '{{name}}.json'\nrepeat = 2\n[[run]]\nname = 'a'\n\
         [[run]]\nname = 'once'\nrepeat = 1\n[[run]]\nname = 'b'\nrepeat = 3\n",
        server.url("/"),
    );
    fs::write(scratch.path().join("plan.toml"), plan).expect("a file");
    let finished = scratch.run(&["run", "plan.toml"]);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    let (a, b) = (scratch.repeats("a.json"), scratch.repeats("b.json"));
    let once = Report::read(&scratch.text("once.json"));
    let ([a1, a2], [b1, b2, b3]) =
        (a.started()[..].try_into().expect("two"), b.started()[..].try_into().expect("three"));
    let turns = [a1, once.text("/started_at"), b1, a2, b2, b3];
    assert!(turns.is_sorted(), "{turns:?}");
    assert_eq!(a.document["in_turns_with"], serde_json::json!(["b"]));
    assert!(finished.stdout.starts_with("== once"), "no line before the first: {finished:?}");
    assert_eq!(finished.stdout.matches("\n\n== ").count(), 2, "{finished:?}");
    let said = |line: &&str| line.starts_with("== ") || line.contains("in turns with");
    let said: Vec<&str> = finished.stdout.lines().filter(said).collect();
    let want = [
        "== once (2 of 3) ==",
        "== a (1 of 3) ==",
        "2 repeats, in turns with b",
        "== b (3 of 3) ==",
        "3 repeats, in turns with a",
    ];
    assert_eq!(said, want);
}

#[test]
fn a_signal_ends_the_repeat_under_way_and_reports_what_there_is() {
    let (server, scratch) = (Server::start(&[]), Scratch::new());
    let plan = format!(
        "url = '{}'\nrepeat = 3\njson = '{{name}}.json'\n[[run]]\nname = 'short'\nrequests = 20\n\
         [[run]]\nname = 'long'\nduration = '60s'\nrate = 50\ntimeseries = '{{repeat}}.ndjson'\n\
         [[run]]\nname = 'never'\n",
        server.url("/"),
    );
    fs::write(scratch.path().join("plan.toml"), plan).expect("a file");
    let mut command = plimsoll(&["run", "plan.toml"]);
    let mut running = Running::start(command.current_dir(scratch.path()));
    let series = scratch.path().join("1.ndjson");
    while running.ended().is_none() && fs::metadata(&series).map_or(0, |file| file.len()) == 0 {
        std::thread::yield_now();
    }
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let (short, long) = (scratch.repeats("short.json"), scratch.repeats("long.json"));
    assert_eq!((short.runs.len(), long.runs.len()), (1, 1));
    assert_eq!(long.document["left_out"][0]["repeat"], 1, "{}", long.document["left_out"]);
    assert!(finished.stdout.contains("1 of 3 repeats were begun"), "{finished:?}");
    assert_eq!(scratch.files(), ["1.ndjson", "long.json", "plan.toml", "short.json"]);
}

/// A report that is piped has 80 columns, or as many as it is told.
#[test]
fn a_report_is_as_wide_as_it_is_told() {
    let server = Server::start(&[]);
    let widest = |columns: Option<&str>| {
        let mut command = plimsoll(&["-n", "100", &server.url("/")]);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        let finished = run(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    assert!(widest(None) <= 80);
    assert!((81..=100).contains(&widest(Some("200"))));
    assert!(widest(Some("66")) <= 66);
}

#[test]
fn repeats_of_scripts_have_seeds_and_reports_of_their_own() {
    let scratch = Scratch::new();
    let server = Server::start(&[]);
    let script = "import http from 'k6/http';
        export default function () { http.get(`${__ENV.BASE}/?draw=${Math.random()}`); }";
    fs::write(scratch.path().join("load.js"), script).expect("a script");
    let base = format!("BASE={}", server.url(""));
    let finished = scratch.run(&[
        "run", "load.js", "-e", &base, "-n", "7", "--repeat", "3", "--json", "all.json", "-q",
    ]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let repeats = scratch.repeats("all.json");
    assert_eq!(repeats.runs.len(), 3);
    let seeds: BTreeSet<u64> = repeats.seeds().into_iter().collect();
    assert_eq!(seeds.len(), 3, "{seeds:?}");
    for run in &repeats.runs {
        assert_eq!(run.ledger(["sent", "ok"]), [7, 7]);
        assert_eq!(run.count("/iterations/completed"), 7);
    }
}

#[test]
fn plan_files_may_name_scripts() {
    let scratch = Scratch::new();
    let server = Server::start(&[]);
    let script = "import http from 'k6/http';
        export default function () { http.get(`${__ENV.BASE}/`); }";
    fs::write(scratch.path().join("load.js"), script).expect("a script");
    let run = |lines: &str| {
        let base = format!("BASE={}", server.url(""));
        let plan = format!("[[run]]\nname = 'script'\nurl = 'load.js'\nenv = '{base}'\n{lines}\n");
        fs::write(scratch.path().join("plan.toml"), plan).expect("a plan");
        scratch.run(&["run", "plan.toml", "--json", "{name}.json", "-q"])
    };
    let finished = run("requests = 5\nconnections = 2\nrepeat = 2");
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let repeats = scratch.repeats("script.json");
    assert_eq!(repeats.runs.len(), 2);
    for run in &repeats.runs {
        assert_eq!(run.ledger(["sent", "ok"]), [5, 5]);
        assert_eq!(run.count("/plan/vus/scenarios/0/vus_max"), 2);
    }
    for (lines, says) in [
        ("rate = 5", "plan.toml:5: rate: the run of a script has no rate: set an arrival rate"),
        ("connections = '1..5'", "plan.toml:5: connections: connections MIN..MAX is for"),
    ] {
        let refused = run(lines);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(says), "{refused:?}");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
    }
}
