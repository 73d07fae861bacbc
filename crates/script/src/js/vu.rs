//! A virtual user: a runtime of QuickJS and a coroutine that all of its script runs in.
//!
//! A task is begun, and the virtual user is resumed with a reply after each step until it is done:
//!
//! ```text
//!          begin                 step                      Done
//! idle ──────────────► running ────────► waiting   running ─────► idle
//!                         ▲                 │
//!                         └──── resume ─────┘
//! ```
//!
//! Everything of QuickJS happens on the coroutine's stack, from making the runtime to freeing it:
//! the limit on the stack is an address.

use std::cell::{Ref, RefMut};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::api::http::Request;
use super::api::sockets::{Dial, Outgoing};
use super::api::{self, console};
use super::errors;
use super::events::{self, Kept};
use super::execution::Execution;
use super::export;
use super::ffi;
use super::grpc::{Call, Channel};
use super::inner::{self, Halt, Inner, Stage};
use super::modules;
use super::names::Names;
use super::program::{Exports, Failure, FunctionId, Shared};
use super::step::{Ending, Level, Reply, Step};
use super::value::{Context, ErrorKind, Outcome, Thrown, Value};
use super::worker::Worker;

/// What of the stack scripts cannot use: the functions here and those of QuickJS that do not look
/// how deep they are.
const STACK_RESERVE_BYTES: usize = 128 << 10;

/// Where an output of `handleSummary` goes, and its text or bytes.
pub type Output = (String, Vec<u8>);

/// What came of `handleSummary`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summarized {
    /// Its outputs, or why they cannot be written; `None` if it returned nothing, which asks for
    /// the usual summary.
    pub outputs: Option<Result<Vec<Output>, String>>,
    /// The data that it was given, as it has left them: JSON.
    pub data: String,
}

/// How deep options are looked at for those without a value: `scenarios.NAME.stages.0.target`.
const OPTIONS_DEPTH_MAX: usize = 6;

/// What a virtual user is to do.
#[derive(Debug, Clone)]
pub enum Task {
    /// Evaluates the script. To be done first, and once.
    Evaluate,
    /// One iteration: calls a function with the setup data.
    Iterate(FunctionId),
    /// Calls a function with the setup data, and keeps what it returns: `setup`, `teardown`.
    Call(FunctionId),
    /// Calls `handleSummary` with data that is JSON, and keeps what comes of it.
    Summarize(FunctionId, Arc<str>),
}

/// Why the coroutine goes on.
pub(super) enum Wake {
    Task(Task),
    Reply,
    Quit,
}

/// A virtual user.
pub struct Vu {
    coroutine: Coroutine<Wake, Step, ()>,
    pub(super) inner: Rc<Inner>,
    /// Whether a task is going on.
    is_busy: bool,
}

impl Vu {
    pub(super) fn new(
        shared: Arc<Shared>,
        worker: Rc<Worker>,
        number: u32,
    ) -> Result<Self, Failure> {
        let bytes = shared.settings.stack_bytes.max(2 * STACK_RESERVE_BYTES);
        let stack = DefaultStack::new(bytes).map_err(|error| Failure {
            text: format!("no memory for the stack of VU {number}, {bytes} bytes: {error}"),
            stack: String::new(),
        })?;
        let inner = Rc::new(Inner::new(shared, worker, number));
        let inside = Rc::clone(&inner);
        let coroutine = Coroutine::with_stack(stack, move |yielder, wake| {
            live(&inside, yielder, wake);
        });
        Ok(Self { coroutine, inner, is_busy: false })
    }

    /// Begins a task at this time, ns since 1970. The one before it has to be done.
    ///
    /// # Panics
    /// If it is not.
    pub fn begin(&mut self, task: Task, now_ns: u64) -> Step {
        assert!(!self.is_busy, "a task was begun before the one before it was done");
        self.is_busy = true;
        self.inner.set_now(now_ns);
        self.wake(Wake::Task(task))
    }

    /// Goes on after a step, at this time, ns since 1970.
    ///
    /// # Panics
    /// If no task is going on.
    #[inline]
    pub fn resume(&mut self, reply: Reply<'_>, now_ns: u64) -> Step {
        assert!(self.is_busy, "there is no task to go on with");
        self.inner.set_now(now_ns);
        self.inner.put_reply(reply);
        let step = self.wake(Wake::Reply);
        self.inner.drop_reply();
        step
    }

    /// Ends the task that is going on, if there is one. Nothing of the script runs any more,
    /// neither `catch` nor `finally`; its modules keep the values they have. Requests that are
    /// under way are forgotten: their answers must not come.
    pub fn cancel(&mut self, now_ns: u64) -> Option<Ending> {
        if !self.is_busy {
            return None;
        }
        self.inner.halt.set(Some(Halt::Cancelled));
        match self.resume(Reply::Taken, now_ns) {
            Step::Done(ending) => Some(ending),
            step => unreachable!("a virtual user that was cancelled asks for {step:?}"),
        }
    }

    #[inline]
    fn wake(&mut self, wake: Wake) -> Step {
        let step = match self.coroutine.resume(wake) {
            CoroutineResult::Yield(step) => step,
            CoroutineResult::Return(()) => Step::Done(Ending::Cancelled),
        };
        self.is_busy = !matches!(step, Step::Done(_));
        step
    }

    /// Whether a task is going on.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// The line of [`Step::Log`].
    #[must_use]
    pub fn line(&self) -> Ref<'_, str> {
        Ref::map(self.inner.line.borrow(), String::as_str)
    }

    /// A request that a step has named. It stays until its answer has come.
    ///
    /// # Panics
    /// If no step has named it.
    #[must_use]
    pub fn request(&self, number: u32) -> Ref<'_, Request> {
        Ref::map(self.inner.requests.borrow(), |requests| requests.request(number))
    }

    /// The requests that no step has named, because they waited for their turn in a batch when
    /// their task was ended; each says for how long. They are taken.
    pub fn unsent(&mut self) -> Vec<Request> {
        self.inner.unsent.take()
    }

    /// A channel that a step has named, unless it is closed.
    #[must_use]
    pub fn channel(&self, number: u32) -> Option<Ref<'_, Channel>> {
        Ref::filter_map(self.inner.grpc.borrow(), |slots| slots.channel(number)).ok()
    }

    /// A call that a step has named. It stays until its end was told.
    #[must_use]
    pub fn call(&self, number: u32) -> Option<Ref<'_, Call>> {
        Ref::filter_map(self.inner.grpc.borrow(), |slots| slots.call(number)).ok()
    }

    /// A socket that [`Step::Connect`] has named. It stays until the socket is over or released.
    ///
    /// # Panics
    /// If no step has named it.
    #[must_use]
    pub fn dial(&self, number: u32) -> Ref<'_, Dial> {
        Ref::map(self.inner.sockets.borrow(), |sockets| sockets.dial(number))
    }

    /// What [`Step::Transmit`] is to send.
    #[must_use]
    pub fn outgoing(&self) -> Ref<'_, Outgoing> {
        Ref::map(self.inner.sockets.borrow(), |sockets| &sockets.outgoing)
    }

    /// What the last task has failed with, or why it asked for the end of the test. It is taken.
    pub fn error(&mut self) -> Option<Failure> {
        self.inner.error.take()
    }

    /// What the function of [`Task::Call`] has returned, as JSON; `None` for `undefined`. It is
    /// taken.
    ///
    /// # Errors
    /// A part that JSON cannot hold: its path, and what it is.
    pub fn result(&mut self) -> Result<Option<String>, String> {
        self.inner.result.replace(Ok(None))
    }

    /// What came of the function of [`Task::Summarize`]. It is taken.
    pub fn summarized(&mut self) -> Summarized {
        self.inner.summarized.take()
    }

    /// The data that functions are called with, as JSON; `None` for `undefined`. Each virtual user
    /// parses it once.
    pub fn set_data(&mut self, data: Option<Arc<str>>) {
        *self.inner.data.borrow_mut() = data;
    }

    /// Sets `__ENV` from the next iteration on: that of the program with these over it.
    pub fn set_environment(&mut self, over: &[(String, String)]) {
        *self.inner.environment.borrow_mut() = Some(over.to_vec());
    }

    /// What there is to tell of the script's timers if its iteration is interrupted now; `None` if
    /// it has none.
    #[must_use]
    pub fn farewell_to_timers(&self) -> Option<String> {
        self.inner.timers.borrow().farewell()
    }

    /// Whether the script has called `exec.test.fail()`. Asked once, it is forgotten.
    pub fn has_failed_test(&mut self) -> bool {
        self.inner.has_failed_test.take()
    }

    /// The facts that the script can ask for, to be kept up to date.
    pub fn execution(&mut self) -> RefMut<'_, Execution> {
        self.inner.execution.borrow_mut()
    }

    /// The names that its runtime has; none before its first task.
    pub(super) fn names(&self) -> Names {
        let machine = self.inner.machine.get();
        // SAFETY: the coroutine, which changes it, does not run.
        unsafe {
            let runtime = (*machine).runtime;
            if runtime.is_null() { Names::default() } else { Names::of(runtime) }
        }
    }

    /// How much memory the script has, bytes: what counts against the limit.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        let machine = self.inner.machine.get();
        // SAFETY: the coroutine, which changes it, does not run.
        unsafe { if (*machine).runtime.is_null() { 0 } else { ffi::plimsoll_used_bytes(machine) } }
    }
}

impl Drop for Vu {
    fn drop(&mut self) {
        let now_ns = self.inner.now_ns.get();
        self.cancel(now_ns);
        self.wake(Wake::Quit);
    }
}

/// The life of a virtual user, within its coroutine.
fn live(inner: &Inner, yielder: &Yielder<Wake, Step>, mut wake: Wake) {
    inner.set_yielder(yielder);
    loop {
        match wake {
            Wake::Quit => break,
            Wake::Reply => wake = yielder.suspend(Step::Done(Ending::Complete)),
            Wake::Task(task) => wake = yielder.suspend(Step::Done(perform(inner, &task))),
        }
    }
    close(inner);
}

/// Carries out a task, whatever becomes of it.
fn perform(inner: &Inner, task: &Task) -> Ending {
    let Some(context) = open(inner) else {
        inner.halt.set(None);
        *inner.error.borrow_mut() =
            Some(Failure { text: "no memory for a VU".to_owned(), stack: String::new() });
        return Ending::Failed;
    };
    inner.stage.set(if matches!(task, Task::Evaluate) { Stage::Init } else { Stage::Running });
    let outcome = if is_within_memory(inner) { attempt(context, task) } else { Err(Thrown) };
    let ending = conclude(context, outcome);
    events::clear(context);
    inner.group.borrow_mut().clear();
    inner.halt.set(None);
    ending
}

fn is_within_memory(inner: &Inner) -> bool {
    let machine = inner.machine.get();
    // SAFETY: the machine is open, and this is its coroutine.
    let is_within = unsafe { !(*machine).is_over_limit || ffi::plimsoll_recover(machine) };
    if !is_within {
        inner.halt.set(Some(Halt::Memory));
    }
    is_within
}

/// The context, which is made when it is first needed.
fn open(inner: &Inner) -> Option<Context<'_>> {
    let machine = inner.machine.get();
    let settings = &inner.shared.settings;
    // SAFETY: the machine stays where it is, and this is its coroutine. What QuickJS is told to
    // call has the shapes that it asks for, and `inner` outlives the runtime.
    unsafe {
        if !(*machine).context.is_null() {
            return Some(Context::new((*machine).context));
        }
        let stack_bytes = settings.stack_bytes.max(2 * STACK_RESERVE_BYTES) - STACK_RESERVE_BYTES;
        let names = inner.shared.names.get();
        let names = names.map_or(ptr::null_mut(), |names| inner.worker.names.of(names));
        if ffi::plimsoll_open(machine, stack_bytes, names) != 0 {
            return None;
        }
        let (runtime, raw) = ((*machine).runtime, (*machine).context);
        let opaque = ptr::from_ref(inner).cast_mut().cast::<c_void>();
        ffi::JS_SetContextOpaque(raw, opaque);
        ffi::JS_SetRuntimeOpaque(runtime, opaque);
        ffi::JS_SetInterruptHandler(runtime, Some(inner::on_poll), opaque);
        ffi::JS_SetHostPromiseRejectionTracker(runtime, Some(inner::on_rejection), opaque);
        let (normalize, load) = (modules::normalize, modules::load);
        ffi::JS_SetModuleLoaderFunc2(runtime, normalize, load, None, opaque);
        ffi::plimsoll_limit(machine, settings.memory_bytes_max);
        let context = Context::new(raw);
        seed(context, settings.seed, inner.number);
        Some(context)
    }
}

/// Gives `Math.random` a stream of its own.
fn seed(context: Context<'_>, seed: u64, number: u32) {
    // SplitMix64's increment keeps streams of neighbouring numbers apart.
    let mixed = seed ^ (u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // SAFETY: the context is open.
    unsafe { ffi::plimsoll_seed(context.raw(), mixed) };
    context.inner().random.set(!mixed);
}

fn attempt(context: Context<'_>, task: &Task) -> Result<(), Thrown> {
    let inner = context.inner();
    match task {
        Task::Evaluate => evaluate(context),
        Task::Iterate(function) => {
            api::globals::begin_iteration(context)?;
            call(context, *function, &data(context)?).map(drop)
        }
        Task::Call(function) => {
            let returned = call(context, *function, &data(context)?)?;
            *inner.result.borrow_mut() = export::json(&returned)?;
            Ok(())
        }
        Task::Summarize(function, data) => {
            let data = context.parse_json(data.as_bytes(), c"<summary>")?;
            let returned = call(context, *function, &data)?;
            let outputs = returned.to_bool()?.then(|| outputs(&returned)).transpose()?;
            let data = data.to_json()?.to_text()?.str().into_owned();
            *inner.summarized.borrow_mut() = Summarized { outputs, data };
            Ok(())
        }
    }
}

/// Evaluates the modules, and looks at what the main one exports.
fn evaluate(context: Context<'_>) -> Result<(), Thrown> {
    let inner = context.inner();
    let shared = &inner.shared;
    api::set_up(context)?;
    let was_read = shared.store.module(&shared.main).is_some();
    let loaded = modules::load_file(context, &shared.main)?;
    let evaluated = modules::namespace(context, loaded, was_read);
    let exported = tell_missing(context, evaluated)?;
    if inner.is_first() {
        let exports = look_at(context, &exported)?;
        drop(shared.exports.set(exports));
    }
    let names = shared.exports.get().map_or(&[][..], |exports| &exports.functions);
    let mut functions = Vec::with_capacity(names.len());
    for name in names {
        let function = exported.get(name)?;
        functions.push(function.is_function().then(|| Kept::of(function)));
    }
    *inner.functions.borrow_mut() = functions;
    // SAFETY: the machine is open, and this is its coroutine.
    unsafe { ffi::plimsoll_settle(inner.machine.get()) };
    Ok(())
}

/// Tells, for those who look for it, what was imported and is not there, also where that has made
/// the evaluation fail. k6 says nothing.
fn tell_missing<'js>(context: Context<'js>, evaluated: Outcome<'js>) -> Outcome<'js> {
    let missing = context.inner().missing.take();
    if missing.is_empty() || !context.inner().is_first() {
        return evaluated;
    }
    let exception = evaluated.as_ref().err().map(|Thrown| context.exception());
    for (module, name) in missing {
        let line = format!("'{module}' exports no '{name}', which is imported: it is undefined");
        console::note(context, Level::Debug, &line)?;
    }
    match exception {
        Some(exception) => Err(context.throw_value(exception)),
        None => evaluated,
    }
}

fn look_at(context: Context<'_>, exported: &Value<'_>) -> Result<Exports, Thrown> {
    let mut exports = Exports::default();
    exported.for_each_property(|name, value| {
        if value.is_function() {
            exports.functions.push(name.str().into_owned());
        } else if name.bytes() == b"options" && !value.is_nothing() {
            for path in undefined_options(&value)? {
                let line = format!("option '{path}' is undefined, and counts as not given");
                console::note(context, Level::Warn, &line)?;
            }
            // JSON would make null of NaN, and an option of null is one that is not set.
            if let Some(unfit) = export::unfit(&value, &mut vec!["options".to_owned()])? {
                return Err(
                    context.throw(ErrorKind::Type, format!("{unfit}, which options cannot be"))
                );
            }
            let json = value.to_json()?;
            exports.options = Some(json.to_text()?.str().into_owned());
        }
        Ok(())
    })?;
    Ok(exports)
}

/// Options that are there and have no value, as those of a name that does not exist, by their path.
fn undefined_options(options: &Value<'_>) -> Result<Vec<String>, Thrown> {
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), options.clone())];
    while let Some((path, value)) = waiting.pop() {
        if !value.is_object() || path.matches('.').count() >= OPTIONS_DEPTH_MAX {
            continue;
        }
        value.for_each_property(|name, part| {
            let path = if path.is_empty() { String::new() } else { format!("{path}.") };
            let path = format!("{path}{}", name.str());
            if part.is_undefined() {
                found.push(path);
            } else {
                waiting.push((path, part));
            }
            Ok(())
        })?;
    }
    found.sort();
    Ok(found)
}

/// Calls a function that the script exports, and runs the event loop until it is empty.
fn call<'js>(context: Context<'js>, function: FunctionId, argument: &Value<'js>) -> Outcome<'js> {
    let functions = context.inner().functions.borrow();
    let kept = functions.get(function.0 as usize).and_then(Option::as_ref);
    let Some(function) = kept.map(|kept| kept.value(context)) else {
        let message = "a function that the script exports is missing in this VU: export the same \
                       functions for every VU";
        return Err(context.throw(ErrorKind::Plain, message));
    };
    drop(functions);
    let returned = function.call(&context.undefined(), std::slice::from_ref(argument))?;
    events::run(context, returned)
}

/// The setup data, parsed when it is first needed.
fn data(context: Context<'_>) -> Outcome<'_> {
    let inner = context.inner();
    if let Some(text) = inner.data.borrow_mut().take() {
        let value = context.parse_json(text.as_bytes(), c"<setup data>")?;
        let before = inner.data_value.borrow_mut().replace(Kept::of(value));
        drop(before.map(|before| before.release(context)));
    }
    let value = inner.data_value.borrow();
    Ok(value.as_ref().map_or_else(|| context.undefined(), |value| value.value(context)))
}

/// The outputs of `handleSummary`, or why they are none: one that cannot be written keeps all of
/// them from being written.
fn outputs(returned: &Value<'_>) -> Result<Result<Vec<Output>, String>, Thrown> {
    if !returned.is_object() || returned.is_array() || returned.is_function() {
        let what = "handleSummary() has to return an object: its keys say where each text goes";
        return Ok(Err(what.to_owned()));
    }
    let mut all = Ok(Vec::new());
    returned.for_each_property(|name, value| {
        let content = match value.with_bytes(<[u8]>::to_vec)? {
            Some(bytes) => Some(bytes),
            None if value.is_string() => Some(value.to_text()?.bytes().to_vec()),
            None => None,
        };
        let name = name.str().into_owned();
        match (&mut all, content) {
            (Ok(outputs), Some(content)) => outputs.push((name, content)),
            (Ok(_), None) => {
                all = Err(format!(
                    "handleSummary() has to return a string or an ArrayBuffer for '{name}'"
                ));
            }
            (Err(_), _) => {}
        }
        Ok(())
    })?;
    Ok(all)
}

/// What a task has come to, with its error where it can be read.
fn conclude(context: Context<'_>, outcome: Result<(), Thrown>) -> Ending {
    let inner = context.inner();
    let exception = outcome.err().map(|Thrown| context.exception());
    let failed = |failure| {
        *inner.error.borrow_mut() = Some(failure);
        Ending::Failed
    };
    match (inner.halt.get(), exception) {
        (Some(Halt::Cancelled), _) => Ending::Cancelled,
        (Some(Halt::Aborted), _) => Ending::Aborted,
        (Some(Halt::Memory), _) => {
            let most = match inner.shared.settings.memory_bytes_max {
                bytes if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
                bytes => format!("{} MiB", bytes >> 20),
            };
            let text = format!("{}: a VU needs more memory than {most}", inner.shared.main);
            failed(Failure { text, stack: String::new() })
        }
        (None, None) => Ending::Complete,
        (None, Some(exception)) => failed(errors::describe(context, &exception)),
    }
}

/// Frees everything of QuickJS.
fn close(inner: &Inner) {
    let machine = inner.machine.get();
    // SAFETY: as in `open`.
    let context = unsafe {
        if (*machine).context.is_null() {
            return;
        }
        Context::new((*machine).context)
    };
    events::clear(context);
    let functions = inner.functions.take().into_iter().flatten();
    let required = inner.required.take().into_iter().map(|(_, module)| module);
    for kept in functions.chain(required).chain(inner.data_value.take()) {
        kept.release(context);
    }
    for atom in inner.fields.take() {
        // SAFETY: the context is open, and the atom is ours.
        unsafe { ffi::JS_FreeAtom(context.raw(), atom) };
    }
    // SAFETY: nothing holds a value any more, and nothing calls in.
    unsafe {
        ffi::JS_SetInterruptHandler((*machine).runtime, None, ptr::null_mut());
        ffi::plimsoll_close(machine);
    }
}
