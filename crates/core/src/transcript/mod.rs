//! Transcripts: what one exchange sent and what came back, for a user who wants to see why a
//! request fails.
//!
//! A transcript holds no secret: [`request`] and [`response`] make its parts of the bytes on the
//! wire, and mask what [`Masks`](crate::secret::Masks) hides. So views show it as it is.
//!
//! Absent on purpose: what a terminal could take for something other than text. It stays in, and
//! views escape it.

mod json;
mod masked;
#[cfg(test)]
mod tests;

use crate::outcome::Outcome;

pub use masked::{Received, request, response, secrets, trailers};

/// How much of a body is kept, bytes.
pub const BODY_BYTES_MAX: usize = 4096;

/// What one exchange sent and what came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The number of its request in the run, from 0; a redirect's request has that of the one it
    /// follows.
    pub number: u64,
    /// How many redirects led to it.
    pub hops: u32,
    /// What was sent or, without a connection, would have been.
    pub request: Message,
    /// The connection that carried it; `None` where none could be opened.
    pub line: Option<Line>,
    /// What came back, as far as it came; `None` without a head or a part of a body.
    pub response: Option<Message>,
    /// The fields behind the body of the response.
    pub trailers: Vec<String>,
    /// Where the time went.
    pub times: Times,
    /// When it ended, ns on the clock of the run's drivers.
    pub ended_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it failed, in words; `None` if it did not.
    pub failure: Option<String>,
}

/// A request or a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The lines of its head; none where the protocol has no heads.
    pub head: Vec<String>,
    /// Its body.
    pub body: Body,
}

/// A body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Body {
    /// How long it is: of a request with its framing, of a response without.
    pub bytes: u64,
    /// What is kept of it.
    pub kept: Kept,
}

/// What is kept of a body: its first [`BODY_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Text, secrets masked.
    Text(String),
    /// Bytes that are not text.
    Binary(Vec<u8>),
    /// Nothing but a mask, because it may hold secrets that have no names.
    Mask(String),
}

impl Default for Kept {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

/// The connection that carried an exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Where it leads.
    pub address: String,
    /// What is spoken on it, as ALPN names it.
    pub protocol: String,
    /// Version and cipher suite of TLS, where it is spoken.
    pub tls: Option<String>,
    /// How many requests it had carried before.
    pub carried: u64,
}

/// Where the time of an exchange went, ns; `None`: it did not come that far, or had nothing of the
/// kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// Opening its connection, where it was the first on it.
    pub connect_ns: Option<u64>,
    /// The TLS handshake of that.
    pub tls_ns: Option<u64>,
    /// Writing the request.
    pub sending_ns: Option<u64>,
    /// From there to the first byte of the response.
    pub waiting_ns: Option<u64>,
    /// From there to its end.
    pub receiving_ns: Option<u64>,
    /// From the intended time to the end.
    pub response_ns: u64,
    /// From the start of sending to the end.
    pub service_ns: u64,
}

/// The transcripts of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcripts {
    /// The first request and, where it was redirected, the requests that followed from it.
    pub first: Vec<Transcript>,
    /// The first that failed.
    pub failed: Option<Transcript>,
}

impl Transcript {
    /// Whether two are of the same exchange of a run.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (self.number, self.hops, self.ended_ns) == (other.number, other.hops, other.ended_ns)
    }
}

impl Transcripts {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.failed.is_none()
    }

    /// Adds another worker's: the first request is the one with the lowest number, and the first
    /// failure is the one that ended first.
    pub fn merge(&mut self, other: &Self) {
        let number = |it: &Self| it.first.first().map_or(u64::MAX, |first| first.number);
        if number(other) < number(self) {
            self.first.clone_from(&other.first);
        }
        let ended_ns = |it: &Self| it.failed.as_ref().map_or(u64::MAX, |failed| failed.ended_ns);
        if ended_ns(other) < ended_ns(self) {
            self.failed.clone_from(&other.failed);
        }
    }
}
