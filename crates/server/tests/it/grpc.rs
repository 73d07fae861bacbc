//! Calls of gRPC over HTTP/2, in the simulated world.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_server::{Faults, ServerOptions, StreamFaults};

use crate::http2_peer::{Ask, Peer, cancel, frames, window_update};
use crate::world::{Act, MS, S, Scene};

const LARGE: u32 = 1 << 30;
const GRPC: (&str, &str) = ("content-type", "application/grpc");
const PING: &str = "/fgrpc.PingServer/Ping";
const WATCH: &str = "/grpc.health.v1.Health/Watch";
const OUTPUT: &str = "/grpc.testing.TestService/StreamingOutputCall";
const DUPLEX: &str = "/grpc.testing.TestService/FullDuplexCall";

/// A message of up to 127 bytes in a body.
fn message(bytes: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, 0, bytes.len() as u8][..], bytes].concat()
}

/// A message whose gzip has up to 127 bytes in a body.
fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(bytes).expect("to memory");
    let mut body = message(&zip.finish().expect("to memory"));
    body[0] = 1;
    body
}

fn call<'a>(path: &'a str, body: &'a [u8]) -> Ask<'a> {
    Ask { fields: &[GRPC], ..Ask::post(path, body) }
}

/// What one client gets that sends all of this at once.
fn told(peer: Peer, bytes: &[u8], scene: Scene) -> String {
    let script = vec![(MS, 0, Act::Send(bytes.to_vec()))];
    let outcome = Scene { script, ..scene }.run();
    peer.read(&outcome.clients[0].bytes).join(", ")
}

fn asked(ask: Ask<'_>, ends: bool, scene: Scene) -> String {
    let mut peer = Peer::new(LARGE);
    peer.ask(ask, ends);
    let bytes = peer.take();
    told(peer, &bytes, scene)
}

fn with(faults: Faults) -> Scene {
    Scene { options: ServerOptions { faults, ..ServerOptions::default() }, ..Scene::default() }
}

#[test]
fn calls_are_answered_with_head_messages_and_trailers() {
    let head = "0 200 content-type=application/grpc";
    let ping = message(b"\x08\x07\x1a\x02hi");
    let zipped = zipped(b"\x08\x07\x1a\x02hi");
    let long = message(b"\x10\x80\x80\x40");
    let fields = [
        ("content-type", "application/grpc+proto"),
        ("x-grpc-test-echo-initial", "a"),
        ("x-grpc-test-echo-trailing-bin", "qqs"),
    ];
    let echoed = Ask { fields: &fields, ..Ask::post(DUPLEX, b"\0\0\0\0\x02\x12\0") };
    let asks = message(b"\x3a\x08\x08\x02\x12\x04\xc3\xa9%\t");
    for (ask, want) in [
        (
            call(PING, &ping),
            format!(
                "{head}, 0 trailers grpc-status=0, 0 end \
                 \"\\0\\0\\0\\0\\u{{6}}\\u{{8}}\\u{{7}}\\u{{1a}}\\u{{2}}hi\""
            ),
        ),
        (
            call("/grpc.testing.TestService/UnaryCall", &long),
            format!("{head}, 0 trailers grpc-status=0, 0 end 1048589 bytes"),
        ),
        (
            echoed,
            format!(
                "{head} x-grpc-test-echo-initial=a, 0 trailers grpc-status=0 \
                 x-grpc-test-echo-trailing-bin=qqs, 0 end \"\\0\\0\\0\\0\\u{{2}}\\n\\0\""
            ),
        ),
        (
            call("/grpc.testing.TestService/UnaryCall", &asks),
            format!("{head} grpc-status=2 grpc-message=%C3%A9%25%09, 0 end \"\""),
        ),
        (
            Ask { fields: &[GRPC, ("grpc-encoding", "br")], ..Ask::post(PING, &ping) },
            format!(
                "{head} grpc-status=12 grpc-message=messages are taken plain or with gzip \
                 grpc-accept-encoding=identity,gzip, 0 end \"\""
            ),
        ),
        (
            Ask { fields: &[GRPC, ("grpc-encoding", "gzip")], ..Ask::post(PING, &zipped) },
            format!(
                "{head}, 0 trailers grpc-status=0, 0 end \
                 \"\\0\\0\\0\\0\\u{{6}}\\u{{8}}\\u{{7}}\\u{{1a}}\\u{{2}}hi\""
            ),
        ),
        (
            call(PING, &zipped),
            format!(
                "{head} grpc-status=13 grpc-message=a message is compressed, and no field says \
                 how, 0 end \"\""
            ),
        ),
        (
            call("/a.B/C", &ping),
            format!(
                "{head} grpc-status=12 grpc-message=there is no such method; reflection lists \
                 them, 0 end \"\""
            ),
        ),
        (
            Ask::post(PING, &ping),
            "0 415 content-type=text/plain content-length=55, 0 end 55 bytes".to_owned(),
        ),
        (
            Ask { method: "GET", ..call(PING, b"") },
            "0 415 content-type=text/plain content-length=55, 0 end 55 bytes".to_owned(),
        ),
    ] {
        assert_eq!(asked(ask, true, Scene::default()), want, "{ask:?}");
    }
    let http1 = Scene::ask(format!("POST {PING} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"));
    let text = http1.run().clients[0].text();
    assert!(text.starts_with("HTTP/1.1 505 "), "{text}");
    assert!(text.ends_with("gRPC takes HTTP/2: by ALPN, or by prior knowledge\n"), "{text}");
}

#[test]
fn what_is_wrong_is_told_before_the_request_ends() {
    let long = [0, 0, 0x40, 0, 1];
    for (path, body, want) in [
        (PING, &long[..], "grpc-status=8"),
        (DUPLEX, b"x", "grpc-status=13"),
        ("/a.B/C", b"", "grpc-status=12"),
    ] {
        let mut peer = Peer::new(LARGE);
        peer.ask(call(path, body), false);
        let script = vec![(MS, 0, Act::Send(peer.take()))];
        let outcome = Scene { script, ..Scene::default() }.run();
        let bytes = &outcome.clients[0].bytes;
        let reset = frames(bytes).into_iter().find(|(kind, ..)| *kind == 3);
        assert_eq!(reset, Some((3, 0, 1, 4)), "{path}");
        let lines = peer.read(bytes).join(", ");
        assert!(lines.contains(want) && lines.contains("0 end"), "{path}: {lines}");
        assert_eq!((outcome.counters.refused, outcome.open), (1, 1), "{path}");
    }
}

#[test]
fn a_watch_goes_on_until_the_server_stops() {
    let (mut peer, mut other) = (Peer::new(LARGE), Peer::new(LARGE));
    peer.ask(call(WATCH, &message(b"")), true);
    // Keeps the world going until the first client has read all it was sent.
    other.ask(Ask::get("/delay/600ms"), true);
    let script = vec![(MS, 0, Act::Send(peer.take())), (MS, 1, Act::Send(other.take()))];
    let outcome = Scene { script, stop_ns: Some(500 * MS), ..Scene::default() }.run();
    let ended_ns = outcome.clients[0].ended_ns.expect("the server closed");
    assert!(outcome.finished && (500 * MS..510 * MS).contains(&ended_ns), "{ended_ns}");
    let lines = peer.read(&outcome.clients[0].bytes);
    let want = "0 200 content-type=application/grpc, 0 trailers grpc-status=14, \
        0 end \"\\0\\0\\0\\0\\u{2}\\u{8}\\u{1}\", goaway NO_ERROR";
    assert_eq!(lines.join(", "), want);
}

#[test]
fn responses_come_in_their_time_and_requests_between_them() {
    // Twice 10 ms before an empty payload.
    let twice = message(b"\x12\x03\x10\x90\x4e\x12\x03\x10\x90\x4e");
    let mut peer = Peer::new(LARGE);
    peer.ask(call(DUPLEX, &twice), false);
    let first = peer.take();
    peer.send(0, &message(b"\x12\0"), true);
    let script = vec![(MS, 0, Act::Send(first)), (2 * MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let times: Vec<u64> =
        seen.arrivals.iter().map(|(at_ns, _)| at_ns / MS).filter(|ms| *ms > 5).collect();
    assert_eq!(times, [11, 21]);
    let lines = peer.read(&seen.bytes).join(", ");
    let empty = r"\0\0\0\0\u{2}\n\0".repeat(3);
    assert!(lines.ends_with(&format!("0 trailers grpc-status=0, 0 end \"{empty}\"")), "{lines}");
}

#[test]
fn deadlines_are_kept() {
    let slow = message(b"\x20\x80\xca\xb5\xee\x01");
    for (path, body, ends, wait_ns) in [
        (PING, &slow, true, 50 * MS),
        (DUPLEX, &message(b""), false, 50 * MS),
        (PING, &vec![], false, 50 * MS),
    ] {
        let fields = [GRPC, ("grpc-timeout", "50m")];
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask { fields: &fields, ..Ask::post(path, body) }, ends);
        let script = vec![(MS, 0, Act::Send(peer.take()))];
        let outcome = Scene { script, ..Scene::default() }.run();
        let seen = &outcome.clients[0];
        let at_ns = seen.arrivals.last().expect("an answer").0;
        assert!((MS + wait_ns..2 * MS + wait_ns).contains(&at_ns), "{path} {at_ns}");
        let lines = peer.read(&seen.bytes).join(", ");
        assert!(lines.starts_with("0 200 content-type=application/grpc grpc-status=4"), "{lines}");
    }
    // In time, it is as if there were none.
    let fields = [GRPC, ("grpc-timeout", "50m")];
    let quick =
        asked(Ask { fields: &fields, ..Ask::post(PING, &message(b"")) }, true, Scene::default());
    assert!(quick.contains("grpc-status=0"), "{quick}");
}

#[test]
fn a_client_that_does_not_read_costs_its_windows() {
    // 1 GiB to come, of which the window takes 1000 bytes.
    let request = message(b"\x12\x06\x08\x80\x80\x80\x80\x04");
    let mut peer = Peer::new(LARGE);
    peer.raw(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 3, 0xe8]);
    let fields = [GRPC, ("grpc-timeout", "1S")];
    peer.ask(Ask { fields: &fields, ..Ask::post(OUTPUT, &request) }, true);
    let script = vec![(MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = frames(&outcome.clients[0].bytes);
    let sent: usize = seen.iter().filter(|it| it.0 == 0).map(|it| it.3).sum();
    assert_eq!(sent, 1000);
    // A status cannot stand behind a part of a message.
    let last = seen.last().expect("frames");
    assert_eq!((last.0, last.2), (3, 1));
    assert!(outcome.counters.bytes_sent < 2000, "{}", outcome.counters.bytes_sent);
}

#[test]
fn requests_wait_while_their_answers_are_not_read() {
    // Each asks for 4 kB, and there is room for none.
    let request = message(b"\x12\x03\x08\xa0\x1f\x1a\x05\x12\x03abc");
    let mut peer = Peer::new(LARGE);
    peer.raw(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    peer.ask(call(DUPLEX, &request.repeat(3000)), false);
    let first = peer.take();
    let all = [first, window_update(1, 100_000)].concat();
    let script = vec![
        (MS, 0, Act::Send(all[..all.len() - 13].to_vec())),
        (S, 0, Act::Send(all[all.len() - 13..].to_vec())),
    ];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let early = seen.arrivals.iter().take_while(|(at_ns, _)| *at_ns < S).last().expect("a head").1;
    let updates = |bytes: &[u8]| frames(bytes).iter().filter(|it| it.0 == 8 && it.2 == 1).count();
    assert_eq!(updates(&seen.bytes[..early]), 0, "no room for requests");
    let sent: usize = frames(&seen.bytes).iter().filter(|it| it.0 == 0).map(|it| it.3).sum();
    assert_eq!(sent, 100_000);
}

#[test]
fn requests_wait_for_room_while_an_answer_is_not_due() {
    // The first asks for its answer 500 ms later, the others for none.
    let request = [message(b"\x12\x04\x10\xa0\xc2\x1e"), message(b"").repeat(3000)].concat();
    let http2 = StreamFaults { window_bytes: Some(20_000), ..StreamFaults::default() };
    let mut peer = Peer::new(LARGE);
    // Until the client acknowledges it, the window is the protocol's.
    peer.raw(&[0, 0, 0, 4, 1, 0, 0, 0, 0]);
    peer.ask(call(DUPLEX, &request), false);
    let script = vec![(MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, ..with(Faults { http2, ..Faults::default() }) }.run();
    let seen = &outcome.clients[0];
    let early = seen.arrivals.iter().take_while(|(at_ns, _)| *at_ns < 500 * MS).last();
    let (_, early) = *early.expect("a greeting");
    let updates = |bytes: &[u8]| frames(bytes).iter().filter(|it| it.0 == 8 && it.2 == 1).count();
    assert_eq!((updates(&seen.bytes[..early]), updates(&seen.bytes)), (0, 1));
}

#[test]
fn a_call_that_is_given_up_is_forgotten() {
    let mut peer = Peer::new(LARGE);
    peer.ask(call(DUPLEX, &message(b"\x12\x04\x10\x80\x89\x7a")), false);
    let begun = [peer.take(), cancel(1)].concat();
    peer.ask(call(PING, &message(b"")), true);
    let script = vec![(MS, 0, Act::Send(begun)), (5 * MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, until_ns: 5 * S, ..Scene::default() }.run();
    let lines = peer.read(&outcome.clients[0].bytes).join(", ");
    let want = "1 200 content-type=application/grpc, 1 trailers grpc-status=0, 1 end \
        \"\\0\\0\\0\\0\\0\"";
    assert_eq!(lines, want);
}

#[test]
fn faults_of_calls() {
    let ping = message(b"\x08\x07");
    let count = |faults: Faults, what: &str| {
        let mut peer = Peer::new(LARGE);
        (0..200).for_each(|_| {
            peer.ask(call(PING, &ping), true);
        });
        let bytes = peer.take();
        let lines = told(peer, &bytes, with(faults));
        lines.matches(what).count()
    };
    let mixed = || Faults {
        grpc_status: "20%:UNAVAILABLE,10%:8".parse().expect("a mix"),
        seed: 7,
        ..Faults::default()
    };
    // Exact for this seed; the expectations are 40, 20 and 140.
    assert_eq!(
        ["grpc-status=14", "grpc-status=8", "grpc-status=0"].map(|what| count(mixed(), what)),
        [31, 21, 148]
    );
    let errors = Faults { errors: "100%:503".parse().expect("a mix"), ..mixed() };
    assert_eq!(count(errors, "503 Service Unavailable"), 200);
    let late = Faults { latency: "100%:7ms".parse().expect("a mix"), ..Faults::default() };
    for (path, ends) in [(PING, true), (DUPLEX, true)] {
        let mut peer = Peer::new(LARGE);
        peer.ask(call(path, &message(b"\x12\0")[..if path == PING { 0 } else { 7 }]), ends);
        let script = vec![(MS, 0, Act::Send(peer.take()))];
        let outcome = Scene { script, ..with(late.clone()) }.run();
        let arrivals = &outcome.clients[0].arrivals;
        assert_eq!(arrivals.last().expect("an answer").0, 8 * MS + 20_000, "{path}");
    }
}

#[test]
fn a_deadline_that_was_met_keeps_no_connection_open() {
    let fields = [GRPC, ("grpc-timeout", "1S")];
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask { fields: &fields, ..Ask::post(PING, &message(b"")) }, true);
    let script = vec![(MS, 0, Act::Send(peer.take())), (50 * MS, 0, Act::Finish)];
    let late = Faults { latency: "100%:7ms".parse().expect("a mix"), ..Faults::default() };
    let outcome = Scene { script, ..with(late) }.run();
    let ended_ns = outcome.clients[0].ended_ns.expect("the server closed");
    assert!((50 * MS..60 * MS).contains(&ended_ns), "{ended_ns}");
    assert!(peer.read(&outcome.clients[0].bytes).join(", ").contains("grpc-status=0"));
}
