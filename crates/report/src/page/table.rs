//! The tables of a page. Every cell is escaped here, so no table can carry markup from outside.

use super::escape::Escaped;
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
        push(
            page,
            format_args!(
                "<div class=\"table\"><table><caption>{}</caption>",
                Escaped(self.caption)
            ),
        );
        if self.head.iter().any(|(name, _)| !name.is_empty()) {
            page.push_str("<thead><tr>");
            for (name, column) in self.head {
                push(
                    page,
                    format_args!("<th scope=\"col\"{}>{}</th>", class(*column), Escaped(name)),
                );
            }
            page.push_str("</tr></thead>");
        }
        page.push_str("<tbody>\n");
        for row in &self.rows {
            page.push_str("<tr>");
            for (i, (cell, (_, column))) in row.iter().zip(self.head).enumerate() {
                if i == 0 {
                    row_head(cell, page);
                } else {
                    push(page, format_args!("<td{}>{}</td>", class(*column), Escaped(cell)));
                }
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody></table>");
        if !self.note.is_empty() {
            push(page, format_args!("<p class=\"note\">{}</p>", Escaped(self.note)));
        }
        page.push_str("</div>\n");
    }
}

fn row_head(cell: &str, page: &mut String) {
    let text = cell.trim_start_matches(INDENT);
    let depth = cell.chars().take_while(|&c| c == INDENT).count();
    let style =
        if depth > 0 { format!(" style=\"padding-left:{depth}em\"") } else { String::new() };
    push(page, format_args!("<th scope=\"row\"{style}>{}</th>", Escaped(text)));
}

fn class(column: Column) -> &'static str {
    if column == Figure { " class=\"n\"" } else { "" }
}

pub(crate) fn pairs(caption: &str, rows: Vec<(&str, String)>, page: &mut String) {
    let rows = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    Table { caption, head: &[("", Text), ("", Text)], rows, note: "" }.write(page);
}

/// Text from outside as far as a page shows it.
const TEXT_SHOWN: usize = 400;

pub(crate) fn clipped(text: &str) -> String {
    if text.chars().nth(TEXT_SHOWN).is_none() {
        return text.to_owned();
    }
    text.chars().take(TEXT_SHOWN).chain(['…']).collect()
}
