//! Custom metrics: what a source of work records itself while a run goes on, by name and by tags.
//!
//! A [`Registry`] holds the names. It is complete before the load begins, so that an unknown name
//! is a mistake that is found then. Each worker records into its own [`Metrics`]. At rest, in an
//! interval and in a result, the same figures are [`CustomMetrics`]. Those merge by name and tags,
//! because two processes may have declared them in another order.
//!
//! Nothing recorded is lost and nothing is averaged. What cannot be counted (not a number, a
//! counter that falls) is counted as rejected. Tags are bounded: values whose tags are beyond the
//! limit stay in the metric's whole.

mod meter;
mod numbers;
mod recording;
mod registry;
mod sum;
mod tags;
mod totals;
mod value;

pub use numbers::{NumberHistogram, PackedNumbers};
pub use recording::{IntervalMetrics, Metrics};
pub use registry::{DeclareError, Declared, Kind, METRICS_MAX, MetricId, Name, Registry};
pub use sum::Total;
pub use tags::{PAIRS_MAX, SET_BYTES_MAX, TAG_SETS_MAX, Tags, TagsId};
pub use totals::{CustomMetric, CustomMetrics, Tagged};
pub use value::{Counter, Gauge, Rate, Value};

/// The name of the times that users were in groups, where a source declares it: a
/// [`TimeTrend`](Kind::TimeTrend). Its tag `group` is the name of the group.
pub const GROUP_DURATION: &str = "group_duration";

#[cfg(test)]
mod tests;
