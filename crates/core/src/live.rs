//! Live figures: a run at one moment, while it goes on. All that shows a run shows these: the line
//! on a terminal, the answers of a control socket, a page. The runner computes them once. They hold
//! no reference, so that they can be sent.
//!
//! Absent on purpose: verdict and gates, which are about a whole run, and histograms of all seconds
//! together, which would have to be unpacked and added up each second.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Packed;
use crate::ledger::Ledger;
use crate::plan::Draft;
use crate::series::{Point, add_statuses};

/// Which part of a run goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPart {
    /// The load has not begun: connections are opened.
    #[default]
    Opening,
    /// Load before the measured part.
    WarmUp,
    /// Requests are started, and every figure counts them.
    Measuring,
    /// No request is started any more; those open may still end.
    Draining,
}

impl RunPart {
    /// Its name, as documents have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::WarmUp => "warm_up",
            Self::Measuring => "measuring",
            Self::Draining => "draining",
        }
    }
}

/// How far a run goes, as its plan says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    /// How long the warm-up lasts.
    #[serde(rename = "warmup_s", with = "crate::serde_units::from_ns")]
    pub warmup_ns: u64,
    /// For how long requests are started after it; `None` where the plan does not say.
    #[serde(rename = "duration_s", with = "crate::serde_units::optional_from_ns")]
    pub duration_ns: Option<u64>,
    /// How many requests are started; `None` where the plan does not say.
    pub requests: Option<u64>,
}

/// A run at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveFigures {
    /// What goes on.
    pub part: RunPart,
    /// Since the load began, the warm-up included; 0 before.
    #[serde(rename = "elapsed_s", with = "crate::serde_units::from_ns")]
    pub elapsed_ns: u64,
    /// How far it goes.
    pub planned: Planned,
    /// The rate that is aimed at now, requests per second; `None` in a closed loop and for a list
    /// of times.
    pub target_rps: Option<f64>,
    /// Connections asked for last.
    pub connections: u32,
    /// Connections that were open when the load began, 0 where each request opens its own; `None`
    /// before.
    pub opened: Option<u32>,
    /// The measured part to the end of the last whole interval. What is known at the end of a run
    /// alone is 0: `scheduled`, `unsent`, `unfinished`, `redirects` and `reconnects`.
    pub ledger: Ledger,
    /// Errors in the same time.
    pub errors: u64,
    /// Whole responses by status in the same time, 0 for those without one.
    #[serde(default)]
    pub status: BTreeMap<u16, u64>,
    /// The last whole interval by itself, without what waited at its end.
    pub last: Option<Point>,
}

impl LiveFigures {
    /// Those of a run of this plan before its load.
    #[must_use]
    pub fn new(plan: &Draft) -> Self {
        let planned = Planned {
            warmup_ns: plan.warmup_ns,
            duration_ns: plan.duration_ns,
            requests: plan.requests,
        };
        Self { planned, connections: plan.connections, ..Self::default() }
    }

    /// Takes the next interval of the measured part.
    pub fn add(&mut self, point: &Point) {
        let ledger = &mut self.ledger;
        ledger.sent += point.sent;
        ledger.shed += point.shed;
        ledger.completed += point.completed;
        ledger.ok += point.ok;
        ledger.failed += point.failed;
        ledger.refused += point.refused;
        ledger.timed_out += point.timed_out;
        ledger.broken += point.broken;
        self.errors += point.errors;
        add_statuses(&mut self.status, &point.status);
        // It is in no document, and what is shown here is what others are sent.
        let (overdue, waiting) = (0, Packed::default());
        self.last = Some(Point { overdue, waiting, ..point.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::plan::Endpoint;

    const SECOND_NS: u64 = 1_000_000_000;

    fn point(second: u64) -> Point {
        let mut times = Histogram::new();
        times.record_n(1_234_567 * (second + 1), 10);
        Point {
            t_ns: second * SECOND_NS,
            interval_ns: SECOND_NS,
            sent: 15,
            shed: 1,
            completed: 10,
            ok: 7,
            failed: 3,
            refused: 1,
            timed_out: 2,
            broken: 1,
            errors: 4,
            status: [(200, 7), (503, 3)].into(),
            lateness_max_ns: 1_001,
            overdue: 5,
            waiting: times.pack(),
            response: times.pack(),
            service: times.pack(),
            ..Point::default()
        }
    }

    fn after(seconds: u64) -> LiveFigures {
        let plan = Draft {
            warmup_ns: SECOND_NS / 3,
            duration_ns: None,
            requests: Some(1_000),
            connections: 7,
            ..Draft::new(Endpoint::http("a", 80, "/"))
        };
        let mut figures = LiveFigures::new(&plan);
        (0..seconds).for_each(|second| figures.add(&point(second)));
        figures
    }

    #[test]
    fn they_survive_json_and_back() {
        let measuring = LiveFigures {
            part: RunPart::Measuring,
            elapsed_ns: 2_345_678_901,
            target_rps: Some(1000.0 / 3.0),
            opened: Some(0),
            ..after(2)
        };
        for figures in [LiveFigures::default(), after(0), measuring] {
            let text = serde_json::to_string(&figures).unwrap();
            let read: LiveFigures = serde_json::from_str(&text).unwrap();
            assert_eq!(read, figures, "{text}");
        }
    }

    #[test]
    fn intervals_add_up_and_the_last_stands_alone() {
        let figures = after(2);
        let ledger = Ledger {
            sent: 30,
            shed: 2,
            completed: 20,
            ok: 14,
            failed: 6,
            refused: 2,
            timed_out: 4,
            broken: 2,
            ..Ledger::default()
        };
        assert_eq!((figures.ledger, figures.errors), (ledger, 8));
        assert_eq!(figures.status, [(200, 14), (503, 6)].into());
        let last = figures.last.expect("two intervals came");
        assert_eq!((last.t_ns, last.sent), (SECOND_NS, 15));
        assert_eq!(last.response, point(1).response);
    }

    #[test]
    fn a_part_is_called_the_same_everywhere() {
        for part in [RunPart::Opening, RunPart::WarmUp, RunPart::Measuring, RunPart::Draining] {
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
        }
    }
}
