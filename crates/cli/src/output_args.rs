//! Flags for reports: what is written, in which format, and where. `run` and `report` share them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Write the report to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of the report [default: text]
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
    /// Print no progress and no report; stderr still says why a run failed
    #[arg(short, long)]
    pub quiet: bool,
    /// No live progress
    #[arg(long)]
    pub no_progress: bool,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}
