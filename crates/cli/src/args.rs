//! The command line, defined once: names, help, defaults and parsing.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use plimsoll_core::expect::Expectation;
use plimsoll_core::schedule::{Arrival, Stage, parse_stages};
use plimsoll_core::secret::{Masks, Secret, run_flag};
use plimsoll_core::units::{parse_count, parse_duration_ns, parse_rate_uhz};
use plimsoll_lab::sample::Subject;

pub(crate) use crate::compare_args::{CompareFlags, CompareFormat};
use crate::connection_args::{ConnectionFlags, TlsFlags};
use crate::exit::Exit;
use crate::lab_args::LabFlags;
use crate::plan_file::Runs;
use crate::proxy_args::ProxyFlags;
use crate::request_args::{RequestFlags, secret};
pub(crate) use crate::serve_args::ServeFlags;

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
    /// The runs of a plan file, which `run` is given like a URL
    #[command(skip)]
    Plan(Runs),
    /// The built-in target: hello, echo, client address, sizes, delays, faults
    Serve(Box<ServeFlags>),
    /// A fast reverse proxy with pooled upstream connections, TLS on either side
    Proxy(Box<ProxyFlags>),
    /// Show a result document again, in any format
    Report(Box<ReportFlags>),
    /// Is it faster, slower, or can one not tell?
    Compare(Box<CompareFlags>),
    /// Load the built-in target with a hiccup in it: the one-minute tour
    Demo(DemoFlags),
    /// Whether this host is fit to measure, and for a planned run
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

/// Stages of `--stages`.
#[derive(Debug, Clone)]
pub(crate) struct Stages(pub Vec<Stage>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
    Html,
    Md,
    Csv,
    Hgrm,
    Hlog,
    Junit,
    Github,
    None,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverFlag {
    #[default]
    Auto,
    Uring,
    Epoll,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpinFlag {
    #[default]
    Auto,
    On,
    Off,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalFlag {
    #[default]
    Uniform,
    Poisson,
}

impl From<ArrivalFlag> for Arrival {
    fn from(flag: ArrivalFlag) -> Self {
        match flag {
            ArrivalFlag::Uniform => Self::Uniform,
            ArrivalFlag::Poisson => Self::Poisson,
        }
    }
}

/// Flags of `run`. Every number is a total, never per thread or per connection.
#[derive(Debug, Args)]
pub(crate) struct RunFlags {
    /// Where to send the requests; with --targets, in place of their server; or a plan file,
    /// NAME.toml
    #[arg(required = false, required_unless_present_any = ["plan", "targets"])]
    pub url: Option<String>,

    /// Open connections; MIN..MAX: at a rate, up to MAX as requests have to wait for one
    #[arg(short, long, value_name = "N|MIN..MAX", default_value = "50", value_parser = connections)]
    #[arg(help_heading = "Load")]
    pub connections: (u32, Option<u32>),
    /// How long to start requests [default: 10s if neither -d nor -n]
    #[arg(short, long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Load")]
    pub duration: Option<u64>,
    /// Exactly how many requests to start
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_count, help_heading = "Load")]
    pub requests: Option<u64>,
    /// Requests per second; without it, closed loop
    #[arg(short, long, value_name = "R", value_parser = parse_rate_uhz, help_heading = "Load")]
    pub rate: Option<u64>,
    /// How arrivals are spread around the rate
    #[arg(long, value_enum, default_value_t, help_heading = "Load")]
    pub arrival: ArrivalFlag,
    /// A rate over time: 10s@100,1m@100..5k,30s@5k
    #[arg(long, value_name = "S", value_parser = stages, help_heading = "Load")]
    #[arg(conflicts_with_all = ["rate", "duration", "requests"])]
    pub stages: Option<Stages>,
    /// When each request is due: a file with a time after the start on each line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "stages", "arrival", "warmup"])]
    #[arg(help_heading = "Load")]
    pub rate_file: Option<PathBuf>,
    /// At a rate, drop a request that has waited this long for a connection
    #[arg(long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Load")]
    pub shed_after: Option<u64>,
    /// Run the same load so many times in turn, each with a seed of its own, and report how far the
    /// runs lie apart
    #[arg(long, value_name = "N", default_value = "1", value_parser = repeats)]
    #[arg(help_heading = "Load")]
    pub repeat: u32,
    /// Load before the measured part, shown apart
    #[arg(long, value_name = "T", default_value = "0s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Load")]
    pub warmup: u64,
    /// How long to wait for open requests at the end
    #[arg(long, value_name = "T", default_value = "10s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Load")]
    pub drain: u64,
    /// How long a request may take
    #[arg(long, value_name = "T", default_value = "30s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Load")]
    pub timeout: u64,

    #[command(flatten)]
    pub request: RequestFlags,
    /// What a response must be like, or its request fails: status=200..299, bytes=100..,
    /// body~=REGEX, body*=TEXT, header:NAME=VALUE; may be given again
    #[arg(long, value_name = "EXPR", help_heading = "Expectations")]
    pub expect: Vec<Expectation>,
    /// Follow so many redirects for one request, on the same server
    #[arg(long, value_name = "N", default_value = "0", value_parser = count32)]
    #[arg(help_heading = "Request")]
    pub redirects: u32,
    /// Keep and send cookies, each connection its own
    #[arg(long, help_heading = "Request")]
    pub cookies: bool,

    #[command(flatten)]
    pub connection: ConnectionFlags,
    #[command(flatten)]
    pub tls: TlsFlags,

    /// A Lua script of wrk's kind decides what is sent; what follows -- is given to it
    #[arg(short, long, value_name = "FILE", help_heading = "Request")]
    pub script: Option<PathBuf>,
    /// What the script is given
    #[arg(last = true, value_name = "ARGS", requires = "script", help_heading = "Request")]
    #[arg(value_parser = secret)]
    pub script_arguments: Vec<Secret>,

    /// Worker threads [default: chosen from the CPUs, the rate and the connections]
    #[arg(short, long, value_name = "N", value_parser = threads, help_heading = "Tester")]
    pub threads: Option<u32>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u64>)]
    #[arg(help_heading = "Tester")]
    pub seed: u64,
    /// How to reach the kernel
    #[arg(long, value_enum, default_value_t, help_heading = "Tester")]
    pub driver: DriverFlag,
    /// Spin instead of sleeping: at a rate, before a request is due and shortly after work, while
    /// others leave a CPU for it (auto); all the time (on); never (off)
    #[arg(long, value_enum, default_value_t, help_heading = "Tester")]
    pub spin: SpinFlag,
    /// CPUs to tie the threads to, in turn: 1 or 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = whole::<u32>)]
    #[arg(help_heading = "Tester")]
    pub pin: Vec<u32>,
    /// Exit with 4 unless the verdict is valid
    #[arg(long, help_heading = "Expectations")]
    pub require_valid: bool,

    /// Take commands on a Unix socket while it runs: status, rate, connections, stop
    #[arg(long, value_name = "SOCKET", help_heading = "While it runs")]
    pub control: Option<PathBuf>,
    /// Watch a server's processes beside the load: CPU, memory, threads, files; by number, by name,
    /// or by the port they listen on here
    #[arg(long, value_name = "PID|NAME|:PORT", help_heading = "While it runs")]
    pub monitor: Option<Subject>,
    /// Take the runs from a plan file; flags beside it count for each of them
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    pub plan: Option<PathBuf>,
    /// Print the plan file that says what the flags say, secrets masked, and run nothing
    #[arg(long, help_heading = "Plan")]
    pub print_plan: bool,

    /// Mask values of this name too, or with it in their names: of headers, of parameters in URLs
    /// and of fields in forms; may be given again
    #[arg(long, value_name = "NAME", help_heading = "Secrets")]
    pub redact: Vec<String>,
    /// Write secrets as they are, into every report and into --print-plan
    #[arg(long, help_heading = "Secrets")]
    pub show_secrets: bool,

    #[command(flatten)]
    pub conditions: ConditionFlags,
    #[command(flatten)]
    pub outputs: OutputFlags,
}

/// Conditions on a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Conditions")]
pub(crate) struct ConditionFlags {
    /// Exit with 3 unless the result meets this: 'p99<250ms', 'errors<1%', 'rate>=99%'
    #[arg(long, value_name = "EXPR")]
    pub gate: Vec<String>,
    /// End the run, and exit with 3, once this holds: 'errors>5% FOR 5s'
    #[arg(long, value_name = "EXPR")]
    pub abort_when: Vec<String>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Write the report to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the report is written as [default: text]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Also write the result document; - is stdout, here and below
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Also write the HTML report
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also write the percentile distribution
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,
    /// Also write the histograms of each second, as an HdrHistogram log
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Also write verdict and gates as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also add a summary in Markdown to a file [default: that of the step, $GITHUB_STEP_SUMMARY]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub github_summary: Option<Option<PathBuf>>,
    /// Also write a line of JSON for each second, while it runs
    #[arg(long, value_name = "FILE")]
    pub timeseries: Option<PathBuf>,
    /// Neither progress nor report on the terminal; why a run failed still stands on stderr
    #[arg(short, long)]
    pub quiet: bool,
    /// No live progress
    #[arg(long)]
    pub no_progress: bool,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// Flags of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportFlags {
    /// A result document, as --json writes it; - reads it from stdin
    pub file: PathBuf,
    /// Judge it by this instead of by its own gates, and exit with 3 unless it is met
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
    /// Leave out the floor, which takes some ten seconds to measure
    #[arg(long)]
    pub quick: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when something is bad
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
    /// What a run with these flags needs of this host; nothing is sent
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

/// Flags of `conformance`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConformanceFlags {
    #[command(subcommand)]
    pub part: Option<ConformancePart>,
    /// A tester to examine; may be given again [default: plimsoll]
    #[arg(long = "tool", value_name = "NAME")]
    pub tools: Vec<String>,
    /// Where a tester's program is, if not in PATH
    #[arg(long = "tool-path", value_name = "NAME=PATH", value_parser = named_path)]
    pub tool_paths: Vec<(String, PathBuf)>,
    /// Only these experiments
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// List the experiments and testers there are
    #[arg(long)]
    pub list: bool,
    /// How often to make each experiment
    #[arg(long, value_name = "N", default_value = "1", value_parser = count32)]
    pub repeats: u32,
    /// Make nothing; take the findings of an earlier call from its JSON; may be given again, for
    /// more columns
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["tools", "tool_paths", "list", "repeats", "quick", "step_clock"])]
    pub from: Vec<PathBuf>,
    /// Shorter runs where the truth allows it
    #[arg(long)]
    pub quick: bool,
    /// Allow the experiment that sets the machine's clock forward and back
    #[arg(long)]
    pub step_clock: bool,
    /// What the findings are written as
    #[arg(long, value_enum, default_value_t)]
    pub format: FindingsFormat,
    /// Write the findings to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Parts of `conformance` that it starts by itself.
#[derive(Debug, Subcommand)]
pub(crate) enum ConformancePart {
    /// The server that knows the truth; ends with its standard input
    #[command(hide = true)]
    Oracle {
        /// How it behaves, as JSON
        #[arg(long)]
        mode: String,
        /// Where to listen
        #[arg(long)]
        listen: SocketAddr,
        /// Where to write what it saw
        #[arg(long)]
        log: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    #[default]
    Text,
    Md,
    Json,
}

fn named_path(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or_else(|| format!("'{text}' is not NAME=PATH"))?;
    Ok((name.to_owned(), PathBuf::from(path)))
}

pub(crate) fn count32(text: &str) -> Result<u32, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    u32::try_from(count).map_err(|_| format!("'{text}' is too many"))
}

/// How many threads work.
pub(crate) fn threads(text: &str) -> Result<u32, String> {
    match count32(text)? {
        0 => Err("0 leaves nobody to work: give 1 or more".to_owned()),
        threads => Ok(threads),
    }
}

/// Results of all repeats are held in memory until the last has ended.
const REPEATS_MAX: u32 = 1000;

fn repeats(text: &str) -> Result<u32, String> {
    let repeats = text.parse().ok().filter(|repeats| (1..=REPEATS_MAX).contains(repeats));
    repeats.ok_or_else(|| format!("'{text}' is not a number from 1 to {REPEATS_MAX}"))
}

fn connections(text: &str) -> Result<(u32, Option<u32>), String> {
    match text.split_once("..") {
        None => Ok((count32(text)?, None)),
        Some((min, max)) => Ok((count32(min)?, Some(count32(max)?))),
    }
}

fn whole<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number: write 0, 1, 2 and so on"))
}

fn stages(text: &str) -> Result<Stages, String> {
    parse_stages(text).map(Stages).map_err(|error| error.to_string())
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
    let matches =
        Cli::command().try_get_matches_from(arguments).map_err(|error| explain(&error))?;
    if let Some(("run", given)) = matches.subcommand()
        && let Some(runs) = Runs::asked(given, &run_definition())?
    {
        return Ok(Command::Plan(runs));
    }
    Cli::from_arg_matches(&matches).map(|cli| cli.command).map_err(|error| explain(&error))
}

/// Reads arguments that start with `plimsoll run`.
pub(crate) fn run_flags(arguments: Vec<OsString>) -> Result<Box<RunFlags>, Exit> {
    match Cli::try_parse_from(arguments).map_err(|error| explain(&error))?.command {
        Command::Run(flags) => Ok(flags),
        _ => Err(Exit::Usage("only run has plans".to_owned())),
    }
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

/// One line of what clap has to say.
fn explain(error: &clap::Error) -> Exit {
    let text = error.to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return Exit::Text(error.render().to_string());
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Exit::Usage("say what to do: plimsoll URL, or plimsoll --help".to_owned());
    }
    let parts: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        // Behind -- stand arguments of a script, not values of flags.
        .filter(|line| !line.is_empty() && !line.starts_with("tip: to pass"))
        .collect();
    let line = without_secret(error, &parts.join(" ").replace(" tip:", "; tip:"));
    Exit::Usage(format!("{} (see --help)", line.strip_prefix("error: ").unwrap_or(&line)))
}

/// A message without the value that it quotes, where its flag takes secrets.
fn without_secret(error: &clap::Error, line: &str) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = text(ContextKind::InvalidArg);
    let is_flag = flag.is_some_and(|flag| flag.starts_with('-'));
    if error.kind() == ErrorKind::InvalidSubcommand {
        return format!("{line}; a URL starts with http:// or https://");
    }
    let is_of_run = error.to_string().lines().any(|line| {
        line.starts_with("Usage:") && line.split_whitespace().any(|word| word == "run")
    });
    if error.kind() == ErrorKind::UnknownArgument && !is_flag && is_of_run {
        // Most often the rest of a header that was not quoted.
        return "unexpected argument beside the URL: quote values that have spaces".to_owned();
    }
    let (Some(flag), Some(value)) = (flag, text(ContextKind::InvalidValue)) else {
        return line.to_owned();
    };
    let name = flag.split([' ', '=']).next().unwrap_or_default().trim_start_matches('-');
    if value.is_empty() {
        return line.to_owned();
    }
    line.replace(value, &Masks::default().given(run_flag(name), value))
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
