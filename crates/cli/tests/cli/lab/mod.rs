//! The lab from the outside: with the built-in server as the server, and with servers that
//! misbehave.

mod before;
mod figures;
mod going_on;
mod searches;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Finished, Running, Stream, check_schema, plimsoll, run};

/// A folder with a suite, in which the lab is run.
struct Suite(tempfile::TempDir);

const SERVE: &str = "{plimsoll} serve --listen 127.0.0.1:{port}";

/// Two loads that take as long as some requests do.
const LOADS: &str = "\
[[loads]]
name = 'few'
requests = 20
connections = 2
[[loads]]
name = 'more'
requests = 40
connections = 2
";

impl Suite {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("suite.toml"), text).expect("a file");
        Self(directory)
    }

    /// Servers with these lines under their names, the two loads, and these lines at the top.
    fn of(head: &str, servers: &[(&str, &str)]) -> Self {
        let mut text = format!("name = 'test'\n{head}\n");
        for (name, lines) in servers {
            text += &format!("[[servers]]\nname = '{name}'\n{lines}\n");
        }
        Self::new(&(text + LOADS))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the lab on a host that may be busy with other tests: doubt about figures is not what
    /// most tests ask for, so that it neither stops the lab nor is it told from success.
    fn run(&self, flags: &[&str]) -> Finished {
        let finished = self.run_strictly(&[flags, &["--keep-going"]].concat());
        let code = finished.code.map(|code| if code == 4 { 0 } else { code });
        Finished { code, ..finished }
    }

    /// The same with the exit code as it is.
    fn run_strictly(&self, flags: &[&str]) -> Finished {
        let mut command = plimsoll(&["lab", "suite.toml"]);
        // As wide as a report of a study gets, so that words stand on one line.
        run(command.args(flags).env("COLUMNS", "110").current_dir(self.path()))
    }

    fn study(&self) -> Value {
        let text = fs::read_to_string(self.path().join("results/test/study.json"));
        let study = serde_json::from_str(&text.expect("a study")).expect("JSON");
        check_schema(&study, "study");
        study
    }

    /// How many processes work in its folder: the lab, its servers and its testers.
    fn processes(&self) -> usize {
        let folders = fs::read_dir("/proc").expect("/proc").flatten();
        let places = folders.filter_map(|folder| fs::read_link(folder.path().join("cwd")).ok());
        places.filter(|place| place.starts_with(self.path())).count()
    }

    fn wait_until_gone(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.processes() > 0 {
            assert!(Instant::now() < until, "processes are left behind");
            std::thread::yield_now();
        }
    }

    /// The runs of a case.
    fn runs(&self, server: &str, load: &str) -> Vec<Value> {
        let study = self.study();
        let cases = study["cases"].as_array().expect("cases").iter();
        let mut cases = cases.filter(|case| case["server"] == server && case["load"] == load);
        cases.next().expect("the case")["runs"].as_array().expect("runs").clone()
    }
}

fn serve(lines: &str) -> String {
    format!("command = '{SERVE}'\n{lines}")
}

#[test]
fn every_case_is_carried_out_and_written_down() {
    let both = serve("expect = ['status=200', 'body*=hello']");
    let suite = Suite::of("repeats = 2\nbaseline = 'a'", &[("a", &both), ("b", &both)]);
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("[8/8] "), "{}", finished.stderr);
    for (load, requests) in [("few", 20), ("more", 40)] {
        for server in ["a", "b"] {
            let runs = suite.runs(server, load);
            assert_eq!(runs.len(), 2);
            for run in runs {
                assert_eq!(run["failure"], Value::Null);
                assert_eq!(run["figures"]["completed"], requests);
                assert!(run["server"]["rss_peak_bytes"].as_u64().is_some_and(|rss| rss > 0));
                assert!(run["tester"]["watched"][0]["name"] == "plimsoll", "{run}");
                let result = run["result"].as_str().expect("a result's file");
                let result = suite.path().join("results/test").join(result);
                let result = fs::read_to_string(result).expect("a result");
                let result: Value = serde_json::from_str(&result).expect("JSON");
                assert_eq!(result["ledger"]["completed"], requests);
            }
        }
    }
    let positions: Vec<u64> = ["few", "more"]
        .iter()
        .flat_map(|load| [suite.runs("a", load), suite.runs("b", load)].concat())
        .map(|run| run["position"].as_u64().expect("a place"))
        .collect();
    let mut sorted = positions.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=8).collect::<Vec<_>>());
}

/// A server that works once and then no more.
const FLAKY: &str = "command = \"sh -c 'test -e {work}/was && { echo cannot bind; exit 7; }; \
                     touch {work}/was; exec {plimsoll} serve --listen 127.0.0.1:{port}'\"";

/// A later failure is reported in its case, once for all runs alike, and the rest goes on.
#[test]
fn servers_that_fail_later_say_why_once_and_the_rest_goes_on() {
    let suite = Suite::of("repeats = 2", &[("good", &serve("")), ("flaky", FLAKY)]);
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let why = "the server ended (exit status: 7): cannot bind";
    for load in ["few", "more"] {
        assert_eq!(suite.runs("good", load)[0]["failure"], Value::Null);
        for run in suite.runs("flaky", load) {
            assert_eq!((&run["failure"], &run["log"]), (&why.into(), &"cannot bind".into()));
        }
    }
    let open = "\n4 of 8 runs gave no figures: --continue makes them (again)\n";
    assert!(finished.stderr.ends_with(open), "{}", finished.stderr);
    let of_flaky = |line: &&str| line.starts_with('[') && line.contains(" flaky ");
    let lines: Vec<&str> = finished.stderr.lines().filter(of_flaky).collect();
    assert_eq!(lines.len(), 4, "{}", finished.stderr);
    assert!(lines[0].ends_with(&format!(": FAILED: {why}")), "{lines:?}");
    let first = lines[0].split(' ').next().expect("a place");
    assert!(lines[1..].iter().all(|line| line.ends_with(&format!(": FAILED as in {first}"))));
    let report = finished.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = format!("- 2 cases: 4 of 4 runs failed (few, flaky; more, flaky): {why} ");
    assert!(report.contains(&note), "{report}");
    assert_eq!(report.matches(why).count(), 1, "{report}");
}

/// A server that is gone after the load has not stood it, whatever the tester says.
#[test]
fn a_server_that_dies_under_load_is_found_out() {
    // Not yet when it is tried.
    let waits = "test -e {work}/was || { touch {work}/was; wait; }";
    let dies = format!("command = \"sh -c '{SERVE} & pid=$!; {waits}; sleep 0.7; kill -9 $pid'\"");
    let text = format!(
        "name = 'test'\nrepeats = 1\n[[servers]]\nname = 'dies'\n{dies}\n\
         [[loads]]\nname = 'long'\nrate = 200\nconnections = 2\nduration = '2s'\n"
    );
    let suite = Suite::new(&text);
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let run = &suite.runs("dies", "long")[0];
    let failure = run["failure"].as_str().expect("a failure");
    assert!(failure.contains("the server ended"), "{failure}");
    assert!(run["figures"]["errors"].as_u64().is_some_and(|errors| errors > 0), "{run}");
}

/// What ended early is no repeat of the load: its figures are those of another.
#[test]
fn a_load_that_was_cut_short_is_no_repeat() {
    let text = format!(
        "name = 'test'\nrepeats = 1\n[[servers]]\nname = 'a'\n{}\n\
         [[loads]]\nname = 'ends'\nrate = 50\nconnections = 2\nduration = '60s'\n\
         abort-when = 'p50>1ns'\n",
        serve("")
    );
    let suite = Suite::new(&text);
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let run = &suite.runs("a", "ends")[0];
    let failure = run["failure"].as_str().expect("it does not count");
    assert!(failure.contains("p50>1ns ended it after"), "{failure}");
    let causes = run["causes"].as_array().expect("causes");
    assert!(causes.iter().any(|cause| cause["code"] == "aborted"), "{run}");
    assert!(run["figures"]["completed"].as_u64().is_some_and(|count| count > 0), "kept: {run}");
    let row = finished.stdout.lines().find(|line| line.starts_with("1  ends  a  "));
    assert!(row.is_some_and(|row| row.contains("  FAILED  ")), "{}", finished.stdout);
}

/// The server answers one request badly and the next well. What the run says of times is of bad
/// answers, whatever the host does.
#[test]
fn a_load_without_a_run_that_counts_is_no_success() {
    let text = format!(
        "name = 'test'\nrepeats = 1\ncolumns = ['p50', 'errors', 'rss']\n\
         [[servers]]\nname = 'a'\n{}\n\
         [[loads]]\nname = 'fails'\nargs = 'run -n 200 -c 2 {{url}}status/503'\n",
        serve("")
    );
    let suite = Suite::new(&text);
    let finished = suite.run_strictly(&[]);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let last = finished.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("no run counts under fails: "), "{}", finished.stderr);
    let row = finished.stdout.lines().find(|line| line.starts_with("1  fails  a  "));
    let row = row.unwrap_or_else(|| panic!("{}", finished.stdout));
    assert!(row.contains("  suspect  ") && row.contains("  100 %  "), "{row}");
    assert!(
        finished.stdout.contains(
            "- every response was a failure: 1 of 1 run (fails, a), in \
        doubt: P50 "
        ),
        "{}",
        finished.stdout
    );
    let run = &suite.runs("a", "fails")[0];
    assert!(run["figures"]["latency"][0]["doubt"].is_string(), "{run}");
}

/// A gate that fails or holds whatever the doubt.
#[test]
fn gates_of_loads_are_decided_and_give_the_exit_code() {
    for (gate, code, first) in
        [("ok>=1", [0, 4].as_slice(), "1 gate"), ("ok<1", &[3], "1 of 1 gate FAILED")]
    {
        let text = format!(
            "name = 'test'\nrepeats = 1\n[[servers]]\nname = 'a'\n{}\n\
             [[loads]]\nname = 'gated'\nrequests = 200\nrate = 1000\nconnections = 2\n\
             gate = ['{gate}']\n",
            serve("")
        );
        let suite = Suite::new(&text);
        let finished = suite.run_strictly(&[]);
        assert!(finished.code.is_some_and(|it| code.contains(&it)), "{gate}: {finished:?}");
        let answer = finished.stdout.lines().nth(1).unwrap_or_default();
        assert_eq!(answer == first, code == [3], "{gate}: {}", finished.stdout);
        assert_eq!(suite.runs("a", "gated")[0]["gates"][0]["expr"], gate);
    }
}

/// Its numbers go on in the measured part, and its CPU time is not that part's.
#[test]
fn a_warm_up_is_part_of_the_run() {
    let text = format!(
        "name = 'test'\nrepeats = 1\nwarmup = '400ms'\n[[servers]]\nname = 'a'\n{}\n\
         [[loads]]\nname = 'plan'\nrequests = 200\nrate = 1000\nconnections = 2\n\
         [[loads]]\nname = 'args'\nargs = 'run -n 20 -c 2 {{url}}'\n\
         [[loads]]\nname = 'given'\nargs = 'run -n 20 -c 2 --warmup 300ms {{url}}'\n\
         [[loads]]\nname = 'file'\nrate-file = 'times'\nconnections = 2\n",
        serve("")
    );
    let suite = Suite::new(&text.replace("'times'", "'{suite}/times'"));
    fs::write(suite.path().join("times"), "0.001\n0.002\n0.9\n").expect("a file");
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for (load, warmup_s) in
        [("plan", Some(0.4)), ("args", Some(0.4)), ("given", Some(0.3)), ("file", None)]
    {
        let run = &suite.runs("a", load)[0];
        let folder = suite.path().join(format!("results/test/runs/a/{load}-1"));
        let result = fs::read_to_string(folder.join("result.json")).expect("a result");
        let result: Value = serde_json::from_str(&result).expect("JSON");
        assert_eq!(result["warmup"]["duration_s"].as_f64(), warmup_s, "{load}");
        let after_s = (time_of_day_s(&result["started_at"]) - time_of_day_s(&run["started_at"]))
            .rem_euclid(86_400.0);
        assert!(after_s >= warmup_s.unwrap_or(0.0), "{load}: measured from {after_s} s on");
        // Only what cannot warm up itself is warmed up by another run.
        assert_eq!(folder.join("warmup.toml").exists(), load == "file", "{load}");
        let (window, elapsed) = (&run["server"]["window_s"], &result["elapsed_s"]);
        let (window_s, elapsed_s) = (window.as_f64().expect("s"), elapsed.as_f64().expect("s"));
        assert!(window_s > 0.0, "{load}");
        let is_part = window_s <= elapsed_s + 1e-6;
        assert_eq!(is_part, warmup_s.is_some(), "{load}: {window_s} of {elapsed_s}");
        assert_eq!(run["server"]["cpu_unknown"], Value::Null, "{load}");
    }
}

/// Of a time as `2026-11-21T10:20:30.123Z`.
fn time_of_day_s(time: &Value) -> f64 {
    let text = time.as_str().expect("a time");
    let parts = text[11..].trim_end_matches('Z').split(':');
    parts.fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().expect("a number"))
}

/// The process that holds the port is the server, wherever it went.
#[test]
fn a_server_that_leaves_its_launcher_is_watched_and_ended() {
    let daemon = format!("(setsid {SERVE} >/dev/null 2>&1 &)");
    let stays = format!("command = \"sh -c '{daemon}; while :; do sleep 1; done'\"");
    let ends = format!("command = \"sh -c '{daemon}; exit 0'\"");
    let near = format!("command = \"sh -c '{SERVE} & exit 0'\"");
    let suite = Suite::of("repeats = 1", &[("stays", &stays), ("ends", &ends), ("near", &near)]);
    let mut command = plimsoll(&["lab", "suite.toml", "--only", "/more"]);
    let running = Running::start(command.current_dir(suite.path()));
    let lab = running.id();
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for name in ["stays", "ends", "near"] {
        let run = &suite.runs(name, "more")[0];
        let server = &run["server"];
        assert!(server["cpu_s"].as_f64().is_some_and(|s| s > 0.0), "{name}: {server}");
        // More than a shell has.
        assert!(server["rss_peak_bytes"].as_u64().is_some_and(|b| b > 3 << 20), "{name}: {server}");
        let causes = run["causes"].as_array().expect("causes");
        let left = causes.iter().find(|cause| cause["code"] == "left_its_launcher");
        let left = left.expect("it is reported")["text"].as_str().expect("words");
        assert!(left.contains("plimsoll (process "), "{name}: {left}");
    }
    suite.wait_until_gone();
    assert_eq!(groups_of(lab, Path::new("/sys/fs/cgroup"), 0), 0);
}

/// Control groups that a lab made and that are still there.
fn groups_of(lab: u32, folder: &Path, depth: usize) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()));
    let count = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let is_its = name.to_string_lossy().starts_with(&format!("plimsoll-lab-{lab}-"));
        let within = if depth < 8 { groups_of(lab, &entry.path(), depth + 1) } else { 0 };
        usize::from(is_its) + within
    };
    folders.map(count).sum()
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_no_server() {
    let suite = Suite::of("repeats = 50", &[("a", &serve(""))]);
    let mut command = plimsoll(&["lab", "suite.toml"]);
    let mut running = Running::start(command.current_dir(suite.path()));
    while !running.next_line(Stream::Err).starts_with("[3/100] ") {}
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let runs = suite.runs("a", "few").len() + suite.runs("a", "more").len();
    assert!((3..100).contains(&runs), "{runs}");
    let open = format!("{} of 100 runs gave no figures: --continue", 100 - runs);
    assert!(finished.stderr.contains(&open), "{}", finished.stderr);
    assert_eq!(suite.processes(), 0);
}

/// A server that does not stop when it is told to is not left behind by who will not wait for it.
#[test]
fn a_second_signal_leaves_no_server_either() {
    for serve in [SERVE.to_owned(), format!("(setsid {SERVE} >/dev/null 2>&1 &)")] {
        second_signal(&serve);
    }
}

fn second_signal(serve: &str) {
    // Not yet when it is tried.
    let trap = "test -e {work}/was && trap : TERM; touch {work}/was";
    let stubborn = format!(
        "command = \"sh -c '{trap}; {serve} & while :; do wait; sleep 1; done'\"\n\
         stop_timeout = '80s'"
    );
    let mut text = format!("name = 'test'\n[[servers]]\nname = 'a'\n{stubborn}\n");
    text += "[[loads]]\nname = 'long'\nduration = '80s'\nrate = 10\n";
    let suite = Suite::new(&text);
    let mut command = plimsoll(&["lab", "suite.toml"]);
    let mut running = Running::start(command.current_dir(suite.path()));
    let plan = suite.path().join("results/test/runs/a/long-1/plan.toml");
    while !plan.exists() {
        assert!(running.ended().is_none(), "{:?}", running.finish());
        std::thread::yield_now();
    }
    assert!(suite.processes() > 1, "the server and the lab");
    let lab = running.id();
    running.signal(Signal::INT);
    let finished = running.finish_by(Signal::TERM);
    assert!(matches!(finished.code, Some(130 | 143)), "{finished:?}");
    // Killed, but perhaps not waited for yet by who takes care of orphans.
    suite.wait_until_gone();
    assert_eq!(groups_of(lab, Path::new("/sys/fs/cgroup"), 0), 0);
}

#[test]
fn services_files_and_variables_are_filled_in() {
    let text = "\
name = 'test'
repeats = 1
warmup = '50ms'
[[servers]]
name = 'front'
command = \"sh {work}/start.sh\"
files = { '{work}/start.sh' = '{suite}/start-{server}.sh.in' }
env = { BACK = '{back.port}' }
with = ['back']
expect = ['status=200']
[[services]]
name = 'back'
command = '{plimsoll} serve --listen 127.0.0.1:{port}'
";
    let suite = Suite::new(&(text.to_owned() + LOADS));
    // It serves only if the service listens where its variable says.
    let script = "exec 2>&1\n'{plimsoll}' run -n 1 -c 1 --format none http://127.0.0.1:$BACK/ || exit 9\n\
                  f() { :; }\nexec '{plimsoll}' serve --listen 127.0.0.1:{port}\n";
    let script =
        format!("test -e '{{suite}}/suite.toml' && test {{server}} = front || exit 8\n{script}");
    fs::write(suite.path().join("start-front.sh.in"), script).expect("a template");
    let finished = suite.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?} {:?}", suite.runs("front", "few"));
    assert_eq!(suite.runs("front", "more").len(), 1);
}
