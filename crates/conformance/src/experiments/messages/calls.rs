//! Calls of gRPC: where their status stands, what their messages are, and how they are given up.

use super::{Experiment, MS, counted, is_cancelled, keeps_to_http2};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of, said};
use crate::oracle::{Act, CallEntry, CallMode, Entry, Log, Mode};
use crate::tool::{Ask, Further, Need, Rpc};

pub(super) const ALL: [Experiment; 3] = [
    Experiment {
        name: "trailer-status",
        row: 54,
        title: "A status in the trailers is not read, so that failed calls count as good",
        method: "gRPC, 1000 calls over 10 connections, closed loop, three times; each is answered \
                 in 1 ms with HTTP status 200; a tenth ends with UNAVAILABLE: first in the \
                 trailers behind a message, then in trailers alone; the third time, a tenth ends \
                 without a status",
        truth: "a tenth of the calls failed, each time",
        tolerance: "none; nor for the calls with UNAVAILABLE, where the tester counts them",
        needs_quiet: false,
        run: trailer_status,
    },
    Experiment {
        name: "stream-messages",
        row: 56,
        title: "A stream of messages is measured like one answer",
        method: "gRPC, 40 calls of a server stream over 10 connections, closed loop; each is \
                 answered with 10 messages, the first at once, the others every 100 ms",
        truth: "by the oracle's log, a call takes 900 ms, the first message comes at once, and \
                100 ms lie between two messages",
        tolerance: "p50 3 % and 60 ms; beside it the median time to the first message, 60 ms, or \
                    between messages, 10 % and 15 ms, or both; messages none, where the tester \
                    counts them",
        needs_quiet: false,
        run: stream_messages,
    },
    Experiment {
        name: "deadline",
        row: 57,
        title: "Only the tester knows the deadline of a call",
        method: "gRPC, 80 calls over 10 connections, closed loop, with a timeout of 100 ms; half \
                 are never answered, the others in 1 ms",
        truth: "each call carries its timeout as grpc-timeout; half of them are given up, and \
                cancelled",
        tolerance: "given up four more, for answers that a busy machine makes late; grpc-timeout \
                    from 50 ms to 100 ms; each call without an answer is cancelled by RST_STREAM \
                    with CANCEL, or by the end of its connection at the end of the run, within \
                    700 ms",
        needs_quiet: false,
        run: deadline,
    },
];

/// This many calls over ten connections, in a closed loop.
fn calls(rpc: Rpc, requests: u64) -> Ask {
    let extra = vec![Need::Grpc(rpc)];
    Ask { connections: 10, requests: Some(requests), extra, ..Ask::to("/") }
}

/// All requests are calls with one message, over HTTP/2.
fn keeps_to_grpc(checks: &mut Checks, log: &Log) {
    keeps_to_http2(checks, log);
    let is_call = |entry: &&Entry| entry.call.is_some_and(|call| call.messages_in == 1);
    let others = log.entries.len() - log.entries.iter().filter(is_call).count();
    if others > 0 {
        let figure = format!("{others} requests are no calls with a message");
        checks.holds(false, figure, "calls with one message each");
    }
}

const OK: u32 = 0;
const UNAVAILABLE: u32 = 14;
const CALLS: u64 = 1000;

fn trailer_status(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    for (name, act) in [
        ("in trailers", Act::Trailers(UNAVAILABLE)),
        ("alone", Act::TrailersOnly(UNAVAILABLE)),
        ("none", Act::NoTrailers),
    ] {
        let mode = Mode::mixed(&[(9, MS, Act::Trailers(OK)), (1, MS, act)]);
        let run = bench.measure(subject, &Setup::new(calls(Rpc::Unary, CALLS), mode))?;
        check_status(&mut checks, name, &run)?;
    }
    Ok(checks.outcome())
}

fn check_status(checks: &mut Checks, name: &str, run: &Run) -> Result<(), Judgement> {
    keeps_to_grpc(checks, &run.log);
    let with = |status: Option<u32>| {
        let is_it = |entry: &&Entry| entry.call.is_some_and(|call| call.status == status);
        run.log.entries.iter().filter(is_it).count() as u64
    };
    let sent = run.log.entries.len() as u64;
    checks.exactly(&format!("{name}: calls"), sent, CALLS);
    let truth = sent - with(Some(OK));
    checks.holds(truth > 0, "", "failed calls");
    checks.exactly("failed", not_good(run)?, truth);
    if let Some(unavailable) = run.further.unavailable {
        checks.exactly("UNAVAILABLE", unavailable, with(Some(UNAVAILABLE)));
    }
    Ok(())
}

/// Calls that were not good, whatever the tester calls them.
fn not_good(run: &Run) -> Result<u64, Judgement> {
    let [_, lost] = counted(&run.reading)?;
    Ok(said(run.reading.failed, "how many failed")? + lost)
}

fn stream_messages(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = calls(Rpc::ServerStream, bench.pick(40, 20));
    let call = CallMode { messages: 10, gap_ns: 100 * MS };
    let mode = Mode { call, ..Mode::mixed(&[(1, 0, Act::Trailers(OK))]) };
    judge_messages(&bench.measure(subject, &Setup::new(ask, mode))?)
}

/// The median over all calls of a time in their answers, seconds.
fn median_s(log: &Log, of: impl Fn(&Entry, &CallEntry) -> u64) -> f64 {
    let times_s = log.call_s(|entry, call| {
        let is_whole = call.first_ns > 0 && call.messages_out > 1 && entry.sent_ns > 0;
        is_whole.then(|| of(entry, call) as f64 / 1e9)
    });
    quantile_of(&times_s, 0.5).unwrap_or(f64::NAN)
}

fn judge_messages(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_grpc(&mut checks, &run.log);
    let whole_s = median_s(&run.log, |entry, _| entry.sent_ns - entry.received_ns);
    let first_s = median_s(&run.log, |entry, call| call.first_ns - entry.received_ns);
    let gap_s = median_s(&run.log, |entry, call| {
        (entry.sent_ns - call.first_ns) / u64::from(call.messages_out - 1)
    });
    checks.near("p50", Unit::Time, quantile(&run.reading, 0.5)?, whole_s, 0.03, 0.06);
    let Further { first_message_s, gap_s: gap, messages_received, .. } = run.further;
    if let Some(value_s) = first_message_s {
        checks.between("first message", Unit::Time, value_s, 0.0, first_s + 0.06);
    }
    if let Some(value_s) = gap {
        checks.near("gap", Unit::Time, value_s, gap_s, 0.1, 0.015);
    }
    if first_message_s.is_none() && gap.is_none() {
        let expected = "the first message, or the time between messages";
        checks.holds(false, "one figure for all of it", expected);
    }
    if let Some(messages) = messages_received {
        let calls = run.log.entries.iter().filter_map(|entry| entry.call);
        let truth = calls.map(|call| u64::from(call.messages_out)).sum();
        checks.exactly("messages", messages, truth);
    }
    Ok(checks.outcome())
}

fn deadline(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask { timeout_s: Some(TIMEOUT_S), ..calls(Rpc::Unary, 80) };
    let mode = Mode::mixed(&[(1, MS, Act::Trailers(OK)), (1, 0, Act::Hang)]);
    judge_deadline(&bench.measure(subject, &Setup::new(ask, mode))?)
}

const TIMEOUT_S: f64 = 0.1;

fn judge_deadline(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    keeps_to_grpc(&mut checks, &run.log);
    let entries = &run.log.entries;
    let hung = entries.iter().filter(|entry| entry.sent_ns == 0);
    let truth = hung.clone().count() as u64;
    checks.holds(truth > 0, "", "calls without an answer");
    let given_up = not_good(run)? as f64;
    checks.between("given up", Unit::Count, given_up, truth as f64, truth as f64 + 4.0);
    let is_told = |entry: &&Entry| {
        entry.call.is_some_and(|call| (50 * MS..=100 * MS).contains(&call.timeout_ns))
    };
    let told = entries.iter().filter(is_told).count() as u64;
    checks.exactly("with a deadline", told, entries.len() as u64);
    let cancelled = hung.filter(|entry| is_cancelled(&run.log, entry, TIMEOUT_S)).count();
    checks.exactly("cancelled", cancelled as u64, truth);
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
