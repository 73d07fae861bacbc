//! Flags of `find`: those of a search, beside the flags of `run` that say what is sent.
//!
//! Flags of `run` that a search has no place for are hidden here, and refused with the flag to give
//! instead.

use std::path::PathBuf;

use clap::{Args, Command};
use plimsoll_core::find::{Objective, Settings};
use plimsoll_core::units::{parse_duration_ns, parse_rate_uhz};

use crate::run_args::RunFlags;
use crate::value_args::percent;

/// What stands below the flags in the help.
const EXIT_CODES: &str = "\
Exit codes:
  0    a rate was shown to meet the objectives
  1    the search could not be carried out
  2    a mistake in the flags or the plan
  3    a rate was shown not to meet them, and none to meet them
  4    nothing was shown: give more time, or a quieter tester
  129  interrupted: the terminal was closed
  130  interrupted by Ctrl-C
  143  interrupted by SIGTERM";

/// Flags of `find`. Rates are of the whole load, never per connection.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct FindFlags {
    /// What the server has to meet: 'p99<10ms', 'mean<5ms', 'errors<0.1%'; may be given again.
    /// Without one about failures, errors<1% is added
    #[arg(long, value_name = "EXPR", value_parser = Objective::parse, help_heading = "Search")]
    pub slo: Vec<Objective>,
    /// Search for a number of connections instead of a rate: a closed loop with up to -c of them
    #[arg(long, help_heading = "Search")]
    #[arg(conflicts_with_all = ["from", "min_rate", "max_rate", "sustain", "resume"])]
    #[arg(conflicts_with_all = ["no_after_overload", "arrival"])]
    pub closed: bool,
    /// The first rate [default: 50, or the nearest in bounds]
    #[arg(long, value_name = "R", value_parser = rate, help_heading = "Search")]
    pub from: Option<f64>,
    /// Do not go below this rate
    #[arg(long, value_name = "R", default_value = "1", value_parser = rate)]
    #[arg(help_heading = "Search")]
    pub min_rate: f64,
    /// Do not go above this rate
    #[arg(long, value_name = "R", default_value = "1M", value_parser = rate)]
    #[arg(help_heading = "Search")]
    pub max_rate: f64,
    /// How far apart the rates of long probes are
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = share)]
    #[arg(help_heading = "Search")]
    pub step: f64,
    /// How long the load of a probe lasts before it is measured
    #[arg(long, value_name = "T", default_value = "3s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Search")]
    pub settle: u64,
    /// How long a quick probe is measured; they only guide the search
    #[arg(long, value_name = "T", default_value = "5s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Search")]
    pub quick: u64,
    /// How long a probe that decides is measured at most
    #[arg(long, value_name = "T", default_value = "60s", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Search")]
    pub hold: u64,
    /// How long the server has to stand the load: its backlog must not grow so fast that an
    /// objective is missed within this time
    #[arg(long, value_name = "T", default_value = "10m", value_parser = parse_duration_ns)]
    #[arg(help_heading = "Search")]
    pub sustain: u64,
    /// How sure to be of the answer
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = share)]
    #[arg(help_heading = "Search")]
    pub confidence: f64,
    /// End the search within this time, with what is known; holds become shorter to fit
    #[arg(long, value_name = "T", value_parser = parse_duration_ns, help_heading = "Search")]
    pub budget: Option<u64>,
    /// Stop after the quick probes: less than a minute, and nothing is promised
    #[arg(long, help_heading = "Search")]
    pub quick_only: bool,
    /// Leave out measuring the answer again directly after overload
    #[arg(long, help_heading = "Search")]
    pub no_after_overload: bool,
    /// Go on with the search of a document that --json wrote; give the same URL and the same flags
    /// for what is sent
    #[arg(long, value_name = "FILE", help_heading = "Search")]
    #[arg(conflicts_with_all = ["slo", "from", "min_rate", "max_rate", "step", "settle", "quick"])]
    #[arg(conflicts_with_all = ["hold", "sustain", "confidence", "no_after_overload"])]
    pub resume: Option<PathBuf>,

    #[command(flatten)]
    pub run: RunFlags,
}

/// The first rate of a search unless it is given.
const FROM_RPS: f64 = 50.0;

impl FindFlags {
    /// How to search.
    pub(crate) fn settings(&self) -> Settings {
        let (min_rps, max_rps) = (self.min_rate, self.max_rate);
        Settings {
            from_rps: self.from.unwrap_or_else(|| FROM_RPS.max(min_rps).min(max_rps)),
            min_rps,
            max_rps,
            step: 1.0 + self.step,
            settle_ns: self.settle,
            quick_ns: self.quick,
            hold_ns: self.hold,
            confidence: self.confidence,
            sustain_ns: self.sustain,
            budget_ns: self.budget,
            is_checked_after_overload: !self.no_after_overload,
            is_quick_only: self.quick_only,
        }
    }
}

impl FindFlags {
    /// The most connections of a closed search.
    pub(crate) fn connections_max(&self) -> u32 {
        let (fixed, max) = self.run.connections;
        max.unwrap_or(fixed)
    }
}

/// Flags of `run` that a search has no place for, by their names in the definition, and what to do.
const UNFIT: [(&str, &str); 19] = [
    ("rate", "the search chooses the rates: bound them with --min-rate and --max-rate"),
    ("stages", "the search chooses the rates: bound them with --min-rate and --max-rate"),
    ("rate_file", "the search chooses the rates: bound them with --min-rate and --max-rate"),
    ("duration", "a probe is measured for --hold, and a search ends after --budget"),
    ("requests", "a probe is measured for --hold, and a search ends after --budget"),
    ("warmup", "the load of a probe is not measured for --settle"),
    ("repeat", "give each search its own call, and compare their answers"),
    ("gate", "say what has to be met with --slo"),
    ("abort_when", "say what has to be met with --slo"),
    ("require_valid", "find exits with 4 when nothing was shown"),
    ("control", "a search takes no commands: end it with Ctrl-C"),
    ("print_plan", "run prints plans"),
    ("verbose", "look at a request and its response with `plimsoll request`"),
    ("hgrm", "it shows one run, and a search has many"),
    ("hlog", "it shows one run, and a search has many"),
    ("junit", "it shows one run, and a search has many"),
    ("timeseries", "it shows one run, and a search has many"),
    ("env", "it is for k6 scripts, which only run takes"),
    ("shed_after", "a search counts each request: leave out what drops some"),
];

/// Why a search has no place for a flag of `run`.
pub(crate) fn unfit(id: &str) -> Option<&'static str> {
    UNFIT.iter().find(|(name, _)| *name == id).map(|(_, advice)| *advice)
}

/// The definition of `find`, of one that has all flags of `run`: without those that do not fit, and
/// with defaults of its own. Users come independently of each other, and as many connections open
/// as they need.
pub(crate) fn fitted(find: Command) -> Command {
    let hidden = UNFIT.iter().fold(find, |find, (id, _)| find.mut_arg(id, |arg| arg.hide(true)));
    hidden
        .mut_arg("arrival", |arg| arg.default_value("poisson"))
        .mut_arg("connections", |arg| arg.default_value("50..1000"))
}

fn rate(text: &str) -> Result<f64, String> {
    parse_rate_uhz(text).map(|uhz| uhz as f64 / 1e6).map_err(|error| error.to_string())
}

fn share(text: &str) -> Result<f64, String> {
    percent(text).ok_or_else(|| "not a percentage: write 5%".to_owned())
}
