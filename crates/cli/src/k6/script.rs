//! The script and the options beside it, from files, stdin, the environment and flags.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use plimsoll_core::plan::DriverPlan;
use plimsoll_dialect::k6::options::{Options, Sources};
use plimsoll_dialect::k6::output::Level;
use plimsoll_dialect::k6::runtime::{Runtime, TestType};
use plimsoll_dialect::k6::{ExitCode, Refused, SecretSources, absent};
use plimsoll_runner::k6::{Environment, Script, Test};

use super::log::{Log, other_fault};
use super::{Lookup, args};
use crate::files::{FILE_BYTES_MAX, read_or_stdin};
use crate::message::without_error_numbers;
use crate::value_args::variable;

/// A test, and the name and text of its script as they were given.
pub(super) struct Loaded {
    pub(super) test: Arc<Test>,
    pub(super) name: String,
    pub(super) text: String,
    /// `-o`, of all sources.
    pub(super) outputs: Vec<String>,
}

/// Loads the script that a command names.
///
/// # Errors
/// What is wrong, with k6's exit code for it.
pub(super) fn load(given: &ArgMatches, log: &Log, stop: &AtomicBool) -> Result<Loaded, Refused> {
    let name = name(given)?;
    let is_run = has(given, "vus");
    let runtime = runtime(given, is_run, log)?;
    let mut warnings = Vec::new();
    let sources = sources(given, is_run, &variable, &mut warnings)?;
    warnings.extend(args::without_effect(given));
    warnings.extend(runtime.warnings.iter().cloned());
    let outputs = [&sources.flags, &sources.environment, &sources.file];
    let outputs = outputs.iter().find_map(|options| options.out.clone()).unwrap_or_default();
    warnings.extend(absent::variables(&names_of_variables(), &outputs));
    for warning in warnings {
        log.say(Level::Warning, warning);
    }
    let features = features(given, is_run, &sources.file, &variable);
    for (is_error, line) in absent::features(&features) {
        log.say(if is_error { Level::Error } else { Level::Warning }, line);
    }
    absent::check_features(&features, &outputs)?;
    let as_original = is_run && args::switch(given, "as-original") == Some(true);
    let asked = Asked {
        name: name.clone(),
        runtime,
        sources,
        user_agent: match as_original {
            true => format!("Grafana k6/{}", super::K6_VERSION),
            false => concat!("plimsoll/", env!("CARGO_PKG_VERSION")).to_owned(),
        },
        call_agent: as_original.then_some(super::GRPC_AGENT),
        seed: super::wall_ns(),
        is_verbose: args::switch(given, "verbose") == Some(true),
        driver: DriverPlan::Auto,
        workers: None,
        secrets: secrets(given, &variable)?,
        module_cache: args::text(given, "module-cache").or_else(module_cache),
        can_resume: address(given, &variable).is_some(),
    };
    let (test, text) = evaluate(asked, log, stop)?;
    Ok(Loaded { test: Arc::new(test), name, text, outputs })
}

/// What a script is evaluated with.
pub(super) struct Asked {
    /// The script, as it was named.
    pub(super) name: String,
    pub(super) runtime: Runtime,
    /// Options of all sources but the script.
    pub(super) sources: Sources,
    pub(super) user_agent: String,
    /// Of calls of gRPC, in place of it.
    pub(super) call_agent: Option<&'static str>,
    pub(super) seed: u64,
    pub(super) is_verbose: bool,
    pub(super) driver: DriverPlan,
    pub(super) workers: Option<u32>,
    pub(super) secrets: SecretSources,
    /// The folder that has modules with URLs.
    pub(super) module_cache: Option<String>,
    /// Whether a run that begins paused can be resumed.
    pub(super) can_resume: bool,
}

/// Reads and evaluates a script. Gives its text too.
///
/// # Errors
/// What is wrong, with k6's exit code for it.
pub(super) fn evaluate(
    asked: Asked,
    log: &Log,
    stop: &AtomicBool,
) -> Result<(Test, String), Refused> {
    let Asked { name, runtime, sources, user_agent, seed, is_verbose, driver, workers, .. } = asked;
    let Asked { call_agent, secrets, module_cache, can_resume, .. } = asked;
    log.keep_secret(&secrets);
    let bytes = read_or_stdin(Path::new(&name), FILE_BYTES_MAX);
    let bytes = bytes.map_err(|why| {
        other_fault(format!("cannot read the script '{name}': {}", without_error_numbers(&why)))
    })?;
    let path = std::path::absolute(&name)
        .map_err(|error| other_fault(format!("there is no current folder: {error}")))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let read = Box::new(move |path: &str| read_file(path, module_cache.as_deref()));
    let script = Script { path: path.display().to_string(), text: bytes, read };
    let environment = Environment {
        variables: variables(&runtime),
        variable,
        runtime,
        sources,
        user_agent,
        call_agent,
        roots: roots()?,
        secrets,
        seed,
        can_resume,
        is_verbose,
        driver,
        workers,
    };
    Ok((Test::load(script, environment, log.lines(), stop)?, text))
}

/// Features that were asked for: with flags, or else in the environment, or else in the file.
pub(super) fn features(
    given: &ArgMatches,
    is_run: bool,
    file: &Options,
    lookup: Lookup<'_>,
) -> Vec<String> {
    let flags = if is_run { args::texts(given, "features") } else { Vec::new() };
    match (flags.is_empty(), lookup("K6_FEATURES")) {
        (false, _) => flags,
        (true, Some(text)) => vec![text],
        (true, None) => file.features.clone().unwrap_or_default(),
    }
}

/// The names of the variables that are set and not empty.
fn names_of_variables() -> Vec<String> {
    let set = env::vars_os().filter(|(_, value)| !value.is_empty());
    let mut names: Vec<String> = set.filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// The folder of modules with URLs that the environment names.
pub(super) fn module_cache() -> Option<String> {
    variable("K6_MODULE_CACHE")
}

/// The address of the REST interface, if one is given.
pub(super) fn address(given: &ArgMatches, lookup: Lookup<'_>) -> Option<String> {
    let address = args::text(given, "address").or_else(|| lookup("K6_ADDRESS"));
    address.filter(|address| !address.is_empty())
}

/// Whether a command has a flag.
fn has(given: &ArgMatches, flag: &str) -> bool {
    given.try_contains_id(flag).is_ok()
}

/// The one script that is named.
fn name(given: &ArgMatches) -> Result<String, Refused> {
    let names = args::texts(given, "script");
    match names.as_slice() {
        [name] => Ok(name.clone()),
        names => {
            let what = format!("{} scripts are given: give one, or - for stdin", names.len());
            Err(other_fault(what))
        }
    }
}

/// Reads a file that the script imports or opens; a module with a URL is looked up in the cache.
fn read_file(path: &str, cache: Option<&str>) -> Result<Vec<u8>, String> {
    let cached = path.strip_prefix("https://").map(|url| cached(url, cache)).transpose()?;
    let file = cached.as_deref().unwrap_or_else(|| Path::new(path));
    let read = read_or_stdin(file, FILE_BYTES_MAX);
    read.map_err(|why| match &cached {
        None => without_error_numbers(&why),
        Some(file) => {
            let why = without_error_numbers(&why);
            format!("it is not in the module cache, as '{}': {why}", file.display())
        }
    })
}

/// Where the cache has a module: in folders named as host and path of its URL.
fn cached(url: &str, cache: Option<&str>) -> Result<PathBuf, String> {
    let cache = cache.ok_or("--module-cache names no folder that could have it")?;
    let place = url.split(['?', '#']).next().unwrap_or(url);
    let is_plain = |part: &str| !part.is_empty() && ![".", ".."].contains(&part);
    match place.split('/').all(|part| is_plain(part) && !part.contains(['\\', '\0'])) {
        true => Ok(Path::new(cache).join(place)),
        false => Err("its URL is no path within the module cache".to_owned()),
    }
}

/// Where secrets come from.
pub(super) fn secrets(given: &ArgMatches, lookup: Lookup<'_>) -> Result<SecretSources, Refused> {
    let mut texts = args::texts(given, "secret-source");
    if texts.is_empty() {
        texts.extend(lookup("K6_SECRET_SOURCE"));
    }
    let read = |path: &str| {
        crate::files::text_of(Path::new(path)).map_err(|why| without_error_numbers(&why))
    };
    SecretSources::parse(&texts, &read)
        .map_err(|what| other_fault(format!("--secret-source: {what}")))
}

fn runtime(given: &ArgMatches, is_run: bool, log: &Log) -> Result<Runtime, Refused> {
    let mut flags = args::runtime_flags(given);
    if is_run && args::switch(given, "no-summary") == Some(true) {
        log.say(Level::Warning, "--no-summary is now --summary-mode=disabled");
        flags.summary_mode.get_or_insert_with(|| "disabled".to_owned());
    }
    let runtime = Runtime::new(&flags, &variable, is_run)?;
    let is_archive = args::texts(given, "script").iter().any(|name| name.ends_with(".tar"));
    let unsupported = [
        (
            runtime.test_type == Some(TestType::Archive) || is_archive,
            "archives are not supported: give a script",
        ),
        (runtime.traces_output != "none", "--traces-output is not supported: leave it out"),
    ];
    match unsupported.iter().find(|(is_asked, _)| *is_asked) {
        Some((_, what)) => Err(other_fault((*what).to_owned())),
        None => Ok(runtime),
    }
}

/// Options of all sources but the script.
pub(super) fn sources(
    given: &ArgMatches,
    is_run: bool,
    lookup: Lookup<'_>,
    warnings: &mut Vec<String>,
) -> Result<Sources, Refused> {
    let flags = if is_run { args::flags(given).options()? } else { Options::default() };
    let environment = match is_run {
        true => Options::from_environment(lookup)?,
        false => Options::default(),
    };
    let file = configuration_file(given, lookup, warnings)?;
    Ok(Sources { file, environment, flags, ..Sources::default() })
}

/// The configuration file: the one that is named, or the usual one if it is there.
fn configuration_file(
    given: &ArgMatches,
    lookup: Lookup<'_>,
    warnings: &mut Vec<String>,
) -> Result<Options, Refused> {
    let named = args::text(given, "config").or_else(|| lookup("K6_CONFIG"));
    let usual = || {
        let home = lookup("HOME").map(|home| format!("{home}/.config"));
        let folder = lookup("XDG_CONFIG_HOME").or(home)?;
        Some(format!("{folder}/k6/config.json"))
    };
    let is_named = named.is_some();
    let Some(path) = named.or_else(usual) else { return Ok(Options::default()) };
    if !is_named && !Path::new(&path).exists() {
        return Ok(Options::default());
    }
    let text = crate::files::text_of(Path::new(&path)).map_err(|why| {
        let what = format!("cannot read the configuration '{path}': {why}");
        Refused { code: ExitCode::InvalidConfig, what: without_error_numbers(&what) }
    })?;
    Options::from_file(&path, &text, warnings)
}

/// `__ENV`: the system's variables, and those of flags over them.
fn variables(runtime: &Runtime) -> Vec<(String, String)> {
    let system = env::vars_os().filter(|_| runtime.include_system_env_vars);
    let mut all: std::collections::BTreeMap<String, String> = system
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    all.extend(runtime.env.clone());
    all.into_iter().collect()
}

/// Authorities of a file that the environment names, as Go's programs take them.
fn roots() -> Result<Option<Arc<[u8]>>, Refused> {
    let Some(path) = variable("SSL_CERT_FILE") else { return Ok(None) };
    let read = crate::files::pem(Path::new(&path));
    read.map(|text| Some(text.into())).map_err(|why| Refused {
        code: ExitCode::Other,
        what: without_error_numbers(&format!("cannot read SSL_CERT_FILE '{path}': {why}")),
    })
}
