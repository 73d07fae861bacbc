//! wrk and wrk2: their command lines as a [`Command`], and reports in their words and columns.
//!
//! One dialect in two flavours, because wrk2 is wrk with a rate. wrk2 here is Gil Tene's with the
//! options of Alec Hothan's fork, which adds JSON, reports at intervals and a choice of precision.
//!
//! Where the original measures wrongly, the true figure stands in its place; `--as-original` does
//! the original's arithmetic (module `original`). `docs/dialects` lists each difference. Absent:
//! the URL's parts, files, scripts and anything of a run: those are the program's.

use plimsoll_core::plan::{DriverPlan, Spin};

mod arguments;
mod figures;
mod hdr;
mod json;
mod original;
mod periodic;
mod plan;
mod text;
mod values;

#[cfg(test)]
mod tests;

pub use arguments::{invalid_url, parse, unable_to_connect};
pub use figures::{SocketErrors, errors};
pub use periodic::Periodic;
pub use plan::FLAGS;
pub use text::{write_head, write_report};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// wrk: a closed loop.
    Wrk,
    /// wrk2: a rate.
    Wrk2,
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Command {
    /// wrk or wrk2.
    pub flavour: Flavour,
    /// The URL as it was given.
    pub url: String,
    /// `-c`, as it was given; each thread opens a whole number of them.
    pub connections: u32,
    /// `-t`.
    pub threads: u32,
    /// `-d`.
    pub duration_ns: u64,
    /// `--timeout`.
    pub timeout_ns: u64,
    /// `-R`, requests per second; wrk2 always has one.
    pub rate_hz: Option<f64>,
    /// `-H`: names and values. Of one given twice the last is kept.
    pub headers: Vec<(String, String)>,
    /// `-s`: the script's path.
    pub script: Option<String>,
    /// What follows the URL, for the script.
    pub arguments: Vec<String>,
    /// `-L`: print the distribution.
    pub latency: bool,
    /// `-U`: print that of service times too.
    pub uncorrected: bool,
    /// `-e`: print JSON.
    pub json: bool,
    /// `-p`: print a report each so often.
    pub report_interval_ns: Option<u64>,
    /// `-D`: significant digits of the histogram, 1 to 3.
    pub digits: u8,
    /// Encode the histogram of `-e` as HdrHistogram's V1, not V2.
    pub hist_v1: bool,
    /// Do the original's arithmetic.
    pub as_original: bool,
    /// `--driver`.
    pub driver: DriverPlan,
    /// `--spin`.
    pub spin: Spin,
    /// `--json-result`: where the result document goes.
    pub json_result: Option<String>,
    /// `--quiet`: no verdict on standard error.
    pub quiet: bool,
    /// What to print before anything else: the version, if `-v` was given.
    pub preamble: String,
    /// What is odd but no error, each in one line for standard error.
    pub warnings: Vec<String>,
}

impl Command {
    /// The connections that are really opened: the same number in each thread.
    #[must_use]
    pub fn connections_opened(&self) -> u32 {
        self.connections / self.threads * self.threads
    }
}
