//! One request and its response, on one stream.
//!
//! ```text
//!     begin --> Head --+ interim response
//!                ^ |   |
//!                +-|---+
//!                  | final head            trailers, or the end of the body
//!                  +-----------> Body ------------------------------------> closed
//! ```
//!
//! The response ends the exchange, whether the request was sent whole or not.

use super::event::Response;
use crate::http2::flow::ReceiveWindow;
use crate::http2::head::ResponseParts;
use crate::http2::upload::{Sending, Upload};
use crate::http2::{INTERIM_MAX, StreamError};

/// Where a response stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its final head is to come.
    #[default]
    Head,
    /// Its body, its trailers or its end are to come.
    Body,
}

#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// How the caller calls it.
    pub(super) number: u32,
    pub(super) phase: Phase,
    /// The head that is to come has begun to arrive.
    pub(super) has_first_byte: bool,
    /// Whether no body may come.
    is_bodyless: bool,
    interim: u8,
    pub(super) response: Response,
    content_length: Option<u64>,
    pub(super) upload: Upload,
    pub(super) window: ReceiveWindow,
    /// Bytes of the frame that is coming, which the caller releases.
    pub(super) held_bytes: u32,
}

impl Sending for Exchange {
    fn upload(&mut self) -> &mut Upload {
        &mut self.upload
    }
}

impl Exchange {
    /// Begins anew; `is_head`: the request is HEAD, so its response has no body.
    pub(super) fn begin(&mut self, number: u32, is_head: bool, window_bytes: u32) {
        self.number = number;
        self.phase = Phase::Head;
        self.has_first_byte = false;
        self.is_bodyless = is_head;
        self.interim = 0;
        self.response = Response::default();
        self.content_length = None;
        self.window = ReceiveWindow::new(window_bytes);
        self.held_bytes = 0;
    }

    /// An interim response came.
    pub(super) fn interim(&mut self, ends: bool) -> Result<(), StreamError> {
        self.has_first_byte = false;
        self.interim += 1;
        match self.interim {
            _ if ends => Err(StreamError::Sequence),
            count if count > INTERIM_MAX => Err(StreamError::TooManyInterim),
            _ => Ok(()),
        }
    }

    /// The final head came.
    #[inline]
    pub(super) fn head(&mut self, parts: ResponseParts) {
        self.phase = Phase::Body;
        self.response.status = parts.status;
        self.content_length = parts.content_length;
        self.is_bodyless |= matches!(parts.status, 204 | 304);
    }

    /// More of the body is about to come.
    #[inline]
    pub(super) fn body(&mut self, bytes: u32) -> Result<(), StreamError> {
        self.response.body_bytes += u64::from(bytes);
        let length = if self.is_bodyless { Some(0) } else { self.content_length };
        let is_too_long = length.is_some_and(|length| self.response.body_bytes > length);
        if is_too_long { Err(StreamError::BodyLength) } else { Ok(()) }
    }

    /// The end came.
    #[inline]
    pub(super) fn end(&self) -> Result<(), StreamError> {
        let length = self.content_length.filter(|_| !self.is_bodyless);
        if length.is_some_and(|length| length != self.response.body_bytes) {
            return Err(StreamError::BodyLength);
        }
        Ok(())
    }
}
