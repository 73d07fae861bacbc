//! Reads the JSON of oha 1.x. Quantiles leave out requests without a response, the rate does not.

use serde_json::Value;

use super::text::{Quantiles, Statuses, ended_well, json, number, number_at, quantile_of, reading};
use super::{Finished, Reading};

/// What it said.
///
/// # Errors
/// One line, when what it printed cannot be understood.
pub fn read(run: &Finished) -> Result<Reading, String> {
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

fn errors(value: Option<&Value>, reading: &mut Reading) -> Result<(), String> {
    let object = value.and_then(Value::as_object).ok_or("no `errorDistribution` in its JSON")?;
    let (mut timed_out, mut errors) = (0_u64, 0_u64);
    for (what, count) in object {
        let count = count.as_u64().ok_or("an error without a count")?;
        reading.unanswered_in_rate = reading.unanswered_in_rate.saturating_add(count);
        // What was under way when the time was over, which oha ends itself.
        if what.contains("aborted due to deadline") {
            continue;
        }
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
