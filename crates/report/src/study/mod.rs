//! Views of a study, [`plimsoll_core::study::Study`]: servers side by side under the same loads.
//!
//! As for a result, they are pure functions from the document to bytes, and each format is a module
//! with a `write`. Each begins with the answer. A cell is the median over the repeats in which it
//! counts; if it is in doubt in all of them, it has a mark. `core` computes how well it is
//! supported and which servers differ. A server, load or case that was not measured has a row with
//! the reason, because readers cannot ask about what a table leaves out.
//!
//! Absent on purpose: an overall winner. The reader knows which load and which measure matter.

mod answer;
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
