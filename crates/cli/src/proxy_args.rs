//! Flags of `proxy`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::units::{parse_count, parse_duration_ns};

use crate::listen::listen;
use crate::value_args::{DriverFlag, count32, threads};

/// How the proxy treats `X-Forwarded-*`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForwardedFlag {
    #[default]
    Append,
    Replace,
    Off,
}

/// The Host that upstreams see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostFlag {
    #[default]
    Keep,
    Upstream,
}

/// Flags of `proxy`.
#[derive(Debug, Args)]
pub(crate) struct ProxyFlags {
    /// Address for clients: ADDR:PORT, or a port of 127.0.0.1; may be given again
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000", value_parser = listen)]
    #[arg(value_delimiter = ',')]
    pub listen: Vec<SocketAddr>,
    /// Upstreams: HOST:PORT, http://HOST:PORT or https://HOST:PORT; separate several with commas
    #[arg(long, value_name = "URL", required = true, value_delimiter = ',')]
    pub to: Vec<String>,
    /// How to choose an upstream: round-robin, least, hash (of the client's address) or hash:FIELD
    #[arg(long, value_name = "HOW", default_value = "round-robin", value_parser = balance)]
    pub balance: plimsoll_server::proxy::Balance,
    /// Maximum number of connections of a worker to each upstream
    #[arg(long, value_name = "N", default_value = "256", value_parser = count32)]
    pub upstream_connections: u32,
    /// Maximum number of requests of a worker that wait for an upstream connection
    #[arg(long, value_name = "N", default_value = "16384", value_parser = count32)]
    pub queue: u32,
    /// Maximum number of client connections of a worker
    #[arg(long, value_name = "N", default_value = "16384", value_parser = count32)]
    pub clients: u32,
    /// Bytes of a request's body to read before the request gets an upstream connection; 0 reads
    /// none and leaves Expect to the upstream
    #[arg(long, value_name = "BYTES", default_value = "256k", value_parser = bytes)]
    pub body_buffer: usize,
    /// Memory of a worker for all bodies that it reads in advance, in bytes
    #[arg(long, value_name = "BYTES", default_value = "128M", value_parser = bytes)]
    pub body_buffers: usize,
    /// Bytes of a response to keep for a client that reads slowly
    #[arg(long, value_name = "BYTES", default_value = "256k", value_parser = bytes)]
    pub response_buffer: usize,
    /// Minimum rate at which a client sends a body or reads a response, in bytes per second; 0
    /// accepts any progress
    #[arg(long, value_name = "BYTES", default_value = "500", value_parser = parse_count)]
    pub client_rate: u64,
    /// Maximum size of a request's body, in bytes [default: no limit]
    #[arg(long, value_name = "BYTES", value_parser = parse_count)]
    pub body_max: Option<u64>,

    /// X-Forwarded-* and Forwarded: append to the client's, replace the client's, or leave them
    /// alone
    #[arg(long, value_enum, default_value_t, help_heading = "Fields")]
    pub forwarded: ForwardedFlag,
    /// Host that upstreams see: the client's, or the upstream's own name
    #[arg(long, value_enum, default_value_t, help_heading = "Fields")]
    pub host: HostFlag,
    /// Do not add Via, although RFC 9110 requires it
    #[arg(long, help_heading = "Fields")]
    pub no_via: bool,

    /// Accept TLS from clients, with a certificate made at the start for localhost, 127.0.0.1, ::1
    #[arg(long, help_heading = "TLS")]
    pub tls: bool,
    /// Accept TLS from clients, with the certificate chain in this PEM file
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    pub cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    pub key: Option<PathBuf>,
    /// Accept TLS from clients, and write the certificate made at the start to this PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "cert", help_heading = "TLS")]
    pub tls_save: Option<PathBuf>,
    /// Trust upstreams whose certificate is signed by one of these, a PEM file
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub upstream_cacert: Option<PathBuf>,
    /// Trust any upstream: do not check its certificate
    #[arg(long, conflicts_with = "upstream_cacert", help_heading = "TLS")]
    pub upstream_insecure: bool,

    #[command(flatten)]
    pub timeouts: TimeoutFlags,

    /// Put an upstream aside after N failures in a row; 0 never does
    #[arg(long, value_name = "N", default_value = "5", value_parser = count32)]
    #[arg(help_heading = "Health")]
    pub fail_after: u32,
    /// Also count responses of 500 to 599, and unusable ones, as failures; a client that provokes
    /// them can then put an upstream aside for all clients
    #[arg(long, help_heading = "Health")]
    pub fail_on_5xx: bool,
    /// How long an upstream stays aside
    #[arg(long, value_name = "T", default_value = "5s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Health")]
    pub aside: u64,
    /// Check the upstreams by requests to this path; a status of 200 to 399 is healthy
    #[arg(long, value_name = "PATH", help_heading = "Health")]
    pub health_path: Option<String>,
    /// Time between two health checks
    #[arg(long, value_name = "T", default_value = "1s", value_parser = time)]
    #[arg(requires = "health_path", help_heading = "Health")]
    pub health_interval: u64,
    /// Timeout of a health check
    #[arg(long, value_name = "T", default_value = "1s", value_parser = time)]
    #[arg(requires = "health_path", help_heading = "Health")]
    pub health_timeout: u64,

    /// Write a line for each request to this file; - is stdout
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub access_log: Option<PathBuf>,
    /// Print the final counts as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,

    /// Worker threads
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = threads)]
    #[arg(alias = "workers", short_alias = 'w', help_heading = "Workers")]
    pub threads: u32,
    /// Interface to the kernel
    #[arg(long, value_enum, default_value_t, help_heading = "Workers")]
    pub driver: DriverFlag,
    /// Pin the threads to these CPUs, in turn: 1 or 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',', help_heading = "Workers")]
    pub pin: Vec<usize>,
}

/// Limits on time.
#[derive(Debug, Args)]
#[command(next_help_heading = "Timeouts")]
pub(crate) struct TimeoutFlags {
    /// Limit for connecting to an upstream
    #[arg(long, value_name = "T", default_value = "5s", value_parser = time)]
    pub connect_timeout: u64,
    /// Limit from the end of a request to the first byte of its response
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub response_timeout: u64,
    /// Limit between two pieces of a body, in either direction, and for a client to read one
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub idle_timeout: u64,
    /// Limit for a request's whole body, except the time in which the proxy itself does not read; 0
    /// is no limit
    #[arg(long, value_name = "T", default_value = "5m", value_parser = parse_duration_ns)]
    pub body_timeout: u64,
    /// Period over which a client has to keep --client-rate
    #[arg(long, value_name = "T", default_value = "20s", value_parser = time)]
    pub client_slack: u64,
    /// Limit from the first byte of a request to the end of its head
    #[arg(long, value_name = "T", default_value = "30s", value_parser = time)]
    pub head_timeout: u64,
    /// Close a client's connection after this time without a request
    #[arg(long, value_name = "T", default_value = "75s", value_parser = time)]
    pub keep_alive: u64,
    /// Close an upstream's connection after this time without a request
    #[arg(long, value_name = "T", default_value = "60s", value_parser = time)]
    pub upstream_keep_alive: u64,
    /// Limit for waiting for an upstream connection
    #[arg(long, value_name = "T", default_value = "10s", value_parser = time)]
    pub queue_timeout: u64,
    /// Time for requests under way to finish when the proxy stops
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

fn balance(text: &str) -> Result<plimsoll_server::proxy::Balance, String> {
    use plimsoll_server::proxy::Balance;
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
    use plimsoll_server::proxy::Balance;

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
