//! The response of a call whose messages are wanted: they are put together and handed out.
//!
//! Absent on purpose: decompression, and what a message says.

use plimsoll_proto::grpc::{MessageError, MessageEvent, MessageReader, Reply};
use plimsoll_proto::http1::Headers;

use super::push_status_message;
use crate::event::{Head, fields};

/// What is kept of a body that is not gRPC's, for its user to see: bytes at most.
const STRAY_BYTES_MAX: usize = 1024;

/// Bytes of a status' text at most.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A message as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether they are compressed, as the head's `grpc-encoding` says.
    pub is_compressed: bool,
}

/// A response, as far as it has come.
#[derive(Debug, Clone)]
pub struct CallResponse {
    reply: Reply,
    http_status: u16,
    head: Vec<u8>,
    trailers: Vec<u8>,
    has_body: bool,
    has_trailers: bool,
    messages: MessageReader,
    message: Incoming,
    stray: Vec<u8>,
}

/// How a complete response says that its call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallStatus {
    /// By a code of gRPC, with the bytes of its text.
    Given(u32, Vec<u8>),
    /// It is an answer of HTTP: its status, its content type if it has one, and the start of its
    /// body. The code is what that stands for.
    Http {
        /// The code that it stands for.
        code: u32,
        /// The status of HTTP.
        status: u16,
        /// The value of `content-type`.
        content_type: Option<Vec<u8>>,
        /// The first bytes of its body.
        body: Vec<u8>,
    },
    /// It has no `grpc-status`.
    Missing,
    /// Its `grpc-status` is not a number, but this.
    Malformed(Vec<u8>),
}

impl CallResponse {
    /// The head of a response is here, whose messages may have up to `bytes_max` bytes.
    #[must_use]
    pub fn of_head(head: &Head<'_>, bytes_max: u32) -> Self {
        let reply = Reply::of_head(head.status, head.fields());
        Self {
            // A coding is found out about by the caller, who decompresses.
            messages: MessageReader::new(bytes_max, reply.has_coding()),
            reply,
            http_status: head.status,
            head: head.lines().to_vec(),
            trailers: Vec::new(),
            has_body: false,
            has_trailers: false,
            message: Incoming { bytes: Vec::new(), is_compressed: false },
            stray: Vec::new(),
        }
    }

    /// A piece of its body is here; `each` is told of every message that it completes.
    ///
    /// # Errors
    /// When the body is not a sequence of messages.
    pub fn body(
        &mut self,
        mut piece: &[u8],
        mut each: impl FnMut(Incoming),
    ) -> Result<(), MessageError> {
        if !self.has_body {
            self.has_body = true;
            self.reply.body();
        }
        if !self.reply.is_grpc() {
            let room = STRAY_BYTES_MAX.saturating_sub(self.stray.len());
            self.stray.extend_from_slice(&piece[..piece.len().min(room)]);
            return Ok(());
        }
        while let Some(event) = self.messages.next(&mut piece)? {
            match event {
                // Room for what was announced is made as it comes: a peer may announce anything.
                MessageEvent::Started { is_compressed, .. } => {
                    self.message = Incoming { bytes: Vec::new(), is_compressed };
                }
                MessageEvent::Piece(bytes) => self.message.bytes.extend_from_slice(bytes),
                MessageEvent::Ended => {
                    let next = Incoming { bytes: Vec::new(), is_compressed: false };
                    each(std::mem::replace(&mut self.message, next));
                }
            }
        }
        Ok(())
    }

    /// Whether compressed messages are so with gzip.
    #[must_use]
    pub fn is_gzip(&self) -> bool {
        let mut fields = fields(&self.head);
        fields.any(|(name, value)| {
            name.eq_ignore_ascii_case("grpc-encoding") && value.eq_ignore_ascii_case(b"gzip")
        })
    }

    /// The fields behind its body are here.
    pub fn trailers(&mut self, fields: Headers<'_>) {
        self.reply.trailers(fields.clone());
        self.has_trailers = true;
        self.trailers.clear();
        // The first line of a head is not looked at.
        self.trailers.extend_from_slice(b"\r\n");
        for (name, value) in fields {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                self.trailers.extend_from_slice(part);
            }
        }
    }

    /// The lines of the head, the first of which is no field. Empty if the response has nothing
    /// else, because the fields are trailers then; and if it is not gRPC's.
    #[must_use]
    pub fn head_lines(&self) -> &[u8] {
        if self.is_trailers_only() || !self.reply.is_grpc() { &[] } else { &self.head }
    }

    /// The lines of the trailers, the first of which is no field; empty without any.
    #[must_use]
    pub fn trailer_lines(&self) -> &[u8] {
        match self.is_trailers_only() {
            _ if !self.reply.is_grpc() => &[],
            true => &self.head,
            false => &self.trailers,
        }
    }

    fn is_trailers_only(&self) -> bool {
        !self.has_body && !self.has_trailers
    }

    /// Whether the body has ended between two messages.
    ///
    /// # Errors
    /// When it ended within one, or was broken before.
    pub fn ended(&self) -> Result<(), MessageError> {
        if self.reply.is_grpc() { self.messages.ended() } else { Ok(()) }
    }

    /// How the call ended, once the response is complete.
    #[must_use]
    pub fn status(&self) -> CallStatus {
        let of_head = || fields(&self.head);
        let find = |lines: &[u8], wanted: &str| {
            let mut found = fields(lines).filter(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.next().map(|(_, value)| value.to_vec())
        };
        let code = self.reply.code();
        if !self.reply.is_grpc() {
            let mut types = of_head().filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            let content_type = types.next().map(|(_, value)| value.to_vec());
            let (status, body) = (self.http_status, self.stray.clone());
            return CallStatus::Http { code: code.0, status, content_type, body };
        }
        let lines = self.trailer_lines();
        if self.reply.has_status() {
            let mut text = Vec::new();
            push_status_message(fields(lines), TEXT_BYTES_MAX, &mut text);
            return CallStatus::Given(code.0, text);
        }
        find(lines, "grpc-status").map_or(CallStatus::Missing, CallStatus::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grpc::framed;

    const GRPC: &str = "\ncontent-type: application/grpc\n";

    fn response(status: u16, head: &str) -> CallResponse {
        CallResponse::of_head(&Head::new(status, head.as_bytes()), 10)
    }

    #[test]
    fn messages_are_the_same_however_the_body_was_cut() {
        let mut body = [framed(b"one"), framed(b""), framed(b"three")].concat();
        body.extend_from_slice(b"\x01\0\0\0\x01z");
        for at in 0..=body.len() {
            let head = "\ncontent-type: application/grpc\ngrpc-encoding: gzip\n";
            let (mut response, mut found) = (response(200, head), Vec::new());
            for piece in [&body[..at], &body[at..]] {
                let each = |message: Incoming| found.push((message.bytes, message.is_compressed));
                assert_eq!(response.body(piece, each), Ok(()), "{at}");
            }
            let want = [(&b"one"[..], false), (b"", false), (b"three", false), (b"z", true)];
            assert_eq!(found, want.map(|(bytes, is)| (bytes.to_vec(), is)), "{at}");
            assert_eq!(response.ended(), Ok(()), "{at}");
        }
    }

    #[test]
    fn bodies_that_are_no_messages_are_errors() {
        for (body, kind) in [
            (&b"\0\0\0\0\x0b"[..], "grpc_message_too_long"),
            (b"\x07", "grpc_flag"),
            (b"\x01\0\0\0\0", "grpc_uncoded"),
            (b"\0\0\0\0\x05ab", "grpc_message_cut"),
        ] {
            let mut response = response(200, GRPC);
            let read = response.body(body, |_| {}).and_then(|()| response.ended());
            assert_eq!(read.map_err(MessageError::kind), Err(kind));
        }
    }

    #[test]
    fn a_response_says_how_its_call_ended() {
        let given = |code, text: &str| CallStatus::Given(code, text.as_bytes().to_vec());
        let only = format!("{GRPC}grpc-status: 5\ngrpc-message: no%20such\nx: y\n");
        for (head, body, trailers, want) in [
            (GRPC, &b"\0\0\0\0\0"[..], Some("\ngrpc-status: 0\n"), given(0, "")),
            (GRPC, b"", Some("\ngrpc-status: 14\ngrpc-message: a\n"), given(14, "a")),
            (&only, b"", None, given(5, "no such")),
            (GRPC, b"\0\0\0\0\0", None, CallStatus::Missing),
            (GRPC, b"", Some("\ngrpc-status: abc\n"), CallStatus::Malformed(b"abc".to_vec())),
        ] {
            let mut response = response(200, head);
            if !body.is_empty() {
                response.body(body, |_| {}).expect("messages");
            }
            if let Some(trailers) = trailers {
                response.trailers(fields(trailers.as_bytes()));
            }
            assert_eq!(response.status(), want, "{head:?} {trailers:?}");
            assert_eq!(response.head_lines().is_empty(), body.is_empty() && trailers.is_none());
        }
        let mut page = response(404, "\ncontent-type: text/html\n");
        page.body(&[b'x'; 2000], |_| {}).expect("no messages");
        let want = CallStatus::Http {
            code: 12,
            status: 404,
            content_type: Some(b"text/html".to_vec()),
            body: vec![b'x'; STRAY_BYTES_MAX],
        };
        assert_eq!(page.status(), want);
    }
}
