//! Comparing two sides: is one faster, is it slower, or is it too close to tell?
//!
//! [`compare`] decides on one measure from its values over repeats. [`Contrast`] is the document
//! `plimsoll/comparison/1`: two sides, each made of results or of a study, every case that both
//! have, and whether the limits on the change hold.

mod decide;
mod document;
mod likeness;
mod limit;
mod ranking;
mod side;
mod success;

pub use decide::{Comparison, Decision, DecisionOptions, Reason, Scale, compare};
pub use document::{CaseContrast, Contrast, MeasureContrast, SCHEMA, Settings, SideFacts};
pub(crate) use likeness::{differences, of_load};
pub use limit::{Judged, Limit, LimitError};
pub use ranking::{Ranked, against_baseline, ranking, repeats_to_compare};
pub use side::{Repeat, Side, SideCase, SideError};

#[cfg(test)]
pub(crate) mod noise;
#[cfg(test)]
mod tests;
