//! Reading the command line: which command is asked for, in whose words, and whether a plan file
//! stands in place of a URL.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches};

use crate::args::{
    Command, OriginalFlags, command_of, definition_within, find_definition, key,
    request_definition, run_definition,
};
use crate::dialects;
use crate::exit::Exit;
use crate::find_args;
use crate::k6::ScriptRun;
use crate::plan_file::Runs;
use crate::refusal::refusal;
use crate::run_args::RunFlags;
use crate::single_args;
use crate::terminal;
use crate::value_args::is_script;

/// Help is no wider than this, however wide the terminal is.
const HELP_COLUMNS_MAX: usize = 100;

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Given {
    Command(Command),
    /// The runs of a plan file, which `run` is given like a URL.
    Runs(Runs),
    /// The run of a k6 script, which `run` is given like a URL, and all flags.
    Script(ScriptRun, Box<RunFlags>),
}

/// Reads the command line. Without a command the first argument is taken for `run`'s.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Given, Exit> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if let Some(name) = arguments.first().and_then(|program| dialects::named(program)) {
        arguments.insert(1, name.into());
    }
    if let Some(command) = original(&arguments)? {
        return Ok(Given::Command(command));
    }
    let first = arguments.get(1).map(|first| first.to_string_lossy().into_owned());
    match first.as_deref() {
        Some("help") => ask_for_help(&mut arguments),
        Some(first) if is_of_run(first) => arguments.insert(1, "run".into()),
        _ => {}
    }
    let definition = definition_within(terminal::columns(true).min(HELP_COLUMNS_MAX));
    let matches = definition.try_get_matches_from(&arguments);
    let matches = matches.map_err(|error| refusal(&error, &arguments))?;
    if let Some(("run", given)) = matches.subcommand()
        && given.get_one::<String>("url").is_some_and(|url| is_script(url))
        && let Command::Run(flags) =
            command_of(&matches).map_err(|error| refusal(&error, &arguments))?
    {
        let script = ScriptRun::asked(&flags, given_flags(given, &run_definition()));
        if let Some(script) = script.map_err(|unfit| Exit::Usage(unfit.text))? {
            return Ok(Given::Script(script, flags));
        }
    }
    if let Some(("run", given)) = matches.subcommand()
        && let Some(runs) = Runs::asked(given, &run_definition())?
    {
        return Ok(Given::Runs(runs));
    }
    if let Some(("find", given)) = matches.subcommand() {
        let definition = find_definition();
        if let Some((_, line)) = unfit_given(given, &definition, find_args::unfit) {
            return Err(Exit::Usage(line));
        }
        if let Some(runs) = Runs::asked(given, &definition)? {
            return runs.search(&definition).map(|flags| Given::Command(Command::Find(flags)));
        }
    }
    if let Some(("request", given)) = matches.subcommand() {
        let definition = request_definition();
        if let Some((_, line)) = unfit_given(given, &definition, single_args::unfit) {
            return Err(Exit::Usage(line));
        }
        if let Some(runs) = Runs::asked(given, &definition)? {
            return runs.request(&definition).map(|flags| Given::Command(Command::Request(flags)));
        }
    }
    command_of(&matches).map(Given::Command).map_err(|error| refusal(&error, &arguments))
}

/// The flags that stand on the command line: each by its name in the definition, and as one writes
/// it.
fn given_flags(given: &ArgMatches, definition: &clap::Command) -> Vec<(String, String)> {
    let is_given =
        |arg: &&Arg| given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let named = |arg: &Arg| (arg.get_id().to_string(), format!("--{}", key(arg)));
    definition.get_arguments().filter(is_given).map(named).collect()
}

/// The key of the first flag among these arguments that does not apply to the command, and a line
/// that says so. `unfit` says why a flag does not.
pub(crate) fn unfit_given(
    given: &ArgMatches,
    definition: &clap::Command,
    unfit: fn(&str) -> Option<&'static str>,
) -> Option<(String, String)> {
    let command = definition.get_name();
    let line = |arg: &Arg| {
        let id = arg.get_id().as_str();
        let is_given = given.value_source(id) == Some(ValueSource::CommandLine);
        let advice = unfit(id).filter(|_| is_given)?;
        Some((key(arg), format!("{command} has no --{}: {advice} (see --help)", key(arg))))
    };
    definition.get_arguments().find_map(line)
}

/// The command line of another tester, which is read by that tester's rules and not by ours.
fn original(arguments: &[OsString]) -> Result<Option<Command>, Exit> {
    let command = match arguments.get(1).and_then(|first| first.to_str()) {
        Some("wrk") => Command::Wrk,
        Some("wrk2") => Command::Wrk2,
        Some("ab") => Command::Ab,
        Some("k6") => Command::K6,
        Some("fortio") => Command::Fortio,
        _ => return Ok(None),
    };
    let words = arguments[2..].iter().map(|word| {
        let text = word.to_str().map(str::to_owned);
        text.ok_or_else(|| Exit::Usage(format!("{} is not UTF-8", word.display())))
    });
    Ok(Some(command(OriginalFlags { arguments: words.collect::<Result<_, _>>()? })))
}

/// `help COMMAND` as `COMMAND --help`.
fn ask_for_help(arguments: &mut Vec<OsString>) {
    arguments.remove(1);
    arguments.push("--help".into());
}

/// Whether the first argument is `run`'s own: a flag, or what can only be a URL or a file. A single
/// word is a command, perhaps a misspelt one.
fn is_of_run(first: &str) -> bool {
    let is_flag = first.starts_with('-');
    let is_about_all = ["-h", "--help", "-V", "--version"].contains(&first);
    let is_word = first.chars().all(|letter| letter.is_ascii_alphanumeric()) && !first.is_empty();
    if is_flag { !is_about_all } else { !is_word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<Box<RunFlags>, Exit> {
        let all = std::iter::once("plimsoll").chain(arguments.iter().copied());
        match parse(all.map(OsString::from))? {
            Given::Command(Command::Run(flags)) => Ok(flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn run_may_be_left_out() {
        for arguments in
            [&["run", "http://a/", "-c", "7"][..], &["http://a/", "-c7"], &["-c", "7", "http://a/"]]
        {
            let flags = run(arguments).unwrap();
            assert_eq!((flags.connections, flags.url.as_deref()), ((7, None), Some("http://a/")));
        }
    }

    #[test]
    fn what_cannot_be_read_is_one_line() {
        let cases: [&[&str]; 7] = [
            &["--bogus", "http://a/"],
            &["http://a/", "-c", "many"],
            &["http://a/", "-d", "10"],
            &["http://a/", "-r", "fast"],
            &["http://a/", "--stages", "10s"],
            &["http://a/", "--stages", "10s@5", "-r", "5"],
            &["http://a/", "--http", "3"],
        ];
        for arguments in cases {
            match run(arguments) {
                Err(Exit::Usage(text)) => assert!(!text.contains('\n'), "{text}"),
                other => panic!("{arguments:?}: {other:?}"),
            }
        }
    }
}
