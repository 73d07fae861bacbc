//! The plan: everything a run is asked to do. Every number is a total, never per worker or
//! connection.
//!
//! Three types keep its states apart. A [`Draft`] is raw parts, as flags, files and other testers'
//! command lines give them. [`Draft::check`] makes a [`Plan`](crate::Plan) of it, which can be
//! carried out. A [`Record`] is what a result keeps of it, without secrets and contents, and never
//! becomes a plan again.

use serde::{Deserialize, Serialize};

pub mod error;
mod field;
mod grpc;
pub mod http2;
pub(crate) mod places;
mod record;
mod request;
#[cfg(test)]
mod tests;
mod transport;
mod vus;
pub mod websocket;

use crate::details::DetailsPlan;
use crate::expect::Expectation;
use crate::schedule::Profile;
use crate::secret::Masks;
use crate::template::Table;

pub use error::{Keys, PlanError, PlanErrors, Words};
pub use field::Field;
pub use grpc::{CallKind, GrpcPlan};
pub use http2::{Http2Plan, HttpVersion};
pub use record::Record;
pub use request::{Body, Endpoint, Order, Request, Script, Target, TargetFile};
pub use transport::{
    ConnectTo, PemFile, Proxy, ProxyProtocol, Resolve, TlsPlan, TlsVersions, Transport,
};
pub use vus::{VuPlan, VuScenario};
pub use websocket::WebSocketPlan;

/// Which driver to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverPlan {
    /// The fastest that this kernel really offers.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// epoll.
    Epoll,
}

/// Whether to spin instead of sleeping until a request is due or answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// At a rate: before a request is due, for as long as sleeps have been ending late (50 to 500
    /// µs), and for 100 µs after work; when the workers leave a CPU free or have one to themselves,
    /// and as long as it does no harm.
    #[default]
    Auto,
    /// All the time, instead of sleeping: a response does not wait for a CPU to wake up.
    On,
    /// Never.
    Off,
}

/// Where the times of received bytes come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// The worker's clock when it learns of them.
    #[default]
    User,
    /// The kernel's, when it took the packet in (`SO_TIMESTAMPNS`).
    Kernel,
}

/// A schedule given as a list: when each request is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Where it was read from.
    pub path: String,
    /// Offsets from the start of the measured part, ns, in order. Not kept in results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offsets_ns: Vec<u64>,
}

impl Trace {
    /// How long its first `requests` requests (all, with `None`) are due, ns: to the time of the
    /// next one. After the last of the list, that is the mean distance of the list's times later.
    #[must_use]
    pub fn window_ns(&self, requests: Option<u64>) -> u64 {
        let at = requests.and_then(|requests| usize::try_from(requests).ok());
        if let Some(next_ns) = at.and_then(|at| self.offsets_ns.get(at)) {
            return *next_ns;
        }
        let [first_ns, .., last_ns] = self.offsets_ns[..] else {
            return self.offsets_ns.first().copied().unwrap_or(0);
        };
        last_ns.saturating_add((last_ns - first_ns) / (self.offsets_ns.len() as u64 - 1))
    }
}

/// The parts of a plan, unchecked. What makes plans fills them in; what carries one out reads them
/// through [`Plan`](crate::Plan).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Where the requests go.
    pub endpoint: Endpoint,
    /// What is sent.
    pub request: Request,
    /// Several requests, in place of `request` and the endpoint's path; empty: just that one.
    #[serde(default)]
    pub targets: Vec<Target>,
    /// Where the targets were read from, where that is a file.
    #[serde(default)]
    pub target_file: Option<TargetFile>,
    /// In which order the targets are taken.
    #[serde(default)]
    pub order: Order,
    /// Whether paths, headers and bodies may hold templates.
    #[serde(default)]
    pub templates: bool,
    /// Tables that templates take values from.
    #[serde(default)]
    pub tables: Vec<Table>,
    /// What every response must be like; without a condition on the status, below 400.
    #[serde(default)]
    pub expect: Vec<Expectation>,
    /// Redirects followed for one request, on the same server; 0 takes them as they are.
    #[serde(default)]
    pub redirects: u32,
    /// Whether a request and the redirects that it is sent on by are one call, as in Go's client:
    /// with the status of the last response, and the time until that is complete. 301, 302 and 303
    /// make any method but HEAD a GET then. A call that is sent on too often, or to another server,
    /// is broken.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub joins_redirects: bool,
    /// Whether requests that the server says it did not process are sent again, each time it says
    /// so within the timeout (RFC 9113 section 8.7). False in documents of earlier versions, which
    /// never did.
    #[serde(default)]
    pub resends: bool,
    /// Whether each connection keeps the cookies it is given.
    #[serde(default)]
    pub cookies: bool,
    /// How the server is reached.
    #[serde(default)]
    pub transport: Transport,
    /// How TLS is spoken.
    #[serde(default)]
    pub tls: TlsPlan,
    /// Which version of HTTP is spoken.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub http_version: HttpVersion,
    /// How HTTP/2 is spoken, where it is.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub http2: Http2Plan,
    /// The method that is called, where gRPC is spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcPlan>,
    /// How WebSocket is spoken, where it is.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub websocket: WebSocketPlan,
    /// Open connections; at a rate, those to begin with.
    pub connections: u32,
    /// At a rate, how many there may be when those there are do not suffice.
    #[serde(default)]
    pub connections_max: Option<u32>,
    /// Worker threads; 0 lets the engine choose.
    pub workers: u32,
    /// How long to start requests, after the warm-up.
    #[serde(rename = "duration_s", with = "crate::serde_units::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// Exactly how many requests to start, after the warm-up.
    pub requests: Option<u64>,
    /// The rate over time; `None` is a closed loop, if there is no trace either.
    pub rate: Option<Profile>,
    /// When each request is due, in place of a rate.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Load before the measured part, kept apart in the result.
    #[serde(rename = "warmup_s", with = "crate::serde_units::from_ns")]
    pub warmup_ns: u64,
    /// A request on each connection before the load begins, the warm-up included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_request: Option<FirstRequest>,
    /// How long to wait for open requests at the end.
    #[serde(rename = "drain_s", with = "crate::serde_units::from_ns")]
    pub drain_ns: u64,
    /// How long a request may take, from when it starts on a connection.
    #[serde(rename = "timeout_s", with = "crate::serde_units::from_ns")]
    pub timeout_ns: u64,
    /// At a rate, how late a request may be for want of a connection before it is dropped.
    #[serde(default, rename = "shed_after_s", with = "crate::serde_units::optional_from_ns")]
    pub shed_after_ns: Option<u64>,
    /// Requests after which a connection is closed and opened again. 1 opens one for each
    /// request, and its time counts as part of the request.
    pub requests_per_connection: Option<u64>,
    /// The least of them: each connection then has a number of its own, drawn between this and
    /// `requests_per_connection`, both included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection_min: Option<u64>,
    /// Age at which a connection is closed, between two requests, and opened again.
    #[serde(
        default,
        rename = "connection_lifetime_s",
        with = "crate::serde_units::optional_from_ns"
    )]
    pub connection_lifetime_ns: Option<u64>,
    /// Requests in flight on one connection of HTTP/1.
    pub pipeline: u32,
    /// The program that decides what is sent, where there is one; `request` and `targets` are what
    /// it has made of the plan then.
    #[serde(default)]
    pub script: Option<Script>,
    /// What the virtual users do, where the script is one of k6. Such a plan has no endpoint: each
    /// request says where it goes. Its connections are virtual users, and its rate is one of
    /// iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vus: Option<VuPlan>,
    /// What else to keep, for the output of other testers. Not kept in results.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub details: DetailsPlan,
    /// Conditions the result has to meet.
    #[serde(default)]
    pub gates: Vec<String>,
    /// Conditions that end the run once they hold.
    #[serde(default)]
    pub abort_when: Vec<String>,
    /// Whether a verdict other than valid fails the run.
    #[serde(default)]
    pub require_valid: bool,
    /// Where the times of received bytes come from.
    #[serde(default)]
    pub timestamps: Timestamps,
    /// A Unix socket that takes commands while the run goes on.
    #[serde(default)]
    pub control: Option<String>,
    /// Which driver to use.
    pub driver: DriverPlan,
    /// Whether to spin before a request is due.
    pub spin: Spin,
    /// CPUs to tie the workers to, taken in turn; empty leaves it to the kernel.
    pub pin: Vec<u32>,
    /// Seed of everything random.
    pub seed: u64,
    /// What records do not show of it. Not kept in results.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub masks: Masks,
}

/// The request that a connection carries before the load begins: the one that the plan has, once
/// for each that may be in flight. It is kept apart in the result, with the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstRequest {
    /// Whether a worker's connections take turns. Otherwise all send at once.
    pub one_by_one: bool,
    /// Whether the load begins also when one of these requests fails.
    pub may_fail: bool,
}

/// Whether a part is as it is when nobody has said anything of it.
fn is_usual<T: Default + PartialEq>(part: &T) -> bool {
    *part == T::default()
}

impl Draft {
    /// That of `plimsoll URL`: GET in a closed loop over 50 connections for ten seconds.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            request: Request::get(),
            targets: Vec::new(),
            target_file: None,
            order: Order::Sequential,
            templates: true,
            tables: Vec::new(),
            expect: Vec::new(),
            redirects: 0,
            joins_redirects: false,
            resends: true,
            cookies: false,
            transport: Transport::default(),
            tls: TlsPlan::default(),
            http_version: HttpVersion::default(),
            http2: Http2Plan::default(),
            grpc: None,
            websocket: WebSocketPlan::default(),
            connections: 50,
            connections_max: None,
            workers: 0,
            duration_ns: Some(10_000_000_000),
            requests: None,
            rate: None,
            trace: None,
            warmup_ns: 0,
            first_request: None,
            drain_ns: 10_000_000_000,
            timeout_ns: 30_000_000_000,
            shed_after_ns: None,
            requests_per_connection: None,
            requests_per_connection_min: None,
            connection_lifetime_ns: None,
            pipeline: 1,
            script: None,
            vus: None,
            details: DetailsPlan::default(),
            gates: Vec::new(),
            abort_when: Vec::new(),
            require_valid: false,
            timestamps: Timestamps::User,
            control: None,
            driver: DriverPlan::Auto,
            spin: Spin::Auto,
            pin: Vec::new(),
            seed: 1,
            masks: Masks::default(),
        }
    }

    /// All requests the plan may send.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let one = self.targets.is_empty().then_some(&self.request);
        one.into_iter().chain(self.targets.iter().map(|target| &target.request))
    }

    /// How many requests may be in flight on one connection.
    #[must_use]
    pub fn in_flight_per_connection(&self) -> u32 {
        match self.http_version {
            HttpVersion::Http1 if self.endpoint.is_websocket() => self.websocket.in_flight,
            HttpVersion::Http1 => self.pipeline,
            HttpVersion::Http2 | HttpVersion::Auto => self.http2.streams,
        }
    }

    /// Whether requests are due at times set in advance.
    #[must_use]
    pub fn is_open_loop(&self) -> bool {
        self.rate.is_some() || self.trace.is_some()
    }

    /// Whether the targets' weights ask for some of them more often than for others.
    #[must_use]
    pub fn has_unlike_weights(&self) -> bool {
        self.targets.windows(2).any(|pair| pair[0].weight != pair[1].weight)
    }

    /// The most connections there can be.
    #[must_use]
    pub fn connections_limit(&self) -> u32 {
        self.connections_max.unwrap_or(self.connections)
    }

    /// Whether each request opens a connection of its own.
    #[must_use]
    pub fn connects_per_request(&self) -> bool {
        self.requests_per_connection == Some(1)
    }
}
