//! What is kept of an exchange under way for its transcript: the response as far as it has come,
//! and what of the request cannot be made again after the run.
//!
//! That is cookies, which change, and what scripts have written. Both are copied when they are
//! sent. The memory is used again by the next exchange in the same place.

use plimsoll_conn::{Head, Portion};
use plimsoll_core::transcript::BODY_BYTES_MAX;
use plimsoll_proto::tls::Tls;

/// How much of a request is kept that a script has written: a long head, and the body.
const WRITTEN_BYTES_MAX: usize = (64 << 10) + BODY_BYTES_MAX;

/// What is kept of an exchange under way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    /// The connection, once it is sent.
    pub line: Option<SentOn>,
    /// The cookies that went with it, and which messages of a call.
    pub cookies: Vec<u8>,
    pub messages: Portion,
    /// The request if a script has written it, and how long that was.
    pub written: Vec<u8>,
    pub written_bytes: usize,
    /// Whether a head or a part of a body has come.
    pub has_begun: bool,
    pub status: u16,
    /// The lines of the head.
    pub head: Vec<u8>,
    /// The beginning of the body, and how much of it has come.
    pub body: Vec<u8>,
    pub body_bytes: u64,
    /// The lines of the fields behind it.
    pub trailers: Vec<u8>,
}

/// The connection that a request was sent on, at that time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentOn {
    /// The origin, and the route to it.
    pub place: (usize, u16),
    pub protocol: &'static str,
    /// Version and cipher suite of TLS.
    pub tls: Option<(&'static str, &'static str)>,
    /// When its connect began, the way to the server stood, and the handshake was done.
    pub began_ns: u64,
    pub reached_ns: u64,
    pub secured_ns: u64,
    /// How many requests it had carried before.
    pub carried: u64,
}

impl SentOn {
    /// Version and cipher suite of a session.
    pub(crate) fn tls(tls: &Tls) -> Option<(&'static str, &'static str)> {
        Some((tls.version()?.name(), tls.cipher()?))
    }
}

impl Kept {
    /// Another exchange begins in this place.
    pub(crate) fn begin(&mut self) {
        self.line = None;
        self.cookies.clear();
        self.messages = Portion::default();
        self.written.clear();
        self.written_bytes = 0;
        self.begin_response();
    }

    /// A response begins: nothing of it is known yet.
    pub(crate) fn begin_response(&mut self) {
        self.has_begun = false;
        self.status = 0;
        self.head.clear();
        self.body.clear();
        self.body_bytes = 0;
        self.trailers.clear();
    }

    /// Its request is sent.
    pub(crate) fn sent(&mut self, line: SentOn, cookies: &[u8], messages: Portion) {
        self.line = Some(line);
        self.cookies.extend_from_slice(cookies);
        self.messages = messages;
    }

    /// A script has written its request.
    pub(crate) fn written(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(&bytes[..bytes.len().min(WRITTEN_BYTES_MAX)]);
        self.written_bytes = bytes.len();
    }

    pub(crate) fn head(&mut self, head: &Head<'_>) {
        self.begin_response();
        self.has_begun = true;
        self.status = head.status;
        self.head.extend_from_slice(head.lines());
    }

    pub(crate) fn body(&mut self, piece: &[u8]) {
        let room = BODY_BYTES_MAX - self.body.len();
        self.has_begun = true;
        self.body.extend_from_slice(&piece[..piece.len().min(room)]);
        self.body_bytes += piece.len() as u64;
    }

    pub(crate) fn trailers<'h>(&mut self, fields: impl Iterator<Item = (&'h str, &'h [u8])>) {
        for (name, value) in fields {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                self.trailers.extend_from_slice(part);
            }
        }
    }
}
