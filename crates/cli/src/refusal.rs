//! What the command line's parser refuses, as one line: what, where and what was probably meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use plimsoll_core::nearest::{did_you_mean, nearest};
use plimsoll_core::secret::{Masks, run_flag};

use crate::args::definition;
use crate::exit::Exit;

/// What a call without any argument is told.
const FIRST_STEPS: &str = "\
say what to do. Three things to try:

  plimsoll demo                             a tour of one minute
  plimsoll http://127.0.0.1:8080/           how much can this server take?
  plimsoll -r 100 http://127.0.0.1:8080/    how long do users wait, at 100/s?

`plimsoll serve` starts a server to load. `plimsoll --help` lists all commands.";

/// One line of what clap has to say, or the help that was asked for.
pub(crate) fn refusal(error: &clap::Error) -> Exit {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Exit::Text(error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Exit::Usage(FIRST_STEPS.to_owned()),
        _ => Exit::Usage(format!("{} (see --help)", line(error))),
    }
}

fn line(error: &clap::Error) -> String {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(context(error, ContextKind::InvalidSubcommand).unwrap_or_default())
        }
        ErrorKind::UnknownArgument => {
            let argument = context(error, ContextKind::InvalidArg).unwrap_or_default();
            unknown_argument(argument, &command_of(error))
        }
        _ => without_secret(error, &line_of_clap(error)),
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

/// What clap says, up to the usage, without its advice on `--`: behind that stand arguments of a
/// script, not values of flags.
fn line_of_clap(error: &clap::Error) -> String {
    let text = error.to_string();
    let parts: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"))
        .collect();
    let line = parts.join(" ").replace(" tip:", "; tip:");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// A message without the value that it quotes, where its flag takes secrets.
fn without_secret(error: &clap::Error, line: &str) -> String {
    let flag = context(error, ContextKind::InvalidArg);
    let (Some(flag), Some(value)) = (flag, context(error, ContextKind::InvalidValue)) else {
        return line.to_owned();
    };
    let name = flag.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-');
    if value.is_empty() {
        return line.to_owned();
    }
    line.replace(value, &Masks::default().given(run_flag(name), value))
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

/// The command whose arguments could not be read.
fn command_of(error: &clap::Error) -> Command {
    let text = error.to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("");
    let mut command = definition();
    // The first word is the program, by whatever name its file has.
    for word in usage.split_whitespace().skip(1) {
        match command.find_subcommand(word) {
            Some(found) => command = found.clone(),
            None => break,
        }
    }
    command
}

fn unknown_argument(argument: &str, command: &Command) -> String {
    if let Some(name) = argument.strip_prefix("--") {
        let flags: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        if let Some((_, advice)) = FOREIGN.iter().find(|(flag, _)| *flag == argument) {
            return format!("no flag '{argument}': {advice}");
        }
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
        "run" if !argument.starts_with('-') => {
            "unexpected argument beside the URL: quote values that have spaces".to_owned()
        }
        "serve" | "proxy" if !argument.starts_with('-') => {
            format!("unexpected argument '{shown}': an address to listen on is given with --listen")
        }
        _ => format!("unexpected argument '{shown}'"),
    }
}

/// Flags of other testers that need none here.
const FOREIGN: [(&str, &str); 1] =
    [("--latency", "the report always has the percentiles of latency, so leave it out")];

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
        let words = std::iter::once("plimsoll").chain(arguments.iter().copied());
        let error = definition().try_get_matches_from(words).expect_err("it cannot be read");
        match refusal(&error) {
            Exit::Usage(text) => text,
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
            (
                &["run", "--latency"],
                "no flag '--latency': the report always has the percentiles of latency, so leave it \
                 out (see --help)",
            ),
            (&["report", "a", "-Z"], "unexpected argument '-Z' (see --help)"),
        ] {
            assert_eq!(said(arguments), want, "{arguments:?}");
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
