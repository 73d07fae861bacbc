//! Messages in a body, each behind a prefix: a byte that says whether it is compressed, and its
//! length in four.
//!
//! ```text
//! prefix ── 5 bytes ──> Started ──> Piece … ──> Ended ──> prefix
//! ```
//!
//! How the body was cut makes no difference but to the pieces. Nothing of a message is kept.

use super::Code;

/// Bytes that stand before each message.
pub const PREFIX_BYTES: usize = 5;

/// What stands before a message of this length that is not compressed.
#[must_use]
pub fn message_prefix(bytes: u32) -> [u8; PREFIX_BYTES] {
    let [l0, l1, l2, l3] = bytes.to_be_bytes();
    [0, l0, l1, l2, l3]
}

/// What a body holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageEvent<'a> {
    /// A message begins.
    Started {
        /// Its length as it is sent.
        bytes: u32,
        /// Whether it is compressed, as the `grpc-encoding` field says.
        is_compressed: bool,
    },
    /// Bytes of the message; never empty.
    Piece(&'a [u8]),
    /// The message is whole.
    Ended,
}

/// Why a body is not a sequence of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The first byte of a prefix is neither 0 nor 1.
    #[error("a gRPC message begins with {0:#04x} instead of 0 or 1")]
    Flag(u8),
    /// A message is compressed, and the fields have not named a coding.
    #[error("a gRPC message is compressed, and no field says how")]
    Uncoded,
    /// A message is longer than is allowed here.
    #[error("a gRPC message of {bytes} B is longer than {limit} B")]
    TooLong {
        /// Its length.
        bytes: u32,
        /// The most that is allowed.
        limit: u32,
    },
    /// The body ended within a message or its prefix.
    #[error("the body ended within a gRPC message")]
    Cut,
}

impl MessageError {
    /// A stable name for results.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Flag(_) => "grpc_flag",
            Self::Uncoded => "grpc_uncoded",
            Self::TooLong { .. } => "grpc_message_too_long",
            Self::Cut => "grpc_message_cut",
        }
    }

    /// The status of a call that ends by it.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::TooLong { .. } => Code::RESOURCE_EXHAUSTED,
            _ => Code::INTERNAL,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In a prefix; with the number of its bytes that are here.
    Prefix(u8),
    /// In a message; with the number of its bytes that are missing.
    Message(u32),
    /// The body is broken.
    Failed(MessageError),
}

/// Finds the messages of one body.
#[derive(Debug, Clone)]
pub struct MessageReader {
    state: State,
    prefix: [u8; PREFIX_BYTES],
    bytes_max: u32,
    has_coding: bool,
}

impl MessageReader {
    /// For a body with messages of up to `bytes_max` bytes. `has_coding`: its fields name a coding
    /// other than `identity` (`grpc-encoding`), so messages may be compressed.
    #[must_use]
    pub fn new(bytes_max: u32, has_coding: bool) -> Self {
        Self { state: State::Prefix(0), prefix: [0; PREFIX_BYTES], bytes_max, has_coding }
    }

    /// The next event. What it has read is taken from `input`. `None`: all was read.
    ///
    /// # Errors
    /// When the body is not a sequence of messages: from then on always the same error.
    #[inline]
    pub fn next<'a>(
        &mut self,
        input: &mut &'a [u8],
    ) -> Result<Option<MessageEvent<'a>>, MessageError> {
        match self.state {
            State::Prefix(have) => self.read_prefix(usize::from(have), input),
            State::Message(0) => {
                self.state = State::Prefix(0);
                Ok(Some(MessageEvent::Ended))
            }
            State::Message(_) if input.is_empty() => Ok(None),
            State::Message(left) => {
                let length = input.len().min(left as usize);
                let (piece, rest) = input.split_at(length);
                *input = rest;
                self.state = State::Message(left - length as u32);
                Ok(Some(MessageEvent::Piece(piece)))
            }
            State::Failed(error) => Err(error),
        }
    }

    fn read_prefix<'a>(
        &mut self,
        have: usize,
        input: &mut &'a [u8],
    ) -> Result<Option<MessageEvent<'a>>, MessageError> {
        let length = input.len().min(PREFIX_BYTES - have);
        let (piece, rest) = input.split_at(length);
        self.prefix[have..have + length].copy_from_slice(piece);
        *input = rest;
        let have = have + length;
        if have > 0 {
            self.check_flag()?;
        }
        if have < PREFIX_BYTES {
            self.state = State::Prefix(have as u8);
            return Ok(None);
        }
        let [flag, length @ ..] = self.prefix;
        let (bytes, limit) = (u32::from_be_bytes(length), self.bytes_max);
        if bytes > limit {
            return self.fail(MessageError::TooLong { bytes, limit });
        }
        self.state = State::Message(bytes);
        Ok(Some(MessageEvent::Started { bytes, is_compressed: flag == 1 }))
    }

    fn check_flag(&mut self) -> Result<(), MessageError> {
        match self.prefix[0] {
            0 => Ok(()),
            1 if self.has_coding => Ok(()),
            1 => self.fail(MessageError::Uncoded),
            flag => self.fail(MessageError::Flag(flag)),
        }
    }

    fn fail<T>(&mut self, error: MessageError) -> Result<T, MessageError> {
        self.state = State::Failed(error);
        Err(error)
    }

    /// The body has ended.
    ///
    /// # Errors
    /// When it ended within a message, or was broken before.
    pub fn ended(&self) -> Result<(), MessageError> {
        match self.state {
            State::Prefix(0) => Ok(()),
            State::Failed(error) => Err(error),
            _ => Err(MessageError::Cut),
        }
    }
}
