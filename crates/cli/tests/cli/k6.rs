//! `plimsoll k6`: scripts of our own against the built-in server, from the outside: what they
//! count, what is printed and written, and each exit code.

mod ends;
mod exit_codes;
mod labels;
mod pressure;
mod proxies;
mod receivers;
mod rest;
mod signals;
mod sources;
mod summaries;
mod told;
#[cfg(target_os = "linux")]
mod unwritable;

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::support::{Finished, Server, run, without_options_of_k6};

/// A folder with a script, and a server.
struct World {
    folder: tempfile::TempDir,
    server: Server,
}

impl World {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("script.js"), script).expect("a script");
        symlink(env!("CARGO_BIN_EXE_plimsoll"), folder.path().join("k6")).expect("a link");
        Self { folder, server: Server::start(&[]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program by the name of k6, in the folder, without anything of the user's own.
    fn k6(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.path("k6"));
        command.args(arguments).current_dir(self.folder.path());
        without_options_of_k6(&mut command);
        command.env("HOME", self.folder.path()).env_remove("XDG_CONFIG_HOME");
        command.env("BASE", self.server.url(""));
        command
    }

    /// Runs the script with flags before it.
    fn run(&self, flags: &[&str]) -> Finished {
        run(&mut self.k6(&[&["run"], flags, &["script.js"]].concat()))
    }

    /// Runs the script, which has to end with this code, and reads the exported summary.
    fn summary(&self, flags: &[&str], code: i32) -> Value {
        let flags = [flags, &["--summary-export", "summary.json"]].concat();
        let finished = self.run(&flags);
        assert_eq!(finished.code, Some(code), "{finished:?}");
        serde_json::from_str(&self.read("summary.json")).expect("JSON")
    }
}

/// The sum of a counter; 0 if the metric is missing.
fn count(summary: &Value, metric: &str) -> f64 {
    summary["metrics"][metric]["count"].as_f64().unwrap_or(0.0)
}

const JOURNEY: &str = r#"
import http from 'k6/http';
import { check, group, sleep } from 'k6';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const bought = new Counter('bought');
const level = new Gauge('level');
const right = new Rate('right');
const size = new Trend('size');
const pause = new Trend('pause', true);

export const options = {
  vus: 2,
  iterations: 10,
  thresholds: {
    http_req_failed: ['rate<0.5'],
    'http_reqs{name:echo}': ['count==10'],
    'checks{check:is 200}': ['rate==1'],
    'http_req_duration{kind:batch}': ['max<60000'],
  },
};

export function setup() {
  const response = http.get(`${__ENV.BASE}/bytes/10`);
  return { length: response.body.length };
}

export default function (data) {
  group('shop', () => {
    const response = http.get(`${__ENV.BASE}/`);
    check(response, { 'is 200': (r) => r.status === 200, 'is hello': (r) => r.body === 'nope' });
    group('cart', () => {
      const echo = http.post(`${__ENV.BASE}/echo`, JSON.stringify({ a: 1 }), {
        headers: { 'Content-Type': 'application/json' },
        tags: { name: 'echo' },
      });
      check(echo, { 'is JSON': (r) => r.json('a') === 1 && r.json().a === 1 });
    });
  });
  const all = http.batch([
    ['GET', `${__ENV.BASE}/bytes/3`, null, { tags: { kind: 'batch' } }],
    ['GET', `${__ENV.BASE}/status/404`, null, { tags: { kind: 'batch' } }],
  ]);
  check(all, { 'the batch came': (r) => r[0].body.length === 3 && r[1].status === 404 });
  check(data, { 'setup is there': (d) => d.length === 10 });
  bought.add(2);
  level.add(__ITER);
  right.add(__ITER % 2 === 0);
  size.add(all[0].body.length);
  pause.add(1500);
  sleep(0.01);
}

export function teardown(data) {
  check(data, { 'teardown has it too': (d) => d.length === 10 });
  console.log('torn down', data.length);
}
"#;

#[test]
fn a_journey_is_counted() {
    let world = World::new(JOURNEY);
    let summary = world.summary(&[], 0);
    for (metric, want) in [
        // One of setup, and four in each of ten iterations.
        ("http_reqs", 41.0),
        ("iterations", 10.0),
        ("bought", 20.0),
        ("http_reqs{name:echo}", 10.0),
    ] {
        assert_eq!(count(&summary, metric), want, "{metric}: {summary}");
    }
    let metrics = &summary["metrics"];
    for (metric, name, want) in [
        ("checks", "passes", 41.0),
        ("checks", "fails", 10.0),
        ("http_req_failed", "passes", 10.0),
        ("http_req_failed", "fails", 31.0),
        ("right", "value", 0.5),
        ("size", "avg", 3.0),
        ("pause", "max", 1500.0),
        ("http_req_connecting", "min", 0.0),
    ] {
        let value = metrics[metric][name].as_f64();
        let is_near = value.is_some_and(|value| (value - want).abs() < 0.11);
        assert!(is_near, "{metric} {name}: {value:?} is not {want}: {summary}");
    }
    assert_eq!(metrics["http_reqs{name:echo}"]["thresholds"]["count==10"], false, "it holds");
    let root = &summary["root_group"];
    let shop = &root["groups"]["shop"];
    assert_eq!(shop["checks"]["is 200"]["passes"], 10);
    assert_eq!(shop["checks"]["is hello"]["fails"], 10);
    assert_eq!(shop["groups"]["cart"]["checks"]["is JSON"]["passes"], 10, "{root}");
    assert_eq!(root["checks"]["setup is there"]["passes"], 10);
    assert_eq!(summary["setup_data"]["length"], 10);
    let sent = count(&summary, "data_sent");
    assert!(sent > 41.0 * 20.0, "{sent}");
    let received = count(&summary, "data_received");
    assert!(received > 41.0 * 40.0, "{received}");
}

#[test]
fn what_is_printed_is_what_k6_prints_and_our_lines_after_it() {
    let world = World::new(JOURNEY);
    let finished = world.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let marks = [
        "     execution: local\n        script: script.js\n        output: -\n",
        "     scenarios: (100.00%) 1 scenario, 2 max VUs, 10m30s max duration",
        "* default: 10 iterations shared among 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)\n",
        "  █ THRESHOLDS \n",
        "  █ TOTAL RESULTS \n",
        "    checks_total.......: 51",
        "    ✗ is hello\n      ↳  0% — ✓ 0 / ✗ 10\n",
        "    CUSTOM\n",
        "    HTTP\n",
        "    EXECUTION\n",
        "    NETWORK\n",
        "0/2 VUs, 10 complete and 0 interrupted iterations\n",
        "default ✓ [ 100% ] 2 VUs",
    ];
    let places: Vec<_> = marks.iter().map(|mark| finished.stdout.find(mark)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {finished:?}");
    for says in [
        "level=info msg=\"torn down 10\" source=console",
        "plimsoll: iterations started late by p50 ",
        "plimsoll: 10 iterations = 10 completed + 0 failed + 0 interrupted\n",
        "plimsoll: 41 requests = 41 with a response + 0 without + 0 interrupted\n",
        // On a busy machine this line is a warning.
        "the tester ",
    ] {
        assert!(finished.stderr.contains(says), "{says}: {}", finished.stderr);
    }
    let original = world.run(&["--as-original", "--quiet", "--log-format", "json"]);
    assert_eq!(original.code, Some(0), "{original:?}");
    assert!(original.stdout.starts_with("\n\n  █ THRESHOLDS "), "{}", original.stdout);
    assert!(!original.stderr.contains("plimsoll"), "{}", original.stderr);
    let line: Value = serde_json::from_str(original.stderr.trim()).expect("one line of JSON");
    assert_eq!((&line["msg"], &line["source"]), (&"torn down 10".into(), &"console".into()));
    let none = world.run(&["-q", "--summary-mode", "disabled", "--console-output", "said.txt"]);
    assert_eq!(none.stdout, "", "{none:?}");
    assert!(world.read("said.txt").ends_with("level=info msg=\"torn down 10\"\n"));
    let full = world.run(&["-q", "--summary-mode=full"]);
    assert!(full.stdout.contains("  █ GROUP: shop "), "{}", full.stdout);
    assert!(full.stdout.contains("http_req_connecting"), "{}", full.stdout);
}

#[test]
fn each_executor_does_what_it_is_told() {
    let script = |scenario: &str| {
        format!(
            "import {{ sleep }} from 'k6'; import exec from 'k6/execution';
             export const options = {{ scenarios: {{ s: {{ {scenario} }} }} }};
             export default function () {{ if (exec.scenario.name !== 's') throw new Error(); \
             sleep(0.02); }}"
        )
    };
    let world = World::new("");
    for (scenario, least, most) in [
        ("executor: 'shared-iterations', vus: 3, iterations: 17", 17.0, 17.0),
        ("executor: 'per-vu-iterations', vus: 3, iterations: 5", 15.0, 15.0),
        ("executor: 'constant-vus', vus: 3, duration: '1s'", 3.0, 153.0),
        (
            "executor: 'ramping-vus', startVUs: 1, stages: [{ duration: '500ms', target: 4 }, \
             { duration: '500ms', target: 0 }]",
            4.0,
            204.0,
        ),
        (
            "executor: 'constant-arrival-rate', rate: 50, duration: '1s', preAllocatedVUs: 20",
            50.0,
            50.0,
        ),
        (
            "executor: 'ramping-arrival-rate', startRate: 0, preAllocatedVUs: 20, \
             stages: [{ duration: '1s', target: 100 }]",
            50.0,
            50.0,
        ),
    ] {
        std::fs::write(world.path("script.js"), script(scenario)).expect("a script");
        let summary = world.summary(&[], 0);
        let done = count(&summary, "iterations") + count(&summary, "dropped_iterations");
        assert!((least..=most).contains(&done), "{scenario}: {summary}");
        assert!(count(&summary, "iterations") > 0.0, "{scenario}: {summary}");
    }
}

#[test]
fn a_rate_that_has_too_few_users_drops_iterations() {
    let world = World::new(
        "import { sleep } from 'k6';
         export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 20, \
         duration: '1s', preAllocatedVUs: 1, gracefulStop: '0s' } } };
         export default function () { sleep(600); }",
    );
    let flags = ["--summary-export", "summary.json"];
    let finished = world.run(&flags);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let summary: Value = serde_json::from_str(&world.read("summary.json")).expect("JSON");
    assert_eq!(count(&summary, "dropped_iterations"), 19.0, "{summary}");
    assert_eq!(count(&summary, "iterations"), 0.0, "{summary}");
    assert!(finished.stdout.contains("0 complete and 1 interrupted iterations"), "{finished:?}");
    let says = "1 iterations = 0 completed + 0 failed + 1 interrupted; 19 more were dropped";
    assert!(finished.stderr.contains(says), "{}", finished.stderr);
    assert!(finished.stderr.contains("no iteration has completed"), "{}", finished.stderr);
}

#[test]
fn a_source_above_wins_over_one_below() {
    let world = World::new("");
    let own = "export const options = { iterations: 2 }; export default () => {};";
    let none = "export default () => {};";
    let file = r#"{"vus": 3, "iterations": 9}"#;
    std::fs::write(world.path("config.json"), file).expect("a file");
    for (script, flags, variables, iterations) in [
        (own, &[][..], &[][..], 2.0),
        (own, &["-u", "1", "-i", "5", "-c", "config.json"], &[("K6_ITERATIONS", "4")], 5.0),
        (own, &["-u", "1", "-c", "config.json"], &[("K6_ITERATIONS", "4")], 4.0),
        (none, &["-c", "config.json"], &[], 9.0),
        (none, &[], &[("K6_CONFIG", "config.json")], 9.0),
        (none, &["--vus", "3"], &[], 3.0),
        (none, &[], &[], 1.0),
    ] {
        std::fs::write(world.path("script.js"), script).expect("a script");
        let arguments = [&["run", "--summary-export=s.json"], flags, &["script.js"]].concat();
        let finished = run(world.k6(&arguments).envs(variables.iter().copied()));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let summary: Value = serde_json::from_str(&world.read("s.json")).expect("JSON");
        assert_eq!(count(&summary, "iterations"), iterations, "{flags:?} {variables:?}");
    }
}

#[test]
fn what_belongs_to_no_iteration_is_counted_where_it_is() {
    let world = World::new(
        "import exec from 'k6/execution'; import { sleep } from 'k6';
         export const options = { scenarios: {
             a: { executor: 'shared-iterations', vus: 1, iterations: 3 },
             b: { executor: 'shared-iterations', vus: 2, iterations: 2 } } };
         export function setup() { exec.vu.metrics.tags.mine = 'x'; }
         export default function () {}
         export function teardown() { sleep(1.2); }",
    );
    let part = ["--execution-segment", "1/2:1", "--execution-segment-sequence", "0,1/2,1"];
    let finished = world.run(&[&part[..], &["-q", "-o", "json=o.json"]].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    // Scenario `a` has no VU in this part, and so nothing to drop.
    assert!(!finished.stdout.contains("dropped_iterations"), "{finished:?}");
    let samples = world.read("o.json");
    let has = |metric: &str, tag: &str| {
        let start = format!("{{\"metric\":\"{metric}\",\"type\":\"Point\"");
        samples.lines().any(|line| line.starts_with(&start) && line.contains(tag))
    };
    assert!(has("data_sent", "\"group\":\"::setup\",\"mine\":\"x\""), "{samples}");
    // Scenarios and `setup` take no second, so this is of `teardown`.
    assert!(has("vus", "\"value\":0,"), "{samples}");
}

#[test]
fn samples_are_written() {
    let world = World::new(JOURNEY);
    let flags = ["-o", "json=all.json", "-o", "csv=all.csv", "--tag", "run=7"];
    let tags = ["--system-tags", "vu,iter,name,status,group,scenario,check"];
    let finished = world.run(&[&flags[..], &tags[..]].concat());
    assert!(finished.stdout.contains("output: json (all.json), csv (all.csv)"), "{finished:?}");
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let text = world.read("all.json");
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let metric = line["metric"].as_str().expect("a name").to_owned();
        if line["type"] == "Metric" {
            assert!(counts.insert(metric, 0).is_none(), "it is named once: {line}");
            continue;
        }
        *counts.get_mut(&metric).expect("it was named before") += 1;
        assert_eq!(line["data"]["tags"]["run"], "7", "{line}");
        if metric == "bought" {
            assert_eq!(line["data"]["tags"]["scenario"], "default", "{line}");
            assert!(line["data"]["metadata"]["vu"].is_string(), "{line}");
        }
    }
    for (metric, want) in [("http_reqs", 41), ("http_req_waiting", 41), ("bought", 10)] {
        assert_eq!(counts.get(metric), Some(&want), "{metric}");
    }
    assert_eq!(counts["checks"], 51);
    let csv = world.read("all.csv");
    let head = "metric_name,timestamp,metric_value,check,group,name,scenario,status,extra_tags,";
    assert!(csv.starts_with(head), "{csv:.200}");
    let rows = csv.lines().filter(|line| line.starts_with("http_reqs,")).count();
    assert_eq!(rows, 41);
    let samples: u64 = counts.values().sum();
    assert_eq!(csv.lines().count() as u64, samples + 1);
}

#[test]
fn a_new_script_runs() {
    let world = World::new("");
    let made = run(&mut world.k6(&["new", "mine.js"]));
    assert_eq!(made.code, Some(0), "{made:?}");
    let again = run(&mut world.k6(&["new", "mine.js"]));
    assert_eq!(again.code, Some(255), "{again:?}");
    assert!(again.stderr.contains("give -f to overwrite it"), "{again:?}");
    let inspected = run(&mut world.k6(&["inspect", "--execution-requirements", "mine.js"]));
    assert_eq!(inspected.code, Some(0), "{inspected:?}");
    let document: Value = serde_json::from_str(&inspected.stdout).expect("JSON");
    assert_eq!((&document["vus"], &document["maxVUs"]), (&10.into(), &10.into()));
    assert_eq!(document["totalDuration"], "1m0s");
    let script = world.read("mine.js").replace("http://127.0.0.1:8080", &world.server.url(""));
    std::fs::write(world.path("script.js"), script).expect("a script");
    let summary = world.summary(&["-d", "1s", "-u", "2"], 0);
    assert!(count(&summary, "iterations") >= 2.0, "{summary}");
    let version = run(&mut world.k6(&["version"]));
    assert!(version.stdout.starts_with("k6 v"), "{version:?}");
}

#[test]
fn a_script_comes_from_stdin_and_has_modules_beside_it() {
    let world = World::new(
        "import { half } from './lib/half.js'; const text = open('./data.txt');
         export default function () { console.log(half(14), text, __ENV.WORD); }",
    );
    std::fs::create_dir(world.path("lib")).expect("a folder");
    let module = "export const half = (n) => n / 2;";
    std::fs::write(world.path("lib/half.js"), module).expect("a module");
    std::fs::write(world.path("data.txt"), "data").expect("a file");
    let finished = world.run(&["-e", "WORD=yes"]);
    assert!(finished.stderr.contains("msg=\"7 data yes\""), "{finished:?}");
    let mut shell = Command::new("sh");
    shell.args(["-c", "./k6 run -q - < script.js"]).current_dir(world.folder.path());
    let piped = run(shell.env("WORD", "no").env("HOME", world.folder.path()));
    assert!(piped.stderr.contains("msg=\"7 data no\""), "{piped:?}");
}

#[test]
fn what_a_request_comes_to_is_what_k6_calls_it() {
    let secure = Server::start(&["--tls"]);
    let closed = ClosedPort::new();
    let world = World::new("");
    let port = world.server.addresses()[0].port();
    let hosts = format!("hosts: {{ 'mapped.test': '127.0.0.1:{port}' }}");
    let plain = world.server.url("/");
    let get = |url: &str, params: &str| format!("http.get('{url}', {params})");
    for (options, call, want) in [
        ("", get(&plain, "{}"), "200 0 HTTP/1.1 '' 11"),
        ("", get(&format!("{plain}status/404"), "{}"), "404 1404 HTTP/1.1 '' "),
        ("", get(&closed.url(), "{}"), "0 1212 '' 'dial: connection refused' "),
        (
            "",
            get(&format!("{plain}delay/30s"), "{ timeout: '100ms' }"),
            "0 1050 '' 'request timeout'",
        ),
        ("", get("http://[", "{}"), "0 1020 "),
        ("blockHostnames: ['*.test']", get("http://a.test/", "{}"), "0 1111 "),
        ("blacklistIPs: ['10.0.0.0/8']", get("http://10.1.2.3/", "{}"), "0 1110 "),
        (hosts.as_str(), get("http://mapped.test/", "{}"), "200 0 HTTP/1.1 '' 11"),
        ("", get(&plain.replace("http", "https"), "{}"), "0 1301 "),
        ("", get(&secure.url("/"), "{}"), "0 1310 "),
        ("insecureSkipTLSVerify: true", get(&secure.url("/"), "{}"), "200 0 HTTP/2.0 '' 11"),
        ("noConnectionReuse: true", get(&plain, "{}"), "200 0 HTTP/1.1 '' 11"),
        ("discardResponseBodies: true", get(&plain, "{}"), "200 0 HTTP/1.1 '' null"),
        ("throw: true", get(&closed.url(), "{}"), "threw"),
    ] {
        let script = format!(
            "import http from 'k6/http'; export const options = {{ {options} }};
             export default function () {{
               let r; try {{ r = {call} }} catch (error) {{ console.log('threw'); return; }}
               const size = r.body === null ? 'null' : r.body.length;
               const proto = r.proto === '' ? \"''\" : r.proto;
               console.log(`${{r.status}} ${{r.error_code}} ${{proto}} '${{r.error}}' ${{size}}`);
             }}"
        );
        std::fs::write(world.path("script.js"), &script).expect("a script");
        let finished = world.run(&["-q", "--log-format", "raw"]);
        assert_eq!(finished.code, Some(0), "{call}: {finished:?}");
        let said = finished.stderr.lines().any(|line| line.starts_with(want.trim_end()));
        assert!(said, "{call} {options}: {want}: {}", finished.stderr);
    }
}
