//! The oracle: a server that does exactly what it is told and records when.
//!
//! Its log is the truth that testers are compared with, so it is simple and shares nothing with
//! what it judges: one thread on epoll, its own few lines of HTTP/1 and its own codecs of HTTP/2,
//! gRPC and WebSocket, no part of Plimsoll's engine or of its targets. On one kernel, its log and
//! the tester use the same clock. The first bytes of a connection decide which protocol it speaks.
//! Where the mode has TLS, these are the first ones after the handshake, whatever the handshake
//! chose.
//!
//! Absent on purpose: chunked request bodies, and anything that would make it fast but hard to
//! believe.

mod answer;
mod call;
mod connection;
mod http2;
mod log;
mod mode;
mod output;
mod request;
mod server;
mod session;
mod shared;
mod tls;
mod websocket;
mod wire;

pub use http2::code;
pub use log::{
    CallEntry, Connection, End, Entry, LOG_MAX, Log, LogError, Side, SocketEntry, StreamReset,
};
pub use mode::{Act, Alpn, Answer, CallMode, Http2Mode, Mode, SocketMode, TimeSpan, TlsMode};
pub use server::{Oracle, hash};
#[cfg(test)]
pub(crate) use shared::due;

/// `CLOCK_MONOTONIC`, ns: the one clock of all processes of the kernel.
#[must_use]
pub fn clock_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Neither is negative for this clock; 2^64 ns are 584 years.
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests;
