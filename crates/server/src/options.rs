//! The options of a server, and the counts it reports.

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_proto::{http1, http2, tls};

use crate::faults::Faults;
use crate::queue::Queue;
use crate::site::SiteOptions;

/// Limits on requests. Lengths are per connection unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerLimits {
    /// Limits of request heads, chunk lines and trailers.
    pub http1: http1::Limits,
    /// What an HTTP/2 connection takes.
    pub http2: http2::ServerOptions,
    /// Bytes of the largest body that is echoed; larger ones get a 413.
    pub echo_bytes: u64,
    /// Bytes of all bodies that one worker echoes at once. Beyond it: 503.
    pub echo_total_bytes: u64,
    /// Bytes of requests held while an earlier one is answered; with more, the connection is
    /// reset. Messages of a WebSocket are left with the kernel instead.
    pub held_bytes: usize,
    /// Bytes queued for a client that is slow to read before its requests wait.
    pub queued_bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            http1: http1::Limits::default(),
            http2: http2_options(),
            echo_bytes: 16 << 20,
            echo_total_bytes: 1 << 30,
            held_bytes: 256 << 10,
            queued_bytes: 1 << 20,
        }
    }
}

/// What an HTTP/2 connection takes: enough for every load, and little enough that clients cannot
/// make the server keep much.
fn http2_options() -> http2::ServerOptions {
    let mut options = http2::ServerOptions { streams: 256, ..http2::ServerOptions::default() };
    let receiving = &mut options.receiving;
    receiving.window_bytes = 256 << 10;
    receiving.connection_window_bytes = 1 << 20;
    receiving.limits.list_bytes = 16 << 10;
    options
}

/// Everything about a server except where it listens.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Faults to commit.
    pub faults: Faults,
    /// Limits on requests.
    pub limits: ServerLimits,
    /// How long requests under way may take to finish once the server is to stop.
    pub drain_ns: u64,
    /// The TLS identity; `None` for plain connections.
    pub tls: Option<tls::ServerConfig>,
    /// The queue of `/queue/`, which servers with the same options share.
    pub queue: Arc<Queue>,
    /// What addresses with the role of a site do.
    pub site: SiteOptions,
    /// What the wall clock shows at the driver's 0, ns since the start of 1970, for what is dated.
    /// `None`: pings of gRPC come back with their sender's time.
    pub base_unix_ns: Option<u64>,
}

impl Default for ServerOptions {
    /// No faults, the usual limits, a second to finish, and plain connections.
    fn default() -> Self {
        let (faults, limits) = (Faults::default(), ServerLimits::default());
        Self {
            faults,
            limits,
            drain_ns: 1_000_000_000,
            tls: None,
            queue: Arc::default(),
            site: SiteOptions::default(),
            base_unix_ns: None,
        }
    }
}

/// The counts of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted.
    pub connections: u64,
    /// Requests read in whole, with any outcome.
    pub requests: u64,
    /// WebSocket messages read in whole.
    pub messages: u64,
    /// Answers begun, by the first digit of their status minus one.
    pub responses: [u64; 5],
    /// Requests that were malformed, too long or refused unread.
    pub refused: u64,
    /// Connections and streams reset on purpose, as a fault or for exceeding a limit.
    pub resets: u64,
    /// Connections that could not be accepted.
    pub accept_failures: u64,
    /// Connections on which TLS failed, in the handshake or later.
    pub tls_failures: u64,
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes handed to the driver to be sent.
    pub bytes_sent: u64,
}

impl Counters {
    /// Counts an answer that has begun, or an interim one.
    #[inline]
    pub(crate) fn count_response(&mut self, status: u16) {
        self.responses[usize::from(status / 100 - 1)] += 1;
    }

    /// Adds another worker's counts.
    pub fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.requests += other.requests;
        self.messages += other.messages;
        for (mine, theirs) in self.responses.iter_mut().zip(other.responses) {
            *mine += theirs;
        }
        self.refused += other.refused;
        self.resets += other.resets;
        self.accept_failures += other.accept_failures;
        self.tls_failures += other.tls_failures;
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
    }
}

/// Why a server could not be started, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The options contradict each other.
    #[error("{0}")]
    Options(&'static str),
    /// The server cannot listen on an address.
    #[error("cannot listen on {address}: {}{}", reason(source), advice(source))]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The certificate could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
    /// A thread or its driver could not be started, or the driver broke.
    #[error("cannot {action}: {}", reason(source))]
    Worker {
        /// What was being done.
        action: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
}

/// The system's message without the error number after it.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => text.trim_end_matches(&format!(" (os error {number})")).to_owned(),
        None => text,
    }
}

/// What to do if the server cannot listen on an address.
fn advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => ": end what listens there, or take another address",
        std::io::ErrorKind::PermissionDenied => ": take a port above 1023, or run as root",
        _ => "",
    }
}
