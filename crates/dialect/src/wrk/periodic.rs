//! Reports at intervals (`-p`): each of what happened since the one before, the last of the rest.
//!
//! Between reports only the sums of a run's points are known, so errors are told apart less finely
//! than at the end, and rates of threads are the run's, divided by their number. The last report is
//! the whole result without what was reported, so that the reports add up to it.

use std::io::{self, Write};

use plimsoll_core::series::Point;
use plimsoll_core::{Histogram, RunResult};

use super::figures::{self, Figures, SocketErrors, in_us};
use super::values::Values;
use super::{Command, original, text};

/// When wrk2 prints its lines of calibration, ns.
const CALIBRATION_NS: u64 = 10_000_000_000;

/// Sums over a stretch of the run.
#[derive(Debug, Clone, Default)]
struct Sums {
    time_ns: u64,
    completed: u64,
    failed: u64,
    received_bytes: u64,
    errors: SocketErrors,
    response: Histogram,
    service: Histogram,
    rates: Histogram,
}

impl Sums {
    fn add_point(&mut self, point: &Point, threads: u32) {
        self.time_ns += point.interval_ns;
        self.completed += point.completed;
        self.failed += point.failed;
        self.received_bytes += point.received_bytes;
        let others = point.errors.saturating_sub(point.refused + point.broken + point.timed_out);
        self.errors.add(SocketErrors {
            connect: others,
            read: point.refused + point.broken,
            write: 0,
            timeout: point.timed_out,
        });
        self.response.merge(&point.response.unpack());
        self.service.merge(&point.service.unpack());
        let seconds = point.interval_ns as f64 / 1e9 * f64::from(threads);
        self.rates.record_n((point.completed as f64 / seconds) as u64, u64::from(threads));
    }

    fn add(&mut self, other: &Self) {
        self.time_ns += other.time_ns;
        self.completed += other.completed;
        self.failed += other.failed;
        self.received_bytes += other.received_bytes;
        self.errors.add(other.errors);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }

    /// What the whole result has beyond these.
    fn rest(&self, result: &RunResult, rates: Histogram) -> Self {
        Self {
            time_ns: figures::runtime_ns(result).saturating_sub(self.time_ns),
            completed: result.ledger.completed.saturating_sub(self.completed),
            failed: result.ledger.failed.saturating_sub(self.failed),
            received_bytes: result.bytes.received.saturating_sub(self.received_bytes),
            errors: figures::errors(result).minus(self.errors),
            response: original::difference(&result.latency.response, &self.response),
            service: original::difference(&result.latency.service, &self.service),
            rates,
        }
    }

    fn figures(&self) -> Figures {
        Figures {
            latency: in_us(&self.response),
            uncorrected: in_us(&self.service),
            rates: Values::of(&self.rates, 1),
            completed: self.completed,
            failed: self.failed,
            received_bytes: self.received_bytes,
            errors: self.errors,
            runtime_us: self.time_ns / 1000,
            rate_rps: None,
            calibration_us: None,
        }
    }
}

/// Prints reports while the points of a run come in.
#[derive(Debug, Clone)]
pub struct Periodic {
    command: Command,
    interval_ns: u64,
    /// Since the last report.
    pending: Sums,
    reported: Sums,
    is_calibrated: bool,
}

impl Periodic {
    /// For a command with `-p`; `None` without.
    #[must_use]
    pub fn new(command: &Command) -> Option<Self> {
        let interval_ns = command.report_interval_ns?;
        let (pending, reported) = (Sums::default(), Sums::default());
        Some(Self {
            command: command.clone(),
            interval_ns,
            pending,
            reported,
            is_calibrated: false,
        })
    }

    /// Takes the next point of the run. Prints a report when one is due and says whether it did.
    ///
    /// # Errors
    /// As writing to `out` fails.
    pub fn push(&mut self, point: &Point, out: &mut dyn Write) -> io::Result<bool> {
        self.pending.add_point(point, self.command.threads);
        self.calibrate(out)?;
        if self.pending.time_ns < self.interval_ns {
            return Ok(false);
        }
        text::write(&self.command, &self.pending.figures(), out)?;
        if !self.command.json {
            writeln!(out, "=== REPORT END ===")?;
        }
        let pending = std::mem::take(&mut self.pending);
        self.reported.add(&pending);
        Ok(true)
    }

    /// Prints the last report, of what no other was about.
    ///
    /// # Errors
    /// As writing to `out` fails.
    pub fn finish(&mut self, result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
        let rates = std::mem::take(&mut self.pending.rates);
        let rest = self.reported.rest(result, rates);
        text::write(&self.command, &rest.figures(), out)
    }

    fn calibrate(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let time_ns = self.reported.time_ns + self.pending.time_ns;
        if self.is_calibrated || time_ns < CALIBRATION_NS {
            return Ok(());
        }
        self.is_calibrated = true;
        let mut early = self.reported.response.clone();
        early.merge(&self.pending.response);
        match early.mean_ns().map(|mean_ns| (mean_ns / 1000.0) as u64) {
            Some(mean_us) if mean_us > 0 => text::write_calibration(&self.command, mean_us, out),
            _ => Ok(()),
        }
    }
}
