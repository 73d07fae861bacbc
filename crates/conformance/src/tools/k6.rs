//! k6 1.x and 2.x: a generated script in which a virtual user stands for a connection.
//!
//! A rate is `constant-arrival-rate` (a ramp `ramping-arrival-rate`) with as many virtual users as
//! connections, all made before the start. A closed loop is `constant-vus`, a count
//! `shared-iterations`. For a count at a rate, the script itself sends nothing beyond the count.
//! Bodies are discarded. A warm-up is a separate scenario before the measured one, whose figures
//! are then read alone. The seed and the iteration's number draw weighted paths.
//!
//! HTTP/2 is what the handshake of TLS chooses. The script checks the protocol of each answer as
//! the manual does, and passes on as a cause how many checks failed. Several streams are in
//! `streams`.
//!
//! Without a free virtual user k6 drops the iterations that are due and prints how many, which is
//! passed on as a cause. Latency is `http_req_duration`, from when a request is sent, without
//! connect and TLS. The script counts timeouts and broken responses, which k6 counts under one
//! name.
//!
//! Calls of gRPC have a script of their own. Messages over WebSockets have none: k6 has no figure
//! of their round trips, and what a script of ours measured would not be k6's.

mod calls;

use serde_json::{Map, Value, json};

use super::abilities::{
    Abilities, Amount, FORM_TYPE, PLAIN, form, grpc, ramp, targets, upload, used_connections,
};
use crate::tool::{Ask, Call, Finished, Further, Http2Over, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, TIMEOUT_S, ended_well, marked, milliseconds, number_at, quantile_of, reading,
};

mod streams;

pub(super) struct K6;

const NAME: &str = "plimsoll.js";
/// The exit code of a run that crossed a threshold.
const CROSSED: i32 = 99;

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    warmup: Amount::Any,
    resolve: 1,
    sources: usize::MAX,
    http2: Some(Http2Over::Tls),
    need: |need| {
        matches!(
            need,
            Need::Growth { .. }
                | Need::Targets(_)
                | Need::Ramp { .. }
                | Need::IntervalsOnStdout
                | Need::Form(_)
                | Need::Upload(_)
                | Need::Grpc(_)
                | Need::Gate { .. }
                | Need::ErrorGate { .. }
        )
    },
    ..PLAIN
};

impl TesterAdapter for K6 {
    fn name(&self) -> &'static str {
        "k6"
    }

    fn program(&self) -> &'static str {
        "k6"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        CAN.http2
    }

    fn call(&self, ask: &Ask) -> Call {
        if let Some(refusal) = CAN.refuse(ask).or_else(|| streams::refuse(ask)) {
            return refusal;
        }
        let Some(script) = script(ask) else {
            return Call::CannotExpress("rates up to six decimals".to_owned());
        };
        let mut arguments: Vec<String> =
            ["run", "--no-usage-report", "--no-color"].map(str::to_owned).into();
        if !ask.extra.contains(&Need::IntervalsOnStdout) {
            arguments.push("--quiet".to_owned());
        }
        if !ask.source_addresses.is_empty() {
            let addresses: Vec<String> =
                ask.source_addresses.iter().map(ToString::to_string).collect();
            arguments.push(format!("--local-ips={}", addresses.join(",")));
        }
        arguments.push(format!("{{dir}}/{NAME}"));
        let mut files = vec![(NAME.to_owned(), script)];
        files.extend(grpc(ask).iter().flat_map(|_| calls::files()));
        Call::Command { arguments, files }
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        if run.code != Some(CROSSED) {
            ended_well(run)?;
        }
        let said = marked(&run.stdout)?;
        let of = |metric: &str| format!("/metrics/{metric}{{scenario:load}}/values");
        let sum = |metric: &str| {
            number_at(&said, &format!("{}/count", of(metric))).map_or(0, |count| count as u64)
        };
        let are_calls = said.pointer(&of("calls")).is_some();
        let (requests, latency) = match are_calls {
            true => ("calls", "grpc_req_duration"),
            false => ("http_reqs", "http_req_duration"),
        };
        let all = format!("/metrics/{requests}/values");
        let requests = format!("{}/count", of(requests));
        let sent = number_at(&said, &requests)? as u64;
        let (timed_out, broken, failed) = (sum("timed_out"), sum("broken"), sum("failed"));
        let mut reading = reading(run);
        let completed = sent.checked_sub(timed_out.saturating_add(broken));
        reading.completed = completed;
        reading.failed = Some(failed);
        reading.ok = completed.and_then(|completed| completed.checked_sub(failed));
        reading.timed_out = Some(timed_out);
        reading.errors = Some(broken);
        // Both are of the whole run, warm-up included.
        if said.pointer(&format!("{all}/count")).and_then(Value::as_f64) == Some(sent as f64) {
            reading.rate_rps = Some(number_at(&said, &format!("{all}/rate"))?);
            reading.duration_s = Some(number_at(&said, "/state/testRunDurationMs")? / 1e3);
        }
        let latency = of(latency);
        let has_latency = !are_calls || number_at(&said, &format!("{latency}/count"))? > 0.0;
        if sent > 0 && has_latency {
            reading.mean_s = Some(number_at(&said, &format!("{latency}/avg"))? / 1e3);
            reading.min_s = Some(number_at(&said, &format!("{latency}/min"))? / 1e3);
            reading.max_s = Some(number_at(&said, &format!("{latency}/max"))? / 1e3);
            reading.quantiles = quantiles(said.pointer(&latency));
            let ok = "/metrics/http_req_duration{scenario:load,expected_response:true}/values";
            reading.ok_quantiles = quantiles(said.pointer(ok));
        }
        let dropped = sum("dropped_iterations");
        reading.dropped = Some(dropped);
        if dropped > 0 {
            reading.causes.push(format!("dropped_iterations {dropped}"));
        }
        let strays = said.pointer("/metrics/checks/values/fails").and_then(Value::as_u64);
        if let Some(strays @ 1..) = strays {
            reading.causes.push(format!("{strays} answers of another protocol"));
        }
        Ok(reading)
    }

    fn further(&self, run: &Finished, _: &Reading) -> Further {
        let said = marked(&run.stdout).unwrap_or_default();
        let median_s = |metric: &str| {
            let at = format!("/metrics/{metric}{{scenario:load}}/values/p(50)");
            number_at(&said, &at).ok().map(|ms| ms / 1e3)
        };
        let count = |metric: &str| {
            let count = said.pointer(&format!("/metrics/{metric}{{scenario:load}}/values/count"));
            count.and_then(Value::as_f64).map(|count| count as u64)
        };
        let received = count("grpc_streams_msgs_received").filter(|messages| *messages > 0);
        Further {
            sending_s: median_s("http_req_sending"),
            waiting_s: median_s("http_req_waiting"),
            unavailable: count("unavailable"),
            messages_received: received,
            ..Further::default()
        }
    }
}

/// `{"p(50)": 0.2, "p(99.9)": 3.1}`, milliseconds.
fn quantiles(values: Option<&Value>) -> Quantiles {
    let Some(object) = values.and_then(Value::as_object) else { return Quantiles::new() };
    let row = |(name, value): (&String, &Value)| {
        let percent: f64 = name.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?;
        Some((quantile_of(percent), value.as_f64()? / 1e3))
    };
    let mut rows: Quantiles = object.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows
}

/// The script; `None` for a rate that is no fraction it can say.
fn script(ask: &Ask) -> Option<String> {
    let options = options(ask)?;
    let timeout = milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S));
    let mut headers: Map<String, Value> =
        ask.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    if form(ask).is_some() {
        headers.insert("Content-Type".to_owned(), json!(FORM_TYPE));
    }
    let (body, constants) = match upload(ask) {
        Some(bytes) => ("body".to_owned(), format!("const body = 'x'.repeat({bytes});\n")),
        None => (json!(form(ask)).to_string(), String::new()),
    };
    let params = json!({ "timeout": timeout, "headers": headers, "redirects": 0 });
    let method = match ask.method {
        Method::Head => "HEAD",
        Method::Get if form(ask).is_some() || upload(ask).is_some() => "POST",
        Method::Get => "GET",
    };
    // A count at a rate: the schedule goes on to its end, the requests do not.
    let limit = match (ask.requests, ask.rate_rps) {
        (Some(requests), Some(_)) => {
            format!("  if (exec.scenario.iterationInTest >= {requests}) return;\n")
        }
        _ => String::new(),
    };
    if let Some(rpc) = grpc(ask) {
        return Some(calls::script(ask, rpc, &options, &limit));
    }
    let (url, draw) = url(ask);
    let request = format!("'{method}', {url}, {body}, params");
    let function = streams::function(ask, &request).unwrap_or_else(|| {
        format!("export default function () {{\n{limit}  note(http.request({request}));\n}}\n")
    });
    let (import, check) = match super::abilities::streams(ask) {
        Some(_) => ("import { check } from 'k6';\n", PROTOCOL),
        None => ("", ""),
    };
    Some(format!(
        r"import http from 'k6/http';
{import}import exec from 'k6/execution';
import {{ Counter }} from 'k6/metrics';
export const options = {options};
const timedOut = new Counter('timed_out');
const broken = new Counter('broken');
const failed = new Counter('failed');
const params = {params};
{constants}{draw}function note(answer) {{
  if (answer.status >= 400) failed.add(1);
  else if (answer.error_code === 1050) timedOut.add(1);
  else if (answer.error_code !== 0) broken.add(1);
{check}}}
{function}export function handleSummary(data) {{
  return {{ stdout: '\n{MARK}' + JSON.stringify(data) + '\n' }};
}}
",
        MARK = plimsoll_lab::testers::text::MARK,
    ))
}

/// The check of its manual's page about HTTP/2.
const PROTOCOL: &str =
    "  else check(answer, { 'protocol is HTTP/2': (answer) => answer.proto === 'HTTP/2.0' });\n";

/// The expression for a request's address, and the code it needs.
fn url(ask: &Ask) -> (String, String) {
    let paths = targets(ask);
    if paths.is_empty() {
        return (json!(ask.url).to_string(), String::new());
    }
    let start = ask.url.find("://").map_or(0, |at| at + 3);
    let end = ask.url[start..].find('/').map_or(ask.url.len(), |at| start + at);
    let mut total = 0_u64;
    let mut rows = Vec::new();
    for (path, weight) in paths {
        total += u64::from(*weight);
        rows.push(json!([format!("{}{path}", &ask.url[..end]), total]));
    }
    let seed = ask.seed.unwrap_or(1);
    // The mixing steps of MurmurHash3's 32-bit finaliser.
    let draw = format!(
        r"const paths = {};
function draw(i) {{
  let x = Math.imul(i + 1, 0x9e3779b1) ^ {};
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  const at = (((x ^ (x >>> 16)) >>> 0) / 4294967296) * {total};
  return paths.find((path) => at < path[1])[0];
}}
",
        Value::from(rows),
        seed as u32,
    );
    ("draw(exec.scenario.iterationInTest)".to_owned(), draw)
}

fn options(ask: &Ask) -> Option<Value> {
    let mut scenarios = Map::new();
    if ask.warmup_s > 0.0 {
        let mut warm = scenario(ask, Some(ask.warmup_s), None)?;
        warm["gracefulStop"] = json!("0s");
        scenarios.insert("warm".to_owned(), warm);
    }
    let mut load = scenario(ask, ask.duration_s, ask.requests)?;
    load["startTime"] = json!(milliseconds_or_zero(ask.warmup_s));
    load["gracefulStop"] = json!(milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S) + 1.0));
    scenarios.insert("load".to_owned(), load);
    let mut options = json!({
        "scenarios": scenarios,
        "discardResponseBodies": true,
        "noConnectionReuse": !ask.keep_alive,
        "insecureSkipTLSVerify": ask.insecure,
        "systemTags": ["scenario", "expected_response"],
        "summaryTrendStats": [
            "min", "avg", "max", "count", "p(50)", "p(75)", "p(90)", "p(95)", "p(99)", "p(99.9)",
            "p(99.99)"
        ],
        // A figure of one scenario exists only where a threshold names it; these always hold.
        "thresholds": {
            "http_reqs{scenario:load}": ["count>=0"],
            "http_req_duration{scenario:load}": ["max>=0"],
            "http_req_duration{scenario:load,expected_response:true}": ["max>=0"],
            "http_req_sending{scenario:load}": ["max>=0"],
            "http_req_waiting{scenario:load}": ["max>=0"],
            "timed_out{scenario:load}": ["count>=0"],
            "broken{scenario:load}": ["count>=0"],
            "failed{scenario:load}": ["count>=0"],
            "dropped_iterations{scenario:load}": ["count>=0"],
        },
    });
    for (name, condition) in grpc(ask).iter().flat_map(|_| calls::thresholds()) {
        options["thresholds"][name] = json!([condition]);
    }
    for need in &ask.extra {
        let (name, condition) = match need {
            Need::Gate { p99_s } => ("http_req_duration", format!("p(99)<{}", p99_s * 1e3)),
            Need::ErrorGate { share } => ("http_req_failed", format!("rate<{share}")),
            _ => continue,
        };
        options["thresholds"][format!("{name}{{scenario:load}}")] = json!([condition]);
    }
    if let Some(resolve) = &ask.resolve {
        let address = resolve.addresses.first()?;
        options["hosts"] = json!({ &resolve.host: address.to_string() });
    }
    Some(options)
}

fn milliseconds_or_zero(seconds: f64) -> String {
    if seconds > 0.0 { milliseconds(seconds) } else { "0s".to_owned() }
}

/// The load of the ask for a duration or a count.
fn scenario(ask: &Ask, duration_s: Option<f64>, requests: Option<u64>) -> Option<Value> {
    if let Some(scenario) = streams::scenario(ask) {
        return Some(scenario);
    }
    let users = ask.connections;
    let growth = ask.extra.iter().find_map(|need| match need {
        Need::Growth { connections_max } => Some(*connections_max),
        _ => None,
    });
    let users_max = growth.unwrap_or(users).max(users);
    if let (Some((from, to)), Some(duration_s)) = (ramp(ask), duration_s) {
        let ((from, unit_s), to) = (fraction(from)?, to);
        return Some(json!({
            "executor": "ramping-arrival-rate", "timeUnit": format!("{unit_s}s"),
            "startRate": from, "preAllocatedVUs": users, "maxVUs": users_max,
            "stages": [{ "target": (to * unit_s as f64).round() as u64,
                "duration": milliseconds(duration_s) }],
        }));
    }
    if let Some(rate_rps) = ask.rate_rps {
        let (rate, unit_s) = fraction(rate_rps)?;
        let duration_s = duration_s.or_else(|| requests.map(|n| (n as f64 + 0.5) / rate_rps))?;
        return Some(json!({
            "executor": "constant-arrival-rate", "rate": rate, "timeUnit": format!("{unit_s}s"),
            "duration": milliseconds(duration_s), "preAllocatedVUs": users, "maxVUs": users_max,
        }));
    }
    Some(match (duration_s, requests) {
        (Some(duration_s), _) => json!({
            "executor": "constant-vus", "vus": users, "duration": milliseconds(duration_s),
        }),
        (None, requests) => json!({
            "executor": "shared-iterations", "vus": used_connections(ask),
            "iterations": requests?, "maxDuration": "1h",
        }),
    })
}

/// A rate as a whole number of requests in a whole number of seconds; `None` if it is not such a
/// fraction.
pub(super) fn fraction(rate_rps: f64) -> Option<(u64, u64)> {
    let units = [1_u64, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, 1_000, 1_000_000];
    units.into_iter().find_map(|unit_s| {
        let count = rate_rps * unit_s as f64;
        let is_whole = count >= 1.0 && (count - count.round()).abs() < 1e-9 * count.max(1.0);
        is_whole.then(|| (count.round() as u64, unit_s))
    })
}
