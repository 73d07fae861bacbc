//! What the command line's parser refuses, as one line: what, where and what was probably meant.

use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use plimsoll_core::nearest::{did_you_mean, nearest};
use plimsoll_core::secret::{Masks, run_flag};

use crate::args::{definition, key};
use crate::exit::Exit;
use crate::habits;

/// What a call without any argument is told.
const FIRST_STEPS: &str = "\
say what to do. Three things to try:

  plimsoll demo                             a tour of 12 seconds
  plimsoll http://127.0.0.1:8080/           how much can this server take?
  plimsoll -r 100 http://127.0.0.1:8080/    how long do users wait, at 100/s?

`plimsoll serve` starts a server to load. `plimsoll --help` lists all commands.";

/// One line of what clap has to say of these words, or the help that was asked for.
pub(crate) fn refusal(error: &clap::Error, words: &[impl AsRef<OsStr>]) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Exit::Text(error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Exit::Introduction(FIRST_STEPS),
        _ => {
            let command = command_of(words);
            let is_of_run = ["run", "find", "request"].contains(&command.get_name());
            let habit = is_of_run.then(|| habits::found(words)).flatten();
            let line = habit.unwrap_or_else(|| line(error, &command));
            Exit::Usage(format!("{line} (see --help)"))
        }
    }
}

/// The flag that cannot be as it was given, among those of a command.
pub(crate) fn refused<'d>(error: &clap::Error, command: &'d Command) -> Option<&'d Arg> {
    let named = text(error, ContextKind::InvalidArg)?;
    // An error names a flag as the definition prints it.
    command.get_arguments().find(|arg| arg.to_string() == named)
}

/// What is wrong, in the words of clap, which writes it on several lines.
fn line(error: &clap::Error, command: &Command) -> String {
    let flag = text(error, ContextKind::InvalidArg).unwrap_or_default();
    let value = text(error, ContextKind::InvalidValue).unwrap_or_default();
    let shown = || {
        let name = refused(error, command).map_or_else(String::new, key);
        Masks::default().given(run_flag(&name), value)
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(text(error, ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        ErrorKind::UnknownArgument => unknown_argument(flag, command),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("a value is required for '{flag}' but none was supplied{}", choice(error))
        }
        ErrorKind::InvalidValue => {
            format!("invalid value '{}' for '{flag}'{}", shown(), choice(error))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            // A parser may quote what it was given.
            format!("invalid value '{}' for '{flag}'{}", shown(), why.replace(value, &shown()))
        }
        ErrorKind::TooManyValues => {
            format!("unexpected value '{}' for '{flag}' found; no more were expected", shown())
        }
        ErrorKind::NoEquals => {
            format!("equal sign is needed when assigning values to '{flag}'")
        }
        ErrorKind::ArgumentConflict => match error.get(ContextKind::PriorArg) {
            Some(ContextValue::String(other)) if other == flag => {
                format!("the argument '{flag}' cannot be used multiple times")
            }
            Some(ContextValue::Strings(others)) => {
                format!("the argument '{flag}' cannot be used with: {}", others.join(" "))
            }
            _ => {
                let other = text(error, ContextKind::PriorArg).unwrap_or_default();
                format!("the argument '{flag}' cannot be used with '{other}'")
            }
        },
        ErrorKind::MissingRequiredArgument => {
            let missing = strings(error, ContextKind::InvalidArg).join(" ");
            format!("the following required arguments were not provided: {missing}")
        }
        kind => kind.as_str().unwrap_or("the command line cannot be read").to_owned(),
    }
}

/// The values that would do, and the one that was probably meant.
fn choice(error: &clap::Error) -> String {
    let quoted = |value: &str| match value.contains(char::is_whitespace) {
        true => format!("{value:?}"),
        false => value.to_owned(),
    };
    let values: Vec<String> =
        strings(error, ContextKind::ValidValue).into_iter().map(quoted).collect();
    let known = match values.is_empty() {
        true => String::new(),
        false => format!(" [possible values: {}]", values.join(", ")),
    };
    match &strings(error, ContextKind::SuggestedValue)[..] {
        [] => known,
        [similar, ..] => format!("{known}; tip: a similar value exists: '{similar}'"),
    }
}

fn text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    strings(error, kind).first().copied()
}

fn strings(error: &clap::Error, kind: ContextKind) -> Vec<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text],
        Some(ContextValue::Strings(texts)) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The command that was meant. If none is close, the word may be a URL without its beginning.
fn unknown_command(name: &str) -> String {
    let definition = definition();
    let names = definition.get_subcommands().map(Command::get_name).chain(["help"]);
    let meant = match did_you_mean(name, names) {
        meant if meant.is_empty() => ": a URL starts with http:// or https://".to_owned(),
        meant => meant,
    };
    format!("no command '{}'{meant}", Masks::default().text(name))
}

/// The command that words lead to.
fn command_of(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = definition();
    for word in words.iter().skip(1) {
        if let Some(found) = command.find_subcommand(word) {
            command = found.clone();
        }
    }
    command
}

fn unknown_argument(argument: &str, command: &Command) -> String {
    if let Some(name) = argument.strip_prefix("--") {
        let flags: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        return match nearest_flag(name, &flags) {
            Some(meant) => format!("no flag '{argument}': did you mean '--{meant}'?"),
            None => format!("no flag '{argument}'"),
        };
    }
    let shown = Masks::default().text(argument);
    if let Some(short) = other_case(argument, command) {
        return format!("no flag '{argument}': did you mean '-{short}'?");
    }
    match command.get_name() {
        // Most often the rest of a header that was not quoted.
        "run" | "find" | "request" if !argument.starts_with('-') => {
            "unexpected argument beside the URL: quote values that have spaces".to_owned()
        }
        "serve" | "proxy" if !argument.starts_with('-') => {
            format!("unexpected argument '{shown}': an address to listen on is given with --listen")
        }
        _ => format!("unexpected argument '{shown}'"),
    }
}

/// The short flag that is the same letter in the other case: wrk's `-R` is `-r`.
fn other_case(argument: &str, command: &Command) -> Option<char> {
    let mut letters = argument.strip_prefix('-')?.chars();
    let (letter, None) = (letters.next()?, letters.next()) else { return None };
    let is_it = |short: &char| *short != letter && short.eq_ignore_ascii_case(&letter);
    command.get_arguments().filter_map(Arg::get_short).find(is_it)
}

/// The flag that a name was meant to be: one that is close to it, or that goes on where it ends.
fn nearest_flag<'a>(name: &str, flags: &[&'a str]) -> Option<&'a str> {
    let goes_on = || flags.iter().find(|flag| name.len() > 2 && flag.starts_with(name)).copied();
    let starts = || flags.iter().find(|flag| flag.len() > 2 && name.starts_with(**flag)).copied();
    nearest(name, flags.iter().copied()).or_else(goes_on).or_else(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the parser says of these arguments.
    fn said(arguments: &[&str]) -> String {
        let words: Vec<&str> =
            std::iter::once("plimsoll").chain(arguments.iter().copied()).collect();
        let error = definition().try_get_matches_from(&words).expect_err("it cannot be read");
        match refusal(&error, &words) {
            exit @ (Exit::Usage(_) | Exit::Introduction(_)) => exit.into_text(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_probably_meant_is_said() {
        for (arguments, want) in [
            (&["rnu"][..], "no command 'rnu': did you mean 'run'? (see --help)"),
            (&["explian"], "no command 'explian': did you mean 'explain'? (see --help)"),
            (&["x"], "no command 'x': a URL starts with http:// or https:// (see --help)"),
            (&["doctor", "rnu"], "no command 'rnu': did you mean 'run'? (see --help)"),
            (&["run", "--raet", "5"], "no flag '--raet': did you mean '--rate'? (see --help)"),
            (&["run", "--qps", "5"], "no flag '--qps': did you mean '--rate'? (see --help)"),
            (&["run", "--vus=5"], "no flag '--vus': did you mean '--connections'? (see --help)"),
            (
                &["run", "--conn", "5"],
                "no flag '--conn': did you mean '--connections'? (see --help)",
            ),
            (&["run", "--nonsense"], "no flag '--nonsense' (see --help)"),
            (&["doctor", "run", "--raet"], "no flag '--raet': did you mean '--rate'? (see --help)"),
            (&["serve", "--lsten"], "no flag '--lsten': did you mean '--listen'? (see --help)"),
            (
                &["serve", "8080"],
                "unexpected argument '8080': an address to listen on is given with --listen (see \
                 --help)",
            ),
            (&["demo", "8080"], "unexpected argument '8080' (see --help)"),
            (&["run", "-R", "5"], "no flag '-R': did you mean '-r'? (see --help)"),
            (&["report", "a", "-Z"], "unexpected argument '-Z' (see --help)"),
        ] {
            assert_eq!(said(arguments), want, "{arguments:?}");
        }
    }

    #[test]
    fn a_value_that_cannot_be_is_told_as_clap_tells_it() {
        for arguments in [
            &["run", "-r", "fast", "u"][..],
            &["run", "--format", "jsn", "u"],
            &["run", "--stages", "1s@5", "-r", "5", "u"],
            &["run", "--spin"],
            &["run", "--spin=", "u"],
            &["run", "--cookies=x", "u"],
            &["run", "-t", "1", "-t", "2", "u"],
            &["run", "--tls-resume", "101", "u"],
            &["run", "--bind", "x", "u"],
            &["report"],
            &["manual"],
            &["manual", "--markdown", "--man"],
            &["proxy", "--listen", "0"],
        ] {
            let words = [&["plimsoll"], arguments].concat();
            let error = definition().try_get_matches_from(&words).expect_err("it cannot be read");
            let lines = error.to_string();
            let of_clap = lines.split("\n\nUsage:").next().unwrap();
            let of_clap = of_clap.split("\n\nFor more").next().unwrap();
            let of_clap = of_clap.split_whitespace().collect::<Vec<_>>().join(" ");
            let want = of_clap.trim_start_matches("error: ").replace(" tip:", "; tip:");
            assert_eq!(said(arguments), format!("{want} (see --help)"), "{arguments:?}");
        }
    }

    #[test]
    fn secrets_of_unexpected_arguments_are_masked() {
        for arguments in [&["demo", "http://a/?token=sesame"][..], &["http:/a/?token=sesame", "b"]]
        {
            let text = said(arguments);
            assert!(text.contains("token=[masked"), "{text}");
            assert!(!text.contains("sesame"), "{text}");
        }
    }

    #[test]
    fn a_call_without_arguments_is_told_what_to_try() {
        let text = said(&[]);
        assert_eq!(text, FIRST_STEPS);
        for line in format!("plimsoll: {text}").lines() {
            assert!(line.len() <= 80, "{line}");
        }
    }
}
