//! The proxy under the simulated kernel, where two things meet: an upstream that is gone and a
//! queue, an upload and its answer, a client that does not read and one that still sends.

use std::net::SocketAddr;

use plimsoll_io::sim::{SimOptions, Window};
use plimsoll_proto::tls::{ClientConfig, ClientOptions, ServerName, Verify};
use plimsoll_server::proxy::UpstreamTls;
use plimsoll_server::{self_signed, tls_config};

use crate::proxy_world::{Do, Outcome, Scene, bare, ok, say};
use crate::world::{Act, MS, S};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The status a client saw last.
fn last_status(outcome: &Outcome, client: usize) -> String {
    let text = outcome.clients[client].text();
    let last = text.rsplit("HTTP/1.1 ").next().unwrap_or_default();
    last.get(..3).unwrap_or_default().to_owned()
}

/// Two upstreams of one connection each; nobody listens where the second one should.
fn one_of_two(script: &[(u64, usize, &str)], failures: u32) -> Scene {
    let mut scene = Scene::of(script).with(|rules| {
        *rules = bare(2);
        rules.limits.upstream_connections = 1;
        rules.health.failures = failures;
        rules.health.aside_ns = 60 * S;
    });
    scene.sim.refused = Some(SocketAddr::from(([127, 0, 0, 1], 9001)));
    scene
}

#[test]
fn a_queue_is_not_emptied_into_an_upstream_that_is_gone() {
    let script: Vec<_> = (0..6).map(|client| (1 + client as u64, client, GET)).collect();
    // Each finds out for itself, or the first one does for all.
    for (failures, want) in [(0, 5), (1, 1)] {
        let outcome = one_of_two(&script, failures).run(|number, _| {
            let said = OK.replace("ok", &format!("{number:02}"));
            vec![Do::Say(50 * MS, said.into())]
        });
        for (client, seen) in outcome.clients.iter().enumerate() {
            assert!(seen.text().ends_with(&format!("{client:02}")), "{client}: {}", seen.text());
        }
        let counters = outcome.counters;
        assert_eq!((counters.connect_failures, counters.queued), (want, 5), "{failures}");
    }
}

#[test]
fn a_request_queued_again_has_no_more_time() {
    // The third one waits at the first upstream, is tried at the second one, and waits again.
    let mut scene = one_of_two(&[(50, 0, GET), (51, 1, GET), (52, 2, GET)], 0)
        .with(|rules| rules.timeouts.queue_ns = 100 * MS);
    scene.sim.latency_ns = 10 * MS..10 * MS + 1;
    let outcome = scene.run(|_, _| vec![Do::Say(S, OK.into())]);
    assert_eq!(outcome.counters.connect_failures, 2);
    assert_eq!(last_status(&outcome, 2), "503");
    // There and back, and 100 ms.
    let at_ns = outcome.clients[2].at_ns(1);
    assert!((172 * MS..175 * MS).contains(&at_ns), "{at_ns}");
}

#[test]
fn an_interim_response_does_not_start_the_time_for_the_final_one() {
    let head = "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n";
    for (answers_after_ns, want, at_ms) in [(300 * MS, "200", 301), (S, "504", 350)] {
        let script = [(1, 0, head), (50, 0, "body"), (250, 0, "body")];
        let scene = Scene::of(&script).with(|rules| {
            rules.limits.body_buffer_bytes = 0;
            rules.timeouts.response_ns = 100 * MS;
        });
        let outcome = scene.run(move |_, _| {
            vec![say("HTTP/1.1 100 Continue\r\n\r\n"), Do::Say(answers_after_ns, OK.into())]
        });
        assert_eq!(last_status(&outcome, 0), want);
        let interim_bytes = "HTTP/1.1 100 Continue\r\n\r\n".len();
        let at_ns = outcome.clients[0].at_ns(interim_bytes + 1);
        assert!((at_ms * MS..(at_ms + 5) * MS).contains(&at_ns), "{want}: {at_ns}");
    }
}

#[test]
fn a_client_that_sends_but_does_not_read_is_still_timed() {
    let head = "POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";
    let stuck = Scene::of(&[(1, 0, head), (300, 0, "0\r\n\r\n")])
        .acts([(0, 0, Act::Pause)])
        .with(|rules| {
            rules.limits.body_buffer_bytes = 0;
            rules.timeouts.send_ns = 500 * MS;
        })
        .run(|_, _| {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 8388608\r\n\r\n";
            vec![say([head.as_bytes(), &vec![b'x'; 8 << 20]].concat())]
        });
    assert_eq!((stuck.counters.client_timeouts, stuck.open), (1, 0), "{:?}", stuck.counters);
}

#[test]
fn a_connection_with_a_body_still_queued_is_not_used_again() {
    let size = 1 << 20;
    let post = format!("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n");
    let mut scene =
        Scene::of(&[(1, 0, &[post, "y".repeat(size)].concat()), (200, 0, GET)]).with(|rules| {
            rules.limits.body_buffer_bytes = 0;
            rules.limits.queued_bytes = 4 << 20;
        });
    // It answers before it has taken the body.
    let peer_stalled = Some(Window { at_ns: 0, for_ns: 100 * MS });
    scene.sim = SimOptions { peer_stalled, ..SimOptions::default() };
    let outcome = scene.run(|_, _| ok("ok"));
    assert_eq!(outcome.clients[0].text(), OK.repeat(2));
    assert_eq!((outcome.log.connections, outcome.counters.completed), (2, 2));
}

#[test]
fn a_goodbye_behind_a_response_is_not_the_next_connections() {
    let identity = self_signed().expect("a certificate");
    let verify = Verify::Roots(identity.chain.as_slice().into());
    let client = ClientOptions { verify, ..ClientOptions::default() };
    let config = ClientConfig::new(&client).expect("a configuration");
    let name = ServerName::parse("localhost").expect("a name");
    // The second one's request waits for the first one's connection.
    let mut scene = Scene::of(&[(1, 0, POST), (1, 1, POST), (500, 0, POST)]).with(|rules| {
        rules.limits.upstream_connections = 1;
        rules.upstreams[0].tls = Some(UpstreamTls { config, name });
    });
    scene.tls = Some(tls_config(identity, None, plimsoll_server::HTTP1).expect("a configuration"));
    let outcome = scene.run(|_, _| vec![Do::Say(50 * MS, OK.into()), Do::Close(50 * MS)]);
    assert_eq!(outcome.clients[0].text(), OK.repeat(2));
    assert_eq!(outcome.clients[1].text(), OK);
    let counters = outcome.counters;
    assert_eq!((counters.completed, counters.connect_failures), (3, 0));
    assert_eq!((outcome.log.connections, counters.reused), (3, 0));
}
