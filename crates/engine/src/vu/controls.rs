//! Orders to a run of virtual users from outside, and what can be read of it while it goes on.
//!
//! All are numbers that the workers look at once a turn.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use plimsoll_io::Waker;
use plimsoll_script::js::InstanceFacts;

/// Orders to a run, and what is known of it.
#[derive(Default)]
pub struct Controls {
    stops: AtomicBool,
    aborts: AtomicBool,
    is_paused: AtomicBool,
    has_failed: AtomicBool,
    reason: Mutex<Option<String>>,
    /// Told of each order, together with `reason`.
    changed: Condvar,
    wakers: Mutex<Vec<Waker>>,
    /// What `setup` has returned, as JSON.
    setup_data: Mutex<Option<Arc<str>>>,
    /// How long workers waited at their end, ns.
    wound_up_ns: AtomicU64,
    /// Counts of the whole process, which scripts read too.
    pub facts: Arc<InstanceFacts>,
    /// What each scenario does, in the order of [`Cast::roles`](super::Cast::roles).
    pub progress: Vec<RoleProgress>,
}

/// How far a scenario is.
#[derive(Debug, Default)]
pub struct RoleProgress {
    /// 0: waiting, 1: iterations start, 2: iterations end, 3: done, 4: the run was aborted before
    /// it was done.
    pub status: AtomicU64,
    /// When it started, ns on the driver's clock; 0 before.
    pub started_ns: AtomicU64,
    /// When it was over, ns on the driver's clock; 0 before.
    pub ended_ns: AtomicU64,
    /// VUs in an iteration, or in their loop.
    pub active_vus: AtomicU64,
    /// VUs that it has; where iterations start at a rate, also when it is over.
    pub vus: AtomicU64,
    /// Iterations that have started.
    pub started: AtomicU64,
    /// Iterations that have ended, those included that were interrupted. Scripts read it too.
    pub ended: Arc<AtomicU64>,
    /// Iterations that were interrupted.
    pub interrupted: AtomicU64,
    /// Iterations that were dropped.
    pub dropped: AtomicU64,
}

impl Controls {
    /// For a run with this number of scenarios.
    #[must_use]
    pub fn new(roles: usize) -> Self {
        let progress = (0..roles).map(|_| RoleProgress::default()).collect();
        Self { progress, ..Self::default() }
    }

    /// Ends the run at once: iterations are interrupted. The first reason stays.
    pub fn abort(&self, reason: &str) {
        let mut kept = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| reason.to_owned());
        drop(kept);
        self.aborts.store(true, Ordering::Release);
        self.wake();
    }

    /// Starts no iteration any more, and lets running ones end within their scenarios' graceful
    /// stops.
    pub fn stop(&self) {
        self.stops.store(true, Ordering::Release);
        self.wake();
    }

    /// Has [`await_resumed`](Self::await_resumed) wait.
    pub fn pause(&self) {
        self.is_paused.store(true, Ordering::Release);
    }

    /// Lets who waits for it go on.
    pub fn resume(&self) {
        self.is_paused.store(false, Ordering::Release);
        self.wake();
    }

    /// Whether [`abort`](Self::abort) was called, by the caller or by a script.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.aborts.load(Ordering::Acquire)
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stops.load(Ordering::Acquire)
    }

    /// Whether the run is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Acquire)
    }

    /// Why the run was aborted.
    #[must_use]
    pub fn abort_reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a script has called `exec.test.fail()`.
    #[must_use]
    pub fn has_failed_test(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }

    /// What VUs give their functions, as JSON. Those that have begun keep what they have.
    pub fn set_setup_data(&self, data: Option<Arc<str>>) {
        *self.setup_data.lock().unwrap_or_else(PoisonError::into_inner) = data;
    }

    /// What `setup` has returned, as JSON, or what was set in its place.
    #[must_use]
    pub fn setup_data(&self) -> Option<Arc<str>> {
        self.setup_data.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Controls that share the facts of these, and no orders.
    pub(super) fn beside(&self) -> Self {
        Self { facts: Arc::clone(&self.facts), ..Self::default() }
    }

    /// How long workers and functions that are called once waited at their end, all together, for
    /// connections that the script had left, ns. Nothing of the test happens in this time.
    #[must_use]
    pub fn wound_up_ns(&self) -> u64 {
        self.wound_up_ns.load(Ordering::Relaxed)
    }

    pub(super) fn add_wound_up(&self, waited_ns: u64) {
        self.wound_up_ns.fetch_add(waited_ns, Ordering::Relaxed);
    }

    pub(super) fn fail_test(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    pub(super) fn add_waker(&self, waker: Waker) {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Waits while the run is paused, unless it is ended.
    pub fn await_resumed(&self) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        while self.is_paused() && !self.is_aborted() && !self.is_stopped() {
            reason = self.changed.wait(reason).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Has all workers look at what they were told.
    pub(super) fn wake(&self) {
        // Those who wait hold it while they look at the orders.
        drop(self.reason.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        for waker in self.wakers.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            waker.wake();
        }
    }
}
