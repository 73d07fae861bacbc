//! Scripts under k6 itself and under us, against one server that writes down what it is sent: the
//! same requests, the same counts, the same labels and the same exit codes.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::recorder::Recorder;
use crate::programs::turn_with;
use crate::support::{Finished, run, without_options_of_k6};

/// Scripts with the flags that they are run with.
const SCRIPTS: [(&str, &str, &[&str]); 11] = [
    (
        "verbs",
        "import http from 'k6/http';
         export const options = { vus: 1, iterations: 2 };
         export default function () {
           const url = __ENV.URL;
           http.get(`${url}?a=1&b=%20`);
           http.post(url, { z: 'last', a: [1, 2], e: '' });
           http.put(url, JSON.stringify({ a: 1 }), { headers: { 'content-type': 'text/json', 'x-b': 'c' } });
           http.del(url);
           http.patch(url, 'patched');
           http.head(url);
           http.options(url, null, { cookies: { one: '1', two: '2' } });
           http.request('REPORT', url, 'body', { headers: { Host: 'example.test' } });
           http.get(http.url`${url}?id=${__ITER}`);
         }",
        &[],
    ),
    (
        "checks and groups",
        "import http from 'k6/http'; import { check, group } from 'k6';
         import { Counter, Gauge, Rate, Trend } from 'k6/metrics';
         const mine = [new Counter('a_count'), new Gauge('b_level'), new Rate('c_rate'), \
         new Trend('d_time', true), new Trend('e_size'), new Counter('f_time', true)];
         export const options = { vus: 1, iterations: 3, thresholds: {
           'http_reqs{name:here}': ['count==3'], checks: ['rate>0.1'], a_count: ['count>=1', 'rate>0'],
           d_time: ['p(95)<100', 'med>=0'] } };
         export default function () {
           group('outer', () => { group('inner', () => {
             const r = http.get(__ENV.URL, { tags: { name: 'here' } });
             check(r, { 'is ok': (r) => r.status === 200, 'is not': (r) => r.body === 'no' });
           }); });
           mine.forEach((metric) => metric.add(__ITER + 1));
           check(null, { always: true });
         }",
        &[],
    ),
    (
        "a threshold fails",
        "export const options = { iterations: 2, thresholds: { iterations: ['count>2'] } };
         export default function () {}",
        &[],
    ),
    (
        "life cycle",
        "import http from 'k6/http'; import { check } from 'k6';
         export const options = { vus: 2, iterations: 4 };
         export function setup() { http.get(__ENV.URL + 'setup'); return { a: [1, 'b', null] }; }
         export default function (data) { check(data, { same: (d) => d.a[1] === 'b' }); }
         export function teardown(data) { http.get(__ENV.URL + 'teardown/' + data.a.length); }",
        &[],
    ),
    (
        "exceptions",
        "export const options = { vus: 1, iterations: 3 };
         export default function () { if (__ITER === 1) throw new Error('boom'); }",
        &[],
    ),
    (
        "batch and cookies",
        "import http from 'k6/http'; import { check } from 'k6';
         export const options = { vus: 1, iterations: 2, batch: 1 };
         export default function () {
           http.cookieJar().set(__ENV.URL, 'jar', 'full');
           const all = http.batch({ one: `${__ENV.URL}1`, two: ['POST', `${__ENV.URL}2`, 'x'] });
           check(all, { both: (a) => a.one.status === 200 && a.two.body === 'ok' });
         }",
        &[],
    ),
    (
        "mistakes in calls",
        "import http from 'k6/http'; import { check } from 'k6';
         const U = __ENV.URL;
         const calls = [
           () => http.get(U, { tags: 5 }), () => http.get(U, { tags: { a: {} } }),
           () => http.get(U, { headers: { 'X-A': 5 } }),
           () => http.get(U, { timeout: 'soon' }), () => http.get(U, { timeout: '5s' }),
           () => http.get(U, { responseType: 'json' }), () => http.get(U, { jar: 5, cookies: { a: null } }),
           () => http.get(U, { cookies: { a: { replace: true } } }), () => http.get(U, { responseCallback: 5 }),
           () => http.get(U, 5), () => http.post(U, 5), () => http.post(U, true), () => http.post(U, ['a']),
           () => http.post(U, 'x', { compression: 'lzma' }), () => http.request('get', U),
           () => http.request('PaTcH', U, 'x'),
           () => http.batch([{ method: 'GET', url: U, body: 'x' }])[0],
           () => http.batch([['GET', U, 'x']])[0],
         ];
         export const options = { vus: 1, iterations: 1 };
         export default function () {
           calls.forEach((call, at) => {
             const r = call();
             check(r, { [`${at}: ${r.status} ${r.error_code}`]: true });
           });
           check(1, 5); check(1, { a: true }, 5);
         }",
        &[],
    ),
    ("abort", "import exec from 'k6/execution'; export default function () { exec.test.abort('x'); }", &[]),
    ("fail", "import exec from 'k6/execution'; export default function () { exec.test.fail('x'); }", &[]),
    (
        "tags",
        "import http from 'k6/http'; import { check, group } from 'k6';
         import { Counter } from 'k6/metrics'; import exec from 'k6/execution';
         const mine = new Counter('mine');
         export const options = { tags: { of: 'run', run: '1' }, systemTags: ['name', 'group', 'url', \
         'scenario', 'check', 'status', 'vu', 'iter'], scenarios: { first: { exec: 'first', \
         executor: 'per-vu-iterations', iterations: 2, tags: { of: 'scenario' } } } };
         export function setup() { group('g', () => { check(1, { set: true }); }); }
         export function first() {
           exec.vu.tags.own = `of ${__VU}`;
           group('outer', () => {
             mine.add(1, { of: 'call' });
             http.get(`${__ENV.URL}x`, { tags: { name: 'named', own: 'call' } });
             group('inner', () => { check(1, { is: true }, { of: 'check' }); });
           });
           http.get(`${__ENV.URL}y`);
         }
         export function teardown() { http.get(`${__ENV.URL}z`); }",
        &[],
    ),
    (
        "flags",
        "import http from 'k6/http'; import { sleep } from 'k6';
         export default function () { http.get(__ENV.URL); sleep(0.01); }",
        &["-u", "1", "-i", "3", "--tag", "a=b", "--summary-mode", "full", "--user-agent", "mine/1"],
    ),
];

/// What a tester made of a script.
struct Made {
    finished: Finished,
    export: Value,
    requests: Vec<String>,
    /// How many samples each metric has with each set of tags.
    samples: BTreeMap<String, u64>,
}

/// `k6 run` of k6, or of Plimsoll with nothing of its own.
pub(super) fn k6_run(is_ours: bool) -> Command {
    let (program, arguments) = match is_ours {
        true => (env!("CARGO_BIN_EXE_plimsoll"), &["k6", "run", "--as-original"][..]),
        false => ("k6", &["run", "--no-usage-report", "--address", "localhost:0"][..]),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    without_options_of_k6(&mut command);
    command
}

fn make(is_ours: bool, folder: &Path, recorder: &Recorder, flags: &[&str]) -> Made {
    let mut command = k6_run(is_ours);
    let name = if is_ours { "ours.json" } else { "theirs.json" };
    let output = format!("json=samples-{name}");
    command.args(["-q", "--summary-export", name, "-o", &output]).args(flags).arg("script.js");
    command.current_dir(folder).env("HOME", folder).env("URL", recorder.url("/"));
    let finished = run(&mut command);
    let export = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let export = serde_json::from_str(&export).unwrap_or(Value::Null);
    let mut requests: Vec<String> = recorder.take().concat().iter().map(|it| sorted(it)).collect();
    requests.sort();
    let samples = std::fs::read_to_string(folder.join(format!("samples-{name}")));
    Made { finished, export, requests, samples: samples_of(&samples.unwrap_or_default()) }
}

/// Counts samples by metric, tags and metadata, and the lines that introduce metrics.
pub(super) fn samples_of(text: &str) -> BTreeMap<String, u64> {
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let metric = line["metric"].as_str().expect("a name");
        let what = match line["type"] == "Metric" {
            true => line["data"].to_string(),
            false => format!("{} {}", line["data"]["tags"], line["data"]["metadata"]),
        };
        if !metric.starts_with("vus") {
            *samples.entry(format!("{metric} {what}")).or_insert(0) += 1;
        }
    }
    samples
}

/// A request with its fields sorted, since their order is the library's, and without the version
/// of k6, which need not be the one that is followed.
fn sorted(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").expect("a whole request");
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let mut fields: Vec<String> = lines
        .map(|line| match line.split_once(": ") {
            Some(("User-Agent", agent)) if agent.starts_with("Grafana k6/") => {
                "User-Agent: k6".to_owned()
            }
            // k6 takes cookies of the params out of a map, in any order.
            Some(("Cookie", cookies)) => {
                let mut cookies: Vec<&str> = cookies.split("; ").collect();
                cookies.sort_unstable();
                format!("Cookie: {}", cookies.join("; "))
            }
            _ => line.to_owned(),
        })
        .collect();
    fields.sort();
    format!("{first}\n{}\n\n{body}", fields.join("\n"))
}

/// The figures of an export that do not depend on time.
fn counts(export: &Value) -> BTreeMap<String, String> {
    let mut counts = BTreeMap::new();
    for (metric, values) in export["metrics"].as_object().expect("metrics") {
        if metric.starts_with("vus") {
            // These are there in runs of a second only.
            continue;
        }
        let names: Vec<&String> = values.as_object().expect("figures").keys().collect();
        counts.insert(metric.clone(), format!("{names:?} {}", values["thresholds"]));
        let is_bytes = metric.starts_with("data_");
        for name in ["count", "passes", "fails", "value"] {
            if let Some(value) = values.get(name).filter(|_| !is_bytes) {
                counts.insert(format!("{metric} {name}"), value.to_string());
            }
        }
    }
    counts.insert("root_group".to_owned(), export["root_group"].to_string());
    counts.insert("setup_data".to_owned(), export["setup_data"].to_string());
    counts
}

/// What stands before the figures of each line of a summary.
pub(super) fn labels(stdout: &str) -> Vec<String> {
    let lines = stdout.lines().map(|line| match line.split_once("...") {
        Some((label, _)) => label.to_owned(),
        None => line.split('=').next().unwrap_or_default().trim_end().to_owned(),
    });
    lines.filter(|line| !line.trim_start().starts_with("vus")).collect()
}

#[test]
fn scripts_do_under_us_what_they_do_under_k6() {
    let Some(_turn) = turn_with(&["k6"]) else { return };
    let recorder = Recorder::start();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, script, flags) in SCRIPTS {
        std::fs::write(folder.path().join("script.js"), script).expect("a script");
        let [theirs, ours] =
            [false, true].map(|is_ours| make(is_ours, folder.path(), &recorder, flags));
        let codes = [theirs.finished.code, ours.finished.code];
        assert_eq!(codes[0], codes[1], "{name}: {:?} {:?}", theirs.finished, ours.finished);
        assert_eq!(theirs.requests, ours.requests, "{name}: {:?}", ours.finished);
        if codes[0] == Some(108) {
            // k6 counts the iteration that ends the test as complete and as interrupted.
            continue;
        }
        assert_eq!(theirs.samples, ours.samples, "{name}");
        assert_eq!(counts(&theirs.export), counts(&ours.export), "{name}");
        assert_eq!(labels(&theirs.finished.stdout), labels(&ours.finished.stdout), "{name}");
    }
}

#[test]
fn values_are_logged_as_k6_logs_them() {
    let Some(_turn) = turn_with(&["k6"]) else { return };
    let recorder = Recorder::start();
    let folder = tempfile::tempdir().expect("a folder");
    let script = "
        class A { constructor() { this.x = 1; this.f = () => 1; } }
        export default function () {
            const o = {}; o.o = o;
            console.log({ a: 1, b: 'x' }, [1, 'a', null, undefined, [2]], 's', 1.5, null, undefined, true);
            console.log(new Map([['a', 1]]), new Set([1]), new Date(0), /a/g, [], {}, Object.create(null));
            console.log(function foo() {}, () => 1, class B {}, new A(), Symbol('q'), { s: Symbol('z') });
            console.log({ e: new Error('boom') }, NaN, Infinity, -0, 10n, 1e21, 1e-7);
            console.log(new Uint8Array([1, 2]), new ArrayBuffer(3), o, [undefined, () => 1]);
            console.log({ toJSON() { return 'tj'; } }, { a: { b: [{ c: 1 }] } }, { 'k y': 1, '<': '>' });
            console.log('multi\\nline', '%s', { a: 'x\"y' }); console.log(); console.log('');
            console.error({ a: 1 });
        }";
    std::fs::write(folder.path().join("script.js"), script).expect("a script");
    let flags = ["--log-format", "raw"];
    let [theirs, ours] =
        [false, true].map(|is_ours| make(is_ours, folder.path(), &recorder, &flags));
    assert_eq!(ours.finished.stderr, theirs.finished.stderr);
}
