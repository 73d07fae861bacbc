//! A plan file to run, in a directory of its own.

use std::fs;
use std::path::Path;

use crate::support::{Finished, Report, plimsoll, run};

/// A directory with a plan file.
pub(crate) struct Plan(tempfile::TempDir);

impl Plan {
    pub(crate) fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("plan.toml"), text).expect("a file");
        Self(directory)
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the file, with these flags beside it.
    pub(crate) fn run(&self, beside: &[&str]) -> Finished {
        let mut command = plimsoll(&["run", "plan.toml"]);
        run(command.args(beside).current_dir(self.path()))
    }

    /// A result document that a run has written.
    pub(crate) fn report(&self, name: &str) -> Report {
        let text = fs::read_to_string(self.path().join(name));
        Report::read(&text.unwrap_or_else(|error| panic!("{name}: {error}")))
    }
}
