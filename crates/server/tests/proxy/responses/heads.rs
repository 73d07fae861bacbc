//! Answers whose head is malformed, or that have more than one head.

use super::{Case, Want, case, passed};

fn with(fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 5\r\n\r\nhello")
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = status_lines();
    cases.extend(fields());
    cases.extend(lengths());
    cases
}

fn status_lines() -> Vec<Case> {
    let bad = |name, source, line: &str| {
        let bytes = format!("{line}\r\nContent-Length: 5\r\n\r\nhello");
        case(name, source, bytes, Want::Gateway).closing()
    };
    vec![
        bad("no status line", "RFC 9112 4", "hello"),
        bad("HTTP/2", "RFC 9112 4", "HTTP/2 200 OK"),
        bad("HTTP/1.2", "RFC 9110 2.5", "HTTP/1.2 200 OK"),
        bad("another protocol", "RFC 9112 4; Icecast", "ICY 200 OK"),
        bad("http in lower case", "RFC 9112 2.3", "http/1.1 200 OK"),
        bad("status of two digits", "RFC 9112 4", "HTTP/1.1 20 OK"),
        bad("status of four digits", "RFC 9112 4", "HTTP/1.1 2000 OK"),
        bad("status that is not a number", "RFC 9112 4", "HTTP/1.1 2x0 OK"),
        bad("status with a sign", "RFC 9112 4", "HTTP/1.1 +20 OK"),
        bad("status 000", "RFC 9110 15", "HTTP/1.1 000 OK"),
        bad("status 099", "RFC 9110 15", "HTTP/1.1 099 OK"),
        bad("no status", "RFC 9112 4", "HTTP/1.1 OK"),
        bad("no space before the status", "RFC 9112 4", "HTTP/1.1200 OK"),
        bad("space before the version", "RFC 9112 4", " HTTP/1.1 200 OK"),
        bad("CR in the reason", "RFC 9112 4", "HTTP/1.1 200 O\rK"),
        bad("NUL in the reason", "RFC 9112 4", "HTTP/1.1 200 O\0K"),
        bad("request in place of a response", "RFC 9112 4", "GET / HTTP/1.1"),
        case("nothing at all", "RFC 9112 8", "", Want::Gateway).closing(),
        case("an empty line and a close", "RFC 9112 8", "\r\n", Want::Gateway).closing(),
        case("TLS alert", "RFC 8446 6", b"\x15\x03\x03\0\x02\x02\x46", Want::Gateway).closing(),
        case("half a head and a close", "RFC 9112 8", "HTTP/1.1 200 OK\r\nX: y", Want::Gateway)
            .closing(),
    ]
}

fn fields() -> Vec<Case> {
    let bad = |name, source, fields: &str| case(name, source, with(fields), Want::Gateway);
    let put_right = |name, source, fields: &str| {
        case(name, source, with(fields), Want::PassedOrGateway(passed(200, "hello")))
    };
    vec![
        bad("field without a colon", "RFC 9112 5", "X y\r\n"),
        bad("empty name", "RFC 9112 5", ": y\r\n"),
        bad("name with a NUL", "RFC 9110 5.6.2", "X\0: y\r\n"),
        bad("name in parentheses", "RFC 9110 5.6.2", "X(y): z\r\n"),
        bad("name with a space", "RFC 9110 5.6.2", "X y: z\r\n"),
        bad("value with a NUL", "RFC 9110 5.5", "X: y\0z\r\n"),
        bad("value with a CR", "RFC 9110 5.5; response splitting", "X: y\rz\r\n"),
        bad("value with a control character", "RFC 9110 5.5", "X: y\x01z\r\n"),
        put_right("folded field", "RFC 9112 5.2: 502 or a space", "X: y\r\n z\r\n"),
        put_right("white space before the first field", "RFC 9112 2.2", " X: y\r\n"),
        put_right("space before a colon", "RFC 9112 5.1: removed", "X : y\r\n"),
        put_right("space before the colon of CL", "RFC 9112 5.1", "Content-Length : 5\r\n"),
        put_right("LF after a field", "RFC 9112 2.2", "X: y\n"),
        case(
            "LF for every CRLF",
            "RFC 9112 2.2",
            "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
            Want::PassedOrGateway(passed(200, "hello")),
        ),
        case(
            "empty line before the status line",
            "RFC 9112 2.2",
            "\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            Want::PassedOrGateway(passed(200, "hello")),
        ),
        case(
            "no space after the status",
            "RFC 9112 4",
            "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
            Want::PassedOrGateway(passed(200, "hello")),
        ),
        case(
            "response split in a value",
            "RFC 9112 11.1; CVE-2023-25690 Apache",
            "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
            Want::Passed(passed(302, "")),
        )
        .whole(),
    ]
}

fn lengths() -> Vec<Case> {
    let long = "a".repeat(200_000);
    let bad = |name, source, bytes: String| case(name, source, bytes, Want::Gateway);
    vec![
        bad("value of 200 000 bytes", "RFC 9110 5.4: a limit", with(&format!("X: {long}\r\n"))),
        bad("name of 200 000 bytes", "RFC 9110 5.4: a limit", with(&format!("{long}: x\r\n"))),
        bad(
            "reason of 200 000 bytes",
            "RFC 9112 4: a limit",
            format!("HTTP/1.1 200 {long}\r\n\r\n"),
        ),
        bad("1000 fields", "RFC 9110 5.4: a limit", with(&"X: y\r\n".repeat(1000))),
        bad("200 000 bytes of no line", "RFC 9112 4: a limit", long.clone()),
        bad("200 000 bytes of empty lines", "RFC 9112 2.2: a limit", "\r\n".repeat(100_000)),
    ]
}
