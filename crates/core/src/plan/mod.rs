//! The plan: everything a run is asked to do, as plain data. Every number is a total, never per
//! worker or connection.
//!
//! Impossible combinations are refused by [`plan_check`](crate::plan_check), which knows the gates
//! too; the engine runs only plans that passed it.

use serde::{Deserialize, Serialize};

mod request;
mod transport;

use crate::details::DetailsPlan;
use crate::expect::Expectation;
use crate::schedule::Profile;
use crate::secret::{Masks, Secret};
use crate::template::Table;

pub use request::{Body, Endpoint, Order, Request, Script, Target, TargetFile};
pub use transport::{
    ConnectTo, PemFile, Proxy, ProxyProtocol, Resolve, TlsPlan, TlsVersions, Transport,
};

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
    /// Offsets from the start of the measured part, ns, in order. Not kept in documents.
    #[serde(skip)]
    pub offsets_ns: Vec<u64>,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
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
    /// Whether each connection keeps the cookies it is given.
    #[serde(default)]
    pub cookies: bool,
    /// How the server is reached.
    #[serde(default)]
    pub transport: Transport,
    /// How TLS is spoken.
    #[serde(default)]
    pub tls: TlsPlan,
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
    /// Age at which a connection is closed, between two requests, and opened again.
    #[serde(
        default,
        rename = "connection_lifetime_s",
        with = "crate::serde_units::optional_from_ns"
    )]
    pub connection_lifetime_ns: Option<u64>,
    /// Requests in flight on one connection.
    pub pipeline: u32,
    /// The program that decides what is sent, where there is one; `request` and `targets` are what
    /// it has made of the plan then.
    #[serde(default)]
    pub script: Option<Script>,
    /// What else to keep, for the output of other testers.
    #[serde(skip)]
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
    /// What documents do not show of it.
    #[serde(skip)]
    pub masks: Masks,
}

/// Bodies above this are not repeated in a result document.
const BODY_KEPT_BYTES: usize = 4096;

/// Targets beyond these are not repeated in a result document.
const TARGETS_KEPT: usize = 1000;

/// A plan that cannot be run: one line, what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl Plan {
    /// The plan of `plimsoll URL`: GET in a closed loop over 50 connections for ten seconds.
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
            cookies: false,
            transport: Transport::default(),
            tls: TlsPlan::default(),
            connections: 50,
            connections_max: None,
            workers: 0,
            duration_ns: Some(10_000_000_000),
            requests: None,
            rate: None,
            trace: None,
            warmup_ns: 0,
            drain_ns: 10_000_000_000,
            timeout_ns: 30_000_000_000,
            shed_after_ns: None,
            requests_per_connection: None,
            connection_lifetime_ns: None,
            pipeline: 1,
            script: None,
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

    /// The plan as documents keep it: what its masks hide is masked, bodies are lengths, and there
    /// is an end to the targets. A record of a record is the same.
    #[must_use]
    pub fn for_result(&self) -> Self {
        let mut plan = Self { targets: Vec::new(), ..self.clone() };
        let masks = &self.masks;
        plan.endpoint.path = Secret::public(masks.url(self.endpoint.path.reveal()));
        plan.request = recorded(&self.request, masks);
        plan.targets =
            self.targets.iter().take(TARGETS_KEPT).map(|it| it.recorded(masks)).collect();
        plan.expect = self.expect.iter().map(|it| masks.expectation(it)).collect();
        if let Some(script) = &mut plan.script {
            let shown = |argument: &Secret| Secret::public(masks.whole(argument.reveal()));
            script.arguments = script.arguments.iter().map(shown).collect();
        }
        plan
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

/// What documents keep of a request.
fn recorded(request: &Request, masks: &Masks) -> Request {
    let header = |(name, value): &(String, Secret)| {
        (name.clone(), Secret::public(masks.header(name, value.reveal())))
    };
    Request {
        headers: request.headers.iter().map(header).collect(),
        body: request.body.as_ref().map(|body| body.for_result(masks, BODY_KEPT_BYTES)),
        ..request.clone()
    }
}

impl Target {
    fn recorded(&self, masks: &Masks) -> Self {
        Self {
            name: self.name.clone(),
            path: Secret::public(masks.url(self.path.reveal())),
            request: recorded(&self.request, masks),
            weight: self.weight,
            expect: self.expect.iter().map(|it| masks.expectation(it)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let mut plan = Plan::new(Endpoint::http("::1", 8080, "/x?y"));
        plan.request.headers = vec![("Authorization".to_owned(), "Basic c2VjcmV0".into())];
        plan.request.body = Some(Body::new(vec![b'x'; BODY_KEPT_BYTES + 1]));
        plan
    }

    #[test]
    fn secrets_and_bodies_stay_out_of_results() {
        let mut plan = plan();
        plan.endpoint.path = "/x?token=hush".into();
        plan.script = Some(Script { path: "x.lua".to_owned(), arguments: vec!["hush".into()] });
        let request = Request { body: Some(Body::new(b"hush".to_vec())), ..plan.request.clone() };
        plan.targets = vec![Target {
            name: "a".to_owned(),
            path: "/?key=hush".into(),
            request,
            weight: 1,
            expect: Vec::new(),
        }];
        let kept = plan.for_result();
        let json = serde_json::to_string(&kept).unwrap();
        for secret in ["c2VjcmV0", "hush"] {
            assert!(!json.contains(secret), "{json}");
            assert!(!format!("{plan:?}").contains(secret), "{plan:?}");
            assert!(!serde_json::to_string(&plan).unwrap().contains(secret));
        }
        assert!(matches!(kept.request.body, Some(Body::Omitted { bytes: 4097, .. })));
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), kept);
        assert_eq!(kept.for_result(), kept);
    }

    #[test]
    fn what_was_asked_to_be_shown_is_and_large_bodies_never() {
        let masks = Masks { shows_all: true, ..Masks::default() };
        let mut plan = Plan { masks, ..plan() };
        let json = |plan: &Plan| serde_json::to_string(&plan.for_result()).unwrap();
        assert!(json(&plan).contains("c2VjcmV0") && !json(&plan).contains("xxxx"));
        plan.request.body = Some(Body::new(b"hush".to_vec()));
        assert!(json(&plan).contains("hush"));
    }

    #[test]
    fn an_address_of_ipv6_is_bracketed() {
        assert_eq!(plan().endpoint.to_string(), "http://[::1]:8080/x?y");
    }
}
