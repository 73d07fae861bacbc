//! The client's side: decodes a server's bytes into responses.

use std::mem::MaybeUninit;

use super::body::{Message, Step};
use super::carry::Carry;
use super::fold::{bad_line, folds_framing, unfold};
use super::framing::{self, Framing};
use super::{
    BodyLength, DecodeError, Decoded, HEADERS_MAX, Headers, INTERIM_MAX, Limits, RequestKind,
};

/// Reads the responses on one connection.
#[derive(Debug, Clone)]
pub struct ResponseDecoder {
    limits: Limits,
    carry: Carry,
    message: Message,
    /// Interim responses since the last final one.
    interim: u8,
    /// The carried bytes are an interim head that was handed out.
    carries_interim: bool,
    /// `None` unless trailers are to be kept. Boxed, because an idle connection is to be small.
    trailers: Option<Box<Trailers>>,
}

/// The trailer section of a response, behind an empty line; empty if there is none.
#[derive(Debug, Clone, Default)]
struct Trailers(Vec<u8>);

/// What a server sent.
#[derive(Debug, Clone)]
pub enum ResponseEvent<'a> {
    /// The head of an interim response, 100 or 102 to 199; the final one is still to come.
    Interim(ResponseHead<'a>),
    /// The head of a final response (or of 101, which ends HTTP on this connection).
    Head(ResponseHead<'a>),
    /// A piece of the body; never empty.
    Body(&'a [u8]),
    /// The response is complete.
    End(ResponseEnd),
}

/// The head of a response.
#[derive(Debug, Clone)]
pub struct ResponseHead<'a> {
    /// 100 to 199 of an interim response; of a final one 101, or 200 to 999.
    pub status: u16,
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub minor_version: u8,
    /// How the body ends.
    pub body: BodyLength,
    bytes: &'a [u8],
}

impl<'a> ResponseHead<'a> {
    /// The header fields, scanned when the iterator is advanced.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers::of_head(self.bytes)
    }

    /// The whole head as it came, from the status line to the blank line.
    #[must_use]
    pub fn head_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// How a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResponseEnd {
    /// Whether another request may be sent on the connection.
    pub keep_alive: bool,
}

/// The result of parsing a whole head.
struct Parsed {
    head_bytes: usize,
    status: u16,
    minor_version: u8,
    framing: Framing,
    /// The head with its folds joined, if it has any.
    unfolded: Option<Box<[u8]>>,
}

impl ResponseDecoder {
    /// A decoder for a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            carry: Carry::default(),
            message: Message::of_response(),
            interim: 0,
            carries_interim: false,
            trailers: None,
        }
    }

    /// The same, but it keeps the trailers of a response. They are dropped otherwise.
    #[must_use]
    pub fn keeping_trailers(self) -> Self {
        Self { trailers: Some(Box::default()), ..self }
    }

    /// The trailers of the response that ended last, if they are kept: none until it has ended.
    #[must_use]
    pub fn trailers(&self) -> Headers<'_> {
        Headers::of_head(self.trailers.as_ref().map_or(&[], |trailers| &trailers.0))
    }

    /// Reads the next event out of `input`; `kind` is that of the oldest request not yet answered.
    /// The [module](super) says how to loop.
    ///
    /// # Errors
    /// When the bytes are not a response, or longer than the limits; then for every further call.
    #[inline]
    pub fn decode<'a>(
        &'a mut self,
        kind: RequestKind,
        input: &'a [u8],
    ) -> Result<Decoded<ResponseEvent<'a>>, DecodeError> {
        if self.message.wants_head() {
            if self.carries_interim {
                self.release_interim();
            }
            return self.decode_head(kind, input);
        }
        self.carry.release();
        Ok(match self.message.step(&self.limits, input)? {
            Step::More { trailer_bytes } => {
                self.keep(&input[input.len() - trailer_bytes..]);
                Decoded::more(input)
            }
            Step::Body { consumed, piece } => {
                Decoded { consumed, event: Some(ResponseEvent::Body(piece)) }
            }
            Step::End { consumed, trailer_bytes, keep_alive } => {
                self.keep(&input[consumed - trailer_bytes..consumed]);
                self.unfold_trailers();
                Decoded { consumed, event: Some(ResponseEvent::End(ResponseEnd { keep_alive })) }
            }
        })
    }

    /// The server sends no more (a FIN). Returns the end of a response that the close completes, or
    /// `None` if no response was under way.
    ///
    /// # Errors
    /// When the close cuts a response short, or the decoder had failed before.
    pub fn end(&mut self) -> Result<Option<ResponseEnd>, DecodeError> {
        if self.message.wants_head() && !self.is_idle() {
            let parsed = parse(RequestKind::Plain, self.limits.headers, self.carry.bytes());
            let error = parsed.err().unwrap_or(DecodeError::TruncatedHead);
            return Err(self.message.fail(error));
        }
        Ok(self.message.end()?.then_some(ResponseEnd { keep_alive: false }))
    }

    /// Whether the decoder is between responses, with no byte of the next one read.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.message.wants_head() && self.carry.is_empty() && self.interim == 0
    }

    /// Starts anew, for another connection.
    pub fn reset(&mut self) {
        self.carry.release();
        self.message = Message::of_response();
        self.interim = 0;
        self.carries_interim = false;
        self.forget_trailers();
    }

    /// Keeps a part of the trailer section, if the caller asked for trailers.
    #[inline]
    fn keep(&mut self, section: &[u8]) {
        if let Some(trailers) = self.trailers.as_mut().filter(|_| !section.is_empty()) {
            if trailers.0.is_empty() {
                trailers.0.extend_from_slice(b"\r\n");
            }
            trailers.0.extend_from_slice(section);
        }
    }

    #[inline]
    fn unfold_trailers(&mut self) {
        if let Some(trailers) = self.trailers.as_mut().filter(|it| !it.0.is_empty())
            && let Some(unfolded) = unfold(&trailers.0)
        {
            trailers.0 = unfolded;
        }
    }

    #[inline]
    fn forget_trailers(&mut self) {
        if let Some(trailers) = self.trailers.as_mut().filter(|it| it.0.capacity() > 0) {
            trailers.0 = Vec::new();
        }
    }

    #[cold]
    fn release_interim(&mut self) {
        self.carry.release();
        self.carries_interim = false;
    }

    #[inline]
    fn decode_head<'a>(
        &'a mut self,
        kind: RequestKind,
        input: &'a [u8],
    ) -> Result<Decoded<ResponseEvent<'a>>, DecodeError> {
        let skipped = match self.carry.skip_blank_lines(self.limits.head_bytes, input) {
            Ok(skipped) => skipped,
            Err(error) => return Err(self.message.fail(error)),
        };
        let rest = &input[skipped..];
        if rest.is_empty() {
            return Ok(Decoded::more(input));
        }
        if !self.carry.is_empty() {
            return self.decode_carried(kind, input);
        }
        let room = self.carry.room(self.limits.head_bytes);
        let window = &rest[..rest.len().min(room)];
        match parse(kind, self.limits.headers, window) {
            Ok(Some(parsed)) => {
                self.carry.release();
                let taken = self.begin(&parsed)?;
                let head = match &parsed.unfolded {
                    None => &rest[..parsed.head_bytes],
                    Some(unfolded) => self.carry_unfolded(&parsed, unfolded),
                };
                Ok(Decoded { consumed: skipped + taken, event: Some(parsed.event(head)) })
            }
            Ok(None) if rest.len() > room => Err(self.message.fail(DecodeError::HeadTooLong)),
            Ok(None) => {
                self.carry.start(rest);
                Ok(Decoded::more(input))
            }
            Err(error) => Err(self.message.fail(error)),
        }
    }

    /// Continues a head that began in an earlier input.
    #[cold]
    fn decode_carried<'a>(
        &'a mut self,
        kind: RequestKind,
        input: &[u8],
    ) -> Result<Decoded<ResponseEvent<'a>>, DecodeError> {
        let headers_max = self.limits.headers;
        let parse = |bytes: &[u8]| parse(kind, headers_max, bytes);
        match self.carry.add(self.limits.head_bytes, input, parse) {
            Ok(Some((parsed, taken))) => {
                // The part of the head that this input does not hold was consumed before.
                let carried = parsed.head_bytes - taken;
                let consumed = self.begin(&parsed)?;
                self.carries_interim = parsed.is_interim();
                let head = match &parsed.unfolded {
                    None => self.carry.bytes(),
                    Some(unfolded) => self.carry_unfolded(&parsed, unfolded),
                };
                let event = parsed.event(head);
                Ok(Decoded { consumed: consumed - carried, event: Some(event) })
            }
            Ok(None) => Ok(Decoded::more(input)),
            Err(error) => Err(self.message.fail(error)),
        }
    }

    /// Keeps a head whose folds were joined for as long as its event is looked at.
    #[cold]
    fn carry_unfolded(&mut self, parsed: &Parsed, unfolded: &[u8]) -> &[u8] {
        self.carry.hold(unfolded);
        self.carries_interim = parsed.is_interim();
        self.carry.bytes()
    }

    /// Continues after a head. Returns how many bytes of it to consume.
    #[inline]
    fn begin(&mut self, parsed: &Parsed) -> Result<usize, DecodeError> {
        if parsed.is_interim() {
            if self.interim == INTERIM_MAX {
                return Err(self.message.fail(DecodeError::TooManyInterim));
            }
            self.interim += 1;
            return Ok(parsed.head_bytes);
        }
        self.interim = 0;
        self.forget_trailers();
        self.message.begin(&self.limits, parsed.framing, parsed.head_bytes)
    }
}

impl Parsed {
    fn is_interim(&self) -> bool {
        is_interim(self.status)
    }

    #[inline]
    fn event<'a>(&self, bytes: &'a [u8]) -> ResponseEvent<'a> {
        let head = ResponseHead {
            status: self.status,
            minor_version: self.minor_version,
            body: self.framing.body,
            bytes,
        };
        if self.is_interim() { ResponseEvent::Interim(head) } else { ResponseEvent::Head(head) }
    }
}

/// 1xx, except 101: that one is the last HTTP on its connection (RFC 9110 15.2.2).
fn is_interim(status: u16) -> bool {
    matches!(status, 100 | 102..=199)
}

/// Reads a head; `None` when it is not whole yet.
#[inline]
fn parse(
    kind: RequestKind,
    headers_max: usize,
    bytes: &[u8],
) -> Result<Option<Parsed>, DecodeError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    match parse_with(kind, bytes, &mut headers[..headers_max.min(HEADERS_MAX)]) {
        Err(DecodeError::TooManyHeaders) if headers_max > HEADERS_MAX => {
            parse_many(kind, headers_max, bytes)
        }
        parsed => parsed,
    }
}

/// Reads a head that has more fields than the stack has places for.
#[cold]
fn parse_many(
    kind: RequestKind,
    headers_max: usize,
    bytes: &[u8],
) -> Result<Option<Parsed>, DecodeError> {
    // The first line is no field, but the last field may still lack the end of its line.
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count();
    let mut headers = vec![MaybeUninit::uninit(); lines.min(headers_max)];
    parse_with(kind, bytes, &mut headers)
}

/// Reads a head with a place for each of its fields, joining folds where it has some.
#[inline]
fn parse_with<'a>(
    kind: RequestKind,
    bytes: &'a [u8],
    headers: &mut [MaybeUninit<httparse::Header<'a>>],
) -> Result<Option<Parsed>, DecodeError> {
    let places = headers.len();
    match parse_plain(kind, bytes, headers) {
        Ok(parsed) => Ok(parsed),
        Err(Refusal::Decode(error)) => Err(error),
        Err(Refusal::Grammar(error)) => refused(kind, places, error, bytes),
    }
}

/// Why a head was not read.
enum Refusal {
    /// Its grammar.
    Grammar(httparse::Error),
    /// What it says.
    Decode(DecodeError),
}

/// Reads a head without folds with a place for each of its fields.
#[inline]
fn parse_plain<'a>(
    kind: RequestKind,
    bytes: &'a [u8],
    headers: &mut [MaybeUninit<httparse::Header<'a>>],
) -> Result<Option<Parsed>, Refusal> {
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    let head_bytes = match config.parse_response_with_uninit_headers(&mut response, bytes, headers)
    {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(Refusal::Grammar(error)),
    };
    let (Some(status @ 100..), Some(minor_version)) = (response.code, response.version) else {
        return Err(Refusal::Decode(DecodeError::MalformedHead));
    };
    let framing = if is_interim(status) {
        Framing { body: BodyLength::None, keep_alive: true, expect_continue: false }
    } else {
        framing::response(kind, status, minor_version, response.headers).map_err(Refusal::Decode)?
    };
    Ok(Some(Parsed { head_bytes, status, minor_version, framing, unfolded: None }))
}

/// Reads a head again that was refused, its folds joined; says what is wrong if that is not it.
#[cold]
fn refused(
    kind: RequestKind,
    places: usize,
    error: httparse::Error,
    bytes: &[u8],
) -> Result<Option<Parsed>, DecodeError> {
    if !matches!(error, httparse::Error::HeaderName | httparse::Error::HeaderValue) {
        return Err(refusal(error, bytes));
    }
    let mut headers = vec![httparse::EMPTY_HEADER; places];
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let read = config.parse_response(&mut httparse::Response::new(&mut headers), bytes);
    let head_bytes = match read {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(DecodeError::TooManyHeaders),
        Err(_) => return Err(bad_line(bytes)),
    };
    let head = &bytes[..head_bytes];
    let unfolded = unfold(head).ok_or(DecodeError::MalformedHead)?;
    let mut headers = vec![MaybeUninit::uninit(); places];
    let parsed = match parse_plain(kind, &unfolded, &mut headers) {
        Ok(parsed) => parsed,
        Err(Refusal::Decode(error)) => return Err(error),
        Err(Refusal::Grammar(_)) => return Err(bad_line(&unfolded)),
    };
    let Some(Parsed { status, minor_version, mut framing, .. }) = parsed else {
        return Err(DecodeError::MalformedHead);
    };
    framing.keep_alive &= !folds_framing(head);
    let unfolded = Some(unfolded.into_boxed_slice());
    Ok(Some(Parsed { head_bytes, status, minor_version, framing, unfolded }))
}

#[cold]
fn refusal(error: httparse::Error, bytes: &[u8]) -> DecodeError {
    match error {
        httparse::Error::TooManyHeaders => DecodeError::TooManyHeaders,
        httparse::Error::Version if bytes.starts_with(b"HTTP/") => DecodeError::UnsupportedVersion,
        // The first byte alone, since no more may have come.
        _ if bytes.first().is_some_and(|byte| TLS_RECORDS.contains(byte)) => DecodeError::TlsRecord,
        _ => DecodeError::MalformedHead,
    }
}

/// The first byte of a TLS server's first record: an alert or a handshake (RFC 8446 5.1).
const TLS_RECORDS: [u8; 2] = [21, 22];
