//! Flags of `proxy`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::units::{parse_count, parse_duration_ns};

use crate::args::{DriverFlag, count32, threads};
use crate::listen::listen;

/// What becomes of `X-Forwarded-*`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForwardedFlag {
    #[default]
    Append,
    Replace,
    Off,
}

/// Which Host upstreams see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostFlag {
    #[default]
    Keep,
    Upstream,
}

/// Flags of `proxy`.
#[derive(Debug, Args)]
pub(crate) struct ProxyFlags {
    /// Where clients connect: ADDR:PORT, or a port of 127.0.0.1; may be given again
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000", value_parser = listen)]
    #[arg(value_delimiter = ',')]
    pub listen: Vec<SocketAddr>,
    /// Where requests go: HOST:PORT, http://HOST:PORT or https://HOST:PORT, several with commas
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',')]
    pub to: Vec<String>,
    /// Which upstream a request goes to: round-robin, least, hash (of the client's address) or
    /// hash:FIELD
    #[arg(long, value_name = "HOW", default_value = "round-robin", value_parser = balance)]
    pub balance: plimsoll_target::proxy::Balance,
    /// Connections of a worker to each upstream
    #[arg(long, value_name = "N", default_value = "256", value_parser = count32)]
    pub upstream_connections: u32,
    /// Requests of a worker that may wait for an upstream connection
    #[arg(long, value_name = "N", default_value = "16384", value_parser = count32)]
    pub queue: u32,
    /// Clients that a worker takes at once
    #[arg(long, value_name = "N", default_value = "16384", value_parser = count32)]
    pub clients: u32,
    /// Bytes of a request's body that are read before it gets an upstream connection; 0: none, and
    /// upstreams answer Expect
    #[arg(long, value_name = "BYTES", default_value = "256k", value_parser = bytes)]
    pub body_buffer: usize,
    /// Bytes of memory of a worker for all bodies that are read so
    #[arg(long, value_name = "BYTES", default_value = "128M", value_parser = bytes)]
    pub body_buffers: usize,
    /// Bytes of a response that are kept for a client that is slow to read
    #[arg(long, value_name = "BYTES", default_value = "256k", value_parser = bytes)]
    pub response_buffer: usize,
    /// Bytes a second that a client has to send of a body, or to take of a response; 0: a byte now
    /// and then
    #[arg(long, value_name = "BYTES", default_value = "500", value_parser = parse_count)]
    pub client_rate: u64,
    /// Bytes that a request's body may have [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = parse_count)]
    pub body_max: Option<u64>,

    /// X-Forwarded-* and Forwarded: add what is seen, say nothing else, or leave them alone
    #[arg(long, value_enum, default_value_t, help_heading = "Fields")]
    pub forwarded: ForwardedFlag,
    /// Which Host upstreams see: the client's, or their own name
    #[arg(long, value_enum, default_value_t, help_heading = "Fields")]
    pub host: HostFlag,
    /// Add no Via, though RFC 9110 wants one
    #[arg(long, help_heading = "Fields")]
    pub no_via: bool,

    /// Speak TLS with clients, with a certificate made at the start for localhost, 127.0.0.1, ::1
    #[arg(long, help_heading = "TLS")]
    pub tls: bool,
    /// Speak TLS with clients, with this certificate and those after it: PEM
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    pub cert: Option<PathBuf>,
    /// The certificate's private key: PEM
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    pub key: Option<PathBuf>,
    /// Speak TLS with clients, and write the certificate made at the start there: PEM
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "TLS")]
    pub tls_save: Option<PathBuf>,
    /// Believe upstreams whose certificate one of these signed: PEM
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub upstream_cacert: Option<PathBuf>,
    /// Believe any upstream
    #[arg(long, conflicts_with = "upstream_cacert", help_heading = "TLS")]
    pub upstream_insecure: bool,

    #[command(flatten)]
    pub timeouts: TimeoutFlags,

    /// Failures in a row that put an upstream aside; 0: never
    #[arg(long, value_name = "N", default_value = "5", value_parser = count32)]
    #[arg(help_heading = "Health")]
    pub fail_after: u32,
    /// Count responses of 500 to 599, and unusable ones, as failures: then a client that provokes
    /// them can put an upstream aside for all
    #[arg(long, help_heading = "Health")]
    pub fail_on_5xx: bool,
    /// For how long it is put aside
    #[arg(long, value_name = "T", default_value = "5s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Health")]
    pub aside: u64,
    /// Ask upstreams for this path now and then: 200 to 399 is well
    #[arg(long, value_name = "PATH", help_heading = "Health")]
    pub health_path: Option<String>,
    /// Time between two checks
    #[arg(long, value_name = "T", default_value = "1s", value_parser = time)]
    #[arg(requires = "health_path", help_heading = "Health")]
    pub health_interval: u64,
    /// How long a check may take
    #[arg(long, value_name = "T", default_value = "1s", value_parser = time)]
    #[arg(requires = "health_path", help_heading = "Health")]
    pub health_timeout: u64,

    /// A line for each request: a file, or - for stdout
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub access_log: Option<PathBuf>,
    /// Print the counts at the end as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Worker threads
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = threads)]
    #[arg(alias = "workers", short_alias = 'w', help_heading = "Workers")]
    pub threads: u32,
    /// How to reach the kernel
    #[arg(long, value_enum, default_value_t, help_heading = "Workers")]
    pub driver: DriverFlag,
    /// CPUs to tie the threads to, in turn: 1 or 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',', help_heading = "Workers")]
    pub pin: Vec<usize>,
}

/// How long things may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Timeouts")]
pub(crate) struct TimeoutFlags {
    /// Connecting to an upstream
    #[arg(long, value_name = "T", default_value = "5s", value_parser = time)]
    pub connect_timeout: u64,
    /// From the end of a request to the first byte of its response
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub response_timeout: u64,
    /// Between two pieces of a body, of a response or a request, and for a client to take one
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub idle_timeout: u64,
    /// All of a request's body, without the time in which the proxy itself does not read it; 0: no
    /// limit
    #[arg(long, value_name = "T", default_value = "5m", value_parser = parse_duration_ns)]
    pub body_timeout: u64,
    /// The stretch of time in which a client has to keep to --client-rate
    #[arg(long, value_name = "T", default_value = "20s", value_parser = time)]
    pub client_slack: u64,
    /// From the first byte of a request to the end of its head
    #[arg(long, value_name = "T", default_value = "30s", value_parser = time)]
    pub head_timeout: u64,
    /// Clients' connections without a request
    #[arg(long, value_name = "T", default_value = "75s", value_parser = time)]
    pub keep_alive: u64,
    /// Upstreams' connections without a request
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub upstream_keep_alive: u64,
    /// Waiting for an upstream connection
    #[arg(long, value_name = "T", default_value = "10s", value_parser = time)]
    pub queue_timeout: u64,
    /// Requests under way when the proxy is told to stop
    #[arg(long, value_name = "T", default_value = "10s", value_parser = parse_duration_ns)]
    pub drain: u64,
}

/// A length of something in memory.
fn bytes(text: &str) -> Result<usize, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    usize::try_from(count).map_err(|error| error.to_string())
}

/// A time that is not 0.
fn time(text: &str) -> Result<u64, String> {
    match parse_duration_ns(text).map_err(|error| error.to_string())? {
        0 => Err("it has to be more than 0".to_owned()),
        time_ns => Ok(time_ns),
    }
}

fn balance(text: &str) -> Result<plimsoll_target::proxy::Balance, String> {
    use plimsoll_target::proxy::Balance;
    match text.split_once(':') {
        None if text == "round-robin" => Ok(Balance::RoundRobin),
        None if text == "least" => Ok(Balance::LeastLoaded),
        None if text == "hash" => Ok(Balance::HashAddress),
        Some(("hash", field)) if !field.is_empty() => Ok(Balance::HashField(field.to_owned())),
        _ => Err(format!("'{text}' is not one of round-robin, least, hash, hash:FIELD")),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_target::proxy::Balance;

    use super::*;

    #[test]
    fn ways_to_balance() {
        for (text, want) in [
            ("round-robin", Some(Balance::RoundRobin)),
            ("least", Some(Balance::LeastLoaded)),
            ("hash", Some(Balance::HashAddress)),
            ("hash:X-User", Some(Balance::HashField("X-User".to_owned()))),
            ("hash:", None),
            ("random", None),
        ] {
            assert_eq!(balance(text).ok(), want, "{text}");
        }
        assert!(time("0s").is_err() && time("1ms") == Ok(1_000_000));
    }
}
