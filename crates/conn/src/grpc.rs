//! A call of gRPC, as its response comes in.
//!
//! Nothing of a message is kept: its form is checked, and whole ones are counted. Scripts, which
//! want the messages, have a [`CallResponse`].

mod incoming;

use plimsoll_grpc::{Kind, Outcome};
use plimsoll_proto::grpc::{
    Code, MessageError, MessageEvent, MessageReader, PREFIX_BYTES, Reply, message_prefix,
    status_message,
};
use plimsoll_proto::http1::Headers;
use plimsoll_proto::http2::ErrorCode;

use crate::event::Head;

pub use incoming::{CallResponse, CallStatus, Incoming};
pub use plimsoll_proto::grpc::MessageError as CallMessageError;

/// What stands before the kind of an error when the server gave a stream up with a code.
const RESET: &str = "reset:";

/// What has come of a call.
#[derive(Debug, Clone)]
pub struct Call {
    reply: Reply,
    http_status: u16,
    has_body: bool,
    messages: MessageReader,
    /// The length of the message that is coming in.
    length: u32,
    whole: u64,
    broken: Option<MessageError>,
}

/// Messages that a piece of a body has made whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrived {
    /// How many.
    pub messages: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Why a call is no good, whatever its status says. Each is one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallFault {
    /// The response is not one of gRPC.
    #[error("the response is not gRPC: HTTP status {0}, and another content type")]
    NotGrpc(u16),
    /// It says nowhere how the call ended.
    #[error("the response has no grpc-status (HTTP status {0})")]
    NoStatus(u16),
    /// Its body is not a sequence of messages.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// It is in a coding that was not asked for: no call says that it takes any.
    #[error("the response has a grpc-encoding, which was not asked for")]
    Encoding,
    /// The one message is missing.
    #[error("the call succeeded, and the response has no message")]
    NoMessage,
    /// There is more than the one message.
    #[error("the call succeeded, and the response has {0} messages instead of one")]
    ExtraMessages(u64),
}

impl CallFault {
    /// One of each kind, for tables of names.
    pub const ALL: [Self; 8] = [
        Self::NotGrpc(0),
        Self::NoStatus(0),
        Self::Message(MessageError::Flag(0)),
        Self::Message(MessageError::Uncoded),
        Self::Message(MessageError::Cut),
        Self::Encoding,
        Self::NoMessage,
        Self::ExtraMessages(0),
    ];

    /// A stable name for results.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::NotGrpc(_) => "grpc_not_grpc",
            Self::NoStatus(_) => "grpc_no_status",
            Self::Message(error) => error.kind(),
            Self::Encoding => "grpc_encoding",
            Self::NoMessage => "grpc_no_message",
            Self::ExtraMessages(_) => "grpc_extra_messages",
        }
    }
}

impl Call {
    /// The head of the response is here.
    #[inline]
    #[must_use]
    pub fn of_head(head: &Head<'_>) -> Self {
        let reply = Reply::of_head(head.status, head.fields());
        Self {
            // Messages are not kept, so there is no need for a limit.
            messages: MessageReader::new(u32::MAX, reply.has_coding()),
            reply,
            http_status: head.status,
            has_body: false,
            length: 0,
            whole: 0,
            broken: None,
        }
    }

    /// A piece of its body is here.
    #[inline]
    pub fn body(&mut self, mut piece: &[u8]) -> Arrived {
        let mut arrived = Arrived::default();
        if !self.has_body {
            self.has_body = true;
            self.reply.body();
        }
        if !self.reply.is_grpc() {
            return arrived;
        }
        loop {
            match self.messages.next(&mut piece) {
                Ok(Some(MessageEvent::Started { bytes, .. })) => self.length = bytes,
                Ok(Some(MessageEvent::Piece(_))) => {}
                Ok(Some(MessageEvent::Ended)) => {
                    self.whole += 1;
                    arrived.messages += 1;
                    arrived.bytes += u64::from(self.length);
                }
                Ok(None) => return arrived,
                Err(error) => {
                    self.broken = Some(error);
                    return arrived;
                }
            }
        }
    }

    /// How many whole messages have come.
    #[inline]
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.whole
    }

    /// The fields behind its body are here.
    #[inline]
    pub fn trailers(&mut self, fields: Headers<'_>) {
        self.reply.trailers(fields);
    }

    /// The status of the complete response, a code of gRPC.
    #[inline]
    #[must_use]
    pub fn code(&self) -> u32 {
        self.reply.code().0
    }

    /// What is wrong with the complete response of a method of this kind, whatever its status is.
    #[inline]
    #[must_use]
    pub fn fault(&self, kind: Kind) -> Option<CallFault> {
        if !self.reply.is_grpc() {
            return Some(CallFault::NotGrpc(self.http_status));
        }
        if !self.reply.has_status() {
            return Some(CallFault::NoStatus(self.http_status));
        }
        match kind.outcome(self.code(), self.whole) {
            // A body that breaks off goes with an error.
            Outcome::Status(_) => None,
            _ if self.reply.has_coding() => Some(CallFault::Encoding),
            _ if let Some(error) = self.broken.or_else(|| self.messages.ended().err()) => {
                Some(CallFault::Message(error))
            }
            Outcome::Ok => None,
            Outcome::NoMessage => Some(CallFault::NoMessage),
            Outcome::ExtraMessages => Some(CallFault::ExtraMessages(self.whole)),
        }
    }
}

/// The messages of a body, behind each other: what is needed before a run, and not in it. An error
/// in their form ends them.
pub fn messages(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = body;
    std::iter::from_fn(move || {
        let (prefix, after) = rest.split_first_chunk::<PREFIX_BYTES>()?;
        let [0, length @ ..] = *prefix else { return None };
        let (message, after) = after.split_at_checked(u32::from_be_bytes(length) as usize)?;
        rest = after;
        Some(message)
    })
}

/// A message behind its prefix.
#[must_use]
pub fn framed(message: &[u8]) -> Vec<u8> {
    // What is sent before a run is a name.
    let prefix = message_prefix(u32::try_from(message.len()).unwrap_or(u32::MAX));
    [&prefix[..], message].concat()
}

/// The status of a method that the server has not.
pub const CODE_OF_UNIMPLEMENTED: u32 = Code::UNIMPLEMENTED.0;

/// The status that stands for what ended an exchange before its response was complete: the
/// [kind](crate::Progress::Reset) of a reset, or of a malformed response.
#[must_use]
pub fn code_of_reset(kind: &str) -> u32 {
    let code = match kind.strip_prefix(RESET) {
        Some("REFUSED_STREAM") => Code::of_reset(ErrorCode::REFUSED_STREAM),
        Some("CANCEL") => Code::of_reset(ErrorCode::CANCEL),
        Some("ENHANCE_YOUR_CALM") => Code::of_reset(ErrorCode::ENHANCE_YOUR_CALM),
        Some("INADEQUATE_SECURITY") => Code::of_reset(ErrorCode::INADEQUATE_SECURITY),
        _ => Code::INTERNAL,
    };
    code.0
}

/// The status of a call that the server says it has not processed.
pub const CODE_OF_REFUSED: u32 = Code::UNAVAILABLE.0;

/// The name of a status; its number where it has none.
#[must_use]
pub fn code_name(code: u32) -> String {
    Code(code).to_string()
}

/// Appends the first `bytes_max` bytes of what a response's fields say about its status.
pub fn push_status_message(mut fields: Headers<'_>, bytes_max: usize, out: &mut Vec<u8>) {
    if let Some((_, value)) = fields.find(|(name, _)| name.eq_ignore_ascii_case("grpc-message")) {
        status_message::read(value, bytes_max, out);
    }
}

/// The value of the field with which a call says how long it may take.
#[must_use]
pub fn timeout_value(timeout_ns: u64) -> Vec<u8> {
    let mut value = Vec::new();
    plimsoll_proto::grpc::timeout::write(timeout_ns, &mut value);
    value
}

#[cfg(test)]
mod tests {
    use plimsoll_core::recorder::{GRPC_OTHER, GRPC_STATUSES};

    use super::*;

    const GRPC: &str = "content-type: application/grpc";
    const ONE: &[u8] = b"\0\0\0\0\x02hi";

    /// What comes of a response with this status, head, body in pieces and trailers.
    fn call(status: u16, head: &str, body: &[&[u8]], trailers: Option<&str>) -> Call {
        let lines = |text: &str| format!("\n{}\n", text.replace(';', "\n"));
        let lines_of_head = lines(head);
        let mut call = Call::of_head(&Head::new(status, lines_of_head.as_bytes()));
        body.iter().for_each(|piece| _ = call.body(piece));
        if let Some(text) = trailers {
            call.trailers(Headers::of_head(lines(text).as_bytes()));
        }
        call
    }

    #[test]
    fn a_call_is_what_its_status_and_its_messages_say() {
        let only = |code: &str| format!("{GRPC};grpc-status: {code}");
        let ok = Some("grpc-status: 0");
        let [gzip, identity] =
            ["gzip", "identity"].map(|coding| format!("{GRPC};grpc-encoding: {coding}"));
        let [gzip, identity] = [gzip.as_str(), identity.as_str()];
        for (status, head, body, trailers, code, want) in [
            (200, GRPC, vec![ONE], ok, 0, None),
            (200, GRPC, vec![&ONE[..3], &ONE[3..]], ok, 0, None),
            (200, GRPC, vec![ONE], Some("grpc-status: 14"), 14, None),
            (200, GRPC, vec![&ONE[..3]], Some("grpc-status: 14"), 14, None),
            (200, only("5").as_str(), vec![], None, 5, None),
            (200, only("0").as_str(), vec![], None, 0, Some("grpc_no_message")),
            (200, GRPC, vec![], ok, 0, Some("grpc_no_message")),
            (200, GRPC, vec![ONE, ONE], ok, 0, Some("grpc_extra_messages")),
            (200, GRPC, vec![&ONE[..6]], ok, 0, Some("grpc_message_cut")),
            (200, GRPC, vec![b"\x07"], ok, 0, Some("grpc_flag")),
            (200, GRPC, vec![b"\x01\0\0\0\0"], ok, 0, Some("grpc_uncoded")),
            (200, gzip, vec![ONE], ok, 0, Some("grpc_encoding")),
            (200, gzip, vec![b"\x01\0\0\0\0"], ok, 0, Some("grpc_encoding")),
            (200, gzip, vec![b"\x01\0\0\0\0"], Some("grpc-status: 14"), 14, None),
            (200, identity, vec![ONE], ok, 0, None),
            (200, GRPC, vec![ONE], Some("grpc-status: 0;grpc-status: 0"), 0, None),
            (
                200,
                GRPC,
                vec![ONE],
                Some("grpc-status: 0;grpc-status: 5"),
                2,
                Some("grpc_no_status"),
            ),
            (200, GRPC, vec![ONE], None, 2, Some("grpc_no_status")),
            (200, only("0").as_str(), vec![ONE], None, 2, Some("grpc_no_status")),
            (503, "content-type: text/html", vec![b"<p>"], None, 14, Some("grpc_not_grpc")),
            (200, "content-type: text/html", vec![ONE], ok, 2, Some("grpc_not_grpc")),
            (503, GRPC, vec![], ok, 14, None),
        ] {
            let call = call(status, head, &body, trailers);
            let kind = call.fault(Kind::Unary).map(CallFault::kind);
            assert_eq!((call.code(), kind), (code, want), "{status} {head:?} {body:?}");
        }
        let none = call(200, GRPC, &[], ok);
        assert_eq!(none.fault(Kind::Server), None, "a stream may be empty");
    }

    #[test]
    fn messages_arrive_with_their_last_byte() {
        let body = [framed(b"one"), framed(b""), framed(b"three")].concat();
        for at in 0..=body.len() {
            let mut call = call(200, GRPC, &[], None);
            let (first, second) = body.split_at(at);
            let [before, after] = [first, second].map(|piece| call.body(piece));
            let whole = [8, 13, 23].iter().filter(|end| at >= **end).count();
            let bytes = [0, 3, 3, 8][whole];
            assert_eq!(before, Arrived { messages: whole as u64, bytes }, "{at}");
            let rest = Arrived { messages: 3 - whole as u64, bytes: 8 - bytes };
            assert_eq!((after, call.messages()), (rest, 3), "{at}");
        }
    }

    #[test]
    fn framed_messages_are_found_again() {
        let body = [framed(b"one"), framed(b""), framed(b"three")].concat();
        assert_eq!(messages(&body).collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!(messages(&body[..11]).count(), 1, "the second is cut");
        assert_eq!(messages(b"\x01\0\0\0\0").count(), 0, "compressed");
    }

    #[test]
    fn resets_stand_for_a_status() {
        for (kind, want) in [
            ("reset:REFUSED_STREAM", 14),
            ("reset:CANCEL", 1),
            ("reset:ENHANCE_YOUR_CALM", 8),
            ("reset:INADEQUATE_SECURITY", 7),
            ("reset:INTERNAL_ERROR", 13),
            ("body_length", 13),
        ] {
            assert_eq!(code_of_reset(kind), want, "{kind}");
        }
        assert_eq!((CODE_OF_REFUSED, code_name(14).as_str()), (14, "UNAVAILABLE"));
        let known = GRPC_STATUSES.iter().take(GRPC_OTHER);
        assert!(known.zip(0..).all(|(name, code)| code_name(code) == *name));
        assert_eq!(
            (code_name(99).as_str(), timeout_value(100_000_000)),
            ("99", b"100000u".to_vec())
        );
    }
}
