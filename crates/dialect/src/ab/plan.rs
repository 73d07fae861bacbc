//! From a command to a plan: the request byte for byte as ab sends it, and how a run ends.

use plimsoll_core::Plan;
use plimsoll_core::authorization::basic;
use plimsoll_core::details::DetailsPlan;
use plimsoll_core::expect::Expectation;
use plimsoll_core::plan::{
    Body, Draft, Field, PemFile, PlanErrors, Proxy, Request, TlsPlan, Transport,
};
use plimsoll_core::secret::Secret;

use super::Command;

const SECOND_NS: u64 = 1_000_000_000;

/// What ab calls itself.
const USER_AGENT: &str = "ApacheBench/2.3";

/// The field with credentials for a proxy.
const FOR_PROXY: &str = "Proxy-Authorization";

/// The end of a run that goes wrong, unless `-r` says to go on: next to nothing but broken
/// connections, for longer than a server takes to start again.
const NOTHING_WORKS: &str = "broken@last:3s>90%";

/// A name that makes the handshake carry none: addresses are not sent (RFC 6066 section 3).
const NO_NAME: &str = "0.0.0.0";

/// What ab calls the fields of a plan.
pub const FLAGS: [(Field, &str); 12] = [
    (Field::Url, "the URL"),
    (Field::Connections, "-c"),
    (Field::Requests, "-n"),
    (Field::Duration, "-t"),
    (Field::Timeout, "-s"),
    (Field::Method, "-m"),
    (Field::Header, "-H"),
    (Field::Body, "-p"),
    (Field::NoKeepalive, "-k"),
    (Field::Bind, "-B"),
    (Field::Proxy, "-X"),
    (Field::Cert, "-E"),
];

/// What the files hold that a command names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// That of [`Command::body_path`].
    pub body: Option<Vec<u8>>,
    /// That of [`Command::certificate_path`].
    pub certificate: Option<Vec<u8>>,
}

impl Command {
    /// What to do, given the files' contents.
    ///
    /// # Errors
    /// What of it cannot be carried out.
    pub fn plan(&self, files: Files) -> Result<Plan, PlanErrors> {
        let mut plan = Draft::new(self.endpoint.clone());
        plan.tls = self.tls(files.certificate);
        plan.transport = self.transport();
        plan.request = self.request(files.body);
        plan.templates = false;
        // A status is no failure to ab: others than 2xx have a line of their own.
        plan.expect = vec![Expectation::Status(vec![(100, 999)])];
        plan.connections = self.concurrency;
        plan.workers = 1;
        plan.requests = Some(self.requests);
        plan.duration_ns = self.time_limit_s.map(|limit_s| limit_s * SECOND_NS);
        plan.timeout_ns = self.timeout_s * SECOND_NS;
        // A number of requests is answered to the last; a limit of time is not stretched.
        plan.drain_ns = match self.time_limit_s {
            Some(_) => plan.timeout_ns.min(SECOND_NS),
            None => plan.timeout_ns,
        };
        plan.requests_per_connection = (!self.keep_alive).then_some(1);
        if !self.goes_on {
            plan.abort_when = vec![NOTHING_WORKS.to_owned()];
        }
        plan.details = self.details();
        plan.driver = self.driver;
        plan.spin = self.spin;
        plan.check()
    }

    fn details(&self) -> DetailsPlan {
        let writes_files = self.gnuplot_path.is_some() || self.csv_path.is_some();
        // Each request's connect and handshake can only be added up where its times are kept.
        let requests = writes_files || (self.endpoint.is_tls() && !self.keep_alive);
        DetailsPlan {
            worker_rates: false,
            responses: true,
            same_length: !self.variable_length,
            requests,
            ..DetailsPlan::default()
        }
    }

    fn request(&self, body: Option<Vec<u8>>) -> Request {
        let mut headers = self.fields(body.as_ref().map(Vec::len));
        // A method that could have a body gets no length where none was given.
        if body.is_none() && self.header("Content-Length").is_none() {
            headers.push(("Content-Length".to_owned(), String::new()));
        }
        Request {
            method: self.method.clone(),
            http_minor: 0,
            headers: headers.into_iter().map(|(name, value)| (name, value.into())).collect(),
            body: body.map(Body::new),
            chunked: false,
            expect_continue: false,
        }
    }

    /// The fields of the head in ab's order and spelling.
    pub(super) fn fields(&self, body_bytes: Option<usize>) -> Vec<(String, String)> {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut fields = Vec::new();
        if self.keep_alive {
            fields.push(field("Connection", "Keep-Alive"));
        }
        if let Some(cookie) = &self.cookie {
            fields.push(field("Cookie", cookie));
        }
        // What is for the proxy goes with CONNECT where there is a tunnel, and not to the server.
        let sent = self.credentials.iter().filter(|(name, _)| !self.tunnels() || name != FOR_PROXY);
        fields.extend(sent.map(|(name, pair)| field(name, &basic(pair))));
        if let Some(bytes) = body_bytes {
            fields.push(field("Content-length", &bytes.to_string()));
            fields.push(field("Content-type", &self.content_type));
        }
        fields.extend(self.headers.iter().cloned());
        let own = [
            ("Host", self.endpoint.authority()),
            ("User-Agent", USER_AGENT.to_owned()),
            ("Accept", "*/*".to_owned()),
        ];
        for (name, value) in own {
            if self.header(name).is_none() {
                fields.push(field(name, &value));
            }
        }
        fields
    }

    /// Whether requests go through a proxy that does not see them.
    fn tunnels(&self) -> bool {
        self.endpoint.is_tls() && self.proxy.is_some()
    }

    fn transport(&self) -> Transport {
        let mut pairs = self.credentials.iter().filter(|(name, _)| name == FOR_PROXY);
        let credentials = pairs.next_back().map(|(_, pair)| pair.as_str().into());
        let proxy = self.proxy.as_ref().map(|(host, port)| Proxy {
            host: host.clone(),
            port: *port,
            credentials: credentials.filter(|_| self.tunnels()),
        });
        Transport {
            bind: self.bind.into_iter().collect(),
            proxy,
            first_address_only: true,
            ..Transport::default()
        }
    }

    fn tls(&self, certificate: Option<Vec<u8>>) -> TlsPlan {
        let path = self.certificate_path.clone().unwrap_or_default();
        TlsPlan {
            insecure: true,
            cert: certificate.map(|bytes| PemFile { path, bytes: Secret::new(bytes) }),
            sni: self.endpoint.is_tls().then(|| self.tls_name().unwrap_or(NO_NAME).to_owned()),
            alpn: Vec::new(),
            versions: self.tls_versions,
            resume_percent: 0,
            ..TlsPlan::default()
        }
    }
}
