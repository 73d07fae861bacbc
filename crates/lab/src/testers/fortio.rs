//! Reads the JSON of fortio 1.x. Its quantiles are interpolated in the buckets of its histogram,
//! which `-r` makes finer. It does not distinguish timeouts from other errors of a socket. Its rate
//! and all latencies include requests without a response. Calls of gRPC are `SERVING` when they are
//! good; all others are `ERROR`, whether the server answered or not.

use serde_json::Value;

use super::text::{Quantiles, Statuses, ended_well, json, number_at, quantile_of, reading};
use super::{Finished, Reading};

/// What it said.
///
/// # Errors
/// One line, when what it printed cannot be understood.
pub fn read(run: &Finished) -> Result<Reading, String> {
    ended_well(run)?;
    let said = json(&run.stdout)?;
    let mut reading = reading(run);
    let codes = said.get("RetCodes");
    let statuses = calls(codes).map_or_else(|| Statuses::of(codes), Ok)?;
    statuses.into(&mut reading);
    reading.errors = Some(statuses.none);
    reading.unanswered_in_rate = statuses.none;
    reading.rate_rps = Some(number_at(&said, "/ActualQPS")?);
    reading.duration_s = Some(number_at(&said, "/ActualDuration")? / 1e9);
    reading.mean_s = Some(number_at(&said, "/DurationHistogram/Avg")?);
    reading.min_s = Some(number_at(&said, "/DurationHistogram/Min")?);
    reading.max_s = Some(number_at(&said, "/DurationHistogram/Max")?);
    reading.quantiles = quantiles(said.pointer("/DurationHistogram/Percentiles"));
    let warnings = run.stderr.lines().filter(|line| line.starts_with("WARNING"));
    reading.causes = warnings.map(str::to_owned).collect();
    Ok(reading)
}

/// The counts of calls of gRPC: `{"SERVING": 180, "ERROR": 20}`. `None`: it made none.
fn calls(codes: Option<&Value>) -> Option<Statuses> {
    let count = |name: &str| codes?.get(name)?.as_u64();
    let (good, bad) = (count("SERVING"), count("ERROR"));
    good.or(bad)?;
    let (good, bad) = (good.unwrap_or(0), bad.unwrap_or(0));
    Some(Statuses { completed: good.saturating_add(bad), failed: bad, none: 0 })
}

/// Absent when there was no request.
fn quantiles(rows: Option<&Value>) -> Quantiles {
    let rows = rows.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let row = |row: &Value| {
        Some((quantile_of(row.get("Percentile")?.as_f64()?), row.get("Value")?.as_f64()?))
    };
    rows.iter().filter_map(row).collect()
}
