//! What clients that speak HTTP/2 get from the server.

use plimsoll_io::sim::SimOptions;
use plimsoll_server::Role;

use crate::http2_peer::{Ask, Peer, cancel, frames, window_update};
use crate::world::{Act, MS, S, Scene};

const HELLO: &str = "0 200 content-type=text/plain content-length=11, 0 end \"hello world\"";
const LARGE: u32 = 1 << 30;

/// A way to cut and deliver bytes.
fn sim(seed: u64) -> SimOptions {
    let is_rough = seed > 0;
    SimOptions {
        seed,
        split: if is_rough { 0.8 } else { 0.0 },
        partial_write: if is_rough { 0.5 } else { 0.0 },
        ..SimOptions::default()
    }
}

/// What one client gets that sends all of this at once.
fn told(peer: Peer, bytes: &[u8], scene: Scene) -> String {
    let script = vec![(MS, 0, Act::Send(bytes.to_vec()))];
    let outcome = Scene { script, ..scene }.run();
    peer.read(&outcome.clients[0].bytes).join(", ")
}

#[test]
fn routes_answer_as_they_do_over_http1() {
    let get = Ask::get;
    let typed = |body| Ask {
        fields: &[("content-type", "a/b"), ("content-length", "3")],
        ..Ask::post("/echo?a=b", body)
    };
    let echo = "0 200 x-echo-method=POST x-echo-target=/echo?a=b";
    let text = "0 200 content-type=text/plain";
    let binary = "0 200 content-type=application/octet-stream";
    for (ask, want) in [
        (get("/"), HELLO.to_owned()),
        (Ask::post("/", b"ignored"), HELLO.to_owned()),
        (Ask { method: "HEAD", ..get("/") }, format!("{text} content-length=11, 0 end \"\"")),
        (get("/status/204"), "0 204, 0 end \"\"".to_owned()),
        (get("/status/304"), "0 304, 0 end \"\"".to_owned()),
        (
            get("/status/205"),
            "0 205 content-type=text/plain content-length=0, 0 end \"\"".to_owned(),
        ),
        (
            get("/status/302"),
            "0 302 content-type=text/plain location=/ content-length=10, 0 end \"302 Found\\n\""
                .to_owned(),
        ),
        (get("/bytes/3"), format!("{binary} content-length=3, 0 end \"012\"")),
        (get("/bytes/0"), format!("{binary} content-length=0, 0 end \"\"")),
        (get("/bytes/3M"), format!("{binary} content-length=3000000, 0 end 3000000 bytes")),
        (get("/chunked/100k"), format!("{binary}, 0 end 100000 bytes")),
        (
            Ask { method: "HEAD", ..get("/bytes/3M") },
            format!("{binary} content-length=3000000, 0 end \"\""),
        ),
        (get("/delay/5ms"), HELLO.to_owned()),
        (get("/queue/5ms"), HELLO.to_owned()),
        (
            get("/none"),
            "0 404 content-type=text/plain content-length=106, 0 end 106 bytes".to_owned(),
        ),
        (typed(b"xyz"), format!("{echo} content-type=a/b content-length=3, 0 end \"xyz\"")),
        (
            Ask::post("/echo?a=b", b"xyz"),
            format!("{echo} content-type=application/octet-stream, 0 end \"xyz\""),
        ),
        (
            get("/echo"),
            "0 200 x-echo-method=GET x-echo-target=/echo content-type=text/plain \
             content-length=50, 0 end 50 bytes"
                .to_owned(),
        ),
        (
            Ask { method: "HEAD", ..Ask::post("/echo?a=b", b"xyz") },
            "0 200 x-echo-method=HEAD x-echo-target=/echo?a=b \
             content-type=application/octet-stream, 0 end \"\""
                .to_owned(),
        ),
        (
            Ask { fields: &[("expect", "100-continue")], ..Ask::post("/echo?a=b", b"xyz") },
            format!("0 100, {echo} content-type=application/octet-stream, 0 end \"xyz\""),
        ),
        (
            Ask { fields: &[("expect", "100-continue")], ..Ask::post("/", b"xyz") },
            format!("0 100, {HELLO}"),
        ),
    ] {
        for seed in 0..6 {
            let mut peer = Peer::new(LARGE);
            peer.ask(ask, true);
            let bytes = peer.take();
            let scene = Scene { sim: sim(seed), ..Scene::default() };
            let got = told(peer, &bytes, scene);
            assert_eq!(got, want, "seed {seed}, {ask:?}");
        }
    }
}

#[test]
fn single_purpose_addresses_answer_anything() {
    for (role, want) in [
        (Role::Hello, HELLO),
        (Role::Echo, "0 200 content-type=application/octet-stream, 0 end \"xyz\""),
        (
            Role::Address,
            "0 200 content-type=text/plain content-length=16, 0 end \"127.0.0.1:40000\\n\"",
        ),
    ] {
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask::post("/any", b"xyz"), true);
        let bytes = peer.take();
        let got = told(peer, &bytes, Scene { role, ..Scene::default() });
        let got = match role {
            // The port is the simulated kernel's to choose.
            Role::Address => got.replace(|it: char| it.is_ascii_digit(), "9"),
            _ => got,
        };
        let want = match role {
            Role::Address => want.replace(|it: char| it.is_ascii_digit(), "9"),
            _ => want.to_owned(),
        };
        assert_eq!(got, want, "{role:?}");
    }
}

#[test]
fn an_echo_shows_the_head_and_passes_trailers_on() {
    let mut peer = Peer::new(LARGE);
    let fields = &[("x-y", "z")][..];
    let number = peer.ask(Ask { fields, ..Ask::post("/echo?full", b"abc") }, false);
    peer.send(number, b"def", false);
    // HEADERS that end the stream: a literal field without indexing, `t: u`.
    peer.raw(&[0, 0, 5, 1, 5, 0, 0, 0, 1, 0, 1, b't', 1, b'u']);
    let bytes = peer.take();
    let script = vec![(MS, 0, Act::Send(bytes))];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let head = "POST /echo?full HTTP/2\r\n:scheme: http\r\n:authority: a\r\nx-y: z\r\n\r\n";
    let texts = [head, "abc", "def"];
    assert!(texts.iter().all(|text| seen.text().contains(text)), "{}", seen.text());
    let echo = "0 200 x-echo-method=POST x-echo-target=/echo?full content-type=text/plain";
    let want =
        [echo.to_owned(), "0 trailers t=u".to_owned(), format!("0 end {} bytes", head.len() + 6)];
    // The client's machine wrote no trailers itself, but it reads them.
    assert_eq!(peer.read(&seen.bytes), want);
}

#[test]
fn the_first_bytes_decide_wherever_they_are_cut() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/"), true);
    let bytes = peer.take();
    for cut in 1..40 {
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask::get("/"), true);
        let (before, after) = bytes.split_at(cut);
        let script =
            vec![(MS, 0, Act::Send(before.to_vec())), (2 * MS, 0, Act::Send(after.to_vec()))];
        let outcome = Scene { script, ..Scene::default() }.run();
        assert_eq!(peer.read(&outcome.clients[0].bytes).join(", "), HELLO, "cut at {cut}");
    }
    // Requests of HTTP/1 that begin alike.
    for (request, status) in [
        ("PRI /bytes/1 HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
        ("PRI * HTTP/1.1\r\nHost: a\r\n\r\n", "404"),
        ("PRI * HTTP/2.1\r\n\r\n", "505"),
        ("P", ""),
    ] {
        for cut in 1..=request.len() {
            let (before, after) = request.as_bytes().split_at(cut);
            let script =
                vec![(MS, 0, Act::Send(before.to_vec())), (2 * MS, 0, Act::Send(after.to_vec()))];
            let outcome = Scene { script, ..Scene::default() }.run();
            let text = outcome.clients[0].text();
            let got = text.strip_prefix("HTTP/1.1 ").unwrap_or(&text);
            assert_eq!(got.get(..3).unwrap_or(""), status, "{request:?} cut at {cut}");
        }
    }
}

#[test]
fn answers_come_when_they_are_due_and_long_ones_take_turns() {
    let mut peer = Peer::new(LARGE);
    for path in ["/delay/50ms", "/bytes/5M", "/", "/bytes/100k", "/delay/10ms"] {
        peer.ask(Ask::get(path), true);
    }
    let bytes = peer.take();
    let got = told(peer, &bytes, Scene::default());
    let ends: Vec<_> = got.split(", ").filter(|line| line.contains(" end ")).collect();
    let hello = "end \"hello world\"";
    let of = |number: u32| format!("{number} {hello}");
    let at = |line: &str| ends.iter().position(|end| *end == line).expect("an end");
    assert_eq!(ends.len(), 5, "{ends:?}");
    assert_eq!(at(&of(2)), 0, "{ends:?}");
    assert!(at("3 end 100000 bytes") < at("1 end 5000000 bytes"), "{ends:?}");
    assert!(at(&of(4)) < at(&of(0)), "{ends:?}");
}

#[test]
fn as_many_as_come_at_once_are_answered() {
    let mut peer = Peer::new(LARGE);
    (0..50).for_each(|_| {
        peer.ask(Ask::get("/"), true);
    });
    let bytes = peer.take();
    let scene = Scene { script: vec![(MS, 0, Act::Send(bytes))], ..Scene::default() };
    let outcome = scene.run();
    let seen = &outcome.clients[0];
    assert_eq!(outcome.counters.requests, 50);
    assert_eq!(outcome.counters.responses, [0, 50, 0, 0, 0]);
    let ends = peer.read(&seen.bytes);
    assert_eq!(ends.iter().filter(|line| line.ends_with("end \"hello world\"")).count(), 50);
}

#[test]
fn windows_of_the_client_hold_bodies_back() {
    let mut peer = Peer::new(1000);
    peer.ask(Ask::get("/bytes/5k"), true);
    peer.ask(Ask::post("/echo", &[b'x'; 3000]), true);
    let script = vec![
        (MS, 0, Act::Send(peer.take())),
        (100 * MS, 0, Act::Send(window_update(1, 1000))),
        (200 * MS, 0, Act::Send(window_update(3, 10_000))),
        (300 * MS, 0, Act::Send(window_update(1, 10_000))),
    ];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let data = |until_ns: u64, stream: u32| -> usize {
        let arrived = seen.arrivals.iter().rev().find(|(at_ns, _)| *at_ns < until_ns);
        let frames = frames(&seen.bytes[..arrived.expect("something").1]);
        frames.iter().filter(|it| it.0 == 0 && it.2 == stream).map(|it| it.3).sum()
    };
    let sent = |until_ms: u64| (data(until_ms * MS, 1), data(until_ms * MS, 3));
    assert_eq!(
        [sent(100), sent(200), sent(300), sent(400)],
        [(1000, 1000), (2000, 1000), (2000, 3000), (5000, 3000)]
    );
}

#[test]
fn an_echo_that_the_client_does_not_take_gets_no_new_room() {
    let mut peer = Peer::new(10);
    // More than half of the server's window, which would be worth a WINDOW_UPDATE.
    let number = peer.ask(Ask::post("/echo", &[b'x'; 65_000]), false);
    let mut script = vec![(MS, 0, Act::Send(peer.take()))];
    let more = |bytes: &[u8]| {
        let length = (bytes.len() as u32).to_be_bytes();
        [&length[1..], &[0, 0, 0, 0, 0, 1], bytes].concat()
    };
    let rest: Vec<u8> = (0..8).flat_map(|_| more(&[b'x'; 10_000])).collect();
    script.push((2 * MS, 0, Act::Send(rest)));
    script.push((500 * MS, 0, Act::Send(window_update(1, 1 << 20))));
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let rooms = |until_ns: u64| {
        let arrived = seen.arrivals.iter().rev().find(|(at_ns, _)| *at_ns < until_ns);
        let frames = frames(&seen.bytes[..arrived.expect("something").1]);
        frames.iter().filter(|it| it.0 == 8 && it.2 == 1).count()
    };
    assert_eq!((number, rooms(500 * MS), rooms(S)), (0, 0, 1));
}

#[test]
fn a_client_that_does_not_read_is_not_read_from() {
    let mut peer = Peer::new(LARGE);
    (0..200).for_each(|_| {
        peer.ask(Ask::get("/bytes/1M"), true);
    });
    let script = vec![(MS / 2, 0, Act::Pause), (MS, 0, Act::Send(peer.take()))];
    let outcome = Scene { script, ..Scene::default() }.run();
    assert!(outcome.counters.requests >= 1);
    // The kernel's buffers in the simulation, and what the server queues.
    let sent = outcome.counters.bytes_sent;
    assert!((10_000..3 << 20).contains(&sent), "{sent} bytes");
}

#[test]
fn what_is_given_up_is_forgotten_and_the_rest_goes_on() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/delay/1s"), true);
    peer.ask(Ask::get("/delay/20ms"), true);
    let script = vec![(MS, 0, Act::Send(peer.take())), (5 * MS, 0, Act::Send(cancel(1)))];
    let outcome = Scene { script, ..Scene::default() }.run();
    let got = peer.read(&outcome.clients[0].bytes).join(", ");
    assert_eq!(got.matches("hello world").count(), 1, "{got}");
    assert!(got.starts_with("1 200 "), "{got}");
}

#[test]
fn broken_clients_are_told_why_and_closed() {
    for (bytes, want) in [
        // A stream of the server's own, then a frame that is too long.
        (vec![0, 0, 0, 1, 5, 0, 0, 0, 2], "goaway PROTOCOL_ERROR"),
        (vec![0xff, 0, 0, 0, 0, 0, 0, 0, 1], "goaway FRAME_SIZE_ERROR"),
    ] {
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask::get("/"), true);
        peer.raw(&bytes);
        let script = vec![(MS, 0, Act::Send(peer.take()))];
        let outcome = Scene { script, ..Scene::default() }.run();
        let seen = &outcome.clients[0];
        let got = peer.read(&seen.bytes).join(", ");
        assert_eq!(got, format!("{HELLO}, {want}"));
        assert!(seen.ended_ns.is_some_and(|at_ns| at_ns < 2 * MS), "{seen:?}");
        assert_eq!((outcome.counters.refused, outcome.open), (1, 0));
    }
}

#[test]
fn stopping_says_goaway_and_finishes_what_was_taken() {
    let mut busy = Peer::new(LARGE);
    busy.ask(Ask::get("/delay/300ms"), true);
    let mut idle = Peer::new(LARGE);
    idle.ask(Ask::get("/"), true);
    let script = vec![
        (10 * MS, 0, Act::Send(busy.take())),
        (10 * MS, 1, Act::Send(idle.take())),
        // Keeps the world going until the others have seen their end.
        (10 * MS, 2, Act::Send(b"GET /delay/20s HTTP/1.1\r\nHost: a\r\n\r\n".to_vec())),
    ];
    let stop_ns = Some(100 * MS);
    let outcome = Scene { script, stop_ns, until_ns: 60 * S, ..Scene::default() }.run();
    assert!(outcome.finished);
    let hello = HELLO.split_once(", ").expect("two lines");
    let told = |peer: Peer, client: usize| peer.read(&outcome.clients[client].bytes).join(", ");
    assert_eq!(told(idle, 1), format!("{HELLO}, goaway NO_ERROR"));
    assert_eq!(told(busy, 0), format!("goaway NO_ERROR, {}, {}", hello.0, hello.1));
    let ended_ms = |client: usize| outcome.clients[client].ended_ns.map(|at_ns| at_ns / MS);
    assert_eq!((ended_ms(1), ended_ms(0)), (Some(100), Some(310)));
}

#[test]
fn a_half_closed_client_gets_what_is_under_way() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/delay/20ms"), true);
    peer.ask(Ask::get("/bytes/2M"), true);
    let script = vec![(MS, 0, Act::Send(peer.take())), (2 * MS, 0, Act::Finish)];
    let outcome = Scene { script, ..Scene::default() }.run();
    let seen = &outcome.clients[0];
    let got = peer.read(&seen.bytes).join(", ");
    assert!(got.contains("1 end 2000000 bytes") && got.contains("0 end \"hello world\""), "{got}");
    assert!(seen.ended_ns.is_some() && outcome.open == 0);
}
