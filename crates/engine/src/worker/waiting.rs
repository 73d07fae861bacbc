//! What the end of an interval reports about requests that have not ended: users that are cut off
//! and, if conditions may end the run, requests that wait. Final figures include all of these; a
//! view of a run under way needs them told.

use plimsoll_conn::Protocol;
use plimsoll_core::recorder::Interval;
use plimsoll_core::series::INTERVAL_NS;
use plimsoll_io::Driver;

use super::Worker;
use crate::source::Source;

/// How many of its slots describe the backlog.
const SLOTS_SHOWN: u64 = 1000;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Adds to an interval what its end, at `end_ns`, finds.
    pub(super) fn complete(&mut self, mut interval: Box<Interval>, end_ns: u64) -> Box<Interval> {
        // Once requests are no longer started nobody tries to connect.
        if self.times.stopped_ns.is_none() {
            let (cut_off_ns, users_ns) =
                self.pool.reach.take_interval(end_ns, INTERVAL_NS, self.pool.active());
            interval.note_outage(cut_off_ns, users_ns);
            if !self.plan.abort_when.is_empty() {
                self.note_waiting(&mut interval, end_ns);
            }
        }
        interval
    }

    /// The requests under way and the slots that wait for a connection, by how long they have.
    fn note_waiting(&mut self, interval: &mut Interval, end_ns: u64) {
        for exchange in self.accounts.exchanges.iter().filter(|exchange| exchange.measured) {
            let waited_ns = end_ns.saturating_sub(exchange.moments.intended_ns);
            interval.note_waiting(waited_ns, 1);
        }
        let Some(first) = self.slots.peek() else { return };
        let backlog = self.slots.behind(end_ns);
        if !first.measured || backlog == 0 || first.at_ns > end_ns {
            return;
        }
        // Slots lie behind one another: as if evenly, from the first to now.
        let longest_ns = end_ns - first.at_ns;
        let shown = backlog.min(SLOTS_SHOWN);
        for index in 0..shown {
            let slots = (index + 1) * backlog / shown - index * backlog / shown;
            let waited_ns = longest_ns - longest_ns * index / shown;
            interval.note_waiting(waited_ns, slots);
        }
        let overdue_ns = longest_ns.saturating_sub(INTERVAL_NS);
        let share = overdue_ns as f64 / longest_ns.max(1) as f64;
        interval.note_overdue((backlog as f64 * share).round() as u64);
    }
}
