//! Command lines, reports compared with what the originals' format strings make of the same
//! figures, and programs that read such reports.

use plimsoll_core::errors::ErrorCount;
use plimsoll_core::phase::Phase;
use plimsoll_core::plan::Endpoint;
use plimsoll_core::result::Tool;
use plimsoll_core::series::Point;
use plimsoll_core::{Histogram, RunResult};

use super::*;

mod arguments;
mod readers;
mod reports;

fn command(flavour: Flavour, line: &str) -> Command {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse(flavour, "wrk", &arguments).unwrap_or_else(|usage| panic!("{line}: {}", usage.stderr))
}

fn histogram(values: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for &(value, count) in values {
        histogram.record_n(value, count);
    }
    histogram
}

fn error(phase: Phase, kind: &str, count: u64) -> ErrorCount {
    ErrorCount { phase, kind: kind.to_owned(), count, sample: String::new() }
}

/// A run of a command's plan in which nothing happened, for as long as it asks.
fn nothing(command: &Command) -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let plan = command.plan(Endpoint::http("h", 80, "/"), None).expect("a plan");
    let mut result = RunResult::empty(tool, &plan);
    result.rate.window_ns = command.duration_ns;
    result.elapsed_ns = command.duration_ns;
    result
}

/// wrk's: three requests of 1 ms and one of 5 ms, at 700 and 900 per second.
fn closed(command: &Command) -> RunResult {
    let mut result = nothing(command);
    result.ledger.completed = 4;
    result.latency.service = histogram(&[(1_000_000, 3), (5_000_000, 1)]);
    result.details.worker_rates = histogram(&[(700, 1), (900, 1)]);
    result.bytes.received = 2_181_038;
    result
}

/// wrk2's: six requests of 7 µs and four of 9 µs, sent 1 µs late.
fn open(command: &Command) -> RunResult {
    let mut result = nothing(command);
    result.ledger.completed = 10;
    result.latency.response = histogram(&[(7_000, 6), (9_000, 4)]);
    result.by_outcome.ok = result.latency.response.clone();
    result.latency.service = histogram(&[(6_000, 6), (8_000, 4)]);
    result.details.worker_rates = histogram(&[(1000, 3)]);
    result.bytes.received = 17_438;
    result
}

fn report(command: &Command, result: &RunResult) -> String {
    let mut out = Vec::new();
    write_head(command, &mut out).expect("memory");
    write_report(command, result, &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}
