//! Peers that send anything.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

use super::world::{Pair, configs, name};
use crate::tls::fuzz::{fuzz_changed, fuzz_client, fuzz_server};
use crate::tls::{Version, Versions};

fn fixed(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..Config::default() }
}

#[test]
fn bytes_that_are_not_tls_fail_alike_however_cut() {
    let (client, server) = configs(Versions::Both);
    let name = name("localhost");
    let alert = b"\x15\x03\x03\x00\x02\x02\x28";
    let mut endless = b"\x16\x03\x03\x40\x00\x02\xff\xff\xff".to_vec();
    endless.resize(5 + (1 << 14), 0);
    let long: Vec<u8> = endless.iter().copied().chain(endless.repeat(8)).collect();
    for data in [
        &b""[..],
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00",
        b"\x16\x03\x01",
        b"\x16\x03\x01\xff\xff",
        b"\x80\x2e\x01\x00\x02",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        alert,
        &alert.repeat(3),
        &b"\x15\x03\x03\x00\x02\x01\x00".repeat(2),
        &b"\x14\x03\x03\x00\x01\x01".repeat(100),
        &b"\x17\x03\x03\x00\x00".repeat(100),
        &b"\x16\x03\x03\x00\x00".repeat(100),
        &endless,
        &long,
    ] {
        fuzz_client(&client, &name, data);
        fuzz_server(&server, data);
    }
}

#[test]
fn plain_http_is_named() {
    let (client, server) = configs(Versions::Both);
    let mut pair = Pair::new(&client, &server, true);
    let said =
        pair.client.receive(b"HTTP/1.1 400 Bad Request\r\n", &mut Vec::new(), &mut Vec::new());
    assert_eq!(
        said.expect_err("not TLS").to_string(),
        "what the server sent is not TLS: is it a port for plain http?"
    );
}

#[test]
fn random_bytes_fail_alike_however_cut() {
    let (client, server) = configs(Versions::Both);
    let name = name("localhost");
    let header = (20u8..25, 0u8..5, prop::collection::vec(any::<u8>(), 0..300));
    let record = header.prop_map(|(kind, minor, body)| {
        let length = (body.len() as u16).to_be_bytes();
        [&[kind, 3, minor], &length[..], &body].concat()
    });
    let data = prop::collection::vec(record, 1..4).prop_map(|records| records.concat());
    let data = prop_oneof![data, prop::collection::vec(any::<u8>(), 0..600)];
    proptest!(fixed(300), |(data in data)| {
        fuzz_client(&client, &name, &data);
        fuzz_server(&server, &data);
    });
}

#[test]
fn a_changed_byte_anywhere_is_noticed_or_harmless() {
    for versions in [Version::Tls12, Version::Tls13].map(Versions::Only) {
        let (client, server) = configs(versions);
        let name = name("localhost");
        for resume in [false, true] {
            assert!(fuzz_changed(&client, &server, &name, resume, 0, 0));
            let mut at = 0;
            while fuzz_changed(&client, &server, &name, resume, at, 1 << (at % 8)) {
                at += 1;
            }
            assert!(at > 700, "a handshake is longer than {at} bytes");
        }
    }
}

#[test]
fn messages_after_the_handshake_are_bounded() {
    let (client, server) = configs(Versions::Only(Version::Tls13));
    let mut pair = Pair::new(&client, &server, true).shake();
    // Records that decrypt to nothing, or do not decrypt, come to an end.
    let garbage = b"\x17\x03\x03\x00\x20aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbb".repeat(10);
    let said = pair.client.receive(&garbage, &mut pair.at_client, &mut pair.to_server);
    assert_eq!(said.expect_err("does not decrypt").kind().name(), "tls_decrypt");
    pair.carry(usize::MAX).expect_err("told");
}
