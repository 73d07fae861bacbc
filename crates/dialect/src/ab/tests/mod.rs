//! Tests of the ab dialect: command lines, plans, and reports of fixed results. Figures of the
//! tables were computed from ab's published formulas apart from this code.

use plimsoll_core::details::{FirstResponse, RequestTimes};
use plimsoll_core::errors::ErrorCount;
use plimsoll_core::phase::Phase;
use plimsoll_core::result::{RunResult, Tool};

use super::{Command, Files, parse};
use crate::UsageText;

mod arguments;
mod parsers;
mod plan;
mod transcripts;

/// A command line, split at spaces.
fn read(line: &str) -> Result<Command, UsageText> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse("ab", &arguments)
}

fn command(line: &str) -> Command {
    read(line).unwrap_or_else(|usage| panic!("{line}: {}", usage.stderr))
}

/// A request that was answered: connect, processing and waiting, µs.
type Answered = (u64, u64, u64);

/// A result of requests that were answered, over ten milliseconds.
fn result(command: &Command, answered: &[Answered]) -> RunResult {
    let tool = Tool { name: "plimsoll".to_owned(), version: "0".to_owned() };
    let plan = command.plan(Files::default()).expect("a plan");
    let mut result = RunResult::empty(tool, &plan);
    let count = answered.len() as u64;
    for (connect_us, processing_us, waiting_us) in answered {
        let [connect_ns, processing_ns, waiting_ns] =
            [connect_us, processing_us, waiting_us].map(|us| us * 1000);
        let total_ns = connect_ns + processing_ns;
        result.latency.response.record(total_ns);
        result.latency.service.record(processing_ns);
        result.by_outcome.ok.record(total_ns);
        result.phases[Phase::Waiting].record(waiting_ns);
        if connect_ns > 0 {
            result.phases[Phase::Connect].record(connect_ns);
        }
        if plan.details.requests {
            let times = RequestTimes { start_ns: 0, connect_ns, waiting_ns, total_ns };
            result.details.requests.push(times);
        }
    }
    result.ledger.scheduled = count;
    result.ledger.sent = count;
    result.ledger.completed = count;
    result.ledger.ok = count;
    result.status.insert(200, count);
    result.rate.window_ns = 9_000_000;
    result.rate.answered_ns = 10_000_000;
    result.bytes.sent = 82 * count;
    result.bytes.received = 244 * count;
    result.details.body_bytes = 6 * count;
    result.details.first = Some(FirstResponse {
        at_ns: 1,
        status: 200,
        server: "nginx/1.18.0 (Ubuntu)".to_owned(),
        body_bytes: 6,
    });
    result.started_at = "2026-03-01T23:59:59.500000000Z".to_owned();
    result
}

fn error(phase: Phase, kind: &str, count: u64) -> ErrorCount {
    ErrorCount { phase, kind: kind.to_owned(), count, sample: String::new() }
}

fn shown(command: &Command, result: &RunResult) -> String {
    let mut out = Vec::new();
    super::report(command, result, &mut out).expect("memory takes it");
    String::from_utf8(out).expect("a report is text")
}

/// An odd number of requests, each with a connect of its own.
const ODD: [Answered; 5] = [
    (1000, 10_000, 8000),
    (1200, 12_000, 9000),
    (900, 11_000, 8500),
    (1100, 30_000, 29_000),
    (1000, 14_000, 12_000),
];

/// An even number of requests over one connection.
const EVEN: [Answered; 4] = [(400, 600, 500), (0, 601, 500), (0, 650, 600), (0, 2100, 2000)];
