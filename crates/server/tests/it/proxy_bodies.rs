//! Request bodies through the proxy under the simulated kernel: of every length about the buffer's,
//! framed in each way and cut anywhere; asked for, answered early, and left half way.

use plimsoll_io::sim::SimOptions;
use plimsoll_proto::http1::{Limits, RequestDecoder, RequestEvent};

use crate::proxy_world::{Do, Outcome, Scene, bare, ok, say};
use crate::world::{Act, MS, S};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
/// Short, so that every cut can be tried.
const BUFFER_BYTES: usize = 12;

/// A number of bytes, no two neighbours alike.
fn body(len: usize) -> String {
    (b'a'..=b'z').cycle().map(char::from).take(len).collect()
}

/// A request with such a body: with its length, in one chunk, or in chunks of three with trailers.
fn framings(body: &str) -> [String; 3] {
    let head = |field: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
    let chunks = |size: usize| {
        let chunks = body.as_bytes().chunks(size);
        let text = |chunk: &[u8]| String::from_utf8_lossy(chunk).into_owned();
        let line = |chunk: &[u8]| format!("{:x}\r\n{}\r\n", chunk.len(), text(chunk));
        chunks.map(line).collect::<String>()
    };
    let chunked = head("Transfer-Encoding: chunked");
    [
        head(&format!("Content-Length: {}", body.len())) + body,
        format!("{chunked}{}0\r\n\r\n", chunks(body.len().max(1))),
        format!("{chunked}{}0\r\nX-Trailer: 1\r\n\r\n", chunks(3)),
    ]
}

/// The bodies that the upstreams got whole, and whether anything else came.
fn forwarded(outcome: &Outcome) -> (Vec<String>, bool) {
    let (mut bodies, mut has_rest) = (Vec::new(), false);
    for connection in &outcome.log.bytes {
        let mut decoder = RequestDecoder::new(Limits::default());
        let (mut bytes, mut body) = (&connection[..], Vec::new());
        while !bytes.is_empty() {
            let decoded = decoder.decode(bytes).expect("the proxy writes good requests");
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                Some(RequestEvent::Body(piece)) => body.extend_from_slice(piece),
                Some(RequestEvent::End(_)) => {
                    bodies.push(String::from_utf8(std::mem::take(&mut body)).expect("ASCII"));
                }
                _ => {}
            }
        }
        has_rest |= !decoder.is_idle();
    }
    (bodies, has_rest)
}

fn buffering(script: &[(u64, usize, &str)], buffer_bytes: usize) -> Scene {
    Scene::of(script).with(|rules| rules.limits.body_buffer_bytes = buffer_bytes)
}

#[test]
fn bodies_of_any_length_arrive_however_they_are_cut() {
    for len in (0..=1).chain(BUFFER_BYTES - 1..=BUFFER_BYTES + 1).chain([2 * BUFFER_BYTES]) {
        let body = body(len);
        for request in framings(&body) {
            // The next request stands behind it in the same bytes.
            let text = format!("{request}{GET}");
            for at in 1..text.len() {
                let (first, second) = text.split_at(at);
                let scene = buffering(&[(1, 0, first), (3, 0, second)], BUFFER_BYTES);
                let outcome = scene.run(|_, _| ok("ok"));
                assert_eq!(outcome.clients[0].text(), OK.repeat(2), "{text:?} cut at {at}");
                let whole = (vec![body.clone(), String::new()], false);
                assert_eq!(forwarded(&outcome), whole, "{text:?} cut at {at}");
                assert_eq!(outcome.counters.completed, 2, "{text:?} cut at {at}");
            }
        }
    }
}

#[test]
fn large_bodies_arrive_in_small_pieces_too() {
    for seed in 0..12 {
        // About the usual buffer's length.
        let body = body(255_990 + 5_000 * (seed as usize % 4));
        let request = &framings(&body)[seed as usize % 2];
        let mut scene = Scene::of(&[(1, 0, &format!("{request}{GET}"))]);
        scene.sim = SimOptions { seed, split: 0.5, partial_write: 0.3, ..SimOptions::default() };
        let outcome = scene.run(|_, _| ok("ok"));
        assert_eq!(outcome.clients[0].text(), OK.repeat(2), "seed {seed}");
        assert!(forwarded(&outcome) == (vec![body, String::new()], false), "seed {seed}");
    }
}

#[test]
fn an_upstream_is_taken_for_a_whole_body_or_a_full_buffer() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n";
    for (buffer_bytes, sent, want) in [
        (BUFFER_BYTES, BUFFER_BYTES - 1, 0),
        (BUFFER_BYTES, BUFFER_BYTES, 1),
        (39, 38, 0),
        (100, 39, 0),
        (100, 40, 1),
        (0, 0, 1),
    ] {
        let text = format!("{head}{}", body(sent));
        let outcome = buffering(&[(1, 0, &text)], buffer_bytes).until(100 * MS).run(|_, _| ok(""));
        assert_eq!(outcome.log.connections, want, "{sent} bytes of {buffer_bytes}");
    }
}

#[test]
fn the_memory_for_all_bodies_has_an_end() {
    // Each wants 40 kB; beyond 150 kB the rest goes on with what there is.
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n";
    let text = [head, &body(39_999)].concat();
    let script: Vec<_> = (0..10).map(|client| (1 + client as u64, client, text.as_str())).collect();
    let ends = (0..10).map(|client| (500 * MS, client, Act::Send(b"!".to_vec())));
    let scene = || Scene::of(&script).with(|rules| rules.limits.body_buffers_bytes = 150_000);
    let early = scene().until(400 * MS).run(|_, _| ok("ok"));
    assert!((6..=8).contains(&early.log.connections), "{}", early.log.connections);
    let outcome = scene().acts(ends).run(|_, _| ok("ok"));
    assert_eq!(outcome.counters.completed, 10);
    // It is given back: later ones are collected again.
    let again = (0..3).map(|client| (S, client, Act::Send(text.clone().into_bytes())));
    let ends = (0..10).map(|client| (500 * MS, client, Act::Send(b"!".to_vec())));
    let later = scene().acts(ends).acts(again).run(|_, _| ok("ok"));
    assert_eq!((later.counters.requests, later.counters.completed), (13, 10));
    assert_eq!(later.log.requests_ns.len(), 10, "{:?}", later.counters);
}

#[test]
fn the_proxy_asks_for_a_body_itself() {
    let head = |version: &str, field: &str| {
        format!("POST / HTTP/{version}\r\nHost: a\r\n{field}\r\nExpect: 100-Continue\r\n\r\n")
    };
    let (length, chunked) = ("Content-Length: 4", "Transfer-Encoding: chunked");
    let last = OK.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    for (first, second, want) in [
        (head("1.1", length), "body", format!("{CONTINUE}{OK}")),
        (head("1.1", chunked), "4\r\nbody\r\n0\r\n\r\n", format!("{CONTINUE}{OK}")),
        (head("1.1", length) + "b", "ody", OK.to_owned()),
        (head("1.1", length) + "body", "", OK.to_owned()),
        (head("1.1", "X: y"), "", OK.to_owned()),
        (head("1.0", length), "body", last),
    ] {
        let scene = Scene::of(&[(1, 0, &first), (5, 0, second)]);
        let outcome = scene.run(|_, _| ok("ok"));
        assert_eq!(outcome.clients[0].text(), want, "{first}");
        let text = outcome.log.text(0);
        assert!(!text.contains("xpect"), "{text}");
        assert!(!first.contains(length) || text.ends_with("\r\n\r\nbody"), "{text}");
    }
    // Too long: refused before it is asked for.
    let scene = Scene::of(&[(1, 0, &head("1.1", length))])
        .with(|rules| rules.limits.request.body_bytes = 3);
    let text = scene.run(|_, _| ok("ok")).clients[0].text();
    assert!(text.starts_with("HTTP/1.1 413 "), "{text}");
    // Without a buffer that is between the client and the upstream.
    let scene = buffering(&[(1, 0, &head("1.1", length)), (5, 0, "body")], 0);
    let outcome = scene.run(|_, _| ok("ok"));
    assert_eq!(outcome.clients[0].text(), OK);
    assert!(outcome.log.text(0).contains("\r\nExpect: 100-Continue\r\n"));
}

#[test]
fn an_answer_before_the_end_of_a_long_body_ends_the_connection() {
    let head = "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";
    let refusal = "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n";
    let text = format!("{head}{}", body(BUFFER_BYTES));
    // What looks like a request is still the body.
    let scene = buffering(&[(1, 0, &text), (5, 0, GET), (6, 0, GET)], BUFFER_BYTES);
    let outcome = scene.run(move |_, _| vec![say(refusal)]);
    let want = "HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    assert_eq!(outcome.clients[0].text(), want);
    assert_eq!((outcome.open, outcome.counters.requests, outcome.counters.completed), (0, 1, 1));
}

#[test]
fn clients_that_leave_half_way_leave_nothing_behind() {
    for (sent, connections) in [(0, 0), (BUFFER_BYTES - 1, 0), (BUFFER_BYTES, 1), (30, 1)] {
        for act in [Act::Finish, Act::Close, Act::Reset] {
            let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n";
            let text = format!("{head}{}", body(sent));
            let scene = buffering(&[(1, 0, &text), (20, 1, GET)], BUFFER_BYTES)
                .acts([(5 * MS, 0, act.clone())])
                .with(|rules| rules.limits.upstream_connections = 1);
            let outcome = scene.run(|_, _| ok("ok"));
            assert_eq!(outcome.clients[1].text(), OK, "{sent}, {act:?}");
            let counters = outcome.counters;
            assert_eq!((counters.abandoned, counters.completed), (1, 1), "{sent}, {act:?}");
            // One more for the second client.
            assert_eq!(outcome.log.connections, connections + 1, "{sent}, {act:?}");
            assert_eq!(outcome.log.requests_ns.len(), 1, "{sent}, {act:?}");
        }
    }
}

#[test]
fn a_body_that_goes_wrong_is_refused_and_nobody_hears_of_it() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (rest, want) in
        [("3\r\nabcd\r\n0\r\n\r\n", "400"), ("b\r\nabcdefghijk\r\n0\r\n\r\n", "413")]
    {
        let scene = Scene::of(&[(1, 0, head), (5, 0, rest)])
            .with(|rules| rules.limits.request.body_bytes = 10);
        let outcome = scene.run(|_, _| ok("ok"));
        let text = outcome.clients[0].text();
        assert!(text.starts_with(&format!("HTTP/1.1 {want} ")), "{text}");
        let counters = outcome.counters;
        assert_eq!((counters.bodies_refused, counters.refused, counters.requests), (1, 0, 1));
        assert_eq!(outcome.log.connections, 0);
    }
}

/// One of the ways in which a client can behave, by a number.
fn behave(dice: u64, client: usize, at_ns: u64) -> Vec<(u64, usize, Act)> {
    let send = |after_ms: u64, text: &str| {
        (at_ns + after_ms * MS, client, Act::Send(text.as_bytes().to_vec()))
    };
    let act = |after_ms: u64, act: Act| (at_ns + after_ms * MS, client, act);
    let [length, chunked, _] = framings(&body(40));
    match dice % 12 {
        0 => vec![send(0, GET)],
        1 => vec![send(0, &length)],
        2 => vec![send(0, &chunked[..64]), send(7, &chunked[64..])],
        3 => vec![send(0, &length[..50]), act(3, Act::Reset)],
        4 => vec![send(0, &length[..80]), act(3, Act::Finish)],
        5 => vec![send(0, &length[..80])],
        6 => vec![send(0, &chunked[..60]), send(2, "zz\r\n")],
        7 => vec![send(0, GET), act(1, Act::Close)],
        8 => vec![send(0, "GET / HTTP/1.1\r\n\r\n")],
        9 => vec![send(0, &GET.repeat(3)), act(9, Act::Finish)],
        10 => vec![act(0, Act::Pause), send(0, GET), send(1, &length)],
        _ => vec![send(0, &length[..58]), send(4, &length[58..]), send(6, GET)],
    }
}

/// What an upstream makes of a request, by a number.
fn reply(dice: u64) -> Vec<Do> {
    let late = |text: &str| vec![Do::Say(30 * MS, text.into())];
    match dice % 9 {
        0 => vec![],
        1 => vec![Do::Close(0)],
        2 => vec![Do::Reset(MS)],
        3 => vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")],
        4 => vec![say("nonsense\r\n\r\n")],
        5 => vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), Do::Reset(5 * MS)],
        6 => late(OK),
        7 => vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")],
        _ => ok("ok"),
    }
}

/// Whatever becomes of them, each request is counted once. (Every scene checks the sum.)
#[test]
fn each_request_comes_to_one_end() {
    let mut seen = [0; 8];
    for seed in 0..150_u64 {
        // SplitMix64's step and a multiply are random enough for choices.
        let dice = move |n: u64| (seed * 1000 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        let acts = (0..12)
            .flat_map(|client| behave(dice(client as u64), client, MS * (1 + dice(99) % 20)));
        let mut scene = Scene::of(&[]).acts(acts.collect::<Vec<_>>()).with(|rules| {
            *rules = bare(2);
            rules.limits.upstream_connections = 2;
            rules.limits.queue = 4;
            rules.limits.body_buffer_bytes = BUFFER_BYTES << (dice(100) % 4);
            rules.timeouts.response_ns = 150 * MS;
            rules.timeouts.upstream_idle_ns = 200 * MS;
            rules.timeouts.queue_ns = 100 * MS;
            rules.timeouts.body_ns = 250 * MS;
            rules.timeouts.drain_ns = 10 * MS;
        });
        scene.stop_ns = Some(if seed % 3 == 0 { 60 * MS } else { S });
        scene.sim = SimOptions { seed, split: 0.3, partial_write: 0.3, ..SimOptions::default() };
        let outcome = scene.run(move |number, _| reply(dice(200 + number as u64)));
        assert!(outcome.finished, "seed {seed}");
        let it = outcome.counters;
        let ends = [
            it.completed,
            it.cut_off,
            it.abandoned,
            it.drained,
            it.bodies_refused,
            it.queue_failures,
            it.bad_gateway,
            it.gateway_timeouts,
        ];
        seen.iter_mut().zip(ends).for_each(|(seen, end)| *seen += end);
    }
    assert!(!seen.contains(&0), "each end was seen: {seen:?}");
}
