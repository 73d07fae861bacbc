//! One connection of a pool: a driver's socket joined to a protocol.
//!
//! Absent on purpose: which request goes where and when, what is recorded, and when to open or
//! close. Those are the engine's decisions.
#![forbid(unsafe_code)]

mod connection;
mod event;
mod http1;
mod protocol;
mod request;
mod setup;

pub use connection::{Connection, State};
pub use event::{ExchangeId, Failure, Head, Progress, Response, fields};
pub use http1::{Http1, Http1Request, Http1Settings};
pub use plimsoll_proto::http1::{DecodeError, EncodeError, Headers};
pub use protocol::{Protocol, Wire};
pub use request::{CompiledRequest, Encoding, Field, Filling, Framing, Hop, Message};
pub use setup::{ProxyHeader, Scratch, Setup, TlsSetup, connect_request};
