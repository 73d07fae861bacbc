//! oha 1.x: connections of an asynchronous client, in a closed loop or at one common rate.
//!
//! Called with its JSON; `--latency-correction` at a rate, so that waiting for a connection
//! counts; `-w`, so that what is open at the end is waited for instead of dropped; a timeout,
//! since it has none of its own.
//!
//! The correction counts from when its pacer woke, not from when the request was due. Quantiles
//! leave out what had no response. `--connect-to` picks one of several addresses at random.

use serde_json::Value;

use super::can::{Amount, Can, PLAIN};
use super::text::{
    Quantiles, Statuses, TIMEOUT_S, ended_well, json, milliseconds, number, number_at, quantile_of,
    reading,
};
use crate::tool::{Ask, Call, Finished, Method, Reading, Tool};

pub(super) struct Oha;

const CAN: Can = Can { rate: Amount::Any, resolve: usize::MAX, ..PLAIN };

impl Tool for Oha {
    fn name(&self) -> &'static str {
        "oha"
    }

    fn program(&self) -> &'static str {
        "oha"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn call(&self, ask: &Ask) -> Call {
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let said = json(&run.stdout)?;
        let mut reading = reading(run);
        Statuses::of(said.get("statusCodeDistribution"))?.into(&mut reading);
        errors(said.get("errorDistribution"), &mut reading)?;
        reading.rate_rps = Some(number_at(&said, "/summary/requestsPerSec")?);
        reading.duration_s = Some(number_at(&said, "/summary/total")?);
        // These are null when nothing was answered.
        reading.mean_s = number_at(&said, "/summary/average").ok();
        reading.min_s = number_at(&said, "/summary/fastest").ok();
        reading.max_s = number_at(&said, "/summary/slowest").ok();
        reading.quantiles = quantiles(said.get("latencyPercentiles"));
        reading.ok_quantiles = quantiles(said.get("latencyPercentilesSuccessful"));
        Ok(reading)
    }
}

fn command(ask: &Ask) -> Call {
    let mut arguments: Vec<String> =
        ["--no-tui", "--stats-success-breakdown", "-w"].map(str::to_owned).into();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("--output-format", "json".to_owned());
    option("-c", ask.connections.to_string());
    option("-t", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S)));
    if let Some(duration_s) = ask.duration_s {
        option("-z", milliseconds(duration_s));
    }
    if let Some(requests) = ask.requests {
        option("-n", requests.to_string());
    }
    if let Some(rate_rps) = ask.rate_rps {
        option("-q", rate_rps.to_string());
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    if let Some(resolve) = &ask.resolve {
        let (host, port) = (&resolve.host, resolve.port);
        for address in &resolve.addresses {
            let bracketed =
                if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
            option("--connect-to", format!("{host}:{port}:{bracketed}:{port}"));
        }
    }
    if ask.method == Method::Head {
        option("-m", "HEAD".to_owned());
    }
    let mut flag = |is_on: bool, name: &str| arguments.extend(is_on.then(|| name.to_owned()));
    flag(ask.rate_rps.is_some(), "--latency-correction");
    flag(!ask.keep_alive, "--disable-keepalive");
    flag(ask.insecure, "--insecure");
    arguments.push(ask.url.clone());
    Call::Command { arguments, files: Vec::new() }
}

fn errors(value: Option<&Value>, reading: &mut Reading) -> Result<(), String> {
    let object = value.and_then(Value::as_object).ok_or("no `errorDistribution` in its JSON")?;
    let (mut timed_out, mut errors) = (0_u64, 0_u64);
    for (what, count) in object {
        let count = count.as_u64().ok_or("an error without a count")?;
        let sum = if what == "timeout" { &mut timed_out } else { &mut errors };
        *sum = sum.saturating_add(count);
    }
    reading.timed_out = Some(timed_out);
    reading.errors = Some(errors);
    Ok(())
}

/// `{"p50": 0.001, "p99.9": 0.02}`; the values are null when nothing was answered.
fn quantiles(value: Option<&Value>) -> Quantiles {
    let Some(object) = value.and_then(Value::as_object) else { return Quantiles::new() };
    let row = |(name, value): (&String, &Value)| {
        Some((quantile_of(number(name.strip_prefix('p')?)?), value.as_f64()?))
    };
    let mut rows: Quantiles = object.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows
}
