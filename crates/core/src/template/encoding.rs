//! How values from tables are written: as they are, or encoded so that they cannot become anything
//! but a value. Whole columns are encoded before a run, so that a request only copies.

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Raw,
    /// Percent-encoded for a path (RFC 3986 section 3.3); slashes stay.
    Path,
    /// Percent-encoded for a parameter in a query (RFC 3986 section 3.4).
    Query,
    /// For `application/x-www-form-urlencoded` (WHATWG URL, section 5.2).
    Form,
    /// For the inside of a string in JSON (RFC 8259 section 7).
    Json,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Beside letters and digits: unreserved, sub-delims, and what else a path's segments may hold.
const IN_PATHS: &[u8] = b"-._~!$&'()*+,;=:@/";
/// The same of a query, without what separates parameters or stands for a space.
const IN_QUERIES: &[u8] = b"-._~!$'()*,:@/?";
/// What forms leave as it is.
const IN_FORMS: &[u8] = b"*-._";

impl Encoding {
    /// By the word for it in a template.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "raw" => Some(Self::Raw),
            "path" => Some(Self::Path),
            "query" => Some(Self::Query),
            "form" => Some(Self::Form),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Appends a value.
    pub fn write(self, value: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Raw => out.extend_from_slice(value),
            Self::Path => value.iter().for_each(|byte| percent(*byte, IN_PATHS, out)),
            Self::Query => value.iter().for_each(|byte| percent(*byte, IN_QUERIES, out)),
            Self::Form => value.iter().for_each(|byte| match byte {
                b' ' => out.push(b'+'),
                byte => percent(*byte, IN_FORMS, out),
            }),
            Self::Json => value.iter().for_each(|byte| json(*byte, out)),
        }
    }
}

fn percent(byte: u8, kept: &[u8], out: &mut Vec<u8>) {
    if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
        out.push(byte);
    } else {
        out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
    }
}

fn json(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        0..=0x1f => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]]);
        }
        byte => out.push(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_a_value_wherever_it_stands() {
        let value = "a&b=c d/é?#%+;\"\\\r\n\u{1}";
        for (encoding, want) in [
            (Encoding::Raw, value),
            (Encoding::Path, "a&b=c%20d/%C3%A9%3F%23%25+;%22%5C%0D%0A%01"),
            (Encoding::Query, "a%26b%3Dc%20d/%C3%A9?%23%25%2B%3B%22%5C%0D%0A%01"),
            (Encoding::Form, "a%26b%3Dc+d%2F%C3%A9%3F%23%25%2B%3B%22%5C%0D%0A%01"),
            (Encoding::Json, "a&b=c d/é?#%+;\\\"\\\\\\r\\n\\u0001"),
        ] {
            let mut out = Vec::new();
            encoding.write(value.as_bytes(), &mut out);
            assert_eq!(String::from_utf8_lossy(&out), want, "{encoding:?}");
        }
        let json: String = {
            let mut out = vec![b'"'];
            Encoding::Json.write(value.as_bytes(), &mut out);
            out.push(b'"');
            serde_json::from_slice(&out).expect("a string")
        };
        assert_eq!(json, value);
    }

    #[test]
    fn words() {
        for (word, want) in
            [("raw", Some(Encoding::Raw)), ("json", Some(Encoding::Json)), ("x", None)]
        {
            assert_eq!(Encoding::named(word), want);
        }
    }
}
