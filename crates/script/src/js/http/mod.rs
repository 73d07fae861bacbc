//! A request from ask to answer, without sockets: what goes on the wire, what becomes of the
//! response, and whether another request follows it.
//!
//! A [`Flow`] carries out one request of a script. Each request on the wire is a hop:
//!
//! ```text
//! begin ──► Send ──► head, body… ──► complete ──► Send ──► advance ─┐
//!   │        ▲                          │                            │
//!   │        └──────────────────────────┼────────────────────────────┘
//!   ▼                                   ▼
//!  Done ◄────────────────── fail ◄──── Done
//! ```
//!
//! The caller sends [`Flow::wire`] to [`Flow::origin`], hands over the response as it comes, and
//! counts the hop ([`Flow::hop`]) before it advances. The timeout of a request covers all its hops,
//! and is the caller's: it tells of it with [`Fault::TimedOut`].
//!
//! Requests are those of k6, byte for byte where servers can tell: the order of fields, the case of
//! their names, which fields a redirect carries.
//!
//! Absent on purpose: connections, the clock, the choice of the protocol. The wire form is that of
//! HTTP/1.1; `conn` makes a header block of it for HTTP/2.

mod coding;
mod digest;
mod fault;
mod fields;
mod proxy;
mod redirect;
mod url;
mod wire;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Operation};
pub use proxy::{Proxies, Proxy};

pub(super) use coding::{field_of, list_error};
pub(super) use fields::{canonical, is_token};
use url::scheme_of;
pub(super) use url::{Url, UrlError};

use std::fmt::Write as _;

use fields::Fields;
use http::StatusCode;

use super::api::http::{Request, ResponseBody};
use super::step::{Answer, Timings};

/// What k6 says of text that is no URL, and why.
pub(super) fn invalid_url(url: &str, error: UrlError) -> String {
    match error {
        UrlError::Scheme => format!("unsupported protocol scheme {:?}", scheme_of(url)),
        UrlError::NoHost => "http: no Host in request URL".to_owned(),
        _ => format!("invalid URL: {} {error}", shown(url)),
    }
}

/// The start of a text that may have been chosen to be long.
fn shown(text: &str) -> String {
    let start: String = text.chars().take(200).collect();
    format!("'{}'", start.escape_debug())
}

/// Redirects that are followed unless the options or the request say otherwise.
const REDIRECTS_MAX: u32 = 10;

/// Fields of a request for a WebSocket that are not the script's to give.
pub(super) const UPGRADE_FIELDS: [&str; 5] = [
    "Upgrade",
    "Connection",
    "Sec-WebSocket-Key",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Extensions",
];

/// The most bytes that an idle flow keeps in one of its buffers.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// How requests are made, for all of a run.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The value of `User-Agent`, unless a request gives its own; empty for none.
    pub user_agent: String,
    /// How many redirects are followed; `None` for 10, and a warning when they are not enough.
    pub redirects_max: Option<u32>,
    /// Whether each request asks the server to close the connection after it.
    pub closes_connections: bool,
    /// The most bytes of a body, as it comes and decompressed. A longer one is an error.
    pub body_bytes_max: usize,
    /// The proxies that requests go through.
    pub proxies: Proxies,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            user_agent: String::new(),
            redirects_max: None,
            closes_connections: false,
            body_bytes_max: 256 << 20,
            proxies: Proxies::default(),
        }
    }
}

/// Where a request on the wire goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin<'a> {
    /// Whether over TLS.
    pub is_tls: bool,
    /// The name or the address of the server, as the URL has it; IPv6 without brackets.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Carry out a request on the wire. After [`Flow::complete`]: [advance](Flow::advance) first.
    Send,
    /// Hand the [answer](Flow::answer) to the script.
    Done,
}

/// What a request on the wire has come to, for those who count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop<'a> {
    /// Its method.
    pub method: &'a str,
    /// Its name if it was given one, else its URL with stars for user and password.
    pub url: &'a str,
    /// The status; 0 after an error.
    pub status: u16,
    /// Whether the status is as expected; `None` if nothing is expected.
    pub is_expected: Option<bool>,
    /// What went wrong; empty if nothing did.
    pub error: &'a str,
    /// The number of that error in k6, or of the status; 0 without one.
    pub error_code: u16,
    /// The number of the system's error, where the system has refused something.
    pub errno: Option<i32>,
    /// Whether it follows a redirect.
    pub is_redirected: bool,
}

/// The connection that a response came over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Via<'a> {
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub protocol: &'a str,
    /// The address of the server; empty if there was none.
    pub remote_ip: &'a str,
    /// Its port.
    pub remote_port: u16,
    /// The version of TLS, such as `tls1.3`; empty without TLS.
    pub tls_version: &'a str,
    /// The suite of TLS; empty without TLS.
    pub tls_cipher_suite: &'a str,
}

/// One request of a script, from ask to answer. It may be used again for the next one: its buffers
/// stay.
#[derive(Debug, Default)]
pub struct Flow {
    // What the next request on the wire is made of.
    url: Url,
    masked: String,
    /// What the script calls it; empty if it gives no name.
    name: String,
    method: String,
    is_masked: bool,
    counts: bool,
    sends_body: bool,
    /// Whether a redirect has taken the body away.
    has_lost_body: bool,
    is_first: bool,
    /// Whether a redirect led to it.
    is_redirected: bool,
    has_own_host: bool,
    strips_credentials: bool,
    referer: String,
    /// The value of `Cookie` in the request that the script asks for, before redirects.
    cookies: String,
    redirects: u32,
    /// Where a redirect has led that cannot be asked; empty if none has.
    astray: String,
    /// The body as it was compressed, if the request asks for that.
    packed: Vec<u8>,
    is_packed: bool,
    /// User and password for a challenge.
    secret: Option<(Vec<u8>, Vec<u8>)>,
    /// What answers the challenge of a server; empty before.
    authorization: String,
    fields: Fields,
    wire: Vec<u8>,
    // What has come.
    status: u16,
    status_text: String,
    head: Vec<u8>,
    body: Vec<u8>,
    keeps_body: bool,
    is_too_long: bool,
    onward: Option<Onward>,
    error: String,
    error_code: u16,
    errno: Option<i32>,
    warning: Option<String>,
}

/// Where a response leads.
#[derive(Debug)]
enum Onward {
    Redirect(Box<Url>),
    /// To a URL that cannot be asked, for this reason.
    Astray(String, UrlError),
    /// The same request again, with this value of `Authorization`.
    Authorize(String),
}

/// A text that may be a URL with user and password, with stars in their place.
pub(in crate::js) fn masked(url: &str) -> String {
    let (scheme, rest) =
        url.split_once("://").map_or(("", url), |(scheme, _)| url.split_at(scheme.len() + 3));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let user = rest[..end].rfind('@').map_or("", |at| &rest[..at]);
    let stars = if user.is_empty() { "" } else { "****" };
    [scheme, stars, &rest[user.len()..]].concat()
}

impl Flow {
    /// One that has nothing to do.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a request that [`begin`](Self::begin) has ended at once is counted, as a
    /// [hop](Self::hop) that has failed: in k6 it got as far as that.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// Has a text that may have user and password in it shown without them.
    fn mask(&mut self, url: &str) {
        self.masked = masked(url);
        self.is_masked = true;
    }

    /// Begins a request. `now_ns` is in ns since 1970, here and in all that follows.
    pub fn begin(&mut self, request: &Request, options: &HttpOptions, now_ns: u64) -> Next {
        for buffer in [&mut self.wire, &mut self.packed, &mut self.head, &mut self.body] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES_MAX);
        }
        self.error.clear();
        (self.status, self.error_code, self.errno, self.redirects) = (0, 0, None, 0);
        (self.onward, self.warning) = (None, None);
        (self.is_first, self.has_own_host, self.strips_credentials) = (true, true, false);
        self.is_redirected = false;
        (self.sends_body, self.has_lost_body) = (request.has_body, false);
        self.method.clone_from(&request.method);
        self.name.clone_from(&request.name);
        self.referer.clear();
        self.cookies.clear();
        self.authorization.clear();
        self.astray.clear();
        if let Err(error) = self.url.set(&request.url) {
            self.counts = error.counts();
            self.mask(&request.url);
            let text = invalid_url(&self.masked, error);
            return self.end(error.number(), &format_args!("{text}"));
        }
        self.counts = true;
        self.keep_secret(request);
        self.is_masked = self.url.write_masked(&mut self.masked);
        if !is_token(self.method.as_bytes()) {
            let text = format!("method '{}' cannot be sent", self.method.escape_default());
            return self.fail(&Fault::Other(&text));
        }
        for (name, value) in &request.headers {
            if !is_token(name.as_bytes()) || !fields::is_value(value.as_bytes()) {
                let text = format!("header '{}' cannot be sent", name.escape_default());
                return self.fail(&Fault::Other(&text));
            }
        }
        if request.auth.eq_ignore_ascii_case("ntlm") {
            let text = "NTLM is not supported: use basic or digest authentication";
            return self.fail(&Fault::Other(text));
        }
        self.is_packed = !request.compression.is_empty() && !request.body.is_empty();
        if self.is_packed
            && let Err(error) =
                coding::compress(&request.compression, &request.body, &mut self.packed)
        {
            return self.fail(&Fault::Other(&format!("the body cannot be compressed: {error}")));
        }
        self.write(request, options, now_ns);
        Next::Send
    }

    /// Goes on to the request that the response has led to. `Done` if it cannot be asked: it is
    /// still a hop of its own.
    ///
    /// # Panics
    /// If it has led to none: [`complete`](Self::complete) has not said `Send`.
    pub fn advance(&mut self, request: &Request, options: &HttpOptions, now_ns: u64) -> Next {
        let onward = self.onward.take().expect("the response leads on");
        self.is_first = false;
        self.is_redirected = !matches!(onward, Onward::Authorize(_));
        match onward {
            Onward::Redirect(to) => self.follow(request, &to),
            Onward::Astray(to, error) => return self.go_astray(to, error),
            Onward::Authorize(value) => self.authorization = value,
        }
        self.head.clear();
        self.body.clear();
        self.status = 0;
        self.write(request, options, now_ns);
        Next::Send
    }

    /// Where the request on the wire goes.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        self.url.origin()
    }

    /// The method of the request on the wire.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The request on the wire: an HTTP/1.1 head, and the body behind it.
    #[must_use]
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Whether its response has no body, whatever its head says: the method is HEAD.
    #[must_use]
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Takes the head of the response: a first line, and a line for each field. Interim responses,
    /// 1xx but 101, are left out.
    pub fn head(
        &mut self,
        request: &Request,
        options: &HttpOptions,
        status: u16,
        lines: &[u8],
        now_ns: u64,
    ) {
        self.status = status;
        let end = lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |at| at + 1);
        let (first, rest) = lines.split_at(end);
        self.head.clear();
        self.head.extend_from_slice(rest);
        self.set_status_text(first);
        request.take_cookies(self.url.text(), &self.head, now_ns);
        if status == 101 && !request.upgrades {
            let text = format!("unsupported response status: {}", self.status_text);
            let _done = self.fail(&Fault::Other(&text));
            return;
        }
        self.authorize(request, now_ns);
        self.redirect(request, options);
        self.is_too_long = false;
        let has_none = matches!(status, 204 | 304) || self.is_head();
        self.keeps_body = self.onward.is_none()
            && self.error.is_empty()
            && !has_none
            && request.response_body != ResponseBody::Nothing;
    }

    /// Takes a piece of the response's body.
    pub fn body(&mut self, options: &HttpOptions, bytes: &[u8]) {
        if !self.keeps_body {
            return;
        }
        self.is_too_long = bytes.len() > options.body_bytes_max.saturating_sub(self.body.len());
        if self.is_too_long {
            self.keeps_body = false;
            self.body = Vec::new();
        } else {
            self.body.extend_from_slice(bytes);
        }
    }

    /// The response is complete.
    pub fn complete(&mut self, options: &HttpOptions) -> Next {
        if self.is_too_long {
            let most = options.body_bytes_max;
            return self.fail(&Fault::Other(&format!("the body is longer than {most} bytes")));
        }
        if self.onward.is_some() {
            return Next::Send;
        }
        if let Some(list) = fields::value(&self.head, "content-encoding") {
            let list = String::from_utf8_lossy(list);
            if let Err(text) = coding::decode(&list, &mut self.body, options.body_bytes_max) {
                return self.fail(&Fault::Decode(&text));
            }
        }
        Next::Done
    }

    /// There is no response that can be used. The request ends with this hop.
    pub fn fail(&mut self, fault: &Fault<'_>) -> Next {
        let done = self.end(fault.number(), &format_args!("{fault}"));
        self.errno = fault.errno();
        done
    }

    fn end(&mut self, number: u16, text: &std::fmt::Arguments<'_>) -> Next {
        self.error.clear();
        // Writing to a string does not fail.
        let _ = self.error.write_fmt(*text);
        (self.error_code, self.errno) = (number, None);
        // A part of an encoded body cannot be decoded.
        if !self.keeps_body || fields::value(&self.head, "content-encoding").is_some() {
            self.body.clear();
        }
        (self.status, self.onward, self.keeps_body) = (0, None, false);
        self.head.clear();
        Next::Done
    }

    /// What went over the wire, as text: the request and its response over a protocol, with their
    /// bodies if they are wanted. The body of the response is as the script gets it.
    #[must_use]
    pub fn exchange(&self, protocol: &str, has_bodies: bool) -> [String; 2] {
        let end = self.wire.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, body) = self.wire.split_at(end.map_or(self.wire.len(), |at| at + 4));
        let body = if has_bodies { body } else { &[] };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let request = format!("Request:\n{}{}\n", text(head), text(body));
        if self.status == 0 {
            return [request, format!("Response:\n{}\n", self.error)];
        }
        let body = if has_bodies { &self.body[..] } else { &[] };
        let (status, head) = (&self.status_text, text(&self.head));
        let (head, body) = (head.trim_end(), text(body));
        let response = format!("Response:\n{protocol} {status}\n{head}\n\n{body}\n");
        [request, response]
    }

    /// What the request on the wire has come to: after `complete` or `fail`, before `advance`.
    #[must_use]
    pub fn hop<'a>(&'a self, request: &'a Request) -> Hop<'a> {
        // It is how the other side of digest authentication begins.
        let is_challenge = matches!(self.onward, Some(Onward::Authorize(_)));
        Hop {
            status: self.status,
            is_expected: request.expected.holds(self.status).map(|holds| holds || is_challenge),
            error: &self.error,
            error_code: self.code(),
            errno: self.errno,
            ..self.unfinished_hop()
        }
    }

    /// What is known of the request on the wire before it has ended: it has no status yet.
    #[must_use]
    pub fn unfinished_hop(&self) -> Hop<'_> {
        let url = if self.is_masked { &self.masked } else { self.url.text() };
        Hop {
            method: &self.method,
            url: if self.name.is_empty() { url } else { &self.name },
            status: 0,
            is_expected: None,
            error: "",
            error_code: 0,
            errno: None,
            is_redirected: self.is_redirected,
        }
    }

    fn code(&self) -> u16 {
        if self.error.is_empty() { fault::number_of_status(self.status) } else { self.error_code }
    }

    /// The answer to the request with a number. The timings are those of the last hop.
    #[must_use]
    pub fn answer<'a>(&'a self, number: u32, via: &Via<'a>, timings: Timings) -> Answer<'a> {
        let is_good = self.error.is_empty();
        let of_response = |text: &'a str| if is_good { text } else { "" };
        let url = if self.astray.is_empty() { self.url.text() } else { &self.astray };
        Answer {
            request: number,
            status: self.status,
            status_text: of_response(&self.status_text),
            protocol: of_response(via.protocol),
            // After a redirect the script cannot tell by its own request what has failed.
            url: if self.redirects > 0 { url } else { of_response(url) },
            remote_ip: via.remote_ip,
            remote_port: via.remote_port,
            head: &self.head,
            cookies: &self.cookies,
            body: &self.body,
            timings,
            error: &self.error,
            error_code: self.code(),
            tls_version: of_response(via.tls_version),
            tls_cipher_suite: of_response(via.tls_cipher_suite),
        }
    }

    /// What the script's log should warn about, beside the error. It is taken.
    pub fn warning(&mut self) -> Option<String> {
        self.warning.take()
    }

    /// `200 OK`, of the status line or, since HTTP/2 has none, of the list of statuses.
    fn set_status_text(&mut self, line: &[u8]) {
        self.status_text.clear();
        let line = line.trim_ascii();
        let reason = line.strip_prefix(b"HTTP/1.").and_then(|rest| rest.get(2..));
        if let Some(text) = reason {
            self.status_text.push_str(&String::from_utf8_lossy(text.trim_ascii()));
            return;
        }
        let known = StatusCode::from_u16(self.status).ok();
        let reason = known.and_then(|status| status.canonical_reason()).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = write!(self.status_text, "{} {reason}", self.status);
    }
}
