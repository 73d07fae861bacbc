//! Ends that only a stream or a connection of HTTP/2 has: goodbyes, refusals, resets.

use super::{Experiment, MS, counted, keeps_to_http2, over_streams, used};
use crate::experiments::latency::open_at_a_time;
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit};
use crate::oracle::{Act, End, Entry, Http2Mode, Log, Mode, Side, StreamReset, code};
use crate::tool::{Ask, Need};

pub(super) const ALL: [Experiment; 5] = [
    Experiment {
        name: "goaway",
        row: 45,
        title: "A server's GOAWAY ends the load, or counts as errors",
        method: "HTTP/2, 1000 requests over 2 connections with 10 streams each; the oracle says \
                 goodbye to each connection after 100 requests, gracefully; each is answered in \
                 2 ms",
        truth: "all 1000 are answered, over about ten connections",
        tolerance: "requests and errors none; 100 to 120 requests a connection; reconnects, where \
                    the tester counts them, as the oracle saw them",
        needs_quiet: false,
        run: goaway,
    },
    Experiment {
        name: "refused-streams",
        row: 46,
        title: "Requests that the server refused are sent again in secret",
        method: "HTTP/2, 1000 requests over one connection with 10 streams; with GOAWAY after each \
                 100 requests, the last stream three below the newest; then with REFUSED_STREAM \
                 for each 50th request",
        truth: "the oracle's count of refused requests; each request was sent once",
        tolerance: "none",
        needs_quiet: false,
        run: refused_streams,
    },
    Experiment {
        name: "stream-resets",
        row: 47,
        title: "A stream that the server resets costs a worker, or the connection",
        method: "HTTP/2, 2 connections with 10 streams each, closed loop, 2 s; each 100th request \
                 is reset with CANCEL, the others are answered in 5 ms",
        truth: "1 % broken; 20 requests are open to the end, on the same 2 connections",
        tolerance: "broken and connections none; open 19 to 20 in the median of the last half",
        needs_quiet: false,
        run: stream_resets,
    },
    Experiment {
        name: "stream-timeouts",
        row: 10,
        title: "One request that times out takes its connection along",
        method: "HTTP/2, 500 requests/s for 2 s over 2 connections with 25 streams each, with a \
                 timeout of 300 ms; each 50th request is never answered",
        truth: "those time out and are cancelled, all others are answered, on the same \
                2 connections",
        tolerance: "none; each that timed out is cancelled by RST_STREAM, or by the end of its \
                    connection at the end of the run, within 700 ms",
        needs_quiet: false,
        run: stream_timeouts,
    },
    Experiment {
        name: "early-answers",
        row: 52,
        title: "A whole answer before the end of its request counts as an error",
        method: "HTTP/2, 200 requests with bodies of 128 KiB over one connection with 5 streams; \
                 each 10th is answered when its head is there, and the rest is declined with \
                 RST_STREAM(NO_ERROR)",
        truth: "all 200 are answered (RFC 9113 8.1)",
        tolerance: "none",
        needs_quiet: false,
        run: early_answers,
    },
];

fn goaway(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let http2 = Http2Mode { goaway_every: 100, ..Http2Mode::default() };
    let mode = Mode { http2, ..Mode::delay_ns(2 * MS) };
    let ask = Ask { requests: Some(REQUESTS), ..over_streams(2, 10) };
    let run = bench.measure(subject, &Setup { least: 100, ..Setup::new(ask, mode) })?;
    judge_goaway(&run)
}

const REQUESTS: u64 = 1000;

fn judge_goaway(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    checks.exactly("completed", completed, REQUESTS);
    checks.exactly("errors", lost, 0);
    // A connection takes what is under way when it hears the goodbye; the last ones may have had
    // less than their share.
    let carried = used(&run.log).count() as f64;
    checks.between("connections", Unit::Count, carried, 1000.0 / 120.0, 1000.0 / 100.0 + 2.0);
    if let Some(reconnects) = run.further.reconnects {
        let opened = run.log.connections.len() as u64;
        checks.exactly("reconnects", reconnects, opened.saturating_sub(2));
    }
    Ok(checks.outcome())
}

fn refused_streams(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let goodbye = Http2Mode { goaway_every: 100, goaway_above: 3, ..Http2Mode::default() };
    let refuse = Act::ResetStream(code::REFUSED_STREAM);
    let modes = [
        Mode { http2: goodbye, ..Mode::delay_ns(5 * MS) },
        Mode::mixed(&[(49, 2 * MS, Act::Status(200)), (1, 2 * MS, refuse)]),
    ];
    let mut checks = Checks::default();
    for (name, mode) in ["GOAWAY", "REFUSED_STREAM"].into_iter().zip(modes) {
        let ask = Ask { requests: Some(REQUESTS), ..over_streams(1, 10) };
        let run = bench.measure(subject, &Setup { least: 50, ..Setup::new(ask, mode) })?;
        check_refused(&mut checks, name, &run)?;
    }
    Ok(checks.outcome())
}

fn check_refused(checks: &mut Checks, name: &str, run: &Run) -> Result<(), Judgement> {
    keeps_to_http2(checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    let truth = run.log.resets(Side::Oracle, code::REFUSED_STREAM);
    checks.exactly(&format!("{name} sent"), run.log.entries.len() as u64, REQUESTS);
    let (what, refused) = match run.further.refused {
        Some(refused) => ("refused", refused),
        None => ("errors", lost),
    };
    checks.exactly(what, refused, truth);
    checks.exactly("completed", completed, REQUESTS.saturating_sub(truth));
    checks.holds(truth > 0, "", "a refusal");
    Ok(())
}

fn stream_resets(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let load_s = bench.pick(2.0, 1.0);
    let ask = Ask { duration_s: Some(load_s), ..over_streams(2, 10) };
    let cancel = Act::ResetStream(code::CANCEL);
    let mode = Mode::mixed(&[(99, 5 * MS, Act::Status(200)), (1, 5 * MS, cancel)]);
    let run = bench.measure(subject, &Setup { least: 100, ..Setup::new(ask, mode) })?;
    judge_resets(&run, load_s)
}

fn judge_resets(run: &Run, load_s: f64) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [_, lost] = counted(&run.reading)?;
    checks.exactly("broken", lost, run.log.resets(Side::Oracle, code::CANCEL));
    checks.exactly("connections", used(&run.log).count() as u64, 2);
    let open = open_at_a_time(&run.log, load_s / 2.0, load_s - 0.05);
    checks.between("open at a time", Unit::Count, open, 19.0, 20.0);
    Ok(checks.outcome())
}

fn stream_timeouts(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        rate_rps: Some(500.0),
        duration_s: Some(bench.pick(2.0, 1.0)),
        timeout_s: Some(TIMEOUT_S),
        ..over_streams(2, 25)
    };
    let mode = Mode::mixed(&[(49, MS, Act::Status(200)), (1, 0, Act::Hang)]);
    judge_timeouts(&bench.measure(subject, &Setup::new(ask, mode))?)
}

const TIMEOUT_S: f64 = 0.3;

/// Whether a request with this timeout was given up in time, and the oracle could see it.
pub(in crate::experiments) fn is_cancelled(log: &Log, entry: &Entry, timeout_s: f64) -> bool {
    let in_time_ns = entry.opened_ns + ((timeout_s + 0.7) * 1e9) as u64;
    let connection = log.connections.get(entry.connection as usize);
    let closed = connection.filter(|connection| connection.end != End::Oracle);
    let closed_ns = closed.map(|connection| connection.closed_ns).filter(|at_ns| *at_ns > 0);
    let by_tester = |reset: &StreamReset| reset.by == Side::Tester && reset.code == code::CANCEL;
    let reset_ns = entry.reset.filter(by_tester).map(|reset| reset.at_ns);
    reset_ns.or(closed_ns).is_some_and(|at_ns| at_ns <= in_time_ns)
}

fn judge_timeouts(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    let answered = run.log.answered();
    let hung = run.log.entries.len() as u64 - answered;
    checks.exactly("timed out", lost, hung);
    let unanswered = run.log.entries.iter().filter(|entry| entry.sent_ns == 0);
    let cancelled = unanswered.filter(|entry| is_cancelled(&run.log, entry, TIMEOUT_S)).count();
    checks.exactly("cancelled", cancelled as u64, hung);
    checks.exactly("completed", completed, answered);
    checks.exactly("connections", used(&run.log).count() as u64, 2);
    Ok(checks.outcome())
}

fn early_answers(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let mut ask = Ask { requests: Some(EARLY), ..over_streams(1, 5) };
    ask.extra.push(Need::Upload(128 << 10));
    let mode = Mode::mixed(&[(9, 0, Act::Status(200)), (1, 0, Act::Early)]);
    judge_early(&bench.measure(subject, &Setup::new(ask, mode))?)
}

/// Requests with bodies, some of which are answered early.
const EARLY: u64 = 200;

fn judge_early(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    let declined = run.log.resets(Side::Oracle, code::NO_ERROR);
    checks.holds(declined > 0, format!("{declined} declined"), "some declined");
    checks.exactly("completed", completed, EARLY);
    checks.exactly("errors", lost, 0);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
