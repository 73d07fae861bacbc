//! What people bring along from other tools: target files, tables, forms, the command lines of wrk,
//! wrk2 and ab with the reports that scripts read, and all of k6 but its scripts. Text becomes a
//! plan or parts of one; a result becomes text.
//!
//! Nothing here opens a file: content comes through a function argument. So the caller words every
//! error of reading, and everything can be tested with plain values.
#![forbid(unsafe_code)]

pub mod ab;
pub mod csv;
mod duration;
pub mod form;
pub mod fortio;
mod getopt;
mod go_flag;
pub mod k6;
mod numbers;
pub mod targets;
mod units;
mod usage;
mod wall;
pub mod wrk;

pub use usage::UsageText;
pub use wall::WallTime;
