//! What one worker records: the only thing on the path of a request that remembers.
//!
//! Recording allocates nothing, except for the sample text of an error when that error is first
//! seen, and for a custom metric when it is first used. Outcomes are kept apart, so the response
//! times of all requests are the sum of parts that are reported anyway.

use crate::errors::{ERROR_KINDS, ErrorCount, merge_errors};
use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::metric::{IntervalMetrics, Metrics};
use crate::outcome::Outcome;
use crate::part::{Part, Place, merge_parts};
use crate::phase::{Phase, Phases};
use crate::series::{INTERVAL_NS, Point};

/// The moments of a request, ns on one monotonic clock, each at or after the one before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moments {
    /// When the schedule wanted it sent; in a closed loop, when its connection was free.
    pub intended_ns: u64,
    /// When there was both the slot and a connection for it.
    pub available_ns: u64,
    /// When the tester acted on it: the connect began, or the write where one was open.
    pub started_ns: u64,
    /// When the write began.
    pub sent_ns: u64,
    /// When the kernel had taken all of it.
    pub written_ns: u64,
    /// When the first byte of the response arrived.
    pub first_byte_ns: u64,
}

/// Histograms and counts of one worker.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Where every request went.
    pub ledger: Ledger,
    /// Response times of requests that completed as expected.
    pub ok: Histogram,
    /// Response times of requests that completed otherwise.
    pub failed: Histogram,
    /// Time waited by requests that did not complete.
    pub incomplete: Histogram,
    /// Service times of all requests sent.
    pub service: Histogram,
    /// How long each phase took. Name lookups are not a worker's.
    pub phases: Phases,
    /// From intended to started.
    pub lag: Histogram,
    /// The tester's own share of the lag.
    pub lateness: Histogram,
    /// From the kernel's receipt of bytes to the worker's, where the kernel's is known.
    pub receive_delay: Histogram,
    /// The requests of each endpoint, if they are told apart.
    pub endpoints: Vec<Part>,
    /// The requests of each stage, if they are told apart.
    pub stages: Vec<Part>,
    /// The requests to each address, if they are told apart.
    pub addresses: Vec<Part>,
    /// The requests of users in each group, if they are told apart.
    pub groups: Vec<Part>,
    /// Completed requests by status.
    pub status: Vec<u64>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// What sources of work record themselves.
    pub metrics: Metrics,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// Durations that would have been negative, see [`gap_ns`](Self::gap_ns).
    pub disordered: u64,
    errors_count: u64,
    interval: Box<Interval>,
    /// The sums at the start of the running interval.
    interval_start: Totals,
}

/// A stretch of the run, as the recorder fills it. [`Interval::pack`] makes the small form of it,
/// and leaves it empty to be filled again; that takes a while, so it is not for a worker to do.
#[derive(Debug, Clone, Default)]
pub struct Interval {
    point: Point,
    response: Histogram,
    service: Histogram,
    metrics: IntervalMetrics,
    /// How long all that waited at its end had waited, where a condition asks for it.
    waiting: Histogram,
}

impl Interval {
    /// Notes for how long users were cut off in it, and the time of all users, added up.
    pub fn note_outage(&mut self, cut_off_ns: u64, users_ns: u64) {
        self.point.cut_off_ns = cut_off_ns;
        self.point.users_ns = users_ns;
    }

    /// Notes how many requests were waiting when it ended, and for how long.
    pub fn note_waiting(&mut self, waited_ns: u64, count: u64) {
        self.waiting.record_n(waited_ns, count);
    }

    /// Notes how many slots had waited for a connection for an interval or longer when it ended.
    pub fn note_overdue(&mut self, slots: u64) {
        self.point.overdue = slots;
    }

    /// Whether nothing was counted in it: no request, error, byte or custom metric.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Point { sent, shed, errors, received_bytes, .. } = self.point;
        let is_idle = [sent, shed, errors, received_bytes] == [0; 4] && self.response.is_empty();
        is_idle && self.metrics.is_empty()
    }

    /// The interval as it stands in a series. Empties it.
    pub fn pack(&mut self) -> Point {
        let mut point = std::mem::take(&mut self.point);
        point.response = self.response.pack();
        point.service = self.service.pack();
        point.metrics = self.metrics.pack();
        if !self.waiting.is_empty() {
            point.waiting = self.waiting.pack();
            self.waiting.clear();
        }
        if !self.response.is_empty() {
            self.response.clear();
            self.service.clear();
        }
        point
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    ledger: Ledger,
    errors_count: u64,
    received_bytes: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// An empty recorder.
    #[must_use]
    pub fn new() -> Self {
        Self {
            ledger: Ledger::default(),
            ok: Histogram::new(),
            failed: Histogram::new(),
            incomplete: Histogram::new(),
            service: Histogram::new(),
            phases: Phases::default(),
            lag: Histogram::new(),
            lateness: Histogram::new(),
            receive_delay: Histogram::new(),
            endpoints: Vec::new(),
            stages: Vec::new(),
            addresses: Vec::new(),
            groups: Vec::new(),
            status: vec![0; 1000],
            errors: Vec::new(),
            metrics: Metrics::default(),
            sent_bytes: 0,
            received_bytes: 0,
            disordered: 0,
            errors_count: 0,
            interval: Box::default(),
            interval_start: Totals::default(),
        }
    }

    /// From one moment to one that is not before it. Moments are ordered by how they are made. If
    /// two are out of order, that is a bug: it is counted, and the duration is 0.
    #[inline]
    pub fn gap_ns(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        debug_assert!(from_ns <= to_ns, "from {from_ns} to {to_ns} ns");
        let disordered = &mut self.disordered;
        to_ns.checked_sub(from_ns).unwrap_or_else(|| {
            *disordered += 1;
            0
        })
    }

    /// A slot came due and was given a connection.
    #[inline]
    pub fn scheduled(&mut self, place: Place) {
        self.ledger.scheduled += 1;
        self.each_part(place, |part| part.ledger.scheduled += 1);
    }

    /// A request was started on a connection.
    #[inline]
    pub fn started(&mut self, moments: &Moments, place: Place) {
        let blocked_ns = self.gap_ns(moments.intended_ns, moments.available_ns);
        let lateness_ns = self.gap_ns(moments.available_ns, moments.started_ns);
        self.lag.record(blocked_ns + lateness_ns);
        self.phases[Phase::Blocked].record(blocked_ns);
        self.lateness.record(lateness_ns);
        let point = &mut self.interval.point;
        point.lateness_max_ns = point.lateness_max_ns.max(lateness_ns);
        self.started_at_once(place);
    }

    /// A request of a closed loop was started, at the moment it became possible. Its lags are
    /// nothing; [`settle_closed_loop`](Self::settle_closed_loop) writes them down for all of them.
    #[inline]
    pub fn started_at_once(&mut self, place: Place) {
        self.ledger.sent += 1;
        self.each_part(place, |part| part.ledger.sent += 1);
    }

    /// Writes down the lags of a closed loop's requests. To be called once, at the end.
    pub fn settle_closed_loop(&mut self) {
        for histogram in [&mut self.lag, &mut self.phases[Phase::Blocked], &mut self.lateness] {
            histogram.record_n(0, self.ledger.sent);
        }
    }

    /// A started request ended. Moments that never came are those of the end.
    #[inline]
    pub fn ended(&mut self, moments: &Moments, end_ns: u64, outcome: Outcome, place: Place) {
        let response_ns = self.gap_ns(moments.intended_ns, end_ns);
        let service_ns = self.gap_ns(moments.sent_ns, end_ns);
        self.ledger.ended(outcome);
        match outcome {
            Outcome::Completed { status, ok } => {
                self.status[usize::from(status).min(999)] += 1;
                let responses = if ok { &mut self.ok } else { &mut self.failed };
                responses.record(response_ns);
                let sending_ns = self.gap_ns(moments.sent_ns, moments.written_ns);
                let waiting_ns = self.gap_ns(moments.written_ns, moments.first_byte_ns);
                let receiving_ns = self.gap_ns(moments.first_byte_ns, end_ns);
                self.phases[Phase::Sending].record(sending_ns);
                self.phases[Phase::Waiting].record(waiting_ns);
                self.phases[Phase::Receiving].record(receiving_ns);
            }
            _ => self.incomplete.record(response_ns),
        }
        self.service.record(service_ns);
        self.interval.response.record(response_ns);
        self.interval.service.record(service_ns);
        self.each_part(place, |part| part.ended(response_ns, service_ns, outcome));
    }

    /// `slots` came due and found no connection before the end; each had waited this long.
    pub fn unsent(&mut self, slots: u64, waited_ns: u64, place: Place) {
        self.ledger.unsent += slots;
        self.never_sent(slots, waited_ns, place, |part| part.ledger.unsent += slots);
    }

    /// `slots` came due and were dropped, because each had waited this long for a connection.
    pub fn shed(&mut self, slots: u64, waited_ns: u64, place: Place) {
        self.ledger.shed += slots;
        self.never_sent(slots, waited_ns, place, |part| part.ledger.shed += slots);
    }

    fn never_sent(&mut self, slots: u64, waited_ns: u64, place: Place, count: impl Fn(&mut Part)) {
        self.ledger.scheduled += slots;
        self.incomplete.record_n(waited_ns, slots);
        self.each_part(place, |part| {
            part.ledger.scheduled += slots;
            count(part);
            part.response.record_n(waited_ns, slots);
        });
    }

    /// Acts on the parts a request belongs to. Most runs have no parts.
    #[inline]
    pub fn each_part(&mut self, place: Place, mut act: impl FnMut(&mut Part)) {
        if place == Place::NOWHERE {
            return;
        }
        let lists = [
            (&mut self.endpoints, place.endpoint),
            (&mut self.stages, place.stage),
            (&mut self.addresses, place.address),
            (&mut self.groups, place.group),
        ];
        for (parts, number) in lists {
            if let Some(part) = parts.get_mut(usize::from(number)) {
                act(part);
            }
        }
    }

    /// Something went wrong in a phase, `count` times. The kind is one of [`ERROR_KINDS`]. `sample`
    /// is called the first time only.
    pub fn error(
        &mut self,
        phase: Phase,
        kind: &'static str,
        count: u64,
        sample: impl FnOnce() -> String,
    ) {
        debug_assert!(ERROR_KINDS.contains(&kind), "'{kind}' is not among ERROR_KINDS");
        self.errors_count += count;
        let known = self.errors.iter_mut().find(|error| error.phase == phase && error.kind == kind);
        if let Some(known) = known {
            known.count += count;
            return;
        }
        let error = ErrorCount { phase, kind: kind.to_owned(), count, sample: sample() };
        self.errors.push(error);
    }

    /// Response times of every request, whatever its outcome.
    #[must_use]
    pub fn response(&self) -> Histogram {
        let mut all = self.ok.clone();
        all.merge(&self.failed);
        all.merge(&self.incomplete);
        all
    }

    /// Ends the running interval, number `index`, and goes on with an empty one.
    pub fn take_interval(
        &mut self,
        index: u64,
        loader_cpu_ns: u64,
        mut empty: Box<Interval>,
    ) -> Box<Interval> {
        let now = Totals {
            ledger: self.ledger,
            errors_count: self.errors_count,
            received_bytes: self.received_bytes,
        };
        let before = std::mem::replace(&mut self.interval_start, now);
        self.metrics.take_interval(&mut empty.metrics);
        let mut interval = std::mem::replace(&mut self.interval, empty);
        std::mem::swap(&mut interval.metrics, &mut self.interval.metrics);
        interval.point = Point {
            t_ns: index * INTERVAL_NS,
            interval_ns: INTERVAL_NS,
            sent: now.ledger.sent - before.ledger.sent,
            completed: now.ledger.completed - before.ledger.completed,
            ok: now.ledger.ok - before.ledger.ok,
            failed: now.ledger.failed - before.ledger.failed,
            timed_out: now.ledger.timed_out - before.ledger.timed_out,
            broken: now.ledger.broken - before.ledger.broken,
            refused: now.ledger.refused - before.ledger.refused,
            shed: now.ledger.shed - before.ledger.shed,
            errors: now.errors_count - before.errors_count,
            received_bytes: now.received_bytes - before.received_bytes,
            loader_cpu_ns,
            lateness_max_ns: interval.point.lateness_max_ns,
            ..Point::default()
        };
        interval
    }

    /// Adds all of another worker's record. Lossless and associative.
    pub fn merge(&mut self, other: &Self) {
        self.ledger.merge(&other.ledger);
        for (mine, theirs) in self.histograms_mut().zip(other.histograms()) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.status.iter_mut().zip(&other.status) {
            *mine += theirs;
        }
        let lists = [
            (&mut self.endpoints, &other.endpoints),
            (&mut self.stages, &other.stages),
            (&mut self.addresses, &other.addresses),
            (&mut self.groups, &other.groups),
        ];
        for (mine, theirs) in lists {
            merge_parts(mine, theirs);
        }
        merge_errors(&mut self.errors, &other.errors);
        self.metrics.merge(&other.metrics);
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.disordered += other.disordered;
    }

    fn histograms(&self) -> impl Iterator<Item = &Histogram> {
        [
            &self.ok,
            &self.failed,
            &self.incomplete,
            &self.service,
            &self.lag,
            &self.lateness,
            &self.receive_delay,
        ]
        .into_iter()
        .chain(self.phases.all())
    }

    fn histograms_mut(&mut self) -> impl Iterator<Item = &mut Histogram> {
        [
            &mut self.ok,
            &mut self.failed,
            &mut self.incomplete,
            &mut self.service,
            &mut self.lag,
            &mut self.lateness,
            &mut self.receive_delay,
        ]
        .into_iter()
        .chain(self.phases.all_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments() -> Moments {
        Moments {
            intended_ns: 100,
            available_ns: 130,
            started_ns: 135,
            sent_ns: 200,
            written_ns: 210,
            first_byte_ns: 300,
        }
    }

    #[test]
    fn phases_sum_to_the_response_time() {
        let mut recorder = Recorder::new();
        recorder.started(&moments(), Place::NOWHERE);
        recorder.phases[Phase::Connect].record(200 - 135);
        let done = Outcome::Completed { status: 200, ok: true };
        recorder.ended(&moments(), 333, done, Place::NOWHERE);
        let parts = [
            &recorder.phases[Phase::Blocked],
            &recorder.lateness,
            &recorder.phases[Phase::Connect],
            &recorder.phases[Phase::Sending],
            &recorder.phases[Phase::Waiting],
            &recorder.phases[Phase::Receiving],
        ];
        let sum: u64 = parts.iter().map(|histogram| histogram.sum_ns()).sum();
        assert_eq!(sum, 233);
        assert_eq!(recorder.response().sum_ns(), 233);
        assert_eq!(recorder.service.sum_ns(), 133);
        assert_eq!(recorder.lag.sum_ns(), 35);
    }

    /// With debug assertions it ends the program instead.
    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "from 333 to 300 ns"))]
    fn a_duration_that_would_be_negative_is_counted_and_nothing() {
        let mut recorder = Recorder::new();
        assert_eq!(recorder.gap_ns(300, 333), 33);
        assert_eq!(recorder.disordered, 0);
        assert_eq!(recorder.gap_ns(333, 300), 0);
        assert_eq!(recorder.disordered, 1);
    }

    #[test]
    fn every_outcome_stands_in_the_response_times() {
        let mut recorder = Recorder::new();
        let outcomes = [
            Outcome::Completed { status: 200, ok: true },
            Outcome::Completed { status: 503, ok: false },
            Outcome::TimedOut,
            Outcome::Broken,
            Outcome::Unfinished,
        ];
        for outcome in outcomes {
            recorder.scheduled(Place::NOWHERE);
            recorder.started(&moments(), Place::NOWHERE);
            recorder.ended(&moments(), 400, outcome, Place::NOWHERE);
        }
        recorder.unsent(1, 77, Place::NOWHERE);
        recorder.shed(1, 88, Place::NOWHERE);
        assert_eq!(recorder.ledger.check(), Ok(()));
        assert_eq!(recorder.response().count(), 7);
        assert_eq!(recorder.response().min_ns(), Some(77));
        assert_eq!(recorder.service.count(), 5);
        assert_eq!((recorder.status[200], recorder.status[503]), (1, 1));
    }

    #[test]
    fn an_interval_holds_what_came_since_the_last() {
        let mut recorder = Recorder::new();
        for index in 0..3u64 {
            for _ in 0..=index {
                recorder.started(&moments(), Place::NOWHERE);
                recorder.ended(&moments(), 400, Outcome::TimedOut, Place::NOWHERE);
            }
            let point = recorder.take_interval(index, 5, Box::default()).pack();
            assert_eq!((point.sent, point.timed_out), (index + 1, index + 1));
            assert_eq!(point.response.unpack().count(), index + 1);
            assert_eq!(point.lateness_max_ns, 5);
        }
    }

    #[test]
    fn an_interval_is_empty_when_nothing_was_counted_in_it() {
        let mut recorder = Recorder::new();
        let acts: [fn(&mut Recorder); 6] = [
            |_| (),
            |it| it.shed(1, 5, Place::NOWHERE),
            |it| it.error(Phase::Connect, "refused", 1, String::new),
            |it| it.received_bytes += 1,
            |it| it.started_at_once(Place::NOWHERE),
            |it| it.ended(&moments(), 400, Outcome::TimedOut, Place::NOWHERE),
        ];
        for (index, act) in acts.into_iter().enumerate() {
            act(&mut recorder);
            let interval = recorder.take_interval(index as u64, 5, Box::default());
            assert_eq!(interval.is_empty(), index == 0, "{index}");
        }
    }

    #[test]
    fn parts_balance_like_the_whole() {
        let mut recorder = Recorder::new();
        recorder.endpoints = vec![Part::new("a"), Part::new("b")];
        recorder.stages = vec![Part::new("10s@5")];
        let place = |endpoint| Place { endpoint, stage: 0, ..Place::NOWHERE };
        for endpoint in [0, 1, 1] {
            recorder.scheduled(place(endpoint));
            recorder.started(&moments(), place(endpoint));
            let done = Outcome::Completed { status: 200, ok: true };
            recorder.ended(&moments(), 400, done, place(endpoint));
        }
        recorder.shed(1, 50, place(0));
        recorder.unsent(1, 60, place(1));
        let scheduled = |part: &Part| {
            assert_eq!(part.ledger.check(), Ok(()));
            assert_eq!(part.response.count(), part.ledger.scheduled);
            part.ledger.scheduled
        };
        assert_eq!(recorder.endpoints.iter().map(scheduled).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(scheduled(&recorder.stages[0]), 5);
        assert_eq!(recorder.ledger.check(), Ok(()));
    }

    #[test]
    fn an_errors_sample_is_the_first() {
        let mut recorder = Recorder::new();
        for n in 0..3 {
            recorder.error(Phase::Connect, "refused", 1, || format!("sample {n}"));
        }
        recorder.error(Phase::Waiting, "reset", 1, || "other".to_owned());
        let counts: Vec<_> = recorder.errors.iter().map(|e| (e.count, e.sample.as_str())).collect();
        assert_eq!(counts, [(3, "sample 0"), (1, "other")]);
    }
}
