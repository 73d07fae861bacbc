//! Flows, by what they put on the wire.

use super::super::api::http::Expected;
use super::*;

mod redirects;

const NOW_NS: u64 = 1_700_000_000_000_000_000;

pub(super) fn request(
    method: &str,
    url: &str,
    headers: &[(&str, &str)],
    body: Option<&str>,
) -> Request {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Request {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: headers.iter().map(owned).collect(),
        body: body.unwrap_or_default().as_bytes().to_vec(),
        has_body: body.is_some(),
        ..Request::default()
    }
}

fn options() -> HttpOptions {
    HttpOptions { user_agent: "agent/1".to_owned(), ..HttpOptions::default() }
}

/// What goes on the wire first.
fn wire(request: &Request, options: &HttpOptions) -> String {
    let mut flow = Flow::new();
    assert_eq!(flow.begin(request, options, NOW_NS), Next::Send, "{:?}", flow.error);
    String::from_utf8_lossy(flow.wire()).into_owned()
}

/// A response to the request on the wire: its status, the fields of its head, its body.
type Response<'a> = (u16, &'a str, &'a str);

/// Plays a server: gives the requests on the wire, and the flow when it is done.
fn play(
    request: &Request,
    options: &HttpOptions,
    responses: &[Response<'_>],
) -> (Vec<String>, Flow) {
    let mut flow = Flow::new();
    let mut wires = Vec::new();
    let mut next = flow.begin(request, options, NOW_NS);
    for (at, (status, head, body)) in responses.iter().enumerate() {
        assert_eq!(next, Next::Send, "{wires:?} {}", flow.error);
        if at > 0 {
            assert_eq!(flow.advance(request, options, NOW_NS), Next::Send);
        }
        let Origin { is_tls, host, port } = flow.origin();
        let place = format!("{}{host}:{port} ", if is_tls { "tls " } else { "" });
        wires.push(place + &String::from_utf8_lossy(flow.wire()));
        let lines = format!("HTTP/1.1 {status} Fine\r\n{head}\r\n");
        flow.head(request, options, *status, lines.as_bytes(), NOW_NS);
        flow.body(options, body.as_bytes());
        next = flow.complete(options);
    }
    assert_eq!(next, Next::Done);
    (wires, flow)
}

#[test]
fn requests_are_written_as_k6_writes_them() {
    const AGENT: &str = "User-Agent: agent/1\r\n";
    for (request, want) in [
        (
            request("GET", "http://x.test", &[], None),
            format!("GET / HTTP/1.1\r\nHost: x.test\r\n{AGENT}\r\n"),
        ),
        (
            request("GET", "https://x.test:8443/a?b=c#d", &[("x-b", "2"), ("ACCEPT", "a")], None),
            format!(
                "GET /a?b=c HTTP/1.1\r\nHost: x.test:8443\r\n{AGENT}Accept: a\r\nX-B: 2\r\n\r\n"
            ),
        ),
        (
            request("POST", "http://x.test/", &[], None),
            format!("POST / HTTP/1.1\r\nHost: x.test\r\n{AGENT}Content-Length: 0\r\n\r\n"),
        ),
        (
            request("DELETE", "http://x.test/", &[], Some("")),
            format!("DELETE / HTTP/1.1\r\nHost: x.test\r\n{AGENT}\r\n"),
        ),
        (
            request(
                "PUT",
                "http://x.test/",
                &[("content-length", "9"), ("Transfer-Encoding", "chunked"), ("Trailer", "a")],
                Some("four"),
            ),
            format!("PUT / HTTP/1.1\r\nHost: x.test\r\n{AGENT}Content-Length: 4\r\n\r\nfour"),
        ),
        (
            request("GET", "http://x.test/", &[("host", "other"), ("user-agent", "mine")], None),
            "GET / HTTP/1.1\r\nHost: other\r\nUser-Agent: mine\r\n\r\n".to_owned(),
        ),
        (
            request("GET", "http://x.test/", &[("Host", ""), ("User-Agent", "")], None),
            "GET / HTTP/1.1\r\nHost: x.test\r\n\r\n".to_owned(),
        ),
        (
            request("GET", "http://u:p%40@x.test/", &[], None),
            format!(
                "GET / HTTP/1.1\r\nHost: x.test\r\n{AGENT}Authorization: Basic dTpwQA==\r\n\r\n"
            ),
        ),
        (
            request("GET", "http://u:p@x.test/", &[("authorization", "mine")], None),
            format!("GET / HTTP/1.1\r\nHost: x.test\r\n{AGENT}Authorization: mine\r\n\r\n"),
        ),
    ] {
        assert_eq!(wire(&request, &options()), want, "{} {}", request.method, request.url);
    }
    let closing = HttpOptions { closes_connections: true, ..HttpOptions::default() };
    assert_eq!(
        wire(&request("GET", "http://x.test/", &[("A", "b")], None), &closing),
        "GET / HTTP/1.1\r\nHost: x.test\r\nA: b\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn what_cannot_be_sent_is_done_at_once() {
    let ntlm = Request { auth: "ntlm".to_owned(), ..request("GET", "http://u:p@x/", &[], None) };
    for (request, number, text, url) in [
        (request("GET", "nowhere", &[], None), 1000, "unsupported protocol scheme \"\"", "nowhere"),
        (
            request("GET", "ftp://h/x", &[], None),
            1000,
            "unsupported protocol scheme \"ftp\"",
            "ftp://h/x",
        ),
        (request("GET", "http://", &[], None), 1000, "http: no Host in request URL", "http://"),
        (
            request("GET", "ftp://u:p@x/@", &[], None),
            1000,
            "unsupported protocol scheme \"ftp\"",
            "ftp://****@x/@",
        ),
        (
            request("GET", "http://x:99999/", &[], None),
            1210,
            "invalid URL: 'http://x:99999/' has",
            "http://x:99999/",
        ),
        (request("GET", "http://a b/", &[], None), 1020, "invalid URL: 'http://a b/' has", ""),
        (
            request("GET", "http://x/", &[("a b", "c")], None),
            1000,
            "header 'a b' cannot be sent",
            "http://x/",
        ),
        (
            request("GET", "http://x/", &[("a", "\u{1}")], None),
            1000,
            "header 'a' cannot be sent",
            "http://x/",
        ),
        (request("G T", "http://x/", &[], None), 1000, "method 'G T' cannot be sent", "http://x/"),
        (request("GET", "http://x/", &[("", "c")], None), 1000, "header '' cannot", "http://x/"),
        (ntlm, 1000, "NTLM is not supported", "http://****:****@x/"),
    ] {
        let mut flow = Flow::new();
        assert_eq!(flow.begin(&request, &options(), NOW_NS), Next::Done, "{text}");
        let answer = flow.answer(3, &Via::default(), Timings::default());
        assert_eq!((answer.request, answer.status, answer.error_code), (3, 0, number), "{text}");
        assert!(answer.error.starts_with(text), "{}", answer.error);
        assert_eq!(flow.counts(), !url.is_empty(), "{text}");
        let hop = flow.hop(&request);
        if flow.counts() {
            assert_eq!((hop.url, hop.is_expected, hop.error_code), (url, Some(false), number));
        }
    }
}

#[test]
fn responses_become_answers() {
    let request = request("GET", "http://u:p@x.test/a b", &[], None);
    let (wires, flow) = play(&request, &options(), &[(404, "A: b\r\n", "gone")]);
    assert!(wires[0].starts_with("x.test:80 GET /a%20b HTTP/1.1\r\n"), "{wires:?}");
    let via =
        Via { protocol: "HTTP/1.1", remote_ip: "127.0.0.1", remote_port: 80, ..Via::default() };
    let answer = flow.answer(1, &via, Timings::default());
    assert_eq!((answer.status, answer.status_text), (404, "404 Fine"));
    assert_eq!((answer.head, answer.body), (&b"A: b\r\n\r\n"[..], &b"gone"[..]));
    assert_eq!(
        (answer.url, answer.error_code, answer.error),
        ("http://u:p@x.test/a%20b", 1404, "")
    );
    assert_eq!((answer.protocol, answer.remote_ip), ("HTTP/1.1", "127.0.0.1"));
    let hop = flow.hop(&request);
    assert_eq!(
        (hop.url, hop.status, hop.is_expected),
        ("http://****:****@x.test/a%20b", 404, Some(false))
    );
    let named = Request { name: "n".to_owned(), expected: Expected::Off, ..request.clone() };
    let (_, flow) = play(&named, &options(), &[(404, "A: b\r\n", "gone")]);
    assert_eq!((flow.hop(&named).url, flow.hop(&named).is_expected), ("n", None));
}

#[test]
fn failures_have_no_response() {
    let request = request("GET", "http://x.test/", &[], None);
    let mut flow = Flow::new();
    for _ in 0..2 {
        let _ = flow.begin(&request, &options(), NOW_NS);
        flow.head(&request, &options(), 200, b"HTTP/1.1 200 OK\r\nA: b\r\n", NOW_NS);
        flow.body(&options(), b"half");
        assert_eq!(flow.fail(&Fault::ClosedWithin), Next::Done);
        let answer = flow.answer(0, &Via::default(), Timings::default());
        assert_eq!((answer.status, answer.status_text, answer.url), (0, "", ""));
        assert_eq!((answer.head, answer.body), (&b""[..], &b"half"[..]));
        assert_eq!((answer.error, answer.error_code), ("unexpected EOF", 1000));
        let hop = flow.hop(&request);
        assert_eq!((hop.status, hop.is_expected, hop.error_code), (0, Some(false), 1000));
    }
    let _ = flow.begin(&request, &options(), NOW_NS);
    let answer = flow.answer(0, &Via::default(), Timings::default());
    assert_eq!((answer.error, answer.body), ("", &b""[..]));
    let packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n";
    flow.head(&request, &options(), 200, packed, NOW_NS);
    flow.body(&options(), b"half");
    assert_eq!(flow.fail(&Fault::ClosedWithin), Next::Done);
    assert_eq!(flow.answer(0, &Via::default(), Timings::default()).body, b"");
}

#[test]
fn bodies_are_kept_as_far_as_they_are_wanted() {
    let get = request("GET", "http://x.test/", &[], None);
    let unwanted = Request { response_body: ResponseBody::Nothing, ..get.clone() };
    let head = request("HEAD", "http://x.test/", &[], None);
    for (request, status, want) in [
        (&get, 200, "body"),
        (&get, 204, ""),
        (&get, 304, ""),
        (&unwanted, 200, ""),
        (&head, 200, ""),
    ] {
        let (_, flow) = play(request, &options(), &[(status, "", "body")]);
        assert_eq!(flow.body, want.as_bytes(), "{} {status}", request.method);
    }
    let small = HttpOptions { body_bytes_max: 3, ..options() };
    let (_, flow) = play(&get, &small, &[(200, "", "body")]);
    assert_eq!((flow.error.as_str(), flow.code()), ("the body is longer than 3 bytes", 1000));
    let (_, flow) = play(&get, &small, &[(200, "", "bod")]);
    assert_eq!(flow.body, b"bod");
    let (_, flow) = play(&get, &options(), &[(101, "", "")]);
    assert_eq!(flow.error, "unsupported response status: 101 Fine");
}

#[test]
fn statuses_of_http2_get_their_reason() {
    let request = request("GET", "http://x.test/", &[], None);
    for (status, line, want) in [
        (200, "HTTP/1.1 200 Yes\r\n", "200 Yes"),
        (200, "HTTP/1.0 200\r\n", "200"),
        (404, "\r\n", "404 Not Found"),
        (599, "", "599 "),
    ] {
        let mut flow = Flow::new();
        let _ = flow.begin(&request, &options(), NOW_NS);
        flow.head(&request, &options(), status, line.as_bytes(), NOW_NS);
        assert_eq!(flow.status_text, want);
    }
}

#[test]
fn bodies_are_compressed_and_decompressed() {
    let text = "some text, ".repeat(100);
    let none = HttpOptions::default();
    for (list, own, encoding) in [
        ("gzip", None, "gzip"),
        ("deflate,BR", None, "deflate, br"),
        ("zstd", Some("mine"), "mine"),
    ] {
        let headers: Vec<_> = own.map(|own| ("content-encoding", own)).into_iter().collect();
        let request = Request {
            compression: list.to_owned(),
            ..request("POST", "http://x/", &headers, Some(&text))
        };
        let mut flow = Flow::new();
        assert_eq!(flow.begin(&request, &none, NOW_NS), Next::Send);
        let at = flow.wire().windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let (head, sent) = flow.wire().split_at(at);
        let head = String::from_utf8_lossy(head).into_owned();
        let wanted = format!("Content-Length: {}\r\nContent-Encoding: {encoding}\r\n", sent.len());
        assert!(head.contains(&wanted), "{head}");
        let sent = sent.to_vec();
        // A server that sends it back.
        let lines = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {list}\r\n");
        flow.head(&request, &none, 200, lines.as_bytes(), NOW_NS);
        for piece in sent.chunks(7) {
            flow.body(&none, piece);
        }
        assert_eq!(flow.complete(&none), Next::Done);
        assert_eq!((flow.body.as_slice(), flow.error.as_str()), (text.as_bytes(), ""));
    }
    let get = request("GET", "http://x/", &[], None);
    let (_, flow) = play(&get, &none, &[(200, "Content-Encoding: gzip\r\n", "not so")]);
    assert_eq!((flow.status, flow.code()), (0, 1701));
    assert!(flow.error.starts_with("error decompressing response body (gzip: "), "{}", flow.error);
    for (request, response) in [
        (get.clone(), (200, "Content-Encoding: unknown\r\n", "as it is")),
        (
            Request { response_body: ResponseBody::Nothing, ..get },
            (200, "Content-Encoding: gzip\r\n", "x"),
        ),
    ] {
        assert_eq!(play(&request, &none, &[response]).1.error, "");
    }
}

#[test]
fn hostile_heads_do_no_harm() {
    let head = "HTTP/1.1 302 F\u{fc}\r\nLocation: /\u{e4} ?\r\nSet-Cookie: n=\u{fc}; Expires=x\r\n\
                Content-Encoding: gzip, br\r\nWWW-Authenticate: Digest nonce=\"n\"\r\n\r\n"
        .as_bytes();
    let request =
        Request { auth: "digest".to_owned(), ..request("GET", "http://u:p@x/", &[], None) };
    let none = HttpOptions::default();
    for status in [101, 200, 302, 401, 999] {
        for end in 0..=head.len() {
            let mut lines = head[..end].to_vec();
            for change in [0u8, 0x80] {
                if let Some(last) = lines.last_mut() {
                    *last ^= change;
                }
                let mut flow = Flow::new();
                let _ = flow.begin(&request, &none, NOW_NS);
                flow.head(&request, &none, status, &lines, NOW_NS);
                flow.body(&none, b"body");
                if flow.complete(&none) == Next::Send {
                    let _ = flow.advance(&request, &none, NOW_NS);
                    let wire = String::from_utf8_lossy(flow.wire()).into_owned();
                    assert!(wire.ends_with("\r\n\r\n") && wire.matches("\r\n\r\n").count() == 1);
                }
            }
        }
    }
}

#[test]
fn a_request_like_the_one_before_allocates_nothing() {
    let request = Request {
        jar: Some(super::super::api::http::SharedJar::default()),
        ..request(
            "POST",
            "https://x.test/a?b=c",
            &[("Content-Type", "t"), ("X-A", "b")],
            Some("data"),
        )
    };
    let options = options();
    let mut flow = Flow::new();
    for (round, line) in
        ["HTTP/1.1 200 OK\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n"].iter().enumerate()
    {
        let lines = format!("{line}Content-Type: text/plain\r\nContent-Length: 9\r\n");
        let counted = allocation_counter::measure(|| {
            assert_eq!(flow.begin(&request, &options, NOW_NS), Next::Send);
            flow.head(&request, &options, 200, lines.as_bytes(), NOW_NS);
            flow.body(&options, b"some ");
            flow.body(&options, b"text");
            assert_eq!(flow.complete(&options), Next::Done);
            let answer = flow.answer(0, &Via::default(), Timings::default());
            assert_eq!((answer.status_text, answer.body), ("200 OK", &b"some text"[..]));
        });
        assert!(round == 0 || counted.count_total == 0, "{round}: {counted:?}");
    }
}

#[test]
fn proxies_are_told_the_whole_url() {
    let environment = |name: &str| {
        let named = ["HTTP_PROXY", "HTTPS_PROXY"].contains(&name);
        named.then(|| "u:p@proxy.test:3128".to_owned())
    };
    let proxies = Proxies::of_environment(environment).unwrap();
    let options = HttpOptions { proxies, ..HttpOptions::default() };
    for (url, host, want) in [
        (
            "http://x.test:81?a",
            "",
            "GET http://x.test:81/?a HTTP/1.1\r\nHost: x.test:81\r\n\
             Proxy-Authorization: Basic dTpw\r\n\r\n",
        ),
        (
            "http://x.test/b",
            "y.test",
            "GET http://y.test/b HTTP/1.1\r\nHost: y.test\r\n\
             Proxy-Authorization: Basic dTpw\r\n\r\n",
        ),
        ("https://x.test/b", "", "GET /b HTTP/1.1\r\nHost: x.test\r\n\r\n"),
        ("http://127.0.0.1/b", "", "GET /b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
    ] {
        let request = request("GET", url, &[("Host", host)], None);
        let mut flow = Flow::new();
        assert_eq!(flow.begin(&request, &options, NOW_NS), Next::Send);
        assert_eq!(String::from_utf8_lossy(flow.wire()), want, "{url}");
        assert_eq!(flow.proxy(&options).is_some(), url.contains("x.test"), "{url}");
    }
}
