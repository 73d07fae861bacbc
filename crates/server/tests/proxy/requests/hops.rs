//! Fields that concern one connection, fields that Connection names, and what the proxy says of
//! the client.

use super::{Case, Sent, case, forwarded, sent};

fn get(fields: &str) -> Vec<u8> {
    format!("GET /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n").into_bytes()
}

fn passed(name: &'static str, source: &'static str, fields: &str, want: Sent) -> Case {
    case(name, source, get(fields), forwarded([want]))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = removed();
    cases.extend(named());
    cases.extend(said());
    cases
}

/// The judge takes none of these from a proxy, whatever a case says.
fn removed() -> Vec<Case> {
    let want = || sent("GET", "/a");
    vec![
        passed("Keep-Alive", "RFC 9110 7.6.1", "Keep-Alive: timeout=5\r\n", want()),
        passed(
            "Proxy-Connection",
            "RFC 9112 appendix C.2.2",
            "Proxy-Connection: keep-alive\r\n",
            want(),
        ),
        passed("TE", "RFC 9110 10.1.4", "TE: trailers\r\nConnection: TE\r\n", want()),
        passed(
            "Upgrade to h2c",
            "Miller 2020, h2c Smuggling",
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\
             Connection: Upgrade, HTTP2-Settings\r\n",
            want(),
        ),
        passed(
            "Upgrade to h2c that Connection does not name",
            "Miller 2020",
            "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
            want(),
        ),
        passed(
            "Upgrade to websocket",
            "RFC 9110 7.8",
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
            want(),
        ),
        passed("Connection: keep-alive", "RFC 9110 7.6.1", "Connection: keep-alive\r\n", want()),
        passed("Connection: close", "RFC 9112 9.6", "Connection: close\r\n", want()),
        passed(
            "Proxy",
            "CVE-2016-5385, httpoxy",
            "Proxy: http://192.0.2.1:8080/\r\n",
            want().without("Proxy"),
        ),
        passed("empty Connection", "RFC 9110 5.6.1.2", "Connection: ,, ,\r\n", want()),
    ]
}

fn named() -> Vec<Case> {
    let source = "Davison 2019, Abusing HTTP hop-by-hop request headers";
    let post =
        |fields: &str, body: &str| format!("POST /a HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}");
    let hello = || forwarded([sent("POST", "/a").body("hello").with("Host", "a")]);
    vec![
        passed(
            "Connection names a field",
            "RFC 9110 7.6.1",
            "Connection: X-Secret\r\nX-Secret: 1\r\nX-Other: 2\r\n",
            sent("GET", "/a").without("X-Secret").with("X-Other", "2"),
        ),
        passed(
            "Connection names fields, in two fields and other case",
            "RFC 9110 7.6.1",
            "X-One: 1\r\nConnection: x-oNe\r\nConnection: close , X-TWO\r\nX-Two: 2\r\n",
            sent("GET", "/a").without("X-One").without("X-Two"),
        ),
        case(
            "Connection names Content-Length",
            source,
            post("Connection: Content-Length\r\nContent-Length: 5\r\n", "hello"),
            hello(),
        ),
        case(
            "Connection names Transfer-Encoding",
            source,
            post(
                "Transfer-Encoding: chunked\r\nConnection: Transfer-Encoding\r\n",
                "5\r\nhello\r\n0\r\n\r\n",
            ),
            hello(),
        ),
        passed(
            "Connection names Host",
            source,
            "Connection: close, Host\r\n",
            sent("GET", "/a").with("Host", "a"),
        ),
        passed(
            "Connection names X-Forwarded-For",
            "CVE-2022-31813 Apache",
            "Connection: X-Forwarded-For\r\nX-Forwarded-For: 192.0.2.1\r\n",
            sent("GET", "/a").with("X-Forwarded-For", "192.0.2.1, 127.0.0.1"),
        ),
        passed(
            "Connection names what the proxy adds",
            "CVE-2022-31813 Apache",
            "Connection: X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto, Via\r\n",
            sent("GET", "/a")
                .with("X-Forwarded-For", "127.0.0.1")
                .with("X-Forwarded-Host", "a")
                .with("X-Forwarded-Proto", "http"),
        ),
    ]
}

fn said() -> Vec<Case> {
    vec![
        passed(
            "what the proxy adds",
            "de facto; RFC 9110 7.6.3",
            "",
            sent("GET", "/a")
                .with("X-Forwarded-For", "127.0.0.1")
                .with("X-Forwarded-Host", "a")
                .with("X-Forwarded-Proto", "http"),
        ),
        passed(
            "X-Forwarded-For of the client's",
            "RFC 7239 8.1",
            "X-Forwarded-For: 192.0.2.1\r\n",
            sent("GET", "/a").with("X-Forwarded-For", "192.0.2.1, 127.0.0.1"),
        ),
        passed(
            "two X-Forwarded-For of the client's",
            "RFC 9110 5.3",
            "X-Forwarded-For: 192.0.2.1\r\nX: y\r\nx-forwarded-for: 192.0.2.2\r\n",
            sent("GET", "/a").with("X-Forwarded-For", "192.0.2.1, 192.0.2.2, 127.0.0.1"),
        ),
        passed(
            "X-Forwarded-Proto and -Host of the client's",
            "RFC 7239 8.1",
            "X-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\n",
            sent("GET", "/a").with("X-Forwarded-Proto", "http").with("X-Forwarded-Host", "a"),
        ),
        passed(
            "underscores in X-Forwarded-For",
            "RFC 3875 4.1.18: the same variable in CGI",
            "X_Forwarded_For: 192.0.2.1\r\nX-Forwarded_Proto: https\r\n",
            sent("GET", "/a").without("X_Forwarded_For").without("X-Forwarded_Proto"),
        ),
        passed(
            "Forwarded of the client's",
            "RFC 7239 8.1",
            "Forwarded: for=192.0.2.1;host=b;proto=https\r\nfOrwarded: for=\"[::1\r\n",
            sent("GET", "/a").without("Forwarded").with("X-Forwarded-For", "127.0.0.1"),
        ),
        passed(
            "other X-Forwarded fields of the client's",
            "RFC 7239 8.1; Rack, Spring",
            "X-Forwarded-Port: 1\r\nX-Forwarded-Ssl: on\r\nX_Forwarded_Prefix: /b\r\n\
             X-Forwarded-Server: b\r\nX-Forwarded-Scheme: https\r\nX-Forwarded: for=b\r\n",
            sent("GET", "/a")
                .without("X-Forwarded-Port")
                .without("X-Forwarded-Ssl")
                .without("X_Forwarded_Prefix")
                .without("X-Forwarded-Server")
                .without("X-Forwarded-Scheme"),
        ),
        passed(
            "Via of another proxy",
            "RFC 9110 7.6.3",
            "Via: 1.0 fred\r\n",
            sent("GET", "/a").with("X-Forwarded-For", "127.0.0.1"),
        ),
    ]
}
