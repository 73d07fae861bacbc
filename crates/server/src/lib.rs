//! The built-in servers: fast, well-understood peers for a load tester, with faults on request.
//!
//! On an address with [`Role::All`]:
//!
//! | target | answer |
//! |---|---|
//! | `/` | `hello world` |
//! | `/echo` | the request's body with its Content-Type; without a body, its head as text |
//! | `/echo?full` | the whole request as text: request line, headers, empty line, body |
//! | `/ip` | the client's address and port |
//! | `/status/CODE` | that status, 200 to 599 |
//! | `/bytes/N` | N bytes with a Content-Length; N as `512`, `10k`, `1.5M`, `1G` (powers of 1000) |
//! | `/chunked/N` | N bytes, chunked (to HTTP/1.0: up to the close) |
//! | `/delay/DURATION` | `hello world` after `200us`, `50ms`, `1.5s`; up to `1h` |
//! | `/queue/DURATION` | `hello world` from one worker that takes that long for each request |
//! | `/ws` | a WebSocket that echoes; without an upgrade, a page that opens it |
//!
//! The query of `/ws` says what else it does: `push=100ms` (a message of `size=16` bytes that
//! often), `delay=50ms` (before each answer), `fragments=3` and `pause=10ms` (of each answer),
//! `close-after=5` answers with `close-code=1000`, and `subprotocol=NAME` (chosen when offered;
//! otherwise the first that is).
//!
//! `/echo` also names the method and the target, in `X-Echo-Method` and `X-Echo-Target`.
//!
//! The same addresses answer calls of gRPC over HTTP/2: `grpc.health.v1.Health`,
//! `fgrpc.PingServer`, `grpc.testing.TestService` (for the most part) and reflection.
//!
//! Any other target gets a 404 that lists these. All methods are accepted; HEAD gets only the head.
//! The other roles give one kind of answer to every request. [`Faults`] make answers slow, wrong or
//! broken, as planned.
//!
//! [`start`] runs servers, or proxies, on threads of their own; [`Server`] is one without a thread,
//! for tests.
//!
//! The same addresses speak HTTP/2: the first bytes decide, or the handshake of TLS. Everything is
//! also served over TLS, with a given certificate or a generated one.
//!
//! Absent on purpose: files, access logs, and a Date header.
#![forbid(unsafe_code)]

mod answer;
mod connection;
mod faults;
mod grpc;
mod http2;
mod options;
mod pool;
pub mod proxy;
mod queue;
mod route;
mod secure;
mod server;
mod service;
mod site;
mod timers;
mod websocket;
mod wire;
mod workers;

pub use faults::{
    ErrorMix, FaultSpecError, Faults, Goaway, GoawaySpec, GrpcStatusMix, LatencyMix, ResetMix,
    Share, Stall, StreamFaults,
};
pub use options::{Counters, ServeError, ServerLimits, ServerOptions};
pub use plimsoll_proto::tls::{Identity, ServerConfig as TlsConfig, TlsConfigError};
pub use queue::Queue;
pub use route::Role;
pub use secure::{HTTP1, self_signed, tls_config};
pub use server::Server;
pub use service::{RunningServer, ServeOptions};
pub use site::{Asked, Client, Handle, Reply, Response, SiteOptions};
pub use workers::{Report, Running, Seat, Service, Threads, start};
