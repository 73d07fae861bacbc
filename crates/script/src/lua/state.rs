//! One Lua state: its creation, the functions that the prelude may call, and the calls that are not
//! on the path of a request.
//!
//! Our functions never raise a Lua error when Lua calls them. The error would be thrown through our
//! own frames, which a program that aborts on panics does not survive. They return the error, and
//! the prelude raises it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use mlua::chunk::ChunkMode;
use mlua::{Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, Value, ffi};
use plimsoll_core::histogram::Histogram;

use super::calls::Caller;
use super::interrupt::{Attached, Entered, Interrupter};
use super::{Api, ScriptError, ScriptStart, Summary, Wants, messages, stats, transfer};

const PRELUDE: &str = include_str!("prelude.lua");

/// What a thread's script can change of its worker, and the worker looks at.
pub(super) struct Slot {
    stopped: AtomicBool,
    address: Mutex<Option<SocketAddr>>,
}

impl Slot {
    pub(super) fn new(address: Option<SocketAddr>) -> Self {
        Self { stopped: AtomicBool::new(false), address: Mutex::new(address) }
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn forget_stop(&self) {
        self.stopped.store(false, Ordering::Relaxed);
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_address(&self, address: SocketAddr) {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }
}

/// Which state it is.
pub(super) enum Role {
    /// The main one, which knows all threads.
    Main { slots: Vec<Arc<Slot>> },
    /// That of a thread, which knows only itself.
    Thread { index: usize, slot: Arc<Slot> },
}

/// What `thread` in a script stands for, by its number: worker and variables.
#[derive(Clone)]
struct Threads {
    slots: Arc<Vec<Option<Arc<Slot>>>>,
    /// The states whose variables can be reached now. Empty in a thread's own state.
    reached: Arc<Mutex<Vec<(usize, Lua)>>>,
    own: Option<usize>,
}

impl Threads {
    fn new(role: Role) -> Self {
        let (slots, own) = match role {
            Role::Main { slots } => (slots.into_iter().map(Some).collect(), None),
            Role::Thread { index, slot } => {
                let mut slots = vec![None; index];
                slots.push(Some(slot));
                (slots, Some(index))
            }
        };
        Self { slots: Arc::new(slots), reached: Arc::default(), own }
    }

    fn slot(&self, number: &Value) -> Option<&Arc<Slot>> {
        self.slots.get(index(number)?)?.as_ref()
    }

    /// The state of a thread; `caller` is the state that asks.
    fn state(&self, number: &Value, caller: &Lua) -> Result<Lua, String> {
        let wanted = index(number);
        if wanted.is_some() && wanted == self.own {
            return Ok(caller.clone());
        }
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let found = reached.iter().find(|(index, _)| Some(*index) == wanted);
        found
            .map(|(_, lua)| lua.clone())
            .ok_or_else(|| "this thread's variables cannot be reached now".to_owned())
    }
}

fn index(number: &Value) -> Option<usize> {
    number.as_usize()
}

fn text(value: &Value) -> String {
    value.as_string().map_or_else(String::new, |text| text.to_string_lossy())
}

/// A Lua state with the script in it.
pub(super) struct State {
    // Before the state, which it points into.
    attached: Attached,
    internals: Table,
    guard: Function,
    threads: Threads,
    path: String,
    lua: Lua,
}

impl State {
    /// Makes a state and runs the script's file in it.
    pub(super) fn new(load: &ScriptStart<'_>, role: Role) -> Result<Self, ScriptError> {
        // SAFETY: scripts get all of Lua's libraries, as in wrk, among them those with which a
        // script can break the process. It is the user's own program.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::NONE, LuaOptions::new()) };
        let threads = Threads::new(role);
        let broken = |error| {
            let path = load.path.to_owned();
            if load.interrupter.is_interrupted() {
                return ScriptError::Interrupted { path };
            }
            ScriptError::Failed(format!("{path}: {}", first_line(&error)))
        };
        open_libraries(&lua).map_err(broken)?;
        // SAFETY: `State` drops this before the Lua state, whose last owner it is: clones in
        // `reached` are gone when `reach` returns.
        let attached = unsafe { Attached::new(raw(&lua).map_err(broken)?, &load.interrupter) };
        let internals = prelude(&lua, load, &threads).map_err(broken)?;
        let guard = internals.raw_get("guard").map_err(broken)?;
        let path = load.path.to_owned();
        let state = Self { attached, internals, guard, threads, path, lua };
        state.run_file(load.text)?;
        Ok(state)
    }

    fn run_file(&self, text: &str) -> Result<(), ScriptError> {
        let name = format!("@{}", self.path);
        let chunk = self.lua.load(without_first_comment(text)).set_name(name);
        let file = chunk.set_mode(ChunkMode::Text).into_function();
        self.call(file.map_err(|error| self.broken(&error))?, ()).map(drop)
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn interrupter(&self) -> &Interrupter {
        self.attached.interrupter()
    }

    /// To be held during each call, see [`Attached::enter`].
    ///
    /// # Errors
    /// When it was interrupted: no call starts any more.
    #[inline]
    pub(super) fn enter(&self) -> Result<Entered<'_>, ScriptError> {
        let entered = self.attached.enter();
        if self.interrupter().is_interrupted() {
            return Err(self.interrupted());
        }
        Ok(entered)
    }

    /// Lets the variables of other states be reached during `f`.
    pub(super) fn reach<R>(&self, others: &[(usize, &Self)], f: impl FnOnce() -> R) -> R {
        let reached = &self.threads.reached;
        let others = others.iter().map(|(index, state)| (*index, state.lua.clone())).collect();
        *reached.lock().unwrap_or_else(PoisonError::into_inner) = others;
        let result = f();
        reached.lock().unwrap_or_else(PoisonError::into_inner).clear();
        result
    }

    /// Calls `wrk.setup(thread)`.
    pub(super) fn setup(&self, index: usize) -> Result<(), ScriptError> {
        self.call(self.internal("setup")?, index).map(drop)
    }

    /// Calls `wrk.init(args)`.
    pub(super) fn init(&self, load: &ScriptStart<'_>) -> Result<(), ScriptError> {
        let arguments = || {
            let table = self.lua.create_table()?;
            table.raw_set(0, load.url)?;
            for (i, argument) in load.arguments.iter().enumerate() {
                table.raw_set(i + 1, argument.as_str())?;
            }
            Ok(table)
        };
        let arguments = arguments().map_err(|error| self.broken(&error))?;
        self.call(self.internal("init")?, arguments).map(drop)
    }

    /// Calls `done()`.
    pub(super) fn done(
        &self,
        api: Api,
        summary: &Summary,
        latency: &Histogram,
        rates: &Histogram,
    ) -> Result<(), ScriptError> {
        let broken = |error| self.broken(&error);
        let summary = summary_table(&self.lua, summary).map_err(broken)?;
        let latency = stats::table(&self.lua, latency, 1000, api).map_err(broken)?;
        let rates = stats::table(&self.lua, rates, 1, api).map_err(broken)?;
        self.call(self.internal("done")?, (summary, latency, rates)).map(drop)
    }

    pub(super) fn flush(&self) {
        // It catches its own errors, and a state that was interrupted has nothing more to say.
        let _ = self.internal("flush").and_then(|flush| self.call(flush, ()));
    }

    /// Whether the script has a global function of this name.
    pub(super) fn defines(&self, name: &str) -> Result<bool, ScriptError> {
        let (is_function, ..) = self.call(self.internal("is_function")?, name)?;
        Ok(is_function == Value::Boolean(true))
    }

    pub(super) fn wants(&self) -> Result<Wants, ScriptError> {
        let (response, headers, body) = self.call(self.internal("wants")?, ())?;
        let [response, headers, body] =
            [response, headers, body].map(|value| value == Value::Boolean(true));
        Ok(Wants { response, headers, body })
    }

    pub(super) fn caller(&self, wants: Wants) -> Result<Caller, ScriptError> {
        let made = self.internals.raw_get("wrk").and_then(|wrk| {
            let describe = self.internals.raw_get("describe")?;
            // SAFETY: `super::Thread` drops the caller before the state, and lets calls of either
            // happen only through itself.
            unsafe { Caller::new(&self.lua, describe, wrk, wants) }
        });
        made.map_err(|error| self.broken(&error))
    }

    /// How many requests there are in what `request()` returned.
    pub(super) fn count(&self, bytes: &[u8]) -> Result<usize, ScriptError> {
        messages::count(bytes).map_err(|malformed| {
            let (line, column) = messages::position(bytes, malformed.offset);
            let path = self.path.clone();
            ScriptError::Malformed { path, what: malformed.what, line, column }
        })
    }

    fn internal(&self, name: &str) -> Result<Function, ScriptError> {
        self.internals.raw_get(name).map_err(|error| self.broken(&error))
    }

    fn call(
        &self,
        function: Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<(Value, Value, Value), ScriptError> {
        let mut all = arguments.into_lua_multi(&self.lua).map_err(|error| self.broken(&error))?;
        all.push_front(Value::Function(function));
        let _entered = self.enter()?;
        let called = self.guard.call::<(bool, Value, Value, Value)>(all);
        match called.map_err(|error| self.broken(&error))? {
            (true, first, second, third) => Ok((first, second, third)),
            (false, error, ..) => Err(self.failed(&text(&error))),
        }
    }

    fn broken(&self, error: &mlua::Error) -> ScriptError {
        self.failed(&first_line(error))
    }

    /// What a script's error with this text is to the caller.
    pub(super) fn failed(&self, text: &str) -> ScriptError {
        if self.interrupter().is_interrupted() {
            return self.interrupted();
        }
        let line = text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        ScriptError::Failed(if has_position(&line) {
            line
        } else {
            format!("{}: {line}", self.path)
        })
    }

    #[cold]
    fn interrupted(&self) -> ScriptError {
        ScriptError::Interrupted { path: self.path.clone() }
    }
}

/// Whether a message starts as Lua's do: `file:line: `.
fn has_position(message: &str) -> bool {
    let place = message.split_once(": ").map(|(place, _)| place);
    let line = place.and_then(|place| place.rsplit_once(':')).map(|(_, line)| line);
    line.is_some_and(|line| !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The message of an error of the bindings, without the traceback they add.
fn first_line(error: &mlua::Error) -> String {
    let text = match error {
        mlua::Error::RuntimeError(message) | mlua::Error::SyntaxError { message, .. } => {
            message.clone()
        }
        other => other.to_string(),
    };
    text.split("\nstack traceback:").next().unwrap_or_default().to_owned()
}

/// The text without a byte order mark and a first line for the shell, which C Lua skips too when it
/// loads a file. Lines keep their numbers.
fn without_first_comment(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.starts_with('#') {
        return text;
    }
    text.find('\n').map_or("", |end| &text[end..])
}

/// All of Lua's and LuaJIT's libraries, as the `luajit` program has them.
fn open_libraries(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: runs in protected mode, and leaves nothing on the stack.
    unsafe { lua.exec_raw::<()>((), |state| ffi::luaL_openlibs(state)) }
}

fn raw(lua: &Lua) -> mlua::Result<*mut ffi::lua_State> {
    let mut found = std::ptr::null_mut();
    // SAFETY: nothing is done with the state but to take its address.
    unsafe { lua.exec_raw::<()>((), |state| found = state)? };
    Ok(found)
}

fn prelude(lua: &Lua, load: &ScriptStart<'_>, threads: &Threads) -> mlua::Result<Table> {
    let host = host_functions(lua, load, threads)?;
    let config = config(lua, load, threads.own)?;
    lua.load(PRELUDE).set_name("=[wrk]").set_mode(ChunkMode::Text).call((host, config))
}

/// What the prelude makes `wrk` of.
fn config(lua: &Lua, load: &ScriptStart<'_>, thread: Option<usize>) -> mlua::Result<Table> {
    let headers = lua.create_table()?;
    for (name, value) in &load.headers {
        headers.raw_set(name.as_str(), value.as_str())?;
    }
    let config = lua.create_table()?;
    config.raw_set("is_wrk2", load.api == Api::Wrk2)?;
    config.raw_set("scheme", load.scheme)?;
    config.raw_set("host", load.host)?;
    config.raw_set("port", load.port.map(|port| port.to_string()))?;
    config.raw_set("path", load.target)?;
    config.raw_set("headers", headers)?;
    config
        .raw_set("addresses", load.addresses.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    config.raw_set("thread", thread)?;
    Ok(config)
}

/// What the prelude may ask of us.
fn host_functions(lua: &Lua, load: &ScriptStart<'_>, threads: &Threads) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    let system = Arc::clone(&load.system);
    let lookup = lua.create_function(move |_, (name, service): (Value, Value)| {
        Ok(match system.lookup(&text(&name), &text(&service)) {
            Ok(found) => (Some(found.iter().map(ToString::to_string).collect::<Vec<_>>()), None),
            Err(message) => (None, Some(message)),
        })
    })?;
    host.raw_set("lookup", lookup)?;
    let system = Arc::clone(&load.system);
    let connect = lua.create_function(move |_, address: Value| {
        Ok(text(&address).parse().is_ok_and(|address| system.connect(address)))
    })?;
    host.raw_set("connect", connect)?;
    let system = Arc::clone(&load.system);
    host.raw_set("time_us", lua.create_function(move |_, _: Value| Ok(system.time_us() as f64))?)?;
    add_thread_functions(lua, &host, threads)?;
    Ok(host)
}

fn add_thread_functions(lua: &Lua, host: &Table, threads: &Threads) -> mlua::Result<()> {
    let all = threads.clone();
    let address = lua.create_function(move |_, number: Value| {
        Ok(all.slot(&number).and_then(|slot| slot.address()).map(|address| address.to_string()))
    })?;
    host.raw_set("address", address)?;
    let all = threads.clone();
    let set_address = lua.create_function(move |_, (number, address): (Value, Value)| {
        if let (Some(slot), Ok(address)) = (all.slot(&number), text(&address).parse()) {
            slot.set_address(address);
        }
        Ok(())
    })?;
    host.raw_set("set_address", set_address)?;
    let all = threads.clone();
    let stop = lua.create_function(move |_, number: Value| {
        if let Some(slot) = all.slot(&number) {
            slot.stopped.store(true, Ordering::Relaxed);
        }
        Ok(())
    })?;
    host.raw_set("stop", stop)?;
    let all = threads.clone();
    let read = lua.create_function(move |lua, (number, name): (Value, Value)| {
        Ok(outcome(lua, read_variable(&all, lua, &number, &name)))
    })?;
    host.raw_set("get", read)?;
    let all = threads.clone();
    let write = lua.create_function(move |lua, (number, name, value): (Value, Value, Value)| {
        let written = write_variable(&all, lua, &number, &name, &value);
        Ok(outcome(lua, written.map(|()| Value::Nil)))
    })?;
    host.raw_set("set", write)
}

/// Whether it went well, and the value or what is wrong.
fn outcome(lua: &Lua, result: Result<Value, String>) -> (bool, Value) {
    match result {
        Ok(value) => (true, value),
        Err(message) => (false, lua.create_string(message).map_or(Value::Nil, Value::String)),
    }
}

fn read_variable(
    threads: &Threads,
    lua: &Lua,
    number: &Value,
    name: &Value,
) -> Result<Value, String> {
    let from = threads.state(number, lua)?;
    let value: Value = from.globals().raw_get(text(name)).map_err(|error| error.to_string())?;
    transfer::copy(&value, lua)
}

fn write_variable(
    threads: &Threads,
    lua: &Lua,
    number: &Value,
    name: &Value,
    value: &Value,
) -> Result<(), String> {
    let to = threads.state(number, lua)?;
    let value = transfer::copy(value, &to)?;
    to.globals().raw_set(text(name), value).map_err(|error| error.to_string())
}

fn summary_table(lua: &Lua, summary: &Summary) -> mlua::Result<Table> {
    let errors = lua.create_table()?;
    for (name, count) in [
        ("connect", summary.connect),
        ("read", summary.read),
        ("write", summary.write),
        ("status", summary.status),
        ("timeout", summary.timeout),
    ] {
        errors.raw_set(name, count as f64)?;
    }
    let table = lua.create_table()?;
    table.raw_set("duration", summary.duration_us as f64)?;
    table.raw_set("requests", summary.requests as f64)?;
    table.raw_set("bytes", summary.bytes as f64)?;
    table.raw_set("errors", errors)?;
    Ok(table)
}

#[cfg(test)]
impl State {
    /// What a chunk returns, as text.
    pub(super) fn evaluate(&self, chunk: &str) -> String {
        let value: Value = self.lua.load(chunk).eval().unwrap();
        text(&value)
    }
}
