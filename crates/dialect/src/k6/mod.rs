//! k6: its options, scenarios, metrics and thresholds, and everything that it prints, as pure
//! functions.
//!
//! The facts are those of k6 2.2. Scripts, logs and tools depend on names, numbers and layouts, so
//! those are kept; messages of errors are our own. Absent: scripts and their API, anything that
//! sends a request, and what reads files or the clock.

pub mod absent;
pub mod defaults;
mod exit;
pub mod metrics;
pub mod options;
pub mod output;
#[cfg(test)]
mod replay;
pub mod rest;
pub mod runtime;
pub mod scenario;
mod secrets;
pub mod segment;
pub mod summary;
pub mod threshold;

pub use exit::{ExitCode, Refused};
pub use secrets::SecretSources;
