//! A run from its plan to its result: what is made ready, what goes on beside the load, and how the
//! result is judged.

use std::path::Path;

use plimsoll_core::RunResult;
use plimsoll_core::gate::{self, AbortWatch, GateError};
use plimsoll_core::scenario::Scenarios;
use plimsoll_engine::{Progress, run_scenarios};
use plimsoll_lab::sample::{ProcessSelector, Sampler};
use plimsoll_outputs::Feed;

use crate::control::ControlSocket;
use crate::error::RunnerError;
use crate::feeding::{Feeding, timetable};
use crate::handle::Handle;
use crate::monitor::watch;
use crate::news::News;
use crate::script::Scripts;
use crate::wait;

/// What goes on beside a load.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Where commands are taken.
    pub control: Option<&'a Path>,
    /// Whose processes are watched.
    pub monitor: Option<&'a ProcessSelector>,
    /// How long to wait for the server before the load, ns.
    pub wait_ns: Option<u64>,
    /// Who else gets the figures while it goes on.
    pub feed: Option<&'a Feed>,
    /// The URL as scripts are given it; `None` for that of the plan.
    pub script_url: Option<&'a str>,
}

/// One run.
#[derive(Debug)]
pub struct Runner<'a> {
    scenarios: &'a Scenarios,
    beside: Beside<'a>,
    handle: Handle,
}

/// A run that was carried out.
pub struct Ran {
    /// What happened, with the gates judged.
    pub result: RunResult,
    scripts: Option<Scripts>,
}

impl<'a> Runner<'a> {
    /// A run of these scenarios: a plain run has one. Nothing happens yet.
    #[must_use]
    pub fn new(scenarios: &'a Scenarios, beside: Beside<'a>) -> Self {
        Self { scenarios, beside, handle: Handle::new(scenarios) }
    }

    /// A hand on the run, for other threads.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Finds what would keep the run from starting on this machine, without the server: what
    /// [`run`](Self::run) finds before it opens a connection.
    ///
    /// # Errors
    /// The first thing that would.
    pub fn check(&self) -> Result<(), RunnerError> {
        self.socket()?;
        self.beside.monitor.map(ProcessSelector::find).transpose()?;
        Ok(())
    }

    /// Carries the run out.
    ///
    /// # Errors
    /// Why there is no result. What goes wrong once the load has begun stands in the result.
    pub fn run(self, on_news: &mut dyn FnMut(News<'_>)) -> Result<Ran, RunnerError> {
        let Self { scenarios, beside, ref handle } = self;
        if let Some(limit_ns) = beside.wait_ns {
            wait::for_servers(scenarios, limit_ns, handle.control(), on_news)?;
            if handle.control().is_stopped() {
                let reason = "stopped while it waited for the server";
                let mut result = not_carried_out(scenarios, reason)?;
                result.interrupted = true;
                return Ok(Ran { result, scripts: None });
            }
        }
        let _socket = self.socket()?;
        let sampler = beside.monitor.map(|subject| watch(subject, scenarios.run())).transpose()?;
        let load = |plan| Scripts::load(plan, beside.script_url, handle.loading());
        let mut scripts = scenarios.plain().map(load).transpose()?.flatten();
        let threads = scripts.as_mut().map(|scripts| std::mem::take(&mut scripts.threads));
        let mut course = Course::new(scenarios, handle, sampler, beside.feed);
        let tell = &mut |progress: Progress<'_>| course.take(&progress, on_news);
        let ran = run_scenarios(scenarios, threads.unwrap_or_default(), handle.control(), tell);
        let target = course.sampler.and_then(Sampler::finish);
        let (mut result, threads) = ran?;
        if let Some(scripts) = &mut scripts {
            scripts.threads = threads;
        }
        result.target = target;
        result.aborted = course.aborted;
        judge(scenarios, &mut result)?;
        course.feeding.ended(&result);
        Ok(Ran { result, scripts })
    }

    fn socket(&self) -> Result<Option<ControlSocket>, RunnerError> {
        let open = |path| ControlSocket::open(path, &self.handle);
        self.beside.control.map(open).transpose()
    }
}

impl Ran {
    /// Writes out what the script printed during the run, before anything else is written.
    pub fn flush_script(&mut self) {
        if let Some(scripts) = &mut self.scripts {
            scripts.flush();
        }
    }

    /// Calls the script's `done`, if it has one. It may end the program, so reports come first.
    ///
    /// # Errors
    /// What goes wrong in it.
    pub fn finish_script(&mut self) -> Result<(), RunnerError> {
        match &mut self.scripts {
            Some(scripts) => Ok(scripts.done(&self.result)?),
            None => Ok(()),
        }
    }
}

/// The result of a run that could not be carried out, with its gates, none of which is met.
///
/// # Errors
/// A gate that cannot be read.
pub fn not_carried_out(scenarios: &Scenarios, reason: &str) -> Result<RunResult, GateError> {
    let mut result = plimsoll_engine::not_carried_out(scenarios.run(), reason);
    judge(scenarios, &mut result)?;
    Ok(result)
}

fn judge(scenarios: &Scenarios, result: &mut RunResult) -> Result<(), GateError> {
    result.gates = gate::judge(&scenarios.run().gates, result)?;
    Ok(())
}

/// A load under way, and what goes on beside it.
struct Course<'a> {
    handle: &'a Handle,
    sampler: Option<Sampler>,
    conditions: AbortWatch,
    feeding: Feeding<'a>,
    /// The condition that ended the run.
    aborted: Option<String>,
}

impl<'a> Course<'a> {
    fn new(
        scenarios: &Scenarios,
        handle: &'a Handle,
        sampler: Option<Sampler>,
        feed: Option<&'a Feed>,
    ) -> Self {
        let conditions = AbortWatch::new(scenarios.abort_conditions(), scenarios.run());
        let feeding = Feeding::new(feed, timetable(scenarios));
        Self { handle, sampler, conditions, feeding, aborted: None }
    }

    /// Takes what the engine tells, and passes it on.
    fn take(&mut self, progress: &Progress<'_>, on_news: &mut dyn FnMut(News<'_>)) {
        let figures = self.handle.note(progress);
        match progress {
            Progress::Started { .. } => on_news(News::Started(&figures)),
            Progress::Measuring => {
                if let Some(sampler) = &self.sampler {
                    sampler.begin();
                }
                self.feeding.began();
                on_news(News::Measuring(&figures));
            }
            Progress::Over => self.conditions.end(),
            Progress::Interval(point) => {
                self.feeding.interval(&figures);
                on_news(News::Interval(&figures, point));
                // What comes after a condition held, or after a signal, says nothing of the server.
                if !self.handle.control().is_stopped()
                    && let Some(condition) = self.conditions.add(point)
                {
                    self.aborted = Some(condition.to_string());
                    self.handle.control().stop();
                }
            }
        }
    }
}
