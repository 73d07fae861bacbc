//! Watching processes: which are meant, what belongs to them, and what they use while a run goes
//! on.
//!
//! A server is a tree: a master, its workers, what those start and end. [`Subject`] says which is
//! meant and finds its roots; a [`Sampler`] is a thread that follows the tree from there and makes
//! a [`Usage`](plimsoll_core::usage::Usage) of what it read. What is read, how often, and what it
//! costs stands in `docs/monitoring.md`.
//!
//! This is the one part of the crate that looks at a clock. It reads `/proc` and control groups
//! only: nothing is attached to the processes, and nothing in them is changed.

mod busy;
mod find;
mod group;
mod lost;
mod members;
mod process;
mod readings;
mod record;
mod sampler;
mod switches;
mod tree;
mod watch;

pub use find::{FindError, Root, Subject};
pub use record::Record;
pub use sampler::{Options, Sampler};

#[cfg(test)]
mod tests;
