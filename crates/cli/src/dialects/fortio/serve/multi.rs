//! `-M "port URL URL"`: a server that sends each request on to several others and answers with all
//! of their bodies, one after the other.
//!
//! It carries no load that is measured here: each request has a thread, and each server asked a
//! connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use plimsoll_core::plan::{Body, Request};
use plimsoll_core::secret::Secret;
use plimsoll_dialect::fortio::{Level, LogLevel, Serve, user_agent, version};
use plimsoll_server::{
    Asked, Handle, Reply, Response, Role, RunningServer, ServeOptions, ServerOptions, SiteOptions,
    start,
};

use super::super::{Refused, log};
use super::{address, client};

/// Requests that are worked on at a time; further ones get a 503.
const REQUESTS_MAX: usize = 256;

/// Fields of a request that are not sent on: those of its connection and of its body's length,
/// which are the new one's own.
const NOT_SENT_ON: [&str; 9] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "upgrade",
    "transfer-encoding",
    "content-length",
    "expect",
];

/// Starts a server that runs until it is dropped.
///
/// # Errors
/// In one line.
pub(super) fn begin(text: &str, serve: &Serve) -> Result<RunningServer, Refused> {
    let wrong = || Refused(format!("fortio: -M '{text}' is not a server: give \"port URL URL\""));
    let mut words = text.split_whitespace();
    let port = words.next().ok_or_else(wrong)?;
    let at = address("-M", port)?.ok_or_else(wrong)?;
    let targets: Vec<String> = words.map(with_scheme).collect();
    if targets.is_empty() {
        return Err(wrong());
    }
    for target in &targets {
        crate::url::parse(target).map_err(|why| format!("fortio: -M {why}"))?;
    }
    let asks = Asks { targets, mirrors: serve.multi_mirrors, in_turn: serve.multi_in_turn };
    let handler = Arc::new(Multi { asks: Arc::new(asks), busy: Arc::default() });
    let site = SiteOptions {
        handled: vec!["/".to_owned()],
        handler: Some(handler),
        ..SiteOptions::default()
    };
    let options = ServeOptions {
        roles: vec![(Role::Site, at)],
        server: ServerOptions { site, ..ServerOptions::default() },
        ..ServeOptions::default()
    };
    let running =
        start(options).map_err(|error| format!("fortio: cannot listen on {at}: {error}"))?;
    let at = running.addresses().first().map_or(at, |(_, address)| *address);
    let text = format!("Fortio {} Multi on {port} server listening on tcp {at}", version());
    log(LogLevel::Info, Level::Info, &text, &[]);
    Ok(running)
}

/// The URL of a server, which ends where the paths of requests begin.
fn with_scheme(target: &str) -> String {
    let target = target.trim_end_matches('/');
    if target.contains("://") { target.to_owned() } else { format!("http://{target}") }
}

/// What requests are answered by.
struct Multi {
    asks: Arc<Asks>,
    busy: Arc<AtomicUsize>,
}

impl Handle for Multi {
    fn handle(&self, asked: Asked, reply: Reply) {
        let (asks, busy) = (Arc::clone(&self.asks), Arc::clone(&self.busy));
        if busy.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
            busy.fetch_sub(1, Ordering::Relaxed);
            return reply.send(super::site::text(503, "too many requests: try again\n"));
        }
        thread::spawn(move || {
            reply.send(asks.answer(&asked));
            busy.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Whom to ask, and how.
struct Asks {
    targets: Vec<String>,
    /// Whether they get the request as it came, and not a GET of their own URL.
    mirrors: bool,
    /// Whether one is asked after the other.
    in_turn: bool,
}

/// The status and the body of a server's answer; `None` without one, and the body says why.
type Told = (Option<u16>, Vec<u8>);

impl Asks {
    fn answer(&self, asked: &Asked) -> Response {
        let told: Vec<Told> = if self.in_turn {
            (0..self.targets.len()).map(|index| self.ask(index, asked)).collect()
        } else {
            thread::scope(|scope| {
                let begin = |index| scope.spawn(move || self.ask(index, asked));
                let begun: Vec<_> = (0..self.targets.len()).map(begin).collect();
                // A thread that panicked has no answer.
                begun.into_iter().map(|it| it.join().unwrap_or_default()).collect()
            })
        };
        let status = status(told.iter().map(|(status, _)| *status), self.in_turn);
        let body: Vec<u8> = told.into_iter().flat_map(|(_, body)| body).collect();
        let kind = match std::str::from_utf8(&body) {
            Ok(_) => "text/plain; charset=utf-8",
            Err(_) => "application/octet-stream",
        };
        Response { status, fields: vec![("Content-Type", kind.to_owned())], body }
    }

    fn ask(&self, index: usize, asked: &Asked) -> Told {
        let target = &self.targets[index];
        let (url, request) = match self.mirrors {
            true => (format!("{target}{}", asked.target), mirrored(asked)),
            false => (target.clone(), plain(asked)),
        };
        let mut request = request;
        let mut field = |name: &str, value: &str| {
            request.headers.push((name.to_owned(), Secret::from(value)));
        };
        field("X-On-Behalf-Of", &asked.peer.to_string());
        if self.mirrors {
            field("X-Proxy-Agent", &user_agent());
        }
        field("X-Fortio-Multi-Id", &(index + 1).to_string());
        match client::ask(&url, request) {
            Ok(answer) => (Some(answer.status), answer.body),
            Err(why) => (None, format!("Error for {url}: {why}\n").into_bytes()),
        }
    }
}

/// The status of all answers: the first one's if servers were asked in turn, else the first that is
/// not 200. A server without an answer stands for 503.
fn status(mut all: impl Iterator<Item = Option<u16>>, in_turn: bool) -> u16 {
    let told = if in_turn { all.next() } else { all.find(|status| *status != Some(200)) };
    told.map_or(200, |status| status.unwrap_or(503))
}

/// A request as it came. What the engine adds and the client did not send is taken away.
fn mirrored(asked: &Asked) -> Request {
    let head = String::from_utf8_lossy(&asked.head);
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let is_sent_on = |name: &str| !NOT_SENT_ON.iter().any(|it| it.eq_ignore_ascii_case(name));
    let kept = lines.filter(|(name, value)| is_sent_on(name) && !value.trim().is_empty());
    let mut headers: Vec<(String, Secret)> =
        kept.map(|(name, value)| (name.to_owned(), Secret::from(value.trim()))).collect();
    for name in ["User-Agent", "Accept"] {
        if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), Secret::from("")));
        }
    }
    let body = (!asked.body.is_empty()).then(|| Body::new(asked.body.clone()));
    Request { method: asked.method.clone(), headers, body, ..Request::get() }
}

/// A GET with the fields of a request that trace it.
fn plain(asked: &Asked) -> Request {
    let head = String::from_utf8_lossy(&asked.head);
    let is_trace = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "x-request-id" || name == "b3" || name.starts_with("x-b3-")
    };
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let kept = lines.filter(|(name, value)| is_trace(name) && !value.trim().is_empty());
    let kept = kept.map(|(name, value)| (name.to_owned(), Secret::from(value.trim())));
    let own = [("User-Agent", user_agent()), ("Accept", String::new())];
    let own = own.map(|(name, value)| (name.to_owned(), Secret::from(value.as_str())));
    Request { headers: kept.chain(own).collect(), ..Request::get() }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use plimsoll_server::Client;

    use super::*;

    fn asked(head: &str, body: &[u8]) -> Asked {
        Asked {
            head: head.as_bytes().to_vec(),
            method: "POST".to_owned(),
            target: "/a?b".to_owned(),
            body: body.to_vec(),
            peer: SocketAddr::from(([127, 0, 0, 1], 5)),
            is_secure: false,
            client: Client::default(),
        }
    }

    fn fields(request: &Request) -> Vec<(&str, &str)> {
        let fields = request.headers.iter();
        fields.map(|(name, value)| (name.as_str(), value.reveal().as_str())).collect()
    }

    #[test]
    fn a_request_is_sent_on_without_what_is_of_its_connection() {
        let head = "POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nX-B3-TraceId: 7\r\n\
                    Connection: close\r\nAccept: a/b\r\n\r\n";
        let asked = asked(head, b"hi");
        let request = mirrored(&asked);
        assert_eq!(
            fields(&request),
            [("X-B3-TraceId", "7"), ("Accept", "a/b"), ("User-Agent", "")]
        );
        assert_eq!(request.method, "POST");
        assert_eq!(request.body.as_ref().map(Body::as_bytes), Some(&b"hi"[..]));
        let request = plain(&asked);
        let agent = user_agent();
        assert_eq!(
            fields(&request),
            [("X-B3-TraceId", "7"), ("User-Agent", agent.as_str()), ("Accept", "")]
        );
        assert_eq!((request.method.as_str(), request.body), ("GET", None));
    }

    #[test]
    fn one_status_stands_for_all() {
        for (all, at_once, in_turn) in [
            (&[Some(200), Some(200)][..], 200, 200),
            (&[Some(200), Some(404), None], 404, 200),
            (&[None, Some(404)], 503, 503),
            (&[Some(500), Some(200)], 500, 500),
        ] {
            assert_eq!(status(all.iter().copied(), false), at_once, "{all:?}");
            assert_eq!(status(all.iter().copied(), true), in_turn, "{all:?}");
        }
    }
}
