//! A result as fortio has it, with every field of its JSON in the order of fortio's struct.
//!
//! fortio's readers depend on names, order and types, so this mirrors them: durations are whole
//! nanoseconds, times of histograms are seconds, and the requested rate is a text. [`super::json`]
//! writes it.

use std::collections::BTreeMap;

use plimsoll_core::ledger::Ledger;
use serde::{Deserialize, Serialize};

/// A result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct FortioResult {
    /// `HTTP`, `TCP`, `UDP`, `GRPC Ping`.
    pub run_type: String,
    /// What the user called the run.
    pub labels: String,
    /// RFC 3339 with nanoseconds and the local zone's offset.
    pub start_time: String,
    /// `100`, or `max`.
    #[serde(rename = "RequestedQPS")]
    pub requested_qps: String,
    /// `5s`, `exactly 10 calls`, `until stop`; empty for an endless run as fast as possible.
    pub requested_duration: String,
    /// Calls per second.
    #[serde(rename = "ActualQPS")]
    pub actual_qps: f64,
    /// How long it took, ns.
    pub actual_duration: i64,
    /// Threads, each with a connection.
    pub num_threads: u32,
    /// Of the program.
    pub version: String,
    /// Times of all calls, s.
    pub duration_histogram: Exported,
    /// Times of the calls that were not good, s.
    pub errors_duration_histogram: Exported,
    /// How many calls were asked for; 0 for a run by time.
    pub exactly: i64,
    /// Whether times between calls varied.
    pub jitter: bool,
    /// Whether threads were spread over the time between two calls.
    pub uniform: bool,
    /// Whether late calls were left out.
    pub no_catch_up: bool,
    /// The number that the user gave the run.
    #[serde(rename = "RunID")]
    pub run_id: i64,
    /// How calls were logged.
    pub access_logger_info: String,
    /// Names the file: start, number and labels.
    #[serde(rename = "ID")]
    pub id: String,
    /// What became of the calls, and what only some protocols have.
    #[serde(flatten)]
    pub protocol: Protocol,
    /// What fortio does not say.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub own: Option<Box<Own>>,
}

/// What we say beside fortio's fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Own {
    /// Times of all calls from when they were due, s; those that were never made count with the
    /// time they waited.
    pub corrected_duration_histogram: Exported,
    /// Where every call went.
    pub ledger: Ledger,
    /// `valid`, `suspect` or `invalid`: whether the figures can be believed.
    pub verdict: String,
    /// Why not.
    pub verdict_causes: Vec<String>,
}

/// The fields of a protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Protocol {
    /// HTTP.
    Http(Box<Http>),
    /// TCP and UDP.
    Socket(Box<Socket>),
    /// gRPC.
    Grpc(Box<Grpc>),
}

/// The fields of a run over HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Http {
    /// Calls by status; -1 is an error of the socket.
    pub ret_codes: BTreeMap<String, i64>,
    /// Connections by the address that they went to.
    #[serde(rename = "IPCountMap")]
    pub ip_count_map: BTreeMap<String, i64>,
    /// Whether certificates were not verified.
    pub insecure: bool,
    /// Whether the client had a certificate.
    #[serde(rename = "MTLS")]
    pub mtls: bool,
    /// File of the authorities.
    #[serde(rename = "CACert")]
    pub ca_cert: String,
    /// File of the client's certificate.
    pub cert: String,
    /// File of its key.
    pub key: String,
    /// Path of a socket, in the place of an address.
    pub unix_domain_socket: String,
    /// What was loaded.
    #[serde(rename = "URL")]
    pub url: String,
    /// Of each thread: 1.
    pub num_connections: i64,
    /// Whether gzip was asked for.
    pub compression: bool,
    /// Whether Go's client was used.
    pub disable_fast_client: bool,
    /// HTTP/1.0.
    #[serde(rename = "HTTP10")]
    pub http10: bool,
    /// HTTP/2.
    pub h2: bool,
    /// Whether each call had its own connection.
    pub disable_keep_alive: bool,
    /// Whether the sending side was closed after a request.
    pub allow_half_close: bool,
    /// Whether redirects were followed.
    pub follow_redirects: bool,
    /// The address in the place of a look-up.
    pub resolve: String,
    /// ns.
    #[serde(rename = "HTTPReqTimeOut")]
    pub http_req_time_out: i64,
    /// User and password.
    pub user_credentials: String,
    /// Of the payload.
    pub content_type: String,
    /// Base64.
    pub payload: Option<String>,
    /// The method in the place of the usual one.
    pub method_override: String,
    /// Whether bad responses were logged.
    pub log_errors: bool,
    /// Whether connections were warmed up one by one.
    pub sequential_warmup: bool,
    /// Least and greatest number of calls of a connection.
    pub conn_reuse_range: [i64; 2],
    /// Whether a name was looked up once.
    pub no_resolve_each_conn: bool,
    /// The least value of the histograms, ns.
    pub offset: i64,
    /// The unit of the histograms' buckets, s.
    pub resolution: f64,
    /// Bytes of responses.
    pub sizes: Exported,
    /// Bytes of their heads.
    pub header_sizes: Exported,
    /// Connections that each thread used.
    pub sockets: Vec<i64>,
    /// All of them.
    pub socket_count: i64,
    /// How long connects took, s.
    pub connection_stats: Exported,
    /// The status that ends the run; 0: none.
    pub abort_on: i64,
}

/// The fields of a run over TCP or UDP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Socket {
    /// What was loaded.
    pub destination: String,
    /// Base64.
    pub payload: Option<String>,
    /// Path of a socket, in the place of an address; only of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_domain_socket: Option<String>,
    /// ns.
    pub req_timeout: i64,
    /// Calls by what came of them.
    pub ret_codes: BTreeMap<String, i64>,
    /// Sockets that were used.
    pub socket_count: i64,
    /// Bytes.
    pub bytes_sent: i64,
    /// Bytes.
    pub bytes_received: i64,
}

/// The fields of a run over gRPC.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Grpc {
    /// Calls by what came of them.
    pub ret_codes: BTreeMap<String, i64>,
    /// What was loaded.
    pub destination: String,
    /// Of each connection.
    pub streams: i64,
    /// Whether fortio's own service was called.
    pub ping: bool,
    /// Sent with each call.
    pub metadata: BTreeMap<String, Vec<String>>,
}

/// A histogram as fortio exports it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Exported {
    /// How many values there are.
    pub count: i64,
    /// The least; 0 without any.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// All values added up.
    pub sum: f64,
    /// The mean.
    pub avg: f64,
    /// The standard deviation, of the population.
    pub std_dev: f64,
    /// The buckets that hold values; null without any.
    pub data: Option<Vec<Row>>,
    /// Percentiles, if any were asked for and there are values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<Percentile>,
}

/// A bucket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Row {
    /// Where it begins.
    pub start: f64,
    /// Where it ends.
    pub end: f64,
    /// The share of values in it and below, per cent.
    pub percent: f64,
    /// Values in it.
    pub count: i64,
}

/// A percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Percentile {
    /// 0 to 100.
    pub percentile: f64,
    /// The value there.
    pub value: f64,
}
