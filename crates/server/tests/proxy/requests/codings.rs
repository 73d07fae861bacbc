//! Transfer-Encoding as only some readers know it, and chunks that only some can tell apart.

use super::{Case, SMUGGLED, Want, case, forwarded, refused, sent};

const CHUNKS: &str = "5\r\nhello\r\n0\r\n\r\n";

fn post(fields: &str, rest: &str) -> Vec<u8> {
    format!("POST /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n{rest}").into_bytes()
}

/// The body `hello` in a chunk, under this value of Transfer-Encoding.
fn coded(value: &str) -> Vec<u8> {
    post(&format!("Transfer-Encoding:{value}\r\n"), CHUNKS)
}

fn chunks(body: &str) -> Vec<u8> {
    post("Transfer-Encoding: chunked\r\n", body)
}

fn hello() -> Want {
    forwarded([sent("POST", "/a").body("hello")])
}

const UNKNOWN: &[u16] = &[400, 501];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = values();
    cases.extend(fields());
    cases.extend(versions());
    cases.extend(sizes());
    cases.extend(lines());
    cases.extend(trailers());
    cases.extend(bodies());
    cases
}

fn values() -> Vec<Case> {
    let bad = |name, source, value: &str| case(name, source, coded(value), refused(UNKNOWN));
    let good = |name, source, value: &str| case(name, source, coded(value), hello());
    let bytes = |value: &[u8]| {
        let head = b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ";
        [head, value, b"\r\n\r\n", CHUNKS.as_bytes()].concat()
    };
    vec![
        good("TE chunked", "RFC 9112 7.1", " chunked"),
        good("TE in other case", "RFC 9112 7: case-insensitive", " cHuNkEd"),
        good("TE after a tab", "RFC 9110 5.6.3", "\tchunked"),
        good("TE before white space", "RFC 9110 5.6.3", " chunked \t"),
        good("TE with empty list elements", "RFC 9110 5.6.1.2", " ,chunked,"),
        bad("TE chunked twice in a list", "RFC 9112 7.1", " chunked, chunked"),
        bad("TE identity", "CVE-2021-33037 Tomcat; RFC 9112 7", " identity"),
        bad("TE chunked, identity", "RFC 9112 6.3; CVE-2019-16786 Waitress", " chunked, identity"),
        bad("TE identity, chunked", "CVE-2021-33037 Tomcat", " identity, chunked"),
        bad("TE gzip, chunked", "RFC 9112 6.1: 501", " gzip, chunked"),
        bad("TE chunked, gzip", "RFC 9112 6.3", " chunked, gzip"),
        bad("TE xchunked", "Kettle 2019", " xchunked"),
        bad("TE chunked-x", "CVE-2024-1135 gunicorn", " chunked-x"),
        bad("TE chunk", "CVE-2022-1705 Go", " chunk"),
        bad("TE of two words", "Kettle 2019", " chunked chunked"),
        bad("TE in quotes", "Kettle 2019; http-garden", " \"chunked\""),
        bad("TE in single quotes", "Kettle 2019", " 'chunked'"),
        bad("TE with a parameter", "RFC 9112 7.1", " chunked;a=b"),
        bad("TE with q", "RFC 9110 10.1.4", " chunked;q=0"),
        bad("TE empty", "CVE-2022-1705 Go", ""),
        bad("TE after a vertical tab", "CVE-2019-18277 HAProxy; CVE-2019-16789", " \x0bchunked"),
        bad("TE before a vertical tab", "CVE-2019-16789 Waitress", " chunked\x0b"),
        bad("TE after a form feed", "Kettle 2019", " \x0cchunked"),
        bad("TE after a NUL", "Kettle 2019", "\0chunked"),
        bad("TE after a backspace", "Kettle 2019", " \x08chunked"),
        bad("TE with a colon", "Kettle 2019", ": chunked"),
        case("TE before byte 0xff", "Kettle 2019", bytes(b"chunked\xff"), refused(UNKNOWN)),
        case(
            "TE with a Kelvin sign",
            "http-garden: case folding of Unicode",
            bytes("chun\u{212a}ed".as_bytes()),
            refused(UNKNOWN),
        ),
        case("TE before byte 0xa0", "Latin-1 space", bytes(b"chunked\xa0"), refused(UNKNOWN)),
    ]
}

fn fields() -> Vec<Case> {
    let bad =
        |name, source, fields: &str| case(name, source, post(fields, CHUNKS), refused(UNKNOWN));
    let five = |name, source, fields: &str| {
        let fields = format!("{fields}Content-Length: 5\r\n");
        case(name, source, post(&fields, "hello"), hello())
    };
    vec![
        bad(
            "TE twice",
            "CVE-2020-8287 Node.js; CVE-2021-21299 hyper",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        ),
        bad(
            "TE twice, identity first",
            "CVE-2022-1705 Go",
            "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        ),
        bad(
            "TE twice, unknown last",
            "Kettle 2019: TE.TE",
            "Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n",
        ),
        bad(
            "space before the colon of TE",
            "RFC 9112 5.1; CVE-2020-15811 Squid; CVE-2019-16869 Netty",
            "Transfer-Encoding : chunked\r\n",
        ),
        bad("TE on a folded line", "CVE-2020-7238 Netty", " Transfer-Encoding: chunked\r\n"),
        bad(
            "value of TE on a folded line",
            "CVE-2022-32215 Node.js; Kettle 2019",
            "Transfer-Encoding:\r\n chunked\r\n",
        ),
        bad("value of TE after a bare LF", "Kettle 2019", "Transfer-Encoding:\n chunked\r\n"),
        bad("TE after a bare CR", "CVE-2023-30589 Node.js", "X: y\rTransfer-Encoding: chunked\r\n"),
        bad("TE after a bare LF", "CVE-2022-35256 Node.js", "X: y\nTransfer-Encoding: chunked\r\n"),
        bad("TE after two CR", "Kettle 2019", "X: y\r\r\nTransfer-Encoding: chunked\r\n"),
        bad("vertical tab in the name of TE", "Kettle 2019", "Transfer-Encoding\x0b: chunked\r\n"),
        bad("CR before TE", "Klein 2020", "\rTransfer-Encoding: chunked\r\n"),
        bad("TE without a colon", "CVE-2019-20444 Netty", "Transfer-Encoding chunked\r\n"),
        five("underscore in place of TE's hyphen", "Kettle 2019", "Transfer_Encoding: chunked\r\n"),
        five("field whose name ends in TE's", "Kettle 2019", "X-Transfer-Encoding: chunked\r\n"),
        five("TE in the value of another field", "RFC 9110 5", "X: Transfer-Encoding: chunked\r\n"),
        case(
            "the field TE does not frame",
            "RFC 9110 10.1.4",
            post("TE: chunked\r\nContent-Length: 5\r\n", "hello"),
            forwarded([sent("POST", "/a").body("hello").without("TE")]),
        ),
    ]
}

fn versions() -> Vec<Case> {
    vec![
        case(
            "TE in HTTP/1.0",
            "RFC 9112 6.1; CVE-2021-33037 Tomcat",
            format!("POST /a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{CHUNKS}"),
            refused(UNKNOWN),
        ),
        case(
            "TE and CL in HTTP/1.0, kept alive",
            "RFC 9112 6.1",
            format!(
                "POST /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\
                 Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}"
            ),
            refused(UNKNOWN),
        ),
    ]
}

/// Invalid chunk sizes: the upstream must not see an end of the body.
fn sizes() -> Vec<Case> {
    let bad = |name, source, size: &str| {
        let body = format!("{size}\r\nhello\r\n0\r\n\r\n");
        case(name, source, chunks(&body), Want::Broken(&[400]))
    };
    vec![
        bad(
            "chunk size beyond 64 bits",
            "CVE-2021-32714 hyper; CVE-2017-7657 Jetty",
            "10000000000000005",
        ),
        bad("chunk size of 17 digits F", "CVE-2021-32714 hyper", "fffffffffffffffff"),
        bad("chunk size with 0x", "CVE-2022-24801 Twisted; CVE-2022-24761 Waitress", "0x5"),
        bad("chunk size with a plus sign", "CVE-2022-24761 Waitress", "+5"),
        bad("chunk size with a minus sign", "CVE-2022-24801 Twisted", "-5"),
        bad("chunk size with an underscore", "CVE-2023-47627 aiohttp", "0_5"),
        bad("chunk size after a space", "RFC 9112 7.1; http-garden", " 5"),
        bad("chunk size missing", "RFC 9112 7.1", ""),
        bad("chunk size missing before an extension", "RFC 9112 7.1", ";a"),
        bad("chunk size that is not a number", "RFC 9112 7.1", "g"),
        bad("chunk size with a NUL", "RFC 9112 7.1", "5\0"),
        bad("two chunk sizes", "RFC 9112 7.1", "5 5"),
        case(
            "chunk size before white space",
            "RFC 9112 7.1.1: BWS",
            chunks("5 \t\r\nhello\r\n0\r\n\r\n"),
            hello(),
        ),
        case(
            "chunk size with leading zeros",
            "RFC 9112 7.1: 1*HEXDIG",
            chunks("0000000000000000000005\r\nhello\r\n000\r\n\r\n"),
            hello(),
        ),
        case(
            "chunk size in capitals",
            "RFC 9112 7.1",
            chunks("A\r\nhelloworld\r\n0\r\n\r\n"),
            forwarded([sent("POST", "/a").body("helloworld")]),
        ),
    ]
}

/// Ends of lines and extensions.
fn lines() -> Vec<Case> {
    let bad = |name, source, body: &str| case(name, source, chunks(body), Want::Broken(&[400]));
    let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(5000));
    vec![
        bad("LF after a chunk size", "CVE-2025-22871 Go", "5\nhello\r\n0\r\n\r\n"),
        bad("CR after a chunk size", "RFC 9112 7.1", "5\rhello\r\n0\r\n\r\n"),
        bad(
            "LF in a chunk extension (TERM.EXT)",
            "CVE-2025-55315 Kestrel; Weikop 2025, Funky Chunks; CVE-2024-52304 aiohttp",
            "5;a\nb\r\nhello\r\n0\r\n\r\n",
        ),
        bad(
            "LF ends an extension (EXT.TERM)",
            "Weikop 2025; CVE-2025-58056 Netty",
            "5;\nhello\r\n0\r\n\r\n",
        ),
        bad("CR in a chunk extension", "Weikop 2025", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        bad("NUL in a chunk extension", "RFC 9112 7.1.1", "5;a=\0\r\nhello\r\n0\r\n\r\n"),
        bad(
            "CRLF in a quoted extension",
            "CVE-2021-22960 llhttp; RFC 9112 7.1.1",
            "5;a=\"\r\nhello\"\r\nhello\r\n0\r\n\r\n",
        ),
        bad("data longer than its chunk (SPILL)", "Weikop 2025", "5\r\nhelloX\r\n0\r\n\r\n"),
        bad("data and two bytes for CRLF", "Weikop 2025: TERM.SPILL", "5\r\nhelloXX0\r\n\r\n"),
        bad("LF after the data", "RFC 9112 7.1; http-garden", "5\r\nhello\n0\r\n\r\n"),
        bad("CR after the data", "RFC 9112 7.1", "5\r\nhello\r0\r\n\r\n"),
        bad("nothing after the data", "RFC 9112 7.1; CVE-2023-46846 Squid", "5\r\nhello0\r\n\r\n"),
        bad("LF after the last chunk's size", "CVE-2025-22871 Go", "5\r\nhello\r\n0\n\r\n"),
        bad("LF for the last line", "RFC 9112 7.1", "5\r\nhello\r\n0\r\n\n"),
        bad("CR CR for the last line", "RFC 9112 7.1", "5\r\nhello\r\n0\r\n\r\r"),
        bad("extension of 5000 bytes", "RFC 9112 7.1.1: a limit", &long),
        case(
            "chunk extensions",
            "RFC 9112 7.1.1: a proxy frames anew",
            chunks("5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n"),
            hello(),
        ),
    ]
}

fn trailers() -> Vec<Case> {
    let bad = |name, source, trailers: &str| {
        let body = format!("5\r\nhello\r\n0\r\n{trailers}\r\n");
        case(name, source, chunks(&body), Want::Broken(&[400, 431]))
    };
    let good = |name, source, trailers: &str| {
        let body = format!("5\r\nhello\r\n0\r\n{trailers}\r\n");
        case(name, source, chunks(&body), hello())
    };
    let long = format!("X: {}\r\n", "a".repeat(20_000));
    vec![
        good("trailer", "RFC 9112 7.1.2", "X-Sum: 1\r\n"),
        good("CL in the trailers", "RFC 9110 6.5.1", "Content-Length: 50\r\n"),
        good("TE in the trailers", "RFC 9110 6.5.1", "Transfer-Encoding: identity\r\n"),
        good("Host in the trailers", "RFC 9110 6.5.1", "Host: b\r\n"),
        good("hop-by-hop fields in the trailers", "RFC 9110 7.6.1", "Connection: X\r\nTE: x\r\n"),
        bad("request in place of trailers", "CVE-2023-40175 Puma", SMUGGLED.trim_end()),
        bad("trailer without a colon", "RFC 9112 5", "X y\r\n"),
        bad("space before the colon of a trailer", "RFC 9112 5.1", "X : y\r\n"),
        bad("folded trailer", "RFC 9112 5.2", "X: y\r\n z\r\n"),
        bad("trailer after a bare LF", "RFC 9112 2.2", "X: y\nZ: z\r\n"),
        bad("NUL in a trailer", "RFC 9110 5.5", "X: \0\r\n"),
        bad("empty name of a trailer", "RFC 9112 5", ": y\r\n"),
        bad("trailers of 20 000 bytes", "CVE-2023-46589 Tomcat", &long),
    ]
}

fn bodies() -> Vec<Case> {
    let inner = format!("{:X}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len());
    let request = |method: &str| {
        format!("{method} /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{inner}")
    };
    vec![
        case(
            "several chunks",
            "RFC 9112 7.1",
            chunks("5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n"),
            forwarded([sent("POST", "/a").body("hello world")]),
        ),
        case(
            "no chunk but the last",
            "RFC 9112 7.1",
            chunks("0\r\n\r\n"),
            forwarded([sent("POST", "/a")]),
        ),
        case(
            "request in a chunk of OPTIONS (TE.0)",
            "Arnolfo et al. 2024, TE.0",
            request("OPTIONS"),
            forwarded([sent("OPTIONS", "/a").body(SMUGGLED)]),
        ),
        case(
            "request in a chunk of GET",
            "Kettle 2022",
            request("GET"),
            forwarded([sent("GET", "/a").body(SMUGGLED)]),
        ),
        case(
            "request in a chunk of HEAD",
            "RFC 9110 9.3.2",
            request("HEAD"),
            forwarded([sent("HEAD", "/a").body(SMUGGLED)]),
        ),
        case("chunks cut short", "RFC 9112 8", chunks("5\r\nhello\r\n"), Want::Unfinished),
        case("chunk cut short", "RFC 9112 8", chunks("50\r\nhello\r\n"), Want::Unfinished),
    ]
}
