//! A request and its answer, on a stream of its own.
//!
//! ```text
//!   Reading ── request ends, not due yet ──▶ Waiting ── due ──┬─ small answer ──▶ done
//!      │  └─── request ends, due ─────────────────────────────┤
//!      │                                                      ├─ Sending ── all sent ──▶ done
//!      ├────── echo with a body ──▶ Waiting or at once ───────┼─ Echoing ── request ends ──▶ done
//!      │                                                      │    └─ Trailing ──▶ done
//!      └────── call that answers early ──▶ Waiting or at once ┴─ Calling ── its status ──▶ done
//! ```

use plimsoll_proto::http2::{Headers, RequestHead};

use crate::answer::{BINARY, TEXT};
use crate::faults::StreamOutcome;
use crate::grpc::{Call, Method, is_grpc};
use crate::route::{Echo, HANDLED_OVER_HTTP2, NO_CALL, NO_ROUTE, NOT_GRPC, Role, Route, route};
use crate::site::{Parts, Shaper, SiteOptions, has_body};

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 16 * 1024;

/// What of a request decides its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) route: Route,
    pub(super) is_head: bool,
}

impl Request {
    #[inline]
    pub(super) fn of(head: &RequestHead<'_>, role: Role, site: &SiteOptions) -> Self {
        let (method, path) = (head.method(), head.path().unwrap_or_default());
        let is_call = || method == "POST" && is_grpc(head.headers());
        let route = match route(role, method, path) {
            Route::Call(_) if !is_call() => Route::Refused(NOT_GRPC),
            Route::Site if site.is_handled(path) => Route::Refused(HANDLED_OVER_HTTP2),
            Route::Redirect => Route::Refused(HANDLED_OVER_HTTP2),
            Route::Refused(NO_ROUTE | NO_CALL) if is_call() => Route::Call(Method::Unknown),
            route => route,
        };
        Self { route, is_head: method == "HEAD" }
    }

    /// Whether nothing of a request without a body need be kept until its end is told.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        !matches!(self.route, Route::Echo(_) | Route::Call(_) | Route::Site)
    }
}

/// How far an exchange is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request has not ended.
    #[default]
    Reading,
    /// The answer is not due.
    Waiting(StreamOutcome),
    /// The head of an echo has been sent, and its body goes out as it comes in.
    Echoing,
    /// The trailers of an echo wait for the client's window.
    Trailing,
    /// A long body is being sent.
    Sending,
    /// A call is being answered.
    Calling,
}

/// An exchange. Its buffers serve later ones.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) request: Request,
    pub(super) stage: Stage,
    /// When the stage is over; `u64::MAX` if no time decides that.
    pub(super) due_ns: u64,
    /// Bytes of the pattern, or of a message's zeros, that remain to be sent.
    pub(super) rest_bytes: u64,
    /// Whether the head of a call's answer has been sent.
    pub(super) has_head: bool,
    /// Whether a call is among those that are ready.
    pub(super) is_ready: bool,
    /// When a call's time is over; `u64::MAX` if it has no limit.
    pub(super) deadline_ns: u64,
    pub(super) has_ended: bool,
    /// Whether the client waits for permission to send its body.
    pub(super) expects_continue: bool,
    /// Bytes that came and for which the client has no new room yet, and when it gets that.
    pub(super) owed_bytes: u32,
    pub(super) owed_due_ns: u64,
    /// Of a call: the metadata to be sent back.
    pub(super) echo: EchoParts,
    pub(super) call: Call,
}

/// What is kept of a request to be echoed.
#[derive(Debug, Default)]
pub(super) struct EchoParts {
    /// The fields of the answer.
    pub(super) fields: FieldList,
    /// What has to be sent before the body that comes: the request's head, or the part of its body
    /// that came before the answer was due.
    pub(super) text: Vec<u8>,
    /// How long the answer's body will be, if the request said so.
    pub(super) length: Option<u64>,
    pub(super) trailers: FieldList,
    /// The status of the answer; 0: 200.
    pub(super) status: u16,
    /// How long the client wants to wait, ns.
    pub(super) delay_ns: u64,
    /// Whether the connection ends with the answer.
    pub(super) closes: bool,
}

/// Fields, as names and values that end in a NUL, which neither can contain.
#[derive(Debug, Default)]
pub(super) struct FieldList(Vec<u8>);

impl FieldList {
    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) {
        for part in [name, value] {
            self.0.extend_from_slice(part);
            self.0.push(0);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut parts = self.0.split(|&byte| byte == 0);
        std::iter::from_fn(move || parts.next().zip(parts.next()))
    }
}

impl Default for Exchange {
    fn default() -> Self {
        Self {
            request: Request { route: Route::Hello, is_head: false },
            stage: Stage::Reading,
            due_ns: u64::MAX,
            rest_bytes: 0,
            has_head: false,
            is_ready: false,
            deadline_ns: u64::MAX,
            has_ended: false,
            expects_continue: false,
            owed_bytes: 0,
            owed_due_ns: u64::MAX,
            echo: EchoParts::default(),
            call: Call::default(),
        }
    }
}

impl Exchange {
    /// Begins another one in the same memory.
    pub(super) fn begin(&mut self, request: Request) {
        let mut echo = std::mem::take(&mut self.echo);
        let mut call = std::mem::take(&mut self.call);
        echo.clear();
        call.clear();
        *self = Self { request, echo, call, ..Self::default() };
    }
}

impl EchoParts {
    fn clear(&mut self) {
        for buffer in [&mut self.fields.0, &mut self.text, &mut self.trailers.0] {
            buffer.clear();
            buffer.shrink_to(KEEP_BYTES_MAX);
        }
        self.length = None;
        (self.status, self.delay_ns, self.closes) = (0, 0, false);
    }

    /// Keeps what the head alone decides.
    pub(super) fn begin(&mut self, echo: Echo, head: &RequestHead<'_>) {
        if echo != Echo::Body {
            self.fields.push(b"x-echo-method", head.method().as_bytes());
            self.fields.push(b"x-echo-target", head.path().unwrap_or_default().as_bytes());
        }
        let shows_head = match echo {
            Echo::Body => false,
            Echo::Request => head.is_whole(),
            Echo::Full => true,
        };
        let mut given = head.headers().filter(|(name, _)| *name == "content-type");
        let given = given.next().map_or(BINARY, |(_, value)| value);
        self.fields.push(b"content-type", if shows_head { TEXT } else { given });
        if shows_head {
            write_head(&mut self.text, head);
        }
        let body_bytes = if head.is_whole() { Some(0) } else { head.content_length() };
        self.length = body_bytes.and_then(|bytes| bytes.checked_add(self.text.len() as u64));
    }

    /// Keeps the answer to a request with wishes; gives how many bytes its body has in the place of
    /// an echo. Its coding is left as it is, because an echo is passed on as it comes.
    pub(super) fn begin_site(
        &mut self,
        head: &RequestHead<'_>,
        shaper: &mut Shaper,
        now_ns: u64,
    ) -> u64 {
        let mut parts = Parts::default();
        let fields = head.headers().filter(|(name, _)| *name != "accept-encoding");
        let path = head.path().unwrap_or_default();
        let has_length = head.content_length().is_some();
        parts.begin(path, has_length, fields);
        let mut body = Vec::new();
        self.delay_ns = shaper.shape(&mut parts, &mut body);
        (self.status, self.closes) = (parts.status, parts.closes);
        let sized_bytes = body.len() as u64;
        shaper.fields(&parts, &body, false, now_ns, |name, value| {
            if !name.eq_ignore_ascii_case("content-length") {
                self.fields.push(name.to_ascii_lowercase().as_bytes(), value);
            }
        });
        if !has_body(parts.status) {
            return 0;
        }
        let is_sized = parts.is_sized();
        let echoed = if head.is_whole() { Some(0) } else { head.content_length() };
        self.length = if is_sized { Some(sized_bytes) } else { echoed };
        sized_bytes
    }

    pub(super) fn keep_trailers(&mut self, trailers: Headers<'_>) {
        trailers.for_each(|(name, value)| self.trailers.push(name.as_bytes(), value));
    }
}

/// A request's head as text: the pseudo-fields that HTTP/1 has in its first line there, the others
/// in the order in which they came.
fn write_head(out: &mut Vec<u8>, head: &RequestHead<'_>) {
    for part in [head.method(), " ", head.path().unwrap_or("*"), " HTTP/2\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    let authority = head.authority().map(|it| (":authority", it.as_bytes()));
    let scheme = head.scheme().map(|it| (":scheme", it.as_bytes()));
    for (name, value) in scheme.into_iter().chain(authority).chain(head.headers()) {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}
