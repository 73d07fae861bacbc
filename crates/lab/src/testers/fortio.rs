//! Reads the JSON of fortio 1.x. Its quantiles are interpolated in the buckets of its histogram,
//! which `-r` makes finer. It does not distinguish timeouts from other errors of a socket. Its rate
//! and all latencies include requests without a response. Calls of gRPC are `SERVING` when they are
//! good; all others are `ERROR`, whether the server answered or not.
//!
//! Statuses are counted by the lab's rule for all testers, not by fortio's, which calls a status of
//! 3xx failed.

use std::collections::BTreeMap;

use plimsoll_dialect::fortio::Said;

use super::text::{Quantiles, Statuses, ended_well, json, quantile_of, reading};
use super::{Finished, Reading};

/// What it said.
///
/// # Errors
/// One line, when what it printed cannot be understood.
pub fn read(run: &Finished) -> Result<Reading, String> {
    ended_well(run)?;
    let said = Said::read(&json(&run.stdout)?).map_err(|error| error.to_string())?;
    let mut reading = reading(run);
    let statuses = calls(&said.codes).map_or_else(|| statuses(&said.codes), Ok)?;
    statuses.into(&mut reading);
    reading.errors = Some(statuses.none);
    reading.unanswered_in_rate = statuses.none;
    let needed = |value: Option<f64>, name: &str| {
        value.map(Some).ok_or_else(|| format!("no `{name}` in its JSON"))
    };
    reading.rate_rps = needed(said.actual_qps, "ActualQPS")?;
    reading.duration_s = needed(said.actual_duration_s, "ActualDuration")?;
    reading.mean_s = needed(said.durations.mean, "DurationHistogram.Avg")?;
    reading.min_s = needed(said.durations.min, "DurationHistogram.Min")?;
    reading.max_s = needed(said.durations.max, "DurationHistogram.Max")?;
    reading.quantiles = quantiles(&said.durations.percentiles);
    let warnings = run.stderr.lines().filter(|line| line.starts_with("WARNING"));
    reading.causes = warnings.map(str::to_owned).collect();
    Ok(reading)
}

/// The counts of calls of gRPC: `{"SERVING": 180, "ERROR": 20}`. `None`: it made none.
fn calls(codes: &BTreeMap<String, u64>) -> Option<Statuses> {
    let (good, bad) = (codes.get("SERVING"), codes.get("ERROR"));
    good.or(bad)?;
    let [good, bad] = [good, bad].map(|count| count.copied().unwrap_or(0));
    Some(Statuses { completed: good.saturating_add(bad), failed: bad, none: 0 })
}

fn statuses(codes: &BTreeMap<String, u64>) -> Result<Statuses, String> {
    if codes.is_empty() {
        return Err("no counts by status in its JSON".to_owned());
    }
    let mut statuses = Statuses::default();
    for (status, count) in codes {
        let number = status.parse().map_err(|_| format!("not a count by status: `{status}`"))?;
        statuses.add(number, *count);
    }
    Ok(statuses)
}

/// Absent when there was no request.
fn quantiles(rows: &[(f64, f64)]) -> Quantiles {
    rows.iter().map(|(percentile, s)| (quantile_of(*percentile), *s)).collect()
}
