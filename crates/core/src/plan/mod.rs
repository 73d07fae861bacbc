//! The plan: everything a run is asked to do, as plain data. Every number is a total, never per
//! worker or connection.
//!
//! A plan that exists is valid: [`Plan::check`] is where impossible combinations are refused, and
//! the engine runs only plans that passed it.

use serde::{Deserialize, Serialize};

mod request;
mod transport;

use crate::details::DetailsPlan;
use crate::expect::Expectation;
use crate::gate;
use crate::schedule::{Profile, RATE_LIMIT_UHZ};
use crate::secret::{Masks, Secret};
use crate::units::{counted, format_count, format_duration, format_rate};

pub use request::{Body, Endpoint, Order, Request, Script, Table, Target, TargetFile};
pub use transport::{
    ConnectTo, PemFile, Proxy, ProxyProtocol, Resolve, Tls, TlsVersions, Transport,
};

/// The most requests that all connections may have open at once: there is room for each from the
/// start.
const OPEN_REQUESTS_MAX: u64 = 10_000_000;

/// The most stages: each is measured by itself, in about a MiB for each worker.
const STAGES_MAX: usize = 500;

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
    pub tls: Tls,
    /// Open connections; at a rate, those to begin with.
    pub connections: u32,
    /// At a rate, how many there may be when those there are do not suffice.
    #[serde(default)]
    pub connections_max: Option<u32>,
    /// Worker threads; 0 lets the engine choose.
    pub workers: u32,
    /// How long to start requests, after the warm-up.
    #[serde(rename = "duration_s", with = "crate::seconds::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// Exactly how many requests to start, after the warm-up.
    pub requests: Option<u64>,
    /// The rate over time; `None` is a closed loop, if there is no trace either.
    pub rate: Option<Profile>,
    /// When each request is due, in place of a rate.
    #[serde(default)]
    pub trace: Option<Trace>,
    /// Load before the measured part, kept apart in the result.
    #[serde(rename = "warmup_s", with = "crate::seconds::from_ns")]
    pub warmup_ns: u64,
    /// How long to wait for open requests at the end.
    #[serde(rename = "drain_s", with = "crate::seconds::from_ns")]
    pub drain_ns: u64,
    /// How long a request may take, from when it starts on a connection.
    #[serde(rename = "timeout_s", with = "crate::seconds::from_ns")]
    pub timeout_ns: u64,
    /// At a rate, how late a request may be for want of a connection before it is dropped.
    #[serde(default, rename = "shed_after_s", with = "crate::seconds::optional_from_ns")]
    pub shed_after_ns: Option<u64>,
    /// Requests after which a connection is closed and opened again. 1 opens one for each
    /// request, and its time counts as part of the request.
    pub requests_per_connection: Option<u64>,
    /// Age at which a connection is closed, between two requests, and opened again.
    #[serde(default, rename = "connection_lifetime_s", with = "crate::seconds::optional_from_ns")]
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
            tls: Tls::default(),
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

    /// Refuses impossible plans.
    ///
    /// # Errors
    /// The first thing that cannot be done, in one line.
    pub fn check(&self) -> Result<(), PlanError> {
        let problem = if self.connections == 0 {
            Some("0 connections cannot send anything: give -c 1 or more".to_owned())
        } else if self.pipeline == 0 {
            Some("--pipeline 0 cannot send anything: give 1 or more".to_owned())
        } else if self.open_requests_limit() > OPEN_REQUESTS_MAX {
            Some(format!(
                "{} on each of {} are too many: there may be {} at once: lower --pipeline or -c",
                counted(self.pipeline.into(), "request"),
                counted(self.connections_limit().into(), "connection"),
                format_count(OPEN_REQUESTS_MAX),
            ))
        } else if self.requests == Some(0) {
            Some("-n 0 asks for no request: give 1 or more".to_owned())
        } else if self.duration_ns == Some(0) {
            Some("-d 0 leaves no time: give a duration above 0".to_owned())
        } else if self.timeout_ns == 0 {
            Some("--timeout 0 fails every request: give a duration above 0".to_owned())
        } else if self.requests_per_connection == Some(0) {
            Some("--requests-per-conn 0 cannot send anything: give 1 or more".to_owned())
        } else if self.workers > self.connections {
            Some(format!(
                "{} for {} leaves threads without work: give -t {} or fewer",
                counted(self.workers.into(), "thread"),
                counted(self.connections.into(), "connection"),
                self.connections
            ))
        } else if self.connections_max.is_some_and(|max| max < self.connections) {
            Some("-c MIN..MAX has its ends the wrong way round: give the smaller first".to_owned())
        } else if let Some(flag) = self.open_loop_flag() {
            Some(format!("{flag} needs a schedule: give -r, --stages or --rate-file"))
        } else if self.shed_after_ns == Some(0) {
            Some("--shed-after 0 drops every request: give a duration above 0".to_owned())
        } else if self.connection_lifetime_ns == Some(0) {
            Some("--conn-lifetime 0 leaves no time: give a duration above 0".to_owned())
        } else if let Some(flag) = self.unpipelined_flag() {
            Some(format!("{flag} and --pipeline do not go together: leave one of them out"))
        } else if self.connects_per_request() && self.connection_lifetime_ns.is_some() {
            let text = "--conn-lifetime means nothing where each request has a connection of its \
                        own: leave it out";
            Some(text.to_owned())
        } else if self.timestamps == Timestamps::Kernel && self.transport.unix_socket.is_some() {
            let text =
                "--timestamps kernel: the kernel stamps nothing on a Unix socket: leave it out";
            Some(text.to_owned())
        } else if self.trace.is_some() && self.rate.is_some() {
            Some("--rate-file is a schedule by itself: leave -r and --stages out".to_owned())
        } else if self.trace.is_some() && self.warmup_ns > 0 {
            Some("--rate-file has no rate to warm up at: leave --warmup out".to_owned())
        } else if self.tls.resume_percent > 100 {
            Some("--tls-resume is per cent of the handshakes: give 0 to 100".to_owned())
        } else if let Some(name) = self.tls.alpn.iter().find(|name| !is_spoken(name)) {
            // A server may choose any protocol that it was offered.
            Some(format!(
                "--alpn '{name}' is not spoken here: offer http/1.1 or http/1.0, \
                 or '' to offer none"
            ))
        } else if self.duration_ns.is_none() && self.requests.is_none() && self.trace.is_none() {
            Some("neither a duration nor a number of requests: give -d or -n".to_owned())
        } else {
            let rate_problem = self.rate.as_ref().and_then(|profile| self.rate_problem(profile));
            rate_problem.or_else(|| gate::check(self).err().map(|error| error.to_string()))
        };
        problem.map_or(Ok(()), |text| Err(PlanError(text)))
    }

    /// A flag that means nothing in a closed loop, if one is given.
    fn open_loop_flag(&self) -> Option<&'static str> {
        if self.is_open_loop() {
            return None;
        }
        // Under control the number of connections is changed from outside.
        let grows = self.connections_max.is_some() && self.control.is_none();
        let given = [("--shed-after", self.shed_after_ns.is_some()), ("-c MIN..MAX", grows)];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// A flag that needs one request at a time on a connection, if one is given with more.
    fn unpipelined_flag(&self) -> Option<&'static str> {
        if self.pipeline == 1 {
            return None;
        }
        let continues = self.requests().any(|request| request.expect_continue);
        let given = [
            ("--redirects", self.redirects > 0),
            ("--cookies", self.cookies),
            ("--expect-continue", continues),
            ("--no-keepalive", self.connects_per_request()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// All requests the plan may send.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        let one = self.targets.is_empty().then_some(&self.request);
        one.into_iter().chain(self.targets.iter().map(|target| &target.request))
    }

    fn rate_problem(&self, profile: &Profile) -> Option<String> {
        let stages = profile.stages.len();
        if stages > STAGES_MAX {
            let stages = format_count(stages as u64);
            return Some(format!(
                "{stages} stages are too many: give {STAGES_MAX} or fewer, or a list of times \
                 (--rate-file)"
            ));
        }
        let peak_uhz = profile.peak_uhz();
        if peak_uhz == 0 {
            return Some("a rate of 0 sends nothing: give a rate above 0".to_owned());
        }
        if peak_uhz > RATE_LIMIT_UHZ {
            return Some("a rate above 1G/s cannot be kept: give a lower one".to_owned());
        }
        let (Some(requests), Some(duration_ns)) = (self.requests, self.duration_ns) else {
            return None;
        };
        let possible = profile.total()?;
        (requests > possible).then(|| {
            format!(
                "{} requests do not fit into {} at up to {}/s, which is {}: change -n, -d or -r",
                format_count(requests),
                format_duration(duration_ns),
                format_rate(peak_uhz as f64 / 1e6),
                format_count(possible),
            )
        })
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

    /// The most requests there can be under way at once.
    fn open_requests_limit(&self) -> u64 {
        u64::from(self.connections_limit()) * u64::from(self.pipeline)
    }

    /// Whether each request opens a connection of its own.
    #[must_use]
    pub fn connects_per_request(&self) -> bool {
        self.requests_per_connection == Some(1)
    }
}

/// Whether a protocol that TLS can agree on is one that is spoken.
fn is_spoken(protocol: &str) -> bool {
    ["http/1.1", "http/1.0"].contains(&protocol)
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
    use crate::schedule::Arrival;

    fn plan() -> Plan {
        let mut plan = Plan::new(Endpoint::http("::1", 8080, "/x?y"));
        plan.request.headers = vec![("Authorization".to_owned(), "Basic c2VjcmV0".into())];
        plan.request.body = Some(Body::new(vec![b'x'; BODY_KEPT_BYTES + 1]));
        plan
    }

    #[test]
    fn impossible_plans_are_refused_with_the_flag_to_change() {
        assert_eq!(plan().check(), Ok(()));
        let rate = |uhz| Some(Profile::constant(uhz, Some(10_000_000_000), Arrival::Uniform));
        let stages = crate::schedule::parse_stages(&["1s@5"; STAGES_MAX + 1].join(","));
        let many_stages = Profile { stages: stages.expect("stages"), arrival: Arrival::Uniform };
        let cases = [
            (Plan { connections: 0, ..plan() }, "-c"),
            (Plan { pipeline: 0, ..plan() }, "--pipeline"),
            (Plan { pipeline: u32::MAX, ..plan() }, "on each of 50 connections are too many"),
            (Plan { requests: Some(0), ..plan() }, "-n"),
            (Plan { duration_ns: Some(0), ..plan() }, "-d"),
            (Plan { timeout_ns: 0, ..plan() }, "--timeout"),
            (Plan { workers: 51, ..plan() }, "-t"),
            (Plan { duration_ns: None, ..plan() }, "-d or -n"),
            (Plan { requests_per_connection: Some(0), ..plan() }, "--requests-per-conn"),
            (Plan { rate: rate(0), ..plan() }, "rate"),
            (Plan { rate: Some(many_stages), ..plan() }, "501 stages are too many"),
            (Plan { connections_max: Some(9), ..plan() }, "-c MIN..MAX"),
            (Plan { connections_max: Some(99), ..plan() }, "needs a schedule"),
            (Plan { shed_after_ns: Some(1), ..plan() }, "--shed-after"),
            (Plan { pipeline: 2, cookies: true, ..plan() }, "--cookies"),
            (Plan { pipeline: 2, requests_per_connection: Some(1), ..plan() }, "--no-keepalive"),
            (
                Plan {
                    requests_per_connection: Some(1),
                    connection_lifetime_ns: Some(1),
                    ..plan()
                },
                "--conn-lifetime",
            ),
            (Plan { tls: Tls { resume_percent: 101, ..Tls::default() }, ..plan() }, "--tls-resume"),
            (
                Plan { tls: Tls { alpn: vec!["h2".to_owned()], ..Tls::default() }, ..plan() },
                "--alpn 'h2'",
            ),
            (Plan { gates: vec!["p99".to_owned()], ..plan() }, "p99<250ms"),
            (Plan { abort_when: vec!["ok.p99<1s".to_owned()], ..plan() }, "'ok.p99<1s'"),
            (Plan { rate: rate(1_000_000), requests: Some(11), ..plan() }, "-n, -d or -r"),
        ];
        for (plan, flag) in cases {
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
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
