//! The report on one screen: at most 100 columns, and about 30 lines for a run without surprises.
//!
//! The verdict stands first, because it says how to read the rest. A quantile is shown with the
//! number of samples beyond it: one with fewer than ten is marked, one with none is left out,
//! because it would repeat the maximum. Where the load changed on the way, each stage comes before
//! the figures of the whole, which are those of no load the run had.

pub(crate) mod table;

use std::io::{self, Write};

use plimsoll_core::result::Gate;
use plimsoll_core::units::{
    format_bytes, format_count, format_duration, format_ns, format_rate, three_digits,
};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Histogram, RunResult};

use crate::Clock;
use crate::facts::{
    self, FEW_BEYOND, QUANTILES, Tail, counted, load_words, printable, tester_cores,
};
use crate::parts::{self, Row, Step, averaged};
use crate::server;
use table::{WIDTH, beside, labelled, shorten, wrap};

/// How to write a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether verdict and errors are coloured with terminal escapes; nothing else differs.
    pub color: bool,
}

/// Kinds of errors that are listed; of more, the sum is.
const ERRORS_SHOWN: usize = 5;
const STATUSES_SHOWN: usize = 8;
const GATES_SHOWN: usize = 6;

impl Style {
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }
}

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let blocks = [
        verdict(result, style),
        plan(result),
        gates(result, style),
        stages(result, style),
        beside(&requests(result, style), &rates(result), 62),
        times(result, style),
        rest(result, style),
    ];
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

/// Writes what comes first alone: the verdict and its causes.
///
/// # Errors
/// Those of `out`.
pub fn write_verdict(result: &RunResult, out: &mut dyn Write, style: Style) -> io::Result<()> {
    writeln!(out, "{}", verdict(result, style).join("\n"))
}

fn verdict(result: &RunResult, style: Style) -> Vec<String> {
    let loader = &result.loader;
    let color = match loader.verdict {
        Verdict::Valid => "1;32",
        Verdict::Suspect => "1;33",
        Verdict::Invalid => "1;31",
    };
    let name = loader.verdict.name().to_uppercase();
    let sentence = facts::sentence(result);
    let mut lines = vec![format!("{}  {sentence}", style.paint(color, &name))];
    for cause in &loader.causes {
        lines.extend(wrap("- ", "  ", &printable(&cause.text)));
    }
    for caveat in facts::caveats(result) {
        lines.extend(wrap("- ", "  ", &printable(&caveat)));
    }
    lines
}

/// One line where it fits, else the request and the load on a line each.
fn plan(result: &RunResult) -> Vec<String> {
    let request = printable(&facts::request_words(&result.plan));
    let load = printable(&load_words(result).join(" · "));
    if request.chars().count() + 3 + load.chars().count() <= WIDTH {
        return vec![format!("{request} · {load}")];
    }
    vec![shorten(&request, WIDTH), shorten(&load, WIDTH)]
}

fn requests(result: &RunResult, style: Style) -> Vec<String> {
    let ledger = &result.ledger;
    let row = |name: &str, count: u64, others: &[(u64, &str)]| {
        let others: Vec<String> = others
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", format_count(*count)))
            .collect();
        let line = format!("{name:<9} {:>11}", format_count(count));
        match others.join(", ") {
            others if others.is_empty() => line,
            others => format!("{line}   {}", style.bad(&others)),
        }
    };
    let mut lines = [
        row("scheduled", ledger.scheduled, &[]),
        row("sent", ledger.sent, &[(ledger.unsent, "unsent"), (ledger.shed, "shed")]),
        row(
            "completed",
            ledger.completed,
            &[
                (ledger.timed_out, "timed out"),
                (ledger.broken, "broken"),
                (ledger.unfinished, "unfinished"),
            ],
        ),
        row("ok", ledger.ok, &[(ledger.failed, "failed")]),
    ];
    if ledger.redirects > 0 {
        lines[0] += &format!("   {} after redirects", format_count(ledger.redirects));
    }
    labelled("Requests", &lines)
}

/// Changes of the rate beyond these are not shown.
const CHANGES_SHOWN: usize = 8;

fn rates(result: &RunResult) -> Vec<String> {
    let rate = &result.rate;
    let mut lines = Vec::new();
    let mut row = |name: &str, rps| {
        let label = if lines.is_empty() { "Rate" } else { "" };
        lines.push(format!("{label:<6}{name:<8} {:>11}/s", format_rate(rps)));
    };
    if let Some(target_rps) = rate.target_rps {
        row("target", target_rps);
    }
    for change in rate.changes.iter().take(CHANGES_SHOWN) {
        row(&format!("@{}", format_ns(change.at_ns)), change.rps);
    }
    row("offered", rate.offered_rps);
    row("achieved", rate.achieved_rps);
    if let Some(to_last_rps) = facts::rate_to_last(result) {
        row("to last", to_last_rps);
    }
    lines.push(format!("{:<6}{:<8} {:>11}", "", "in", format_ns(result.elapsed_ns)));
    lines.extend(averaged(result).map(|over| format!("{:<6}averaged {over}", "")));
    lines
}

/// Every table of times, and what the marks in them mean.
fn times(result: &RunResult, style: Style) -> Vec<String> {
    let mut lines = beside(&latency(result), &phases(result), 60);
    let tables = [
        outcomes(result),
        parts("Endpoint", &parts::endpoints(result), style),
        parts("Address", &parts::addresses(result), style),
    ];
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        lines.push(String::new());
        lines.extend(table);
    }
    let notes = footnote(&lines);
    lines.extend(notes);
    lines
}

/// What a run with several loads has to say first: each by itself.
fn stages(result: &RunResult, style: Style) -> Vec<String> {
    let steps = parts::steps(result);
    if steps.is_empty() {
        return Vec::new();
    }
    let clock = Clock::HEADLINE.name();
    let mut lines = vec![format!(
        "{:<18}{:>10}{:>11}{:>12}{:>11}{:>12}{:>12}{:>12}",
        format!("Stage ({})", steps.len()),
        "target/s",
        "achieved/s",
        "scheduled",
        "not ok",
        "p50",
        "p99",
        "max"
    )];
    for Step { row, target_rps, achieved_rps, .. } in steps.iter().take(PARTS_SHOWN) {
        let achieved = achieved_rps.map_or_else(|| "-".to_owned(), format_rate);
        let name = shorten(&printable(&row.name), 17);
        lines.push(format!(
            "{name:<18}{:>10}{achieved:>11}{}",
            format_rate(*target_rps),
            counts_and_times(row, style)
        ));
    }
    lines.extend(more(steps.len()));
    lines.push(format!("times are the {clock}; the figures below are over all stages"));
    lines
}

/// Rows of a table of parts; of more, their number is said.
const PARTS_SHOWN: usize = 12;

fn more(rows: usize) -> Option<String> {
    let more = rows.saturating_sub(PARTS_SHOWN);
    (more > 0).then(|| format!("and {more} more"))
}

fn parts(label: &str, rows: &[Row], style: Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let head = format!(
        "{label:<39}{:>12}{:>11}{:>12}{:>12}{:>12}",
        "scheduled", "not ok", "p50", "p99", "max"
    );
    let line = |row: &Row| {
        let name = shorten(&printable(&row.name), 38);
        format!("{name:<39}{}", counts_and_times(row, style))
    };
    let shown = rows.iter().take(PARTS_SHOWN).map(line);
    std::iter::once(head).chain(shown).chain(more(rows.len())).collect()
}

fn counts_and_times(row: &Row, style: Style) -> String {
    let not_ok = format!("{:>11}", short_count(row.not_ok));
    let not_ok = if row.not_ok > 0 { style.bad(&not_ok) } else { not_ok };
    let max = row.max_ns.map_or_else(|| "-".to_owned(), format_ns);
    let (p50, p99) = (row.p50.words(), row.p99.words());
    format!("{:>12}{not_ok}{p50:>12}{p99:>12}{max:>12}", short_count(row.scheduled))
}

/// A count in at most nine columns.
fn short_count(count: u64) -> String {
    match count {
        0..=9_999_999 => format_count(count),
        10_000_000..=999_999_999 => format!("{} M", three_digits(count as f64 / 1e6)),
        _ => format!("{} G", three_digits(count as f64 / 1e9)),
    }
}

fn latency(result: &RunResult) -> Vec<String> {
    let lead = Clock::HEADLINE;
    let clocks = [lead, lead.other()];
    let histograms = clocks.map(|clock| clock.histogram(result));
    if histograms.iter().all(|histogram| histogram.is_empty()) {
        return labelled("Latency", &["nothing was measured".to_owned()]);
    }
    let row = |label: &str, cells: [(String, String); 2]| {
        let cells = cells.map(|(value, beyond)| format!("{value:>15}{beyond:>10}"));
        format!("{label:<7}{}", cells.concat()).trim_end().to_owned()
    };
    let plain = |label: &str, of: fn(&Histogram) -> Option<u64>| {
        let cell = |histogram| of(histogram).map_or_else(|| "-".to_owned(), format_ns);
        row(label, histograms.map(|histogram| (cell(histogram), String::new())))
    };
    let mut lines = vec![
        row("Latency", clocks.map(|clock| (clock.name().to_owned(), "beyond".to_owned()))),
        row("", clocks.map(|clock| (facts::origin(clock, &result.plan).to_owned(), String::new()))),
        plain("min", Histogram::min_ns),
        plain("mean", |histogram| histogram.mean_ns().map(|mean| mean.round() as u64)),
    ];
    for (label, per_10k) in QUANTILES {
        lines.push(row(label, histograms.map(|histogram| quantile_cell(histogram, per_10k))));
    }
    lines.push(plain("max", Histogram::max_ns));
    let samples = |histogram: &Histogram| (format_count(histogram.count()), String::new());
    lines.push(row("n", histograms.map(samples)));
    lines
}

/// What the marks mean, those that are used in the lines.
fn footnote(lines: &[String]) -> Vec<String> {
    let has = |mark: &str| lines.iter().any(|line| line.contains(mark));
    let mut notes = Vec::new();
    if has(" ~ ") {
        notes.push(format!("~ fewer than {FEW_BEYOND} samples beyond, varies from run to run"));
    }
    if has(" n/a") {
        notes.push("n/a no sample beyond, see max".to_owned());
    }
    if notes.is_empty() { notes } else { vec![notes.join("; ")] }
}

fn quantile_cell(histogram: &Histogram, per_10k: u64) -> (String, String) {
    if histogram.is_empty() {
        return ("-".to_owned(), String::new());
    }
    let tail = Tail::of(histogram, per_10k);
    (tail.words(), short_count(tail.beyond))
}

/// Median, 99th percentile and maximum.
fn spread(histogram: &Histogram) -> [String; 3] {
    let max = histogram.max_ns().map_or_else(|| "-".to_owned(), format_ns);
    [Tail::of(histogram, 5000).words(), Tail::of(histogram, 9900).words(), max]
}

/// The phases that took time, and what stands before them: lag, and the tester's part of it.
fn phases(result: &RunResult) -> Vec<String> {
    let phases = &result.phases;
    let rows = [
        ("lag", &result.lag),
        ("  blocked", &phases.blocked),
        ("  tester", &result.loader.lateness),
        ("dns", &phases.dns),
        ("connect", &phases.connect),
        ("tls", &phases.tls),
        ("sending", &phases.sending),
        ("waiting", &phases.waiting),
        ("receiving", &phases.receiving),
    ];
    let happened = |histogram: &Histogram| histogram.max_ns().is_some_and(|max_ns| max_ns > 0);
    let rows: Vec<String> = rows
        .iter()
        .filter(|(_, histogram)| happened(histogram))
        .map(|(label, histogram)| {
            let cells = spread(histogram).map(|cell| format!("{cell:>10}"));
            format!("{label:<10}{}", cells.concat())
        })
        .collect();
    if rows.is_empty() {
        return rows;
    }
    let head = format!("{:<10}{:>10}{:>10}{:>10}", "Phases", "p50", "p99", "max");
    std::iter::once(head).chain(rows).collect()
}

/// Response times by outcome, where there was more than one.
fn outcomes(result: &RunResult) -> Vec<String> {
    let by = &result.by_outcome;
    let rows = [("ok", &by.ok), ("failed", &by.failed), ("incomplete", &by.incomplete)];
    let rows: Vec<String> = rows
        .iter()
        .filter(|(_, histogram)| !histogram.is_empty())
        .map(|(label, histogram)| {
            let cells = spread(histogram).map(|cell| format!("{cell:>12}"));
            format!("{label:<12}{:>13}{}", format_count(histogram.count()), cells.concat())
        })
        .collect();
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut lines =
        vec![format!("{:<12}{:>13}{:>12}{:>12}{:>12}", "Outcome", "count", "p50", "p99", "max")];
    lines.extend(rows);
    if !by.incomplete.is_empty() {
        lines.push(
            "incomplete: no whole response; counted with the time they had waited".to_owned(),
        );
    }
    lines
}

fn rest(result: &RunResult, style: Style) -> Vec<String> {
    let mut lines = statuses(result);
    lines.extend(errors(result, style));
    lines.extend(bytes(result));
    lines.extend(connections(result));
    lines.extend(server(result));
    lines.extend(tester(result));
    lines.extend(warmup(result));
    lines.extend(beyond_hour(result));
    lines
}

fn statuses(result: &RunResult) -> Vec<String> {
    let mut words: Vec<String> = result
        .status
        .iter()
        .take(STATUSES_SHOWN)
        .map(|(status, count)| format!("{status}: {}", format_count(*count)))
        .collect();
    if words.is_empty() {
        return Vec::new();
    }
    if let more @ 1.. = result.status.len().saturating_sub(STATUSES_SHOWN) {
        words.push(format!("and {more} more"));
    }
    wrap("Status    ", "          ", &words.join("   "))
}

fn errors(result: &RunResult, style: Style) -> Vec<String> {
    let mut rows: Vec<String> = result
        .errors
        .iter()
        .take(ERRORS_SHOWN)
        .map(|error| {
            let count = format_count(error.count);
            let line = format!(
                "{count:>11}  {:<9}  {:<12}  {}",
                error.phase.name(),
                printable(&error.kind),
                printable(&error.sample),
            );
            style.bad(&shorten(&line, WIDTH - 10))
        })
        .collect();
    let more = result.errors.get(ERRORS_SHOWN..).unwrap_or_default();
    if !more.is_empty() {
        let count: u64 = more.iter().map(|error| error.count).sum();
        let kinds = counted(more.len() as u64, "more kind");
        rows.push(style.bad(&format!("{:>11}  of {kinds}", format_count(count))));
    }
    labelled("Errors", &rows)
}

fn bytes(result: &RunResult) -> Vec<String> {
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
    labelled("Bytes", &[text])
}

fn connections(result: &RunResult) -> Vec<String> {
    let words = printable(&parts::connections(result).join(" · "));
    if words.is_empty() { Vec::new() } else { wrap("Network   ", "          ", &words) }
}

/// The server's processes, where they were watched.
fn server(result: &RunResult) -> Vec<String> {
    let words = server::words(result);
    words.map(|words| wrap("Server    ", "          ", &printable(&words))).unwrap_or_default()
}

fn tester(result: &RunResult) -> Vec<String> {
    let loader = &result.loader;
    let (work, spin) = tester_cores(result);
    let mut text = format!("{:.0} % of a core", work * 100.0);
    if spin > 0.0 {
        text += &format!(", and {:.0} % spinning", spin * 100.0);
    }
    text += &format!("; {} of memory", format_bytes(loader.rss_peak_bytes));
    let mut lines = labelled("Tester", &[text]);
    if let Some(longest) = loader.pauses.iter().max_by_key(|pause| pause.for_ns) {
        let text = format!(
            "{}, the longest of {} at {}",
            counted(loader.pauses.len() as u64, "pause"),
            format_ns(longest.for_ns),
            format_ns(longest.at_ns),
        );
        lines.extend(labelled("", &[text]));
    }
    if !loader.receive_delay.is_empty() {
        let [p50, p99, _] = spread(&loader.receive_delay);
        let text = format!("from the kernel's receipt to the tester's: p50 {p50}, p99 {p99}");
        lines.extend(labelled("", &[text]));
    }
    lines
}

fn warmup(result: &RunResult) -> Vec<String> {
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
    labelled("Warm-up", &[text])
}

fn beyond_hour(result: &RunResult) -> Vec<String> {
    let count = result.latency.response.beyond_hour();
    if count == 0 {
        return Vec::new();
    }
    let text = format!(
        "{} of more than an hour: quantiles show an hour, the maximum is exact",
        counted(count, "response time")
    );
    labelled("Note", &[text])
}

fn gates(result: &RunResult, style: Style) -> Vec<String> {
    let row = |gate: &Gate| {
        let word = if gate.pass { "pass" } else { "FAIL" };
        let mut line = format!("{word}  {:<28} {:>12}", printable(&gate.expr), gate.measured());
        if let Some(note) = &gate.note {
            line += &format!("   {}", printable(note));
        }
        let line = shorten(&line, WIDTH - 10);
        if gate.pass { line } else { style.bad(&line) }
    };
    let mut rows: Vec<String> =
        facts::gates(result).into_iter().take(GATES_SHOWN).map(row).collect();
    if let more @ 1.. = result.gates.len().saturating_sub(GATES_SHOWN) {
        rows.push(format!("and {more} more"));
    }
    labelled("Gates", &rows)
}

#[cfg(test)]
mod tests;
