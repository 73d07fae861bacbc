//! One run of the command line: shows it while it goes on, writes its reports, and says why there
//! is no result. The run itself is the runner's.

use std::io::{self, Write as _};
use std::process::ExitCode;

use plimsoll_core::scenario::Scenarios;
use plimsoll_core::units::{format_duration, format_ns};
use plimsoll_core::{Phase, RunResult};
use plimsoll_engine::RunError;
use plimsoll_outputs::Feed;
use plimsoll_report::transcript::of_run;
use plimsoll_runner::{Beside, News, Ran, Runner, RunnerError, not_carried_out};

use crate::ending::{end, say};
use crate::exit::Exit;
use crate::outputs::Outputs;
use crate::progress::Live;
use crate::run_args::RunFlags;
use crate::signals::Caught;

/// A run that was carried out.
pub(crate) struct Loaded {
    /// What happened, and the script that is to be told.
    pub ran: Ran,
    /// Whether it was a signal that ended it.
    pub caught: Caught,
    /// Whether the time series could be written.
    pub series: anyhow::Result<()>,
}

/// What a terminal shows of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Whether the live progress is shown.
    pub live: bool,
    /// Whether the wait for the server is told.
    pub wait: bool,
    /// What stands before the live progress; empty where there is one run alone.
    pub title: &'a str,
}

/// Runs a plan that was made of flags, once, and writes its reports. The title stands before the
/// live progress; the feed gets the figures. Gives the result and how the run ended: with an exit
/// code, or with the reason why it could not be carried out. In that case the reports say the same.
///
/// # Errors
/// A plan that cannot be carried out anywhere, or a report that could not be written.
pub(crate) fn carry_out(
    scenarios: &Scenarios,
    flags: &RunFlags,
    mut outputs: Outputs,
    feed: Option<&Feed>,
    title: &str,
) -> Result<(RunResult, Result<ExitCode, Exit>), Exit> {
    let is_quiet = flags.outputs.quiet;
    let shown = Shown { live: !is_quiet && !flags.outputs.no_progress, wait: !is_quiet, title };
    let Loaded { mut ran, caught, series } =
        match load(scenarios, beside(flags, feed), &mut outputs, shown) {
            Ok(loaded) => loaded,
            Err(Exit::CouldNotRun(reason)) => {
                let result = not_carried_out(scenarios, &reason);
                let result = result.map_err(|error| explain(error.into()))?;
                outputs.without_text().write(&result)?;
                return Ok((result, Err(Exit::CouldNotRun(reason))));
            }
            Err(exit) => {
                outputs.discard();
                return Err(exit);
            }
        };
    ran.flush_script();
    for line in of_run(&ran.result.details.transcripts) {
        // A closed stderr is no reason to stop.
        let _ = writeln!(io::stderr(), "{line}");
    }
    outputs.write(&ran.result)?;
    series?;
    ran.finish_script().map_err(explain)?;
    let code = caught.code().unwrap_or_else(|| end(&ran.result, is_quiet));
    Ok((ran.result, Ok(code)))
}

/// What the flags ask for beside the load.
pub(crate) fn beside<'a>(flags: &'a RunFlags, feed: Option<&'a Feed>) -> Beside<'a> {
    Beside {
        feed,
        control: flags.control.as_deref(),
        monitor: flags.monitor.as_ref(),
        wait_ns: flags.wait,
        script_url: None,
    }
}

/// Carries out a plan with live progress and signals, and writes its time series.
///
/// # Errors
/// When nothing could be run.
pub(crate) fn load(
    scenarios: &Scenarios,
    beside: Beside<'_>,
    outputs: &mut Outputs,
    shown: Shown<'_>,
) -> Result<Loaded, Exit> {
    let waits = beside.wait_ns.is_some();
    let runner = Runner::new(scenarios, beside);
    let caught = stopped_by_signals(&runner)?;
    let live = Live::new(shown.live, shown.title);
    let mut series = Ok(());
    let ran = runner.run(&mut |news| match news {
        News::Waiting { .. } | News::Waited { .. } if !shown.wait => {}
        News::Waiting { limit_ns, reason } => {
            let limit = format_duration(limit_ns);
            say(&[format!("waiting up to {limit} for the server: {reason}")]);
        }
        News::Waited { waited_ns } => {
            say(&[format!("waited {} for the server", format_ns(waited_ns))]);
        }
        News::Started(figures) => live.show(figures),
        News::Measuring(_) => {}
        News::Interval(figures, point) => {
            live.show(figures);
            if let Err(error) = outputs.point(point) {
                series = Err(error);
            }
        }
    });
    live.clear();
    let ran = ran.map_err(|error| not_run(error, waits))?;
    Ok(Loaded { ran, caught, series })
}

/// Why nothing was run, in the words of the command line; it `waits` for a server that is starting,
/// or does not.
pub(crate) fn not_run(error: RunnerError, waits: bool) -> Exit {
    match error {
        // What answers a connect has started; what it says to TLS will not change.
        RunnerError::Run(ref cause) if !waits && is_absent(cause) => Exit::CouldNotRun(format!(
            "{error}: if the server is still starting, wait for it with --wait 10s"
        )),
        other => explain(other),
    }
}

/// Whether nothing took the connection: the server may still be starting.
fn is_absent(error: &RunError) -> bool {
    matches!(error.cause(), RunError::Unreachable { phase: Phase::Connect, .. })
}

/// Has signals stop a run.
///
/// # Errors
/// When they cannot be caught.
pub(crate) fn stopped_by_signals(runner: &Runner<'_>) -> Result<Caught, Exit> {
    let handle = runner.handle();
    Caught::watch(move || handle.stop())
        .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))
}

/// Why there is no result, in the words of the command line, and with its exit code.
pub(crate) fn explain(error: RunnerError) -> Exit {
    let text = match error {
        RunnerError::Run(
            RunError::Request(_) | RunError::Expectation { .. } | RunError::WebSocketReply { .. },
        )
        | RunnerError::Gate(_) => return Exit::Usage(error.to_string()),
        RunnerError::NoServer {
            limit_ns,
            error: RunError::Unreachable { address, reason, .. },
        } => {
            let limit = format_duration(limit_ns);
            format!("no connection to {address} could be opened in {limit} (--wait): {reason}")
        }
        RunnerError::NoServer { limit_ns, error } => {
            format!("{error} (tried for {}, --wait)", format_duration(limit_ns))
        }
        RunnerError::Monitor(_) | RunnerError::Sampler(_) => format!("--monitor: {error}"),
        RunnerError::Run(_) | RunnerError::Plan(_) | RunnerError::ControlSocket { .. } => {
            error.to_string()
        }
    };
    Exit::CouldNotRun(text)
}
