//! What the thread of a receiver is told.

use std::sync::Arc;

use plimsoll_core::live::LiveFigures;

use crate::events::Timetable;
use crate::figures::{Ending, Figures, Kind, Totals};

/// What a run tells.
#[derive(Debug, Clone)]
pub(crate) enum Told {
    Began {
        time_ns: u64,
        timetable: Arc<Timetable>,
    },
    Interval {
        time_ns: u64,
        live: Arc<LiveFigures>,
    },
    Ended {
        time_ns: u64,
        ending: Arc<Ending>,
    },
    /// What was encoded elsewhere.
    Batch(Arc<[u8]>),
}

impl Told {
    /// Has figures know of it. Gives what it is and what it added, if it is of a run.
    pub(crate) fn note(&self, figures: &mut Figures) -> Option<(Kind, Totals)> {
        Some(match self {
            Self::Began { time_ns, timetable } => (Kind::Began, figures.begin(*time_ns, timetable)),
            Self::Interval { time_ns, live } => (Kind::Interval, figures.add(*time_ns, live)),
            Self::Ended { time_ns, ending } => (Kind::Ended, figures.end(*time_ns, ending)),
            Self::Batch(_) => return None,
        })
    }
}
