//! The end of a worker's run: what has not ended by then is written down as what it is. No request
//! and no slot of the schedule is left out.

use plimsoll_conn::Protocol;
use plimsoll_core::outcome::Outcome;
use plimsoll_core::schedule::Arrival;
use plimsoll_io::Driver;

use super::Worker;
use crate::admission::Due;
use crate::reach::SLOW_CONNECT_NS;
use crate::user::Follow;

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// Writes down what is still open, and the slots that found no connection.
    pub(super) fn settle_rest(&mut self) {
        let now_ns = self.read_clock();
        for index in 0..self.clients.len() as u32 {
            self.settle_client(index, now_ns);
        }
        self.settle_slots(self.timetable.stop_ns.min(now_ns));
        self.settle_connections();
        if !self.plan.is_open_loop() {
            self.observer.settle_closed_loop();
        }
        self.ended_ns = now_ns;
    }

    /// Ends what is under way on one connection.
    fn settle_client(&mut self, index: u32, now_ns: u64) {
        let client = &self.clients[index as usize];
        let is_slow = now_ns.saturating_sub(client.opening_ns) >= SLOW_CONNECT_NS;
        if client.connection.is_opening() && is_slow {
            self.reach.failed(index, client.opening_ns, client.pending.is_some());
        }
        if client.pending.is_some() || client.connection.open_exchanges() > 0 {
            self.abandon(index, now_ns, |_| Outcome::Unfinished);
        }
        while let Some(Follow { exchange, .. }) = self.users[index as usize].follows.pop_front() {
            let recorder = self.observer.recorder(exchange.measured);
            recorder.ledger.redirects += 1;
            let waited_ns = recorder.gap_ns(exchange.moments.intended_ns, now_ns);
            recorder.unsent(1, waited_ns, exchange.place);
        }
    }

    /// Writes down the slots that were due before `end_ns` and found no connection.
    ///
    /// A rate far beyond what can be sent leaves hundreds of millions of them. So the slots of one
    /// bucket of the histogram are counted at once, apart from the first and the last, which keep
    /// the extremes exact.
    fn settle_slots(&mut self, end_ns: u64) {
        while let Some(due) = self.admission.peek(&self.timetable).filter(|due| due.at_ns < end_ns)
        {
            let waited_ns = end_ns - due.at_ns;
            let alike = self.count_alike(&due, end_ns);
            self.admission.take();
            self.settle_slot(&due, 1, waited_ns);
            let between = alike.saturating_sub(2);
            if between > 0
                && let Some(second) = self.admission.peek(&self.timetable)
            {
                self.admission.skip(between);
                let last = self.admission.peek(&self.timetable).unwrap_or(second);
                // Evenly apart, so their mean is halfway to the one before the last.
                let reach_ns = last.at_ns.min(end_ns) - second.at_ns;
                let mean_ns = second.at_ns + (reach_ns - reach_ns / between) / 2;
                self.settle_slot(&second, between, end_ns - mean_ns);
            }
        }
    }

    /// How many slots from `due` on count in the same bucket, as the same thing.
    fn count_alike(&self, due: &Due, end_ns: u64) -> u64 {
        let profile = self.plan.rate.as_ref();
        let is_even = profile.is_some_and(|profile| profile.arrival == Arrival::Uniform);
        let parts = &self.observer.measured;
        if !is_even || self.prepared.targets().len() > 1 || !parts.stages.is_empty() {
            return 1;
        }
        let waited_ns = end_ns - due.at_ns;
        let mut least_ns = parts.incomplete.bucket_start_ns(waited_ns);
        if self.is_too_old(due, end_ns) {
            least_ns = least_ns.max(self.plan.shed_after_ns.unwrap_or(0));
        }
        self.admission.behind(&self.timetable, end_ns - least_ns)
    }

    fn settle_slot(&mut self, due: &Due, slots: u64, waited_ns: u64) {
        let place = self.place_of(self.prepared.choose(due.number), due.stage);
        let is_shed = self.plan.shed_after_ns.is_some_and(|after_ns| waited_ns >= after_ns);
        let recorder = self.observer.recorder(due.measured);
        if is_shed {
            recorder.shed(slots, waited_ns, place);
        } else {
            recorder.unsent(slots, waited_ns, place);
        }
    }

    /// Counts what the connections have served, and what the kernel knows of those still open.
    fn settle_connections(&mut self) {
        for index in 0..self.clients.len() as u32 {
            self.count_retransmits(index);
            let client = &self.clients[index as usize];
            if client.tried {
                self.connections.served.add(client.served);
            }
        }
    }
}
