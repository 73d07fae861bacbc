//! Reads what ab 2.3 prints, and the table of `-e`, which has thousandths of a millisecond where
//! the report has whole ones.
//!
//! ab's `Complete requests` include those under Receive, which had no whole response; they are read
//! as errors. Those under Exceptions are counted twice, so they are left out. A redirect counts as
//! failed, because ab does not distinguish it from a status of 400 or more.

use std::fs;

use super::text::{
    Quantiles, after, count, count_after, ended_well, number_after, quantile_of, reading,
};
use super::{Finished, Reading};

/// The file of its table, in the scratch directory.
pub const TABLE: &str = "ab.csv";

/// What it said.
///
/// # Errors
/// One line, when what it printed cannot be understood.
pub fn read(run: &Finished) -> Result<Reading, String> {
    ended_well(run)?;
    let text = &run.stdout;
    let mut reading = reading(run);
    let ended = count_after(text, "Complete requests:")?;
    // Both lines are there only when there are some.
    let failed = count_after(text, "Non-2xx responses:").unwrap_or(0);
    let kinds = after(text, "(Connect:").unwrap_or("0, Receive: 0");
    let unanswered = kinds.split_once("Receive:").and_then(|(_, rest)| count(rest)).unwrap_or(0);
    let completed = ended.checked_sub(unanswered);
    reading.completed = completed;
    reading.unanswered_in_rate = unanswered;
    reading.failed = Some(failed);
    reading.ok = completed.and_then(|completed| completed.checked_sub(failed));
    reading.errors = Some(unanswered.saturating_add(count(kinds).unwrap_or(0)));
    reading.rate_rps = Some(number_after(text, "Requests per second:")?);
    reading.duration_s = Some(number_after(text, "Time taken for tests:")?);
    reading.mean_s = number_after(text, "Time per request:").ok().map(|ms| ms / 1e3);
    let table = fs::read_to_string(run.scratch.join(TABLE)).unwrap_or_default();
    quantiles(&table, ended, &mut reading);
    Ok(reading)
}

/// Rows 0 to 100 of the table; the last is the greatest.
///
/// ab rounds the place of a row among its latencies up: of few requests the last rows stand for a
/// place behind the greatest, and hold whatever lies there.
fn quantiles(table: &str, ended: u64, reading: &mut Reading) {
    let row = |line: &str| {
        let (percent, ms) = line.split_once(',')?;
        Some((percent.parse::<f64>().ok()?, ms.parse::<f64>().ok()? / 1e3))
    };
    let is_there = |(percent, _): &(f64, f64)| {
        *percent >= 100.0 || (0.5 + ended as f64 * percent / 100.0).floor() < ended as f64
    };
    let (rows, beyond): (Vec<_>, Vec<_>) = table.lines().filter_map(row).partition(is_there);
    if let (Some(first), Some(_)) = (beyond.first(), reading.completed) {
        let from = first.0;
        reading.left_out.push(format!("quantiles from p{from}: of {ended} requests ab has none"));
    }
    let rows: Quantiles = rows.into_iter().map(|(percent, s)| (quantile_of(percent), s)).collect();
    reading.min_s = rows.first().filter(|row| row.0 == 0.0).map(|row| row.1);
    reading.max_s = rows.last().filter(|row| row.0 == 1.0).map(|row| row.1);
    let is_known = |row: &(f64, f64)| row.0 > 0.0 && row.0 < 1.0 && row.1 > 0.0;
    reading.quantiles = rows.into_iter().filter(is_known).collect();
}
