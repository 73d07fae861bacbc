//! The page of `run`'s flags, in Markdown. Each wrong value is tried while the page is made, so the
//! page quotes the errors exactly as the program prints them.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};
use plimsoll_runner::Runner;

use super::examples::{EXAMPLES, Example, FILES, filled};
use crate::args::{run_definition, run_flags};
use crate::exit::Exit;
use crate::message::without_error_numbers;
use crate::outputs::Outputs;
use crate::plan_file::is_setting;
use crate::run::{beside, explain};

const HEAD: &str = "\
# `plimsoll run`

`cargo run -q -- manual --markdown` generates this page from the flags; a test keeps it up to date.
Each example is run by a test, and each error line is what the program says. What they load:

```console
$ plimsoll serve &
$ plimsoll serve --listen 127.0.0.1:8443 --tls --tls-save server.pem &
```

The examples also need a proxy on 127.0.0.1:3128, and a server on the Unix socket `web.sock`.
`client.pem` is a certificate with its key.

Numbers are totals, never for each thread or connection. Durations: `500us`, `1.5s`, `2m`. Counts and
rates: `1000`, `10k`, `1.5M`. `plimsoll URL` is short for `plimsoll run URL`. Several runs in one file:
[plan-file.md](plan-file.md). Steering a run: [control.md](control.md). Watching the
server: [monitoring.md](monitoring.md). Figures for dashboards: [outputs.md](outputs.md). What is
reported: [metrics.md](metrics.md).
";

/// Where what the examples load is in the page.
const URL: &str = "http://127.0.0.1:8080";
const HTTPS: &str = "https://127.0.0.1:8443";
const PEER: &str = "127.0.0.1:3128";
const GRPC: &str = "http://127.0.0.1:50051";

/// The page.
pub(super) fn page() -> String {
    let definition = run_definition();
    let mut text = HEAD.to_owned();
    for heading in headings(&definition) {
        let _ = write!(text, "\n## {heading}\n");
        let flags = definition.get_arguments().filter(|arg| is_shown(arg));
        for arg in flags.filter(|arg| heading_of(arg) == heading) {
            write_flag(arg, &mut text);
        }
    }
    text.push_str("\n## Files of the examples\n");
    for (name, contents) in FILES {
        let _ =
            write!(text, "\n`{name}`:\n\n```\n{}```\n", filled(contents, URL, HTTPS, PEER, GRPC));
    }
    text
}

fn is_shown(arg: &Arg) -> bool {
    !matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong)
}

fn heading_of(arg: &Arg) -> &str {
    match arg.get_help_heading() {
        Some(heading) => heading,
        None if arg.is_positional() => "Arguments",
        None => "Options",
    }
}

/// Headings in the order of the definition.
fn headings(definition: &Command) -> Vec<String> {
    let mut headings: Vec<String> = Vec::new();
    for arg in definition.get_arguments().filter(|arg| is_shown(arg)) {
        let heading = heading_of(arg).to_owned();
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    headings
}

fn write_flag(arg: &Arg, text: &mut String) {
    let _ = write!(text, "\n### `{}`\n\n", syntax(arg));
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    // A default that clap does not know of stands in the help.
    let (help, said_default) = match help.split_once(" [default: ") {
        Some((help, default)) => (help, Some(default.trim_end_matches(']'))),
        None => (help.as_str(), None),
    };
    let _ = writeln!(text, "{}", sentence(help));
    let takes_value = !matches!(arg.get_action(), ArgAction::SetTrue | ArgAction::Count);
    let values: Vec<String> = match takes_value {
        true => arg.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect(),
        false => Vec::new(),
    };
    if !values.is_empty() {
        let _ = write!(text, "\nOne of: {}.\n", values.join(", "));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
    if takes_value && !defaults.is_empty() {
        let _ = write!(text, "\nDefault: `{}`.\n", defaults.join(","));
    }
    if let Some(default) = said_default {
        let _ = write!(text, "\nDefault: {default}.\n");
    }
    if matches!(arg.get_action(), ArgAction::Append) {
        let _ = match arg.get_value_delimiter() {
            Some(delimiter) => write!(text, "\nTakes several, with `{delimiter}` between them.\n"),
            None => text.write_str("\nMay be given more than once.\n"),
        };
    }
    if !is_setting(arg) {
        let _ = text.write_str("\nHas no place in a plan file.\n");
    }
    if let Some(example) = EXAMPLES.iter().find(|example| arg.get_id() == example.flag) {
        write_example(example, text);
    }
}

fn write_example(example: &Example, text: &mut String) {
    let _ = write!(text, "\n```console\n$ {}\n", command_line(example.arguments));
    if example.exit != 0 {
        let _ = writeln!(text, "# ends with exit code {}", example.exit);
    }
    let _ = writeln!(text, "$ {}", command_line(example.wrong));
    let refusal = refusal(example.wrong);
    debug_assert!(refusal.contains(example.says), "{:?} says '{refusal}'", example.wrong);
    let _ = write!(text, "plimsoll: {}\n```\n", without_error_numbers(&refusal));
}

/// How a flag is written.
fn syntax(arg: &Arg) -> String {
    let names = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let values: Vec<&str> =
        arg.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    match (arg.get_action(), names.is_empty()) {
        (ArgAction::SetTrue | ArgAction::Count, _) => names.join(", "),
        (_, false) if arg.is_require_equals_set() => {
            format!("{}[={}]", names.join(", "), values.join(" "))
        }
        (_, true) => values.join(" "),
        (_, false) => format!("{} {}", names.join(", "), values.join(" ")),
    }
}

/// Help begins as a sentence and lacks the full stop.
fn sentence(help: &str) -> String {
    let help = help.trim();
    if help.ends_with(['.', ')']) { help.to_owned() } else { format!("{help}.") }
}

/// Arguments of `run` as a shell would be given them.
fn command_line(arguments: &[&str]) -> String {
    let words = arguments.iter().map(|word| quoted(&filled(word, URL, HTTPS, PEER, GRPC)));
    std::iter::once("plimsoll run".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=,%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The error line of arguments that cannot be, or nothing where they can.
pub(crate) fn refusal(arguments: &[&str]) -> String {
    match try_arguments(arguments) {
        Ok(()) | Err(Exit::Text(_)) => String::new(),
        Err(exit) => exit.into_text(),
    }
}

/// As far as a run goes before it opens a connection.
fn try_arguments(arguments: &[&str]) -> Result<(), Exit> {
    let words = arguments.iter().map(|word| filled(word, URL, HTTPS, PEER, GRPC));
    let words: Vec<String> =
        ["plimsoll", "run"].map(str::to_owned).into_iter().chain(words).collect();
    // A plan file is looked for on the way through the whole command line.
    crate::command_line::parse(words.iter().map(Into::into))?;
    let flags = run_flags(words.iter().map(Into::into).collect());
    let flags = flags.map_err(|error| crate::refusal::refusal(&error, &words))?;
    let plan = crate::plan::plan(&flags)?;
    Outputs::open(&flags.outputs)?.discard();
    Runner::new(&plan.into(), beside(&flags, None)).check().map_err(explain)
}
