//! Why bytes were refused, on the way in and on the way out.

use thiserror::Error;

use super::fold::LineStart;

/// Why a peer's bytes are not a message. The decoder stays failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum DecodeError {
    /// The start line or a header field breaks the grammar (RFC 9112 2 to 5).
    #[error("malformed message head")]
    MalformedHead,
    /// A field line of a response's head breaks the grammar (RFC 9112 5).
    #[error("malformed header field in the message head: the line that begins with '{0}'")]
    MalformedField(LineStart),
    /// Where a response should begin stands a TLS record (RFC 8446 5.1).
    #[error("malformed message head: it looks like TLS: use https://")]
    TlsRecord,
    /// The head is longer than [`Limits::head_bytes`](super::Limits::head_bytes).
    #[error("message head too long")]
    HeadTooLong,
    /// More header fields than [`Limits::headers`](super::Limits::headers).
    #[error("too many header fields")]
    TooManyHeaders,
    /// More interim responses than [`INTERIM_MAX`](super::INTERIM_MAX) before a final one.
    #[error("too many interim responses")]
    TooManyInterim,
    /// A Content-Length that is not a decimal number below 2^64.
    #[error("bad Content-Length")]
    BadContentLength,
    /// Content-Length fields that differ, or one beside Transfer-Encoding in a request: the sign
    /// of request smuggling (RFC 9112 11.2).
    #[error("conflicting message lengths")]
    ConflictingLength,
    /// A Transfer-Encoding that is empty, repeats chunked, or (in a request) is not just chunked.
    #[error("bad Transfer-Encoding")]
    BadTransferEncoding,
    /// The chunk framing or a trailer field breaks the grammar, or a chunk size overflows
    /// (RFC 9112 7.1).
    #[error("malformed chunked body")]
    BadChunk,
    /// The line of a chunk is longer than
    /// [`Limits::chunk_line_bytes`](super::Limits::chunk_line_bytes).
    #[error("chunk line too long")]
    ChunkLineTooLong,
    /// The trailer fields are longer than [`Limits::trailer_bytes`](super::Limits::trailer_bytes).
    #[error("trailer fields too long")]
    TrailersTooLong,
    /// The body is longer than [`Limits::body_bytes`](super::Limits::body_bytes).
    #[error("body too long")]
    BodyTooLong,
    /// HTTP, but neither 1.0 nor 1.1.
    #[error("unsupported HTTP version")]
    UnsupportedVersion,
    /// The peer closed within a head, or between an interim response and the final one.
    #[error("connection closed within a message head")]
    TruncatedHead,
    /// The peer closed within a body (RFC 9112 8).
    #[error("connection closed within a message body")]
    TruncatedBody,
}

impl DecodeError {
    /// Every kind of error, once.
    pub const ALL: [Self; 16] = [
        Self::MalformedHead,
        Self::MalformedField(LineStart::NONE),
        Self::TlsRecord,
        Self::HeadTooLong,
        Self::TooManyHeaders,
        Self::TooManyInterim,
        Self::BadContentLength,
        Self::ConflictingLength,
        Self::BadTransferEncoding,
        Self::BadChunk,
        Self::ChunkLineTooLong,
        Self::TrailersTooLong,
        Self::BodyTooLong,
        Self::UnsupportedVersion,
        Self::TruncatedHead,
        Self::TruncatedBody,
    ];

    /// The error's name in results: snake case, stable.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::MalformedHead | Self::TlsRecord => "malformed_head",
            Self::MalformedField(_) => "malformed_field",
            Self::HeadTooLong => "head_too_long",
            Self::TooManyHeaders => "too_many_headers",
            Self::TooManyInterim => "too_many_interim",
            Self::BadContentLength => "bad_content_length",
            Self::ConflictingLength => "conflicting_length",
            Self::BadTransferEncoding => "bad_transfer_encoding",
            Self::BadChunk => "bad_chunk",
            Self::ChunkLineTooLong => "chunk_line_too_long",
            Self::TrailersTooLong => "trailers_too_long",
            Self::BodyTooLong => "body_too_long",
            Self::UnsupportedVersion => "unsupported_version",
            Self::TruncatedHead => "truncated_head",
            Self::TruncatedBody => "truncated_body",
        }
    }
}

/// Why a request head was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Error)]
pub enum EncodeError {
    /// The method is not a token (RFC 9110 5.6.2).
    #[error("method is not a token")]
    BadMethod,
    /// The target is empty or holds a space or a control character.
    #[error("request target is empty or holds a space or control character")]
    BadTarget,
    /// The minor version is neither 0 nor 1.
    #[error("HTTP version is neither 1.0 nor 1.1")]
    BadVersion,
    /// A field's name is not a token.
    #[error("header name is not a token")]
    BadHeaderName,
    /// A field's value holds a control character other than a tab.
    #[error("header value holds a control character")]
    BadHeaderValue,
}
