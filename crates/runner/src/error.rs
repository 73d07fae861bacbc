//! Why there is no result of a run.

use std::io;
use std::path::PathBuf;

use plimsoll_core::gate::GateError;
use plimsoll_core::plan::PlanErrors;
use plimsoll_core::units::format_duration;
use plimsoll_engine::RunError;
use plimsoll_lab::sample::FindError;

/// Why a run has no result. In each case nothing was loaded, or a bug was found. The words are the
/// same for every caller; what to do about it is the caller's to say, which knows what was asked.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The engine cannot carry out the plan, or the script broke.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A plan at the rate of a probe cannot be carried out.
    #[error(transparent)]
    Plan(#[from] PlanErrors),
    /// The server did not come while the run waited for it.
    #[error("{error} (tried for {})", format_duration(*limit_ns))]
    NoServer {
        /// How long the run waited, ns.
        limit_ns: u64,
        /// What the last attempt met: no address, or no connection.
        error: RunError,
    },
    /// The control socket cannot be opened.
    #[error("control socket '{}': {error}", path.display())]
    ControlSocket {
        /// Where it was to be.
        path: PathBuf,
        /// Why it is not.
        error: io::Error,
    },
    /// There is no process to watch.
    #[error(transparent)]
    Monitor(#[from] FindError),
    /// Processes cannot be watched.
    #[error("no thread to sample: {0}")]
    Sampler(io::Error),
    /// A gate cannot be judged.
    #[error(transparent)]
    Gate(#[from] GateError),
}
