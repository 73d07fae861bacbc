//! Calls a tester: its command line, its output, its end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_core::secret::Masks;
use plimsoll_io::clock;

use crate::order::PlannedRun;
use crate::prepare::Places;
use crate::process::Process;
use crate::programs::{find, last_line};
use crate::sample::{self, UsageRecord};
use crate::suite::{Cpus, Kind, Load, LoadCall, Names, PORTS, Server, plan_shown, run_of_search};
use crate::testers::{Finished, Reading, Tester};

/// Most of a tester's output that is read.
const OUTPUT_MAX: u64 = 16 << 20;

/// A command line, filled in.
pub(crate) struct Line {
    tester: Tester,
    program: String,
    arguments: Vec<String>,
    /// What it reads from its standard input.
    plan: Option<PlanFile>,
    /// Variables of its environment, beside the lab's own.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// Variables of the environment of a tester, by the run that it measures; `None` for warm-ups and
/// checks. A command line has no place for what may be secret.
pub type Variables<'a> = &'a dyn Fn(Option<&PlannedRun<'_>>) -> Vec<(&'static str, String)>;

/// A plan, secrets and all. The file has no name: nothing of it is left behind, whatever ends the
/// lab.
struct PlanFile {
    file: File,
    /// What the plan is called where it is kept, secrets masked.
    name: &'static str,
}

/// Where a program finds its standard input.
const STDIN: &str = "/dev/stdin";

/// What names stand for in a load: `{url}`, `{scratch}` and so on.
pub(crate) struct CallContext<'a> {
    pub(crate) names: &'a Names,
    /// The folder for the files of this call.
    pub(crate) scratch: &'a Path,
    pub(crate) plimsoll: &'a Path,
    pub(crate) url: &'a str,
    /// Variables of the environment of what measures nothing.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// How a load is called, with its warm-up where it warms up itself.
///
/// # Errors
/// A tester that is not there, a placeholder that is not known, or a file that cannot be written.
pub(crate) fn line(load: &Load, warmup_ns: u64, place: &CallContext<'_>) -> Result<Line, String> {
    let warmup = Some(format!("{warmup_ns}ns")).filter(|_| warmup_ns > 0 && warms_up(load));
    let (given, plan) = match &load.call {
        LoadCall::Arguments(arguments) => {
            let mut arguments = arguments.clone();
            if let Some(warmup) = warmup {
                arguments.splice(1..1, ["--warmup".to_owned(), warmup]);
            }
            (arguments, None)
        }
        LoadCall::Plan(plan) => {
            let mut plan = plan.clone();
            if let Some(warmup) = warmup {
                plan.insert("warmup".to_owned(), warmup.into());
            }
            (plan_arguments(load.kind), Some(plan_file(&plan, place, "plan.toml")?))
        }
    };
    fill(load.tester, &load.tester.arguments(&given), plan, place)
}

/// A load as it will be for a server, but for ports and folders that nobody knows yet.
#[derive(Debug, Clone, PartialEq)]
pub enum Sketch {
    /// The keys of a plan of ours, the address among them.
    Plan(toml::Table),
    /// The arguments of a tester.
    Arguments(Vec<String>),
}

/// What a load will be for a server.
///
/// # Errors
/// A placeholder that means nothing for this server.
pub fn sketch(load: &Load, server: &Server, places: &Places) -> Result<Sketch, String> {
    const PORT: &str = "10240";
    let mut names = places.names(server);
    let services = server.with.iter().map(|name| format!("{name}.port"));
    let ports = PORTS.iter().map(|name| (*name).to_owned());
    services.chain(ports).for_each(|name| names.set(&name, PORT));
    let url = format!("{}://127.0.0.1:{PORT}{}", server.scheme, server.path);
    names.set("url", url.as_str());
    names.set("scratch", places.work_of(server).display().to_string());
    match &load.call {
        LoadCall::Plan(plan) => Ok(Sketch::Plan(with_address(plan, &names, &url))),
        LoadCall::Arguments(arguments) => {
            let fill = |text: &String| names.fill(text);
            let filled = arguments.iter().map(fill).collect::<Result<_, _>>();
            let why = |error| format!("args, for server '{}': {error}", server.name);
            filled.map(Sketch::Arguments).map_err(why)
        }
    }
}

/// How our own tester reads a load without sending anything. `None` for another tester's.
///
/// # Errors
/// As for [`line`].
pub(crate) fn reading_only(load: &Load, place: &CallContext<'_>) -> Result<Option<Line>, String> {
    let (mut given, plan) = match (&load.call, load.kind) {
        (LoadCall::Plan(plan), kind) => {
            let file = plan_file(&as_run(kind, plan), place, "plan.toml")?;
            (plan_arguments(Kind::Run), Some(file))
        }
        (LoadCall::Arguments(arguments), Kind::Run) if load.tester == Tester::Plimsoll => {
            (arguments.clone(), None)
        }
        // A search does not print its plan.
        (LoadCall::Arguments(_), _) => return Ok(None),
    };
    given.insert(1, "--print-plan".to_owned());
    fill(Tester::Plimsoll, &given, plan, place).map(Some)
}

/// How one request of a load is sent. `None` for one that is a command line.
///
/// # Errors
/// As for [`line`].
pub(crate) fn one_request(load: &Load, place: &CallContext<'_>) -> Result<Option<Line>, String> {
    let LoadCall::Plan(plan) = &load.call else { return Ok(None) };
    let plan = as_run(load.kind, plan);
    let mut given = plan_arguments(Kind::Run);
    given.extend(["-n", "1", "-c", "1", "-t", "1"].map(str::to_owned));
    // In the place of a schedule that may be long, another, so that what needs one has one.
    if ["rate", "stages", "rate-file", "rate_file"].iter().any(|key| plan.contains_key(*key)) {
        given.extend(["-r", "1k"].map(str::to_owned));
    }
    let file = plan_file(&plan, place, "plan.toml")?;
    fill(Tester::Plimsoll, &Tester::Plimsoll.arguments(&given), Some(file), place).map(Some)
}

/// The line of the measured part as one would type it, without what is added to read its figures.
pub(crate) fn shown(load: &Load, url: &str) -> String {
    load.command().replace("{url}", &Masks::default().url(url))
}

/// The run that sends what a load of ours sends.
fn as_run(kind: Kind, plan: &toml::Table) -> toml::Table {
    match kind {
        Kind::Run => plan.clone(),
        Kind::Find => run_of_search(plan),
    }
}

/// Whether the suite's warm-up is a part of the run itself: then numbers, rows and whatever else a
/// request is made of go on where the warm-up ends. Only our own can, and not one whose times are
/// those of a file, nor a search.
fn warms_up(load: &Load) -> bool {
    match &load.call {
        _ if load.kind == Kind::Find => false,
        LoadCall::Plan(plan) => !["rate-file", "rate_file"].iter().any(|it| plan.contains_key(*it)),
        LoadCall::Arguments(arguments) => {
            let is_run = arguments.first().is_some_and(|word| word == "run");
            let others = ["--rate-file", "--warmup", "--plan"];
            load.tester == Tester::Plimsoll && is_run && !has_flag(arguments, &others)
        }
    }
}

/// Whether its own command line says a warm-up, which then is the only one.
fn says_warmup(load: &Load) -> bool {
    let LoadCall::Arguments(arguments) = &load.call else { return false };
    load.tester == Tester::Plimsoll && has_flag(arguments, &["--warmup"])
}

fn has_flag(arguments: &[String], flags: &[&str]) -> bool {
    arguments.iter().any(|word| flags.iter().any(|flag| word.split('=').next() == Some(*flag)))
}

/// How the warm-up is called where the load does not do it itself: the same plan, shorter and from
/// another seed, for one whose times are those of a file; a search's first rate; a closed loop of
/// ours for another tester's, whose command line we cannot change. `None` without a warm-up to
/// call.
///
/// # Errors
/// As for [`line`].
pub(crate) fn warmup(
    load: &Load,
    warmup_ns: u64,
    place: &CallContext<'_>,
) -> Result<Option<Line>, String> {
    if warmup_ns == 0 || warms_up(load) || says_warmup(load) {
        return Ok(None);
    }
    let mut plan = match &load.call {
        LoadCall::Plan(plan) => as_run(load.kind, plan),
        LoadCall::Arguments(_) => as_run(load.kind, &toml::Table::new()),
    };
    // What would make it longer, or end it otherwise than by its time.
    for key in ["requests", "gate", "abort-when", "require-valid", "json"] {
        plan.remove(key);
        plan.remove(&key.replace('-', "_"));
    }
    let seed = plan.get("seed").and_then(toml::Value::as_integer).unwrap_or(0);
    plan.insert("seed".to_owned(), (seed ^ WARMUP_SEED).into());
    plan.insert("duration".to_owned(), format!("{warmup_ns}ns").into());
    let file = plan_file(&plan, place, "warmup.toml")?;
    let arguments = Tester::Plimsoll.arguments(&plan_arguments(Kind::Run));
    fill(Tester::Plimsoll, &arguments, Some(file), place).map(Some)
}

/// What the seed of a warm-up differs by.
const WARMUP_SEED: i64 = 0x7761_726d;

/// The arguments that carry out the plan of the standard input.
fn plan_arguments(kind: Kind) -> Vec<String> {
    [kind.name(), "--plan", STDIN].map(str::to_owned).to_vec()
}

/// Makes a plan file, and keeps it with its secrets masked.
fn plan_file(
    plan: &toml::Table,
    place: &CallContext<'_>,
    name: &'static str,
) -> Result<PlanFile, String> {
    let plan = with_address(plan, place.names, place.url);
    let path = place.scratch.join(name);
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let written = |plan| toml::to_string(plan).map_err(|error| wrong(&error));
    let file = nameless(&path, &written(&plan)?).map_err(|error| wrong(&error))?;
    fs::write(&path, written(&plan_shown(&plan))?).map_err(|error| wrong(&error))?;
    Ok(PlanFile { file, name })
}

/// A plan that is filled in and says where to go.
fn with_address(plan: &toml::Table, names: &Names, url: &str) -> toml::Table {
    let mut plan: toml::Table =
        plan.iter().map(|(key, value)| (key.clone(), filled(value, names))).collect();
    plan.entry("url").or_insert_with(|| url.into());
    if url.starts_with("https:") {
        plan.entry("insecure").or_insert_with(|| true.into());
    }
    plan
}

/// A file with a text that nobody else can open: its name is taken away before it is written.
fn nameless(path: &Path, text: &str) -> io::Result<File> {
    let draft = path.with_extension("draft");
    let options = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).clone();
    let mut file = options.open(&draft)?;
    fs::remove_file(&draft)?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Texts within a value, filled in as those of a file: braces there are templates of `run`, too.
fn filled(value: &toml::Value, names: &Names) -> toml::Value {
    match value {
        toml::Value::String(text) => names.fill_file(text).into(),
        toml::Value::Array(values) => {
            values.iter().map(|value| filled(value, names)).collect::<Vec<_>>().into()
        }
        other => other.clone(),
    }
}

fn fill(
    tester: Tester,
    arguments: &[String],
    plan: Option<PlanFile>,
    place: &CallContext<'_>,
) -> Result<Line, String> {
    let fill = |text: &String| place.names.fill(text).map_err(|error| format!("args: {error}"));
    let arguments = arguments.iter().map(fill).collect::<Result<Vec<_>, _>>()?;
    let program = match tester.program() {
        "plimsoll" => place.plimsoll.display().to_string(),
        other => {
            let path = find(other).ok_or_else(|| format!("there is no `{other}` here"))?;
            path.display().to_string()
        }
    };
    Ok(Line { tester, program, arguments, plan, variables: place.variables.clone() })
}

/// A call that has ended, or was ended.
pub(crate) struct Called {
    /// What it said, or why that cannot be understood.
    pub(crate) reading: Result<Reading, String>,
    /// All that it printed.
    pub(crate) output: String,
    /// What its processes used.
    pub(crate) usage: Option<UsageRecord>,
}

/// Calls a tester and waits for its end, until `stopped` or its limit.
///
/// # Errors
/// It could not be started, took too long, or was stopped.
pub(crate) fn call(
    line: &Line,
    scratch: &Path,
    cpus: Option<&Cpus>,
    limit_ns: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<Called, String> {
    let cannot = |error: io::Error| format!("{}: {error}", line.program);
    let began_ns = clock::now_ns();
    let mut process = begin(line, scratch, cpus).map_err(cannot)?;
    let sampler = sample::Root::of(process.id()).ok().and_then(|root| {
        sample::Sampler::start(vec![root], sample::SamplerOptions::default()).ok()
    });
    if let Some(sampler) = &sampler {
        sampler.begin();
    }
    let ended = wait(&process, began_ns.saturating_add(limit_ns), stopped);
    let lived_s = (clock::now_ns() - began_ns) as f64 / 1e9;
    // Before it is waited for: then its figures are gone.
    let usage = sampler.and_then(sample::Sampler::finish_record);
    ended?;
    let status = process.finish(Duration::ZERO).map_err(cannot)?;
    let finished = Finished {
        code: status.and_then(|status| status.code()),
        stdout: read(&scratch.join("stdout"), line).map_err(cannot)?,
        stderr: read(&scratch.join("stderr"), line).map_err(cannot)?,
        scratch: scratch.to_path_buf(),
    };
    let reading = line.tester.read(&finished, lived_s);
    let output = match finished.stderr.trim() {
        "" => finished.stdout,
        stderr => format!("{}\n{stderr}\n", finished.stdout.trim_end()),
    };
    Ok(Called { reading, output, usage })
}

/// Lets our own tester read a load, until `stopped`.
///
/// # Errors
/// What it says is wrong.
pub(crate) fn accepted(
    line: &Line,
    scratch: &Path,
    stopped: &dyn Fn() -> bool,
) -> Result<(), String> {
    let cannot = |error: io::Error| format!("{}: {error}", line.program);
    let mut process = begin(line, scratch, None).map_err(cannot)?;
    wait(&process, clock::now_ns().saturating_add(READING_LIMIT_NS), stopped)?;
    let status = process.finish(Duration::ZERO).map_err(cannot)?;
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let said = read(&scratch.join("stderr"), line).map_err(cannot)?;
    let last = last_line(&said).unwrap_or("it cannot be read");
    let what = last.strip_prefix("plimsoll: ").unwrap_or(last);
    // The plan is not the user's file, and its lines are not the suite's.
    let in_plan = what.strip_prefix("plan.toml").and_then(|rest| rest.split_once(": "));
    let what = in_plan.map_or(what, |(_, what)| what);
    Err(what.strip_prefix("run 'stdin': ").unwrap_or(what).to_owned())
}

/// How long reading a load may take, ns: files may be large.
const READING_LIMIT_NS: u64 = 60_000_000_000;

fn begin(line: &Line, scratch: &Path, cpus: Option<&Cpus>) -> io::Result<Process> {
    let mut command = Command::new(&line.program);
    let stdin = match &line.plan {
        Some(plan) => Stdio::from(plan.file.try_clone()?),
        None => Stdio::null(),
    };
    command.args(&line.arguments).current_dir(scratch).stdin(stdin);
    command.envs(line.variables.iter().map(|(name, value)| (name, value)));
    let stream = |name: &str| File::create(scratch.join(name));
    command.stdout(stream("stdout")?).stderr(stream("stderr")?);
    Process::start_group(command, cpus.map_or(&[][..], |cpus| cpus.numbers()))
}

fn wait(process: &Process, until_ns: u64, stopped: &dyn Fn() -> bool) -> Result<(), String> {
    /// Often enough for the figures of a second, rarely enough to cost nothing.
    const LOOK: Duration = Duration::from_millis(20);
    while !process.has_ended().map_err(|error| error.to_string())? {
        if stopped() {
            return Err("stopped".to_owned());
        }
        if clock::now_ns() >= until_ns {
            return Err("the tester did not end within its limit".to_owned());
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Reads what a tester printed, and masks the URLs in it, also in the file.
fn read(path: &Path, line: &Line) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut shown = Masks::default().urls_in(&text);
    if let Some(plan) = &line.plan {
        shown = shown.replace(STDIN, plan.name);
    }
    if shown != text {
        fs::write(path, &shown)?;
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARMUP_NS: u64 = 5;

    fn planned(text: &str) -> LoadCall {
        LoadCall::Plan(toml::from_str(text).expect(text))
    }

    fn called(text: &str) -> LoadCall {
        LoadCall::Arguments(text.split(' ').map(str::to_owned).collect())
    }

    /// A load whose warm-up is a part of it goes on with what it sends. A warm-up of its own has
    /// another seed, and nothing that would end it but its time.
    #[test]
    fn no_warm_up_sends_what_the_measured_part_sends() {
        let directory = tempfile::tempdir().expect("a directory");
        let scratch = directory.path();
        let mut names = Names::default();
        names.set("scratch", "folder");
        let place = CallContext {
            names: &names,
            scratch,
            plimsoll: Path::new("plimsoll"),
            url: "http://a/",
            variables: Vec::new(),
        };
        let kept = |name: &str| -> Option<toml::Table> {
            let text = fs::read_to_string(scratch.join(name)).ok()?;
            fs::remove_file(scratch.join(name)).expect("it is there");
            Some(toml::from_str(&text).expect("a plan"))
        };
        let kind = |call: &LoadCall| match call {
            LoadCall::Plan(plan) if plan.contains_key("slo") => Kind::Find,
            LoadCall::Arguments(words) if words[0] == "find" => Kind::Find,
            _ => Kind::Run,
        };
        for (call, is_inside, is_beside) in [
            (planned("seed = 7\nrequests = 9"), true, false),
            (called("run -n 9 a"), true, false),
            (called("run --warmup 1s a"), false, false),
            (called("run --warmup=1s a"), false, false),
            (planned("seed = 7\nrequests = 9\nrate-file = 'times'"), false, true),
            (planned("requests = 9\nrate_file = 'times'"), false, true),
            (called("run --rate-file times a"), false, true),
            (called("find --slo p99<1s a"), false, true),
            (planned("slo = 'p99<1s'\nhold = '30s'"), false, true),
        ] {
            let load = Load {
                name: String::new(),
                line: 1,
                tester: Tester::Plimsoll,
                kind: kind(&call),
                call: call.clone(),
                limit_ns: 0,
                cpus: None,
            };
            let beside = warmup(&load, WARMUP_NS, &place).expect("it can be called");
            assert_eq!(beside.is_some(), is_beside, "{call:?}");
            let before = kept("warmup.toml");
            let words = line(&load, WARMUP_NS, &place).expect("it can be called").arguments;
            let plan = kept("plan.toml");
            let in_plan = plan.as_ref().is_some_and(|plan| plan.contains_key("warmup"));
            let in_words = words.windows(2).any(|pair| pair == ["--warmup", "5ns"]);
            assert_eq!(in_plan || in_words, is_inside, "{call:?}");
            let Some(before) = before else { continue };
            let seed = |plan: &toml::Table| plan.get("seed").and_then(toml::Value::as_integer);
            assert_ne!(seed(&before), plan.as_ref().and_then(seed), "{call:?}");
            assert_ne!(seed(&before), Some(0), "{call:?}");
            assert_eq!(before["duration"].as_str(), Some("5ns"), "{call:?}");
            assert!(!before.contains_key("requests"), "{call:?}");
            assert!(!before.contains_key("slo"), "{call:?}");
        }
    }
}
