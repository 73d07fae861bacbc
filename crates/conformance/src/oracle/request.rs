//! Reading a request, to the little that an oracle has to know of it.
//!
//! Absent on purpose: bodies, and complaints. What is not understood is answered like anything
//! else; the log has its bytes.

/// A request head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// How many bytes it is long, with the empty line.
    pub bytes: usize,
    /// Whether only the head of an answer is wanted.
    pub head_only: bool,
    /// Whether the connection is to be closed after the answer.
    pub close: bool,
    /// Whether it is of HTTP/1.0, where a connection stays open only if both sides say so (RFC 9112
    /// section 9.3).
    pub old: bool,
    /// Its path.
    pub path: Vec<u8>,
}

/// The first request in the bytes, once its head is whole.
pub(super) fn parse(input: &[u8]) -> Option<Request> {
    let bytes = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = &input[..bytes];
    let line_end = head.iter().position(|byte| *byte == b'\r').unwrap_or(0);
    let mut words = head[..line_end].split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().to_vec();
    let old = words.next() == Some(b"HTTP/1.0");
    let close = match connection_header(&head[line_end..]) {
        Some(value) if value.eq_ignore_ascii_case(b"close") => true,
        Some(value) if value.eq_ignore_ascii_case(b"keep-alive") => false,
        _ => old,
    };
    Some(Request { bytes, head_only: method == b"HEAD", close, old, path })
}

/// The value of `Connection`, where it has one.
fn connection_header(headers: &[u8]) -> Option<&[u8]> {
    headers.split(|byte| *byte == b'\n').find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        name.eq_ignore_ascii_case(b"connection").then(|| value.trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read() {
        for (text, want) in [
            ("", None),
            ("GET / HTTP/1.1\r\nHost: a\r\n", None),
            ("GET /a HTTP/1.1\r\n\r\n", Some((19, false, false, "/a"))),
            ("HEAD /b HTTP/1.1\r\nconnection:  Close \r\n\r\nrest", Some((41, true, true, "/b"))),
            ("GET /c HTTP/1.0\r\n\r\n", Some((19, false, true, "/c"))),
            ("GET /c HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", Some((43, false, false, "/c"))),
            ("\r\n\r\n", Some((4, false, false, ""))),
        ] {
            let got = parse(text.as_bytes());
            let want = want.map(|(bytes, head_only, close, path): (usize, bool, bool, &str)| {
                let old = text.contains("HTTP/1.0");
                Request { bytes, head_only, close, old, path: path.as_bytes().to_vec() }
            });
            assert_eq!(got, want, "{text:?}");
        }
    }
}
