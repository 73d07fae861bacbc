//! Figures of a run, sent while it goes on to where people watch them: databases of time series,
//! collectors, dashboards.
//!
//! A [`Receiver`] says where to, a [`Feed`] sends to several of them. Each has a thread of its own
//! that makes bytes of what the run tells once a second and delivers them. The run never waits for
//! it: a queue with a limit lies between them, and what does not fit is counted and reported.
//!
//! Absent on purpose: clocks of the run and decisions about it. The caller says what happened and
//! when; a receiver that is down, slow or wrong changes nothing but the [`Delivery`].
#![forbid(unsafe_code)]

mod backlog;
mod batch;
mod buckets;
mod delimited;
mod delivery;
mod encoder;
mod events;
mod exposition;
mod feed;
mod figures;
mod http;
mod influx;
mod k6_names;
mod labels;
mod metrics;
mod naming;
mod otlp;
mod receiver;
mod remote_write;
pub mod samples;
mod scrape;
mod secrets;
mod sender;
mod statsd;
#[cfg(test)]
mod tests;
mod told;
mod transport;
mod trust;

pub use delivery::Delivery;
pub use events::Timetable;
pub use feed::{Feed, FeedError, Style};
pub use figures::Names;
pub use labels::{Label, LabelError};
pub use receiver::{HEADERS, OUT, Receiver, ReceiverError};
pub use scrape::Wait;
pub use trust::{Trust, TrustError};
