//! What the pages promise of gates, conditions and figures holds of plain runs and of k6 scripts
//! alike: each row is a load, once as a plain run and once as a script, and both say the same.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{Finished, Report, Server, plimsoll, run, without_options_of_k6};

/// The same load twice.
struct Load {
    /// What it is, for messages.
    name: &'static str,
    /// Flags of the plain run.
    flags: &'static [&'static str],
    path: &'static str,
    /// The options of the script, and what it passes to `http.get`.
    options: &'static str,
    params: &'static str,
}

/// Each connection's next request comes when the last one is answered.
const ANSWERED: Load = Load {
    name: "answered",
    flags: &["-n", "12", "-c", "2"],
    path: "/",
    options: "vus: 2, iterations: 12",
    params: "{}",
};

const FAILED: Load = Load { name: "failed", path: "/status/503", ..ANSWERED };

/// Given up by the tester.
const GIVEN_UP: Load = Load {
    name: "given up",
    flags: &["-n", "4", "-c", "2", "--timeout", "300ms"],
    path: "/delay/20s",
    options: "vus: 2, iterations: 4",
    params: "{ timeout: '300ms' }",
};

/// At a rate, with answers that come when no request is sent any more.
const LATE: Load = Load {
    name: "late",
    flags: &["-r", "20", "-d", "1s", "-c", "20"],
    path: "/delay/2500ms",
    options: "scenarios: { s: { executor: 'constant-arrival-rate', rate: 20, duration: '1s',
        preAllocatedVUs: 20, gracefulStop: '20s' } }",
    params: "{}",
};

/// Requests wait for their answers until the run ends.
const WAITING: Load = Load {
    name: "waiting",
    flags: &["-d", "20s", "-c", "2", "--timeout", "60s"],
    path: "/delay/60s",
    options: "vus: 2, duration: '20s', gracefulStop: '0s'",
    params: "{ timeout: '60s' }",
};

impl Load {
    fn plain(&self, server: &Server, folder: &Path, flags: &[String]) -> (Finished, Report) {
        let mut command = plimsoll(&["run", "--json", "out.json"]);
        command.args(self.flags).arg(server.url(self.path));
        told(command.args(flags), folder)
    }

    fn script(&self, server: &Server, folder: &Path, flags: &[String]) -> (Finished, Report) {
        let Self { options, params, .. } = self;
        let url = server.url(self.path);
        let text = format!(
            "import http from 'k6/http'; export const options = {{ {options} }};
             export default () => {{ http.get('{url}', {params}); }};"
        );
        std::fs::write(folder.join("load.js"), text).expect("a script");
        let mut command = plimsoll(&["run", "load.js", "--json", "out.json"]);
        without_options_of_k6(&mut command);
        told(command.args(flags), folder)
    }
}

fn told(command: &mut Command, folder: &Path) -> (Finished, Report) {
    let finished = run(command.current_dir(folder));
    let text = std::fs::read_to_string(folder.join("out.json"));
    (finished, Report::read(&text.expect("a document")))
}

/// What a gate came to: `pass`, `fail` or `undecided`.
fn outcome(gate: &Value) -> &'static str {
    match (gate["pass"].as_bool(), gate["undecided"].as_bool()) {
        (Some(true), _) => "pass",
        (_, Some(true)) => "undecided",
        _ => "fail",
    }
}

fn outcomes(report: &Report) -> Vec<(String, &'static str)> {
    let gates = report.at("/gates").as_array().expect("gates");
    gates
        .iter()
        .map(|gate| (gate["expr"].as_str().unwrap_or("").to_owned(), outcome(gate)))
        .collect()
}

/// The gate that tries a promise, and what it comes to.
type Promise = (&'static str, &'static str);

const PROMISES: [(&Load, &[Promise]); 4] = [
    (
        &ANSWERED,
        &[
            ("completed==12", "pass"),
            ("sent==12", "pass"),
            ("ok==12", "pass"),
            ("failed==0", "pass"),
            ("errors==0", "pass"),
            ("resent==0", "pass"),
            ("refused==0", "pass"),
            ("status.200==12", "pass"),
            ("status.2xx>=12", "pass"),
            ("connect_errors==0", "pass"),
            ("p99<20s", "pass"),
            ("service.p99<20s", "pass"),
            ("min>20s", "fail"),
            ("bytes.received>0", "pass"),
            // Without data there is nothing to pass.
            ("failed.p99<20s", "fail"),
            ("tls.p99<20s", "fail"),
            ("receive_delay.p99<20s", "fail"),
            ("greeting.p99<20s", "fail"),
            ("stalled.p99<20s", "fail"),
            ("dns.p99<20s", "fail"),
        ],
    ),
    (
        &FAILED,
        &[
            ("ok==0", "pass"),
            ("failed==12", "pass"),
            ("errors<1%", "fail"),
            ("status.5xx==12", "pass"),
            ("ok.p99<20s", "fail"),
        ],
    ),
    (
        &GIVEN_UP,
        &[
            ("timed_out==4", "pass"),
            ("completed==0", "pass"),
            ("errors<1%", "fail"),
            // These times are lower bounds.
            ("service.p50<20s", "undecided"),
            ("p95<20s", "undecided"),
            ("max<20s", "undecided"),
        ],
    ),
    (
        &LATE,
        &[
            ("sent==20", "pass"),
            ("completed==20", "pass"),
            ("sent@0s..1s>=18", "pass"),
            ("completed@0s..1s==0", "pass"),
        ],
    ),
];

#[test]
fn gates_say_the_same_of_a_script_and_of_a_plain_run() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for (load, promises) in PROMISES {
        let flags = promises.iter().flat_map(|(gate, _)| ["--gate".to_owned(), (*gate).to_owned()]);
        let flags: Vec<String> = flags.collect();
        let (of_plain, plain) = load.plain(&server, folder.path(), &flags);
        let (of_script, script) = load.script(&server, folder.path(), &flags);
        let wanted = promises.iter().map(|(gate, want)| ((*gate).to_owned(), *want));
        let wanted: Vec<(String, &str)> = wanted.collect();
        assert_eq!(outcomes(&plain), wanted, "{} as a plain run: {of_plain:?}", load.name);
        assert_eq!(outcomes(&script), wanted, "{} as a script: {of_script:?}", load.name);
        assert_eq!(of_plain.code, of_script.code, "{}", load.name);
    }
}

#[test]
fn conditions_end_a_script_as_they_end_a_plain_run() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for condition in ["p99@last:2s>300ms", "p50@last:2s>300ms", "max>300ms", "sent>=2"] {
        let flags = ["--abort-when".to_owned(), condition.to_owned()];
        let plain = WAITING.plain(&server, folder.path(), &flags);
        let script = WAITING.script(&server, folder.path(), &flags);
        assert_eq!(plain.0.code, script.0.code, "{condition}: {plain:?} {script:?}");
        for (finished, report) in [plain, script] {
            assert!(report.text("/aborted").contains(condition), "{condition}: {finished:?}");
            assert_eq!(report.count("/ledger/sent"), 2, "{condition}: {finished:?}");
        }
    }
}

/// What k6 lets pass is no passed gate where there is no data, or where times are lower bounds.
#[test]
fn thresholds_are_judged_as_gates_are() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    for (load, threshold, want) in [
        (&ANSWERED, "http_req_duration: ['p(95)<20000']", "pass"),
        (&ANSWERED, "'http_req_duration{name:misspelt}': ['p(95)<20000']", "fail"),
        (&ANSWERED, "'http_req_failed{name:misspelt}': ['rate<0.5']", "fail"),
        (&ANSWERED, "dropped_iterations: ['count<5']", "fail"),
        (&GIVEN_UP, "http_req_duration: ['p(95)<20000']", "undecided"),
        (&GIVEN_UP, "http_req_duration: ['max<20000']", "undecided"),
        (&GIVEN_UP, "http_req_waiting: ['med<20000']", "undecided"),
        (&GIVEN_UP, "http_req_failed: ['rate==1']", "pass"),
    ] {
        let options = format!("{}, thresholds: {{ {threshold} }}", load.options);
        let options: &'static str = options.leak();
        let load = Load { options, ..*load };
        let (finished, report) = load.script(&server, folder.path(), &[]);
        assert_eq!(outcomes(&report)[0].1, want, "{} {threshold}: {finished:?}", load.name);
        let code = [("pass", 0), ("fail", 3), ("undecided", 4)].into_iter();
        let code = code.filter(|(outcome, _)| *outcome == want).map(|(_, code)| code).next();
        // A run without a response has a code of its own.
        let code = if report.count("/ledger/completed") > 0 { code } else { Some(1) };
        assert_eq!(finished.code, code, "{} {threshold}: {finished:?}", load.name);
    }
}

/// The thread that starts iterations is kept busy by their own work, so that it starts them late by
/// much more than its clock is coarse: a gate on the lateness sees it, as that of a plain run sees
/// requests that start late.
#[test]
fn the_lateness_of_a_script_is_that_of_its_iterations() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let url = server.url("/");
    let text = format!(
        "import http from 'k6/http';
         export const options = {{ scenarios: {{ s: {{ executor: 'constant-arrival-rate', rate: 20,
             duration: '1s', preAllocatedVUs: 20, gracefulStop: '20s' }} }} }};
         export default () => {{
             const end = Date.now() + 100;
             while (Date.now() < end);
             http.get('{url}');
         }};"
    );
    std::fs::write(folder.path().join("load.js"), text).expect("a script");
    let gates = ["lateness.max<20us", "lateness.p99<20us", "lateness.max@0s..1s<20us"];
    let mut command = plimsoll(&["run", "load.js", "-t", "1", "--json", "out.json"]);
    without_options_of_k6(&mut command);
    command.args(gates.iter().flat_map(|gate| ["--gate", gate]));
    let (finished, report) = told(&mut command, folder.path());
    for (gate, (_, outcome)) in gates.iter().zip(outcomes(&report)) {
        assert_eq!(outcome, "fail", "{gate}: {finished:?}");
    }
    let late_us = report.at("/iterations/lateness/max_us");
    assert_eq!(report.at("/gates/0/value"), late_us);
    let mut again = plimsoll(&["report", "out.json", "--format", "csv"]);
    let csv = run(again.current_dir(folder.path())).stdout;
    let (heads, row) = csv.split_once('\n').expect("a row below the heads");
    let of_lateness = heads.split(',').zip(row.trim().split(','));
    let shown = of_lateness.filter(|(head, _)| *head == "lateness_p99_us").map(|(_, us)| us);
    let shown: Vec<f64> = shown.map(|us| us.parse().expect("a number")).collect();
    // Of so few iterations the latest is the p99.
    assert_eq!(shown, [late_us.as_f64().expect("a number")], "{csv}");
}

/// Of a script it is not known whether its server could be reached all along, so no gate on that
/// passes.
#[test]
fn a_script_passes_no_gate_on_outages() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let flags = ["--gate", "outage<1%"].map(str::to_owned);
    for (told, want) in [
        (ANSWERED.plain(&server, folder.path(), &flags), "pass"),
        (ANSWERED.script(&server, folder.path(), &flags), "fail"),
    ] {
        let (finished, report) = told;
        assert_eq!(outcomes(&report)[0].1, want, "{finished:?}");
    }
}

/// The tester's own host had no file left: it is never the server's failure.
#[test]
fn a_script_without_files_left_is_not_valid() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let url = server.url("/delay/20ms");
    let text = format!(
        "import http from 'k6/http'; import {{ sleep }} from 'k6';
         export const options = {{ vus: 120, duration: '1s' }};
         export default () => {{ http.get('{url}'); sleep(0.3); }};"
    );
    std::fs::write(folder.path().join("load.js"), text).expect("a script");
    let program = plimsoll(&[]).get_program().to_owned();
    let limited = |words: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n 64; exec \"$0\" {words}")]).arg(&program);
        without_options_of_k6(&mut command);
        run(command.current_dir(folder.path()))
    };
    let recorded = limited("run load.js --json out.json");
    let text = std::fs::read_to_string(folder.path().join("out.json")).expect("a document");
    let report = Report::read(&text);
    assert_eq!(report.text("/loader/verdict"), "invalid", "{recorded:?}");
    let short = report.errors().iter().any(|(_, kind, count)| *kind == "no_files" && *count > 0);
    assert!(short, "{recorded:?}");
    let of_k6 = limited("k6 run load.js");
    for words in ["the tester was the limit", "no free file descriptor"] {
        assert!(of_k6.stderr.contains(words), "{words}: {of_k6:?}");
    }
    assert!(!of_k6.stderr.contains("the tester was not the limit"), "{of_k6:?}");
}
