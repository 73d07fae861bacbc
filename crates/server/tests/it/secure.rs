//! Everything over TLS: the same answers, the same faults, and how connections end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::time::Duration;

use plimsoll_io::sim::SimOptions;
use plimsoll_proto::tls::{
    ClientConfig, ClientOptions, ServerName, Tls, TlsErrorKind, Verify, Version, Versions,
};
use plimsoll_server::{
    Faults, Role, ServeOptions, ServerOptions, TlsConfig, self_signed, start, tls_config,
};

use crate::routes::{body, table};
use crate::world::{Act, MS, S, Scene};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server's side with a generated certificate, and a client's that trusts it.
fn configs(versions: Versions) -> (TlsConfig, ClientConfig) {
    let identity = self_signed().expect("a certificate");
    let verify = Verify::Roots(identity.chain.as_slice().into());
    let client = ClientOptions { verify, versions, ..ClientOptions::default() };
    let server = tls_config(identity, None, &[b"h2", b"http/1.1"]).expect("a configuration");
    (server, ClientConfig::new(&client).expect("a configuration"))
}

fn secure(scene: Scene, (server, client): (TlsConfig, ClientConfig)) -> Scene {
    let options = ServerOptions { tls: Some(server), ..scene.options };
    Scene { options, tls: Some(client), ..scene }
}

#[test]
fn every_route_answers_as_it_does_without_tls() {
    let table = table();
    for (seed, version) in (0..20).zip([Version::Tls12, Version::Tls13].into_iter().cycle()) {
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
        let scene = Scene { script, sim, ..Scene::default() };
        let outcome = secure(scene, configs(Versions::Only(version))).run();
        for (seen, (request, answer, closes)) in outcome.clients.iter().zip(&table) {
            assert_eq!(&seen.text(), answer, "seed {seed}, {request}");
            assert_eq!((seen.tls_failure, seen.reset_ns), (None, None), "seed {seed}, {request}");
            let ended = (seen.ended_ns.is_some(), seen.tls_closed);
            assert_eq!(ended, (*closes, *closes), "seed {seed}, {request}");
        }
        assert_eq!(outcome.counters.tls_failures, 0);
    }
}

#[test]
fn large_bodies_and_echoes_are_whole() {
    let sent: Vec<u8> = (0..1_500_000u32).map(|i| (i / 7 % 251) as u8).collect();
    let head = format!("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", sent.len());
    let echo = secure(Scene::ask([head.as_bytes(), &sent].concat()), configs(Versions::Both)).run();
    assert!(body(&echo.clients[0].bytes) == sent);
    for target in ["/bytes/3M", "/chunked/3M"] {
        for close in ["", "Connection: close\r\n"] {
            let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{close}\r\n");
            let outcome = secure(Scene::ask(request), configs(Versions::Both)).run();
            let seen = &outcome.clients[0];
            assert_eq!(body(&seen.bytes).len(), 3_000_000, "{target}");
            let closes = !close.is_empty();
            assert_eq!((seen.tls_closed, seen.ended_ns.is_some()), (closes, closes), "{target}");
        }
    }
}

#[test]
fn faults_are_committed_over_tls_too() {
    let with = |faults| {
        let options = ServerOptions { faults, ..ServerOptions::default() };
        secure(Scene { options, ..Scene::ask(GET.repeat(5)) }, configs(Versions::Both)).run()
    };
    let outcome = with(Faults { reset: "100%".parse().expect("a share"), ..Faults::default() });
    let seen = &outcome.clients[0];
    assert!(seen.reset_ns.is_some() && !seen.tls_closed && seen.bytes.is_empty(), "{seen:?}");
    assert_eq!((outcome.counters.resets, outcome.counters.tls_failures), (1, 0));
    let outcome = with(Faults { close_every: NonZeroU32::new(3), ..Faults::default() });
    let seen = &outcome.clients[0];
    assert_eq!(seen.text().matches("hello world").count(), 3);
    assert!(seen.ended_ns.is_some() && seen.tls_closed, "{seen:?}");
    let outcome = with(Faults { errors: "100%:503".parse().expect("a mix"), ..Faults::default() });
    assert_eq!(outcome.clients[0].text().matches("HTTP/1.1 503 ").count(), 5);
    let outcome = with(Faults { stall: "300ms@0s".parse().ok(), ..Faults::default() });
    let first_ns = outcome.clients[0].at_ns(1);
    assert!((300 * MS..301 * MS).contains(&first_ns), "{first_ns}");
}

#[test]
fn refusals_are_read_before_the_end() {
    for request in ["garbage\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"] {
        let outcome = secure(Scene::ask(request), configs(Versions::Both)).run();
        let seen = &outcome.clients[0];
        assert!(seen.text().starts_with("HTTP/1.1 400 ") && seen.tls_closed, "{seen:?}");
        assert!(seen.ended_ns.is_some() && seen.reset_ns.is_none(), "{seen:?}");
    }
}

#[test]
fn stopping_says_so_to_idle_connections_and_finishes_the_others() {
    let script = vec![
        (10 * MS, 0, Act::Send(GET.into())),
        (10 * MS, 1, Act::Send(b"GET /delay/300ms HTTP/1.1\r\nHost: a\r\n\r\n".to_vec())),
        // Keeps the world going until the others have seen their end.
        (10 * MS, 2, Act::Send(b"GET /delay/20s HTTP/1.1\r\nHost: a\r\n\r\n".to_vec())),
    ];
    let scene = Scene { script, stop_ns: Some(100 * MS), until_ns: 60 * S, ..Scene::default() };
    let outcome = secure(scene, configs(Versions::Both)).run();
    assert!(outcome.finished && outcome.ended_ns < 2 * S);
    let [idle, delayed, _] = &outcome.clients[..] else { panic!("three clients") };
    assert!(idle.tls_closed && idle.ended_ns.is_some(), "{idle:?}");
    assert!(delayed.text().ends_with("hello world") && delayed.tls_closed, "{delayed:?}");
}

#[test]
fn what_is_not_tls_is_told_so_and_closed() {
    let (server, client) = configs(Versions::Both);
    let plain = Scene {
        options: ServerOptions { tls: Some(server.clone()), ..ServerOptions::default() },
        ..Scene::ask(GET)
    };
    let outcome = plain.run();
    let seen = &outcome.clients[0];
    // A fatal alert, in the clear.
    assert_eq!(seen.bytes[..2], [0x15, 0x03]);
    assert!(seen.ended_ns.is_some() && outcome.open == 0, "{seen:?}");
    assert_eq!((outcome.counters.tls_failures, outcome.counters.requests), (1, 0));
    // Bytes that do not decrypt, after a request that did.
    let garbage = b"\x17\x03\x03\x00\x20aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb".repeat(3);
    let script = vec![(MS, 0, Act::Send(GET.into())), (2 * MS, 0, Act::Raw(garbage))];
    let outcome = secure(Scene { script, ..Scene::default() }, (server, client)).run();
    let seen = &outcome.clients[0];
    assert!(seen.text().ends_with("hello world") && seen.ended_ns.is_some(), "{seen:?}");
    assert_eq!(seen.tls_failure, Some(TlsErrorKind::Alert));
    assert_eq!((outcome.counters.tls_failures, outcome.open), (1, 0));
}

#[test]
fn a_client_that_is_not_believed_gets_nothing() {
    let (authority, client) = (self_signed().expect("one"), configs(Versions::Both).1);
    let identity = self_signed().expect("another");
    let server = tls_config(identity, Some(authority.chain), &[b"h2", b"http/1.1"])
        .expect("a configuration");
    let outcome = secure(Scene::ask(GET), (server, client)).run();
    let seen = &outcome.clients[0];
    assert!(seen.bytes.is_empty() && seen.tls_failure.is_some(), "{seen:?}");
    assert_eq!((outcome.counters.tls_failures, outcome.counters.requests), (1, 0));
}

/// One request on a connection of its own; whether its session was resumed.
fn fetch(config: &ClientConfig, address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    let name = ServerName::parse("127.0.0.1").expect("a name");
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    let mut tls = Tls::client(config, &name, true, &mut out).expect("a client");
    let mut is_asked = false;
    let mut buffer = [0; 4096];
    while !tls.is_closed_by_peer() {
        if !is_asked && !tls.is_handshaking() {
            is_asked = true;
            let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
            tls.send(request, &mut out).expect("open");
        }
        stream.write_all(&out).expect("sent");
        out.clear();
        let count = stream.read(&mut buffer).expect("an answer");
        assert!(count > 0, "cut: {:?}", tls.end());
        tls.receive(&buffer[..count], &mut plain, &mut out).expect("TLS");
    }
    assert_eq!(body(&plain), b"hello world");
    tls.is_resumed()
}

#[test]
fn sessions_are_resumed_whichever_worker_answers() {
    for version in [Version::Tls12, Version::Tls13] {
        let (server, client) = configs(Versions::Only(version));
        let server = ServerOptions { tls: Some(server), ..ServerOptions::default() };
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let roles = vec![(Role::All, any)];
        let running = start(ServeOptions { roles, workers: 2, server, ..ServeOptions::default() });
        let running = running.expect("a server");
        let address = running.addresses()[0].1;
        let resumed: Vec<bool> = (0..20).map(|_| fetch(&client, address)).collect();
        assert_eq!(resumed.iter().position(|&resumed| !resumed), Some(0));
        assert_eq!(resumed.iter().filter(|&&resumed| resumed).count(), 19, "{version:?}");
        let counters = running.stop().counters;
        assert_eq!((counters.connections, counters.requests, counters.tls_failures), (20, 20, 0));
    }
}
