//! Requests and the very bytes of their answers.

use plimsoll_io::sim::SimOptions;
use plimsoll_proto::http1::{Limits, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_server::Role;

use crate::world::{Act, MS, S, Scene};

const HELLO: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world";
const NOT_FOUND: &str = "no such route; there are / /echo /ip /status/CODE /bytes/N /chunked/N /delay/DURATION \
     /queue/DURATION /ws\n";

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn text(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
}

/// Request, answer, and whether the server then closes.
pub(crate) fn table() -> Vec<(String, String, bool)> {
    let close = "Connection: close\r\n";
    let echo_head = "X-Echo-Method: PUT\r\nX-Echo-Target: /echo?a=b\r\n";
    let put = |headers: &str, body: &str| {
        format!("PUT /echo?a=b HTTP/1.1\r\nHost: a\r\n{headers}\r\n{body}")
    };
    let hello_head = HELLO.strip_suffix("hello world").expect("a body").to_owned();
    let full = "POST /echo?full HTTP/1.1\r\nHost: a\r\nX-Y:  z \r\nContent-Length: 3\r\n\r\nabc";
    vec![
        (get("/"), HELLO.into(), false),
        (get("/").repeat(3), HELLO.repeat(3), false),
        (get("/").repeat(200), HELLO.repeat(200), false),
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n".into(), hello_head.clone(), false),
        (format!("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n{}", get("/")), hello_head + HELLO, false),
        ("GET / HTTP/1.0\r\n\r\n".into(), text("200 OK", close, "hello world"), true),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".into(),
            text("200 OK", "Connection: keep-alive\r\n", "hello world"),
            false,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n{}", get("/")),
            text("200 OK", close, "hello world"),
            true,
        ),
        (
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde{}", get("/")),
            HELLO.repeat(2),
            false,
        ),
        (get("/none"), text("404 Not Found", "", NOT_FOUND), false),
        (
            "HEAD /none HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            text("404 Not Found", "", NOT_FOUND).replace(NOT_FOUND, ""),
            false,
        ),
        (get("/status/503"), text("503 Service Unavailable", "", "503 Service Unavailable\n"), false),
        (get("/status/299"), text("299 ", "", "299 Unassigned\n"), false),
        (get("/status/204"), "HTTP/1.1 204 No Content\r\n\r\n".into(), false),
        (get("/status/304"), "HTTP/1.1 304 Not Modified\r\n\r\n".into(), false),
        (get("/status/205"), text("205 Reset Content", "", ""), false),
        (
            get("/status/302"),
            "HTTP/1.1 302 Found\r\nContent-Type: text/plain\r\nLocation: /\r\nContent-Length: 10\r\n\r\n302 Found\n".into(),
            false,
        ),
        (
            get("/status/101"),
            text("400 Bad Request", "", "/status/CODE takes a final status, 200 to 599\n"),
            false,
        ),
        (
            put("Content-Type: a/b\r\nContent-Length: 3\r\n", "xyz"),
            format!("HTTP/1.1 200 OK\r\n{echo_head}Content-Type: a/b\r\nContent-Length: 3\r\n\r\nxyz"),
            false,
        ),
        (
            put("Transfer-Encoding: chunked\r\n", "2\r\nxy\r\n1;e=f\r\nz\r\n0\r\nT: u\r\n\r\n"),
            format!("HTTP/1.1 200 OK\r\n{echo_head}Content-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nxyz"),
            false,
        ),
        (
            put("", ""),
            format!(
                "HTTP/1.1 200 OK\r\n{echo_head}Content-Type: text/plain\r\nContent-Length: 35\r\n\r\n{}",
                put("", "")
            ),
            false,
        ),
        (
            full.into(),
            format!(
                "HTTP/1.1 200 OK\r\nX-Echo-Method: POST\r\nX-Echo-Target: /echo?full\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{full}",
                full.len()
            ),
            false,
        ),
        (
            put("Expect: 100-continue\r\nContent-Length: 3\r\n", "xyz"),
            format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n{echo_head}Content-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\nxyz"),
            false,
        ),
        (get("/delay/0s"), HELLO.into(), false),
        (get("/delay/5ms"), HELLO.into(), false),
        (get("/queue/5ms"), HELLO.into(), false),
        (
            format!("{}{}{}{}", get("/delay/50ms"), get("/status/204"), get("/delay/1ms"), get("/")),
            format!("{HELLO}HTTP/1.1 204 No Content\r\n\r\n{HELLO}{HELLO}"),
            false,
        ),
        (
            get("/bytes/3"),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 3\r\n\r\n012".into(),
            false,
        ),
        (
            get("/chunked/17"),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n".into(),
            false,
        ),
        (
            get("/chunked/0"),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".into(),
            false,
        ),
        (
            "GET /chunked/3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".into(),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n\r\n012".into(),
            true,
        ),
        (
            "HEAD /bytes/1G HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 1000000000\r\n\r\n".into(),
            false,
        ),
        (
            "HEAD /chunked/1G HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
            false,
        ),
        (
            "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n".into(),
            text("501 Not Implemented", "", "CONNECT is not implemented\n"),
            false,
        ),
    ]
}

#[test]
fn every_route_under_any_cutting_of_its_bytes() {
    let table = table();
    for seed in 0..40 {
        let sim = SimOptions {
            seed,
            split: if seed == 0 { 0.0 } else { 0.8 },
            partial_write: if seed == 0 { 0.0 } else { 0.5 },
            ..SimOptions::default()
        };
        let send = |(client, (request, ..)): (usize, &(String, String, bool))| {
            (MS, client, Act::Send(request.clone().into_bytes()))
        };
        let script = table.iter().enumerate().map(send).collect();
        let outcome = Scene { script, sim, ..Scene::default() }.run();
        for (seen, (request, answer, closes)) in outcome.clients.iter().zip(&table) {
            assert_eq!(&seen.text(), answer, "seed {seed}, {request}");
            assert_eq!(seen.ended_ns.is_some(), *closes, "seed {seed}, {request}");
            assert_eq!(seen.reset_ns, None, "seed {seed}, {request}");
        }
        let lasting = table.iter().filter(|(.., closes)| !closes).count();
        assert_eq!(outcome.open as usize, lasting, "seed {seed}");
    }
}

#[test]
fn counters_tell_what_was_served() {
    let request = format!("{}{}{}", get("/").repeat(5), get("/status/302"), get("/none"));
    let len = request.len() as u64;
    let outcome = Scene::ask(request + &get("/status/500")).run();
    let counters = outcome.counters;
    assert_eq!(counters.connections, 1);
    assert_eq!(counters.requests, 8);
    assert_eq!(counters.responses, [0, 5, 1, 1, 1]);
    assert_eq!(counters.bytes_received, len + get("/status/500").len() as u64);
    assert_eq!(counters.bytes_sent, outcome.clients[0].bytes.len() as u64);
    assert_eq!((counters.refused, counters.resets, counters.accept_failures), (0, 0, 0));
}

#[test]
fn roles_answer_whatever_is_asked() {
    let post = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Type: c/d\r\nContent-Length: 2\r\n\r\nhi";
    let cases = [
        (Role::Hello, post, HELLO.to_owned()),
        (Role::Hello, "GET /status/500 HTTP/1.1\r\nHost: a\r\n\r\n", HELLO.to_owned()),
        (
            Role::Echo,
            post,
            "HTTP/1.1 200 OK\r\nContent-Type: c/d\r\nContent-Length: 2\r\n\r\nhi".to_owned(),
        ),
        (
            Role::Echo,
            "GET /x HTTP/1.1\r\nHost: a\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n".to_owned(),
        ),
    ];
    for (role, request, answer) in cases {
        let outcome = Scene { role, ..Scene::ask(request) }.run();
        assert_eq!(outcome.clients[0].text(), answer, "{role:?} {request}");
    }
    for role in [Role::Address, Role::All] {
        let outcome = Scene { role, ..Scene::ask(get("/ip")) }.run();
        let answer = outcome.clients[0].text();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"), "{head}");
        let address = body.strip_suffix('\n').expect("a line");
        address.parse::<std::net::SocketAddr>().expect(address);
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
    }
}

/// The body of the one response in `bytes`.
pub(crate) fn body(bytes: &[u8]) -> Vec<u8> {
    let mut decoder = ResponseDecoder::new(Limits::default());
    let (mut at, mut body, mut whole) = (0, Vec::new(), false);
    while at < bytes.len() && !whole {
        let decoded = decoder.decode(RequestKind::Plain, &bytes[at..]).expect("a response");
        at += decoded.consumed;
        match decoded.event {
            Some(ResponseEvent::Body(piece)) => body.extend_from_slice(piece),
            Some(ResponseEvent::End(_)) => whole = true,
            _ => {}
        }
    }
    assert!(whole && at == bytes.len(), "one whole response");
    body
}

#[test]
fn large_bodies_are_whole() {
    for count in [16_384, 16_385, 65_536, 262_144, 262_145, 1_048_576, 5_000_000] {
        for route in ["bytes", "chunked"] {
            let outcome = Scene::ask(get(&format!("/{route}/{count}")) + &get("/bytes/0")).run();
            let tail = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n";
            let bytes = outcome.clients[0].bytes.strip_suffix(tail).expect("the second answer");
            let body = body(bytes);
            assert_eq!(body.len(), count, "{route}");
            let pattern = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n";
            assert!(
                body.iter().zip(pattern.iter().cycle()).all(|(a, b)| a == b),
                "{route} {count}"
            );
        }
    }
}

#[test]
fn a_last_answer_closes_also_when_it_fills_its_turns_exactly() {
    for count in [10, 1 << 20, 4 << 20] {
        let request =
            format!("GET /bytes/{count} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let outcome = Scene::ask(request).run();
        assert_eq!(body(&outcome.clients[0].bytes).len(), count);
        assert!(outcome.clients[0].ended_ns.is_some(), "{count}");
    }
}

#[test]
fn large_echoes_are_whole() {
    let sent: Vec<u8> = (0..3_000_000u32).map(|i| (i / 7 % 251) as u8).collect();
    let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", sent.len());
    let outcome = Scene::ask([head.as_bytes(), &sent].concat()).run();
    assert!(body(&outcome.clients[0].bytes) == sent);
}

#[test]
fn a_delay_holds_up_its_own_connection_only() {
    let script = vec![
        (MS, 0, Act::Send((get("/delay/50ms") + &get("/")).into_bytes())),
        (MS, 1, Act::Send(get("/delay/1.5s").into_bytes())),
        (2 * MS, 2, Act::Send(get("/").into_bytes())),
    ];
    let outcome = Scene { script, ..Scene::default() }.run();
    let [first, second, third] = &outcome.clients[..] else { panic!("three clients") };
    // Each way takes 10 µs, and a client's script runs when the world wakes.
    let near = |at_ns: u64, want_ns: u64| (want_ns..want_ns + MS / 10).contains(&at_ns);
    assert!(near(first.at_ns(HELLO.len()), 51 * MS), "{first:?}");
    assert!(near(first.at_ns(2 * HELLO.len()), 51 * MS), "{first:?}");
    assert!(near(second.at_ns(HELLO.len()), S + 501 * MS), "{second:?}");
    assert!(near(third.at_ns(HELLO.len()), 2 * MS), "{third:?}");
}

/// The queue is one for all connections, and a request waits for those that came before it.
#[test]
fn a_queue_serves_one_request_after_another() {
    let script = vec![
        (MS, 0, Act::Send(get("/queue/50ms").into_bytes())),
        (2 * MS, 1, Act::Send(get("/queue/20ms").into_bytes())),
        (3 * MS, 2, Act::Send(get("/").into_bytes())),
        (200 * MS, 2, Act::Send(get("/queue/20ms").into_bytes())),
    ];
    let outcome = Scene { script, ..Scene::default() }.run();
    let [first, second, third] = &outcome.clients[..] else { panic!("three clients") };
    let near = |at_ns: u64, want_ns: u64| (want_ns..want_ns + MS / 10).contains(&at_ns);
    assert!(near(first.at_ns(HELLO.len()), 51 * MS), "{first:?}");
    assert!(near(second.at_ns(HELLO.len()), 71 * MS), "{second:?}");
    assert!(near(third.at_ns(HELLO.len()), 3 * MS), "{third:?}");
    assert!(near(third.at_ns(2 * HELLO.len()), 220 * MS), "{third:?}");
}
