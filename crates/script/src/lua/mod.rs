//! wrk's and wrk2's scripts: Lua, run by LuaJIT, with the interface that both tools give them.
//!
//! There is one Lua state for each worker and one beside them, the main one. Who sees what, in
//! this order:
//!
//! 1. the main state runs the file, then for each thread, one after another:
//! 2. the thread's state runs the file, the main one `setup(thread)`, the thread's `init(args)`;
//! 3. the first thread's `request()` is called once, only to see whether it is one;
//! 4. during the run each worker calls `delay()`, `request()` and `response()` of its own state;
//! 5. after it the main state runs `done()`, which can read the threads' variables.
//!
//! Absent on purpose: limits on what a script does. It is the user's program, with files, processes
//! and C at hand. What does not end can be stopped, see [`Interrupter`].

mod calls;
mod interrupt;
mod messages;
mod state;
mod stats;
mod transfer;

use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_core::histogram::Histogram;
use thiserror::Error;

pub use interrupt::Interrupter;
pub use messages::{Message, message_at};

use calls::{Caller, Fault};
use state::{Role, Slot, State};

/// Whose interface a script is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// wrk 4: `delay()`; statistics are called, `latency(i)` being a value and its count.
    Wrk,
    /// wrk2: `wrk.time_us()`; statistics are indexed, `latency[i]` being the i-th value in order.
    Wrk2,
}

/// What a script may ask of the system.
pub trait System: Send + Sync {
    /// The addresses of a host and service (a port or a name such as `https`).
    ///
    /// # Errors
    /// Why no address was found, for the script's user.
    fn lookup(&self, host: &str, service: &str) -> Result<Vec<SocketAddr>, String>;

    /// Whether a TCP connection to the address can be made. Blocks.
    fn connect(&self, address: SocketAddr) -> bool;

    /// Microseconds since 1970.
    fn time_us(&self) -> u64;
}

/// A script and what it finds when it starts.
pub struct ScriptStart<'a> {
    /// Whose interface it is given.
    pub api: Api,
    /// Where the text is from; for messages, and for the script's own `debug.getinfo`.
    pub path: &'a str,
    /// The script.
    pub text: &'a str,
    /// `wrk.scheme`: `http` or `https`.
    pub scheme: &'a str,
    /// `wrk.host`: a name or an address, an IPv6 one without brackets.
    pub host: &'a str,
    /// `wrk.port`: as the URL writes it; `None` where it names none. With one, the `Host` header
    /// that a script gets by default has it too.
    pub port: Option<u16>,
    /// `wrk.path`: path and query.
    pub target: &'a str,
    /// `wrk.headers`: names and values; of those with the same name the last.
    pub headers: Vec<(String, String)>,
    /// `args[1]` and on.
    pub arguments: Vec<String>,
    /// `args[0]`.
    pub url: &'a str,
    /// How many threads: workers.
    pub threads: u32,
    /// `wrk.addrs`: the server's addresses that can be reached, at least one. Threads get the
    /// first.
    pub addresses: Vec<SocketAddr>,
    /// What the script may ask of the system.
    pub system: Arc<dyn System>,
    /// Stands for all states of this script once they exist, so that a loop in the file itself, in
    /// `setup()`, `init()` or `done()` can be ended.
    pub interrupter: Interrupter,
}

/// What is wrong with a script. One line each.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ScriptError {
    /// It has a syntax error, or raised one: `file:line: message`.
    #[error("{0}")]
    Failed(String),
    /// An [`Interrupter`] has ended it.
    #[error("{path}: stopped while it was running")]
    Interrupted {
        /// The script.
        path: String,
    },
    /// `request()` returned something other than text, or nothing.
    #[error("{path}: request() has to return a request as a string, and returned {what}")]
    NoRequest {
        /// The script.
        path: String,
        /// What it returned.
        what: &'static str,
    },
    /// `request()` returned text that is not a whole request.
    #[error(
        "{path}: what request() returned is not a request: {what}, at line {line}, column {column} \
         of it"
    )]
    Malformed {
        /// The script.
        path: String,
        /// What is wrong.
        what: &'static str,
        /// The line in the request, from 1.
        line: usize,
        /// The column in the request, from 1.
        column: usize,
    },
}

/// What `response()` reads of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// There is a `response()`, so it is to be called.
    pub response: bool,
    /// It may read the headers.
    pub headers: bool,
    /// It may read the body.
    pub body: bool,
}

/// What `done()` is told about the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Summary {
    /// How long the run took, in µs.
    pub duration_us: u64,
    /// Responses that arrived.
    pub requests: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Errors while connecting.
    pub connect: u64,
    /// Errors while reading.
    pub read: u64,
    /// Errors while writing.
    pub write: u64,
    /// Responses with a status above 399.
    pub status: u64,
    /// Requests that timed out.
    pub timeout: u64,
}

/// The state that takes no part in the load: `setup()` and `done()`.
pub struct Main {
    state: State,
    api: Api,
    has_done: bool,
}

/// The state of one worker. Moves to the worker's thread.
pub struct Thread {
    // Before the state, which it points into.
    caller: Caller,
    state: State,
    index: usize,
    slot: Arc<Slot>,
    default_address: Option<SocketAddr>,
    fixed: Option<Vec<u8>>,
    depth: usize,
    has_delay: bool,
}

/// Loads a script into as many states as there are threads, and one more, and runs what comes
/// before the load: see the head of this module.
///
/// # Errors
/// Whatever the script does wrong meanwhile.
pub fn load(load: &ScriptStart<'_>) -> Result<(Main, Vec<Thread>), ScriptError> {
    let slots: Vec<Arc<Slot>> =
        (0..load.threads).map(|_| Arc::new(Slot::new(load.addresses.first().copied()))).collect();
    let main = State::new(load, Role::Main { slots: slots.clone() })?;
    let mut threads: Vec<Thread> = Vec::with_capacity(slots.len());
    for (index, slot) in slots.iter().enumerate() {
        let role = Role::Thread { index, slot: Arc::clone(slot) };
        let state = State::new(load, role)?;
        let made = threads.iter().map(|thread| (thread.index, &thread.state));
        let reached: Vec<(usize, &State)> = made.chain([(index, &state)]).collect();
        main.reach(&reached, || main.setup(index))?;
        state.init(load)?;
        threads.push(Thread::new(load, state, index, slot)?);
        if index == 0 {
            threads[0].depth = threads[0].verify()?;
        }
    }
    for thread in &mut threads {
        thread.start()?;
    }
    let depth = threads.first().map_or(1, |first| first.depth);
    for thread in &mut threads {
        thread.depth = match &thread.fixed {
            Some(bytes) => thread.state.count(bytes)?,
            None => depth,
        };
    }
    let has_done = main.defines("done")?;
    main.flush();
    Ok((Main { state: main, api: load.api, has_done }, threads))
}

impl Main {
    /// Whether the script has a `done()`.
    #[must_use]
    pub fn has_done(&self) -> bool {
        self.has_done
    }

    /// Calls `done()`, if there is one. The threads' variables can be read meanwhile. `latency` is
    /// of nanoseconds and is shown in microseconds; `rates` is of plain values, requests per
    /// second.
    ///
    /// # Errors
    /// What the script does wrong.
    pub fn done(
        &mut self,
        threads: &mut [Thread],
        summary: &Summary,
        latency: &Histogram,
        rates: &Histogram,
    ) -> Result<(), ScriptError> {
        if !self.has_done {
            return Ok(());
        }
        let reached: Vec<(usize, &State)> =
            threads.iter().map(|thread| (thread.index, &thread.state)).collect();
        let result =
            self.state.reach(&reached, || self.state.done(self.api, summary, latency, rates));
        self.state.flush();
        result
    }

    /// Writes out what the script has printed during the run. Lua prints by way of C, which keeps
    /// text back when it does not go to a terminal, so this belongs before what the program prints
    /// after the run. [`load`] and [`Main::done`] do it themselves.
    pub fn flush(&mut self) {
        self.state.flush();
    }
}

impl Thread {
    fn new(
        load: &ScriptStart<'_>,
        state: State,
        index: usize,
        slot: &Arc<Slot>,
    ) -> Result<Self, ScriptError> {
        let wants = state.wants()?;
        let has_delay = load.api == Api::Wrk && state.defines("delay")?;
        let caller = state.caller(wants)?;
        let slot = Arc::clone(slot);
        let default_address = load.addresses.first().copied();
        Ok(Self { caller, state, index, slot, default_address, fixed: None, depth: 1, has_delay })
    }

    /// Calls `request()` once and counts the messages that it returned.
    fn verify(&mut self) -> Result<usize, ScriptError> {
        let mut bytes = Vec::new();
        self.next(&mut bytes)?;
        self.state.count(&bytes)
    }

    /// What is left to do once all threads are initialized: a request that never changes is asked
    /// for once, and what stopped the thread before it ran is forgotten, as in wrk.
    fn start(&mut self) -> Result<(), ScriptError> {
        if !self.state.defines("request")? {
            let mut bytes = Vec::new();
            self.next(&mut bytes)?;
            self.fixed = Some(bytes);
        }
        self.slot.forget_stop();
        Ok(())
    }

    /// The address that `setup()` has pointed the thread to, if that is not the default one, the
    /// first of [`ScriptStart::addresses`].
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.slot.address().filter(|address| Some(*address) != self.default_address)
    }

    /// The request, where it never changes because there is no `request()`.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        self.fixed.as_deref()
    }

    /// How many requests one call of `request()` returns, as found by the first thread's first
    /// call; of those in [`Thread::fixed`] where there is one.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Calls `request()` and appends what it returns, which is not looked at. Without one it is the
    /// request of [`Thread::fixed`].
    ///
    /// # Errors
    /// What the script does wrong; `out` is as it was then.
    #[inline]
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<(), ScriptError> {
        let _entered = self.state.enter()?;
        self.caller.request(out).map_err(|fault| self.error(fault))
    }

    /// Whether [`Thread::delay_ns`] is to be called before each request: only wrk has `delay()`.
    #[must_use]
    pub fn has_delay(&self) -> bool {
        self.has_delay
    }

    /// Calls `delay()`: how long to wait before the next request, in ns. `delay()` returns
    /// milliseconds; no value or a negative one counts as 0.
    ///
    /// # Errors
    /// What the script does wrong.
    pub fn delay_ns(&mut self) -> Result<u64, ScriptError> {
        let _entered = self.state.enter()?;
        self.caller.delay_ns().map_err(|fault| self.error(fault))
    }

    /// What of a response is to be given to [`Thread::response`]. May change with each call of the
    /// script, for one that replaces its `response()`; one that had none when the run began is
    /// never called.
    #[inline]
    #[must_use]
    pub fn wants(&self) -> Wants {
        self.caller.wants()
    }

    /// Calls `response()`, if there is one. `headers` are names and values as received, and need be
    /// right only if [`Thread::wants`] has `headers`; of those with the same name the last counts.
    /// The same with `body`.
    ///
    /// # Errors
    /// What the script does wrong.
    #[inline]
    pub fn response<'h>(
        &mut self,
        status: u16,
        headers: impl Iterator<Item = (&'h [u8], &'h [u8])>,
        body: &[u8],
    ) -> Result<(), ScriptError> {
        let _entered = self.state.enter()?;
        self.caller.response(status, headers, body).map_err(|fault| self.error(fault))
    }

    /// Whether the script has stopped this thread: it sends nothing more.
    #[inline]
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.slot.is_stopped()
    }

    /// What ends a call of this thread from another one.
    #[must_use]
    pub fn interrupter(&self) -> Interrupter {
        self.state.interrupter().clone()
    }

    #[cold]
    fn error(&self, fault: Fault) -> ScriptError {
        match fault {
            Fault::Raised(text) => self.state.failed(&text),
            Fault::NotARequest(what) => {
                ScriptError::NoRequest { path: self.state.path().to_owned(), what }
            }
        }
    }
}

#[cfg(test)]
mod tests;
