//! A run of a script with a result as every run has it: the load of [`Test`], recorded by the
//! engine beside what k6 counts, and what goes on beside a load.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use plimsoll_core::RunResult;
use plimsoll_core::gate::{self, AbortWatch};
use plimsoll_core::live::LiveFigures;
use plimsoll_core::metric::{CustomMetric, GROUP_DURATION};
use plimsoll_dialect::k6::{ExitCode, Refused};
use plimsoll_engine::Progress;
use plimsoll_engine::vu::{Recorded, Recorders, Seconds, result};
use plimsoll_io::clock;
use plimsoll_lab::sample::Sampler;
use plimsoll_outputs::Timetable;

use super::gates;
use super::handle::Handle;
use super::load::{Test, refused};
use super::news::{Lines, Points};
use super::plan::Planned;
use super::run::{Loaded, Ran};
use crate::control::{ControlSocket, Steer};
use crate::error::RunnerError;
use crate::feeding::Feeding;
use crate::live::Live;
use crate::monitor::watch;
use crate::news::News;
use crate::run::Beside;

/// Why there is no result of a script.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The script, or what it is asked to do.
    #[error("{}", .0.what)]
    Refused(Refused),
    /// What goes on beside the load, or a bug.
    #[error(transparent)]
    Run(#[from] RunnerError),
}

impl From<Refused> for RecordError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl Test {
    /// Runs the test and makes a result of it, with the gates judged.
    ///
    /// # Errors
    /// Why there is no result. What goes wrong once the scenarios have begun stands in the result.
    pub fn record(
        &self,
        planned: &Planned,
        beside: Beside<'_>,
        handle: &Handle,
        lines: &Lines,
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<RunResult, RecordError> {
        let (_, result) = self.record_beside(planned, beside, handle, (lines, None), on_news)?;
        result
    }

    /// Runs the test as [`Test::run`] does, and makes a result of it beside.
    ///
    /// # Errors
    /// Why nothing was run; why there is no result of a run stands in place of that.
    pub fn record_beside(
        &self,
        planned: &Planned,
        beside: Beside<'_>,
        handle: &Handle,
        (lines, points): (&Lines, Option<Points>),
        on_news: &mut dyn FnMut(News<'_>),
    ) -> Result<(Ran, Result<RunResult, RecordError>), RecordError> {
        let run = &planned.run;
        let live = Arc::new(Mutex::new(Live::of(run)));
        let steered = Steered { handle: handle.clone(), live: Arc::clone(&live) };
        let open = |path| ControlSocket::open_for(path, Arc::new(steered.clone()));
        let _socket = beside.control.map(open).transpose()?;
        let sampler = beside.monitor.map(|subject| watch(subject, run)).transpose()?;
        let cast = self.cast()?;
        let notes_waiting = !planned.conditions.is_empty();
        let (recorders, mut seconds) = Recorders::new(&cast, run.masks.clone(), notes_waiting);
        let mut course = Course {
            handle,
            live: &live,
            sampler,
            conditions: AbortWatch::new(&planned.conditions, run),
            // Scenarios of scripts have executors of their own, and no stages of a rate.
            feeding: Feeding::new(beside.feed, Timetable::default()),
            aborted: None,
        };
        let (ran, loaded) = thread::scope(|scope| {
            let load = move || {
                self.load_beside(cast, handle, (lines, points), &|worker| recorders.of(worker))
            };
            let loading =
                thread::Builder::new().name("script".to_owned()).spawn_scoped(scope, load);
            let loading = loading.map_err(|error| {
                refused(ExitCode::Other, format!("cannot start a thread: {error}"))
            })?;
            seconds.follow(&mut |progress| course.take(&progress, on_news));
            loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let target = course.sampler.and_then(Sampler::finish);
        let (by_condition, feeding) = (course.aborted, course.feeding);
        let result = made(planned, handle, &ran, loaded, &seconds).and_then(|mut result| {
            result.target = target;
            result.aborted = by_condition.or_else(|| gates::aborted(&ran, handle.cause()));
            judge(&mut result, planned, &ran)?;
            feeding.ended(&result);
            Ok(result)
        });
        Ok((ran, result))
    }
}

/// Judges the gates and the thresholds of a result, and leaves out what it does not use.
fn judge(result: &mut RunResult, planned: &Planned, ran: &Ran) -> Result<(), RecordError> {
    let run = &planned.run;
    result.gates = gate::judge(&run.gates, result).map_err(RunnerError::from)?;
    let of_script = gates::gates(ran, &run.masks, result);
    result.gates.extend(of_script);
    leave_out_unused(result);
    for scenario in &mut result.scenarios {
        leave_out_unused(&mut scenario.result);
    }
    Ok(())
}

/// Leaves out the metrics that every script has, where it does not use them.
fn leave_out_unused(result: &mut RunResult) {
    let is_everywhere = |name: &str| [GROUP_DURATION, "checks"].contains(&name);
    let is_used = |it: &&CustomMetric| it.value.count() > 0 || !is_everywhere(it.name.as_str());
    result.metrics = result.metrics.iter().filter(is_used).cloned().collect();
}

/// The result of what was loaded; of nothing, why.
fn made(
    planned: &Planned,
    handle: &Handle,
    ran: &Ran,
    loaded: Option<Loaded<plimsoll_engine::vu::Recording>>,
    seconds: &Seconds,
) -> Result<RunResult, RecordError> {
    let interrupted = handle.cause().is_some();
    let Some(Loaded { ended, testimony }) = loaded else {
        let Some(ending) = ran.endings.first() else {
            return Err(refused(ExitCode::Other, "no scenario began".to_owned()).into());
        };
        if handle.cause() != Some(ExitCode::Interrupted) {
            return Err(refused(ending.code, ending.what.clone()).into());
        }
        let mut result = plimsoll_engine::not_carried_out(&planned.run, &ending.what);
        result.interrupted = true;
        return Ok(result);
    };
    let result = result(Recorded {
        run: &planned.run,
        scenarios: &planned.scenarios,
        ended,
        seconds,
        testimony,
        controls: handle.controls(),
        interrupted,
    });
    Ok(result.map_err(RunnerError::from)?)
}

/// A load under way, and what goes on beside it.
struct Course<'a> {
    handle: &'a Handle,
    live: &'a Mutex<Live>,
    sampler: Option<Sampler>,
    conditions: AbortWatch,
    feeding: Feeding<'a>,
    /// The condition that ended the run.
    aborted: Option<String>,
}

impl Course<'_> {
    /// Takes what the engine tells, and passes it on.
    fn take(&mut self, progress: &Progress<'_>, on_news: &mut dyn FnMut(News<'_>)) {
        let figures = {
            let now_ns = clock::now_ns();
            let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.note(progress, now_ns);
            live.figures(now_ns)
        };
        match progress {
            Progress::Measuring => {
                if let Some(sampler) = &self.sampler {
                    sampler.begin();
                }
                self.feeding.began();
                on_news(News::Measuring(&figures));
            }
            Progress::Interval(point) => {
                self.feeding.interval(&figures);
                on_news(News::Interval(&figures, point));
                // What comes after a condition held, or after a signal, says nothing of the server.
                if self.handle.cause().is_none()
                    && let Some(condition) = self.conditions.add(point)
                {
                    self.aborted = Some(condition.to_string());
                    self.handle.interrupt();
                }
            }
            Progress::Started { .. } | Progress::Over => {}
        }
    }
}

/// What a control socket may see of the run and do to it.
#[derive(Clone)]
struct Steered {
    handle: Handle,
    live: Arc<Mutex<Live>>,
}

impl Steer for Steered {
    fn figures(&self) -> LiveFigures {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).figures(clock::now_ns())
    }

    fn stop(&self) {
        self.handle.interrupt();
    }

    fn set_rate(&self, _rate_uhz: u64) -> Result<(), String> {
        Err("the script decides on the rate: set it in options.scenarios".to_owned())
    }

    fn set_connections(&self, _count: u32) -> Result<(), String> {
        Err("the script decides on the virtual users: set them in options.scenarios".to_owned())
    }
}
