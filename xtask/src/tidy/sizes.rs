//! Limits on size: lines in a file, lines in a function, columns in a line.

use super::Finding;
use super::source::{Source, find_word, item_end};

/// Lines outside tests above which a file is too long.
const FILE_LINES_MAX: usize = 1000;
/// Lines outside tests above which to ask whether a file is two.
const FILE_LINES_QUESTION: usize = 600;
/// Lines above which a function fails. The aim is 70; this ratchet may only be lowered.
const FUNCTION_LINES_MAX: usize = 100;
/// Characters in a line. rustfmt keeps code within it and leaves comments alone.
const COLUMNS_MAX: usize = 100;

/// What the length of a file says.
pub(super) enum Size {
    /// Nothing.
    Fine,
    /// Look at it.
    Question(Finding),
    /// Split it.
    TooLong(Finding),
}

/// The length of a file without its tests.
pub(super) fn file(source: &Source<'_>) -> Size {
    let lines = source.is_test.iter().filter(|is_test| !**is_test).count();
    let message = format!("{lines} lines without tests; aim at 100 to 400 and split by topic");
    let finding = Finding::new(source.path, 0, message);
    if lines > FILE_LINES_MAX {
        Size::TooLong(finding)
    } else if lines > FILE_LINES_QUESTION {
        Size::Question(finding)
    } else {
        Size::Fine
    }
}

/// Functions that are too long, from the line of `fn` to the closing brace. Tests are left alone:
/// the long ones are tables.
pub(super) fn functions(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.code.iter().enumerate() {
        let Some((name, column)) = function_named(line).filter(|_| !source.is_test[index]) else {
            continue;
        };
        let Some(end) = item_end(&source.code, index, column) else { continue };
        let lines = end - index + 1;
        if lines > FUNCTION_LINES_MAX {
            let message = format!("fn {name} has {lines} lines; the most is {FUNCTION_LINES_MAX}");
            findings.push(Finding::new(source.path, index + 1, message));
        }
    }
    findings
}

/// The function defined on a line and the column of its `fn`. A `fn(..)` type has no name and
/// does not count.
fn function_named(code: &str) -> Option<(&str, usize)> {
    let column = find_word(code, "fn")?;
    let rest = code[column + 2..].trim_start();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    (end > 0).then_some((&rest[..end], column))
}

/// Lines that are too wide. Data is left alone: lines within a string, and rows with strings in
/// the tables of tests, which rustfmt cannot break either.
pub(super) fn width(source: &Source<'_>) -> Vec<Finding> {
    let too_wide = |index: &usize| {
        let line = source.lines[*index];
        let is_data = source.in_string[*index] || source.is_test[*index] && line.contains('"');
        !is_data && line.chars().count() > COLUMNS_MAX
    };
    (0..source.lines.len())
        .filter(too_wide)
        .map(|index| {
            let message = format!("wider than {COLUMNS_MAX} columns");
            Finding::new(source.path, index + 1, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> &'static str {
        match file(&Source::new("crates/core/src/a.rs", text)) {
            Size::Fine => "fine",
            Size::Question(_) => "question",
            Size::TooLong(_) => "too long",
        }
    }

    #[test]
    fn files() {
        let tests = "#[cfg(test)]\nmod tests {\n".to_owned() + &"x();\n".repeat(5000) + "}\n";
        for (lines, want) in
            [(600, "fine"), (601, "question"), (1000, "question"), (1001, "too long")]
        {
            let text = "x();\n".repeat(lines);
            assert_eq!(size(&text), want, "{lines} lines");
            assert_eq!(size(&(text + &tests)), want, "{lines} lines and tests");
        }
    }

    #[test]
    fn long_functions() {
        let check = |text: &str| {
            let found = functions(&Source::new("crates/core/src/a.rs", text));
            found.into_iter().map(|finding| (finding.line, finding.message)).collect::<Vec<_>>()
        };
        let function = |lines: usize| {
            format!("\n    pub fn f(x: [u8; 4]) -> u8 {{\n{}    }}\n", "x;\n".repeat(lines - 2))
        };
        assert_eq!(check(&function(100)), []);
        assert_eq!(check(&function(101)), [(2, "fn f has 101 lines; the most is 100".to_owned())]);
        assert_eq!(check(&format!("#[cfg(test)]\nmod t {{{}}}", function(101))), []);
        assert_eq!(check("trait T {\nfn f();\n}\ntype F = fn(u8);\n"), []);
        let commented = format!("// fn f() {{\n{}", "x();\n".repeat(200));
        assert_eq!(check(&commented), []);
    }

    #[test]
    fn wide_lines() {
        let check = |text: &str| width(&Source::new("crates/core/src/a.rs", text)).len();
        let wide = "é".repeat(101);
        assert_eq!(check(&"é".repeat(100)), 0);
        assert_eq!(check(&format!("// {wide}")), 1);
        assert_eq!(check(&format!("f(\"{wide}\")")), 1);
        assert_eq!(check(&format!("f(\"\n{wide}\")")), 0, "a line of data");
        assert_eq!(
            check(&format!("#[cfg(test)]\nmod t {{\n(\"{wide}\", 1)\n}}")),
            0,
            "a row of data"
        );
        assert_eq!(check(&format!("#[cfg(test)]\nmod t {{\n// {wide}\n}}")), 1);
    }
}
