//! The chunked transfer coding (RFC 9112 7.1), byte by byte except for the data.
//!
//! ```text
//!   SizeStart --> Size --> [SizeSpace] --> [Extension] --> SizeLf
//!       ^                                                    |
//!       |                                                    |
//!       +--- DataLf <-- DataCr <-- Data <----- size > 0 -----+
//!                                                            |
//!       +-------------------------------------- size 0 ------+
//!       v
//!   TrailerStart ---> TrailerName --> TrailerValue --> TrailerLf
//!    |  ^                                                  |
//!    |  +--------------------------------------------------+
//!    +--> LastLf --> end
//! ```
//!
//! Lines end only in CRLF. If one reader takes a bare LF for the end of a chunk line and another
//! takes it for a part of an extension, requests can be smuggled. White space after the size is
//! accepted, because some servers pad it.

use super::headers::{is_token_byte, is_value_byte};
use super::{DecodeError, Limits};

/// Where in the coding the next byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    SizeStart,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    /// The same behind a field, which may go on.
    TrailerNext,
    TrailerName,
    TrailerValue,
    TrailerLf,
    LastLf,
}

/// What a stretch of chunked bytes led to.
pub(super) enum ChunkStep {
    /// All of it is framing; this many bytes at its end are of the trailer section.
    More { trailer_bytes: usize },
    /// `start..end` of it is a piece of the body.
    Data { start: usize, end: usize },
    /// The body ended; this many bytes belonged to it, the last of them to the trailer section.
    End { consumed: usize, trailer_bytes: usize },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    state: State,
    /// Bytes of the chunk's line so far; after the last chunk, of all trailers.
    line_bytes: u32,
    /// Bytes of the chunk still to come; while the size is read, that size.
    chunk_bytes: u64,
    /// How much more body the limit allows.
    budget: u64,
    /// Whether a trailer field may go on in the next line: in responses alone.
    takes_folds: bool,
}

impl Chunked {
    pub(super) fn new(body_bytes: u64, takes_folds: bool) -> Self {
        let (line_bytes, chunk_bytes, budget) = (0, 0, body_bytes);
        Self { state: State::SizeStart, line_bytes, chunk_bytes, budget, takes_folds }
    }

    /// Reads up to the next piece of the body, or its end.
    pub(super) fn step(&mut self, limits: &Limits, input: &[u8]) -> Result<ChunkStep, DecodeError> {
        let mut at = 0;
        let mut trailer_bytes = 0;
        while at < input.len() {
            if self.state == State::Data {
                return Ok(self.data(at, input.len()));
            }
            let byte = input[at];
            at += 1;
            if self.state == State::LastLf && byte == b'\n' {
                return Ok(ChunkStep::End { consumed: at, trailer_bytes: trailer_bytes + 1 });
            }
            self.state = match self.state {
                State::TrailerStart
                | State::TrailerNext
                | State::TrailerName
                | State::TrailerValue
                | State::TrailerLf => {
                    trailer_bytes += 1;
                    self.trailer(limits, byte)?
                }
                _ => self.frame(limits, byte)?,
            };
        }
        Ok(ChunkStep::More { trailer_bytes })
    }

    fn data(&mut self, start: usize, input_end: usize) -> ChunkStep {
        let available = input_end - start;
        let end = match usize::try_from(self.chunk_bytes) {
            Ok(wanted) if wanted <= available => start + wanted,
            _ => input_end,
        };
        self.chunk_bytes -= (end - start) as u64;
        if self.chunk_bytes == 0 {
            self.state = State::DataCr;
        }
        ChunkStep::Data { start, end }
    }

    /// One byte of a chunk's line, or of the line break after its data.
    fn frame(&mut self, limits: &Limits, byte: u8) -> Result<State, DecodeError> {
        match (self.state, byte) {
            (State::DataCr, b'\r') => return Ok(State::DataLf),
            (State::DataLf, b'\n') => return Ok(State::SizeStart),
            (State::SizeStart, _) => (self.line_bytes, self.chunk_bytes) = (0, 0),
            _ => {}
        }
        self.line_bytes += 1;
        if self.line_bytes as usize > limits.chunk_line_bytes {
            return Err(DecodeError::ChunkLineTooLong);
        }
        match (self.state, byte) {
            (State::SizeStart | State::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                self.digit(byte)
            }
            (State::Size | State::SizeSpace, b' ' | b'\t') => Ok(State::SizeSpace),
            (State::Size | State::SizeSpace, b';') => Ok(State::Extension),
            (State::Size | State::SizeSpace | State::Extension, b'\r') => Ok(State::SizeLf),
            (State::Extension, byte) if is_value_byte(byte) => Ok(State::Extension),
            (State::SizeLf, b'\n') => self.line_end(),
            _ => Err(DecodeError::BadChunk),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<State, DecodeError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            _ => (byte | 0x20) - b'a' + 10,
        };
        if self.chunk_bytes > u64::MAX >> 4 {
            return Err(DecodeError::BadChunk);
        }
        self.chunk_bytes = self.chunk_bytes << 4 | u64::from(digit);
        Ok(State::Size)
    }

    fn line_end(&mut self) -> Result<State, DecodeError> {
        if self.chunk_bytes == 0 {
            self.line_bytes = 0;
            return Ok(State::TrailerStart);
        }
        self.budget = self.budget.checked_sub(self.chunk_bytes).ok_or(DecodeError::BodyTooLong)?;
        Ok(State::Data)
    }

    /// One byte of the trailer section (RFC 9112 7.1.2), up to the last CR.
    fn trailer(&mut self, limits: &Limits, byte: u8) -> Result<State, DecodeError> {
        let begins_line = matches!(self.state, State::TrailerStart | State::TrailerNext);
        if begins_line && byte == b'\r' {
            return Ok(State::LastLf);
        }
        self.line_bytes = self.line_bytes.saturating_add(1);
        if self.line_bytes as usize > limits.trailer_bytes {
            return Err(DecodeError::TrailersTooLong);
        }
        match (self.state, byte) {
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerStart | State::TrailerNext | State::TrailerName, byte)
                if is_token_byte(byte) =>
            {
                Ok(State::TrailerName)
            }
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerValue, byte) if is_value_byte(byte) => Ok(State::TrailerValue),
            (State::TrailerLf, b'\n') => Ok(State::TrailerNext),
            // The field goes on (obs-fold).
            (State::TrailerNext, b' ' | b'\t') if self.takes_folds => Ok(State::TrailerValue),
            _ => Err(DecodeError::BadChunk),
        }
    }
}
