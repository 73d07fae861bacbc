//! Which answer a request gets, from its method and target alone.
//!
//! A pure function without allocation; `answer` makes the answers themselves. Paths are compared
//! byte by byte, without decoding `%xx` or merging slashes, because no route needs either.

use plimsoll_core::units;

use crate::grpc::Method;

/// What one listening address serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Every route of the table in the crate's documentation.
    All,
    /// Hello, whatever is asked.
    Hello,
    /// The request's body, whatever is asked.
    Echo,
    /// The client's address, whatever is asked.
    Address,
    /// An echo whose query says what to answer, and paths that a program answers.
    Site,
    /// Calls of gRPC alone.
    Calls,
    /// A redirect to the same place by https.
    Redirect,
    /// The bytes that come, whatever they are: no HTTP at all.
    Bytes,
}

impl Role {
    /// The name used on command lines and in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Hello => "hello",
            Self::Echo => "echo",
            Self::Address => "address",
            Self::Site => "site",
            Self::Calls => "calls",
            Self::Redirect => "redirect",
            Self::Bytes => "bytes",
        }
    }
}

/// The answer that a request gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// `hello world`.
    Hello,
    /// The request's body; with the head of [`Role::All`]'s echo or without.
    Echo(Echo),
    /// The client's address.
    Address,
    /// This status.
    Status(u16),
    /// This many bytes, with a Content-Length.
    Bytes(u64),
    /// This many bytes, chunked.
    Chunked(u64),
    /// Hello, this many ns later.
    Delay(u64),
    /// Hello, once a worker has served all that came before and taken this many ns for it.
    Queue(u64),
    /// The page that opens a WebSocket.
    Page,
    /// A WebSocket.
    WebSocket,
    /// A call of gRPC. Only HTTP/2 can carry it.
    Call(Method),
    /// What the query says, or an echo.
    Site,
    /// What a program says.
    Handled,
    /// The same place by https.
    Redirect,
    /// A line that says what was wrong.
    Refused(Refusal),
}

/// How much of the request an echo shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// The body alone ([`Role::Echo`]).
    Body,
    /// The body when there is one, else the head as text; method and target as headers.
    Request,
    /// The whole request as text.
    Full,
}

/// An answer of 400 and above with one line that says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The status.
    pub(crate) status: u16,
    /// The body, without the end of the line.
    pub(crate) line: &'static str,
}

/// The longest `/delay/` and `/queue/`.
pub(crate) const DELAY_NS_MAX: u64 = 3_600_000_000_000;

pub(crate) const NO_ROUTE: Refusal = Refusal {
    status: 404,
    line: "no such route; there are / /echo /ip /status/CODE /bytes/N /chunked/N \
           /delay/DURATION /queue/DURATION /ws",
};
/// What an address says where only gRPC is spoken.
pub(crate) const NO_CALL: Refusal = Refusal { status: 404, line: "only gRPC is spoken here" };
/// What paths that a program answers say over HTTP/2.
pub(crate) const HANDLED_OVER_HTTP2: Refusal =
    Refusal { status: 505, line: "this path takes HTTP/1.1" };
/// What a method of gRPC says to a request that is no call.
pub(crate) const NOT_GRPC: Refusal =
    Refusal { status: 415, line: "gRPC takes POST with the content type application/grpc" };
/// What a method of gRPC says over HTTP/1.
pub(crate) const GRPC_OVER_HTTP1: Refusal =
    Refusal { status: 505, line: "gRPC takes HTTP/2: by ALPN, or by prior knowledge" };
const BAD_STATUS: Refusal =
    Refusal { status: 400, line: "/status/CODE takes a final status, 200 to 599" };
const BAD_SIZE: Refusal =
    Refusal { status: 400, line: "a size is a number of bytes: 512, 10k, 1.5M or 1G" };
const BAD_DELAY: Refusal =
    Refusal { status: 400, line: "/delay/DURATION takes 200us, 50ms, 1.5s or up to 1h" };
const BAD_QUEUE: Refusal =
    Refusal { status: 400, line: "/queue/DURATION takes 200us, 50ms, 1.5s or up to 1h" };
/// A request that no server of this kind has heard of: often the rest of a body that was longer
/// than its Content-Length said (RFC 9110 section 9.1).
const NO_METHOD: Refusal =
    Refusal { status: 501, line: "the method is not known: methods are in upper case" };

const NO_TUNNEL: Refusal = Refusal { status: 501, line: "CONNECT is not implemented" };

/// The answer to `method` and `target` (in any form of RFC 9112 section 3.2) on an address that
/// serves `role`.
pub(crate) fn route(role: Role, method: &str, target: &str) -> Route {
    // A request target of CONNECT never starts with a slash.
    if !target.starts_with('/') && method == "CONNECT" {
        return Route::Refused(NO_TUNNEL);
    }
    // Go's server, which fortio's is, takes any token.
    let takes_any = matches!(role, Role::Site | Role::Redirect | Role::Bytes);
    if !takes_any && !is_method(method) {
        return Route::Refused(NO_METHOD);
    }
    match role {
        Role::All if target == "/" => Route::Hello,
        Role::All => route_path(target),
        Role::Hello => Route::Hello,
        Role::Echo => Route::Echo(Echo::Body),
        Role::Address => Route::Address,
        Role::Site => Route::Site,
        Role::Calls => match Method::of(target) {
            Some(method) => Route::Call(method),
            None => Route::Refused(NO_CALL),
        },
        Role::Redirect => Route::Redirect,
        // Not a word of HTTP is read there.
        Role::Bytes => Route::Hello,
    }
}

/// Whether a method may be one that is defined somewhere. All that are registered are in upper case
/// (RFC 9110 section 18.2), and methods are compared with their case.
#[inline]
fn is_method(method: &str) -> bool {
    method.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_'))
}

fn route_path(target: &str) -> Route {
    let target = origin_form(target);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        "/" => return Route::Hello,
        "/echo" if query == "full" => return Route::Echo(Echo::Full),
        "/echo" => return Route::Echo(Echo::Request),
        "/ip" => return Route::Address,
        "/ws" => return Route::Page,
        _ => {}
    }
    if let Some(method) = Method::of(path) {
        return Route::Call(method);
    }
    let Some((name, argument)) = path.strip_prefix('/').and_then(|path| path.split_once('/'))
    else {
        return Route::Refused(NO_ROUTE);
    };
    let read = match name {
        "status" => status(argument).map(Route::Status).ok_or(BAD_STATUS),
        "bytes" => units::parse_count(argument).map(Route::Bytes).or(Err(BAD_SIZE)),
        "chunked" => units::parse_count(argument).map(Route::Chunked).or(Err(BAD_SIZE)),
        "delay" => delay_ns(argument).map(Route::Delay).ok_or(BAD_DELAY),
        "queue" => delay_ns(argument).map(Route::Queue).ok_or(BAD_QUEUE),
        _ => Err(NO_ROUTE),
    };
    read.unwrap_or_else(Route::Refused)
}

/// Cuts scheme and authority off the absolute form, which servers must accept (RFC 9112 section
/// 3.2.2).
fn origin_form(target: &str) -> &str {
    if target.starts_with('/') {
        return target;
    }
    let Some((_, rest)) = target.split_once("://") else { return target };
    match rest.find(['/', '?']) {
        Some(at) if rest.as_bytes()[at] == b'/' => &rest[at..],
        _ => "/",
    }
}

fn status(argument: &str) -> Option<u16> {
    let three_digits = argument.len() == 3 && argument.bytes().all(|b| b.is_ascii_digit());
    argument.parse().ok().filter(|code| three_digits && (200..=599).contains(code))
}

fn delay_ns(argument: &str) -> Option<u64> {
    units::parse_duration_ns(argument).ok().filter(|&delay_ns| delay_ns <= DELAY_NS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_nothing_defines_is_refused() {
        for (method, is_known) in [
            ("GET", true),
            ("M-SEARCH", true),
            ("VERSION_CONTROL", true),
            ("loPOST", false),
            ("get", false),
            ("{}POST", false),
        ] {
            for role in [Role::All, Role::Hello, Role::Echo, Role::Address] {
                let refused = route(role, method, "/") == Route::Refused(NO_METHOD);
                assert_eq!(refused, !is_known, "{method} {role:?}");
            }
        }
    }

    #[test]
    fn the_table() {
        let refused = Route::Refused;
        let cases = [
            ("/", Route::Hello),
            ("/?x=1", Route::Hello),
            ("http://a.example/", Route::Hello),
            ("http://a.example", Route::Hello),
            ("http://a.example?x=/ip", Route::Hello),
            ("http://a.example:81/ip?x", Route::Address),
            ("/echo", Route::Echo(Echo::Request)),
            ("/echo?full", Route::Echo(Echo::Full)),
            ("/echo?fuller", Route::Echo(Echo::Request)),
            ("/ip", Route::Address),
            ("/status/200", Route::Status(200)),
            ("/status/599", Route::Status(599)),
            ("/status/100", refused(BAD_STATUS)),
            ("/status/600", refused(BAD_STATUS)),
            ("/status/+20", refused(BAD_STATUS)),
            ("/status/", refused(BAD_STATUS)),
            ("/bytes/0", Route::Bytes(0)),
            ("/bytes/10k?x", Route::Bytes(10_000)),
            ("/bytes/1.5M", Route::Bytes(1_500_000)),
            ("/bytes/-1", refused(BAD_SIZE)),
            ("/bytes/99999999999999999999", refused(BAD_SIZE)),
            ("/chunked/1G", Route::Chunked(1_000_000_000)),
            ("/chunked/x", refused(BAD_SIZE)),
            ("/fgrpc.PingServer/Ping", Route::Call(Method::Ping)),
            ("/fgrpc.PingServer/Pong", refused(NO_ROUTE)),
            ("/ws", Route::Page),
            ("/ws?delay=1s", Route::Page),
            ("/ws/", refused(NO_ROUTE)),
            ("/delay/50ms", Route::Delay(50_000_000)),
            ("/delay/1.5s", Route::Delay(1_500_000_000)),
            ("/delay/200us", Route::Delay(200_000)),
            ("/delay/1h", Route::Delay(DELAY_NS_MAX)),
            ("/delay/61m", refused(BAD_DELAY)),
            ("/delay/5", refused(BAD_DELAY)),
            ("/queue/2ms", Route::Queue(2_000_000)),
            ("/queue/2", refused(BAD_QUEUE)),
            ("", refused(NO_ROUTE)),
            ("*", refused(NO_ROUTE)),
            ("/none", refused(NO_ROUTE)),
            ("/none/1", refused(NO_ROUTE)),
            ("//", refused(NO_ROUTE)),
            ("/echo/", refused(NO_ROUTE)),
            ("/ECHO", refused(NO_ROUTE)),
        ];
        for (target, want) in cases {
            assert_eq!(route(Role::All, "GET", target), want, "{target}");
        }
    }

    #[test]
    fn single_purpose_roles_answer_anything() {
        for target in ["/", "/ip", "/none", "*", "http://a/b"] {
            assert_eq!(route(Role::Hello, "GET", target), Route::Hello);
            assert_eq!(route(Role::Echo, "PUT", target), Route::Echo(Echo::Body));
            assert_eq!(route(Role::Address, "GET", target), Route::Address);
        }
        for role in [Role::All, Role::Hello, Role::Echo, Role::Address] {
            assert_eq!(route(role, "CONNECT", "a.example:443"), Route::Refused(NO_TUNNEL));
        }
    }
}
