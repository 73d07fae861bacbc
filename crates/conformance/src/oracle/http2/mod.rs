//! HTTP/2 (RFC 9113) as far as an oracle needs it, by prior knowledge or behind TLS.
//!
//! ```text
//! greeting ──SETTINGS written──► open ──GOAWAY──► leaving ──no stream left──► closed
//! ```
//!
//! It is a codec of its own, so that a mistake in Plimsoll's is not repeated in its truth. Simple
//! where Plimsoll's is fast: answers use no dynamic table, and each header block is copied.
//!
//! Absent on purpose: server push; the closes, split answers and shapes of HTTP/1's modes;
//! priorities, which are read and ignored; and most of the checks of what a client may send, as a
//! tester that breaks the protocol otherwise gets no good answers.

mod answer;
mod flow;
mod frame;
mod hpack;
mod huffman;
mod session;

pub(super) use session::{Session, Timer};

/// Codes of errors (RFC 9113 section 7).
pub mod code {
    /// No error.
    pub const NO_ERROR: u32 = 0;
    /// The peer broke the protocol.
    pub const PROTOCOL: u32 = 1;
    /// It sent more than the window.
    pub const FLOW_CONTROL: u32 = 3;
    /// A frame has a wrong size.
    pub const FRAME_SIZE: u32 = 6;
    /// The request was not processed.
    pub const REFUSED_STREAM: u32 = 7;
    /// The stream is no longer needed.
    pub const CANCEL: u32 = 8;
    /// A header block cannot be read.
    pub const COMPRESSION: u32 = 9;
}

/// What the first bytes of a connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// HTTP/2's preface, of this many bytes.
    Preface(usize),
    /// Its beginning.
    Partial,
    /// Something else.
    Other,
}

/// What the first bytes of a connection are.
pub(super) fn start(input: &[u8]) -> Start {
    let preface = frame::PREFACE;
    if input.starts_with(preface) {
        return Start::Preface(preface.len());
    }
    if preface.starts_with(input) { Start::Partial } else { Start::Other }
}
