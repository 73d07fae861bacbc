//! The end of a worker's run: what has not ended by then is written down as what it is. No request
//! and no slot of the schedule is left out.

use plimsoll_conn::Protocol;
use plimsoll_core::outcome::Outcome;
use plimsoll_io::Driver;

use super::Worker;
use crate::slots::Alike;
use crate::source::Source;
use crate::user::Waiting;

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// Writes down what is still open, and the slots that found no connection.
    pub(super) fn settle_rest(&mut self) {
        let now_ns = self.read_clock();
        self.pool.give_up_slow_connects(now_ns);
        for index in 0..self.pool.len() {
            self.settle_client(index, now_ns);
        }
        for user in 0..self.users.len() {
            self.settle_user(user, now_ns);
        }
        self.settle_slots(self.slots.timetable.stop_ns.min(now_ns));
        self.pool.count_rest();
        if !self.plan.is_open_loop() {
            self.accounts.observer.settle_closed_loop();
        }
        self.times.ended_ns = now_ns;
    }

    /// Ends what is under way on one connection.
    fn settle_client(&mut self, index: u32, now_ns: u64) {
        let client = &self.pool[index];
        if client.pending.is_some() || client.connection.open_exchanges() > 0 {
            self.abandon(index, now_ns, |_| Outcome::Unfinished);
        }
    }

    /// Ends what a user was doing.
    fn settle_user(&mut self, user: u32, now_ns: u64) {
        while let Some(Waiting { exchange, hop }) = self.users.take_any_waiting(user) {
            let recorder = self.accounts.observer.recorder(exchange.measured);
            recorder.ledger.redirects += u64::from(hop.is_some());
            let waited_ns = recorder.gap_ns(exchange.moments.intended_ns, now_ns);
            recorder.unsent(1, waited_ns, exchange.place);
        }
        if let Some(iteration) = self.users.put_down(user)
            && let Some(iterations) = self.accounts.iterations_of(&iteration.due)
        {
            iterations.unfinished += 1;
        }
    }

    /// Writes down the slots that were due before `end_ns` and found no connection.
    fn settle_slots(&mut self, end_ns: u64) {
        let Self { slots, accounts, prepared, plan, .. } = self;
        let has_stages = !accounts.observer.measured.stages.is_empty();
        let is_one = prepared.targets().len() <= 1 && !has_stages;
        slots.settle(end_ns, is_one, |Alike { due, slots, waited_ns }| {
            let is_shed = plan.shed_after_ns.is_some_and(|after_ns| waited_ns >= after_ns);
            if S::COUNTS_ITERATIONS {
                match accounts.iterations_of(&due) {
                    Some(iterations) if is_shed => iterations.shed(slots),
                    Some(iterations) => iterations.unsent(slots),
                    None => {}
                }
                return;
            }
            let place = prepared.place(prepared.choose(due.number), due.stage);
            let recorder = accounts.observer.recorder(due.measured);
            if is_shed {
                recorder.shed(slots, waited_ns, place);
            } else {
                recorder.unsent(slots, waited_ns, place);
            }
        });
    }
}
