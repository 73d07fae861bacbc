//! What the header fields say about the rest of the message: how long its body is, and whether the
//! connection can be used again. One pass over the fields, then the rules of RFC 9112 6.3 and 9.3.
//!
//! Wherever two readers of the same bytes could disagree about where a message ends (RFC 9112
//! 11.2), a request is refused, and a response is read but its connection is not used again.

use httparse::Header;

use super::headers::{Headers, trim_whitespace};
use super::{BodyLength, DecodeError, RequestKind};

/// How a message continues after its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Framing {
    pub(super) body: BodyLength,
    pub(super) keep_alive: bool,
    pub(super) expect_continue: bool,
}

/// The fields that matter to framing.
#[derive(Default)]
struct Fields {
    content_length: Option<u64>,
    transfer_encoding: TransferEncoding,
    close: bool,
    keep_alive: bool,
    expect_continue: bool,
}

/// The list of transfer codings (RFC 9112 6.1), all fields of that name together.
#[derive(Default)]
struct TransferEncoding {
    present: bool,
    /// Whether there is a coding other than chunked.
    other: bool,
    chunked: bool,
    chunked_last: bool,
}

/// The framing of a final response, or of 101.
#[inline]
pub(super) fn response(
    kind: RequestKind,
    status: u16,
    minor_version: u8,
    headers: &[Header<'_>],
) -> Result<Framing, DecodeError> {
    let fields = Fields::scan(headers)?;
    let encoding = &fields.transfer_encoding;
    // A body that must not be there might still be there.
    let stray_body =
        status == 204 && (encoding.present || fields.content_length.is_some_and(|len| len > 0));
    // RFC 9112 6.1: the framing of these is suspect.
    let suspect = encoding.present && (minor_version == 0 || fields.content_length.is_some());
    let is_tunnel = kind == RequestKind::Connect && matches!(status, 200..=299);
    let never = kind == RequestKind::Head || matches!(status, 100..=199 | 204 | 304);
    let body = if never || is_tunnel {
        BodyLength::None
    } else if encoding.chunked_last {
        BodyLength::Chunked
    } else if encoding.present {
        BodyLength::UntilClose
    } else {
        fields.content_length.map_or(BodyLength::UntilClose, BodyLength::Known)
    };
    let keep_alive = fields.persistent(minor_version)
        && !suspect
        && !stray_body
        && status != 101
        && body != BodyLength::UntilClose;
    Ok(Framing { body, keep_alive, expect_continue: false })
}

/// Whether a request says that its connection ends with the response to it (RFC 9112 9.3 and 9.6):
/// its client then sends no other on that connection, and closes it. `head` is a whole head, as a
/// client sends it; what follows its blank line is not looked at.
#[must_use]
pub fn ends_connection(head: &[u8]) -> bool {
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let is_old = line.strip_suffix(b"\r").unwrap_or(line).ends_with(b" HTTP/1.0");
    let mut fields = Fields::default();
    for (name, value) in Headers::of_head(head) {
        if name.eq_ignore_ascii_case("connection") {
            fields.connection(value);
        }
    }
    !fields.persistent(u8::from(!is_old))
}

/// The framing of a request.
#[inline]
pub(super) fn request(minor_version: u8, headers: &[Header<'_>]) -> Result<Framing, DecodeError> {
    let fields = Fields::scan(headers)?;
    let encoding = &fields.transfer_encoding;
    let body = match fields.content_length {
        Some(_) if encoding.present => return Err(DecodeError::ConflictingLength),
        Some(length) => BodyLength::Known(length),
        None if !encoding.present => BodyLength::None,
        None if minor_version == 0 || encoding.other || !encoding.chunked_last => {
            return Err(DecodeError::BadTransferEncoding);
        }
        None => BodyLength::Chunked,
    };
    let has_body = !matches!(body, BodyLength::None | BodyLength::Known(0));
    Ok(Framing {
        body,
        keep_alive: fields.persistent(minor_version),
        expect_continue: fields.expect_continue && minor_version == 1 && has_body,
    })
}

impl Fields {
    #[inline]
    fn scan(headers: &[Header<'_>]) -> Result<Self, DecodeError> {
        let mut fields = Self::default();
        for Header { name, value } in headers {
            match name.len() {
                6 if name.eq_ignore_ascii_case("expect") => fields.expect(value),
                10 if name.eq_ignore_ascii_case("connection") => fields.connection(value),
                14 if name.eq_ignore_ascii_case("content-length") => {
                    fields.content_length = Some(content_length(value, fields.content_length)?);
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    fields.transfer_encoding.add(value)?;
                }
                _ => {}
            }
        }
        Ok(fields)
    }

    /// RFC 9110 10.1.1.
    fn expect(&mut self, value: &[u8]) {
        self.expect_continue |=
            elements(value).any(|element| element.eq_ignore_ascii_case(b"100-continue"));
    }

    /// RFC 9110 7.6.1.
    #[inline]
    fn connection(&mut self, value: &[u8]) {
        match value {
            // Nearly all Connection fields are one of these, so they are not worth a walk through
            // the list.
            b"keep-alive" | b"Keep-Alive" => self.keep_alive = true,
            b"close" | b"Close" => self.close = true,
            _ => self.connection_options(value),
        }
    }

    #[cold]
    fn connection_options(&mut self, value: &[u8]) {
        for option in elements(value) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// RFC 9112 9.3.
    fn persistent(&self, minor_version: u8) -> bool {
        !self.close && (minor_version == 1 || self.keep_alive)
    }
}

impl TransferEncoding {
    fn add(&mut self, value: &[u8]) -> Result<(), DecodeError> {
        self.present = true;
        let mut empty = true;
        for coding in elements(value) {
            empty = false;
            let name = coding.split(|&byte| byte == b';').next().map_or(coding, trim_whitespace);
            self.chunked_last = name.eq_ignore_ascii_case(b"chunked");
            if self.chunked_last {
                // RFC 9112 7.1: chunked once only; parameters of it are an error.
                if self.chunked || name.len() != coding.len() {
                    return Err(DecodeError::BadTransferEncoding);
                }
                self.chunked = true;
            } else {
                self.other = true;
            }
        }
        if empty { Err(DecodeError::BadTransferEncoding) } else { Ok(()) }
    }
}

/// The elements of a comma-separated list, without empty ones (RFC 9110 5.6.1).
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim_whitespace).filter(|element| !element.is_empty())
}

/// Reads a Content-Length. A list or a repeat of the same number is that number (RFC 9110 8.6).
fn content_length(value: &[u8], earlier: Option<u64>) -> Result<u64, DecodeError> {
    let mut length = earlier;
    for element in value.split(|&byte| byte == b',') {
        let number = decimal(trim_whitespace(element)).ok_or(DecodeError::BadContentLength)?;
        if *length.get_or_insert(number) != number {
            return Err(DecodeError::ConflictingLength);
        }
    }
    length.ok_or(DecodeError::BadContentLength)
}

/// Reads one or more digits; also `None` if the number does not fit.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
