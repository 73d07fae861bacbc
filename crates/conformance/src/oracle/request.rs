//! Reads as much of a request as an oracle needs.
//!
//! Absent on purpose: chunked bodies, and refusals. A request that the oracle does not understand
//! is answered like any other; the log has its bytes.

/// A request; of its body nothing but the length is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    /// How many bytes it is long, with its body.
    pub bytes: usize,
    /// Whether the client asks only for the head of an answer.
    pub head_only: bool,
    /// Whether the connection is to be closed after the answer.
    pub close: bool,
    /// Whether it is of HTTP/1.0, where a connection stays open only if both sides say so (RFC 9112
    /// section 9.3).
    pub old: bool,
    /// Its path.
    pub path: Vec<u8>,
    /// The key of its handshake, where it asks for a WebSocket (RFC 6455 4.1).
    pub websocket_key: Option<Vec<u8>>,
}

/// The first request in the bytes, once it is whole.
pub(super) fn parse(input: &[u8]) -> Option<Request> {
    let head_bytes = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = &input[..head_bytes];
    let line_end = head.iter().position(|byte| *byte == b'\r').unwrap_or(0);
    let mut words = head[..line_end].split(|byte| *byte == b' ');
    let method = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().to_vec();
    let old = words.next() == Some(b"HTTP/1.0");
    let headers = &head[line_end..];
    let length = header(headers, b"content-length").and_then(|value| value.parse().ok());
    // One that lies about its length is never whole, which the experiment will see.
    let bytes = head_bytes.saturating_add(length.unwrap_or(0_usize));
    if input.len() < bytes {
        return None;
    }
    let close = match header(headers, b"connection") {
        Some(value) if value.eq_ignore_ascii_case("close") => true,
        Some(value) if value.eq_ignore_ascii_case("keep-alive") => false,
        _ => old,
    };
    let upgrade = header(headers, b"upgrade").filter(|it| it.eq_ignore_ascii_case("websocket"));
    let key = upgrade.and_then(|_| header(headers, b"sec-websocket-key"));
    let websocket_key = key.map(|key| key.as_bytes().to_vec());
    Some(Request { bytes, head_only: method == b"HEAD", close, old, path, websocket_key })
}

/// The value of a header, where it has one; its name in lower case.
fn header<'a>(headers: &'a [u8], wanted: &[u8]) -> Option<&'a str> {
    headers.split(|byte| *byte == b'\n').find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        let is_wanted = name.eq_ignore_ascii_case(wanted);
        is_wanted.then(|| std::str::from_utf8(value.trim_ascii()).ok()).flatten()
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
            ("POST /d HTTP/1.1\r\ncontent-length: 3\r\n\r\na=", None),
            ("POST /d HTTP/1.1\r\ncontent-length: 3\r\n\r\na=bGET", Some((42, false, false, "/d"))),
        ] {
            let got = parse(text.as_bytes());
            let want = want.map(|(bytes, head_only, close, path): (usize, bool, bool, &str)| {
                let old = text.contains("HTTP/1.0");
                let path = path.as_bytes().to_vec();
                Request { bytes, head_only, close, old, path, websocket_key: None }
            });
            assert_eq!(got, want, "{text:?}");
        }
    }

    #[test]
    fn an_upgrade_has_a_key() {
        for (headers, want) in [
            ("Upgrade: WebSocket\r\nSec-WebSocket-Key: abc==\r\n", Some("abc==")),
            ("Upgrade: h2c\r\nSec-WebSocket-Key: abc==\r\n", None),
            ("Upgrade: websocket\r\n", None),
            ("Sec-WebSocket-Key: abc==\r\n", None),
        ] {
            let text = format!("GET / HTTP/1.1\r\n{headers}Connection: Upgrade\r\n\r\n");
            let key = parse(text.as_bytes()).unwrap().websocket_key;
            assert_eq!(key.as_deref(), want.map(str::as_bytes), "{headers}");
        }
    }
}
