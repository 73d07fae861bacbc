//! One call: reads messages out of a body, and gives what is to be said, piece by piece.
//!
//! ```text
//!   Reading ── a message, or the end of the request ──▶ Answering ── all said ──▶ Ending ── status
//!      ▲  └── broken, too long, not implemented ────────────────────────────────────▲
//!      └── the next message, of a call that answers each ──┘
//! ```
//!
//! While it is answering, what comes is kept unread, and the client is given no room for more. So
//! a client that does not take its answers costs what its windows are, and a message.

use plimsoll_proto::grpc::{Code, MessageError, MessageEvent, MessageReader};

use super::coding::{Coding, UnzipError, unzip};
use super::service::{self, Answer, Said};
use super::{CallHead, HELD_BYTES_MAX, MESSAGE_BYTES_MAX, Method, Takes};

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a status' text that are sent.
const TEXT_BYTES_MAX: usize = 4096;

/// The text for a message above [`MESSAGE_BYTES_MAX`].
const MESSAGE_TOO_LONG: &str = "a message is longer than 4 MiB";

/// The text for a client that has reached [`HELD_BYTES_MAX`].
const HELD_TOO_MUCH: &str = "too many long messages at once";

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing before more of the request comes.
    Read,
    /// Nothing before this time.
    Wait(u64),
    /// A message is to be sent. It was appended, but for zeros that belong to it.
    Message {
        /// How many zeros.
        zero_bytes: u64,
    },
    /// The status ends the call.
    Status(Code),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Answering(Answer),
    Ending(Code),
}

/// A call. Its buffers serve later ones.
#[derive(Debug)]
pub(crate) struct Call {
    method: Method,
    stage: Stage,
    reader: MessageReader,
    /// The message that is being read or answered.
    message: Vec<u8>,
    /// Whether it is compressed, while it is being read.
    is_compressed: bool,
    /// What came and has not been read, from `unread_at` on.
    unread: Vec<u8>,
    unread_at: usize,
    has_message: bool,
    has_ended: bool,
    /// Bytes of all payloads, for a method that adds them up.
    payload_bytes: u64,
    text: Vec<u8>,
    /// Whether the client has to be told which codings there are.
    names_codings: bool,
    /// What the wall clock shows at the driver's 0, ns since the start of 1970, if that is known.
    pub(crate) base_unix_ns: Option<u64>,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            method: Method::Unknown,
            stage: Stage::Reading,
            reader: MessageReader::new(MESSAGE_BYTES_MAX, false),
            message: Vec::new(),
            is_compressed: false,
            unread: Vec::new(),
            unread_at: 0,
            has_message: false,
            has_ended: false,
            payload_bytes: 0,
            text: Vec::new(),
            names_codings: false,
            base_unix_ns: None,
        }
    }
}

impl Call {
    /// Empties its buffers.
    pub(crate) fn clear(&mut self) {
        for buffer in [&mut self.message, &mut self.unread, &mut self.text] {
            buffer.clear();
            buffer.shrink_to(KEEP_BYTES_MAX);
        }
        self.unread_at = 0;
    }

    /// Begins another call in the same memory.
    #[inline]
    pub(crate) fn begin(&mut self, method: Method, head: &CallHead<'_>) {
        self.method = method;
        self.stage = Stage::Reading;
        self.reader = MessageReader::new(MESSAGE_BYTES_MAX, head.coding == Coding::Gzip);
        (self.has_message, self.has_ended, self.names_codings) = (false, false, false);
        self.payload_bytes = 0;
        if head.coding == Coding::Other {
            self.names_codings = true;
            self.fail(Code::UNIMPLEMENTED, "messages are taken plain or with gzip");
        } else if let Some(Err(())) = head.timeout_ns {
            self.fail(Code::INTERNAL, "grpc-timeout is not a time");
        } else if method == Method::Unknown {
            self.fail(Code::UNIMPLEMENTED, "there is no such method; reflection lists them");
        }
    }

    /// Whether it begins to answer before its request has ended.
    pub(crate) fn answers_early(&self) -> bool {
        self.is_ending() || self.method.takes() == Takes::Each
    }

    /// Whether only its status is left to be sent.
    pub(crate) fn is_ending(&self) -> bool {
        matches!(self.stage, Stage::Ending(_))
    }

    /// Whether all that came has been read, so that the client may send more.
    pub(crate) fn has_room(&self) -> bool {
        self.unread.is_empty()
    }

    /// Whether it goes on until the client ends it.
    pub(crate) fn is_watch(&self) -> bool {
        self.method == Method::HealthWatch && !self.is_ending()
    }

    /// Whether the fields of the answer say which codings there are.
    pub(crate) fn names_codings(&self) -> bool {
        self.names_codings
    }

    /// Whether metadata of the request is sent back.
    pub(crate) fn echoes_metadata(&self) -> bool {
        self.method.echoes_metadata()
    }

    /// The text of its status, in UTF-8; often empty.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// Bytes of messages that it holds.
    pub(crate) fn held_bytes(&self) -> usize {
        self.message.len() + self.unread.len()
    }

    /// More of the request came. `others_bytes`: what other calls of the connection hold.
    pub(crate) fn receive(&mut self, piece: &[u8], others_bytes: usize) {
        if self.is_ending() {
            return;
        }
        if others_bytes + self.held_bytes() + piece.len() > HELD_BYTES_MAX {
            self.fail(Code::RESOURCE_EXHAUSTED, HELD_TOO_MUCH);
            return;
        }
        let mut input = piece;
        if self.stage == Stage::Reading && self.unread.is_empty() {
            self.read(&mut input, others_bytes);
        }
        if !self.is_ending() {
            self.unread.extend_from_slice(input);
        }
    }

    /// The request has ended.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
        if self.stage == Stage::Reading && self.unread.is_empty() {
            self.take_end();
        }
    }

    /// Ends it with a status of the server's.
    pub(crate) fn fail(&mut self, code: Code, text: &'static str) {
        self.stage = Stage::Ending(code);
        self.text.clear();
        self.text.extend_from_slice(text.as_bytes());
    }

    /// What is to be done now. A message's beginning is appended to `out`. `others_bytes`: what
    /// other calls of the connection hold.
    pub(crate) fn next(&mut self, now_ns: u64, others_bytes: usize, out: &mut Vec<u8>) -> Next {
        loop {
            let answer = match &mut self.stage {
                Stage::Reading => return Next::Read,
                Stage::Ending(code) => return Next::Status(*code),
                Stage::Answering(answer) => answer,
            };
            match answer.say(&self.message, now_ns, self.base_unix_ns, out) {
                Said::Message { zero_bytes } => return Next::Message { zero_bytes },
                Said::NotYet(due_ns) => return Next::Wait(due_ns),
                Said::Status(status) => {
                    self.text.clear();
                    self.text.extend_from_slice(cut(status.text));
                    self.stage = Stage::Ending(status.code);
                }
                Said::All => self.end_message(others_bytes),
            }
        }
    }

    /// Reads up to a message that is to be answered, or all there is.
    fn read(&mut self, input: &mut &[u8], others_bytes: usize) {
        while self.stage == Stage::Reading {
            match self.reader.next(input) {
                Ok(None) => return,
                Ok(Some(MessageEvent::Started { .. })) if self.has_message => {
                    self.fail(Code::INTERNAL, "the method takes one message, and here are more");
                }
                Ok(Some(MessageEvent::Started { is_compressed, .. })) => {
                    self.is_compressed = is_compressed;
                }
                Ok(Some(MessageEvent::Piece(piece))) => self.message.extend_from_slice(piece),
                Ok(Some(MessageEvent::Ended)) if self.is_compressed => {
                    self.take_unzipped(others_bytes)
                }
                Ok(Some(MessageEvent::Ended)) => self.take_message(),
                Err(error) => self.fail(error.code(), reason(error)),
            }
        }
    }

    /// Takes what a compressed message holds in its place. What it holds counts among the bytes
    /// that a connection may hold, so that small messages cannot become too much.
    fn take_unzipped(&mut self, others_bytes: usize) {
        let message_bytes_max = MESSAGE_BYTES_MAX as usize;
        let room_bytes = HELD_BYTES_MAX.saturating_sub(others_bytes + self.held_bytes());
        match unzip(&self.message, message_bytes_max.min(room_bytes)) {
            Ok(plain) => {
                self.message = plain;
                self.take_message();
            }
            Err(UnzipError::Malformed) => {
                self.fail(Code::INTERNAL, "a message is not whole gzip");
            }
            Err(UnzipError::TooLong) if room_bytes < message_bytes_max => {
                self.fail(Code::RESOURCE_EXHAUSTED, HELD_TOO_MUCH);
            }
            Err(UnzipError::TooLong) => self.fail(Code::RESOURCE_EXHAUSTED, MESSAGE_TOO_LONG),
        }
    }

    fn take_message(&mut self) {
        match self.method.takes() {
            Takes::One => self.has_message = true,
            Takes::All => {
                match service::payload_bytes(&self.message) {
                    Ok(bytes) => self.payload_bytes = self.payload_bytes.saturating_add(bytes),
                    Err(status) => self.fail(status.code, status.text),
                }
                self.message.clear();
            }
            Takes::Each => self.answer(),
        }
    }

    fn take_end(&mut self) {
        match (self.reader.ended(), self.method.takes()) {
            (Err(error), _) => self.fail(error.code(), reason(error)),
            (Ok(()), Takes::Each) => self.stage = Stage::Ending(Code::OK),
            (Ok(()), Takes::One) if !self.has_message => {
                self.fail(Code::INTERNAL, "the method takes one message, and there is none");
            }
            (Ok(()), Takes::One | Takes::All) => self.answer(),
        }
    }

    /// Begins to answer the message that was read, or all of them.
    fn answer(&mut self) {
        match Answer::to(self.method, &self.message, self.payload_bytes) {
            Ok(answer) => self.stage = Stage::Answering(answer),
            Err(status) => self.fail(status.code, status.text),
        }
    }

    /// All has been said about a message.
    fn end_message(&mut self, others_bytes: usize) {
        if self.method.takes() != Takes::Each {
            self.stage = Stage::Ending(Code::OK);
            return;
        }
        self.message.clear();
        self.stage = Stage::Reading;
        let mut unread = std::mem::take(&mut self.unread);
        let mut input = &unread[self.unread_at..];
        self.read(&mut input, others_bytes + unread.len());
        self.unread_at = unread.len() - input.len();
        if input.is_empty() || self.is_ending() {
            unread.clear();
            self.unread_at = 0;
        }
        self.unread = unread;
        if self.has_ended && self.stage == Stage::Reading {
            self.take_end();
        }
    }
}

/// The beginning of a text that is not too long for a field.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

fn reason(error: MessageError) -> &'static str {
    match error {
        MessageError::Flag(_) => "the body is not a sequence of messages",
        MessageError::Uncoded => "a message is compressed, and no field says how",
        MessageError::TooLong { .. } => MESSAGE_TOO_LONG,
        MessageError::Cut => "the request ended within a message",
    }
}
