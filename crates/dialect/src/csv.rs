//! Tables as comma-separated values (RFC 4180), names in the first line.
//!
//! Stricter than most readers: a row of another length, or a quote out of place, is more often a
//! mistake than meant, and a load test would send it a million times. Absent: other separators.

use plimsoll_core::template::Table;

/// The most columns.
const COLUMNS_MAX: usize = 1000;

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}, line {line}: {what}")]
pub struct CsvError {
    /// The file.
    pub path: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

/// Reads a table. A byte order mark is skipped, and so are empty lines.
///
/// # Errors
/// The first line that is not as RFC 4180 has it.
pub fn parse(path: &str, bytes: &[u8]) -> Result<Table, CsvError> {
    let error = |line, what: String| CsvError { path: path.to_owned(), line, what };
    let text = std::str::from_utf8(bytes).map_err(|failed| {
        let line = 1 + bytes[..failed.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        error(line, "it is not UTF-8: convert the file".to_owned())
    })?;
    let mut reader = Reader { rest: text.trim_start_matches('\u{feff}'), line: 1 };
    let mut columns = None;
    let mut rows = Vec::new();
    while let Some((line, row)) = reader.row().map_err(|(line, what)| error(line, what.into()))? {
        let Some(columns) = &columns else {
            check_names(&row).map_err(|what| error(line, what))?;
            columns = Some(row);
            continue;
        };
        if row.len() != Vec::len(columns) {
            let what = format!(
                "it has {} fields and the first line {}: give each row as many",
                row.len(),
                columns.len()
            );
            return Err(error(line, what));
        }
        rows.push(row);
    }
    let columns =
        columns.ok_or_else(|| error(1, "it is empty: name the columns here".to_owned()))?;
    Ok(Table { path: path.to_owned(), columns, rows })
}

fn check_names(names: &[String]) -> Result<(), String> {
    if names.len() > COLUMNS_MAX {
        return Err(format!("{} columns are too many: give {COLUMNS_MAX} at most", names.len()));
    }
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(format!("column {} has no name: give it one", place + 1));
        }
        if names[..place].contains(name) {
            return Err(format!("two columns are called '{name}': rename one"));
        }
    }
    Ok(())
}

/// What is wrong in a line.
type Fault = (usize, &'static str);

/// What is left to read.
struct Reader<'t> {
    rest: &'t str,
    line: usize,
}

impl Reader<'_> {
    /// The next row and the line it starts in; `None` at the end.
    fn row(&mut self) -> Result<Option<(usize, Vec<String>)>, Fault> {
        while let Some(rest) = line_break(self.rest) {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let start = self.line;
        let mut row = Vec::new();
        loop {
            row.push(self.field()?);
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                continue;
            }
            if let Some(rest) = line_break(self.rest) {
                self.rest = rest;
                self.line += 1;
            }
            return Ok(Some((start, row)));
        }
    }

    /// The next field; the comma or line break after it stays.
    fn field(&mut self) -> Result<String, Fault> {
        if let Some(rest) = self.rest.strip_prefix('"') {
            self.rest = rest;
            return self.quoted();
        }
        let end = self.rest.find([',', '\n', '"']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        if rest.starts_with('"') {
            return Err((self.line, "a quote inside a field: put the whole field into quotes"));
        }
        // The break after it may have two bytes.
        let field = if rest.is_empty() || rest.starts_with('\n') {
            field.strip_suffix('\r').unwrap_or(field)
        } else {
            field
        };
        self.rest = &self.rest[field.len()..];
        Ok(field.to_owned())
    }

    fn quoted(&mut self) -> Result<String, Fault> {
        let start = self.line;
        let mut field = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('"') else {
                return Err((start, "a quote that is not closed: close it, or double it"));
            };
            field.push_str(part);
            self.line += part.bytes().filter(|byte| *byte == b'\n').count();
            if let Some(rest) = rest.strip_prefix('"') {
                field.push('"');
                self.rest = rest;
                continue;
            }
            self.rest = rest;
            let is_over = rest.is_empty() || rest.starts_with(',') || line_break(rest).is_some();
            return is_over.then_some(field).ok_or((
                self.line,
                "something behind a closing quote: double a quote inside a field",
            ));
        }
    }
}

/// What follows a line break, if there is one. A carriage return at the very end is half of one.
fn line_break(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'));
    rest.or_else(|| (text == "\r").then_some(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let table = parse("t.csv", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        std::iter::once(table.columns).chain(table.rows).collect()
    }

    #[test]
    fn what_is_read() {
        for (text, want) in [
            ("a", vec![vec!["a"]]),
            ("a,b\n1,2\n", vec![vec!["a", "b"], vec!["1", "2"]]),
            ("a,b\r\n1,2\r\n", vec![vec!["a", "b"], vec!["1", "2"]]),
            ("\u{feff}a\n\n1\n\r\n2", vec![vec!["a"], vec!["1"], vec!["2"]]),
            ("a,b\n,\n", vec![vec!["a", "b"], vec!["", ""]]),
            ("a\n\"\"\n", vec![vec!["a"], vec![""]]),
            ("a\n\"x, \"\"y\"\"\n\r\nz\"", vec![vec!["a"], vec!["x, \"y\"\n\r\nz"]]),
            ("a, b \n x,ä", vec![vec!["a", " b "], vec![" x", "ä"]]),
            ("a\n1\r2\n", vec![vec!["a"], vec!["1\r2"]]),
            ("a\n1\r", vec![vec!["a"], vec!["1"]]),
        ] {
            assert_eq!(rows(text), want, "{text:?}");
        }
    }

    #[test]
    fn what_is_refused_says_where() {
        for (text, line, says) in [
            (&b""[..], 1, "empty"),
            (b"\n\n", 1, "empty"),
            (b"a,b\n1,2\n\n3\n", 4, "1 fields and the first line 2"),
            (b"a\n1,2", 2, "2 fields"),
            (b"a,\n", 1, "column 2 has no name"),
            (b"a,b,a\n", 1, "two columns are called 'a'"),
            (b"a\nx\"y\"\n", 2, "whole field into quotes"),
            (b"a\n\"x\ny\n", 2, "not closed"),
            (b"a\n\"x\ny\"z\n", 3, "behind a closing quote"),
            (b"a\n1\n\xff\n", 3, "UTF-8"),
        ] {
            let error = parse("dir/t.csv", text).map(|_| ()).expect_err("refused");
            assert_eq!(error.line, line, "{text:?}: {error}");
            let error = error.to_string();
            assert!(error.starts_with("dir/t.csv, line ") && error.contains(says), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let wide = vec!["x"; COLUMNS_MAX + 1].join(",");
        assert!(parse("t", wide.as_bytes()).unwrap_err().what.contains("too many"));
    }

    #[test]
    fn no_prefix_panics_and_rows_are_as_long_as_the_names() {
        let text = "\u{feff}a,\"b\"\"\",c\r\n1,\"x\ny\",\r\n\n\"\",é,\"\"\n";
        for end in 0..=text.len() {
            if let Ok(table) = parse("t", &text.as_bytes()[..end]) {
                assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
            }
        }
    }
}
