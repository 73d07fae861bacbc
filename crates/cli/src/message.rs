//! Messages on stderr: broken at words on a terminal, one line each for programs and logs.

use std::io::{self, IsTerminal as _, Write as _};

use plimsoll_report::escaped;
use plimsoll_report::text::wrap;

use crate::terminal::columns_of_stderr;

/// Writes a message to stderr. What of it a terminal could take for something other than text is
/// escaped, since messages repeat what files, servers and users said. A closed stderr is no reason
/// to stop.
pub(crate) fn show(text: &str) {
    let columns = io::stderr().is_terminal().then(columns_of_stderr);
    let text = shown(&without_error_numbers(text));
    let _ = writeln!(io::stderr(), "{}", broken(&text, columns));
}

/// A message with each of its lines escaped.
pub(crate) fn shown(text: &str) -> String {
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

/// The standard library ends the text of a system's error in ` (os error 2)`, which tells a reader
/// nothing.
pub(crate) fn without_error_numbers(text: &str) -> String {
    let mut pieces = text.split(" (os error ");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                kept += rest;
            }
            _ => kept = format!("{kept} (os error {piece}"),
        }
    }
    kept
}

/// A message as a terminal of this width shows it; `None` is not a terminal.
pub(crate) fn broken(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let broken = text.lines().flat_map(|line| match line.chars().count() > columns {
        true => {
            let words = line.trim_start();
            let indent = &line[..line.len() - words.len()];
            wrap(indent, &format!("{indent}  "), words, columns)
        }
        false => vec![line.to_owned()],
    });
    broken.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_errors_are_left_out() {
        for (text, want) in [
            ("no 'a': No such file (os error 2)", "no 'a': No such file"),
            ("a (os error 2): b (os error 13)\nc", "a: b\nc"),
            ("a file called (os error x) (os error 5", "a file called (os error x) (os error 5"),
            ("", ""),
        ] {
            assert_eq!(without_error_numbers(text), want);
        }
    }

    #[test]
    fn a_message_is_broken_at_words_on_a_terminal_alone() {
        let text = "plimsoll: no flag '--raet': did you mean '--rate'? (see --help)";
        for (text, columns, want) in [
            (text, None, text),
            (text, Some(80), text),
            (text, Some(40), "plimsoll: no flag '--raet': did you mean\n  '--rate'? (see --help)"),
            ("two\n  lines", Some(40), "two\n  lines"),
            ("\n  a b c d", Some(8), "\n  a b c\n    d"),
        ] {
            assert_eq!(broken(text, columns), want, "{columns:?}");
        }
    }
}
