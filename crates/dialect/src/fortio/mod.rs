//! fortio: its result files and its report, as pure functions.
//!
//! [`Said`] is what a file says, with all of it optional, because other programs write the format
//! too and each leaves out something else. [`foreign`] puts that in common terms. The facts are
//! those of fortio 1.75; Nighthawk's files of all versions are read as well.
//!
//! [`result`] is what fortio itself writes, whole; [`json`] and [`text`] write it byte for byte as
//! fortio does. Absent: anything that makes such a result of a run of ours.

mod arguments;
mod command;
mod flags;
mod foreign;
mod interpolate;
pub mod json;
pub mod pace;
pub mod result;
mod said;
#[cfg(test)]
mod tests;
pub mod text;

pub use arguments::{help, parse};
pub use command::{Action, Call, Command, LogLevel, Payload, version};
pub use foreign::foreign;
pub use said::{Bucket, Histogram, Malformed, Said, is_result};
