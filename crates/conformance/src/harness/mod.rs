//! Runs a tester against an oracle: starts both, watches them, disturbs them on time, ends them,
//! and reads their output.
//!
//! The oracle and the tester are processes of their own, each tied to a CPU if there are two, so
//! neither's work is in the other's figures. A run in which the machine lost CPU time to its
//! hypervisor is void and is repeated.

mod bench;
mod link;
mod oracle;
mod process;
mod reference;
mod run;
mod tester;

pub use bench::{Bench, Disturbance, Runs, Subject};
pub use link::Link;
pub use oracle::OracleProcess;
pub use process::{Machine, Process, Sample};
pub use run::{Acted, Action, Pin, Reference, Run, Setup};
