//! The measuring mistakes of load testers as experiments, each with a known truth, to be run
//! against Plimsoll or any other tester.
//!
//! An experiment asks a [`TesterAdapter`] for some load on an [`oracle`], a server that does what
//! it is told and logs when. It compares the tester's report with that log or with arithmetic.
//! Testers are programs: nothing here links the engine, so Plimsoll is judged from the outside like
//! any other.
//!
//! Absent on purpose: printing and reading the command line, which the `cli` does; and systems
//! other than Linux, because the experiments depend on its clocks, signals and `/proc`.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod claims;
pub mod doubts;
pub mod experiments;
pub mod findings;
pub mod harness;
pub mod judge;
mod options;
pub mod oracle;
mod plimsoll;
mod service;
pub mod suite;
pub mod tool;
pub mod tools;
pub mod views;

pub use experiments::Experiment;
pub use findings::Findings;
pub use judge::Judgement;
pub use options::SuiteOptions;
pub use plimsoll::Plimsoll;
pub use tool::{
    Ask, Call, Finished, Further, Http2Over, Method, Need, Reading, Resolve, Rpc, TesterAdapter,
};

/// Every tester there is an adapter for, Plimsoll first.
#[must_use]
pub fn testers() -> Vec<Box<dyn TesterAdapter>> {
    let mut testers: Vec<Box<dyn TesterAdapter>> = vec![Box::new(Plimsoll)];
    testers.extend(tools::all());
    testers
}
