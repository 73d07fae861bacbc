//! The plan: everything a run is asked to do, as plain data. Every number is a total, never per
//! worker or connection.
//!
//! A plan that exists is valid: [`Plan::check`] is where impossible combinations are refused, and
//! the engine runs only plans that passed it.

use serde::{Deserialize, Serialize};

use crate::schedule::{Profile, RATE_LIMIT_UHZ};
use crate::units::{format_count, format_duration, format_rate};

/// Where the requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// `http`.
    pub scheme: String,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query, starting with `/`; `*` for OPTIONS.
    pub path: String,
}

/// How the request's body is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// A body that is text.
    Text(String),
    /// Any other bytes.
    Bytes(Vec<u8>),
    /// Only its length: what a result document keeps of a large body.
    Omitted {
        /// Length in bytes.
        bytes: u64,
    },
}

impl Body {
    /// Wraps bytes as text where they are text.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text),
            Err(error) => Self::Bytes(error.into_bytes()),
        }
    }

    /// The bytes to send.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
            Self::Omitted { .. } => &[],
        }
    }
}

/// The request that is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Method, as sent.
    pub method: String,
    /// Minor version of HTTP/1: 0 or 1.
    pub http_minor: u8,
    /// Headers in order, beyond those the engine adds.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<Body>,
}

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

/// Whether to spin for the last stretch before a request is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// For the last 50 µs, when the workers leave a CPU free or have one to themselves, and as long
    /// as it does no harm.
    #[default]
    Auto,
    /// All the time, instead of sleeping: a response does not wait for a CPU to wake up.
    On,
    /// Never.
    Off,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Where the requests go.
    pub endpoint: Endpoint,
    /// What is sent.
    pub request: Request,
    /// Open connections.
    pub connections: u32,
    /// Worker threads; 0 lets the engine choose.
    pub workers: u32,
    /// How long to start requests, after the warm-up.
    #[serde(rename = "duration_s", with = "crate::seconds::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// Exactly how many requests to start, after the warm-up.
    pub requests: Option<u64>,
    /// The rate over time; `None` is a closed loop.
    pub rate: Option<Profile>,
    /// Load before the measured part, kept apart in the result.
    #[serde(rename = "warmup_s", with = "crate::seconds::from_ns")]
    pub warmup_ns: u64,
    /// How long to wait for open requests at the end.
    #[serde(rename = "drain_s", with = "crate::seconds::from_ns")]
    pub drain_ns: u64,
    /// How long a request may take, from when it starts on a connection.
    #[serde(rename = "timeout_s", with = "crate::seconds::from_ns")]
    pub timeout_ns: u64,
    /// Requests after which a connection is closed and opened again. 1 opens one for each
    /// request, and its time counts as part of the request.
    pub requests_per_connection: Option<u64>,
    /// Requests in flight on one connection.
    pub pipeline: u32,
    /// Which driver to use.
    pub driver: DriverPlan,
    /// Whether to spin before a request is due.
    pub spin: Spin,
    /// CPUs to tie the workers to, taken in turn; empty leaves it to the kernel.
    pub pin: Vec<u32>,
    /// Seed of everything random.
    pub seed: u64,
}

/// Bodies above this are not repeated in a result document.
const BODY_KEPT_BYTES: usize = 4096;

const SECRET_HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "x-api-key"];

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
            request: Request {
                method: "GET".to_owned(),
                http_minor: 1,
                headers: Vec::new(),
                body: None,
            },
            connections: 50,
            workers: 0,
            duration_ns: Some(10_000_000_000),
            requests: None,
            rate: None,
            warmup_ns: 0,
            drain_ns: 10_000_000_000,
            timeout_ns: 30_000_000_000,
            requests_per_connection: None,
            pipeline: 1,
            driver: DriverPlan::Auto,
            spin: Spin::Auto,
            pin: Vec::new(),
            seed: 1,
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
                "{} threads for {} connections leaves threads without work: give -t {} or fewer",
                self.workers, self.connections, self.connections
            ))
        } else if self.duration_ns.is_none() && self.requests.is_none() {
            Some("neither a duration nor a number of requests: give -d or -n".to_owned())
        } else {
            self.rate.as_ref().and_then(|profile| self.rate_problem(profile))
        };
        problem.map_or(Ok(()), |text| Err(PlanError(text)))
    }

    fn rate_problem(&self, profile: &Profile) -> Option<String> {
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

    /// The plan as a result document keeps it: values of headers that carry secrets and large
    /// bodies left out.
    #[must_use]
    pub fn for_result(&self) -> Self {
        let mut plan = self.clone();
        for (name, value) in &mut plan.request.headers {
            if SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret)) {
                *value = "[not kept]".to_owned();
            }
        }
        if let Some(body) = &mut plan.request.body {
            let bytes = body.as_bytes().len();
            if bytes > BODY_KEPT_BYTES {
                *body = Body::Omitted { bytes: bytes as u64 };
            }
        }
        plan
    }

    /// Whether each request opens a connection of its own.
    #[must_use]
    pub fn connects_per_request(&self) -> bool {
        self.requests_per_connection == Some(1)
    }
}

impl Endpoint {
    /// A path on an http server.
    #[must_use]
    pub fn http(host: &str, port: u16, path: &str) -> Self {
        Self { scheme: "http".to_owned(), host: host.to_owned(), port, path: path.to_owned() }
    }

    /// `host:port`, with brackets around an IPv6 address; the port left out where it is the
    /// scheme's own.
    #[must_use]
    pub fn authority(&self) -> String {
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.scheme == "http" && self.port == 80 {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Arrival;

    fn plan() -> Plan {
        let mut plan = Plan::new(Endpoint::http("::1", 8080, "/x?y"));
        plan.request.headers = vec![("Authorization".to_owned(), "Basic c2VjcmV0".to_owned())];
        plan.request.body = Some(Body::new(vec![b'x'; BODY_KEPT_BYTES + 1]));
        plan
    }

    #[test]
    fn impossible_plans_are_refused_with_the_flag_to_change() {
        assert_eq!(plan().check(), Ok(()));
        let rate = |uhz| Some(Profile::constant(uhz, Some(10_000_000_000), Arrival::Uniform));
        let cases = [
            (Plan { connections: 0, ..plan() }, "-c"),
            (Plan { pipeline: 0, ..plan() }, "--pipeline"),
            (Plan { requests: Some(0), ..plan() }, "-n"),
            (Plan { duration_ns: Some(0), ..plan() }, "-d"),
            (Plan { timeout_ns: 0, ..plan() }, "--timeout"),
            (Plan { workers: 51, ..plan() }, "-t"),
            (Plan { duration_ns: None, ..plan() }, "-d or -n"),
            (Plan { requests_per_connection: Some(0), ..plan() }, "--requests-per-conn"),
            (Plan { rate: rate(0), ..plan() }, "rate"),
            (Plan { rate: rate(1_000_000), requests: Some(11), ..plan() }, "-n, -d or -r"),
        ];
        for (plan, flag) in cases {
            let error = plan.check().unwrap_err().to_string();
            assert!(error.contains(flag), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn secrets_and_large_bodies_stay_out_of_results() {
        let kept = plan().for_result();
        let json = serde_json::to_string(&kept).unwrap();
        assert!(!json.contains("c2VjcmV0"), "{json}");
        assert_eq!(kept.request.body, Some(Body::Omitted { bytes: 4097 }));
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), kept);
    }

    #[test]
    fn an_address_of_ipv6_is_bracketed() {
        assert_eq!(plan().endpoint.to_string(), "http://[::1]:8080/x?y");
    }
}
