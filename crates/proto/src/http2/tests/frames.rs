//! Builds bytes of a peer, frame by frame, and names frames that were sent.

use super::super::frame::{FrameHead, HEAD_BYTES, flag, kind};
use super::super::hpack::HeadWriter;
use super::super::{ErrorCode, frame, hpack};

/// What a peer sends.
#[derive(Debug, Clone, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    /// A server's greeting, and its acknowledgement of the client's.
    pub(super) fn of_server() -> Self {
        Self::default().settings(&[]).frame(kind::SETTINGS, flag::ACK, 0, b"")
    }

    /// A client's.
    pub(super) fn of_client() -> Self {
        Self(super::super::client::PREFACE.to_vec()).settings(&[]).frame(
            kind::SETTINGS,
            flag::ACK,
            0,
            b"",
        )
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn frame(mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let length = payload.len() as u32;
        frame::write_frame_head(&mut self.0, FrameHead { length, kind, flags, stream });
        self.raw(payload)
    }

    pub(super) fn settings(mut self, settings: &[(u16, u32)]) -> Self {
        frame::write_settings(&mut self.0, settings);
        self
    }

    /// A whole head whose fields are literals that change no table.
    pub(super) fn headers(self, stream: u32, ends: bool, fields: &[(&str, &str)]) -> Self {
        let flags = flag::END_HEADERS | if ends { flag::END_STREAM } else { 0 };
        self.frame(kind::HEADERS, flags, stream, &block(fields))
    }

    /// A request that ends with its head.
    pub(super) fn get(self, stream: u32) -> Self {
        self.headers(stream, true, &GET)
    }

    /// A request whose body is to come.
    pub(super) fn post(self, stream: u32) -> Self {
        self.headers(stream, false, &POST)
    }

    /// The head of a response whose body is to come.
    pub(super) fn ok(self, stream: u32) -> Self {
        self.headers(stream, false, &[(":status", "200")])
    }

    pub(super) fn data(self, stream: u32, ends: bool, data: &[u8]) -> Self {
        self.frame(kind::DATA, if ends { flag::END_STREAM } else { 0 }, stream, data)
    }

    pub(super) fn rst(mut self, stream: u32, code: ErrorCode) -> Self {
        frame::write_rst_stream(&mut self.0, stream, code);
        self
    }

    pub(super) fn window(mut self, stream: u32, increment: u32) -> Self {
        frame::write_window_update(&mut self.0, stream, increment);
        self
    }

    pub(super) fn goaway(mut self, last_stream: u32, code: ErrorCode) -> Self {
        frame::write_goaway(&mut self.0, last_stream, code);
        self
    }
}

pub(super) const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")];
pub(super) const POST: [(&str, &str); 4] =
    [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "a")];

/// A block of fields as they are given, valid or not, as literals without indexing.
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127, "a short text");
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// A block by our encoder, for a new connection.
pub(super) fn encoded(write: impl FnOnce(&mut HeadWriter<'_>)) -> Vec<u8> {
    let mut block = Vec::new();
    write(&mut hpack::Encoder::new(0).begin(&mut block));
    block
}

/// The frames in what was sent, each as a line.
pub(super) fn names(mut bytes: &[u8]) -> Vec<String> {
    bytes = bytes.strip_prefix(super::super::client::PREFACE).unwrap_or(bytes);
    let mut lines = Vec::new();
    while let Some(head) = bytes.first_chunk::<HEAD_BYTES>() {
        let head = FrameHead::read(head);
        let (payload, rest) = bytes[HEAD_BYTES..].split_at(head.length as usize);
        bytes = rest;
        lines.push(name(head, payload));
    }
    assert!(bytes.is_empty(), "a frame is cut");
    lines
}

fn name(head: FrameHead, payload: &[u8]) -> String {
    let number = frame::number(payload).unwrap_or_default();
    let stream = head.stream;
    let end = if head.has(flag::END_STREAM) { " end" } else { "" };
    match head.kind {
        kind::DATA => format!("DATA {stream} {}{end}", payload.len()),
        kind::HEADERS => format!("HEADERS {stream}{end}"),
        kind::CONTINUATION => format!("CONTINUATION {stream}"),
        kind::RST_STREAM => format!("RST {stream} {}", ErrorCode(number)),
        kind::SETTINGS if head.has(flag::ACK) => "SETTINGS ack".to_owned(),
        kind::SETTINGS => "SETTINGS".to_owned(),
        kind::PING if head.has(flag::ACK) => format!("PING ack {}", payload.escape_ascii()),
        kind::GOAWAY => {
            let code = ErrorCode(frame::number(&payload[4..]).unwrap_or_default());
            format!("GOAWAY {number} {code}")
        }
        kind::WINDOW_UPDATE => format!("WINDOW {stream} {number}"),
        other => format!("type {other} {stream}"),
    }
}
