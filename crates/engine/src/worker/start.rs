//! From a slot, or a free connection, to a user's next iteration.

use plimsoll_conn::Protocol;
use plimsoll_io::Driver;

use super::Worker;
use super::iterate::When;
use crate::admission::Due;
use crate::id::ConnectionId;
use crate::signals::Signals;
use crate::slots::Alike;
use crate::source::Source;
use crate::traffic::Traffic;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Starts the slots that are due, as long as there are free connections; drops those that have
    /// waited too long. The last turn before the end still does, so that a slot due just before it
    /// is not lost to lateness.
    pub(super) fn admit(&mut self, signals: &Signals, now_ns: u64) {
        if self.stage.stopped_ns.is_some() || self.source.is_over() {
            return;
        }
        let mut now_ns = now_ns;
        while let Some(due) = self.slots.peek() {
            if due.at_ns > now_ns {
                // The work of this turn took time: look again before going to sleep. An order that
                // came meanwhile may hold for the slots that are due since.
                self.traffic.flush();
                now_ns = self.traffic.lines.read_clock();
                self.obey(signals, now_ns);
                if self.slots.peek().is_none_or(|due| due.at_ns > now_ns) {
                    return;
                }
                continue;
            }
            let Some(idle) = self.traffic.lines.pool.entries.take_idle() else {
                if self.slots.is_too_old(&due, now_ns) {
                    self.shed(due, now_ns);
                    continue;
                }
                if self.traffic.lines.pool.entries.can_grow() {
                    self.grow(now_ns);
                }
                return;
            };
            // Only the wait for a connection counts: that the tester was late itself is no reason.
            if self.slots.is_too_old(&due, idle.since_ns) {
                self.shed(due, idle.since_ns);
                self.traffic.lines.pool.entries.put_back(idle);
                continue;
            }
            self.slots.take();
            if let Some(notes) = &mut self.traffic.lines.accounts.notes {
                notes.took(idle.since_ns, due.at_ns);
            }
            let started_ns = self.traffic.lines.read_clock();
            let when = When { intended_ns: due.at_ns, free_ns: idle.since_ns, started_ns };
            let user = self.traffic.lines.pool.entries.user(idle.entry);
            self.begin_iteration(user, &due, when);
            if !S::RESUMES {
                // It has had room all along for another.
                self.traffic.lines.pool.entries.push_idle(idle.entry, idle.since_ns);
            }
            if self.source.is_over() {
                return;
            }
        }
    }

    #[cold]
    fn shed(&mut self, due: Due, now_ns: u64) {
        self.slots.take();
        let Traffic { lines, prepared, .. } = &mut self.traffic;
        let accounts = &mut lines.accounts;
        let place = prepared.place(prepared.choose(due.number), due.stage);
        let waited_ns = accounts.observer.recorder(due.measured).gap_ns(due.at_ns, now_ns);
        accounts.not_started(&Alike { due, slots: 1, waited_ns }, place, true);
    }

    /// In a closed loop: gives back what is held and cannot be begun, and begins what others gave
    /// back when nothing else is left.
    #[inline]
    pub(super) fn share_requests(&mut self, now_ns: u64) {
        if self.slots.keep_until_ns() <= now_ns {
            self.slots.give_back();
        }
        let starts = self.stage.stopped_ns.is_none();
        if starts && self.slots.awaits_others(now_ns) && self.slots.has_returned() {
            let entries = &self.traffic.lines.pool.entries;
            let free = entries.active_ids().filter(|entry| entries.can_take(*entry));
            self.traffic.lines.freed.extend(free.map(|entry| (entry, now_ns)));
            self.serve_freed();
        }
    }

    /// Looks at the entries of the pool that may be free: what waits for them goes first.
    #[inline]
    pub(super) fn serve_freed(&mut self) {
        while let Some((index, at_ns)) = self.traffic.lines.freed.pop_front() {
            let user = self.traffic.lines.pool.entries.user(index);
            self.traffic.start_waiting(user, index, at_ns);
            if self.traffic.users.has_movable() {
                self.traffic.start_resent(index, at_ns);
            }
            if !self.traffic.lines.close_if_used_up(index, at_ns) && self.stage.running {
                self.serve(index, user, at_ns);
            }
        }
    }

    /// A connection has room for a request (or its entry is closed and may connect).
    #[inline]
    fn serve(&mut self, index: ConnectionId, user: u32, now_ns: u64) {
        let entries = &self.traffic.lines.pool.entries;
        let is_next = entries.origin(index) == 0 && user < entries.active();
        if !is_next
            || self.traffic.users.has_waiting(user, index)
            || self.source.is_over()
            || !entries.can_take(index)
            || !self.is_free(user, now_ns)
        {
            return;
        }
        if self.plan.is_open_loop() {
            self.traffic.lines.pool.entries.push_idle(index, now_ns);
            return;
        }
        while let Some(due) = self.slots.take_closed(now_ns) {
            self.traffic.lines.pool[index].draw(due.measured);
            self.begin_iteration(user, &due, When::at_once(now_ns));
            if S::RESUMES || !self.traffic.lines.pool.entries.can_take(index) {
                return;
            }
        }
    }
}
