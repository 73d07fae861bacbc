//! `lab --out`: testers that are Plimsoll send their figures themselves, with labels that say which
//! run they are of.
//!
//! Each run is a process of its own, and so has series of its own: its counters begin at 0. What
//! the runs of a study have in common is the label `run`.

use plimsoll_lab::order::PlannedRun;
use plimsoll_lab::testers::Tester;

use crate::exit::Exit;
use crate::feed::{Wanted, no_variables, run_id};
use crate::feed_args::FeedFlags;
use crate::value_args::variable;

/// Where the figures of a study's runs go.
#[derive(Debug)]
pub(super) struct Figures {
    wanted: Wanted,
    /// The label `run` of all of them.
    study: String,
}

impl Figures {
    /// What flags and the environment ask for.
    ///
    /// # Errors
    /// What is wrong there.
    pub(super) fn wanted(flags: &FeedFlags) -> Result<Self, Exit> {
        let wanted = Wanted::of(flags, &variable).map_err(Exit::Usage)?;
        Ok(Self { wanted, study: run_id() })
    }

    /// The variables of the environment of a run's tester. Warm-ups and checks send nothing, nor
    /// does k6's command line, which has outputs of its own.
    pub(super) fn variables(&self, run: Option<&PlannedRun<'_>>) -> Vec<(&'static str, String)> {
        match run {
            Some(run) if run.load.tester != Tester::PlimsollK6 => self.wanted.variables(&[
                ("run", &self.study),
                ("server", &run.server.name),
                ("load", &run.load.name),
                ("repeat", &run.repeat.to_string()),
            ]),
            _ => no_variables(),
        }
    }
}
