//! ghz 0.x: calls of gRPC, by workers that share connections.
//!
//! Called with a worker for each connection and its JSON. The rate is that of all workers together.
//! It counts calls by their status, its own too: those that it gave up are `DeadlineExceeded` and
//! count here as timed out; those whose error is of the connection count as errors. The rest is
//! completed, and all but OK failed.
//!
//! Its quantiles, its least and its greatest are of calls that ended with OK; its mean is of all. A
//! stream has one latency, up to its end, and nothing is reported of the messages in it. It speaks
//! nothing but gRPC.

use super::abilities::{Abilities, Amount, PLAIN, grpc, used_connections};
use crate::service;
use crate::tool::{Ask, Call, Finished, Further, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, TIMEOUT_S, ended_well, json, milliseconds, number_at, quantile_of, reading,
};
use serde_json::Value;

pub(super) struct Ghz;

const CAN: Abilities = Abilities {
    rate: Amount::Whole,
    head: false,
    need: |need| matches!(need, Need::Grpc(_)),
    ..PLAIN
};

impl TesterAdapter for Ghz {
    fn name(&self) -> &'static str {
        "ghz"
    }

    fn program(&self) -> &'static str {
        "ghz"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn call(&self, ask: &Ask) -> Call {
        if grpc(ask).is_none() {
            return Call::CannotExpress("nothing but gRPC".to_owned());
        }
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let said = json(&run.stdout)?;
        let mut reading = reading(run);
        let count = number_at(&said, "/count")? as u64;
        let ok = status(&said, "OK");
        let timed_out = status(&said, "DeadlineExceeded");
        let errors = broken(&said);
        reading.timed_out = Some(timed_out);
        reading.errors = Some(errors);
        reading.completed = count.checked_sub(timed_out.saturating_add(errors));
        reading.ok = reading.completed.map(|completed| ok.min(completed));
        reading.failed = reading.completed.and_then(|completed| completed.checked_sub(ok));
        reading.rate_rps = Some(number_at(&said, "/rps")?);
        reading.duration_s = Some(number_at(&said, "/total")? / 1e9);
        if count > 0 {
            reading.mean_s = Some(number_at(&said, "/average")? / 1e9);
        }
        if ok > 0 {
            reading.min_s = Some(number_at(&said, "/fastest")? / 1e9);
            reading.max_s = Some(number_at(&said, "/slowest")? / 1e9);
            reading.quantiles = quantiles(said.get("latencyDistribution"));
        }
        Ok(reading)
    }

    fn further(&self, run: &Finished, _: &Reading) -> Further {
        let said = json(&run.stdout).ok();
        let unavailable = said.map(|said| status(&said, "Unavailable"));
        Further { unavailable, ..Further::default() }
    }
}

/// Calls that ended with this status.
fn status(said: &Value, name: &str) -> u64 {
    let count = said.get("statusCodeDistribution").and_then(|codes| codes.get(name));
    count.and_then(Value::as_u64).unwrap_or(0)
}

/// Calls that broke with their connection, or had none.
fn broken(said: &Value) -> u64 {
    let errors = said.get("errorDistribution").and_then(Value::as_object);
    let errors = errors.into_iter().flatten();
    let of_connections = errors.filter(|(error, _)| error.contains("connection error: "));
    of_connections.filter_map(|(_, count)| count.as_u64()).fold(0, u64::saturating_add)
}

/// Absent when no call was good.
fn quantiles(rows: Option<&Value>) -> Quantiles {
    let rows = rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let row = |row: &Value| {
        let latency_s = row.get("latency")?.as_f64()? / 1e9;
        Some((quantile_of(row.get("percentage")?.as_f64()?), latency_s))
    };
    rows.iter().filter_map(row).collect()
}

fn command(ask: &Ask) -> Call {
    let connections = used_connections(ask).to_string();
    let proto = format!("{{dir}}/{}", service::PROTO_FILE);
    let method = grpc(ask).map(service::method).unwrap_or_default();
    let mut arguments = Vec::new();
    let mut option = |name: &str, value: &str| arguments.push(format!("--{name}={value}"));
    option("proto", &proto);
    option("call", method);
    option("data", service::MESSAGE);
    option("format", "json");
    option("concurrency", &connections);
    option("connections", &connections);
    option("timeout", &milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S)));
    if let Some(requests) = ask.requests {
        option("total", &requests.to_string());
    }
    if let Some(duration_s) = ask.duration_s {
        option("duration", &milliseconds(duration_s));
    }
    if let Some(rate_rps) = ask.rate_rps {
        option("rps", &rate_rps.to_string());
    }
    if !ask.headers.is_empty() {
        let metadata: serde_json::Map<String, Value> =
            ask.headers.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
        option("metadata", &Value::from(metadata).to_string());
    }
    let address = ask.url.split_once("://").map_or(ask.url.as_str(), |(_, rest)| rest);
    let address = address.split('/').next().unwrap_or_default().to_owned();
    arguments.extend([String::from("--insecure"), address]);
    let files = vec![(service::PROTO_FILE.to_owned(), service::PROTO.to_owned())];
    Call::Command { arguments, files }
}
