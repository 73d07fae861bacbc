//! The lab: servers side by side under the same loads, and what they used while they served.
//!
//! A [`suite`] is a file with servers, loads and the number of repeats. The lab builds and starts
//! the servers, has testers load them in a shuffled order, watches what the processes use
//! ([`sample`]) and writes the results as a [`Study`](plimsoll_core::study::Study). Testers are
//! programs, Plimsoll among them: all are called, tied to CPUs and watched in the same way.
//!
//! Absent on purpose: the engine, which the lab uses through the program like any other tester, and
//! the views of a study, which are in `plimsoll-report`.
#![forbid(unsafe_code)]

mod case;
mod cast;
mod check;
mod fitness;
mod home;
mod lab;
mod loading;
pub mod order;
pub mod prepare;
pub mod process;
mod programs;
mod progress;
mod ready;
pub mod sample;
mod serving;
mod store;
pub mod suite;
pub mod testers;

pub use lab::{Carried, Lab, LabError, Unknown, words};
pub use loading::{Sketch, Variables, sketch};
pub use ready::{Ready, Unfit};
pub use store::{Store, StoreError};
