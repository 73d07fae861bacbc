//! From a command to its plan: requests byte for byte as fortio sends them, and when they are due.

use plimsoll_core::Plan;
use plimsoll_core::authorization::basic;
use plimsoll_core::details::DetailsPlan;
use plimsoll_core::expect::Expectation;
use plimsoll_core::plan::{
    Body, Draft, Endpoint, Field, FirstRequest, GrpcPlan, HttpVersion, PemFile, PlanErrors,
    Request, Resolve, TlsPlan, Trace, Transport,
};
use plimsoll_core::random::Stream;
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_core::secret::Secret;
use plimsoll_core::units::DURATION_LIMIT_NS;

use super::command::{Call, Carrier, Command, Payload, SPOKEN};
use super::pace::{Deal, Schedule};
use super::redirect::REDIRECTS_MAX;

/// Where a call of `-grpc` goes without a port.
pub const GRPC_PORT: u16 = 8079;

/// What fortio calls the fields of a plan.
pub const FLAGS: [(Field, &str); 17] = [
    (Field::Url, "the URL"),
    (Field::Connections, "-c"),
    (Field::Threads, "-gomaxprocs"),
    (Field::Requests, "-n"),
    (Field::Duration, "-t"),
    (Field::Rate, "-qps"),
    (Field::Timeout, "-timeout"),
    (Field::Drain, "-timeout"),
    (Field::Method, "-X"),
    (Field::Header, "-H"),
    (Field::Body, "-payload"),
    (Field::Streams, "-s"),
    (Field::AbortWhen, "-abort-on"),
    (Field::Cacert, "-cacert"),
    (Field::Cert, "-cert"),
    (Field::Key, "-key"),
    (Field::UnixSocket, "-unix-socket"),
];

/// What is read before a plan is made.
#[derive(Debug, Clone, Default)]
pub struct Parts {
    /// What `-payload-file` holds.
    pub payload: Vec<u8>,
    /// The files of `-cacert`, `-cert` and `-key`.
    pub pems: [Option<PemFile>; 3],
    /// The schema of the services that `-grpc` calls.
    pub descriptors: Vec<u8>,
    /// The address of `-resolve`.
    pub resolve: Option<std::net::IpAddr>,
    /// Whether each call opens a connection: none could be opened before the load.
    pub connects_each: bool,
}

impl Command {
    /// The run, with the warm-up before it: one call on each connection, none where calls are
    /// counted.
    ///
    /// # Errors
    /// What of it cannot be carried out.
    pub fn plan(
        &self,
        endpoint: Endpoint,
        parts: &Parts,
        deal: &Deal,
        schedule: Schedule,
    ) -> Result<Plan, PlanErrors> {
        let mut plan = self.draft(endpoint, parts, deal.threads);
        let length_ns = u64::try_from(self.duration_ns).ok().filter(|ns| *ns > 0);
        let has_end = self.exactly > 0 || self.has_rate();
        plan.requests = deal.total();
        plan.duration_ns = length_ns.filter(|_| !has_end);
        match schedule {
            Schedule::Closed if plan.requests.is_none() && plan.duration_ns.is_none() => {
                plan.duration_ns = Some(DURATION_LIMIT_NS);
            }
            Schedule::Closed => {}
            Schedule::Even { rate_uhz, gap_ns } => {
                plan.rate = Some(Profile::constant(rate_uhz, None, Arrival::Uniform));
                plan.duration_ns = match plan.requests {
                    // Calls that are late then are not made any more, unless -n asks for them.
                    Some(calls) if self.exactly == 0 => Some(calls.saturating_mul(gap_ns)),
                    Some(_) => None,
                    None => Some(DURATION_LIMIT_NS),
                };
            }
            Schedule::Times(offsets_ns) => {
                plan.trace = Some(Trace { path: "-qps".to_owned(), offsets_ns });
            }
        }
        if self.no_catch_up && plan.is_open_loop() {
            plan.shed_after_ns = Some(1);
        }
        if self.follows_redirects && self.call.is_none() && self.carrier().is_none() {
            (plan.redirects, plan.joins_redirects) = (REDIRECTS_MAX, true);
        }
        plan.first_request = (self.exactly == 0).then_some(FirstRequest {
            one_by_one: self.sequential_warmup,
            // fortio looks at calls of the warm-up only where there is a protocol.
            may_fail: self.allow_initial_errors || self.carrier().is_some(),
        });
        plan.abort_when = self.abort_when();
        plan.details = DetailsPlan { calls: Some(self.calls_plan()), ..DetailsPlan::default() };
        plan.check()
    }

    /// One request, for what shows its answer.
    ///
    /// # Errors
    /// What of it cannot be carried out.
    pub fn once(&self, endpoint: Endpoint, parts: &Parts) -> Result<Plan, PlanErrors> {
        let mut plan = self.draft(endpoint, parts, 1);
        plan.duration_ns = None;
        (plan.requests, plan.workers) = (Some(1), 1);
        plan.check()
    }

    /// One ping of a number, with a time of the wall clock in it, ns.
    ///
    /// # Errors
    /// What of it cannot be carried out.
    pub fn ping(
        &self,
        endpoint: Endpoint,
        parts: &Parts,
        [seq, ts_ns]: [i64; 2],
    ) -> Result<Plan, PlanErrors> {
        let mut plan = self.draft(endpoint, parts, 1);
        plan.duration_ns = None;
        (plan.requests, plan.workers) = (Some(1), 1);
        if let Some(Call::Ping { delay_ns }) = self.call {
            let message = self.ping_message(parts, [seq, ts_ns, delay_ns]);
            plan.request.body = Some(Body::new(message));
        }
        plan.check()
    }

    /// A ping, as a message in JSON.
    fn ping_message(&self, parts: &Parts, [seq, ts_ns, delay_ns]: [i64; 3]) -> Vec<u8> {
        let payload = String::from_utf8_lossy(&self.payload_bytes(parts)).into_owned();
        let message = serde_json::json!({
            "seq": seq.to_string(), "ts": ts_ns.to_string(), "payload": payload,
            "delayNanos": delay_ns.to_string(),
        });
        message.to_string().into_bytes()
    }

    fn draft(&self, endpoint: Endpoint, parts: &Parts, threads: u32) -> Draft {
        let mut plan = Draft::new(endpoint);
        plan.connections = threads;
        plan.timeout_ns = match self.carrier() {
            Some(Carrier::Udp) => self.udp_timeout_ns as u64,
            _ => self.timeout_ns as u64,
        };
        plan.drain_ns = plan.timeout_ns;
        plan.requests_per_connection = match self.keep_alive && !self.http10 && !parts.connects_each
        {
            true => self.connection_reuse.map(|[_, most]| u64::from(most)),
            false => Some(1),
        };
        let least = self.connection_reuse.filter(|[least, most]| least < most);
        plan.requests_per_connection_min = least
            .filter(|_| plan.requests_per_connection != Some(1))
            .map(|[least, _]| u64::from(least));
        plan.transport = self.transport(&plan.endpoint, parts);
        let [cacert, cert, key] = parts.pems.clone();
        plan.tls = TlsPlan { insecure: self.insecure, cacert, cert, key, ..TlsPlan::default() };
        plan.driver = self.driver;
        plan.spin = self.spin;
        match (&self.call, self.carrier()) {
            (Some(call), _) => self.call_grpc(&mut plan, call, parts, threads),
            (None, Some(_)) => self.echo(&mut plan, parts),
            (None, None) => self.request(&mut plan, parts),
        }
        plan.workers = self.workers.min(plan.connections);
        plan
    }

    fn transport(&self, endpoint: &Endpoint, parts: &Parts) -> Transport {
        let resolve = parts.resolve.map(|address| Resolve {
            host: endpoint.host.clone(),
            port: endpoint.port,
            addresses: vec![address],
        });
        Transport {
            resolve: resolve.into_iter().collect(),
            unix_socket: Some(self.unix_socket.clone()).filter(|path| !path.is_empty()),
            ..Transport::default()
        }
    }

    /// What ends the run early.
    fn abort_when(&self) -> Vec<String> {
        match self.abort_on {
            _ if self.carrier().is_some() => Vec::new(),
            0 => Vec::new(),
            -1 => ["broken>0", "timed_out>0"].map(str::to_owned).to_vec(),
            status => vec![format!("status.{status}>0")],
        }
    }

    /// Bytes that are to come back. fortio's flags about connections and requests are of HTTP.
    fn echo(&self, plan: &mut Draft, parts: &Parts) {
        let given = self.payload_bytes(parts);
        plan.templates = given.is_empty();
        let body = if given.is_empty() { PATTERN.as_bytes().to_vec() } else { given };
        plan.request = Request { body: Some(Body::new(body)), ..Request::get() };
        plan.requests_per_connection = None;
        plan.requests_per_connection_min = None;
    }

    fn request(&self, plan: &mut Draft, parts: &Parts) {
        // fortio takes what is good for it: 2xx, and 418.
        plan.expect = vec![Expectation::Status(vec![(200, 299), (418, 418)])];
        if self.h2 {
            plan.http_version = HttpVersion::Http2;
        }
        let payload = self.payload_bytes(parts);
        let path = plan.endpoint.path.reveal().clone();
        let is_text = |text: &str| text.contains("{uuid}");
        let text = std::str::from_utf8(&payload).ok().filter(|text| is_text(text));
        plan.templates = is_text(&path) || text.is_some();
        let filled = text.map(|text| Body::new(text.replace("{uuid}", "{{uuid}}").into_bytes()));
        plan.endpoint.path = path.replace("{uuid}", "{{uuid}}").into();
        let types =
            |(name, value): &(String, Option<String>)| name == "Content-Type" && value.is_some();
        let has_type = self.content_type.is_some() || self.headers.iter().any(types);
        let posts = !payload.is_empty() || has_type;
        let body = posts.then(|| filled.unwrap_or_else(|| Body::new(payload.clone())));
        let method = if posts { "POST" } else { "GET" };
        plan.request = Request {
            method: self.method.clone().unwrap_or_else(|| method.to_owned()),
            http_minor: u8::from(!self.http10),
            headers: self.fields(&plan.endpoint, posts, &payload),
            body,
            ..Request::get()
        };
    }

    /// The fields of the head in fortio's order: its own first, then the others sorted. With
    /// HTTP/2, the host is not a field.
    fn fields(&self, endpoint: &Endpoint, posts: bool, payload: &[u8]) -> Vec<(String, Secret)> {
        let given = |name: &str| self.headers.iter().rev().find(|(known, _)| known == name);
        let mut fields: Vec<(String, Secret)> = Vec::new();
        let mut field = |name: &str, value: &str| fields.push((name.to_owned(), value.into()));
        let host = given("Host").and_then(|(_, value)| value.clone());
        let own = || (!self.http10).then(|| endpoint.authority());
        match host.or_else(own) {
            Some(_) if self.h2 && given("Host").is_none() => {}
            Some(host) => field("Host", &host),
            None => field("Host", ""),
        }
        if !self.keep_alive && !self.http10 && !self.h2 {
            field("Connection", "close");
        }
        let mut others = self.others(posts);
        // The engine writes a length that templates change.
        if posts && !payload.windows(6).any(|part| part == b"{uuid}") {
            others.push(("Content-Length".to_owned(), payload.len().to_string()));
        }
        others.sort_by(|a, b| a.0.cmp(&b.0));
        for (name, value) in others {
            field(&name, &value);
        }
        // What the engine adds and fortio does not send.
        for name in ["User-Agent", "Accept", "Content-Length"] {
            let is_written = name == "Content-Length" && posts;
            if !is_written && !fields.iter().any(|(known, _)| known == name) {
                fields.push((name.to_owned(), "".into()));
            }
        }
        fields
    }

    /// The fields that fortio sorts. It leaves out those with an empty value.
    fn others(&self, posts: bool) -> Vec<(String, String)> {
        let field = |name: &str, value: String| (name.to_owned(), value);
        let mut fields = vec![field("User-Agent", user_agent())];
        if posts {
            let kind = self.content_type.as_deref().unwrap_or("application/octet-stream");
            fields.push(field("Content-Type", kind.to_owned()));
        }
        if let Some(pair) = self.sent_credentials() {
            fields.push(field("Authorization", basic(pair)));
        }
        if self.compression && self.is_std_client() {
            fields.push(field("Accept-Encoding", "gzip".to_owned()));
        }
        let mut replaced = Vec::new();
        for (name, value) in self.headers.iter().filter(|(name, _)| name != "Host") {
            if !replaced.contains(name) {
                fields.retain(|(known, _)| known != name);
                replaced.push(name.clone());
            }
            fields.extend(value.clone().map(|value| (name.clone(), value)));
        }
        fields
    }

    fn payload_bytes(&self, parts: &Parts) -> Vec<u8> {
        match &self.payload {
            Payload::None => Vec::new(),
            Payload::Text(text) => text.clone().into_bytes(),
            Payload::File(_) => parts.payload.clone(),
            Payload::Random(bytes) => {
                let stream = Stream::new(0, 0);
                let words = (0..).flat_map(|place| stream.word(place).to_le_bytes());
                words.take(*bytes).collect()
            }
        }
    }

    /// A call, as a message in JSON.
    fn call_grpc(&self, plan: &mut Draft, call: &Call, parts: &Parts, threads: u32) {
        let (method, message) = match call {
            Call::Health(service) => {
                plan.expect = vec![Expectation::BodyIs(SERVING.to_owned())];
                let message = serde_json::json!({ "service": service });
                ("grpc.health.v1.Health/Check", message.to_string().into_bytes())
            }
            Call::Method(method) => {
                let payload = self.payload_bytes(parts);
                let message = if payload.is_empty() { b"{}".to_vec() } else { payload };
                (method.as_str(), message)
            }
            Call::Ping { delay_ns } => {
                ("fgrpc.PingServer/Ping", self.ping_message(parts, [1, 0, *delay_ns]))
            }
        };
        let grpc = match call {
            // The server says what its methods take.
            Call::Method(_) => GrpcPlan::new(method.to_owned()),
            Call::Health(_) | Call::Ping { .. } => GrpcPlan {
                files: vec!["built in".to_owned()],
                descriptors: parts.descriptors.clone(),
                ..GrpcPlan::new(method.to_owned())
            },
        };
        plan.endpoint.path = grpc.path().into();
        plan.grpc = Some(grpc);
        plan.templates = false;
        plan.http_version = HttpVersion::Http2;
        plan.http2.streams = self.streams.min(threads);
        plan.connections = threads.div_ceil(plan.http2.streams);
        plan.requests_per_connection = None;
        let mut headers: Vec<(String, Secret)> =
            vec![("user-agent".to_owned(), user_agent().as_str().into())];
        for (name, value) in &self.headers {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            let value = value.as_deref().unwrap_or_default();
            headers.push((name.to_ascii_lowercase(), value.into()));
        }
        plan.request = Request {
            method: "POST".to_owned(),
            headers,
            body: Some(Body::new(message)),
            ..Request::get()
        };
    }
}

/// What a call without a payload says: as long as fortio's, which counts connections and calls
/// where the random numbers stand.
const PATTERN: &str = "Fortio\n{{random 1000 9999}}\n{{random 100000000000 999999999999}}";

/// A message of gRPC that says that a service serves: its length, and field 1 with the value 1.
const SERVING: &str = "\0\0\0\0\u{2}\u{8}\u{1}";

/// What fortio calls itself.
#[must_use]
pub fn user_agent() -> String {
    format!("fortio.org/fortio-{SPOKEN}")
}
