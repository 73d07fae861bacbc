//! The processes that are watched beside a run.

use plimsoll_core::plan::Draft;
use plimsoll_lab::sample::{ProcessSelector, Sampler, SamplerOptions};

use crate::error::RunnerError;

/// Starts to watch a server's processes, off the CPUs that the load has to itself.
///
/// # Errors
/// No process is found, or there is no thread to watch it.
pub(crate) fn watch(subject: &ProcessSelector, run: &Draft) -> Result<Sampler, RunnerError> {
    let roots = subject.find()?;
    let avoid_cpus = run.pin.clone();
    let options = SamplerOptions { avoid_cpus, ..SamplerOptions::default() };
    Sampler::start(roots, options).map_err(RunnerError::Sampler)
}
