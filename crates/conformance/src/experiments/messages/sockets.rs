//! Messages over WebSockets: which one is the reply, when it is whole, and which ones a Close cuts
//! off.

use super::{Experiment, MS, counted};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of};
use crate::oracle::{Log, Mode, SocketEntry, SocketMode};
use crate::tool::{Ask, Need};

pub(super) const ALL: [Experiment; 3] = [
    Experiment {
        name: "pushed-messages",
        row: 58,
        title: "What a server pushes is taken for a reply",
        method: "WebSocket, 200 messages over 4 connections, one at a time on each; the reply to \
                 each comes after 50 ms; the oracle pushes another message after 20 ms, before \
                 the reply, and one every 200 ms",
        truth: "a round trip takes 50 ms, by the oracle's log; pushed messages are no replies",
        tolerance: "replies and lost messages none; p50 10 % and 15 ms; pushed messages 5 % and \
                    8, where the tester counts them",
        needs_quiet: false,
        run: pushed_messages,
    },
    Experiment {
        name: "fragments",
        row: 59,
        title: "A reply counts as complete before its last fragment",
        method: "WebSocket, 40 messages over 4 connections, one at a time on each; each reply \
                 comes in three fragments over 200 ms, with a ping behind the first",
        truth: "a round trip takes 200 ms, by the oracle's log, and each ping is answered",
        tolerance: "replies, lost messages, pings and pongs none; p50 10 % and 30 ms",
        needs_quiet: false,
        run: fragments,
    },
    Experiment {
        name: "closed-sockets",
        row: 60,
        title: "A Close hides the messages that it cuts off, or ends the load",
        method: "WebSocket, 1000 messages over 2 connections, five at a time on each; each is \
                 answered in 5 ms; at the 100th message of a connection the oracle closes it with \
                 1001",
        truth: "the messages that are open then are lost; all others are answered, over about ten \
                connections",
        tolerance: "replies and lost messages none; 8 to 12 connections; reconnects, where the \
                    tester counts them, as the oracle saw them, with or without one that carried \
                    nothing",
        needs_quiet: false,
        run: closed_sockets,
    },
];

/// This many messages over connections with as many as this on their way at a time.
fn messages(connections: u32, in_flight: u32, requests: u64) -> Ask {
    let extra = vec![Need::WebSocket { in_flight, is_pushed_to: false }];
    Ask { connections, requests: Some(requests), extra, ..Ask::to("/") }
}

/// All messages came over WebSockets, masked.
fn keeps_to_websocket(checks: &mut Checks, log: &Log) {
    let used = || log.connections.iter().filter(|connection| connection.requests > 0);
    let others = used().filter(|connection| connection.socket.is_none()).count();
    if others > 0 {
        checks.holds(false, format!("{others} connections of HTTP"), "none of HTTP");
    }
    let unmasked = sum(log, |socket| socket.unmasked);
    if unmasked > 0 {
        checks.holds(false, format!("{unmasked} frames without a mask"), "a mask on each frame");
    }
    if let Some(broke) = used().map(|connection| connection.broke).find(|code| *code != 0) {
        checks.holds(false, format!("broke the protocol (code {broke})"), "the protocol kept");
    }
}

/// A figure of all WebSockets together.
fn sum(log: &Log, of: impl Fn(&SocketEntry) -> u32) -> u64 {
    let sockets = log.connections.iter().filter_map(|connection| connection.socket.as_ref());
    sockets.map(|socket| u64::from(of(socket))).sum()
}

/// What became of the messages, as the tester has it and as the oracle saw it.
fn check_counts(checks: &mut Checks, run: &Run) -> Result<(), Judgement> {
    keeps_to_websocket(checks, &run.log);
    let [completed, lost] = counted(&run.reading)?;
    let (sent, answered) = (run.log.entries.len() as u64, run.log.answered());
    checks.exactly("replies", completed, answered);
    checks.exactly("lost", lost, sent - answered);
    Ok(())
}

fn pushed_messages(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let extra = vec![Need::WebSocket { in_flight: 1, is_pushed_to: true }];
    let ask = Ask { extra, ..messages(4, 1, 200) };
    let socket =
        SocketMode { push_after_ns: 20 * MS, push_every_ns: 200 * MS, ..SocketMode::default() };
    let mode = Mode { socket, ..Mode::delay_ns(50 * MS) };
    judge_pushed(&bench.measure(subject, &Setup::new(ask, mode))?)
}

fn judge_pushed(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    check_counts(&mut checks, run)?;
    check_p50(&mut checks, run, 0.1, 0.015)?;
    let truth = sum(&run.log, |socket| socket.pushed) as f64;
    match run.further.pushed {
        // Those that come after the last reply may be counted or not.
        Some(pushed) => {
            let least = truth * 0.95 - 8.0;
            checks.between("pushed", Unit::Count, pushed as f64, least, truth);
        }
        None => checks.note("pushed not said"),
    }
    Ok(checks.outcome())
}

/// The median of round trips is that of the oracle.
fn check_p50(checks: &mut Checks, run: &Run, share: f64, more_s: f64) -> Result<(), Judgement> {
    let truth_s = quantile_of(&run.log.service_s(), 0.5).unwrap_or(f64::NAN);
    checks.near("p50", Unit::Time, quantile(&run.reading, 0.5)?, truth_s, share, more_s);
    Ok(())
}

fn fragments(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let socket =
        SocketMode { fragments: 3, fragments_ns: 200 * MS, pings: true, ..SocketMode::default() };
    let mode = Mode { socket, ..Mode::default() };
    let ask = messages(4, 1, bench.pick(40, 20));
    judge_fragments(&bench.measure(subject, &Setup::new(ask, mode))?)
}

fn judge_fragments(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    check_counts(&mut checks, run)?;
    check_p50(&mut checks, run, 0.1, 0.03)?;
    let (pings, pongs) = (sum(&run.log, |it| it.pings), sum(&run.log, |it| it.pongs));
    checks.exactly("pongs", pongs, pings);
    if let Some(told) = run.further.pings {
        checks.exactly("pings", told, pings);
    }
    checks.holds(pings > 0, "", "pings");
    Ok(checks.outcome())
}

fn closed_sockets(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let socket = SocketMode { close_at: 100, close_code: 1001, ..SocketMode::default() };
    let mode = Mode { socket, ..Mode::delay_ns(5 * MS) };
    let setup = Setup { least: 100, ..Setup::new(messages(2, 5, 1000), mode) };
    judge_closed(&bench.measure(subject, &setup)?)
}

fn judge_closed(run: &Run) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    check_counts(&mut checks, run)?;
    checks.exactly("messages", run.log.entries.len() as u64, 1000);
    let opened = run.log.connections.len() as u64;
    checks.between("connections", Unit::Count, opened as f64, 8.0, 12.0);
    if let Some(reconnects) = run.further.reconnects {
        // A connection that opens when the last message is lost may be counted or not.
        let used = run.log.connections.iter().filter(|connection| connection.requests > 0);
        let [least, most] = [used.count() as f64 - 2.0, opened as f64 - 2.0];
        checks.between("reconnects", Unit::Count, reconnects as f64, least, most);
    }
    Ok(checks.outcome())
}

#[cfg(test)]
mod tests;
