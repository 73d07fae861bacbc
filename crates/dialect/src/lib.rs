//! Formats that people bring along: target files, tables, forms. Text in, parts of a plan out.
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
pub mod wrk;
