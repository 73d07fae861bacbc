//! What users do: the source is asked, and its steps are carried out.

use plimsoll_conn::{ExchangeId, Protocol, State};
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Moments;
use plimsoll_io::Driver;

use super::Worker;
use crate::accounts::Ended;
use crate::activity::{Entered, Iteration};
use crate::admission::Due;
use crate::exchanges::Exchange;
use crate::id::ConnectionId;
use crate::slots::Alike;
use crate::source::{Answer, Reply, Request, Source, Step};
use crate::user::{Course, Waiting};

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
            self.activities.take_up(user, Iteration { due: *due, started_ns: when.started_ns });
            if let Some(iterations) = self.traffic.lines.accounts.iterations_of(due) {
                iterations.started();
            }
        }
        let step = self.source.begin(user, due.number);
        if S::RESUMES && !S::COUNTS_ITERATIONS && step == Step::Done {
            // The source broke. Its request is one that was never sent.
            let place = self.traffic.prepared.place(0, due.stage);
            let waited_ns = self.traffic.lines.read_clock().saturating_sub(due.at_ns);
            let alike = Alike { due: *due, slots: 1, waited_ns };
            self.traffic.lines.accounts.not_started(&alike, place, false);
        }
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
                    step = self.source.resume(user, Reply::Taken);
                }
                Step::Record(sample) => {
                    let Self { source, traffic, .. } = self;
                    let tags = |number| source.tags(number);
                    let at_ns = when.started_ns;
                    traffic.lines.accounts.record(&sample, due.measured, at_ns, tags);
                    step = source.resume(user, Reply::Taken);
                }
                Step::Enter(number) => {
                    let Self { source, traffic, activities, .. } = self;
                    let group = traffic.lines.accounts.group(number, |number| source.group(number));
                    let entered = Entered { group, at_ns: when.started_ns };
                    activities[user].groups.push(entered);
                    step = source.resume(user, Reply::Taken);
                }
                Step::Leave => {
                    if let Some(entered) = self.activities[user].groups.pop() {
                        let accounts = &mut self.traffic.lines.accounts;
                        accounts.left(&entered, due.measured, when.started_ns);
                    }
                    step = self.source.resume(user, Reply::Taken);
                }
                Step::Write => {
                    self.write(user, due, when);
                    return;
                }
                Step::Wait => return,
                Step::Sleep(sleep_ns) => {
                    let until_ns = self.traffic.lines.times.now_ns.saturating_add(sleep_ns);
                    self.activities.naps.watch(user, until_ns);
                    // A pause is no standstill.
                    let progress_ns = &mut self.traffic.lines.times.progress_ns;
                    *progress_ns = (*progress_ns).max(until_ns);
                    return;
                }
                Step::Done => {
                    self.finish_iteration(user, when.started_ns);
                    return;
                }
            }
        }
    }

    /// A user goes on with a step at `at_ns`.
    fn go_on_with(&mut self, user: u32, step: Step, at_ns: u64) {
        // What the source took to decide is no time of the server's.
        let now_ns = if step == Step::Done { at_ns } else { self.traffic.lines.read_clock() };
        let measured = at_ns >= self.slots.timetable.measured_ns;
        let none = Due { at_ns, number: 0, stage: Place::NONE, measured };
        let due = self.activities[user].iteration.map_or(none, |iteration| iteration.due);
        self.carry_out_steps(user, step, &due, When::at_once(now_ns));
    }

    /// Tells users what came of their requests, and has those who are done take up the next
    /// iteration.
    pub(super) fn tell_users(&mut self) {
        while let Some(ended) = self.traffic.lines.accounts.ended.pop_front() {
            let Ended { id, client, tag, outcome, at_ns } = ended;
            let user = self.traffic.lines.pool.entries.user(client);
            let activity = &mut self.activities[user];
            activity.open -= 1;
            let open = activity.open;
            if activity.is_done {
                self.traffic.lines.accounts.free(id);
                if open == 0 {
                    self.finish_iteration(user, at_ns);
                }
                continue;
            }
            let kept = self.traffic.lines.accounts.exchanges.inspection(id);
            let (head, body) = kept.map_or((&[][..], &[][..]), |kept| kept.response());
            let answer = Answer { tag, outcome, head, body, open };
            let step = self.source.resume(user, Reply::Ended(answer));
            self.traffic.lines.accounts.free(id);
            self.go_on_with(user, step, at_ns);
        }
        // An iteration may be over as soon as it has begun: each user gets one turn.
        for _ in 0..self.activities.done.len() {
            if let Some((user, at_ns)) = self.activities.done.pop_front() {
                let index = self.traffic.lines.pool.entries.entry(user, 0);
                self.traffic.lines.freed.push_back((index, at_ns));
            }
        }
        self.serve_freed();
    }

    /// Looks at connections and users that may go on.
    #[inline]
    pub(super) fn go_on_with_users(&mut self) {
        self.serve_freed();
        if !S::RESUMES {
            return;
        }
        let (by_ns, now_ns) =
            (self.traffic.lines.pool.driver.caught_up_ns(), self.traffic.lines.times.now_ns);
        while let Some(user) = self.activities.naps.pop(by_ns) {
            let step = self.source.resume(user, Reply::Woken);
            self.go_on_with(user, step, now_ns);
        }
        self.tell_users();
    }

    /// A user is done with what it did.
    fn finish_iteration(&mut self, user: u32, at_ns: u64) {
        if !S::RESUMES {
            return;
        }
        if self.activities[user].open > 0 {
            self.activities[user].is_done = true;
            return;
        }
        if let Some(iteration) = self.activities.put_down(user)
            && let Some(iterations) = self.traffic.lines.accounts.iterations_of(&iteration.due)
        {
            iterations.completed(iteration.due.at_ns, iteration.started_ns, at_ns);
        }
        self.activities.done.push_back((user, at_ns));
    }

    /// Whether a user can take up an iteration; before it does, it does what the source says.
    #[inline]
    pub(super) fn is_free(&mut self, user: u32, now_ns: u64) -> bool {
        if !S::RESUMES {
            return true;
        }
        let activity = &mut self.activities[user];
        if !activity.has_rested && !activity.is_busy && self.stage.stopped_ns.is_none() {
            activity.has_rested = true;
            let step = self.source.rest(user);
            if step != Step::Done {
                activity.is_busy = true;
                self.go_on_with(user, step, now_ns);
            }
        }
        !self.activities[user].is_busy
    }

    /// Sends a request of a user's, or has it wait for its connection.
    #[inline]
    fn request(&mut self, user: u32, request: Request, due: &Due, when: When) {
        let client = self.traffic.lines.pool.entries.entry(user, request.origin);
        let mut exchange = Exchange {
            tag: request.tag,
            target: request.target,
            origin: request.origin,
            place: self.traffic.prepared.place(request.target, due.stage),
            ..exchange(client, due, when)
        };
        if S::RESUMES {
            let activity = &mut self.activities[user];
            activity.open += 1;
            if let Some(entered) = activity.groups.last() {
                exchange.place.group = entered.group.part;
            }
            if !self.traffic.lines.pool.entries.can_take(client) {
                self.traffic
                    .users
                    .wait(user, Waiting { exchange, hop: None, course: Course::Anew });
                return;
            }
        }
        self.traffic.start(exchange);
    }

    /// Sends what the source has written: one request, or several at once. Each takes a slot of its
    /// own, and those that the plan has no slot for are not sent.
    fn write(&mut self, user: u32, due: &Due, when: When) {
        let index = self.traffic.lines.pool.entries.entry(user, 0);
        self.activities[user].open += 1;
        let place = self.traffic.prepared.place(0, due.stage);
        let mut first = Exchange { place, is_written: true, ..exchange(index, due, when) };
        if self.traffic.lines.pool[index].connection.state() != State::Open {
            // Such a connection takes one request. By the time that it is open the source has
            // written for other users.
            let (bytes, requests) = self.source.written();
            let kept = (bytes[..requests[0].end].to_vec(), requests[0].is_head);
            self.traffic.users[user].written = Some(kept);
            // What the source took is no time of the connect's.
            first.moments.started_ns = self.traffic.lines.read_clock();
            self.traffic.start(first);
            return;
        }
        // The source's own time is not the server's.
        let sent_ns = self.traffic.lines.read_clock();
        first.moments.sent_ns = self.traffic.lines.pool[index].moment(sent_ns);
        let id = self.traffic.begin_at_once(&mut first);
        let room = self.traffic.lines.pool[index].room(&self.plan).saturating_sub(1);
        let count = self.source.written().1.len() as u64;
        let mut ids = std::mem::take(&mut self.written_ids);
        ids.clear();
        ids.push(id);
        ids.extend(
            (1..count).take_while(|n| *n <= room).map_while(|_| self.next_with(index, &first)),
        );
        let (bytes, requests) = self.source.written();
        self.traffic.send_written(index, &ids, bytes, requests);
        self.written_ids = ids;
    }

    /// The exchange of the next slot, sent together with `first`. Its intended time is when its own
    /// slot was due; one that goes before that is intended when it goes, and has not waited.
    fn next_with(&mut self, index: ConnectionId, first: &Exchange) -> Option<ExchangeId> {
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
                self.traffic.lines.pool[index].draw(due.measured);
                due
            }
        };
        let place =
            Place { address: first.place.address, ..self.traffic.prepared.place(0, due.stage) };
        let intended_ns = due.at_ns.min(now_ns);
        let available_ns = first.moments.available_ns.max(intended_ns);
        let moments = Moments { intended_ns, available_ns, ..first.moments };
        let (number, measured) = (due.number, due.measured);
        let exchange = Exchange { moments, number, measured, place, ..*first };
        let user = self.traffic.lines.pool.entries.user(index);
        self.activities[user].open += 1;
        Some(self.traffic.lines.accounts.begin(exchange, None, Course::Anew))
    }
}

/// A slot's exchange on an entry of the pool, for its first target.
#[inline]
fn exchange(client: ConnectionId, due: &Due, when: When) -> Exchange {
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
        origin: 0,
        measured: due.measured,
        withholds: false,
        was_held_back: false,
        end_bytes: i64::MAX,
        client,
    }
}
