//! Content-Length: more than one, none, and what only some readers take for a number.

use super::{Case, SMUGGLED, Want, case, forwarded, refused, sent};

fn post(fields: &str, rest: &str) -> Vec<u8> {
    format!("POST /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n{rest}").into_bytes()
}

/// A body of five bytes under this value of Content-Length.
fn five(value: &str) -> Vec<u8> {
    post(&format!("Content-Length:{value}\r\n"), "hello")
}

/// The same, with bytes that are not text.
fn five_bytes(value: &[u8]) -> Vec<u8> {
    let head = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length:";
    [head, value, b"\r\n\r\nhello"].concat()
}

fn whole() -> Want {
    forwarded([sent("POST", "/a").body("hello").with("Content-Length", "5")])
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = both();
    cases.extend(several());
    cases.extend(numbers());
    cases.extend(names());
    cases.extend(bodies());
    cases
}

fn both() -> Vec<Case> {
    vec![
        case(
            "CL.TE",
            "Kettle 2019, HTTP Desync Attacks; RFC 9112 6.3; CVE-2005-2088 Apache",
            post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"),
            refused(&[400]),
        ),
        case(
            "TE.CL",
            "Kettle 2019; CVE-2017-7658 Jetty; CVE-2020-10109 Twisted",
            post(
                "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
                &format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len()),
            ),
            refused(&[400]),
        ),
        case(
            "CL and TE that agree",
            "RFC 9112 6.1",
            post("Content-Length: 15\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
            refused(&[400]),
        ),
        case(
            "CL 0 and TE",
            "RFC 9112 6.1",
            post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
            refused(&[400]),
        ),
    ]
}

fn several() -> Vec<Case> {
    vec![
        case(
            "CL twice, unequal",
            "RFC 9112 6.3; CVE-2019-16792 Waitress; CVE-2020-10108 Twisted",
            post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
            refused(&[400]),
        ),
        case(
            "CL twice, 0 first",
            "Linhart et al. 2005, HTTP Request Smuggling; CVE-2018-8004 Traffic Server",
            post("Content-Length: 0\r\nContent-Length: 38\r\n", SMUGGLED),
            refused(&[400]),
        ),
        case(
            "CL twice, equal",
            "RFC 9112 6.3: one of them, or refused",
            post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"),
            refused(&[400]),
        ),
        case("CL list, equal", "RFC 9110 8.6", five(" 5, 5"), refused(&[400])),
        case("CL list, unequal", "RFC 9110 8.6", five(" 5, 6"), refused(&[400])),
        case("CL list with an empty element", "RFC 9110 8.6", five(" 5,"), refused(&[400])),
        case(
            "CL twice, one empty",
            "CVE-2023-40225 HAProxy",
            post("Content-Length:\r\nContent-Length: 5\r\n", "hello"),
            refused(&[400]),
        ),
    ]
}

fn numbers() -> Vec<Case> {
    let bad = |name, source, value: &str| case(name, source, five(value), refused(&[400]));
    let bytes = |name, source, value: &[u8]| case(name, source, five_bytes(value), refused(&[400]));
    vec![
        bad("CL with a plus sign", "CVE-2021-32715 hyper; CVE-2020-15049 Squid", " +5"),
        bad("CL with a minus sign", "RFC 9110 8.6", " -5"),
        bad("CL in hexadecimal", "RFC 9110 8.6; http-garden", " 0x5"),
        bad("CL with an underscore", "CVE-2023-47627 aiohttp", " 0_5"),
        bad("CL with a fraction", "RFC 9110 8.6", " 5.0"),
        bad("CL with an exponent", "RFC 9110 8.6", " 5e0"),
        bad("CL with a parameter", "RFC 9110 8.6", " 5;a=b"),
        bad("CL of two words", "RFC 9110 8.6", " 5 5"),
        bad("CL in quotes", "RFC 9110 8.6", " \"5\""),
        bad("CL empty", "CVE-2023-40225 HAProxy; CVE-2023-40175 Puma", ""),
        bad("CL of white space", "CVE-2023-40225 HAProxy", " \t "),
        bad("CL beyond 64 bits", "RFC 9110 8.6; CVE-2017-7657 Jetty", " 18446744073709551621"),
        bad(
            "CL of a hundred digits",
            "RFC 9110 8.6",
            " 9999999999999999999999999999999999999999999999999999999999999999999999999999999999999",
        ),
        bad("CL after a vertical tab", "CVE-2019-16789 Waitress", " \x0b5"),
        bad("CL after a form feed", "CVE-2019-16789 Waitress", "\x0c5"),
        bytes("CL of full-width digits", "http-garden: isdigit of Unicode", " \u{ff15}".as_bytes()),
        bytes("CL of a superscript", "http-garden: isdigit of Latin-1", b" \xb2"),
        bytes("CL with a NUL", "RFC 9110 5.5", b" 5\0"),
        case("CL with leading zeros", "RFC 9110 8.6: 1*DIGIT", five(" 0005"), whole()),
        case("CL among tabs and spaces", "RFC 9110 5.6.3", five("\t 5 \t"), whole()),
        case("CL without a space", "RFC 9112 5", five("5"), whole()),
        case("CL in odd case", "RFC 9110 5.1", post("cONTENT-lENGTH: 5\r\n", "hello"), whole()),
    ]
}

fn names() -> Vec<Case> {
    let bad =
        |name, source, fields: &str| case(name, source, post(fields, "hello"), refused(&[400]));
    let long = format!("Content-Length0{}:\r\nContent-Length: 38\r\n", "a".repeat(255));
    vec![
        bad(
            "space before the colon of CL",
            "RFC 9112 5.1; CVE-2019-16869 Netty; CVE-2019-18678 Squid",
            "Content-Length : 5\r\n",
        ),
        bad("tab before the colon of CL", "RFC 9112 5.1", "Content-Length\t: 5\r\n"),
        bad("word before the colon of CL", "Klein 2020", "Content-Length abcde: 5\r\n"),
        bad(
            "CR before CL",
            "Klein 2020, HTTP Request Smuggling in 2020",
            "\rContent-Length: 5\r\n",
        ),
        bad("CL on a folded line", "CVE-2024-27982 Node.js", " Content-Length: 5\r\n"),
        bad("value of CL on a folded line", "RFC 9112 5.2", "Content-Length:\r\n 5\r\n"),
        bad("CL continued by a fold", "RFC 9112 5.2", "Content-Length: 5\r\n 0\r\n"),
        bad("NUL in the name of CL", "CVE-2021-43797 Netty", "Content-Length\0: 5\r\n"),
        bad("CL without a colon", "CVE-2019-20444 Netty", "Content-Length 5\r\n"),
        case(
            "name that is CL and 256 bytes more",
            "CVE-2021-40346 HAProxy",
            post(&long, SMUGGLED),
            forwarded([sent("POST", "/a").body(SMUGGLED).with("Content-Length", "38")]),
        ),
        case(
            "underscore in place of the hyphen of CL",
            "Kettle 2019; RFC 3875 4.1.18",
            post("Content_Length: 28\r\n", "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"),
            forwarded([sent("POST", "/a").without("Content-Length"), sent("GET", "/b")]),
        ),
    ]
}

fn bodies() -> Vec<Case> {
    vec![
        case("CL of 5", "RFC 9112 6.2", five(" 5"), whole()),
        case(
            "request in the body of a GET (0.CL, CL.0)",
            "Kettle 2022, Browser-Powered Desync Attacks; Kettle 2025, HTTP/1.1 Must Die",
            format!("GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\n{SMUGGLED}"),
            forwarded([sent("GET", "/a").body(SMUGGLED)]),
        ),
        case(
            "request in the body of a HEAD",
            "RFC 9110 9.3.2",
            format!("HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\n{SMUGGLED}"),
            forwarded([sent("HEAD", "/a").body(SMUGGLED)]),
        ),
        case(
            "request in the body of a DELETE",
            "RFC 9110 9.3.5",
            format!("DELETE /a HTTP/1.1\r\nHost: a\r\nContent-Length: 38\r\n\r\n{SMUGGLED}"),
            forwarded([sent("DELETE", "/a").body(SMUGGLED)]),
        ),
        case(
            "POST without a length",
            "RFC 9112 6.3",
            post("", ""),
            forwarded([sent("POST", "/a").without("Transfer-Encoding")]),
        ),
        case(
            "POST with CL 0",
            "RFC 9110 8.6",
            post("Content-Length: 0\r\n", ""),
            forwarded([sent("POST", "/a").without("Transfer-Encoding")]),
        ),
        case(
            "CL in HTTP/1.0",
            "RFC 9112 2.3",
            "POST /a HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
            whole(),
        ),
        case(
            "body cut short",
            "RFC 9112 8",
            post("Content-Length: 50\r\n", "hello"),
            Want::Unfinished,
        ),
        case(
            "CL of the largest number, and a few bytes",
            "RFC 9110 8.6",
            post("Content-Length: 9223372036854775807\r\n", "hello"),
            Want::Unfinished,
        ),
    ]
}
