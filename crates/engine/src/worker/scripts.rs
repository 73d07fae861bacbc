//! What a worker does for a script: sends the requests it writes, and pauses connections.

use plimsoll_conn::{ExchangeId, Message, Protocol};
use plimsoll_core::outcome::Outcome;
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::exchanges::Exchange;

impl<D: Driver, P: Protocol> Worker<D, P> {
    /// Has the script write a request and sends it. Where it has written several, each takes a slot
    /// of its own, sent with the first; those that the plan has no slot for are not sent.
    pub(super) fn send_scripted(&mut self, index: u32, id: ExchangeId) {
        let Some(mut script) = self.script.take() else {
            return;
        };
        if script.write() {
            // The script's own time is not the server's.
            let sent_ns = self.read_clock();
            let sent_ns = self.pool[index].moment(sent_ns);
            self.accounts.exchanges[id].moments.sent_ns = sent_ns;
            let first = self.accounts.exchanges[id];
            let mut more = std::mem::take(&mut script.more);
            more.clear();
            let (bytes, messages) = script.written();
            let served = self.pool[index].usage.sent + 1;
            let room = self.plan.requests_per_connection.map_or(u64::MAX, |n| n - served);
            let wanted = room.min(messages.len() as u64 - 1);
            more.extend((0..wanted).map_while(|_| self.next_with(index, &first)));
            // The bytes of all go with the first.
            let mut bytes = &bytes[..messages[more.len()].end];
            let mut sent_bytes = 0;
            for (message, id) in messages.iter().zip([id].iter().chain(&more)) {
                let message = Message::Written { bytes, is_head: message.is_head };
                sent_bytes += self.pool.send(index, *id, &message);
                bytes = &[];
            }
            self.accounts.sent(first.measured, sent_bytes);
            script.more = more;
            self.script = Some(script);
        } else {
            self.script = Some(script);
            let now_ns = self.read_clock();
            self.pool[index].pending = Some(id);
            self.abandon(index, now_ns, |_| Outcome::Unfinished);
        }
    }

    /// The exchange of the next slot, sent together with `first`. Its intended time is when its own
    /// slot was due; one that goes before that is intended when it goes, and has not waited.
    fn next_with(&mut self, index: u32, first: &Exchange) -> Option<ExchangeId> {
        let now_ns = first.moments.started_ns;
        let due = match self.slots.peek() {
            // The warm-up's requests and the measured ones are told apart by when they are due.
            Some(due) if due.measured != first.measured => return None,
            Some(due) => {
                self.slots.take();
                due
            }
            None => {
                let due = self.slots.take_closed(now_ns)?;
                self.pool[index].draw(due.measured);
                due
            }
        };
        let place = Place { address: first.place.address, ..self.prepared.place(0, due.stage) };
        let intended_ns = due.at_ns.min(now_ns);
        let available_ns = first.moments.available_ns.max(intended_ns);
        let moments = Moments { intended_ns, available_ns, ..first.moments };
        let (number, measured) = (due.number, due.measured);
        let exchange = Exchange { moments, number, measured, place, ..*first };
        Some(self.accounts.begin(exchange, None))
    }

    /// Whether the script has said that this worker starts nothing more, or broke.
    #[inline]
    pub(super) fn script_is_over(&self) -> bool {
        self.script.as_ref().is_some_and(|script| script.is_over())
    }

    /// Whether the connection is to pause before its next request; it comes back by itself.
    #[inline]
    pub(super) fn pauses(&mut self, index: u32, now_ns: u64) -> bool {
        match &self.script {
            Some(script) if script.pauses() => self.pause(index, now_ns),
            _ => false,
        }
    }

    fn pause(&mut self, index: u32, now_ns: u64) -> bool {
        let usable = self.pool[index].can_take(&self.plan);
        let user = &mut self.users[index];
        if user.has_paused || !usable || self.times.stopped_ns.is_some() {
            return false;
        }
        if user.pause_until_ns != u64::MAX {
            return true;
        }
        let pause_ns = self.script.as_mut().map_or(0, |script| script.pause_ns());
        user.has_paused = pause_ns == 0;
        if pause_ns > 0 {
            user.pause_until_ns = now_ns.saturating_add(pause_ns);
            self.pool.deadlines.watch(index, user.pause_until_ns);
            // A pause is no standstill.
            self.times.progress_ns = self.times.progress_ns.max(user.pause_until_ns);
        }
        pause_ns > 0
    }

    /// A connection's pause is over.
    pub(super) fn paused(&mut self, index: u32, now_ns: u64) {
        let user = &mut self.users[index];
        user.pause_until_ns = u64::MAX;
        user.has_paused = true;
        self.freed(index, now_ns);
    }
}
