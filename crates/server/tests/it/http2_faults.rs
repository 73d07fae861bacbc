//! Faults over HTTP/2.

use std::num::NonZeroU32;

use plimsoll_server::{Faults, ServerOptions, StreamFaults};

use crate::http2_peer::{Ask, Peer, frames};
use crate::world::{Act, MS, Outcome, Scene};

const LARGE: u32 = 1 << 30;

/// What a client gets that asks for `/` a number of times at once.
fn asked(count: u32, faults: Faults) -> (Vec<String>, Outcome) {
    let mut peer = Peer::new(LARGE);
    (0..count).for_each(|_| {
        peer.ask(Ask::get("/"), true);
    });
    let options = ServerOptions { faults, ..ServerOptions::default() };
    let script = vec![(MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, options, ..Scene::default() }.run();
    (peer.read(&outcome.clients[0].bytes), outcome)
}

fn http2(http2: StreamFaults) -> Faults {
    Faults { http2, seed: 7, ..Faults::default() }
}

fn counted(lines: &[String], what: &str) -> usize {
    lines.iter().filter(|line| line.ends_with(what)).count()
}

#[test]
fn faults_of_both_protocols() {
    let (lines, _) =
        asked(5, Faults { errors: "100%:503".parse().expect("a mix"), ..Faults::default() });
    assert_eq!(counted(&lines, "end \"503 Service Unavailable\\n\""), 5, "{lines:?}");
    let (lines, outcome) =
        asked(5, Faults { reset: "100%".parse().expect("a share"), ..Faults::default() });
    assert_eq!(counted(&lines, "reset INTERNAL_ERROR"), 5, "{lines:?}");
    assert_eq!((outcome.counters.resets, outcome.open), (5, 1));
    let (lines, outcome) =
        asked(5, Faults { close_every: NonZeroU32::new(3), ..Faults::default() });
    assert_eq!(counted(&lines, "end \"hello world\""), 3, "{lines:?}");
    assert_eq!((counted(&lines, "goaway NO_ERROR"), outcome.open), (1, 0), "{lines:?}");
    let (lines, outcome) = asked(2, Faults { stall: "300ms@0s".parse().ok(), ..Faults::default() });
    assert_eq!(counted(&lines, "end \"hello world\""), 2);
    let seen = &outcome.clients[0];
    // The greeting does not wait; the answers do.
    let (first, last) = (seen.arrivals[0].0, seen.arrivals.last().expect("answers").0);
    assert!(first < 2 * MS && (300 * MS..301 * MS).contains(&last), "{:?}", seen.arrivals);
    let (lines, outcome) =
        asked(3, Faults { latency: "100%:7ms".parse().expect("a mix"), ..Faults::default() });
    assert_eq!(counted(&lines, "end \"hello world\""), 3);
    assert_eq!(outcome.clients[0].arrivals.last().expect("answers").0, 8 * MS + 20_000);
}

#[test]
fn shares_are_reset_or_refused_as_drawn() {
    let mixed = http2(StreamFaults {
        resets: "20%:CANCEL,10%:ENHANCE_YOUR_CALM".parse().expect("a mix"),
        refused: "30%".parse().expect("a share"),
        ..StreamFaults::default()
    });
    let (lines, outcome) = asked(200, mixed.clone());
    let counts = ["refused", "reset CANCEL", "reset ENHANCE_YOUR_CALM", "end \"hello world\""]
        .map(|what| counted(&lines, what));
    assert_eq!(counts.iter().sum::<usize>(), 200, "{counts:?}");
    // Exact for this seed; the expectations are 60, 28, 14 and 98.
    assert_eq!(counts, [65, 30, 12, 93]);
    assert_eq!(outcome.counters.resets, 107);
    assert_eq!(asked(200, mixed).0, lines, "the same seed");
}

#[test]
fn a_limit_on_streams_is_announced_and_kept() {
    let limited = http2(StreamFaults { streams: Some(2), ..StreamFaults::default() });
    let options = ServerOptions { faults: limited, ..ServerOptions::default() };
    let mut peer = Peer::new(LARGE);
    (0..5).for_each(|_| {
        peer.ask(Ask::get("/delay/10ms"), true);
    });
    let script = vec![(MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, options, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    assert!(seen.bytes.windows(6).any(|it| it == [0, 3, 0, 0, 0, 2]), "announced");
    let lines = peer.read(&seen.bytes);
    assert_eq!((counted(&lines, "refused"), counted(&lines, "world\"")), (3, 2), "{lines:?}");
}

#[test]
fn late_settings_come_before_everything() {
    let late = http2(StreamFaults { settings_delay_ns: 50 * MS, ..StreamFaults::default() });
    let (lines, outcome) = asked(2, late);
    assert_eq!(counted(&lines, "end \"hello world\""), 2, "{lines:?}");
    let seen = &outcome.clients[0];
    assert_eq!(frames(&seen.bytes)[0].0, 4);
    assert_eq!(seen.arrivals[0].0, 51 * MS + 20_000);
}

#[test]
fn goaway_comes_in_two_steps_or_at_once() {
    for (spec, last_streams, answered, refused) in
        [("3", &[0x7fff_ffff, 9][..], 5, 0), ("3:abrupt", &[3], 2, 3)]
    {
        let goaway = spec.parse().ok();
        let (lines, outcome) = asked(5, http2(StreamFaults { goaway, ..StreamFaults::default() }));
        let bytes = &outcome.clients[0].bytes;
        let mut at = 0;
        let mut found = Vec::new();
        for (kind, _, _, length) in frames(bytes) {
            if kind == 7 {
                let payload = bytes[at + 9..].first_chunk().expect("a payload");
                found.push(u32::from_be_bytes(*payload));
            }
            at += 9 + length;
        }
        assert_eq!(found, last_streams, "{spec}");
        assert_eq!(counted(&lines, "end \"hello world\""), answered, "{spec}: {lines:?}");
        assert_eq!(counted(&lines, "refused"), refused, "{spec}: {lines:?}");
        assert!(outcome.clients[0].ended_ns.is_some() && outcome.open == 0, "{spec}");
    }
}

#[test]
fn small_windows_and_late_updates_slow_uploads_down() {
    let slow = http2(StreamFaults {
        window_bytes: Some(1000),
        window_delay_ns: 100 * MS,
        ..StreamFaults::default()
    });
    let options = ServerOptions { faults: slow, ..ServerOptions::default() };
    let mut peer = Peer::new(LARGE);
    // Until the client acknowledges it, the window is the protocol's.
    peer.raw(&[0, 0, 0, 4, 1, 0, 0, 0, 0]);
    peer.ask(Ask::post("/", &[b'x'; 800]), false);
    let script = vec![(MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, options, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    assert!(seen.bytes.windows(6).any(|it| it == [0, 4, 0, 0, 3, 0xe8]), "announced");
    let (at_ns, _) = *seen.arrivals.last().expect("an update");
    assert_eq!(at_ns, 101 * MS + 20_000);
    let update = *frames(&seen.bytes).last().expect("an update");
    assert_eq!(update, (8, 0, 1, 4));
}
