//! Comparing two sides: is one faster, is it slower, or is it too close to tell?
//!
//! [`compare`] decides on one measure from its values over repeats, [`CaseContrast`] on a family of
//! measures together. [`Contrast`] is the document
//! `plimsoll/comparison/1`: two sides, each made of results or of a study, every case that both
//! have, and whether the limits on the change hold.

mod case;
mod decide;
mod document;
mod likeness;
mod limit;
mod ranking;
mod side;
mod success;

pub use case::{CaseContrast, CaseDecision, MeasureContrast};
pub use decide::{Comparison, Decision, DecisionOptions, Reason, Scale, compare};
pub use document::{Contrast, SCHEMA, Settings, SideFacts};
pub(crate) use likeness::{differences, of_load};
pub use limit::{Judged, Limit, LimitError, Outcome};
pub use ranking::{Ranked, against_baseline, contrast_with_baseline, ranking, repeats_to_compare};
pub use side::{Repeat, Side, SideCase, SideError};

#[cfg(test)]
pub(crate) mod noise;
#[cfg(test)]
mod tests;
