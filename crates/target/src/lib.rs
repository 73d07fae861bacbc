//! The built-in servers: something fast, well understood and faulty on request to point a load
//! tester at.
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
//!
//! `/echo` also names the method and the target, in `X-Echo-Method` and `X-Echo-Target`.
//!
//! Anything else is a 404 that lists these. Every method does; HEAD gets the head alone. The other
//! roles give one kind of answer to whatever is asked. [`Faults`] make any of it slow, wrong or
//! broken, by plan.
//!
//! [`start`] runs servers on threads of their own; [`Server`] is one without a thread, for tests.
//!
//! All of it is served over TLS as well, with a certificate that was given or one made up.
//!
//! Absent on purpose: files, access logs, and a Date header.
#![forbid(unsafe_code)]

mod answer;
mod connection;
mod faults;
mod options;
pub mod proxy;
mod route;
mod run;
mod secure;
mod server;
mod timers;
mod wire;

pub use faults::{ErrorMix, FaultSpecError, Faults, LatencyMix, Share, Stall};
pub use options::{Counters, Limits, ServeError, ServerOptions};
pub use plimsoll_proto::tls::{Identity, ServerConfig as TlsConfig, TlsConfigError};
pub use route::Role;
pub use run::{Running, ServeOptions, ServeReport, start};
pub use secure::{self_signed, tls_config};
pub use server::Server;
