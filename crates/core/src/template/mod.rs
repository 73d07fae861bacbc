//! Templates: text with places that are filled anew for each request.
//!
//! [`parse`] reads the text, [`Compiler`] finds the tables it takes values from, and a [`Template`]
//! writes it for a request's number. The output is a function of the seed and the number alone, so
//! it does not depend on the number of workers. Absent on purpose: the time, which would make two
//! runs differ, and any computing.

mod encoding;
mod fill;
mod table;

#[cfg(test)]
mod tests;

pub use encoding::Encoding;
pub use fill::{Compiler, TableColumn, Template};
pub use table::Table;

/// The most digits of `{{random_hex N}}`.
const HEX_DIGITS_MAX: u32 = 1024;

/// A piece of a template's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Written as it stands.
    Text(String),
    /// `{{seq}}`: the request's number, from 0.
    Seq,
    /// `{{uuid}}`: a random UUID (version 4 of RFC 9562).
    Uuid,
    /// `{{random FROM TO}}`: a whole number, both ends included.
    Random {
        /// The smallest.
        from: i64,
        /// The largest.
        to: i64,
    },
    /// `{{random_hex N}}`: random hexadecimal digits.
    RandomHex {
        /// How many, from 1 to 1024.
        digits: u32,
    },
    /// `{{csv:FILE:COLUMN}}`: a value of a table. Rows are taken in turn, by the request's number,
    /// or `{{csv:FILE:COLUMN random}}` by chance; within one request it is the same row everywhere.
    /// Further words say how a value is written: `raw`, `form`, `json`, `path` or `query`.
    Csv {
        /// The file.
        table: String,
        /// The name of the column.
        column: String,
        /// Whether the row is a random one.
        random: bool,
        /// How values are written, where that is not left to the place.
        encoding: Option<Encoding>,
    },
}

/// Why a text is no template, or cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It has an opening without an end.
    #[error("'{0}' opens a template that is not closed: {OTHERWISE}")]
    Open(String),
    /// What stands between the braces is not known.
    #[error("'{{{{{0}}}}}' is not a template: write {KNOWN}; {OTHERWISE}")]
    Unknown(String),
    /// What follows a name does not fit it.
    #[error("'{{{{{given}}}}}' cannot be filled: write {wanted}")]
    Arguments {
        /// What stands between the braces.
        given: String,
        /// What would do.
        wanted: &'static str,
    },
    /// The table is not in the plan.
    #[error("{0} is not among the plan's tables")]
    Table(String),
    /// The table has no such column.
    #[error("{table} has no column '{column}': {advice}")]
    Column {
        /// The file.
        table: String,
        /// What was asked for.
        column: String,
        /// What was meant, or what there is.
        advice: String,
    },
    /// The table has no rows.
    #[error("{0} has no rows: write some below the names of its columns")]
    Empty(String),
}

const KNOWN: &str = "{{seq}}, {{uuid}}, {{random 1 100}}, {{random_hex 16}} or {{csv:FILE:COLUMN}}";

const OTHERWISE: &str = "for the braces themselves write '{{{{', or give --no-templates";

/// How much of what cannot be read is quoted.
const EXCERPT_CHARS: usize = 40;

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span<'t> {
    /// Stands for itself.
    Text(&'t str),
    /// A template, with its braces.
    Template(&'t str),
}

/// Cuts a text into templates and what is between them. `{{{{` stands for `{{`; a `}}` without its
/// beginning for itself.
///
/// # Errors
/// The first template that is not closed or not known.
pub fn spans(text: &str) -> Result<Vec<Span<'_>>, TemplateError> {
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, opened) = rest.split_at(at);
        if let Some(after) = opened.strip_prefix("{{{{") {
            // The first two of the four braces are text, the other two are left out.
            spans.push(Span::Text(&rest[..at + 2]));
            rest = after;
            continue;
        }
        let length = opened.find("}}").ok_or_else(|| TemplateError::Open(excerpt(opened)))? + 2;
        spans.extend((!before.is_empty()).then_some(Span::Text(before)));
        piece(&opened[..length])?;
        spans.push(Span::Template(&opened[..length]));
        rest = &opened[length..];
    }
    spans.extend((!rest.is_empty()).then_some(Span::Text(rest)));
    Ok(spans)
}

/// A template, braces and all, with its values encoded in this way if it takes them from a table
/// and does not say how itself.
#[must_use]
pub fn encoded(text: &str, encoding: &str) -> String {
    match piece(text) {
        Ok(Piece::Csv { encoding: None, .. }) => {
            let inside = text.strip_suffix("}}").unwrap_or(text).trim_end();
            format!("{inside} {encoding}}}}}")
        }
        _ => text.to_owned(),
    }
}

/// Reads a template.
///
/// # Errors
/// As [`spans`].
pub fn parse(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    for span in spans(text)? {
        match (span, pieces.last_mut()) {
            (Span::Text(text), Some(Piece::Text(before))) => before.push_str(text),
            (Span::Text(text), _) => pieces.push(Piece::Text(text.to_owned())),
            (Span::Template(text), _) => pieces.push(piece(text)?),
        }
    }
    Ok(pieces)
}

/// The files of the tables that a text takes values from.
///
/// # Errors
/// As [`parse`].
pub fn tables(text: &str) -> Result<Vec<String>, TemplateError> {
    let named = parse(text)?.into_iter().filter_map(|piece| match piece {
        Piece::Csv { table, .. } => Some(table),
        _ => None,
    });
    Ok(named.collect())
}

/// Reads one template, braces and all.
fn piece(text: &str) -> Result<Piece, TemplateError> {
    let inside = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
    let inside = inside.unwrap_or(text).trim();
    let fail = |wanted| Err(TemplateError::Arguments { given: excerpt(inside), wanted });
    if let Some(names) = inside.strip_prefix("csv:") {
        return csv(names).map_or_else(
            || fail("{{csv:FILE:COLUMN}}, or with ' random' or ' raw' at its end"),
            Ok,
        );
    }
    let words: Vec<&str> = inside.split_ascii_whitespace().collect();
    match words.as_slice() {
        ["seq"] => Ok(Piece::Seq),
        ["uuid"] => Ok(Piece::Uuid),
        ["random", bounds @ ..] => random(bounds)
            .map_or_else(|| fail("{{random FROM TO}} with whole numbers, the smaller first"), Ok),
        ["random_hex", digits] => {
            hex(digits).map_or_else(|| fail("{{random_hex N}} with 1 to 1024 digits"), Ok)
        }
        _ => Err(TemplateError::Unknown(excerpt(inside))),
    }
}

fn csv(names: &str) -> Option<Piece> {
    let (mut names, mut random, mut encoding) = (names, false, None);
    while let Some((before, word)) = names.rsplit_once(' ') {
        match Encoding::named(word) {
            _ if word == "random" && !random => random = true,
            Some(known) if encoding.is_none() => encoding = Some(known),
            _ => break,
        }
        names = before;
    }
    let (table, column) = names.rsplit_once(':')?;
    let (table, column) = (table.trim().to_owned(), column.trim().to_owned());
    (!table.is_empty() && !column.is_empty()).then_some(Piece::Csv {
        table,
        column,
        random,
        encoding,
    })
}

fn random(bounds: &[&str]) -> Option<Piece> {
    let [from, to] = bounds else { return None };
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some(Piece::Random { from, to })
}

fn hex(digits: &str) -> Option<Piece> {
    let digits = digits.parse().ok()?;
    (1..=HEX_DIGITS_MAX).contains(&digits).then_some(Piece::RandomHex { digits })
}

/// The beginning of what cannot be read, up to a quote: what follows one is a value, not a template
/// that was meant.
fn excerpt(text: &str) -> String {
    let start = text.split(['\n', '\r', '"', '\'']).next().unwrap_or_default();
    match start.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &start[..end]),
        None if start.len() < text.len() => format!("{start}…"),
        None => start.to_owned(),
    }
}
