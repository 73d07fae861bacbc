//! What is sent, and where: the request, or the targets of a run that sends several.

use serde::{Deserialize, Serialize};

use crate::expect::Expectation;
use crate::secret::{Masks, Secret, fingerprint};

/// Where the requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// `http` or `https`; `ws` or `wss` for WebSocket; `tcp` or `udp` for an
    /// echo over it.
    pub scheme: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query, starting with `/`; `*` for OPTIONS.
    pub path: Secret,
}

impl Endpoint {
    /// A path on an http server.
    #[must_use]
    pub fn http(host: &str, port: u16, path: &str) -> Self {
        Self { scheme: "http".to_owned(), host: host.to_owned(), port, path: path.into() }
    }

    /// Whether requests go over TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        matches!(self.scheme.as_str(), "https" | "wss")
    }

    /// Whether WebSocket is spoken.
    #[must_use]
    pub fn is_websocket(&self) -> bool {
        matches!(self.scheme.as_str(), "ws" | "wss")
    }

    /// Whether bytes are sent that are to come back as they are, without any protocol.
    #[must_use]
    pub fn is_echo(&self) -> bool {
        self.scheme == "tcp" || self.is_datagram()
    }

    /// Whether each request is a datagram.
    #[must_use]
    pub fn is_datagram(&self) -> bool {
        self.scheme == "udp"
    }

    /// Whether a proxy is asked for a tunnel, and not for each request.
    #[must_use]
    pub fn is_tunnelled(&self) -> bool {
        self.is_tls() || self.is_websocket()
    }

    /// `host:port`, with brackets around an IPv6 address; the port left out where it is the
    /// scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let own_port = if self.is_tls() { 443 } else { 80 };
        if self.port == own_port && !self.is_echo() {
            bracketed(&self.host)
        } else {
            self.host_and_port()
        }
    }

    /// The whole URL, for the place that sends to it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority(), self.path.reveal())
    }

    /// `host:port`, always with the port, as CONNECT wants it (RFC 9112 section 3.2.3).
    #[must_use]
    pub fn host_and_port(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The URL, secret parameters masked unless the endpoint is one of a record that shows them.
impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_echo() {
            return write!(f, "{}://{}", self.scheme, self.authority());
        }
        let path = self.path.reveal();
        let masked = (!self.path.is_public()).then(|| Masks::default().url(path));
        let path = masked.as_ref().unwrap_or(path);
        write!(f, "{}://{}{path}", self.scheme, self.authority())
    }
}

/// How the request's body is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A body that is text.
    Text(Secret),
    /// Any other bytes.
    Bytes(Secret<Vec<u8>>),
    /// What a result document keeps of a body.
    Omitted {
        /// Length in bytes.
        bytes: u64,
        /// Eight bits by which bodies can be told apart: see [`crate::secret`].
        #[serde(default)]
        fingerprint: String,
    },
}

impl Body {
    /// Wraps bytes as text where they are text.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(error) => Self::Bytes(Secret::new(error.into_bytes())),
        }
    }

    /// The bytes to send.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.reveal().as_bytes(),
            Self::Bytes(bytes) => bytes.reveal(),
            Self::Omitted { .. } => &[],
        }
    }

    /// What a result document keeps of it: all of it if secrets are shown and it has at most
    /// `kept_bytes` bytes, otherwise its length and a fingerprint of eight bits.
    #[must_use]
    pub fn for_result(&self, masks: &Masks, kept_bytes: usize) -> Self {
        let bytes = self.as_bytes();
        match self {
            Self::Omitted { .. } => self.clone(),
            Self::Text(text) if masks.shows_all && bytes.len() <= kept_bytes => {
                Self::Text(Secret::public(text.reveal().clone()))
            }
            Self::Bytes(own) if masks.shows_all && bytes.len() <= kept_bytes => {
                Self::Bytes(Secret::public(own.reveal().clone()))
            }
            _ => Self::Omitted { bytes: bytes.len() as u64, fingerprint: fingerprint(bytes) },
        }
    }
}

/// The request that is sent. Paths, header values and bodies that are text may hold templates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Method, as sent.
    pub method: String,
    /// Minor version of HTTP/1: 0 or 1.
    pub http_minor: u8,
    /// Headers in order, beyond those the engine adds. One with an empty value takes an added one
    /// away.
    pub headers: Vec<(String, Secret)>,
    /// The body, if any.
    pub body: Option<Body>,
    /// Send the body in chunks instead of with its length.
    #[serde(default)]
    pub chunked: bool,
    /// Wait for `100 Continue` before the body (RFC 9110 section 10.1.1).
    #[serde(default)]
    pub expect_continue: bool,
}

impl Request {
    /// A GET over HTTP/1.1.
    #[must_use]
    pub fn get() -> Self {
        Self {
            method: "GET".to_owned(),
            http_minor: 1,
            headers: Vec::new(),
            body: None,
            chunked: false,
            expect_continue: false,
        }
    }

    /// The values that the request itself gives a field, in order; empty ones too, which take an
    /// added field away.
    pub fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        let own = self.headers.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.reveal().as_str())
    }

    /// Whether the request's own fields say that its connection ends with the response (RFC 9112
    /// sections 9.3 and 9.6). A field that the engine adds says nothing of the kind.
    #[must_use]
    pub fn ends_connection(&self) -> bool {
        let options = || self.values("Connection").flat_map(|value| value.split(','));
        let says = |option: &str| options().any(|own| own.trim().eq_ignore_ascii_case(option));
        let is_given = self.values("Connection").next().is_some();
        says("close") || (self.http_minor == 0 && is_given && !says("keep-alive"))
    }
}

/// One of several requests that a run sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The name of its line in reports; targets of one name are summed there.
    pub name: String,
    /// Path and query, starting with `/`.
    pub path: Secret,
    /// What is sent.
    pub request: Request,
    /// Its share of the requests, relative to the others' weights; used by [`Order::Weighted`].
    pub weight: u32,
    /// What its responses must be like, beside the plan's own expectations.
    pub expect: Vec<Expectation>,
}

/// Where targets were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetFile {
    /// The file, as it was named; `-` is standard input.
    pub path: String,
    /// How many targets it holds. Documents do not keep all of many.
    pub count: u64,
}

/// A program that decides what is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// Where it was read from.
    pub path: String,
    /// What it says. Not kept in results.
    #[serde(default, skip_serializing_if = "Secret::is_empty")]
    pub text: Secret,
    /// What it was given.
    pub arguments: Vec<Secret>,
}

/// In which order targets are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// One after the other, again from the first after the last.
    #[default]
    Sequential,
    /// Each with the same chance, from the seed.
    Random,
    /// Each with a chance by its weight, from the seed.
    Weighted,
}
