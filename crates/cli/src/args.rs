//! The definition of the command line: its commands, and the flags of the small ones. The flags of
//! the others are in files of their own, named for their command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::compare_args::CompareFlags;
use crate::conformance_args::ConformanceFlags;
use crate::explain_args::ExplainFlags;
use crate::find_args::{FindFlags, fitted};
use crate::lab_args::LabFlags;
use crate::output_args::OutputFlags;
use crate::proxy_args::ProxyFlags;
use crate::run_args::{RunFlags, without_scripts};
use crate::serve_args::ServeFlags;
use crate::short_help::shortened;
use crate::single_args;

#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    about = "The HTTP load tester that can be believed",
    after_help = "`plimsoll URL` is short for `plimsoll run URL`.",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a server, closed loop or at a rate, and report
    Run(Box<RunFlags>),
    /// The highest rate at which a server meets objectives, from probes at many rates
    Find(Box<FindFlags>),
    /// Send one request, the first of a run, and show it with its response
    Request(Box<RunFlags>),
    /// The built-in server: hello, echo, client address, sizes, delays, faults
    Serve(Box<ServeFlags>),
    /// A fast reverse proxy with pooled upstream connections, TLS on either side
    Proxy(Box<ProxyFlags>),
    /// Show a result document again, in any format
    Report(Box<ReportFlags>),
    /// What a verdict, its cause, an error, a metric, an exit code or a column means
    Explain(ExplainFlags),
    /// Is it faster, slower, or too close to tell?
    Compare(Box<CompareFlags>),
    /// Load the built-in server with a hiccup in it: a tour of a quarter of a minute
    Demo(DemoFlags),
    /// Check whether this host is fit to measure, or for a planned run
    Doctor(DoctorFlags),
    /// Man pages, shell completions and the page of flags
    Manual(ManualFlags),
    /// Run as wrk does: its command line, its output, its scripts
    Wrk(OriginalFlags),
    /// Run as wrk2 does, the one with -R and the one with -e and -p
    Wrk2(OriginalFlags),
    /// Run as ApacheBench does: its command line, its output
    Ab(OriginalFlags),
    /// Run as k6 does: its command line, its output, its scripts
    K6(OriginalFlags),
    /// Run as `fortio load` does: its command line, its report, its JSON
    Fortio(OriginalFlags),
    /// Servers side by side under the same loads, from one file
    Lab(Box<LabFlags>),
    /// The measuring mistakes as experiments, run against plimsoll or any other tester
    Conformance(Box<ConformanceFlags>),
}

/// Testers whose command lines are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Original {
    Wrk,
    Wrk2,
    Ab,
    Fortio,
}

/// What another tester is given, in its own words.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct OriginalFlags {
    /// Its own flags and URL; --help shows them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// A result document, as --json writes it, or a result of fortio; - reads it from stdin
    pub file: PathBuf,
    /// Judge it by this gate instead of its own, and exit with 3 if it fails
    #[arg(long, value_name = "EXPR")]
    pub gate: Vec<String>,

    #[command(flatten)]
    pub outputs: OutputFlags,
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// Where to write the HTML report
    #[arg(long, value_name = "FILE", default_value = "plimsoll-demo.html")]
    pub html: PathBuf,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// Flags of `doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorFlags {
    /// Leave out the floor, which takes about ten seconds to measure
    #[arg(long)]
    pub quick: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 if a finding is bad
    #[arg(long)]
    pub strict: bool,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
    #[command(subcommand)]
    pub planned: Option<Planned>,
}

/// What is planned.
#[derive(Debug, Subcommand)]
pub(crate) enum Planned {
    /// Check what a run with these flags needs of this host; sends nothing to its URL
    Run(Box<RunFlags>),
}

/// Flags of `manual`.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ManualFlags {
    /// The man page of a command, or of the program
    #[arg(long, value_name = "COMMAND", num_args = 0..=1, default_missing_value = "plimsoll")]
    pub man: Option<String>,
    /// Completions for a shell
    #[arg(long, value_name = "SHELL", value_enum)]
    pub completions: Option<clap_complete::Shell>,
    /// The page of `run`'s flags
    #[arg(long)]
    pub markdown: bool,
}

/// Reads arguments that start with `plimsoll run`.
pub(crate) fn run_flags(arguments: Vec<OsString>) -> Result<Box<RunFlags>, clap::Error> {
    match Cli::try_parse_from(arguments)?.command {
        Command::Run(flags) => Ok(flags),
        _ => Err(Cli::command().error(ErrorKind::ValueValidation, "only run has plans")),
    }
}

/// Reads arguments that start with `plimsoll find`, up to what a search has no place for.
pub(crate) fn find_flags(
    arguments: Vec<OsString>,
) -> Result<(ArgMatches, Box<FindFlags>), clap::Error> {
    let matches = definition().try_get_matches_from(arguments)?;
    match (command_of(&matches)?, matches.subcommand()) {
        (Command::Find(flags), Some((_, given))) => Ok((given.clone(), flags)),
        _ => Err(Cli::command().error(ErrorKind::ValueValidation, "only find searches")),
    }
}

/// The command that arguments have been matched to.
pub(crate) fn command_of(matches: &ArgMatches) -> Result<Command, clap::Error> {
    Cli::from_arg_matches(matches).map(|cli| cli.command)
}

fn command() -> clap::Command {
    Cli::command()
        .mut_subcommand("find", |find| shortened(fitted(without_scripts(find))))
        .mut_subcommand("request", |request| shortened(single_args::fitted(request)))
        .mut_subcommand("run", shortened)
        .mut_subcommand("doctor", |doctor| {
            doctor.mut_subcommand("run", |run| shortened(without_scripts(run)))
        })
}

/// The definition of the whole command line, with help that is this many columns wide.
pub(crate) fn definition_within(columns: usize) -> clap::Command {
    command().term_width(columns)
}

/// The definition of the whole command line.
pub(crate) fn definition() -> clap::Command {
    let mut cli = command();
    cli.build();
    cli
}

/// The definition of `find`.
pub(crate) fn find_definition() -> clap::Command {
    definition().find_subcommand("find").expect("find is a command").clone()
}

/// The definition of `request`.
pub(crate) fn request_definition() -> clap::Command {
    definition().find_subcommand("request").expect("request is a command").clone()
}

/// The definition of `run`.
pub(crate) fn run_definition() -> clap::Command {
    definition().find_subcommand("run").expect("run is a command").clone()
}

/// The name of a flag: in a plan file, and of the field that it sets.
pub(crate) fn key(arg: &Arg) -> String {
    arg.get_long().map_or_else(|| arg.get_id().as_str().replace('_', "-"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }
}
