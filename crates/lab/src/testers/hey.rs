//! Reads the summary of hey 0.1. It has seconds with four decimals, and 0.0000 for figures it does
//! not know. Quantiles leave out failures, the rate does not. Beyond a million responses it keeps
//! only the latencies of the first million, and divides the sum of all by their number.

use super::text::{
    Quantiles, Statuses, after, count, ended_well, number, number_after, quantile_of, reading,
};
use super::{Finished, Reading};

/// How many latencies it keeps.
const KEPT: u64 = 1_000_000;

/// What it said.
///
/// # Errors
/// One line, when what it printed cannot be understood.
pub fn read(run: &Finished) -> Result<Reading, String> {
    ended_well(run)?;
    let text = &run.stdout;
    let mut reading = reading(run);
    statuses(text)?.into(&mut reading);
    errors(text, &mut reading);
    reading.rate_rps = Some(number_after(text, "Requests/sec:")?);
    reading.duration_s = Some(number_after(text, "Total:")?);
    if reading.completed == Some(0) {
        return Ok(reading);
    }
    let seconds = |name: &str| number_after(text, name).map(|s| Some(s).filter(|s| *s != 0.0));
    reading.mean_s = seconds("Average:")?;
    reading.min_s = seconds("Fastest:")?;
    reading.max_s = seconds("Slowest:")?;
    reading.quantiles = quantiles(text);
    if reading.completed.is_some_and(|completed| completed > KEPT) {
        reading.mean_s = None;
        reading.causes.push("hey kept the latencies of its first million responses".to_owned());
    }
    Ok(reading)
}

/// The lines of a section, up to a line that begins otherwise.
fn section<'a>(text: &'a str, title: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines().skip_while(move |line| !line.starts_with(title)).skip(1);
    lines.map_while(move |line| line.strip_prefix(start))
}

/// `  [200] 4450 responses`
fn statuses(text: &str) -> Result<Statuses, String> {
    after(text, "Status code distribution:")?;
    let mut statuses = Statuses::default();
    for line in section(text, "Status code distribution:", "  [") {
        let pair =
            line.split_once(']').and_then(|(status, rest)| Some((count(status)?, count(rest)?)));
        let (status, count) = pair.ok_or("a line of its status codes that cannot be read")?;
        statuses.add(i64::try_from(status).unwrap_or(0), count);
    }
    Ok(statuses)
}

/// `  [79] Get "http://…": context deadline exceeded (Client.Timeout exceeded …)`
fn errors(text: &str, reading: &mut Reading) {
    let (mut timed_out, mut errors) = (0_u64, 0_u64);
    for line in section(text, "Error distribution:", "  [") {
        let Some((times, what)) = line.split_once(']') else { continue };
        let times = count(times).unwrap_or(0);
        let sum = if is_timeout(what) { &mut timed_out } else { &mut errors };
        *sum = sum.saturating_add(times);
    }
    reading.timed_out = Some(timed_out);
    reading.errors = Some(errors);
    reading.unanswered_in_rate = timed_out.saturating_add(errors);
}

/// What Go's HTTP client says when its timeout ended a request.
#[must_use]
pub fn is_timeout(what: &str) -> bool {
    what.contains("Client.Timeout") || what.contains("context deadline exceeded")
}

/// `  99%% in 0.0372 secs`
fn quantiles(text: &str) -> Quantiles {
    let row = |line: &str| {
        let (percent, rest) = line.split_once('%')?;
        Some((quantile_of(number(percent)?), number(rest.split_once("in ")?.1)?))
    };
    let rows = section(text, "Latency distribution:", "  ").map_while(row);
    rows.filter(|(_, s)| *s != 0.0).collect()
}
