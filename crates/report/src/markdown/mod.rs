//! The report as Markdown, GitHub's kind: whole, or as the summary of a step of continuous
//! integration, with the verdict first.
//!
//! Text from outside is in code spans or escaped (see `escape`), so it cannot format, link or add
//! to a table.

pub(crate) mod escape;
mod metrics;
mod scenarios;

use std::io::{self, Write};

use plimsoll_core::result::Gate;
use plimsoll_core::units::{format_bytes, format_count, format_duration, format_ns, format_rate};
use plimsoll_core::verdict::Verdict;
use plimsoll_core::{Histogram, RunResult};

use crate::Clock;
use crate::facts::{self, FEW_BEYOND, QUANTILES, Tail, load_words, percent, subject, tester_cores};
use crate::parts::{self, Row, Step};
use crate::{host, server, streams};
use escape::{code, prose};

/// Rows of a table that takes what it is given.
const ROWS_SHOWN: usize = 40;

/// Writes the whole report.
///
/// # Errors
/// Those of `out`.
pub fn write(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let blocks = [
        verdict(result),
        plan(result),
        gates(result),
        scenarios::scenarios(result),
        stages(result),
        rates(result),
        ledger(result),
        iterations(result),
        latency(result),
        outcomes(result),
        phases(result),
        named("Endpoint", &parts::endpoints(result)),
        named("Address", &parts::addresses(result)),
        named("Group", &parts::groups(result)),
        metrics::metrics(result),
        statuses(result),
        calls(result),
        messages(result),
        errors(result),
        server(result),
        rest(result),
        host(result),
    ];
    write_blocks(&blocks, out)
}

/// Writes the summary of a step: verdict, gates, both clocks, ledger and errors.
///
/// # Errors
/// Those of `out`.
pub fn write_summary(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let blocks = [
        verdict(result),
        plan(result),
        gates(result),
        scenarios::scenarios(result),
        stages(result),
        rates(result),
        latency(result),
        ledger(result),
        errors(result),
    ];
    write_blocks(&blocks, out)
}

/// Writes blocks with a line between them, but those with nothing in them.
pub(crate) fn write_blocks(blocks: &[String], out: &mut dyn Write) -> io::Result<()> {
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        writeln!(out, "{}\n", block.trim_end())?;
    }
    Ok(())
}

/// A table: the first column from the left, the rest from the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = table_of(head, 1, &rows[..rows.len().min(ROWS_SHOWN)]);
    if let more @ 1.. = rows.len().saturating_sub(ROWS_SHOWN) {
        text += &format!("\nand {more} more\n");
    }
    text
}

/// A table of as many rows as there are: `words` columns from the left, the rest from the right.
pub(crate) fn table_of(head: &[&str], words: usize, rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let rule = |column| if column < words { " --- |" } else { " ---: |" };
    let rules: String = (0..head.len()).map(rule).collect();
    let mut text = format!("| {} |\n|{rules}\n", head.join(" | "));
    for row in rows {
        text += &format!("| {} |\n", row.join(" | "));
    }
    text
}

fn verdict(result: &RunResult) -> String {
    let loader = &result.loader;
    let standing = facts::standing(result);
    let is_met = standing.as_ref().is_none_or(|standing| standing.is_met);
    let sign = match loader.verdict {
        _ if !is_met => "❌",
        Verdict::Valid => "✅",
        Verdict::Suspect => "⚠️",
        Verdict::Invalid => "❌",
    };
    let words = [Some(loader.verdict.name().to_owned()), standing.map(|standing| standing.words)];
    let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ").to_uppercase();
    let mut text = format!("## {sign} {words}: {}\n\n", facts::sentence(result));
    for cause in &loader.causes {
        text += &format!("- {}\n", prose(&cause.text));
    }
    for caveat in facts::caveats(result) {
        text += &format!("- {}\n", prose(&caveat));
    }
    if let Some(command) = facts::explain_command(&loader.causes) {
        text += &format!("\nWhat this means: {}\n", code(&command));
    }
    text
}

fn plan(result: &RunResult) -> String {
    let (request, load) = (subject(result), load_words(result).join(" · "));
    format!("{} · {}", code(&request), prose(&load))
}

fn gates(result: &RunResult) -> String {
    let row = |gate: &&Gate| {
        let sign = if gate.pass { "✅ pass" } else { "❌ **FAIL**" };
        let note = prose(gate.note.as_deref().unwrap_or_default());
        vec![code(&gate.expr), sign.to_owned(), gate.measured(), note]
    };
    let rows: Vec<Vec<String>> = facts::gates(result).iter().map(row).collect();
    table(&["Gate", "", "measured", ""], &rows)
}

fn stages(result: &RunResult) -> String {
    let row = |step: &Step| {
        let achieved = step.achieved_rps.map_or_else(|| "–".to_owned(), format_rate);
        let head = vec![code(&step.row.name), format_rate(step.target_rps), achieved];
        [head, part_cells(&step.row)].concat()
    };
    let rows: Vec<Vec<String>> = parts::steps(result).iter().map(row).collect();
    let head = ["Stage", "target/s", "responses/s", "requests", "not ok", "p50", "p99", "max"];
    let mut text = table(&head, &rows);
    if !text.is_empty() {
        let clock = Clock::HEADLINE.name();
        text += &format!("\nTimes are the {clock}. The figures below are over all stages.\n");
    }
    text
}

fn named(label: &str, rows: &[Row]) -> String {
    let row = |row: &Row| [vec![code(&row.name)], part_cells(row)].concat();
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    table(&[label, "requests", "not ok", "p50", "p99", "max"], &rows)
}

fn part_cells(row: &Row) -> Vec<String> {
    vec![
        format_count(row.scheduled),
        format_count(row.not_ok),
        row.p50.words(),
        row.p99.words(),
        time(row.max_ns),
    ]
}

fn time(value_ns: Option<u64>) -> String {
    value_ns.map_or_else(|| "–".to_owned(), format_ns)
}

fn rates(result: &RunResult) -> String {
    let rate = &result.rate;
    let mut text = match rate.target_rps {
        Some(target_rps) => format!("Target {}/s, offered ", format_rate(target_rps)),
        None => "Offered ".to_owned(),
    };
    text += &format!(
        "{}/s, **achieved {}/s**, in {}",
        format_rate(rate.offered_rps),
        format_rate(rate.achieved_rps),
        format_ns(result.elapsed_ns)
    );
    if let Some(to_last_rps) = facts::rate_to_last(result) {
        text += &format!("; {}/s to the last response", format_rate(to_last_rps));
    }
    match facts::averaged(result) {
        Some(over) => format!("{text}; averaged {over}"),
        None => text,
    }
}

fn ledger(result: &RunResult) -> String {
    let ledger = &result.ledger;
    let always = [
        ("scheduled", ledger.scheduled),
        ("sent", ledger.sent),
        ("completed", ledger.completed),
        ("ok", ledger.ok),
    ];
    let happened = [
        ("failed", ledger.failed),
        ("refused", ledger.refused),
        ("timed out", ledger.timed_out),
        ("broken", ledger.broken),
        ("unfinished", ledger.unfinished),
        ("unsent", ledger.unsent),
        ("shed", ledger.shed),
        ("after redirects", ledger.redirects),
    ];
    let happened = happened.into_iter().filter(|(_, count)| *count > 0);
    let rows: Vec<Vec<String>> = always
        .into_iter()
        .chain(happened)
        .map(|(name, count)| {
            vec![name.to_owned(), format_count(count), percent(count, ledger.scheduled)]
        })
        .collect();
    table(&["Requests", "", ""], &rows)
}

fn iterations(result: &RunResult) -> String {
    let rows = crate::iterations::rows(result).into_iter();
    let rows: Vec<Vec<String>> = rows.map(|(name, words)| vec![name.to_owned(), words]).collect();
    if rows.is_empty() { String::new() } else { table(&["Iterations", ""], &rows) }
}

fn latency(result: &RunResult) -> String {
    let lead = Clock::HEADLINE;
    let clocks = [lead, lead.other()];
    let histograms = clocks.map(|clock| clock.histogram(result));
    if histograms.iter().all(|histogram| histogram.is_empty()) {
        return "Nothing was measured.".to_owned();
    }
    let plain = |label: &str, of: fn(&Histogram) -> Option<u64>| {
        let [first, second] = histograms.map(|histogram| time(of(histogram)));
        vec![label.to_owned(), first, String::new(), second, String::new()]
    };
    let mut rows = vec![
        plain("min", Histogram::min_ns),
        plain("mean", |histogram| histogram.mean_ns().map(|mean| mean.round() as u64)),
    ];
    for (label, per_10k) in QUANTILES {
        let mut row = vec![label.to_owned()];
        for clock in clocks {
            let tail = Tail::of_run(clock, result, per_10k);
            let is_empty = clock.histogram(result).is_empty();
            let value = if is_empty { time(None) } else { tail.words() };
            row.extend([value, format_count(tail.beyond)]);
        }
        rows.push(row);
    }
    rows.push(plain("max", Histogram::max_ns));
    let [first, second] = histograms.map(|histogram| format_count(histogram.count()));
    rows.push(vec!["n".to_owned(), first, String::new(), second, String::new()]);
    let [first, second] = clocks.map(Clock::name);
    let mut text = table(&["Latency", first, "beyond", second, "beyond"], &rows);
    text += &format!(
        "\nBeyond: samples above the quantile. ~ has fewer than {FEW_BEYOND}, n/a none. ≥ is a \
         lower bound: with the incomplete requests it may be more.\n"
    );
    text
}

fn quantile(histogram: &Histogram, per_10k: u64) -> String {
    if histogram.is_empty() { time(None) } else { Tail::of(histogram, per_10k).words() }
}

fn spread(label: &str, histogram: &Histogram) -> Vec<String> {
    vec![
        label.to_owned(),
        format_count(histogram.count()),
        quantile(histogram, 5000),
        quantile(histogram, 9900),
        time(histogram.max_ns()),
    ]
}

fn outcomes(result: &RunResult) -> String {
    let by = &result.by_outcome;
    let rows = [("ok", &by.ok), ("failed", &by.failed), ("incomplete", &by.incomplete)];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter(|(_, histogram)| !histogram.is_empty())
        .map(|(label, histogram)| spread(label, histogram))
        .collect();
    if rows.len() < 2 {
        return String::new();
    }
    table(&["Response time by outcome", "count", "p50", "p99", "max"], &rows)
}

fn phases(result: &RunResult) -> String {
    let rows: Vec<Vec<String>> =
        crate::phases::phases(result).map(|row| spread(row.name, row.histogram)).collect();
    table(&["Phase", "count", "p50", "p99", "max"], &rows)
}

fn statuses(result: &RunResult) -> String {
    let row = |(status, count): (&u16, &u64)| {
        let share = percent(*count, result.ledger.completed);
        vec![status.to_string(), format_count(*count), share]
    };
    let rows: Vec<Vec<String>> = result.status.iter().map(row).collect();
    table(&["Status", "responses", ""], &rows)
}

/// How calls of gRPC ended.
fn calls(result: &RunResult) -> String {
    let all: u64 = result.grpc_status.values().sum();
    let row = |(status, count): (&String, &u64)| {
        vec![code(status), format_count(*count), percent(*count, all)]
    };
    let rows: Vec<Vec<String>> = result.grpc_status.iter().map(row).collect();
    table(&["gRPC status", "calls", ""], &rows)
}

/// The messages of calls that stream.
fn messages(result: &RunResult) -> String {
    let Some(counts) = streams::counts(result) else { return String::new() };
    let rows: Vec<Vec<String>> =
        streams::times(result).map(|row| spread(row.name, row.histogram)).collect();
    let times = table(&["Messages", "count", "p50", "p99", "max"], &rows);
    format!("{times}\n\nMessages: {counts}").trim_start().to_owned()
}

fn errors(result: &RunResult) -> String {
    let row = |error: &plimsoll_core::errors::ErrorCount| {
        vec![
            code(&error.kind),
            error.phase.name().to_owned(),
            format_count(error.count),
            code(&error.sample),
        ]
    };
    let rows: Vec<Vec<String>> = result.errors.iter().map(row).collect();
    table(&["Error", "phase", "count", "an example"], &rows)
}

/// What the server's processes used.
fn server(result: &RunResult) -> String {
    let row = |(name, value): (&str, String)| vec![name.to_owned(), prose(&value)];
    let rows: Vec<Vec<String>> = server::rows(result).into_iter().map(row).collect();
    table(&["Server", ""], &rows)
}

/// The host in full.
fn host(result: &RunResult) -> String {
    let row = |(name, value): (String, String)| vec![prose(&name), prose(&value)];
    let rows: Vec<Vec<String>> = host::rows(&result.environment).into_iter().map(row).collect();
    table(&["Host", ""], &rows)
}

/// What stands in a line each: bytes, connections, the tester, the warm-up.
fn rest(result: &RunResult) -> String {
    let bytes = result.bytes;
    let mut lines = vec![format!(
        "bytes: {} sent, {} received",
        format_bytes(bytes.sent),
        format_bytes(bytes.received)
    )];
    let connections = parts::connections(result);
    if !connections.is_empty() {
        lines.push(format!("network: {}", prose(&connections.join(" · "))));
    }
    let (work, spin) = tester_cores(result);
    lines.push(format!(
        "tester: {:.0} % of a core at work, {:.0} % spinning; {} of memory",
        work * 100.0,
        spin * 100.0,
        format_bytes(result.loader.rss_peak_bytes)
    ));
    lines.push(format!("host: {}", prose(&host::line(&result.environment))));
    if let Some(warmup) = &result.warmup {
        lines.push(format!(
            "warm-up, in no other figure: {}, {} completed",
            format_duration(warmup.duration_ns),
            format_count(warmup.ledger.completed)
        ));
    }
    let tool = format!("{} {}", result.tool.name, result.tool.version);
    lines.push(format!("{}, started {}", prose(&tool), prose(&result.started_at)));
    lines.iter().map(|line| format!("- {line}\n")).collect()
}

#[cfg(test)]
mod tests;
