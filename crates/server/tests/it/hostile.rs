//! Clients that make mistakes, or mean harm.

use plimsoll_io::sim::SimOptions;
use plimsoll_server::{ServerLimits, ServerOptions};

use crate::world::{Act, MS, Outcome, S, Scene};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The status of the answer after all hellos.
fn status(outcome: &Outcome) -> String {
    let text = outcome.clients[0].text();
    let last = text.rsplit("hello world").next().and_then(|last| last.strip_prefix("HTTP/1.1 "));
    last.unwrap_or("none").chars().take(3).collect()
}

#[test]
fn bad_requests_are_refused_and_the_connection_closed() {
    let long = "x".repeat(70_000);
    let many: String = (0..200).map(|i| format!("A{i}: b\r\n")).collect();
    let cases = [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), "400"),
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\r\n\r\n".to_owned(), "400"),
        ("GET /\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n".to_owned(), "400"),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
                .to_owned(),
            "400",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
                .to_owned(),
            "400",
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(), "501"),
        ("PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n".to_owned(), "505"),
        ("GET / HTTP/3.7\r\n\r\n".to_owned(), "505"),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), "431"),
        (long, "431"),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n"), "431"),
        ("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n".to_owned(), "413"),
        (format!("{GET}{GET}garbage\r\n\r\n{GET}"), "400"),
    ];
    for (request, want) in cases {
        let name: String = request.chars().take(60).collect();
        for seed in 0..8 {
            let split = if seed == 0 { 0.0 } else { 0.7 };
            let sim = SimOptions { seed, split, ..SimOptions::default() };
            let outcome = Scene { sim, ..Scene::ask(&request) }.run();
            let seen = &outcome.clients[0];
            assert_eq!(status(&outcome), want, "{name:?}, seed {seed}: {seen:?}");
            let refusal = seen.text().split("hello world").last().expect("one").to_owned();
            assert!(refusal.contains("Connection: close\r\n"), "{name:?}: {refusal}");
            assert_eq!(
                refusal.lines().last().map(str::is_empty),
                Some(false),
                "{name:?}: a reason"
            );
            assert!(seen.ended_ns.is_some(), "{name:?}: closed");
            assert_eq!((outcome.counters.refused, outcome.open), (1, 0), "{name:?}");
        }
    }
}

#[test]
fn the_refusal_of_a_head_request_has_no_body() {
    let outcome = Scene::ask(format!("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n{GET}x\r\n\r\n")).run();
    assert!(outcome.clients[0].text().ends_with("the request is malformed\n"));
    let outcome = Scene::ask("HEAD / HTTP/1.1\r\n\r\n").run();
    assert!(outcome.clients[0].text().ends_with("\r\n\r\n"), "{:?}", outcome.clients[0]);
}

#[test]
fn a_body_beyond_the_limit_is_not_echoed() {
    let limits = ServerLimits { echo_bytes: 10, ..ServerLimits::default() };
    let options = || ServerOptions { limits, ..ServerOptions::default() };
    let chunked = |n: usize| {
        let body = "1\r\nx\r\n".repeat(n);
        format!(
            "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}0\r\n\r\n"
        )
    };
    let known = |n: usize| {
        format!("PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {n}\r\n\r\n{}", "x".repeat(n))
    };
    for (request, want) in
        [(chunked(10), "200"), (chunked(11), "413"), (known(10), "200"), (known(11), "413")]
    {
        let outcome = Scene { options: options(), ..Scene::ask(&request) }.run();
        assert_eq!(status(&outcome), want, "{request}");
    }
    // What is not echoed may be of any length.
    let dropped = known(5_000).replace("/echo", "/");
    let outcome = Scene { options: options(), ..Scene::ask(dropped + "x\r\n\r\n") }.run();
    assert_eq!((outcome.counters.requests, status(&outcome).as_str()), (1, "400"));
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let request = format!(
        "{GET}POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    );
    let whole = Scene::ask(&request).run();
    let script = request
        .bytes()
        .enumerate()
        .map(|(i, byte)| (MS * (1 + i as u64), 0, Act::Send(vec![byte])));
    let slow = Scene { script: script.collect(), ..Scene::default() }.run();
    assert_eq!(slow.clients[0].text(), whole.clients[0].text());
    assert_eq!(slow.counters.requests, 2);
}

#[test]
fn too_much_held_behind_a_delayed_answer_resets() {
    let delayed = "GET /delay/1s HTTP/1.1\r\nHost: a\r\n\r\n";
    let held = ServerLimits::default().held_bytes / GET.len();
    for (count, fits) in [(held, true), (held + 1, false)] {
        let outcome = Scene::ask(format!("{delayed}{}", GET.repeat(count))).run();
        let seen = &outcome.clients[0];
        assert_eq!(seen.reset_ns.is_none(), fits);
        let answers = if fits { count + 1 } else { 0 };
        assert_eq!(seen.text().matches("hello world").count(), answers);
        assert_eq!(outcome.counters.resets, u64::from(!fits));
    }
}

#[test]
fn clients_that_go_away_leave_nothing_behind() {
    let requests = [
        "",
        "GET / HT",
        GET,
        "GET /delay/1s HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "garbage\r\n\r\n",
    ];
    for seed in 0..20 {
        let mut script = Vec::new();
        for (client, request) in requests.iter().enumerate() {
            script.push((MS, client, Act::Send(request.as_bytes().to_vec())));
            script.push((3 * MS + seed * 50_000, client, Act::Close));
        }
        let sim = SimOptions { seed, split: 0.5, partial_write: 0.5, ..SimOptions::default() };
        let outcome = Scene { script, sim, until_ns: 5 * S, ..Scene::default() }.run();
        assert_eq!(outcome.open, 0, "seed {seed}");
        assert_eq!(outcome.counters.connections, requests.len() as u64, "seed {seed}");
    }
}

#[test]
fn noise_neither_breaks_nor_blocks() {
    for seed in 0..200u64 {
        let mut noise = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            noise
        };
        let parts = [
            GET,
            "\r\n",
            "POST /echo",
            " HTTP/1.1",
            "Host: a\r\n",
            "Content-Length: 9\r\n",
            "\0",
            "0\r\n\r\n",
        ];
        let mut script = Vec::new();
        for client in 0..8 {
            for _ in 0..10 {
                let text: String = (0..next() % 6).map(|_| parts[(next() % 8) as usize]).collect();
                script.push((MS + next() % (100 * MS), client, Act::Send(text.into_bytes())));
            }
        }
        script.push((200 * MS, 8, Act::Send(GET.as_bytes().to_vec())));
        let sim = SimOptions { seed, split: 0.5, reset: 0.01, ..SimOptions::default() };
        let outcome = Scene { script, sim, ..Scene::default() }.run();
        let last = &outcome.clients[8];
        assert!(last.reset_ns.is_some() || last.text().ends_with("hello world"), "seed {seed}");
    }
}
