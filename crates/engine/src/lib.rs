//! The load engine: a plan in, a result out.
//!
//! [`run()`] starts the workers and merges their records. A [`worker::Worker`] is one thread's loop
//! over one driver. The worker is generic over the driver, so the same code runs on a kernel and,
//! from a seed, under `sim`.
#![forbid(unsafe_code)]

mod admission;
mod checks;
mod client;
mod deadlines;
mod error;
mod exchanges;
mod inspection;
mod judge;
mod lookup;
mod notes;
mod observer;
mod outcome;
mod preflight;
mod reach;
mod routes;
mod run;
mod scripted;
mod search;
mod setup;
mod signals;
pub mod source;
mod user;
mod watch;
pub mod worker;

pub use error::RunError;
pub use preflight::{files_needed, workers};
pub use run::{Control, ControlError, Progress, check, run, run_scripted};
pub use signals::{Signals, TooManyOrders};
