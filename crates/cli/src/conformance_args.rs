//! Flags of `conformance`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::value_args::count32;

/// Flags of `conformance`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConformanceFlags {
    #[command(subcommand)]
    pub part: Option<ConformancePart>,
    /// A tester to examine; may be given again [default: plimsoll]
    #[arg(long = "tool", value_name = "NAME")]
    pub tools: Vec<String>,
    /// Path of a tester's program, if it is not in PATH
    #[arg(long = "tool-path", value_name = "NAME=PATH", value_parser = named_path)]
    pub tool_paths: Vec<(String, PathBuf)>,
    /// Run only these experiments
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// List the experiments and testers
    #[arg(long)]
    pub list: bool,
    /// Run each experiment N times
    #[arg(long, value_name = "N", default_value = "1", value_parser = count32)]
    pub repeats: u32,
    /// Run nothing; read the findings of an earlier call from its JSON; may be given again, for
    /// more columns
    #[arg(long, value_name = "FILE")]
    #[arg(conflicts_with_all = ["tools", "tool_paths", "list", "repeats", "quick", "step_clock"])]
    pub from: Vec<PathBuf>,
    /// Use shorter runs where the experiment allows it
    #[arg(long)]
    pub quick: bool,
    /// Allow the experiment that sets the machine's clock forward and back
    #[arg(long)]
    pub step_clock: bool,
    /// Format of the findings
    #[arg(long, value_enum, default_value_t)]
    pub format: FindingsFormat,
    /// Write the findings to a file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Parts of `conformance` that it starts by itself.
#[derive(Debug, Subcommand)]
pub(crate) enum ConformancePart {
    /// The server that knows the truth; ends when its standard input closes
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
