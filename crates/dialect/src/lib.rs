//! What people bring along from other tools: target files, tables, forms, and the command lines
//! of wrk, wrk2 and ab with the reports that scripts read. Text in, a plan or parts of one out; a
//! result in, text out.
//!
//! Nothing here opens a file: what has to be read comes through a function argument, so that every
//! error of reading is the caller's to word, and everything can be tested with plain values.
#![forbid(unsafe_code)]

pub mod ab;
pub mod csv;
pub mod form;
mod getopt;
pub mod targets;
mod units;
mod usage;
pub mod wrk;

pub use usage::Usage;
