//! Requests that somebody else has written, as bytes: where each ends, and how its response is to
//! be read. What they hold is that somebody's business; nothing is refused here.

use super::RequestKind;

/// The first request in `bytes`: how its response is to be read, and its length. A body without a
/// length that can be told is everything that follows, and so is a head that never ends.
#[must_use]
pub fn first_request(bytes: &[u8]) -> (RequestKind, usize) {
    let kind = match bytes {
        [b'H', b'E', b'A', b'D', b' ', ..] => RequestKind::Head,
        _ => RequestKind::Plain,
    };
    let mut body_bytes = Some(0);
    let mut at = 0;
    while let Some(len) = bytes[at..].iter().position(|&byte| byte == b'\n') {
        let line = bytes[at..at + len].trim_ascii_end();
        at += len + 1;
        if line.is_empty() {
            let end = body_bytes.and_then(|body_bytes| at.checked_add(body_bytes));
            return (kind, end.unwrap_or(bytes.len()).min(bytes.len()));
        }
        match line[0] | 0x20 {
            b'c' => {
                if let Some(value) = value_of(line, b"content-length") {
                    let value = std::str::from_utf8(value).ok().and_then(|v| v.trim().parse().ok());
                    body_bytes = value;
                }
            }
            b't' if value_of(line, b"transfer-encoding").is_some() => body_bytes = None,
            _ => {}
        }
    }
    (kind, bytes.len())
}

/// A field's value, if the line is that field's.
fn value_of<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (field, value) = line.split_at_checked(name.len())?;
    field.eq_ignore_ascii_case(name).then(|| value.strip_prefix(b":")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_ends_where_its_length_says() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST /x HTTP/1.1\r\ncontent-LENGTH: 5\r\n\r\n\n\r\n\r\n";
        let head = "HEAD / HTTP/1.1\nHost: a\n\n";
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        let all = [get, post, head, get, chunked].concat();
        let mut rest = all.as_bytes();
        let mut seen = Vec::new();
        while !rest.is_empty() {
            let (kind, len) = first_request(rest);
            seen.push((kind, std::str::from_utf8(&rest[..len]).unwrap()));
            rest = &rest[len..];
        }
        let (plain, of_head) = (RequestKind::Plain, RequestKind::Head);
        let want = [(plain, get), (plain, post), (of_head, head), (plain, get), (plain, chunked)];
        assert_eq!(seen, want);
    }

    #[test]
    fn what_never_ends_is_one_request() {
        for bytes in [
            "",
            "GET",
            "GET / HTTP/1.1\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99\r\n\r\nshort",
            "POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\nx",
            "POST / HTTP/1.1\r\nContent-Length: none\r\n\r\nx",
        ] {
            assert_eq!(first_request(bytes.as_bytes()).1, bytes.len(), "{bytes:?}");
        }
    }
}
