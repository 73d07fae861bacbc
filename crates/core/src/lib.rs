//! The vocabulary of a load test: what to do ([`plan`]), what happened ([`result`]) and the pure
//! arithmetic between the two.
//!
//! [`Plan`] and [`result::RunResult`] are the waist of the program: plain data with a schema
//! version, which all other crates exchange. Everything here is a function of its arguments: no
//! clock, no randomness of its own, no input or output.
#![forbid(unsafe_code)]

pub mod authorization;
pub mod beside;
pub mod checked;
pub mod clock;
pub mod comparison;
pub mod compression;
pub mod confidence;
pub mod details;
pub mod dns;
pub mod doubt;
pub mod environment;
pub mod errors;
pub mod executor;
pub mod expect;
pub mod find;
pub mod foreign;
pub mod gate;
pub mod histogram;
pub mod iterations;
pub mod ledger;
pub mod live;
pub mod metric;
pub mod nearest;
pub mod outage;
pub mod outcome;
pub mod part;
pub mod phase;
pub mod plan;
pub mod printable;
pub mod protocol;
pub mod pushed;
pub mod random;
pub mod recorder;
pub mod repeats;
pub mod result;
pub mod scenario;
pub mod schedule;
pub mod secret;
pub mod serde_units;
pub mod series;
pub mod stats;
pub mod streams;
pub mod study;
pub mod template;
pub mod throughput;
pub mod times;
pub mod transcript;
pub mod units;
pub mod usage;
pub mod verdict;

pub use checked::Plan;
pub use histogram::Histogram;
pub use ledger::Ledger;
pub use phase::Phase;
pub use result::RunResult;
