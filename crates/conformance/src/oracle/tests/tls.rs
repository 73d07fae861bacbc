//! Connections behind TLS, seen by a plain blocking client.

use std::io::{Read as _, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

use super::{PLAIN, Running, get, start};
use crate::oracle::{Alpn, Http2Mode, Log, Mode, TlsMode};

/// Takes any certificate.
#[derive(Debug)]
struct Any(CryptoProvider);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A client that offers these, before its handshake.
fn client(offered: &[Alpn]) -> ClientConnection {
    let provider = aws_lc_rs::default_provider();
    let builder = ClientConfig::builder_with_provider(Arc::new(provider.clone()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let verifier = Arc::new(Any(provider));
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|alpn| alpn.name().to_vec()).collect();
    let name = ServerName::try_from("localhost").unwrap();
    ClientConnection::new(Arc::new(config), name).unwrap()
}

fn connect(oracle: &Running, offered: &[Alpn]) -> StreamOwned<ClientConnection, TcpStream> {
    StreamOwned::new(client(offered), oracle.connect())
}

fn behind(offered: &[Alpn]) -> Mode {
    Mode { tls: Some(TlsMode::offering(offered)), ..Mode::default() }
}

/// The one connection's choice, if its handshake ended.
fn chosen(log: &Log) -> Option<Option<Alpn>> {
    let [connection] = log.connections[..] else { panic!("{:?}", log.connections) };
    (connection.handshake_ns >= connection.accepted_ns).then_some(connection.alpn)
}

#[test]
fn the_handshake_chooses_what_both_offer() {
    use Alpn::{Http1, Http2};
    for (ours, theirs, want) in [
        (&[Http2, Http1][..], &[Http2, Http1][..], Some(Some(Http2))),
        (&[Http2, Http1], &[Http1, Http2], Some(Some(Http2))),
        (&[Http2, Http1], &[Http1], Some(Some(Http1))),
        (&[Http2, Http1], &[], Some(None)),
        (&[Http1], &[Http2, Http1], Some(Some(Http1))),
        (&[Http1], &[Http2], None),
        (&[], &[Http2, Http1], Some(None)),
        (&[], &[Http2], Some(None)),
    ] {
        let oracle = start(behind(ours));
        let mut stream = connect(&oracle, theirs);
        let is_open = stream.conn.complete_io(&mut stream.sock).is_ok();
        assert_eq!(is_open, want.is_some(), "{ours:?} {theirs:?}");
        if is_open {
            // The first bytes decide which protocol is spoken.
            assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN, "{ours:?} {theirs:?}");
        }
        drop(stream);
        let log = oracle.stop();
        assert_eq!(chosen(&log), want, "{ours:?} {theirs:?}");
        assert_eq!(log.answered(), u64::from(is_open));
        assert!(log.connections.iter().all(|connection| !connection.is_http2));
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// GET / on the first stream.
const GET: &[u8] = b"\0\0\x03\x01\x05\0\0\0\x01\x82\x84\x86";

#[test]
fn http2_is_spoken_behind_tls() {
    for (is_refused, want) in [(false, &b"\0\0\x0c\x04"[..]), (true, b"HTTP/1.1 400")] {
        let http2 = Http2Mode { is_refused, ..Http2Mode::default() };
        let oracle = start(Mode { http2, ..behind(&[Alpn::Http2]) });
        let mut stream = connect(&oracle, &[Alpn::Http2]);
        stream.write_all(&[PREFACE, GET].concat()).unwrap();
        let mut first = vec![0; want.len()];
        stream.read_exact(&mut first).unwrap();
        assert_eq!(first, want);
        // The answer to the GET ends in its body.
        let mut answer = Vec::new();
        while !is_refused && !answer.ends_with(&[b'x'; 13]) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        drop(stream);
        let log = oracle.stop();
        assert_eq!(chosen(&log), Some(Some(Alpn::Http2)));
        let spoken = (log.connections[0].is_http2, log.answered());
        assert_eq!(spoken, (!is_refused, u64::from(!is_refused)));
        assert!(is_refused || log.connections[0].bytes_in as usize == PREFACE.len() + GET.len());
    }
}

#[test]
fn a_handshake_takes_as_long_as_the_mode_says() {
    let delay_ns = 30_000_000;
    let tls = TlsMode { handshake_delay_ns: delay_ns, ..TlsMode::offering(&[Alpn::Http1]) };
    let oracle = start(Mode { tls: Some(tls), ..Mode::default() });
    for _ in 0..2 {
        let mut stream = connect(&oracle, &[Alpn::Http1]);
        assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN);
    }
    let log = oracle.stop();
    for connection in &log.connections {
        assert!(connection.handshake_ns >= connection.accepted_ns + delay_ns, "{connection:?}");
    }
    let entry = log.entries[0];
    assert!(entry.received_ns >= log.connections[0].handshake_ns && entry.sent_ns > 0);
    assert_eq!(entry.bytes_out as usize, PLAIN.len());
}

/// The body is more than the kernel takes at once, so records are written in parts.
#[test]
fn large_bodies_arrive_whole_behind_tls() {
    let bytes = 5 << 20;
    let oracle = start(Mode { body_bytes: bytes, ..behind(&[Alpn::Http1]) });
    let mut stream = connect(&oracle, &[Alpn::Http1]);
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
    let answer = get(&mut stream, "/", head.len() + bytes as usize);
    assert!(answer.starts_with(&head));
    assert_eq!(answer.len(), head.len() + bytes as usize);
    assert!(answer[head.len()..].bytes().all(|byte| byte == b'x'));
    assert_eq!(get(&mut stream, "/", 12), "HTTP/1.1 200", "nothing is left over");
    drop(stream);
    assert_eq!(oracle.stop().entries.len(), 2);
}

#[test]
fn the_end_of_an_answer_is_the_end_of_tls() {
    let oracle = start(Mode { close_every: 1, ..behind(&[Alpn::Http1]) });
    let mut stream = connect(&oracle, &[Alpn::Http1]);
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    // Without TLS's own goodbye this is an error.
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("\r\n\r\nxxxxxxxxxxxxx"), "{answer}");
    oracle.stop();
}

/// Sends one byte at a time.
struct Trickle(TcpStream);

impl Write for Trickle {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

impl std::io::Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

#[test]
fn it_makes_no_difference_how_bytes_are_cut() {
    let oracle = start(behind(&[Alpn::Http1]));
    let socket = oracle.connect();
    socket.set_nodelay(true).unwrap();
    let mut stream = StreamOwned::new(client(&[Alpn::Http1]), Trickle(socket));
    assert_eq!(get(&mut stream, "/", PLAIN.len()), PLAIN);
    drop(stream);
    assert_eq!(chosen(&oracle.stop()), Some(Some(Alpn::Http1)));
}

#[test]
fn what_is_no_tls_gets_no_answer() {
    let oracle = start(behind(&[Alpn::Http1]));
    for bytes in [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], PREFACE, &[0x16, 3, 1, 0xff, 0xff]] {
        let mut stream = oracle.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // It ends with an alert or with nothing.
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer[0] == 0x15, "{answer:?}");
    }
    let log = oracle.stop();
    assert_eq!((log.entries.len(), log.connections.len()), (0, 3));
    assert!(log.connections.iter().all(|connection| connection.handshake_ns == 0));
}
