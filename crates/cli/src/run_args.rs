//! Flags of `run`, and the parsers of their values. Flags for the request, for connections, TLS and
//! reports have files of their own.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Command, ValueEnum};
use plimsoll_core::expect::Expectation;
use plimsoll_core::schedule::{Arrival, Stage, parse_stages};
use plimsoll_core::secret::Secret;
use plimsoll_core::units::{parse_count, parse_duration_ns, parse_rate_uhz};
use plimsoll_lab::sample::ProcessSelector;

use crate::connection_args::{ConnectionFlags, TlsFlags};
use crate::feed_args::FeedFlags;
use crate::grpc_args::GrpcFlags;
use crate::http2_args::Http2Flags;
use crate::output_args::OutputFlags;
use crate::request_args::RequestFlags;
use crate::value_args::{DriverFlag, count32, secret, threads};

/// Stages of `--stages`.
#[derive(Debug, Clone)]
pub(crate) struct Stages(pub Vec<Stage>);

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

/// What stands below the flags in the help.
const EXIT_CODES: &str = "\
Exit codes:
  0    no gate failed
  1    the run could not be carried out, or not one whole response came
  2    a mistake in the flags or the plan
  3    a --gate failed, or --abort-when ended the run
  4    doubt leaves a --gate undecided, or --require-valid without gates met a doubt
  129  interrupted: the terminal was closed
  130  interrupted by Ctrl-C
  143  interrupted by SIGTERM";

/// The definition of a command with all flags of `run` that takes no k6 scripts: without what is
/// about them.
pub(crate) fn without_scripts(command: Command) -> Command {
    const URL: &str = "The URL to load; with --targets, the server to use instead of theirs; or a \
                       plan file, NAME.toml";
    command.mut_arg("url", |arg| arg.help(URL)).mut_arg("env", |arg| arg.hide(true))
}

/// Flags of `run`. Every number is a total, never per thread or per connection.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct RunFlags {
    /// The URL to load; with --targets, the server to use instead of theirs; a plan file,
    /// NAME.toml; or a k6 script, NAME.js or NAME.ts
    pub url: Option<String>,

    /// Open connections; MIN..MAX, at a rate: opens more, up to MAX, while requests wait for one
    #[arg(short, long, value_name = "N|MIN..MAX", default_value = "50", value_parser = connections)]
    #[arg(help_heading = "Load")]
    pub connections: (u32, Option<u32>),
    /// Keep starting requests for this long [default: 10s if neither -d nor -n]
    #[arg(short, long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Load")]
    pub duration: Option<u64>,
    /// How many requests to start, exactly
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
    /// When each request is due: a file with a time on each line, 0.25 (seconds) or 250ms
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "stages", "arrival", "warmup"])]
    #[arg(help_heading = "Load")]
    pub rate_file: Option<PathBuf>,
    /// At a rate, drop a request that has waited this long for a connection
    #[arg(long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Load")]
    pub shed_after: Option<u64>,
    /// Run the same load N times, one after another, each with a seed of its own, and report how
    /// far the runs differ
    #[arg(long, value_name = "N", default_value = "1", value_parser = repeats)]
    #[arg(help_heading = "Load")]
    pub repeat: u32,
    /// Load before the measured part, reported separately
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
    /// Wait up to T for a server that is starting: try to connect every 100 ms before the load
    #[arg(long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Load")]
    pub wait: Option<u64>,

    #[command(flatten)]
    pub request: RequestFlags,
    /// What a response must be like, or its request fails: status=200..299, bytes=100..,
    /// body~=REGEX, body!~REGEX, body*=TEXT, body==TEXT, header:NAME=VALUE, header:NAME~=REGEX,
    /// grpc-status=0, grpc-messages=1..9; may be given again
    #[arg(long, value_name = "EXPR", help_heading = "Expectations")]
    pub expect: Vec<Expectation>,
    /// Follow up to N redirects for one request, on the same server
    #[arg(long, value_name = "N", default_value = "0", value_parser = count32)]
    #[arg(help_heading = "Request")]
    pub redirects: u32,
    /// Keep and send cookies, each connection its own
    #[arg(long, help_heading = "Request")]
    pub cookies: bool,

    #[command(flatten)]
    pub connection: ConnectionFlags,
    #[command(flatten)]
    pub http2: Http2Flags,
    #[command(flatten)]
    pub grpc: GrpcFlags,
    #[command(flatten)]
    pub tls: TlsFlags,

    /// Lua script, as for wrk, that decides what is sent; arguments after -- go to it
    #[arg(short, long, value_name = "FILE", help_heading = "Request")]
    pub script: Option<PathBuf>,
    /// Arguments for the script
    #[arg(last = true, value_name = "ARGS", help_heading = "Request")]
    #[arg(value_parser = secret)]
    pub script_arguments: Vec<Secret>,

    /// A variable for a k6 script, in its __ENV; may be given again
    #[arg(short, long, value_name = "NAME=VALUE", help_heading = "Request")]
    #[arg(value_parser = crate::value_args::variable_of)]
    pub env: Vec<Secret>,

    /// Worker threads [default: chosen from the CPUs, the rate and the connections]
    #[arg(short, long, value_name = "N", value_parser = threads, help_heading = "Tester")]
    pub threads: Option<u32>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value = "1", value_parser = whole::<u64>)]
    #[arg(help_heading = "Tester")]
    pub seed: u64,
    /// Interface to the kernel
    #[arg(long, value_enum, default_value_t, help_heading = "Tester")]
    pub driver: DriverFlag,
    /// Spin instead of sleeping: at a rate, before a request is due and shortly after work, while
    /// others leave a CPU for it (auto); all the time (on); never (off)
    #[arg(long, value_enum, default_value_t, help_heading = "Tester")]
    pub spin: SpinFlag,
    /// Pin the threads to these CPUs, in turn: 1 or 2,3
    #[arg(long, value_name = "CPUS", value_delimiter = ',', value_parser = whole::<u32>)]
    #[arg(help_heading = "Tester")]
    pub pin: Vec<u32>,
    /// Exit with 4 unless the verdict is valid
    #[arg(long, help_heading = "Expectations")]
    pub require_valid: bool,
    /// Show the first request and the first that fails, with their responses, secrets masked, on
    /// stderr
    #[arg(short, long, help_heading = "Output")]
    pub verbose: bool,
    /// For habits of wrk: changes nothing, as every report has the percentiles of latency
    #[arg(long, help_heading = "Output")]
    pub latency: bool,

    /// Accept commands on a Unix socket during the run: status, rate, connections, stop
    #[arg(long, value_name = "SOCKET", help_heading = "While it runs")]
    pub control: Option<PathBuf>,
    /// Watch a server's processes beside the load: CPU, memory, threads, files; by number, by name,
    /// or by the port they listen on here
    #[arg(long, value_name = "PID|NAME|:PORT", help_heading = "While it runs")]
    pub monitor: Option<ProcessSelector>,
    #[command(flatten)]
    pub feed: FeedFlags,
    /// Read the runs from a plan file; other flags apply to each of them
    #[arg(long, value_name = "FILE", help_heading = "Plan")]
    pub plan: Option<PathBuf>,
    /// Print the flags as a plan file, secrets masked, and run nothing; of a script, its scenarios
    #[arg(long, help_heading = "Plan")]
    pub print_plan: bool,

    /// Also mask headers, URL parameters and form fields with this in their names; may be given
    /// again
    #[arg(long, value_name = "NAME", help_heading = "Secrets")]
    pub redact: Vec<String>,
    /// Show secrets unmasked in every report and in --print-plan
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
