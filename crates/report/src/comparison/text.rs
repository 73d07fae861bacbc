//! A comparison on a screen, as wide as the terminal and at most 100 columns: the limits first,
//! then what is known by measure, then how sure it is. For one case a table with every measure
//! follows, for several the figures of each.

use std::io::{self, Write};

use plimsoll_core::comparison::{CaseContrast, CaseDecision, Contrast, Judged, Outcome, SideFacts};
use plimsoll_core::units::format_count;

use super::answer::{Answer, Verdict, confidence, judged_change, outcome_word, unlike};
use super::words::{HEAD, cells, row_word};
use super::{case_name, count_sentence, figures_words, legend, side_words};
use crate::facts::printable;
use crate::text::Style;
use crate::text::table::{labelled, table, wrap};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(contrast: &Contrast, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let body = match contrast.cases.as_slice() {
        [case] => one(case, style.columns()),
        cases => cases.iter().flat_map(|case| of_several(case, style)).collect(),
    };
    let blocks = [
        head(contrast, style),
        sides(contrast, style),
        limits(contrast, style),
        body,
        foot(contrast, style),
    ];
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

fn head(contrast: &Contrast, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(verdict) = Verdict::of(contrast) {
        let color = outcome_color(verdict.outcome);
        lines.extend(painted("", &verdict.word, &verdict.sentence, color, style));
    }
    match contrast.cases.as_slice() {
        [] => lines.push(format!("{}: no case stands on both sides", style.bad("NOTHING"))),
        [case] => {
            let answer = Answer::of(case);
            let color = color(case.decision);
            lines.extend(painted("", &answer.word, &answer.sentence, color, style));
            let confidence = printable(&confidence(case, &contrast.settings));
            if !confidence.is_empty() {
                lines.extend(wrap("  ", "  ", &confidence, style.columns()));
            }
        }
        _ => lines.push(count_sentence(contrast)),
    }
    let unlike = unlike(contrast);
    lines.extend(unlike.flat_map(|text| wrap("  ", "  ", &printable(&text), style.columns())));
    lines
}

/// A word in its colour, and what follows it.
fn painted(before: &str, word: &str, sentence: &str, color: &str, style: Style) -> Vec<String> {
    let (first, next) = (format!("{before}{word}: "), format!("{before}  "));
    let mut lines = wrap(&first, &next, &printable(sentence), style.columns());
    if let Some(first) = lines.first_mut() {
        let rest = first[before.len()..].strip_prefix(word).unwrap_or_default();
        *first = format!("{before}{}{rest}", style.paint(color, word));
    }
    lines
}

fn color(decision: CaseDecision) -> &'static str {
    match decision {
        CaseDecision::Better => "1;32",
        CaseDecision::Worse => "1;31",
        CaseDecision::Mixed | CaseDecision::CannotTell => "1;33",
        CaseDecision::Alike => "1",
    }
}

fn outcome_color(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "1;32",
        Outcome::Undecided => "1;33",
        Outcome::Failed => "1;31",
    }
}

fn sides(contrast: &Contrast, style: Style) -> Vec<String> {
    let row = |side: &SideFacts| printable(&side_words(side).join(" · "));
    let width = style.columns();
    let mut lines = wrap("Base      ", "          ", &row(&contrast.base), width);
    lines.extend(wrap("New       ", "          ", &row(&contrast.new), width));
    for note in &contrast.notes {
        lines.extend(wrap("- ", "  ", &printable(note), width));
    }
    if let [case] = contrast.cases.as_slice() {
        lines.extend(case.notes.iter().flat_map(|note| wrap("- ", "  ", &printable(note), width)));
    }
    lines
}

/// The limits, where the head does not say all about them.
fn limits(contrast: &Contrast, style: Style) -> Vec<String> {
    let rows = |judged: &Judged| {
        let word = outcome_word(judged.outcome);
        let words =
            [case_name(&judged.server, &judged.load), judged.note.clone().unwrap_or_default()];
        let words: Vec<String> = words.into_iter().filter(|text| !text.is_empty()).collect();
        let first = format!("{word:<9}  {:<18} {:>10}   ", judged.expr, judged_change(judged));
        let lines = wrap(
            &format!("{LABEL}{first}"),
            LIMIT_NOTE,
            &printable(&words.join(": ")),
            style.columns(),
        );
        let lines = lines.into_iter().map(|line| line[LABEL.len()..].to_owned());
        let paint = |line: String| if judged.pass { line } else { style.bad(&line) };
        lines.map(paint).collect::<Vec<String>>()
    };
    if contrast.limits.len() < 2 {
        return Vec::new();
    }
    let rows: Vec<String> = contrast.limits.iter().flat_map(rows).collect();
    labelled("Limits", &rows)
}

/// The room that a label takes.
const LABEL: &str = "          ";
/// What stands before the further lines of a limit.
const LIMIT_NOTE: &str = "                     ";

/// Every measure of one case.
fn one(case: &CaseContrast, width: usize) -> Vec<String> {
    let row = |measure: String, cells: [String; 6], word: String| {
        let mut row = vec![measure];
        row.extend(cells);
        row.push(word);
        row
    };
    let decisive = case.failures().map(|it| it.measure);
    let head = row("Measure".to_owned(), HEAD.map(str::to_owned), String::new());
    let rows = case.measures().into_iter().map(|it| {
        let word = row_word(it, decisive == Some(it.measure));
        row(it.measure.to_string(), cells(it), word)
    });
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    table(&rows, 1, width)
}

/// One case of several: what is known, the figures, and what to know about them.
fn of_several(case: &CaseContrast, style: Style) -> Vec<String> {
    let width = style.columns();
    let name = printable(&case_name(&case.server, &case.load));
    let mut lines = wrap("", "  ", &name, width);
    let answer = Answer::of(case);
    lines.extend(painted("  ", &answer.word, &answer.sentence, color(case.decision), style));
    let figures = figures_words(case);
    if !figures.is_empty() {
        lines.extend(wrap("  ", "    ", &printable(&figures), width));
    }
    lines.extend(case.notes.iter().flat_map(|note| wrap("  - ", "    ", &printable(note), width)));
    lines
}

fn foot(contrast: &Contrast, style: Style) -> Vec<String> {
    let mut lines: Vec<String> =
        legend(contrast).iter().flat_map(|text| wrap("", "", text, style.columns())).collect();
    let cases = contrast.cases.len();
    if cases > 1 {
        let by_chance = (1.0 - contrast.settings.confidence) * cases as f64;
        let text = format!(
            "Of {} cases without any difference chance calls {by_chance:.1} at most, on average.",
            format_count(cases as u64)
        );
        lines.extend(wrap("", "", &text, style.columns()));
    }
    lines
}
