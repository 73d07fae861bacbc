//! Field lines that go on in the next line (obs-fold, RFC 9112 section 5.2), and those that are
//! wrong.
//!
//! A client that receives a fold in a response replaces it by spaces. Folds are rare, so they are
//! looked for only in heads that cannot be read otherwise.
//!
//! Absent on purpose: folds in requests. A server refuses those.

use std::fmt;

use super::DecodeError;
use super::headers::{is_token_byte, is_value_byte};

/// How much of a line is kept: each connection has room for it.
const KEPT_BYTES: usize = 16;

/// The beginning of a field line that cannot be read: what stands before its value, which may be a
/// secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LineStart {
    bytes: [u8; KEPT_BYTES],
    length: u8,
    is_cut: bool,
}

impl LineStart {
    /// Nothing of a line.
    pub(super) const NONE: Self = Self { bytes: [0; KEPT_BYTES], length: 0, is_cut: false };

    /// What stands before the value of a line, and that something follows.
    pub(super) fn of(line: &[u8]) -> Self {
        let ends_name = |&byte: &u8| matches!(byte, b':' | b'=');
        let name = line.iter().position(ends_name).map_or(line.len(), |at| at + 1);
        let length = name.min(KEPT_BYTES);
        let mut bytes = [0; KEPT_BYTES];
        bytes[..length].copy_from_slice(&line[..length]);
        Self { bytes, length: length as u8, is_cut: length < line.len() }
    }
}

/// The bytes as text, what a terminal could take for a command escaped.
impl fmt::Display for LineStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = &self.bytes[..usize::from(self.length)];
        write!(f, "{}", bytes.escape_ascii())?;
        if self.is_cut { f.write_str("…") } else { Ok(()) }
    }
}

impl fmt::Debug for LineStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Where a fold begins and where the line goes on behind it, white space on both sides included.
fn next_fold(bytes: &[u8], from: usize) -> Option<(usize, usize)> {
    let is_space = |byte: u8| matches!(byte, b' ' | b'\t');
    let mut at = from;
    loop {
        at += bytes[at..].iter().position(|&byte| byte == b'\n')?;
        if bytes.get(at + 1).is_some_and(|&byte| is_space(byte)) {
            break;
        }
        at += 1;
    }
    let line_end = if at > from && bytes[at - 1] == b'\r' { at - 1 } else { at };
    let before = bytes[from..line_end].iter().rev().take_while(|&&byte| is_space(byte)).count();
    let behind = bytes[at + 1..].iter().take_while(|&&byte| is_space(byte)).count();
    Some((line_end - before, at + 1 + behind))
}

/// The same with a space in place of each fold; `None` without any.
pub(super) fn unfold(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut end, mut next) = next_fold(bytes, 0)?;
    let mut joined = Vec::with_capacity(bytes.len());
    let mut from = 0;
    loop {
        joined.extend_from_slice(&bytes[from..end]);
        // A line of white space alone adds nothing.
        if joined.last() != Some(&b' ') {
            joined.push(b' ');
        }
        from = next;
        match next_fold(bytes, from) {
            Some(fold) => (end, next) = fold,
            None => break,
        }
    }
    joined.extend_from_slice(&bytes[from..]);
    Some(joined)
}

/// Whether a field that says where a message ends, or whether its connection does, is folded.
/// Others may read it without what follows the fold.
pub(super) fn folds_framing(head: &[u8]) -> bool {
    const FRAMING: [&[u8]; 3] = [b"content-length", b"transfer-encoding", b"connection"];
    let mut name: &[u8] = &[];
    for line in head.split(|&byte| byte == b'\n') {
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            if FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing)) {
                return true;
            }
        } else {
            name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        }
    }
    false
}

/// Which field line of a head cannot be read, where the start line can.
pub(super) fn bad_line(head: &[u8]) -> DecodeError {
    let mut lines = head.split_inclusive(|&byte| byte == b'\n').skip(1);
    let bad = lines.find(|line| !is_field(line));
    bad.map_or(DecodeError::MalformedHead, |line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        DecodeError::MalformedField(LineStart::of(line))
    })
}

/// Whether a line is a field, or the blank line; one that is not whole may yet become one.
fn is_field(line: &[u8]) -> bool {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.is_empty() {
        return true;
    }
    let mut parts = text.splitn(2, |&byte| byte == b':');
    let (name, value) = (parts.next().unwrap_or_default(), parts.next());
    let is_whole = line.ends_with(b"\n");
    let is_name = name.iter().all(|&byte| is_token_byte(byte)) && !name.is_empty();
    is_name
        && match value {
            Some(value) => value.iter().all(|&byte| is_value_byte(byte)),
            None => !is_whole,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_becomes_a_space() {
        for (head, want) in [
            ("A: 1\r\n\t2\r\nB: 3\r\n\r\n", Some("A: 1 2\r\nB: 3\r\n\r\n")),
            ("A: 1 \t\r\n \t 2\n  3\r\n\r\n", Some("A: 1 2 3\r\n\r\n")),
            ("A:\r\n 1\r\n \r\n\t\r\n\r\n", Some("A: 1 \r\n\r\n")),
            ("A: 1\r\nB: 2\r\n\r\n", None),
            ("", None),
        ] {
            let joined = unfold(head.as_bytes()).map(|it| String::from_utf8(it).expect("text"));
            assert_eq!(joined.as_deref(), want, "{head:?}");
        }
    }

    #[test]
    fn what_stands_before_a_value_is_shown() {
        for (line, want) in [
            ("\"X-A\": one", "\\\"X-A\\\":…"),
            ("Set-Cookie : a=b", "Set-Cookie :…"),
            ("token=secret", "token=…"),
            ("\x1b[2J", "\\x1b[2J"),
            (&"x".repeat(40), &format!("{}…", "x".repeat(KEPT_BYTES))),
        ] {
            assert_eq!(LineStart::of(line.as_bytes()).to_string(), want, "{line:?}");
        }
    }
}
