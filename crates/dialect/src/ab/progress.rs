//! How far a run is, and how it ends: lines for standard error, the exit code.

use std::fmt::Write as _;

use plimsoll_core::errors::ErrorCount;
use plimsoll_core::phase::Phase;
use plimsoll_core::result::RunResult;

use super::Command;
use crate::UsageText;

/// Runs of this many requests or fewer end before a user would ask how far they are.
const SHORT_RUN: u64 = 150;

/// The least number of requests between two lines.
const STEP_MIN: u64 = 100;

/// What operating systems' errors are to the engine, to ab, and by number on Linux.
const ERRORS: [(&str, &str, u8); 7] = [
    ("refused", "Connection refused", 111),
    ("reset", "Connection reset by peer", 104),
    ("broken_pipe", "Broken pipe", 32),
    ("aborted", "Software caused connection abort", 103),
    ("timed_out", "Connection timed out", 110),
    ("unreachable", "No route to host", 113),
    ("no_ports", "Cannot assign requested address", 99),
];

impl Command {
    /// After how many requests a line is due; `None` where none ever is.
    pub(super) fn heartbeat_step(&self) -> Option<u64> {
        let is_long = self.heartbeat && self.requests > SHORT_RUN;
        is_long.then(|| (self.requests / 10).max(STEP_MIN))
    }
}

/// Tells how far a run is.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    step: Option<u64>,
    told: u64,
}

impl Heartbeat {
    /// At the start of a run.
    #[must_use]
    pub fn new(command: &Command) -> Self {
        Self { step: command.heartbeat_step(), told: 0 }
    }

    /// The lines for standard error that are due now that `complete` requests are complete:
    /// nothing, one, or several where much has happened since the last call.
    pub fn lines(&mut self, complete: u64) -> String {
        let mut text = String::new();
        let Some(step) = self.step else { return text };
        while self.told + step <= complete {
            self.told += step;
            let _ = writeln!(text, "Completed {} requests", self.told);
        }
        text
    }
}

/// What is printed once a run is over, around the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// For standard output, before the report.
    pub stdout: String,
    /// For standard error, before the report.
    pub stderr: String,
    /// Whether there is a report.
    pub report: bool,
    /// The exit code.
    pub code: u8,
}

/// How a run ends. A failed request alone is no failure of the run; without `-r` a connection that
/// was refused or reset is, and the number of its error becomes the exit code. A run that such
/// errors have ended has no report.
#[must_use]
pub fn ending(command: &Command, result: &RunResult) -> Ending {
    let complete = result.ledger.completed;
    let mut ending = Ending { stdout: String::new(), stderr: String::new(), report: true, code: 0 };
    if result.aborted.is_some() {
        ending.stderr = format!("\nTest aborted after {} failures\n\n", result.ledger.broken);
        ending.code = 1;
    } else if result.interrupted {
        ending.code = 1;
    } else if command.heartbeat_step().is_some() {
        ending.stderr = format!("Finished {complete} requests\n");
    } else {
        ending.stdout = "..done\n".to_owned();
    }
    let fatal = if command.goes_on { None } else { first_fatal(&result.errors) };
    if let Some((line, code)) = fatal {
        ending.stderr += &format!("{line}\n");
        ending.code = code;
        ending.report = result.aborted.is_none();
        if !ending.report && complete > 0 {
            ending.stdout = format!("Total of {complete} requests completed\n");
        }
    }
    ending
}

/// What to print where no connection could be opened, and nothing was measured. `reason` is what
/// the first attempt met, in the operating system's words.
#[must_use]
pub fn not_reached(reason: &str) -> UsageText {
    let known = ERRORS.iter().find(|(_, text, _)| reason.starts_with(text));
    let (text, code) = known.map_or((reason, 1), |(_, text, number)| (*text, *number));
    let line = match known {
        Some(_) => format!("apr_socket_recv: {text} ({code})"),
        None => format!("apr_socket_recv: {text}"),
    };
    UsageText { code, ..UsageText::fatal(&line) }
}

/// The line and exit code of the most frequent error of connections, in ab's words.
fn first_fatal(errors: &[ErrorCount]) -> Option<(String, u8)> {
    errors.iter().find_map(|error| {
        let (_, text, number) = ERRORS.iter().find(|(kind, ..)| *kind == error.kind)?;
        // It learns of a refused connection when it reads.
        let call = if *number == 99 && error.phase == Phase::Connect {
            "apr_socket_connect()"
        } else {
            "apr_socket_recv"
        };
        Some((format!("{call}: {text} ({number})"), *number))
    })
}
