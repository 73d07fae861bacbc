//! Faults and stopping, to the nanosecond, under the simulated clock.

use std::num::NonZeroU32;

use plimsoll_server::{Faults, ServerOptions};

use crate::world::{Act, MS, S, Scene, Seen};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
/// One way through the simulated network.
const WAY_NS: u64 = 10_000;
const HELLO_LEN: usize = 76;

fn with(faults: Faults) -> ServerOptions {
    ServerOptions { faults, ..ServerOptions::default() }
}

fn send(at_ns: u64, client: usize, request: &str) -> (u64, usize, Act) {
    (at_ns, client, Act::Send(request.as_bytes().to_vec()))
}

/// What the server took between a request's arrival and its answer's departure, if the request
/// was sent at `sent_ns`.
fn served_in_ns(seen: &Seen, sent_ns: u64) -> u64 {
    seen.at_ns(HELLO_LEN) - sent_ns - 2 * WAY_NS
}

#[test]
fn a_stall_delays_what_falls_into_it_to_its_end() {
    let cases =
        [("300ms@1s", &[(1_000, 1_300)][..]), ("50ms/500ms", &[(500, 550), (1_000, 1_050)])];
    for (spec, stalls) in cases {
        let faults = Faults { stall: spec.parse().ok(), ..Faults::default() };
        let sent_ms: Vec<u64> = (1..145).map(|i| i * 10).collect();
        let script = sent_ms.iter().enumerate().map(|(i, ms)| send(ms * MS, i % 60, GET)).collect();
        let outcome = Scene { script, options: with(faults), ..Scene::default() }.run();
        for (i, sent_ms) in sent_ms.iter().enumerate() {
            let stall = stalls.iter().find(|(from, to)| (from..to).contains(&sent_ms));
            let arrived_ns = sent_ms * MS + WAY_NS;
            let due_ns = stall.map_or(arrived_ns, |(_, end_ms)| end_ms * MS);
            let got_ns = outcome.clients[i % 60].at_ns((i / 60 + 1) * HELLO_LEN);
            assert_eq!(got_ns, due_ns + WAY_NS, "{spec}, sent at {sent_ms} ms");
        }
    }
}

#[test]
fn a_stall_holds_up_refusals_and_bodies_too() {
    let faults = Faults { stall: "300ms@1s".parse().ok(), ..Faults::default() };
    let expecting =
        "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    let script = vec![
        send(1_100 * MS, 0, "garbage\r\n\r\n"),
        send(1_100 * MS, 1, expecting),
        // At most 1 MiB goes out before the server waits for room, which comes within the stall.
        send(S - WAY_NS - 1_000, 2, "GET /bytes/3M HTTP/1.1\r\nHost: a\r\n\r\n"),
    ];
    let outcome = Scene { script, options: with(faults), ..Scene::default() }.run();
    assert!(outcome.clients[0].text().starts_with("HTTP/1.1 400 "));
    assert_eq!(outcome.clients[0].at_ns(1), 1_300 * MS + WAY_NS);
    assert_eq!(outcome.clients[1].text(), "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(outcome.clients[1].at_ns(1), 1_300 * MS + WAY_NS);
    assert!(outcome.clients[2].at_ns(1) < S + MS);
    assert!(outcome.clients[2].at_ns(1 << 20) < S + 100 * MS);
    assert!(outcome.clients[2].at_ns(2 << 20) > 1_300 * MS);
    assert!(outcome.clients[2].bytes.len() > 3_000_000, "all of it came");
}

#[test]
fn latency_is_what_was_drawn() {
    let faults =
        Faults { latency: "50%:7ms,20%:20ms".parse().expect("a mix"), ..Faults::default() };
    let script = (0..60).map(|client| send(client as u64 * MS + MS, client, GET)).collect();
    let outcome = Scene { script, options: with(faults), ..Scene::default() }.run();
    let mut counts = [0; 3];
    for (client, seen) in outcome.clients.iter().enumerate() {
        let drawn = [0, 7 * MS, 20 * MS];
        let took_ns = served_in_ns(seen, client as u64 * MS + MS);
        counts[drawn.iter().position(|ns| *ns == took_ns).expect("one of the mix")] += 1;
    }
    // Exact for seed 0; 18, 30 and 12 are expected.
    assert_eq!(counts, [15, 33, 12]);
}

#[test]
fn errors_and_resets_are_the_same_for_the_same_seed() {
    let run = |seed| {
        let faults = Faults {
            errors: "10%:503,5%:429".parse().expect("a mix"),
            reset: "10%".parse().expect("a share"),
            seed,
            ..Faults::default()
        };
        let script = (0..60).map(|client| send(MS, client, &GET.repeat(5))).collect();
        let outcome = Scene { script, options: with(faults), ..Scene::default() }.run();
        let resets = outcome.clients.iter().filter(|seen| seen.reset_ns.is_some()).count() as u64;
        assert_eq!(resets, outcome.counters.resets);
        let texts: Vec<String> = outcome.clients.iter().map(Seen::text).collect();
        let of = |status: &str| texts.concat().matches(status).count();
        assert!(of("503 Service") > 0 && of("429 Too") > 0 && resets > 0);
        texts
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn an_error_takes_the_place_of_any_answer() {
    let faults = Faults { errors: "100%:503".parse().expect("a mix"), ..Faults::default() };
    let post = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
    let answer = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 24\r\n\r\n503 Service Unavailable\n";
    let requests = [post, GET, "GET /bytes/1M HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    let outcome = Scene { options: with(faults), ..Scene::ask(requests) }.run();
    assert_eq!(outcome.clients[0].text(), answer.repeat(3));
}

#[test]
fn connections_close_after_so_many_answers() {
    let faults = Faults { close_every: NonZeroU32::new(3), ..Faults::default() };
    let outcome = Scene { options: with(faults), ..Scene::ask(GET.repeat(5)) }.run();
    let seen = &outcome.clients[0];
    assert_eq!(seen.text().matches("hello world").count(), 3);
    assert_eq!(seen.text().matches("Connection: close").count(), 1);
    assert!(seen.ended_ns.is_some() && seen.reset_ns.is_none());
    assert_eq!(outcome.counters.requests, 3);
}

#[test]
fn stopping_lets_requests_under_way_finish() {
    let script = vec![
        send(10 * MS, 0, "GET /delay/300ms HTTP/1.1\r\nHost: a\r\n\r\n"),
        send(10 * MS, 1, GET),
        send(10 * MS, 2, "GET /delay/20s HTTP/1.1\r\nHost: a\r\n\r\n"),
        send(10 * MS, 3, "GET / HTTP/1.1\r\nHo"),
        send(150 * MS, 3, "st: a\r\n\r\n"),
    ];
    let outcome =
        Scene { script, stop_ns: Some(100 * MS), until_ns: 60 * S, ..Scene::default() }.run();
    assert!(outcome.finished);
    let [delayed, idle, hopeless, halfway] = &outcome.clients[..] else { panic!("four clients") };
    for seen in [delayed, halfway] {
        assert!(seen.text().contains("Connection: close\r\n"), "{seen:?}");
        assert!(seen.text().ends_with("hello world"), "{seen:?}");
    }
    assert_eq!(delayed.at_ns(1), 310 * MS + 2 * WAY_NS);
    assert_eq!(idle.text().matches("hello world").count(), 1);
    assert_eq!(idle.ended_ns, Some(100 * MS + WAY_NS));
    assert_eq!(hopeless.text(), "");
    let drain_ns = ServerOptions::default().drain_ns;
    assert_eq!(hopeless.ended_ns.or(hopeless.reset_ns), None, "the world ends with the server");
    assert!(outcome.ended_ns >= 100 * MS + drain_ns && outcome.ended_ns < 101 * MS + drain_ns);
}
