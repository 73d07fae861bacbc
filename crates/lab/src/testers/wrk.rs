//! Reads what wrk 4 and wrk2 4 print with `--latency`.
//!
//! Figures are rounded to three digits, which is all their reports have. wrk2's recorded latency
//! counts from when a request was due; with `-U` it also prints the uncorrected one, from the
//! sending.
//!
//! What they call timeouts are not requests without an answer. wrk counts answers that came later
//! than its timeout: its requests include them, its latencies don't. wrk2 counts connections, again
//! every two seconds, on which nothing was sent for that long, idle ones too; its latencies include
//! everything.

use super::text::{
    Quantiles, after, count_after, ended_well, number_after, quantile_of, reading, seconds,
};
use super::{Finished, Reading};

pub(super) fn read(run: &Finished) -> Result<Reading, String> {
    let (mut reading, late) = counts(run)?;
    reading.quantiles = list(&run.stdout, "Latency Distribution");
    leave_out_late(&mut reading, late);
    Ok(reading)
}

/// A quantile of the fast answers is another of all. It stays where that is less than a tenth of
/// what lies beyond it: then a p99 is at least a p98.9.
fn leave_out_late(reading: &mut Reading, late: u64) {
    if late == 0 {
        return;
    }
    let share = late as f64 / reading.completed.unwrap_or(0).max(1) as f64;
    let before = reading.quantiles.len();
    reading.quantiles.retain(|(q, _)| share <= (1.0 - q) / 10.0);
    let lost = match before - reading.quantiles.len() {
        0 => "mean and greatest latency are",
        _ => "mean, greatest latency and quantiles are",
    };
    reading.left_out.push(format!(
        "{lost} of the fast answers alone: {late} answers came later than its timeout (--timeout, \
         2s by default), and wrk leaves them out"
    ));
    (reading.mean_s, reading.max_s) = (None, None);
}

pub(super) fn read_wrk2(run: &Finished) -> Result<Reading, String> {
    let (mut reading, idle) = counts(run)?;
    if idle > 0 {
        reading.left_out.push(format!(
            "timeouts: wrk2 counts idle connections, again every two seconds, as timeouts ({idle})"
        ));
    }
    let rows = |title: &str| {
        let mut rows = list(&run.stdout, title);
        rows.retain(|row| row.0 < 1.0);
        rows
    };
    reading.quantiles = rows("Latency Distribution (HdrHistogram - Recorded");
    reading.service_quantiles = rows("Latency Distribution (HdrHistogram - Uncorrected");
    Ok(reading)
}

/// What both say in the same words, and what they call timeouts.
fn counts(run: &Finished) -> Result<(Reading, u64), String> {
    ended_well(run)?;
    let text = &run.stdout;
    let mut reading = reading(run);
    let total = text.lines().find_map(total);
    let (completed, duration_s) = total.ok_or("no `N requests in T` in what it printed")?;
    // These lines are there only when there is something to count.
    let failed = count_after(text, "Non-2xx or 3xx responses:").unwrap_or(0);
    let errors = after(text, "Socket errors:").unwrap_or_default();
    let kind = |name: &str| {
        let words = errors.split(',').find_map(|part| part.trim().strip_prefix(name));
        words.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    reading.completed = Some(completed);
    reading.failed = Some(failed);
    reading.ok = completed.checked_sub(failed);
    reading.errors = Some(kind("connect") + kind("read") + kind("write"));
    reading.duration_s = Some(duration_s);
    reading.rate_rps = Some(number_after(text, "Requests/sec:")?);
    let latency = after(text, "Latency  ").unwrap_or_default();
    let mut columns = latency.split_whitespace().map(seconds);
    reading.mean_s = columns.next().flatten();
    reading.max_s = columns.nth(1).flatten();
    Ok((reading, kind("timeout")))
}

/// `  132575 requests in 2.00s, 9.80MB read`
fn total(line: &str) -> Option<(u64, f64)> {
    let (count, rest) = line.trim_start().split_once(" requests in ")?;
    Some((count.parse().ok()?, seconds(rest.split_once(',')?.0)?))
}

/// The rows under a title: `     50%   76.00us`.
fn list(text: &str, title: &str) -> Quantiles {
    let is_title = |line: &&str| line.trim_start().starts_with(title);
    let lines = text.lines().skip_while(|line| !is_title(line)).skip(1);
    let row = |line: &str| {
        let (percent, value) = line.split_once('%')?;
        Some((quantile_of(percent.trim().parse().ok()?), seconds(value)?))
    };
    lines.map_while(row).collect()
}
