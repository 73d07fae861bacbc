//! The static table (RFC 7541 Appendix A).

/// Names and values; the first has index 1.
pub(super) const FIELDS: [(&[u8], &[u8]); 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// How a field stands in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Name and value, at this index.
    Field(usize),
    /// The name alone, first at this index.
    Name(usize),
    /// Not at all.
    Nothing,
}

/// Looks a field up. Linear: for use before the run, and for fields that no block was compiled of.
pub(super) fn find(name: &[u8], value: &[u8]) -> Found {
    let Some(first) = FIELDS.iter().position(|field| field.0 == name) else {
        return Found::Nothing;
    };
    let same_name = FIELDS[first..].iter().take_while(|field| field.0 == name);
    // A field without a value in the table stands for its name.
    let with_value = same_name.into_iter().position(|field| !value.is_empty() && field.1 == value);
    match with_value {
        Some(nth) => Found::Field(first + nth + 1),
        None => Found::Name(first + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found() {
        for (name, value, want) in [
            (":method", "POST", Found::Field(3)),
            (":method", "PUT", Found::Name(2)),
            (":status", "500", Found::Field(14)),
            (":status", "418", Found::Name(8)),
            ("accept-encoding", "gzip, deflate", Found::Field(16)),
            ("www-authenticate", "x", Found::Name(61)),
            (":authority", "", Found::Name(1)),
            ("x-none", "", Found::Nothing),
        ] {
            assert_eq!(find(name.as_bytes(), value.as_bytes()), want, "{name}: {value}");
        }
    }
}
