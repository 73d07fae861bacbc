//! Reads the summary of k6 (`--summary-export`), which `plimsoll k6` writes too.
//!
//! A request is one of `http_reqs`. Latency is `http_req_duration`, from the sending, without
//! connect and TLS. k6 counts requests without a response and those with a status of 400 or more
//! under one name, so they are reported together, and the rate includes both. Iterations dropped
//! for lack of a virtual user are a cause.

use std::fs;

use serde_json::Value;

use super::text::{Quantiles, ended_well, json, number_at, quantile_of, reading};
use super::{Finished, Reading};

/// The file of the summary, in the scratch directory.
pub(super) const EXPORT: &str = "{scratch}/k6.json";
const FILE: &str = "k6.json";

/// A threshold was crossed: the figures are there anyway.
const THRESHOLDS: i32 = 99;

pub(super) fn read(run: &Finished) -> Result<Reading, String> {
    if run.code != Some(THRESHOLDS) {
        ended_well(run)?;
    }
    let text =
        fs::read_to_string(run.scratch.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
    let said = json(&text)?;
    let mut reading = reading(run);
    let sent = number_at(&said, "/metrics/http_reqs/count")? as u64;
    let share = number_at(&said, "/metrics/http_req_failed/value").unwrap_or(0.0);
    let failed = (share * sent as f64).round() as u64;
    reading.completed = Some(sent);
    reading.failed = Some(failed);
    reading.ok = sent.checked_sub(failed);
    reading.rate_rps = Some(number_at(&said, "/metrics/http_reqs/rate")?);
    if let Some(rate_rps) = reading.rate_rps.filter(|rate| *rate > 0.0) {
        reading.duration_s = Some(sent as f64 / rate_rps);
    }
    let of = |name: &str| number_at(&said, &format!("/metrics/http_req_duration/{name}")).ok();
    reading.mean_s = of("avg").map(|ms| ms / 1e3);
    reading.min_s = of("min").map(|ms| ms / 1e3);
    reading.max_s = of("max").map(|ms| ms / 1e3);
    reading.quantiles = quantiles(said.pointer("/metrics/http_req_duration"));
    if let Ok(dropped) = number_at(&said, "/metrics/dropped_iterations/count") {
        reading.causes.push(format!("dropped {dropped} iterations for want of virtual users"));
    }
    Ok(reading)
}

/// `{"med": 0.2, "p(99.9)": 3.1}`, milliseconds.
fn quantiles(values: Option<&Value>) -> Quantiles {
    let Some(object) = values.and_then(Value::as_object) else { return Quantiles::new() };
    let row = |(name, value): (&String, &Value)| {
        let quantile = match name.as_str() {
            "med" => 0.5,
            name => quantile_of(name.strip_prefix("p(")?.strip_suffix(')')?.parse().ok()?),
        };
        Some((quantile, value.as_f64()? / 1e3))
    };
    let mut rows: Quantiles = object.iter().filter_map(row).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.dedup_by(|a, b| a.0 == b.0);
    rows
}
