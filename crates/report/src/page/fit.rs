//! How wide the columns of a table have to be, and the style that stacks its rows where they are
//! not.
//!
//! A style sheet cannot ask whether words fit, but it can ask how wide their container is. So the
//! width that a table needs is estimated here, from its words, and rounded up to one of a few
//! steps; the style of a step stacks the rows in a container that is narrower. The estimate is for
//! wide letters: with narrower ones a table stacks a little earlier than it had to, and is never
//! cut.

use std::fmt::Write as _;

/// Widths at which tables stack.
const STEPS_EM: [u32; 8] = [28, 36, 44, 54, 66, 77, 90, 999];

/// A table up to this width fits on the smallest phone, and on half a page of paper.
const NARROW_EM: f64 = 23.0;

/// What a column has room for where a page has two of them.
const HALF_EM: f64 = 36.0;

/// Between two columns.
const GAP_EM: f64 = 1.45;

/// A column of text is readable from this width on, and needs no more.
pub(crate) const ROOM_EM: f64 = 9.0;

/// A figure on a card takes this at least.
const LEAST_EM: f64 = 4.0;

/// Letters up to which a word is kept whole.
const WORD_KEPT: usize = 24;

/// The width of text that is not broken.
pub(crate) fn of_figure(text: &str) -> f64 {
    text.chars().map(of_letter).sum()
}

/// The width of a letter in DejaVu Sans, which has wider ones than other fonts of screens.
fn of_letter(letter: char) -> f64 {
    match letter {
        ' ' | '\u{a0}' | '\u{202f}' | '.' | ',' | ':' | ';' | '/' | '-' | '|' | '\'' => 0.36,
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | '(' | ')' | '[' | ']' | 'I' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '~' | '≥' | '≈' | '@' | '✓' | '✕' | '<' | '>' | '=' => {
            0.96
        }
        'A'..='Z' => 0.75,
        // Letters of other scripts are up to square.
        other if other > '\u{2e80}' => 1.0,
        _ => 0.64,
    }
}

/// The least width for text that is broken between words: that of its longest word, and enough for
/// a few of them.
pub(crate) fn of_text(text: &str) -> f64 {
    of_words(text).max(of_figure(text).min(ROOM_EM))
}

/// The width of the longest word that is kept whole.
pub(crate) fn of_words(text: &str) -> f64 {
    let kept = text.split_whitespace().filter(|word| word.chars().count() <= WORD_KEPT);
    kept.map(of_figure).fold(0.0, f64::max)
}

/// Whether a text has a word so long that it must be broken anywhere.
pub(crate) fn is_unbroken(text: &str) -> bool {
    text.split_whitespace().any(|word| word.chars().count() > WORD_KEPT)
}

/// The room that a table takes.
pub(crate) struct Fit {
    needed_em: f64,
    /// The widest figure, for cards.
    figure_em: f64,
}

impl Fit {
    /// Of a table whose columns have these widths, and these on a card; 0 is that of a line.
    pub(crate) fn of(columns_em: impl Iterator<Item = [f64; 2]>) -> Self {
        let mut fit = Self { needed_em: -GAP_EM, figure_em: LEAST_EM };
        for [width_em, on_card_em] in columns_em {
            fit.needed_em += width_em + GAP_EM;
            fit.figure_em = fit.figure_em.max(on_card_em);
        }
        fit
    }

    /// Whether there are screens too narrow for it.
    pub(crate) fn may_stack(&self) -> bool {
        self.needed_em > NARROW_EM
    }

    /// Attributes of the table with a space before them: the class that says below which width it
    /// stacks, besides others, and the width of a figure on its cards.
    pub(crate) fn attributes(&self, others: &str) -> String {
        if !self.may_stack() {
            return if others.is_empty() { String::new() } else { format!(" class=\"{others}\"") };
        }
        let step = STEPS_EM.into_iter().find(|step| f64::from(*step) >= self.needed_em);
        let step = step.unwrap_or(STEPS_EM[STEPS_EM.len() - 1]);
        let class = format!("{others} f{step}");
        format!(" class=\"{}\" style=\"--c:{:.1}em\"", class.trim_start(), self.figure_em)
    }

    /// The class of a table that needs the whole width of a page, with a space before it.
    pub(super) fn span(&self) -> &'static str {
        if self.needed_em > HALF_EM { " wide" } else { "" }
    }
}

/// The rules that stack the tables of each step.
pub(super) fn style() -> String {
    let mut style = String::new();
    for step in STEPS_EM {
        let rules = STACKED.trim_end();
        writeln!(style, "@container (max-width: {step}em) {{ .f{step} {{\n{rules}\n}} }}")
            .expect("writing to a string cannot fail");
    }
    style
}

/// A card for each row, with the name of its column before each cell. The heads stay for screen
/// readers, and those that sort stay for everybody.
const STACKED: &str = include_str!("stacked.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_decide_how_wide_a_table_is() {
        assert!((of_figure("12 345") - 5.0 * 0.64 - 0.36).abs() < 1e-9);
        let long = "a-word-of-more-than-twenty-four-letters";
        assert!(is_unbroken(long) && !is_unbroken("many short words, none of them long"));
        assert!((of_text(long) - ROOM_EM).abs() < 1e-9);
        assert!((of_text("many short words, none of them long") - ROOM_EM).abs() < 1e-9);
        let kept = "twenty-four-letters-long";
        assert!((of_text(kept) - of_figure(kept)).abs() < 1e-9 && of_figure(kept) > ROOM_EM);
        for (widths_em, attributes, span) in [
            (vec![5.0, 5.0], " class=\"a\"", ""),
            (vec![5.0; 4], " class=\"a f28\" style=\"--c:5.0em\"", ""),
            (vec![9.0, 5.0, 12.0, 8.0], " class=\"a f44\" style=\"--c:8.0em\"", " wide"),
            (vec![200.0], " class=\"a f999\" style=\"--c:4.0em\"", " wide"),
            (vec![2_000.0], " class=\"a f999\" style=\"--c:4.0em\"", " wide"),
        ] {
            let on_card_em = |em: f64| if em < ROOM_EM { em } else { 0.0 };
            let fit = Fit::of(widths_em.into_iter().map(|em| [em, on_card_em(em)]));
            assert_eq!((fit.attributes("a").as_str(), fit.span()), (attributes, span));
        }
        assert_eq!(Fit::of([[5.0, 5.0]].into_iter()).attributes(""), "");
    }

    #[test]
    fn every_step_has_its_style() {
        let style = style();
        for step in STEPS_EM {
            assert!(style.contains(&format!("@container (max-width: {step}em) {{ .f{step} {{")));
        }
    }
}
