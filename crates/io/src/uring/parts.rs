//! What the driver's fields are made of: memory for what comes and goes, listeners that rest, and
//! the turn.

use std::sync::Arc;

use super::buffers::Buffers;
use super::outbox::Spare;
use super::stamping::Stamping;
use super::tag::Tag;
use crate::caught_up::CaughtUp;
use crate::spin::Spinning;
use crate::standstill::Watch;

/// What received bytes are put into.
pub(super) struct Incoming {
    pub(super) buffers: Buffers,
    /// Only with [`DriverOptions::receive_timestamps`](crate::DriverOptions).
    pub(super) stamping: Option<Stamping>,
}

/// Memory for what is to be sent.
pub(super) struct Outgoing {
    pub(super) spare: Spare,
    pub(super) registered: Vec<Arc<[u8]>>,
}

/// Listeners resting after a failed accept, and when they try again.
pub(super) struct Rest {
    pub(super) listeners: Vec<Tag>,
    pub(super) until_ns: u64,
}

/// A wait, and the completions that were there when it ended.
pub(super) struct Turn {
    /// Completions of the turn that are left. Later ones have another time.
    pub(super) left: usize,
    pub(super) now_ns: u64,
    /// When the kernel had taken what the sends sent whose completions have been taken.
    pub(super) taken_ns: u64,
    pub(super) spinning: Spinning,
    pub(super) caught_up: CaughtUp,
    /// Only once it is asked for.
    pub(super) watch: Option<Watch>,
}
