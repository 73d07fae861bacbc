//! Exit codes, which are part of the interface: 0 done, 1 could not run, 2 usage, 3 a gate failed,
//! 4 verdict below what was required, or a limit that the data do not decide, 129, 130 and 143
//! interrupted with a partial report.

use std::io::{self, Write as _};
use std::process::ExitCode;

use plimsoll_dialect::k6::ExitCode as K6;
use plimsoll_report::escaped;

use crate::message;

/// It could not be done; not one connection could be opened, say.
pub(crate) const COULD_NOT_RUN: u8 = 1;
/// It was asked for wrongly.
pub(crate) const USAGE: u8 = 2;
/// A gate failed, or a condition ended the run.
pub(crate) const GATE: u8 = 3;
/// The verdict is below what was required, or the data do not decide a limit.
pub(crate) const VERDICT: u8 = 4;

/// Every exit code of the program, with those that k6's callers test for.
pub(crate) const CODES: [u8; 19] = [
    0,
    COULD_NOT_RUN,
    USAGE,
    GATE,
    VERDICT,
    K6::Thresholds as u8,
    K6::SetupTimeout as u8,
    K6::TeardownTimeout as u8,
    K6::StoppedByRest as u8,
    K6::InvalidConfig as u8,
    K6::Interrupted as u8,
    K6::RestAddress as u8,
    K6::ScriptException as u8,
    K6::Aborted as u8,
    K6::MarkedFailed as u8,
    129,
    130,
    143,
    K6::Other as u8,
];

/// Why the program ends before it could do its work.
#[derive(Debug)]
pub(crate) enum Exit {
    /// It could not be done: one line, code 1.
    CouldNotRun(String),
    /// It was asked for wrongly: one line, code 2.
    Usage(String),
    /// How to begin: several lines of our own, code 2.
    Introduction(&'static str),
    /// Text that was asked for (help, version), code 0.
    Text(String),
}

impl Exit {
    /// The same with another text.
    pub(crate) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::CouldNotRun(text) => Self::CouldNotRun(change(text)),
            Self::Usage(text) => Self::Usage(change(text)),
            Self::Introduction(_) | Self::Text(_) => self,
        }
    }

    /// What it says.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::CouldNotRun(text) | Self::Usage(text) | Self::Text(text) => text,
            Self::Introduction(text) => text.to_owned(),
        }
    }

    /// Says why and gives the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::CouldNotRun(text) => complain(&escaped(&text), COULD_NOT_RUN),
            Self::Usage(text) => complain(&escaped(&text), USAGE),
            Self::Introduction(text) => complain(text, USAGE),
            Self::Text(text) => print(&text),
        }
    }
}

impl From<anyhow::Error> for Exit {
    fn from(error: anyhow::Error) -> Self {
        Self::CouldNotRun(format!("{error:#}"))
    }
}

/// Writes what was asked for to stdout.
pub(crate) fn print(text: &str) -> ExitCode {
    write(text.as_bytes()).map_or_else(Exit::report, |()| ExitCode::SUCCESS)
}

/// Writes to stdout.
///
/// # Errors
/// What keeps it from being written, which is a reason for code 1.
pub(crate) fn write(bytes: &[u8]) -> Result<(), Exit> {
    to_stdout(bytes).map_err(|error| Exit::CouldNotRun(format!("stdout: {error}")))
}

/// Writes to stdout. A reader that has gone away has read enough.
///
/// # Errors
/// What keeps it from being written.
pub(crate) fn to_stdout(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn complain(text: &str, code: u8) -> ExitCode {
    message::show(&format!("plimsoll: {text}"));
    ExitCode::from(code)
}
