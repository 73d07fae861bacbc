//! How lines and fields are told apart, which bytes stand in them, and how long they may be.

use super::{Case, case, forwarded, refused, sent};

fn get(fields: &str) -> Vec<u8> {
    format!("GET /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = ends();
    cases.extend(request_lines());
    cases.extend(fields());
    cases.extend(lengths());
    cases
}

fn ends() -> Vec<Case> {
    let bad = |name, source, bytes: &str| case(name, source, bytes, refused(&[400]));
    vec![
        bad(
            "LF for every CRLF",
            "RFC 9112 2.2; CVE-2021-41136 Puma",
            "GET /a HTTP/1.1\nHost: a\n\n",
        ),
        bad("LF after the request line", "RFC 9112 2.2", "GET /a HTTP/1.1\nHost: a\r\n\r\n"),
        bad("LF after a field", "CVE-2019-16785 Waitress", "GET /a HTTP/1.1\r\nHost: a\n\r\n"),
        bad("LF for the empty line", "RFC 9112 2.2", "GET /a HTTP/1.1\r\nHost: a\r\n\n"),
        bad("CR for every CRLF", "RFC 9112 2.2", "GET /a HTTP/1.1\rHost: a\r\r\n\r\n"),
        bad(
            "CR CR LF after the request line",
            "RFC 9112 2.2",
            "GET /a HTTP/1.1\r\r\nHost: a\r\n\r\n",
        ),
        bad(
            "CR CR LF for the empty line",
            "RFC 9112 2.2",
            "GET /a HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n",
        ),
        bad(
            "white space before the first field",
            "RFC 9112 2.2",
            "GET /a HTTP/1.1\r\n Host: a\r\n\r\n",
        ),
        bad("line of white space", "RFC 9112 5.2", "GET /a HTTP/1.1\r\nHost: a\r\n \r\n\r\n"),
        case(
            "empty line before the request line",
            "RFC 9112 2.2",
            "\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n",
            forwarded([sent("GET", "/a")]),
        ),
        case(
            "100 000 bytes of empty lines",
            "RFC 9112 2.2: a limit",
            "\r\n".repeat(50_000),
            refused(&[400, 431]),
        ),
    ]
}

fn request_lines() -> Vec<Case> {
    let bad = |name, source, line: &str| {
        case(name, source, format!("{line}\r\nHost: a\r\n\r\n"), refused(&[400]))
    };
    vec![
        bad("space before the method", "RFC 9112 3", " GET /a HTTP/1.1"),
        bad("two spaces before the target", "RFC 9112 3", "GET  /a HTTP/1.1"),
        bad("two spaces before the version", "RFC 9112 3", "GET /a  HTTP/1.1"),
        bad("tab before the target", "RFC 9112 3", "GET\t/a HTTP/1.1"),
        bad("tab before the version", "RFC 9112 3", "GET /a\tHTTP/1.1"),
        bad("vertical tab in the request line", "RFC 9112 3", "GET /a\x0bHTTP/1.1"),
        bad("space after the version", "RFC 9112 3", "GET /a HTTP/1.1 "),
        bad("two targets", "RFC 9112 3.2; http-garden", "GET /a /smuggled HTTP/1.1"),
        bad("no method", "RFC 9112 3", "/a HTTP/1.1"),
        bad("no target", "RFC 9112 3", "GET HTTP/1.1"),
        case(
            "TLS on a port without",
            "RFC 8446 4",
            b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\r\n\r\n",
            refused(&[400]),
        ),
        case("bytes that are not text", "RFC 9112 2", b"\xff\xfe\xfd\r\n\r\n", refused(&[400])),
    ]
}

fn fields() -> Vec<Case> {
    let bad = |name, source, fields: &str| case(name, source, get(fields), refused(&[400]));
    let bytes = |line: &[u8]| [b"GET /a HTTP/1.1\r\nHost: a\r\n", line, b"\r\n\r\n"].concat();
    vec![
        bad("folded field", "RFC 9112 5.2; CVE-2025-32094 Akamai", "X: y\r\n z\r\n"),
        bad("field folded with a tab", "RFC 9112 5.2", "X: y\r\n\tz\r\n"),
        bad("field folded to an empty line", "RFC 9112 5.2", "X: y\r\n \r\n"),
        bad("space before a colon", "RFC 9112 5.1; CVE-2022-24766 mitmproxy", "X : y\r\n"),
        bad("field without a colon", "CVE-2019-20444 Netty", "X\r\n"),
        bad("empty name", "CVE-2023-25725 HAProxy", ": y\r\n"),
        bad("name in parentheses", "RFC 9110 5.6.2", "X(y): z\r\n"),
        bad("name with a slash", "RFC 9110 5.6.2", "X/y: z\r\n"),
        bad("name in quotes", "RFC 9110 5.6.2", "\"X\": z\r\n"),
        bad("name with a NUL", "CVE-2021-43797 Netty", "X\0: z\r\n"),
        bad("name with a CR", "RFC 9110 5.6.2", "X\rY: z\r\n"),
        bad("value with a CR", "RFC 9110 5.5; CVE-2023-30589 Node.js", "X: y\rz\r\n"),
        bad("value with a NUL", "RFC 9110 5.5", "X: y\0z\r\n"),
        bad("value with a control character", "RFC 9110 5.5", "X: y\x01z\r\n"),
        bad("value with DEL", "RFC 9110 5.5", "X: y\x7fz\r\n"),
        case("name of bytes beyond ASCII", "RFC 9110 5.6.2", bytes(b"X\xe9: y"), refused(&[400])),
        case(
            "value of bytes beyond ASCII",
            "RFC 9110 5.5: obs-text",
            bytes(b"X: caf\xe9"),
            forwarded([sent("GET", "/a").with("X", "caf\u{e9}")]),
        ),
        case(
            "empty value",
            "RFC 9110 5.5",
            get("X:\r\n"),
            forwarded([sent("GET", "/a").with("X", "")]),
        ),
        case(
            "value with a tab and colons",
            "RFC 9110 5.5",
            get("X:\ty: z:\t1 \r\n"),
            forwarded([sent("GET", "/a").with("X", "y: z:\t1")]),
        ),
        case(
            "name of every token character",
            "RFC 9110 5.6.2",
            get("!#$%&'*+-.^_`|~0aZ: y\r\n"),
            forwarded([sent("GET", "/a").with("!#$%&'*+-.^_`|~0aZ", "y")]),
        ),
    ]
}

fn lengths() -> Vec<Case> {
    let long = "a".repeat(100_000);
    let many = "X: y\r\n".repeat(1000);
    vec![
        case(
            "target of 100 000 bytes",
            "RFC 9112 3: a limit",
            format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"),
            refused(&[400, 414, 431]),
        ),
        case(
            "method of 100 000 bytes",
            "RFC 9112 3: a limit",
            format!("{long} /a HTTP/1.1\r\nHost: a\r\n\r\n"),
            refused(&[400, 431, 501]),
        ),
        case(
            "name of 100 000 bytes",
            "RFC 9110 5.4: a limit",
            get(&format!("{long}: y\r\n")),
            refused(&[400, 431]),
        ),
        case(
            "value of 100 000 bytes",
            "RFC 9110 5.4: a limit",
            get(&format!("X: {long}\r\n")),
            refused(&[400, 431]),
        ),
        case("1000 fields", "RFC 9110 5.4: a limit", get(&many), refused(&[400, 431])),
        case(
            "value of 10 000 bytes",
            "RFC 9110 5.4",
            get(&format!("X: {}\r\n", &long[..10_000])),
            forwarded([sent("GET", "/a")]),
        ),
    ]
}
