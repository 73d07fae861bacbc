//! What a run tells its outputs, and when on the wall clock it happened.
//!
//! Times are those of the run's own intervals from the start of the measured part, so that figures
//! of an interval have the time of its end whenever they were told. An interval that the end of the
//! run cut short has ended by now: receivers do not show what lies in the future.

use std::time::SystemTime;

use plimsoll_core::RunResult;
use plimsoll_core::live::LiveFigures;
use plimsoll_io::clock;
use plimsoll_outputs::Feed;

/// A run's end of a feed.
#[derive(Debug)]
pub(crate) struct Feeding<'a> {
    feed: Option<&'a Feed>,
    /// When the measured part began, ns since 1970.
    began_ns: u64,
}

impl<'a> Feeding<'a> {
    pub(crate) fn new(feed: Option<&'a Feed>) -> Self {
        Self { feed, began_ns: 0 }
    }

    /// The measured part begins.
    pub(crate) fn began(&mut self) {
        self.began_ns = wall_ns();
        if let Some(feed) = self.feed {
            feed.began(self.began_ns);
        }
    }

    /// An interval is over, the last of these figures.
    pub(crate) fn interval(&self, figures: &LiveFigures) {
        if let (Some(feed), Some(point)) = (self.feed, &figures.last) {
            let end_ns = self.began_ns + point.t_ns + point.interval_ns;
            feed.interval(end_ns.min(wall_ns()), figures);
        }
    }

    /// The run has ended, if it began.
    pub(crate) fn ended(&self, result: &RunResult) {
        if let Some(feed) = self.feed.filter(|_| self.began_ns > 0) {
            feed.ended(self.began_ns + result.elapsed_ns, result);
        }
    }
}

/// The wall clock, ns since 1970.
fn wall_ns() -> u64 {
    let since = clock::wall_time().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
