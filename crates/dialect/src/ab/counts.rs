//! The counts of a report, in ab's categories, and its rates.

use plimsoll_core::errors::ErrorCount;
use plimsoll_core::phase::Phase;
use plimsoll_core::result::RunResult;

use super::Command;

/// What the engine calls a response of another length than the first one.
const LENGTH: &str = "length";

/// What it calls a request that ran into the timeout.
const TIMEOUT: &str = "timeout";

/// What a connection ended with where the server closed it in order, though too early.
const CLOSED: [&str; 3] = ["closed", "truncated_head", "truncated_body"];

/// Requests and their failures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Requests with a whole response.
    pub complete: u64,
    /// Connections that could not be opened.
    pub connect: u64,
    /// Requests whose connection failed before the whole response.
    pub receive: u64,
    /// Responses of another length than the first one.
    pub length: u64,
    /// Requests that ran into the timeout.
    pub exceptions: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Responses with another status than 2xx.
    pub non_2xx: u64,
}

impl Counts {
    pub(super) fn of(command: &Command, result: &RunResult) -> Self {
        let status = result.status.iter().filter(|(status, _)| **status / 100 != 2);
        let mut counts = Self {
            complete: result.ledger.completed,
            length: result.ledger.failed,
            non_2xx: status.map(|(_, count)| count).sum(),
            ..Self::default()
        };
        for error in &result.errors {
            counts.error(error, command.as_original);
        }
        counts
    }

    fn error(&mut self, error: &ErrorCount, as_original: bool) {
        let (kind, count) = (error.kind.as_str(), error.count);
        match error.phase {
            // Those are counted with the responses, which were complete.
            _ if kind == LENGTH || kind.starts_with("expect_") => {}
            _ if kind == TIMEOUT => self.exceptions += count,
            Phase::Blocked | Phase::Dns | Phase::Connect | Phase::Tls => self.connect += count,
            phase if as_original => self.ended(phase, kind, count),
            phase => {
                self.write += if phase == Phase::Sending { count } else { 0 };
                self.receive += count;
            }
        }
    }

    /// Connections that ended before the whole response, as ab counts them: requests that are
    /// complete, of another length than the first; and errors, where it was told of one.
    fn ended(&mut self, phase: Phase, kind: &str, count: u64) {
        self.complete += count;
        self.length += count;
        if phase == Phase::Sending {
            self.write += count;
        } else if !CLOSED.contains(&kind) {
            // It meets the same error when it reads and when it polls.
            self.receive += count;
            self.exceptions += count;
        }
    }

    /// All failures.
    pub(super) fn failed(&self) -> u64 {
        self.connect + self.receive + self.length + self.exceptions
    }
}

/// How long the test took, seconds: until the last response, or as long as requests were started.
/// Where it went on until requests had run into their timeout, it took until then.
pub(super) fn seconds_taken(result: &RunResult) -> f64 {
    let until_answered_ns = result.rate.answered_ns.max(result.rate.window_ns);
    let has_waited = result.ledger.timed_out > 0 && result.plan.duration_ns.is_none();
    let goes_on = result.rate.answered_ns == 0 || has_waited;
    let taken_ns = if goes_on { result.elapsed_ns } else { until_answered_ns };
    taken_ns as f64 / 1e9
}

/// The document's length as the report shows it.
pub(super) fn document_length(command: &Command, result: &RunResult) -> String {
    if command.variable_length {
        return "Variable".to_owned();
    }
    let bytes = result.details.first.as_ref().map_or(0, |first| first.body_bytes);
    format!("{bytes} bytes")
}

/// The server's name: the first word of its `Server` field.
pub(super) fn server_software(result: &RunResult) -> &str {
    let server = result.details.first.as_ref().map_or("", |first| first.server.as_str());
    // What a server sends goes to a terminal: nothing but visible ASCII does.
    let end = server.find(|letter: char| !letter.is_ascii_graphic()).unwrap_or(server.len());
    &server[..end]
}
