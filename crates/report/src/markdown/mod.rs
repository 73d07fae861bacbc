//! The report as Markdown, GitHub's kind: whole, or as the summary of a step of continuous
//! integration, with the answer first.
//!
//! Text from outside is in code spans or escaped (see `escape`), so it cannot format, link or add
//! to a table.

pub(crate) mod escape;
mod metrics;
mod scenarios;

use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::doubt::Figure;
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::units::{format_bytes, format_count, format_duration, format_ns, format_rate};
use plimsoll_core::verdict::Cause;

use crate::Clock;
use crate::answer::{Answer, without_rate};
use crate::doubts::Reasons;
use crate::facts::{self, QUANTILES, load_words, percent, subject, tester_cores};
use crate::parts::{self, Row, Step};
use crate::tail::{self, Times, legend};
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
        answer(result),
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
        doubts(&result.loader.causes),
        host(result),
    ];
    write_blocks(&blocks, out)
}

/// Writes the summary of a step: answer, gates, both clocks, ledger, statuses and errors.
///
/// # Errors
/// Those of `out`.
pub fn write_summary(result: &RunResult, out: &mut dyn Write) -> io::Result<()> {
    let blocks = [
        answer(result),
        plan(result),
        gates(result),
        scenarios::scenarios(result),
        stages(result),
        rates(result),
        latency(result),
        ledger(result),
        statuses(result),
        errors(result),
        doubts(&result.loader.causes),
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

fn answer(result: &RunResult) -> String {
    let mut text = headline(&Answer::of(result));
    for caveat in facts::caveats(result) {
        text += &format!("- {}\n", prose(&caveat));
    }
    text
}

/// The answer as a heading, the figures behind it, and how sure they are.
pub(crate) fn headline(answer: &Answer) -> String {
    let mut text = format!("## {} {}\n\n", answer.look.emoji(), prose(&answer.lead));
    for line in &answer.behind {
        text += &format!("{}\n\n", prose(line));
    }
    text + &format!("*Confidence:* {}\n\n", prose(&answer.sureness()))
}

/// Each cause of doubt and each note once, and the command that says more.
pub(crate) fn doubts<'c>(causes: impl IntoIterator<Item = &'c Cause> + Clone) -> String {
    let mut text = String::new();
    for (label, texts) in Reasons::of(causes.clone()).groups() {
        text += &format!("**{label}**\n\n");
        text.extend(texts.iter().map(|it| format!("- {}\n", prose(it))));
        text.push('\n');
    }
    if let Some(command) = facts::explain_command(causes) {
        text += &format!("What this means: {}\n", code(&command));
    }
    text
}

fn plan(result: &RunResult) -> String {
    let (request, load) = (subject(result), load_words(result).join(" · "));
    format!("{} · {}", code(&request), prose(&load))
}

fn gates(result: &RunResult) -> String {
    let row = |gate: &&Gate| {
        let sign = match gate.outcome() {
            Outcome::Pass => "✅ pass",
            Outcome::Fail => "❌ **FAIL**",
            Outcome::Undecided => "⚠️ **UNDECIDED**",
        };
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
        row.max.clone().unwrap_or_else(|| "–".to_owned()),
    ]
}

fn time(value_ns: Option<u64>) -> String {
    value_ns.map_or_else(|| "–".to_owned(), format_ns)
}

fn rates(result: &RunResult) -> String {
    let rate = &result.rate;
    if let Some(words) = without_rate(result) {
        return words;
    }
    let [offered, achieved] = [
        tail::rate(Figure::Offered, result, rate.offered_rps),
        tail::rate(Figure::Achieved, result, rate.achieved_rps),
    ];
    let mut text = match rate.target_rps {
        Some(target_rps) => format!("Target {}/s, offered ", format_rate(target_rps)),
        None => "Offered ".to_owned(),
    };
    text += &format!("{offered}/s, **achieved {achieved}/s**, in {}", format_ns(result.elapsed_ns));
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
        ("sent again", ledger.resent),
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
    let times = clocks.map(|clock| Times::of_run(clock, result));
    let plain = |label: &str, values: [Option<String>; 2]| {
        let [first, second] = values.map(|value| value.unwrap_or_else(|| "–".to_owned()));
        vec![label.to_owned(), first, String::new(), second, String::new()]
    };
    let mut rows = vec![
        plain("min", histograms.map(|histogram| histogram.min_ns().map(format_ns))),
        plain("mean", [times[0].mean(), times[1].mean()]),
    ];
    for (label, per_10k) in QUANTILES {
        let mut row = vec![label.to_owned()];
        for times in &times {
            let tail = times.tail(per_10k);
            let value = if times.is_empty() { time(None) } else { tail.words() };
            row.extend([value, format_count(tail.beyond)]);
        }
        rows.push(row);
    }
    rows.push(plain("max", [times[0].max(), times[1].max()]));
    let [first, second] = histograms.map(|histogram| format_count(histogram.count()));
    rows.push(vec!["n".to_owned(), first, String::new(), second, String::new()]);
    let [first, second] = clocks.map(Clock::name);
    let mut text = table(&["Latency", first, "slower", second, "slower"], &rows);
    text += "\nSlower: how many requests took longer than the value.";
    let answer = Answer::of(result);
    for meaning in legend(rows.iter().flatten().map(String::as_str).chain(answer.lines())) {
        text += &format!(" {meaning}.");
    }
    text + "\n"
}

fn spread(label: &str, times: &Times<'_>, count: u64) -> Vec<String> {
    [vec![label.to_owned(), format_count(count)], times.spread("–").into()].concat()
}

fn outcomes(result: &RunResult) -> String {
    let by = &result.by_outcome;
    let rows = [("ok", &by.ok), ("failed", &by.failed), ("incomplete", &by.incomplete)];
    let rows: Vec<Vec<String>> = rows
        .iter()
        .filter(|(_, histogram)| !histogram.is_empty())
        .map(|(label, histogram)| {
            let times = Times::of_some(Figure::Response, histogram, result);
            spread(label, &times, histogram.count())
        })
        .collect();
    if rows.len() < 2 {
        return String::new();
    }
    table(&["Response time by outcome", "count", "p50", "p99", "max"], &rows)
}

fn phases(result: &RunResult) -> String {
    let rows: Vec<Vec<String>> = crate::phases::phases(result)
        .map(|row| spread(row.words.trim_start(), &row.times(result), row.histogram.count()))
        .collect();
    table(&["Where the time went", "count", "p50", "p99", "max"], &rows)
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
        streams::rows(result).map(|row| spread(row.name, &row.times, row.times.count())).collect();
    let times = table(&["Messages", "count", "p50", "p99", "max"], &rows);
    let missing = streams::missing(result).map(|note| format!("; {note}")).unwrap_or_default();
    format!("{times}\n\nMessages: {counts}{missing}").trim_start().to_owned()
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
