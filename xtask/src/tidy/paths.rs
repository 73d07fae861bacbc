//! The paths in a file's code: which names of the crate's root it reaches, and what a root
//! re-exports.

use std::collections::{BTreeMap, BTreeSet};

use super::source::Source;

/// A name of the crate's root that code reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached<'a> {
    pub(super) name: &'a str,
    /// Counted from 1.
    pub(super) line: usize,
}

/// A word of code: an identifier, `::`, or any other character.
#[derive(Debug, Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// The tokens of a file outside of its tests.
fn tokens<'a>(source: &'a Source<'_>) -> Vec<Token<'a>> {
    let lines = source.code.iter().zip(&source.is_test).enumerate();
    let code = lines.filter(|(_, (_, is_test))| !**is_test);
    code.flat_map(|(index, (code, _))| tokens_of(code, index + 1)).collect()
}

fn tokens_of(code: &str, line: usize) -> Vec<Token<'_>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let bytes = match first {
            _ if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (text, behind) = rest.split_at(bytes);
        tokens.push(Token { text, line });
        rest = behind.trim_start();
    }
    tokens
}

/// The names of the crate's root that a file reaches. `depth` is how many modules lie between the
/// file and the root; in the root itself, the names of `rooms` need no `crate` before them.
pub(super) fn reached<'a>(
    source: &'a Source<'_>,
    depth: usize,
    rooms: &BTreeSet<&str>,
) -> Vec<Reached<'a>> {
    let tokens = tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut reached = Vec::new();
    // Of each inline module that is open, how many braces were open before its own.
    let mut inline: Vec<usize> = Vec::new();
    let mut braces = 0;
    for (at, token) in tokens.iter().enumerate() {
        let opens_path = text(at + 1) == "::" && (at == 0 || text(at - 1) != "::");
        let level = depth + inline.len();
        match token.text {
            "{" => {
                // `mod NAME {`
                if at >= 2 && text(at - 2) == "mod" {
                    inline.push(braces);
                }
                braces += 1;
            }
            "}" => {
                braces = braces.saturating_sub(1);
                inline.pop_if(|before| *before == braces);
            }
            "crate" if opens_path => reached.extend(firsts(&tokens, at + 2)),
            "super" if opens_path => {
                let supers = (0..).take_while(|n| text(at + 2 * n) == "super").count();
                if supers == level {
                    reached.extend(firsts(&tokens, at + 2 * supers));
                }
            }
            name if level == 0 && opens_path && rooms.contains(name) => {
                reached.push(Reached { name, line: token.line });
            }
            _ => {}
        }
    }
    reached
}

/// The first names of what stands at a position: a path, or a group of them in braces.
fn firsts<'a>(tokens: &[Token<'a>], at: usize) -> Vec<Reached<'a>> {
    let Some(first) = tokens.get(at) else { return Vec::new() };
    let found = |token: &Token<'a>| Reached { name: token.text, line: token.line };
    if first.text != "{" {
        return vec![found(first)];
    }
    let mut names = Vec::new();
    let mut depth = 0;
    for (token, before) in tokens[at + 1..].iter().zip(&tokens[at..]) {
        match token.text {
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            "self" | "," => {}
            _ if depth == 0 && ["{", ","].contains(&before.text) => names.push(found(token)),
            _ => {}
        }
    }
    names
}

/// The names that a crate's root re-exports, or just uses, each with the first name of the path it
/// comes from.
pub(super) fn exports<'a>(root: &'a Source<'_>) -> BTreeMap<&'a str, &'a str> {
    let tokens = tokens(root);
    let mut exports = BTreeMap::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "use" {
            leaves(&tokens, at + 1, &[], &mut exports);
        }
    }
    exports
}

/// Reads the tree of a `use` behind a path, and gives where it ends.
fn leaves<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    before: &[&'a str],
    exports: &mut BTreeMap<&'a str, &'a str>,
) -> usize {
    let mut path = before.to_vec();
    let mut alias = None;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "," | "}" | ";" => break,
            "::" | "crate" | "self" => {}
            "as" => alias = tokens.get(at + 1).map(|token| token.text),
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = leaves(tokens, at, &path, exports);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                }
                return at + 1;
            }
            name if alias.is_none() => path.push(name),
            _ => {}
        }
        at += 1;
    }
    if let (Some(first), Some(last)) = (path.first(), alias.or_else(|| path.last().copied())) {
        exports.insert(last, first);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_root_are_reached() {
        let rooms = BTreeSet::from(["a", "b"]);
        for (depth, text, want) in [
            (1, "use crate::a::A;", &["a"][..]),
            (1, "use crate::{a::{b, c}, d as e, f::*, self};", &["a", "d", "f"]),
            (1, "fn f(x: &crate::a::A) -> super::b::B { g::<crate::c::C>() }", &["a", "b", "c"]),
            (2, "use super::a::A;\nuse super::super::b::B;", &["b"]),
            (1, "mod m {\n use super::a;\n use super::super::b;\n}\nuse super::c;", &["b", "c"]),
            (1, "fn f() { { } }\nuse super::a;", &["a"]),
            (1, "use x::crate_a::b; use a::A; mod a;", &[]),
            (0, "mod a;\nuse a::A;\nfn f() { b::g(); c::h(); x::a::i() }", &["a", "b"]),
            (1, "use crate::*;", &["*"]),
        ] {
            let source = Source::new("crates/x/src/y.rs", text);
            let names: Vec<&str> =
                reached(&source, depth, &rooms).iter().map(|reached| reached.name).collect();
            assert_eq!(names, want, "{text}");
        }
    }

    #[test]
    fn a_root_names_where_its_names_come_from() {
        let text = "mod a;\npub use a::{A, deep::{B, C as D}, self as whole};\nuse crate::b::E;\n\
                    pub use std::fmt;\n#[cfg(test)]\nuse a::T;\n";
        let source = Source::new("crates/x/src/lib.rs", text);
        let want = [("A", "a"), ("B", "a"), ("D", "a"), ("E", "b"), ("fmt", "std"), ("whole", "a")];
        assert_eq!(exports(&source), BTreeMap::from(want));
    }
}
