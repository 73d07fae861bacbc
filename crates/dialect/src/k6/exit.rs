//! The exit codes that k6's callers test for.

/// Why a run ended, as its exit code. Of several reasons the first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// All went well.
    Done = 0,
    /// A test in the cloud failed.
    CloudFailed = 97,
    /// The progress of a test in the cloud could not be read.
    CloudProgress = 98,
    /// A threshold failed, during the run or at its end.
    Thresholds = 99,
    /// `setup()` took longer than `setupTimeout`.
    SetupTimeout = 100,
    /// `teardown()` took longer than `teardownTimeout`.
    TeardownTimeout = 101,
    /// Another limit on time was reached, such as that of `handleSummary()`.
    Timeout = 102,
    /// The REST interface stopped the run.
    StoppedByRest = 103,
    /// Options, thresholds or scenarios are wrong, or a function that a scenario names is missing.
    InvalidConfig = 104,
    /// SIGINT or SIGTERM stopped the run.
    Interrupted = 105,
    /// The REST interface cannot listen on its address.
    RestAddress = 106,
    /// The script threw an exception outside of iterations, or cannot be parsed.
    ScriptException = 107,
    /// The script called `test.abort()`.
    Aborted = 108,
    /// The program itself failed.
    Crash = 109,
    /// The script called `test.fail()`.
    MarkedFailed = 110,
    /// Anything else: a file that cannot be read, an unknown flag or output.
    Other = 255,
}

impl ExitCode {
    /// The code for the operating system.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The code of a run that has this one so far, after another reason to end came up.
    #[must_use]
    pub fn or(self, later: Self) -> Self {
        if self == Self::Done { later } else { self }
    }
}

/// Why nothing can be run: one line, and the exit code that k6 has for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Refused {
    /// The exit code.
    pub code: ExitCode,
    /// What is wrong, where, and what to do.
    pub what: String,
}

impl Refused {
    /// Options, thresholds or scenarios that cannot be used.
    pub(super) fn config(what: impl Into<String>) -> Self {
        Self { code: ExitCode::InvalidConfig, what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_counts() {
        let first = ExitCode::Done.or(ExitCode::Thresholds).or(ExitCode::Aborted);
        assert_eq!((first, first.code()), (ExitCode::Thresholds, 99));
        assert_eq!(ExitCode::Done.or(ExitCode::Done).code(), 0);
        assert_eq!(ExitCode::Other.code(), 255);
    }
}
