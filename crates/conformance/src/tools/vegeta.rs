//! vegeta 12: an open loop whose workers grow as needed.
//!
//! Its figures come from several calls: `attack` writes its results to a file, then `report` reads
//! them twice, as JSON and as a table of quantiles. `attack` is the process of the run. Bodies are
//! not kept, so the memory of a result is small. Connections are limited to those asked for. Its
//! workers are not (only to 20 000, for memory), so that a request waits for a connection and not
//! for a worker, because only the former is in its latency. A closed loop is `-rate=0` with as many
//! workers as connections. Weighted paths are drawn from the seed beforehand and repeat after 10
//! 000.
//!
//! HTTP/2 is `-h2c` without TLS, where the number of connections cannot be given: there is one, as
//! long as the server allows another stream on it. So the ask is of one connection, and the streams
//! are its workers.
//!
//! Latency starts when a worker took the request, not when it was due. `status_codes` counts
//! requests without a response as 0; timeouts can be distinguished only if all of those were
//! timeouts. Quantiles are estimates of a t-digest.

use serde_json::Value;

use super::abilities::{Abilities, Amount, PLAIN, streams, targets, upload};
use super::k6::fraction;
use crate::tool::{Ask, Call, Finished, Http2Over, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::hey::is_timeout;
use plimsoll_lab::testers::text::{
    Quantiles, Statuses, TIMEOUT_S, ended_well, json, milliseconds, number_at, percentile_rows,
    reading, united,
};

pub(super) struct Vegeta;

const TARGETS: &str = "targets.txt";
const RESULTS: &str = "vegeta.bin";
const BODY: &str = "body";

/// How many paths are drawn.
const DRAWN: usize = 10_000;

/// Requests that may wait for a connection.
const WORKERS_MAX: u32 = 20_000;

const CAN: Abilities = Abilities {
    rate: Amount::Any,
    count: false,
    resolve: usize::MAX,
    sources: 1,
    http2: Some(Http2Over::Either),
    need: |need| matches!(need, Need::Growth { .. } | Need::Targets(_) | Need::Upload(_)),
    ..PLAIN
};

impl TesterAdapter for Vegeta {
    fn name(&self) -> &'static str {
        "vegeta"
    }

    fn program(&self) -> &'static str {
        "vegeta"
    }

    fn reports(&self) -> &'static [&'static [&'static str]] {
        &[&["report", "-type=json", RESULTS], &["report", "-type=hdrplot", RESULTS]]
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-version"]
    }

    fn http2(&self) -> Option<Http2Over> {
        CAN.http2
    }

    fn call(&self, ask: &Ask) -> Call {
        if let Some(refusal) = CAN.refuse(ask) {
            return refusal;
        }
        if streams(ask).is_some() && ask.connections > 1 {
            return Call::CannotExpress("one connection for all streams".to_owned());
        }
        let Some(arguments) = attack(ask) else {
            return Call::CannotExpress("rates up to six decimals".to_owned());
        };
        let mut files = vec![(TARGETS.to_owned(), lines(ask))];
        files.extend(upload(ask).map(|length| (BODY.to_owned(), "x".repeat(length as usize))));
        Call::Command { arguments, files }
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let (first, table) = run.stdout.trim_start().split_once('\n').ok_or("no report")?;
        let said = json(first)?;
        let mut reading = reading(run);
        let statuses = Statuses::of(said.get("status_codes"))?;
        statuses.into(&mut reading);
        no_response(&said, statuses.none, &mut reading);
        let nanoseconds = |pointer: &str| number_at(&said, pointer).map(|ns| ns / 1e9);
        let duration_s = nanoseconds("/duration")? + nanoseconds("/wait")?;
        reading.duration_s = Some(duration_s);
        reading.mean_s = Some(nanoseconds("/latencies/mean")?);
        reading.min_s = Some(nanoseconds("/latencies/min")?);
        reading.max_s = Some(nanoseconds("/latencies/max")?);
        let mut quantiles = Quantiles::new();
        for (name, quantile) in [("50th", 0.5), ("90th", 0.9), ("95th", 0.95), ("99th", 0.99)] {
            quantiles.push((quantile, nanoseconds(&format!("/latencies/{name}"))?));
        }
        // Beyond one in the number of requests there is only the greatest, row after row.
        let last = 1.0 - 1.0 / number_at(&said, "/requests")?.max(1.0);
        let mut rows = percentile_rows(table, 1e-3);
        rows.retain(|(quantile, _)| *quantile > 0.0 && *quantile <= last);
        reading.quantiles = united(quantiles, rows);
        // Its `throughput` is of successes alone, its `rate` of what it sent.
        if statuses.failed == 0 {
            reading.rate_rps = Some(number_at(&said, "/throughput")?);
        }
        Ok(reading)
    }
}

/// Requests without a response, by the messages, each of which is there once.
fn no_response(said: &Value, count: u64, reading: &mut Reading) {
    let messages = said.get("errors").and_then(Value::as_array).map(Vec::as_slice);
    let messages = messages.unwrap_or_default().iter().filter_map(Value::as_str);
    // A response of 400 and above is there with its status and reason.
    let failures: Vec<bool> =
        messages.filter(|text| !begins_with_status(text)).map(is_timeout).collect();
    let timeouts = failures.iter().filter(|is_timeout| **is_timeout).count();
    if timeouts == 0 {
        (reading.timed_out, reading.errors) = (Some(0), Some(count));
    } else if timeouts == failures.len() {
        (reading.timed_out, reading.errors) = (Some(count), Some(0));
    }
}

fn begins_with_status(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3 && text.as_bytes().get(3).is_none_or(|byte| *byte == b' ')
}

fn attack(ask: &Ask) -> Option<Vec<String>> {
    let connections = ask.connections.max(1);
    let growth = ask.extra.iter().find_map(|need| match need {
        Need::Growth { connections_max } => Some(*connections_max),
        _ => None,
    });
    let connections_max = growth.unwrap_or(connections).max(connections);
    let streams = streams(ask);
    let (rate, workers_max) = match ask.rate_rps {
        None => ("0".to_owned(), connections_max),
        Some(rate_rps) => {
            let (count, unit_s) = fraction(rate_rps)?;
            (format!("{count}/{unit_s}s"), connections_max.max(WORKERS_MAX))
        }
    };
    // Its workers are what limits streams, at a rate too.
    let workers = streams.unwrap_or(connections);
    let workers_max = streams.unwrap_or(workers_max);
    let mut arguments = vec![
        "attack".to_owned(),
        format!("-targets={{dir}}/{TARGETS}"),
        format!("-output={{dir}}/{RESULTS}"),
        "-max-body=0".to_owned(),
        "-redirects=-1".to_owned(),
        format!("-http2={}", streams.is_some()),
        format!("-rate={rate}"),
        format!("-duration={}", milliseconds(ask.duration_s?)),
        format!("-timeout={}", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S))),
        format!("-workers={workers}"),
        format!("-max-workers={workers_max}"),
        format!("-connections={connections_max}"),
        format!("-max-connections={connections_max}"),
    ];
    let is_plain = !ask.url.starts_with("https:");
    arguments.extend((streams.is_some() && is_plain).then(|| "-h2c".to_owned()));
    arguments.extend(upload(ask).map(|_| format!("-body={{dir}}/{BODY}")));
    arguments.extend(ask.headers.iter().map(|(name, value)| format!("-header={name}: {value}")));
    arguments.extend(ask.source_addresses.iter().map(|address| format!("-laddr={address}")));
    if let Some(resolve) = &ask.resolve {
        let (host, port) = (&resolve.host, resolve.port);
        let to = |address| std::net::SocketAddr::new(address, port);
        let addresses = resolve.addresses.iter().copied();
        arguments
            .extend(addresses.map(|address| format!("-connect-to={host}:{port}:{}", to(address))));
    }
    arguments.extend((!ask.keep_alive).then(|| "-keepalive=false".to_owned()));
    arguments.extend(ask.insecure.then(|| "-insecure".to_owned()));
    Some(arguments)
}

/// The targets, one after the other.
fn lines(ask: &Ask) -> String {
    let method = match (ask.method, upload(ask)) {
        (Method::Head, _) => "HEAD",
        (Method::Get, Some(_)) => "POST",
        (Method::Get, None) => "GET",
    };
    let paths = targets(ask);
    let total: u64 = paths.iter().map(|(_, weight)| u64::from(*weight)).sum();
    if total == 0 {
        return format!("{method} {}\n", ask.url);
    }
    let start = ask.url.find("://").map_or(0, |at| at + 3);
    let end = ask.url[start..].find('/').map_or(ask.url.len(), |at| start + at);
    let mut state = ask.seed.unwrap_or(1);
    let mut lines = String::new();
    for _ in 0..DRAWN {
        let mut at = splitmix(&mut state) % total;
        for (path, weight) in paths {
            let weight = u64::from(*weight);
            if at < weight {
                lines.push_str(&format!("{method} {}{path}\n", &ask.url[..end]));
                break;
            }
            at -= weight;
        }
    }
    lines
}

/// SplitMix64 (Steele, Lea and Flood 2014).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
