//! `k6 run`: load, run and show the progress, print the summary.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use clap::ArgMatches;
use plimsoll_dialect::k6::output::{Banner, Level, banner};
use plimsoll_dialect::k6::{ExitCode, Refused};
use plimsoll_outputs::OUT;
use plimsoll_runner::k6::{Handle, Ran, Rest};

use super::dashboard::Dashboard;
use super::honest::Waited;
use super::log::{Log, other_fault};
use super::outputs::{Outputs, Variables, Writing};
use super::progress::{Progress, write};
use super::script::{Loaded, address, load};
use super::summary::Ending;
use super::{args, honest};
use crate::signals::{Caught, leave};
use crate::value_args::variable;
use crate::{message, terminal};

/// What the first signal ends: the loading of the script, then the run.
#[derive(Default)]
pub(super) struct Stop {
    pub(super) is_stopped: AtomicBool,
    handle: Mutex<Option<Handle>>,
    /// Told of the signal, together with `handle`.
    came: Condvar,
}

impl Stop {
    pub(super) fn stop(&self) {
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(handle) = &*handle {
            handle.interrupt();
        }
        self.came.notify_all();
    }

    /// Waits for the signal, unless it has come already.
    fn wait(&self) {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_stopped.load(Ordering::Relaxed) {
            handle = self.came.wait(handle).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has the next signal, or one that has come already, end a run.
    pub(super) fn guard(&self, handle: &Handle) {
        let mut kept = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(handle.clone());
        drop(kept);
        if self.is_stopped.load(Ordering::Relaxed) {
            handle.interrupt();
        }
    }
}

/// Runs a script. Gives the exit code, after saying why it is not 0, and lines of our own.
///
/// # Errors
/// Why nothing was run, with k6's exit code for it.
pub(super) fn run(given: &ArgMatches, log: &Log) -> Result<(ExitCode, Vec<String>), Refused> {
    let stop = Arc::new(Stop::default());
    let on_signal = Arc::clone(&stop);
    let at_second = || leave(i32::from(ExitCode::Interrupted.code()));
    Caught::watch_with(move || on_signal.stop(), Some(at_second))
        .map_err(|error| other_fault(format!("signals cannot be handled: {error}")))?;
    let loaded = load(given, log, &stop.is_stopped)?;
    let test = &Arc::clone(&loaded.test);
    let tags = &test.configuration.system_tags;
    let all = || {
        let pairs = std::env::vars_os().filter_map(|(name, value)| {
            Some(format!("{}={}", name.into_string().ok()?, value.into_string().ok()?))
        });
        pairs.collect()
    };
    let variables = Variables { lookup: &variable, all: &all };
    let outputs = Outputs::open(&loaded.outputs, tags, variables)?;
    let dashboard = Dashboard::asked(test, &loaded.name, variables, log)?;
    let is_quiet = args::switch(given, "quiet") == Some(true);
    let as_original = args::switch(given, "as-original") == Some(true);
    if variable(OUT).is_some() && !as_original {
        let what = format!(
            "{OUT} is ignored: name outputs in -o or K6_OUT, or start the script with plimsoll run"
        );
        log.say(Level::Warning, what);
    }
    let no_color = args::switch(given, "no-color") == Some(true)
        || variable("K6_NO_COLOR").is_some_and(|text| text != "false");
    let has_colors = terminal::has_color(no_color);
    let (script, descriptions) = (loaded.name.as_str(), outputs.descriptions());
    let banner = banner(&test.configuration, Banner { script, outputs: &descriptions, has_colors });
    let writing = outputs.start(test)?;
    let handle = test.handle();
    stop.guard(&handle);
    let points = writing.as_ref().map(Writing::points);
    let rest = address(given, &variable)
        .map(|address| Rest::start(&address, test, &handle, log.lines(), points.clone()));
    let rest = rest.transpose()?;
    if let Some(rest) = &rest {
        log.say(Level::Debug, format!("the REST interface is at http://{}", rest.address()));
    }
    if test.configuration.options.paused == Some(true) {
        handle.pause();
    }
    let mut progress = Progress::new(test, &handle, banner, has_colors);
    let run = || match &dashboard {
        Some(dashboard) => dashboard.run(test, &handle, log, points),
        None => test.run(&handle, log.lines(), points),
    };
    let ran = run_beside(run, (!is_quiet).then_some(&mut progress));
    if ran.is_ok() && test.configuration.options.linger == Some(true) {
        if !is_quiet {
            write("The test is done; --linger waits for Ctrl-C\n");
        }
        stop.wait();
    }
    drop(rest);
    let mut waited = Waited { log_ns: log.lines().waited_ns(), outputs_ns: 0 };
    let written = finish(writing, log, &mut waited);
    let ran = ran?;
    Ending { test, ran: &ran, script: &loaded.text, has_colors, log }.show();
    if !is_quiet {
        progress.finish();
    }
    let has_own = !as_original && ran.account.started > 0;
    let own = if has_own { honest::lines(&ran.account, &waited) } else { Vec::new() };
    Ok((end(&loaded, &ran, log).or(written), own))
}

/// Runs a test while its progress is shown.
fn run_beside(
    run: impl FnOnce() -> Result<Ran, Refused>,
    progress: Option<&mut Progress<'_>>,
) -> Result<Ran, Refused> {
    thread::scope(|scope| {
        let (running, ended) = channel::<()>();
        if let Some(progress) = progress {
            let show = move || progress.show(&ended);
            let started = thread::Builder::new().name("progress".to_owned());
            started
                .spawn_scoped(scope, show)
                .map_err(|error| other_fault(format!("cannot start a thread: {error}")))?;
        }
        let ran = run();
        drop(running);
        ran
    })
}

/// Waits for the outputs, and says if they cannot be written.
fn finish(writing: Option<Writing>, log: &Log, waited: &mut Waited) -> ExitCode {
    match writing.map(Writing::finish) {
        None => ExitCode::Done,
        Some(Ok((outputs_ns, complaints))) => {
            waited.outputs_ns = outputs_ns;
            for complaint in complaints {
                log.say(Level::Warning, complaint);
            }
            ExitCode::Done
        }
        Some(Err(error)) => {
            let why = message::without_error_numbers(&error.to_string());
            log.say(Level::Error, format!("the outputs cannot be written: {why}"));
            ExitCode::Other
        }
    }
}

/// Says how the run ended.
fn end(loaded: &Loaded, ran: &Ran, log: &Log) -> ExitCode {
    let account = &ran.account;
    let has_work = loaded.test.roles().next().is_some();
    if account.completed + account.failed == 0 && has_work && ran.endings.is_empty() {
        let what = "no iteration has completed: give the test more time";
        log.say(Level::Warning, what);
    }
    for ending in &ran.endings {
        log.say(Level::Error, ending.what.clone());
    }
    ran.code()
}
