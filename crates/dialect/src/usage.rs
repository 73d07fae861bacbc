//! What is printed in place of a run, whichever tester's command line it was.

/// A command line that starts no run: what to print and the code to exit with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageText {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}
