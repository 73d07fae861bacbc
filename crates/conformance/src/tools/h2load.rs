//! h2load of nghttp2 1.x: connections of one thread, in a closed loop or each at its share of a
//! rate.
//!
//! Called with `--h1` unless the ask is of HTTP/2, which is its default; with one thread; and with
//! `--log-file`, which has a row for each request. Older versions print no quantiles, so they are
//! computed from these rows (nearest rank). `--rps` is the rate of one connection, so the rate is
//! divided by the number of connections. One request per connection is `Connection: close`, and
//! only with a count, because such a timed run does not end.
//!
//! Latency starts when a request is sent. All connections send at the same moment. A connection
//! that breaks is not opened again, and the requests it would have sent count as errored. It has no
//! timeout of a request: `-N` ends a silent connection. It has no HEAD over HTTP/1.1 and verifies
//! no certificate.
//!
//! A call of gRPC is a POST of a message that the adapter made, with the fields of one: it knows
//! nothing of statuses in trailers. It has no timeout that could be a deadline.
//!
//! Over HTTP/2 its `done` includes streams that were reset, so what completed is computed from
//! `succeeded`, `failed` and `errored`. Its latency begins when a stream is opened.

use std::fs;

use super::abilities::{Abilities, Amount, PLAIN, grpc, streams, upload, used_connections};
use crate::service;
use crate::tool::{Ask, Call, Finished, Further, Http2Over, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, after, count, ended_well, milliseconds, reading, seconds,
};

pub(super) struct H2load;

const LOG: &str = "h2load.tsv";

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    timeout: Amount::No,
    warmup: Amount::Any,
    verify: false,
    head: false,
    resolve: 1,
    http2: Some(Http2Over::Either),
    need: |need| matches!(need, Need::Upload(_) | Need::Grpc(_)),
    ..PLAIN
};

impl TesterAdapter for H2load {
    fn name(&self) -> &'static str {
        "h2load"
    }

    fn program(&self) -> &'static str {
        "h2load"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        CAN.http2
    }

    fn call(&self, ask: &Ask) -> Call {
        if ask.warmup_s > 0.0 && ask.requests.is_some() {
            return Call::CannotExpress("no warm-up before a count".to_owned());
        }
        if !ask.keep_alive && ask.duration_s.is_some() {
            return Call::CannotExpress("a timed run of short connections does not end".to_owned());
        }
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let text = &run.stdout;
        let mut reading = reading(run);
        let requests = after(text, "requests:")?;
        let classes = after(text, "status codes:")?;
        let failed = named(classes, "4xx")?.saturating_add(named(classes, "5xx")?);
        let (all_failed, errored) = (named(requests, "failed")?, named(requests, "errored")?);
        let answered = named(requests, "succeeded")?.saturating_add(all_failed);
        let completed = answered.saturating_sub(errored);
        reading.completed = Some(completed);
        reading.failed = Some(failed);
        reading.ok = completed.checked_sub(failed);
        reading.errors = Some(errored);
        reading.timed_out = Some(named(requests, "timeout")?);
        let mut words = after(text, "finished in")?.split(", ");
        reading.duration_s = words.next().and_then(seconds);
        let rate = words.next().and_then(|words| words.strip_suffix(" req/s"));
        reading.rate_rps = rate.and_then(|rate| rate.parse().ok());
        if completed == 0 {
            return Ok(reading);
        }
        let mut columns = after(text, "time for request:")?.split_ascii_whitespace();
        reading.min_s = columns.next().and_then(seconds);
        reading.max_s = columns.next().and_then(seconds);
        reading.mean_s = columns.next().and_then(seconds);
        let log = fs::read_to_string(run.scratch.join(LOG)).unwrap_or_default();
        reading.quantiles = quantiles(&log);
        Ok(reading)
    }

    fn further(&self, run: &Finished, _: &Reading) -> Further {
        let traffic = after(&run.stdout, "traffic:").unwrap_or_default();
        Further {
            bytes_received: bytes(traffic, " total"),
            header_bytes_received: bytes(traffic, " headers"),
            ..Further::default()
        }
    }
}

fn command(ask: &Ask) -> Call {
    let connections = used_connections(ask);
    let mut arguments = vec!["-t1".to_owned(), format!("-c{connections}")];
    let call = grpc(ask);
    let streams = if call.is_some() { Some(1) } else { streams(ask) };
    arguments.push(match streams {
        Some(streams) => format!("-m{streams}"),
        None => "--h1".to_owned(),
    });
    let mut files = Vec::new();
    if let Some(length) = upload(ask) {
        arguments.push("--data={dir}/body".to_owned());
        files.push(("body".to_owned(), "x".repeat(length as usize)));
    }
    let mut url = ask.url.clone();
    if let Some(call) = call {
        let fields = ["--data={dir}/body", "--header=te: trailers"].map(str::to_owned);
        arguments.extend(fields);
        arguments.push("--header=content-type: application/grpc".to_owned());
        files.push(("body".to_owned(), service::BODY.to_owned()));
        url.push_str(service::method(call));
    }
    arguments.push(format!("--log-file={{dir}}/{LOG}"));
    if let Some(duration_s) = ask.duration_s {
        arguments.push(format!("--duration={}", milliseconds(duration_s)));
    }
    if let Some(requests) = ask.requests {
        arguments.push(format!("--requests={requests}"));
    }
    if let Some(rate_rps) = ask.rate_rps {
        arguments.push(format!("--rps={}", rate_rps / connections as f64));
    }
    if ask.warmup_s > 0.0 {
        arguments.push(format!("--warm-up-time={}", milliseconds(ask.warmup_s)));
    }
    if let Some(resolve) = &ask.resolve {
        let to = resolve.addresses.iter().map(|ip| std::net::SocketAddr::new(*ip, resolve.port));
        arguments.extend(to.map(|to| format!("--connect-to={to}")));
    }
    for (name, value) in &ask.headers {
        arguments.push(format!("--header={name}: {value}"));
    }
    if !ask.keep_alive {
        arguments.push("--header=Connection: close".to_owned());
    }
    arguments.push(url);
    Call::Command { arguments, files }
}

/// The bytes in brackets before this name, as in `15.00KB (15364) total`.
fn bytes(traffic: &str, name: &str) -> Option<u64> {
    let before = &traffic[..traffic.find(&format!("){name}"))?];
    count(&before[before.rfind('(')? + 1..])
}

/// `1251 done` among others of its kind.
fn named(list: &str, name: &str) -> Result<u64, String> {
    let mut words = list.split(", ").filter_map(|word| word.trim().strip_suffix(name));
    words.next().and_then(count).ok_or_else(|| format!("no `{name}` among `{list}`"))
}

/// Rows of start, status and microseconds; a status of -1 is no response.
fn quantiles(log: &str) -> Quantiles {
    let row = |line: &str| {
        let mut columns = line.split('\t');
        let is_answer = columns.nth(1)? != "-1";
        is_answer.then_some(columns.next()?.parse::<u64>().ok()?)
    };
    let mut latencies_us: Vec<u64> = log.lines().filter_map(row).collect();
    latencies_us.sort_unstable();
    let at = |quantile: f64| {
        let rank = (quantile * latencies_us.len() as f64).ceil() as usize;
        latencies_us.get(rank.saturating_sub(1)).map(|us| (quantile, *us as f64 / 1e6))
    };
    [0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999].into_iter().filter_map(at).collect()
}
