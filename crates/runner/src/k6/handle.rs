//! A hand on a run of a script: what other threads can ask of it and can see.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::metrics::Book;
use plimsoll_dialect::k6::output::{Live, Status, Totals};
use plimsoll_dialect::k6::rest;
use plimsoll_dialect::k6::threshold::Thresholds;
use plimsoll_engine::vu::Controls;

use super::account::Account;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// VUs are initialised.
    Init,
    /// All is ready, and waits to be resumed.
    Paused,
    /// `setup` runs.
    Setup,
    /// The scenarios run.
    Scenarios,
    /// `teardown` runs.
    Teardown,
    /// All is done.
    Done,
}

const PHASES: [Phase; 6] =
    [Phase::Init, Phase::Paused, Phase::Setup, Phase::Scenarios, Phase::Teardown, Phase::Done];

/// What has been counted so far. Workers hand over what they have counted once a second, if there
/// are thresholds or the run is watched.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) book: Book,
    /// As they were last evaluated.
    pub(super) thresholds: Thresholds,
    /// Of what was called beside the run.
    pub(super) account: Account,
}

struct Shared {
    controls: Arc<Controls>,
    phase: AtomicU8,
    /// When the test began, ns on the driver's clock; 0 before.
    started_ns: AtomicU64,
    /// When the scenarios began.
    scenarios_ns: AtomicU64,
    /// When the scenarios were over.
    over_ns: AtomicU64,
    /// Why the run was ended early, if it was.
    cause: Mutex<Option<ExitCode>>,
    figures: Mutex<Option<Figures>>,
    /// Whether a caller looks at the figures while the run goes on.
    is_watched: AtomicBool,
    /// How long the test took; 0 before its end.
    run_ns: AtomicU64,
}

/// A hand on a run.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    pub(super) fn new(roles: usize) -> Self {
        let none = || AtomicU64::new(0);
        Self(Arc::new(Shared {
            controls: Arc::new(Controls::new(roles)),
            phase: AtomicU8::new(0),
            started_ns: none(),
            scenarios_ns: none(),
            over_ns: none(),
            cause: Mutex::new(None),
            figures: Mutex::new(None),
            is_watched: AtomicBool::new(false),
            run_ns: none(),
        }))
    }

    /// Has figures be there while the run goes on. To be called before it.
    pub fn watch(&self) {
        self.0.is_watched.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_watched(&self) -> bool {
        self.0.is_watched.load(Ordering::Relaxed)
    }

    /// Has the run wait, once its VUs are initialised, until it is resumed. To be called before it.
    pub fn pause(&self) {
        self.0.controls.pause();
    }

    /// Ends the run as the REST interface does.
    pub(super) fn stop(&self) {
        self.end(ExitCode::StoppedByRest, "the REST interface stopped the run");
    }

    /// What has been counted; `None` before the run.
    pub(super) fn figures(&self) -> MutexGuard<'_, Option<Figures>> {
        self.0.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the run is, as the REST interface says it.
    pub(super) fn status(&self) -> rest::Status {
        let phase = self.phase();
        let facts = &self.0.controls.facts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let is_stopped = self.0.controls.is_aborted();
        let figures = self.figures();
        let failed = figures.as_ref().is_some_and(|figures| {
            figures.thresholds.iter().any(|(_, all)| all.iter().any(|one| one.has_failed))
        });
        rest::Status {
            stage: match phase {
                Phase::Done if is_stopped => rest::Stage::Interrupted,
                Phase::Init => rest::Stage::Initializing,
                Phase::Paused => rest::Stage::Paused,
                Phase::Setup => rest::Stage::Setup,
                Phase::Scenarios => rest::Stage::Running,
                Phase::Teardown => rest::Stage::Teardown,
                Phase::Done => rest::Stage::Ended,
            },
            is_paused: self.0.controls.is_paused(),
            vus: if phase == Phase::Scenarios { read(&facts.vus_active) } else { 0 },
            vus_max: read(&facts.vus_initialized),
            is_stopped,
            is_tainted: failed,
        }
    }

    /// Ends the run as Ctrl-C does: iterations are interrupted, `teardown` still runs.
    pub fn interrupt(&self) {
        self.end(ExitCode::Interrupted, "the run was interrupted");
    }

    /// Ends the run; the first cause counts.
    pub(super) fn end(&self, cause: ExitCode, reason: &str) {
        self.0.cause.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(cause);
        self.0.controls.abort(reason);
    }

    /// Why the run was ended early: by a caller, by a threshold or by the script.
    pub(super) fn cause(&self) -> Option<ExitCode> {
        let told = *self.0.cause.lock().unwrap_or_else(PoisonError::into_inner);
        told.or_else(|| self.0.controls.is_aborted().then_some(ExitCode::Aborted))
    }

    pub(super) fn controls(&self) -> &Arc<Controls> {
        &self.0.controls
    }

    pub(super) fn enter(&self, phase: Phase, now_ns: u64) {
        match phase {
            Phase::Setup => self.0.started_ns.store(now_ns, Ordering::Relaxed),
            Phase::Scenarios => self.0.scenarios_ns.store(now_ns, Ordering::Relaxed),
            Phase::Teardown => self.0.over_ns.store(now_ns, Ordering::Relaxed),
            Phase::Done => self.0.run_ns.store(self.run_ns(now_ns), Ordering::Relaxed),
            Phase::Init | Phase::Paused => {}
        }
        let at = PHASES.iter().position(|known| *known == phase).unwrap_or(0);
        self.0.phase.store(at as u8, Ordering::Release);
    }

    /// Where the run is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.0.phase.load(Ordering::Acquire)).min(PHASES.len() - 1)]
    }

    /// How long the test has gone on, or went on, ns; 0 before.
    #[must_use]
    pub fn run_ns(&self, now_ns: u64) -> u64 {
        if let over @ 1.. = self.0.run_ns.load(Ordering::Relaxed) {
            return over;
        }
        match self.0.started_ns.load(Ordering::Relaxed) {
            0 => 0,
            started_ns => now_ns.saturating_sub(started_ns),
        }
    }

    /// How long the scenarios have gone on, or went on, ns.
    #[must_use]
    pub fn scenarios_ns(&self, now_ns: u64) -> u64 {
        let over_ns = self.0.over_ns.load(Ordering::Relaxed);
        let until_ns = if over_ns > 0 { over_ns } else { now_ns };
        match self.0.scenarios_ns.load(Ordering::Relaxed) {
            0 => 0,
            started_ns => until_ns.saturating_sub(started_ns),
        }
    }

    /// The line above the scenarios; `max_ns` and `max_vus` are the test's limits.
    #[must_use]
    pub fn totals(&self, now_ns: u64, max_ns: u64, max_vus: u64) -> Totals {
        let facts = &self.0.controls.facts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let is_over = self.0.over_ns.load(Ordering::Relaxed) > 0;
        Totals {
            time_ns: self.scenarios_ns(now_ns),
            max_ns,
            active_vus: if is_over { 0 } else { read(&facts.vus_active) },
            vus: read(&facts.vus_initialized),
            max_vus,
            complete: read(&facts.iterations_completed),
            interrupted: read(&facts.iterations_interrupted),
            is_paused: self.0.controls.is_paused(),
        }
    }

    /// The state of a scenario by its number among those that run, which starts `start_ns` after
    /// the scenarios.
    #[must_use]
    pub fn scenario(&self, role: usize, start_ns: u64, now_ns: u64) -> Option<Live> {
        let progress = self.0.controls.progress.get(role)?;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let status = match read(&progress.status) {
            0 => Status::Waiting,
            1 => Status::Running,
            2 => Status::Stopping,
            3 => Status::Done,
            _ => Status::Interrupted,
        };
        let elapsed_ns = self.scenarios_ns(now_ns);
        let time_ns = match status {
            Status::Waiting => start_ns.saturating_sub(elapsed_ns),
            _ => {
                let ended_ns = read(&progress.ended_ns);
                let until_ns = if ended_ns > 0 { ended_ns } else { now_ns };
                until_ns.saturating_sub(read(&progress.started_ns))
            }
        };
        Some(Live {
            status,
            time_ns,
            active_vus: read(&progress.active_vus),
            vus: read(&progress.vus),
            iterations: read(&progress.ended),
        })
    }
}
