//! The load engine: a plan in, a result out.
//!
//! [`run()`] starts the workers and merges their records. A [`worker::Worker`] is one thread's loop
//! over one driver. The worker is generic over the driver, so the same code runs on a kernel and,
//! from a seed, under `sim`.
#![forbid(unsafe_code)]

mod accounts;
mod activity;
mod admission;
mod assignment;
mod checks;
mod control;
mod crew;
mod deadlines;
mod error;
mod exchanges;
mod id;
mod inspection;
mod joint;
mod judge;
mod kept;
mod labels;
mod lines;
mod lookup;
mod muster;
mod notes;
mod observer;
mod outcome;
mod pool;
mod preflight;
mod progress;
mod record;
mod routes;
mod run;
pub mod scripted;
mod search;
mod setup;
mod signals;
mod slots;
pub mod source;
mod spoken;
#[cfg(test)]
mod tests;
mod told_apart;
mod traffic;
mod transcripts;
mod user;
pub mod vu;
mod waiting;
mod watch;
mod websocket;
pub mod worker;

pub use control::{Control, ControlError};
pub use crew::Progress;
pub use error::{FirstFailure, OpeningError, RunError};
pub use outcome::not_carried_out;
pub use preflight::{files_needed, workers};
pub use run::{Answer, Inquiry, check, probe, run, run_scenarios, run_scripted};
pub use signals::{Signals, TooManyOrders};
pub use spoken::Spoken;
