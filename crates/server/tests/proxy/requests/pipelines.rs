//! Requests one after another on one connection, and bodies that wait to be asked for.

use super::{Case, SMUGGLED, Want, case, forwarded, refused, sent};

const A: &str = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const B: &str = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n";

fn post(fields: &str, rest: &str) -> String {
    format!("POST /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n{rest}")
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = sequences();
    cases.extend(garbage());
    cases.extend(expectations());
    cases
}

fn sequences() -> Vec<Case> {
    let two = || forwarded([sent("GET", "/a"), sent("GET", "/b")]);
    let once = || forwarded([sent("GET", "/a")]);
    vec![
        case("two requests", "RFC 9112 9.3.2", format!("{A}{B}"), two()),
        case(
            "twenty requests",
            "RFC 9112 9.3.2",
            A.repeat(20),
            Want::Forwarded(vec![sent("GET", "/a"); 20]),
        ),
        case(
            "empty line after a body",
            "RFC 9112 2.2",
            post("Content-Length: 5\r\n", &format!("hello\r\n{B}")),
            forwarded([sent("POST", "/a").body("hello"), sent("GET", "/b")]),
        ),
        case(
            "request after chunks",
            "RFC 9112 7.1",
            post("Transfer-Encoding: chunked\r\n", &format!("5\r\nhello\r\n0\r\n\r\n{B}")),
            forwarded([sent("POST", "/a").body("hello"), sent("GET", "/b")]),
        ),
        case(
            "request after HEAD",
            "RFC 9110 9.3.2",
            format!("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n{B}"),
            forwarded([sent("HEAD", "/a"), sent("GET", "/b")]),
        ),
        case(
            "request after one that closes",
            "RFC 9112 9.6; Kettle 2025",
            format!("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n{SMUGGLED}"),
            once(),
        ),
        case(
            "request after one of HTTP/1.0",
            "RFC 9112 9.3",
            format!("GET /a HTTP/1.0\r\nHost: a\r\n\r\n{SMUGGLED}"),
            once(),
        ),
        case(
            "request after one of HTTP/1.0 that is kept alive",
            "RFC 9112 9.3",
            format!("GET /a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n{B}"),
            two(),
        ),
        case(
            "body longer than its length is the next method",
            "RFC 9112 6.3",
            post("Content-Length: 3\r\n", &format!("hello{B}")),
            forwarded([sent("POST", "/a").body("hel"), sent("loGET", "/b")]),
        ),
    ]
}

fn garbage() -> Vec<Case> {
    let then = |name, source, rest: &str| {
        let want = Want::ThenRefused(vec![sent("GET", "/a")], &[400, 431, 501, 505]);
        case(name, source, format!("{A}{rest}"), want)
    };
    vec![
        then("second without Host", "RFC 9112 3.2", "GET /smuggled HTTP/1.1\r\n\r\n"),
        then(
            "second with CL and TE",
            "Kettle 2019",
            &post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
        ),
        then("second with a folded field", "RFC 9112 5.2", &post("X: y\r\n z\r\n", "")),
        then("second that is not a request", "RFC 9112 2.2", "hello\r\n\r\n"),
        then("second of another version", "RFC 9112 2.3", "GET /b HTTP/3.0\r\nHost: a\r\n\r\n"),
        then("a body of which nothing was said", "Kettle 2022: CL.0", "{\"a\":\"b\"}\r\n\r\n"),
        case(
            "second cut short",
            "RFC 9112 8",
            A.to_owned() + &post("Content-Length: 50\r\n", "hello"),
            Want::ThenUnfinished(sent("GET", "/a")),
        ),
        case(
            "second cut short in a chunk",
            "RFC 9112 8",
            A.to_owned() + &post("Transfer-Encoding: chunked\r\n", "50\r\nhello"),
            Want::ThenUnfinished(sent("GET", "/a")),
        ),
        case(
            "bytes after a body",
            "RFC 9112 6.3",
            post("Content-Length: 5\r\n", "hello, world\r\n\r\n"),
            Want::ThenRefused(vec![sent("POST", "/a").body("hello")], &[400]),
        ),
        case(
            "request after one that is refused",
            "CVE-2022-22720 Apache",
            format!("GET /a HTTP/1.1\r\n\r\n{SMUGGLED}"),
            refused(&[400]),
        ),
        case(
            "body after a refused head",
            "CVE-2022-22720 Apache; Kettle 2022",
            format!(
                "POST /a HTTP/1.1\r\nHost: a\r\nHost: b\r\nContent-Length: 38\r\n\r\n{SMUGGLED}"
            ),
            refused(&[400]),
        ),
    ]
}

fn expectations() -> Vec<Case> {
    let body = || forwarded([sent("POST", "/a").body(SMUGGLED)]);
    let with = |fields: &str| post(&format!("{fields}Content-Length: 38\r\n"), SMUGGLED);
    vec![
        case(
            "Expect, and the body at once",
            "RFC 9110 10.1.1; Kettle 2025",
            with("Expect: 100-continue\r\n"),
            body(),
        ),
        case("Expect in other case", "RFC 9110 10.1.1", with("Expect: 100-Continue\r\n"), body()),
        case(
            "Expect, and chunks at once",
            "RFC 9110 10.1.1",
            post(
                "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n",
                &format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len()),
            ),
            body(),
        ),
        case(
            "Expect in HTTP/1.0",
            "RFC 9110 10.1.1: ignored",
            format!(
                "POST /a HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 38\r\n\r\n\
                 {SMUGGLED}"
            ),
            body(),
        ),
        case(
            "Expect without a body, and a request",
            "Kettle 2025: 0.CL by Expect",
            format!("GET /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n{B}"),
            forwarded([sent("GET", "/a"), sent("GET", "/b")]),
        ),
        case(
            "Expect of another kind",
            "Kettle 2025: obfuscated Expect",
            with("Expect: y 100-continue\r\n"),
            body(),
        ),
    ]
}
