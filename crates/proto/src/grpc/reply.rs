//! How a call ended, by the fields of its response.
//!
//! A server that got as far as the call says it in `grpc-status`, behind the body (*trailers*), or
//! in the head if there is nothing else (*trailers-only*). What stands before the server, or in its
//! place, may answer in plain HTTP instead: then the HTTP status has to do.

use super::Code;
use crate::http1::Headers;

/// Whether a content type is gRPC's: `application/grpc`, also with `+` or `;` and more behind it.
#[must_use]
pub fn is_content_type(value: &[u8]) -> bool {
    const NAME: &[u8] = b"application/grpc";
    let Some((name, rest)) = value.split_at_checked(NAME.len()) else { return false };
    name.eq_ignore_ascii_case(NAME) && matches!(rest, [] | [b'+' | b';', ..])
}

/// The value of `grpc-status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Nothing,
    Code(Code),
    /// Not a number, or several that differ.
    Malformed,
}

/// What the fields of a response say about its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    http_status: u16,
    is_grpc: bool,
    has_coding: bool,
    given: Given,
}

impl Reply {
    /// Of the head of a response that is not interim.
    #[must_use]
    pub fn of_head(http_status: u16, fields: Headers<'_>) -> Self {
        let (mut is_grpc, mut has_coding) = (false, false);
        for (name, value) in fields.clone() {
            if name.eq_ignore_ascii_case("content-type") {
                is_grpc = is_content_type(value);
            } else if name.eq_ignore_ascii_case("grpc-encoding") {
                has_coding = !value.eq_ignore_ascii_case(b"identity");
            }
        }
        Self { http_status, is_grpc, has_coding, given: status_in(fields) }
    }

    /// A body follows, so the head alone is not the end of the call.
    pub fn body(&mut self) {
        self.given = Given::Nothing;
    }

    /// The fields behind the body, or behind the head.
    pub fn trailers(&mut self, fields: Headers<'_>) {
        self.given = status_in(fields);
    }

    /// Whether the body is a sequence of messages at all.
    #[must_use]
    pub fn is_grpc(&self) -> bool {
        self.is_grpc
    }

    /// Whether the fields say how the call ended, by a number.
    #[must_use]
    pub fn has_status(&self) -> bool {
        matches!(self.given, Given::Code(_))
    }

    /// Whether messages may be compressed.
    #[must_use]
    pub fn has_coding(&self) -> bool {
        self.has_coding
    }

    /// How the call ended, once the response is complete. OK takes an HTTP status of 200, gRPC's
    /// content type, and a `grpc-status` of 0; how many messages there were is not looked at.
    #[must_use]
    pub fn code(&self) -> Code {
        let by_http = Code::of_http_status(self.http_status);
        match self.given {
            _ if !self.is_grpc => by_http,
            Given::Code(Code::OK) if self.http_status != 200 => by_http,
            Given::Code(code) => code,
            Given::Malformed => Code::UNKNOWN,
            Given::Nothing => by_http,
        }
    }
}

/// A status that stands there twice has to be the same both times.
fn status_in(fields: Headers<'_>) -> Given {
    let mut given = Given::Nothing;
    for (_, value) in fields.filter(|(name, _)| name.eq_ignore_ascii_case("grpc-status")) {
        let next = Code::read(value).map_or(Given::Malformed, Given::Code);
        given = if given == Given::Nothing || given == next { next } else { Given::Malformed };
    }
    given
}
