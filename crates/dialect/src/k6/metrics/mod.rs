//! Metrics as k6 has them: by name and tags, with what they hold and what is read from them.
//!
//! Absent: when a sample is made, which is the engine's. Here a sample is a metric, tags and a
//! value.

mod book;
mod registry;
mod sink;
mod stat;
mod tags;

#[cfg(test)]
mod tests;

pub use book::{
    BLOCKS_MAX, Book, CHECKS_MAX, Check, GROUP_SEPARATOR, ROUTES_MAX, Route, group_path,
};
pub(in crate::k6) use book::{Block, TREE, WHOLE};
pub use registry::{
    BUILT_IN, Contains, Kind, METRICS_MAX, Metric, MetricError, MetricId, Registry, Selection,
};
pub use sink::{Counter, Gauge, RAW_VALUES_MAX, Rate, Sink, Trend};
pub use stat::TrendStat;
pub use tags::{SystemTag, SystemTags, TAG_BYTES_MAX, TagSet};
