//! What a client is watched for beyond its frames: that it begins as it should, in which order it
//! opens streams, and how many of them it gives up.

use crate::http2::client::PREFACE;
use crate::http2::closed::GivenUp;
use crate::http2::frame::STREAM_MAX;
use crate::http2::{ConnectionError, ErrorCode};

/// Which streams a GOAWAY says are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastStream {
    /// All, for now: an announcement that no more will be taken soon (RFC 9113 6.8).
    Announced,
    /// Those that the client has opened.
    Opened,
    /// Those up to this one.
    Number(u32),
}

/// The preface of a client, as far as it has not come.
#[derive(Debug)]
pub(super) struct Preface(&'static [u8]);

impl Preface {
    pub(super) fn new() -> Self {
        Self(PREFACE)
    }

    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares what has come with the preface. Whether that was all of it.
    #[cold]
    pub(super) fn read(&mut self, input: &[u8], at: &mut usize) -> Result<bool, ConnectionError> {
        let bytes = self.0.len().min(input.len() - *at);
        let (expected, rest) = self.0.split_at(bytes);
        if input[*at..*at + bytes] != *expected {
            return Err(ConnectionError::BadPreface);
        }
        *at += bytes;
        self.0 = rest;
        Ok(rest.is_empty())
    }
}

/// The numbers of the streams that a client has opened.
#[derive(Debug)]
pub(super) struct Numbers {
    highest: u32,
    /// How many there were.
    opened: u32,
    /// Streams after this one are not taken any more.
    last_taken: u32,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self { highest: 0, opened: 0, last_taken: STREAM_MAX }
    }

    /// Whether this stream has never been open.
    #[inline]
    pub(super) fn is_new(&self, id: u32) -> bool {
        id > self.highest
    }

    /// The highest stream that was taken.
    pub(super) fn last(&self) -> u32 {
        self.highest.min(self.last_taken)
    }

    /// Opens a new stream. Whether it is taken.
    #[inline]
    pub(super) fn open(&mut self, id: u32) -> bool {
        self.highest = id;
        self.opened += 1;
        id <= self.last_taken
    }

    /// Takes no streams after the last. Gives the number that a GOAWAY names.
    pub(super) fn end(&mut self, last: LastStream) -> u32 {
        let number = match last {
            LastStream::Announced => return STREAM_MAX.min(self.last_taken),
            LastStream::Opened => self.highest,
            LastStream::Number(number) => number.min(self.highest),
        };
        self.last_taken = number.min(self.last_taken);
        self.last_taken
    }

    /// Judges HEADERS by their stream.
    #[inline]
    pub(super) fn check_headers(
        &self,
        id: u32,
        is_open: bool,
        given_up: &GivenUp,
    ) -> Result<(), ConnectionError> {
        if id.is_multiple_of(2) {
            return Err(ConnectionError::BadStreamId);
        }
        if is_open || self.is_new(id) { Ok(()) } else { self.check_closed(id, given_up) }
    }

    /// Judges a frame for a stream that is not open and does not open one.
    #[cold]
    pub(super) fn check_closed(&self, id: u32, given_up: &GivenUp) -> Result<(), ConnectionError> {
        self.check_used(id)?;
        let skipped_none = self.highest.div_ceil(2) == self.opened;
        match id {
            _ if given_up.may_have(id) || id > self.last_taken => Ok(()),
            _ if skipped_none || id == self.highest => Err(ConnectionError::StreamClosed),
            _ => Err(ConnectionError::BadStreamId),
        }
    }

    /// RST_STREAM and WINDOW_UPDATE may come for a closed stream, but not for an idle one.
    pub(super) fn check_used(&self, id: u32) -> Result<(), ConnectionError> {
        let is_idle = id.is_multiple_of(2) || self.is_new(id);
        if is_idle { Err(ConnectionError::IdleStream) } else { Ok(()) }
    }

    /// What breaks off a stream that is not open: `None` if RST_STREAM can. A PRIORITY frame can be
    /// for an idle stream, and no RST_STREAM may name one (RFC 9113 6.4).
    pub(super) fn idle_error(&self, id: u32, code: ErrorCode) -> Option<ConnectionError> {
        match code {
            _ if !self.is_new(id) => None,
            ErrorCode::FRAME_SIZE_ERROR => Some(ConnectionError::BadFrameLength),
            _ => Some(ConnectionError::IdleStream),
        }
    }
}

/// Streams that the client made us give up, less those it let us finish. Each costs the work that
/// was begun for it, and frees its place for another (CVE-2023-44487, CVE-2025-8671).
#[derive(Debug, Default)]
pub(super) struct Resets(u32);

impl Resets {
    pub(super) fn add(&mut self, most: u32) -> Result<(), ConnectionError> {
        self.0 += 1;
        if self.0 > most { Err(ConnectionError::ResetFlood) } else { Ok(()) }
    }

    #[inline]
    pub(super) fn forgive(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }
}
