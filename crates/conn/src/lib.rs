//! One connection of a pool: a driver's socket joined to a protocol.
//!
//! Absent on purpose: which request goes where and when, what is recorded, and when to open or
//! close. Those are the engine's decisions.
#![forbid(unsafe_code)]

pub mod http1;
mod setup;

pub use http1::{Connection, Failure, Outgoing, Progress, Response};
pub use setup::{ProxyHeader, Scratch, Setup, TlsSetup};
