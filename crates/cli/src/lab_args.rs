//! Flags of `lab`.

use std::path::PathBuf;

use clap::Args;

use crate::args::count32;

/// Flags of `lab`.
#[derive(Debug, Args)]
pub(crate) struct LabFlags {
    /// The suite: a TOML file of servers and loads
    #[arg(value_name = "SUITE")]
    pub suite: PathBuf,
    /// The folder for the study [default: results/NAME beside where you are]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Only these cases: SERVER, SERVER/LOAD or /LOAD; may be given again
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub only: Vec<String>,
    /// How often to carry out each case, instead of the suite's number
    #[arg(long, value_name = "N", value_parser = count32)]
    pub repeats: Option<u32>,
    /// What the order of the runs is drawn from, instead of the suite's number
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Go on with the study in the folder: runs that ended well are not made again
    #[arg(long = "continue")]
    pub go_on: bool,
    /// Take the servers as they are, without their build steps
    #[arg(long)]
    pub no_build: bool,
    /// Where servers are built and keep their files [default: .work beside the suite]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Show the servers, loads and cases of the suite, and what is missing for them
    #[arg(long, conflicts_with_all = ["dry_run", "go_on"])]
    pub list: bool,
    /// Show what would be run, in order, and run nothing
    #[arg(long, conflicts_with = "go_on")]
    pub dry_run: bool,
}
