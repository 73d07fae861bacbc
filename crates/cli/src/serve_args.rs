//! Flags of `serve`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::units;
use plimsoll_server::{
    ErrorMix, GoawaySpec, GrpcStatusMix, HTTP1, LatencyMix, ResetMix, Share, Stall,
};

use crate::listen::listen;
use crate::value_args::{DriverFlag, threads};

const ROUTES: &str = "\
Routes:
  /                hello world
  /echo            the request's body, or its head if it has none; /echo?full
                   returns both
  /ip              the client's address
  /status/CODE     an answer with this status: /status/503
  /bytes/N         N bytes with a Content-Length: /bytes/10k
  /chunked/N       N bytes in chunks
  /delay/DURATION  hello world after that time: /delay/50ms
  /ws              a WebSocket that echoes; in a browser, a page that opens it.
                   /ws?push=100ms&size=16 sends a message that often; delay=50ms,
                   fragments=3, pause=10ms, close-after=5, close-code=1000 and
                   subprotocol=NAME are about the answers

gRPC services, over HTTP/2:
  grpc.health.v1.Health, fgrpc.PingServer, grpc.testing.TestService, reflection";

/// Flags of `serve`.
#[derive(Debug, Args)]
#[command(after_help = ROUTES)]
pub(crate) struct ServeFlags {
    /// Address that serves every route: ADDR:PORT, or a port of 127.0.0.1 [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    pub listen: Option<SocketAddr>,
    /// Address that answers every request with hello
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    pub hello: Option<SocketAddr>,
    /// Address that echoes every request
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    pub echo: Option<SocketAddr>,
    /// Address that answers with the client's address
    #[arg(long, value_name = "ADDR", value_parser = listen)]
    pub address: Option<SocketAddr>,
    /// Worker threads
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = threads)]
    #[arg(alias = "workers")]
    pub threads: u32,
    /// Interface to the kernel
    #[arg(long, value_enum, default_value_t)]
    pub driver: DriverFlag,
    /// Pin the threads to these CPUs, in turn: 1 or 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub pin: Vec<usize>,

    /// Protocols to offer over TLS, the preferred first
    #[arg(long, value_enum, value_name = "LIST", value_delimiter = ',', help_heading = "TLS")]
    #[arg(default_value = "h2,http/1.1")]
    pub alpn: Vec<Alpn>,
    /// Serve over TLS, with a certificate made at the start for localhost, 127.0.0.1 and ::1
    #[arg(long, help_heading = "TLS")]
    pub tls: bool,
    /// Serve over TLS, with the certificate chain in this PEM file
    #[arg(long = "cert", alias = "tls-cert", value_name = "FILE", requires = "tls_key")]
    #[arg(help_heading = "TLS")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, a PEM file
    #[arg(long = "key", alias = "tls-key", value_name = "FILE", requires = "tls_cert")]
    #[arg(help_heading = "TLS")]
    pub tls_key: Option<PathBuf>,
    /// Serve over TLS, only to clients with a certificate signed by an authority in this PEM file
    #[arg(long = "client-ca", alias = "tls-client-ca", value_name = "FILE", help_heading = "TLS")]
    pub tls_client_ca: Option<PathBuf>,
    /// Serve over TLS, and write the certificate made at the start to this PEM file, for clients
    #[arg(long, value_name = "FILE", conflicts_with = "tls_cert", help_heading = "TLS")]
    pub tls_save: Option<PathBuf>,

    /// Stop answering for a time: 300ms@5s (once, after 5 s) or 50ms/1s (50 ms in every second)
    #[arg(long, value_name = "S", help_heading = "Faults")]
    pub stall: Option<Stall>,
    /// Delay shares of the answers: 90%:1ms,9%:10ms,1%:1s
    #[arg(long, value_name = "L", help_heading = "Faults")]
    pub latency: Option<LatencyMix>,
    /// Answer shares of the requests with an error: 1%:503,0.5%:500
    #[arg(long, value_name = "L", help_heading = "Faults")]
    pub errors: Option<ErrorMix>,
    /// Reset the connection instead of answering, for a share of the requests: 0.1%
    #[arg(long, value_name = "SHARE", help_heading = "Faults")]
    pub reset: Option<Share>,
    /// Close each connection after N answers
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub close_every: Option<NonZeroU32>,
    /// End shares of the gRPC calls with a status: 1%:UNAVAILABLE,0.5%:8
    #[arg(long, value_name = "L", help_heading = "Faults")]
    pub grpc_status: Option<GrpcStatusMix>,
    /// Let each HTTP/2 client have up to N streams open
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub h2_streams: Option<u32>,
    /// Delay the SETTINGS of each HTTP/2 connection, and all that follows them: 50ms
    #[arg(long, value_name = "T", value_parser = units::parse_duration_ns, help_heading = "Faults")]
    pub h2_settings_delay: Option<u64>,
    /// Answer shares of the HTTP/2 requests with RST_STREAM: 1%:CANCEL,0.5%:INTERNAL_ERROR
    #[arg(long, value_name = "L", help_heading = "Faults")]
    pub h2_reset: Option<ResetMix>,
    /// Refuse a share of the HTTP/2 requests unprocessed, with REFUSED_STREAM: 1%
    #[arg(long, value_name = "SHARE", help_heading = "Faults")]
    pub h2_refuse: Option<Share>,
    /// End each HTTP/2 connection with GOAWAY at its N-th request: 100 (in two steps), or
    /// 100:abrupt (that request is given up)
    #[arg(long, value_name = "N", help_heading = "Faults")]
    pub h2_goaway: Option<GoawaySpec>,
    /// Give each HTTP/2 stream a window of this size for the request's body: 1, 16k
    #[arg(long, value_name = "BYTES", value_parser = window, help_heading = "Faults")]
    pub h2_window: Option<u32>,
    /// Delay each WINDOW_UPDATE of an HTTP/2 stream: 10ms
    #[arg(long, value_name = "T", value_parser = units::parse_duration_ns, help_heading = "Faults")]
    pub h2_window_delay: Option<u64>,
    /// Seed for the choice of faults
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Faults")]
    pub seed: u64,
}

/// A protocol that is offered over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Alpn {
    /// HTTP/2
    H2,
    /// HTTP/1.1
    #[value(name = "http/1.1")]
    Http11,
}

impl Alpn {
    /// Its names in a handshake (RFC 7301). Servers of HTTP/1.1 take clients of HTTP/1.0, too.
    pub(crate) fn names(self) -> &'static [&'static [u8]] {
        match self {
            Self::H2 => &[b"h2"],
            Self::Http11 => HTTP1,
        }
    }
}

/// A window of HTTP/2, up to 2^31-1 bytes.
fn window(text: &str) -> Result<u32, String> {
    let bytes = units::parse_count(text).ok().and_then(|bytes| i32::try_from(bytes).ok());
    let bytes = bytes.and_then(|bytes| u32::try_from(bytes).ok());
    bytes.ok_or_else(|| format!("'{text}' is not a number of bytes below 2^31"))
}
