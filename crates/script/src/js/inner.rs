//! What the inside and the outside of a virtual user share: the script's functions reach it through
//! their context, and [`super::Vu`] from without.
//!
//! Only one side runs at a time, in one thread, so that cells are enough.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use corosensei::Yielder;

use super::api::classes::Classes;
use super::api::grpc::Slots;
use super::api::http::{Expected, Request, Requests, SharedJar};
use super::api::metadata::Metadata;
use super::api::sockets::Sockets;
use super::events::{Kept, Timers};
use super::execution::Execution;
use super::ffi;
use super::program::Shared;
use super::step::{Reply, Step};
use super::value::{Context, Thrown};
use super::vu::Wake;
use super::worker::Worker;

/// What is going on in a virtual user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The modules are being evaluated.
    Init,
    /// A function of the script runs.
    Running,
}

/// Why the script is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// From without.
    Cancelled,
    /// It needs more memory than it may.
    Memory,
    /// It has asked for the end of the test.
    Aborted,
}

/// What a step was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Got {
    Taken,
    Woken,
    /// The answer to a request; it is with the request.
    Ended(u32),
    /// What has become of a channel or a call; it is there.
    Told,
    /// News of a socket; it is with the sockets.
    News(u32),
    /// Bytes that wait to be sent on a socket.
    Queued(u64),
}

/// See the head of this module.
pub(super) struct Inner {
    pub shared: Arc<Shared>,
    pub worker: Rc<Worker>,
    /// The number of the virtual user: `__VU`.
    pub number: u32,
    pub machine: UnsafeCell<ffi::Machine>,
    yielder: Cell<*const Yielder<Wake, Step>>,
    reply: Cell<Option<Reply<'static>>>,
    pub halt: Cell<Option<Halt>>,
    pub stage: Cell<Stage>,
    pub now_ns: Cell<u64>,
    /// How often the script was looked at since it was resumed.
    polls: Cell<u32>,
    /// The line to log, the error, or the reason.
    pub line: RefCell<String>,
    pub error: RefCell<Option<super::Failure>>,
    pub result: RefCell<Result<Option<String>, String>>,
    pub summarized: RefCell<super::Summarized>,
    pub timers: RefCell<Timers>,
    /// Promises that were rejected and have no handler.
    pub unhandled: RefCell<Vec<(Kept, Kept)>>,
    pub requests: RefCell<Requests>,
    /// Requests that waited for their turn in a batch when the task was ended.
    pub unsent: RefCell<Vec<Request>>,
    /// Channels and calls of gRPC.
    pub grpc: RefCell<Slots>,
    pub sockets: RefCell<Sockets>,
    pub classes: Cell<Classes>,
    /// What was imported and is not there: modules and names.
    pub missing: RefCell<Vec<(String, String)>>,
    pub required: RefCell<Vec<(String, Kept)>>,
    pub functions: RefCell<Vec<Option<Kept>>>,
    pub data: RefCell<Option<Arc<str>>>,
    pub data_value: RefCell<Option<Kept>>,
    pub environment: RefCell<Option<Vec<(String, String)>>>,
    pub execution: RefCell<Execution>,
    /// The names of the groups that the script is in: `::outer::inner`.
    pub group: RefCell<String>,
    /// Tags of the virtual user: `exec.vu.metrics.tags`.
    pub tags: RefCell<Vec<(String, String)>>,
    /// Its metadata: `exec.vu.metrics.metadata`; `None` without any.
    pub metadata: RefCell<Option<Metadata>>,
    /// Room to put a set of tags together.
    pub scratch: RefCell<Vec<u8>>,
    /// What `randomBytes` and boundaries of forms are drawn from.
    pub random: Cell<u64>,
    /// Whether the script has said that the test has failed.
    pub has_failed_test: Cell<bool>,
    /// Names of a response's fields, as QuickJS numbers them.
    pub fields: RefCell<Vec<u32>>,
    /// The cookies of the iteration.
    pub jar: RefCell<SharedJar>,
    /// Secrets that the script has got, which its log and its errors do not show.
    pub secrets: RefCell<Vec<String>>,
    /// What `http.setResponseCallback` has set.
    pub expected: RefCell<Expected>,
}

impl Inner {
    pub(super) fn new(shared: Arc<Shared>, worker: Rc<Worker>, number: u32) -> Self {
        let machine = ffi::Machine {
            runtime: ptr::null_mut(),
            context: ptr::null_mut(),
            limit_bytes: 0,
            is_over_limit: false,
            is_stressed: shared.settings.collects_always,
            is_rehashing: false,
            names: ptr::null_mut(),
            lazy: [ffi::Raw { payload: 0, tag: ffi::TAG_UNDEFINED }; ffi::LAZY_COUNT],
            tell_missing: on_missing,
        };
        Self {
            shared,
            worker,
            number,
            machine: UnsafeCell::new(machine),
            yielder: Cell::new(ptr::null()),
            reply: Cell::new(None),
            halt: Cell::new(None),
            stage: Cell::new(Stage::Init),
            now_ns: Cell::new(0),
            polls: Cell::new(0),
            line: RefCell::default(),
            error: RefCell::default(),
            result: RefCell::new(Ok(None)),
            summarized: RefCell::default(),
            timers: RefCell::default(),
            unhandled: RefCell::default(),
            requests: RefCell::default(),
            unsent: RefCell::default(),
            grpc: RefCell::default(),
            sockets: RefCell::default(),
            classes: Cell::default(),
            missing: RefCell::default(),
            required: RefCell::default(),
            functions: RefCell::default(),
            data: RefCell::default(),
            data_value: RefCell::default(),
            environment: RefCell::default(),
            execution: RefCell::default(),
            group: RefCell::default(),
            tags: RefCell::default(),
            metadata: RefCell::default(),
            scratch: RefCell::default(),
            random: Cell::new(0),
            has_failed_test: Cell::new(false),
            fields: RefCell::default(),
            jar: RefCell::default(),
            secrets: RefCell::default(),
            expected: RefCell::default(),
        }
    }

    /// Whether the script is being evaluated for the first time: notes are for that time alone.
    pub(super) fn is_first(&self) -> bool {
        self.shared.exports.get().is_none()
    }

    /// Says where steps go to.
    pub(super) fn set_yielder(&self, yielder: &Yielder<Wake, Step>) {
        self.yielder.set(yielder);
    }

    /// The time from now on, ns since 1970.
    pub(super) fn set_now(&self, now_ns: u64) {
        self.now_ns.set(now_ns);
        self.polls.set(0);
        let us = i64::try_from(now_ns / 1000).unwrap_or(i64::MAX);
        // SAFETY: it writes a variable of this thread.
        unsafe { ffi::plimsoll_set_clock(us) };
    }

    /// Puts a reply where the step that waits finds it.
    pub(super) fn put_reply(&self, reply: Reply<'_>) {
        // SAFETY: `Vu::resume` has borrowed it for as long as the coroutine runs, and takes it away
        // again when the coroutine is suspended. `take_reply` is the one that reads it, and copies.
        let reply = unsafe { std::mem::transmute::<Reply<'_>, Reply<'static>>(reply) };
        self.reply.set(Some(reply));
    }

    pub(super) fn drop_reply(&self) {
        self.reply.set(None);
    }

    fn take_reply(&self) -> Got {
        match self.reply.take() {
            None | Some(Reply::Taken) => Got::Taken,
            Some(Reply::Woken) => Got::Woken,
            Some(Reply::Ended(answer)) => {
                self.requests.borrow_mut().answer(&answer);
                Got::Ended(answer.request)
            }
            Some(Reply::Grpc(told)) => {
                self.grpc.borrow_mut().take(&told);
                Got::Told
            }
            Some(Reply::News(socket, news)) => {
                self.sockets.borrow_mut().keep(socket, &news);
                Got::News(socket)
            }
            Some(Reply::Queued(bytes)) => Got::Queued(bytes),
        }
    }

    /// The next of a stream of random numbers that starts from the seed.
    pub(super) fn draw(&self) -> u64 {
        // SplitMix64.
        let state = self.random.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Takes a step, and comes back with what it was answered.
    ///
    /// # Errors
    /// When the script is to end: nothing of it runs any more.
    pub(super) fn ask(&self, context: Context<'_>, step: Step) -> Result<Got, Thrown> {
        self.suspend(step).map_err(|Halted| context.throw_uncatchable(c"stopped"))
    }

    /// The same, for what only logs or warns.
    fn suspend(&self, step: Step) -> Result<Got, Halted> {
        if self.halt.get().is_some() {
            return Err(Halted);
        }
        // SAFETY: it was set by the coroutine that this runs in, and lives as long as that.
        let yielder = unsafe { &*self.yielder.get() };
        let wake = yielder.suspend(step);
        debug_assert!(matches!(wake, Wake::Reply), "a task was begun within a task");
        let got = self.take_reply();
        if self.halt.get().is_some() { Err(Halted) } else { Ok(got) }
    }

    /// Called by QuickJS now and then, about each 140 µs of a busy script. Not 0 ends the script.
    fn poll(&self, context: Context<'_>) -> c_int {
        let stop = || {
            context.poll_soon();
            1
        };
        if self.halt.get().is_some() {
            return stop();
        }
        let machine = self.machine.get();
        // SAFETY: the machine is open while its script runs, and only this thread uses it.
        unsafe {
            if (*machine).is_over_limit && !ffi::plimsoll_recover(machine) {
                self.halt.set(Some(Halt::Memory));
                return stop();
            }
        }
        let polls = self.polls.get() + 1;
        self.polls.set(polls);
        if polls >= self.shared.settings.polls_per_turn && self.suspend(Step::Pause).is_err() {
            return stop();
        }
        0
    }
}

struct Halted;

/// The interrupt handler of QuickJS.
pub(super) unsafe extern "C" fn on_poll(_: *mut ffi::Runtime, opaque: *mut c_void) -> c_int {
    // SAFETY: the opaque pointer is the virtual user's, which outlives its runtime.
    let inner = unsafe { &*opaque.cast::<Inner>() };
    // SAFETY: the machine is open while its script runs.
    let context = unsafe { (*inner.machine.get()).context };
    if context.is_null() {
        return 0;
    }
    // SAFETY: as above.
    inner.poll(unsafe { Context::new(context) })
}

/// Told of an export that a module does not have.
unsafe extern "C" fn on_missing(context: *mut ffi::Context, module: u32, name: u32) {
    // SAFETY: QuickJS has the context open, and both names are alive.
    let context = unsafe { Context::new(context) };
    // Without memory for a line, what comes next fails too.
    if let (Ok(module), Ok(name)) = (context.atom_text(module), context.atom_text(name)) {
        let missing = (module.str().into_owned(), name.str().into_owned());
        context.inner().missing.borrow_mut().push(missing);
    }
}

/// Told by QuickJS of promises that are rejected without a handler, and of those that get one.
pub(super) unsafe extern "C" fn on_rejection(
    context: *mut ffi::Context,
    promise: ffi::Raw,
    reason: ffi::Raw,
    is_handled: bool,
    opaque: *mut c_void,
) {
    // SAFETY: as in `on_poll`.
    let (inner, context) = unsafe { (&*opaque.cast::<Inner>(), Context::new(context)) };
    let mut unhandled = inner.unhandled.borrow_mut();
    if is_handled {
        if let Some(at) = unhandled.iter().position(|(known, _)| known.is(promise)) {
            let (promise, reason) = unhandled.swap_remove(at);
            drop(unhandled);
            promise.release(context);
            reason.release(context);
        }
        return;
    }
    // SAFETY: QuickJS lends both.
    let (promise, reason) = unsafe { (context.lent(promise), context.lent(reason)) };
    unhandled.push((Kept::of(promise), Kept::of(reason)));
}
