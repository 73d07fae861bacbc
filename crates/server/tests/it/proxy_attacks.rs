//! The proxy under the simulated kernel, among clients that want to starve others: bodies that
//! trickle, responses that are not read, answers that are provoked.

use plimsoll_io::OsError;
use plimsoll_server::proxy::HostField;

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

/// An answer with a body of `size` bytes.
fn answer(size: usize) -> Vec<Do> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
    vec![say([head.into_bytes(), vec![b'x'; size]].concat())]
}

/// A client that takes a gulp of its response each second, and one that asks at 100 ms: what the
/// latter saw, and when. The simulated kernel holds 256 KiB, so that is what a gulp is.
fn slow_reader(size: usize, client_rate: u64) -> Outcome {
    let sips = (1..100).flat_map(|n| {
        let at_ns = n * S;
        [(at_ns, 0, Act::Resume), (at_ns + 1, 0, Act::Pause)]
    });
    Scene::of(&[(1, 0, GET), (100, 1, GET)])
        .acts([(0, 0, Act::Pause)])
        .acts(sips)
        .with(|rules| {
            rules.limits.upstream_connections = 1;
            rules.limits.client_rate = client_rate;
            // One that takes all that there is has done enough.
            rules.limits.response_buffer_bytes = 8 << 20;
            rules.timeouts.queue_ns = 600 * S;
        })
        .until(60 * S)
        .run(move |number, _| match number {
            0 => answer(size),
            _ => ok("ok"),
        })
}

#[test]
fn what_this_host_lacks_is_held_against_no_upstream() {
    // By connections of their own, clients can use up its descriptors.
    const EMFILE: OsError = OsError(24);
    for (error, want) in [(None, 1), (Some(EMFILE), 0)] {
        let script: Vec<_> = (0..8).map(|n| (1 + 20 * n as u64, n, GET)).collect();
        let mut scene = Scene::of(&script).with(|rules| {
            *rules = bare(2);
            rules.health.failures = 2;
            rules.health.aside_ns = 60 * S;
        });
        scene.sim.refused = Some(std::net::SocketAddr::from(([127, 0, 0, 1], 9001)));
        scene.connect_error = error;
        let outcome = scene.run(|_, _| ok("ok"));
        assert_eq!(
            (outcome.counters.completed, outcome.counters.put_aside),
            (8, want),
            "{error:?}"
        );
    }
}

#[test]
fn a_client_that_reads_slowly_loses_its_upstream() {
    // Without a rate any progress will do, and the other client waits.
    let endless = slow_reader(64 << 20, 0);
    assert_eq!((status(&endless, 1), endless.counters.client_timeouts), (String::new(), 0));
    let cut = slow_reader(64 << 20, 1 << 20);
    assert_eq!((status(&cut, 1), cut.counters.client_timeouts), ("200".to_owned(), 1));
    assert_eq!((cut.counters.abandoned, cut.counters.completed), (1, 1));
    let at_ns = cut.clients[1].at_ns(1);
    assert!((20 * S..22 * S).contains(&at_ns), "after one stretch of time: {at_ns}");
    // One that keeps to the rate is left alone.
    let kept = slow_reader(9 << 20, 100 << 10);
    assert_eq!((kept.counters.client_timeouts, kept.counters.completed), (0, 2));
    assert!(kept.clients[0].bytes.len() > 8 << 20);
}

#[test]
fn a_response_that_fits_its_buffer_frees_the_upstream_at_once() {
    // The kernels hold a part of it.
    for (size, is_freed) in [(10_000, true), (480_000, true), (4 << 20, false)] {
        let outcome = Scene::of(&[(1, 0, GET), (100, 1, GET)])
            .acts([(0, 0, Act::Pause)])
            .with(|rules| rules.limits.upstream_connections = 1)
            .run(move |number, _| if number == 0 { answer(size) } else { ok("ok") });
        assert_eq!(status(&outcome, 1) == "200", is_freed, "{size} bytes");
    }
}

/// A client that sends a piece of its body every 100 ms.
fn sender(piece: &str, rate: u64, slack_ms: u64, total_ms: u64) -> Outcome {
    let length = piece.len() * 20;
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    let pieces = (1..=20).map(|n| ((100 * n + 1) * MS, 0, Act::Send(piece.as_bytes().to_vec())));
    Scene::of(&[(1, 0, &head)])
        .acts(pieces)
        .with(|rules| {
            rules.limits.client_rate = rate;
            rules.limits.body_buffer_bytes = 100;
            rules.timeouts.client_slack_ns = slack_ms * MS;
            rules.timeouts.body_total_ns = total_ms * MS;
        })
        .run(|_, _| ok("ok"))
}

#[test]
fn a_body_that_is_too_slow_is_answered_and_its_client_closed() {
    const EVER: u64 = 100_000;
    for (piece, rate, slack_ms, total_ms, want, at_ms) in [
        // Ten bytes each 100 ms: collected up to 100 bytes, then sent on.
        ("0123456789", 90, 500, EVER, "200", 2001),
        ("0123456789", 110, 500, EVER, "408", 501),
        ("0123456789", 110, 1500, EVER, "408", 1501),
        ("0123456789", 110, 2500, EVER, "200", 2001),
        ("0123456789", 0, 500, EVER, "200", 2001),
        // However much it sends, there is an end.
        ("0123456789", 90, 500, 700, "408", 701),
        ("0123456789", 90, 500, 1700, "408", 1701),
        // A byte a second is something, two seconds without one are not.
        ("0", 0, 50, EVER, "408", 51),
    ] {
        let outcome = sender(piece, rate, slack_ms, total_ms);
        let name = format!("{piece:?}, {rate}/s in {slack_ms} ms, {total_ms} ms");
        assert_eq!(status(&outcome, 0), want, "{name}");
        let at_ns = outcome.clients[0].at_ns(1);
        assert!((at_ms * MS..(at_ms + 3) * MS).contains(&at_ns), "{name}: {at_ns}");
        let slow = u64::from(want == "408");
        let counters = outcome.counters;
        assert_eq!((counters.client_timeouts, counters.bodies_refused), (slow, slow), "{name}");
        assert_eq!(outcome.open == 0, want == "408", "{name}");
        assert_eq!(counters.put_aside, 0, "{name}");
    }
}

#[test]
fn a_quick_start_buys_no_time() {
    // 20 kB at once would be 40 s at the rate; then nothing.
    let text = format!("{}{}", HEAD.replace("100", "90000"), "x".repeat(20_000));
    let outcome = Scene::of(&[(1, 0, &text)])
        .with(|rules| rules.timeouts.client_slack_ns = 200 * MS)
        .run(|_, _| ok("ok"));
    assert_eq!(status(&outcome, 0), "408");
    assert!(outcome.clients[0].at_ns(1) < 410 * MS);
}

#[test]
fn a_body_that_waits_for_its_upstream_is_not_slow() {
    // Longer than the buffer; the only upstream connection is busy for long.
    let text = format!("{}{}", HEAD.replace("100", "4000"), "x".repeat(2000));
    let rest = "x".repeat(2000);
    let outcome = Scene::of(&[(1, 0, GET), (5, 1, &text), (1500, 1, &rest)])
        .with(|rules| {
            rules.limits.upstream_connections = 1;
            rules.limits.body_buffer_bytes = 1000;
            rules.limits.client_rate = 100;
            rules.timeouts.client_slack_ns = 300 * MS;
            rules.timeouts.body_ns = 300 * MS;
            rules.timeouts.body_total_ns = 400 * MS;
        })
        .run(|number, _| match number {
            0 => vec![Do::Say(1400 * MS, answer(2).pop().map(said).expect("one"))],
            _ => ok("ok"),
        });
    assert_eq!((status(&outcome, 0), status(&outcome, 1)), ("200".to_owned(), "200".to_owned()));
    assert_eq!(outcome.counters.client_timeouts, 0);
}

fn said(what: Do) -> Vec<u8> {
    match what {
        Do::Say(_, bytes) => bytes,
        Do::Close(_) | Do::Reset(_) => Vec::new(),
    }
}

#[test]
fn a_body_whose_upstream_was_slow_to_take_it_is_timed_again() {
    // More than is queued for an upstream, which takes nothing for a while; then the client stops.
    let text = format!("{}{}", HEAD.replace("100", "4000000"), "x".repeat(3_000_000));
    let mut scene = Scene::of(&[(1, 0, &text)]).with(|rules| {
        rules.limits.body_buffer_bytes = 2_000_000;
        rules.timeouts.body_ns = 500 * MS;
    });
    let peer_stalled = Some(plimsoll_io::sim::Window { at_ns: 0, for_ns: 300 * MS });
    scene.sim.peer_stalled = peer_stalled;
    let outcome = scene.run(|_, _| ok("ok"));
    assert_eq!((status(&outcome, 0), outcome.open), ("408".to_owned(), 0));
    let at_ns = outcome.clients[0].at_ns(1);
    assert!((700 * MS..900 * MS).contains(&at_ns), "{at_ns}");
}

#[test]
fn what_a_client_can_bring_about_is_no_failure_of_an_upstream() {
    let post = format!("{}{}", HEAD, "x".repeat(100));
    // More than is collected, so that the upstream has it.
    let half = format!("{}{}", HEAD.replace("100", "9000"), "x".repeat(300));
    let half_answered = half.replace("POST /", "POST /early");
    let bare_of = |failures: u32, fail_on_5xx: bool| {
        move |rules: &mut plimsoll_server::proxy::Rules| {
            *rules = bare(2);
            rules.host = HostField::Upstream;
            rules.health.failures = failures;
            rules.health.fail_on_5xx = fail_on_5xx;
            rules.health.aside_ns = 60 * S;
            rules.limits.body_buffer_bytes = 200;
        }
    };
    let bad = || vec![say("HTTP/1.1 200 OK\r\nX y\r\n\r\n")];
    let silent = || vec![];
    let closes = || vec![Do::Close(0)];
    let error = || vec![say("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")];
    type Reply = fn() -> Vec<Do>;
    for (name, request, reply, strict, want) in [
        ("an error", &post, error as Reply, false, 0),
        ("an error, where that counts", &post, error, true, 1),
        ("nonsense", &post, bad as Reply, false, 0),
        ("nonsense, where that counts", &post, bad, true, 1),
        ("a close", &post, closes as Reply, false, 1),
        ("silence", &post, silent as Reply, false, 1),
        ("silence to half a request", &half, silent, true, 0),
        ("a close that answers half a request", &half_answered, closes, true, 0),
    ] {
        let script: Vec<_> = (0..8).map(|n| (1 + 20 * n as u64, n, request.as_str())).collect();
        let outcome = Scene::of(&script)
            .with(bare_of(2, strict))
            .with(|rules| rules.timeouts.response_ns = 10 * MS)
            .run(move |_, head| if head.contains("Host: u1") { reply() } else { ok("ok") });
        assert_eq!(outcome.counters.put_aside, want, "{name}: {:?}", outcome.counters);
    }
}
