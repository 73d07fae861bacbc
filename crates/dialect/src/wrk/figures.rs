//! The figures of a report, whatever it looks like in the end.

use plimsoll_core::errors::ErrorCount;
use plimsoll_core::phase::Phase;
use plimsoll_core::{Histogram, RunResult};

use super::values::Values;
use super::{Command, Flavour, original};

/// Errors as wrk tells them apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketErrors {
    /// While a connection was opened.
    pub connect: u64,
    /// While a response was waited for or read.
    pub read: u64,
    /// While a request was written.
    pub write: u64,
    /// Requests that timed out.
    pub timeout: u64,
}

impl SocketErrors {
    /// From errors by phase, and requests that timed out.
    fn of(errors: &[ErrorCount], timed_out: u64) -> Self {
        let mut sums = Self { timeout: timed_out, ..Self::default() };
        // A request that timed out is not counted twice; what an expectation refused was answered.
        let is_of_socket =
            |error: &ErrorCount| error.kind != "timeout" && !error.kind.starts_with("expect");
        for error in errors {
            match error.phase {
                Phase::Dns | Phase::Connect | Phase::Tls => sums.connect += error.count,
                Phase::Sending if is_of_socket(error) => sums.write += error.count,
                Phase::Waiting | Phase::Receiving if is_of_socket(error) => {
                    sums.read += error.count;
                }
                _ => {}
            }
        }
        sums
    }

    pub(super) fn any(self) -> bool {
        self != Self::default()
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            connect: self.connect.saturating_sub(other.connect),
            read: self.read.saturating_sub(other.read),
            write: self.write.saturating_sub(other.write),
            timeout: self.timeout.saturating_sub(other.timeout),
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.connect += other.connect;
        self.read += other.read;
        self.write += other.write;
        self.timeout += other.timeout;
    }
}

/// What a report says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    /// µs: of wrk from the write on, of wrk2 from the intended time on.
    pub(super) latency: Values,
    /// µs from the write on.
    pub(super) uncorrected: Values,
    /// Requests per second of a thread.
    pub(super) rates: Values,
    pub(super) completed: u64,
    /// Of those, with a status of 400 or more.
    pub(super) failed: u64,
    pub(super) received_bytes: u64,
    pub(super) errors: SocketErrors,
    pub(super) runtime_us: u64,
    /// Requests per second of a whole run, where it is known which responses count.
    pub(super) rate_rps: Option<f64>,
    /// The mean latency of wrk2's first ten seconds, µs.
    pub(super) calibration_us: Option<u64>,
}

impl Figures {
    pub(super) fn of(command: &Command, result: &RunResult) -> Self {
        let runtime_us = runtime_ns(result) / 1000;
        let completed = result.ledger.completed;
        let (latency, uncorrected) = match (command.flavour, command.as_original) {
            (Flavour::Wrk, false) => (in_us(&result.latency.service), Values::default()),
            (Flavour::Wrk, true) => {
                let each = completed / u64::from(command.connections);
                let interval = runtime_us.checked_div(each);
                (original::wrk_samples(result, interval), Values::default())
            }
            (Flavour::Wrk2, false) => {
                (in_us(&result.latency.response), in_us(&result.latency.service))
            }
            (Flavour::Wrk2, true) => {
                let (response, service) = original::wrk2_samples(result);
                (in_us(&response), in_us(&service))
            }
        };
        Self {
            latency,
            uncorrected,
            rates: rates(command, &result.details.worker_rates),
            completed,
            failed: result.ledger.failed,
            received_bytes: result.bytes.received,
            errors: errors(result),
            runtime_us,
            rate_rps: result.rate.responses.map(|_| result.rate.achieved_rps),
            calibration_us: calibration_us(command, result),
        }
    }

    /// The originals end with the time they were given, so an answer that comes later does not
    /// stretch what they divide by.
    fn per_second(&self, count: u64) -> f64 {
        if let Some(rate_rps) = self.rate_rps.filter(|_| self.completed > 0) {
            return count as f64 / self.completed as f64 * rate_rps;
        }
        if self.runtime_us == 0 { 0.0 } else { count as f64 / (self.runtime_us as f64 / 1e6) }
    }

    pub(super) fn requests_per_second(&self) -> f64 {
        self.per_second(self.completed)
    }

    pub(super) fn bytes_per_second(&self) -> f64 {
        self.per_second(self.received_bytes)
    }
}

/// How long the run took: until the last response, or as long as requests were sent.
pub(super) fn runtime_ns(result: &RunResult) -> u64 {
    result.rate.answered_ns.max(result.rate.window_ns)
}

/// The errors of a run as wrk tells them apart.
#[must_use]
pub fn errors(result: &RunResult) -> SocketErrors {
    SocketErrors::of(&result.errors, result.ledger.timed_out)
}

pub(super) fn in_us(histogram: &Histogram) -> Values {
    Values::of(histogram, 1000)
}

/// wrk leaves out stretches in which a thread received nothing.
fn rates(command: &Command, worker_rates: &Histogram) -> Values {
    let all = Values::of(worker_rates, 1);
    let drops_zeros = command.as_original && command.flavour == Flavour::Wrk;
    if drops_zeros { all.between(1, u64::MAX) } else { all }
}

fn calibration_us(command: &Command, result: &RunResult) -> Option<u64> {
    let (response, _) = original::early(result);
    let mean_us = response.mean_ns().map(|mean_ns| (mean_ns / 1000.0) as u64);
    mean_us.filter(|mean_us| command.flavour == Flavour::Wrk2 && *mean_us > 0)
}
