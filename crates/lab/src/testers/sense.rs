//! Checks whether a tester's figures are possible; every reading passes through it.
//!
//! An impossible figure is removed, with the reason in [`Reading::left_out`]; the others stay.
//! Nothing here depends on the tester. What is true of only one (which answers its quantiles leave
//! out) is the business of its own reader.

use super::Reading;
use super::text::Quantiles;

/// How far apart figures may be that testers round: a share, for counts and rates.
const ROUNDING: f64 = 0.05;
/// The same for latency: a share, and seconds.
const LATENCY_ROUNDING: (f64, f64) = (0.02, 0.001);

/// Takes out what cannot be. `lived_s` is how long the tester's process was there, seconds: nothing
/// that it measured took longer.
#[must_use]
pub fn checked(mut reading: Reading, lived_s: f64) -> Reading {
    times(&mut reading, lived_s);
    counts(&mut reading);
    rate(&mut reading);
    let Reading { quantiles, service_quantiles, ok_quantiles, left_out, .. } = &mut reading;
    let lists = [
        ("latency", quantiles),
        ("service time", service_quantiles),
        ("latency of good responses", ok_quantiles),
    ];
    for (name, rows) in lists {
        if let Some(wrong) = fault(rows, lived_s) {
            rows.clear();
            left_out.push(format!("quantiles of {name}: {wrong}"));
        }
    }
    reading
}

fn longest_s(lived_s: f64) -> f64 {
    lived_s * (1.0 + ROUNDING) + LATENCY_ROUNDING.1
}

fn times(reading: &mut Reading, lived_s: f64) {
    let longest_s = longest_s(lived_s);
    let Reading { duration_s, mean_s, min_s, max_s, left_out, .. } = reading;
    let all =
        [("duration", duration_s), ("mean latency", mean_s), ("least", min_s), ("greatest", max_s)];
    for (name, value) in all {
        let Some(s) = *value else { continue };
        if let Some(wrong) = out_of_range(s, longest_s) {
            *value = None;
            left_out.push(format!("{name}: {wrong}"));
        }
    }
    let (share, slack_s) = LATENCY_ROUNDING;
    let above = |low: Option<f64>, high: Option<f64>| {
        low.zip(high).is_some_and(|(low, high)| low > high * (1.0 + share) + slack_s)
    };
    if above(reading.min_s, reading.mean_s) || above(reading.mean_s, reading.max_s) {
        (reading.min_s, reading.mean_s, reading.max_s) = (None, None, None);
        let wrong = "least, mean and greatest latency: they are not in this order";
        reading.left_out.push(wrong.to_owned());
    }
}

fn out_of_range(s: f64, longest_s: f64) -> Option<String> {
    match s {
        s if !s.is_finite() => Some("no number".to_owned()),
        s if s < 0.0 => Some(format!("{s} s is negative")),
        s if s > longest_s => Some(format!("{s} s is longer than the tester ran")),
        _ => None,
    }
}

/// Of what was answered, no more can have failed, or been good, than there was.
fn counts(reading: &mut Reading) {
    let Some(completed) = reading.completed else { return };
    let Reading { ok, failed, left_out, .. } = reading;
    let sum = ok.unwrap_or(0).saturating_add(failed.unwrap_or(0));
    if sum > completed {
        let (good, bad) = (ok.unwrap_or(0), failed.unwrap_or(0));
        left_out.push(format!("good and failed responses: {good} and {bad} of {completed}"));
        (*ok, *failed) = (None, None);
    }
}

/// The rate times the duration is what was counted.
fn rate(reading: &mut Reading) {
    let Some(rate_rps) = reading.rate_rps else { return };
    let wrong = match rate_rps {
        rate if !rate.is_finite() => Some("no number".to_owned()),
        rate if rate < 0.0 => Some(format!("{rate}/s is negative")),
        _ => misfit(reading, rate_rps),
    };
    if let Some(wrong) = wrong {
        reading.rate_rps = None;
        reading.left_out.push(format!("rate: {wrong}"));
    }
}

/// Plimsoll's rate is of its window, whose end is before that of the last response: its own
/// document says how it is counted.
fn misfit(reading: &Reading, rate_rps: f64) -> Option<String> {
    if reading.result.is_some() {
        return None;
    }
    let (completed, duration_s) = reading.completed.zip(reading.duration_s)?;
    let counted = completed.saturating_add(reading.unanswered_in_rate) as f64;
    let told = rate_rps * duration_s;
    let fits = (told - counted).abs() <= counted.max(told) * ROUNDING + 1.0;
    (!fits).then(|| {
        format!("{rate_rps}/s over {duration_s} s does not fit {counted} requests that ended")
    })
}

/// What is wrong with a list of quantiles, if anything is.
fn fault(rows: &Quantiles, lived_s: f64) -> Option<String> {
    let name = |q: f64| format!("p{}", (q * 1e8).round() / 1e6);
    let longest_s = longest_s(lived_s);
    for (q, s) in rows {
        if !(0.0..=1.0).contains(q) {
            return Some(format!("{q} is not a quantile"));
        }
        if let Some(wrong) = out_of_range(*s, longest_s) {
            return Some(format!("{}: {wrong}", name(*q)));
        }
    }
    for pair in rows.windows(2) {
        let [(low, before_s), (high, s)] = [pair[0], pair[1]];
        if low >= high || before_s > s {
            let (low, high) = (name(low), name(high));
            return Some(format!("they descend from {low}, {before_s} s, to {high}, {s} s"));
        }
    }
    // No response takes no time: it is what is printed where there was none.
    let is_nothing = !rows.is_empty() && rows.iter().all(|(_, s)| *s == 0.0);
    is_nothing.then(|| "all are 0".to_owned())
}
