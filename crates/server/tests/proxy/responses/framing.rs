//! Answers whose end only some readers find.

use super::{Ask, Case, Want, case, passed};

fn with(fields: &str, rest: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}\r\n{rest}")
}

const CHUNKS: &str = "5\r\nhello\r\n0\r\n\r\n";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = lengths();
    cases.extend(codings());
    cases.extend(chunks());
    cases.extend(truncated());
    cases
}

fn lengths() -> Vec<Case> {
    let bad = |name, source, fields: &str| case(name, source, with(fields, "hello"), Want::Gateway);
    vec![
        bad(
            "CL and TE",
            "RFC 9112 6.3; Kettle 2019",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        ),
        bad(
            "TE and CL",
            "RFC 9112 6.3; Kettle 2019",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        ),
        bad("two CL", "RFC 9112 6.3", "Content-Length: 5\r\nContent-Length: 6\r\n"),
        bad("CL list, unequal", "RFC 9112 6.3", "Content-Length: 5, 6\r\n"),
        bad("CL with a plus sign", "RFC 9110 8.6", "Content-Length: +5\r\n"),
        bad("CL with a minus sign", "RFC 9110 8.6", "Content-Length: -5\r\n"),
        bad("CL in hexadecimal", "RFC 9110 8.6", "Content-Length: 0x5\r\n"),
        bad("CL empty", "RFC 9110 8.6; CVE-2023-40225 HAProxy", "Content-Length:\r\n"),
        bad("CL beyond 64 bits", "RFC 9110 8.6", "Content-Length: 18446744073709551621\r\n"),
        bad("CL that is not a number", "RFC 9110 8.6", "Content-Length: five\r\n"),
        case(
            "two CL, equal",
            "RFC 9112 6.3",
            with("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
            Want::PassedOrGateway(passed(200, "hello")),
        ),
        case(
            "CL list, equal",
            "RFC 9112 6.3",
            with("Content-Length: 5, 5\r\n", "hello"),
            Want::PassedOrGateway(passed(200, "hello")),
        ),
    ]
}

fn codings() -> Vec<Case> {
    let bad = |name, source, coding: &str| {
        let fields = format!("Transfer-Encoding:{coding}\r\n");
        case(name, source, with(&fields, CHUNKS), Want::Gateway).closing()
    };
    vec![
        bad("TE gzip", "RFC 9112 6.3", " gzip"),
        bad("TE gzip, chunked", "RFC 9112 6.1", " gzip, chunked"),
        bad("TE chunked, gzip", "RFC 9112 6.3", " chunked, gzip"),
        bad("TE chunked twice", "RFC 9112 7.1", " chunked, chunked"),
        bad("TE identity", "RFC 9112 7", " identity"),
        bad("TE after a vertical tab", "CVE-2019-18277 HAProxy", " \x0bchunked"),
        bad("TE in quotes", "http-garden", " \"chunked\""),
        bad("TE empty", "RFC 9112 6.1", ""),
        case(
            "TE in HTTP/1.0",
            "RFC 9112 6.1",
            format!("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKS}"),
            Want::Gateway,
        )
        .closing(),
    ]
}

fn chunks() -> Vec<Case> {
    let bad = |name, source, body: &str| {
        case(name, source, with("Transfer-Encoding: chunked\r\n", body), Want::Unusable).closing()
    };
    let bad_to_old = |name, source, body: &str| bad(name, source, body).to(Ask::GetOld);
    vec![
        bad("chunk size beyond 64 bits", "CVE-2021-32714 hyper", "10000000000000005\r\nhello"),
        bad("chunk size with 0x", "CVE-2022-24801 Twisted", "0x5\r\nhello\r\n0\r\n\r\n"),
        bad("chunk size with a minus sign", "RFC 9112 7.1", "-5\r\nhello\r\n0\r\n\r\n"),
        bad("chunk size that is not a number", "RFC 9112 7.1", "five\r\nhello\r\n0\r\n\r\n"),
        bad("LF after a chunk size", "CVE-2025-22871 Go", "5\nhello\r\n0\r\n\r\n"),
        bad("LF in a chunk extension", "CVE-2025-55315 Kestrel", "5;a\nb\r\nhello\r\n0\r\n\r\n"),
        bad("data longer than its chunk", "Weikop 2025", "5\r\nhelloX\r\n0\r\n\r\n"),
        bad("nothing after the data", "RFC 9112 7.1", "5\r\nhello0\r\n\r\n"),
        bad("LF for the last line", "RFC 9112 7.1", "5\r\nhello\r\n0\r\n\n"),
        bad("trailer without a colon", "RFC 9112 7.1.2", "5\r\nhello\r\n0\r\nX y\r\n\r\n"),
        bad(
            "response in place of trailers",
            "RFC 9112 11.1",
            "5\r\nhello\r\n0\r\nHTTP/1.1 200 OK\r\n\r\n",
        ),
        bad_to_old("bad chunk, to HTTP/1.0", "RFC 9112 8", "5\r\nhelloX\r\n0\r\n\r\n"),
    ]
}

fn truncated() -> Vec<Case> {
    let cut = |name, bytes: String| case(name, "RFC 9112 8", bytes, Want::Unusable).closing();
    vec![
        cut("body shorter than its length", with("Content-Length: 50\r\n", "hello")),
        cut("no body for a length", with("Content-Length: 50\r\n", "")),
        cut("chunks without the last", with("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n")),
        cut("chunk cut short", with("Transfer-Encoding: chunked\r\n", "50\r\nhello")),
        cut("trailers cut short", with("Transfer-Encoding: chunked\r\n", "0\r\nX: y\r\n")),
    ]
}
