//! Fuzz bodies: they feed arbitrary bytes, whole and in pieces, and check what must hold.
//!
//! Not part of the API. A fuzzer calls [`fuzz_client`] and [`fuzz_server`]; a plain test replays
//! them over a corpus; the tables of the tests use the same traces.

use super::{
    Close, DeflateParameters, Error, Event, Kind, Limits, Options, Outgoing, PIECE_BYTES, Role,
    Socket,
};
use crate::cuts::{check_cuts, inputs};

/// Feeds `data` to a client in many ways and panics if they differ.
pub fn fuzz_client(data: &[u8]) {
    fuzz(Role::Client, data);
}

/// Feeds `data` to a server in many ways and panics if they differ.
pub fn fuzz_server(data: &[u8]) {
    fuzz(Role::Server, data);
}

fn fuzz(role: Role, data: &[u8]) {
    for limits in [Limits::default(), Limits { message_bytes: 20 }] {
        for deflate in [None, Some(TAKEOVER)] {
            check_cuts(data, |cuts| {
                let trace = trace(Options { role, limits, deflate }, data, cuts);
                if deflate.is_some() { trace.without_broken() } else { trace }
            });
        }
    }
}

/// Compression with windows that last.
pub(super) const TAKEOVER: DeflateParameters =
    DeflateParameters { window_bits: 15, peer_no_context_takeover: false };

/// Memory that a peer may take, whatever it sends.
const KEPT_BYTES_MAX: usize = 4 * PIECE_BYTES;

/// What became of a stream of bytes and its close: a line for each event, pieces of a message
/// joined, and the bytes that were sent, which echo every message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) lines: Vec<String>,
    pub(super) sent: Vec<u8>,
    /// The message under way, and how much of it has come.
    message: Option<(Kind, Vec<u8>)>,
}

/// What a side that echoes makes of `data`.
pub(super) fn trace(options: Options, data: &[u8], cuts: &[usize]) -> Trace {
    const KEY: [u8; 4] = [0xa5, 0x5a, 0x00, 0xff];
    let mut socket = Socket::new(options);
    let mut trace = Trace::default();
    let mut out = Vec::new();
    for mut input in inputs(data, cuts) {
        loop {
            let decoded = match socket.receive(input, KEY, &mut out) {
                Ok(decoded) => decoded,
                Err(error) => {
                    let again = socket.receive(b"x", KEY, &mut Vec::new());
                    assert_eq!(again, Err(error), "stays failed");
                    assert_eq!(socket.end(), Err(error), "stays failed");
                    return trace.failed(error, out);
                }
            };
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else {
                assert!(input.is_empty(), "no event, yet input is left");
                break;
            };
            if let Some((kind, payload)) = trace.event(event) {
                socket.send(&Outgoing::whole(kind, &payload), KEY, &mut out);
            }
        }
        assert!(socket.kept_bytes() <= KEPT_BYTES_MAX, "{} bytes", socket.kept_bytes());
    }
    match socket.end() {
        Ok(()) => {
            assert!(socket.is_closed(), "a Close is answered by one");
            trace.lines.push("closed".to_owned());
            trace.sent = out;
            trace
        }
        Err(error) => trace.failed(error, out),
    }
}

impl Trace {
    /// Gives a message that has ended.
    fn event(&mut self, event: Event<'_>) -> Option<(Kind, Vec<u8>)> {
        match event {
            Event::Begin(kind) => {
                assert!(self.message.is_none(), "a message within another");
                self.message = Some((kind, Vec::new()));
            }
            Event::Data(piece) => {
                assert!(!piece.is_empty(), "an empty piece");
                let (_, payload) = self.message.as_mut().expect("a piece of a message");
                payload.extend_from_slice(piece);
            }
            Event::End(message) => {
                let (kind, payload) = self.message.take().expect("the end of a message");
                assert_eq!((message.kind, message.bytes), (kind, payload.len() as u64));
                assert!(message.is_compressed || message.payload_bytes == message.bytes);
                let text = std::str::from_utf8(&payload);
                assert!(kind == Kind::Binary || text.is_ok(), "text is UTF-8");
                let shown = payload.escape_ascii();
                self.lines.push(format!("{kind:?} in {}: {shown}", message.fragments));
                return Some((kind, payload));
            }
            Event::Ping(payload) => self.lines.push(format!("ping {}", payload.escape_ascii())),
            Event::Pong(payload) => self.lines.push(format!("pong {}", payload.escape_ascii())),
            Event::Close(Close { code, reason }) => {
                self.lines.push(format!("close {code} {reason:?}"));
            }
        }
        None
    }

    /// The same without what became of a message that was never whole. The decompressor may hand
    /// out the last match late, so that a wrong byte or a limit is found or is not before the
    /// connection ends.
    fn without_broken(mut self) -> Self {
        if let Some(at) = self.lines.iter().position(|line| line.starts_with("part of ")) {
            self.lines.truncate(at);
            self.sent.clear();
        }
        self
    }

    fn failed(mut self, error: Error, sent: Vec<u8>) -> Self {
        match self.message.take() {
            // How much is made of data that turns out to be broken depends on how it came.
            Some(_) if error == Error::BadDeflate => {
                self.lines.push("part of a message".to_owned())
            }
            Some((kind, payload)) => {
                self.lines.push(format!("part of {kind:?}: {}", payload.escape_ascii()));
            }
            None => {}
        }
        self.lines.push(format!("error {}", error.kind()));
        self.sent = sent;
        self
    }
}
