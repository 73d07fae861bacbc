//! One client: turns its bytes into requests, and keeps the state of the request that is being read
//! or answered.
//!
//! Requests are answered strictly in order, one at a time. While one waits for its time or for its
//! body to be sent, further bytes of the client are held, up to a limit, and read afterwards.
//!
//! ```text
//!             Step::Answer or ::Refuse, not due yet              timer
//!   Open ───────────────────────────────────────▶ Waiting ──────────────▶ Open
//!    │ ▲    body longer than one turn, or client slow to read    Sent
//!    │ └─────────────────────────────────────────── Sending ◀──┘
//!    │   refused: drops input for a while, so that the client can read why
//!    ├───────────────────────────────────────────▶ Lingering ── timer or FIN ──▶ closed
//!    └── last answer ────────────────────────────▶ Closing ──── Sent ──────────▶ closed
//! ```
//!
//! Pure: it has no driver and no clock; `server` moves the bytes.

use std::net::SocketAddr;

use plimsoll_proto::http1::{
    BodyLength, DecodeError, Limits, RequestDecoder, RequestEvent, RequestHead,
};

use crate::answer::TEXT;
use crate::answer::http1::{RequestForm, Rest, write_echo_fields};
use crate::faults::Outcome;
use crate::http2::Http2;
use crate::pool::{Pool, TOO_LARGE, Work};
use crate::route::{Echo, Refusal, Role, Route, route};
use crate::site::{Shaper, SiteOptions};
use crate::websocket::{self, Channel};

/// What a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// Not known yet. As many bytes have come that HTTP/2 begins with.
    Unknown(u8),
    Http1,
    Http2,
}

/// What HTTP/2 begins with (RFC 9113 3.4), up to where it differs from every request of HTTP/1.
pub(crate) const HTTP2_START: &[u8] = b"PRI * HTTP/2.0\r\n";

impl Spoken {
    /// What is known with these bytes behind those that have come.
    pub(crate) fn with(self, input: &[u8]) -> Self {
        let Self::Unknown(matched) = self else { return self };
        let rest = &HTTP2_START[usize::from(matched)..];
        let bytes = rest.len().min(input.len());
        match input[..bytes] == rest[..bytes] {
            false => Self::Http1,
            true if bytes == rest.len() => Self::Http2,
            true => Self::Unknown(matched + bytes as u8),
        }
    }
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing: the slot is free.
    Free,
    /// Reading requests.
    Open,
    /// Input is held until a time.
    Waiting(Next),
    /// Input is held until what was sent is with the kernel.
    Sending,
    /// Input is dropped until the client closes or a time comes.
    Lingering,
    /// Input is dropped until what was sent is with the kernel.
    Closing,
}

/// What to do when the timer fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Answer the request.
    Answer(Outcome),
    /// Nothing: a program answers when it likes.
    Handled,
    /// Tell the client to send the body.
    Continue,
    /// Say what was wrong.
    Refuse(Refusal),
    /// Go on sending.
    Send,
    /// Greet a client that speaks HTTP/2.
    Greet,
    /// Send the next fragment of a WebSocket's answer.
    Fragment,
}

/// Where reading a stretch of input stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// At its end.
    More,
    /// At the end of a request for the hello that was rendered beforehand.
    Hello,
    /// At the end of any other request.
    Answer,
    /// The client waits for permission to send its body.
    Continue,
    /// The request is refused, and the connection ends.
    Refuse(Refusal),
}

/// The request being read or answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) route: Route,
    pub(crate) is_head: bool,
    pub(crate) minor_version: u8,
    pub(crate) keep_alive: bool,
}

impl Request {
    pub(crate) fn form(&self) -> RequestForm {
        RequestForm { is_head: self.is_head, minor_version: self.minor_version }
    }
}

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    decoder: RequestDecoder,
    pub(crate) peer: SocketAddr,
    pub(crate) role: Role,
    pub(crate) state: State,
    pub(crate) spoken: Spoken,
    pub(crate) http2: Option<Box<Http2>>,
    pub(crate) request: Request,
    /// When to check this connection; `u64::MAX` for never.
    pub(crate) timer_ns: u64,
    /// Answers begun so far.
    pub(crate) answers: u32,
    /// Whether the client will send no more.
    pub(crate) ended: bool,
    /// Whether the answer under way is the last.
    pub(crate) last: bool,
    /// Whether receiving is paused, because the client does not take what was sent, or the answer
    /// of a WebSocket waits.
    pub(crate) is_paused: bool,
    /// What remains of the body being sent.
    pub(crate) rest: Rest,
    pub(crate) work: Option<Box<Work>>,
    /// The request that a program answers.
    pub(crate) ticket: u64,
    /// The WebSocket that was asked for, or that it has become.
    pub(crate) channel: Option<Box<Channel>>,
    held: Vec<u8>,
    held_at: usize,
}

impl Connection {
    /// A free slot.
    pub(crate) fn free(limits: Limits) -> Self {
        Self {
            decoder: RequestDecoder::new(limits),
            peer: SocketAddr::from(([0, 0, 0, 0], 0)),
            role: Role::All,
            state: State::Free,
            spoken: Spoken::Unknown(0),
            http2: None,
            request: Request {
                route: Route::Hello,
                is_head: false,
                minor_version: 1,
                keep_alive: true,
            },
            timer_ns: u64::MAX,
            answers: 0,
            ended: false,
            last: false,
            is_paused: false,
            rest: Rest::Nothing,
            work: None,
            ticket: 0,
            channel: None,
            held: Vec::new(),
            held_at: 0,
        }
    }

    /// Takes the slot for a new client.
    pub(crate) fn open(&mut self, role: Role, peer: SocketAddr) {
        debug_assert_eq!(self.state, State::Free);
        self.state = State::Open;
        self.role = role;
        self.peer = peer;
        if role == Role::Bytes {
            self.spoken = Spoken::Http1;
        }
    }

    /// Frees the slot and the memory it held.
    pub(crate) fn clear(&mut self, pool: &mut Pool) {
        self.decoder.reset();
        self.state = State::Free;
        self.spoken = Spoken::Unknown(0);
        self.timer_ns = u64::MAX;
        self.answers = 0;
        self.ended = false;
        self.last = false;
        self.is_paused = false;
        self.rest = Rest::Nothing;
        self.channel = None;
        self.ticket = 0;
        self.held = Vec::new();
        self.held_at = 0;
        if let Some(work) = self.work.take() {
            pool.put(work);
        }
    }

    /// Whether the connection is between two requests, or a WebSocket that is not answering.
    pub(crate) fn is_idle(&self) -> bool {
        let is_channel = self.channel.as_ref().is_some_and(|channel| channel.is_open);
        let is_idle = match &self.http2 {
            Some(http2) => http2.is_idle(),
            None => is_channel || self.role == Role::Bytes || self.decoder.is_idle(),
        };
        self.state == State::Open && is_idle
    }

    /// Reads up to the next step that is due. Returns the bytes used up and that step. With
    /// `plain`, hellos that need nothing special are a step of their own.
    #[inline]
    pub(crate) fn step(
        &mut self,
        input: &[u8],
        plain: bool,
        echo_bytes_max: u64,
        site: &SiteOptions,
        pool: &mut Pool,
    ) -> (usize, Step) {
        let mut at = 0;
        loop {
            let decoded = match self.decoder.decode(&input[at..]) {
                Ok(decoded) => decoded,
                Err(error) => return (input.len(), Step::Refuse(refusal(error))),
            };
            at += decoded.consumed;
            match decoded.event {
                None => return (at, Step::More),
                Some(RequestEvent::Head(head)) => {
                    let request = &mut self.request;
                    request.is_head = head.method == "HEAD";
                    request.minor_version = head.minor_version;
                    request.keep_alive = head.keep_alive;
                    request.route = match admit(self.role, &head, echo_bytes_max, site) {
                        Ok(route) => route,
                        Err(refusal) => return (input.len(), Step::Refuse(refusal)),
                    };
                    if request.route == Route::Page {
                        (self.channel, request.route) = upgrade(&head, echo_bytes_max);
                    }
                    if let Route::Echo(echo) = request.route {
                        begin_echo(echo, &head, self.work.insert(pool.take()));
                    }
                    if let Route::Site | Route::Handled | Route::Redirect = request.route {
                        self.work = begin_site(request.route, &head, site, pool);
                    }
                    if head.expect_continue {
                        return (at, Step::Continue);
                    }
                }
                Some(RequestEvent::Body(piece)) => {
                    if let Some(work) = &mut self.work
                        && let Err(refusal) = pool.extend(work, piece, echo_bytes_max)
                    {
                        return (input.len(), Step::Refuse(refusal));
                    }
                }
                Some(RequestEvent::End(_)) => {
                    let request = &self.request;
                    let hello = plain
                        && request.route == Route::Hello
                        && request.keep_alive
                        && !request.is_head
                        && request.minor_version == 1;
                    return (at, if hello { Step::Hello } else { Step::Answer });
                }
            }
        }
    }

    /// Holds input for later; `false` when that would be more than `bytes_max`.
    pub(crate) fn hold(&mut self, input: &[u8], bytes_max: usize) -> bool {
        if self.held.len() - self.held_at + input.len() > bytes_max {
            return false;
        }
        self.held.drain(..self.held_at);
        self.held_at = 0;
        self.held.extend_from_slice(input);
        true
    }

    /// Takes the held input, and the position up to which it has been used up.
    pub(crate) fn take_held(&mut self) -> (Vec<u8>, usize) {
        (std::mem::take(&mut self.held), std::mem::take(&mut self.held_at))
    }

    /// Puts back the input from [`take_held`](Self::take_held), used up to `at`.
    pub(crate) fn put_held(&mut self, held: Vec<u8>, at: usize) {
        self.held = held;
        self.held_at = at;
    }
}

const NO_HOST: Refusal =
    Refusal { status: 400, line: "HTTP/1.1 requires one Host header (RFC 9112 section 3.2)" };

/// The route of a request, or why it gets none.
#[inline]
fn admit(
    role: Role,
    head: &RequestHead<'_>,
    echo_bytes_max: u64,
    site: &SiteOptions,
) -> Result<Route, Refusal> {
    let hosts = || head.headers().filter(|(name, _)| name.eq_ignore_ascii_case("host")).count();
    if head.minor_version == 1 && hosts() != 1 {
        return Err(NO_HOST);
    }
    let route = match route(role, head.method, head.target) {
        Route::Site if site.is_handled(head.target) => Route::Handled,
        route => route,
    };
    match (route, head.body) {
        (Route::Echo(_) | Route::Site | Route::Handled, BodyLength::Known(count))
            if count > echo_bytes_max =>
        {
            Err(TOO_LARGE)
        }
        _ => Ok(route),
    }
}

/// Keeps what the answer of a site needs of the request; nothing if that is the plain one.
fn begin_site(
    route: Route,
    head: &RequestHead<'_>,
    site: &SiteOptions,
    pool: &mut Pool,
) -> Option<Box<Work>> {
    let has_body = !matches!(head.body, BodyLength::None | BodyLength::Known(0));
    if route == Route::Site && !has_body && Shaper::is_plain(site, head.target) {
        return None;
    }
    let mut work = pool.take();
    match route {
        Route::Site => {
            let has_length = matches!(head.body, BodyLength::Known(_));
            work.site.begin(head.target, has_length, head.headers());
        }
        _ => work.head.extend_from_slice(head.head_bytes()),
    }
    Some(work)
}

/// What becomes of a request for `/ws`.
fn upgrade(head: &RequestHead<'_>, message_bytes: u64) -> (Option<Box<Channel>>, Route) {
    match websocket::open(head, message_bytes) {
        Ok(None) => (None, Route::Page),
        Ok(channel) => (channel, Route::WebSocket),
        Err(refusal) => (None, Route::Refused(refusal)),
    }
}

/// Starts the answer of an echo with what the head alone decides.
fn begin_echo(echo: Echo, head: &RequestHead<'_>, work: &mut Work) {
    let has_body = !matches!(head.body, BodyLength::None | BodyLength::Known(0));
    let shows_head = match echo {
        Echo::Body => false,
        Echo::Request => !has_body,
        Echo::Full => true,
    };
    let content_type = || {
        let mut headers = head.headers();
        headers.find(|(name, _)| name.eq_ignore_ascii_case("content-type")).map(|(_, value)| value)
    };
    let request = (echo != Echo::Body).then_some((head.method, head.target));
    let content_type = if shows_head { Some(TEXT) } else { content_type() };
    write_echo_fields(&mut work.fields, request, content_type);
    if shows_head {
        work.body.extend_from_slice(head.head_bytes());
    }
}

/// The refusal of bytes that are not a request.
pub(crate) fn refusal(error: DecodeError) -> Refusal {
    use DecodeError as E;
    let (status, line) = match error {
        E::HeadTooLong => (431, "the request head is too long"),
        E::TooManyHeaders => (431, "the request has too many header fields"),
        E::TrailersTooLong => (431, "the trailer fields are too long"),
        E::BodyTooLong => (413, "the body is too long"),
        E::UnsupportedVersion => (505, "only HTTP/1.0 and HTTP/1.1 are spoken here"),
        E::BadTransferEncoding => (501, "the only transfer coding understood is one chunked"),
        E::BadContentLength => (400, "Content-Length is not a number"),
        E::ConflictingLength => (400, "the length of the body is stated in conflicting ways"),
        E::BadChunk | E::ChunkLineTooLong => (400, "the chunked body is malformed"),
        E::MalformedHead
        | E::MalformedField(_)
        | E::TlsRecord
        | E::TooManyInterim
        | E::TruncatedHead
        | E::TruncatedBody => (400, "the request is malformed"),
    };
    Refusal { status, line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<Connection>() <= 392, "{} bytes", size_of::<Connection>());
    }

    #[test]
    fn hold_is_bounded_by_what_is_not_read_yet() {
        let mut connection = Connection::free(Limits::default());
        assert!(connection.hold(b"abcdef", 8));
        assert!(!connection.hold(b"ghi", 8));
        let (held, at) = connection.take_held();
        assert_eq!((held.as_slice(), at), (b"abcdef".as_slice(), 0));
        connection.put_held(held, 4);
        assert!(connection.hold(b"ghijkl", 8));
        assert!(!connection.hold(b"m", 8));
        let (held, at) = connection.take_held();
        assert_eq!(&held[at..], b"efghijkl");
        assert_eq!(connection.take_held().0.capacity(), 0);
    }
}
