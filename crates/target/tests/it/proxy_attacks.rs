//! The proxy under the simulated kernel, among clients that want to starve others: bodies that
//! trickle, responses that are not read, answers that are provoked.

use plimsoll_target::proxy::HostField;

use crate::proxy_world::{Do, Outcome, Scene, bare, ok, say};
use crate::world::{Act, MS, S};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n";

/// The status a client saw first.
fn status(outcome: &Outcome, client: usize) -> String {
    outcome.clients[client].text().get(9..12).unwrap_or_default().to_owned()
}

/// Four clients, as many as there are connections, that begin a body and send a byte now and then;
/// the fifth one asks for something at 100 ms.
fn trickles(head: &str) -> Scene {
    let drops = (0..4).flat_map(|client| {
        (1..25).map(move |n| ((50 * n + 1) * MS, client, Act::Send(b"x".to_vec())))
    });
    let script: Vec<_> = (0..4).map(|client| (1, client, head)).chain([(100, 4, GET)]).collect();
    Scene::of(&script).acts(drops).with(|rules| rules.limits.upstream_connections = 4)
}

#[test]
fn bodies_that_trickle_hold_no_upstream() {
    for head in [HEAD, CHUNKED] {
        let outcome = trickles(head).run(|_, _| ok("ok"));
        assert_eq!(status(&outcome, 4), "200", "{head}");
        let at_ns = outcome.clients[4].at_ns(1);
        assert!((100 * MS..102 * MS).contains(&at_ns), "{head}: {at_ns}");
        assert_eq!((outcome.log.connections, outcome.counters.queued), (1, 0), "{head}");
    }
}

#[test]
fn a_client_that_provokes_errors_puts_nothing_aside() {
    let script: Vec<_> = (0..40).map(|n| (1 + 10 * n as u64, n, GET)).collect();
    let outcome = Scene::of(&script)
        .with(|rules| {
            *rules = bare(2);
            rules.host = HostField::Upstream;
            rules.health.failures = 2;
            rules.health.aside_ns = 60 * S;
        })
        .run(|_, head| match head.contains("Host: u1") {
            true => vec![say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")],
            false => ok("ok"),
        });
    let failed = (0..40).filter(|&client| status(&outcome, client) == "500").count();
    assert_eq!((failed, outcome.counters.put_aside), (20, 0), "each in turn, to the end");
}

#[test]
fn a_trial_that_does_not_end_is_not_the_only_one() {
    // u1 fails once and is put aside; the trial's response is never complete.
    let script: Vec<_> = (0..60).map(|n| (1 + 10 * n as u64, n, GET)).collect();
    let mut asked = 0;
    let outcome = Scene::of(&script)
        .with(|rules| {
            *rules = bare(2);
            rules.host = HostField::Upstream;
            rules.health.failures = 1;
            rules.health.aside_ns = 100 * MS;
        })
        .run(move |_, head| {
            if !head.contains("Host: u1") {
                return ok("u0");
            }
            asked += 1;
            match asked {
                1 => vec![Do::Close(0)],
                2 => vec![say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nu1")],
                _ => ok("u1"),
            }
        });
    let answers: Vec<_> =
        (0..60).map(|client| outcome.clients[client].text().ends_with("u1")).collect();
    let from_u1 = answers[30..].iter().filter(|&&is_u1| is_u1).count();
    assert_eq!(from_u1, 15, "it is back: {answers:?}");
}

#[test]
fn a_client_that_reads_slowly_loses_its_upstream() {
    // It reads again and again, but a few bytes only.
    let size = 8 << 20;
    let sips = (1..100).flat_map(|n| {
        let at_ns = n * 100 * MS;
        [(at_ns, 0, Act::Resume), (at_ns + 1, 0, Act::Pause)]
    });
    let outcome = Scene::of(&[(1, 0, GET), (100, 1, GET)])
        .acts([(0, 0, Act::Pause)])
        .acts(sips)
        .with(|rules| {
            rules.limits.upstream_connections = 1;
            rules.timeouts.send_ns = 60 * S;
            rules.timeouts.queue_ns = 60 * S;
        })
        .until(40 * S)
        .run(move |number, _| match number {
            0 => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
                vec![say([head.into_bytes(), vec![b'x'; size]].concat())]
            }
            _ => ok("ok"),
        });
    assert_eq!(status(&outcome, 1), "200");
}
