//! A Rust file with its comments and literals blanked out, so that a check sees code only.
//!
//! This is a lexer, not a parser: it knows comments, strings, characters and braces. It finds
//! `#[cfg(test)]` and `fn` by a rule of thumb that holds for formatted code; macros that build
//! items out of unbalanced tokens would fool it.

/// A Rust file, line by line.
pub(super) struct Source<'a> {
    pub(super) path: &'a str,
    /// The lines as they are.
    pub(super) lines: Vec<&'a str>,
    /// The same lines with spaces for comments and for what strings and characters contain.
    pub(super) code: Vec<String>,
    /// Whether the line is part of a test.
    pub(super) is_test: Vec<bool>,
    /// Whether the line begins within a string.
    pub(super) in_string: Vec<bool>,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a str, text: &'a str) -> Self {
        let (masked, in_string) = mask(text);
        let code: Vec<String> = masked.lines().map(str::to_owned).collect();
        let is_test = if is_test_file(path) { vec![true; code.len()] } else { test_lines(&code) };
        Self { path, lines: text.lines().collect(), code, is_test, in_string }
    }

    /// The directory name of the crate the file belongs to.
    pub(super) fn crate_name(&self) -> &'a str {
        let path = self.path.strip_prefix("crates/").unwrap_or(self.path);
        path.split('/').next().unwrap_or(path)
    }
}

/// Whether everything in the file is test code: by its name or by the directory it is in.
fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests")
}

/// Finds a word: `needle` in `code` with no part of an identifier on either side. Sides of the
/// needle that are punctuation need no boundary.
pub(super) fn find_word(code: &str, needle: &str) -> Option<usize> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let opens = needle.starts_with(is_word);
    let closes = needle.ends_with(is_word);
    code.match_indices(needle).map(|(at, _)| at).find(|&at| {
        let before = code[..at].chars().next_back();
        let after = code[at + needle.len()..].chars().next();
        !(opens && before.is_some_and(is_word) || closes && after.is_some_and(is_word))
    })
}

/// Where the lexer is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Code,
    LineComment,
    /// How many comments deep.
    BlockComment(u32),
    /// A string with escapes.
    Str,
    /// A raw string, closed by a quote and this many hashes.
    RawStr(usize),
}

/// Blanks comments and literals; line breaks stay. Also tells of each line whether it begins
/// within a string.
fn mask(text: &str) -> (String, Vec<bool>) {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut in_string = vec![false];
    let mut place = Place::Code;
    let mut at = 0;
    while at < chars.len() {
        let (next, taken) = step(place, &chars, at);
        for &c in &chars[at..at + taken] {
            let keep = c == '\n' || (place == Place::Code && next == Place::Code && taken == 1);
            out.push(if keep { c } else { ' ' });
            if c == '\n' {
                in_string.push(matches!(next, Place::Str | Place::RawStr(_)));
            }
        }
        place = next;
        at += taken;
    }
    (out, in_string)
}

/// Reads at least one character: where the lexer is after it, and how many it took. A character
/// literal is taken whole.
fn step(place: Place, chars: &[char], at: usize) -> (Place, usize) {
    let next = chars.get(at + 1).copied();
    match (place, chars[at]) {
        (Place::Code, '/') if next == Some('/') => (Place::LineComment, 2),
        (Place::Code, '/') if next == Some('*') => (Place::BlockComment(1), 2),
        (Place::Code, '"') => (string_opened(chars, at), 1),
        (Place::Code, '\'') => (Place::Code, char_literal_len(chars, at)),
        (Place::LineComment, '\n') => (Place::Code, 1),
        (Place::BlockComment(depth), '/') if next == Some('*') => {
            (Place::BlockComment(depth + 1), 2)
        }
        (Place::BlockComment(1), '*') if next == Some('/') => (Place::Code, 2),
        (Place::BlockComment(depth), '*') if next == Some('/') => {
            (Place::BlockComment(depth - 1), 2)
        }
        (Place::Str, '\\') => (Place::Str, 2.min(chars.len() - at)),
        (Place::Str, '"') => (Place::Code, 1),
        (Place::RawStr(hashes), '"') if closes_raw(chars, at, hashes) => (Place::Code, 1 + hashes),
        _ => (place, 1),
    }
}

fn closes_raw(chars: &[char], at: usize, hashes: usize) -> bool {
    chars[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
}

/// Which kind of string the quote at `at` opens, by the prefix before it: `r`, `br` or `cr` and
/// any number of hashes make it raw.
fn string_opened(chars: &[char], at: usize) -> Place {
    let hashes = chars[..at].iter().rev().take_while(|&&c| c == '#').count();
    let prefix: String = chars[..at - hashes]
        .iter()
        .rev()
        .take_while(|c| c.is_alphanumeric() || **c == '_')
        .collect();
    match prefix.as_str() {
        "r" | "rb" | "rc" => Place::RawStr(hashes),
        _ => Place::Str,
    }
}

/// The length of the character literal at `at`; 1 when the quote begins a lifetime.
fn char_literal_len(chars: &[char], at: usize) -> usize {
    match (chars.get(at + 1), chars.get(at + 2)) {
        (Some('\\'), Some(_)) => {
            let close = chars[at + 3..].iter().position(|&c| c == '\'');
            close.map_or(1, |close| close + 4)
        }
        (Some(_), Some('\'')) => 3,
        _ => 1,
    }
}

/// Marks the items that stand under `#[cfg(test)]`.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut is_test = vec![false; code.len()];
    for (index, line) in code.iter().enumerate() {
        let Some(column) = line.find("#[cfg(test)]").or_else(|| line.find("#[cfg(all(test,"))
        else {
            continue;
        };
        let last = item_end(code, index, column).unwrap_or(code.len() - 1);
        is_test[index..=last].fill(true);
    }
    is_test
}

/// The line on which the item that starts at a position ends: at the first semicolon outside of
/// brackets, or where its first brace closes. `None` when the file ends first.
pub(super) fn item_end(code: &[String], line: usize, column: usize) -> Option<usize> {
    let mut brackets = 0u32;
    let mut braces = 0u32;
    for (index, text) in code.iter().enumerate().skip(line) {
        let from = if index == line { column } else { 0 };
        for c in text[from..].chars() {
            match c {
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets = brackets.saturating_sub(1),
                '{' => braces += 1,
                '}' if braces <= 1 => return Some(index),
                '}' => braces -= 1,
                ';' if brackets == 0 && braces == 0 => return Some(index),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked() {
        for (text, want) in [
            ("a // b\nc", "a \nc"),
            ("a /* b /* c */ d */ e", "a e"),
            ("f(\"x // y\") // z", "f( ) "),
            (r#"f("a\"b", c)"#, "f( , c)"),
            (r##"f(r#"a"b"#, c)"##, "f(r# , c)"),
            (r##"f(br"\", c)"##, "f(br , c)"),
            ("f('\"', b'\\'', '\\u{1F}', d)", "f( , b , , d)"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("\"a\nb\" c", " \n c"),
            ("\"open", " "),
            ("'", "'"),
            ("'\\", "'\\"),
        ] {
            let got = mask(text).0;
            assert_eq!(got.chars().count(), text.chars().count(), "{text}");
            let mut squeezed = got;
            while squeezed.contains("  ") {
                squeezed = squeezed.replace("  ", " ");
            }
            assert_eq!(squeezed, want, "{text}");
        }
    }

    #[test]
    fn lines_that_begin_within_a_string() {
        let text = "let a = \"one\ntwo\";\n// \"\nlet b = r\"\n\";\n";
        assert_eq!(Source::new("a.rs", text).in_string[..5], [false, true, false, false, true]);
    }

    #[test]
    fn test_code_is_known() {
        let text = "fn a() {}\n#[cfg(test)]\nuse x::{y, z};\nfn b() {}\n#[cfg(test)]\n\
            mod tests {\n    fn c() { d() }\n}\nfn e() {}\n#[cfg(test)]\nmod more;\nfn f() {}\n";
        let source = Source::new("crates/core/src/a.rs", text);
        let tests: Vec<&str> = (0..source.lines.len())
            .filter(|&line| source.is_test[line])
            .map(|line| source.lines[line])
            .collect();
        assert_eq!(
            tests,
            [
                "#[cfg(test)]",
                "use x::{y, z};",
                "#[cfg(test)]",
                "mod tests {",
                "    fn c() { d() }",
                "}",
                "#[cfg(test)]",
                "mod more;"
            ]
        );
    }

    #[test]
    fn test_files_are_known() {
        for (path, want) in [
            ("crates/core/src/plan/tests.rs", true),
            ("crates/cli/tests/e2e/main.rs", true),
            ("crates/core/src/contests.rs", false),
            ("crates/core/src/plan.rs", false),
        ] {
            assert_eq!(is_test_file(path), want, "{path}");
        }
    }

    #[test]
    fn words() {
        for (code, needle, want) in [
            ("Instant::now()", "Instant::now", Some(0)),
            ("std::time::Instant::now()", "Instant::now", Some(11)),
            ("MyInstant::now()", "Instant::now", None),
            ("Instant::nowhere()", "Instant::now", None),
            ("unsafe_code", "unsafe", None),
            ("a.unwrap_or(1).unwrap()", ".unwrap()", Some(14)),
        ] {
            assert_eq!(find_word(code, needle), want, "{code}");
        }
    }

    #[test]
    fn crates_are_known_by_their_directory() {
        for (path, want) in [
            ("crates/core/src/a.rs", "core"),
            ("xtask/src/main.rs", "xtask"),
            ("bench/bare/src/main.rs", "bench"),
        ] {
            assert_eq!(Source::new(path, "").crate_name(), want);
        }
    }
}
