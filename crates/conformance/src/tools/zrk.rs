//! zrk 1.4: a rate over a fixed number of connections.
//!
//! Called with its JSON, with `--hdr` for a table that has the 95th percentile too, and with one
//! thread, so that connections and rate are not divided. Its latency starts when a request was due.
//! Its words about its own schedule are passed on as a cause.
//!
//! Times are kept up to 60 s. Rates are whole numbers.

use std::fs;

use super::abilities::{Abilities, Amount, PLAIN, ramp};
use crate::tool::{Ask, Call, Finished, Method, Need, Reading, TesterAdapter};
use plimsoll_lab::testers::text::{
    Quantiles, Statuses, TIMEOUT_S, count_at, ended_well, json, milliseconds, number_at,
    percentile_rows, reading, united,
};

pub(super) struct Zrk;

const REPORT: &str = "zrk.json";
const TABLE: &str = "zrk.hgrm";

const QUANTILES: [(&str, f64); 6] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p90", 0.9),
    ("p99", 0.99),
    ("p99_9", 0.999),
    ("p99_99", 0.9999),
];

const CAN: Abilities = Abilities {
    closed_loop: false,
    rate: Amount::Whole,
    count: false,
    need: |need| {
        matches!(
            need,
            Need::Shed { .. } | Need::Ramp { .. } | Need::Intervals(_) | Need::IntervalsOnStdout
        )
    },
    ..PLAIN
};

impl TesterAdapter for Zrk {
    fn name(&self) -> &'static str {
        "zrk"
    }

    fn program(&self) -> &'static str {
        "zrk"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn call(&self, ask: &Ask) -> Call {
        let has_part = |rate: f64| rate < 1.0 || rate.fract() != 0.0;
        if ramp(ask).is_some_and(|(from, to)| has_part(from) || has_part(to)) {
            return Call::CannotExpress("only whole rates".to_owned());
        }
        CAN.refuse(ask).unwrap_or_else(|| command(ask))
    }

    fn read(&self, run: &Finished) -> Result<Reading, String> {
        ended_well(run)?;
        let report = fs::read_to_string(run.scratch.join(REPORT));
        let said = json(&report.map_err(|error| format!("no report: {error}"))?)?;
        let mut reading = reading(run);
        reading.text.push_str(&said.to_string());
        let mut statuses = Statuses::default();
        for (class, status) in
            [("1xx", 100), ("2xx", 200), ("3xx", 300), ("4xx", 400), ("5xx", 500)]
        {
            statuses.add(status, count_at(&said, &format!("/status_codes/{class}"))?);
        }
        statuses.into(&mut reading);
        let error = |kind: &str| count_at(&said, &format!("/errors/{kind}"));
        reading.timed_out = Some(error("timeout")?);
        reading.errors =
            Some(error("connect")?.saturating_add(error("read")?).saturating_add(error("write")?));
        causes(&said, &mut reading)?;
        reading.rate_rps = Some(number_at(&said, "/achieved_rate")?);
        reading.duration_s = Some(number_at(&said, "/duration_s")?);
        let table = fs::read_to_string(run.scratch.join(TABLE)).unwrap_or_default();
        latency(&said, &table, &mut reading)?;
        Ok(reading)
    }
}

/// What it dropped, and by how much it was behind.
fn causes(said: &serde_json::Value, reading: &mut Reading) -> Result<(), String> {
    for pointer in ["/errors/deadline", "/max_schedule_lag_us"] {
        let count = count_at(said, pointer)?;
        let name = pointer.rsplit('/').next().unwrap_or(pointer);
        reading.causes.extend((count > 0).then(|| format!("{name} {count}")));
    }
    Ok(())
}

fn latency(said: &serde_json::Value, table: &str, reading: &mut Reading) -> Result<(), String> {
    let microseconds =
        |name: &str| number_at(said, &format!("/latency_us/{name}")).map(|us| us / 1e6);
    let max_s = microseconds("max")?;
    // Without a sample they are all zero.
    if max_s == 0.0 {
        return Ok(());
    }
    reading.mean_s = Some(microseconds("mean")?);
    reading.min_s = Some(microseconds("min")?);
    reading.max_s = Some(max_s);
    let mut quantiles = Quantiles::new();
    for (name, quantile) in QUANTILES {
        quantiles.push((quantile, microseconds(name)?));
    }
    let mut rows = percentile_rows(table, 1e-3);
    rows.retain(|(quantile, _)| *quantile == 0.95);
    reading.quantiles = united(quantiles, rows);
    Ok(())
}

fn command(ask: &Ask) -> Call {
    let mut arguments: Vec<String> = ["--plain", "-t1"].map(str::to_owned).into();
    let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    option("--format", "json".to_owned());
    option("--output", format!("{{dir}}/{REPORT}"));
    option("--hdr", format!("{{dir}}/{TABLE}"));
    option("-c", ask.connections.to_string());
    option("-d", milliseconds(ask.duration_s.unwrap_or(10.0)));
    option("--timeout", milliseconds(ask.timeout_s.unwrap_or(TIMEOUT_S)));
    match ramp(ask) {
        Some((from, to)) => option("-R", format!("{from}:{to}")),
        None => option("-R", ask.rate_rps.unwrap_or_default().to_string()),
    }
    for need in &ask.extra {
        match need {
            Need::Shed { after_s } => option("--deadline", milliseconds(*after_s)),
            Need::IntervalsOnStdout => option("--timeseries", "/dev/stdout".to_owned()),
            Need::Intervals(file) => option("--timeseries", format!("{{dir}}/{file}")),
            _ => {}
        }
    }
    for (name, value) in &ask.headers {
        option("-H", format!("{name}: {value}"));
    }
    if !ask.keep_alive {
        option("-H", "Connection: close".to_owned());
    }
    if ask.method == Method::Head {
        option("-m", "HEAD".to_owned());
    }
    if ask.insecure {
        arguments.push("-k".to_owned());
    }
    arguments.push(ask.url.clone());
    Call::Command { arguments, files: Vec::new() }
}
