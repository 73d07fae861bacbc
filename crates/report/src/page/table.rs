//! The tables of a page. Every cell is escaped here, so no table can carry markup from outside.
//!
//! A table knows how wide its words are, and its style how much room there is. Where they do not
//! fit, its rows become cards in which every figure has its label beside it: see [`super::fit`].

use super::escape::Escaped;
use super::fit::{Fit, ROOM_EM, is_unbroken, of_figure, of_text, of_words};
use super::push;

/// How a column is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// Words, from the left.
    Text,
    /// Figures, from the right.
    Figure,
}

pub(crate) use Column::{Figure, Text};

pub(crate) struct Table<'a> {
    pub(crate) caption: &'a str,
    pub(crate) head: &'a [(&'a str, Column)],
    /// Cells. Em spaces before the first cell of a row are how deep it is indented.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) note: &'a str,
}

/// Before the first cell of a row: how deep it is indented.
pub(crate) const INDENT: char = '\u{2003}';

impl Table<'_> {
    pub(crate) fn write(&self, page: &mut String) {
        let looks: Vec<Look> = (0..self.head.len())
            .map(|column| Look::of(self.head[column], self.cells(column)))
            .collect();
        let fit = Fit::of(looks.iter().map(|look| look.widths_em));
        push(page, format_args!("<div class=\"table{}\">", fit.span()));
        push(page, format_args!("<table{}><caption>", fit.attributes("")));
        push(page, format_args!("{}</caption>", Escaped(self.caption)));
        if self.head.iter().any(|(name, _)| !name.is_empty()) {
            page.push_str("<thead><tr>");
            for (name, column) in self.head {
                let class = if *column == Figure { " class=\"n\"" } else { "" };
                push(page, format_args!("<th scope=\"col\"{class}>{}</th>", Escaped(name)));
            }
            page.push_str("</tr></thead>");
        }
        page.push_str("<tbody>\n");
        for row in &self.rows {
            page.push_str("<tr>");
            for (i, (cell, look)) in row.iter().zip(&looks).enumerate() {
                if i == 0 {
                    row_head(cell, look, page);
                    continue;
                }
                let label = if fit.may_stack() { self.head[i].0 } else { "" };
                push(page, format_args!("<td{}", look.class));
                if !label.is_empty() && !cell.is_empty() {
                    push(page, format_args!(" data-l=\"{}\"", Escaped(label)));
                }
                push(page, format_args!(">{}</td>", Escaped(cell)));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table>");
        if !self.note.is_empty() {
            push(page, format_args!("<p class=\"note\">{}</p>", Escaped(self.note)));
        }
        page.push_str("</div>\n");
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> + Clone {
        self.rows.iter().filter_map(move |row| row.get(column)).map(String::as_str)
    }
}

/// What the cells of a column have in common.
struct Look {
    class: &'static str,
    /// The least width at which it is readable, in the table and on a card.
    widths_em: [f64; 2],
}

impl Look {
    fn of<'a>(
        (name, column): (&str, Column),
        cells: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        let widest = |of: fn(&str) -> f64| cells.clone().map(of).fold(of_words(name), f64::max);
        if column == Figure {
            return Self { class: " class=\"n\"", widths_em: [widest(of_figure); 2] };
        }
        let width_em = widest(of_text);
        let (class, on_card_em) = match () {
            () if cells.clone().any(is_unbroken) => (" class=\"t w\"", 0.0),
            () if width_em >= ROOM_EM => (" class=\"t\"", 0.0),
            // All of it has room, so it need not be broken.
            () => (" class=\"s\"", widest(of_words)),
        };
        Self { class, widths_em: [width_em, on_card_em] }
    }
}

fn row_head(cell: &str, look: &Look, page: &mut String) {
    let text = cell.trim_start_matches(INDENT);
    let depth = cell.chars().take_while(|&c| c == INDENT).count();
    let style =
        if depth > 0 { format!(" style=\"padding-left:{depth}em\"") } else { String::new() };
    let class = if look.class.ends_with("w\"") { " class=\"w\"" } else { "" };
    push(page, format_args!("<th scope=\"row\"{class}{style}>{}</th>", Escaped(text)));
}

pub(crate) fn pairs(caption: &str, rows: Vec<(&str, String)>, page: &mut String) {
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    Table { caption, head: &[("", Text), ("", Text)], rows, note: "" }.write(page);
}

/// Names and values that few readers need: folded away on screen, all there on paper. `line` sums
/// them up.
pub(crate) fn folded(title: &str, line: &str, rows: Vec<(String, String)>, page: &mut String) {
    let (title, line) = (Escaped(title), Escaped(line));
    push(page, format_args!("<details class=\"host\"><summary>{title}: {line}</summary>\n"));
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]).collect();
    Table { caption: "", head: &[("", Text), ("", Text)], rows, note: "" }.write(page);
    page.push_str("</details>\n");
}

/// Text from outside as far as a page shows it.
const TEXT_SHOWN: usize = 400;

pub(crate) fn clipped(text: &str) -> String {
    if text.chars().nth(TEXT_SHOWN).is_none() {
        return text.to_owned();
    }
    text.chars().take(TEXT_SHOWN).chain(['…']).collect()
}
