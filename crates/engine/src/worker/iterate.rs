//! What users do: the source is asked, and its steps are carried out.

use plimsoll_conn::{ExchangeId, Message, Protocol, State};
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::accounts::Ended;
use crate::admission::Due;
use crate::exchanges::Exchange;
use crate::source::{Answer, Reply, Request, Source, Step};
use crate::user::{Iteration, Waiting};

/// When a request is sent, ns.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    /// When it was to be sent.
    pub intended_ns: u64,
    /// Since when there was a connection for it.
    pub free_ns: u64,
    /// When the tester acted on it.
    pub started_ns: u64,
}

impl When {
    /// A request that is sent as soon as it is asked for.
    pub(super) fn at_once(now_ns: u64) -> Self {
        Self { intended_ns: now_ns, free_ns: now_ns, started_ns: now_ns }
    }
}

impl<D: Driver, P: Protocol, S: Source> Worker<D, P, S> {
    /// A user takes up the iteration of a slot.
    #[inline]
    pub(super) fn begin_iteration(&mut self, user: u32, due: &Due, when: When) {
        if S::RESUMES {
            self.users.take_up(user, Iteration { due: *due, started_ns: when.started_ns });
            if let Some(iterations) = self.accounts.iterations_of(due) {
                iterations.started();
            }
        }
        let step = self.source.begin(user, due.number);
        self.carry_out_steps(user, step, due, when);
    }

    /// Carries out steps until the user waits for something, or is done.
    #[inline]
    fn carry_out_steps(&mut self, user: u32, mut step: Step, due: &Due, when: When) {
        loop {
            match step {
                Step::Send(request) => {
                    self.request(user, request, due, when);
                    return;
                }
                Step::Begin(request) => {
                    self.request(user, request, due, when);
                    step = self.source.resume(user, Reply::Begun);
                }
                Step::Write => {
                    self.write(user, due, when);
                    return;
                }
                Step::Wait => return,
                Step::Sleep(sleep_ns) => {
                    let until_ns = self.times.now_ns.saturating_add(sleep_ns);
                    self.users.naps.watch(user, until_ns);
                    // A pause is no standstill.
                    self.times.progress_ns = self.times.progress_ns.max(until_ns);
                    return;
                }
                Step::Done => {
                    self.finish_iteration(user, when.started_ns);
                    return;
                }
            }
        }
    }

    /// A user goes on at `at_ns`.
    pub(super) fn resume(&mut self, user: u32, reply: Reply<'_>, at_ns: u64) {
        let step = self.source.resume(user, reply);
        self.go_on_with(user, step, at_ns);
    }

    fn go_on_with(&mut self, user: u32, step: Step, at_ns: u64) {
        // What the source took to decide is no time of the server's.
        let now_ns = if step == Step::Done { at_ns } else { self.read_clock() };
        let none = Due { at_ns, number: 0, stage: Place::NONE, measured: false };
        let due = self.users[user].iteration.map_or(none, |iteration| iteration.due);
        self.carry_out_steps(user, step, &due, When::at_once(now_ns));
    }

    /// Tells users what came of their requests. They are done if the source has said so before.
    pub(super) fn tell_users(&mut self) {
        while let Some(ended) = self.accounts.ended.pop_front() {
            let Ended { id, client, tag, outcome, at_ns } = ended;
            let user = self.pool.user(client);
            self.users[user].open -= 1;
            let open = self.users[user].open;
            if self.users[user].is_done {
                self.accounts.free(id);
                if open == 0 {
                    self.finish_iteration(user, at_ns);
                }
                continue;
            }
            let kept = self.accounts.exchanges.inspection(id);
            let (head, body) = kept.map_or((&[][..], &[][..]), |kept| kept.response());
            let answer = Answer { tag, outcome, head, body, open };
            let step = self.source.resume(user, Reply::Ended(answer));
            self.accounts.free(id);
            self.go_on_with(user, step, at_ns);
        }
    }

    /// Has users who are done with an iteration take up the next.
    pub(super) fn go_on_with_free_users(&mut self) {
        for _ in 0..self.users.free.len() {
            if let Some((user, at_ns)) = self.users.free.pop_front() {
                self.freed(self.pool.entry(user, 0), at_ns);
            }
        }
    }

    /// A user is done with what it did.
    fn finish_iteration(&mut self, user: u32, at_ns: u64) {
        if !S::RESUMES {
            return;
        }
        if self.users[user].open > 0 {
            self.users[user].is_done = true;
            return;
        }
        if let Some(iteration) = self.users.put_down(user)
            && let Some(iterations) = self.accounts.iterations_of(&iteration.due)
        {
            iterations.completed(iteration.due.at_ns, iteration.started_ns, at_ns);
        }
        // An iteration may be over as soon as it has begun. So that such a user leaves the others
        // their turn, it is looked at again in the next.
        self.users.free.push_back((user, at_ns));
    }

    /// Whether a user can take up an iteration; one that comes to life first does what the source
    /// says.
    #[inline]
    pub(super) fn is_free(&mut self, user: u32, now_ns: u64) -> bool {
        if !S::RESUMES {
            return true;
        }
        let state = &mut self.users[user];
        if !state.has_entered {
            state.has_entered = true;
            state.is_busy = true;
            let step = self.source.enter(user);
            if step == Step::Done {
                self.users[user].is_busy = false;
            } else {
                self.go_on_with(user, step, now_ns);
            }
        }
        !self.users[user].is_busy
    }

    /// Sends a request of a user's, or has it wait for its connection.
    #[inline]
    fn request(&mut self, user: u32, request: Request, due: &Due, when: When) {
        let client = self.pool.entry(user, request.origin);
        let exchange = Exchange {
            tag: request.tag,
            target: request.target,
            place: self.prepared.place(request.target, due.stage),
            ..exchange(client, due, when)
        };
        if S::RESUMES {
            self.users[user].open += 1;
            if !self.pool.can_take(client) {
                self.users.wait(user, Waiting { exchange, hop: None });
                return;
            }
        }
        self.start(exchange, None);
    }

    /// Sends what the source has written: one request, or several at once. Each takes a slot of its
    /// own, and those that the plan has no slot for are not sent.
    fn write(&mut self, user: u32, due: &Due, when: When) {
        let client = self.pool.entry(user, 0);
        self.users[user].open += 1;
        if self.pool[client].connection.state() != State::Open {
            // By the time that its connection is open the source has written for others.
            let (bytes, requests) = self.source.written();
            self.users[user].written = Some((bytes.to_vec(), requests.to_vec()));
        }
        let place = self.prepared.place(0, due.stage);
        let exchange = Exchange { place, is_written: true, ..exchange(client, due, when) };
        self.start(exchange, None);
    }

    /// Sends the source's requests on an open connection, the first as exchange `id`.
    pub(super) fn send_written(&mut self, index: u32, id: ExchangeId) {
        // The source's own time is not the server's.
        let sent_ns = self.read_clock();
        let sent_ns = self.pool[index].moment(sent_ns);
        self.accounts.exchanges[id].moments.sent_ns = sent_ns;
        let first = self.accounts.exchanges[id];
        let user = self.pool.user(index);
        let kept = self.users[user].written.take();
        let count = kept.as_ref().map_or_else(|| self.source.written().1.len(), |it| it.1.len());
        let served = self.pool[index].usage.sent + 1;
        let room = self.plan.requests_per_connection.map_or(u64::MAX, |n| n - served);
        let mut ids = std::mem::take(&mut self.written_ids);
        ids.clear();
        ids.push(id);
        ids.extend(
            (1..count as u64)
                .take_while(|n| *n <= room)
                .map_while(|_| self.next_with(index, &first)),
        );
        let (bytes, requests) = match &kept {
            Some((bytes, requests)) => (&bytes[..], &requests[..]),
            None => self.source.written(),
        };
        // The bytes of all go with the first.
        let mut bytes = &bytes[..requests[ids.len() - 1].end];
        let mut sent_bytes = 0;
        for (request, id) in requests.iter().zip(&ids) {
            let message = Message::Written { bytes, is_head: request.is_head };
            sent_bytes += self.pool.send(index, *id, &message);
            bytes = &[];
        }
        self.accounts.sent(first.measured, sent_bytes);
        self.written_ids = ids;
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
        let user = self.pool.user(index);
        self.users[user].open += 1;
        Some(self.accounts.begin(exchange, None))
    }
}

/// A slot's exchange on an entry of the pool, for its first target.
#[inline]
fn exchange(client: u32, due: &Due, when: When) -> Exchange {
    let When { intended_ns, free_ns, started_ns } = when;
    let available_ns = intended_ns.max(free_ns);
    let moments = Moments { intended_ns, available_ns, started_ns, ..Moments::default() };
    Exchange {
        moments,
        number: due.number,
        target: 0,
        place: Place::NOWHERE,
        hops: 0,
        tag: 0,
        is_written: false,
        measured: due.measured,
        withholds: false,
        client,
    }
}
