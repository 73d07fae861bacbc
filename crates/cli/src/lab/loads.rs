//! Checks the loads of a suite before anything starts: reads each as `run` would, reports values
//! that are wrong, and works out how long each load takes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use plimsoll_core::Plan;
use plimsoll_core::nearest::nearest;
use plimsoll_core::plan::{Keys, Words};
use plimsoll_lab::prepare::Places;
use plimsoll_lab::suite::{Kind, LOAD_KEYS, Load, LoadCall, Server, Suite, line_of_key};
use plimsoll_lab::testers::Tester;
use plimsoll_lab::{Sketch, sketch};

use crate::args::key;
use crate::command_line::unfit_given;
use crate::exit::Exit;
use crate::fault::Flags;
use crate::find_args;
use crate::plan_file::setting_named;
use crate::refusal::{refusal, refused};

/// How long a load takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Length {
    /// Its own warm-up, ns, if it has one that replaces the suite's.
    pub(super) warmup_ns: Option<u64>,
    /// The measured part, ns. `None` for a load that ends after a number of requests.
    pub(super) load_ns: Option<u64>,
}

/// Reads the loads of all cases, and gives how long each takes, by its name. `suite_text` is the
/// suite's file. A file that is not there may be one that a build makes: it is looked for again
/// before the first load.
///
/// # Errors
/// A load that cannot be carried out, with its line.
pub(super) fn read(
    suite: &Suite,
    suite_text: &str,
    places: &Places,
) -> Result<BTreeMap<String, Length>, String> {
    let mut lengths = BTreeMap::new();
    for load in &suite.loads {
        let servers = suite.servers.iter();
        let used = servers.filter(|server| suite.excluded(&server.name, &load.name).is_none());
        let length = of_load(load, used, places).map_err(|Wrong { keys, text }| {
            let line = line_of(load, suite_text, &keys).unwrap_or(load.line);
            format!("{line}: load '{}': {text}", load.name)
        })?;
        lengths.insert(load.name.clone(), length);
    }
    Ok(lengths)
}

/// What is wrong with a load, and the keys that it is about, the first of them first.
#[derive(Debug)]
struct Wrong {
    keys: Vec<String>,
    text: String,
}

impl From<String> for Wrong {
    fn from(text: String) -> Self {
        Self { keys: Vec::new(), text }
    }
}

impl Wrong {
    fn with(key: &str, text: String) -> Self {
        Self { keys: vec![key.to_owned()], text }
    }
}

/// The line of the first of these keys that a load has.
fn line_of(load: &Load, text: &str, keys: &[String]) -> Option<usize> {
    let LoadCall::Plan(plan) = &load.call else { return line_of_key(text, load.line, "args") };
    let is_it = |name: &&String, key: &str| name.replace('_', "-") == key.replace('_', "-");
    let name = keys.iter().find_map(|key| plan.keys().find(|name| is_it(name, key)))?;
    line_of_key(text, load.line, name)
}

/// Reads a load as it is for each server, most often the same for all, and gives the longest.
fn of_load<'a>(
    load: &Load,
    servers: impl Iterator<Item = &'a Server>,
    places: &Places,
) -> Result<Length, Wrong> {
    let definition = definition(load.kind);
    let flags = Flags::new(&definition);
    let mut read = BTreeSet::new();
    let mut longest: Option<Length> = None;
    for server in servers {
        let (words, front): (Vec<OsString>, _) = match sketch(load, server, places)? {
            Sketch::Plan(plan) => (arguments(load.kind, &plan, &definition)?, &Keys as &dyn Words),
            Sketch::Arguments(words) if load.tester == Tester::Plimsoll => {
                let words = std::iter::once("plimsoll".to_owned()).chain(words);
                (words.map(OsString::from).collect(), &flags)
            }
            Sketch::Arguments(words) => {
                return Ok(Length { load_ns: load.tester.length_ns(&words), warmup_ns: None });
            }
        };
        if read.contains(&words) {
            continue;
        }
        let length = match load.kind {
            Kind::Run => of_run(words.clone(), front)?,
            Kind::Find => of_search(words.clone())?,
        };
        // One that nobody knows may be the longest.
        let by_length = |it: &Length| it.load_ns.unwrap_or(u64::MAX);
        longest = longest.into_iter().chain([length]).max_by_key(by_length);
        read.insert(words);
    }
    Ok(longest.unwrap_or_default())
}

/// The definition of the command that a load of ours is.
fn definition(kind: Kind) -> Command {
    match kind {
        Kind::Run => crate::args::run_definition(),
        Kind::Find => crate::args::find_definition(),
    }
}

/// Reads a search. Nobody knows how long it takes.
fn of_search(words: Vec<OsString>) -> Result<Length, Wrong> {
    let definition = definition(Kind::Find);
    let wrong = |key: Option<String>, exit| match exit {
        Exit::Usage(text) => Err(Wrong { keys: key.into_iter().collect(), text }),
        _ => Ok(Length::default()),
    };
    let (given, flags) = match crate::args::find_flags(words.clone()) {
        Ok(found) => found,
        Err(error) => {
            return wrong(refused(&error, &definition).map(key), refusal(&error, &words));
        }
    };
    if let Some((key, line)) = unfit_given(&given, &definition, find_args::unfit) {
        return wrong(Some(key), Exit::Usage(line));
    }
    if flags.resume.is_some() {
        let text = "resume: each run of a lab is a search of its own";
        return Err(Wrong::with("resume", text.to_owned()));
    }
    match crate::find::check(*flags) {
        Ok(()) => Ok(Length::default()),
        Err(exit) => wrong(None, exit),
    }
}

/// Reads a run.
fn of_run(words: Vec<OsString>, front: &dyn Words) -> Result<Length, Wrong> {
    let wrong = |keys, exit| match exit {
        Exit::Usage(text) => Err(Wrong { keys, text }),
        _ => Ok(Length::default()),
    };
    let flags = match crate::args::run_flags(words.clone()) {
        // It has runs of its own, perhaps several.
        Ok(flags) if flags.plan.is_some() => return Ok(Length::default()),
        // Its script says how long it takes, and is read when it runs.
        Ok(flags) if flags.url.as_deref().is_some_and(crate::value_args::is_script) => {
            return Ok(Length { warmup_ns: None, load_ns: flags.duration });
        }
        Ok(flags) => flags,
        Err(error) => {
            let keys = refused(&error, &crate::args::run_definition()).map(key);
            return wrong(keys.into_iter().collect(), refusal(&error, &words));
        }
    };
    let plan = match crate::plan::plan(&flags) {
        Ok(plan) => plan,
        Err(fault) => {
            let keys = fault.fields().into_iter().map(|field| field.name().to_owned()).collect();
            return wrong(keys, fault.told(front));
        }
    };
    let warmup_ns = Some(plan.warmup_ns).filter(|warmup_ns| *warmup_ns > 0);
    Ok(Length { warmup_ns, load_ns: load_ns(&plan) })
}

/// Until the last request of a plan is started, ns.
fn load_ns(plan: &Plan) -> Option<u64> {
    let profile = plan.rate.as_ref();
    let last = plan.trace.as_ref().and_then(|trace| trace.offsets_ns.last().copied());
    let timed = last.or_else(|| profile.and_then(|profile| profile.duration_ns()));
    let counted = plan.requests.zip(profile).map(|(count, profile)| profile.due_ns(count));
    timed.or(plan.duration_ns).into_iter().chain(counted).min()
}

/// The arguments that say what a plan's keys say.
fn arguments(kind: Kind, plan: &toml::Table, definition: &Command) -> Result<Vec<OsString>, Wrong> {
    let mut words: Vec<OsString> = vec!["plimsoll".into(), kind.name().into()];
    let (mut positionals, mut last) = (Vec::new(), Vec::new());
    for (name, value) in plan {
        if ["repeat", "repeats"].contains(&name.as_str()) {
            return Err(Wrong::with(name, "say repeats at the suite's top".to_owned()));
        }
        let meant = || nearest(name, LOAD_KEYS);
        let arg = setting_named(name, definition).map_err(|error| match meant() {
            Some(key) => {
                let text = format!("'{name}' is not a key of a load: did you mean '{key}'?");
                Wrong::with(name, text)
            }
            None => Wrong::with(name, error),
        })?;
        if let (true, toml::Value::Boolean(is_on)) = (may_stand_alone(arg), value) {
            words.extend(is_on.then(|| format!("--{}", long(arg)).into()));
            continue;
        }
        let several = match value {
            toml::Value::Array(values) if matches!(arg.get_action(), ArgAction::Append) => values,
            one => std::slice::from_ref(one),
        };
        for value in several {
            let text = text(value).filter(|_| !stands_alone(arg));
            let text = text.ok_or_else(|| Wrong::with(name, wanted(name, arg)))?;
            match (arg.is_positional(), arg.is_last_set()) {
                (true, true) => last.push(text.into()),
                (true, false) => positionals.push(text.into()),
                _ => words.push(format!("--{}={text}", long(arg)).into()),
            }
        }
    }
    words.extend(positionals);
    if !last.is_empty() {
        words.push("--".into());
    }
    words.extend(last);
    Ok(words)
}

fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or_default()
}

fn stands_alone(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::SetFalse | ArgAction::Count)
}

fn may_stand_alone(arg: &Arg) -> bool {
    stands_alone(arg) || arg.get_num_args().is_some_and(|range| range.min_values() == 0)
}

/// What a key has to be, as a plan file says it.
fn wanted(name: &str, arg: &Arg) -> String {
    match (stands_alone(arg), arg.get_action()) {
        (true, _) => format!("{name} is true or false"),
        (_, ArgAction::Append) => format!("{name} is a text or a list of texts"),
        _ => format!("{name} is a text or number"),
    }
}

fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_lab::suite::SEARCH_KEYS;

    use super::*;

    fn length_of(lines: &str) -> Result<Length, Wrong> {
        let text = format!("url = 'http://127.0.0.1:1/'\n{lines}");
        let plan: toml::Table = toml::from_str(&text).expect("TOML");
        of_run(arguments(Kind::Run, &plan, &definition(Kind::Run))?, &Keys)
    }

    #[test]
    fn a_load_takes_as_long_as_its_plan_says() {
        let second_ns = 1_000_000_000;
        for (lines, want) in [
            ("", Some(10 * second_ns)),
            ("duration = '3s'", Some(3 * second_ns)),
            ("duration = '3s'\nrate = '1k'", Some(3 * second_ns)),
            ("requests = 500\nrate = 100", Some(5 * second_ns)),
            ("requests = 500\nduration = '2s'", Some(2 * second_ns)),
            ("stages = '2s@10,3s@10..20'", Some(5 * second_ns)),
            ("requests = 500", None),
            ("rate-file = '/no/such/file'", None),
        ] {
            let length = length_of(lines).unwrap_or_else(|wrong| panic!("{lines}: {wrong:?}"));
            assert_eq!(length.load_ns, want, "{lines}");
        }
        let words = "plimsoll run --warmup 2s -d 4s http://127.0.0.1:1/".split(' ');
        let length = of_run(words.map(OsString::from).collect(), &Keys).expect("a run");
        assert_eq!(length, Length { warmup_ns: Some(2 * second_ns), load_ns: Some(4 * second_ns) });
    }

    #[test]
    fn what_is_wrong_with_a_load_is_one_line() {
        for (lines, want) in [
            ("rates = 10", "'rates' is not a key of a plan: did you mean 'rate'?"),
            ("testr = 'wrk'", "'testr' is not a key of a load: did you mean 'tester'?"),
            ("rate = 'fast'", "invalid value 'fast' for '--rate <R>'"),
            ("rate = true", "rate is a text or number"),
            ("rate = [1, 2]", "rate is a text or number"),
            ("expect = [1, { a = 2 }]", "expect is a text or a list of texts"),
            ("no-keepalive = 'yes'", "no-keepalive is true or false"),
            ("duration = 10", "invalid value '10' for '--duration <T>'"),
            ("threads = 9\nconnections = 2", "9 threads for 2 connections"),
            ("rate = 1\nstages = '1s@1'", "the argument '--rate <R>' cannot be used with"),
            ("repeats = 3", "say repeats at the suite's top"),
            ("shed-after = '1s'", "'shed-after' needs a schedule"),
        ] {
            let error = length_of(lines).expect_err(lines).text;
            assert!(error.starts_with(want) && !error.contains('\n'), "{lines}: {error}");
        }
    }
    fn search(lines: &str) -> Result<Length, Wrong> {
        let text = format!("url = 'http://127.0.0.1:1/'\n{lines}");
        let plan: toml::Table = toml::from_str(&text).expect("TOML");
        of_search(arguments(Kind::Find, &plan, &definition(Kind::Find))?)
    }

    #[test]
    fn a_search_is_read_as_find_reads_it() {
        let lines = "slo = ['p99<10ms']\nhold = '30s'\nmax-rate = '10k'\nquick-only = false";
        assert_eq!(search(lines).expect("a search"), Length::default());
        for (lines, want) in [
            ("", "0 objectives: give 1 to 16"),
            ("slo = 'p99'", "invalid value 'p99' for '--slo <EXPR>'"),
            ("slo = 'p99<1s'\nrate = 5", "find has no --rate: the search chooses the rates"),
            ("slo = 'p99<1s'\nhold = '5s'", "quick probes of 5s and holds of 5s"),
            ("slo = 'p99<1s'\nhgrm = 'x'", "find has no --hgrm"),
            ("slo = 'p99<1s'\nholds = '5s'", "'holds' is not a key of a plan"),
            ("resume = 'a.json'", "resume: each run of a lab is a search of its own"),
        ] {
            let error = search(lines).expect_err(lines).text;
            assert!(error.starts_with(want) && !error.contains('\n'), "{lines}: {error}");
        }
    }

    /// What a search has and a run has not is left out of what the check sends.
    #[test]
    fn the_lab_knows_the_keys_of_searches() {
        let names =
            |kind| -> BTreeSet<String> { definition(kind).get_arguments().map(key).collect() };
        let of_search: BTreeSet<String> =
            names(Kind::Find).difference(&names(Kind::Run)).cloned().collect();
        assert_eq!(of_search, SEARCH_KEYS.map(str::to_owned).into());
    }
}
