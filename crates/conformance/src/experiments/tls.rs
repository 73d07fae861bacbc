//! What the handshake of TLS takes, and what it chooses. The mistakes: its time is hidden; a server
//! that does not choose HTTP/2 is measured over HTTP/1 without a word.
//!
//! Absent on purpose: resumed handshakes and certificates, because the oracle has neither sessions
//! nor an authority.

use super::Experiment;
use super::http2::{gives_no_figures, keeps_to_http2, over_streams};
use crate::doubts::{self, Told, Topic};
use crate::harness::{Bench, Run, Setup, Subject};
use crate::judge::{Checks, Judgement, Unit, quantile, quantile_of};
use crate::oracle::{Alpn, Connection, Entry, Http2Mode, Log, Mode, TlsMode};
use crate::tool::{Ask, Reading};
use plimsoll_core::Phase;

pub(super) const ALL: [Experiment; 2] = [
    Experiment {
        name: "handshake-time",
        row: 17,
        title: "The time of the TLS handshake is hidden",
        method: "TLS, 4 connections, closed loop, 3 s, a connection for each request; the oracle's \
                 part of the handshake comes 100 ms after the connect, and each request is \
                 answered in 20 ms",
        truth: "120 ms, and the work of the handshake: by the oracle's log, from the connect to \
                the answer",
        tolerance: "p50 5 % and 5 ms; for Plimsoll also the phase of the handshake",
        needs_quiet: false,
        run: handshake_time,
    },
    Experiment {
        name: "silent-fallback",
        row: 49,
        title: "A server whose handshake does not choose HTTP/2 is measured over HTTP/1",
        method: "HTTP/2 over TLS, one connection with one stream, closed loop, 1 s; the oracle \
                 offers HTTP/1.1 alone in the handshake (ALPN), then no protocol, in the control \
                 HTTP/2 too; each is answered in 5 ms",
        truth: "no request can be answered over HTTP/2",
        tolerance: "none is sent and an exit code or errors show it, or words about the fallback, \
                    and not in the control; in the control all are sent over HTTP/2",
        needs_quiet: false,
        run: silent_fallback,
    },
];

const MS: u64 = 1_000_000;

fn handshake_time(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let ask = Ask {
        connections: 4,
        duration_s: Some(bench.pick(3.0, 2.0)),
        keep_alive: false,
        ..Ask::to("/")
    };
    let tls = TlsMode { handshake_delay_ns: 100 * MS, ..TlsMode::offering(&[Alpn::Http1]) };
    let mode = Mode { tls: Some(tls), ..Mode::delay_ns(20 * MS) };
    let run = bench.measure(subject, &Setup::new(ask, mode))?;
    judge_handshakes(&run.reading, &run.log)
}

/// The median over all answered requests of a time from the connect on, seconds.
fn median_s(log: &Log, of: impl Fn(&Connection, &Entry) -> u64) -> f64 {
    let answered = log.entries.iter().filter(|entry| entry.sent_ns > 0);
    let mut times_s: Vec<f64> = answered
        .filter_map(|entry| Some((log.connections.get(entry.connection as usize)?, entry)))
        .map(|(connection, entry)| {
            of(connection, entry).saturating_sub(connection.accepted_ns) as f64 / 1e9
        })
        .collect();
    times_s.sort_by(f64::total_cmp);
    quantile_of(&times_s, 0.5).unwrap_or(f64::NAN)
}

fn judge_handshakes(reading: &Reading, log: &Log) -> Result<Judgement, Judgement> {
    let mut checks = Checks::default();
    let whole_s = median_s(log, |_, entry| entry.sent_ns);
    checks.near("p50", Unit::Time, quantile(reading, 0.5)?, whole_s, 0.05, 0.005);
    if let Some(result) = &reading.result {
        let handshake_s = median_s(log, |connection, _| connection.handshake_ns);
        let p50_ns = result.phases[Phase::Tls].quantile_ns(0.5).unwrap_or(0);
        checks.near("handshake", Unit::Time, p50_ns as f64 / 1e9, handshake_s, 0.05, 0.005);
    }
    Ok(checks.outcome())
}

const FALLBACK: Topic = Topic {
    expected: "none sent, or a word of the fallback",
    tells: &[
        "fallback",
        "fell back",
        "falling back",
        "other protocol",
        "protocol: http/1",
        "instead of http/2",
    ],
    names: &["http/1.1", "http/2", "alpn"],
    // It is the server's doing.
    figures: &[],
};

fn silent_fallback(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    let run = |offered: &[Alpn], least| {
        let ask = Ask { duration_s: Some(1.0), ..over_streams(1, 1) };
        let is_refused = !offered.contains(&Alpn::Http2);
        let mode = Mode {
            tls: Some(TlsMode::offering(offered)),
            http2: Http2Mode { is_refused, ..Http2Mode::default() },
            ..Mode::delay_ns(5 * MS)
        };
        bench.hear(subject, &Setup { least, ..Setup::new(ask, mode) })
    };
    let control = run(&[Alpn::Http2, Alpn::Http1], 1)?;
    let fallbacks = [run(&[Alpn::Http1], 0)?, run(&[], 0)?];
    Ok(judge_fallbacks(&fallbacks, &control))
}

/// `fallbacks`: with HTTP/1.1 alone to choose from, and without a choice.
fn judge_fallbacks(fallbacks: &[Run; 2], control: &Run) -> Judgement {
    let mut checks = Checks::default();
    keeps_to_http2(&mut checks, &control.log);
    for (run, offered) in fallbacks.iter().zip(["HTTP/1.1 offered", "nothing offered"]) {
        let sent = run.log.entries.len();
        checks.note(format!("{offered}: sent {sent}"));
        if sent == 0 {
            gives_no_figures(&mut checks, run);
            continue;
        }
        match doubts::told(&FALLBACK, &run.reading, &control.reading) {
            Told::Rightly(word) => checks.note(format!("it says so ('{word}')")),
            Told::CriedWolf(word) => {
                let figure = format!("it says '{word}' also when it is not so");
                checks.holds(false, figure, FALLBACK.expected);
            }
            Told::Nothing => checks.holds(false, "no word of it", FALLBACK.expected),
        }
    }
    checks.outcome()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Finished;

    fn passes(outcome: &Judgement) -> bool {
        matches!(outcome, Judgement::Pass { .. })
    }

    #[test]
    fn a_handshake_is_part_of_what_a_user_waits_for() {
        let connection =
            Connection { accepted_ns: MS, handshake_ns: 103 * MS, ..Connection::default() };
        let entry = |connection| Entry {
            received_ns: 103 * MS,
            sent_ns: 123 * MS,
            connection,
            ..Entry::default()
        };
        let log = Log {
            entries: (0..100).map(entry).collect(),
            connections: vec![connection; 100],
            ..Log::default()
        };
        assert!((median_s(&log, |_, entry| entry.sent_ns) - 0.122).abs() < 1e-9);
        let judged = |p50_s, log: &Log| {
            let reading = Reading { quantiles: vec![(0.5, p50_s)], ..Reading::default() };
            judge_handshakes(&reading, log).map(|outcome| passes(&outcome))
        };
        assert_eq!(judged(0.123, &log), Ok(true));
        assert_eq!(judged(0.020, &log), Ok(false), "only the answer");
        assert_eq!(judged(0.222, &log), Ok(false), "the handshake twice");
        assert_eq!(judged(0.123, &Log::default()), Ok(false), "nothing was answered");
        assert!(judge_handshakes(&Reading::default(), &log).is_err(), "no p50");
    }

    /// A run in which this many requests were sent over either protocol, and what was printed.
    fn run(sent: u32, is_http2: bool, text: &str, code: i32) -> Run {
        let connection = Connection { requests: sent, is_http2, ..Connection::default() };
        let log = Log {
            entries: vec![Entry::default(); sent as usize],
            connections: vec![connection],
            ..Log::default()
        };
        let completed = Some(u64::from(sent));
        let reading = Reading { completed, text: text.to_owned(), ..Reading::default() };
        let finished = Finished { code: Some(code), ..Finished::default() };
        Run { log, reading, finished, ..Run::default() }
    }

    #[test]
    fn a_fallback_is_refused_or_told() {
        let told = "Application protocol: http/1.1";
        let control = run(200, true, "Application protocol: h2", 0);
        for (first, second, control, want, why) in [
            (run(0, false, "", 1), run(0, false, "", 1), &control, true, "refused"),
            (run(190, false, told, 0), run(190, false, told, 0), &control, true, "told"),
            (run(0, false, "", 1), run(190, false, told, 0), &control, true, "one of each"),
            (run(190, false, "", 0), run(190, false, "", 0), &control, false, "silent"),
            (run(0, false, "", 1), run(190, false, "", 0), &control, false, "silent once"),
            (run(0, false, "", 0), run(0, false, "", 0), &control, false, "nothing, and no word"),
            (
                run(190, false, told, 0),
                run(190, false, told, 0),
                &run(200, true, told, 0),
                false,
                "it always says so",
            ),
            (
                run(0, false, "", 1),
                run(0, false, "", 1),
                &run(200, false, "", 0),
                false,
                "never over HTTP/2",
            ),
        ] {
            assert_eq!(passes(&judge_fallbacks(&[first, second], control)), want, "{why}");
        }
        let made_up = Run {
            reading: Reading { completed: Some(100), ..Reading::default() },
            ..run(0, false, "", 1)
        };
        assert!(!passes(&judge_fallbacks(&[made_up.clone(), made_up], &control)), "made up");
    }
}
