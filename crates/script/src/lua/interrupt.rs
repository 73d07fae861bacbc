//! Stops a script that does not end, from another thread.
//!
//! A flag keeps new calls from starting, and a hook ends the call under way: at the next
//! instruction of interpreted code, or at the next turn of a loop of compiled code. Two things
//! cannot be stopped: a single call into C that does not return, such as `os.execute("sleep
//! 1000")`, and a finalizer (`__gc`), in which LuaJIT calls no hook.
//!
//! A signal to the script's own thread sets the hook; `interrupt.c` explains why that is sound. One
//! attempt may be lost, so a separate thread repeats it as long as the state exists.

use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

use mlua::ffi::lua_State;

/// How long after one attempt the next one is made.
const AGAIN: Duration = Duration::from_millis(5);

unsafe extern "C" {
    // See `interrupt.c`.
    fn plimsoll_prepare();
    fn plimsoll_enter(target: *const Target) -> *const Target;
    fn plimsoll_leave(target: *const Target, outer: *const Target);
    fn plimsoll_interrupt(target: *const Target);
}

/// Ends what a script is doing. Clones stand for the same states.
#[derive(Clone, Default)]
pub struct Interrupter {
    inner: Arc<Inner>,
}

struct Inner {
    target: Target,
    /// While the attempts are being repeated, what tells that thread that this is gone.
    repeats: Mutex<Option<Sender<()>>>,
    others: Mutex<Vec<Interrupter>>,
}

/// What `interrupt.c` knows of a state; the same as `struct target` there.
#[repr(C)]
struct Target {
    /// Null for one that only stands for others; nothing ever runs in that.
    state: *mut lua_State,
    interrupted: AtomicBool,
    thread: AtomicUsize,
}

// SAFETY: only the handler of a thread that is in a call of the state uses the pointer.
// The rest is atomic.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Default for Inner {
    fn default() -> Self {
        Self::of(ptr::null_mut())
    }
}

impl Inner {
    fn of(state: *mut lua_State) -> Self {
        let (interrupted, thread) = (AtomicBool::new(false), AtomicUsize::new(0));
        let target = Target { state, interrupted, thread };
        Self { target, repeats: Mutex::default(), others: Mutex::default() }
    }

    fn is_interrupted(&self) -> bool {
        self.target.interrupted.load(Ordering::Relaxed)
    }

    /// One attempt at all states.
    fn attempt(&self) {
        self.target.interrupted.store(true, Ordering::SeqCst);
        // SAFETY: the target outlives the call. It may be made at any time, from any thread.
        unsafe { plimsoll_interrupt(&raw const self.target) };
        for other in &*lock(&self.others) {
            other.inner.attempt();
        }
    }
}

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
    /// [`super::ScriptError::Interrupted`]. Returns at once, and sees to it that the call ends.
    pub fn interrupt(&self) {
        self.inner.attempt();
        let mut repeats = lock(&self.inner.repeats);
        if repeats.is_some() {
            return;
        }
        let (sender, gone) = channel();
        let inner = Arc::downgrade(&self.inner);
        let repeat = move || {
            while gone.recv_timeout(AGAIN) == Err(RecvTimeoutError::Timeout)
                && let Some(inner) = inner.upgrade()
            {
                inner.attempt();
            }
        };
        let started = thread::Builder::new().name("interrupter".to_owned()).spawn(repeat);
        // If no thread can be started now, the next call may succeed.
        *repeats = started.is_ok().then_some(sender);
    }

    /// Whether [`Interrupter::interrupt`] was called.
    #[inline]
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.inner.is_interrupted()
    }

    /// Lets this one stand for `other` too.
    fn cover(&self, other: &Self) {
        lock(&self.inner.others).push(other.clone());
        if self.inner.target.interrupted.load(Ordering::SeqCst) {
            other.inner.attempt();
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
        static PREPARED: Once = Once::new();
        // SAFETY: it sets the handler of a signal that nothing else in this program uses.
        PREPARED.call_once(|| unsafe { plimsoll_prepare() });
        let own = Interrupter { inner: Arc::new(Inner::of(state)) };
        all.cover(&own);
        Self(own)
    }

    #[inline]
    pub(super) fn interrupter(&self) -> &Interrupter {
        &self.0
    }

    /// To be held during each call of the state, which can be interrupted for as long.
    #[inline]
    pub(super) fn enter(&self) -> Entered<'_> {
        let target = &self.0.inner.target;
        // SAFETY: the state is open and the target stays where it is for as long as `self` is
        // borrowed, which is until this thread leaves the call.
        let outer = unsafe { plimsoll_enter(target) };
        Entered { target, outer }
    }
}

/// A call that is going on in this thread.
#[must_use]
pub(super) struct Entered<'a> {
    target: &'a Target,
    /// The call that this one is within.
    outer: *const Target,
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it was entered in this thread, which the pointer keeps this from leaving, and the
        // calls within it are over.
        unsafe { plimsoll_leave(self.target, self.outer) };
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
