//! Requests over TLS, where the server chooses between HTTP/1.1 and HTTP/2, over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use plimsoll_core::executor::Executor;
use plimsoll_proto::http2::{Body, Server, ServerEvent, ServerOptions};
use plimsoll_proto::tls;
use rcgen::{CertificateParams, KeyPair};

use super::{Kept, S, cast, program, role};
use crate::vu::{Controls, prepare};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that knows these protocols, and the certificate to trust.
fn server(alpn: &[&str]) -> (SocketAddr, Vec<u8>) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (chain, key) = (certificate.pem().into_bytes(), key.serialize_pem().into_bytes());
    let identity = tls::Identity { chain: chain.clone(), key };
    let alpn = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let versions = tls::Versions::Both;
    let options = tls::ServerOptions { identity, client_roots: None, alpn, versions, resume: true };
    let config = tls::ServerConfig::new(&options).expect("usable options");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || answer(stream, &config));
        }
    });
    (address, chain)
}

/// Answers each request on a connection. `None` when the client is gone.
fn answer(mut stream: TcpStream, config: &tls::ServerConfig) -> Option<()> {
    let mut tls = tls::Tls::server(config).ok()?;
    let mut http2: Option<Box<Server>> = None;
    let (mut buffer, mut plain, mut answer, mut out) = ([0; 16_384], vec![], vec![], vec![]);
    loop {
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        let taken = tls.receive(&buffer[..len], &mut plain, &mut out);
        if taken.is_ok() && !tls.is_handshaking() {
            if tls.alpn() == Some(b"h2") {
                let server = http2.get_or_insert_with(|| {
                    let mut server = Box::new(Server::new(ServerOptions::default()));
                    server.begin(&mut answer);
                    server
                });
                answer_http2(server, &plain, &mut answer)?;
                plain.clear();
            }
            while let Some(end) = plain.windows(4).position(|four| four == b"\r\n\r\n") {
                plain.drain(..end + 4);
                answer.extend_from_slice(RESPONSE);
            }
            tls.send(&answer, &mut out).ok()?;
            answer.clear();
        }
        stream.write_all(&out).ok()?;
        taken.ok()?;
        out.clear();
    }
}

fn answer_http2(server: &mut Server, mut bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut ended = Vec::new();
    loop {
        let decoded = server.receive(bytes, out).ok()?;
        bytes = &bytes[decoded.consumed..];
        match decoded.event {
            None => break,
            Some(ServerEvent::End(stream)) => ended.push(stream),
            Some(_) => {}
        }
    }
    for stream in ended {
        server.send_head(stream, false, out, |head| {
            head.status(200);
            head.field("server", b"a test").expect("a sound field");
        });
        server.send(stream, Body::Bytes(b"hello"), true, out);
    }
    Some(())
}

/// Carries out a script once, and trusts a certificate.
fn once(script: &str, trusted: &[u8]) -> Kept {
    let program =
        program(&format!("import http from 'k6/http'; export default () => {{ {script} }}"));
    let executor = Executor::PerVuIterations { vus: 1, iterations: 2, max_duration_ns: 60 * S };
    let mut cast = cast(&program, vec![role(&program, executor)], 1);
    cast.network.tls.verify = tls::Verify::Roots(trusted.into());
    let loopback = [127, 0, 0, 1];
    cast.network.fixed_address = Some(Arc::new(move |_, _| Some((loopback.into(), None))));
    let controls = Arc::new(Controls::new(1));
    let prepared = prepare(cast, &controls, |_| Kept::default()).expect("it can be prepared");
    let mut ended = prepared.run().expect("it can be run");
    let kept = ended.tallies.pop().expect("there is one worker");
    assert_eq!(kept.failures, [""; 0]);
    kept
}

#[test]
fn a_server_chooses_the_protocol() {
    for (alpn, proto, connects) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0", 1),
        (&["http/1.1"], "HTTP/1.1", 3),
        (&[], "HTTP/1.1", 3),
    ] {
        let (address, chain) = server(alpn);
        let url = format!("https://localhost:{}/", address.port());
        let script = format!(
            "const u = '{url}'; const all = http.batch([u + 'a', u + 'b', u + 'c']);
             for (const r of all) if (r.body != 'hello') throw new Error(r.error);
             const r = http.get(u); console.log(r.proto, r.status_text, r.tls_version);"
        );
        let kept = once(&script, &chain);
        assert_eq!(kept.lines, vec![format!("{proto} 200 OK tls1.3"); 2], "{alpn:?}");
        assert_eq!(kept.requests.len(), 8);
        assert!(kept.requests.iter().all(|request| request.proto == proto), "{alpn:?}");
        let handshakes = kept.requests.iter().filter(|it| it.timings.tls_handshaking_ns > 0);
        // A response may come before the other connections of a batch are open.
        assert!((1..=connects).contains(&handshakes.count()), "{alpn:?}");
    }
}

#[test]
fn what_is_wrong_with_tls_has_a_number() {
    let (address, chain) = server(&["http/1.1"]);
    let (_, other) = server(&["http/1.1"]);
    let plain = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let plain_port = plain.local_addr().expect("bound").port();
    thread::spawn(move || {
        for mut stream in plain.incoming().flatten() {
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let port = address.port();
    for (url, trusted, number) in [
        (format!("https://localhost:{port}/"), &chain, 0),
        (format!("https://localhost:{port}/"), &other, 1310),
        (format!("https://other.test:{port}/"), &chain, 1311),
        (format!("https://localhost:{plain_port}/"), &chain, 1301),
    ] {
        let kept = once(&format!("http.get('{url}')"), trusted);
        let numbers: Vec<u16> = kept.requests.iter().map(|request| request.error_code).collect();
        assert_eq!(numbers, [number; 2], "{url}");
    }
}
