//! Expectations on a response, as people write them: `status=200..299`, `body~=REGEX`,
//! `bytes=100..`.
//!
//! A response that does not meet one fails its request, and the failure names the kind of
//! expectation. This file reads and prints expectations; the engine matches regular expressions.

use serde::{Deserialize, Serialize};

use crate::units::parse_count;

/// A condition on a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Expectation {
    /// The status is in one of these ranges, both ends included.
    Status(Vec<(u16, u16)>),
    /// The status of a call of gRPC is in one of these ranges, both ends included.
    GrpcStatus(Vec<(u32, u32)>),
    /// The number of messages that a call of gRPC gets is between these, both included.
    GrpcMessages(u64, u64),
    /// The length of the body is between these, in bytes, both included, as received, without
    /// framing.
    Bytes(u64, u64),
    /// The body matches a regular expression, or must not.
    BodyMatches {
        /// The expression.
        pattern: String,
        /// Whether it must match.
        wanted: bool,
    },
    /// The body contains this text.
    BodyContains(String),
    /// The body is this text.
    BodyIs(String),
    /// A header's value matches a regular expression.
    HeaderMatches {
        /// The header's name.
        name: String,
        /// The expression.
        pattern: String,
    },
    /// A header has this value.
    HeaderIs {
        /// The header's name.
        name: String,
        /// Its value.
        value: String,
    },
}

/// An expectation that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectError {
    /// Nothing of the kind can be expected.
    #[error(
        "unknown expectation '{0}': write status=200..299,304, bytes=100..200, body~=REGEX, \
         body!~REGEX, body*=TEXT, body==TEXT, header:NAME=VALUE, header:NAME~=REGEX, \
         grpc-status=0 or grpc-messages=1..9"
    )]
    Unknown(String),
    /// A status, or a range of them.
    #[error("'{0}' is not a status or a range of them: write status=200..299,304")]
    Status(String),
    /// A status of gRPC, or a range of them.
    #[error("'{0}' is not a status code of gRPC or a range of them: write grpc-status=0,5")]
    GrpcStatus(String),
    /// A number of messages, or a range.
    #[error("'{0}' is not a number of messages or a range: write grpc-messages=1..9")]
    GrpcMessages(String),
    /// A number of bytes, or a range.
    #[error("'{0}' is not a number of bytes or a range: write bytes=100..200")]
    Bytes(String),
}

impl Expectation {
    /// A stable name for results: the kind of failure when it is not met.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Status(_) => "expect_status",
            Self::GrpcStatus(_) => "grpc_status",
            Self::GrpcMessages(..) => "grpc_messages",
            Self::Bytes(..) => "expect_bytes",
            Self::BodyMatches { .. } | Self::BodyContains(_) | Self::BodyIs(_) => "expect_body",
            Self::HeaderMatches { .. } | Self::HeaderIs { .. } => "expect_header",
        }
    }

    /// Whether the body has to be looked at.
    #[must_use]
    pub fn needs_body(&self) -> bool {
        self.kind() == "expect_body"
    }

    /// Whether it is about calls of gRPC.
    #[must_use]
    pub fn is_of_grpc(&self) -> bool {
        matches!(self, Self::GrpcStatus(_) | Self::GrpcMessages(..))
    }

    /// Whether the headers have to be looked at.
    #[must_use]
    pub fn needs_headers(&self) -> bool {
        self.kind() == "expect_header"
    }
}

impl std::str::FromStr for Expectation {
    type Err = ExpectError;

    fn from_str(text: &str) -> Result<Self, ExpectError> {
        // Not the value it is compared with, which may be a secret.
        let error =
            || ExpectError::Unknown(text.split(['=', '~']).next().unwrap_or_default().to_owned());
        let owned = str::to_owned;
        // `==` is what gates have. It is the same where no value can begin with `=`.
        let behind = |name: &str| {
            let value = text.strip_prefix(name)?.strip_prefix('=')?;
            Some(value.strip_prefix('=').unwrap_or(value))
        };
        if let Some(list) = behind("status") {
            let range = |range: &str| {
                status_range(range.trim()).ok_or_else(|| ExpectError::Status(owned(range.trim())))
            };
            return list.split(',').map(range).collect::<Result<_, _>>().map(Self::Status);
        }
        if let Some(list) = behind("grpc-status") {
            let range = |range: &str| {
                code_range(range.trim()).ok_or_else(|| ExpectError::GrpcStatus(owned(range.trim())))
            };
            return list.split(',').map(range).collect::<Result<_, _>>().map(Self::GrpcStatus);
        }
        if let Some(range) = behind("grpc-messages") {
            let (range, wrong) = (count_range(range.trim()), ExpectError::GrpcMessages);
            let of = |(from, to)| Self::GrpcMessages(from, to);
            return range.map(of).map_err(|text| wrong(owned(text)));
        }
        if let Some(range) = behind("bytes") {
            let (range, wrong) = (count_range(range.trim()), ExpectError::Bytes);
            return range
                .map(|(from, to)| Self::Bytes(from, to))
                .map_err(|text| wrong(owned(text)));
        }
        if let Some(pattern) = text.strip_prefix("body~=") {
            return Ok(Self::BodyMatches { pattern: owned(pattern), wanted: true });
        }
        if let Some(pattern) = text.strip_prefix("body!~") {
            return Ok(Self::BodyMatches { pattern: owned(pattern), wanted: false });
        }
        if let Some(part) = text.strip_prefix("body*=") {
            return Ok(Self::BodyContains(owned(part)));
        }
        if let Some(whole) = text.strip_prefix("body==") {
            return Ok(Self::BodyIs(owned(whole)));
        }
        let header = text.strip_prefix("header:").and_then(|rest| rest.split_once('='));
        let (name, value) = header.ok_or_else(error)?;
        let is_pattern = name.ends_with('~');
        let name = name.trim_end_matches('~').trim();
        match (name.is_empty(), is_pattern) {
            (true, _) => Err(error()),
            (_, true) => Ok(Self::HeaderMatches { name: owned(name), pattern: owned(value) }),
            (_, false) => Ok(Self::HeaderIs { name: owned(name), value: owned(value.trim()) }),
        }
    }
}

fn status_range(text: &str) -> Option<(u16, u16)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (100 <= from && from <= to && to <= 999).then_some((from, to))
}

fn code_range(text: &str) -> Option<(u32, u32)> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

/// A count, or a range of them that may be open at one end; otherwise the text.
fn count_range(text: &str) -> Result<(u64, u64), &str> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let count = |end: &str, open: u64| match end {
        "" => Ok(open),
        end => parse_count(end).map_err(|_| text),
    };
    let (from, to) = (count(from, 0)?, count(to, u64::MAX)?);
    if from <= to && !text.is_empty() && text != ".." { Ok((from, to)) } else { Err(text) }
}

/// The end of an expectation of counts.
struct Counts(u64, u64);

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self(from, u64::MAX) => write!(f, "{from}.."),
            Self(from, to) if from == to => write!(f, "{from}"),
            Self(from, to) => write!(f, "{from}..{to}"),
        }
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Status(ranges) => {
                f.write_str("status=")?;
                write_ranges(f, ranges)
            }
            Self::GrpcStatus(ranges) => {
                f.write_str("grpc-status=")?;
                write_ranges(f, ranges)
            }
            Self::GrpcMessages(from, to) => write!(f, "grpc-messages={}", Counts(*from, *to)),
            Self::Bytes(from, to) => write!(f, "bytes={}", Counts(*from, *to)),
            Self::BodyMatches { pattern, wanted: true } => write!(f, "body~={pattern}"),
            Self::BodyMatches { pattern, wanted: false } => write!(f, "body!~{pattern}"),
            Self::BodyContains(part) => write!(f, "body*={part}"),
            Self::BodyIs(whole) => write!(f, "body=={whole}"),
            Self::HeaderMatches { name, pattern } => write!(f, "header:{name}~={pattern}"),
            Self::HeaderIs { name, value } => write!(f, "header:{name}={value}"),
        }
    }
}

fn write_ranges<T: std::fmt::Display + PartialEq>(
    f: &mut std::fmt::Formatter<'_>,
    ranges: &[(T, T)],
) -> std::fmt::Result {
    for (i, (from, to)) in ranges.iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        if from == to {
            write!(f, "{comma}{from}")?;
        } else {
            write!(f, "{comma}{from}..{to}")?;
        }
    }
    Ok(())
}

impl TryFrom<String> for Expectation {
    type Error = ExpectError;

    fn try_from(text: String) -> Result<Self, ExpectError> {
        text.parse()
    }
}

impl From<Expectation> for String {
    fn from(expectation: Expectation) -> Self {
        expectation.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let texts = [
            "status=200",
            "status=200..299,304",
            "grpc-status=0,5",
            "grpc-status=1..16",
            "grpc-messages=3",
            "grpc-messages=3..5",
            "grpc-messages=1..",
            "bytes=0..10",
            "bytes=5",
            "bytes=100..",
            "body~=^a.*b$",
            "body!~error",
            "body*=hello",
            "body==hello",
            "header:Content-Type=text/plain",
            "header:ETag~=^W/",
        ];
        for text in texts {
            assert_eq!(text.parse::<Expectation>().expect(text).to_string(), text);
        }
        assert_eq!("bytes=..10".parse(), Ok(Expectation::Bytes(0, 10)));
        for (as_gates_have_it, text) in [
            ("status==200", "status=200"),
            ("bytes==5", "bytes=5"),
            ("grpc-status==0", "grpc-status=0"),
            ("grpc-messages==3..5", "grpc-messages=3..5"),
        ] {
            let read: Expectation = as_gates_have_it.parse().expect(as_gates_have_it);
            assert_eq!(read.to_string(), text);
        }
        assert_eq!("bytes=1k..2k".parse(), Ok(Expectation::Bytes(1000, 2000)));
    }

    #[test]
    fn what_cannot_be_read_says_what_can() {
        for text in [
            "",
            "status",
            "status=",
            "status=abc",
            "status=299..200",
            "status=99",
            "grpc-status=",
            "grpc-status=OK",
            "grpc-status=5..0",
            "grpc-messages=",
            "grpc-messages=many",
            "grpc-messages=5..0",
            "bytes=",
            "bytes=..",
            "bytes=9..1",
            "body=x",
            "header:=x",
            "header:~=x",
            "size=1",
        ] {
            let error = text.parse::<Expectation>().expect_err(text).to_string();
            let possible = match text.split_once('=') {
                Some(("bytes", _)) => "bytes=100..200",
                Some(("grpc-status", _)) => "grpc-status=0,5",
                Some(("grpc-messages", _)) => "grpc-messages=1..9",
                _ => "status=200..299",
            };
            assert!(error.contains(possible) && !error.contains('\n'), "{error}");
        }
    }
}
