//! What the workers of a run share: the scenarios, who is lent where, and orders from one worker to
//! another's VUs. A worker locks it only when VUs come and go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::cast::Role;
use super::controls::Controls;
use super::director::{Decided, Director, News, Order};
use super::run::VuError;
use super::scene::{NEVER_NS, Scene};

/// The orders to a worker.
#[derive(Default)]
struct Inbox {
    orders: Mutex<Vec<Order>>,
    has_any: AtomicBool,
}

/// See the head of this module.
pub(super) struct Stage {
    pub scenes: Arc<[Scene]>,
    pub controls: Arc<Controls>,
    director: Mutex<Director>,
    /// When the scenarios have started; [`NEVER_NS`] before.
    begin_ns: AtomicU64,
    /// Told when the VUs are initialised, when the run is over, and when it cannot go on.
    changed: Condvar,
    /// When the director has something to do.
    next_ns: AtomicU64,
    stop_ns: AtomicU64,
    is_over: AtomicBool,
    inboxes: Vec<Inbox>,
    failed: Mutex<Option<VuError>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    pub(super) fn new(
        roles: Vec<Role>,
        (vus_planned, vus_max): (u64, u64),
        workers: u32,
        controls: Arc<Controls>,
    ) -> Self {
        let scenes: Arc<[Scene]> = roles.into_iter().map(Scene::new).collect();
        let director = Director::new(Arc::clone(&scenes), vus_planned, vus_max);
        Self {
            scenes,
            controls,
            director: Mutex::new(director),
            begin_ns: AtomicU64::new(NEVER_NS),
            changed: Condvar::new(),
            next_ns: AtomicU64::new(NEVER_NS),
            stop_ns: AtomicU64::new(NEVER_NS),
            is_over: AtomicBool::new(false),
            inboxes: (0..workers).map(|_| Inbox::default()).collect(),
            failed: Mutex::new(None),
        }
    }

    /// Which worker has a VU, and at which place.
    pub(super) fn place(&self, vu: u32) -> (usize, u32) {
        let workers = self.inboxes.len() as u32;
        (((vu - 1) % workers) as usize, (vu - 1) / workers)
    }

    /// How many of the first `vus` a worker has.
    pub(super) fn share(&self, worker: usize, vus: u64) -> usize {
        let workers = self.inboxes.len() as u64;
        ((vus + workers - 1 - worker as u64) / workers) as usize
    }

    /// Has the director do something and what else is due; gives what has become of scenarios.
    pub(super) fn direct(
        &self,
        now_ns: u64,
        what: impl FnOnce(&mut Director, &mut Decided),
    ) -> Vec<News> {
        let mut decided = Decided::default();
        let mut director = lock(&self.director);
        what(&mut director, &mut decided);
        if director.next_ns() <= now_ns {
            director.act(now_ns, &mut decided);
        }
        self.next_ns.store(director.next_ns(), Ordering::Release);
        let is_over = director.is_over();
        for order in &decided.orders {
            let inbox = &self.inboxes[self.place(order.vu()).0];
            lock(&inbox.orders).push(*order);
            inbox.has_any.store(true, Ordering::Release);
        }
        let is_ready = director.initializing == 0;
        drop(director);
        if is_over {
            self.is_over.store(true, Ordering::Release);
        }
        if is_over || is_ready {
            self.changed.notify_all();
        }
        let wakes_others = self.inboxes.len() > 1 && (!decided.orders.is_empty() || is_over);
        if wakes_others {
            self.controls.wake();
        }
        decided.news
    }

    /// The scenarios start.
    pub(super) fn begin(&self, at_ns: u64) {
        let mut director = lock(&self.director);
        // Who sees something of a scenario sees this too.
        self.begin_ns.store(at_ns, Ordering::Release);
        director.begin(at_ns);
        self.next_ns.store(director.next_ns(), Ordering::Release);
        if director.is_over() {
            self.is_over.store(true, Ordering::Release);
        }
        drop(director);
        self.controls.wake();
    }

    /// When the scenarios have started; [`NEVER_NS`] before.
    pub(super) fn begin_ns(&self) -> u64 {
        self.begin_ns.load(Ordering::Acquire)
    }

    /// No iteration starts any more.
    pub(super) fn stop(&self, now_ns: u64) {
        let mut director = lock(&self.director);
        director.stop_ns = director.stop_ns.min(now_ns);
        self.stop_ns.store(director.stop_ns, Ordering::Release);
        self.next_ns.store(director.next_ns().min(now_ns), Ordering::Release);
        drop(director);
        self.controls.wake();
    }

    /// The run cannot go on. The first reason stays.
    pub(super) fn fail(&self, error: VuError) {
        lock(&self.failed).get_or_insert(error);
        self.controls.abort("the run cannot go on");
        self.finish();
    }

    /// Why the run cannot go on; it is taken.
    pub(super) fn take_failure(&self) -> Option<VuError> {
        lock(&self.failed).take()
    }

    /// Ends the run for all workers.
    pub(super) fn finish(&self) {
        self.is_over.store(true, Ordering::Release);
        // A thread that waits looks at its condition only while it holds this.
        drop(lock(&self.director));
        self.changed.notify_all();
        self.controls.wake();
    }

    /// Waits until the planned VUs are initialised or the run is over.
    pub(super) fn await_ready(&self) {
        let mut director = lock(&self.director);
        while director.initializing > 0 && !self.is_over() {
            director = self.changed.wait(director).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the planned VUs are initialised.
    #[cfg(test)]
    pub(super) fn is_ready(&self) -> bool {
        lock(&self.director).initializing == 0
    }

    /// When the director has something to do.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns.load(Ordering::Acquire)
    }

    /// When everything was stopped; [`NEVER_NS`] if it was not.
    pub(super) fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Acquire)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Whether there are orders for a worker.
    pub(super) fn has_orders(&self, worker: usize) -> bool {
        self.inboxes[worker].has_any.load(Ordering::Acquire)
    }

    /// The orders for a worker, into `orders`.
    pub(super) fn take_orders(&self, worker: usize, orders: &mut Vec<Order>) {
        let inbox = &self.inboxes[worker];
        inbox.has_any.store(false, Ordering::Release);
        orders.append(&mut lock(&inbox.orders));
    }
}
