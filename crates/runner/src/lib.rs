//! One run: a checked plan in, a judged result out. And a search of many, in [`find`].
//!
//! A [`Runner`] has all that a run needs beside the load itself: the wait for the server, the
//! script's beginning and end, the conditions that end the run early, the processes that are
//! watched, the control socket, live figures, and gates. The load is the engine's.
//!
//! Absent on purpose: everything about who asked for the run. Flags, signals, texts on a terminal,
//! exit codes and reports are the caller's. It hears of the run through [`News`], steers it through
//! a [`Handle`], and gets what went wrong as a [`RunnerError`].
#![forbid(unsafe_code)]

mod control;
mod error;
mod feeding;
pub mod find;
mod handle;
pub mod k6;
mod live;
mod monitor;
mod news;
mod run;
mod script;
#[cfg(test)]
mod tests;
mod wait;

pub use error::RunnerError;
pub use handle::Handle;
pub use news::News;
pub use run::{Beside, Ran, Runner, not_carried_out};
