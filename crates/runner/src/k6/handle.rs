//! A hand on a run of a script: what other threads can ask of it and can see.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_dialect::k6::ExitCode;
use plimsoll_dialect::k6::output::{Live, Status, Totals};
use plimsoll_engine::vu::Controls;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// VUs are initialised.
    Init,
    /// `setup` runs.
    Setup,
    /// The scenarios run.
    Scenarios,
    /// `teardown` runs.
    Teardown,
    /// All is done.
    Done,
}

const PHASES: [Phase; 5] =
    [Phase::Init, Phase::Setup, Phase::Scenarios, Phase::Teardown, Phase::Done];

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
        }))
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
            Phase::Init | Phase::Done => {}
        }
        let at = PHASES.iter().position(|known| *known == phase).unwrap_or(0);
        self.0.phase.store(at as u8, Ordering::Release);
    }

    /// Where the run is.
    #[must_use]
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.0.phase.load(Ordering::Acquire)).min(PHASES.len() - 1)]
    }

    /// How long the test has gone on, ns; 0 before.
    #[must_use]
    pub fn run_ns(&self, now_ns: u64) -> u64 {
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
