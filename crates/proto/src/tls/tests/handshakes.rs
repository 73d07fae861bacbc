//! Versions, resumption, ALPN, and data in pieces of every size.

use super::world::{Authority, NOW, Pair, client_config, configs, server_config, server_options};
use crate::tls::{
    ClientConfig, ClientOptions, TlsConfigError, TlsErrorKind, Verify, Version, Versions,
};

const VERSIONS: [(Versions, Version); 3] = [
    (Versions::Both, Version::Tls13),
    (Versions::Only(Version::Tls13), Version::Tls13),
    (Versions::Only(Version::Tls12), Version::Tls12),
];

#[test]
fn every_version_carries_data_both_ways() {
    for (versions, agreed) in VERSIONS {
        let (client, server) = configs(versions);
        let mut pair = Pair::new(&client, &server, true).shake();
        assert_eq!(pair.client.version(), Some(agreed));
        assert_eq!(pair.server.version(), Some(agreed));
        assert_eq!(pair.server.server_name(), Some("localhost"));
        assert!(pair.client.cipher().is_some_and(|name| name.contains("AES")));
        let large: Vec<u8> = (0..200_000u32).map(|i| i as u8).collect();
        for (request, answer) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], &b"HTTP/1.1 204 No Content\r\n\r\n"[..]),
            (b"x", &large),
            (&large, b""),
            (b"", b"y"),
        ] {
            pair.exchange(request, answer, usize::MAX);
            pair.exchange(request, answer, 1000);
        }
    }
}

#[test]
fn sessions_are_resumed_when_asked_and_only_then() {
    for (versions, agreed) in VERSIONS {
        let (client, server) = configs(versions);
        for (round, (resume, resumed)) in
            [(true, false), (true, true), (false, false), (true, true), (false, false)]
                .into_iter()
                .enumerate()
        {
            let mut pair = Pair::new(&client, &server, resume).shake();
            assert_eq!(pair.client.is_resumed(), resumed, "{agreed:?} round {round}");
            assert_eq!(pair.server.is_resumed(), resumed, "{agreed:?} round {round}");
            pair.exchange(b"request", b"answer", usize::MAX);
        }
    }
}

#[test]
fn many_tickets_are_kept_and_each_is_used_once() {
    let (client, server) = configs(Versions::Only(Version::Tls13));
    let resumed = |count: usize| {
        let pairs: Vec<Pair> = (0..count).map(|_| Pair::new(&client, &server, true)).collect();
        pairs.into_iter().map(Pair::shake).filter(|it| it.client.is_resumed()).count()
    };
    // Connections opened at once, before any is answered: only tickets of the round before serve.
    assert_eq!(resumed(50), 0);
    assert_eq!(resumed(50), 50);
    assert_eq!(resumed(1000), 150);
    assert_eq!(resumed(1000), super::super::TICKETS_MAX);
}

#[test]
fn a_store_of_sessions_is_its_configurations_own() {
    let authority = Authority::new("authority");
    let server = server_config(&server_options(authority.identity("localhost", NOW)));
    let options =
        ClientOptions { verify: Verify::Roots(authority.pem.into()), ..ClientOptions::default() };
    let (first, second) = (client_config(&options), client_config(&options));
    Pair::new(&first, &server, true).shake();
    assert!(!Pair::new(&second, &server, true).shake().client.is_resumed());
    assert!(Pair::new(&first.clone(), &server, true).shake().client.is_resumed());
}

#[test]
fn a_server_without_tickets_resumes_nothing() {
    for (versions, _) in VERSIONS {
        let authority = Authority::new("authority");
        let mut options = server_options(authority.identity("localhost", NOW));
        options.resume = false;
        let server = server_config(&options);
        let verify = Verify::Roots(authority.pem.into());
        let client = client_config(&ClientOptions { verify, versions, ..ClientOptions::default() });
        for _ in 0..3 {
            assert!(!Pair::new(&client, &server, true).shake().client.is_resumed());
        }
    }
}

#[test]
fn alpn_is_agreed_or_refused() {
    let protocols = |names: &[&str]| names.iter().map(|it| it.as_bytes().to_vec()).collect();
    for (client, server, agreed) in [
        (&["http/1.1"][..], &["h2", "http/1.1"][..], Ok(Some("http/1.1"))),
        (&["h2", "http/1.1"], &["h2", "http/1.1"], Ok(Some("h2"))),
        (&[], &["http/1.1"], Ok(None)),
        (&["http/1.1"], &[], Ok(None)),
        (&["http/1.1"], &["h2"], Err(TlsErrorKind::Alpn)),
    ] {
        let authority = Authority::new("authority");
        let mut options = server_options(authority.identity("localhost", NOW));
        options.alpn = protocols(server);
        let server = server_config(&options);
        let verify = Verify::Roots(authority.pem.into());
        let alpn = protocols(client);
        let client = client_config(&ClientOptions { verify, alpn, ..ClientOptions::default() });
        let mut pair = Pair::new(&client, &server, true);
        let outcome = pair.carry(usize::MAX);
        match agreed {
            Ok(protocol) => {
                assert_eq!(outcome, Ok(()));
                assert_eq!(pair.client.alpn(), protocol.map(str::as_bytes));
                assert_eq!(pair.server.alpn(), pair.client.alpn());
            }
            Err(kind) => {
                assert_eq!(outcome.map_err(|error| error.kind()), Err(kind));
                assert_eq!(pair.client.end().map_err(|error| error.kind()), Err(kind));
            }
        }
    }
}

#[test]
fn suites_of_tls_1_2_are_those_that_are_named() {
    // The certificates here are of ECDSA. The last is one that rustls does not have.
    for (versions, suites, agreed) in [
        (Versions::Only(Version::Tls12), &[0xc02b][..], Some("AES_128_GCM")),
        (Versions::Only(Version::Tls12), &[0xcca9], Some("CHACHA20_POLY1305")),
        (Versions::Both, &[0xc02b], Some("TLS13_")),
        (Versions::Both, &[0xc009], Some("TLS13_")),
        (Versions::Only(Version::Tls12), &[0xc009], None),
    ] {
        let authority = Authority::new("authority");
        let server = server_config(&server_options(authority.identity("localhost", NOW)));
        let (verify, suites) = (Verify::Roots(authority.pem.into()), suites.to_vec());
        let options = ClientOptions { verify, versions, suites, ..ClientOptions::default() };
        let Some(agreed) = agreed else {
            let error = ClientConfig::new(&options).expect_err("no suite");
            assert_eq!(error, TlsConfigError::NoSuites, "{options:?}");
            continue;
        };
        let pair = Pair::new(&client_config(&options), &server, true).shake();
        let found = pair.client.cipher().expect("a suite");
        assert!(found.contains(agreed), "{found} {options:?}");
    }
}

#[test]
fn no_common_version_is_said_so_on_both_sides() {
    for (client_only, server_only) in
        [(Version::Tls12, Version::Tls13), (Version::Tls13, Version::Tls12)]
    {
        let mut options = server_options(Authority::new("authority").identity("localhost", NOW));
        options.versions = Versions::Only(server_only);
        let server = server_config(&options);
        let client = client_config(&ClientOptions {
            verify: Verify::Nothing,
            versions: Versions::Only(client_only),
            ..ClientOptions::default()
        });
        let mut pair = Pair::new(&client, &server, true);
        pair.carry(usize::MAX).expect_err("no version in common");
        for side in [&pair.client, &pair.server] {
            assert_eq!(side.end().expect_err("failed").kind(), TlsErrorKind::Version);
        }
    }
}

#[test]
fn how_bytes_are_cut_makes_no_difference() {
    for (versions, agreed) in VERSIONS {
        let (client, server) = configs(versions);
        for piece_bytes in [1, 2, 3, 5, 6, 17, 100, 1000] {
            for resumed in [false, true] {
                let mut pair = Pair::new(&client, &server, resumed);
                pair.carry(piece_bytes).expect("a handshake");
                assert_eq!(pair.client.version(), Some(agreed));
                pair.exchange(&[7; 500], &[8; 17_000], piece_bytes);
            }
        }
    }
}

#[test]
fn every_split_in_two_of_every_flight_does() {
    for (versions, _) in VERSIONS {
        let (client, server) = configs(versions);
        let mut cut = 1;
        loop {
            let mut pair = Pair::new(&client, &server, false);
            let mut was_cut = false;
            while !pair.to_server.is_empty() || !pair.to_client.is_empty() {
                let input = std::mem::take(&mut pair.to_server);
                let (first, second) = input.split_at(cut.min(input.len()));
                was_cut |= !second.is_empty();
                for part in [first, second] {
                    pair.server
                        .receive(part, &mut pair.at_server, &mut pair.to_client)
                        .expect("ok");
                }
                let input = std::mem::take(&mut pair.to_client);
                let (first, second) = input.split_at(cut.min(input.len()));
                was_cut |= !second.is_empty();
                for part in [first, second] {
                    pair.client
                        .receive(part, &mut pair.at_client, &mut pair.to_server)
                        .expect("ok");
                }
            }
            assert!(!pair.client.is_handshaking() && !pair.server.is_handshaking());
            if !was_cut {
                break;
            }
            cut += 1;
        }
        assert!(cut > 200, "the flights are longer than that");
    }
}

#[test]
fn a_close_is_told_from_a_cut() {
    for (versions, _) in VERSIONS {
        let (client, server) = configs(versions);
        let mut pair = Pair::new(&client, &server, true).shake();
        pair.exchange(b"request", b"answer", usize::MAX);
        assert_eq!(pair.client.end().expect_err("cut").kind(), TlsErrorKind::Truncated);
        pair.server.close(&mut pair.to_client);
        pair.to_client.extend_from_slice(b"what comes after is ignored");
        pair.carry(usize::MAX).expect("no failure");
        assert!(pair.client.is_closed_by_peer() && !pair.server.is_closed_by_peer());
        assert_eq!(pair.client.end(), Ok(()));
        // Only one direction is closed: the client may still send.
        pair.client.send(b"more", &mut pair.to_server).expect("open");
        pair.carry(usize::MAX).expect("no failure");
        assert_eq!(pair.at_server, b"requestmore");
        let refused = pair.server.send(b"x", &mut pair.to_client).expect_err("closed");
        assert_eq!(refused.kind(), TlsErrorKind::NotOpen);
        assert!(pair.to_client.is_empty());
    }
    let (client, server) = configs(Versions::Both);
    let mut pair = Pair::new(&client, &server, true);
    let refused = pair.client.send(b"x", &mut pair.to_server).expect_err("handshaking");
    assert_eq!(refused.kind(), TlsErrorKind::NotOpen);
    let ended = pair.client.end().expect_err("cut").to_string();
    assert_eq!(ended, "the server closed the connection during the TLS handshake");
}
