//! Methods, targets in each form, hosts, and versions.

use super::{Case, Want, case, forwarded, refused, sent};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = methods();
    cases.extend(targets());
    cases.extend(absolute());
    cases.extend(hosts());
    cases.extend(versions());
    cases
}

fn line(line: &str) -> String {
    format!("{line}\r\nHost: a\r\n\r\n")
}

fn methods() -> Vec<Case> {
    let bad = |name, source, text: &str| case(name, source, line(text), refused(&[400, 405, 501]));
    vec![
        bad("CONNECT", "RFC 9110 9.3.6", "CONNECT a:80 HTTP/1.1"),
        bad("CONNECT with a path", "RFC 9112 3.2.3", "CONNECT /a HTTP/1.1"),
        bad("method with a slash", "RFC 9110 9.1", "G/T /a HTTP/1.1"),
        bad("method with a NUL", "RFC 9110 9.1", "GET\0 /a HTTP/1.1"),
        bad("method with a colon", "RFC 9110 9.1", "GET: /a HTTP/1.1"),
        bad("method beyond ASCII", "RFC 9110 9.1", "G\u{c9}T /a HTTP/1.1"),
        case(
            "method in lower case",
            "RFC 9110 9.1: case-sensitive",
            line("get /a HTTP/1.1"),
            forwarded([sent("get", "/a")]),
        ),
        case(
            "method of one's own",
            "RFC 9110 9.1",
            line("M-SEARCH /a HTTP/1.1"),
            forwarded([sent("M-SEARCH", "/a")]),
        ),
        case(
            "TRACE that may go no further",
            "RFC 9110 7.6.2",
            "TRACE /a HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n",
            Want::Answered(&[200, 400, 405, 501]),
        ),
        case(
            "OPTIONS that may go no further",
            "RFC 9110 7.6.2",
            "OPTIONS /a HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n",
            Want::Answered(&[200, 204, 400, 405, 501]),
        ),
        case(
            "OPTIONS that may go further",
            "RFC 9110 7.6.2",
            "OPTIONS /a HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n",
            forwarded([sent("OPTIONS", "/a").with("Max-Forwards", "4")]),
        ),
    ]
}

fn targets() -> Vec<Case> {
    let bad = |name, source, text: &str| case(name, source, line(text), refused(&[400]));
    let good = |name, source, target: &'static str| {
        case(
            name,
            source,
            line(&format!("GET {target} HTTP/1.1")),
            forwarded([sent("GET", target)]),
        )
    };
    vec![
        good("target with a query", "RFC 9112 3.2.1", "/a?b=c&d=%0d%0a"),
        good("target of dots and slashes", "RFC 9112 3.2.1: as it came", "//a/../b/./c"),
        bad("target with a fragment", "RFC 9112 3.2.1; http-garden", "GET /a#b HTTP/1.1"),
        bad("target beyond ASCII", "RFC 9112 3.2.1", "GET /caf\u{e9} HTTP/1.1"),
        bad("target with a NUL", "RFC 9112 3.2.1", "GET /\0 HTTP/1.1"),
        bad("target with DEL", "RFC 9112 3.2.1", "GET /\x7f HTTP/1.1"),
        bad("target with a CR", "CVE-2023-25690 Apache", "GET /a\rb HTTP/1.1"),
        bad("target without a slash", "RFC 9112 3.2; Kettle 2017", "GET a HTTP/1.1"),
        bad("target that begins with @", "Kettle 2017, Cracking the Lens", "GET @b/ HTTP/1.1"),
        bad("target that begins with a port", "Kettle 2017", "GET :80/a HTTP/1.1"),
        bad("target that is a query", "RFC 9112 3.2.1", "GET ?a HTTP/1.1"),
        bad("target that is a host and port", "RFC 9112 3.2.3", "GET a:80 HTTP/1.1"),
        bad("asterisk without OPTIONS", "RFC 9112 3.2.4", "GET * HTTP/1.1"),
        bad("asterisk and more", "RFC 9112 3.2.4", "OPTIONS *a HTTP/1.1"),
        case(
            "OPTIONS of the server",
            "RFC 9112 3.2.4",
            line("OPTIONS * HTTP/1.1"),
            forwarded([sent("OPTIONS", "*")]),
        ),
    ]
}

fn absolute() -> Vec<Case> {
    let bad = |name, source, target: &str| {
        case(name, source, line(&format!("GET {target} HTTP/1.1")), refused(&[400]))
    };
    let good = |name, target: &str, want: &'static str| {
        let want = forwarded([sent("GET", want).with("Host", "a")]);
        case(name, "RFC 9112 3.2.2", line(&format!("GET {target} HTTP/1.1")), want)
    };
    vec![
        good("absolute form", "http://a/b?c", "/b?c"),
        good("absolute form without a path", "http://a", "/"),
        good("absolute form without a path, with a query", "http://a?b", "/?b"),
        good("absolute form in other case", "HTTP://A/b", "/b"),
        bad("absolute form with another host", "RFC 9112 3.2.2; Kettle 2017", "http://b/c"),
        bad("absolute form with another port", "RFC 9112 3.2.2", "http://a:81/c"),
        bad("absolute form with a user", "RFC 9110 4.2.4", "http://b@a/c"),
        bad("absolute form without a host", "RFC 9110 4.2.1", "http:///c"),
        bad("absolute form of another scheme", "RFC 9112 3.2.2", "ftp://a/c"),
        bad("absolute form with a fragment", "RFC 9110 7.1", "http://a/c#d"),
        bad("absolute form with one slash", "RFC 9112 3.2.2", "http:/a/c"),
        bad("absolute form with a backslash", "http-garden", "http://a\\b/c"),
    ]
}

fn hosts() -> Vec<Case> {
    let with = |fields: &str| format!("GET /a HTTP/1.1\r\n{fields}\r\n");
    let bad = |name, source, fields: &str| case(name, source, with(fields), refused(&[400]));
    let good = |name, host: &'static str| {
        let want = forwarded([sent("GET", "/a").with("Host", host)]);
        case(name, "RFC 9110 7.2", with(&format!("Host: {host}\r\n")), want)
    };
    vec![
        good("Host with a port", "a.example:8080"),
        good("Host of IPv6", "[::1]:80"),
        bad("no Host", "RFC 9112 3.2", ""),
        bad("two hosts", "RFC 9112 3.2; http-garden", "Host: a\r\nHost: b\r\n"),
        bad("the same Host twice", "RFC 9112 3.2", "Host: a\r\nHost: a\r\n"),
        bad("Host with a space", "RFC 9112 3.2", "Host: a b\r\n"),
        bad("Host with a comma", "RFC 9112 3.2", "Host: a,b\r\n"),
        bad("Host with a slash", "RFC 9112 3.2", "Host: a/b\r\n"),
        bad("Host with a user", "RFC 9110 7.2; Kettle 2017", "Host: b@a\r\n"),
        bad("Host with a question mark", "RFC 9110 7.2", "Host: a?b\r\n"),
        bad("Host with a fragment", "RFC 9110 7.2", "Host: a#b\r\n"),
        bad("Host with a backslash", "http-garden", "Host: a\\b\r\n"),
        bad("Host with an invalid port", "RFC 9110 7.2", "Host: a:b\r\n"),
        bad("Host with two ports", "RFC 9110 7.2", "Host: a:80:80\r\n"),
        bad("Host with an open bracket", "RFC 3986 3.2.2", "Host: [::1\r\n"),
        bad("Host beyond ASCII", "RFC 9112 3.2", "Host: caf\u{e9}\r\n"),
        bad("Host on a folded line", "RFC 9112 5.2", "X: y\r\n Host: a\r\n"),
        bad("space before the colon of Host", "RFC 9112 5.1", "Host : a\r\n"),
        bad("Host and another after a bare LF", "RFC 9112 2.2", "Host: a\nHost: b\r\n"),
    ]
}

fn versions() -> Vec<Case> {
    let bad = |name, source, text: &str| case(name, source, line(text), refused(&[400, 505]));
    vec![
        bad("HTTP/1.2", "RFC 9110 2.5", "GET /a HTTP/1.2"),
        bad("HTTP/1.10", "RFC 9112 2.3", "GET /a HTTP/1.10"),
        bad("HTTP/01.1", "RFC 9112 2.3", "GET /a HTTP/01.1"),
        bad("HTTP/2.0", "RFC 9112 2.3", "GET /a HTTP/2.0"),
        bad("HTTP/0.9 named", "CVE-2017-7656 Jetty", "GET /a HTTP/0.9"),
        bad("http/1.1", "RFC 9112 2.3: case-sensitive", "GET /a http/1.1"),
        bad("HTTP 1.1", "RFC 9112 2.3", "GET /a HTTP 1.1"),
        bad("HTTP/1", "RFC 9112 2.3", "GET /a HTTP/1"),
        bad("version of another protocol", "RFC 9112 2.3", "GET /a ICY/1.1"),
        case("HTTP/0.9", "CVE-2017-7656 Jetty", "GET /a\r\n\r\n", refused(&[400, 505])),
        case(
            "HTTP/1.0",
            "RFC 9112 2.3",
            "GET /a HTTP/1.0\r\nHost: a\r\n\r\n",
            forwarded([sent("GET", "/a").with("Host", "a")]),
        ),
        case(
            "HTTP/1.0 without Host",
            "RFC 9112 3.2",
            "GET /a HTTP/1.0\r\n\r\n",
            forwarded([sent("GET", "/a")]),
        ),
        case(
            "two hosts in HTTP/1.0",
            "RFC 9112 3.2",
            "GET /a HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
            refused(&[400]),
        ),
    ]
}
