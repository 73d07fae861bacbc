//! A decoder's position in a message, for both roles: the states that [`super`] draws.

use super::chunked::{ChunkStep, Chunked};
use super::framing::Framing;
use super::{BodyLength, DecodeError, Limits};

/// The next part expected.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// A head, or nothing.
    Head,
    /// A body of this many more bytes, at least one.
    Length(u64),
    /// A body in chunks.
    Chunked(Chunked),
    /// A body up to the close, of at most this many more bytes.
    UntilClose(u64),
    /// Only `End`, which consumes the last byte of the message.
    Last,
    /// Nothing: the connection must not be used again.
    Done,
    /// Nothing: the peer's bytes were refused.
    Failed(DecodeError),
}

/// The progress of one message after another.
#[derive(Debug, Clone)]
pub(super) struct Message {
    phase: Phase,
    keep_alive: bool,
    /// Whether a trailer field may go on in the next line.
    takes_folds: bool,
}

/// The outcome of a stretch of input after a head.
pub(super) enum Step<'a> {
    /// All of it was used up, and the message goes on. This many bytes at its end are of the
    /// trailer section.
    More { trailer_bytes: usize },
    /// A piece of the body.
    Body { consumed: usize, piece: &'a [u8] },
    /// The end of the message. The last bytes consumed are of the trailer section.
    End { consumed: usize, trailer_bytes: usize, keep_alive: bool },
}

impl Message {
    /// Of requests.
    pub(super) fn new() -> Self {
        Self { phase: Phase::Head, keep_alive: true, takes_folds: false }
    }

    /// Of responses, whose folds a client joins.
    pub(super) fn of_response() -> Self {
        Self { takes_folds: true, ..Self::new() }
    }

    #[inline]
    pub(super) fn wants_head(&self) -> bool {
        matches!(self.phase, Phase::Head)
    }

    /// Stays failed from here on, and returns the error.
    #[cold]
    pub(super) fn fail(&mut self, error: DecodeError) -> DecodeError {
        self.phase = Phase::Failed(error);
        error
    }

    /// Continues after a head. Returns how many of its `head_bytes` to consume: if no body follows,
    /// the last one is left for the end.
    #[inline]
    pub(super) fn begin(
        &mut self,
        limits: &Limits,
        framing: Framing,
        head_bytes: usize,
    ) -> Result<usize, DecodeError> {
        self.keep_alive = framing.keep_alive;
        self.phase = match framing.body {
            BodyLength::None | BodyLength::Known(0) => {
                self.phase = Phase::Last;
                return Ok(head_bytes - 1);
            }
            BodyLength::Known(length) if length > limits.body_bytes => {
                return Err(self.fail(DecodeError::BodyTooLong));
            }
            BodyLength::Known(length) => Phase::Length(length),
            BodyLength::Chunked => {
                Phase::Chunked(Chunked::new(limits.body_bytes, self.takes_folds))
            }
            BodyLength::UntilClose => Phase::UntilClose(limits.body_bytes),
        };
        Ok(head_bytes)
    }

    /// Continues within a message.
    #[inline]
    pub(super) fn step<'a>(
        &mut self,
        limits: &Limits,
        input: &'a [u8],
    ) -> Result<Step<'a>, DecodeError> {
        if input.is_empty() {
            return match self.phase {
                Phase::Failed(error) => Err(error),
                _ => Ok(Step::More { trailer_bytes: 0 }),
            };
        }
        match &mut self.phase {
            Phase::Length(left) if *left <= input.len() as u64 => {
                let length = *left as usize;
                self.phase = Phase::Last;
                Ok(Step::Body { consumed: length - 1, piece: &input[..length] })
            }
            Phase::Length(left) => {
                *left -= input.len() as u64;
                Ok(Step::Body { consumed: input.len(), piece: input })
            }
            Phase::Last => Ok(self.finish(1, 0)),
            Phase::Chunked(chunked) => match chunked.step(limits, input) {
                Ok(ChunkStep::More { trailer_bytes }) => Ok(Step::More { trailer_bytes }),
                Ok(ChunkStep::Data { start, end }) => {
                    Ok(Step::Body { consumed: end, piece: &input[start..end] })
                }
                Ok(ChunkStep::End { consumed, trailer_bytes }) => {
                    Ok(self.finish(consumed, trailer_bytes))
                }
                Err(error) => Err(self.fail(error)),
            },
            Phase::UntilClose(0) => Err(self.fail(DecodeError::BodyTooLong)),
            Phase::UntilClose(budget) => {
                let allowed = usize::try_from(*budget).unwrap_or(usize::MAX);
                let piece = &input[..allowed.min(input.len())];
                *budget -= piece.len() as u64;
                Ok(Step::Body { consumed: piece.len(), piece })
            }
            Phase::Failed(error) => Err(*error),
            Phase::Done | Phase::Head => Ok(Step::More { trailer_bytes: 0 }),
        }
    }

    #[inline]
    fn finish<'a>(&mut self, consumed: usize, trailer_bytes: usize) -> Step<'a> {
        self.phase = if self.keep_alive { Phase::Head } else { Phase::Done };
        Step::End { consumed, trailer_bytes, keep_alive: self.keep_alive }
    }

    /// The peer sends no more. Returns whether that ended a message; between messages it did not.
    /// Must not be called within a head.
    pub(super) fn end(&mut self) -> Result<bool, DecodeError> {
        match self.phase {
            Phase::Head | Phase::Done => Ok(false),
            Phase::Last | Phase::UntilClose(_) => {
                self.phase = Phase::Done;
                Ok(true)
            }
            Phase::Length(_) | Phase::Chunked(_) => Err(self.fail(DecodeError::TruncatedBody)),
            Phase::Failed(error) => Err(error),
        }
    }
}
