//! Stopping a script that does not end, from another thread.
//!
//! A flag keeps new calls from starting, and a hook ends the one that runs: at the next instruction
//! of interpreted code, at the next turn of a loop of compiled code. What cannot be ended is a
//! single call into C that does not return, such as `os.execute("sleep 1000")`.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::ffi::lua_State;

unsafe extern "C" {
    /// See `interrupt.c`.
    fn plimsoll_interrupt(state: *mut lua_State);
}

/// Ends what a script is doing. Clones stand for the same states.
#[derive(Clone, Default)]
pub struct Interrupter {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    interrupted: AtomicBool,
    /// `None` for one that only stands for others, and once the state is closed.
    state: Mutex<Option<Pointer>>,
    others: Mutex<Vec<Interrupter>>,
}

struct Pointer(*mut lua_State);

// SAFETY: the pointer is only ever used for `plimsoll_interrupt`, which LuaJIT allows from any
// thread, and under the lock that `Attached` takes before the state is closed.
unsafe impl Send for Pointer {}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupter").field("is_interrupted", &self.is_interrupted()).finish()
    }
}

impl Interrupter {
    /// One that stands for no state yet. Given to [`super::load`], it stands for all states of that
    /// script, from the moment that each is made.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the call that runs, and every later one, fail with
    /// [`super::ScriptError::Interrupted`]. Returns at once. It may be repeated, and should be
    /// where the call goes on: LuaJIT can miss a first attempt while it compiles.
    pub fn interrupt(&self) {
        self.inner.interrupted.store(true, Ordering::SeqCst);
        if let Some(Pointer(state)) = &*lock(&self.inner.state) {
            // SAFETY: the state is open, for closing it takes the lock that is held here.
            unsafe { plimsoll_interrupt(*state) };
        }
        for other in &*lock(&self.inner.others) {
            other.interrupt();
        }
    }

    /// Whether [`Interrupter::interrupt`] was called.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.inner.interrupted.load(Ordering::Relaxed)
    }

    /// Lets this one stand for `other` too.
    fn cover(&self, other: &Self) {
        lock(&self.inner.others).push(other.clone());
        if self.inner.interrupted.load(Ordering::SeqCst) {
            other.interrupt();
        }
    }
}

/// An interrupter's hold on an open state. To be dropped before the state is closed.
pub(super) struct Attached(Interrupter);

impl Attached {
    /// A new interrupter for the state, which `all` stands for from now on.
    ///
    /// # Safety
    /// The state is open, and stays so until what is returned here is dropped.
    pub(super) unsafe fn new(state: *mut lua_State, all: &Interrupter) -> Self {
        let own = Interrupter::new();
        *lock(&own.inner.state) = Some(Pointer(state));
        all.cover(&own);
        Self(own)
    }

    #[inline]
    pub(super) fn interrupter(&self) -> &Interrupter {
        &self.0
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        *lock(&self.0.inner.state) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
