//! Live progress: one line on stderr, redrawn once a second.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_core::series::Point;
use plimsoll_core::units::{counted, format_duration};
use plimsoll_core::{Ledger, Plan};
use plimsoll_engine::Progress;
use plimsoll_report::progress::{ProgressSnapshot, RunPart, line};

use crate::terminal::{columns_of_stderr, takes_escapes};

/// Shows how a run goes, if there is a terminal to show it on.
#[derive(Debug)]
pub(crate) struct Live {
    shown: bool,
    /// What stands before each line.
    title: String,
    planned_ns: Option<u64>,
    planned_requests: Option<u64>,
    warmup_ns: u64,
    ledger: Ledger,
    errors: u64,
}

const CLEAR_LINE: &str = "\r\x1b[2K";

impl Live {
    pub(crate) fn new(plan: &Plan, wanted: bool, title: &str) -> Self {
        let gap = if title.is_empty() { "" } else { "  " };
        Self {
            shown: wanted && io::stderr().is_terminal() && takes_escapes(),
            title: format!("{title}{gap}"),
            planned_ns: plan.duration_ns,
            planned_requests: plan.requests,
            warmup_ns: plan.warmup_ns,
            ledger: Ledger::default(),
            errors: 0,
        }
    }

    /// Takes news of the run.
    pub(crate) fn show(&mut self, progress: &Progress<'_>) {
        if !self.shown {
            return;
        }
        let text = match progress {
            Progress::Started { open } if self.warmup_ns > 0 => {
                let open = counted(u64::from(*open), "connection");
                format!("{open} open, warming up for {}", format_duration(self.warmup_ns))
            }
            Progress::Started { open } => {
                format!("{} open", counted(u64::from(*open), "connection"))
            }
            Progress::Measuring => return,
            Progress::Interval(point) => self.interval(point),
        };
        // The line is a courtesy: a terminal that is gone must not stop the run.
        let _ = write!(io::stderr(), "{CLEAR_LINE}{}{text}", self.title);
        let _ = io::stderr().flush();
    }

    fn interval(&mut self, point: &Point) -> String {
        self.ledger.sent += point.sent;
        self.ledger.completed += point.completed;
        self.ledger.ok += point.ok;
        self.ledger.failed += point.failed;
        self.ledger.refused += point.refused;
        self.ledger.timed_out += point.timed_out;
        self.ledger.broken += point.broken;
        self.errors += point.errors;
        let elapsed_ns = point.t_ns + point.interval_ns;
        let draining = self.planned_ns.is_some_and(|planned_ns| point.t_ns >= planned_ns);
        let columns = columns_of_stderr().saturating_sub(self.title.chars().count());
        let snapshot = ProgressSnapshot {
            stage: if draining { RunPart::Draining } else { RunPart::Measuring },
            elapsed_ns,
            planned_ns: self.planned_ns,
            planned_requests: self.planned_requests,
            ledger: self.ledger,
            errors: self.errors,
            last: Some(point),
        };
        line(&snapshot, columns)
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "{CLEAR_LINE}");
            let _ = io::stderr().flush();
        }
    }
}
