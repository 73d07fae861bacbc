//! Flags of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::comparison::Limit;

use crate::value_args::percent;

/// Flags of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareFlags {
    /// What to compare with: a result document, Plimsoll's or fortio's, several with commas between
    /// or in a directory, each one repeat of the same load, or a study, or a search
    pub base: String,
    /// What may be faster or slower, of the same kind
    pub new: String,
    /// Exit with 3 if a change beyond this is found: p99>+10% or rate<-5%; may be given again
    #[arg(long, value_name = "LIMIT", value_parser = Limit::parse)]
    pub fail_if: Vec<Limit>,
    /// Compare though hosts, testers or loads differ; the report names in what
    #[arg(long)]
    pub allow_different: bool,
    /// How sure to be before anything is called faster or slower
    #[arg(long, value_name = "PERCENT", default_value = "95%", value_parser = confidence)]
    pub confidence: f64,
    /// Ignore changes smaller than this
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = least_change)]
    pub least_change: f64,
    /// What to write
    #[arg(long, value_enum, default_value_t)]
    pub format: CompareFormat,
    /// Where to write it [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// No colour
    #[arg(long)]
    pub no_color: bool,
}

/// Formats of `compare`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    #[default]
    Text,
    Json,
    Md,
}

fn confidence(text: &str) -> Result<f64, String> {
    let known = percent(text).filter(|share| (0.5..=0.9999).contains(share));
    known.ok_or_else(|| "not from 50% to 99.99%: write 95%".to_owned())
}

fn least_change(text: &str) -> Result<f64, String> {
    let known = percent(text).filter(|share| (0.0..1.0).contains(share));
    known.ok_or_else(|| "not from 0% to below 100%: write 1%".to_owned())
}
