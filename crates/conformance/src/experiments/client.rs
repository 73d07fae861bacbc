//! Whether the tester notices its own faults (no CPU, pauses, its own output, its memory, its
//! clock), and doubts the figures that they touch and no others.

use super::Experiment;
use super::place::Quota;
use crate::claims::{Claims, Tolerance, both};
use crate::doubts::{self, Topic};
use crate::harness::{Action, Bench, Pin, Run, Sample, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile_of, said};
use crate::oracle::{Log, Mode};
use crate::tool::{Ask, Need, Reading};
use plimsoll_core::clock::Clock;
use plimsoll_core::doubt::Figure;

pub(super) const ALL: [Experiment; 8] = [
    Experiment {
        name: "throttled",
        row: 15,
        title: "A tester without CPU blames the server",
        method: "20 000 requests/s for 3 s over 50 connections, the tester in a control group that \
                 has 20 ms of CPU in each 100 ms; in the control 1000 requests/s and no group",
        truth: "it is kept from running most of the time; in the control it is not; the oracle \
                answers as fast as its log says",
        tolerance: "it has to name CPU, throttling or itself, and not in the control; p50, p75 \
                    and p99 as it gives or doubts them: 3 % and 3 ms; responses 2 %",
        needs_quiet: true,
        run: throttled,
    },
    Experiment {
        name: "shared-cpu",
        row: 15,
        title: "A tester that shares its CPU with the server blames the server",
        method: "60 000 requests/s for 3 s over 50 connections, tester and oracle on one CPU; in \
                 the control 1000 requests/s and a CPU each",
        truth: "one CPU is too little for both; in the control there is plenty",
        tolerance: "it has to doubt its figures and name CPU or itself, and not in the control; \
                    responses 2 %",
        needs_quiet: true,
        run: shared_cpu,
    },
    Experiment {
        name: "paused",
        row: 16,
        title: "A pause of the tester is blamed on the server",
        method: "1000 requests/s for 4 s over 50 connections; the tester is stopped for 500 ms, in \
                 the control it is not",
        truth: "it did not run for 500 ms; the oracle answers as fast as its log says",
        tolerance: "it has to name the pause, and not in the control; p50, p75, p99 and p99.9 as \
                    it gives or doubts them: 3 % and 3 ms; responses 2 % and in no doubt; \
                    Plimsoll must not doubt rate and p50, and has to give the length within 10 %",
        needs_quiet: true,
        run: paused,
    },
    Experiment {
        name: "short-pauses",
        row: 16,
        title: "Short pauses of the tester go unnoticed in a closed loop",
        method: "10 connections, closed loop, 3 s; each is answered in 5 ms; the tester is stopped \
                 eight times for 85 ms, in the control it is not",
        truth: "it did not run for 680 ms of 3 s; the oracle answers as fast as its log says, and \
                as many each second as in the control",
        tolerance: "it has to name the pauses, and not in the control; p50, p75 and p99 as it \
                    gives or doubts them: 3 % and 3 ms; the rate likewise: 10 %; responses 2 % \
                    and in no doubt; Plimsoll has to give the sum within 10 %",
        needs_quiet: true,
        run: short_pauses,
    },
    Experiment {
        name: "observer",
        row: 26,
        title: "Watching costs throughput",
        method: "50 connections, closed loop, 1.5 s, nine pairs of runs in turn: with figures for \
                 each second written to a file, and without",
        truth: "the rate without",
        tolerance: "what it costs is not more than 1 % with a confidence of 96 % (the second least \
                    of nine), in one of three such sets, because chance alone fails one in fifty; \
                    nothing is judged when second least and second most are 25 % apart",
        needs_quiet: true,
        run: observer,
    },
    Experiment {
        name: "slow-reader",
        row: 27,
        title: "A slow reader of its output throttles the load",
        method: "1000 requests/s for 3 s over 20 connections, figures for each second into a full \
                 pipe that nobody reads until the load is over",
        truth: "3000 requests, 1000 in each second",
        tolerance: "1; in each second 2 %",
        needs_quiet: true,
        run: slow_reader,
    },
    Experiment {
        name: "memory",
        row: 28,
        title: "Memory grows with the number of requests",
        method: "50 connections, closed loop, 20 s",
        truth: "what is resident after a quarter of the time is enough for the rest",
        tolerance: "10 MB; at least 1000 requests each second, or there is nothing that memory \
                    could grow with",
        needs_quiet: false,
        run: memory,
    },
    Experiment {
        name: "clock-step",
        row: 29,
        title: "Figures depend on the wall clock",
        method: "1000 requests/s for 4 s over 20 connections; the machine's clock is set 5 s \
                 forward after 1 s and back after 2 s (only with --step-clock)",
        truth: "4000 requests in 4 s, none of which took a second",
        tolerance: "1 request; the time 5 %; the greatest latency 500 ms",
        needs_quiet: false,
        run: clock_step,
    },
];

const NO_CPU: Topic = Topic {
    expected: "a doubt that names CPU, throttling or itself",
    // `no cpu` denies nothing: that there was none is what is to be told.
    tells: &[
        "throttl",
        "cpu quota",
        "starved",
        "overload",
        "falling behind",
        "behind schedule",
        "had no cpu",
    ],
    names: &["cpu", "quota", "the tester itself", "load generator", "client"],
    figures: &[Figure::Response, Figure::Service, Figure::Achieved],
};

const PAUSE: Topic = Topic {
    expected: "a doubt that names the pause",
    tells: &["did not run", "was paused", "pauses", "was stopped", "suspended", "blocked for"],
    names: &["pause", "stopped"],
    figures: &[Figure::Response, Figure::Service, Figure::Achieved],
};

/// How far times may lie from those of the oracle's log: the kernel and two processes come on top.
const TIMES: Tolerance = Tolerance { share: 0.03, more: 0.003 };
const RATE: Tolerance = Tolerance { share: 0.1, more: 0.0 };
/// Some end with requests under way, which the oracle has answered.
const COUNTS: Tolerance = Tolerance { share: 0.02, more: 0.0 };

/// Checks these quantiles of both clocks and the number of responses against the oracle's log.
fn check_log(checks: &mut Checks, claims: &Claims<'_>, log: &Log, qs: &[f64]) {
    let own_s = log.service_s();
    for q in qs {
        let Some(truth_s) = quantile_of(&own_s, *q) else { continue };
        for clock in [Clock::Response, Clock::Service] {
            claims.quantile(checks, (clock, *q), truth_s, TIMES);
        }
    }
    claims.completed(checks, own_s.len(), COUNTS);
}

/// Whether a tester told of it, and whether the truth lies where it says in every figure.
fn judge_claims(topic: &Topic, run: &Run, control: &Reading, qs: &[f64]) -> Judgement {
    let claims = Claims::of(topic, &run.reading, control);
    let mut checks = Checks::default();
    check_log(&mut checks, &claims, &run.log, qs);
    both(doubts::judge(topic, &run.reading, control), checks)
}

fn at_rate(rate_rps: f64, connections: u32, load_s: f64) -> Setup {
    let ask =
        Ask { connections, rate_rps: Some(rate_rps), duration_s: Some(load_s), ..Ask::to("/") };
    Setup::new(ask, Mode::default())
}

/// The least load of one that is kept from running.
const STARVED: u64 = 500;

/// A load that leaves any tester CPU to spare.
fn easy() -> Setup {
    at_rate(1000.0, 50, 1.0)
}

fn throttled(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let quota = Quota::new(20_000, 100_000).map_err(Judgement::skipped)?;
    let setup = Setup {
        wrapper: quota.wrapper(),
        least: STARVED,
        ..at_rate(20_000.0, 50, bench.pick(3.0, 2.0))
    };
    let run = bench.hear(subject, &setup)?;
    if !matches!(quota.throttled_periods(), Some(1..)) {
        return Ok(Judgement::unmeasured("it needed so little CPU that it was not throttled"));
    }
    let control = bench.hear(subject, &easy())?;
    Ok(judge_claims(&NO_CPU, &run, &control.reading, &[0.5, 0.75, 0.99]))
}

fn shared_cpu(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let together = Setup { pin: Pin::Together, least: STARVED, ..at_rate(60_000.0, 50, load_s) };
    let (run, control) = (bench.hear(subject, &together)?, bench.hear(subject, &easy())?);
    // The oracle is short of CPU as well, so its log does not have the true times.
    Ok(judge_claims(&NO_CPU, &run, &control.reading, &[]))
}

/// A load with these stops of the tester, and one without.
fn with_pauses(
    bench: &Bench,
    subject: &Subject,
    actions: Vec<(f64, Action)>,
    setup: &Setup,
) -> Result<(Run, Run), Judgement> {
    let stops = actions.len();
    let run = bench.hear(subject, &Setup { actions, ..setup.clone() })?;
    if run.acted.len() < stops {
        return Err(Judgement::unmeasured("the load ended before the pauses did"));
    }
    Ok((run, bench.hear(subject, setup)?))
}

fn paused(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let actions = vec![(1.5, Action::StopTester), (2.0, Action::ContinueTester)];
    let (run, control) = with_pauses(bench, subject, actions, &at_rate(1000.0, 50, 4.0))?;
    let outcome = judge_claims(&PAUSE, &run, &control.reading, &[0.5, 0.75, 0.99, 0.999]);
    let claims = Claims::of(&PAUSE, &run.reading, &control.reading);
    let mut checks = Checks::default();
    // At a rate a pause delays an eighth of the requests, and none of them gets lost.
    claims.are_certain(&mut checks, &[Figure::Counts, Figure::Achieved, Figure::Offered]);
    claims.is_certain(&mut checks, (Clock::Response, 0.5));
    Ok(with_length(both(outcome, checks), &run.reading, run.stopped_s()))
}

fn short_pauses(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let stop = |i: u32| {
        let at_s = 0.4 + 0.3 * f64::from(i);
        [(at_s, Action::StopTester), (at_s + 0.085, Action::ContinueTester)]
    };
    let ask = Ask { connections: 10, duration_s: Some(3.0), ..Ask::to("/") };
    let setup = Setup { least: 500, ..Setup::new(ask, Mode::delay_ns(5_000_000)) };
    let actions = (0..8).flat_map(stop).collect();
    let (run, control) = with_pauses(bench, subject, actions, &setup)?;
    let outcome = judge_claims(&PAUSE, &run, &control.reading, &[0.5, 0.75, 0.99]);
    let claims = Claims::of(&PAUSE, &run.reading, &control.reading);
    let mut checks = Checks::default();
    claims.are_certain(&mut checks, &[Figure::Counts]);
    claims.rate(&mut checks, rate_rps(&control.log), RATE);
    Ok(with_length(both(outcome, checks), &run.reading, run.stopped_s()))
}

/// How many requests the oracle saw each second.
fn rate_rps(log: &Log) -> f64 {
    let arrivals_s = log.arrivals_s();
    arrivals_s.len() as f64 / arrivals_s.last().copied().unwrap_or(0.0).max(0.1)
}

/// The outcome, where the tester told of the pauses also by how long Plimsoll says they were.
fn with_length(outcome: Judgement, reading: &Reading, stopped_s: f64) -> Judgement {
    let (Judgement::Pass { figure }, Some(result)) = (&outcome, &reading.result) else {
        return outcome;
    };
    let mut checks = Checks::default();
    checks.note(figure.as_str());
    let sum_ns: u64 = result.loader.pauses.iter().map(|pause| pause.for_ns).sum();
    checks.between("paused", Unit::Time, sum_ns as f64 / 1e9, stopped_s * 0.9, stopped_s * 1.1);
    checks.outcome()
}

fn observer(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let rate = |watched: bool| {
        let extra =
            if watched { vec![Need::Intervals("intervals".to_owned())] } else { Vec::new() };
        let ask = Ask { connections: 50, duration_s: Some(1.5), extra, ..Ask::to("/") };
        let log = bench.load(subject, &Setup::new(ask, Mode::default()))?.log;
        let times_s = log.arrivals_s();
        let over_s = times_s.last().copied().unwrap_or(0.0);
        Ok::<f64, Judgement>(times_s.len() as f64 / over_s.max(0.1))
    };
    let mut judged = Err(Judgement::broken("not attempted"));
    for _ in 0..OBSERVER_ATTEMPTS {
        judged = judge_observer(&observer_pairs(rate)?);
        // One in fifty sets of pairs fails by chance alone.
        if matches!(judged, Ok(Judgement::Pass { .. })) {
            break;
        }
    }
    judged
}

/// Pairs of rates, with watching and without.
fn observer_pairs(
    rate: impl Fn(bool) -> Result<f64, Judgement>,
) -> Result<[(f64, f64); OBSERVER_PAIRS], Judgement> {
    let mut pairs = [(0.0, 0.0); OBSERVER_PAIRS];
    for (i, (with, without)) in pairs.iter_mut().enumerate() {
        // What drifts on the machine must not always favour the same one.
        if i % 2 == 0 {
            *with = rate(true)?;
        }
        *without = rate(false)?;
        if i % 2 == 1 {
            *with = rate(true)?;
        }
    }
    Ok(pairs)
}

/// How often the rate is taken with watching and without.
const OBSERVER_PAIRS: usize = 9;
/// How often that is done at most, when it tells nothing or that watching costs too much.
const OBSERVER_ATTEMPTS: usize = 3;

/// Rates of runs with watching and without. Between the second least and the second most of nine
/// differences the true middle one lies with a probability of 96 % (order statistics).
fn judge_observer(pairs: &[(f64, f64); OBSERVER_PAIRS]) -> Result<Judgement, Judgement> {
    let mut costs = pairs.map(|(with_rps, without_rps)| 1.0 - with_rps / without_rps);
    costs.sort_by(f64::total_cmp);
    let (low, middle, high) = (costs[1], costs[OBSERVER_PAIRS / 2], costs[OBSERVER_PAIRS - 2]);
    let range = format!("{} to {}", Unit::Share.show(low), Unit::Share.show(high));
    if high.is_nan() || high - low > 0.25 {
        return Err(Judgement::unmeasured(format!("pairs of runs differ by {range}")));
    }
    let figure = format!("cost {} ({range})", Unit::Share.show(middle));
    let mut checks = Checks::default();
    checks.holds(low <= 0.01, figure, "at most 1.00 %");
    Ok(checks.outcome())
}

fn slow_reader(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let mut setup = Setup { unread: true, ..at_rate(1000.0, 20, 3.0) };
    setup.ask.extra = vec![Need::IntervalsOnStdout];
    let run = bench.load(subject, &setup)?;
    Ok(judge_seconds(&run.log.arrivals_s(), 3))
}

/// A thousand arrivals in each second.
fn judge_seconds(arrivals_s: &[f64], seconds: u32) -> Judgement {
    let mut checks = Checks::default();
    let truth = f64::from(seconds) * 1000.0;
    let count = arrivals_s.len() as f64;
    checks.between("requests", Unit::Count, count, truth - 1.0, truth + 1.0);
    for second in 0..seconds {
        let span = f64::from(second)..f64::from(second) + 1.0;
        let seen = arrivals_s.iter().filter(|at_s| span.contains(*at_s)).count() as f64;
        checks.between(&format!("second {}", second + 1), Unit::Count, seen, 980.0, 1020.0);
    }
    checks.outcome()
}

fn memory(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(20.0, 8.0);
    let ask = Ask { connections: 50, duration_s: Some(load_s), ..Ask::to("/") };
    let least = (load_s * 1000.0) as u64;
    let run = bench.load(subject, &Setup { least, ..Setup::new(ask, Mode::default()) })?;
    judge_memory(&run.samples, run.log.entries.len())
}

fn judge_memory(samples: &[Sample], requests: usize) -> Result<Judgement, Judgement> {
    // At the very end none is left to see.
    let alive: Vec<u64> = samples.iter().map(|s| s.rss_bytes).filter(|rss| *rss > 0).collect();
    let early = said(alive.get(alive.len() / 4).copied(), "anything: it was gone at once")?;
    let late = alive[alive.len() / 4..].iter().copied().max().unwrap_or(early);
    let mut checks = Checks::default();
    let grown_mb = (late - early) as f64 / 1e6;
    checks.between("grown by MB", Unit::Count, grown_mb, 0.0, 10.0);
    checks.note(format!("to {:.1} MB, {requests} requests", late as f64 / 1e6));
    Ok(checks.outcome())
}

fn clock_step(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    if !bench.may_step_clock {
        return Err(Judgement::skipped("it sets the machine's clock: allow it with --step-clock"));
    }
    let actions = vec![(1.0, Action::StepClock(5)), (2.0, Action::StepClock(-5))];
    let run = bench.measure(subject, &Setup { actions, ..at_rate(1000.0, 20, 4.0) })?;
    if run.acted.len() < 2 {
        return Err(Judgement::unmeasured("the load ended before the clock was set"));
    }
    judge_clock(&run.reading, run.log.entries.len() as u64)
}

fn judge_clock(reading: &Reading, seen: u64) -> Result<Judgement, Judgement> {
    said(reading.duration_s.or(reading.max_s), "a time")?;
    let mut checks = Checks::default();
    checks.between("requests", Unit::Count, seen as f64, 3999.0, 4001.0);
    if let Some(duration_s) = reading.duration_s {
        checks.near("in", Unit::Time, duration_s, 4.0, 0.05, 0.0);
    }
    if let Some(max_s) = reading.max_s {
        checks.between("max", Unit::Time, max_s, 0.0, 0.5);
    }
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
