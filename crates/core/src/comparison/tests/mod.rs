//! Comparing, by example and by simulation.

mod decisions;
mod documents;
mod foreign;
mod limits;
mod studies;
