//! What a command line of `fortio load` asks for: a checked value.

use plimsoll_core::plan::{DriverPlan, Spin};
use plimsoll_core::secret::{Secret, percent_decoded};

/// The version of fortio whose behaviour this is.
pub(super) const SPOKEN: &str = "1.75.2";

/// What the program calls itself where fortio shows its version: fortio's, and ours as SemVer's
/// build metadata, so that scripts that compare versions find fortio's.
#[must_use]
pub fn version() -> String {
    format!("{SPOKEN}+plimsoll.{}", env!("CARGO_PKG_VERSION"))
}

/// The version as logs and pages show it, with the platform.
#[must_use]
pub fn long_version() -> String {
    format!("{} {} {}", version(), std::env::consts::ARCH, std::env::consts::OS)
}

/// The scheme that a target begins with. One in its query is another URL's.
#[must_use]
pub fn scheme(target: &str) -> Option<&str> {
    let (scheme, _) = target.split_once("://")?;
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-');
    (!scheme.is_empty() && scheme.chars().all(is_of_scheme)).then_some(scheme)
}

/// How much is logged, from everything to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Nearly everything.
    Verbose,
    /// The usual.
    Info,
    /// What may be wrong.
    Warning,
    /// What is wrong.
    Error,
    /// What cannot go on.
    Critical,
    /// What ends the program.
    Fatal,
}

/// What is called over gRPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// The health of this service; empty: of the server.
    Health(String),
    /// fortio's ping, answered after this time, ns.
    Ping {
        /// ns.
        delay_ns: i64,
    },
    /// A method that the server describes, `package.Service/Method`; its message is the payload, as
    /// JSON.
    Method(String),
}

/// What carries bytes that a server sends back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A connection of TCP.
    Tcp,
    /// Datagrams of UDP.
    Udp,
}

impl Carrier {
    /// Its name in logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

/// Where and how each call is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessLog {
    /// The file, which is appended to.
    pub path: String,
    /// Lines of the influx line protocol; else JSON.
    pub is_influx: bool,
}

impl AccessLog {
    /// fortio's name of the format.
    #[must_use]
    pub fn format(&self) -> &'static str {
        if self.is_influx { "influx" } else { "json" }
    }
}

/// What is sent beside the head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Payload {
    /// Nothing.
    #[default]
    None,
    /// These bytes.
    Text(String),
    /// What this file holds.
    File(String),
    /// This number of random bytes.
    Random(usize),
}

/// A command line that can be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// What to call: a URL, or `host:port` for gRPC. As it was given, but for a user and a password
    /// in it.
    pub target: String,
    /// These, as `user:password`; empty without any.
    pub url_credentials: Secret,
    /// Calls per second; 0 and less: as fast as possible.
    pub qps: f64,
    /// Connections, or for gRPC connections times streams, before they are lowered.
    pub threads: u32,
    /// How long, ns; 0: until Ctrl-C.
    pub duration_ns: i64,
    /// Exactly this number of calls; 0: as many as the time takes.
    pub exactly: i64,
    /// Width of the first buckets, s.
    pub resolution_s: f64,
    /// Least value of the histogram, ns.
    pub offset_ns: i64,
    /// Percentiles to report, above 0 and below 100.
    pub percentiles: Vec<f64>,
    /// Whether times between calls vary.
    pub jitter: bool,
    /// Whether calls of the threads are spread evenly.
    pub uniform: bool,
    /// Whether calls that are due while no connection is free are left out.
    pub no_catch_up: bool,
    /// Whether the run goes on when calls of the warm-up fail.
    pub allow_initial_errors: bool,
    /// Whether connections are warmed up one after the other.
    pub sequential_warmup: bool,
    /// -1: an error of the socket ends the run; 0: nothing does; else a call with this status.
    pub abort_on: i64,
    /// After a number of calls from the first to the second of these a connection is closed.
    pub connection_reuse: Option<[u32; 2]>,
    /// Where each call is logged.
    pub access_log: Option<AccessLog>,
    /// Where the JSON result goes; `-` is stdout.
    pub json: Option<String>,
    /// Whether it goes to a file that is named by time and labels.
    pub auto_save: bool,
    /// The folder of that file.
    pub data_dir: String,
    /// Labels; `None`: URL and host name.
    pub labels: Option<String>,
    /// Number of the run.
    pub run_id: i64,
    /// Threads of the engine; 0: it chooses.
    pub workers: u32,
    /// How much is logged.
    pub log_level: LogLevel,
    /// Whether bad statuses are logged.
    pub log_errors: bool,
    /// What is called over gRPC; `None`: HTTP.
    pub call: Option<Call>,
    /// Streams of each connection of gRPC.
    pub streams: u32,
    /// Headers: the name in canonical spelling, and the value; `None` leaves the header out.
    pub headers: Vec<(String, Option<String>)>,
    /// The method in place of the usual one.
    pub method: Option<String>,
    /// The payload.
    pub payload: Payload,
    /// Content-Type, if one was given.
    pub content_type: Option<String>,
    /// `user:password`, or empty.
    pub credentials: Secret,
    /// Whether gzip is asked for.
    pub compression: bool,
    /// HTTP/1.0.
    pub http10: bool,
    /// HTTP/2.
    pub h2: bool,
    /// Whether headers are written as Go's client does.
    pub std_client: bool,
    /// Whether connections are kept open.
    pub keep_alive: bool,
    /// Whether `-halfclose` was given, which is about connections that are not.
    pub half_close: bool,
    /// Whether redirects are followed.
    pub follows_redirects: bool,
    /// Limit of a call, ns.
    pub timeout_ns: i64,
    /// Limit of a call over UDP, ns.
    pub udp_timeout_ns: i64,
    /// Whether any certificate is taken.
    pub insecure: bool,
    /// File of authorities; empty: none.
    pub ca_cert: String,
    /// File of the client's certificate; empty: none.
    pub cert: String,
    /// File of its key; empty: none.
    pub key: String,
    /// Whether `-mtls` was given.
    pub mtls: bool,
    /// Address to connect to; empty: that of the URL.
    pub resolve: String,
    /// A Unix socket to connect to; empty: none.
    pub unix_socket: String,
    /// Whether names are looked up once.
    pub no_reresolve: bool,
    /// Whether calls are paced as fortio does and nothing of our own is printed.
    pub as_original: bool,
    /// Which driver to use.
    pub driver: DriverPlan,
    /// Whether to spin.
    pub spin: Spin,
    /// Where our own result document goes.
    pub json_result: Option<String>,
}

impl Command {
    /// With fortio's defaults.
    pub(super) fn new() -> Self {
        Self {
            target: String::new(),
            url_credentials: Secret::default(),
            qps: 8.0,
            threads: 4,
            duration_ns: 5_000_000_000,
            exactly: 0,
            resolution_s: 0.001,
            offset_ns: 0,
            percentiles: Vec::new(),
            jitter: false,
            uniform: false,
            no_catch_up: false,
            allow_initial_errors: false,
            sequential_warmup: false,
            abort_on: 0,
            connection_reuse: None,
            access_log: None,
            json: None,
            auto_save: false,
            data_dir: ".".to_owned(),
            labels: None,
            run_id: 0,
            workers: 0,
            log_level: LogLevel::Info,
            log_errors: true,
            call: None,
            streams: 1,
            headers: Vec::new(),
            method: None,
            payload: Payload::None,
            content_type: None,
            credentials: Secret::default(),
            compression: false,
            http10: false,
            h2: false,
            std_client: false,
            keep_alive: true,
            half_close: false,
            follows_redirects: false,
            timeout_ns: 3_000_000_000,
            udp_timeout_ns: 750_000_000,
            insecure: false,
            ca_cert: String::new(),
            cert: String::new(),
            key: String::new(),
            mtls: false,
            resolve: String::new(),
            unix_socket: String::new(),
            no_reresolve: false,
            as_original: false,
            driver: DriverPlan::Auto,
            spin: Spin::Auto,
            json_result: None,
        }
    }

    /// Takes what to call. A user and a password in it are kept apart, so that nothing shows them.
    pub(super) fn call_at(&mut self, target: &str) {
        let scheme_bytes = scheme(target).map_or(0, |scheme| scheme.len() + "://".len());
        let (scheme, rest) = target.split_at(scheme_bytes);
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let Some((userinfo, host)) = rest[..end].rsplit_once('@') else {
            self.target = target.to_owned();
            return;
        };
        self.target = format!("{scheme}{host}{}", &rest[end..]);
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        let pair = format!("{}:{}", percent_decoded(user), percent_decoded(password));
        self.url_credentials = pair.as_str().into();
    }

    /// The credentials that are sent. fortio's own client ignores those in the URL, and Go's client
    /// sends them.
    pub(super) fn sent_credentials(&self) -> Option<&str> {
        let given = self.credentials.reveal();
        let of_url = self.url_credentials.reveal();
        if given.contains(':') {
            return Some(given);
        }
        (self.is_std_client() && !of_url.is_empty()).then_some(of_url)
    }

    /// What is loaded without a protocol; `None`: HTTP or gRPC.
    #[must_use]
    pub fn carrier(&self) -> Option<Carrier> {
        match scheme(&self.target) {
            _ if self.call.is_some() => None,
            Some("tcp") => Some(Carrier::Tcp),
            Some("udp") => Some(Carrier::Udp),
            _ => None,
        }
    }

    /// Whether the run is at a rate.
    #[must_use]
    pub fn has_rate(&self) -> bool {
        self.qps > 0.0
    }

    /// Whether the load goes on without a connection at the start, and counts each call as failed.
    #[must_use]
    pub fn counts_initial_errors(&self) -> bool {
        self.carrier().is_none() && (self.allow_initial_errors || self.exactly > 0)
    }

    /// Whether Go's client would be used: its results have no sizes of heads.
    #[must_use]
    pub fn is_std_client(&self) -> bool {
        let is_asked_for = self.std_client || self.h2 || self.follows_redirects;
        is_asked_for || self.target.starts_with("https://")
    }

    /// The URL to call: `http://` unless another scheme was given.
    #[must_use]
    pub fn url(&self) -> String {
        match scheme(&self.target) {
            Some(_) => self.target.clone(),
            None => format!("http://{}", self.target),
        }
    }
}
