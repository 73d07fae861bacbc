//! What a file says, in common terms.
//!
//! Good is what fortio calls good: statuses from 200 to 299 and 418, `OK`, and `SERVING`. fortio
//! itself says what became of every call. Other writers of its format, Nighthawk above all, count
//! responses of 2xx alone, so how many calls failed stays unsaid.

use std::collections::BTreeMap;

use plimsoll_core::foreign::{
    Distribution, ForeignResult, Interpolated, ServiceTimes, TimeBucket, TimesOf,
};
use plimsoll_core::secret::Masks;
use plimsoll_core::study::{Figures, KEPT};
use plimsoll_core::units::{counted, format_count, format_duration, format_rate};

use super::interpolate::percentile;
use super::said::{Bucket, Histogram, Said};
use crate::duration;
use crate::wall::WallTime;

/// The common terms of what a file says. Secrets in addresses are masked by their names.
#[must_use]
pub fn foreign(said: &Said) -> ForeignResult {
    let masks = Masks::default();
    let target = said.target.as_deref().map(|text| masks.url(text));
    let times = times(&said.durations);
    let mut notes = Vec::new();
    let is_too_short = |s: f64| times.max_s.is_some_and(|max_s| s < max_s);
    let duration_s = said.actual_duration_s.filter(|s| !is_too_short(*s));
    if duration_s.is_none() && said.actual_duration_s.is_some() {
        notes.push("its ActualDuration is shorter than a single call: left out".to_owned());
    }
    let counts = Counts::of(said);
    notes.extend(counts.note.clone());
    notes.extend(said.verdict.as_ref().map(verdict));
    ForeignResult {
        read_as: read_as(said),
        tester: tester(said),
        labels: said.labels.as_deref().map(|text| masks.url(text)),
        started_at: said
            .start_time
            .as_deref()
            .and_then(WallTime::parse_rfc3339)
            .map(|time| time.utc().rfc3339_nano()),
        load: load(said),
        is_paced: said
            .requested_qps
            .map(|qps| qps > 0.0)
            .or_else(|| said.is_max_qps.then_some(false)),
        target_rps: said.requested_qps.filter(|qps| *qps > 0.0),
        facts: facts(said, target.as_deref()),
        failure: failure(said, duration_s),
        calls_rps: said.actual_qps,
        figures: counts.figures(said, duration_s, &times),
        times,
        distributions: distributions(said),
        outcomes: said.codes.iter().map(|(code, count)| (words(code), *count)).collect(),
        notes,
        target,
    }
}

fn verdict((verdict, causes): &(String, Vec<String>)) -> String {
    match causes.as_slice() {
        [] => format!("Plimsoll's verdict: {verdict}"),
        causes => format!("Plimsoll's verdict: {verdict} ({})", causes.join(", ")),
    }
}

/// Whether fortio itself wrote it.
fn is_own(said: &Said) -> bool {
    said.exactly.is_some() && !said.has_counts_as_strings
}

fn read_as(said: &Said) -> String {
    let kind = said.run_type.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
    match said.has_counts_as_strings {
        _ if is_own(said) => format!("a result of {}{kind}", tester(said)),
        true => format!("a result in fortio's format with counts as strings, as Nighthawk's{kind}"),
        false => format!("a result in fortio's format, written by another program{kind}"),
    }
}

fn tester(said: &Said) -> String {
    let name = if is_own(said) { "fortio" } else { "a writer of fortio's format" };
    match &said.version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn words(code: &str) -> String {
    if code == "-1" { "no response".to_owned() } else { code.to_owned() }
}

/// How the load was made.
fn load(said: &Said) -> Vec<String> {
    let mut load = Vec::new();
    match said.requested_qps {
        Some(qps) => load.push(format!("{}/s", format_rate(qps))),
        None if said.is_max_qps => load.push("as fast as possible".to_owned()),
        None => {}
    }
    if let Some(words) = &said.requested_duration {
        let is_time = words.starts_with(|c: char| c.is_ascii_digit());
        load.push(if is_time { format!("for {words}") } else { words.clone() });
    }
    load.extend(said.threads.map(|threads| counted(threads, "thread")));
    let switches = [("Uniform", "uniform"), ("Jitter", "jitter"), ("NoCatchUp", "no catch-up")];
    let is_on = |name: &str| said.settings.get(name).is_some_and(|value| value == "true");
    let on = switches.iter().filter(|(name, _)| is_on(name));
    load.extend(on.map(|(_, words)| (*words).to_owned()));
    load
}

/// Facts that results of Plimsoll have too are under the same names.
fn facts(said: &Said, target: Option<&str>) -> BTreeMap<String, String> {
    let mut facts = said.settings.clone();
    let mut add = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let rate = match said.requested_qps {
        Some(qps) if qps > 0.0 => Some(format!("{}/s", format_rate(qps))),
        _ if said.is_max_qps => Some("none".to_owned()),
        _ => None,
    };
    add("rate", rate);
    add("connections", said.threads.map(|threads| threads.to_string()));
    let requests = |count| if count == 0 { "none".to_owned() } else { format!("{count}") };
    add("requests", said.exactly.map(requests));
    add("RequestedDuration", said.requested_duration.clone());
    add("RunType", said.run_type.clone());
    let path = target.and_then(|url| {
        let (_, rest) = url.split_once("://")?;
        Some(rest.find('/').map_or("/", |at| &rest[at..]).to_owned())
    });
    add("endpoint.path", path);
    facts
}

/// Why a run was not carried out as asked for.
fn failure(said: &Said, duration_s: Option<f64>) -> Option<String> {
    let asked = said.requested_duration.as_deref()?;
    if asked.contains("interrupted") {
        return Some(asked.to_owned());
    }
    let asked_ns = duration::parse_ns(asked).filter(|_| !asked.ends_with(char::is_numeric))?;
    let took_s = duration_s?;
    // With jitter the last call may come before the end by a tenth of the time between two calls.
    let is_cut_short = took_s * 1e9 < 0.9 * asked_ns as f64;
    is_cut_short.then(|| {
        let took_ns = (took_s * 1e3).round() as u64 * 1_000_000;
        format!("ended after {} of {asked}", format_duration(took_ns))
    })
}

/// Calls by what came of them.
#[derive(Default)]
struct Counts {
    completed: Option<u64>,
    failed: Option<u64>,
    errors: Option<u64>,
    good: Option<u64>,
    note: Option<String>,
}

impl Counts {
    fn of(said: &Said) -> Self {
        if said.codes.is_empty() {
            return Self::default();
        }
        let sum = |is_counted: &dyn Fn(&str) -> bool| {
            let counts = said.codes.iter().filter(|(code, _)| is_counted(code));
            counts.map(|(_, count)| *count).fold(0, u64::saturating_add)
        };
        let status = |code: &str| code.parse::<i64>().ok();
        let good = sum(&|code| {
            matches!(code, "OK" | "SERVING" | "418")
                || status(code).is_some_and(|code| (200..300).contains(&code))
        });
        let all = sum(&|_| true);
        let is_numeric = said.codes.keys().all(|code| status(code).is_some());
        let kind = said.run_type.as_deref().unwrap_or_default();
        match (is_numeric, kind) {
            (true, _) if !is_own(said) => Self {
                good: Some(good),
                note: Some("it counts good responses alone: failed ones stay unsaid".to_owned()),
                ..Self::default()
            },
            (true, _) => {
                let errors = sum(&|code| status(code).is_some_and(|code| code <= 0));
                let others =
                    sum(&|code| status(code).is_some_and(|code| (300..400).contains(&code)));
                let note = format!(
                    "it counts {} with a status of 3xx as failed, as fortio does",
                    counted(others, "response")
                );
                Self {
                    completed: Some(all.saturating_sub(errors)),
                    failed: Some(all.saturating_sub(errors).saturating_sub(good)),
                    errors: Some(errors),
                    good: Some(good),
                    note: (others > 0).then_some(note),
                }
            }
            (false, "TCP" | "UDP") => Self {
                completed: Some(good),
                failed: Some(0),
                errors: Some(all - good),
                good: Some(good),
                note: None,
            },
            (false, _) => {
                let bad = format_count(all - good);
                let note = format!("it does not say whether the {bad} failed calls were answered");
                Self {
                    completed: Some(all),
                    failed: Some(all - good),
                    errors: None,
                    good: Some(good),
                    note: (all > good).then_some(note),
                }
            }
        }
    }

    fn figures(&self, said: &Said, duration_s: Option<f64>, times: &ServiceTimes) -> Figures {
        let answered = self.completed.map(|completed| {
            let all = completed.saturating_add(self.errors.unwrap_or(0));
            completed as f64 / all.max(1) as f64
        });
        let good_rps = self.good.zip(duration_s.filter(|s| *s > 0.0));
        Figures {
            rate_rps: said.actual_qps.zip(answered).map(|(qps, share)| qps * share),
            good_rps: good_rps.map(|(good, s)| good as f64 / s),
            duration_s,
            completed: self.completed,
            failed: self.failed,
            errors: self.errors,
            service: times.figures(),
            ..Figures::default()
        }
    }
}

/// The histograms that have calls.
fn distributions(said: &Said) -> Vec<Distribution> {
    let bucket = |it: &Bucket| TimeBucket { from_s: it.start, to_s: it.end, count: it.count };
    let known = [
        (TimesOf::Calls, &said.durations),
        (TimesOf::DueCalls, &said.due),
        (TimesOf::FailedCalls, &said.failures),
    ];
    let distribution = |(of, histogram): (TimesOf, &Histogram)| {
        let filled = histogram.buckets.iter().filter(|it| it.count > 0);
        Distribution { of, buckets: filled.map(bucket).collect() }
    };
    known.into_iter().map(distribution).filter(|it| !it.buckets.is_empty()).collect()
}

/// Times with the quantiles that the file has, and with those that figures keep.
fn times(said: &Histogram) -> ServiceTimes {
    let (first, last) = (said.buckets.first(), said.buckets.last());
    let min = said.min.or_else(|| first.map(|it| it.start));
    let max = said.max.or_else(|| last.map(|it| it.end));
    let held = said.buckets.iter().map(|it| it.count).fold(0, u64::saturating_add);
    let range = min.zip(max).filter(|_| held > 0);
    let at = |percent: f64| range.map(|range| percentile(&said.buckets, range, percent));
    let scale = scale(said);
    let mut quantiles: Vec<Interpolated> = said
        .percentiles
        .iter()
        .map(|(percent, s)| (percent * scale, *s))
        .filter(|(percent, _)| *percent > 0.0 && *percent < 100.0)
        .map(|(percent, s)| Interpolated {
            q: quantile_of(percent),
            s,
            bucket_s: at(percent).map(|(_, bucket)| bucket),
            is_said: true,
        })
        .collect();
    let mut times = ServiceTimes {
        count: said.count.or_else(|| (held > 0).then_some(held)),
        min_s: min.filter(|_| held > 0),
        mean_s: said.mean.filter(|_| held > 0),
        stdev_s: said.stdev.filter(|_| held > 0),
        max_s: max.filter(|_| held > 0),
        quantiles: Vec::new(),
    };
    for q in KEPT.into_iter().filter(|q| times.has_beyond(*q)) {
        let is_said = quantiles.iter().any(|it| (it.q - q).abs() < 1e-9);
        if let Some((s, bucket)) = at(q * 100.0).filter(|_| !is_said) {
            quantiles.push(Interpolated { q, s, bucket_s: Some(bucket), is_said });
        }
    }
    quantiles.sort_by(|a, b| a.q.total_cmp(&b.q));
    times.quantiles = quantiles;
    times
}

/// What the file's percentiles have to be multiplied by. Nighthawk once wrote fractions: whether a
/// file does is known by where the greatest of them lies among the buckets.
fn scale(said: &Histogram) -> f64 {
    const PERCENT: f64 = 1.0;
    const FRACTION: f64 = 100.0;
    let greatest = said.percentiles.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((percent, value)) = greatest.filter(|(percent, _)| *percent <= 1.0) else {
        return PERCENT;
    };
    let count = |is_counted: &dyn Fn(f64) -> bool| {
        let buckets = said.buckets.iter().filter(|it| is_counted(it.end));
        buckets.map(|it| it.count as f64).sum::<f64>()
    };
    let below = 100.0 * count(&|end| end <= value) / count(&|_| true).max(1.0);
    let distance = |scale: f64| (below - percent * scale).abs();
    if distance(FRACTION) < distance(PERCENT) { FRACTION } else { PERCENT }
}

/// Exactly as a literal would be: 99.9 is 0.999.
fn quantile_of(percent: f64) -> f64 {
    (percent * 1e4).round() / 1e6
}
