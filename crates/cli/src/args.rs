//! The command line: its commands, the flags of the small ones, and parsing. The flags of the
//! others are in files of their own, named for their command.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use plimsoll_core::units::parse_count;

use crate::compare_args::CompareFlags;
use crate::conformance_args::ConformanceFlags;
use crate::exit::Exit;
use crate::lab_args::LabFlags;
use crate::output_args::OutputFlags;
use crate::plan_file::Runs;
use crate::proxy_args::ProxyFlags;
use crate::refusal::refusal;
use crate::run_args::RunFlags;
use crate::serve_args::ServeFlags;
use crate::terminal;

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

/// Help is no wider than this, however wide the terminal is.
const HELP_COLUMNS_MAX: usize = 100;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load a server, closed loop or at a rate, and report
    Run(Box<RunFlags>),
    /// The runs of a plan file, which `run` is given like a URL
    #[command(skip)]
    Plan(Runs),
    /// The built-in target: hello, echo, client address, sizes, delays, faults
    Serve(Box<ServeFlags>),
    /// A fast reverse proxy with pooled upstream connections, TLS on either side
    Proxy(Box<ProxyFlags>),
    /// Show a result document again, in any format
    Report(Box<ReportFlags>),
    /// What a cause of the verdict, a kind of error or a gate's metric means
    Explain(ExplainFlags),
    /// Is it faster, slower, or do the data not tell?
    Compare(Box<CompareFlags>),
    /// Load the built-in target with a hiccup in it: the one-minute tour
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
}

/// What another tester is given, in its own words.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct OriginalFlags {
    /// Its own flags and URL; --help shows them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverFlag {
    #[default]
    Auto,
    Uring,
    Epoll,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// A result document, as --json writes it; - reads it from stdin
    pub file: PathBuf,
    /// Judge it by this gate instead of its own, and exit with 3 if it fails
    #[arg(long, value_name = "EXPR")]
    pub gate: Vec<String>,

    #[command(flatten)]
    pub outputs: OutputFlags,
}

/// Flags of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    /// What to explain, such as late_tail, timeout or p99; without one, all codes are listed
    #[arg(value_name = "CODE")]
    pub codes: Vec<String>,
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
    /// Check what a run with these flags needs of this host, and send nothing
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

pub(crate) fn count32(text: &str) -> Result<u32, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    u32::try_from(count).map_err(|_| format!("'{text}' is too many"))
}

/// More threads than any machine has CPUs would only be in one another's way.
const THREADS_MAX: u32 = 4096;

/// How many threads work.
pub(crate) fn threads(text: &str) -> Result<u32, String> {
    match count32(text)? {
        0 => Err("0 threads do nothing: give 1 or more".to_owned()),
        THREADS_MAX.. => Err(format!("{text} threads are too many: give fewer than {THREADS_MAX}")),
        threads => Ok(threads),
    }
}

/// The command line of another tester, which is read by that tester's rules and not by ours.
fn original(arguments: &[OsString]) -> Result<Option<Command>, Exit> {
    let command = match arguments.get(1).and_then(|first| first.to_str()) {
        Some("wrk") => Command::Wrk,
        Some("wrk2") => Command::Wrk2,
        Some("ab") => Command::Ab,
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

/// Reads the command line. Without a command the first argument is taken for `run`'s.
pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Command, Exit> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if let Some(name) = arguments.first().and_then(|program| crate::dialects::named(program)) {
        arguments.insert(1, name.into());
    }
    if let Some(command) = original(&arguments)? {
        return Ok(command);
    }
    let first = arguments.get(1).map(|first| first.to_string_lossy().into_owned());
    match first.as_deref() {
        Some("help") => ask_for_help(&mut arguments),
        Some(first) if is_of_run(first) => arguments.insert(1, "run".into()),
        _ => {}
    }
    let definition = definition_within(terminal::columns(true).min(HELP_COLUMNS_MAX));
    let matches = definition.try_get_matches_from(arguments).map_err(|error| refusal(&error))?;
    if let Some(("run", given)) = matches.subcommand()
        && let Some(runs) = Runs::asked(given, &run_definition())?
    {
        return Ok(Command::Plan(runs));
    }
    Cli::from_arg_matches(&matches).map(|cli| cli.command).map_err(|error| refusal(&error))
}

/// Reads arguments that start with `plimsoll run`.
pub(crate) fn run_flags(arguments: Vec<OsString>) -> Result<Box<RunFlags>, Exit> {
    match Cli::try_parse_from(arguments).map_err(|error| refusal(&error))?.command {
        Command::Run(flags) => Ok(flags),
        _ => Err(Exit::Usage("only run has plans".to_owned())),
    }
}

/// The definition of the whole command line, with help that is this many columns wide.
pub(crate) fn definition_within(columns: usize) -> clap::Command {
    Cli::command().term_width(columns)
}

/// The definition of the whole command line.
pub(crate) fn definition() -> clap::Command {
    let mut cli = Cli::command();
    cli.build();
    cli
}

/// The definition of `run`.
pub(crate) fn run_definition() -> clap::Command {
    definition().find_subcommand("run").expect("run is a command").clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(arguments: &[&str]) -> Result<Box<RunFlags>, Exit> {
        let all = std::iter::once("plimsoll").chain(arguments.iter().copied());
        match parse(all.map(OsString::from))? {
            Command::Run(flags) => Ok(flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
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
        let cases: [&[&str]; 8] = [
            &["run"],
            &["--bogus", "http://a/"],
            &["http://a/", "-c", "many"],
            &["http://a/", "-d", "10"],
            &["http://a/", "-r", "fast"],
            &["http://a/", "--stages", "10s"],
            &["http://a/", "--stages", "10s@5", "-r", "5"],
            &["http://a/", "--http", "2"],
        ];
        for arguments in cases {
            match run(arguments) {
                Err(Exit::Usage(text)) => assert!(!text.contains('\n'), "{text}"),
                other => panic!("{arguments:?}: {other:?}"),
            }
        }
    }
}
