//! Under whose names metrics are written.

use crate::figures::{Figures, Names};
use crate::metrics::Family;
use crate::{k6_names, metrics};

/// All metrics, in the order in which they are written.
pub(crate) fn families(figures: &Figures) -> Vec<Family<'_>> {
    match figures.names {
        Names::Own => metrics::families(figures),
        Names::K6 => k6_names::families(figures),
    }
}
