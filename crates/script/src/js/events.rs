//! The event loop of a virtual user: jobs of promises, timers, news of sockets, and answers to
//! requests that nobody waits for in a call.
//!
//! A task is over when the loop is empty.

use super::ffi::{self, Raw};
use super::inner::{Got, Inner};
use super::step::Step;
use super::value::{Context, ErrorKind, Outcome, PromiseState, Thrown, Value};

/// The most timers that a virtual user may have.
const TIMERS_MAX: usize = 10_000;

/// A reference to a value that outlives the call which it was made in. It has to be released.
#[derive(Debug)]
pub(super) struct Kept(Raw);

impl Kept {
    pub(super) fn of(value: Value<'_>) -> Self {
        Self(value.into_raw())
    }

    pub(super) fn value<'js>(&self, context: Context<'js>) -> Value<'js> {
        // SAFETY: this owns a reference, so that the value is alive; there is one context.
        unsafe { context.lent(self.0) }
    }

    /// Gives the reference back, as a value.
    pub(super) fn release<'js>(self, context: Context<'js>) -> Value<'js> {
        // SAFETY: this owned a reference, which the value takes over.
        unsafe { Value::of(self.0, context) }
    }

    /// Whether it is this very object.
    pub(super) fn is(&self, raw: Raw) -> bool {
        self.0.tag == raw.tag && self.0.payload == raw.payload
    }
}

/// Functions that are to be called later.
#[derive(Debug, Default)]
pub(super) struct Timers {
    timers: Vec<Timer>,
    last: u32,
}

#[derive(Debug)]
struct Timer {
    number: u32,
    due_ns: u64,
    /// How often it repeats, ns; `None` for one that does not.
    every_ns: Option<u64>,
    function: Kept,
    arguments: Vec<Kept>,
}

impl Timers {
    /// The number of the one that is due first, and when.
    fn next(&self) -> Option<(u32, u64)> {
        // Of those that are due at the same time the one that was set first.
        let first = self.timers.iter().min_by_key(|timer| (timer.due_ns, timer.number))?;
        Some((first.number, first.due_ns))
    }

    /// What is told of those that the end of an iteration stops; `None` without any.
    pub(super) fn farewell(&self) -> Option<String> {
        let first = self.timers.iter().min_by_key(|timer| (timer.due_ns, timer.number))?;
        let name = if first.every_ns.is_some() { "setInterval" } else { "setTimeout" };
        let others = match self.timers.len() - 1 {
            0 => String::new(),
            1 => " and another timer".to_owned(),
            count => format!(" and {count} other timers"),
        };
        let number = first.number;
        Some(format!("{name} {number}{others} stopped: the iteration was interrupted"))
    }

    fn remove(&mut self, number: u32) -> Option<Timer> {
        let at = self.timers.iter().position(|timer| timer.number == number)?;
        Some(self.timers.remove(at))
    }
}

impl Timer {
    fn release(self, context: Context<'_>) {
        self.function.release(context);
        for argument in self.arguments {
            argument.release(context);
        }
    }
}

/// Has a function called after a time, ns, and once more each time it has passed if it repeats.
pub(super) fn set_timer<'js>(
    context: Context<'js>,
    function: Value<'js>,
    arguments: impl Iterator<Item = Value<'js>>,
    after_ns: u64,
    repeats: bool,
) -> Result<u32, Thrown> {
    let inner = context.inner();
    let mut timers = inner.timers.borrow_mut();
    if timers.timers.len() == TIMERS_MAX {
        let message = format!("a VU may have {TIMERS_MAX} timers at a time");
        return Err(context.throw(ErrorKind::Range, message));
    }
    timers.last += 1;
    let number = timers.last;
    let timer = Timer {
        number,
        due_ns: inner.now_ns.get().saturating_add(after_ns),
        // One that repeats without a pause would never let the iteration end.
        every_ns: repeats.then_some(after_ns.max(1)),
        function: Kept::of(function),
        arguments: arguments.map(Kept::of).collect(),
    };
    timers.timers.push(timer);
    Ok(number)
}

/// Forgets a timer; one that is not there does not matter.
pub(super) fn clear_timer(context: Context<'_>, number: u32) {
    let removed = context.inner().timers.borrow_mut().remove(number);
    if let Some(timer) = removed {
        timer.release(context);
    }
}

/// Runs the loop until it is empty, and gives what `returned` is or resolves to: `undefined` if it
/// is a promise that nothing settles.
pub(super) fn run<'js>(context: Context<'js>, returned: Value<'js>) -> Outcome<'js> {
    let inner = context.inner();
    let is_promise = returned.is_promise();
    if is_promise {
        // SAFETY: context and promise are alive. What it is rejected with is reported below.
        unsafe { ffi::JS_PromiseMarkAsHandled(context.raw(), returned.raw()) };
        forget_unhandled(context, Some(returned.raw()));
    }
    loop {
        run_jobs(context)?;
        throw_unhandled(context)?;
        if is_promise && let PromiseState::Rejected(reason) = returned.promise_state() {
            return Err(context.throw_value(reason));
        }
        let arrived = inner.requests.borrow().arrived();
        if let Some(request) = arrived {
            super::api::http::settle(context, request)?;
            continue;
        }
        let told = inner.grpc.borrow_mut().next();
        if let Some(told) = told {
            super::api::grpc::tell(context, told)?;
            continue;
        }
        let is_idle = || inner.requests.borrow().is_idle() && inner.grpc.borrow().is_idle();
        let next = inner.timers.borrow().next();
        let listens = inner.sockets.borrow().has_listener();
        match next {
            Some((number, due_ns)) if due_ns <= inner.now_ns.get() => fire(context, number)?,
            None if !listens && is_idle() => break,
            next => {
                let wait_ns = next.map(|(_, due_ns)| due_ns - inner.now_ns.get());
                let step = if listens { Step::Listen(None, wait_ns) } else { Step::Wait(wait_ns) };
                if let Got::News(socket) = inner.ask(context, step)? {
                    super::api::sockets::deliver(context, socket)?;
                }
            }
        }
    }
    match returned.promise_state() {
        PromiseState::Fulfilled(value) => Ok(value),
        PromiseState::Pending if is_promise => Ok(context.undefined()),
        _ => Ok(returned),
    }
}

fn run_jobs(context: Context<'_>) -> Result<(), Thrown> {
    let runtime = context.runtime();
    let mut of = std::ptr::null_mut();
    loop {
        // SAFETY: the runtime is open and this is its coroutine.
        match unsafe { ffi::JS_ExecutePendingJob(runtime, &raw mut of) } {
            0 => return Ok(()),
            1.. => {}
            _ => return Err(Thrown),
        }
    }
}

fn fire(context: Context<'_>, number: u32) -> Result<(), Thrown> {
    let inner = context.inner();
    let Some(mut timer) = inner.timers.borrow_mut().remove(number) else { return Ok(()) };
    let function = timer.function.value(context);
    let arguments: Vec<Value<'_>> =
        timer.arguments.iter().map(|argument| argument.value(context)).collect();
    if let Some(every_ns) = timer.every_ns {
        timer.due_ns = inner.now_ns.get().saturating_add(every_ns);
        inner.timers.borrow_mut().timers.push(timer);
    } else {
        timer.release(context);
    }
    function.call(&context.undefined(), &arguments).map(drop)
}

/// Raises the reason of the first rejected promise that nothing handles.
fn throw_unhandled(context: Context<'_>) -> Result<(), Thrown> {
    let mut unhandled = context.inner().unhandled.borrow_mut();
    if unhandled.is_empty() {
        return Ok(());
    }
    let (promise, reason) = unhandled.remove(0);
    drop(unhandled);
    promise.release(context);
    let reason = reason.release(context);
    Err(context.throw_value(reason))
}

/// Forgets rejected promises: one, or all.
fn forget_unhandled(context: Context<'_>, one: Option<Raw>) {
    let mut unhandled = context.inner().unhandled.borrow_mut();
    let is_meant = |kept: &Kept| one.is_none_or(|one| kept.is(one));
    let gone: Vec<(Kept, Kept)> = unhandled.extract_if(.., |(kept, _)| is_meant(kept)).collect();
    drop(unhandled);
    for (promise, reason) in gone {
        promise.release(context);
        reason.release(context);
    }
}

/// Forgets all that was to happen later.
pub(super) fn clear(context: Context<'_>) {
    let inner: &Inner = context.inner();
    // SAFETY: the runtime is open, and nothing of the script runs.
    unsafe { ffi::plimsoll_drop_jobs(context.runtime()) };
    let timers = std::mem::take(&mut inner.timers.borrow_mut().timers);
    for timer in timers {
        timer.release(context);
    }
    forget_unhandled(context, None);
    super::api::http::forget(context);
    super::api::grpc::forget(context);
    super::api::sockets::forget(context);
}
