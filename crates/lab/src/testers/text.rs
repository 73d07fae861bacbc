//! Takes figures from text: lines by their label, durations with units, tables of quantiles, JSON.
//!
//! Nothing here depends on the tester. A missing figure is an error that names it, never a zero.

use serde_json::Value;

use super::{Finished, Reading};
use crate::programs::last_line;

/// Quantiles of latency with seconds, ascending.
pub type Quantiles = Vec<(f64, f64)>;

/// The timeout given to testers when the ask has none, seconds; wrk keeps eight bytes of each of
/// its microseconds.
pub const TIMEOUT_S: f64 = 30.0;

/// What a script of ours begins its line with, so that it is found among the tester's own.
pub const MARK: &str = "plimsoll ";

/// Nothing but all that was printed.
pub fn reading(run: &Finished) -> Reading {
    Reading { text: format!("{}{}", run.stdout, run.stderr), ..Reading::default() }
}

/// That the program ended well.
///
/// # Errors
/// How it ended and its last word.
pub fn ended_well(run: &Finished) -> Result<(), String> {
    let how = match run.code {
        Some(0) => return Ok(()),
        Some(code) => format!("ended with {code}"),
        None => "was ended by a signal".to_owned(),
    };
    let word = last_line(&run.stderr).or_else(|| last_line(&run.stdout));
    Err(word.map_or_else(|| how.clone(), |word| format!("{how}: {word}")))
}

/// What follows a label that begins a line, spaces aside; the first such line.
///
/// # Errors
/// No such line.
pub fn after<'a>(text: &'a str, label: &str) -> Result<&'a str, String> {
    let mut rests = text.lines().filter_map(|line| line.trim_start().strip_prefix(label));
    rests.next().map(str::trim).ok_or_else(|| format!("no `{label}` in what it printed"))
}

/// The number that begins a text, whatever follows it.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let is_part = |byte: u8| byte.is_ascii_digit() || b"+-.".contains(&byte);
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    text[..end].parse().ok().filter(|value: &f64| value.is_finite())
}

/// The number after a label.
///
/// # Errors
/// No such label, or something else after it.
pub fn number_after(text: &str, label: &str) -> Result<f64, String> {
    let rest = after(text, label)?;
    number(rest).ok_or_else(|| format!("no number after `{label}`"))
}

/// The whole number after a label.
///
/// # Errors
/// No such label, or something else after it.
pub fn count_after(text: &str, label: &str) -> Result<u64, String> {
    count(after(text, label)?).ok_or_else(|| format!("no whole number after `{label}`"))
}

/// The whole number that begins a text.
pub fn count(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The quantile of a percentage, exactly as a literal would be: 99.9 is 0.999.
pub fn quantile_of(percent: f64) -> f64 {
    (percent * 1e4).round() / 1e6
}

/// Seconds of a number with its unit: `1.25ms`, `77.00us`, `2m`.
pub fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let factor = match unit {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    text.strip_suffix(unit)?.parse::<f64>().ok().map(|value| value * factor)
}

/// A duration in whole milliseconds, as Go and most others read it.
pub fn milliseconds(seconds: f64) -> String {
    format!("{}ms", (seconds * 1e3).round().max(1.0))
}

/// The rows of an HdrHistogram percentile table: value, percentile (0 to 1), count.
pub fn percentile_rows(text: &str, unit_s: f64) -> Quantiles {
    text.lines().filter_map(|line| percentile_row(line, unit_s)).collect()
}

fn percentile_row(line: &str, unit_s: f64) -> Option<(f64, f64)> {
    let mut columns = line.split_ascii_whitespace();
    let value: f64 = columns.next()?.parse().ok()?;
    let quantile: f64 = columns.next()?.parse().ok()?;
    columns.next()?.parse::<u64>().ok()?;
    columns.next()?;
    (columns.next().is_none() && (0.0..=1.0).contains(&quantile))
        .then_some((quantile, value * unit_s))
}

/// The first quantiles, and of the others those the first do not have.
pub fn united(mut first: Quantiles, others: Quantiles) -> Quantiles {
    for (quantile, value) in others {
        if first.iter().all(|(known, _)| (known - quantile).abs() > 1e-9) {
            first.push((quantile, value));
        }
    }
    first.sort_by(|a, b| a.0.total_cmp(&b.0));
    first
}

/// JSON.
///
/// # Errors
/// The text is not JSON.
pub fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text.trim()).map_err(|error| format!("no JSON of its own: {error}"))
}

/// The JSON of the last line with our mark.
///
/// # Errors
/// No such line, or no JSON in it.
pub fn marked(text: &str) -> Result<Value, String> {
    let lines = text.lines().rev();
    let line = lines.filter_map(|line| line.strip_prefix(MARK)).next();
    json(line.ok_or("no line of the script's own")?)
}

/// The number at a JSON pointer.
///
/// # Errors
/// No number is there.
pub fn number_at(value: &Value, pointer: &str) -> Result<f64, String> {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.ok_or_else(|| format!("no number at `{pointer}` of its JSON"))
}

/// The whole number at a JSON pointer.
///
/// # Errors
/// No whole number is there.
pub fn count_at(value: &Value, pointer: &str) -> Result<u64, String> {
    let found = value.pointer(pointer).and_then(Value::as_u64);
    found.ok_or_else(|| format!("no whole number at `{pointer}` of its JSON"))
}

/// Counts by status, from an object such as `{"200": 9, "503": 1}`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Statuses {
    /// Responses.
    pub completed: u64,
    /// Of those, the ones with a status of 400 or more.
    pub failed: u64,
    /// What the tester counts under 0 or -1, which are not statuses.
    pub none: u64,
}

impl Statuses {
    /// Adds `count` responses of one status.
    pub fn add(&mut self, status: i64, count: u64) {
        if status <= 0 {
            self.none = self.none.saturating_add(count);
            return;
        }
        self.completed = self.completed.saturating_add(count);
        if status >= 400 {
            self.failed = self.failed.saturating_add(count);
        }
    }

    /// Counts an object.
    ///
    /// # Errors
    /// No object, or one with anything but counts by status in it.
    pub fn of(value: Option<&Value>) -> Result<Self, String> {
        let object = value.and_then(Value::as_object).ok_or("no counts by status in its JSON")?;
        let mut statuses = Self::default();
        for (status, count) in object {
            let pair = status.parse::<i64>().ok().zip(count.as_u64());
            let (status, count) =
                pair.ok_or_else(|| format!("not a count by status: `{status}`"))?;
            statuses.add(status, count);
        }
        Ok(statuses)
    }

    /// Puts them where they belong.
    pub fn into(self, reading: &mut Reading) {
        reading.completed = Some(self.completed);
        reading.failed = Some(self.failed);
        reading.ok = Some(self.completed - self.failed);
    }
}
