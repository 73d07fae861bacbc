//! Comparing, by example and by simulation.

mod bounds;
mod decisions;
mod delays;
mod documents;
mod family;
mod foreign;
mod limits;
mod studies;
