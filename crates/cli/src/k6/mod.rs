//! `plimsoll k6`: k6's command line and output around our engine. The program also answers to the
//! name `k6`.
//!
//! `plimsoll run SCRIPT.js` is here too ([`ScriptRun`]): the same script, with our report.
//!
//! k6's output goes to stdout, its log to stderr. What k6 does not say goes to stderr after it.

mod args;
mod dashboard;
mod fed;
mod honest;
mod inspect;
mod log;
#[cfg(test)]
mod names;
mod new;
mod outputs;
mod progress;
mod remote;
mod report;
mod run;
mod script;
mod summary;

use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use clap::ArgMatches;
use plimsoll_dialect::k6::Refused;
use plimsoll_dialect::k6::output::Level;
use plimsoll_io::clock;

use crate::exit::{Exit, to_stdout};
use crate::message;
use crate::value_args::variable;
pub(crate) use args::definition;
use log::{Log, Wanted, other_fault};
pub(crate) use report::{ScriptRun, Unfit};

/// Looks up a variable of the environment. `None`: it is not set, or it is empty.
type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The version of k6 that is followed.
const K6_VERSION: &str = "2.2.0";

/// What calls of gRPC say that they are sent by, in k6.
const GRPC_AGENT: &str = "grpc-go/1.82.1";

/// What `version` prints.
const VERSION: &str = concat!("v2.2.0 (plimsoll ", env!("CARGO_PKG_VERSION"), ")");

/// Runs as k6 does.
///
/// # Errors
/// None but text that was asked for: what goes wrong is logged as k6 logs it.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, Exit> {
    let words = std::iter::once("k6").chain(arguments.iter().map(String::as_str));
    let matches = match definition().try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(error) => match args::said(&error) {
            Ok(text) => return Err(Exit::Text(text)),
            Err(line) => return Ok(complain(&other_fault(line))),
        },
    };
    let (name, given) = matches.subcommand().unwrap_or(("version", &matches));
    if name == "version" {
        return Err(Exit::Text(match args::switch(given, "json") {
            Some(true) => format!("{}\n", version_document()),
            _ => format!("k6 {VERSION}\n"),
        }));
    }
    match Log::start(&wanted(given, name == "run", &variable)) {
        Ok(log) => Ok(carry_out(name, given, log)),
        Err(refused) => Ok(complain(&refused)),
    }
}

fn carry_out(name: &str, given: &ArgMatches, log: Log) -> ExitCode {
    let done = match name {
        "run" => run::run(given, &log),
        "inspect" => inspect::inspect(given, &log).map(|code| (code, Vec::new())),
        "new" => new::new(given).map(|code| (code, Vec::new())),
        name => remote::remote(name, given).map(|code| (code, Vec::new())),
    };
    let (code, own) = done.unwrap_or_else(|refused| {
        log.say(Level::Error, refused.what);
        (refused.code, Vec::new())
    });
    log.finish();
    for line in own {
        message::show(&format!("plimsoll: {line}"));
    }
    ExitCode::from(code.code())
}

/// What is asked of the log. A flag wins over a variable.
fn wanted(given: &ArgMatches, is_run: bool, lookup: Lookup<'_>) -> Wanted {
    let one = |flag: &str, name: &str| args::text(given, flag).or_else(|| lookup(name));
    let has_color = args::switch(given, "no-color") != Some(true)
        && lookup("K6_NO_COLOR").is_none_or(|text| text == "false");
    Wanted {
        output: one("log-output", "K6_LOG_OUTPUT").unwrap_or_else(|| "stderr".to_owned()),
        format: one("log-format", "K6_LOG_FORMAT"),
        console: if is_run { one("console-output", "K6_CONSOLE_OUTPUT") } else { None },
        has_colors: has_color && crate::terminal::takes_escapes(),
        is_verbose: args::switch(given, "verbose") == Some(true),
        masks: None,
    }
}

/// Writes what a command was asked for to stdout.
///
/// # Errors
/// What keeps it from being written; exit code 255.
fn print(text: &str) -> Result<(), Refused> {
    to_stdout(text.as_bytes()).map_err(|error| {
        let why = message::without_error_numbers(&error.to_string());
        other_fault(format!("cannot write to stdout: {why}"))
    })
}

/// What `version --json` prints: k6's version where its callers look for it, and ours.
fn version_document() -> serde_json::Value {
    serde_json::json!({
        "version": format!("v{K6_VERSION}"),
        "plimsoll": env!("CARGO_PKG_VERSION"),
        "go_os": std::env::consts::OS,
    })
}

/// Says why there is not even a log.
fn complain(refused: &Refused) -> ExitCode {
    message::show(&format!("plimsoll k6: {}", refused.what));
    ExitCode::from(refused.code.code())
}

/// ns since 1970.
fn wall_ns() -> u64 {
    let since = clock::wall_time().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
