//! The header fields of a head that was already checked, scanned again on each call.

/// Iterates over the fields of a message head, in order: the name as sent, and the value without
/// the white space around it.
#[derive(Debug, Clone)]
pub struct Headers<'a> {
    lines: &'a [u8],
}

impl<'a> Headers<'a> {
    /// `head` is a whole head that a decoder accepted, start line included.
    #[must_use]
    pub fn of_head(head: &'a [u8]) -> Self {
        let mut headers = Self { lines: head };
        headers.line();
        headers
    }

    /// Takes the next line, without its line break; empty at the end.
    fn line(&mut self) -> &'a [u8] {
        let end = self.lines.iter().position(|&byte| byte == b'\n');
        let Some(end) = end else {
            return &[];
        };
        let (line, rest) = (&self.lines[..end], &self.lines[end + 1..]);
        self.lines = rest;
        line.strip_suffix(b"\r").unwrap_or(line)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = (&'a str, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.line();
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = std::str::from_utf8(&line[..colon]).ok()?;
        Some((name, trim_whitespace(&line[colon + 1..])))
    }
}

/// Removes the optional white space (RFC 9110 5.6.3) around a value.
pub(super) fn trim_whitespace(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = value {
        value = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Whether `byte` may stand in a token, such as a method or a field name (RFC 9110 5.6.2).
pub(super) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether `byte` may stand in a field value (RFC 9110 5.5): no control character but the tab.
pub(super) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
