//! What clients that speak HTTP/2 get from the proxy, and what its upstreams see of them.

use plimsoll_io::sim::SimOptions;
use plimsoll_server::proxy::Forwarded;

use crate::http2_peer::{Ask, Peer, cancel, frames, window_update};
use crate::proxy_world::{Do, Outcome, Scene, bare, ok, say};
use crate::world::{Act, MS, S};

const LARGE: u32 = 1 << 30;
const OK: &str = "0 200 content-length=2, 0 end \"ok\"";

/// Trailers on a stream, as a client sends them: literals that enter no table.
fn trailers(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    let head = [0, 0, block.len() as u8, 1, 5];
    [&head[..], &stream.to_be_bytes(), &block].concat()
}

/// One client that sends all of this at once.
fn scene(bytes: Vec<u8>) -> Scene {
    Scene::of(&[]).acts([(MS, 0, Act::Send(bytes))])
}

/// What one client gets that asks this, and what came of it.
fn asked(ask: Ask<'_>, seed: u64, said: &[Do]) -> (String, Outcome) {
    let mut peer = Peer::new(LARGE);
    peer.ask(ask, true);
    let mut scene = scene(peer.take());
    if seed > 0 {
        scene.sim = SimOptions { seed, split: 0.8, partial_write: 0.5, ..SimOptions::default() };
    }
    let said = said.to_vec();
    let outcome = scene.run(move |_, _| said.clone());
    (peer.read(&outcome.clients[0].bytes).join(", "), outcome)
}

#[test]
fn requests_become_those_of_http1() {
    let get = Ask::get("/a?b=c");
    let with = |fields| Ask { fields, ..get };
    let post = |fields, body| Ask { fields, ..Ask::post("/", body) };
    for (ask, want) in [
        (get, "GET /a?b=c HTTP/1.1\r\nhost: a\r\n\r\n"),
        (with(&[("host", "a"), ("x-y", "1")]), "GET /a?b=c HTTP/1.1\r\nhost: a\r\nx-y: 1\r\n\r\n"),
        (
            with(&[("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"), ("cookie", "c=3")]),
            "GET /a?b=c HTTP/1.1\r\nhost: a\r\nx: y\r\ncookie: a=1; b=2; c=3\r\n\r\n",
        ),
        (
            with(&[("te", "trailers"), ("proxy-authorization", "x"), ("trailer", "y")]),
            "GET /a?b=c HTTP/1.1\r\nhost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n",
        ),
        (Ask { method: "HEAD", ..get }, "HEAD /a?b=c HTTP/1.1\r\nhost: a\r\n\r\n"),
        (
            Ask { method: "OPTIONS", path: "*", fields: &[("max-forwards", "7")], body: b"" },
            "OPTIONS * HTTP/1.1\r\nhost: a\r\nMax-Forwards: 6\r\n\r\n",
        ),
        (
            post(&[("content-length", "3")], b"abc"),
            "POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            post(&[], b"abc"),
            "POST / HTTP/1.1\r\nhost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
             3\r\nabc\r\n0\r\n\r\n",
        ),
        (
            post(&[("expect", "100-continue"), ("content-length", "2")], b"ab"),
            "POST / HTTP/1.1\r\nhost: a\r\nContent-Length: 2\r\n\r\nab",
        ),
    ] {
        for seed in 0..6 {
            let said = if ask.method == "HEAD" {
                "HTTP/1.1 200 OK\r\n\r\n"
            } else {
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            };
            let (got, outcome) = asked(ask, seed, &[say(said)]);
            assert_eq!(outcome.log.text(0), want, "seed {seed}, {ask:?}");
            assert!(got.ends_with("0 end \"ok\"") || ask.method == "HEAD", "{got}");
            assert_eq!(got.starts_with("0 100, "), ask.fields.iter().any(|it| it.0 == "expect"));
            let counters = outcome.counters;
            assert_eq!((counters.completed, counters.http2_connections), (1, 1), "{ask:?}");
        }
    }
}

#[test]
fn what_the_proxy_adds_says_http2() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask { fields: &[("x-forwarded-port", "1")], ..Ask::get("/") }, true);
    let scene = scene(peer.take()).with(|rules| {
        rules.forwarded = Forwarded::Append;
        rules.via = true;
    });
    let outcome = scene.run(|_, _| ok("ok"));
    let text = outcome.log.text(0);
    let (head, fields) = text.split_once("X-Forwarded-For: ").expect("a field");
    assert_eq!(head, "GET / HTTP/1.1\r\nhost: a\r\n");
    let (_, rest) = fields.split_once("\r\n").expect("a line");
    let want = "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\nVia: 2.0 plimsoll\r\n\r\n";
    assert_eq!(rest, want);
}

#[test]
fn responses_become_those_of_http2() {
    let close = |text: &str| vec![say(text), Do::Close(MS)];
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let head = |status: &str| format!("HTTP/1.1 {status} X\r\n");
    for (said, want) in [
        (ok("ok"), OK.to_owned()),
        (ok(""), "0 200 content-length=0, 0 end \"\"".to_owned()),
        (
            vec![say("HTTP/1.1 418 Pot\r\nServer: x\r\nSet-Cookie: a\r\nset-cookie: b\r\n\
                 Connection: Keep-Alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTrailer: z\r\n\
                 X-Empty:\r\nContent-Length: 0\r\n\r\n")],
            "0 418 server=x set-cookie=a set-cookie=b x-empty= content-length=0, 0 end \"\""
                .to_owned(),
        ),
        (vec![say(format!("{chunked}2;x\r\nok\r\n0\r\n\r\n"))], "0 200, 0 end \"ok\"".to_owned()),
        (
            vec![say(format!("{chunked}2\r\nok\r\n0\r\nX-Sum: 1\r\nHost: b\r\nTe: x\r\n\r\n"))],
            "0 200, 0 trailers x-sum=1, 0 end \"ok\"".to_owned(),
        ),
        (close("HTTP/1.1 200 OK\r\n\r\nok"), "0 200, 0 end \"ok\"".to_owned()),
        (close("HTTP/1.0 200 OK\r\n\r\nok"), "0 200, 0 end \"ok\"".to_owned()),
        (vec![say(head("204") + "\r\n")], "0 204, 0 end \"\"".to_owned()),
        (
            vec![say(head("304") + "Content-Length: 9\r\n\r\n")],
            "0 304 content-length=9, 0 end \"\"".to_owned(),
        ),
        (
            vec![
                say("HTTP/1.1 103 Hints\r\nLink: x\r\nConnection: y\r\nY: 1\r\n\r\n"),
                Do::Say(MS, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec()),
            ],
            format!("0 103, {OK}"),
        ),
    ] {
        for seed in 0..6 {
            let (got, outcome) = asked(Ask::get("/"), seed, &said);
            assert_eq!(got, want, "seed {seed}, {said:?}");
            assert_eq!(outcome.counters.completed, 1, "{said:?}");
        }
    }
    let said = [say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")];
    let (got, _) = asked(Ask { method: "HEAD", ..Ask::get("/") }, 0, &said);
    assert_eq!(got, "0 200 content-length=9, 0 end \"\"");
}

#[test]
fn trailers_of_requests_go_on_behind_chunks() {
    let fields = [("x-sum", "1"), ("content-length", "4"), ("host", "b"), ("x-late", "2")];
    for (length, want) in [
        (
            None,
            "\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\nx-late: 2\r\n\r\n",
        ),
        (Some(("content-length", "3")), "\r\nContent-Length: 3\r\n\r\nabc"),
    ] {
        let mut peer = Peer::new(LARGE);
        let fields_of_head = length.as_slice();
        peer.ask(Ask { fields: fields_of_head, ..Ask::post("/", b"abc") }, false);
        // A length in trailers would have to be that of the body.
        let named = if length.is_some() { &fields[..1] } else { &fields[..] };
        let named: Vec<_> = named.iter().filter(|it| it.0 != "content-length").copied().collect();
        peer.raw(&trailers(1, &named));
        let outcome = scene(peer.take()).run(|_, _| ok("ok"));
        assert_eq!(peer.read(&outcome.clients[0].bytes).join(", "), OK);
        assert!(outcome.log.text(0).ends_with(want), "{}", outcome.log.text(0));
    }
}

#[test]
fn what_is_refused_over_http1_is_refused_over_http2() {
    let get = Ask::get("/");
    let many: Vec<_> = (0..130).map(|_| ("x", "y")).collect();
    for (ask, status) in [
        (Ask { path: "/a#b", ..get }, "400"),
        (Ask { path: "/a\"", ..get }, "400"),
        (Ask { fields: &[("x", "a\u{1}b")], ..get }, "400"),
        (
            Ask {
                fields: &[("content-length", "2"), ("content-length", "2")],
                ..Ask::post("/", b"ab")
            },
            "400",
        ),
        (Ask { method: "TRACE", ..get }, "501"),
        (Ask { method: "OPTIONS", fields: &[("max-forwards", "0")], ..get }, "501"),
        (Ask { fields: &many, ..get }, "431"),
    ] {
        let (got, outcome) = asked(ask, 0, &ok("no"));
        assert!(got.starts_with(&format!("0 {status} content-type=text/plain ")), "{ask:?}: {got}");
        assert!(got.contains("0 end "), "{got}");
        assert_eq!((outcome.counters.refused, outcome.log.connections), (1, 0), "{ask:?}");
        assert_eq!(outcome.open, 1, "the connection goes on");
    }
    for (fields, body, bytes) in
        [(&[("content-length", "11")][..], &b"12345678901"[..], 0), (&[], b"12345678901", 1)]
    {
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask { fields, ..Ask::post("/", body) }, true);
        let scene = scene(peer.take()).with(|rules| rules.limits.request.body_bytes = 10);
        let outcome = scene.run(|_, _| ok("no"));
        let got = peer.read(&outcome.clients[0].bytes).join(", ");
        assert!(got.starts_with("0 413 "), "{got}");
        assert_eq!(outcome.counters.bodies_refused, bytes);
    }
}

#[test]
fn the_preface_decides_wherever_it_is_cut() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/"), true);
    let bytes = peer.take();
    for cut in 1..bytes.len() {
        let mut peer = Peer::new(LARGE);
        peer.ask(Ask::get("/"), true);
        let acts = [
            (MS, 0, Act::Send(bytes[..cut].to_vec())),
            (2 * MS, 0, Act::Send(bytes[cut..].to_vec())),
        ];
        let outcome = Scene::of(&[]).acts(acts).run(|_, _| ok("ok"));
        assert_eq!(peer.read(&outcome.clients[0].bytes).join(", "), OK, "cut at {cut}");
    }
    // Beginnings that HTTP/1 has too, and one that neither has.
    for (text, status) in [
        ("PRI * HTTP/1.1\r\nHost: a\r\n\r\n", "400"),
        ("PRI / HTTP/1.1\r\nHost: a\r\n\r\n", "200"),
        ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", "200"),
    ] {
        for cut in 1..16 {
            let script = [(1, 0, &text[..cut]), (2, 0, &text[cut..])];
            let outcome = Scene::of(&script).run(|_, _| ok("ok"));
            assert_eq!(&outcome.clients[0].text()[9..12], status, "{text:?} cut at {cut}");
        }
    }
    // What has begun and does not go on is ended.
    let scene = Scene::of(&[(1, 0, "PRI * HT")]).until(3 * S);
    let outcome = scene.with(|rules| rules.timeouts.head_ns = S).run(|_, _| ok("ok"));
    assert_eq!((outcome.open, outcome.counters.requests), (0, 0));
}

#[test]
fn streams_go_on_side_by_side_and_fail_alone() {
    let mut peer = Peer::new(LARGE);
    for path in ["/slow", "/fast", "/reset", "/cut", "/bad", "/silent", "/fast"] {
        peer.ask(Ask::post(path, b"x"), true);
    }
    let scene = scene(peer.take()).with(|rules| rules.timeouts.response_ns = S);
    let outcome = scene.run(|_, head| {
        let path = head.split(' ').nth(1).expect("a path").to_owned();
        match path.as_str() {
            "/slow" => {
                vec![Do::Say(100 * MS, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())]
            }
            "/reset" => vec![Do::Reset(0)],
            "/cut" => {
                vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), Do::Close(MS)]
            }
            "/bad" => vec![say("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nok")],
            "/silent" => vec![],
            _ => ok("ok"),
        }
    });
    let lines = peer.read(&outcome.clients[0].bytes);
    for want in [
        "0 end \"ok\"",
        "1 end \"ok\"",
        "6 end \"ok\"",
        "2 502 content-type=text/plain content-length=58",
        "3 200 content-length=9",
        "3 reset INTERNAL_ERROR",
        "4 502 content-type=text/plain content-length=58",
        "5 504 content-type=text/plain content-length=37",
    ] {
        assert!(lines.iter().any(|line| line == want), "{want}: {lines:#?}");
    }
    let counters = outcome.counters;
    assert_eq!((counters.completed, counters.cut_off, counters.bad_gateway), (3, 1, 2));
    assert_eq!((counters.gateway_timeouts, outcome.open), (1, 1));
}

#[test]
fn a_stream_that_is_given_up_ends_its_upstream_exchange_alone() {
    let mut peer = Peer::new(LARGE);
    for path in ["/slow", "/queued", "/fine"] {
        peer.ask(Ask::get(path), true);
    }
    let first = peer.take();
    let acts = [(10 * MS, 0, Act::Send([cancel(1), cancel(3)].concat()))];
    let scene = scene(first).acts(acts).with(|rules| rules.limits.upstream_connections = 1);
    let outcome = scene.run(|_, head| match head.contains("/slow") {
        true => vec![Do::Say(S, b"HTTP/1.1 200 OK\r\n\r\n".to_vec())],
        false => ok("ok"),
    });
    let got = peer.read(&outcome.clients[0].bytes).join(", ");
    assert_eq!(got, OK.replace('0', "2").replace("222", "200"));
    assert_eq!(outcome.log.connections, 2, "that of the first is not used again");
    assert_eq!((outcome.counters.abandoned, outcome.counters.completed), (2, 1));
    assert!(!outcome.log.text(1).contains("/queued"));
}

#[test]
fn a_client_that_makes_no_room_stops_its_upstream_and_no_other_stream() {
    let body = "x".repeat(1_000_000);
    let mut peer = Peer::new(1000);
    peer.ask(Ask::get("/large"), true);
    peer.ask(Ask::get("/small"), true);
    let first = peer.take();
    let large = move |_: usize, head: &str| match head.contains("/large") {
        true => ok(&body),
        false => ok("ok"),
    };
    let outcome = scene(first.clone()).run(large.clone());
    assert!(outcome.counters.upstream_bytes_received < 150_000, "{:?}", outcome.counters);
    assert!(peer.read(&outcome.clients[0].bytes).contains(&"1 end \"ok\"".to_owned()));

    // It makes room bit by bit.
    let mut peer = Peer::new(1000);
    peer.ask(Ask::get("/large"), true);
    peer.ask(Ask::get("/small"), true);
    let acts = (0..100).map(|at| {
        let more = window_update(1, 10_000);
        ((10 + 5 * at) * MS, 0, Act::Send(more))
    });
    let outcome = scene(first.clone()).acts(acts).run(large.clone());
    let data = frames(&outcome.clients[0].bytes).into_iter().filter(|it| (it.0, it.2) == (0, 1));
    let (mut bytes, mut is_ended) = (0, false);
    for (_, flags, _, length) in data {
        (bytes, is_ended) = (bytes + length, flags == 1);
    }
    assert_eq!((bytes, is_ended, outcome.counters.completed), (1_000_000, true, 2));

    // It makes none for too long.
    let mut peer = Peer::new(1000);
    peer.ask(Ask::get("/large"), true);
    peer.ask(Ask::get("/small"), true);
    let scene = scene(first).with(|rules| rules.timeouts.client_slack_ns = S);
    let outcome = scene.run(large);
    let lines = peer.read(&outcome.clients[0].bytes);
    assert!(lines.contains(&"0 reset CANCEL".to_owned()), "{lines:?}");
    let counters = outcome.counters;
    assert_eq!((counters.client_timeouts, counters.abandoned, outcome.open), (1, 1, 1));
}

#[test]
fn trailers_wait_for_the_windows_of_their_body() {
    let said = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                5\r\nabcde\r\n0\r\nX-Sum: 1\r\n\r\n";
    let mut peer = Peer::new(2);
    peer.ask(Ask::get("/"), true);
    let acts = [(10 * MS, 0, Act::Send(window_update(1, 100)))];
    let outcome = scene(peer.take()).acts(acts).run(move |_, _| vec![say(said)]);
    let of_stream = frames(&outcome.clients[0].bytes).into_iter().filter(|it| it.2 == 1);
    // HEADERS, a part of the body, the rest of it, and HEADERS that end the stream.
    let kinds: Vec<_> = of_stream.map(|(kind, flags, _, _)| (kind, flags)).collect();
    assert_eq!(kinds, [(1, 4), (0, 0), (0, 0), (1, 5)]);
    assert_eq!(outcome.counters.completed, 1);
}

#[test]
fn a_body_that_waits_for_its_upstream_gets_no_new_room() {
    let body = vec![b'x'; 60_000];
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/slow"), true);
    peer.ask(Ask::post("/", &body), true);
    let first = peer.take();
    // The windows that the proxy has opened again, for this stream, by a time.
    let opened = |bytes: &[u8]| {
        let updates = frames(bytes).into_iter();
        updates.filter(|&(kind, _, stream, _)| kind == 8 && stream == 3).count()
    };
    let scene = || {
        scene(first.clone()).with(|rules| {
            rules.limits.upstream_connections = 1;
            rules.limits.body_buffer_bytes = 1000;
        })
    };
    let slow = |_: usize, head: &str| match head.contains("/slow") {
        true => vec![Do::Say(500 * MS, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())],
        false => ok("ok"),
    };
    let outcome = scene().until(400 * MS).run(slow);
    assert_eq!(opened(&outcome.clients[0].bytes), 0, "most of it is held");
    let outcome = scene().run(slow);
    assert!(peer.read(&outcome.clients[0].bytes).contains(&"1 end \"ok\"".to_owned()));
    let text = outcome.log.text(0);
    assert_eq!(text.matches('x').count(), body.len(), "all of it arrived");
}

#[test]
fn more_streams_than_announced_are_refused() {
    let mut peer = Peer::new(LARGE);
    (0..5).for_each(|_| _ = peer.ask(Ask::get("/"), true));
    let scene = scene(peer.take()).with(|rules| rules.limits.http2.streams = 3);
    let outcome = scene.run(|_, _| {
        vec![Do::Say(50 * MS, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec())]
    });
    let lines = peer.read(&outcome.clients[0].bytes);
    let count = |what: &str| lines.iter().filter(|line| line.ends_with(what)).count();
    assert_eq!((count("refused"), count("end \"\"")), (2, 3), "{lines:?}");
    assert_eq!(outcome.counters.requests, 3);
}

#[test]
fn clients_that_break_or_flood_are_ended() {
    let request = |peer: &mut Peer| _ = peer.ask(Ask::get("/slow"), true);
    let mut broken = Peer::new(LARGE);
    request(&mut broken);
    broken.raw(&[0, 0, 0, 9, 4, 0, 0, 0, 1]);
    let mut flood = Peer::new(LARGE);
    for stream in 0..20 {
        request(&mut flood);
        flood.raw(&cancel(2 * stream + 1));
    }
    for (mut peer, code) in [(broken, "PROTOCOL_ERROR"), (flood, "ENHANCE_YOUR_CALM")] {
        let scene = scene(peer.take()).with(|rules| {
            rules.limits.http2.receiving.limits.resets = 10;
        });
        let outcome = scene.run(|_, _| vec![Do::Say(S, Vec::new())]);
        let lines = peer.read(&outcome.clients[0].bytes);
        assert!(lines.contains(&format!("goaway {code}")), "{lines:?}");
        assert_eq!((outcome.open, outcome.counters.http2_errors), (0, 1));
        assert_eq!(outcome.counters.requests, outcome.counters.abandoned);
    }
}

#[test]
fn an_idle_connection_is_said_goodbye_and_a_stop_lets_streams_end() {
    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/"), true);
    let scene_of = |bytes: Vec<u8>| scene(bytes).with(|rules| rules.timeouts.keep_alive_ns = S);
    let outcome = scene_of(peer.take()).run(|_, _| ok("ok"));
    assert_eq!(peer.read(&outcome.clients[0].bytes).join(", "), format!("{OK}, goaway NO_ERROR"));
    assert_eq!(outcome.open, 0);

    let mut peer = Peer::new(LARGE);
    peer.ask(Ask::get("/"), true);
    let first = peer.take();
    // On its way when the proxy says that it will stop.
    peer.ask(Ask::get("/"), true);
    let acts = [(25 * MS, 0, Act::Send(peer.take()))];
    let scene = Scene { stop_ns: Some(20 * MS), ..scene(first).acts(acts) };
    let outcome = scene.run(|_, _| {
        vec![Do::Say(50 * MS, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec())]
    });
    let got = peer.read(&outcome.clients[0].bytes).join(", ");
    assert!(got.starts_with("goaway NO_ERROR, goaway NO_ERROR, 0 200"), "{got}");
    assert!(got.ends_with("1 end \"ok\""), "{got}");
    let steps = frames(&outcome.clients[0].bytes).into_iter().filter(|it| it.0 == 7).count();
    assert_eq!(steps, 2);
    assert!(outcome.finished && outcome.counters.drained == 0);
    assert!(outcome.ended_ns < S, "the last stream ends the connection");
}

#[test]
fn clients_of_both_protocols_share_the_connections() {
    let mut peer = Peer::new(LARGE);
    (0..3).for_each(|_| _ = peer.ask(Ask::get("/two"), true));
    let acts = [(2 * MS, 1, Act::Send(peer.take()))];
    let mut scene = Scene::of(&[(1, 0, "GET /one HTTP/1.1\r\nHost: a\r\n\r\n")]).acts(acts);
    scene.rules = bare(1);
    scene.rules.limits.upstream_connections = 1;
    let outcome = scene.run(|_, _| ok("ok"));
    assert!(outcome.clients[0].text().ends_with("ok"));
    let lines = peer.read(&outcome.clients[1].bytes);
    assert_eq!(lines.iter().filter(|line| line.ends_with("end \"ok\"")).count(), 3);
    assert_eq!((outcome.log.connections, outcome.counters.queued), (1, 2));
}
