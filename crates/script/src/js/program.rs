//! A program: a script that was evaluated once, and what every virtual user of it starts from.

use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use plimsoll_core::metric::Registry;
use thiserror::Error;

use super::grpc::SchemaSource;
use super::names::Names;
use super::step::{Ending, Level, Reply, Step};
use super::store::{Read, Store};
use super::vu::{Task, Vu};
use super::worker::Worker;

/// What a script may use.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `__ENV`: names and values.
    pub environment: Vec<(String, String)>,
    /// The most memory of a virtual user, bytes. One that needs more fails its iteration.
    pub memory_bytes_max: usize,
    /// The stack of a virtual user, bytes of address space. It bounds how deep functions may call
    /// each other.
    pub stack_bytes: usize,
    /// How often a busy script is looked at, about each 140 µs, before others have their turn.
    pub polls_per_turn: u32,
    /// What `Math.random` starts from. Each virtual user has a stream of its own.
    pub seed: u64,
    /// How many requests of an `http.batch` are under way at a time; 0 for all.
    pub batch_max: u32,
    /// How many of those go to the same host; 0 for all.
    pub batch_per_host_max: u32,
    /// Whether a virtual user keeps its cookies from one iteration to the next.
    pub keeps_cookies: bool,
    /// Whether responses have no body unless a request asks for one.
    pub discards_bodies: bool,
    /// Whether a request that fails is an exception, unless the request says otherwise.
    pub throws: bool,
    /// The value of `User-Agent` that requests have unless they give their own, as responses tell.
    pub user_agent: String,
    /// Where `k6/secrets` gets its values from.
    pub secrets: Secrets,
    /// Where `k6/net/grpc` gets its schemas from.
    pub schemas: SchemaSource,
    /// Collects garbage whenever an object is made. For tests: it takes very long.
    pub collects_always: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            environment: Vec::new(),
            memory_bytes_max: 512 << 20,
            stack_bytes: 1 << 20,
            polls_per_turn: 1,
            seed: 0,
            batch_max: 20,
            batch_per_host_max: 6,
            keeps_cookies: false,
            discards_bodies: false,
            throws: false,
            user_agent: String::new(),
            secrets: Secrets::default(),
            schemas: SchemaSource::default(),
            collects_always: false,
        }
    }
}

/// Sources of secrets: a function of the name of a source, `None` for the default one, and the name
/// of a secret. The text of its error becomes part of a message.
#[derive(Clone)]
pub struct Secrets(Arc<FindSecret>);

type FindSecret = dyn Fn(Option<&str>, &str) -> Result<String, String> + Send + Sync;

impl Secrets {
    /// Secrets that a function finds.
    pub fn new(
        find: impl Fn(Option<&str>, &str) -> Result<String, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(find))
    }

    pub(super) fn find(&self, source: Option<&str>, name: &str) -> Result<String, String> {
        (self.0)(source, name)
    }
}

impl Default for Secrets {
    fn default() -> Self {
        Self::new(|_, _| Err("no source of secrets was given".to_owned()))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

/// The script to load.
pub struct Source {
    /// Its absolute path.
    pub path: String,
    /// Its text.
    pub text: Vec<u8>,
    /// Reads the other files that it imports or opens, by their absolute paths, and modules that it
    /// imports by their URLs. See [`Read`].
    pub read: Box<Read>,
    /// The metrics that exist without it. `checks` is declared beside them.
    pub registry: Registry,
}

/// What is wrong with a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct Failure {
    /// One line: `file:line:column: Error: message`, as far as there is a position.
    pub text: String,
    /// The functions that were running, the innermost first, a line each; empty if there are none.
    pub stack: String,
}

/// What happens while a script is loaded.
#[derive(Debug, Clone, Copy)]
pub enum Notice<'a> {
    /// The script has logged a line.
    Line(Level, &'a str),
    /// The API has told of something in a line.
    Note(Level, &'a str),
    /// It is still busy.
    Busy,
    /// It does nothing for this long, ns.
    Idle(u64),
    /// It has called `exec.test.abort()`. The loading fails, with the reason as its failure.
    Aborted,
}

/// What all virtual users of a program share.
pub(super) struct Shared {
    pub settings: Settings,
    pub store: Store,
    pub main: String,
    pub exports: std::sync::OnceLock<Exports>,
    /// The names that the first virtual user had in the end.
    pub names: std::sync::OnceLock<Names>,
    pub checks: plimsoll_core::metric::MetricId,
    /// Whether a call of `http` with too many arguments was warned of.
    pub has_warned_of_arguments: AtomicBool,
}

/// What the script exports.
#[derive(Debug, Default)]
pub(super) struct Exports {
    /// The names of functions.
    pub functions: Vec<String>,
    /// `options`, as JSON.
    pub options: Option<String>,
}

/// A script that is ready to be run by any number of virtual users, in any thread.
#[derive(Clone)]
pub struct Program(pub(super) Arc<Shared>);

/// A function that a script exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionId(pub(super) u32);

impl Program {
    /// Evaluates a script for the first time, with `__VU` as 0. `watch` is told what happens
    /// meanwhile; it gives the time, ns since 1970, or ends the loading.
    ///
    /// # Errors
    /// What the script does wrong, or that loading was ended.
    pub fn load(
        source: Source,
        settings: Settings,
        now_ns: u64,
        watch: &mut dyn FnMut(Notice<'_>) -> ControlFlow<(), u64>,
    ) -> Result<Self, Failure> {
        let mut registry = source.registry;
        let wrong = |text| Failure { text, stack: String::new() };
        let checks = registry
            .declare("checks", plimsoll_core::metric::Kind::Rate)
            .map_err(|error| wrong(error.to_string()))?;
        let (main, text, read) = (source.path, source.text, source.read);
        let own = main.clone();
        let read = move |path: &str| if path == own { Ok(text.clone()) } else { read(path) };
        let store = Store::new(registry, Box::new(read));
        let (exports, names) = (std::sync::OnceLock::new(), std::sync::OnceLock::new());
        let has_warned_of_arguments = AtomicBool::new(false);
        let shared =
            Shared { settings, store, main, exports, names, checks, has_warned_of_arguments };
        let program = Self(Arc::new(shared));
        let mut vu = program.spawn(&Rc::new(Worker::new()), 0)?;
        let mut step = vu.begin(Task::Evaluate, now_ns);
        loop {
            let (flow, reply) = match step {
                Step::Log(level) => (watch(Notice::Line(level, &vu.line())), Reply::Taken),
                Step::Note(level) => (watch(Notice::Note(level, &vu.line())), Reply::Taken),
                Step::Sleep(idle_ns) | Step::Wait(Some(idle_ns)) => {
                    (watch(Notice::Idle(idle_ns)), Reply::Woken)
                }
                Step::Done(Ending::Complete) => break,
                Step::Done(ending) => {
                    if ending == Ending::Aborted {
                        let _ = watch(Notice::Aborted);
                    }
                    return Err(vu.error().unwrap_or_else(|| wrong(STOPPED.into())));
                }
                _ => (watch(Notice::Busy), Reply::Taken),
            };
            let ControlFlow::Continue(now_ns) = flow else {
                return Err(wrong(format!("{}: {STOPPED}", program.0.main)));
            };
            step = vu.resume(reply, now_ns);
        }
        program.0.store.seal();
        drop(program.0.names.set(vu.names()));
        Ok(program)
    }

    /// Changes the settings, once the script's options are known and before virtual users are made;
    /// if there are any, nothing changes. Environment and seed stay those of the loading.
    pub fn configure(&mut self, change: impl FnOnce(&mut Settings)) {
        if let Some(shared) = Arc::get_mut(&mut self.0) {
            change(&mut shared.settings);
        }
    }

    /// Whether the script has said of a metric that its values are times.
    #[must_use]
    pub fn is_time(&self, metric: &str) -> bool {
        self.0.store.is_time(metric)
    }

    /// A virtual user, which has not evaluated the script yet. `number` is its `__VU`.
    ///
    /// # Errors
    /// When the system gives no memory for its stack.
    pub fn spawn(&self, worker: &Rc<Worker>, number: u32) -> Result<Vu, Failure> {
        Vu::new(Arc::clone(&self.0), Rc::clone(worker), number)
    }

    /// A function that the script exports.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<FunctionId> {
        let at = self.exports()?.functions.iter().position(|known| known == name)?;
        Some(FunctionId(at as u32))
    }

    /// The names of the functions that the script exports, in no particular order.
    #[must_use]
    pub fn functions(&self) -> &[String] {
        self.exports().map_or(&[], |exports| &exports.functions)
    }

    /// What the script exports as `options`, as JSON; `None` if it exports none.
    #[must_use]
    pub fn options(&self) -> Option<&str> {
        self.exports()?.options.as_deref()
    }

    fn exports(&self) -> Option<&Exports> {
        self.0.exports.get()
    }

    /// The metrics that the script has declared, and those that were there before.
    #[must_use]
    pub fn registry(&self) -> Registry {
        self.0.store.registry()
    }

    /// The metric of `check()`.
    #[must_use]
    pub fn checks(&self) -> plimsoll_core::metric::MetricId {
        self.0.checks
    }
}

const STOPPED: &str = "stopped while it was being loaded";
