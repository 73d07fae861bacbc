//! Whether figures mean what they claim: separate outcomes, precision, warm-up, small samples,
//! ramps.

use super::Experiment;
use crate::harness::{Bench, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, printed, quantile, quantile_name, quantile_of, said};
use crate::oracle::{Act, Log, Mode, TimeSpan};
use crate::tool::{Ask, Need, Reading};

pub(super) const ALL: [Experiment; 7] = [
    Experiment {
        name: "fast-errors",
        row: 11,
        title: "Fast errors flatter the latency",
        method: "10 connections, closed loop, 3 s; 60 % are 503 in 0.1 ms, 40 % are 200 in 50 ms",
        truth: "the median of the good responses is 50 ms",
        tolerance: "a median of good responses, as the headline or beside it: 3 % and 3 ms",
        needs_quiet: true,
        run: fast_errors,
    },
    Experiment {
        name: "precision",
        row: 12,
        title: "Coarse or clamped histograms",
        method: "1000 requests over 100 connections: 550 take 12.34 ms, 330 123.4 ms, 105 1.234 s, \
                 14 5.678 s and one 65 s (with --quick 8.765 s)",
        truth: "the quantiles and the maximum of the oracle's own times",
        tolerance: "0.1 %, and 2 ms for the crossing; quantiles ascend to the maximum",
        needs_quiet: true,
        run: precision,
    },
    Experiment {
        name: "little",
        row: 14,
        title: "Rate and latency do not fit each other (Little's law)",
        method: "one connection, closed loop, 2 s; each is answered in 1 ms",
        truth: "the rate times the mean latency is the one request that is always open",
        tolerance: "0.97 to 1.005; the rate 3 % from the oracle's",
        needs_quiet: true,
        run: little,
    },
    Experiment {
        name: "warm-up",
        row: 31,
        title: "The warm-up is in the figures, or out of the books",
        method: "200 requests/s for 4 s after 2 s of warm-up; the oracle takes 50 ms in its first \
                 2 s and 1 ms from then on",
        truth: "p95 is 1 ms, and every request that the oracle saw is accounted for",
        tolerance: "p95 at most 10 ms; the count exactly, where the warm-up's is given",
        needs_quiet: true,
        run: warm_up,
    },
    Experiment {
        name: "hidden-discard",
        row: 31,
        title: "The first seconds are thrown away unasked",
        method: "200 requests/s for 5 s; the oracle takes 50 ms in its first 2 s and 1 ms from \
                 then on",
        truth: "p75 is 50 ms: the first seconds were asked for too",
        tolerance: "3 % and 3 ms",
        needs_quiet: true,
        run: hidden_discard,
    },
    Experiment {
        name: "few-samples",
        row: 33,
        title: "A tail is quoted from too few samples",
        method: "200 requests over one connection",
        truth: "200 samples have no 99.9th percentile other than their maximum",
        tolerance: "p99.9 and beyond are not shown, or shown as unknown; a median is shown, and \
                    all 200 were sent",
        needs_quiet: false,
        run: few_samples,
    },
    Experiment {
        name: "ramp",
        row: 34,
        title: "A ramp is not what was asked for, or its summary fits no rate",
        method: "from 500 to 2500 requests/s in 4 s over 50 connections",
        truth: "6000 requests, those of each second on the ramp's line; the rate is their number \
                over the time",
        tolerance: "the number 1; each second 2 %; the rate 2 %",
        needs_quiet: true,
        run: ramp,
    },
];

const MS: u64 = 1_000_000;

fn fast_errors(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let ask = Ask { connections: 10, duration_s: Some(load_s), ..Ask::to("/") };
    let mode = Mode::mixed(&[(6, MS / 10, Act::Status(503)), (4, 50 * MS, Act::Status(200))]);
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_outcomes(&run.reading, 0.05)
}

fn judge_outcomes(reading: &Reading, truth_s: f64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let headline_s = quantile(reading, 0.5)?;
    match printed(&reading.ok_quantiles, 0.5) {
        Some(ok_s) => {
            checks.near("p50 of good ones", Unit::Time, ok_s, truth_s, 0.03, 0.003);
            checks.note(format!("headline p50 {}", Unit::Time.show(headline_s)));
        }
        None => checks.near("p50", Unit::Time, headline_s, truth_s, 0.03, 0.003),
    }
    Ok(checks.outcome())
}

fn precision(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let longest_ms = bench.pick(65_000, 8_765);
    let ask =
        Ask { connections: 100, requests: Some(1000), timeout_s: Some(100.0), ..Ask::to("/") };
    let good = Act::Status(200);
    let mode = Mode::mixed(&[
        (550, 12_340_000, good),
        (330, 123_400_000, good),
        (105, 1_234_000_000, good),
        (14, 5_678_000_000, good),
        (1, longest_ms * MS, good),
    ]);
    let setup = Setup { extra_s: 80.0, ..Setup::new(ask, mode) };
    let run = bench.measure(subject, &setup)?;
    judge_precision(&run.reading, &run.log)
}

fn judge_precision(reading: &Reading, log: &Log) -> Result<Judgement, Judgement> {
    let own_s = log.service_s();
    let mut checks = Checks::default();
    quantile(reading, 0.5)?;
    for q in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999] {
        let truth_s = said(quantile_of(&own_s, q), "anything: no request was answered")?;
        if let Some(value_s) = printed(&reading.quantiles, q) {
            checks.near(&quantile_name(q), Unit::Time, value_s, truth_s, 0.001, 0.002);
        }
    }
    let longest_s = own_s.last().copied().unwrap_or(0.0);
    if let Some(max_s) = reading.max_s {
        checks.near("max", Unit::Time, max_s, longest_s, 0.001, 0.002);
        let ascend = reading.quantiles.windows(2).all(|pair| pair[0].1 <= pair[1].1);
        let last_s = reading.quantiles.last().map_or(0.0, |(_, value_s)| *value_s);
        // What is rounded for printing may end a little above.
        let ascend = ascend && last_s <= max_s * 1.001;
        checks.holds(ascend, if ascend { "ascending" } else { "not ascending" }, "ascending");
    }
    Ok(checks.outcome())
}

fn little(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(2.0, 1.0);
    let ask = Ask { duration_s: Some(load_s), ..Ask::to("/") };
    let mode = Mode { spin: true, ..Mode::delay_ns(MS) };
    let setup = Setup { least: (load_s * 500.0) as u64, ..Setup::new(ask, mode) };
    let run = bench.measure(subject, &setup)?;
    judge_little(&run.reading, run.log.answered_within_s(load_s) as f64 / load_s)
}

/// `seen_rps`: what the oracle answered.
fn judge_little(reading: &Reading, seen_rps: f64) -> Result<Judgement, Judgement> {
    let rate_rps = said(reading.rate_rps, "a rate")?;
    let mean_s = said(reading.mean_s, "a mean latency")?;
    let mut checks = Checks::default();
    let open = (rate_rps * mean_s * 1e4).round() / 1e4;
    checks.between("open", Unit::Count, open, 0.97, 1.005);
    // Figures that fit each other may both be wrong.
    checks.near("rate", Unit::Rate, rate_rps, seen_rps, 0.03, 1.0);
    checks.note(format!("{} x {}", Unit::Rate.show(rate_rps), Unit::Time.show(mean_s)));
    Ok(checks.outcome())
}

fn slow_start() -> Mode {
    let span = TimeSpan { from_ns: 0, for_ns: 2_000 * MS };
    Mode { slow: Some((span, 50 * MS)), ..Mode::delay_ns(MS) }
}

fn warm_up(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 50,
        rate_rps: Some(200.0),
        duration_s: Some(bench.pick(4.0, 2.0)),
        warmup_s: 2.0,
        ..Ask::to("/")
    };
    let run = bench.measure(subject, &Setup::new(ask, slow_start()))?;
    judge_warm_up(&run.reading, run.log.entries.len() as u64)
}

fn judge_warm_up(reading: &Reading, seen: u64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let (name, q) = match printed(&reading.quantiles, 0.95) {
        Some(_) => ("p95", 0.95),
        None => ("p90", 0.9),
    };
    checks.between(name, Unit::Time, quantile(reading, q)?, 0.001, 0.01);
    if let Some(result) = &reading.result {
        let before = result.warmup.as_ref().map_or(0, |warmup| warmup.ledger.sent);
        checks.exactly("in the books", before + result.ledger.sent, seen);
    }
    Ok(checks.outcome())
}

fn hidden_discard(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 50, rate_rps: Some(200.0), duration_s: Some(5.0), ..Ask::to("/") };
    let run = bench.measure(subject, &Setup::new(ask, slow_start()))?;
    judge_discard(&run.reading)
}

fn judge_discard(reading: &Reading) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let (name, value_s) = match printed(&reading.quantiles, 0.75) {
        Some(value_s) => ("p75", value_s),
        // Two of five seconds: the slow ones are the upper 40 %.
        None => ("p90", quantile(reading, 0.9)?),
    };
    checks.near(name, Unit::Time, value_s, 0.05, 0.03, 0.003);
    Ok(checks.outcome())
}

fn few_samples(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { requests: Some(200), ..Ask::to("/") };
    let setup = Setup { least: 200, ..Setup::new(ask, Mode::default()) };
    judge_samples(&bench.measure(subject, &setup)?.reading)
}

fn judge_samples(reading: &Reading) -> Result<Judgement, Judgement> {
    // One that shows no quantile at all has shown no restraint.
    quantile(reading, 0.5)?;
    Ok(match reading.quantiles.iter().find(|(q, _)| (0.999..1.0).contains(q)) {
        Some((q, value_s)) => Judgement::fail(
            format!("{} {} of 200", quantile_name(*q), Unit::Time.show(*value_s)),
            "not shown, or n/a",
        ),
        None => Judgement::pass("no p99.9 of 200"),
    })
}

fn ramp(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 50,
        duration_s: Some(4.0),
        extra: vec![Need::Ramp { from_rps: 500.0, to_rps: 2500.0 }],
        ..Ask::to("/")
    };
    let setup = Setup { least: 3000, ..Setup::new(ask, Mode::default()) };
    let run = bench.measure(subject, &setup)?;
    judge_ramp(&run.reading, &run.log.arrivals_s())
}

fn judge_ramp(reading: &Reading, arrivals_s: &[f64]) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let count = arrivals_s.len() as f64;
    checks.between("requests", Unit::Count, count, 5999.0, 6001.0);
    for (second, truth) in [750.0, 1250.0, 1750.0, 2250.0].into_iter().enumerate() {
        let span = second as f64..second as f64 + 1.0;
        let seen = arrivals_s.iter().filter(|at_s| span.contains(*at_s)).count() as f64;
        let name = format!("second {}", second + 1);
        checks.between(&name, Unit::Count, seen, truth * 0.98, truth * 1.02);
    }
    let rate_rps = said(reading.rate_rps, "a rate")?;
    checks.near("rate", Unit::Rate, rate_rps, count / 4.0, 0.02, 0.0);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
