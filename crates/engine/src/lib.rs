//! The load engine: a plan in, a result out.
//!
//! [`run()`] starts the workers and puts their records together; a [`worker::Worker`] is one
//! thread's loop over one driver, and shares nothing with the others while it runs. The worker is
//! generic over the driver, so the same code runs against a kernel and, from a seed, under `sim`.
#![forbid(unsafe_code)]

mod admission;
mod client;
mod deadlines;
mod error;
mod observer;
mod outcome;
mod preflight;
mod render;
mod run;
pub mod source;
pub mod worker;

pub use error::RunError;
pub use render::{Rendered, render};
pub use run::{Control, Progress, run};
