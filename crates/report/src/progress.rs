//! The live line of a run: no wider than the terminal, rewritten once a second.

use plimsoll_core::clock::Clock;
use plimsoll_core::live::LiveFigures;
use plimsoll_core::series::Point;
use plimsoll_core::units::{counted, format_count, format_duration, format_ns, format_rate};

/// From here on a status says that the request failed (RFC 9110, section 15.5).
const FIRST_ERROR_STATUS: u16 = 400;

/// The line, without an end of line; words that do not fit into the columns are left out from the
/// end, because a line that wraps could not be taken away again.
#[must_use]
pub fn line(figures: &LiveFigures, columns: usize) -> String {
    let mut words = match &figures.last {
        Some(last) => interval(figures, last),
        None => vec![opened(figures)],
    };
    while words.iter().map(|word| word.chars().count() + 2).sum::<usize>() > columns + 2 {
        words.pop();
    }
    words.join("  ")
}

/// How a run begins: there is no interval yet.
fn opened(figures: &LiveFigures) -> String {
    // A script opens connections as it goes on.
    let Some(opened) = figures.opened else { return "starting".to_owned() };
    let open = counted(u64::from(opened), "connection");
    match figures.planned.warmup_ns {
        0 => format!("{open} open"),
        warmup_ns => format!("{open} open, warming up for {}", format_duration(warmup_ns)),
    }
}

/// The run to the end of its last interval.
fn interval(figures: &LiveFigures, last: &Point) -> Vec<String> {
    // The line shows that interval, so it matters when it began, not what goes on by now.
    let is_draining = figures.planned.duration_ns.is_some_and(|ns| last.t_ns >= ns);
    let planned_ns = figures.planned.duration_ns.filter(|_| !is_draining);
    let mut words = vec![match is_draining {
        true => draining(figures, last),
        false => position(figures, last),
    }];
    words.extend(pace(last, planned_ns));
    let ledger = &figures.ledger;
    let failed = ledger.failed + ledger.refused + ledger.timed_out + ledger.broken + ledger.shed;
    // Where no request could be sent, the attempts tell why.
    let attempts = if failed == 0 { figures.errors } else { 0 };
    for (count, word) in [(failed, "failed"), (attempts, "attempts to send failed")] {
        if count > 0 {
            words.push(format!("{} {word}", short(count)));
        }
    }
    let errors = figures.status.iter().filter(|(status, _)| **status >= FIRST_ERROR_STATUS);
    if let Some((status, count)) = errors.max_by_key(|(_, count)| **count) {
        words.push(format!("{status} x {}", short(*count)));
    }
    words
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

fn draining(figures: &LiveFigures, last: &Point) -> String {
    let open = figures.ledger.sent.saturating_sub(done(figures));
    format!("draining {}, {} open", whole_seconds(end_ns(last)), short(open))
}

fn position(figures: &LiveFigures, last: &Point) -> String {
    let elapsed = whole_seconds(end_ns(last));
    match (figures.planned.requests, figures.planned.duration_ns) {
        (Some(requests), _) => format!("{elapsed}  {}/{}", short(done(figures)), short(requests)),
        (None, Some(planned_ns)) if end_ns(last) >= planned_ns => {
            format!("{0}/{0}", planned(planned_ns))
        }
        (None, Some(planned_ns)) => format!("{elapsed}/{}", planned(planned_ns)),
        (None, None) => elapsed,
    }
}

/// Requests that have ended.
fn done(figures: &LiveFigures) -> u64 {
    let ledger = &figures.ledger;
    ledger.completed + ledger.refused + ledger.timed_out + ledger.broken
}

fn end_ns(point: &Point) -> u64 {
    point.t_ns + point.interval_ns
}

/// As the plan says it, where it is no whole number of seconds.
fn planned(planned_ns: u64) -> String {
    let is_whole = planned_ns.is_multiple_of(1_000_000_000);
    if is_whole { whole_seconds(planned_ns) } else { format_duration(planned_ns) }
}

/// The rate and the times of an interval. The last one of a load that ends at `planned_ns` may be
/// longer than its load.
fn pace(point: &Point, planned_ns: Option<u64>) -> Vec<String> {
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
    use plimsoll_core::Ledger;
    use plimsoll_core::live::Planned;

    use super::*;
    use crate::samples;

    const SECOND_NS: u64 = 1_000_000_000;

    fn for_ns(duration_ns: Option<u64>) -> Planned {
        Planned { duration_ns, ..Planned::default() }
    }

    #[test]
    fn lines() {
        let stall = samples::stall();
        let ramp = samples::ramp();
        let at = |second: usize| Some(stall.series.points()[second].clone());
        let late = Point { t_ns: 3_722 * SECOND_NS, ..ramp.series.points()[12].clone() };
        let planned = for_ns(Some(10 * SECOND_NS));
        let measuring = LiveFigures { planned, last: at(5), ..LiveFigures::default() };
        let half = Ledger { sent: 600, completed: 500, ok: 500, ..Ledger::default() };
        let of_half_a_second = for_ns(Some(5_500_000_000));
        let cases = [
            LiveFigures { opened: Some(50), last: None, ..measuring.clone() },
            LiveFigures {
                opened: Some(1),
                planned: Planned { warmup_ns: 5 * SECOND_NS, ..planned },
                last: None,
                ..measuring.clone()
            },
            LiveFigures { last: at(4), ..measuring.clone() },
            LiveFigures { planned: for_ns(Some(5 * SECOND_NS)), ledger: half, ..measuring.clone() },
            LiveFigures {
                planned: Planned { requests: Some(12_345), ..planned },
                ledger: half,
                ..measuring.clone()
            },
            LiveFigures { planned: for_ns(None), ..measuring.clone() },
            // The sixth interval has half a second of load.
            LiveFigures { planned: of_half_a_second, last: at(4), ..measuring.clone() },
            LiveFigures { planned: of_half_a_second, ..measuring },
            LiveFigures {
                planned: for_ns(Some(86_400 * SECOND_NS)),
                ledger: ramp.ledger,
                last: Some(late),
                errors: 412_000,
                status: [(200, 9_000), (404, 3), (503, 4_000)].into(),
                ..LiveFigures::default()
            },
        ];
        insta::assert_snapshot!(cases.iter().map(|case| line(case, 100)).collect::<Vec<_>>().join("\n"), @r"
        50 connections open
        1 connection open, warming up for 5s
        5s/10s  1 000/s  p50 39.7 µs  p99 87.9 µs
        draining 6s, 100 open  1 000/s  p50 47.5 µs  p99 290 ms
        6s  500/12 345  1 000/s  p50 47.5 µs  p99 290 ms
        6s  1 000/s  p50 47.5 µs  p99 290 ms
        5s/5500ms  1 000/s  p50 39.7 µs  p99 87.9 µs
        5500ms/5500ms  2 000/s  p50 47.5 µs  p99 290 ms
        62m03s/24h00m  1 880/s  p50 18.2 ms  p99 45.4 ms  5 284 failed  503 x 4 000
        ");
    }

    #[test]
    fn a_line_fits_whatever_the_counts() {
        let mut point = Point { interval_ns: 1, completed: u64::MAX >> 30, ..Point::default() };
        let mut histogram = plimsoll_core::Histogram::new();
        histogram.record(3_600_000_000_000);
        point.response = histogram.pack();
        let huge = 999_999_999_999;
        point.t_ns = 86_000 * SECOND_NS;
        let figures = LiveFigures {
            planned: Planned { requests: Some(huge), ..Planned::default() },
            ledger: Ledger { failed: huge, timed_out: huge, ..Ledger::default() },
            errors: huge,
            last: Some(point),
            ..LiveFigures::default()
        };
        let warming_up = LiveFigures {
            planned: Planned { warmup_ns: 86_399 * SECOND_NS, ..Planned::default() },
            opened: Some(u32::MAX),
            ..LiveFigures::default()
        };
        for columns in [40, 80, 100] {
            for figures in [&figures, &warming_up] {
                let line = line(figures, columns);
                assert!(line.chars().count() <= columns && !line.contains('\n'), "{line}");
            }
        }
    }
}
