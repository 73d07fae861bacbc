//! Whether latencies are what users would have seen: stalls, queues, timeouts, the end of a run.

use super::Experiment;
use crate::claims::{Claims, Tolerance, both};
use crate::doubts::{self, Topic};
use crate::harness::{Action, Bench, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, printed, quantile, quantile_name, quantile_of, said};
use crate::oracle::{Act, Log, Mode};
use crate::tool::{Ask, Need, Reading};
use plimsoll_core::clock::Clock;
use plimsoll_core::doubt::Figure;

pub(super) const ALL: [Experiment; 7] = [
    Experiment {
        name: "stalled-server",
        row: 1,
        title: "Coordinated omission: requests that a stalled server kept from being sent are not \
                measured",
        method: "1000 requests/s for 10 s over 50 connections; the oracle is stopped for 1 s",
        truth: "of users who came on schedule, the share (S-x)/T waited longer than x: p95 500 ms, \
                p99 900 ms, max 1 s",
        tolerance: "3 %, and 60 ms for what had queued up to be answered",
        needs_quiet: true,
        run: stalled_server,
    },
    Experiment {
        name: "closed-loop-tail",
        row: 2,
        title: "Samples are made up to correct a closed loop",
        method: "400 connections, closed loop, 5 s; 90 % are answered in 1 ms, 10 % in 1 s",
        truth: "the quantiles of the oracle's own times",
        tolerance: "3 %, and 3 ms for the crossing",
        needs_quiet: true,
        run: closed_loop_tail,
    },
    Experiment {
        name: "few-connections",
        row: 3,
        title: "Too few connections limit an open loop silently",
        method: "100 requests/s for 2 s over 10 connections; each is answered in 500 ms, in the \
                 control at once",
        truth: "10 connections carry 20 requests/s: most requests wait for a connection; in the \
                control none does",
        tolerance: "it has to say that its connections, or it itself, were the limit, and not in \
                    the control; the service p50 500 ms, 3 % and 3 ms, where it has one; Plimsoll \
                    must not doubt that, counts and rate",
        needs_quiet: true,
        run: few_connections,
    },
    Experiment {
        name: "enough-connections",
        row: 3,
        title: "An open loop does not keep its rate when answers are slow",
        method: "100 requests/s for 3 s over 200 connections; each is answered in 500 ms",
        truth: "p50 is 500 ms, and 50 are open at a time",
        tolerance: "p50 3 % and 3 ms; open at a time 48 to 52 in the median",
        needs_quiet: true,
        run: enough_connections,
    },
    Experiment {
        name: "growing-connections",
        row: 3,
        title: "Connections do not grow with what is needed",
        method: "100 requests/s for 3 s over 10 connections that may grow to 200; each is answered \
                 in 500 ms",
        truth: "p90 is 500 ms once 50 are open",
        tolerance: "p90 3 % and 30 ms for connecting; 50 to 200 connections",
        needs_quiet: true,
        run: growing_connections,
    },
    Experiment {
        name: "end-of-run",
        row: 9,
        title: "What is still open at the end is dropped, the slowest first",
        method: "200 requests/s for 10 s over 100 connections; 1.5 % are answered in 5 s",
        truth: "p99 is 5 s; one who drops what is open at the end loses half of the slow ones and \
                reports the fast ones' time",
        tolerance: "p99 3 % and 50 ms; every request that the oracle saw accounted for",
        needs_quiet: false,
        run: end_of_run,
    },
    Experiment {
        name: "timeouts",
        row: 10,
        title: "Requests that time out vanish from the quantiles",
        method: "500 requests/s over 100 connections with a timeout of 1 s; 2 % are never answered",
        truth: "p95 is the server's own time, p99 is at least the timeout, and 2 % timed out",
        tolerance: "timed out: 2 % of what the oracle never answered; p95 at most 100 ms; p99 1 s \
                    to 1.2 s",
        needs_quiet: true,
        run: timeouts,
    },
];

/// What had queued up while the server stood still takes this long to be answered, seconds.
const DRAIN_S: f64 = 0.06;
const MS: u64 = 1_000_000;

fn stalled_server(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let (load_s, stall_s) = bench.pick((10.0, 1.0), (5.0, 0.5));
    let ask =
        Ask { connections: 50, rate_rps: Some(1000.0), duration_s: Some(load_s), ..Ask::to("/") };
    let at_s = load_s * 0.4;
    let actions = vec![(at_s, Action::StopOracle), (at_s + stall_s, Action::ContinueOracle)];
    let run = bench.measure(subject, &Setup { actions, ..Setup::new(ask, Mode::default()) })?;
    let stall_s = run
        .between_s(Action::StopOracle, Action::ContinueOracle)
        .ok_or_else(|| Judgement::unmeasured("the load ended before the stall did"))?;
    judge_stall(&run.reading, stall_s, load_s)
}

/// A server that stood still for `stall_s` of `load_s`, under requests at even times.
pub(super) fn judge_stall(
    reading: &Reading,
    stall_s: f64,
    load_s: f64,
) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    // The 99th percentile is what everybody prints.
    quantile(reading, 0.99)?;
    for q in [0.95, 0.99, 0.999] {
        let truth_s = stall_s - (1.0 - q) * load_s;
        let Some(value_s) = printed(&reading.quantiles, q).filter(|_| truth_s > 0.0) else {
            continue;
        };
        checks.near(&quantile_name(q), Unit::Time, value_s, truth_s, 0.03, DRAIN_S);
    }
    if let Some(max_s) = reading.max_s {
        checks.near("max", Unit::Time, max_s, stall_s, 0.03, DRAIN_S);
    }
    Ok(checks.outcome())
}

fn closed_loop_tail(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(5.0, 3.0);
    let ask = Ask { connections: 400, duration_s: Some(load_s), ..Ask::to("/") };
    let mode = Mode::mixed(&[(18, MS, Act::Status(200)), (2, 1000 * MS, Act::Status(200))]);
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_against_log(&run.reading, &run.log, &[0.5, 0.75, 0.99])
}

/// These quantiles, those of them that are printed, against the oracle's own times.
fn judge_against_log(reading: &Reading, log: &Log, qs: &[f64]) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let own_s = log.service_s();
    // A tester that does not print the median cannot be judged by the rest alone.
    quantile(reading, 0.5)?;
    for &q in qs {
        let Some(truth_s) = quantile_of(&own_s, q) else {
            return Ok(Judgement::fail("no request was answered", "some"));
        };
        if let Some(value_s) = printed(&reading.quantiles, q) {
            checks.near(&quantile_name(q), Unit::Time, value_s, truth_s, 0.03, 0.003);
        }
    }
    Ok(checks.outcome())
}

fn slow_answers(connections: u32, load_s: f64, extra: Vec<Need>) -> Setup {
    let ask =
        Ask { connections, rate_rps: Some(100.0), duration_s: Some(load_s), extra, ..Ask::to("/") };
    Setup::new(ask, Mode::delay_ns(500 * MS))
}

fn few_connections(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    // One that its connections limit sends 20/s.
    let slow = Setup { least: 10, ..slow_answers(10, bench.pick(2.0, 1.0), Vec::new()) };
    let fast = Setup { mode: Mode::default(), ..slow_answers(10, 1.0, Vec::new()) };
    let (run, control) = (bench.hear(subject, &slow)?, bench.hear(subject, &fast)?);
    let opened = run.log.connections.len().max(control.log.connections.len()) as u64;
    let claims = Claims::of(&FEW_CONNECTIONS, &run.reading, &control.reading);
    let mut checks = Checks::default();
    claims.quantile(
        &mut checks,
        (Clock::Service, 0.5),
        0.5,
        Tolerance { share: 0.03, more: 0.003 },
    );
    // What was sent is measured as well as ever.
    claims.are_certain(&mut checks, &[Figure::Counts, Figure::Achieved]);
    claims.is_certain(&mut checks, (Clock::Service, 0.5));
    Ok(both(judge_limited(&run.reading, &control.reading, opened), checks))
}

const FEW_CONNECTIONS: Topic = Topic {
    expected: "a word of the connections as the limit",
    tells: &["insufficient", "falling behind", "dropped", "not reached", "backlog"],
    names: &["connection", "workers", "vus"],
    figures: &[Figure::Load],
};

fn judge_limited(reading: &Reading, control: &Reading, opened: u64) -> Judgement {
    if opened > 20 {
        return Judgement::fail(format!("{opened} connections"), "10, as it was asked for");
    }
    doubts::judge(&FEW_CONNECTIONS, reading, control)
}

fn enough_connections(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(3.0, 2.0);
    let run = bench.measure(subject, &slow_answers(200, load_s, Vec::new()))?;
    let mut checks = Checks::default();
    checks.near("p50", Unit::Time, quantile(&run.reading, 0.5)?, 0.5, 0.03, 0.003);
    let open = open_at_a_time(&run.log, 1.0, load_s);
    checks.between("open at a time", Unit::Count, open, 48.0, 52.0);
    Ok(checks.outcome())
}

/// The median number of requests that the oracle had at hand, from `from_s` to `to_s` after the
/// first, looked at every 10 ms.
pub(super) fn open_at_a_time(log: &Log, from_s: f64, to_s: f64) -> f64 {
    let first_ns = log.entries.first().map_or(0, |entry| entry.received_ns);
    let mut counts = Vec::new();
    let mut at_s = from_s;
    while at_s < to_s {
        let at_ns = first_ns + (at_s * 1e9) as u64;
        let is_open = |entry: &&crate::oracle::Entry| {
            entry.received_ns <= at_ns && entry.ended_ns().is_none_or(|end_ns| end_ns > at_ns)
        };
        counts.push(log.entries.iter().filter(is_open).count() as f64);
        at_s += 0.01;
    }
    counts.sort_by(f64::total_cmp);
    quantile_of(&counts, 0.5).unwrap_or(0.0)
}

fn growing_connections(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let extra = vec![Need::Growth { connections_max: 200 }];
    let run = bench.measure(subject, &slow_answers(10, bench.pick(3.0, 2.0), extra))?;
    let mut checks = Checks::default();
    checks.near("p90", Unit::Time, quantile(&run.reading, 0.9)?, 0.5, 0.03, 0.03);
    let opened = run.log.connections.len() as f64;
    checks.between("connections", Unit::Count, opened, 50.0, 200.0);
    Ok(checks.outcome())
}

fn end_of_run(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let (load_s, slow_s) = bench.pick((10.0, 5.0), (4.0, 2.0));
    let ask = Ask {
        connections: 100,
        rate_rps: Some(200.0),
        duration_s: Some(load_s),
        timeout_s: Some(20.0),
        ..Ask::to("/")
    };
    let slow_ns = (slow_s * 1e9) as u64;
    let mode = Mode::mixed(&[(197, 0, Act::Status(200)), (3, slow_ns, Act::Status(200))]);
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_end(&run.reading, run.log.entries.len() as u64, slow_s)
}

fn judge_end(reading: &Reading, seen: u64, slow_s: f64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    checks.near("p99", Unit::Time, quantile(reading, 0.99)?, slow_s, 0.03, 0.05);
    let accounted = said(reading.completed, "how many completed")?
        + reading.timed_out.unwrap_or(0)
        + reading.errors.unwrap_or(0);
    checks.exactly("accounted for", accounted, seen);
    Ok(checks.outcome())
}

fn timeouts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 100,
        rate_rps: Some(500.0),
        duration_s: Some(bench.pick(4.0, 2.0)),
        timeout_s: Some(1.0),
        ..Ask::to("/")
    };
    let mode = Mode::mixed(&[(98, 0, Act::Status(200)), (2, 0, Act::Hang)]);
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    let hung = run.log.entries.len() as u64 - run.log.answered();
    judge_timeouts(&run.reading, hung)
}

fn judge_timeouts(reading: &Reading, hung: u64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    // Nothing else can go wrong here, so it does not matter what it calls them.
    let failures = [reading.timed_out, reading.errors].into_iter().flatten().reduce(|a, b| a + b);
    let timed_out = said(failures, "how many timed out")? as f64;
    let hung = hung as f64;
    checks.near("timed out", Unit::Count, timed_out, hung, 0.02, 0.0);
    checks.between("p99", Unit::Time, quantile(reading, 0.99)?, 1.0, 1.2);
    let (name, q) = match printed(&reading.quantiles, 0.95) {
        Some(_) => ("p95", 0.95),
        None => ("p90", 0.9),
    };
    checks.between(name, Unit::Time, quantile(reading, q)?, 0.0, 0.1);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
