//! Fuzz bodies: arbitrary bytes, and handshakes with bytes changed on the way.
//!
//! Not part of the API. A fuzzer calls these; plain tests replay them over seeds.

use super::{ClientConfig, ServerConfig, ServerName, Tls, TlsErrorKind};

/// What became of one side that was fed bytes.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    failure: Option<TlsErrorKind>,
    is_closed: bool,
    plain: Vec<u8>,
}

/// Feeds `data` to a fresh client in many cuts and panics if they differ.
pub fn fuzz_client(config: &ClientConfig, name: &ServerName, data: &[u8]) {
    check_cuts(data, || Tls::client(config, name, false, &mut Vec::new()).expect("entropy"));
}

/// Feeds `data` to a fresh server in many cuts and panics if they differ.
pub fn fuzz_server(config: &ServerConfig, data: &[u8]) {
    check_cuts(data, || Tls::server(config).expect("entropy"));
}

fn check_cuts(data: &[u8], fresh: impl Fn() -> Tls) {
    let whole = feed(fresh(), data, usize::MAX);
    for piece_bytes in [1, 2, 5, 64, 4096] {
        assert_eq!(feed(fresh(), data, piece_bytes), whole, "in pieces of {piece_bytes}");
    }
}

fn feed(mut tls: Tls, data: &[u8], piece_bytes: usize) -> Outcome {
    let (mut plain, mut out) = (Vec::new(), Vec::new());
    let mut failure = None;
    for piece in data.chunks(piece_bytes) {
        match (tls.receive(piece, &mut plain, &mut out), failure) {
            (Ok(()), None) => {}
            (Ok(()), Some(_)) => panic!("stays failed"),
            (Err(error), None) => failure = Some(error.kind()),
            (Err(error), Some(kind)) => assert_eq!(error.kind(), kind, "stays failed"),
        }
        assert!(plain.len() <= data.len(), "more plaintext than there were bytes");
        assert!(out.len() <= 64 << 10, "answers without end");
    }
    Outcome { failure, is_closed: tls.is_closed_by_peer(), plain }
}

/// Carries a handshake and a request with its answer, and changes one byte on the way: byte `at`
/// of all that is sent is XORed with `mask`. Whatever that does, no side panics, none reads
/// anything that was not sent, and it ends. Returns whether byte `at` was sent at all.
pub fn fuzz_changed(
    client: &ClientConfig,
    server: &ServerConfig,
    name: &ServerName,
    resume: bool,
    at: usize,
    mask: u8,
) -> bool {
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const TURNS_MAX: usize = 20;
    let mut wire = [Vec::new(), Vec::new()];
    let client = Tls::client(client, name, resume, &mut wire[0]).expect("entropy");
    let mut sides = [client, Tls::server(server).expect("entropy")];
    let mut plain = [Vec::new(), Vec::new()];
    let mut sent = [false, false];
    let mut seen = 0;
    for turn in 0.. {
        assert!(turn < TURNS_MAX, "it does not end");
        let (from, to) = (turn % 2, (turn + 1) % 2);
        if !sides[from].is_handshaking() && !sent[from] {
            sent[from] = sides[from].send(REQUEST, &mut wire[from]).is_ok();
        }
        let mut flight = std::mem::take(&mut wire[from]);
        if let Some(byte) = at.checked_sub(seen).and_then(|at| flight.get_mut(at)) {
            *byte ^= mask;
        }
        seen += flight.len();
        // Once failed it says so again, and there is nothing to send.
        let _ = sides[to].receive(&flight, &mut plain[to], &mut wire[to]);
        if flight.is_empty() && wire[to].is_empty() {
            break;
        }
    }
    for plain in &plain {
        assert!(REQUEST.starts_with(plain), "read what was not sent");
    }
    if mask == 0 || at >= seen {
        assert!(plain.iter().all(|plain| plain == REQUEST), "nothing was changed");
    }
    at < seen
}
