//! A hand on a run from another thread: stop it, change its rate or its connections.

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_core::Plan;
use plimsoll_core::result::{ConnectionsChange, RateChange};
use plimsoll_io::clock;
use plimsoll_io::{Route, Waker};

use crate::outcome::Changes;
use crate::signals::{Signals, TooManyOrders};

/// How far ahead a change of the rate lies, so that every worker knows of it in time.
const CHANGE_AHEAD_NS: u64 = 2_000_000;

/// Why a run does not do what it was told while it went on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// A closed loop has no rate.
    #[error("the run is a closed loop: start it with a rate to change it")]
    ClosedLoop,
    /// The load has not begun.
    #[error("the load has not begun")]
    NotStarted,
    /// A rate that no schedule can have.
    #[error("a rate is above 0 and at most 1G/s")]
    Rate,
    /// More connections than there is room for.
    #[error(
        "this run holds {0} to {1} connections: start it with -c MIN..MAX to have room for more"
    )]
    Connections(u32, u32),
    /// The run follows a list of times, which has its own end and no rate to change.
    #[error("the run follows a list of times: start it with a rate to change it")]
    Trace,
    /// Each scenario has a rate and connections of its own.
    #[error("the run has several scenarios, and no rate or connections of its own to change")]
    Several,
    /// Orders are kept to the end of a run, and have a limit.
    #[error(transparent)]
    Orders(#[from] TooManyOrders),
}

/// A hand on a run from another thread.
#[derive(Default)]
pub struct Control {
    pub(crate) signals: Arc<Signals>,
    state: Mutex<ControlState>,
}

#[derive(Default)]
struct ControlState {
    wakers: Vec<Waker>,
    plan: Option<Arc<Plan>>,
    measured_ns: u64,
    changes: Changes,
    /// Hands on the scenarios of the run, where it has several.
    scenarios: Vec<Arc<Control>>,
}

impl Control {
    /// Ends the run soon; its result is marked as interrupted.
    pub fn stop(&self) {
        self.signals.stop();
        let scenarios = self.lock().scenarios.clone();
        scenarios.iter().for_each(|scenario| scenario.stop());
        self.wake();
    }

    /// Makes a hand on each of `count` scenarios, which end with the run.
    pub(crate) fn of_scenarios(&self, count: usize) -> Vec<Arc<Self>> {
        let scenarios: Vec<Arc<Self>> = (0..count).map(|_| Arc::default()).collect();
        self.lock().scenarios.clone_from(&scenarios);
        // It may have been stopped before it had them.
        if self.is_stopped() {
            scenarios.iter().for_each(|scenario| scenario.stop());
        }
        scenarios
    }

    /// Goes on at another rate, µHz, to the end of the run. Every worker changes at the same time.
    ///
    /// # Errors
    /// Before the load has begun, in a closed loop, and for a rate that no schedule can have.
    pub fn set_rate(&self, rate_uhz: u64) -> Result<(), ControlError> {
        let mut state = self.lock();
        if !state.scenarios.is_empty() {
            return Err(ControlError::Several);
        }
        let plan = state.plan.as_ref().ok_or(ControlError::NotStarted)?;
        if !plan.is_open_loop() {
            return Err(ControlError::ClosedLoop);
        }
        if plan.trace.is_some() {
            return Err(ControlError::Trace);
        }
        if rate_uhz == 0 || rate_uhz > plimsoll_core::schedule::RATE_LIMIT_UHZ {
            return Err(ControlError::Rate);
        }
        let at_ns = (clock::now_ns() + CHANGE_AHEAD_NS).max(state.measured_ns);
        self.signals.set_rate(at_ns, rate_uhz)?;
        let since_ns = at_ns - state.measured_ns;
        state.changes.rates.push(RateChange { at_ns: since_ns, rps: rate_uhz as f64 / 1e6 });
        drop(state);
        self.wake();
        Ok(())
    }

    /// Holds another number of connections from now on. Every worker deals the schedule out anew at
    /// the same time.
    ///
    /// # Errors
    /// Before the load has begun, and for a number that the run has no room for.
    pub fn set_connections(&self, connections: u32) -> Result<(), ControlError> {
        let mut state = self.lock();
        if !state.scenarios.is_empty() {
            return Err(ControlError::Several);
        }
        let plan = state.plan.as_ref().ok_or(ControlError::NotStarted)?;
        // With fewer, some workers would have nothing to do.
        let (least, most) = (plan.workers, plan.connections_limit());
        if connections < least || connections > most {
            return Err(ControlError::Connections(least, most));
        }
        let at_ns = clock::now_ns() + CHANGE_AHEAD_NS;
        self.signals.set_connections(at_ns, connections)?;
        let at_ns = at_ns.saturating_sub(state.measured_ns);
        state.changes.connections.push(ConnectionsChange { at_ns, connections });
        drop(state);
        self.wake();
        Ok(())
    }

    /// The server's addresses changed.
    pub(crate) fn set_routes(&self, routes: Vec<Route>) {
        self.signals.set_routes(routes);
        self.wake();
    }

    /// A hand on a probe before the run: it stops when the run is stopped.
    pub(crate) fn of_probe(&self) -> Self {
        Self { signals: Arc::clone(&self.signals), ..Self::default() }
    }

    /// The load begins at `start_ns`.
    pub(crate) fn begin(&self, plan: &Arc<Plan>, start_ns: u64) {
        let mut state = self.lock();
        state.plan = Some(Arc::clone(plan));
        state.measured_ns = start_ns + plan.warmup_ns;
    }

    /// A worker is there, which this wakes.
    pub(crate) fn add_waker(&self, waker: Waker) {
        self.lock().wakers.push(waker);
    }

    /// What was changed while the run went on.
    pub(crate) fn take_changes(&self) -> Changes {
        std::mem::take(&mut self.lock().changes)
    }

    fn wake(&self) {
        for waker in &self.lock().wakers {
            waker.wake();
        }
    }

    /// The state is valid even if a thread panicked with the lock.
    fn lock(&self) -> std::sync::MutexGuard<'_, ControlState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it was told to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.signals.is_stopped()
    }
}
