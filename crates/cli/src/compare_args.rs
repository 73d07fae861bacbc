//! Flags of `compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_core::comparison::Limit;

use crate::output_args::{Format, OutputFlags};
use crate::value_args::percent;

/// Flags of `compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareFlags {
    /// What to compare with: a result document, Plimsoll's or fortio's, several with commas between
    /// or in a directory, each one repeat of the same load, or a study, or a search
    pub base: String,
    /// What may be faster or slower, of the same kind
    pub new: String,
    /// Exit with 3 if the change is beyond this, with 4 if the data do not tell: p99>+10% or
    /// rate<-5%; may be given again
    #[arg(long, value_name = "LIMIT", value_parser = Limit::parse)]
    pub fail_if: Vec<Limit>,
    /// Compare though hosts, testers or loads differ; the report names in what
    #[arg(long)]
    pub allow_different: bool,
    /// Names of the sides in reports [default: BASE and NEW as given]
    #[arg(long, value_name = "BASE,NEW", value_parser = names)]
    pub names: Option<Names>,
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
    /// Also write the HTML report; - is stdout
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Also add a summary in Markdown to a file [default: that of the step, $GITHUB_STEP_SUMMARY]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub github_summary: Option<Option<PathBuf>>,
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
    Html,
}

/// What the sides are called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub base: String,
    pub new: String,
}

impl CompareFlags {
    /// What is written, and where, as commands on single runs have it.
    pub(crate) fn outputs(&self) -> OutputFlags {
        let format = match self.format {
            CompareFormat::Text => Format::Text,
            CompareFormat::Json => Format::Json,
            CompareFormat::Md => Format::Md,
            CompareFormat::Html => Format::Html,
        };
        OutputFlags {
            output: self.output.clone(),
            format: Some(format),
            html: self.html.clone(),
            github_summary: self.github_summary.clone(),
            no_color: self.no_color,
            ..OutputFlags::default()
        }
    }
}

fn names(text: &str) -> Result<Names, String> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match parts.as_slice() {
        [base, new] if !base.is_empty() && !new.is_empty() => {
            Ok(Names { base: (*base).to_owned(), new: (*new).to_owned() })
        }
        _ => Err("not two names: write main,branch".to_owned()),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    let known = percent(text).filter(|share| (0.5..=0.9999).contains(share));
    known.ok_or_else(|| "not from 50% to 99.99%: write 95%".to_owned())
}

fn least_change(text: &str) -> Result<f64, String> {
    let known = percent(text).filter(|share| (0.0..1.0).contains(share));
    known.ok_or_else(|| "not from 0% to below 100%: write 1%".to_owned())
}
