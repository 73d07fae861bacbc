//! What one worker writes down: the only thing on the path of a request that remembers.
//!
//! Recording allocates nothing (an error's sample text is made the first time that error is seen).
//! Outcomes are kept apart, so the response times of all requests are a sum of parts that are
//! reported anyway.

use crate::histogram::Histogram;
use crate::ledger::Ledger;
use crate::phase::Phase;
use crate::result::ErrorCount;
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

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The whole response arrived.
    Completed {
        /// Its status.
        status: u16,
        /// Whether it was as expected.
        ok: bool,
    },
    /// It ran into the timeout.
    TimedOut,
    /// Its connection failed.
    Broken,
    /// It was still open when the drain ended.
    Unfinished,
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
    /// Waiting for a connection.
    pub blocked: Histogram,
    /// Opening connections.
    pub connect: Histogram,
    /// Writing requests.
    pub sending: Histogram,
    /// Waiting for the first byte.
    pub waiting: Histogram,
    /// Receiving responses.
    pub receiving: Histogram,
    /// From intended to started.
    pub lag: Histogram,
    /// The tester's own share of the lag.
    pub lateness: Histogram,
    /// Completed requests by status.
    pub status: Vec<u64>,
    /// What went wrong.
    pub errors: Vec<ErrorCount>,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
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
}

impl Interval {
    /// Whether nothing was started or settled in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.point.sent == 0 && self.response.is_empty()
    }

    /// The interval as it stands in a series. Empties it.
    pub fn pack(&mut self) -> Point {
        let mut point = std::mem::take(&mut self.point);
        point.response = self.response.pack();
        point.service = self.service.pack();
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
            blocked: Histogram::new(),
            connect: Histogram::new(),
            sending: Histogram::new(),
            waiting: Histogram::new(),
            receiving: Histogram::new(),
            lag: Histogram::new(),
            lateness: Histogram::new(),
            status: vec![0; 1000],
            errors: Vec::new(),
            sent_bytes: 0,
            received_bytes: 0,
            errors_count: 0,
            interval: Box::default(),
            interval_start: Totals::default(),
        }
    }

    /// A request was started on a connection.
    #[inline]
    pub fn started(&mut self, moments: &Moments) {
        self.ledger.sent += 1;
        let lateness_ns = moments.started_ns - moments.available_ns;
        self.lag.record(moments.started_ns - moments.intended_ns);
        self.blocked.record(moments.available_ns - moments.intended_ns);
        self.lateness.record(lateness_ns);
        let point = &mut self.interval.point;
        point.lateness_max_ns = point.lateness_max_ns.max(lateness_ns);
    }

    /// A request of a closed loop was started, at the moment it became possible. Its lags are
    /// nothing; [`settle_closed_loop`](Self::settle_closed_loop) writes them down for all of them.
    #[inline]
    pub fn started_at_once(&mut self) {
        self.ledger.sent += 1;
    }

    /// Writes down the lags of a closed loop's requests. To be called once, at the end.
    pub fn settle_closed_loop(&mut self) {
        for histogram in [&mut self.lag, &mut self.blocked, &mut self.lateness] {
            histogram.record_n(0, self.ledger.sent);
        }
    }

    /// A started request ended. Moments that never came are those of the end.
    #[inline]
    pub fn ended(&mut self, moments: &Moments, end_ns: u64, outcome: Outcome) {
        let response_ns = end_ns - moments.intended_ns;
        let service_ns = end_ns.saturating_sub(moments.sent_ns);
        match outcome {
            Outcome::Completed { status, ok } => {
                self.ledger.completed += 1;
                self.status[usize::from(status).min(999)] += 1;
                if ok {
                    self.ledger.ok += 1;
                    self.ok.record(response_ns);
                } else {
                    self.ledger.failed += 1;
                    self.failed.record(response_ns);
                }
                self.sending.record(moments.written_ns - moments.sent_ns);
                self.waiting.record(moments.first_byte_ns - moments.written_ns);
                self.receiving.record(end_ns - moments.first_byte_ns);
            }
            Outcome::TimedOut => self.ledger.timed_out += 1,
            Outcome::Broken => self.ledger.broken += 1,
            Outcome::Unfinished => self.ledger.unfinished += 1,
        }
        if !matches!(outcome, Outcome::Completed { .. }) {
            self.incomplete.record(response_ns);
        }
        self.service.record(service_ns);
        self.interval.response.record(response_ns);
        self.interval.service.record(service_ns);
    }

    /// A slot came due and found no connection before the end; it had waited this long.
    pub fn unsent(&mut self, waited_ns: u64) {
        self.ledger.scheduled += 1;
        self.ledger.unsent += 1;
        self.incomplete.record(waited_ns);
    }

    /// Something went wrong in a phase, `count` times. `sample` is called the first time only.
    pub fn error(
        &mut self,
        phase: Phase,
        kind: &'static str,
        count: u64,
        sample: impl FnOnce() -> String,
    ) {
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
        empty: Box<Interval>,
    ) -> Box<Interval> {
        let now = Totals {
            ledger: self.ledger,
            errors_count: self.errors_count,
            received_bytes: self.received_bytes,
        };
        let before = std::mem::replace(&mut self.interval_start, now);
        let mut interval = std::mem::replace(&mut self.interval, empty);
        interval.point = Point {
            t_ns: index * INTERVAL_NS,
            interval_ns: INTERVAL_NS,
            sent: now.ledger.sent - before.ledger.sent,
            completed: now.ledger.completed - before.ledger.completed,
            ok: now.ledger.ok - before.ledger.ok,
            failed: now.ledger.failed - before.ledger.failed,
            timed_out: now.ledger.timed_out - before.ledger.timed_out,
            broken: now.ledger.broken - before.ledger.broken,
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
        for (mine, theirs) in self.histograms_mut().into_iter().zip(other.histograms()) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.status.iter_mut().zip(&other.status) {
            *mine += theirs;
        }
        crate::result::merge_errors(&mut self.errors, &other.errors);
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
    }

    fn histograms(&self) -> [&Histogram; 11] {
        [
            &self.ok,
            &self.failed,
            &self.incomplete,
            &self.service,
            &self.blocked,
            &self.connect,
            &self.sending,
            &self.waiting,
            &self.receiving,
            &self.lag,
            &self.lateness,
        ]
    }

    fn histograms_mut(&mut self) -> [&mut Histogram; 11] {
        [
            &mut self.ok,
            &mut self.failed,
            &mut self.incomplete,
            &mut self.service,
            &mut self.blocked,
            &mut self.connect,
            &mut self.sending,
            &mut self.waiting,
            &mut self.receiving,
            &mut self.lag,
            &mut self.lateness,
        ]
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
        recorder.started(&moments());
        recorder.connect.record(200 - 135);
        recorder.ended(&moments(), 333, Outcome::Completed { status: 200, ok: true });
        let parts = [
            &recorder.blocked,
            &recorder.lateness,
            &recorder.connect,
            &recorder.sending,
            &recorder.waiting,
            &recorder.receiving,
        ];
        let sum: u64 = parts.iter().map(|histogram| histogram.sum_ns()).sum();
        assert_eq!(sum, 233);
        assert_eq!(recorder.response().sum_ns(), 233);
        assert_eq!(recorder.service.sum_ns(), 133);
        assert_eq!(recorder.lag.sum_ns(), 35);
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
            recorder.ledger.scheduled += 1;
            recorder.started(&moments());
            recorder.ended(&moments(), 400, outcome);
        }
        recorder.unsent(77);
        assert_eq!(recorder.ledger.check(), Ok(()));
        assert_eq!(recorder.response().count(), 6);
        assert_eq!(recorder.response().min_ns(), Some(77));
        assert_eq!(recorder.service.count(), 5);
        assert_eq!((recorder.status[200], recorder.status[503]), (1, 1));
    }

    #[test]
    fn an_interval_holds_what_came_since_the_last() {
        let mut recorder = Recorder::new();
        for index in 0..3u64 {
            for _ in 0..=index {
                recorder.started(&moments());
                recorder.ended(&moments(), 400, Outcome::TimedOut);
            }
            let point = recorder.take_interval(index, 5, Box::default()).pack();
            assert_eq!((point.sent, point.timed_out), (index + 1, index + 1));
            assert_eq!(point.response.unpack().count(), index + 1);
            assert_eq!(point.lateness_max_ns, 5);
        }
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
