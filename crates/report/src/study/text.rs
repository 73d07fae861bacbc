//! A study, as wide as the terminal and at most 110 columns: the answer, the medians, how the
//! servers compare, and what to know before believing either.
//!
//! Absent on purpose: commands, logs and the full host, which the Markdown has.

use std::io::{self, Write};

use plimsoll_core::comparison::{Decision, Reason, against_baseline};
use plimsoll_core::study::{Case, Column, LoadFacts, Measure, Study};

use super::answer::answer;
use super::facts::{
    self, IN_DOUBT, NO_FIGURE, Row, change_words, decision_words, heading, interval_words,
    is_in_doubt, shown_words,
};
use super::notes::{self, Weight};
use super::standing::{
    VERDICT, has_left_out, sureness, unranked_words, verdict_legend, verdict_words,
};
use crate::facts::printable;
use crate::text::Style;
use crate::text::table::{self, shorten, table};

/// The most columns a line of a table takes, and the least there are.
const WIDTH: usize = 110;
const WIDTH_MIN: usize = 60;

/// The most a name takes of it.
const NAME: usize = 20;

/// What the other columns take that stand before the figures, and one figure.
const BESIDE_NAMES: usize = 46;

/// The most notes to show; of the others, the report gives the number.
const NOTES_SHOWN: usize = 12;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(study: &Study, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let mut blocks =
        vec![head(study, style), medians(study, style), spread(study, style), notes(study, style)];
    blocks.extend(facts::loads(study).map(|load| compared(study, load, style)));
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

fn head(study: &Study, style: Style) -> Vec<String> {
    let title = if study.title.is_empty() { &study.name } else { &study.title };
    let mut lines = vec![shorten(&printable(title), style.columns())];
    for sentence in answer(study) {
        let wrapped = wrap("", "  ", &printable(&sentence), style);
        lines.extend(wrapped.iter().map(|line| style.paint("1", line)));
    }
    if let Some(sure) = sureness(study) {
        lines.extend(wrap("", "  ", &format!("confidence: {}", printable(&sure)), style));
    }
    lines.extend(wrap("", "", &printable(&facts::setting_words(study).join(" · ")), style));
    lines
}

/// A text in lines as long as those of the other reports.
fn wrap(first: &str, next: &str, text: &str, style: Style) -> Vec<String> {
    table::wrap(first, next, text, style.columns())
}

/// The columns of a table, which has more to show than those of the other reports.
fn table_width(style: Style) -> usize {
    style.width.clamp(WIDTH_MIN, WIDTH)
}

/// A name of which two leave room for a verdict and a figure.
fn short_name(text: &str, style: Style) -> String {
    let room = (table_width(style) - BESIDE_NAMES) / 2;
    shorten(&printable(text), room.min(NAME))
}

/// A table with a row for each case, and for what was left out. Rows with runs of which nothing
/// counts stand out.
fn by_case(study: &Study, style: Style, value: impl Fn(&Case, &Column) -> String) -> Vec<String> {
    let name = |text: &str| short_name(text, style);
    let mut head: Vec<String> = ["#", "Load", "Server", VERDICT].map(str::to_owned).to_vec();
    head.extend(study.columns.iter().map(heading));
    let row = |row: &Row<'_>| {
        let mut line = vec![row.number.to_string(), name(row.load), name(row.server)];
        match &row.content {
            Ok(case) => {
                line.push(verdict_words(study, case));
                line.extend(study.columns.iter().map(|it| value(case, it)));
            }
            Err(_) => {
                line.push("skipped".to_owned());
                line.extend(study.columns.iter().map(|_| NO_FIGURE.to_owned()));
            }
        }
        line
    };
    let rows = facts::rows(study);
    let cells: Vec<Vec<String>> = std::iter::once(head).chain(rows.iter().map(row)).collect();
    let is_bad = |row: &Row<'_>| row.content.as_ref().is_ok_and(|case| has_left_out(case));
    // Its lines are the head and the rows, two that lead to the further columns, and the same once
    // more.
    let of_line = |at: usize| rows.get((at % (rows.len() + 3)).checked_sub(1)?);
    let paint = |(at, line): (usize, String)| match of_line(at).is_some_and(is_bad) {
        true => style.bad(&line),
        false => line,
    };
    table(&cells, 4, table_width(style)).into_iter().enumerate().map(paint).collect()
}

fn none() -> String {
    NO_FIGURE.to_owned()
}

fn medians(study: &Study, style: Style) -> Vec<String> {
    let value = |case: &Case, column: &Column| shown_words(case, column).unwrap_or_else(none);
    let mut lines = by_case(study, style, value);
    for row in &facts::rows(study) {
        if let Err(reason) = &row.content {
            let words = printable(&format!("{}: skipped: {reason}", row.number));
            lines.extend(wrap("", "  ", &words, style).iter().map(|line| style.bad(line)));
        }
    }
    let legends = std::iter::once(verdict_legend(study)).chain(facts::marks(study));
    for legend in legends.filter(|legend| !legend.is_empty()) {
        lines.extend(wrap("", "  ", &legend, style));
    }
    lines
}

/// Where the true medians lie, where no comparison says how sure anything is.
fn spread(study: &Study, style: Style) -> Vec<String> {
    if study.baseline.is_some() || study.repeats < 2 {
        return Vec::new();
    }
    let value = |case: &Case, column: &Column| interval_words(case, column).unwrap_or_else(none);
    let mut lines = by_case(study, style, value);
    lines.insert(0, "Where the true medians lie".to_owned());
    lines
}

fn notes(study: &Study, style: Style) -> Vec<String> {
    let notes = notes::notes(study);
    let mut lines = Vec::new();
    for note in notes.iter().take(NOTES_SHOWN) {
        let words = printable(&format!("{}: {}", note.about, note.text));
        let wrapped = wrap("- ", "  ", &words, style);
        let is_bad = note.weight >= Weight::Failed;
        lines
            .extend(wrapped.iter().map(|line| if is_bad { style.bad(line) } else { line.clone() }));
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES_SHOWN) {
        lines.push(format!("- and {more} more"));
    }
    lines
}

/// The heading of the differences that the runs can show.
const SHOWS: &str = "shows from";
const SHOWS_AT: usize = 4;

/// The servers under a load against the baseline.
fn compared(study: &Study, load: &LoadFacts, style: Style) -> Vec<String> {
    let Some(baseline) = &study.baseline else { return Vec::new() };
    let head = ["Server", "", "ratio, interval", "", SHOWS].map(str::to_owned);
    let mut rows = vec![head.to_vec()];
    let under = study.cases.iter().filter(|case| case.load == load.name);
    for case in under.filter(|case| !case.runs.is_empty()) {
        for measure in study.measures() {
            rows.extend(compared_row(study, case, measure, style));
        }
    }
    let unranked = unranked_words(study, &load.name);
    if rows.len() < 2 && unranked.is_none() {
        return Vec::new();
    }
    let title = printable(&format!("{}, against {baseline}", load.name));
    let mut lines = vec![style.paint("1", &shorten(&title, style.columns()))];
    for (server, answer) in facts::answers(study, &load.name) {
        lines.extend(wrap("", "  ", &printable(&format!("{server}: {answer}")), style));
    }
    let shows = rows.iter().skip(1).any(|row| row.last().is_some_and(|cell| !cell.is_empty()));
    if !shows {
        rows.iter_mut().for_each(|row| row.truncate(SHOWS_AT));
    }
    if rows.len() > 1 {
        lines.extend(table(&rows, 2, table_width(style)));
    }
    if shows {
        let text =
            format!("{SHOWS}: the smallest difference that the runs can show with this noise");
        lines.extend(wrap("", "  ", &text, style));
    }
    let unranked =
        unranked.map(|words| wrap("", "", &printable(&words), style)).unwrap_or_default();
    lines.extend(unranked.iter().map(|line| style.bad(line)));
    lines
}

fn compared_row(study: &Study, case: &Case, measure: Measure, style: Style) -> Option<Vec<String>> {
    let comparison = against_baseline(study, case, measure)?;
    let words = match comparison.reason {
        Some(Reason::NothingMeasured) if is_in_doubt(study, case, measure) => IN_DOUBT.to_owned(),
        Some(Reason::NothingMeasured) => return None,
        _ => decision_words(measure, &comparison),
    };
    let server = short_name(&case.server, style);
    // Only where the runs decided nothing does it matter what they could have shown.
    let undecided = comparison.decision == Decision::CannotTell;
    let shows = comparison.detectable.filter(|_| undecided).map(facts::share_words);
    let shows = shows.unwrap_or_default();
    Some(vec![server, facts::name(measure), change_words(&comparison), words, shows])
}
