//! A test: a script that was evaluated once, with all that it is asked to do checked.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use plimsoll_core::metric::{
    Kind as ScriptKind, MetricId as ScriptMetric, Registry as ScriptNames,
};
use plimsoll_core::plan::DriverPlan;
use plimsoll_dialect::k6::metrics::{Contains, Kind, MetricId, Registry};
use plimsoll_dialect::k6::options::{Configuration, Options, Sources, consolidate};
use plimsoll_dialect::k6::output::Level;
use plimsoll_dialect::k6::runtime::Runtime;
use plimsoll_dialect::k6::threshold::Thresholds;
use plimsoll_dialect::k6::{ExitCode, Refused, SecretSources};
use plimsoll_io::clock;
use plimsoll_script::js::http::Proxies;
use plimsoll_script::js::{Notice, Program, Read, Secrets, Settings, Source};
use serde_json::Value;

use super::count::{level_of, text_of};
use super::news::{Lines, LogLine};
use super::run::{Ending, aborted};

/// How long the script may sleep at a time while it is loaded, so that it can be stopped.
const NAP: Duration = Duration::from_millis(50);

/// The most metrics that a script makes. Their parts, which thresholds select, have room beside
/// them.
const SCRIPT_METRICS_MAX: u16 = 5000;

/// The script of a test.
pub struct Script {
    /// Its absolute path.
    pub path: String,
    /// Its text.
    pub text: Vec<u8>,
    /// Reads the other files that it imports or opens, by their absolute paths.
    pub read: Box<Read>,
}

/// A script's metrics by their numbers there: which one each is, and what its values are divided
/// by.
pub(super) type ScriptMetrics = HashMap<ScriptMetric, (MetricId, f64)>;

/// What a test is told beside its script.
pub struct Environment {
    /// What flags and variables say beside options.
    pub runtime: Runtime,
    /// Options of all sources but the script.
    pub sources: Sources,
    /// `__ENV`: names and values.
    pub variables: Vec<(String, String)>,
    /// A variable of the system, for what is no option: the proxies.
    pub variable: fn(&str) -> Option<String>,
    /// The User-Agent of requests, where no option says another.
    pub user_agent: String,
    /// What stands in the User-Agent of calls of gRPC: alone, or behind the one of an option.
    /// `None`: the User-Agent of requests.
    pub call_agent: Option<&'static str>,
    /// Authorities, PEM, that are trusted in place of the public ones.
    pub roots: Option<Arc<[u8]>>,
    /// Where `k6/secrets` gets its values from.
    pub secrets: SecretSources,
    /// What `Math.random` starts from.
    pub seed: u64,
    /// Whether a run that is paused can be resumed.
    pub can_resume: bool,
    /// Whether lines for debugging are wanted.
    pub is_verbose: bool,
    /// The driver of the workers.
    pub driver: DriverPlan,
    /// How many workers there are; `None`: as many as CPUs may be used.
    pub workers: Option<u32>,
}

/// A test that can be run.
pub struct Test {
    /// The script.
    pub program: Program,
    /// What the run does.
    pub configuration: Configuration,
    /// What it is told beside options.
    pub runtime: Runtime,
    /// All metrics, with the parts that thresholds select.
    pub registry: Registry,
    /// The thresholds, not evaluated yet.
    pub thresholds: Thresholds,
    /// The User-Agent of requests, where no option says another.
    pub(super) user_agent: String,
    pub(super) call_agent: Option<&'static str>,
    pub(super) roots: Option<Arc<[u8]>>,
    pub(super) proxies: Proxies,
    pub(super) is_verbose: bool,
    pub(super) driver: DriverPlan,
    pub(super) workers: Option<u32>,
    pub(super) metrics: ScriptMetrics,
}

impl Test {
    /// Evaluates a script for the first time, and checks options, thresholds and scenarios. Lines
    /// that the script logs go on at once, and so do warnings; `stop` ends it.
    ///
    /// # Errors
    /// What is wrong, one line, with k6's exit code for it.
    pub fn load(
        script: Script,
        environment: Environment,
        lines: &Lines,
        stop: &AtomicBool,
    ) -> Result<Self, Refused> {
        let secrets = environment.secrets;
        let settings = Settings {
            environment: environment.variables,
            secrets: Secrets::new(move |source, name| secrets.find(source, name)),
            seed: environment.seed,
            schemas: plimsoll_engine::vu::schemas(),
            ..Settings::default()
        };
        let proxies = Proxies::of_environment(environment.variable);
        let proxies = proxies.map_err(|what| refused(ExitCode::Other, what))?;
        let Script { path, text, read } = script;
        let registry = ScriptNames::default().with_room(SCRIPT_METRICS_MAX);
        let source = Source { path, text, read, registry };
        let mut is_aborted = false;
        let loaded = Program::load(source, settings, wall_ns(), &mut |notice| {
            is_aborted |= matches!(notice, Notice::Aborted);
            hear(notice, lines);
            match stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(wall_ns()),
            }
        });
        let mut program = loaded.map_err(|failure| {
            if is_aborted {
                let Ending { code, what } = aborted(Some(failure.text));
                return refused(code, what);
            }
            let code = match stop.load(Ordering::Relaxed) {
                true => ExitCode::Interrupted,
                false => ExitCode::ScriptException,
            };
            refused(code, text_of(&failure))
        })?;
        let mut warnings = Vec::new();
        let mut sources = environment.sources;
        sources.script = script_options(&program, &mut warnings)?;
        if program.functions().is_empty() {
            let what = "the script exports no functions: export default function () {…}";
            return Err(refused(ExitCode::Other, what.to_owned()));
        }
        let configuration = consolidate(&sources)?;
        warnings.extend(configuration.warnings.iter().cloned());
        configuration.check_functions(&|name| program.function(name).is_some())?;
        check_supported(&configuration, environment.can_resume)?;
        configure(&mut program, &configuration, &environment.user_agent);
        let (mut registry, metrics) = declare(&program)?;
        let thresholds =
            match (environment.runtime.no_thresholds, &configuration.options.thresholds) {
                (false, Some(texts)) => Thresholds::new(texts, &mut registry)?,
                _ => Thresholds::default(),
            };
        warnings.extend(thresholds.warnings(&registry));
        let selected = registry.select_expected(&configuration.system_tags);
        selected.map_err(|error| refused(ExitCode::InvalidConfig, error.to_string()))?;
        for warning in warnings {
            lines.put(line(Level::Warning, warning));
        }
        let test = Self {
            program,
            configuration,
            runtime: environment.runtime,
            registry,
            thresholds,
            user_agent: environment.user_agent,
            call_agent: environment.call_agent,
            roots: environment.roots,
            proxies,
            is_verbose: environment.is_verbose,
            driver: environment.driver,
            workers: environment.workers,
            metrics,
        };
        test.network()?;
        Ok(test)
    }
}

/// A line of the program's own.
pub(super) fn line(level: Level, message: String) -> LogLine {
    LogLine { wall_ns: wall_ns(), level, message, fields: Vec::new(), is_console: false }
}

pub(super) fn refused(code: ExitCode, what: String) -> Refused {
    Refused { code, what }
}

/// ns since 1970.
pub(super) fn wall_ns() -> u64 {
    let since = clock::wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn hear(notice: Notice<'_>, lines: &Lines) {
    match notice {
        Notice::Line(level, text) => lines.put(LogLine {
            fields: vec![("source", "console".to_owned())],
            is_console: true,
            ..line(level_of(level), text.to_owned())
        }),
        Notice::Note(level, text) => lines.put(line(level_of(level), text.to_owned())),
        // The script sleeps for the rest when it is asked again.
        Notice::Idle(idle_ns) => std::thread::sleep(Duration::from_nanos(idle_ns).min(NAP)),
        Notice::Busy | Notice::Aborted => {}
    }
}

fn script_options(program: &Program, warnings: &mut Vec<String>) -> Result<Options, Refused> {
    if program.function("options").is_some() {
        let what = "the options of the script are a function: export what it returns";
        return Err(refused(ExitCode::Other, what.to_owned()));
    }
    let Some(text) = program.options() else { return Ok(Options::default()) };
    let value = serde_json::from_str(text).map_err(|error| {
        let what = format!("the options of the script cannot be read as JSON: {error}");
        refused(ExitCode::InvalidConfig, what)
    })?;
    Options::from_script(&value, warnings)
}

/// Has virtual users do what options say of them.
fn configure(program: &mut Program, configuration: &Configuration, user_agent: &str) {
    let options = &configuration.options;
    let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    program.configure(|settings| {
        settings.batch_max = count(configuration.batch);
        settings.batch_per_host_max = count(configuration.batch_per_host);
        settings.keeps_cookies = options.no_cookies_reset == Some(true);
        settings.discards_bodies = options.discard_response_bodies == Some(true);
        settings.throws = options.throw == Some(true);
        let user_agent = options.user_agent.as_deref().unwrap_or(user_agent);
        user_agent.clone_into(&mut settings.user_agent);
    });
}

/// What k6 can and this cannot.
fn check_supported(configuration: &Configuration, can_resume: bool) -> Result<(), Refused> {
    let options = &configuration.options;
    let wrong = |what: &str| Err(refused(ExitCode::InvalidConfig, what.to_owned()));
    if options.paused == Some(true) && !can_resume {
        return wrong("nothing could resume a test that starts paused: give --address too");
    }
    if configuration.scenarios.iter().any(|scenario| scenario.options.is_some()) {
        return wrong("a scenario has 'options', which are for the browser: it is not supported");
    }
    Ok(())
}

/// The metrics of k6 and of the script, and where the script's numbers lead.
fn declare(program: &Program) -> Result<(Registry, ScriptMetrics), Refused> {
    let mut registry = Registry::default();
    let mut metrics = HashMap::new();
    let names = program.registry();
    for declared in names.declared() {
        let name = declared.name.as_str();
        let Some((id, _)) = names.find(name) else { continue };
        let is_time = declared.kind == ScriptKind::TimeTrend || program.is_time(name);
        let contains = if is_time { Contains::Time } else { Contains::Default };
        let (kind, divisor) = match declared.kind {
            ScriptKind::Counter => (Kind::Counter, 1.0),
            ScriptKind::Gauge => (Kind::Gauge, 1.0),
            ScriptKind::Rate => (Kind::Rate, 1.0),
            ScriptKind::Trend => (Kind::Trend, 1.0),
            ScriptKind::TimeTrend => (Kind::Trend, 1e6),
        };
        let metric = registry.declare(name, kind, contains);
        let metric =
            metric.map_err(|error| refused(ExitCode::ScriptException, error.to_string()))?;
        metrics.insert(id, (metric, divisor));
    }
    Ok((registry, metrics))
}

impl std::fmt::Debug for Test {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Test").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

/// The options as `exec.test.options` shows them: how VUs run stands in the scenarios alone.
pub(super) fn options_json(configuration: &Configuration) -> Arc<str> {
    let mut document = configuration.consolidated().document();
    if let Some(options) = document.as_object_mut() {
        for name in ["cloud", "duration", "iterations", "stages", "vus"] {
            options.remove(name);
        }
        for name in ["consoleOutput", "localIPs"] {
            options.entry(name).or_insert(Value::Null);
        }
    }
    document.to_string().into()
}
