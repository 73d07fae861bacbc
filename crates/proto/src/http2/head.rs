//! Reads the fields of a message and judges whether they make one (RFC 9113 8.2, 8.3).
//!
//! Fields are written down as lines of an HTTP/1 head, `name: value` behind an empty first line,
//! so that both protocols hand out heads that [`Headers`](super::Headers) reads. That is lossless:
//! neither a name with a colon nor a value with a line break gets this far.
//!
//! After the first fault nothing more is written down, but the block is still read to its end: the
//! decoder's table depends on all of it.

use std::ops::Range;

use super::StreamError;
use super::fields;
use super::hpack::ENTRY_OVERHEAD_BYTES;
use super::limits::KEPT_BYTES_MAX;

/// What all kinds of heads have in common: the fields that are no pseudo-fields.
#[derive(Debug)]
struct Lines<'b> {
    lines: &'b mut Vec<u8>,
    list_bytes: usize,
    list_bytes_max: usize,
    content_length: Option<u64>,
    is_past_pseudo: bool,
    fault: Option<StreamError>,
}

impl<'b> Lines<'b> {
    fn new(lines: &'b mut Vec<u8>, list_bytes_max: usize) -> Self {
        lines.clear();
        lines.shrink_to(KEPT_BYTES_MAX);
        lines.extend_from_slice(b"\r\n");
        Self {
            lines,
            list_bytes: 0,
            list_bytes_max,
            content_length: None,
            is_past_pseudo: false,
            fault: None,
        }
    }

    #[cold]
    fn fail(&mut self, fault: StreamError) {
        self.fault.get_or_insert(fault);
    }

    /// Counts a field. Whether it is to be looked at.
    #[inline]
    fn takes(&mut self, name: &[u8], value: &[u8]) -> bool {
        self.list_bytes += name.len() + value.len() + ENTRY_OVERHEAD_BYTES;
        if self.list_bytes > self.list_bytes_max {
            self.fail(StreamError::HeadTooLong);
        }
        self.fault.is_none()
    }

    /// Takes a field that is no pseudo-field.
    #[inline]
    fn push(&mut self, name: &[u8], value: &[u8]) {
        self.is_past_pseudo = true;
        if !fields::is_name(name) {
            return self.fail(StreamError::FieldName);
        }
        if !fields::is_value(value) {
            return self.fail(StreamError::FieldValue);
        }
        if fields::is_connection_specific(name, value) {
            return self.fail(StreamError::ConnectionField);
        }
        if name == b"content-length" {
            let length = fields::content_length(value);
            if length.is_none() || self.content_length.is_some_and(|it| Some(it) != length) {
                return self.fail(StreamError::BadContentLength);
            }
            self.content_length = length;
        }
        self.lines.extend_from_slice(name);
        self.lines.extend_from_slice(b": ");
        self.lines.extend_from_slice(value);
        self.lines.extend_from_slice(b"\r\n");
    }

    fn finish(self) -> Result<Option<u64>, StreamError> {
        self.fault.map_or(Ok(self.content_length), Err)
    }
}

/// The fields of a response's head.
#[derive(Debug)]
pub(super) struct ResponseFields<'b> {
    lines: Lines<'b>,
    status: Option<u16>,
}

/// A response's head, as far as its framing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResponseParts {
    /// 100, or 102 to 999.
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
}

impl<'b> ResponseFields<'b> {
    pub(super) fn new(lines: &'b mut Vec<u8>, list_bytes_max: usize) -> Self {
        Self { lines: Lines::new(lines, list_bytes_max), status: None }
    }

    #[inline]
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        if !self.lines.takes(name, value) {
            return;
        }
        if name.first() != Some(&b':') {
            return self.lines.push(name, value);
        }
        let is_in_place = !self.lines.is_past_pseudo && self.status.is_none();
        match status(value) {
            Some(status) if is_in_place && name == b":status" => self.status = Some(status),
            _ => self.lines.fail(StreamError::PseudoField),
        }
    }

    pub(super) fn finish(self) -> Result<ResponseParts, StreamError> {
        let content_length = self.lines.finish()?;
        let status = self.status.ok_or(StreamError::PseudoField)?;
        Ok(ResponseParts { status, content_length })
    }
}

/// Three digits that are a status. 101 would leave HTTP/2, and can't (RFC 9113 8.6).
fn status(value: &[u8]) -> Option<u16> {
    let [hundreds @ b'1'..=b'9', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = value else {
        return None;
    };
    let digit = |byte: &u8| u16::from(byte - b'0');
    let status = 100 * digit(hundreds) + 10 * digit(tens) + digit(ones);
    (status != 101).then_some(status)
}

/// The fields of trailers, which have no pseudo-fields.
#[derive(Debug)]
pub(super) struct TrailerFields<'b>(Lines<'b>);

impl<'b> TrailerFields<'b> {
    pub(super) fn new(lines: &'b mut Vec<u8>, list_bytes_max: usize) -> Self {
        Self(Lines::new(lines, list_bytes_max))
    }

    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        if !self.0.takes(name, value) {
            return;
        }
        match name.first() {
            Some(b':') => self.0.fail(StreamError::PseudoField),
            _ => self.0.push(name, value),
        }
    }

    pub(super) fn finish(self) -> Result<(), StreamError> {
        self.0.finish().map(drop)
    }
}

/// Where a pseudo-field's value stands in the buffer of all of them.
type Text = Option<Range<usize>>;

/// The pseudo-fields of a request, in the buffer they were copied to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pseudo {
    pub(super) method: Text,
    pub(super) scheme: Text,
    pub(super) authority: Text,
    pub(super) path: Text,
    pub(super) protocol: Text,
}

/// The fields of a request's head.
#[derive(Debug)]
pub(super) struct RequestFields<'b> {
    lines: Lines<'b>,
    text: &'b mut Vec<u8>,
    pseudo: Pseudo,
    host: Text,
    /// Whether extended CONNECT was announced.
    takes_protocol: bool,
}

/// A request's head, as far as its framing depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RequestParts {
    pub(super) pseudo: Pseudo,
    pub(super) content_length: Option<u64>,
}

impl<'b> RequestFields<'b> {
    /// Pseudo-fields go to `text`, the others to `lines`.
    pub(super) fn new(lines: &'b mut Vec<u8>, text: &'b mut Vec<u8>, limit: usize) -> Self {
        text.clear();
        Self {
            lines: Lines::new(lines, limit),
            text,
            pseudo: Pseudo::default(),
            host: None,
            takes_protocol: false,
        }
    }

    pub(super) fn with_protocol(mut self, takes_protocol: bool) -> Self {
        self.takes_protocol = takes_protocol;
        self
    }

    #[inline]
    pub(super) fn field(&mut self, name: &[u8], value: &[u8]) {
        if !self.lines.takes(name, value) {
            return;
        }
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.lines.push(name, value);
        if name == b"host" {
            self.host = Some(self.copy(value));
        }
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) {
        let range = self.copy(value);
        let is_past_pseudo = self.lines.is_past_pseudo;
        let (place, is_valid) = match name {
            b":method" => (&mut self.pseudo.method, fields::is_token(value)),
            b":scheme" => (&mut self.pseudo.scheme, is_scheme(value)),
            b":authority" => (&mut self.pseudo.authority, fields::is_target(value)),
            b":path" => (&mut self.pseudo.path, fields::is_target(value)),
            b":protocol" if self.takes_protocol => {
                (&mut self.pseudo.protocol, fields::is_token(value))
            }
            _ => return self.lines.fail(StreamError::PseudoField),
        };
        if is_past_pseudo || !is_valid || place.replace(range).is_some() {
            self.lines.fail(StreamError::PseudoField);
        }
    }

    fn copy(&mut self, value: &[u8]) -> Range<usize> {
        let start = self.text.len();
        self.text.extend_from_slice(value);
        start..self.text.len()
    }

    pub(super) fn finish(self) -> Result<RequestParts, StreamError> {
        let content_length = self.lines.finish()?;
        let pseudo = self.pseudo;
        let text = |range: &Text| range.clone().map(|range| &self.text[range]);
        if !is_request(&pseudo, text) {
            return Err(StreamError::PseudoField);
        }
        let hosts = text(&pseudo.authority).zip(text(&self.host));
        if hosts.is_some_and(|(authority, host)| !authority.eq_ignore_ascii_case(host)) {
            return Err(StreamError::HostDiffers);
        }
        Ok(RequestParts { pseudo, content_length })
    }
}

/// Whether these are the pseudo-fields that a request has: all but the authority (RFC 9113 8.3.1),
/// and for CONNECT no scheme and no path (8.5) unless it has a protocol (RFC 8441 4).
fn is_request<'t>(pseudo: &Pseudo, text: impl Fn(&Text) -> Option<&'t [u8]>) -> bool {
    let is_connect = text(&pseudo.method) == Some(b"CONNECT");
    if is_connect && pseudo.protocol.is_none() {
        return pseudo.authority.is_some() && pseudo.scheme.is_none() && pseudo.path.is_none();
    }
    let Some(path) = text(&pseudo.path) else { return false };
    let is_whole = path == b"*" && text(&pseudo.method) == Some(b"OPTIONS");
    let has_fitting_protocol = is_connect || pseudo.protocol.is_none();
    let has_fitting_path = path.starts_with(b"/") || is_whole;
    pseudo.method.is_some() && pseudo.scheme.is_some() && has_fitting_path && has_fitting_protocol
}

/// RFC 3986 3.1.
fn is_scheme(value: &[u8]) -> bool {
    let is_scheme_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    value.first().is_some_and(u8::is_ascii_alphabetic) && value.iter().all(is_scheme_byte)
}
