//! Checks the loads of a suite before anything starts: reads each as `run` would, reports values
//! that are wrong, and works out how long each load takes.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::{Arg, ArgAction, Command};
use plimsoll_core::Plan;
use plimsoll_core::nearest::nearest;
use plimsoll_lab::prepare::Places;
use plimsoll_lab::suite::{LOAD_KEYS, Load, LoadCall, Server, Suite, line_of_key};
use plimsoll_lab::testers::Tester;
use plimsoll_lab::{Sketch, sketch};

use crate::exit::Exit;
use crate::plan_file::setting_named;
use crate::refusal::refusal;

/// How long a load takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Length {
    /// Its own warm-up, ns, if it has one that replaces the suite's.
    pub(super) warmup_ns: Option<u64>,
    /// The measured part, ns. `None` for a load that ends after a number of requests.
    pub(super) load_ns: Option<u64>,
}

/// Reads the loads of all cases, and gives how long each takes, by its name. `text` is the suite's
/// file. A file that is not there may be one that a build makes: it is looked for again before the
/// first load.
///
/// # Errors
/// A load that cannot be carried out, with its line.
pub(super) fn read(
    suite: &Suite,
    text: &str,
    places: &Places,
) -> Result<BTreeMap<String, Length>, String> {
    let definition = crate::args::run_definition();
    let mut lengths = BTreeMap::new();
    for load in &suite.loads {
        let servers = suite.servers.iter();
        let used = servers.filter(|server| suite.excluded(&server.name, &load.name).is_none());
        let length = of_load(load, used, places, &definition).map_err(|error| {
            let line = blamed_line(load, text, &error).unwrap_or(load.line);
            format!("{line}: load '{}': {error}", load.name)
        })?;
        lengths.insert(load.name.clone(), length);
    }
    Ok(lengths)
}

/// The line of the key that an error is about: it begins with the key or names its flag.
fn blamed_line(load: &Load, text: &str, error: &str) -> Option<usize> {
    let LoadCall::Plan(plan) = &load.call else { return line_of_key(text, load.line, "args") };
    let mut words = error.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let first = words.find(|word| !word.is_empty());
    let flags: Vec<&str> = words.filter_map(|word| word.strip_prefix("--")).collect();
    let is_blamed = |key: &&String| {
        Some(key.as_str()) == first || flags.contains(&key.replace('_', "-").as_str())
    };
    line_of_key(text, load.line, plan.keys().find(is_blamed)?)
}

/// Reads a load as it is for each server, most often the same for all, and gives the longest.
fn of_load<'a>(
    load: &Load,
    servers: impl Iterator<Item = &'a Server>,
    places: &Places,
    definition: &Command,
) -> Result<Length, String> {
    let mut read = BTreeSet::new();
    let mut longest: Option<Length> = None;
    for server in servers {
        let words = match sketch(load, server, places)? {
            Sketch::Plan(plan) => arguments(&plan, definition)?,
            Sketch::Arguments(words) if load.tester == Tester::Plimsoll => {
                std::iter::once("plimsoll".to_owned()).chain(words).map(OsString::from).collect()
            }
            Sketch::Arguments(words) => {
                return Ok(Length { load_ns: load.tester.length_ns(&words), warmup_ns: None });
            }
        };
        if read.contains(&words) {
            continue;
        }
        let length = of_run(words.clone())?;
        // One that nobody knows may be the longest.
        let by_length = |it: &Length| it.load_ns.unwrap_or(u64::MAX);
        longest = longest.into_iter().chain([length]).max_by_key(by_length);
        read.insert(words);
    }
    Ok(longest.unwrap_or_default())
}

/// Reads a run.
fn of_run(words: Vec<OsString>) -> Result<Length, String> {
    let read = crate::args::run_flags(words).map_err(|error| refusal(&error)).and_then(|flags| {
        if flags.plan.is_some() {
            // It has runs of its own, perhaps several.
            return Ok(Length::default());
        }
        let plan = crate::plan::plan(&flags)?;
        crate::run::check(&plan)?;
        let warmup_ns = Some(plan.warmup_ns).filter(|warmup_ns| *warmup_ns > 0);
        Ok(Length { warmup_ns, load_ns: load_ns(&plan) })
    });
    match read {
        Ok(length) => Ok(length),
        Err(Exit::Usage(text)) => Err(text),
        Err(_) => Ok(Length::default()),
    }
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
fn arguments(plan: &toml::Table, definition: &Command) -> Result<Vec<OsString>, String> {
    let mut words: Vec<OsString> = vec!["plimsoll".into(), "run".into()];
    let (mut positionals, mut last) = (Vec::new(), Vec::new());
    for (name, value) in plan {
        if ["repeat", "repeats"].contains(&name.as_str()) {
            return Err("say repeats at the suite's top".to_owned());
        }
        let meant = || nearest(name, LOAD_KEYS);
        let arg = setting_named(name, definition).map_err(|error| match meant() {
            Some(key) => format!("'{name}' is not a key of a load: did you mean '{key}'?"),
            None => error,
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
            let text = text.ok_or_else(|| wanted(name, arg))?;
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
    use super::*;

    fn length_of(lines: &str) -> Result<Length, String> {
        let text = format!("url = 'http://127.0.0.1:1/'\n{lines}");
        let plan: toml::Table = toml::from_str(&text).expect("TOML");
        of_run(arguments(&plan, &crate::args::run_definition())?)
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
            assert_eq!(length_of(lines).map(|it| it.load_ns), Ok(want), "{lines}");
        }
        let words = "plimsoll run --warmup 2s -d 4s http://127.0.0.1:1/".split(' ');
        let length = of_run(words.map(OsString::from).collect()).expect("a run");
        assert_eq!(length, Length { warmup_ns: Some(2 * second_ns), load_ns: Some(4 * second_ns) });
    }

    #[test]
    fn what_is_wrong_with_a_load_is_one_line() {
        for (lines, want) in [
            ("rates = 10", "'rates' is not a key of a plan: the nearest is 'rate'"),
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
            ("shed-after = '1s'", "--shed-after needs a schedule"),
        ] {
            let error = length_of(lines).expect_err(lines);
            assert!(error.starts_with(want) && !error.contains('\n'), "{lines}: {error}");
        }
    }
}
