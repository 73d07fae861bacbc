//! The adapter for Plimsoll itself: it prints the text report and judges the result document.

use plimsoll_core::histogram::QUANTILES;
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Histogram, Phase, RunResult};
use plimsoll_report::Clock;

use crate::service;
use crate::tool::{Ask, Call, Finished, Further, Http2Over, Method, Need, Reading, TesterAdapter};

/// Plimsoll.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plimsoll;

const RESULT: &str = "result.json";

impl TesterAdapter for Plimsoll {
    fn name(&self) -> &'static str {
        "plimsoll"
    }

    fn program(&self) -> &'static str {
        "plimsoll"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        Some(Http2Over::Either)
    }

    fn call(&self, ask: &Ask) -> Call {
        let mut call = Arguments { arguments: Vec::new(), files: Vec::new() };
        let is_socket = ask.extra.iter().any(|need| matches!(need, Need::WebSocket { .. }));
        let url = if is_socket { ask.url.replacen("http", "ws", 1) } else { ask.url.clone() };
        call.add(&["run", &url, "--no-progress", "--json", &format!("{{dir}}/{RESULT}")]);
        call.load(ask);
        call.request(ask);
        for need in &ask.extra {
            call.need(need, ask);
        }
        Call::Command { arguments: call.arguments, files: call.files }
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        let said = || {
            let all = if run.stderr.trim().is_empty() { &run.stdout } else { &run.stderr };
            all.trim().lines().last().unwrap_or("it printed nothing").to_owned()
        };
        let document = std::fs::read_to_string(run.scratch.join(RESULT)).map_err(|_| said())?;
        if document.is_empty() {
            return Err(said());
        }
        let result: RunResult = serde_json::from_str(&document)
            .map_err(|error| format!("{RESULT} is not a result: {error}"))?;
        if !result.was_carried_out() {
            return Err(said());
        }
        let mut reading = reading(result);
        reading.text = format!("{}{}", run.stdout, run.stderr);
        Ok(reading)
    }

    fn further(&self, _: &Finished, reading: &Reading) -> Further {
        reading.result.as_ref().map_or_else(Further::default, |result| further(result))
    }
}

struct Arguments {
    arguments: Vec<String>,
    files: Vec<(String, String)>,
}

impl Arguments {
    fn add(&mut self, arguments: &[&str]) {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    }

    fn load(&mut self, ask: &Ask) {
        let growth = ask.extra.iter().find_map(|need| match need {
            Need::Growth { connections_max } => Some(*connections_max),
            _ => None,
        });
        let connections = match growth {
            Some(most) => format!("{}..{most}", ask.connections),
            None => ask.connections.to_string(),
        };
        self.add(&["-c", &connections]);
        let ramps = ask.extra.iter().any(|need| matches!(need, Need::Ramp { .. }));
        if let Some(rate) = ask.rate_rps.filter(|_| !ramps) {
            self.add(&["-r", &rate.to_string()]);
        }
        if let Some(duration) = ask.duration_s.filter(|_| !ramps) {
            self.add(&["-d", &seconds(duration)]);
        }
        if ask.poisson {
            self.add(&["--arrival", "poisson"]);
        }
        if let Some(requests) = ask.requests {
            self.add(&["-n", &requests.to_string()]);
        }
        if let Some(timeout) = ask.timeout_s {
            self.add(&["--timeout", &seconds(timeout)]);
            // What may take so long may also take so long at the end.
            self.add(&["--drain", &seconds(timeout.max(10.0))]);
        }
        if ask.warmup_s > 0.0 {
            self.add(&["--warmup", &seconds(ask.warmup_s)]);
        }
        if let Some(seed) = ask.seed {
            self.add(&["--seed", &seed.to_string()]);
        }
    }

    fn request(&mut self, ask: &Ask) {
        if !ask.keep_alive {
            self.add(&["--no-keepalive"]);
        }
        if ask.insecure {
            self.add(&["--insecure"]);
        }
        if ask.method == Method::Head {
            self.add(&["-X", "HEAD"]);
        }
        for (name, value) in &ask.headers {
            self.add(&["-H", &format!("{name}: {value}")]);
        }
        if let Some(resolve) = &ask.resolve {
            let addresses: Vec<String> =
                resolve.addresses.iter().map(ToString::to_string).collect();
            let entry = format!("{}:{}:{}", resolve.host, resolve.port, addresses.join(","));
            self.add(&["--resolve", &entry]);
        }
        if !ask.source_addresses.is_empty() {
            let addresses: Vec<String> =
                ask.source_addresses.iter().map(ToString::to_string).collect();
            self.add(&["--bind", &addresses.join(",")]);
        }
    }

    fn need(&mut self, need: &Need, ask: &Ask) {
        match need {
            Need::Growth { .. } => {}
            Need::Shed { after_s } => self.add(&["--shed-after", &seconds(*after_s)]),
            Need::Targets(targets) => {
                let file = targets.iter().map(|(path, weight)| {
                    format!("GET {}{path}\n\n", origin(&ask.url)).repeat(*weight as usize)
                });
                self.files.push(("targets".to_owned(), file.collect()));
                self.add(&["--targets", "{dir}/targets", "--targets-format", "http"]);
                self.add(&["--order", "random"]);
            }
            Need::Ramp { from_rps, to_rps } => {
                let stage = seconds(ask.duration_s.unwrap_or(1.0));
                self.add(&["--stages", &format!("{stage}@{from_rps}..{to_rps}")]);
            }
            Need::Pipeline(depth) => self.add(&["--pipeline", &depth.to_string()]),
            // Experiments count what the oracle refuses.
            Need::Http2 { streams } => {
                self.add(&["--http", "2", "-m", &streams.to_string(), "--no-resend"]);
            }
            Need::Grpc(rpc) => {
                let proto = (service::PROTO_FILE.to_owned(), service::PROTO.to_owned());
                self.add(&["--grpc", service::method(*rpc), "--proto"]);
                self.add(&[&format!("{{dir}}/{}", proto.0), "-b", service::MESSAGE, "-m", "1"]);
                self.files.push(proto);
            }
            Need::WebSocket { in_flight, is_pushed_to } => {
                self.add(&["--ws-message", service::TEXT, "-m", &in_flight.to_string()]);
                if *is_pushed_to {
                    self.add(&["--ws-reply", &format!("match:{}", service::REPLY)]);
                }
            }
            Need::Upload(bytes) => {
                self.files.push(("body".to_owned(), "x".repeat(*bytes as usize)));
                self.add(&["-X", "POST", "-b", "@{dir}/body"]);
            }
            Need::Threads(threads) => self.add(&["-t", &threads.to_string()]),
            Need::Form(form) => {
                form.split('&').for_each(|field| self.add(&["--form-urlencoded", field]));
            }
            Need::Gate { p99_s } => self.add(&["--gate", &format!("p99<{}", seconds(*p99_s))]),
            Need::ErrorGate { share } => {
                self.add(&["--gate", &format!("errors<{}%", share * 100.0)]);
            }
            Need::Intervals(name) => self.add(&["--timeseries", &format!("{{dir}}/{name}")]),
            Need::IntervalsOnStdout => {
                self.add(&["--timeseries", "/dev/stdout", "--format", "none"]);
            }
        }
    }
}

/// An address without its path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    url[host..].find('/').map_or(url, |path| &url[..host + path])
}

/// As a duration on the command line, without rounding what an experiment asks for.
fn seconds(value: f64) -> String {
    format!("{}us", (value * 1e6).round())
}

fn reading(result: RunResult) -> Reading {
    let headline = Clock::HEADLINE.histogram(&result);
    let ledger = result.ledger;
    let connects = result.errors.iter().filter(|error| error.phase == Phase::Connect);
    let lost = ledger.refused + ledger.broken + ledger.unfinished + ledger.unsent;
    let errors = lost + connects.map(|error| error.count).sum::<u64>();
    let time = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    Reading {
        completed: Some(ledger.completed),
        ok: Some(ledger.ok),
        failed: Some(ledger.failed),
        timed_out: Some(ledger.timed_out),
        errors: Some(errors),
        dropped: Some(ledger.shed + ledger.unsent),
        rate_rps: Some(result.rate.achieved_rps),
        unanswered_in_rate: 0,
        duration_s: Some(result.elapsed_ns as f64 / 1e9),
        mean_s: headline.mean_ns().map(|ns| ns / 1e9),
        min_s: time(headline.min_ns()),
        max_s: time(headline.max_ns()),
        quantiles: shown(headline),
        service_quantiles: shown(&result.latency.service),
        ok_quantiles: shown(&result.by_outcome.ok),
        verdict: Some(result.loader.verdict.name().to_owned()),
        // A note takes nothing from the result.
        causes: (result.loader.causes.iter())
            .filter(|cause| cause.verdict != Verdict::Valid)
            .map(|cause| cause.text.clone())
            .collect(),
        text: String::new(),
        result: Some(Box::new(result)),
        search: None,
        left_out: Vec::new(),
    }
}

fn further(result: &RunResult) -> Further {
    let median = |of: &Histogram| of.quantile_ns(0.5).map(|ns| ns as f64 / 1e9);
    let median_s = |phase| median(&result.phases[phase]);
    let streams = result.grpc_streams.as_deref();
    let unavailable = || result.grpc_status.get("UNAVAILABLE").copied().unwrap_or(0);
    Further {
        refused: Some(result.ledger.refused),
        reconnects: Some(result.ledger.reconnects),
        sending_s: median_s(Phase::Sending),
        stalled_s: median_s(Phase::Stalled),
        waiting_s: median_s(Phase::Waiting),
        bytes_sent: Some(result.bytes.sent),
        bytes_received: Some(result.bytes.received),
        header_bytes_received: None,
        unavailable: (!result.grpc_status.is_empty()).then(unavailable),
        messages_received: streams.map(|streams| streams.received.messages),
        first_message_s: streams.and_then(|streams| median(&streams.first_message)),
        gap_s: streams.and_then(|streams| median(&streams.gaps)),
        pushed: result.pushed.map(|pushed| pushed.messages),
        pings: result.pushed.map(|pushed| pushed.pings),
    }
}

/// The quantiles that the text report shows: those that some sample is beyond.
fn shown(histogram: &Histogram) -> Vec<(f64, f64)> {
    let count = histogram.count() as f64;
    let has_tail = |q: &f64| (count - (q * count - 1e-6).ceil()) >= 1.0;
    QUANTILES
        .into_iter()
        .filter(has_tail)
        .filter_map(|q| Some((q, histogram.quantile_ns(q)? as f64 / 1e9)))
        .collect()
}

#[cfg(test)]
mod tests;
