//! Views of a result: pure functions from a [`plimsoll_core::RunResult`] to bytes; and, in
//! [`study`], of a [`plimsoll_core::study::Study`]; in [`repeats`], of several results of one load.
//!
//! Each format is a module with a `write`. None of them reads a clock, opens a file or knows the
//! engine: what a view shows is in the result document, so a stored result prints the same text
//! and the same page as the run that made it. What comes from outside (URLs, header values, texts
//! of errors) is made harmless on the way: no terminal escapes in text, no markup in HTML, XML or
//! Markdown, no formulas in CSV.
#![forbid(unsafe_code)]

mod advice;
pub mod comparison;
pub mod csv;
mod facts;
pub mod failures;
pub mod hgrm;
pub mod hlog;
mod host;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod page;
mod parts;
mod phases;
pub mod progress;
pub mod repeats;
mod server;
pub mod study;
pub mod text;
pub mod timeseries;

#[cfg(test)]
mod samples;

pub use facts::Clock;
