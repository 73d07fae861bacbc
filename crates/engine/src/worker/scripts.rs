//! What a worker does for a script: sends the requests it writes, and pauses connections.

use plimsoll_conn::{ExchangeId, Message, Protocol};
use plimsoll_core::outcome::Outcome;
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::admission::Due;
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
            let sent_ns = self.clients[index as usize].moment(sent_ns);
            self.exchanges[id].moments.sent_ns = sent_ns;
            let first = self.exchanges[id];
            let mut more = std::mem::take(&mut script.more);
            more.clear();
            let (bytes, messages) = script.written();
            let served = self.clients[index as usize].sent + 1;
            let room = self.plan.requests_per_connection.map_or(u64::MAX, |n| n - served);
            let wanted = room.min(messages.len() as u64 - 1);
            more.extend((0..wanted).map_while(|_| self.next_with(index, &first)));
            let Self { clients, driver, scratch, observer, .. } = self;
            let connection = &mut clients[index as usize].connection;
            // The bytes of all go with the first.
            let mut bytes = &bytes[..messages[more.len()].end];
            let mut sent_bytes = 0;
            for (message, id) in messages.iter().zip([id].iter().chain(&more)) {
                let message = Message::Written { bytes, is_head: message.is_head };
                sent_bytes += connection.send(driver, *id, &message, scratch);
                bytes = &[];
            }
            observer.recorder(first.measured).sent_bytes += sent_bytes as u64;
            clients[index as usize].sent += 1 + more.len() as u64;
            script.more = more;
            self.script = Some(script);
        } else {
            self.script = Some(script);
            let now_ns = self.read_clock();
            self.clients[index as usize].pending = Some(id);
            self.abandon(index, now_ns, |_| Outcome::Unfinished);
        }
    }

    /// The exchange of the next slot, sent together with `first`. Its intended time is when its own
    /// slot was due; one that goes before that is intended when it goes, and has not waited.
    fn next_with(&mut self, index: u32, first: &Exchange) -> Option<ExchangeId> {
        let now_ns = first.moments.started_ns;
        let due = match self.admission.peek(&self.timetable) {
            // The warm-up's requests and the measured ones are told apart by when they are due.
            Some(due) if due.measured != first.measured => return None,
            Some(due) => {
                self.admission.take();
                due
            }
            None => {
                let (number, measured) = self.admission.take_closed(&self.timetable, now_ns)?;
                self.clients[index as usize].draw(measured);
                Due { at_ns: now_ns, number, stage: Place::NONE, measured }
            }
        };
        let place = Place { address: first.place.address, ..self.place_of(0, due.stage) };
        let intended_ns = due.at_ns.min(now_ns);
        let available_ns = first.moments.available_ns.max(intended_ns);
        let moments = Moments { intended_ns, available_ns, ..first.moments };
        let (number, measured) = (due.number, due.measured);
        let exchange = Exchange { moments, number, measured, place, ..*first };
        self.record_start(&exchange);
        Some(self.exchanges.begin(exchange))
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
        let client = &self.clients[index as usize];
        let usable = client.can_send(&self.plan) || client.can_connect(&self.plan);
        let user = &mut self.users[index as usize];
        if user.has_paused || !usable || self.stopped_ns.is_some() {
            return false;
        }
        if user.pause_until_ns != u64::MAX {
            return true;
        }
        let pause_ns = self.script.as_mut().map_or(0, |script| script.pause_ns());
        user.has_paused = pause_ns == 0;
        if pause_ns > 0 {
            user.pause_until_ns = now_ns.saturating_add(pause_ns);
            self.deadlines.watch(index, user.pause_until_ns);
            // A pause is no standstill.
            self.progress_ns = self.progress_ns.max(user.pause_until_ns);
        }
        pause_ns > 0
    }

    /// A connection's pause is over.
    pub(super) fn paused(&mut self, index: u32, now_ns: u64) {
        let user = &mut self.users[index as usize];
        user.pause_until_ns = u64::MAX;
        user.has_paused = true;
        self.freed(index, now_ns);
    }
}
