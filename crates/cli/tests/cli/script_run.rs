//! `plimsoll run SCRIPT.js`: our report of k6 scripts from the outside. Each document is checked
//! against the schema and its own identities when it is read.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::closed::ClosedPort;
use crate::peer::{Answer, Peer};
use crate::support::{
    Finished, Report, Running, Server, Stream, plimsoll, run, without_options_of_k6,
};
use crate::times::Stops;

/// A folder with a script, and a server.
struct World {
    folder: tempfile::TempDir,
    server: Server,
}

impl World {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!("import http from 'k6/http'; const BASE = __ENV.BASE; {script}");
        std::fs::write(folder.path().join("load.js"), text).expect("a script");
        Self { folder, server: Server::start(&[]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, flags: &[&str]) -> Command {
        let base = format!("BASE={}", self.server.url(""));
        let mut command = plimsoll(&["run", "load.js", "-e", &base, "--json", "out.json"]);
        command.args(flags).current_dir(self.folder.path());
        without_options_of_k6(&mut command);
        command
    }

    fn run(&self, flags: &[&str]) -> Finished {
        run(&mut self.command(flags))
    }

    fn report(&self) -> Report {
        let path = self.path("out.json");
        let text = std::fs::read_to_string(path).expect("a document");
        Report::read(&text)
    }
}

#[test]
fn requests_and_iterations_stand_in_a_result_as_of_any_run() {
    let world = World::new(
        "import { check, group } from 'k6'; import { Trend } from 'k6/metrics';
         const took = new Trend('took', true);
         export const options = { vus: 2, iterations: 6 };
         export default function () {
           const first = http.get(`${BASE}/?token=s3cret`);
           took.add(first.timings.duration);
           check(first, { 'is 200': (r) => r.status === 200 });
           group('order', () => { http.get(`${BASE}/status/503`, { tags: { name: 'order' } }); });
         }",
    );
    let finished = world.run(&["--html", "out.html"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    for words in ["script load.js", "6 iterations shared among 2 VUs", "Iterations 6: 6 completed"]
    {
        assert!(finished.stdout.contains(words), "{words}: {finished:?}");
    }
    let report = world.report();
    assert_eq!(
        report.ledger(["scheduled", "sent", "completed", "ok", "failed"]),
        [12, 12, 12, 6, 6]
    );
    assert_eq!((report.count("/status/200"), report.count("/status/503")), (6, 6));
    let of_iterations = |name: &str| report.count(&format!("/iterations/{name}"));
    let counts = ["scheduled", "started", "completed", "failed", "unfinished", "shed", "unsent"];
    assert_eq!(counts.map(of_iterations), [6, 6, 6, 0, 0, 0, 0]);
    assert_eq!(of_iterations("lateness/count"), 6);
    let endpoints = report.at("/endpoints").as_array().expect("endpoints");
    let names: Vec<&str> = endpoints.iter().filter_map(|part| part["name"].as_str()).collect();
    assert!(names.contains(&"order") && names.iter().any(|name| name.starts_with("GET http://")));
    assert_eq!(report.text("/groups/0/name"), "order");
    assert_eq!(report.count("/groups/0/ledger/completed"), 6);
    let metrics = report.at("/metrics").to_string();
    assert!(
        ["\"took\"", "\"checks\"", "\"group_duration\"", "is 200"]
            .iter()
            .all(|it| metrics.contains(it)),
        "{metrics}"
    );
    assert_eq!(report.text("/plan/vus/scenarios/0/executor"), "shared-iterations");
    // One user may have had all the iterations.
    assert!((1..=2).contains(&report.count("/connections/opened")));
    let page = std::fs::read_to_string(world.path("out.html")).expect("a page");
    let document = std::fs::read_to_string(world.path("out.json")).expect("a document");
    assert!(page.contains("script load.js") && !page.contains("s3cret"));
    assert!(!document.contains("s3cret"), "{document}");
    let again = run(plimsoll(&["report", "out.json"]).current_dir(world.folder.path()));
    assert!(again.stdout.contains("script load.js"), "{again:?}");
    let twice = ["compare", "out.json", "out.json"];
    let compared = run(plimsoll(&twice).current_dir(world.folder.path()));
    assert_eq!(compared.code, Some(0), "{compared:?}");
}

#[test]
fn thresholds_are_gates_beside_those_of_flags() {
    let world = World::new(
        "export const options = { vus: 1, iterations: 3, thresholds: {
           http_reqs: ['count==3', 'count>100'], http_req_failed: ['rate<0.5'] } };
         export default function () { http.get(`${BASE}/`); }",
    );
    let finished = world.run(&["--gate", "completed>=3"]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(finished.stdout.contains("1 of 4 gates FAILED"), "{finished:?}");
    let report = world.report();
    let gates = report.at("/gates").as_array().expect("gates");
    let pass = |expr: &str| {
        let gate = gates.iter().find(|gate| gate["expr"] == expr);
        gate.unwrap_or_else(|| panic!("{expr}: {gates:?}"))["pass"].as_bool()
    };
    assert_eq!(pass("http_reqs: count==3"), Some(true));
    assert_eq!(pass("http_reqs: count>100"), Some(false));
    assert_eq!(pass("http_req_failed: rate<0.5"), Some(true));
    assert_eq!(pass("completed>=3"), Some(true));
}

#[test]
fn what_ends_a_run_early_is_told() {
    let endless = "export default function () { http.get(`${BASE}/status/500`); }";
    for (options, flags, says) in [
        (
            "export const options = { vus: 1, duration: '60s', thresholds: { http_req_failed: [
               { threshold: 'rate<0.1', abortOnFail: true }] } };",
            &[][..],
            "thresholds on metrics 'http_req_failed' were crossed",
        ),
        (
            "export const options = { vus: 1, duration: '60s' };",
            &["--abort-when", "failed>5"],
            "failed>5",
        ),
    ] {
        let world = World::new(&format!("{options} {endless}"));
        let finished = world.run(flags);
        assert_eq!(finished.code, Some(3), "{finished:?}");
        let report = world.report();
        assert!(report.text("/aborted").contains(says), "{finished:?}");
        assert_eq!(report.at("/interrupted"), true);
        assert!(report.number("/elapsed_s") < 50.0);
    }
    let world = World::new(
        "import exec from 'k6/execution'; export const options = { vus: 1, iterations: 5 };
         export default function () { http.get(`${BASE}/`); exec.test.abort('enough'); }",
    );
    let finished = world.run(&[]);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert_eq!(world.report().text("/aborted"), "test aborted: enough");
}

#[test]
fn scenarios_have_results_of_their_own() {
    let world = World::new(
        "export const options = { scenarios: {
           a: { executor: 'per-vu-iterations', vus: 2, iterations: 3 },
           b: { executor: 'constant-arrival-rate', rate: 20, duration: '1s', preAllocatedVUs: 4,
                startTime: '500ms', exec: 'other' } } };
         export default function () { http.get(`${BASE}/`); }
         export function other() { http.get(`${BASE}/status/503`); }",
    );
    let finished = world.run(&["--gate", "completed@scenario:a>=6"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("2 scenarios: a, b"), "{finished:?}");
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok", "failed"]), [26, 6, 20]);
    assert_eq!(report.at("/scenarios/0/result/iterations/completed"), &6);
    assert_eq!(report.at("/scenarios/1/result/iterations/completed"), &20);
    assert_eq!(report.at("/scenarios/1/start_s"), &0.5);
    assert_eq!(report.at("/scenarios/1/result/iterations/target_per_second"), &20.0);
    assert_eq!(report.at("/loader/workers"), report.at("/scenarios/0/result/loader/workers"));
}

#[test]
fn flags_stand_above_the_script() {
    let world = World::new(
        "export const options = { vus: 9, duration: '60s' };
         export default function () { http.get(`${BASE}/`); }",
    );
    let finished = world.run(&["-c", "2", "-n", "8", "-t", "1"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!finished.stdout.contains("group_duration"), "{finished:?}");
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok"]), [8, 8]);
    assert_eq!(report.count("/plan/vus/scenarios/0/vus_max"), 2);
    assert_eq!(report.count("/loader/workers"), 1);
}

#[test]
fn too_few_virtual_users_make_the_result_suspect() {
    let world = World::new(
        "export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 40,
           duration: '1s', preAllocatedVUs: 1, maxVUs: 1 } } };
         export default function () { http.get(`${BASE}/delay/200ms`); }",
    );
    let finished = world.run(&["--require-valid"]);
    assert_eq!(finished.code, Some(4), "{finished:?}");
    let report = world.report();
    let shed = report.count("/iterations/shed");
    assert!(shed > 20, "{finished:?}");
    assert_eq!(report.count("/iterations/scheduled"), shed + report.count("/iterations/started"));
    assert!(report.at("/loader/causes").to_string().contains("\"vus\""), "{finished:?}");
}

#[test]
fn a_script_that_computes_makes_the_result_invalid() {
    let world = World::new(
        "export const options = { vus: 4, duration: '2s' };
         export default function () {
           http.get(`${BASE}/`);
           const until = Date.now() + 50; while (Date.now() < until) {}
         }",
    );
    let finished = world.run(&["-t", "1"]);
    let report = world.report();
    assert_ne!(report.text("/loader/verdict"), "valid", "{finished:?}");
    let causes = report.at("/loader/causes").to_string();
    assert!(causes.contains("read_late") || causes.contains("\"cpu"), "{causes}");
}

#[test]
fn requests_without_a_response_are_errors_by_kind() {
    let closed = ClosedPort::new();
    let world = World::new(
        "export const options = { vus: 1, iterations: 2 };
         export default function () { http.get(__ENV.GONE); http.get(`${BASE}/`); }",
    );
    let gone = format!("GONE={}", closed.url());
    let finished = world.run(&["-e", &gone]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok", "broken"]), [4, 2, 2]);
    assert_eq!(report.errors(), [("connect", "refused", 2)]);
    assert!(report.number("/latency/service/min_us") > 0.0, "an attempt takes its time");
    let slow = Peer::answering(|_| Answer::Hang);
    let world = World::new(
        "export const options = { vus: 1, iterations: 1 };
         export default function () { http.get(__ENV.SLOW, { timeout: '100ms' }); http.get(`${BASE}/`); }",
    );
    let finished = world.run(&["-e", &format!("SLOW={}", slow.url("/"))]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok", "timed_out"]), [2, 1, 1]);
    assert_eq!(report.errors(), [("waiting", "timeout", 1)]);
}

#[test]
fn a_signal_gives_a_report_of_what_was_measured() {
    let world = World::new(
        "export const options = { vus: 2, duration: '80s' };
         export default function () { if (__ITER === 3) console.log('going'); http.get(`${BASE}/`); }",
    );
    let mut running = Running::start(&mut world.command(&[]));
    while !running.next_line(Stream::Err).contains("going") {}
    let finished = running.finish_by(Signal::INT);
    assert_eq!(finished.code, Some(130), "{finished:?}");
    let report = world.report();
    assert_eq!(report.at("/interrupted"), true);
    assert!(report.count("/ledger/completed") >= 3);
    let of_iterations = |name: &str| report.count(&format!("/iterations/{name}"));
    assert_eq!(of_iterations("started"), of_iterations("completed") + of_iterations("unfinished"));
}

#[test]
fn a_tester_that_was_stopped_says_so() {
    let world = World::new(
        "export const options = { scenarios: { s: { executor: 'constant-arrival-rate', rate: 50,
           duration: '3s', preAllocatedVUs: 5 } } };
         export default function () { if (__ITER === 3) console.log('going'); http.get(`${BASE}/`); }",
    );
    let mut running = Running::start(&mut world.command(&[]));
    while !running.next_line(Stream::Err).contains("going") {}
    let stops = Stops::inflict(&running, 1, Duration::from_millis(400));
    let finished = running.finish();
    let report = world.report();
    assert_ne!(report.text("/loader/verdict"), "valid", "{finished:?}");
    assert!(report.at("/loader/causes").to_string().contains("\"paused\""), "{finished:?}");
    let paused_s = report.number("/loader/paused_s");
    assert!(paused_s >= stops.least.as_secs_f64() - 0.01, "{finished:?}");
}

#[test]
fn what_cannot_be_is_one_line() {
    let world = World::new("export default function () {}");
    for (flags, code, says) in [
        (
            &["-r", "5"][..],
            2,
            "the run of a script has no --rate: set an arrival rate in the script",
        ),
        (&["-H", "a: b"], 2, "the run of a script has no --header: set it in the script"),
        (&["-c", "1..5"], 2, "--connections MIN..MAX is for connections"),
        (&["--gate", "p99<fast"], 2, "condition 'p99<fast'"),
        (&["-e", "novalue"], 2, "a variable is written as NAME=value"),
        (&["--gate", "p99@scenario:x<1s"], 2, "the run has no scenarios"),
    ] {
        let finished = world.run(flags);
        assert_eq!(finished.code, Some(code), "{flags:?}: {finished:?}");
        assert!(finished.stderr.contains(says), "{flags:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
    }
    let printed = world.run(&["--print-plan", "-c", "3", "-d", "1s"]);
    assert_eq!(printed.stdout, "default: constant-vus: 3 looping VUs for 1s (gracefulStop: 30s)\n");
    let missing = run(&mut plimsoll(&["run", "no-such.js"]));
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("cannot read the script 'no-such.js'"), "{missing:?}");
    let plain = run(&mut plimsoll(&["run", "http://127.0.0.1:9/", "-e", "A=1"]));
    assert_eq!(plain.code, Some(2), "{plain:?}");
    let empty = world.run(&["-n", "2"]);
    assert_eq!(empty.code, Some(1), "{empty:?}");
    assert_eq!(world.report().text("/loader/causes/0/code"), "no_responses");
}

/// The script ends its requests before the server can answer.
#[test]
fn requests_that_a_script_cuts_off_make_the_result_suspect() {
    let world = World::new(
        "export const options = { vus: 1, iterations: 20 };
         export default function () { http.asyncRequest('GET', `${BASE}/delay/500ms`); http.get(`${BASE}/`);
           throw new Error('enough'); }",
    );
    let finished = world.run(&[]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok", "unfinished"]), [40, 20, 20]);
    assert_ne!(report.text("/loader/verdict"), "valid");
    assert!(report.at("/loader/causes").to_string().contains("\"cut_off\""), "{finished:?}");
    let endpoints = report.at("/endpoints").as_array().expect("a list");
    let cut_off = endpoints.iter().find(|it| it["ledger"]["unfinished"] == 20).expect("one");
    assert!(cut_off["name"].as_str().is_some_and(|name| name.ends_with("/delay/500ms")));
    assert!(report.number("/connections/opened") >= 20.0, "each was cut off on its connection");
    let bound = finished.stdout.lines().find(|line| line.starts_with("p75 ")).expect("a quantile");
    assert!(bound.contains('≥'), "half of the requests have no response: {bound}");
}

#[test]
fn messages_and_gates_show_no_secret_of_a_url() {
    let closed = ClosedPort::new();
    let world = World::new(
        "export const options = { vus: 1, iterations: 1, thresholds: {
           'http_req_failed{name:http://h/?email=canary}': ['rate<0.5'] } };
         export default function () { http.get(`${__ENV.GONE}?email=canary&token=canary`); }",
    );
    let gone = format!("GONE={}", closed.url());
    let finished = world.run(&["-e", &gone, "--redact", "email", "--html", "out.html"]);
    assert!(finished.stderr.contains("request failed: "), "{finished:?}");
    let read = |name: &str| std::fs::read_to_string(world.path(name)).expect("a report");
    for text in [&finished.stderr, &finished.stdout, &read("out.json"), &read("out.html")] {
        assert!(!text.contains("canary"), "{text}");
    }
    let shown = world.run(&["-e", &gone, "--show-secrets"]);
    assert!(shown.stderr.contains("canary"), "{shown:?}");
}

/// What README.md, gates.md and from-k6.md say of scripts. WebSockets have their own tests below.
#[test]
fn gates_on_custom_metrics_and_live_outputs_work_as_the_pages_say() {
    let receiver = Peer::answering(|_| Answer::Say("HTTP/1.1 204 No Content\r\n\r\n"));
    let world = World::new(
        "import { Counter } from 'k6/metrics';
         const made = new Counter('made');
         export const options = { vus: 1, iterations: 3 };
         export default function () { http.get(`${BASE}/`); made.add(2); }",
    );
    let out = format!("influx={}", receiver.url("/load"));
    for (gate, code) in [("made>=6", 0), ("made<6", 3)] {
        let finished = world.run(&["--gate", gate, "--out", &out]);
        assert_eq!(finished.code, Some(code), "{gate}: {finished:?}");
    }
    let points = receiver.requests().join("\n");
    assert!(points.contains("plimsoll,") && points.contains("sent="), "{points}");
    let page = |name: &str| {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        std::fs::read_to_string(path).expect("a page")
    };
    for (name, stale) in [
        ("README.md", "WebSocket in k6's scripts"),
        ("docs/gates.md", "Not available in `plimsoll run` yet"),
        ("docs/metrics.md", "Not available in `plimsoll run` yet"),
        ("docs/gate-metrics.md", "No source of `run` declares any yet"),
        ("docs/from-k6.md", "and live output to Prometheus, InfluxDB"),
    ] {
        assert!(!page(name).contains(stale), "{name} says what is no longer so: {stale}");
    }
}

/// Calls and sockets are in no rate and no time, so they are counted beside the requests.
#[test]
fn calls_and_sockets_are_counted_beside_requests() {
    let world = World::new(
        "import grpc from 'k6/net/grpc'; import ws from 'k6/ws';
         const client = new grpc.Client();
         export const options = { vus: 1, iterations: 2 };
         export default function () {
           http.get(`${BASE}/`);
           const address = BASE.replace('http://', '');
           client.connect(address, { plaintext: true, reflect: true });
           client.invoke('grpc.testing.TestService/EmptyCall', {});
           ws.connect(`${BASE.replace('http', 'ws')}/ws`, null, (s) => s.on('open', () => s.close()));
         }",
    );
    let finished = world.run(&[]);
    let report = world.report();
    assert_eq!(report.ledger(["sent", "ok"]), [2, 2], "{finished:?}");
    let causes = report.at("/loader/causes").to_string();
    let says = "note: the script used 2 calls of gRPC and 2 WebSockets, counted beside";
    assert!(causes.contains("left_out") && causes.contains(says), "{causes} {finished:?}");
    assert_eq!(report.number("/beside/calls/ok"), 2.0);
    assert_eq!(report.number("/beside/websockets/opened"), 2.0);
    assert!(finished.stdout.contains("gRPC calls 2 ok, 0 failed"), "{}", finished.stdout);
    assert!(finished.stdout.contains("WebSockets 2 opened"), "{}", finished.stdout);
}

#[test]
fn a_scenario_of_websockets_alone_is_counted_and_spoils_nothing() {
    let world = World::new(
        "import ws from 'k6/ws';
         const scenario = (exec) => ({ executor: 'shared-iterations', vus: 1, iterations: 3, exec });
         export const options = { scenarios: { pages: scenario('pages'), talk: scenario('talk') } };
         export function pages() { http.get(`${BASE}/`); }
         export function talk() {
           ws.connect(`${BASE.replace('http', 'ws')}/ws`, null, (socket) => {
             let answers = 0;
             socket.on('open', () => { socket.send('one'); socket.send('two'); });
             socket.on('message', () => { answers += 1; if (answers == 2) socket.close(); });
           });
         }",
    );
    let finished = world.run(&["--html", "out.html"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = world.report();
    let counts = |of: &str| {
        ["opened", "failed", "sent", "received"]
            .map(|name| report.number(&format!("{of}/beside/websockets/{name}")))
    };
    assert_eq!(counts(""), [3.0, 0.0, 6.0, 6.0], "{finished:?}");
    let names = [0, 1].map(|at| report.text(&format!("/scenarios/{at}/name")).to_owned());
    let talk = names.iter().position(|name| name == "talk").expect("the scenario");
    assert_eq!(counts(&format!("/scenarios/{talk}/result")), [3.0, 0.0, 6.0, 6.0]);
    let causes = report.at(&format!("/scenarios/{talk}/result/loader/causes")).to_string();
    assert!(!causes.contains("no_responses"), "{causes}");
    let page = std::fs::read_to_string(world.path("out.html")).expect("a page");
    for text in [&finished.stdout, &page] {
        assert!(text.contains("WebSockets") && text.contains("6 sent, 6 received"), "{text}");
    }
}

#[test]
fn a_script_of_websockets_that_cannot_be_opened_has_no_response() {
    let world = World::new(
        "import ws from 'k6/ws';
         export const options = { vus: 1, iterations: 1 };
         export default function () {
           ws.connect(`${BASE.replace('http', 'ws')}/status/500`, null, () => {});
         }",
    );
    let finished = world.run(&[]);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(world.report().number("/beside/websockets/failed"), 1.0);
}
