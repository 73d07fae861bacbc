//! One run: from a plan to its reports.

mod wait;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use plimsoll_core::gate::{self, AbortWatch, GateError};
use plimsoll_core::{Plan, RunResult};
use plimsoll_engine::{Control, Progress, RunError};
use plimsoll_lab::sample::{ProcessSelector, Root, Sampler, SamplerOptions};
use plimsoll_script::lua::Api;

use crate::control::ControlSocket;
use crate::ending::end;
use crate::exit::Exit;
use crate::outputs::Outputs;
use crate::progress::Live;
use crate::run_args::RunFlags;
use crate::script::{Loading, Scripts};
use crate::signals::Caught;

/// A run that was carried out.
pub(crate) struct Loaded {
    /// What happened.
    pub result: RunResult,
    /// Whether it was a signal that ended it.
    pub caught: Caught,
    /// Whether the time series could be written.
    pub series: anyhow::Result<()>,
    /// The script, to be told of the result.
    pub scripts: Option<Scripts>,
}

/// What goes on beside a run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// Where commands are taken.
    pub control: Option<&'a Path>,
    /// Whose processes are watched.
    pub monitor: Option<&'a ProcessSelector>,
    /// How long to wait for the server before the load, ns.
    pub wait_ns: Option<u64>,
    /// Whether to print nothing about the wait.
    pub is_quiet: bool,
    /// What stands before the live progress; empty where there is one run alone.
    pub title: &'a str,
}

/// Runs a plan that was made of flags, once, and writes its reports. The title stands before the
/// live progress. Gives the result and how the run ended: with an exit code, or with the reason why
/// it could not be carried out. In that case the reports say the same.
///
/// # Errors
/// A plan that cannot be carried out anywhere, or a report that could not be written.
pub(crate) fn carry_out(
    plan: &Plan,
    flags: &RunFlags,
    mut outputs: Outputs,
    title: &str,
) -> Result<(RunResult, Result<ExitCode, Exit>), Exit> {
    let is_quiet = flags.outputs.quiet;
    let live = !is_quiet && !flags.outputs.no_progress;
    let monitor = flags.monitor.as_ref();
    let control = flags.control.as_deref();
    let beside = Beside { control, monitor, wait_ns: flags.wait, is_quiet, title };
    let Loaded { result, caught, series, mut scripts } =
        match load(plan, &mut outputs, live, beside) {
            Ok(loaded) => loaded,
            Err(Exit::CouldNotRun(reason)) => {
                let result = not_carried_out(plan, &reason)?;
                outputs.without_text().write(&result)?;
                return Ok((result, Err(Exit::CouldNotRun(reason))));
            }
            Err(exit) => {
                outputs.discard();
                return Err(exit);
            }
        };
    if let Some(scripts) = &mut scripts {
        scripts.flush();
    }
    outputs.write(&result)?;
    series?;
    if let Some(scripts) = &mut scripts {
        scripts.done(&result)?;
    }
    let code = caught.code().unwrap_or_else(|| end(&result, flags.outputs.quiet));
    Ok((result, Ok(code)))
}

/// The result of a run that could not be carried out, with its gates, none of which is met.
fn not_carried_out(plan: &Plan, reason: &str) -> Result<RunResult, Exit> {
    let mut result = plimsoll_engine::not_carried_out(plan, reason);
    result.gates = gate::judge(&plan.gates, &result).map_err(usage)?;
    Ok(result)
}

/// Carries out a plan with live progress, signals, and what is to go on beside it.
///
/// # Errors
/// When nothing could be run.
pub(crate) fn load(
    plan: &Plan,
    outputs: &mut Outputs,
    live: bool,
    beside: Beside<'_>,
) -> Result<Loaded, Exit> {
    let control = Arc::new(Control::default());
    let loading = Loading::default();
    let (to_stop, to_end) = (Arc::clone(&control), loading.clone());
    let caught = Caught::watch(move || {
        to_stop.stop();
        to_end.stop();
    })
    .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
    if let Some(limit_ns) = beside.wait_ns {
        wait::for_server(plan, limit_ns, &control, beside.is_quiet)?;
        if control.is_stopped() {
            let mut result = not_carried_out(plan, "stopped while it waited for the server")?;
            result.interrupted = true;
            return Ok(Loaded { result, caught, series: Ok(()), scripts: None });
        }
    }
    let mut watch = AbortWatch::new(plan.abort_conditions(), plan);
    let mut aborted = None;
    let open = |path| ControlSocket::open(path, plan, Arc::clone(&control));
    let socket = beside.control.map(open).transpose()?;
    let sampler = beside.monitor.map(|subject| watch_processes(subject, plan)).transpose()?;
    let url = plan.endpoint.url();
    let api = if plan.is_open_loop() { Api::Wrk2 } else { Api::Wrk };
    let mut scripts = Scripts::load(plan, api, &url, &loading)?;
    let threads = scripts.as_mut().map(|scripts| std::mem::take(&mut scripts.threads));
    let mut live = Live::new(plan, live, beside.title);
    let mut series = Ok(());
    let threads = threads.unwrap_or_default();
    let ran = plimsoll_engine::run_scripted(plan, threads, &control, &mut |progress| {
        live.show(&progress);
        if let Some(socket) = &socket {
            socket.show(&progress);
        }
        if let (Progress::Measuring, Some(sampler)) = (&progress, &sampler) {
            sampler.begin();
        }
        let Progress::Interval(point) = &progress else { return };
        if let Err(error) = outputs.point(point) {
            series = Err(error);
        }
        // What comes after a condition held, or after a signal, says nothing of the server.
        if !control.is_stopped()
            && let Some(condition) = watch.add(point)
        {
            aborted = Some(condition.to_string());
            control.stop();
        }
    });
    live.clear();
    let target = sampler.and_then(Sampler::finish);
    let (mut result, threads) = ran.map_err(|error| match error {
        RunError::Unreachable { .. } if beside.wait_ns.is_none() => Exit::CouldNotRun(format!(
            "{error}: if the server is still starting, wait for it with --wait 10s"
        )),
        other => explain(other),
    })?;
    result.target = target;
    if let Some(scripts) = &mut scripts {
        scripts.threads = threads;
    }
    result.aborted = aborted;
    result.gates = gate::judge(&plan.gates, &result).map_err(usage)?;
    Ok(Loaded { result, caught, series, scripts })
}

/// Starts to watch a server's processes, off the CPUs that the load has to itself.
fn watch_processes(subject: &ProcessSelector, plan: &Plan) -> Result<Sampler, Exit> {
    let roots = find(subject)?;
    let options = SamplerOptions { avoid_cpus: plan.pin.clone(), ..SamplerOptions::default() };
    Sampler::start(roots, options)
        .map_err(|error| Exit::CouldNotRun(format!("--monitor: no thread to sample: {error}")))
}

/// Finds the processes that are to be watched.
///
/// # Errors
/// No process is found.
pub(crate) fn find(subject: &ProcessSelector) -> Result<Vec<Root>, Exit> {
    subject.find().map_err(|error| Exit::CouldNotRun(format!("--monitor: {error}")))
}

fn usage(error: GateError) -> Exit {
    Exit::Usage(error.to_string())
}

pub(crate) fn explain(error: RunError) -> Exit {
    match error {
        RunError::Request(error) => Exit::Usage(error.to_string()),
        RunError::Expectation { .. } => Exit::Usage(error.to_string()),
        other => Exit::CouldNotRun(other.to_string()),
    }
}
