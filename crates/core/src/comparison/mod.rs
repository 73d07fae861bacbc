//! Comparing two sides: is one faster, is it slower, or do the data not tell?
//!
//! [`compare`] decides on one measure from its values over repeats. [`Contrast`] is the document
//! `plimsoll/comparison/1`: two sides, each made of results or of a study, every case that both
//! have, and whether the limits on the change hold.

mod decide;
mod document;
mod likeness;
mod limit;
mod side;
mod success;

pub(crate) use decide::repeats_needed;
pub use decide::{Comparison, Decision, Options, Reason, Scale, compare};
pub use document::{CaseContrast, Contrast, MeasureContrast, SCHEMA, Settings, SideFacts};
pub use limit::{Judged, Limit, LimitError};
pub use side::{Side, SideCase, SideError};
pub use success::{against, decide_together};

#[cfg(test)]
pub(crate) mod noise;
#[cfg(test)]
mod tests;
