//! What hey 0.1 prints: its summary. Seconds with four decimals; quantiles leave out what failed.

use super::text::{
    Quantiles, Statuses, after, count, ended_well, number, number_after, quantile_of, reading,
};
use super::{Finished, Reading};

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
    reading.mean_s = Some(number_after(text, "Average:")?);
    reading.min_s = Some(number_after(text, "Fastest:")?);
    reading.max_s = Some(number_after(text, "Slowest:")?);
    reading.quantiles = quantiles(text);
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
        let (status, count) = pair.ok_or("a status that is none")?;
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
    section(text, "Latency distribution:", "  ").map_while(row).collect()
}
