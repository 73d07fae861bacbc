//! Views: pure functions from a document to bytes. The documents are a
//! [`plimsoll_core::RunResult`], in [`study`] a [`plimsoll_core::study::Study`], in [`repeats`]
//! several results of one load, in [`find`] a
//! [`plimsoll_core::find::Document`], in [`foreign`] what another tester wrote, and in
//! [`transcript`] what one exchange sent and what came back.
//!
//! Each format is a module with a `write`. None of them reads a clock, opens a file or knows the
//! engine. A view shows only what the document holds, so a stored result prints the same text and
//! the same page as the run that made it. Text from outside (URLs, header values, error messages)
//! is made harmless on the way: no terminal escapes in text, no markup in HTML, XML or Markdown, no
//! formulas in CSV.
#![forbid(unsafe_code)]

pub mod advice;
mod answer;
pub mod columns;
pub mod comparison;
pub mod csv;
mod custom;
mod doubts;
mod facts;
pub mod failures;
pub mod find;
pub mod foreign;
pub mod hgrm;
pub mod hlog;
mod host;
pub mod html;
mod iterations;
pub mod json;
pub mod junit;
pub mod markdown;
mod page;
mod parts;
mod phases;
pub mod progress;
pub mod repeats;
mod scenarios;
mod server;
mod streams;
pub mod study;
mod tail;
pub mod text;
pub mod timeseries;
pub mod transcript;

#[cfg(test)]
mod heads;
#[cfg(test)]
mod samples;

pub use facts::{Clock, escaped};
