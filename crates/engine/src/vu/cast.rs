//! What a run of virtual users is: a program, the scenarios that call its functions, and the
//! network that its requests go to.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_core::dns::{DnsPolicy, DnsSelect};
use plimsoll_core::executor::Executor;
use plimsoll_core::plan::DriverPlan;
use plimsoll_core::schedule::Stripe;
use plimsoll_proto::tls::{ClientOptions, Identity};
use plimsoll_script::js::http::HttpOptions;
use plimsoll_script::js::{FunctionId, Program};

/// A run of virtual users.
#[derive(Clone)]
pub struct Cast {
    /// The script.
    pub program: Program,
    /// The scenarios that have anything to do in this part of the run.
    pub roles: Vec<Role>,
    /// Which VUs of all parts are this process's: VU `n`, from 1, is number `stripe.nth(n - 1)` of
    /// the whole, counted from 0.
    pub part: Stripe,
    /// VUs that are initialised before the start.
    pub vus_planned: u64,
    /// VUs that there may be at any time.
    pub vus_max: u64,
    /// How requests are sent.
    pub network: Network,
    /// Threads.
    pub workers: u32,
    /// The consolidated options as JSON: `exec.test.options`.
    pub options_json: Arc<str>,
    /// How long an iteration takes at least; a VU sleeps for what is left.
    pub min_iteration_ns: u64,
}

/// A scenario.
#[derive(Debug, Clone)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// The function that an iteration calls.
    pub function: FunctionId,
    /// What it does, for the whole of the run.
    pub executor: Executor,
    /// Which of its VUs are this process's.
    pub users: Stripe,
    /// Which of its iterations are this process's.
    pub iterations: Stripe,
    /// When it starts, ns after the start of the scenarios.
    pub start_ns: u64,
    /// How long running iterations may go on after its regular end.
    pub graceful_stop_ns: u64,
    /// Variables of the environment for its iterations.
    pub env: Vec<(String, String)>,
    /// The tags that its samples have, as scripts read them.
    pub tags: Vec<(String, String)>,
    /// Whether samples have the tag `group`.
    pub tags_group: bool,
}

/// How names are looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dns {
    /// How long an answer is used; `None`: for ever.
    pub ttl_ns: Option<u64>,
    /// Which address of several.
    pub select: DnsSelect,
    /// Which families of addresses.
    pub policy: DnsPolicy,
}

impl Default for Dns {
    /// k6's: 5 minutes, a random address, IPv4 where there is one.
    fn default() -> Self {
        let (select, policy) = (DnsSelect::Random, DnsPolicy::PreferIpv4);
        Self { ttl_ns: Some(300_000_000_000), select, policy }
    }
}

/// The address that a VU, by its number in the whole test, connects from.
pub type LocalAddress = dyn Fn(u64) -> Option<IpAddr> + Send + Sync;

/// Where a host and port lead instead: an address, and a port if that changes too.
pub type FixedAddress = dyn Fn(&str, u16) -> Option<(IpAddr, Option<u16>)> + Send + Sync;

/// Whether requests must not go to a name.
pub type BlockedName = dyn Fn(&str) -> bool + Send + Sync;

/// Whether requests must not go to an address.
pub type BlockedAddress = dyn Fn(IpAddr) -> bool + Send + Sync;

/// What is told of requests and responses as they went over the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HttpDebug {
    /// Nothing.
    #[default]
    Off,
    /// Their heads.
    Heads,
    /// All of them.
    Whole,
}

/// How requests are sent.
#[derive(Clone)]
pub struct Network {
    /// What stands in them, and how responses are read.
    pub http: HttpOptions,
    /// The `user-agent` of calls of gRPC; empty for none.
    pub call_agent: String,
    /// Addresses of names that are not looked up.
    pub fixed_address: Option<Arc<FixedAddress>>,
    /// Names that requests must not go to.
    pub blocked_name: Option<Arc<BlockedName>>,
    /// Addresses that requests must not go to.
    pub blocked_address: Option<Arc<BlockedAddress>>,
    /// TLS: whom to trust, and which versions to offer. ALPN is set here.
    pub tls: ClientOptions,
    /// The certificates for servers that ask for one, by domain: the first whose domains name the
    /// server, exactly or as `*.domain`; without domains it is for all.
    pub identities: Vec<(Vec<String>, Identity)>,
    /// How names are looked up.
    pub dns: Dns,
    /// Where VUs connect from; the system's choice without.
    pub local_address: Option<Arc<LocalAddress>>,
    /// Whether a connection takes more than one request.
    pub reuses_connections: bool,
    /// Whether a VU keeps its connections from one iteration to the next.
    pub keeps_connections: bool,
    /// Requests per second of all VUs at most; 0: any.
    pub rps: u64,
    /// What the tally is told of each exchange.
    pub http_debug: HttpDebug,
    /// The driver.
    pub driver: DriverPlan,
}

impl Default for Network {
    fn default() -> Self {
        Self {
            http: HttpOptions::default(),
            call_agent: String::new(),
            fixed_address: None,
            blocked_name: None,
            blocked_address: None,
            tls: ClientOptions::default(),
            identities: Vec::new(),
            dns: Dns::default(),
            local_address: None,
            reuses_connections: true,
            keeps_connections: true,
            rps: 0,
            http_debug: HttpDebug::Off,
            driver: DriverPlan::Auto,
        }
    }
}
