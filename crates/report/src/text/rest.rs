//! The parts of the report that take a line or two each: gates, statuses, errors, bytes,
//! connections, the server and the tester.

use plimsoll_core::RunResult;
use plimsoll_core::errors::ErrorCount;
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::units::{format_bytes, format_count, format_duration, format_ns};

use super::table::{LABEL, labelled, wrap, wrap_within};
use super::times::spread;
use super::{Style, advice};
use crate::facts::{self, counted, printable, tester_cores};
use crate::{parts, server, streams};

/// Kinds of errors that are listed; of more, the sum is.
const ERRORS_SHOWN: usize = 5;
/// Lines that the words of an error may take.
const ERROR_LINES: usize = 3;
const STATUSES_SHOWN: usize = 8;
const GATES_SHOWN: usize = 6;
/// Lines that a gate with its note may take.
const GATE_LINES: usize = 4;

pub(super) fn rest(result: &RunResult, style: Style) -> Vec<String> {
    let width = style.columns();
    let mut lines = statuses(result, width);
    lines.extend(calls(result, width));
    lines.extend(words("Messages", &streams::counts(result).unwrap_or_default(), width));
    lines.extend(errors(result, style));
    lines.extend(bytes(result, width));
    lines.extend(words("Network", &parts::connections(result).join(" · "), width));
    lines.extend(words("Server", &server::words(result).unwrap_or_default(), width));
    lines.extend(tester(result, width));
    lines.extend(warmup(result, width));
    lines.extend(words("Guide", &advice(result).unwrap_or_default(), width));
    lines
}

/// A text behind a label, in as many lines as it takes; none without a text.
fn words(label: &str, text: &str, width: usize) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let (first, next) = (format!("{label:<LABEL$}"), " ".repeat(LABEL));
    wrap(&first, &next, &printable(text), width)
}

fn statuses(result: &RunResult, width: usize) -> Vec<String> {
    let mut counts: Vec<String> = result
        .status
        .iter()
        .take(STATUSES_SHOWN)
        .map(|(status, count)| format!("{status}: {}", format_count(*count)))
        .collect();
    if let more @ 1.. = result.status.len().saturating_sub(STATUSES_SHOWN) {
        counts.push(format!("and {more} more"));
    }
    words("Status", &counts.join("   "), width)
}

/// How calls of gRPC ended.
fn calls(result: &RunResult, width: usize) -> Vec<String> {
    let counts = result.grpc_status.iter();
    let counts: Vec<String> =
        counts.map(|(status, count)| format!("{status}: {}", format_count(*count))).collect();
    words("gRPC", &counts.join("   "), width)
}

fn errors(result: &RunResult, style: Style) -> Vec<String> {
    let shown = || result.errors.iter().take(ERRORS_SHOWN);
    let kind_width = shown().map(|error| printable(&error.kind).chars().count()).max().unwrap_or(0);
    let mut rows: Vec<String> =
        shown().flat_map(|error| error_lines(error, kind_width, style.columns() - LABEL)).collect();
    let more = result.errors.get(ERRORS_SHOWN..).unwrap_or_default();
    if !more.is_empty() {
        let count: u64 = more.iter().map(|error| error.count).sum();
        let kinds = counted(more.len() as u64, "more kind");
        rows.push(format!("{:>9}  of {kinds}", format_count(count)));
    }
    let rows: Vec<String> = rows.iter().map(|row| style.bad(row)).collect();
    labelled("Errors", &rows)
}

/// Count, phase and kind of an error, and its words beside them or, where they are too narrow
/// there, below. `kind_width` is that of the longest kind.
fn error_lines(error: &ErrorCount, kind_width: usize, width: usize) -> Vec<String> {
    let (count, phase) = (format_count(error.count), error.phase.name());
    let (kind, sample) = (printable(&error.kind), printable(&error.sample));
    let first = format!("{count:>9}  {phase:<9}  {kind:<kind_width$}  ");
    let taken = first.chars().count();
    if taken + WORDS_ROOM <= width {
        return wrap_within((&first, &" ".repeat(taken)), &sample, width, ERROR_LINES);
    }
    let below = " ".repeat(11);
    let mut lines = wrap_within(("", &below), first.trim_end(), width, ERROR_LINES);
    lines.extend(wrap_within((&below, &below), &sample, width, ERROR_LINES));
    lines
}

/// What the words of an error need beside its figures.
const WORDS_ROOM: usize = 24;

fn bytes(result: &RunResult, width: usize) -> Vec<String> {
    let bytes = result.bytes;
    if bytes.sent + bytes.received == 0 {
        return Vec::new();
    }
    let elapsed_ns = u128::from(result.elapsed_ns.max(1));
    let per_second = u128::from(bytes.received) * 1_000_000_000 / elapsed_ns;
    let per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
    let mut text = format!(
        "{} sent, {} received ({}/s)",
        format_bytes(bytes.sent),
        format_bytes(bytes.received),
        format_bytes(per_second),
    );
    if result.ledger.reconnects > 0 {
        text += &format!(", {}", counted(result.ledger.reconnects, "reconnect"));
    }
    words("Bytes", &text, width)
}

fn tester(result: &RunResult, width: usize) -> Vec<String> {
    let loader = &result.loader;
    let (work, spin) = tester_cores(result);
    let mut text = format!("{:.0} % of a core", work * 100.0);
    if spin > 0.0 {
        text += &format!(", and {:.0} % spinning", spin * 100.0);
    }
    text += &format!("; {} of memory", format_bytes(loader.rss_peak_bytes));
    let mut lines = words("Tester", &text, width);
    if let Some(longest) = loader.pauses.iter().max_by_key(|pause| pause.for_ns) {
        let (length, at) = (format_ns(longest.for_ns), format_ns(longest.at_ns));
        let text = match loader.pauses.len() {
            1 => format!("1 pause of {length} at {at}"),
            several => format!("{several} pauses, the longest of {length} at {at}"),
        };
        lines.extend(words("", &text, width));
    }
    if !loader.receive_delay.is_empty() {
        let [p50, p99, _] = spread(&loader.receive_delay);
        let text = format!("from the kernel's receipt to the tester's: p50 {p50}, p99 {p99}");
        lines.extend(words("", &text, width));
    }
    lines
}

fn warmup(result: &RunResult, width: usize) -> Vec<String> {
    let Some(warmup) = &result.warmup else { return Vec::new() };
    let mut text = format!(
        "{} before all this, {} completed",
        format_duration(warmup.duration_ns),
        format_count(warmup.ledger.completed)
    );
    if !warmup.response.is_empty() {
        let [p50, p99, _] = spread(&warmup.response);
        text += &format!(", response p50 {p50}, p99 {p99}");
    }
    words("Warm-up", &text, width)
}

pub(super) fn gates(result: &RunResult, style: Style) -> Vec<String> {
    let row = |gate: &Gate| {
        let outcome = gate.outcome();
        let mut text =
            format!("{:<4}  {:<28} {:>12}", outcome.word(), printable(&gate.expr), gate.measured());
        if let Some(note) = &gate.note {
            text += &format!("   {}", printable(note));
        }
        let lines = wrap_within(("", "      "), &text, style.columns() - LABEL, GATE_LINES);
        let paint = |line: String| match outcome {
            Outcome::Pass => line,
            Outcome::Fail => style.bad(&line),
            Outcome::Undecided => style.paint("33", &line),
        };
        lines.into_iter().map(paint).collect::<Vec<String>>()
    };
    let gates = facts::gates(result);
    let mut rows: Vec<String> = gates.into_iter().take(GATES_SHOWN).flat_map(row).collect();
    if let more @ 1.. = result.gates.len().saturating_sub(GATES_SHOWN) {
        rows.push(format!("and {more} more"));
    }
    labelled("Gates", &rows)
}
