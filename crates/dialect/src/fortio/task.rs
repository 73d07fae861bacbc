//! What commands other than `load` ask for.

use super::command::Command;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// A load.
    Load(Box<Command>),
    /// One request, shown.
    Curl(Box<Curl>),
    /// Pings over gRPC, one after the other.
    GrpcPing(Box<GrpcPing>),
    /// Stdin to a server, and what that says to stderr.
    Netcat(Netcat),
    /// Servers, until a signal.
    Serve(Box<Serve>),
}

/// One request, shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Curl {
    /// What is requested.
    pub command: Command,
    /// Whether the head goes to stdout too.
    pub stdout_headers: bool,
    /// Whether the payload is what stdin has.
    pub streams: bool,
}

/// Pings over gRPC.
#[derive(Debug, Clone, PartialEq)]
pub struct GrpcPing {
    /// Where to, and with what.
    pub command: Command,
    /// How many times.
    pub count: u32,
    /// Whether the health service is asked instead.
    pub is_health: bool,
}

/// A connection for stdin and stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Netcat {
    /// `host:port`, or `udp://host:port`, as it was given.
    pub target: String,
    /// Whether it goes over UDP.
    pub is_udp: bool,
    /// Whether to end when the server does.
    pub stops_on_eof: bool,
}

impl Netcat {
    /// `host:port`.
    #[must_use]
    pub fn address(&self) -> &str {
        let schemes = ["udp://", "tcp://"];
        schemes.iter().find_map(|it| self.target.strip_prefix(it)).unwrap_or(&self.target)
    }
}

/// Servers, and what they do. An empty address is a server that is not started.
#[derive(Debug, Clone, PartialEq)]
pub struct Serve {
    /// Which of fortio's commands it is.
    pub kind: ServeKind,
    /// Address of the echo, the REST interface and the pages.
    pub http: String,
    /// Address of gRPC.
    pub grpc: String,
    /// Address that sends everybody to https.
    pub redirect: String,
    /// Address of the echo over TCP.
    pub tcp: String,
    /// Address of the echo over UDP.
    pub udp: String,
    /// Path of the pages and of the REST interface; empty turns both off.
    pub ui_path: String,
    /// Path that shows requests; empty turns it off.
    pub debug_path: String,
    /// The query of requests that have none.
    pub default_params: String,
    /// The longest delay that a request may ask for, ns.
    pub echo_delay_ns_max: u64,
    /// The largest body that a request may ask for, bytes.
    pub payload_bytes_max: u64,
    /// Folder of results.
    pub data_dir: String,
    /// What stands before the names of results in their list; empty: what the request said.
    pub base_url: String,
    /// List of results to fetch; empty: none.
    pub sync_url: String,
    /// How often to fetch it, ns; 0: once.
    pub sync_interval_ns: u64,
    /// Proxies over TCP: `port host:port`.
    pub proxies: Vec<String>,
    /// Servers that send requests on to several others: `port URL URL`.
    pub multis: Vec<String>,
    /// Whether those get requests as they came.
    pub multi_mirrors: bool,
    /// Whether they are asked one after the other.
    pub multi_in_turn: bool,
    /// Whether pages of others are fetched for clients.
    pub fetches: bool,
    /// File of the certificate; empty: none.
    pub cert: String,
    /// File of its key; empty: none.
    pub key: String,
    /// How many threads; 0: one for each CPU.
    pub threads: u32,
    /// What runs that are started here have in common.
    pub command: Command,
}

/// Which of fortio's servers are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServeKind {
    /// All.
    Server,
    /// Pages with results, and the redirect.
    Report,
    /// The redirect.
    Redirect,
    /// The echo over TCP.
    TcpEcho,
    /// The echo over UDP.
    UdpEcho,
    /// Proxies.
    Proxies,
}

impl Serve {
    /// With fortio's defaults, of which the servers of a kind are started.
    pub(super) fn new() -> Self {
        let text = str::to_owned;
        Self {
            kind: ServeKind::Server,
            http: text("8080"),
            grpc: text("8079"),
            redirect: text("8081"),
            tcp: text("8078"),
            udp: text("8078"),
            ui_path: text("/fortio/"),
            debug_path: text("/debug"),
            default_params: String::new(),
            echo_delay_ns_max: 1_500_000_000,
            payload_bytes_max: 256 << 10,
            data_dir: text("."),
            base_url: String::new(),
            sync_url: String::new(),
            sync_interval_ns: 0,
            proxies: Vec::new(),
            multis: Vec::new(),
            multi_mirrors: true,
            multi_in_turn: false,
            fetches: false,
            cert: String::new(),
            key: String::new(),
            threads: 0,
            command: Command::new(),
        }
    }

    /// Without the servers that are not of this kind.
    pub(super) fn only(mut self, kind: ServeKind) -> Self {
        self.kind = kind;
        let has = |kinds: &[ServeKind]| kind == ServeKind::Server || kinds.contains(&kind);
        for (address, is_kept) in [
            (&mut self.http, has(&[ServeKind::Report])),
            (&mut self.grpc, has(&[])),
            (&mut self.redirect, has(&[ServeKind::Report, ServeKind::Redirect])),
            (&mut self.tcp, has(&[ServeKind::TcpEcho])),
            (&mut self.udp, has(&[ServeKind::UdpEcho])),
        ] {
            if !is_kept || address == "disabled" {
                address.clear();
            }
        }
        if !has(&[ServeKind::Proxies]) {
            self.proxies.clear();
            self.multis.clear();
        }
        if kind == ServeKind::Report {
            self.ui_path = "/".to_owned();
            self.debug_path.clear();
            self.fetches = false;
        }
        self
    }
}
