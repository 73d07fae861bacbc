//! What a field's name and value may be (RFC 9113 8.2), for what is read and what is written.

/// Whether a byte may stand in a name: a byte of a token (RFC 9110 5.6.2) that is not upper-case.
const IS_NAME_BYTE: [bool; 256] = name_bytes();

const fn name_bytes() -> [bool; 256] {
    let mut allowed = [false; 256];
    let others = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < others.len() {
        allowed[others[at] as usize] = true;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        let is_word = (byte as u8).is_ascii_lowercase() || (byte as u8).is_ascii_digit();
        allowed[byte] = allowed[byte] || is_word;
        byte += 1;
    }
    allowed
}

/// Whether this is the name of a field: a token in lower case.
#[inline]
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| IS_NAME_BYTE[usize::from(byte)])
}

/// Whether this is a token, in any case, as a method is.
pub(super) fn is_token(text: &[u8]) -> bool {
    let is_token_byte = |byte: &u8| IS_NAME_BYTE[usize::from(byte.to_ascii_lowercase())];
    !text.is_empty() && text.iter().all(is_token_byte)
}

/// Whether this is the value of a field: no NUL, no line break, no white space around it.
#[inline]
pub(super) fn is_value(value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    if is_blank(value.first()) || is_blank(value.last()) {
        return false;
    }
    // Without a branch for each byte, the compiler looks at many at a time.
    !value.iter().fold(false, |found, &byte| found | matches!(byte, 0 | b'\r' | b'\n'))
}

/// Whether this is a part of a request's target: visible, without spaces, and UTF-8.
pub(super) fn is_target(text: &[u8]) -> bool {
    let is_visible = |&byte: &u8| byte > b' ' && byte != 0x7f;
    !text.is_empty() && text.iter().all(is_visible) && std::str::from_utf8(text).is_ok()
}

/// Whether a field is about an HTTP/1 connection, which HTTP/2 forbids (RFC 9113 8.2.2). TE may
/// say `trailers` and nothing else.
#[inline]
pub(super) fn is_connection_specific(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding" | b"upgrade" => {
            true
        }
        b"te" => !value.eq_ignore_ascii_case(b"trailers"),
        _ => false,
    }
}

/// Whether a field's value is a secret, which no table may keep (RFC 7541 7.1.3).
pub(super) fn is_secret(name: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization" | b"cookie" | b"set-cookie")
}

/// Reads the value of a Content-Length field.
pub(super) fn content_length(value: &[u8]) -> Option<u64> {
    if value.is_empty() {
        return None;
    }
    value.iter().try_fold(0u64, |length, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        length.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, want) in [
            ("content-type", true),
            ("x_1.2!", true),
            ("", false),
            ("Content-Type", false),
            ("a b", false),
            (":status", false),
            ("a:b", false),
            ("caf\u{e9}", false),
            ("a\u{7f}", false),
            ("a(b", false),
        ] {
            assert_eq!(is_name(name.as_bytes()), want, "{name:?}");
        }
    }

    #[test]
    fn values() {
        for (value, want) in [
            (&b""[..], true),
            (b"a b\tc", true),
            (b"\xff\x01", true),
            (b" a", false),
            (b"a\t", false),
            (b"a\rb", false),
            (b"a\nb", false),
            (b"a\0b", false),
        ] {
            assert_eq!(is_value(value), want, "{:?}", value.escape_ascii().to_string());
        }
    }

    #[test]
    fn lengths() {
        for (value, want) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("", None),
            ("-1", None),
            ("1,1", None),
            ("0x1", None),
        ] {
            assert_eq!(content_length(value.as_bytes()), want, "{value:?}");
        }
    }

    #[test]
    fn fields_of_a_connection() {
        for (name, value, want) in [
            ("connection", "close", true),
            ("te", "trailers", false),
            ("te", "Trailers", false),
            ("te", "gzip", true),
            ("upgrade", "", true),
            ("keep-alive", "", true),
            ("trailer", "a", false),
        ] {
            assert_eq!(is_connection_specific(name.as_bytes(), value.as_bytes()), want, "{name}");
        }
    }
}
