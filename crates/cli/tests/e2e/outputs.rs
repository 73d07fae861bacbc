//! Outputs with real receivers: what they say when they are asked is the ledger of the report, to
//! the last count.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::programs::share_with;
use crate::support::{Report, Running, Server, Stream, plimsoll, run, without_options_of_k6};

/// A receiver that listens on a port of its choice.
struct Receiver {
    _running: Running,
    _directory: TempDir,
    address: String,
}

impl Receiver {
    /// Starts a program that says on stderr where it listens: after `announced`, behind `key`.
    fn start(command: &mut Command, directory: TempDir, announced: &str, key: &str) -> Self {
        let mut running = Running::start(command);
        let address = loop {
            let line = running.next_line(Stream::Err);
            if line.contains(announced) {
                let after = line.split(key).nth(1).expect("an address").to_owned();
                break after.split_whitespace().next().expect("an address").to_owned();
            }
        };
        Self { _running: running, _directory: directory, address }
    }

    /// A Prometheus that scrapes `target` each second, if there is one.
    fn prometheus(target: Option<&str>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let config = match target {
            None => "scrape_configs: []\n".to_owned(),
            Some(target) => format!(
                "scrape_configs:\n- job_name: load\n  scrape_interval: 200ms\n  \
                 scrape_timeout: 200ms\n  static_configs:\n  - targets: ['{target}']\n"
            ),
        };
        let file = directory.path().join("prometheus.yml");
        fs::write(&file, config).expect("a file");
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()))
            .args(["--web.listen-address=127.0.0.1:0", "--web.enable-remote-write-receiver"])
            .arg("--enable-feature=native-histograms");
        Self::start(&mut command, directory, "msg=\"Listening on\"", " address=")
    }

    fn influx() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("influxd");
        for (name, folder) in [("META_DIR", "meta"), ("DATA_DIR", "data"), ("DATA_WAL_DIR", "wal")]
        {
            command.env(format!("INFLUXDB_{name}"), directory.path().join(folder));
        }
        command
            .envs([("INFLUXDB_HTTP_BIND_ADDRESS", "127.0.0.1:0")])
            .envs([("INFLUXDB_BIND_ADDRESS", "127.0.0.1:0")])
            .envs([("INFLUXDB_REPORTING_DISABLED", "true")])
            .envs([("INFLUXDB_MONITOR_STORE_ENABLED", "false")]);
        let receiver = Self::start(&mut command, directory, "Listening on HTTP", " addr=");
        receiver.ask("POST", "/query?q=CREATE+DATABASE+load");
        receiver
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// An answer of its HTTP interface.
    fn ask(&self, method: &str, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: {}\r\nContent-Length: 0\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split("\r\n\r\n").nth(1).expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }

    /// The value of an expression as Prometheus finds it now, if it finds one.
    fn query(&self, expression: &str) -> Option<f64> {
        self.value(&format!("/api/v1/query?query={}", encoded(expression)))
    }

    /// The same at the time of the last sample: later, marks of an end hide it.
    fn query_last(&self, expression: &str) -> Option<f64> {
        let time_s = self.last_s();
        self.value(&format!("/api/v1/query?time={time_s}&query={}", encoded(expression)))
    }

    /// When the last sample of a run of ours was made, s.
    fn last_s(&self) -> f64 {
        let last = "max(max_over_time(timestamp(plimsoll_sent_total)[1h:10ms]))";
        self.query(last).expect("a last sample")
    }

    fn value(&self, path: &str) -> Option<f64> {
        let answer = self.ask("GET", path);
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer.pointer("/data/result/0/value/1")?.as_str()?.parse().ok()
    }
}

/// A text as a value of a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Runs a load with these outputs.
pub(crate) fn loaded(server: &Server, arguments: &[&str]) -> Report {
    let mut command = plimsoll(&["-n", "600", "-r", "250", "-c", "4", "--format", "json"]);
    let finished = run(command.args(arguments).arg(server.url("/")));
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{finished:?}");
    Report::read(&finished.stdout)
}

#[test]
fn prometheus_has_the_ledger_that_was_written_to_it() {
    let Some(_share) = share_with(&["prometheus"]) else { return };
    let server = Server::start(&[]);
    let prometheus = Receiver::prometheus(None);
    let outs = ["", ",native"].map(|kind| format!("prometheus-rw={}{kind}", prometheus.url("")));
    let labels = ["--out-label", "run=classic"];
    let classic = loaded(&server, &[&["--out", outs[0].as_str()], labels.as_slice()].concat());
    let labels = ["--out-label", "run=native"];
    let native = loaded(&server, &[&["--out", outs[1].as_str()], labels.as_slice()].concat());
    for (run, report) in [("classic", &classic), ("native", &native)] {
        let [ok, sent] = report.ledger(["ok", "sent"]);
        let selector = format!("{{run=\"{run}\",outcome=\"ok\"}}");
        // The markers at the end hide the series from queries of an instant.
        let found =
            prometheus.query(&format!("last_over_time(plimsoll_requests_total{selector}[1h])"));
        assert_eq!(found, Some(ok as f64));
        let selector = format!("{{run=\"{run}\"}}");
        let found = prometheus.query(&format!("last_over_time(plimsoll_sent_total{selector}[1h])"));
        assert_eq!(found, Some(sent as f64));
    }
    let count = "last_over_time(plimsoll_response_seconds_count{run=\"classic\"}[1h])";
    let want = classic.count("/latency/response/count");
    assert_eq!(prometheus.query(count), Some(want as f64));
    // Of histograms this Prometheus has no last one over time. The last run is the native one.
    let last = "plimsoll_response_seconds{run=\"native\"}";
    let want = native.count("/latency/response/count");
    let found = prometheus.query_last(&format!("histogram_count({last})"));
    assert_eq!(found, Some(want as f64));
    let found = prometheus.query_last(&format!("histogram_quantile(0.5, {last})"));
    let want = native.number("/latency/response/quantiles/0/us") / 1e6;
    // Neighbouring buckets differ by 2.2 %.
    let ratio = found.expect("a median") / want;
    assert!((ratio - 1.0).abs() < 0.03, "{found:?} s, and {want} s in the report");
}

/// Prometheus before 3.0 finds nothing that it knows in a message of remote write 2.0, and answers
/// that all is well.
#[test]
fn a_receiver_that_knows_only_remote_write_1_is_found_out() {
    let Some(_share) = share_with(&["prometheus"]) else { return };
    let prometheus = Receiver::prometheus(None);
    let server = Server::start(&[]);
    let out = format!("prometheus-rw={},v2", prometheus.url(""));
    let finished = run(plimsoll(&["-n", "50", "--out", &out]).arg(server.url("/")));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    // It answers this only once it has started, as it has to what it was sent.
    let version = prometheus.ask("GET", "/api/v1/status/buildinfo");
    let version = version.pointer("/data/version").and_then(Value::as_str).expect("a version");
    let want = "the receiver does not take remote write 2.0: leave ,v2 out";
    match version.starts_with("2.") {
        true => assert!(finished.stderr.contains(want), "{finished:?}"),
        false => assert_eq!(finished.stderr, ""),
    }
}

#[test]
fn prometheus_scrapes_the_last_figures_of_a_run() {
    let Some(_share) = share_with(&["prometheus", "promtool"]) else { return };
    let server = Server::start(&[]);
    let mut command = plimsoll(&["-n", "600", "-r", "250", "-c", "4", "--format", "json"]);
    command.args(["--out", "prometheus=127.0.0.1:0", "--out-label", "run=a"]).arg(server.url("/"));
    let mut running = Running::start(&mut command);
    let line = running.next_line(Stream::Err);
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.unwrap_or_else(|| panic!("no address: {line}")).to_owned();
    let text = scrape(&address);
    let prometheus = Receiver::prometheus(Some(&address));
    let finished = running.finish();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let report = Report::read(&finished.stdout);
    let [ok] = report.ledger(["ok"]);
    // What was scraped last is not there at once.
    let expression = "sum(last_over_time(plimsoll_requests_total{outcome=\"ok\"}[1h]))";
    while prometheus.query(expression).is_none_or(|found| found < ok as f64) {
        std::thread::yield_now();
    }
    assert_eq!(prometheus.query(expression), Some(ok as f64));
    let count = "sum(histogram_count(plimsoll_response_seconds))";
    let want = report.count("/latency/response/count") as f64;
    assert_eq!(prometheus.query_last(count), Some(want));

    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut checking = promtool.stderr(Stdio::piped()).spawn().expect("promtool");
    checking.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    let checked = checking.wait_with_output().expect("an end");
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
}

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.split("\r\n\r\n").nth(1).expect("a body").to_owned()
}

#[test]
fn prometheus_has_the_counts_of_a_script_of_k6() {
    let Some(_share) = share_with(&["prometheus"]) else { return };
    let server = Server::start(&[]);
    let prometheus = Receiver::prometheus(None);
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script.js");
    let text = "import http from 'k6/http';
        export default () => { http.get(__ENV.BASE, { tags: { 'a-b': 'c' } }); };";
    fs::write(&script, text).expect("a script");
    let mut command = plimsoll(&["k6", "run", "-q", "-i", "30", "-u", "3", "-o"]);
    without_options_of_k6(&mut command);
    command.arg(format!("experimental-prometheus-rw={}", prometheus.url("/api/v1/write")));
    command.env("BASE", server.url("/")).env("K6_PROMETHEUS_RW_TREND_STATS", "max,count");
    let summary = directory.path().join("summary.json");
    let finished = run(command.arg("--summary-export").arg(&summary).arg(&script));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!finished.stderr.contains("not delivered"), "{finished:?}");
    for (expression, want) in [
        ("sum(k6_http_reqs_total{a_b=\"c\",status=\"200\",method=\"GET\"})", 30.0),
        ("sum(k6_http_req_duration_count)", 30.0),
        ("sum(k6_iterations_total)", 30.0),
        ("max(k6_http_req_failed_rate)", 0.0),
    ] {
        assert_eq!(prometheus.query(expression), Some(want), "{expression}");
    }
    let text = fs::read_to_string(&summary).expect("a summary");
    let summary: Value = serde_json::from_str(&text).expect("JSON");
    let max_ms = summary["metrics"]["http_req_duration"]["max"].as_f64().expect("a maximum");
    // In seconds, as k6 sends times.
    let max_s = prometheus.query("max(k6_http_req_duration_max)").expect("a value");
    assert!((max_s * 1e3 / max_ms - 1.0).abs() < 1e-6, "{max_s} s, and {max_ms} ms");
}

#[test]
fn prometheus_tells_the_runs_of_a_study_apart() {
    let Some(_share) = share_with(&["prometheus"]) else { return };
    let prometheus = Receiver::prometheus(None);
    let folder = tempfile::tempdir().expect("a folder");
    let serve = "command = '{plimsoll} serve --listen 127.0.0.1:{port}'";
    let suite = format!(
        "name = 'study'\nrepeats = 2\n\
         [[servers]]\nname = 'one'\n{serve}\n[[servers]]\nname = 'two'\n{serve}\n\
         [[loads]]\nname = 'few'\nrequests = 30\nconnections = 2\n"
    );
    fs::write(folder.path().join("suite.toml"), suite).expect("a suite");
    let out = format!("prometheus-rw={}", prometheus.url(""));
    let mut lab = plimsoll(&["lab", "suite.toml", "--out", &out, "--out-label", "run=nightly"]);
    let finished = run(lab.current_dir(folder.path()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let last = "last_over_time(plimsoll_sent_total{run=\"nightly\"}[1h])";
    for (expression, want) in [
        // Two repeats, as docs/outputs.md adds them up.
        (format!("sum by (server, load) ({last}) == 60"), 60.0),
        (format!("count(sum by (server, load) ({last}) == 60)"), 2.0),
        (format!("count({last} == 30)"), 4.0),
        (format!("count(count by (repeat) ({last}))"), 2.0),
    ] {
        assert_eq!(prometheus.query(&expression), Some(want), "{expression}");
    }
}

#[test]
fn influxdb_has_the_ledger_that_was_written_to_it() {
    let Some(_share) = share_with(&["influxd"]) else { return };
    let server = Server::start(&[]);
    let influx = Receiver::influx();
    let out = format!("influx={}", influx.url("/load"));
    let report = loaded(&server, &["--out", &out]);
    let names = ["scheduled", "sent", "completed", "ok", "failed", "unfinished"];
    for (name, want) in names.iter().zip(report.ledger(names)) {
        let query = encoded(&format!("SELECT SUM(\"{name}\") FROM plimsoll"));
        let answer = influx.ask("GET", &format!("/query?db=load&q={query}"));
        let found = answer.pointer("/results/0/series/0/values/0/1").and_then(Value::as_u64);
        assert_eq!(found, Some(want), "{name}: {answer}");
    }
    let query = encoded("SELECT COUNT(title) FROM plimsoll_events");
    let answer = influx.ask("GET", &format!("/query?db=load&q={query}"));
    assert_eq!(answer.pointer("/results/0/series/0/values/0/1"), Some(&2.into()), "{answer}");
}

/// Every expression of the dashboard, as Grafana would send it for a window of an hour.
fn dashboard_expressions() -> Vec<String> {
    let text = include_str!("../../../../dist/grafana/plimsoll.json");
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let annotations = dashboard["annotations"]["list"].as_array().expect("annotations");
    targets
        .chain(annotations)
        .map(|it| it["expr"].as_str().expect("an expression"))
        .map(|text| {
            let text = text.replace("$__rate_interval", "1h").replace("$__range", "1h");
            // All of each.
            ["$run", "$server", "$load"].iter().fold(text, |text, name| text.replace(name, ".*"))
        })
        .collect()
}

#[test]
fn every_expression_of_the_dashboard_and_the_rules_finds_something() {
    let Some(_share) = share_with(&["prometheus", "promtool"]) else { return };
    let server = Server::start(&[]);
    let prometheus = Receiver::prometheus(None);
    let out = format!("prometheus-rw={}", prometheus.url(""));
    loaded(&server, &["--out", &out, "--gate", "p99<60s"]);
    // The markers at the end hide gauges from later instants.
    let time_s = prometheus.last_s();
    let rules = include_str!("../../../../dist/prometheus/plimsoll.rules.yml");
    let expressions = dashboard_expressions();
    assert!(expressions.len() > 10, "{expressions:?}");
    for expression in &expressions {
        let path = format!("/api/v1/query?time={time_s}&query={}", encoded(expression));
        let answer = prometheus.ask("GET", &path);
        let found = answer.pointer("/data/result").and_then(Value::as_array);
        assert!(found.is_some_and(|found| !found.is_empty()), "{expression}: {answer}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("rules.yml");
    fs::write(&file, rules).expect("a file");
    let mut promtool = Command::new("promtool");
    let checked = promtool.args(["check", "rules"]).arg(&file).output().expect("promtool");
    assert!(checked.status.success(), "{checked:?}");
    let metrics = rules.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    for metric in metrics.filter(|word| word.starts_with("plimsoll_") && word.ends_with("_total")) {
        assert!(prometheus.query(&format!("count_over_time({metric}[1h])")).is_some(), "{metric}");
    }
}
