//! Comparing, by example and by simulation.

mod bounds;
mod decisions;
mod documents;
mod foreign;
mod limits;
mod studies;
