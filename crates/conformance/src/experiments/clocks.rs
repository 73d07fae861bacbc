//! Whether the moments of a request are in order and on one clock. The mistakes: latencies that end
//! before they begin, answers counted late that came in time, rates over the wrong time, two clocks
//! in one report.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::Experiment;
use super::place::Namespace;
use crate::harness::{Action, Bench, Link, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, printed, quantile, said};
use crate::oracle::{Act, Log, Mode, TimeSpan};
use crate::tool::{Ask, Need, Reading};

pub(super) const ALL: [Experiment; 4] = [
    Experiment {
        name: "pipelined-timeouts",
        row: 36,
        title: "A request ends before it began, and its latency is any number",
        method: "400 connections, closed loop, two requests on each at a time, 6 s, with a timeout \
                 of 1 s; the oracle answers the first of each connection 0 ms to 6 ms before that \
                 and never the second",
        truth: "no request takes longer than the run",
        tolerance: "every latency shown is at most the run's length and the timeout; timeouts or \
                    errors said",
        needs_quiet: false,
        run: pipelined_timeouts,
    },
    Experiment {
        name: "paused-answers",
        row: 37,
        title: "Answers that came in time are timed out, because the tester was not there",
        method: "50 connections, closed loop, 4 s, with a timeout of 1 s; each is answered in 300 \
                 ms; the tester is stopped for 1.5 s",
        truth: "every request was answered in time",
        tolerance: "none timed out, no error",
        needs_quiet: false,
        run: paused_answers,
    },
    Experiment {
        name: "rate-told",
        row: 38,
        title: "The rate is divided by the time of the last straggler",
        method: "10 connections, closed loop, 4 s; each is answered in 10 ms, but three after 2.5 \
                 s in 3 s; then, where the tester can, 100 requests/s for 4 s over 50 connections, \
                 each answered in 200 ms",
        truth: "the rate is what the oracle answered within the time asked for; at a rate it \
                keeps, it is that rate",
        tolerance: "2 %; at the rate 1 %",
        needs_quiet: true,
        run: rate_told,
    },
    Experiment {
        name: "one-clock",
        row: 41,
        title: "The latency shown and the latency that is judged are two",
        method: "4 connections, closed loop, 3 s, a connection for each request, over a network \
                 that takes 50 ms each way; with a condition on p99 of 150 ms, and of 400 ms, \
                 where the tester has conditions",
        truth: "a user waits 200 ms: the first condition fails, the second holds",
        tolerance: "p50 5 % and 5 ms; the conditions' outcomes, by the exit code",
        needs_quiet: false,
        run: one_clock,
    },
];

const MS: u64 = 1_000_000;

fn pipelined_timeouts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let (load_s, timeout_s) = (bench.pick(6.0, 3.0), 1.0);
    let ask = Ask {
        connections: 400,
        duration_s: Some(load_s),
        timeout_s: Some(timeout_s),
        extra: vec![Need::Pipeline(2)],
        ..Ask::to("/")
    };
    // So that answers and deadlines are seen together, whichever way the clocks lie.
    let early: Vec<(u32, u64, Act)> =
        (0..13).map(|half_ms| (1, 1000 * MS - half_ms * MS / 2, Act::Status(200))).collect();
    let mode = Mode { hang_after: 1, ..Mode::mixed(&early) };
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_order(&run.reading, load_s + timeout_s)
}

/// No latency is longer than all of it was, seconds.
fn judge_order(reading: &Reading, all_s: f64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let lists = [&reading.quantiles, &reading.service_quantiles, &reading.ok_quantiles];
    let greatest = lists.into_iter().flatten().map(|(_, value_s)| *value_s).reduce(f64::max);
    let shown = [reading.max_s, greatest].into_iter().flatten().reduce(f64::max);
    checks.between("greatest", Unit::Time, said(shown, "a latency")?, 0.0, all_s);
    if let Some(mean_s) = reading.mean_s {
        checks.between("mean", Unit::Time, mean_s, 0.0, all_s);
    }
    let failures = [reading.timed_out, reading.errors].into_iter().flatten().sum::<u64>();
    checks.between("timed out", Unit::Count, failures as f64, 1.0, f64::INFINITY);
    Ok(checks.outcome())
}

fn paused_answers(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { connections: 50, duration_s: Some(4.0), timeout_s: Some(1.0), ..Ask::to("/") };
    let actions = vec![(1.0, Action::StopTester), (2.5, Action::ContinueTester)];
    let mode = Mode::delay_ns(300 * MS);
    let run = bench.measure(subject, &Setup { actions, least: 200, ..Setup::new(ask, mode) })?;
    if run.acted.len() < 2 {
        return Err(Judgement::unmeasured("the load ended before the pause did"));
    }
    judge_answered(&run.reading, run.log.answered(), 50)
}

/// All that the oracle answered was answered, but what was open at the end.
fn judge_answered(reading: &Reading, answered: u64, open: u64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let failures = [reading.timed_out, reading.errors].into_iter().flatten().reduce(|a, b| a + b);
    checks.exactly("timed out", said(failures, "how many timed out")?, 0);
    let completed = said(reading.completed, "how many completed")? as f64;
    let least = answered.saturating_sub(open) as f64;
    checks.between("answered", Unit::Count, completed, least, answered as f64);
    Ok(checks.outcome())
}

fn rate_told(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = 4.0;
    let mut checks = Checks::default();
    let ask = Ask { connections: 10, duration_s: Some(load_s), ..Ask::to("/") };
    let late = TimeSpan { from_ns: 2_500 * MS, for_ns: 1_000 * MS };
    let mode = Mode { slow: Some((late, 3_000 * MS)), slow_most: 3, ..Mode::delay_ns(10 * MS) };
    let setup = Setup { least: 500, extra_s: 3.0, ..Setup::new(ask, mode) };
    match bench.measure(subject, &setup) {
        Ok(run) => check_rate(&mut checks, &run.reading, &run.log, load_s)?,
        Err(Judgement::CannotExpress { why }) => checks.note(why),
        Err(other) => return Err(other),
    }
    let ask =
        Ask { connections: 50, rate_rps: Some(100.0), duration_s: Some(load_s), ..Ask::to("/") };
    match bench.measure(subject, &Setup::new(ask, Mode::delay_ns(200 * MS))) {
        Ok(run) => {
            let rate_rps = said(run.reading.rate_rps, "a rate")?;
            checks.near("at 100/s", Unit::Rate, rate_rps, 100.0, 0.01, 0.0);
        }
        Err(Judgement::CannotExpress { why }) => checks.note(why),
        Err(other) => return Err(other),
    }
    Ok(checks.outcome())
}

/// The rate of a closed loop against what the oracle answered in its time.
fn check_rate(
    checks: &mut Checks,
    reading: &Reading,
    log: &Log,
    load_s: f64,
) -> Result<(), Judgement> {
    let truth_rps = log.answered_within_s(load_s) as f64 / load_s;
    let rate_rps = said(reading.rate_rps, "a rate")?;
    checks.near("rate", Unit::Rate, rate_rps, truth_rps, 0.02, 0.0);
    Ok(())
}

fn one_clock(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let tester = Namespace::new(None).map_err(Judgement::skipped)?;
    let oracle = Namespace::new(None).map_err(Judgement::skipped)?;
    let link = Link::new(Duration::from_millis(50))
        .map_err(|error| Judgement::skipped(format!("needs /dev/net/tun: {error}")))?;
    let [near, far] = link.interfaces();
    tester.take(near, "10.93.0.1/30").map_err(Judgement::skipped)?;
    oracle.take(far, "10.93.0.2/30").map_err(Judgement::skipped)?;
    let with = |condition: Option<f64>| {
        let ask = Ask {
            connections: 4,
            duration_s: Some(bench.pick(3.0, 2.0)),
            keep_alive: false,
            extra: condition.map(|p99_s| Need::Gate { p99_s }).into_iter().collect(),
            ..Ask::to("/")
        };
        let setup = Setup {
            wrapper: tester.wrapper(),
            oracle_wrapper: oracle.wrapper(),
            listen: Ipv4Addr::new(10, 93, 0, 2),
            ..Setup::new(ask, Mode::default())
        };
        bench.measure(subject, &setup)
    };
    match with(Some(0.15)) {
        Ok(strict) => {
            let codes = [strict.finished.code, with(Some(0.4))?.finished.code];
            judge_clock(&strict.reading, Some(codes))
        }
        Err(Judgement::CannotExpress { .. }) => judge_clock(&with(None)?.reading, None),
        Err(other) => Err(other),
    }
}

/// `codes`: how it ended with a condition of 150 ms on p99, and with one of 400 ms.
fn judge_clock(reading: &Reading, codes: Option<[Option<i32>; 2]>) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    checks.near("p50", Unit::Time, quantile(reading, 0.5)?, 0.2, 0.05, 0.005);
    if let Some(p99_s) = printed(&reading.quantiles, 0.99) {
        checks.note(format!("p99 {}", Unit::Time.show(p99_s)));
    }
    let Some([strict, lax]) = codes else {
        checks.note("no conditions");
        return Ok(checks.outcome());
    };
    let outcome = |code| if code == Some(0) { "holds" } else { "fails" };
    checks.holds(strict != Some(0), format!("p99<150ms {}", outcome(strict)), "p99<150ms fails");
    checks.holds(lax == Some(0), format!("p99<400ms {}", outcome(lax)), "p99<400ms holds");
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Entry;

    fn passes(outcome: &Result<Judgement, Judgement>) -> bool {
        matches!(outcome, Ok(Judgement::Pass { .. }))
    }

    fn fails(outcome: &Result<Judgement, Judgement>) -> bool {
        matches!(outcome, Ok(Judgement::Fail { .. }))
    }

    #[test]
    fn no_latency_is_longer_than_the_run() {
        let judged = |mean_s, max_s, p99_s, timed_out| {
            let reading = Reading {
                mean_s,
                max_s,
                quantiles: vec![(0.5, 0.997), (0.99, p99_s)],
                timed_out: Some(timed_out),
                ..Reading::default()
            };
            judge_order(&reading, 7.0)
        };
        assert!(passes(&judged(Some(0.998), Some(1.0), 1.0, 400)));
        assert!(passes(&judged(None, None, 1.0, 400)), "it shows quantiles alone");
        assert!(fails(&judged(Some(0.998), Some(1.8e10), 1.0, 400)));
        assert!(fails(&judged(Some(957_824.0), Some(1.0), 1.0, 400)));
        assert!(fails(&judged(Some(0.998), Some(1.0), 1.8e10, 400)));
        assert!(fails(&judged(Some(0.998), Some(1.0), 1.0, 0)), "half were never answered");
        assert!(judge_order(&Reading::default(), 7.0).is_err());
    }

    #[test]
    fn what_came_in_time_is_answered() {
        let judged = |completed, timed_out| {
            let reading = Reading { completed, timed_out, ..Reading::default() };
            judge_answered(&reading, 450, 50)
        };
        assert!(passes(&judged(Some(450), Some(0))));
        assert!(passes(&judged(Some(400), Some(0))), "50 were open at the end");
        assert!(fails(&judged(Some(400), Some(50))));
        assert!(fails(&judged(Some(350), Some(0))), "they vanished");
        assert!(judged(Some(450), None).is_err());
    }

    #[test]
    fn stragglers_are_not_in_the_time_of_a_rate() {
        // A hundred a second for 4 s, and three answers at 5.5 s.
        let entry = |sent_ms: u64| Entry {
            received_ns: MS,
            sent_ns: (1 + sent_ms) * MS,
            ..Entry::default()
        };
        let entries = (1..=400).map(|i| entry(i * 10)).chain([5500; 3].map(entry)).collect();
        let log = Log { entries, ..Log::default() };
        let judged = |rate_rps| {
            let mut checks = Checks::default();
            let reading = Reading { rate_rps: Some(rate_rps), ..Reading::default() };
            check_rate(&mut checks, &reading, &log, 4.0).unwrap();
            checks.are_right()
        };
        assert!(judged(100.0) && judged(100.75));
        assert!(!judged(403.0 / 5.5), "divided by the last straggler's time");
        assert!(!judged(110.0));
    }

    #[test]
    fn conditions_are_of_what_is_shown() {
        let judged = |p50_s, codes| {
            let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
            judge_clock(&reading, codes)
        };
        let (failed, held) = (Some(3), Some(0));
        assert!(passes(&judged(0.201, Some([failed, held]))));
        assert!(passes(&judged(0.201, None)), "it has no conditions");
        assert!(fails(&judged(0.201, Some([held, held]))), "the condition is of another clock");
        assert!(fails(&judged(0.201, Some([failed, failed]))), "it fails whatever it is");
        assert!(fails(&judged(0.101, Some([failed, held]))));
        assert!(fails(&judged(0.101, None)));
    }
}
