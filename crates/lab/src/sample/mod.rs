//! Watches processes during a run: which processes are meant, which belong to them, and what they
//! use.
//!
//! A server is a tree: a master, its workers, and what those start and end. [`ProcessSelector`]
//! names a server and finds its roots; a [`Sampler`] is a thread that follows the tree from there
//! and makes a [`Usage`](plimsoll_core::usage::Usage) of its readings. `docs/monitoring.md`
//! describes what is read, how often, and at what cost.
//!
//! [`Processes`] is for a look at all of a machine's, which `plimsoll doctor` takes.
//!
//! This is the only part of the crate that reads a clock. It reads `/proc` and control groups only:
//! it attaches nothing to the processes and changes nothing in them.

mod busy;
mod find;
mod group;
mod lost;
mod members;
mod others;
mod process;
mod readings;
mod record;
mod sampler;
mod switches;
mod tree;
mod watch;

pub use find::{FindError, ProcessSelector, Root};
pub use others::{Busy, Processes};
pub use record::UsageRecord;
pub use sampler::{Sampler, SamplerOptions};

#[cfg(test)]
mod tests;
