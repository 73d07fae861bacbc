//! Why a plan's requests cannot be sent.

use plimsoll_conn::EncodeError;
use plimsoll_core::plan::Field;
use plimsoll_core::template::TemplateError;
use plimsoll_grpc::{BodyError, SchemaError};
use plimsoll_proto::http1;

/// Why what a plan sends cannot be prepared: one line, which request, what, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The plan's one request.
    #[error("the request cannot be sent: {0}")]
    Request(Problem),
    /// One of its targets.
    #[error("target '{name}' cannot be sent: {problem}")]
    Target {
        /// What it is called.
        name: String,
        /// What is wrong.
        problem: Box<Problem>,
    },
    /// Nothing could ever be chosen.
    #[error("every target has the weight 0: give one of them more")]
    Weights,
    /// A number of a target is a `u32`.
    #[error("{0} targets are too many: give 4 294 967 295 at most")]
    TooMany(usize),
}

impl SourceError {
    /// The field of the plan that is wrong, where one is known.
    #[must_use]
    pub fn field(&self) -> Option<Field> {
        match self {
            Self::Request(problem) => problem.field(),
            Self::Target { .. } | Self::Weights | Self::TooMany(_) => Some(Field::Targets),
        }
    }
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A template in it.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A part of it would not be read back as it was meant.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A value of a table would not be.
    #[error("row {row} of {table} cannot stand in {place}: its {column} has {what}")]
    Cell {
        /// The file.
        table: String,
        /// The row, counted from 1, the line of names being the first.
        row: usize,
        /// The name of the column.
        column: String,
        /// Where a template puts it.
        place: &'static str,
        /// What is wrong with it, and what to do.
        what: &'static str,
    },
    /// The schema of its call, or the method's name.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The method cannot be called like this.
    #[error("the method '{name}' is of the kind '{method}', so it is not called as '{asked}'")]
    OtherKind {
        /// Its name.
        name: String,
        /// Which side sends any number of messages.
        method: &'static str,
        /// What the plan asks for.
        asked: &'static str,
    },
    /// A call of this kind has one message.
    #[error("a call of the kind '{kind}' sends one message, not {messages}")]
    OneMessage {
        /// The kind.
        kind: &'static str,
        /// What the plan asks for.
        messages: u32,
    },
    /// Its body is not the JSON of the method's message.
    #[error(transparent)]
    Message(#[from] BodyError),
    /// Its body is not text.
    #[error("the JSON of a message is text in UTF-8, and its body is not")]
    BinaryMessage,
    /// The path is not one.
    #[error("its path does not start with '/'")]
    Path,
    /// The plan was read from a result, which keeps no large bodies.
    #[error("its body of {0} bytes was not kept: give it again")]
    BodyNotKept(u64),
    /// HTTP/1.0 has no chunks (RFC 9112 section 6.1).
    #[error("HTTP/1.0 has no chunks: take --chunked away, or use HTTP/1.1")]
    ChunksInOldVersion,
    /// Chunks have no length before them (RFC 9112 section 6.2).
    #[error("a chunked body has no Content-Length: take the header or the chunks away")]
    LengthOfChunks,
    /// A server would take the rest for another request (RFC 9112 section 11.2).
    #[error(
        "its Content-Length is '{length}' and its body has {bytes} bytes: leave the header out"
    )]
    OtherLength {
        /// What the field says.
        length: String,
        /// What goes out.
        bytes: usize,
    },
    /// The length of a body with templates differs from request to request.
    #[error("the Content-Length of a template is computed for each request: leave the header out")]
    LengthOfTemplate,
    /// Nothing ends the body.
    #[error("its body has neither Content-Length nor chunks: do not take Content-Length away")]
    NoLength,
    /// What goes out has no body of that length.
    #[error("its Content-Length is '{0}', and messages have none: leave the header out")]
    LengthOfMessages(String),
    /// Only chunks end a body that is encoded for the transfer (RFC 9112 section 6.1).
    #[error(
        "its Transfer-Encoding is '{0}' and has to end with chunked, which stands there once: \
         leave the header out"
    )]
    Codings(String),
    /// HTTP/1.0 does not know it (RFC 9110 section 10.1.1).
    #[error("HTTP/1.0 has no 100 Continue: take --expect-continue away, or use HTTP/1.1")]
    ContinueInOldVersion,
    /// No payload can be that large.
    #[error("it has up to {0} bytes: send 1 GiB at most")]
    TooLarge(usize),
}

impl Problem {
    /// The field of the plan's one request that is wrong, where one is known.
    fn field(&self) -> Option<Field> {
        match self {
            Self::Template(_) | Self::Cell { .. } => None,
            Self::Encode(EncodeError::Http1(error)) => Some(match error {
                http1::EncodeError::BadMethod => Field::Method,
                http1::EncodeError::BadTarget => Field::Url,
                http1::EncodeError::BadVersion => Field::Http,
                http1::EncodeError::BadHeaderName | http1::EncodeError::BadHeaderValue => {
                    Field::Header
                }
            }),
            Self::Encode(EncodeError::Http2(_) | EncodeError::OwnField) => Some(Field::Header),
            Self::Encode(EncodeError::VaryingHandshake) => None,
            Self::Encode(EncodeError::MessageNeedsHttp2) => Some(Field::Http),
            Self::Schema(_) => Some(Field::Grpc),
            Self::OtherKind { .. } => Some(Field::GrpcStream),
            Self::OneMessage { .. } => Some(Field::GrpcMessages),
            Self::Message(_) | Self::BinaryMessage => Some(Field::Body),
            Self::Path => Some(Field::Url),
            Self::BodyNotKept(_) | Self::TooLarge(_) => Some(Field::Body),
            Self::ChunksInOldVersion => Some(Field::Chunked),
            Self::LengthOfChunks
            | Self::OtherLength { .. }
            | Self::LengthOfTemplate
            | Self::NoLength
            | Self::LengthOfMessages(_)
            | Self::Codings(_) => Some(Field::Header),
            Self::ContinueInOldVersion => Some(Field::ExpectContinue),
        }
    }
}
