//! The server's side: decodes a client's bytes into requests.

use std::mem::MaybeUninit;

use super::body::{Message, Step};
use super::carry::Carry;
use super::framing::{self, Framing};
use super::{BodyLength, DecodeError, Decoded, HEADERS_MAX, Headers, Limits};

/// Reads the requests on one connection.
#[derive(Debug, Clone)]
pub struct RequestDecoder {
    limits: Limits,
    carry: Carry,
    message: Message,
}

/// What a client sent.
#[derive(Debug, Clone)]
pub enum RequestEvent<'a> {
    /// The head of a request.
    Head(RequestHead<'a>),
    /// A piece of the body; never empty.
    Body(&'a [u8]),
    /// The request is complete.
    End(RequestEnd),
}

/// The head of a request.
#[derive(Debug, Clone)]
pub struct RequestHead<'a> {
    /// As sent: methods are case-sensitive.
    pub method: &'a str,
    /// The request target as sent, in any of its forms (RFC 9112 3.2).
    pub target: &'a str,
    /// 0 for HTTP/1.0, 1 for HTTP/1.1.
    pub minor_version: u8,
    /// Whether the client wants to keep the connection after the response.
    pub keep_alive: bool,
    /// Whether the client may be waiting for a 100 response before it sends the body (RFC 9110
    /// 10.1.1); never without a body.
    pub expect_continue: bool,
    /// How the body ends; never `UntilClose`.
    pub body: BodyLength,
    bytes: &'a [u8],
}

impl<'a> RequestHead<'a> {
    /// The header fields, scanned when the iterator is advanced.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        Headers::of_head(self.bytes)
    }

    /// The whole head as it came, from the request line to the blank line.
    #[must_use]
    pub fn head_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestEnd {
    /// As in the head: whether another request may follow.
    pub keep_alive: bool,
}

impl RequestDecoder {
    /// A decoder for a new connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { limits, carry: Carry::default(), message: Message::new() }
    }

    /// Reads the next event out of `input`. The [module](super) says how to loop.
    ///
    /// # Errors
    /// When the bytes are not a request, or longer than the limits; then for every further call.
    #[inline]
    pub fn decode<'a>(
        &'a mut self,
        input: &'a [u8],
    ) -> Result<Decoded<RequestEvent<'a>>, DecodeError> {
        if self.message.wants_head() {
            return self.decode_head(input);
        }
        self.carry.release();
        Ok(match self.message.step(&self.limits, input)? {
            Step::More { .. } => Decoded::more(input),
            Step::Body { consumed, piece } => {
                Decoded { consumed, event: Some(RequestEvent::Body(piece)) }
            }
            Step::End { consumed, keep_alive, .. } => {
                Decoded { consumed, event: Some(RequestEvent::End(RequestEnd { keep_alive })) }
            }
        })
    }

    /// The client sends no more (a FIN).
    ///
    /// # Errors
    /// When the close cuts a request short, or the decoder had failed before.
    pub fn end(&mut self) -> Result<(), DecodeError> {
        if self.message.wants_head() && !self.carry.is_empty() {
            let parsed = parse(self.limits.headers, self.carry.bytes());
            let error = parsed.err().unwrap_or(DecodeError::TruncatedHead);
            return Err(self.message.fail(error));
        }
        self.message.end().map(drop)
    }

    /// Whether the decoder is between requests, with no byte of the next one read.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.message.wants_head() && self.carry.is_empty()
    }

    /// Starts anew, for another connection.
    pub fn reset(&mut self) {
        self.carry.release();
        self.message = Message::new();
    }

    #[inline]
    fn decode_head<'a>(
        &'a mut self,
        input: &'a [u8],
    ) -> Result<Decoded<RequestEvent<'a>>, DecodeError> {
        let skipped = match self.carry.skip_blank_lines(self.limits.head_bytes, input) {
            Ok(skipped) => skipped,
            Err(error) => return Err(self.message.fail(error)),
        };
        let rest = &input[skipped..];
        if rest.is_empty() {
            return Ok(Decoded::more(input));
        }
        if !self.carry.is_empty() {
            return self.decode_carried(input);
        }
        let room = self.carry.room(self.limits.head_bytes);
        let window = &rest[..rest.len().min(room)];
        match parse(self.limits.headers, window) {
            Ok(Some(head)) => {
                self.carry.release();
                let taken = self.message.begin(&self.limits, head.framing(), head.bytes.len())?;
                Ok(Decoded { consumed: skipped + taken, event: Some(RequestEvent::Head(head)) })
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
        input: &[u8],
    ) -> Result<Decoded<RequestEvent<'a>>, DecodeError> {
        let headers_max = self.limits.headers;
        let parse = |bytes: &'a [u8]| parse(headers_max, bytes);
        match self.carry.add(self.limits.head_bytes, input, parse) {
            Ok(Some((head, taken))) => {
                // The part of the head that this input does not hold was consumed before.
                let carried = head.bytes.len() - taken;
                let consumed =
                    self.message.begin(&self.limits, head.framing(), head.bytes.len())?;
                Ok(Decoded { consumed: consumed - carried, event: Some(RequestEvent::Head(head)) })
            }
            Ok(None) => Ok(Decoded::more(input)),
            Err(error) => Err(self.message.fail(error)),
        }
    }
}

impl RequestHead<'_> {
    fn framing(&self) -> Framing {
        Framing {
            body: self.body,
            keep_alive: self.keep_alive,
            expect_continue: self.expect_continue,
        }
    }
}

/// Reads a head; `None` when it is not whole yet.
#[inline]
fn parse(headers_max: usize, bytes: &[u8]) -> Result<Option<RequestHead<'_>>, DecodeError> {
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let headers = &mut headers[..headers_max.min(HEADERS_MAX)];
    let mut request = httparse::Request::new(&mut []);
    let head_bytes = match request.parse_with_uninit_headers(bytes, headers) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(refusal(error, bytes)),
    };
    let (Some(method), Some(target), Some(minor_version)) =
        (request.method, request.path, request.version)
    else {
        return Err(DecodeError::MalformedHead);
    };
    let framing = framing::request(minor_version, request.headers)?;
    Ok(Some(RequestHead {
        method,
        target,
        minor_version,
        keep_alive: framing.keep_alive,
        expect_continue: framing.expect_continue,
        body: framing.body,
        bytes: &bytes[..head_bytes],
    }))
}

#[cold]
fn refusal(error: httparse::Error, bytes: &[u8]) -> DecodeError {
    let version = || bytes.splitn(3, |&byte| byte == b' ').nth(2);
    match error {
        httparse::Error::TooManyHeaders => DecodeError::TooManyHeaders,
        httparse::Error::Version if version().is_some_and(|it| it.starts_with(b"HTTP/")) => {
            DecodeError::UnsupportedVersion
        }
        _ => DecodeError::MalformedHead,
    }
}
