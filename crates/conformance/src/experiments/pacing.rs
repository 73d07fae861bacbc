//! Whether requests are sent when they should be: precision, bursts, catching up, the rate itself,
//! and whether a seed makes a run repeat.

use super::Experiment;
use crate::harness::{Bench, Reference, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of};
use crate::oracle::{Log, Mode, TimeSpan};
use crate::tool::{Ask, Call, Need, Reading};

pub(super) const ALL: [Experiment; 6] = [
    Experiment {
        name: "send-precision",
        row: 4,
        title: "Timers of a millisecond: requests are sent late and answers read late",
        method: "100 requests/s for 5 s over 10 connections; the oracle answers at once",
        truth: "arrivals stand on a grid of 10 ms; the median latency is the oracle's own, and \
                what two crossings of the loopback cost. A bare loop sends the same before and \
                after: what it is late by is the machine's",
        tolerance: "behind the grid p50 100 µs, p99 500 µs; the median 100 µs over the \
                    oracle's own; each after what the bare loop had",
        needs_quiet: true,
        run: send_precision,
    },
    Experiment {
        name: "microbursts",
        row: 5,
        title: "An even rate comes in bursts",
        method: "10 000 requests/s for 3 s over 256 connections",
        truth: "ten arrivals in each millisecond",
        tolerance: "95 % of the requests; variance over mean of arrivals per millisecond below \
                    0.3, in the middle one of tenths of a second: the machine takes CPUs away now \
                    and then, a tester's bursts are always there",
        needs_quiet: true,
        run: microbursts,
    },
    Experiment {
        name: "poisson",
        row: 5,
        title: "Poisson arrivals are not Poisson",
        method: "2000 requests/s, Poisson, for 4 s over 256 connections",
        truth: "arrivals per millisecond have their mean as variance; gaps are exponential",
        tolerance: "variance over mean, as above, 0.9 to 1.1; Kolmogorov-Smirnov distance of the \
                    gaps 0.05",
        needs_quiet: true,
        run: poisson,
    },
    Experiment {
        name: "catch-up",
        row: 6,
        title: "Requests that a stall kept back are dropped silently",
        method: "1000 requests/s for 4 s over 50 connections; from 1 s to 2 s the oracle reads and \
                 does not answer",
        truth: "4000 requests were due: each was sent or is reported as dropped",
        tolerance: "1; how fast the tester catches up is shown, not judged",
        needs_quiet: false,
        run: catch_up,
    },
    Experiment {
        name: "rate-arithmetic",
        row: 7,
        title: "The rate is divided among threads or connections and does not add up again",
        method: "0.5/s for 6 s, 3/s over 64 connections, 7/s over 7, 997/s over 64 and 20 011/s \
                 over 64, each for 3 s",
        truth: "the rate times the time",
        tolerance: "1 request",
        needs_quiet: true,
        run: rate_arithmetic,
    },
    Experiment {
        name: "seed",
        row: 35,
        title: "The same seed is not the same run",
        method: "500 requests/s, Poisson, of three paths, for 2 s over 50 connections: twice with \
                 one seed, once with another",
        truth: "the same paths in the same order at the same times; with another seed others",
        tolerance: "times: 95 % within 2 ms",
        needs_quiet: true,
        run: seed,
    },
];

fn send_precision(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 10,
        rate_rps: Some(100.0),
        duration_s: Some(bench.pick(5.0, 3.0)),
        ..Ask::to("/")
    };
    let mode = Mode { spin: true, ..Mode::default() };
    let (run, bare) = between_references(bench, subject, ask, mode)?;
    judge_precision(&run.reading, &run.log, &bare, 100.0)
}

/// A run of the tester, and the bare loop's before and after it, half as long each.
fn between_references(
    bench: &Bench,
    subject: &Subject,
    ask: Ask,
    mode: Mode,
) -> Result<(Run, [Reference; 2]), Judgement> {
    // What cannot be asked for needs no reference.
    if let Call::CannotExpress(why) = subject.tool.call(&ask) {
        return Err(Judgement::CannotExpress { why });
    }
    let half = Ask { duration_s: ask.duration_s.map(|load_s| load_s / 2.0), ..ask.clone() };
    let before = bench.reference(&half, &mode)?;
    let run = bench.measure(subject, &Setup::new(ask, mode.clone()))?;
    Ok((run, [before, bench.reference(&half, &mode)?]))
}

/// How far each arrival is behind the grid that fits best, seconds, ascending. The grid's step is
/// exact; where it begins is where no arrival is before its place.
fn behind_grid_s(arrivals_s: &[f64], rate_rps: f64) -> Vec<f64> {
    let offsets = || arrivals_s.iter().enumerate().map(|(i, at_s)| at_s - i as f64 / rate_rps);
    let origin_s = offsets().fold(f64::INFINITY, f64::min);
    let mut behind: Vec<f64> = offsets().map(|offset_s| offset_s - origin_s).collect();
    behind.sort_by(f64::total_cmp);
    behind
}

/// The worse of two figures of the bare loop.
fn worse(bare: &[Reference; 2], figure: impl Fn(&Reference) -> Option<f64>) -> f64 {
    bare.iter().filter_map(figure).fold(0.0, f64::max)
}

fn judge_precision(
    reading: &Reading,
    log: &Log,
    bare: &[Reference; 2],
    rate_rps: f64,
) -> Result<Judgement, Judgement> {
    let late_s = |log: &Log, q| quantile_of(&behind_grid_s(&log.arrivals_s(), rate_rps), q);
    let (Some(p50_s), Some(p99_s)) = (late_s(log, 0.5), late_s(log, 0.99)) else {
        return Ok(Judgement::fail("no request arrived", "100 a second"));
    };
    let bare_s = |q| worse(bare, |bare| late_s(&bare.log, q));
    let mut checks = Checks::default();
    checks.between("sent late p50", Unit::Time, p50_s, 0.0, bare_s(0.5) + 100e-6);
    checks.between("p99", Unit::Time, p99_s, 0.0, bare_s(0.99) + 500e-6);
    let own_s = quantile_of(&log.service_s(), 0.5).unwrap_or(0.0);
    let took_s = worse(bare, |bare| quantile_of(&bare.latency_s, 0.5)).max(own_s);
    checks.between("latency p50", Unit::Time, quantile(reading, 0.5)?, own_s, took_s + 100e-6);
    checks.note(format!(
        "a bare loop {}, {}, {}",
        Unit::Time.show(bare_s(0.5)),
        Unit::Time.show(bare_s(0.99)),
        Unit::Time.show(took_s)
    ));
    Ok(checks.outcome())
}

fn microbursts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let ask = Ask {
        connections: 256,
        rate_rps: Some(10_000.0),
        duration_s: Some(load_s),
        ..Ask::to("/")
    };
    let mode = Mode { spin: true, ..Mode::default() };
    // Half the rate has half the variance over mean.
    let least = (load_s * 9_500.0) as u64;
    let run = bench.load(subject, &Setup { least, ..Setup::new(ask, mode) })?;
    let mut checks = Checks::default();
    let dispersion = dispersion(&run.log.arrivals_s(), 0.3, load_s - 0.2);
    checks.between("variance/mean", Unit::Count, dispersion, 0.0, 0.3);
    Ok(checks.outcome())
}

fn poisson(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 256,
        rate_rps: Some(2000.0),
        poisson: true,
        duration_s: Some(4.0),
        seed: Some(7),
        ..Ask::to("/")
    };
    let mode = Mode { spin: true, ..Mode::default() };
    let run = bench.load(subject, &Setup::new(ask, mode))?;
    Ok(judge_poisson(&run.log.arrivals_s(), 2000.0, 4.0))
}

fn judge_poisson(arrivals_s: &[f64], rate_rps: f64, load_s: f64) -> Judgement {
    let mut checks = Checks::default();
    let dispersion = dispersion(arrivals_s, 0.2, load_s - 0.2);
    checks.between("variance/mean", Unit::Count, dispersion, 0.9, 1.1);
    checks.between(
        "KS distance",
        Unit::Count,
        exponential_distance(arrivals_s, rate_rps),
        0.0,
        0.05,
    );
    checks.outcome()
}

/// Variance over mean of arrivals per millisecond, from `from_s` to `to_s`: the median of windows
/// of 100 ms. No number when nothing came.
pub(super) fn dispersion(arrivals_s: &[f64], from_s: f64, to_s: f64) -> f64 {
    const WINDOW_MS: usize = 100;
    let windows = ((to_s - from_s) * 1e3).round() as usize / WINDOW_MS;
    let mut counts = vec![0.0_f64; windows * WINDOW_MS];
    for at_s in arrivals_s {
        let bin = (at_s - from_s) * 1e3;
        if bin >= 0.0 && bin < counts.len() as f64 {
            counts[bin as usize] += 1.0;
        }
    }
    let mut ratios: Vec<f64> = counts.chunks_exact(WINDOW_MS).map(variance_over_mean).collect();
    ratios.sort_by(f64::total_cmp);
    quantile_of(&ratios, 0.5).unwrap_or(f64::NAN)
}

fn variance_over_mean(counts: &[f64]) -> f64 {
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let squares = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>();
    squares / (counts.len() - 1) as f64 / mean
}

/// The greatest distance between the distribution of the gaps and the exponential one of this rate
/// (Kolmogorov-Smirnov).
fn exponential_distance(arrivals_s: &[f64], rate_rps: f64) -> f64 {
    let mut gaps: Vec<f64> = arrivals_s.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    let distances = gaps.iter().enumerate().map(|(i, gap_s)| {
        let want = 1.0 - (-gap_s * rate_rps).exp();
        (want - i as f64 / count).abs().max((want - (i + 1) as f64 / count).abs())
    });
    if gaps.is_empty() { 1.0 } else { distances.fold(0.0, f64::max) }
}

fn catch_up(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask =
        Ask { connections: 50, rate_rps: Some(1000.0), duration_s: Some(4.0), ..Ask::to("/") };
    let stall = TimeSpan { from_ns: 1_000_000_000, for_ns: 1_000_000_000 };
    let setup = Setup::new(ask, Mode { stall: Some(stall), ..Mode::default() });
    let run = bench.measure(subject, &setup)?;
    Ok(judge_catch_up(&run.reading, &run.log.arrivals_s()))
}

fn judge_catch_up(reading: &Reading, arrivals_s: &[f64]) -> Judgement {
    let mut checks = Checks::default();
    let sent = arrivals_s.len() as f64;
    // Who has no count of them may count them as errors.
    let dropped = reading.dropped.or(reading.errors).unwrap_or(0) as f64;
    checks.between("sent", Unit::Count, sent, 0.0, 4001.0);
    checks.between("sent or said to be dropped", Unit::Count, sent + dropped, 3999.0, 4001.0);
    let within = |from_s: f64, to_s: f64| {
        arrivals_s.iter().filter(|at_s| (from_s..to_s).contains(*at_s)).count()
    };
    checks.note(format!("{} sent during the stall", within(1.0, 2.0)));
    // The schedule's line, with room for the last of a burst.
    let caught_up = arrivals_s
        .iter()
        .enumerate()
        .find(|(i, at_s)| **at_s > 2.0 && (*i + 2) as f64 / 1000.0 >= **at_s);
    checks.note(match caught_up {
        Some((_, at_s)) => format!("caught up {} after it", Unit::Time.show(at_s - 2.0)),
        None => "never caught up".to_owned(),
    });
    checks.outcome()
}

fn rate_arithmetic(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let combinations = [
        (0.5, 1, 6.0),
        (3.0, 64, load_s),
        (7.0, 7, load_s),
        (997.0, 64, load_s),
        (20_011.0, 64, load_s),
    ];
    let mut counts = Vec::new();
    let mut refused = None;
    for (rate_rps, connections, load_s) in combinations {
        let ask =
            Ask { connections, rate_rps: Some(rate_rps), duration_s: Some(load_s), ..Ask::to("/") };
        // What it sent is what is judged.
        match bench.load(subject, &Setup { least: 0, ..Setup::new(ask, Mode::default()) }) {
            Ok(run) => {
                counts.push((rate_rps, load_s, Some(run.log.entries.len() as u64)));
            }
            Err(Judgement::CannotExpress { why }) => {
                counts.push((rate_rps, load_s, None));
                refused = Some(why);
            }
            Err(other) => return Err(other),
        }
    }
    match refused {
        Some(why) if counts.iter().all(|(_, _, count)| count.is_none()) => {
            Err(Judgement::CannotExpress { why })
        }
        _ => Ok(judge_rates(&counts)),
    }
}

/// Rates, times, and how many requests the oracle saw; `None`: not possible to ask for.
fn judge_rates(counts: &[(f64, f64, Option<u64>)]) -> Judgement {
    let mut checks = Checks::default();
    for &(rate_rps, load_s, count) in counts {
        let truth = rate_rps * load_s;
        match count {
            Some(count) => {
                let name = format!("{rate_rps}/s");
                checks.between(&name, Unit::Count, count as f64, truth - 1.0, truth + 1.0);
            }
            None => checks.note(format!("{rate_rps}/s can't be asked for")),
        }
    }
    checks.outcome()
}

fn seed(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let run = |seed, extra: &[Need]| {
        let ask = Ask {
            connections: 50,
            rate_rps: Some(500.0),
            poisson: true,
            duration_s: Some(2.0),
            seed: Some(seed),
            extra: extra.to_vec(),
            ..Ask::to("/")
        };
        bench.load(subject, &Setup::new(ask, Mode { spin: true, ..Mode::default() }))
    };
    let paths = ["/a", "/b", "/c"].map(|path| (path.to_owned(), 1));
    let mut extra = vec![Need::Targets(paths.to_vec())];
    let first = match run(7, &extra) {
        Err(Judgement::CannotExpress { .. }) => {
            extra.clear();
            run(7, &extra)?
        }
        other => other?,
    };
    let (again, other) = (run(7, &extra)?, run(8, &extra)?);
    let mixed = !extra.is_empty();
    Ok(judge_seed([&first, &again, &other].map(|run: &Run| &run.log), mixed))
}

/// Two runs with one seed and one with another. `mixed`: whether they asked for several paths.
fn judge_seed([first, again, other]: [&Log; 3], mixed: bool) -> Judgement {
    let mut checks = Checks::default();
    let same = same_times(&first.arrivals_s(), &again.arrivals_s());
    let by_chance = same_times(&first.arrivals_s(), &other.arrivals_s());
    checks.between("arrivals at the same times", Unit::Share, same, 0.95, 1.0);
    checks.between("with another seed", Unit::Share, by_chance, 0.0, 0.5);
    let paths = |log: &Log| log.entries.iter().map(|entry| entry.path).collect::<Vec<_>>();
    if mixed {
        let same = paths(first) == paths(again);
        let differs = paths(first) != paths(other);
        let figure = if same { "paths in the same order" } else { "paths in another order" };
        checks.holds(same, figure, "paths in the same order");
        checks.holds(differs, "", "another order with another seed");
    } else {
        checks.note("one path only");
    }
    checks.outcome()
}

/// The share of arrivals that came at the same time in both, within 2 ms.
fn same_times(one_s: &[f64], other_s: &[f64]) -> f64 {
    let same = one_s.iter().zip(other_s).filter(|(a, b)| (*a - *b).abs() < 0.002).count();
    same as f64 / one_s.len().max(other_s.len()).max(1) as f64
}

#[cfg(test)]
mod tests;
