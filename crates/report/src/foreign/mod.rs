//! Views of a result of another tester: text, Markdown, a row of CSV, and a page.
//!
//! They show what the file says and leave out the rest. Each quantile has the bucket it was
//! interpolated in, because the true one may lie anywhere in there. There is no verdict: nobody
//! watched the tester.

mod csv;
mod html;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use plimsoll_core::foreign::{ForeignResult, Interpolated};
use plimsoll_core::units::{format_count, format_ns, format_rate};

use crate::facts::{QUANTILES, percent};

pub use csv::write as write_csv;
pub use html::{Link, RESULTS_MAX, write as write_html, write_several as write_html_of_several};
pub use markdown::write as write_markdown;
pub use text::write as write_text;

/// What the times are, in every view.
const CLOCK: &str = "times are service times: they start when a request is sent, so that the wait \
                     of requests that were due earlier is not in them";

/// The first line: rate, times and failures.
fn sentence(result: &ForeignResult) -> String {
    let figures = &result.figures;
    let mut words = Vec::new();
    if let Some(rps) = result.calls_rps {
        let asked = result.target_rps.map(|rps| format!(" of {}/s", format_rate(rps)));
        words.push(format!("{}/s{}", format_rate(rps), asked.unwrap_or_default()));
    }
    for q in [0.5, 0.99] {
        let known = result.times.quantile(q).filter(|it| result.times.has_beyond(it.q));
        words.extend(known.map(|it| format!("service {} {}", name(q), seconds(it.s))));
    }
    if let Some(share) = figures.error_share() {
        let count = figures.failed.unwrap_or(0).saturating_add(figures.errors.unwrap_or(0));
        let is_none = share == 0.0;
        words.push(if is_none { "none failed".to_owned() } else { failed_words(count, share) });
    }
    if words.is_empty() { "the file has no figures".to_owned() } else { words.join(", ") }
}

fn failed_words(count: u64, share: f64) -> String {
    format!("{} failed ({:.2} %)", format_count(count), share * 100.0)
}

/// What was loaded, and how.
fn load(result: &ForeignResult) -> String {
    let begun = result.started_at.as_ref().map(|at| format!("begun {at}"));
    let parts = result.target.iter().chain(&result.load).cloned().chain(begun);
    parts.collect::<Vec<_>>().join(" · ")
}

/// What readers have to know.
fn notes(result: &ForeignResult) -> Vec<String> {
    let has_times = result.times.count.is_some_and(|count| count > 0);
    let failure = result.failure.iter().cloned();
    let clock = has_times.then(|| CLOCK.to_owned());
    failure.chain(result.notes.clone()).chain(clock).collect()
}

/// Calls by what came of them: what, how many, and their share.
fn outcomes(result: &ForeignResult) -> Vec<[String; 3]> {
    let all = result.outcomes.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let row = |(outcome, count): &(String, u64)| {
        [outcome.clone(), format_count(*count), percent(*count, all)]
    };
    result.outcomes.iter().map(row).collect()
}

/// The times that are no quantiles, those that the file has.
fn moments(result: &ForeignResult) -> Vec<[String; 2]> {
    let times = &result.times;
    let all = [
        ("min", times.min_s),
        ("mean", times.mean_s),
        ("stdev", times.stdev_s),
        ("max", times.max_s),
    ];
    all.into_iter().filter_map(|(name, s)| Some([name.to_owned(), seconds(s?)])).collect()
}

/// Quantiles: those that the file has, and those of every report. Name, time, bucket, and how many
/// samples lie beyond.
fn quantiles(result: &ForeignResult) -> Vec<[String; 4]> {
    let times = &result.times;
    let is_usual = |q: f64| QUANTILES.iter().any(|(_, rank)| (*rank as f64 / 1e4 - q).abs() < 1e-9);
    let is_shown = |it: &&Interpolated| it.is_said || is_usual(it.q);
    let row = |it: &Interpolated| {
        let bucket = it.bucket_s.map(|(from, to)| format!("{} to {}", seconds(from), seconds(to)));
        let beyond = times.count.map(|count| ((1.0 - it.q) * count as f64 + 1e-9) as u64);
        let beyond = beyond.map(format_count);
        [name(it.q), seconds(it.s), bucket.unwrap_or_default(), beyond.unwrap_or_default()]
    };
    times.quantiles.iter().filter(is_shown).map(row).collect()
}

fn name(q: f64) -> String {
    format!("p{}", (q * 1e8).round() / 1e6)
}

fn seconds(s: f64) -> String {
    format_ns((s * 1e9).round() as u64)
}
