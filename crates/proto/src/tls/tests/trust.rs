//! Which peers are trusted, and the errors about the others.

use super::world::{
    Authority, NOW, Pair, client_config, name, self_signed, self_signed_in, server_config,
    server_options,
};
use crate::tls::{
    ClientConfig, ClientOptions, Identity, ServerConfig, ServerName, Tls, TlsConfigError,
    TlsErrorKind, Verify, Version, Versions,
};

fn believing(verify: Verify) -> ClientOptions {
    ClientOptions { verify, ..ClientOptions::default() }
}

#[test]
fn servers_are_believed_or_not() {
    let authority = Authority::new("authority");
    let roots = || Verify::Roots(authority.pem.as_slice().into());
    let good = || authority.identity("localhost", NOW);
    let unknown = "the server's certificate is signed by no authority known here: \
                   name its authority with --cacert FILE, or use -k";
    let selfmade = self_signed("localhost", false);
    let own_root = Verify::Roots(selfmade.chain.as_slice().into());
    let ca = self_signed("localhost", true);
    let ca_root = Verify::Roots(ca.chain.as_slice().into());
    let named = |years| {
        let ca = self_signed_in("localhost", true, years);
        (ca.clone(), Verify::Roots(ca.chain.as_slice().into()))
    };
    let ((old, old_root), (early, early_root)) = (named((2001, 2002)), named((2110, 2120)));
    for (identity, verify, host, refusal) in [
        (good(), roots(), "localhost", None),
        (good(), Verify::Nothing, "localhost", None),
        (good(), Verify::Nothing, "127.0.0.1", None),
        (authority.identity("127.0.0.1", NOW), roots(), "127.0.0.1", None),
        (authority.identity("::1", NOW), roots(), "[::1]", None),
        (authority.identity("*.example.com", NOW), roots(), "www.example.com", None),
        (selfmade.clone(), own_root, "localhost", None),
        (selfmade.clone(), Verify::Nothing, "localhost", None),
        (selfmade.clone(), roots(), "localhost", Some(unknown)),
        (selfmade, Verify::PublicRoots, "localhost", Some(unknown)),
        (good(), Verify::PublicRoots, "localhost", Some(unknown)),
        (good(), Verify::Roots(Authority::new("another").pem.into()), "localhost", Some(unknown)),
        (
            good(),
            Verify::Roots(Authority::new("authority").pem.into()),
            "localhost",
            Some(
                "the server's certificate bears a signature that does not verify: \
                 name its authority with --cacert FILE, or use -k",
            ),
        ),
        (ca.clone(), ca_root.clone(), "localhost", None),
        (
            ca.clone(),
            ca_root,
            "example.com",
            Some(
                "the server's certificate is for localhost, not for example.com: \
                 ask for its name with --sni NAME, or use -k",
            ),
        ),
        (
            old,
            old_root,
            "localhost",
            Some("the server's certificate has expired: renew it, or use -k"),
        ),
        (
            early,
            early_root,
            "localhost",
            Some("the server's certificate is not valid yet: renew it, or use -k"),
        ),
        (
            ca,
            roots(),
            "localhost",
            Some(
                "the server's certificate is an authority's own (CA:TRUE), and is not named \
                 itself: name it with --cacert FILE, make it anew with CA:FALSE (openssl req \
                 -addext basicConstraints=critical,CA:FALSE), or use -k",
            ),
        ),
        (
            good(),
            roots(),
            "example.com",
            Some(
                "the server's certificate is for localhost, not for example.com: \
                 ask for its name with --sni NAME, or use -k",
            ),
        ),
        (
            authority.identity("localhost", (2001, 2002)),
            roots(),
            "localhost",
            Some("the server's certificate has expired: renew it, or use -k"),
        ),
        (
            authority.identity("localhost", (2110, 2120)),
            roots(),
            "localhost",
            Some("the server's certificate is not valid yet: renew it, or use -k"),
        ),
    ] {
        for versions in [Version::Tls12, Version::Tls13].map(Versions::Only) {
            let server = server_config(&server_options(identity.clone()));
            let verify = verify.clone();
            let client = client_config(&ClientOptions { versions, ..believing(verify) });
            let mut pair = Pair::named(&client, &server, host, true);
            let outcome = pair.carry(usize::MAX);
            let Some(refusal) = refusal else {
                assert_eq!(outcome, Ok(()), "{host}");
                continue;
            };
            let error = outcome.expect_err(refusal);
            assert_eq!(
                (error.to_string().as_str(), error.kind().name()),
                (refusal, "tls_certificate")
            );
            // The alert reached the server.
            assert_eq!(pair.server.end().expect_err("told").kind(), TlsErrorKind::Alert);
        }
    }
}

#[test]
fn clients_are_believed_or_not() {
    let (authority, clients) = (Authority::new("servers"), Authority::new("clients"));
    let mut options = server_options(authority.identity("localhost", NOW));
    options.client_roots = Some(clients.pem.clone());
    let server = server_config(&options);
    let wants = "it wants a client certificate, --cert FILE --key FILE";
    for (identity, refused) in [
        (Some(clients.identity("stranger", NOW)), None),
        (None, Some("the client showed no certificate")),
        (
            Some(authority.identity("stranger", NOW)),
            Some("the client's certificate is signed by no authority known here"),
        ),
        (
            Some(clients.identity("stranger", (2001, 2002))),
            Some("the client's certificate has expired"),
        ),
    ] {
        for versions in [Version::Tls12, Version::Tls13].map(Versions::Only) {
            let verify = Verify::Roots(authority.pem.as_slice().into());
            let is_none = identity.is_none();
            let identity = identity.clone();
            let client = client_config(&ClientOptions { versions, identity, ..believing(verify) });
            let mut pair = Pair::new(&client, &server, true);
            let outcome = pair.carry(usize::MAX);
            let Some(refused) = refused else {
                assert_eq!(outcome, Ok(()));
                // In a resumed session nobody shows a certificate, and the peer is still known.
                assert!(Pair::new(&client, &server, true).shake().server.is_resumed());
                continue;
            };
            assert_eq!(outcome.expect_err(refused).to_string(), refused);
            let said = pair.client.end().expect_err("told").to_string();
            assert!(
                !is_none || said.ends_with(wants) || said.contains("HandshakeFailure"),
                "{said}"
            );
        }
    }
}

#[test]
fn what_cannot_be_configured_is_said_in_one_line() {
    let good = self_signed("localhost", false);
    let other = self_signed("localhost", false);
    let with = |chain: &[u8], key: &[u8]| Identity { chain: chain.to_vec(), key: key.to_vec() };
    let broken = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
    let hollow = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let locked =
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    let strange = b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (identity, line) in [
        (
            with(b"", &good.key),
            "the certificate file holds no certificate: a PEM block BEGIN CERTIFICATE is needed",
        ),
        (with(broken, &good.key), "the certificate file is not well-formed PEM"),
        (with(hollow, &good.key), "a certificate in the certificate file cannot be read"),
        (
            with(&good.chain, b""),
            "the key file holds no usable private key: \
             a PEM block BEGIN PRIVATE KEY is needed",
        ),
        (
            with(&good.chain, locked),
            "the key file holds no usable private key: \
             it is encrypted, take the password off (openssl pkey)",
        ),
        (
            with(&good.chain, strange),
            "the key in the key file is of a kind that is not supported: \
             use RSA, ECDSA or Ed25519",
        ),
        (
            with(&good.chain, &other.key),
            "the key in the key file is not the one that the certificate was made for",
        ),
    ] {
        let error = ServerConfig::new(&server_options(identity)).expect_err(line);
        assert_eq!(error.to_string(), line);
    }
    for (verify, line) in [
        (
            Verify::Roots(b"nothing".as_slice().into()),
            "the CA file holds no certificate: \
             a PEM block BEGIN CERTIFICATE is needed",
        ),
        (Verify::Roots(hollow.as_slice().into()), "a certificate in the CA file cannot be read"),
    ] {
        let error = ClientConfig::new(&believing(verify)).expect_err(line);
        assert_eq!(error.to_string(), line);
    }
    let mut options = ClientOptions { alpn: vec![Vec::new()], ..ClientOptions::default() };
    assert_eq!(ClientConfig::new(&options).err(), Some(TlsConfigError::Alpn));
    options.alpn = vec![vec![b'x'; 256]];
    assert_eq!(ClientConfig::new(&options).err(), Some(TlsConfigError::Alpn));
}

#[test]
fn keys_are_not_shown() {
    let identity = self_signed("localhost", false);
    let options = server_options(identity.clone());
    let shown = format!("{options:?} {:?}", server_config(&options));
    assert!(!shown.contains("key") && !shown.contains("45, 45, 45"), "{shown}");
}

#[test]
fn names_are_read() {
    for good in ["localhost", "www.example.com", "127.0.0.1", "::1", "[2001:db8::1]", "a_b.test"] {
        assert!(ServerName::parse(good).is_ok(), "{good}");
    }
    assert_eq!(name("[::1]"), name("::1"));
    for bad in ["", "a b", "exa mple", "-", "[::1", "a..b", "[localhost"] {
        assert!(ServerName::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_address_is_not_sent_as_a_name() {
    let authority = Authority::new("authority");
    let server = server_config(&server_options(authority.identity("127.0.0.1", NOW)));
    let client = client_config(&believing(Verify::Roots(authority.pem.into())));
    let pair = Pair::named(&client, &server, "127.0.0.1", true).shake();
    assert_eq!(pair.server.server_name(), None);
    let mut hello = Vec::new();
    Tls::client(&client, &name("plimsoll.test"), true, &mut hello).expect("a client");
    assert!(hello.windows(13).any(|window| window == b"plimsoll.test"));
}
