//! Views of a study, [`plimsoll_core::study::Study`]: servers side by side under the same loads.
//!
//! As for a result, they are pure functions from the document to bytes, and each format is a module
//! with a `write`. A cell is the median over the repeats that count. `core` computes how well it is
//! supported and which servers differ. A server, load or case that was not measured has a row with
//! the reason, because readers cannot ask about what a table leaves out.
//!
//! Absent on purpose: an overall winner. The reader knows which load and which measure matter.

pub mod csv;
mod facts;
pub mod html;
pub mod markdown;
mod notes;
mod standing;
pub mod text;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
