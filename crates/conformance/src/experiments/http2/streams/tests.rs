//! The judges of streams, on hand-made readings and logs.

use super::*;
use crate::oracle::{Connection, Entry, StreamReset};
use crate::tool::Finished;

fn passes(outcome: &Judgement) -> bool {
    matches!(outcome, Judgement::Pass { .. })
}

fn says(text: &str) -> Reading {
    Reading { text: text.to_owned(), ..Reading::default() }
}

#[test]
fn a_limit_shows_in_littles_law_or_in_words() {
    let judged = |rate_rps, mean_s, text: &str, control: &str| {
        let reading = Reading { rate_rps, mean_s, ..says(text) };
        let run = Run { reading, ..Run::default() };
        judge_limit(&run, &says(control)).map(|outcome| passes(&outcome))
    };
    let quiet = "streams: 50";
    assert_eq!(judged(Some(99.0), Some(0.5), quiet, quiet), Ok(true));
    assert_eq!(judged(Some(99.0), Some(0.01), quiet, quiet), Ok(false), "only the server's time");
    let told = "the server allows 1 stream at a time";
    assert_eq!(judged(Some(99.0), Some(0.01), told, quiet), Ok(true));
    assert_eq!(judged(Some(99.0), Some(0.01), told, told), Ok(false), "it always says so");
    assert!(judged(None, Some(0.5), quiet, quiet).is_err());
    assert!(judged(Some(99.0), None, quiet, quiet).is_err());
}

#[test]
fn a_wait_for_a_stream_is_the_users_and_not_the_servers() {
    let entry =
        |i: u64| Entry { received_ns: i * 10 * MS, sent_ns: (i + 1) * 10 * MS, ..Entry::default() };
    let log = Log { entries: (0..300).map(entry).collect(), ..Log::default() };
    let truth_s = user_median_s(&log);
    assert!((truth_s - (1.5 - 149.0 / 150.0)).abs() < 1e-9, "{truth_s}");
    let judged = |p50_s, service_s: Option<f64>, text: &str| {
        let reading = Reading {
            quantiles: vec![(0.5, p50_s)],
            service_quantiles: service_s.map(|s| (0.5, s)).into_iter().collect(),
            ..says(text)
        };
        let run = Run { reading, log: log.clone(), ..Run::default() };
        passes(&judge_limit_rate(&run, &says("")).unwrap())
    };
    assert!(judged(0.5, Some(0.0105), ""));
    assert!(judged(0.5, None, "the server allows 1 stream at a time"));
    assert!(!judged(0.5, None, ""), "taken for the server");
    assert!(!judged(0.5, Some(0.5), ""), "taken for the server");
    assert!(!judged(0.0105, Some(0.0105), ""), "in no figure");
}

#[test]
fn nothing_has_to_be_refused() {
    let judged = |refused: usize, completed, errors| {
        let reset = StreamReset { by: Side::Oracle, code: code::REFUSED_STREAM, at_ns: 1 };
        let entry = Entry { reset: Some(reset), ..Entry::default() };
        let log = Log { entries: vec![entry; refused], ..Log::default() };
        let reading = Reading { completed, errors: Some(errors), ..Reading::default() };
        judge_late_settings(&Run { reading, log, ..Run::default() }, 1000)
    };
    assert!(passes(&judged(0, Some(1000), 0).unwrap()));
    assert!(!passes(&judged(90, Some(910), 90).unwrap()));
    assert!(!passes(&judged(90, Some(1000), 0).unwrap()), "sent again");
    assert!(judged(0, None, 0).is_err());
}

#[test]
fn a_server_without_http2_gives_no_figures() {
    let judged = |sent: usize, completed, errors, code| {
        let log = Log { entries: vec![Entry::default(); sent], ..Log::default() };
        let reading = Reading { completed, errors, ..Reading::default() };
        let finished = Finished { code, ..Finished::default() };
        passes(&judge_no_http2(&Run { reading, log, finished, ..Run::default() }))
    };
    assert!(judged(0, None, None, Some(1)));
    assert!(judged(0, Some(0), Some(100), Some(0)));
    assert!(!judged(0, None, None, Some(0)), "silent");
    assert!(!judged(100, Some(100), None, Some(0)), "over HTTP/1");
    assert!(!judged(0, Some(100), None, Some(1)), "made up");
}

/// Connections on which `open` streams are open for a second, 20 ms each, and `open_max` at most.
fn opened(connections: u32, open: u32, open_max: u32) -> Log {
    let entry = |i: u64, connection| Entry {
        received_ns: i * 20 * MS,
        sent_ns: (i + 1) * 20 * MS,
        connection,
        ..Entry::default()
    };
    let of_one = |connection| (0..50 * open).map(move |i| entry(u64::from(i / open), connection));
    let entries = (0..connections).flat_map(of_one);
    let connection =
        Connection { is_http2: true, requests: 100, open_max, ..Connection::default() };
    Log {
        entries: entries.collect(),
        connections: vec![connection; connections as usize],
        ..Log::default()
    }
}

#[test]
fn streams_are_used() {
    for ((connections, open, open_max), want) in [
        ((4, 25, 25), true),
        ((4, 1, 1), false),
        ((4, 12, 25), false),
        ((100, 1, 1), false),
        ((4, 25, 30), false),
        ((3, 25, 25), false),
    ] {
        let outcome = judge_multiplexing(&opened(connections, open, open_max), 1.0);
        assert_eq!(passes(&outcome), want, "{connections} {open} {open_max}");
    }
    let mut log = opened(4, 25, 25);
    log.connections.insert(4, Connection::default());
    assert!(passes(&judge_multiplexing(&log, 1.0)), "one that was never used");
}

#[test]
fn one_connection_is_one() {
    assert!(passes(&judge_connections(&opened(1, 10, 10))));
    assert!(!passes(&judge_connections(&opened(5, 10, 10))));
    assert!(!passes(&judge_connections(&opened(1, 1, 1))));
    assert!(!passes(&judge_connections(&Log::default())));
    let mut log = opened(1, 10, 10);
    log.connections.push(Connection::default());
    assert!(!passes(&judge_connections(&log)), "another that was never used");
}
