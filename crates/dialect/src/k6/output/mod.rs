//! Lines of k6's outputs and logs, and what it prints before and during a run.

mod banner;
mod csv;
mod gzip;
mod json;
mod log;
mod progress;

#[cfg(test)]
mod tests;

pub use banner::{Banner, banner};
pub use csv::{Columns, TimeFormat};
pub use gzip::Gzip;
pub use json::{PointLines, metric_line};
pub use log::{Format, Level, Record, log_line};
pub use progress::{Bar, Frame, Live, Status, Totals, bar};

use super::metrics::TagSet;
use crate::WallTime;

/// A sample as outputs write it.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    /// The metric's name.
    pub metric: &'a str,
    /// When it was made.
    pub time: WallTime,
    /// Its value.
    pub value: f64,
    /// Its tags.
    pub tags: &'a TagSet,
    /// What is no tag because it has too many values, such as the number of the VU.
    pub metadata: &'a TagSet,
}
