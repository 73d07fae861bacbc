//! Two searches side by side: what is shown about the new load line, and the two ends of each.

use std::io::{self, Write};

use plimsoll_core::find::{ContrastSide, Direction, SearchContrast};
use plimsoll_core::units::format_rate;

use super::words::plain_percent;
use crate::facts::printable;
use crate::markdown::escape::prose;
use crate::text::table::{table, wrap};
use crate::text::{Style, write_blocks};

/// The heads of [`row`].
const HEAD: [&str; 4] = ["Search", "meets", "does not meet", "file"];

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write_text(contrast: &SearchContrast, out: &mut dyn Write, style: Style) -> io::Result<()> {
    let (word, sentence) = headline(contrast);
    let mut head = wrap(&format!("{word} · "), "  ", &printable(&sentence), style.columns());
    for text in remarks(contrast) {
        head.extend(wrap("- ", "  ", &printable(&text), style.columns()));
    }
    let rows =
        [("base", &contrast.base), ("new", &contrast.new)].map(|(word, side)| row(word, side));
    let rows = std::iter::once(HEAD.map(str::to_owned)).chain(rows);
    let rows: Vec<Vec<String>> = rows.map(|row| row.map(|it| printable(&it)).to_vec()).collect();
    write_blocks(&[head, table(&rows, 1, style.columns())], out)
}

/// Writes the report in Markdown.
///
/// # Errors
/// Those of `out`.
pub fn write_markdown(contrast: &SearchContrast, out: &mut dyn Write) -> io::Result<()> {
    let (word, sentence) = headline(contrast);
    writeln!(out, "## {word}: {}\n", prose(&sentence))?;
    for text in remarks(contrast) {
        writeln!(out, "- {}", prose(&text))?;
    }
    writeln!(out, "\n| {} |\n|{}", HEAD.join(" | "), " --- |".repeat(HEAD.len()))?;
    for (word, side) in [("base", &contrast.base), ("new", &contrast.new)] {
        writeln!(out, "| {} |", row(word, side).map(|it| prose(&it)).join(" | "))?;
    }
    Ok(())
}

fn headline(contrast: &SearchContrast) -> (&'static str, String) {
    let rates = match (contrast.base.rate_rps, contrast.new.rate_rps) {
        (Some(base), Some(new)) => {
            let change = contrast.change.unwrap_or(0.0) * 100.0;
            format!(": {}/s and {}/s, {change:+.1} %", format_rate(base), format_rate(new))
        }
        _ => String::new(),
    };
    let sure = plain_percent(1.0 - contrast.alpha);
    match contrast.direction {
        Direction::Higher => {
            ("HIGHER", format!("the new load line is higher ({sure} sure){rates}"))
        }
        Direction::Lower => ("LOWER", format!("the new load line is lower ({sure} sure){rates}")),
        Direction::Unclear => {
            ("TOO CLOSE TO TELL", format!("the load lines may be the same{rates}"))
        }
    }
}

fn remarks(contrast: &SearchContrast) -> Vec<String> {
    let weak = |side: &ContrastSide| Some(format!("{}: {}", side.name, side.weakness.clone()?));
    let mut remarks: Vec<String> =
        [&contrast.base, &contrast.new].into_iter().filter_map(weak).collect();
    if contrast.direction == Direction::Unclear && remarks.is_empty() {
        let text = "neither rate that meets the objectives was shown to miss them on the other \
                    side: a smaller --step and a longer --hold tell lines apart that are closer";
        remarks.push(text.to_owned());
    }
    remarks.extend(contrast.differences.iter().map(|text| format!("not alike: {text}")));
    remarks
}

fn row(word: &str, side: &ContrastSide) -> [String; 4] {
    let rate = |rps: Option<f64>| rps.map_or_else(|| "–".to_owned(), |it| format_rate(it) + "/s");
    [word.to_owned(), rate(side.rate_rps), rate(side.fails_rps), side.name.clone()]
}

#[cfg(test)]
mod tests {
    use plimsoll_core::find::{CONTRAST_SCHEMA, Ending};

    use super::*;
    use crate::heads;

    fn side(name: &str, rate_rps: Option<f64>, fails_rps: Option<f64>) -> ContrastSide {
        let (name, ending) = (name.to_owned(), Ending::Found);
        ContrastSide { name, ending, rate_rps, fails_rps, weakness: None }
    }

    fn contrast(direction: Direction) -> SearchContrast {
        SearchContrast {
            schema: CONTRAST_SCHEMA.to_owned(),
            base: side("base.json", Some(1000.0), Some(1100.0)),
            new: side("new|\x1b.json", Some(800.0), None),
            direction,
            change: Some(-0.2),
            alpha: 0.1,
            differences: vec!["hold 60 s and 30 s".to_owned()],
        }
    }

    #[test]
    fn the_direction_comes_first_and_both_ends_follow() {
        let mut bytes = Vec::new();
        write_text(&contrast(Direction::Lower), &mut bytes, Style::default()).unwrap();
        insta::assert_snapshot!(heads::checked(String::from_utf8(bytes).unwrap()));
    }

    #[test]
    fn each_direction_has_its_words_and_text_from_outside_is_harmless() {
        for (direction, starts) in [
            (Direction::Higher, "## HIGHER: the new load line is higher"),
            (Direction::Lower, "## LOWER: "),
            (Direction::Unclear, "## TOO CLOSE TO TELL: the load lines may be the same"),
        ] {
            let mut bytes = Vec::new();
            write_markdown(&contrast(direction), &mut bytes).unwrap();
            let text = heads::checked(String::from_utf8(bytes).unwrap());
            assert!(text.starts_with(starts) && !text.contains('\x1b'), "{text}");
            assert_eq!(text.contains("a smaller --step"), direction == Direction::Unclear);
            let mut bytes = Vec::new();
            crate::json::write(&contrast(direction), &mut bytes).unwrap();
            let read: SearchContrast = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(read, contrast(direction));
        }
    }
}
