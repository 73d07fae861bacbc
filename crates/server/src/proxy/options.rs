//! The options of a proxy, and the counts it reports.
//!
//! Times are ns on the driver's clock, lengths are bytes. Every wait has a limit in time here, and
//! everything that can grow has a limit in length.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_io::{Address, DriverChoice};
use plimsoll_proto::http1;
use plimsoll_proto::http2;
use plimsoll_proto::tls::{ClientConfig, ServerConfig, ServerName};

use super::access_log::AccessLog;

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
    /// Which certificates to trust.
    pub config: ClientConfig,
    /// The name that the certificate must be for.
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

/// How `X-Forwarded-For`, `-Proto` and `-Host` are written. Unless it is `Off`, a client's other
/// fields that begin with `X-Forwarded-`, and its `Forwarded` (RFC 7239), are dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Forwarded {
    /// Append the client's address to `X-Forwarded-For`, and replace `-Proto` and `-Host`.
    #[default]
    Append,
    /// Replace all three with what this proxy saw.
    Replace,
    /// Pass them on unchanged.
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

/// Limits on time, ns; at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For connecting to an upstream, including TLS. After it: the next upstream, or 504.
    pub connect_ns: u64,
    /// From the request's last byte to the response's first. After it: 504.
    pub response_ns: u64,
    /// Between two receipts of a response, and without progress in sending a request's body. After
    /// it: the response is cut off, or 504 if it had not begun.
    pub upstream_idle_ns: u64,
    /// How long an upstream connection is kept without a request.
    pub upstream_keep_alive_ns: u64,
    /// From a request's first byte to the end of its head, and for a new client's TLS handshake.
    /// After it: 408.
    pub head_ns: u64,
    /// Between two receipts of a request's body. After it: 408.
    pub body_ns: u64,
    /// From the end of a request's head to the end of its body, except the time in which the proxy
    /// does not read from the client. After it: 408. `u64::MAX` is no limit.
    pub body_total_ns: u64,
    /// Without progress in sending to a client. After it: the connection is reset.
    pub send_ns: u64,
    /// The period over which a client has to send a body, or to read what is queued for it, at
    /// [`ProxyLimits::client_rate`]. Otherwise: 408, or the connection is reset.
    pub client_slack_ns: u64,
    /// How long a client's connection is kept without a request.
    pub keep_alive_ns: u64,
    /// For waiting until an upstream connection is free. After it: 503.
    pub queue_ns: u64,
    /// How long requests under way may take once the proxy is to stop.
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

/// Limits on sizes and numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Limits of requests. Beyond the head's and the trailers': 431; beyond the body's: 413; beyond
    /// the chunk line's: 400.
    pub request: http1::Limits,
    /// Limits of responses. Beyond them: 502.
    pub response: http1::Limits,
    /// What is announced to clients that speak HTTP/2, and taken of them. Each stream's window is
    /// how much of a body one that waits for an upstream may hold, and the connection's limits that
    /// of all its streams.
    pub http2: http2::ServerOptions,
    /// Bytes of a request's body to collect before the request gets an upstream connection; a
    /// longer body is then forwarded as it comes. The rest of the last receipt comes on top. With 0
    /// each request gets its connection after its head, and `Expect` goes end to end.
    pub body_buffer_bytes: usize,
    /// Bytes of memory of a worker for all requests that are being collected, or are kept because
    /// they may have to be sent again. Beyond it collecting stops; one receipt comes on top.
    pub body_buffers_bytes: usize,
    /// Bytes held for a client before reading from it stops: the rest of a body that waits for its
    /// connection, and requests sent ahead of time. Bytes that the driver has already received come
    /// on top.
    pub held_bytes: usize,
    /// Bytes queued for an upstream that reads slowly before reading from the client stops.
    pub queued_bytes: usize,
    /// Bytes queued for a client that reads slowly before reading from the upstream stops. The
    /// upstream is free once its whole response is queued.
    pub response_buffer_bytes: usize,
    /// Bytes per second, over [`Timeouts::client_slack_ns`], below which a client is too slow; at 0
    /// a byte in that time is enough.
    pub client_rate: u64,
    /// Requests of one worker that may wait for an upstream connection. Beyond it: 503.
    pub queue: usize,
    /// Connections of one worker to each upstream; at least 1.
    pub upstream_connections: u32,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            request: http1::Limits::default(),
            response: http1::Limits::default(),
            http2: http2_options(),
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

/// As many streams as requests of one client are usual, and windows that a waiting body may fill.
fn http2_options() -> http2::ServerOptions {
    let mut options = http2::ServerOptions { streams: 128, ..http2::ServerOptions::default() };
    options.receiving.window_bytes = 256 << 10;
    options.receiving.connection_window_bytes = 1 << 20;
    options.receiving.limits.list_bytes = 64 << 10;
    options
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
    /// How long it stays aside. Then one request is the trial; after the same time again, another.
    pub aside_ns: u64,
    /// Health checks, by requests of the proxy itself.
    pub check: Option<HealthCheck>,
}

impl Default for Health {
    fn default() -> Self {
        Self { failures: 5, fail_on_5xx: false, aside_ns: 5 * SECOND_NS, check: None }
    }
}

/// A request that each worker sends to each upstream from time to time. A status of 200 to 399
/// means that the upstream is healthy; anything else puts it aside until a later check succeeds.
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
    /// The upstreams; 1 to [`UPSTREAMS_MAX`].
    pub upstreams: Vec<Upstream>,
    /// How one of them is chosen.
    pub balance: Balance,
    /// What the proxy tells upstreams about the client.
    pub forwarded: Forwarded,
    /// Which Host upstreams see.
    pub host: HostField,
    /// Whether `Via` is added to requests, as RFC 9110 section 7.6.3 requires.
    pub via: bool,
    /// Limits on time.
    pub timeouts: Timeouts,
    /// Limits on sizes and numbers.
    pub limits: ProxyLimits,
    /// How failing upstreams are found.
    pub health: Health,
    /// How TLS is spoken with clients; `None` for plain connections.
    pub tls: Option<ServerConfig>,
    /// The access log.
    pub log: Option<Arc<AccessLog>>,
}

impl Rules {
    /// The default rules for these upstreams.
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

/// Where a proxy listens, its workers, and its rules.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// Where clients connect; port 0 stands for a free one.
    pub listen: Vec<SocketAddr>,
    /// Threads, each with a driver, pools and a queue of its own; at least 1.
    pub workers: usize,
    /// Which driver to run on.
    pub driver: DriverChoice,
    /// CPUs to pin the workers to, in turn.
    pub pin: Option<Vec<usize>>,
    /// Maximum number of clients of one worker; at least 1.
    pub connections_max: u32,
    /// How requests are forwarded.
    pub rules: Rules,
}

impl ProxyOptions {
    /// The default rules on a free port of 127.0.0.1, with one worker on the best driver available.
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
