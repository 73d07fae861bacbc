//! What a proxy is told, and what it tells.
//!
//! Times are ns on the driver's clock, lengths are bytes. Everything that can wait has a time here,
//! and everything that can grow has a length.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_io::{Address, DriverChoice};
use plimsoll_proto::http1;
use plimsoll_proto::tls::{ClientConfig, ServerConfig, ServerName};

use super::log::Log;

const SECOND_NS: u64 = 1_000_000_000;

/// The most upstreams one proxy can have.
pub const UPSTREAMS_MAX: usize = 64;

/// A server that requests are forwarded to.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// Where it listens.
    pub address: Address,
    /// Its name as a Host field has it: `a.example`, `127.0.0.1:8080`, `[::1]:8080`.
    pub authority: String,
    /// How TLS is spoken with it; `None` for plain connections.
    pub tls: Option<UpstreamTls>,
}

impl From<SocketAddr> for Upstream {
    /// A server reached without TLS, named by its address.
    fn from(address: SocketAddr) -> Self {
        Self { address: address.into(), authority: address.to_string(), tls: None }
    }
}

/// TLS towards an upstream.
#[derive(Debug, Clone)]
pub struct UpstreamTls {
    /// Whom to believe.
    pub config: ClientConfig,
    /// Whose certificate is wanted.
    pub name: ServerName,
}

/// Which upstream a request goes to, among those that are not put aside.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// The one with the fewest requests under way in this worker; of equals, each in turn.
    LeastLoaded,
    /// The same one for the same client address (without the port), by rendezvous hashing: when
    /// an upstream is put aside, only its own clients move.
    HashAddress,
    /// The same one for the same value of a request field; without the field, as `HashAddress`.
    HashField(String),
}

/// What becomes of `X-Forwarded-For`, `-Proto` and `-Host`. Unless it is `Off`, whatever else a
/// client says in this way, in other fields that begin with `X-Forwarded-` or in `Forwarded` (RFC
/// 7239), is dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Forwarded {
    /// The client's address is added to the end of what `X-Forwarded-For` says; `-Proto` and
    /// `-Host` are written anew.
    #[default]
    Append,
    /// All three say what this proxy saw and nothing else.
    Replace,
    /// They are passed on as they came.
    Off,
}

/// Which Host field an upstream gets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostField {
    /// The client's.
    #[default]
    Keep,
    /// The upstream's authority.
    Upstream,
}

/// How long things may take, ns; at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Connecting to an upstream, TLS included: then the next upstream, or 504.
    pub connect_ns: u64,
    /// From the request's last byte to the response's first: then 504.
    pub response_ns: u64,
    /// Between two receipts of a response, and without progress in sending a request's body: then
    /// the response is cut off, or 504 when it had not begun.
    pub upstream_idle_ns: u64,
    /// How long an upstream connection is kept without a request.
    pub upstream_keep_alive_ns: u64,
    /// From a request's first byte to the end of its head, and a new client's TLS handshake: then
    /// 408.
    pub head_ns: u64,
    /// Between two receipts of a request's body: then 408.
    pub body_ns: u64,
    /// From the end of a request's head to the end of its body, without the time in which the proxy
    /// does not read from the client: then 408. `u64::MAX` for no limit.
    pub body_total_ns: u64,
    /// Without progress in sending to a client: then it is reset.
    pub send_ns: u64,
    /// In each such stretch of time a client has to send of a body, or to take of what is queued
    /// for it, what [`ProxyLimits::client_rate`] asks for: then 408, or it is reset.
    pub client_slack_ns: u64,
    /// How long a client's connection is kept without a request.
    pub keep_alive_ns: u64,
    /// Waiting for an upstream connection to be free: then 503.
    pub queue_ns: u64,
    /// How long requests under way may take once the proxy was told to stop.
    pub drain_ns: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_ns: 5 * SECOND_NS,
            response_ns: 60 * SECOND_NS,
            upstream_idle_ns: 60 * SECOND_NS,
            upstream_keep_alive_ns: 60 * SECOND_NS,
            head_ns: 30 * SECOND_NS,
            body_ns: 60 * SECOND_NS,
            body_total_ns: 300 * SECOND_NS,
            send_ns: 60 * SECOND_NS,
            client_slack_ns: 20 * SECOND_NS,
            keep_alive_ns: 75 * SECOND_NS,
            queue_ns: 10 * SECOND_NS,
            drain_ns: 10 * SECOND_NS,
        }
    }
}

/// How much there may be of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Of requests: 431 beyond the head's and trailers', 413 beyond the body's, 400 beyond the
    /// chunk line's.
    pub request: http1::Limits,
    /// Of responses: 502 beyond them.
    pub response: http1::Limits,
    /// Bytes of a request's body that are collected before it is given an upstream connection; a
    /// longer one goes on with what is there. What came in one receipt with the last of them is on
    /// top. 0: each request gets its connection from its head on, and `Expect` goes end to end.
    pub body_buffer_bytes: usize,
    /// Bytes of memory for all requests of a worker that are collected or were and may have to be
    /// sent again. Beyond it none is collected any further; what came in one receipt is on top.
    pub body_buffers_bytes: usize,
    /// Bytes held from a client before it is not read from any more: more of a body that waits for
    /// its connection, and requests sent ahead of time. What the driver had received by then comes
    /// on top.
    pub held_bytes: usize,
    /// Bytes queued towards an upstream that is slow to read before the client is not read from
    /// any more.
    pub queued_bytes: usize,
    /// Bytes queued towards a client that is slow to read before the upstream is not read from
    /// any more. The upstream is free once all of its response is queued.
    pub response_buffer_bytes: usize,
    /// Bytes per second, over [`Timeouts::client_slack_ns`], below which a client is too slow; at 0
    /// a byte in that time is enough.
    pub client_rate: u64,
    /// Requests of one worker that wait for an upstream connection; beyond, 503.
    pub queue: usize,
    /// Connections of one worker to each upstream; at least 1.
    pub upstream_connections: u32,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            request: http1::Limits::default(),
            response: http1::Limits::default(),
            body_buffer_bytes: 256_000,
            body_buffers_bytes: 128_000_000,
            held_bytes: 64 << 10,
            queued_bytes: 256 << 10,
            response_buffer_bytes: 256_000,
            client_rate: 500,
            queue: 16_384,
            upstream_connections: 256,
        }
    }
}

/// When an upstream is put aside, and how it comes back. Each worker judges for itself. When all
/// are aside, they are used as if none were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Failures in a row that put an upstream aside: connects that failed, and connections that
    /// broke or kept silent though a whole request was sent on them. 0 for never.
    pub failures: u32,
    /// Whether responses of 500 to 599, and those that cannot be forwarded, are failures too. Then
    /// a client that can provoke them can put an upstream aside for all.
    pub fail_on_5xx: bool,
    /// For how long it is put aside. One request is then the trial; after as long again, another.
    pub aside_ns: u64,
    /// Requests of our own that find out.
    pub check: Option<HealthCheck>,
}

impl Default for Health {
    fn default() -> Self {
        Self { failures: 5, fail_on_5xx: false, aside_ns: 5 * SECOND_NS, check: None }
    }
}

/// A request that each worker sends to each upstream from time to time: 200 to 399 says that it is
/// well, and anything else puts it aside until a later one succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// The request's target, such as `/healthz`.
    pub path: String,
    /// From one check's end to the next one's beginning, ns; at least 1.
    pub interval_ns: u64,
    /// How long a check may take, ns; at least 1.
    pub timeout_ns: u64,
}

/// How requests are forwarded.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Where to; 1 to [`UPSTREAMS_MAX`].
    pub upstreams: Vec<Upstream>,
    /// Which of them.
    pub balance: Balance,
    /// What the proxy tells upstreams about the client.
    pub forwarded: Forwarded,
    /// Which Host upstreams see.
    pub host: HostField,
    /// Whether `Via` is added to requests, as RFC 9110 section 7.6.3 requires.
    pub via: bool,
    /// How long things may take.
    pub timeouts: Timeouts,
    /// How much there may be.
    pub limits: ProxyLimits,
    /// Which upstreams are well.
    pub health: Health,
    /// How TLS is spoken with clients; `None` for plain connections.
    pub tls: Option<ServerConfig>,
    /// Where a line for each request goes.
    pub log: Option<Arc<Log>>,
}

impl Rules {
    /// The usual rules for these upstreams.
    #[must_use]
    pub fn to(upstreams: Vec<Upstream>) -> Self {
        Self {
            upstreams,
            balance: Balance::default(),
            forwarded: Forwarded::default(),
            host: HostField::default(),
            via: true,
            timeouts: Timeouts::default(),
            limits: ProxyLimits::default(),
            health: Health::default(),
            tls: None,
            log: None,
        }
    }

    /// Tokens of a driver that upstream connections and checks take.
    #[must_use]
    pub fn upstream_tokens(&self) -> u32 {
        let each = self.limits.upstream_connections.saturating_add(1);
        each.saturating_mul(self.upstreams.len() as u32)
    }
}

/// What to proxy, where, and with what.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// Where clients connect; port 0 stands for a free one.
    pub listen: Vec<SocketAddr>,
    /// Threads, each with a driver, pools and a queue of its own; at least 1.
    pub workers: usize,
    /// Which driver to run on.
    pub driver: DriverChoice,
    /// CPUs to tie the workers to, taken in turn.
    pub pin: Option<Vec<usize>>,
    /// Clients that one worker takes at once; at least 1.
    pub connections_max: u32,
    /// How requests are forwarded.
    pub rules: Rules,
}

impl ProxyOptions {
    /// The usual rules on a free port of 127.0.0.1, by one worker on the best driver there is.
    #[must_use]
    pub fn to(upstreams: Vec<Upstream>) -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            workers: 1,
            driver: DriverChoice::Auto,
            pin: None,
            connections_max: 16_384,
            rules: Rules::to(upstreams),
        }
    }
}
