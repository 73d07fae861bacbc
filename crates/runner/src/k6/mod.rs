//! One run of a k6 script: from its text and options to what it amounts to.
//!
//! [`Test::load`] evaluates the script and checks all that it is asked to do. [`Test::run`] has the
//! order of things: initialise the VUs, `setup`, the scenarios, `teardown`, thresholds. Meanwhile
//! each worker counts into a [`Count`] of its own.
//!
//! [`Test::record`] runs it the same way and makes a `RunResult` of it, as every other run has one:
//! the engine records beside each [`Count`].
//!
//! The caller gets lines of the log and samples through bounded channels ([`Lines`], [`Points`]),
//! looks at the run through a [`Handle`], may open k6's REST
//! interface to it ([`Rest`]), and makes all texts and documents of what comes back
//! ([`Ran`]). Absent on purpose, as in all of this crate: flags, terminals, signals, files.

mod account;
mod cast;
mod common;
mod count;
mod gates;
mod given_up;
mod handle;
mod load;
mod news;
mod plan;
mod record;
mod rest;
mod run;
mod sets;
#[cfg(test)]
mod tests;
mod thresholds;

pub use account::Account;
pub use count::Count;
pub use handle::{Handle, Phase};
pub use load::{Environment, Script, Test};
pub use news::{Lines, LogLine, Point, Points};
pub use plan::{Planned, Terms};
pub use plimsoll_script::js::Summarized;
pub use record::RecordError;
pub use rest::Rest;
pub use run::{Ending, Ran};
