//! Views of a study, [`plimsoll_core::study::Study`]: servers side by side under the same loads.
//!
//! As of a result: pure functions from the document to bytes, each format a module with a `write`.
//! A cell is the median over the repeats that count; what it stands on, and which servers can be
//! told apart, is `core`'s arithmetic. A server, load or case that was not measured has its row
//! with the reason: what is missing from a table is what a reader cannot ask about.
//!
//! Absent on purpose: an overall winner. Which load and which measure matter, the reader knows.

pub mod csv;
mod facts;
pub mod html;
pub mod json;
pub mod markdown;
mod notes;
mod standing;
pub mod text;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
