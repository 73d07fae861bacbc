//! Flags of `lab`.

use std::path::PathBuf;

use clap::Args;

use crate::feed_args::FeedFlags;
use crate::value_args::count32;

/// Flags of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabFlags {
    /// The suite: a TOML file with servers and loads
    #[arg(value_name = "SUITE")]
    pub suite: PathBuf,
    /// Folder for the study [default: results/NAME in the current folder]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Run only these cases: SERVER, SERVER/LOAD or /LOAD; may be given again
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Repeat each case N times, instead of the suite's number
    #[arg(long, value_name = "N", value_parser = count32)]
    pub repeats: Option<u32>,
    /// Seed for the order of the runs, instead of the suite's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Continue the study in the folder: keep the runs that ended well
    #[arg(long = "continue")]
    pub go_on: bool,
    /// Go on if this host puts all times of the first round in doubt
    #[arg(long)]
    pub keep_going: bool,
    /// Skip the build steps of the servers
    #[arg(long)]
    pub no_build: bool,
    /// Folder in which servers are built and keep their files [default: .work beside the suite]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// List the suite's servers, loads and cases, and what each still needs
    #[arg(long, conflicts_with_all = ["dry_run", "go_on"])]
    pub list: bool,
    /// Print the runs in their order, and run nothing
    #[arg(long, conflicts_with = "go_on")]
    pub dry_run: bool,
    #[command(flatten)]
    pub feed: FeedFlags,
}
