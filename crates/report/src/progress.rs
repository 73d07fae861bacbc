//! The live line of a run: no wider than the terminal, rewritten once a second.

use plimsoll_core::Ledger;
use plimsoll_core::clock::Clock;
use plimsoll_core::series::Point;
use plimsoll_core::units::{format_count, format_duration, format_ns, format_rate};

/// What part of a run is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunPart {
    /// The measured part.
    #[default]
    Measuring,
    /// Requests are no longer started; those open may still end.
    Draining,
}

/// A run at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProgressSnapshot<'a> {
    /// What is going on.
    pub stage: RunPart,
    /// Time since that began, ns.
    pub elapsed_ns: u64,
    /// How long it is to last, ns; `None` when only the number of requests is known.
    pub planned_ns: Option<u64>,
    /// How many requests are to be started, where the plan says so.
    pub planned_requests: Option<u64>,
    /// Where the requests of this part went so far.
    pub ledger: Ledger,
    /// Events counted as errors so far.
    pub errors: u64,
    /// The last whole interval.
    pub last: Option<&'a Point>,
}

/// The line, without an end of line; words that do not fit into the columns are left out from the
/// end, because a line that wraps could not be taken away again.
#[must_use]
pub fn line(snapshot: &ProgressSnapshot<'_>, columns: usize) -> String {
    let mut words = vec![position(snapshot)];
    if let Some(point) = snapshot.last {
        words.extend(pace(point, snapshot));
    }
    let ledger = &snapshot.ledger;
    let lost = ledger.refused + ledger.timed_out + ledger.broken;
    let errors = if snapshot.errors == 1 { "error" } else { "errors" };
    let counts = [(ledger.failed, "failed"), (lost, "lost"), (snapshot.errors, errors)];
    for (count, word) in counts {
        if count > 0 {
            words.push(format!("{} {word}", short(count)));
        }
    }
    while words.iter().map(|word| word.chars().count() + 2).sum::<usize>() > columns + 2 {
        words.pop();
    }
    words.join("  ")
}

/// A count in at most six columns.
fn short(count: u64) -> String {
    match count {
        0..=99_999 => format_count(count),
        100_000..=9_999_999 => format!("{}k", count / 1_000),
        10_000_000..=9_999_999_999 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

/// Whole seconds: a line that is redrawn each second shows no more.
fn whole_seconds(time_ns: u64) -> String {
    let seconds = time_ns / 1_000_000_000;
    match seconds {
        0..=119 => format!("{seconds}s"),
        120..=7_199 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

fn position(snapshot: &ProgressSnapshot<'_>) -> String {
    let ledger = &snapshot.ledger;
    let done =
        ledger.completed + ledger.refused + ledger.timed_out + ledger.broken + ledger.unfinished;
    let elapsed = whole_seconds(snapshot.elapsed_ns);
    if snapshot.stage == RunPart::Draining {
        let open = short(ledger.sent.saturating_sub(done));
        return format!("draining {elapsed}, {open} open");
    }
    match (snapshot.planned_requests, snapshot.planned_ns) {
        (Some(requests), _) => format!("{elapsed}  {}/{}", short(done), short(requests)),
        (None, Some(planned_ns)) if snapshot.elapsed_ns >= planned_ns => {
            format!("{0}/{0}", planned(planned_ns))
        }
        (None, Some(planned_ns)) => format!("{elapsed}/{}", planned(planned_ns)),
        (None, None) => elapsed,
    }
}

/// As the plan says it, where it is no whole number of seconds.
fn planned(planned_ns: u64) -> String {
    let is_whole = planned_ns.is_multiple_of(1_000_000_000);
    if is_whole { whole_seconds(planned_ns) } else { format_duration(planned_ns) }
}

/// The rate and the times of an interval. The last one may be longer than its load.
fn pace(point: &Point, snapshot: &ProgressSnapshot<'_>) -> Vec<String> {
    let planned_ns = snapshot.planned_ns.filter(|_| snapshot.stage == RunPart::Measuring);
    let left_ns = planned_ns.map_or(u64::MAX, |ns| ns.saturating_sub(point.t_ns));
    let load_ns = point.interval_ns.min(left_ns).max(1);
    let rate = point.completed as f64 * 1e9 / load_ns as f64;
    let mut words = vec![format!("{}/s", format_rate(rate))];
    let histogram = Clock::HEADLINE.of_point(point).unpack();
    for (name, q) in [("p50", 0.5), ("p99", 0.99)] {
        words.extend(histogram.quantile_ns(q).map(|ns| format!("{name} {}", format_ns(ns))));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn lines() {
        let stall = samples::stall();
        let ramp = samples::ramp();
        let measuring = ProgressSnapshot {
            elapsed_ns: 5_000_000_000,
            planned_ns: Some(10_000_000_000),
            last: Some(&stall.series.points()[5]),
            ..ProgressSnapshot::default()
        };
        let half = Ledger { sent: 600, completed: 500, ok: 500, ..Ledger::default() };
        let cases = [
            measuring,
            ProgressSnapshot { last: None, ..measuring },
            ProgressSnapshot { stage: RunPart::Draining, ledger: half, last: None, ..measuring },
            ProgressSnapshot { planned_requests: Some(12_345), ledger: half, ..measuring },
            ProgressSnapshot { planned_ns: None, last: None, ..measuring },
            // The sixth interval has half a second of load.
            ProgressSnapshot { planned_ns: Some(5_500_000_000), ..measuring },
            ProgressSnapshot {
                elapsed_ns: 6_000_000_000,
                planned_ns: Some(5_500_000_000),
                ..measuring
            },
            ProgressSnapshot {
                elapsed_ns: 3_723_000_000_000,
                planned_ns: Some(86_400_000_000_000),
                ledger: ramp.ledger,
                last: Some(&ramp.series.points()[12]),
                errors: 412_000,
                ..measuring
            },
        ];
        insta::assert_snapshot!(cases.iter().map(|case| line(case, 100)).collect::<Vec<_>>().join("\n"), @r"
        5s/10s  1 000/s  p50 47.5 µs  p99 290 ms
        5s/10s
        draining 5s, 100 open
        5s  500/12 345  1 000/s  p50 47.5 µs  p99 290 ms
        5s
        5s/5500ms  2 000/s  p50 47.5 µs  p99 290 ms
        5500ms/5500ms  2 000/s  p50 47.5 µs  p99 290 ms
        62m03s/24h00m  1 880/s  p50 18.2 ms  p99 45.4 ms  5 013 failed  271 lost  412k errors
        ");
    }

    #[test]
    fn a_line_fits_whatever_the_counts() {
        let mut point = Point { interval_ns: 1, completed: u64::MAX >> 30, ..Point::default() };
        let mut histogram = plimsoll_core::Histogram::new();
        histogram.record(3_600_000_000_000);
        point.response = histogram.pack();
        let huge = 999_999_999_999;
        let snapshot = ProgressSnapshot {
            elapsed_ns: 86_000_000_000_000,
            planned_requests: Some(huge),
            ledger: Ledger { failed: huge, timed_out: huge, ..Ledger::default() },
            errors: huge,
            last: Some(&point),
            ..ProgressSnapshot::default()
        };
        for columns in [40, 80, 100] {
            let line = line(&snapshot, columns);
            assert!(line.chars().count() <= columns && !line.contains('\n'), "{line}");
        }
    }
}
