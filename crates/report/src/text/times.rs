//! Times and counts in tables: the two clocks, the phases, and the parts of a run.

use plimsoll_core::doubt::Figure;
use plimsoll_core::units::{format_count, format_ns, format_rate, three_digits};
use plimsoll_core::{Histogram, RunResult};

use super::Style;
use super::table::{beside, fits, labelled, shorten_apart, table, wrap};
use crate::Clock;
use crate::answer::Answer;
use crate::facts::{self, QUANTILES, printable};
use crate::parts::{self, Row, Step};
use crate::phases::PhaseRow;
use crate::streams;
use crate::tail::{Times, legend};

/// Every table of times, and what the marks in them mean.
pub(super) fn times(result: &RunResult, style: Style) -> Vec<String> {
    let width = style.columns();
    let mut lines = beside(&latency(result), &phases(result), width);
    let tables = [
        outcomes(result, width),
        messages(result, width),
        parts("Endpoint", &parts::endpoints(result), style),
        parts("Address", &parts::addresses(result), style),
        parts("Group", &parts::groups(result), style),
    ];
    for table in tables.into_iter().filter(|table| !table.is_empty()) {
        lines.push(String::new());
        lines.extend(table);
    }
    let phases = crate::phases::phases(result).filter_map(|row| Some((row.short?, row.words)));
    let unclear = phases.filter(|(name, _)| EXPLAINED.contains(name));
    let meant: Vec<String> =
        unclear.map(|(name, words)| format!("{name}: {}", words.trim_start())).collect();
    if !meant.is_empty() {
        lines.extend(wrap("", "", &meant.join("; "), width));
    }
    let answer = Answer::of(result);
    let notes = footnote(lines.iter().map(String::as_str).chain(answer.lines()), width);
    lines.extend(notes);
    lines
}

/// Phases whose names don't say what they are.
const EXPLAINED: [&str; 3] = ["blocked", "lateness", "stalled"];

/// What a run with several loads has to say first: each by itself.
pub(super) fn stages(result: &RunResult, style: Style) -> Vec<String> {
    let steps = parts::steps(result);
    if steps.is_empty() {
        return Vec::new();
    }
    let mut head = vec![format!("Stage ({})", steps.len())];
    head.extend(["target/s", "achieved/s"].map(str::to_owned));
    head.extend(COUNTS_AND_TIMES.map(str::to_owned));
    let row = |(step, name): (&Step, String)| {
        let achieved = step.achieved_rps.map_or_else(|| "-".to_owned(), format_rate);
        let mut cells = vec![name, format_rate(step.target_rps), achieved];
        cells.extend(counts_and_times(&step.row, style));
        cells
    };
    let names = names(steps.iter().map(|step| &step.row), style);
    let shown = steps.iter().zip(names).map(row);
    let mut rows: Vec<Vec<String>> = std::iter::once(head).chain(shown).collect();
    if !fits(&rows, style.columns()) {
        // The name of a stage has its rates, too, so these go below rather than the maximum.
        rows.iter_mut().for_each(|row| row[TARGET_AT..].rotate_left(1));
    }
    let mut lines = table(&rows, 1, style.columns());
    lines.extend(more(steps.len()));
    let clock = Clock::HEADLINE.name();
    let text = format!("times are the {clock}; the figures below are over all stages");
    lines.extend(wrap("", "", &text, style.columns()));
    lines
}

/// The column of the target rate in the table of stages.
const TARGET_AT: usize = 1;

/// Rows of a table of parts; of more, only their number is shown.
const PARTS_SHOWN: usize = 12;

const COUNTS_AND_TIMES: [&str; 5] = ["scheduled", "not ok", "p50", "p99", "max"];

/// What the other columns of a table of parts take, and the least that a name may.
const FIGURES_ROOM: usize = 56;
const NAME_ROOM: usize = 20;

fn more(rows: usize) -> Option<String> {
    let more = rows.saturating_sub(PARTS_SHOWN);
    (more > 0).then(|| format!("and {more} more"))
}

fn parts(label: &str, rows: &[Row], style: Style) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut head = vec![label.to_owned()];
    head.extend(COUNTS_AND_TIMES.map(str::to_owned));
    let line = |(row, name): (&Row, String)| {
        let mut cells = vec![name];
        cells.extend(counts_and_times(row, style));
        cells
    };
    let shown = rows.iter().zip(names(rows.iter(), style)).map(line);
    let rows_shown: Vec<Vec<String>> = std::iter::once(head).chain(shown).collect();
    let mut lines = table(&rows_shown, 1, style.columns());
    lines.extend(more(rows.len()));
    lines
}

/// The names of the rows that are shown. Names of any length leave room for the figures.
fn names<'r>(rows: impl Iterator<Item = &'r Row>, style: Style) -> Vec<String> {
    let room = style.columns().saturating_sub(FIGURES_ROOM).max(NAME_ROOM);
    let shown = rows.take(PARTS_SHOWN).map(|row| printable(&row.name));
    shorten_apart(&shown.collect::<Vec<String>>(), room)
}

fn counts_and_times(row: &Row, style: Style) -> [String; 5] {
    let not_ok = short_count(row.not_ok);
    let not_ok = if row.not_ok > 0 { style.bad(&not_ok) } else { not_ok };
    let max = row.max.clone().unwrap_or_else(|| "-".to_owned());
    [short_count(row.scheduled), not_ok, row.p50.words(), row.p99.words(), max]
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
    let times = clocks.map(|clock| Times::of_run(clock, result));
    let plain = |label: &str, values: [Option<String>; 2]| {
        row(label, values.map(|value| (value.unwrap_or_else(|| "-".to_owned()), String::new())))
    };
    let [min, mean, max] = [
        histograms.map(|histogram| histogram.min_ns().map(format_ns)),
        [times[0].mean(), times[1].mean()],
        [times[0].max(), times[1].max()],
    ];
    let mut lines = vec![
        row("Latency", clocks.map(|clock| (clock.name().to_owned(), "slower".to_owned()))),
        row("", clocks.map(|clock| (facts::origin(clock, &result.plan).to_owned(), String::new()))),
        plain("min", min),
        plain("mean", mean),
    ];
    for (label, per_10k) in QUANTILES {
        let cells = [&times[0], &times[1]].map(|times| quantile_cell(times, per_10k));
        lines.push(row(label, cells));
    }
    lines.push(plain("max", max));
    let samples = |histogram: &Histogram| (format_count(histogram.count()), String::new());
    lines.push(row("n", histograms.map(samples)));
    lines
}

/// What the marks mean, those that are used in the lines, and the column of slower requests.
pub(super) fn footnote<'l>(lines: impl Iterator<Item = &'l str>, width: usize) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut lines = lines.peekable();
    if lines.peek().is_some_and(|line| line.contains("slower")) {
        notes.push("slower: how many requests took longer".to_owned());
    }
    notes.extend(legend(lines));
    if notes.is_empty() { notes } else { wrap("", "", &notes.join("; "), width) }
}

fn quantile_cell(times: &Times<'_>, per_10k: u64) -> (String, String) {
    if times.is_empty() {
        return ("-".to_owned(), String::new());
    }
    let tail = times.tail(per_10k);
    (tail.words(), short_count(tail.beyond))
}

/// When the messages of calls came, where calls stream.
fn messages(result: &RunResult, width: usize) -> Vec<String> {
    let row = |streams::Row { name, times, .. }: streams::Row<'_>| {
        let mut cells = vec![name.to_owned(), format_count(times.count())];
        cells.extend(times.spread("-"));
        cells
    };
    let rows: Vec<Vec<String>> = streams::rows(result).map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = ["Messages", "count", "p50", "p99", "max"].map(str::to_owned).to_vec();
    let mut lines = table(&std::iter::once(head).chain(rows).collect::<Vec<_>>(), 1, width);
    lines.extend(streams::missing(result).into_iter().flat_map(|note| wrap("", "", &note, width)));
    lines
}

/// Median, 99th percentile and maximum of times that nothing is in doubt about.
pub(super) fn spread(histogram: &Histogram) -> [String; 3] {
    Times::sure(histogram).spread("-")
}

/// The phases that took time, and whose requests' they are. The lag is shown as its two parts.
fn phases(result: &RunResult) -> Vec<String> {
    let row = |row: PhaseRow<'_>| {
        let cells = row.times(result).spread("-").map(|cell| format!("{cell:>10}"));
        Some(format!("{:<10}{}", row.short?, cells.concat()))
    };
    let rows: Vec<String> = crate::phases::phases(result).filter_map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    let head = format!("{:<10}{:>10}{:>10}{:>10}", "Phases", "p50", "p99", "max");
    let ledger = &result.ledger;
    let unsent = ledger.unsent + ledger.shed > 0;
    let note = unsent.then(|| "of the requests that were sent".to_owned());
    std::iter::once(head).chain(rows).chain(note).collect()
}

/// Response times by outcome, where there was more than one.
fn outcomes(result: &RunResult, width: usize) -> Vec<String> {
    let by = &result.by_outcome;
    let rows = [("ok", &by.ok), ("failed", &by.failed), ("incomplete", &by.incomplete)];
    let row = |label: &str, histogram: &Histogram| {
        let mut cells = vec![label.to_owned(), format_count(histogram.count())];
        cells.extend(Times::of_some(Figure::Response, histogram, result).spread("-"));
        cells
    };
    let present = rows.iter().filter(|(_, histogram)| !histogram.is_empty());
    let mut rows: Vec<Vec<String>> =
        present.map(|(label, histogram)| row(label, histogram)).collect();
    if rows.len() < 2 {
        return Vec::new();
    }
    rows.insert(0, ["Outcome", "count", "p50", "p99", "max"].map(str::to_owned).to_vec());
    let mut lines = table(&rows, 1, width);
    if !by.incomplete.is_empty() {
        let text = "incomplete: no whole response; counted with the time they had waited";
        lines.extend(wrap("", "", text, width));
    }
    lines
}
