//! Reads and checks a suite's file. Errors name the line.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plimsoll_core::nearest::{nearest, unknown_key};
use plimsoll_core::study::Column;
use plimsoll_core::units::parse_duration_ns;
use serde::Deserialize;
use toml::Spanned;

use super::check::{
    check_arguments, check_references, check_services, check_unique, known_placeholders,
    no_placeholders,
};
use super::lines::{key_of, line_of, line_of_key};
use super::{Cpus, Exclude, Kind, Load, LoadCall, Readiness, Server, Stop, Suite};
use crate::testers::Tester;

/// How a server may be asked whether it answers, as `run --http` has it.
const HTTP_VERSIONS: [&str; 4] = ["1.0", "1.1", "2", "auto"];

/// Why a file is no suite.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {what}")]
pub struct SuiteError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

/// What is wrong, and where in the text.
pub(super) type Fault = (Range<usize>, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
    repeats: Option<Spanned<u32>>,
    #[serde(default = "first_seed")]
    seed: u64,
    warmup: Option<Spanned<String>>,
    cooldown: Option<Spanned<String>>,
    server_cpus: Option<Spanned<String>>,
    tester_cpus: Option<Spanned<String>>,
    baseline: Option<Spanned<String>>,
    columns: Option<Vec<Spanned<String>>>,
    servers: Spanned<Vec<Spanned<ServerEntry>>>,
    #[serde(default)]
    services: Vec<Spanned<ServerEntry>>,
    loads: Spanned<Vec<Spanned<LoadEntry>>>,
    #[serde(default)]
    exclude: Vec<Spanned<ExcludeEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: write [[servers]] before its keys")]
pub(super) struct ServerEntry {
    pub(super) name: String,
    #[serde(default)]
    pub(super) requires: Vec<String>,
    pub(super) version: Option<String>,
    pub(super) directory: Option<PathBuf>,
    #[serde(default)]
    pub(super) build: Vec<String>,
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    pub(super) command: String,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
    pub(super) ready: Option<ReadyEntry>,
    stop: Option<String>,
    stop_timeout: Option<String>,
    scheme: Option<String>,
    http: Option<String>,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) expect: Vec<String>,
    #[serde(default)]
    pub(super) with: Vec<String>,
    cpus: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, such as { http = \"/\" }")]
pub(super) struct ReadyEntry {
    pub(super) http: Option<String>,
    status: Option<u16>,
    #[serde(default)]
    port: bool,
    timeout: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LoadEntry {
    name: String,
    kind: Option<String>,
    tester: Option<String>,
    args: Option<String>,
    limit: Option<String>,
    cpus: Option<String>,
    /// The keys of a plan file.
    #[serde(flatten)]
    plan: toml::Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExcludeEntry {
    pub(super) server: Option<String>,
    pub(super) load: Option<String>,
    reason: String,
}

fn first_seed() -> u64 {
    1
}

/// The keys of a load beside those of its plan.
pub const LOAD_KEYS: [&str; 6] = ["name", "kind", "tester", "args", "limit", "cpus"];

const REPEATS: u32 = 5;
/// The most repeats of a case.
pub const REPEATS_MAX: u32 = 1000;
const ENTRIES_MAX: usize = 1000;
const READY_TIMEOUT_NS: u64 = 30_000_000_000;
const STOP_TIMEOUT_NS: u64 = 10_000_000_000;
const RUN_LIMIT_NS: u64 = 600_000_000_000;
const FIND_LIMIT_NS: u64 = 3_600_000_000_000;
const COLUMNS: [&str; 7] = ["rate", "p50", "p99", "p90/p50", "p99.9/p50", "rss", "cpu"];
/// Those of a suite whose loads are all searches.
const SEARCH_COLUMNS: [&str; 4] = ["load_line", "fails_at", "rss", "cpu"];

/// Reads a suite. `path` is what errors call the file, `directory` where the suite's own paths
/// start from.
///
/// # Errors
/// The first thing that is wrong, with its line.
pub fn read(path: &Path, directory: &Path, text: &str) -> Result<Suite, SuiteError> {
    let error = |(span, what): Fault| {
        let line = line_of(text, &span);
        let own_line = key_of(&what).and_then(|key| line_of_key(text, line, key));
        SuiteError { path: path.display().to_string(), line: own_line.unwrap_or(line), what }
    };
    let file: File = toml::from_str(text).map_err(|wrong| {
        let message = wrong.message().replace('\n', ", ");
        let what = unknown_key(&message).unwrap_or(message);
        error((wrong.span().unwrap_or(0..0), what))
    })?;
    suite(file, directory.to_path_buf(), text).map_err(error)
}

fn suite(file: File, directory: PathBuf, text: &str) -> Result<Suite, Fault> {
    check_name(file.name.get_ref()).map_err(at(&file.name))?;
    let repeats = file.repeats.as_ref().map_or(REPEATS, |repeats| *repeats.get_ref());
    if !(1..=REPEATS_MAX).contains(&repeats) {
        let span = file.repeats.as_ref().map_or(0..0, Spanned::span);
        return Err((span, format!("repeats: give 1 to {REPEATS_MAX}")));
    }
    let server_cpus = optional(file.server_cpus.as_ref(), |text| text.parse::<Cpus>())?;
    let tester_cpus = optional(file.tester_cpus.as_ref(), |text| text.parse::<Cpus>())?;
    let columns = match &file.columns {
        Some(columns) => columns
            .iter()
            .map(|column| column.get_ref().parse::<Column>().map_err(at(column)))
            .collect::<Result<Vec<_>, _>>()?,
        None => columns_of(file.loads.get_ref()),
    };
    let server = |entry: &Spanned<ServerEntry>| {
        server(entry.get_ref(), &directory, server_cpus.as_ref()).map_err(at(entry))
    };
    let (servers, loads) = (file.servers.get_ref(), file.loads.get_ref());
    if servers.is_empty() {
        return Err((file.servers.span(), "give at least one [[servers]]".to_owned()));
    }
    if loads.is_empty() {
        return Err((file.loads.span(), "give at least one [[loads]]".to_owned()));
    }
    if servers.len() + loads.len() + file.services.len() > ENTRIES_MAX {
        return Err((0..0, format!("more than {ENTRIES_MAX} servers, services and loads")));
    }
    let suite = Suite {
        title: if file.title.is_empty() { file.name.get_ref().clone() } else { file.title },
        name: file.name.get_ref().clone(),
        description: file.description,
        repeats,
        seed: file.seed,
        warmup_ns: optional(file.warmup.as_ref(), duration)?.unwrap_or(0),
        cooldown_ns: optional(file.cooldown.as_ref(), duration)?.unwrap_or(0),
        baseline: file.baseline.as_ref().map(|name| name.get_ref().clone()),
        columns,
        servers: servers.iter().map(server).collect::<Result<_, _>>()?,
        services: file.services.iter().map(server).collect::<Result<_, _>>()?,
        loads: loads
            .iter()
            .map(|entry| {
                let line = line_of(text, &entry.span());
                load(entry.get_ref(), line, tester_cpus.as_ref()).map_err(at(entry))
            })
            .collect::<Result<_, _>>()?,
        excludes: file.exclude.iter().map(|entry| exclude(entry.get_ref())).collect(),
        tester_cpus,
        directory: directory.clone(),
    };
    check_unique(servers.iter().chain(&file.services), |server| &server.name)?;
    check_unique(loads.iter(), |load| &load.name)?;
    check_references(&suite, &file.exclude, file.baseline.as_ref())?;
    check_services(&suite, servers, &file.services)?;
    check_arguments(&suite, loads)?;
    Ok(suite)
}

/// The columns of a suite that does not say which: those of its kinds of loads.
fn columns_of(loads: &[Spanned<LoadEntry>]) -> Vec<Column> {
    let of = |kind| loads.iter().any(|load| kind_of(load.get_ref()).is_ok_and(|it| it == kind));
    let names = match (of(Kind::Run), of(Kind::Find)) {
        (_, false) => COLUMNS.to_vec(),
        (false, true) => SEARCH_COLUMNS.to_vec(),
        (true, true) => [&SEARCH_COLUMNS[..2], &COLUMNS].concat(),
    };
    names.iter().filter_map(|column| column.parse().ok()).collect()
}

fn at<T>(spanned: &Spanned<T>) -> impl Fn(String) -> Fault + use<T> {
    let span = spanned.span();
    move |what| (span.clone(), what)
}

fn optional<T>(
    text: Option<&Spanned<String>>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, Fault> {
    text.map(|text| read(text.get_ref()).map_err(at(text))).transpose()
}

fn duration(text: &str) -> Result<u64, String> {
    parse_duration_ns(text).map_err(|error| error.to_string())
}

/// Names become parts of paths.
fn check_name(name: &str) -> Result<(), String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = !name.is_empty() && name.len() <= 64 && name.bytes().all(is_part);
    if good && !name.starts_with('.') {
        return Ok(());
    }
    Err(format!("name '{name}': letters, digits, '-', '_' and '.', 64 at most, no '.' first"))
}

fn words(key: &str, text: &str) -> Result<Vec<String>, String> {
    shell_words::split(text).map_err(|_| format!("{key}: a quote is not closed"))
}

fn server(
    entry: &ServerEntry,
    directory: &Path,
    default_cpus: Option<&Cpus>,
) -> Result<Server, String> {
    check_name(&entry.name)?;
    let command = words("command", &entry.command)?;
    if command.is_empty() {
        return Err("command: it is empty".to_owned());
    }
    let stop = match entry.stop.as_deref().unwrap_or("TERM") {
        "TERM" => Stop::Term,
        "INT" => Stop::Int,
        "QUIT" => Stop::Quit,
        "KILL" => Stop::Kill,
        other => return Err(format!("stop: '{other}' is not one of TERM, INT, QUIT, KILL")),
    };
    let scheme = entry.scheme.clone().unwrap_or_else(|| "http".to_owned());
    if scheme != "http" && scheme != "https" {
        return Err(format!("scheme: '{scheme}' is neither http nor https"));
    }
    let http = entry.http.clone().unwrap_or_else(|| "1.1".to_owned());
    if !HTTP_VERSIONS.contains(&http.as_str()) {
        return Err(format!("http: '{http}' is not one of {}", HTTP_VERSIONS.join(", ")));
    }
    let path = entry.path.clone().unwrap_or_else(|| "/".to_owned());
    if !path.starts_with('/') {
        return Err(format!("path: '{path}' does not begin with '/'"));
    }
    known_placeholders(entry)?;
    no_placeholders(entry)?;
    for text in &entry.expect {
        text.parse::<plimsoll_core::expect::Expectation>().map_err(|error| error.to_string())?;
    }
    let limit = |key: &str, text: Option<&String>, default: u64| {
        let read = |text: &String| duration(text).map_err(|error| format!("{key}: {error}"));
        text.map_or(Ok(default), read)
    };
    let ready_timeout = entry.ready.as_ref().and_then(|ready| ready.timeout.as_ref());
    Ok(Server {
        name: entry.name.clone(),
        requires: entry.requires.clone(),
        version: entry.version.clone(),
        directory: match &entry.directory {
            Some(own) => directory.join(own),
            None => directory.to_path_buf(),
        },
        build: entry.build.clone(),
        files: entry.files.clone(),
        command,
        env: entry.env.clone(),
        ready: ready(entry.ready.as_ref())?,
        ready_timeout_ns: limit("ready.timeout", ready_timeout, READY_TIMEOUT_NS)?,
        stop,
        stop_timeout_ns: limit("stop_timeout", entry.stop_timeout.as_ref(), STOP_TIMEOUT_NS)?,
        scheme,
        http,
        path,
        expect: entry.expect.clone(),
        with: entry.with.clone(),
        cpus: cpus(entry.cpus.as_deref(), default_cpus)?,
    })
}

fn cpus(text: Option<&str>, default: Option<&Cpus>) -> Result<Option<Cpus>, String> {
    let read = |text: &str| text.parse::<Cpus>().map_err(|error| format!("cpus: {error}"));
    text.map_or_else(|| Ok(default.cloned()), |text| read(text).map(Some))
}

fn ready(entry: Option<&ReadyEntry>) -> Result<Readiness, String> {
    match entry {
        None => Ok(Readiness::Port),
        Some(ReadyEntry { http: Some(path), status, port: false, .. }) => {
            if !path.starts_with('/') {
                return Err(format!("ready.http: '{path}' does not begin with '/'"));
            }
            Ok(Readiness::Http { path: path.clone(), status: status.unwrap_or(200) })
        }
        Some(ReadyEntry { http: None, status: None, .. }) => Ok(Readiness::Port),
        Some(_) => Err("ready: give either port = true or http = \"/\" with a status".to_owned()),
    }
}

fn load(entry: &LoadEntry, line: usize, default_cpus: Option<&Cpus>) -> Result<Load, String> {
    check_name(&entry.name)?;
    let tester: Tester = entry.tester.as_deref().unwrap_or("plimsoll").parse()?;
    let kind = kind_of(entry)?;
    let call = match &entry.args {
        Some(_) if entry.kind.is_some() => {
            return Err("kind: args begin with it: say it there".to_owned());
        }
        Some(args) => {
            if let Some(key) = entry.plan.keys().next() {
                let meant = nearest(key, LOAD_KEYS).map(|meant| format!("did you mean '{meant}'?"));
                let meant = meant.unwrap_or_else(|| "stands beside args; say it there".to_owned());
                return Err(format!("{key}: {meant}"));
            }
            let arguments = words("args", args)?;
            let is_known = |word: &String| word == Kind::Run.name() || word == Kind::Find.name();
            if tester == Tester::Plimsoll && !arguments.first().is_some_and(is_known) {
                let text = "args: begin with run or find, or name the tester they are for";
                return Err(text.to_owned());
            }
            if !arguments.iter().any(|argument| argument.contains("{url}")) {
                return Err("args: put {url} where the address belongs".to_owned());
            }
            LoadCall::Arguments(arguments)
        }
        None if entry.plan.contains_key("warmup") => {
            return Err("warmup: say it for the whole suite, at its top".to_owned());
        }
        None if tester == Tester::Plimsoll => LoadCall::Plan(entry.plan.clone()),
        None => return Err(format!("give args, the command line of {tester}, with {{url}} in it")),
    };
    let limit_ns = match &entry.limit {
        Some(text) => duration(text).map_err(|error| format!("limit: {error}"))?,
        None if kind == Kind::Find => FIND_LIMIT_NS,
        None => RUN_LIMIT_NS,
    };
    let cpus = cpus(entry.cpus.as_deref(), default_cpus)?;
    Ok(Load { name: entry.name.clone(), line, tester, kind, call, limit_ns, cpus })
}

/// What a load is: by its own word, or by the command that its arguments begin with.
fn kind_of(entry: &LoadEntry) -> Result<Kind, String> {
    let is_ours = entry.tester.as_deref().is_none_or(|tester| tester == Tester::Plimsoll.name());
    let first = entry.args.as_deref().and_then(|args| args.split_whitespace().next());
    match (entry.kind.as_deref(), first) {
        (Some("find"), _) if !is_ours => {
            Err("kind: only Plimsoll searches for load lines: leave tester out".to_owned())
        }
        (Some("find"), _) => Ok(Kind::Find),
        (None, Some("find")) if is_ours => Ok(Kind::Find),
        (None | Some("run"), _) => Ok(Kind::Run),
        (Some(other), _) => Err(format!("kind: '{other}' is not one of run, find")),
    }
}

fn exclude(entry: &ExcludeEntry) -> Exclude {
    Exclude { server: entry.server.clone(), load: entry.load.clone(), reason: entry.reason.clone() }
}
