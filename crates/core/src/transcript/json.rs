//! JSON with the values masked whose names mark them as secret, also where its end is missing.
//!
//! A number of up to three digits, `true`, `false` and `null` are shown under any name: statuses go
//! under names such as `code`, and none of these is a secret.

use crate::secret::Masks;

/// How long a number may be that is shown under the name of a secret.
const DIGITS_MAX: usize = 3;

/// The text with its secrets masked; all else stays as it is.
pub(super) fn masked(masks: &Masks, text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_secret = false;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => string_end(rest),
            '{' | '[' if is_secret => structure_end(rest),
            first if is_secret && !first.is_whitespace() && first != ':' => scalar_end(rest),
            first => first.len_utf8(),
        };
        let (token, after) = rest.split_at(end);
        rest = after;
        if first == ':' || first.is_whitespace() {
            shown.push_str(token);
        } else if is_secret {
            shown.push_str(&value(masks, token));
            is_secret = false;
        } else if first != '"' {
            shown.push_str(token);
        } else if after.trim_start().starts_with(':') {
            is_secret = masks.hides(inside(token));
            shown.push_str(token);
        } else {
            shown.push_str(&string(masks, token));
        }
    }
    shown
}

/// The value of a secret.
fn value(masks: &Masks, token: &str) -> String {
    let is_short = token.len() <= DIGITS_MAX && token.bytes().all(|byte| byte.is_ascii_digit());
    if is_short || ["true", "false", "null", "\"\""].contains(&token) {
        return token.to_owned();
    }
    format!("\"{}\"", masks.whole(inside(token)))
}

/// A string that is no secret as a whole, but may have one in it.
fn string(masks: &Masks, token: &str) -> String {
    let text = inside(token);
    // JSON within a string has its quotes escaped.
    let shown = match text.contains("\\\"") && masks.names_secret(text) {
        true => masks.whole(text),
        false => masks.text(&masks.urls_in(text)),
    };
    token.replacen(text, &shown, usize::from(!text.is_empty()))
}

/// A string without its quotes; the last one may be missing.
fn inside(token: &str) -> &str {
    let opened = token.strip_prefix('"').unwrap_or(token);
    if opened.len() == token.len() { token } else { opened.strip_suffix('"').unwrap_or(opened) }
}

/// Where the string ends that a text begins with.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Where the object or the list ends that a text begins with.
fn structure_end(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(letter) = text[at..].chars().next() {
        at += match letter {
            '"' => string_end(&text[at..]),
            letter => letter.len_utf8(),
        };
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Where the number or the word ends that a text begins with.
fn scalar_end(text: &str) -> usize {
    let is_end = |letter: char| letter.is_whitespace() || ",}]".contains(letter);
    let first = text.chars().next().map_or(0, char::len_utf8);
    text[first..].find(is_end).map_or(text.len(), |at| first + at)
}
