//! What the end of an interval is told about requests that have not ended, if conditions may end
//! the run: those that wait. Final figures include all of them; a view of a run under way needs
//! them told.

use plimsoll_core::recorder::Interval;
use plimsoll_core::series::INTERVAL_NS;

use crate::exchanges::Exchanges;
use crate::slots::Slots;

/// How many of its slots describe the backlog.
const SLOTS_SHOWN: u64 = 1000;

/// Adds to an interval that ends at `end_ns` the requests under way and the slots that wait for a
/// connection, by how long they have.
pub(crate) fn note_waiting(
    interval: &mut Interval,
    end_ns: u64,
    exchanges: &Exchanges,
    slots: &Slots,
) {
    for exchange in exchanges.iter().filter(|exchange| exchange.measured) {
        let waited_ns = end_ns.saturating_sub(exchange.moments.intended_ns);
        interval.note_waiting(waited_ns, 1);
    }
    let Some(first) = slots.peek() else { return };
    let backlog = slots.behind(end_ns);
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
