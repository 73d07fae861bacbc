//! Hops: redirects, the cookies that responses set on the way, and challenges.

use super::*;

/// The wires of a request that was redirected, without what each has.
fn redirected(request: &Request, options: &HttpOptions, responses: &[Response<'_>]) -> Vec<String> {
    let (wires, flow) = play(request, options, responses);
    assert_eq!(flow.error, "", "{wires:?}");
    wires
        .iter()
        .map(|wire| wire.replace(" HTTP/1.1\r\nHost: ", " @").replace("\r\n", "|"))
        .collect()
}

#[test]
fn redirects_change_requests_as_in_k6() {
    let none = HttpOptions::default();
    let headers = [("Content-Type", "t"), ("A", "b"), ("Authorization", "s"), ("Cookie", "c=d")];
    let first = |method: &str, target: &str, body: Option<&str>| {
        let length = body.map_or(String::new(), |body| format!("Content-Length: {}|", body.len()));
        let fields = "A: b|Authorization: s|Content-Type: t|Cookie: c=d|";
        let body = body.unwrap_or_default();
        format!("x.test:80 {method} {target} @x.test|{length}{fields}||{body}").replace("||", "|")
    };
    let referer = "Referer: http://x.test/a|";
    for (method, body, status, location, want) in [
        (
            "POST",
            Some("data"),
            302,
            "/b",
            format!("x.test:80 GET /b @x.test|A: b|Authorization: s|{referer}|"),
        ),
        (
            "PUT",
            Some("data"),
            303,
            "b?c",
            format!("x.test:80 GET /b?c @x.test|A: b|Authorization: s|{referer}|"),
        ),
        (
            "GET",
            None,
            301,
            "/b",
            format!("x.test:80 GET /b @x.test|A: b|Authorization: s|{referer}|"),
        ),
        (
            "POST",
            Some("data"),
            307,
            "/b",
            format!(
                "x.test:80 POST /b @x.test|Content-Length: 4|A: b|Authorization: s|Content-Type: t|\
                 {referer}|data"
            ),
        ),
        (
            "POST",
            Some("data"),
            308,
            "https://sub.x.test:8443/b",
            format!(
                "tls sub.x.test:8443 POST /b @sub.x.test:8443|Content-Length: 4|A: b|\
                 Authorization: s|Content-Type: t|{referer}|data"
            ),
        ),
        ("GET", None, 302, "http://y.test/b", format!("y.test:80 GET /b @y.test|A: b|{referer}|")),
        (
            "GET",
            None,
            302,
            "//x.test:81",
            format!("x.test:81 GET / @x.test:81|A: b|Authorization: s|{referer}|"),
        ),
    ] {
        let request = request(method, "http://x.test/a", &headers, body);
        let location = format!("location: {location}\r\n");
        let wires = redirected(&request, &none, &[(status, &location, "moved"), (200, "", "")]);
        assert!(wires[0].starts_with(&first(method, "/a", body)[..20]), "{wires:?}");
        assert_eq!(wires[1], want, "{method} {status} {location}");
    }
    let head = request("HEAD", "https://x.test/a", &[("Referer", "mine")], None);
    let wires =
        redirected(&head, &none, &[(302, "Location: http://x.test/b\r\n", ""), (200, "", "")]);
    assert_eq!(wires[1], "x.test:80 HEAD /b @x.test|Referer: mine||");
    let secure = request("GET", "https://x.test/a", &[], None);
    let wires =
        redirected(&secure, &none, &[(302, "Location: http://x.test/b\r\n", ""), (200, "", "")]);
    assert_eq!(wires[1], "x.test:80 GET /b @x.test||");
    // Once elsewhere, a secret does not come back.
    let there =
        [(302, "Location: http://y.test/\r\n", ""), (302, "Location: http://x.test/\r\n", "")];
    let wires = redirected(
        &request("GET", "http://x.test/a", &headers, None),
        &none,
        &[there[0], there[1], (200, "", "")],
    );
    assert_eq!(wires[2], "x.test:80 GET / @x.test|A: b|Referer: http://y.test/||");
    // A host of its own goes along on the same server.
    let hosted = request("GET", "http://127.0.0.1/a", &[("Host", "x.test")], None);
    let wires = redirected(
        &hosted,
        &none,
        &[
            (302, "Location: /b\r\n", ""),
            (302, "Location: http://127.0.0.1/c\r\n", ""),
            (200, "", ""),
        ],
    );
    assert!(wires[1].contains("/b @x.test|") && wires[2].contains("/c @127.0.0.1|"), "{wires:?}");
}

#[test]
fn redirects_end() {
    let request = request("GET", "http://x.test/", &[], None);
    let again = (302, "Location: /\r\n", "body");
    for (own, of_options, followed, warns) in [
        (None, None, 10, true),
        (None, Some(2), 2, false),
        (Some(0), Some(2), 0, false),
        (Some(1), None, 1, false),
    ] {
        let request = Request { redirects_max: own, ..request.clone() };
        let options = HttpOptions { redirects_max: of_options, ..HttpOptions::default() };
        let (wires, mut flow) = play(&request, &options, &vec![again; followed + 1]);
        assert_eq!(wires.len(), followed + 1);
        let answer = flow.answer(0, &Via::default(), Timings::default());
        assert_eq!((answer.status, answer.body), (302, &b"body"[..]));
        let warning = flow.warning();
        assert_eq!(warning.is_some(), warns, "{warning:?}");
    }
    for (head, text) in [
        ("Location: http://\u{fc}/\r\n", "failed to parse Location header: "),
        ("Location: /%\r\n", "failed to parse Location header: '/%' has a %"),
    ] {
        let (_, flow) = play(&request, &HttpOptions::default(), &[(302, head, "")]);
        assert!(flow.error.starts_with(text), "{}", flow.error);
        assert_eq!(flow.code(), 1000);
    }
    for (status, head) in
        [(302, ""), (302, "Location:\r\n"), (304, "Location: /\r\n"), (200, "Location: /\r\n")]
    {
        let (_, flow) = play(&request, &HttpOptions::default(), &[(status, head, "")]);
        assert_eq!((flow.status, flow.error.as_str()), (status, ""));
    }
}

#[test]
fn redirects_that_cannot_be_asked_are_requests_of_their_own() {
    let options = HttpOptions::default();
    let post = request("POST", "http://x.test/", &[], Some("data"));
    for (to, status, method, shown, number) in [
        ("ftp://u:p@y.test/a", 302, "GET", "ftp://****@y.test/a", 1000),
        ("mailto:me", 307, "POST", "mailto:me", 1000),
        ("http:///a", 302, "GET", "http:///a", 1000),
        ("http://y.test:99999/", 302, "GET", "http://y.test:99999/", 1210),
    ] {
        let mut flow = Flow::new();
        assert_eq!(flow.begin(&post, &options, NOW_NS), Next::Send);
        let lines = format!("HTTP/1.1 {status} Found\r\nLocation: {to}\r\n\r\n");
        flow.head(&post, &options, status, lines.as_bytes(), NOW_NS);
        assert_eq!(flow.complete(&options), Next::Send);
        let hop = flow.hop(&post);
        assert_eq!((hop.url, hop.method), ("http://x.test/", "POST"));
        assert_eq!((hop.status, hop.is_expected, hop.error), (status, Some(true), ""));
        assert_eq!(flow.advance(&post, &options, NOW_NS), Next::Done);
        let hop = flow.hop(&post);
        assert_eq!((hop.url, hop.method, hop.status), (shown, method, 0));
        assert_eq!((hop.is_expected, hop.error_code), (Some(false), number));
        assert!(!hop.error.is_empty(), "{to}");
        let answer = flow.answer(0, &Via::default(), Timings::default());
        assert_eq!((answer.status, answer.url, answer.error_code), (0, to, number));
    }
}

#[test]
fn failures_after_a_redirect_name_its_url() {
    let options = HttpOptions::default();
    let get = request("GET", "http://x.test/", &[], None);
    let mut flow = Flow::new();
    let _ = flow.begin(&get, &options, NOW_NS);
    flow.head(&get, &options, 302, b"HTTP/1.1 302 Found\r\nLocation: /b\r\n\r\n", NOW_NS);
    assert_eq!(flow.complete(&options), Next::Send);
    assert_eq!(flow.advance(&get, &options, NOW_NS), Next::Send);
    let _ = flow.fail(&Fault::Refused);
    let answer = flow.answer(0, &Via::default(), Timings::default());
    assert_eq!((answer.status, answer.url, answer.error_code), (0, "http://x.test/b", 1212));
}

#[test]
fn cookies_of_every_response_are_kept_and_sent() {
    let jar = crate::js::api::http::SharedJar::default();
    let request = Request {
        jar: Some(jar),
        cookies: vec![
            ("own".to_owned(), "a b".to_owned(), false),
            ("n".to_owned(), "1\r\n;2".to_owned(), true),
        ],
        ..request("GET", "http://x.test/a", &[("Cookie", "c=d")], None)
    };
    let set = "Location: /b\r\nSet-Cookie: s=1; Path=/\r\nset-cookie: n=9; Path=/\r\n";
    let last = (200, "Set-Cookie: t=2\r\n", "");
    let wires = redirected(&request, &HttpOptions::default(), &[(302, set, ""), last]);
    assert_eq!(wires[0], "x.test:80 GET /a @x.test|Cookie: c=d; own=\"a b\"; n=12||");
    assert_eq!(
        wires[1],
        "x.test:80 GET /b @x.test|Cookie: own=\"a b\"; n=12; s=1|Referer: http://x.test/a||"
    );
    let wires = redirected(&request, &HttpOptions::default(), &[last]);
    assert_eq!(wires[0], "x.test:80 GET /a @x.test|Cookie: c=d; own=\"a b\"; n=12; s=1; t=2||");
}

#[test]
fn challenges_are_answered_once() {
    let challenge = (401, "WWW-Authenticate: Digest realm=r, nonce=n, qop=auth\r\n", "no");
    let request =
        Request { auth: "digest".to_owned(), ..request("GET", "http://u:p@x.test/a?b", &[], None) };
    let mut flow = Flow::new();
    let none = HttpOptions::default();
    assert_eq!(flow.begin(&request, &none, NOW_NS), Next::Send);
    flow.head(
        &request,
        &none,
        401,
        format!("HTTP/1.1 401 No\r\n{}", challenge.1).as_bytes(),
        NOW_NS,
    );
    assert_eq!(flow.complete(&none), Next::Send);
    assert_eq!((flow.hop(&request).status, flow.hop(&request).is_expected), (401, Some(true)));
    let off = Request { expected: Expected::Off, ..request.clone() };
    assert_eq!(flow.hop(&off).is_expected, None);

    let (wires, flow) = play(&request, &none, &[challenge, (200, "", "yes")]);
    assert!(!wires[0].contains("Authorization"), "{wires:?}");
    let value = "Authorization: Digest username=\"u\", realm=\"r\", nonce=\"n\", uri=\"/a?b\", ";
    assert!(wires[1].contains(value), "{wires:?}");
    assert_eq!((flow.status, &*flow.body), (200, &b"yes"[..]));
    // Nobody sees the credentials, not even as stars.
    assert_eq!(flow.hop(&request).url, "http://x.test/a?b");
    assert_eq!(flow.answer(0, &Via::default(), Timings::default()).url, "http://x.test/a?b");
    let (_, flow) = play(&request, &none, &[challenge, challenge]);
    assert_eq!((flow.status, flow.hop(&request).is_expected), (401, Some(false)));
    // Without credentials, or with another scheme, the challenge is the response.
    let anonymous = Request { url: "http://x.test/".to_owned(), ..request.clone() };
    let (_, flow) = play(&anonymous, &none, &[challenge]);
    assert_eq!(flow.status, 401);
    let (_, flow) = play(&request, &none, &[(401, "WWW-Authenticate: Basic realm=r\r\n", "")]);
    assert_eq!(flow.status, 401);
}
