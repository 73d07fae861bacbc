//! Where runs that are to begin together wait for one another: the scenarios of a run. Each arrives
//! when its connections are open, and the last to arrive sets the time that is zero for all.
//!
//! A run that ends before it has arrived gives up its post. Then nobody waits any longer, and none
//! of them begins.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use plimsoll_io::clock;

/// How far ahead the common start lies, so that every worker is there in time.
const START_AHEAD_NS: u64 = 1_000_000;

/// When the measured part of all begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zero {
    /// On the drivers' clock, ns.
    pub at_ns: u64,
    /// For people.
    pub at: SystemTime,
}

/// The place where runs wait for one another.
#[derive(Debug)]
pub(crate) struct Muster {
    /// How long before zero the first of them begins its warm-up, ns.
    lead_ns: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    missing: u32,
    zero: Option<Zero>,
    is_given_up: bool,
}

/// The post of a run. One that is dropped before its run has arrived is given up.
#[derive(Debug)]
pub(crate) struct Post<'m> {
    muster: &'m Muster,
    has_arrived: bool,
}

impl Muster {
    /// Of this number of runs, the first of which begins `lead_ns` before zero.
    pub(crate) fn new(count: u32, lead_ns: u64) -> Self {
        let state = State { missing: count, zero: None, is_given_up: false };
        Self { lead_ns, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// A post, of which each run has one.
    pub(crate) fn post(&self) -> Post<'_> {
        Post { muster: self, has_arrived: false }
    }

    /// When all begin; `None` before all are there.
    pub(crate) fn zero(&self) -> Option<Zero> {
        self.lock().zero
    }

    /// The state is valid even if a thread panicked with the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Post<'_> {
    /// The run is ready. Waits for the others; `None` if one of them gave up.
    pub(crate) fn arrive(&mut self) -> Option<Zero> {
        let Muster { lead_ns, changed, .. } = self.muster;
        let mut state = self.muster.lock();
        if !std::mem::replace(&mut self.has_arrived, true) {
            state.missing -= 1;
        }
        if state.missing == 0 && !state.is_given_up && state.zero.is_none() {
            let ahead_ns = START_AHEAD_NS.saturating_add(*lead_ns);
            let at_ns = clock::now_ns().saturating_add(ahead_ns);
            let at = clock::wall_time() + Duration::from_nanos(ahead_ns);
            state.zero = Some(Zero { at_ns, at });
            changed.notify_all();
        }
        while state.zero.is_none() && !state.is_given_up {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.zero
    }
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        if !self.has_arrived {
            self.muster.lock().is_given_up = true;
            self.muster.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_run_alone_passes_at_once() {
        let before_ns = clock::now_ns();
        let muster = Muster::new(1, 5_000_000_000);
        let zero = muster.post().arrive().expect("nobody is missing");
        assert!(zero.at_ns >= before_ns + START_AHEAD_NS + 5_000_000_000);
        assert_eq!(muster.zero(), Some(zero));
    }

    #[test]
    fn all_get_the_same_zero_from_the_last() {
        let muster = Muster::new(3, 0);
        let mut posts = [muster.post(), muster.post(), muster.post()];
        let zeros: Vec<Option<Zero>> = thread::scope(|scope| {
            let waits = posts.each_mut().map(|post| scope.spawn(|| post.arrive()));
            waits.into_iter().map(|wait| wait.join().expect("no panic")).collect()
        });
        assert!(zeros[0].is_some() && zeros.iter().all(|zero| *zero == zeros[0]), "{zeros:?}");
    }

    #[test]
    fn nobody_waits_for_a_run_that_gave_up() {
        let muster = Muster::new(3, 0);
        let (mut first, mut second, third) = (muster.post(), muster.post(), muster.post());
        thread::scope(|scope| {
            let waits = [scope.spawn(|| first.arrive()), scope.spawn(|| second.arrive())];
            drop(third);
            for wait in waits {
                assert_eq!(wait.join().expect("no panic"), None);
            }
        });
        assert_eq!(muster.zero(), None);
    }
}
