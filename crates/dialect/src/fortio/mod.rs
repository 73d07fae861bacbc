//! fortio: its result files, as pure functions.
//!
//! [`Said`] is what a file says, with all of it optional, because other programs write the format
//! too and each leaves out something else. [`foreign`] puts that in common terms. The facts are
//! those of fortio 1.75; Nighthawk's files of all versions are read as well.

mod foreign;
mod interpolate;
mod said;
#[cfg(test)]
mod tests;

pub use foreign::foreign;
pub use said::{Bucket, Histogram, Malformed, Said, is_result};
