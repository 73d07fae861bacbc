//! What is known of a worker's requests: those under way, and what is written down of each when it
//! ends.
//!
//! Absent on purpose: connections. An account is kept of an exchange, whichever connection carries
//! it.

mod calls;
mod reading;
mod stalls;
mod streams;

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_conn::{Encoding, ExchangeId, Hop, Portion};
use plimsoll_core::Phase;
use plimsoll_core::compression::Sizes;
use plimsoll_core::iterations::Iterations;
use plimsoll_core::metric::{Tags, TagsId};
use plimsoll_core::outcome::Outcome;
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Recorder;

use crate::activity::Entered;
use crate::admission::{Due, Timetable};
use crate::assignment::Assignment;
use crate::error::{ABANDONED, TIMEOUT};
use crate::exchanges::{Exchange, Exchanges};
use crate::id::ConnectionId;
use crate::inspection::Wants;
use crate::judge::Judge;
use crate::kept::SentOn;
use crate::labels::{Group, Labels};
use crate::notes::Notes;
use crate::observer::Observer;
use crate::slots::Alike;
use crate::source::{Interest, Sample, Source};
use crate::transcripts::{End, Witness};
use crate::user::{Course, Waiting};
use calls::Calls;
use stalls::Stalls;
use streams::{CallEnd, Streams};

pub(crate) use reading::{After, Reading};
pub(crate) use stalls::Holder;

/// The accounts of a worker's requests.
pub(crate) struct Accounts {
    pub exchanges: Exchanges,
    stalls: Stalls,
    /// What comes of calls, where gRPC is spoken.
    calls: Option<Box<Calls>>,
    /// The messages of calls that stream.
    streams: Option<Box<Streams>>,
    pub observer: Observer,
    pub notes: Option<Box<Notes>>,
    /// What was seen of the exchanges that are to be shown.
    pub witness: Witness,
    /// What is looked at in responses beside status and length.
    wants: Wants,
    judge: Arc<Judge>,
    /// Whether what the server has not processed is sent again.
    resends: bool,
    /// Exchanges of the connection read last whose bodies may go.
    pub released: Vec<ExchangeId>,
    /// Exchanges that have ended and whose users have yet to learn of it, where they do.
    pub ended: VecDeque<Ended>,
    resumes: bool,
    /// What became of the iterations of the measured part, where they are counted.
    pub iterations: Option<Box<Iterations>>,
    /// The tags and groups that the source has named.
    labels: Labels,
    /// Whether each request has lags of its own: in a closed loop, only within an iteration.
    has_lags: bool,
}

/// An exchange that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    /// Its place, which is kept until it is freed.
    pub id: ExchangeId,
    /// The entry of the pool whose connection carried it.
    pub client: ConnectionId,
    pub tag: u32,
    pub outcome: Outcome,
    pub at_ns: u64,
}

impl Accounts {
    /// Of a worker with a source of this kind, with room for `exchanges_max` requests under way;
    /// more than that allocate.
    pub(crate) fn new<S: Source>(
        assignment: &Assignment<impl Encoding>,
        exchanges_max: usize,
        observer: Observer,
    ) -> Self {
        let plan = &assignment.plan;
        let wants = Wants::of(plan);
        let inspects = wants.any() || S::RESUMES;
        let script = assignment.prepared.script();
        let streams = script.filter(|script| script.streams());
        let streams = streams.map(|script| Box::new(Streams::new(script, exchanges_max)));
        let mut observer = observer;
        observer.measured.streams = streams.as_ref().map(|streams| Box::new(streams.record()));
        Self {
            exchanges: Exchanges::new(exchanges_max, inspects, S::RESUMES),
            stalls: Stalls::new(exchanges_max),
            calls: script.map(|script| Box::new(Calls::new(script.method, exchanges_max))),
            streams,
            observer,
            notes: Notes::of(plan, assignment.worker, exchanges_max),
            witness: Witness::default(),
            wants,
            judge: Arc::clone(&assignment.judge),
            resends: plan.resends,
            released: Vec::new(),
            ended: VecDeque::new(),
            resumes: S::RESUMES,
            iterations: S::COUNTS_ITERATIONS.then(Box::default),
            labels: Labels::new(&assignment.metrics, &plan.masks),
            has_lags: plan.is_open_loop() || S::COUNTS_ITERATIONS,
        }
    }

    /// The source wants to know this of responses.
    #[inline]
    pub(crate) fn take_interest(&mut self, interest: Interest) {
        self.wants = self.wants.with(interest);
    }

    /// The run begins, with the planned window of its schedule.
    pub(crate) fn start(&mut self, timetable: Timetable, planned_ns: Option<u64>) {
        self.observer.start(timetable, planned_ns);
        if let Some(notes) = &mut self.notes {
            notes.start(timetable.measured_ns);
        }
    }

    /// Takes the rate of the worker, where the plan asks for it and it is time.
    #[inline]
    pub(crate) fn take_rate(&mut self, now_ns: u64) {
        if let Some(notes) = &mut self.notes {
            notes.turn(now_ns, self.observer.measured.ledger.completed);
        }
    }

    /// When the rate is to be taken next; `u64::MAX` if it is not.
    #[inline]
    pub(crate) fn next_rate_ns(&self) -> u64 {
        self.notes.as_ref().map_or(u64::MAX, |notes| notes.window_end_ns())
    }

    /// Opens the account of an exchange, of a request that may have been redirected to `hop`. What
    /// goes on with an exchange was counted when that began.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        exchange: Exchange,
        hop: Option<Hop>,
        course: Course,
    ) -> ExchangeId {
        let recorder = self.observer.recorder(exchange.measured);
        match course {
            Course::Anew => {
                recorder.scheduled(exchange.place);
                if self.has_lags {
                    recorder.started(&exchange.moments, exchange.place);
                } else {
                    recorder.started_at_once(exchange.place);
                }
            }
            Course::Joined => {}
            Course::Again => recorder.resent(exchange.place),
        }
        let id = self.exchanges.begin(exchange);
        if let Some(streams) = &mut self.streams {
            streams.begin(id);
        }
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.hop = hop;
            if self.wants.transcripts {
                inspection.kept().begin();
                self.witness.begun(exchange.number);
            }
        }
        id
    }

    /// The server has not processed the request of an exchange, which is to be sent again: gives
    /// what waits for that. `None` if it is not, and the exchange goes on.
    #[cold]
    pub(crate) fn again(&mut self, id: ExchangeId) -> Option<Waiting> {
        if !self.resends {
            return None;
        }
        let exchange = self.exchanges.end(id);
        let hop = self.exchanges.inspection(id).and_then(|inspection| inspection.hop.take());
        if self.resumes {
            self.free(id);
        }
        Some(Waiting::resent(&exchange, hop))
    }

    /// Whether exchanges keep what transcripts show of them.
    #[inline]
    pub(crate) fn keeps_transcripts(&self) -> bool {
        self.wants.transcripts
    }

    /// A request is sent, whose exchange keeps what a transcript shows of it.
    pub(crate) fn witness_sent(
        &mut self,
        id: ExchangeId,
        line: SentOn,
        cookies: &[u8],
        messages: Portion,
    ) {
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.kept().sent(line, cookies, messages);
        }
    }

    /// A script has written the request of an exchange that keeps what a transcript shows of it.
    pub(crate) fn witness_written(&mut self, id: ExchangeId, bytes: &[u8]) {
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.kept().written(bytes);
        }
    }

    /// An exchange has ended that keeps what a transcript shows of it.
    #[cold]
    fn witness_end(&mut self, id: ExchangeId, exchange: &Exchange, end: End) {
        let Self { exchanges, witness, wants, .. } = self;
        if let Some(inspection) = exchanges.inspection(id) {
            let (hop, kept) = inspection.of_transcript();
            wants.transcripts = witness.ended(exchange, hop, kept, end);
        }
    }

    /// Slots were not started: the plan says to drop them (`is_shed`), or there was no connection
    /// for them before the end.
    pub(crate) fn not_started(&mut self, alike: &Alike, place: Place, is_shed: bool) {
        let Alike { due, slots, waited_ns } = *alike;
        if self.iterations.is_some() {
            match self.iterations_of(&due) {
                Some(iterations) if is_shed => iterations.shed(slots),
                Some(iterations) => iterations.unsent(slots),
                None => {}
            }
            return;
        }
        let recorder = self.observer.recorder(due.measured);
        if is_shed {
            recorder.shed(slots, waited_ns, place);
        } else {
            recorder.unsent(slots, waited_ns, place);
        }
    }

    /// The record of an iteration, if iterations are counted and it is of the measured part.
    pub(crate) fn iterations_of(&mut self, due: &Due) -> Option<&mut Iterations> {
        self.iterations.as_deref_mut().filter(|_| due.measured)
    }

    /// Records a value at `at_ns`. `tags` names its tags, where the source has not yet.
    #[inline]
    pub(crate) fn record(
        &mut self,
        sample: &Sample,
        measured: bool,
        at_ns: u64,
        tags: impl FnOnce(u32) -> Tags,
    ) {
        if !measured {
            return;
        }
        let since_ns = self.observer.since_measured_ns(at_ns);
        let metrics = &mut self.observer.measured.metrics;
        let number = sample.tags.map(|number| self.labels.tags(number, metrics, tags));
        let tags = number.unwrap_or(TagsId::NONE);
        metrics.record(sample.metric, tags, sample.value, since_ns);
    }

    /// A group that a user enters. `name` names it, where the source has not yet.
    #[inline]
    pub(crate) fn group(&mut self, number: u32, name: impl FnOnce(u32) -> String) -> Group {
        let Recorder { parts, metrics, .. } = &mut self.observer.measured;
        self.labels.group(number, &mut parts.groups, metrics, name)
    }

    /// A user has left a group at `at_ns`.
    #[inline]
    pub(crate) fn left(&mut self, entered: &Entered, measured: bool, at_ns: u64) {
        if let Some(metric) = self.labels.group_duration.filter(|_| measured) {
            let duration_ns = at_ns.saturating_sub(entered.at_ns) as f64;
            let since_ns = self.observer.since_measured_ns(at_ns);
            let metrics = &mut self.observer.measured.metrics;
            metrics.record(metric, entered.group.tags, duration_ns, since_ns);
        }
    }

    /// A connection that is being opened has come to the end of a phase that began at `since_ns`.
    pub(crate) fn opened_to(&mut self, phase: Phase, since_ns: u64, at_ns: u64) {
        let recorder = self.observer.recorder_at(at_ns);
        let took_ns = recorder.gap_ns(since_ns, at_ns);
        recorder.phases[phase].record(took_ns);
    }

    /// Counts bytes that were sent for an exchange.
    #[inline]
    pub(crate) fn sent(&mut self, measured: bool, bytes: usize) {
        self.observer.recorder(measured).sent_bytes += bytes as u64;
    }

    /// Counts a message that was sent compressed.
    #[inline]
    pub(crate) fn sent_compressed(&mut self, measured: bool, sizes: Sizes) {
        self.observer.recorder(measured).compression.sent.message(sizes);
    }

    /// Counts bytes that were sent for no exchange.
    pub(crate) fn sent_at(&mut self, at_ns: u64, bytes: usize) {
        self.observer.recorder_at(at_ns).sent_bytes += bytes as u64;
    }

    /// The kernel has taken all that was sent on a connection: of `open`, its exchanges with the
    /// latest first, those that it had not taken before.
    #[inline]
    pub(crate) fn written(&mut self, open: impl Iterator<Item = ExchangeId>, at_ns: u64) {
        let is_in_order =
            self.stalls.are_none() && !self.sends_in_pieces() && !self.wants.joins_redirects;
        for id in open {
            let exchange = &mut self.exchanges[id];
            if exchange.moments.written_ns != 0 {
                // What was sent earlier has been taken earlier, but for what had been held back,
                // for messages that follow on others, and for requests that were redirected.
                if is_in_order {
                    break;
                }
                continue;
            }
            if exchange.was_held_back && self.stalls.is_held_back(id) {
                continue;
            }
            exchange.moments.written_ns = at_ns;
        }
    }

    /// The kernel has taken the output of a connection up to here: of its `open` exchanges, those
    /// whose requests end there.
    pub(crate) fn written_until(
        &mut self,
        open: impl Iterator<Item = ExchangeId>,
        taken_bytes: i64,
        at_ns: u64,
    ) {
        for id in open {
            let exchange = &mut self.exchanges[id];
            if exchange.moments.written_ns == 0 && exchange.end_bytes <= taken_bytes {
                exchange.moments.written_ns = at_ns;
            }
        }
    }

    /// The time to record for bytes that the kernel says it received at `kernel_ns` and that were
    /// read at `at_ns`. Two clocks are compared for that, so it is kept from being before what it
    /// must come after: the connection's own beginning at `reached_ns`, and what is known of its
    /// `open` exchanges.
    #[cold]
    pub(crate) fn stamp(
        &mut self,
        kernel_ns: u64,
        at_ns: u64,
        reached_ns: u64,
        open: impl Iterator<Item = ExchangeId>,
    ) -> u64 {
        let moments = open.map(|id| &self.exchanges[id].moments);
        let after_ns = moments.map(|m| m.sent_ns.max(m.first_byte_ns)).max().unwrap_or(0);
        let stamp_ns = kernel_ns.max(after_ns).max(reached_ns).min(at_ns);
        let recorder = self.observer.recorder_at(at_ns);
        let delay_ns = recorder.gap_ns(stamp_ns, at_ns);
        recorder.delays.receive.record(delay_ns);
        stamp_ns
    }

    /// The user of an exchange that has ended is to learn of it.
    #[inline]
    fn tell(&mut self, id: ExchangeId, exchange: &Exchange, outcome: Outcome, at_ns: u64) {
        if self.resumes {
            let Exchange { client, tag, .. } = *exchange;
            self.ended.push_back(Ended { id, client, tag, outcome, at_ns });
        }
    }

    /// Writes down what there is beside the record of a request that got no whole response.
    /// `times_ns`: when it was sent, or was to be, and when it ended.
    fn lost(&mut self, id: ExchangeId, exchange: &Exchange, times_ns: [u64; 2], outcome: Outcome) {
        let at_ns = times_ns[1];
        if let Some(notes) = &mut self.notes {
            notes.lost(exchange, at_ns);
        }
        if self.wants.transcripts {
            let end = End { outcome, at_ns, unmet: None, is_redirected: false };
            self.witness_end(id, exchange, end);
        }
        self.call_over(id, exchange, CallEnd::Lost, times_ns);
    }

    /// Closes the account of an exchange that ends with its connection.
    pub(crate) fn abandon(&mut self, id: ExchangeId, now_ns: u64, outcome: Outcome) {
        let exchange = self.exchanges.end(id);
        self.lose(id, &exchange, now_ns, outcome);
    }

    /// Closes the account of an exchange that has ended without a whole response.
    fn lose(&mut self, id: ExchangeId, exchange: &Exchange, now_ns: u64, outcome: Outcome) {
        let mut moments = exchange.moments;
        // Its connect failed: the service it did not get began with the attempt.
        if moments.sent_ns == 0 {
            moments.sent_ns = moments.started_ns;
        }
        self.recorder(exchange).ended(&moments, now_ns, outcome, exchange.place);
        self.lost(id, exchange, [moments.sent_ns, now_ns], outcome);
        self.tell(id, exchange, outcome, now_ns);
    }

    /// Closes the account of an exchange that timed out while its connection goes on.
    pub(crate) fn timed_out(
        &mut self,
        id: ExchangeId,
        now_ns: u64,
        sample: impl FnOnce() -> String,
    ) {
        let exchange = self.exchanges.end(id);
        let recorder = self.recorder(&exchange);
        recorder.error(exchange.phase(), TIMEOUT, 1, sample);
        recorder.ended(&exchange.moments, now_ns, Outcome::TimedOut, exchange.place);
        self.lost(id, &exchange, [exchange.moments.sent_ns, now_ns], Outcome::TimedOut);
        self.tell(id, &exchange, Outcome::TimedOut, now_ns);
    }

    /// Counts the errors of a connection that was closed because one of its exchanges timed out in
    /// `phase`: `late` of them did, and the `others` had not waited that long.
    pub(crate) fn closed_by_timeout(
        &mut self,
        now_ns: u64,
        phase: Phase,
        [late, others]: [u64; 2],
        sample: impl FnOnce() -> String,
    ) {
        let recorder = self.observer.recorder_at(now_ns);
        recorder.error(phase, TIMEOUT, late, sample);
        if others > 0 {
            let sample =
                || "its connection was closed as another request on it timed out".to_owned();
            recorder.error(Phase::Waiting, ABANDONED, others, sample);
        }
    }

    /// A request was still waiting for its connection at the end of the run.
    pub(crate) fn unsent(&mut self, waiting: &Waiting, now_ns: u64) {
        let Waiting { exchange, hop, course } = waiting;
        if course.goes_on() {
            return self.cut_off(exchange, now_ns, Outcome::Unfinished);
        }
        let recorder = self.recorder(exchange);
        recorder.ledger.redirects += u64::from(hop.is_some());
        let waited_ns = recorder.gap_ns(exchange.moments.intended_ns, now_ns);
        recorder.unsent(1, waited_ns, exchange.place);
    }

    /// An exchange timed out that was to go on and still waited for its connection.
    pub(crate) fn waited_in_vain(
        &mut self,
        exchange: &Exchange,
        now_ns: u64,
        sample: impl FnOnce() -> String,
    ) {
        self.recorder(exchange).error(Phase::Connect, TIMEOUT, 1, sample);
        self.cut_off(exchange, now_ns, Outcome::TimedOut);
    }

    /// An exchange that was to go on ends without having done so. It has a place once more, from
    /// which its user learns of it.
    fn cut_off(&mut self, exchange: &Exchange, now_ns: u64, outcome: Outcome) {
        let id = self.exchanges.begin(*exchange);
        if let Some(streams) = &mut self.streams {
            streams.begin(id);
        }
        self.abandon(id, now_ns, outcome);
    }

    /// The user of an exchange has learned what came of it: its place can be another's.
    pub(crate) fn free(&mut self, id: ExchangeId) {
        if let Some(inspection) = self.exchanges.inspection(id) {
            inspection.forget_response();
        }
        self.exchanges.free(id);
    }

    /// The run is over. In a closed loop nothing waits for the schedule: all lags are nothing,
    /// unless each was written down.
    pub(crate) fn settle_lags(&mut self) {
        if !self.has_lags {
            self.observer.settle_closed_loop();
        }
    }

    /// When the oldest exchange times out; `u64::MAX` without one.
    #[inline]
    pub(crate) fn next_timeout_ns(&self, timeout_ns: u64) -> u64 {
        let started_ns = self.exchanges.oldest().map(|id| self.exchanges[id].moments.started_ns);
        started_ns.map_or(u64::MAX, |at_ns| at_ns.saturating_add(timeout_ns))
    }

    fn recorder(&mut self, exchange: &Exchange) -> &mut Recorder {
        self.observer.recorder(exchange.measured)
    }
}
