//! What outputs know of a run: counts and durations since the feed began, what an interval added to
//! them, and how the run stands. Receivers get the one or the other, as their model asks.
//!
//! Several runs may go through one feed, such as the probes of a search: counts go on growing, as
//! receivers of counters expect.

use std::collections::BTreeMap;
use std::sync::Arc;

use plimsoll_core::live::{LiveFigures, RunPart};
use plimsoll_core::series::{Point, add_statuses};
use plimsoll_core::{Histogram, Ledger, RunResult};

use crate::events::{Agenda, Event, Timetable};

/// Counts and durations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub ledger: Ledger,
    /// Requests that failed, as gates count `errors`: all that ended otherwise than as expected,
    /// and in a closed loop the times that a user could send none, known at the end of a run.
    pub errors: u64,
    pub received_bytes: u64,
    /// Completed requests by status.
    pub status: BTreeMap<u16, u64>,
    pub response: Histogram,
    pub service: Histogram,
}

impl Totals {
    /// What happened in an interval.
    fn of_point(point: &Point) -> Self {
        let ledger = Ledger {
            scheduled: point.sent + point.shed,
            sent: point.sent,
            shed: point.shed,
            completed: point.completed,
            refused: point.refused,
            timed_out: point.timed_out,
            broken: point.broken,
            ok: point.ok,
            failed: point.failed,
            ..Ledger::default()
        };
        let mut response = point.response.unpack();
        response.merge(&point.shed_waits.unpack());
        Self {
            ledger,
            errors: not_ok(&ledger),
            received_bytes: point.received_bytes,
            status: point.status.clone(),
            response,
            service: point.service.unpack(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.ledger.merge(&other.ledger);
        self.errors += other.errors;
        self.received_bytes += other.received_bytes;
        add_statuses(&mut self.status, &other.status);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    /// The counts beyond those of an earlier time; no durations.
    fn counts_since(&self, before: &Self) -> Self {
        let (now, then) = (&self.ledger, &before.ledger);
        let ledger = Ledger {
            scheduled: now.scheduled.saturating_sub(then.scheduled),
            sent: now.sent.saturating_sub(then.sent),
            shed: now.shed.saturating_sub(then.shed),
            unsent: now.unsent.saturating_sub(then.unsent),
            completed: now.completed.saturating_sub(then.completed),
            refused: now.refused.saturating_sub(then.refused),
            timed_out: now.timed_out.saturating_sub(then.timed_out),
            broken: now.broken.saturating_sub(then.broken),
            unfinished: now.unfinished.saturating_sub(then.unfinished),
            ok: now.ok.saturating_sub(then.ok),
            failed: now.failed.saturating_sub(then.failed),
            redirects: now.redirects.saturating_sub(then.redirects),
            resent: now.resent.saturating_sub(then.resent),
            reconnects: now.reconnects.saturating_sub(then.reconnects),
        };
        let status = self.status.iter().map(|(status, count)| {
            (*status, count - before.status.get(status).copied().unwrap_or(0).min(*count))
        });
        Self {
            ledger,
            errors: self.errors.saturating_sub(before.errors),
            received_bytes: self.received_bytes.saturating_sub(before.received_bytes),
            status: status.filter(|(_, count)| *count > 0).collect(),
            ..Self::default()
        }
    }
}

/// How many requests ended otherwise than as expected.
fn not_ok(ledger: &Ledger) -> u64 {
    let ended = outcomes(ledger).into_iter();
    ended.filter(|(outcome, _)| *outcome != "ok").map(|(_, count)| count).sum()
}

/// A way in which a request can end, as outputs name it, and how many ended so.
pub(crate) fn outcomes(ledger: &Ledger) -> [(&'static str, u64); 8] {
    [
        ("ok", ledger.ok),
        ("failed", ledger.failed),
        ("refused", ledger.refused),
        ("timed_out", ledger.timed_out),
        ("broken", ledger.broken),
        ("unfinished", ledger.unfinished),
        ("unsent", ledger.unsent),
        ("shed", ledger.shed),
    ]
}

/// How a run ended.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    totals: Totals,
    /// What happened to the run, in a word.
    pub word: &'static str,
    /// The verdict's name.
    pub verdict: &'static str,
    /// Each gate, as given, and whether it was met.
    pub gates: Vec<(String, bool)>,
}

impl Ending {
    pub(crate) fn of(result: &RunResult) -> Self {
        let totals = Totals {
            ledger: result.ledger,
            errors: result.failures().0,
            received_bytes: result.bytes.received,
            status: result.status.clone(),
            response: result.latency.response.clone(),
            service: result.latency.service.clone(),
        };
        let gates = result.gates.iter().map(|gate| (gate.expr.clone(), gate.pass));
        let word = match (&result.aborted, result.interrupted) {
            (Some(_), _) => "aborted",
            (None, true) => "interrupted",
            (None, false) => "ended",
        };
        Self { totals, word, verdict: result.loader.verdict.name(), gates: gates.collect() }
    }
}

/// How the run stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gauges {
    pub part: RunPart,
    /// Requests per second; `None` in a closed loop.
    pub target_rps: Option<f64>,
    pub connections: u32,
    /// CPUs that the workers used in the interval, spinning left out.
    pub cpu_cores: f64,
    pub lateness_max_ns: u64,
}

impl Gauges {
    fn of(figures: &LiveFigures, point: &Point) -> Self {
        let cpu_cores = point.loader_cpu_ns as f64 / point.interval_ns.max(1) as f64;
        Self {
            part: figures.part,
            target_rps: figures.target_rps,
            connections: figures.connections,
            cpu_cores,
            lateness_max_ns: point.lateness_max_ns,
        }
    }
}

/// Whose names metrics have, for Prometheus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Names {
    /// Plimsoll's.
    #[default]
    Own,
    /// Those that k6 gives what it measures.
    K6,
}

/// All that is known at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// How it is written.
    pub names: Names,
    /// When counting began, ns since 1970.
    pub began_ns: u64,
    /// The last time that something was told, ns since 1970.
    pub time_ns: u64,
    /// Since counting began.
    pub totals: Totals,
    pub gauges: Gauges,
    /// How the last run ended, while none goes on.
    pub ending: Option<Ending>,
    /// What happened since the moment before.
    pub events: Vec<Event>,
    pub agenda: Agenda,
    /// As the run that goes on found them.
    before: Totals,
}

/// What a receiver is told.
#[derive(Debug)]
pub(crate) struct Moment<'a> {
    pub kind: Kind,
    /// What was added since the moment before.
    pub new: &'a Totals,
    /// All that is known.
    pub all: &'a Figures,
}

/// What a moment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The measured part of a run begins.
    Began,
    /// An interval is over.
    Interval,
    /// A run has ended.
    Ended,
}

impl Figures {
    /// Nothing yet, to be written under these names.
    pub(crate) fn named(names: Names) -> Self {
        Self { names, ..Self::default() }
    }

    /// A run begins to be measured.
    pub(crate) fn begin(&mut self, time_ns: u64, timetable: &Arc<Timetable>) -> Totals {
        if self.began_ns == 0 {
            self.began_ns = time_ns;
        }
        self.advance(time_ns);
        (self.agenda, self.events) = Agenda::begin(timetable, self.time_ns);
        self.before.clone_from(&self.totals);
        self.ending = None;
        Totals::default()
    }

    /// An interval of it is over; gives what it added.
    pub(crate) fn add(&mut self, time_ns: u64, live: &LiveFigures) -> Totals {
        let Some(point) = &live.last else { return Totals::default() };
        self.advance(time_ns);
        self.events = self.agenda.until(self.time_ns);
        self.gauges = Gauges::of(live, point);
        let new = Totals::of_point(point);
        self.totals.add(&new);
        new
    }

    /// It has ended; gives the counts that no interval had.
    pub(crate) fn end(&mut self, time_ns: u64, ending: &Ending) -> Totals {
        self.advance(time_ns);
        let mut whole = self.before.clone();
        whole.add(&ending.totals);
        // A counter never goes back.
        whole.errors = whole.errors.max(self.totals.errors);
        whole.received_bytes = whole.received_bytes.max(self.totals.received_bytes);
        let new = whole.counts_since(&self.totals);
        self.totals = whole;
        self.gauges = Gauges { part: RunPart::Draining, ..Gauges::default() };
        // A stage that begins as the run ends has no time to be a stage.
        self.events = self.agenda.until(self.time_ns - 1);
        self.events.push(Event::ended(self.time_ns, ending.word, ending.verdict, &ending.gates));
        self.ending = Some(ending.clone());
        new
    }

    /// Receivers want times that grow, by a millisecond at least.
    fn advance(&mut self, time_ns: u64) {
        self.time_ns = time_ns.max(self.time_ns + 1_000_000);
    }
}
