//! A comparison on a screen, as wide as the terminal and at most 100 columns: the decision first,
//! then one table. For one case the table has every measure. For several it has the measure that
//! decides each, and below it the other measures that differ.

use std::io::{self, Write};

use plimsoll_core::comparison::{CaseContrast, Contrast, Decision, Judged, SideFacts};
use plimsoll_core::units::format_count;

use super::{
    case_name, case_sentence, case_word, cells, count_sentence, decision_word, judged_change,
    legend, other_word, power_sentence,
};
use crate::facts::{counted, printable};
use crate::text::Style;
use crate::text::table::{labelled, shorten_apart, table, wrap};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(contrast: &Contrast, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let body = match contrast.cases.as_slice() {
        [case] => one(case, style.columns()),
        cases => several(cases, style),
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
    match contrast.cases.as_slice() {
        [] => vec![format!("{} · no case stands on both sides", style.bad("NOTHING"))],
        [case] => {
            let word = case_word(case).to_uppercase();
            let sentence = case_sentence(case);
            let lines = wrap(&format!("{word} · "), "  ", &printable(&sentence), style.columns());
            painted(lines, &word, case.decision, style)
        }
        _ => vec![count_sentence(contrast)],
    }
}

fn painted(mut lines: Vec<String>, word: &str, decision: Decision, style: Style) -> Vec<String> {
    if let Some(first) = lines.first_mut() {
        let rest = first.strip_prefix(word).unwrap_or_default().to_owned();
        *first = format!("{}{rest}", style.paint(color(decision), word));
    }
    lines
}

fn color(decision: Decision) -> &'static str {
    match decision {
        Decision::Better => "1;32",
        Decision::Worse => "1;31",
        Decision::CannotTell => "1;33",
    }
}

fn sides(contrast: &Contrast, style: Style) -> Vec<String> {
    let row = |side: &SideFacts| {
        let mut words = vec![printable(&side.name), counted(side.runs as u64, "run")];
        if !side.first_started_at.is_empty() {
            words.push(format!("begun {}", printable(&side.first_started_at)));
        }
        if side.last_started_at != side.first_started_at {
            words.push(format!("to {}", printable(&side.last_started_at)));
        }
        words.join(" · ")
    };
    let width = style.columns();
    let mut lines = wrap("Base      ", "          ", &row(&contrast.base), width);
    lines.extend(wrap("New       ", "          ", &row(&contrast.new), width));
    for difference in &contrast.differences {
        lines.extend(wrap("- ", "  ", &printable(&format!("unlike: {difference}")), width));
    }
    for note in &contrast.notes {
        lines.extend(wrap("- ", "  ", &printable(note), width));
    }
    if let [case] = contrast.cases.as_slice() {
        lines.extend(case.notes.iter().flat_map(|note| wrap("- ", "  ", &printable(note), width)));
    }
    lines
}

fn limits(contrast: &Contrast, style: Style) -> Vec<String> {
    let rows = |judged: &Judged| {
        let word = if judged.pass { "pass" } else { "FAIL" };
        let words =
            [case_name(&judged.server, &judged.load), judged.note.clone().unwrap_or_default()];
        let words: Vec<String> = words.into_iter().filter(|text| !text.is_empty()).collect();
        let first = format!("{word}  {:<18} {:>10}   ", judged.expr, judged_change(judged));
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
    let rows: Vec<String> = contrast.limits.iter().flat_map(rows).collect();
    labelled("Limits", &rows)
}

/// The room that a label takes.
const LABEL: &str = "          ";
/// What stands before the further lines of a limit.
const LIMIT_NOTE: &str = "                ";

/// Every measure of one case.
fn one(case: &CaseContrast, width: usize) -> Vec<String> {
    let row = |measure: String, cells: [String; 6], word: String| {
        let mut row = vec![measure];
        row.extend(cells);
        row.push(word);
        row
    };
    let head = ["base", "new", "ratio", "from", "to", "shows"].map(str::to_owned);
    let headline = &case.headline;
    let word = case_word(case).to_owned();
    let mut rows = vec![
        row("Measure".to_owned(), head, String::new()),
        row(headline.measure.to_string(), cells(headline), word),
    ];
    let others = case.others.iter();
    rows.extend(others.map(|it| row(it.measure.to_string(), cells(it), other_word(it))));
    let mut lines = table(&rows, 1, width);
    lines.extend(power_sentence(case).iter().flat_map(|text| wrap("", "", text, width)));
    lines
}

/// The most characters of a case's name.
const NAME_ROOM: usize = 25;

/// The deciding measure of each case.
fn several(cases: &[CaseContrast], style: Style) -> Vec<String> {
    if cases.is_empty() {
        return Vec::new();
    }
    let head = ["Case", "", "base", "new", "ratio", "from", "to", "shows", ""];
    let names = cases.iter().map(|case| case_name(&case.server, &case.load));
    let names: Vec<String> = names.map(|name| printable(&name)).collect();
    let row = |(case, name): (&CaseContrast, String)| {
        let mut row = vec![name, case.headline.measure.to_string()];
        row.extend(cells(&case.headline));
        row.push(style.paint(color(case.decision), case_word(case)));
        row
    };
    let rows: Vec<Vec<String>> = std::iter::once(head.map(str::to_owned).to_vec())
        .chain(cases.iter().zip(shorten_apart(&names, NAME_ROOM)).map(row))
        .collect();
    let mut rows = table(&rows, 2, style.columns()).into_iter();
    let mut lines: Vec<String> = rows.next().into_iter().collect();
    for (case, row) in cases.iter().zip(rows.by_ref()) {
        lines.push(row);
        lines.extend(others(case, style));
        lines.extend(
            case.notes
                .iter()
                .flat_map(|note| wrap("  - ", "    ", &printable(note), style.columns())),
        );
    }
    // The columns that did not fit beside the others.
    lines.extend(rows);
    lines
}

/// What else differs in a case of several, on one line where it fits.
fn others(case: &CaseContrast, style: Style) -> Vec<String> {
    let differs = case.others.iter().filter(|it| it.comparison.decision != Decision::CannotTell);
    let words: Vec<String> = differs
        .map(|other| {
            let [_, _, change, low, high, _] = cells(other);
            let word = decision_word(other.measure.measure, other.comparison.decision);
            format!("{} {word} {change} ({low} to {high})", other.measure)
        })
        .collect();
    if words.is_empty() {
        Vec::new()
    } else {
        wrap("  perhaps ", "    ", &words.join(", "), style.columns())
    }
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
