//! What a run does: scenarios that flags describe, or a k6 script. Who repeats runs need not know
//! which.

use std::process::ExitCode;

use plimsoll_core::RunResult;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::repeats::seed_of;
use plimsoll_core::scenario::Scenarios;
use plimsoll_outputs::Feed;

use crate::exit::Exit;
use crate::k6::ScriptRun;
use crate::outputs::Outputs;
use crate::run_args::RunFlags;

/// What a run does.
#[derive(Debug)]
pub(crate) enum Load {
    Scenarios(Box<Scenarios>),
    Script(ScriptRun),
}

impl Load {
    /// The scenarios of a load that has some.
    #[cfg(test)]
    pub(crate) fn scenarios(&self) -> &Scenarios {
        let Self::Scenarios(scenarios) = self else { panic!("a script: {self:?}") };
        scenarios
    }

    /// Where its requests go, if that is one place.
    pub(crate) fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Scenarios(scenarios) => Some(&scenarios.run().endpoint),
            Self::Script(_) => None,
        }
    }

    /// What the user may not expect of it, in lines.
    pub(crate) fn notes(&self) -> Vec<String> {
        match self {
            Self::Scenarios(scenarios) => crate::plan::notes(scenarios),
            Self::Script(_) => Vec::new(),
        }
    }

    /// Carries out a repeat, from 1, with a seed of its own. Gives its result, if there is one, and
    /// how it ended, as [`crate::run::carry_out`] does.
    ///
    /// # Errors
    /// Why nothing was run, or a report that could not be written.
    pub(crate) fn carry_out(
        &self,
        flags: &RunFlags,
        repeat: u32,
        outputs: Outputs,
        feed: Option<&Feed>,
        title: &str,
    ) -> Result<(Option<RunResult>, Result<ExitCode, Exit>), Exit> {
        let seed = seed_of(flags.seed, repeat);
        match self {
            Self::Scenarios(scenarios) => {
                let scenarios = crate::plan::repeated(flags, scenarios, seed)?;
                let (result, ended) =
                    crate::run::carry_out(&scenarios, flags, outputs, feed, title)?;
                Ok((Some(result), ended))
            }
            Self::Script(script) => script.carry_out(flags, seed, outputs, feed, title),
        }
    }
}
