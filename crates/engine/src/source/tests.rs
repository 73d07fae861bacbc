//! The exact bytes of requests, what is refused, and that the number alone decides what is sent.

use plimsoll_conn::{Filling, Hop, Http1Request};
use plimsoll_core::plan::{Body, Draft, Endpoint, Order, Proxy, Request, Target};
use plimsoll_core::template::Table;

use super::*;
use crate::tests::{checked, plan};

const AGENT: &str = concat!("User-Agent: plimsoll/", env!("CARGO_PKG_VERSION"), "\r\n");

/// What a default request has between its request line and its own headers.
fn defaults() -> String {
    format!("Host: 127.0.0.1:8080\r\n{AGENT}Accept: */*\r\n")
}

fn request(method: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Request {
    Request {
        method: method.to_owned(),
        headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
        body: body.map(|bytes| Body::new(bytes.to_vec())),
        ..Request::get()
    }
}

fn sending(request: Request) -> Draft {
    Draft { request, ..plan() }
}

fn target(name: &str, path: &str, weight: u32) -> Target {
    let (name, path) = (name.to_owned(), path.to_owned());
    Target { name, path: path.into(), request: Request::get(), weight, expect: Vec::new() }
}

fn users(values: &[&str]) -> Table {
    Table {
        path: "users.csv".to_owned(),
        columns: vec!["id".to_owned()],
        rows: values.iter().map(|value| vec![(*value).to_owned()]).collect(),
    }
}

fn prepared(plan: &Draft) -> Prepared<Http1Request> {
    Prepared::new(&checked(plan)).unwrap_or_else(|error| panic!("{error}"))
}

/// Head and body of a request, also checked against a buffer of the size that was promised.
fn parts(prepared: &Prepared<Http1Request>, number: u64, cookies: &[u8]) -> (String, String) {
    let cookie_bytes = "Cookie: \r\n".len() + cookies.len();
    let mut out = Vec::with_capacity(prepared.request_bytes_max() + cookie_bytes);
    let capacity = out.capacity();
    let filling = Filling { number, cookies, ..Filling::default() };
    let head = prepared.target(prepared.choose(number)).encoding.write(&filling, &mut out);
    assert_eq!(out.capacity(), capacity, "filling allocates nothing");
    let body = out.split_off(head);
    (String::from_utf8(out).expect("text"), String::from_utf8(body).expect("text"))
}

fn text(plan: &Draft, number: u64) -> String {
    let (head, body) = parts(&prepared(plan), number, b"");
    head + &body
}

fn problem(plan: &Draft) -> String {
    let prepared = Prepared::<Http1Request>::new(&checked(plan));
    let error = prepared.map(|_| ()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn requests_are_exact() {
    let defaults = defaults();
    let chunked = |request| Request { chunked: true, ..request };
    let continued = |request| Request { expect_continue: true, ..request };
    let long = vec![b'x'; 20_000];
    let cut = format!("4000\r\n{}\r\ne20\r\n{}\r\n0\r\n\r\n", "x".repeat(16_384), "x".repeat(3616));
    for (request, want) in [
        (request("GET", &[], None), format!("GET / HTTP/1.1\r\n{defaults}\r\n")),
        (
            request("POST", &[], None),
            format!("POST / HTTP/1.1\r\n{defaults}Content-Length: 0\r\n\r\n"),
        ),
        (
            request("POST", &[("host", "a.example"), ("ACCEPT", "")], Some(b"abc")),
            format!("POST / HTTP/1.1\r\n{AGENT}Content-Length: 3\r\nhost: a.example\r\n\r\nabc"),
        ),
        (
            request("POST", &[("n", "{{seq}}")], Some(b"[{{seq}},\"{{{{\"]")),
            format!(
                "POST / HTTP/1.1\r\n{defaults}Content-Length: 11\r\nn: 7777\r\n\r\n[7777,\"{{{{\"]"
            ),
        ),
        (
            request("PUT", &[("content-length", " 3"), ("Content-Length", "3,3")], Some(b"abc")),
            format!("PUT / HTTP/1.1\r\n{defaults}content-length:  3\r\n\r\nabc"),
        ),
        (
            request("GET", &[("Content-Length", "0")], None),
            format!("GET / HTTP/1.1\r\n{defaults}Content-Length: 0\r\n\r\n"),
        ),
        (
            request("POST", &[("Content-Length", "")], None),
            format!("POST / HTTP/1.1\r\n{defaults}\r\n"),
        ),
        (
            request("GET", &[("Transfer-Encoding", "gzip, chunked")], None),
            format!(
                "GET / HTTP/1.1\r\n{defaults}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
            ),
        ),
        (
            chunked(request("POST", &[], Some(b"{{seq}}"))),
            format!(
                "POST / HTTP/1.1\r\n{defaults}Transfer-Encoding: chunked\r\n\r\n\
                 4\r\n7777\r\n0\r\n\r\n"
            ),
        ),
        (
            chunked(request("POST", &[], Some(b""))),
            format!("POST / HTTP/1.1\r\n{defaults}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ),
        (
            request("POST", &[("transfer-encoding", "chunked")], Some(&long)),
            format!("POST / HTTP/1.1\r\n{defaults}transfer-encoding: chunked\r\n\r\n{cut}"),
        ),
        (
            continued(request("POST", &[], Some(b"abc"))),
            format!(
                "POST / HTTP/1.1\r\n{defaults}Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
            ),
        ),
    ] {
        assert_eq!(text(&sending(request.clone()), 7777), want, "{request:?}");
    }
    let mut binary = sending(request("POST", &[], Some(b"\xff{{seq}}")));
    binary.request.body = Some(Body::new(b"\xff{{seq}}".to_vec()));
    let mut out = Vec::new();
    prepared(&binary).target(0).encoding.write(&Filling::default(), &mut out);
    assert!(out.ends_with(b"\xff{{seq}}"), "bytes that are not text hold no templates");
}

#[test]
fn the_connection_header_follows_the_version_and_the_plan() {
    let mut plan = plan();
    plan.request.http_minor = 0;
    assert!(text(&plan, 0).contains(" HTTP/1.0\r\n"));
    assert!(text(&plan, 0).contains("Connection: keep-alive\r\n"));
    plan.requests_per_connection = Some(1);
    assert!(!text(&plan, 0).contains("Connection"));
    plan.request.http_minor = 1;
    assert!(text(&plan, 0).contains("Connection: close\r\n"));
}

#[test]
fn templates_stand_in_paths_headers_and_bodies_or_are_switched_off() {
    let mut plan = sending(request("POST", &[("X", "{{csv:users.csv:id}}")], Some(b"{{seq}}")));
    plan.endpoint.path = "/{{csv:users.csv:id}}?n={{seq}}".into();
    plan.tables = vec![users(&["a", "bc"])];
    let defaults = defaults();
    for (number, id) in [(0, "a"), (1, "bc"), (12, "a")] {
        let digits = number.to_string().len();
        let want = format!(
            "POST /{id}?n={number} HTTP/1.1\r\n{defaults}Content-Length: {digits}\r\nX: {id}\r\n\
             \r\n{number}"
        );
        assert_eq!(text(&plan, number), want);
    }
    assert!(prepared(&plan).target(0).encoding.fixed().is_none());
    plan.templates = false;
    plan.endpoint.path = "/{{no}}".into();
    assert!(text(&plan, 3).starts_with("POST /{{no}} HTTP/1.1\r\n"));
    assert!(text(&plan, 3).ends_with("X: {{csv:users.csv:id}}\r\n\r\n{{seq}}"));
}

#[test]
fn values_of_tables_are_encoded_for_their_place_in_a_path() {
    let mut plan = plan();
    plan.tables = vec![users(&["a b/c#?&"])];
    for (path, want) in [
        ("/{{csv:users.csv:id}}", "/a%20b/c%23%3F&"),
        (
            "/x?q={{csv:users.csv:id}}&{{csv:users.csv:id form}}",
            "/x?q=a%20b/c%23?%26&a+b%2Fc%23%3F%26",
        ),
    ] {
        plan.endpoint.path = path.into();
        assert!(text(&plan, 0).starts_with(&format!("GET {want} HTTP/1.1\r\n")), "{path}");
    }
    plan.endpoint.path = "/{{csv:users.csv:id raw}}".into();
    assert!(problem(&plan).contains("a space"));
    plan.tables = vec![users(&["a?b=c", "a#b"])];
    assert!(problem(&plan).contains("row 3") && problem(&plan).contains("'#'"));
    plan.tables = vec![users(&["a?b=c"])];
    assert!(text(&plan, 0).starts_with("GET /a?b=c "));
}

#[test]
fn what_never_varies_is_one_piece_of_bytes() {
    let mut plan = sending(request("POST", &[], Some(b"abc")));
    let fixed = prepared(&plan);
    let bytes = fixed.target(0).encoding.fixed().expect("nothing varies");
    let (head, body) = parts(&fixed, 0, b"");
    assert_eq!((&bytes[..], body.as_str()), ((head + "abc").as_bytes(), "abc"));
    plan.cookies = true;
    let fixed = prepared(&plan);
    assert!(fixed.target(0).encoding.fixed().is_none(), "cookies differ");
    for (cookies, line) in [("", ""), ("a=b", "Cookie: a=b\r\n")] {
        let (head, body) = parts(&fixed, 0, cookies.as_bytes());
        assert!(head.ends_with(&format!("Content-Length: 3\r\n{line}\r\n")), "{head}");
        assert_eq!(body, "abc");
    }
    plan.request.body = Some(Body::new(b"{{seq}}".to_vec()));
    let (head, body) = parts(&prepared(&plan), 10, b"a=b");
    assert!(head.ends_with("Content-Length: 2\r\nCookie: a=b\r\n\r\n"), "{head}");
    assert_eq!(body, "10");
}

#[test]
fn redirects_keep_the_request_or_make_a_get_of_it() {
    let headers = [("Content-Type", "a/b"), ("X", "{{uuid}}")];
    let mut plan = sending(request("POST", &headers, Some(b"abc")));
    plan.redirects = 5;
    let varying = prepared(&plan);
    plan.request.headers[1].1 = "y".into();
    let fixed = prepared(&plan);
    for prepared in [&varying, &fixed] {
        let sent_on = |path: &str, as_get, cookies: &[u8]| {
            let hop = Hop { path: path.to_owned(), as_get };
            let filling = Filling { number: 3, cookies, hop: Some(&hop), ..Filling::default() };
            let encoding = &prepared.target(0).encoding;
            let mut out = Vec::new();
            let head = encoding.write(&filling, &mut out);
            assert_eq!(encoding.has_body(&filling), head < out.len());
            let body = out.split_off(head);
            (String::from_utf8(out).expect("text"), String::from_utf8(body).expect("text"))
        };
        let same = sent_on("/", false, b"");
        assert_eq!(same, parts(prepared, 3, b""), "the same path: the same, random parts and all");

        let (head, body) = sent_on("/a b\r\n\u{7f}ä#x", false, b"c=d");
        assert!(head.starts_with("POST /a%20b%0D%0A%7F%C3%A4 HTTP/1.1\r\nHost: "), "{head}");
        assert!(head.ends_with("Cookie: c=d\r\n\r\n") && body == "abc", "{head}");

        let (head, body) = sent_on("x", true, b"c=d");
        assert!(
            head.starts_with("GET /x HTTP/1.1\r\nHost: ") && head.ends_with("Cookie: c=d\r\n\r\n")
        );
        assert!(!head.contains("Content-") && head.contains("\r\nX: ") && body.is_empty());
    }
}

#[test]
fn a_proxy_gets_the_absolute_form_unless_it_is_a_tunnel() {
    let mut plan = plan();
    plan.redirects = 1;
    plan.transport.proxy = Some(Proxy {
        host: "proxy".to_owned(),
        port: 3128,
        credentials: Some("Aladdin:open sesame".into()),
    });
    let start = "GET http://127.0.0.1:8080/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n";
    assert!(text(&plan, 0).starts_with(start), "{}", text(&plan, 0));
    let authorization = "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n";
    assert!(text(&plan, 0).contains(authorization));
    let mut out = Vec::new();
    let hop = Hop { path: "/x".to_owned(), as_get: false };
    let filling = Filling { hop: Some(&hop), ..Filling::default() };
    prepared(&plan).target(0).encoding.write(&filling, &mut out);
    assert!(out.starts_with(b"GET http://127.0.0.1:8080/x HTTP/1.1\r\n"));
    plan.request.method = "OPTIONS".to_owned();
    plan.endpoint.path = "*".into();
    assert!(text(&plan, 0).starts_with("OPTIONS http://127.0.0.1:8080 HTTP/1.1\r\n"));
    plan.endpoint.scheme = "https".to_owned();
    assert!(text(&plan, 0).starts_with("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"));
    assert!(!text(&plan, 0).contains("Proxy-"));
}

#[test]
fn a_path_is_sent_in_ascii() {
    for (path, want) in [
        ("/ü?k=日", "/%C3%BC?k=%E6%97%A5"),
        ("/ü/{{seq}}/ü?{{seq}}", "/%C3%BC/7777/%C3%BC?7777"),
        ("/\"<|>^`?f={\"a\":1}", "/\"<|>^`?f={\"a\":1}"),
    ] {
        let plan = Draft { endpoint: Endpoint::http("127.0.0.1", 8080, path), ..plan() };
        assert!(text(&plan, 7777).starts_with(&format!("GET {want} HTTP/1.1\r\n")), "{path}");
    }
    let plain =
        Draft { endpoint: Endpoint::http("127.0.0.1", 8080, "/{{ü"), templates: false, ..plan() };
    assert!(text(&plain, 0).starts_with("GET /{{%C3%BC HTTP/1.1\r\n"));
}

#[test]
fn what_would_break_a_request_is_refused() {
    let old = |request| Request { http_minor: 0, ..request };
    let chunked = |request| Request { chunked: true, ..request };
    let body = Some(&b"x"[..]);
    for (request, says) in [
        (request("G T", &[], None), "method"),
        (request("GET", &[("X Y", "z")], None), "header name"),
        (request("GET", &[("X", "a\r\nY: b")], None), "header value"),
        (request("GET", &[("X", "{{seq}}\n")], None), "header value"),
        (request("GET", &[("X", "{{sec}}")], None), "--no-templates"),
        (request("POST", &[], Some(b"{{")), "--no-templates"),
        (old(chunked(request("POST", &[], body))), "--chunked"),
        (chunked(request("POST", &[("content-length", "1")], body)), "Content-Length"),
        (request("POST", &[("Content-Length", "0")], body), "has 1 bytes"),
        (request("POST", &[("content-length", "2")], body), "has 1 bytes"),
        (request("POST", &[("Content-Length", "+1")], body), "has 1 bytes"),
        (request("POST", &[("Content-Length", "one")], body), "'one'"),
        (request("POST", &[("Content-Length", "1,2")], body), "'2'"),
        (request("POST", &[("Content-Length", "1"), ("Content-Length", "2")], body), "'2'"),
        (request("GET", &[("Content-Length", "5")], None), "has 0 bytes"),
        (request("POST", &[("Content-Length", "{{seq}}")], body), "has 1 bytes"),
        (request("POST", &[("Content-Length", "1")], Some(b"{{seq}}")), "of a template"),
        (request("POST", &[("Content-Length", "")], body), "neither Content-Length nor chunks"),
        (request("POST", &[("Transfer-Encoding", "gzip")], body), "Transfer-Encoding is 'gzip'"),
        (request("POST", &[("Transfer-Encoding", "chunked, gzip")], body), "end with chunked"),
        (request("POST", &[("Transfer-Encoding", "chunked,chunked")], body), "end with chunked"),
        (
            request("POST", &[("Transfer-Encoding", "chunked"), ("Content-Length", "1")], body),
            "Content-Length",
        ),
        (chunked(request("POST", &[("Transfer-Encoding", "")], body)), "Transfer-Encoding"),
        (old(request("POST", &[("Transfer-Encoding", "chunked")], body)), "HTTP/1.0"),
        (old(Request { expect_continue: true, ..request("POST", &[], body) }), "--expect-continue"),
    ] {
        let error = problem(&sending(request.clone()));
        assert!(error.contains(says), "{request:?}: {error}");
    }
    for path in ["/a b", "x", "", "/\r\n", "/{{seq}} "] {
        let endpoint = Endpoint::http("127.0.0.1", 8080, path);
        problem(&Draft { endpoint, ..plan() });
    }
    let named = Draft { targets: vec![target("home", "/", 1), target("x", "/ ", 1)], ..plan() };
    assert!(problem(&named).contains("target 'x'"));
}

#[test]
fn values_of_tables_are_checked_where_they_stand() {
    let with = |path: &str, header: &str, values: &[&str]| Draft {
        endpoint: Endpoint::http("127.0.0.1", 8080, path),
        tables: vec![users(values)],
        ..sending(request("POST", &[("X", header)], Some(b"{{csv:users.csv:id}}")))
    };
    let id = "{{csv:users.csv:id}}";
    let in_path = format!("/{id}");
    let raw_in_path = "/{{csv:users.csv:id raw}}";
    for (plan, says) in [
        (with("/", "x", &["a b", "c\r\nd"]), None),
        (with("/", id, &["a b"]), None),
        (
            with("/", id, &["a", "c\r\nd"]),
            Some("row 3 of users.csv cannot stand in a header: its id has a line break"),
        ),
        (with(&in_path, "x", &["a b", "a\tb"]), None),
        (
            with(raw_in_path, "x", &["a b"]),
            Some("row 2 of users.csv cannot stand in a path: its id has a space"),
        ),
        (with(raw_in_path, "x", &["a\tb"]), Some("control")),
        (with("/", "{{csv:users.csv:name}}", &["a"]), Some("no column 'name'")),
        (with("/", "{{csv:other.csv:id}}", &["a"]), Some("other.csv")),
        (with("/", id, &[]), Some("no rows")),
    ] {
        match says {
            None => drop(prepared(&plan)),
            Some(says) => assert!(problem(&plan).contains(says), "{says}: {}", problem(&plan)),
        }
    }
}

#[test]
fn targets_are_taken_in_the_order_asked_for() {
    let targets = vec![target("a", "/a", 1), target("b", "/b", 2), target("c", "/c", 5)];
    let counts = |order| {
        let prepared = prepared(&Draft { targets: targets.clone(), order, ..plan() });
        let mut counts = [0u32; 3];
        for number in 0..80_000 {
            counts[prepared.choose(number) as usize] += 1;
        }
        counts
    };
    assert_eq!(counts(Order::Sequential), [26_667, 26_667, 26_666]);
    // Expected 26 667 each, and 10 000, 20 000, 50 000; a standard deviation is about 130.
    assert_eq!(counts(Order::Random), [26_664, 26_621, 26_715]);
    assert_eq!(counts(Order::Weighted), [10_039, 19_910, 50_051]);
}

#[test]
fn weights_of_zero_are_never_chosen_and_not_all_may_be_zero() {
    let weighted = |weights: &[u32]| Draft {
        targets: weights.iter().map(|weight| target("x", "/", *weight)).collect(),
        order: Order::Weighted,
        ..plan()
    };
    let prepared = prepared(&weighted(&[0, u32::MAX, 0, 1, 0]));
    assert!((0..10_000).all(|number| matches!(prepared.choose(number), 1 | 3)));
    assert!(problem(&weighted(&[0, 0])).contains("weight"));
}

#[test]
fn endpoints_are_distinct_names_and_the_last_is_for_the_rest() {
    assert!(prepared(&plan()).endpoint_names().is_empty());
    assert_eq!(prepared(&plan()).target(0).endpoint, Place::NONE);
    let few = vec![target("a", "/1", 1), target("b", "/2", 1), target("a", "/3", 1)];
    let few = prepared(&Draft { targets: few, ..plan() });
    assert_eq!(few.endpoint_names(), ["a", "b"]);
    assert_eq!((0..3).map(|i| few.target(i).endpoint).collect::<Vec<_>>(), [0, 1, 0]);
    let many = (0..150).map(|i| target(&format!("t{i}"), "/", 1)).collect();
    let many = prepared(&Draft { targets: many, ..plan() });
    assert_eq!((many.endpoint_names().len(), many.endpoint_names()[100].as_str()), (101, "others"));
    let numbers: Vec<u16> = [0, 99, 100, 149].map(|i| many.target(i).endpoint).to_vec();
    assert_eq!(numbers, [0, 99, 100, 100]);
}

#[test]
fn the_number_alone_decides_whatever_the_worker() {
    let mut targets = vec![target("a", "/{{uuid}}", 1), target("b", "/{{random 1 9}}", 3)];
    targets[1].request = request("POST", &[], Some(b"{{random_hex 40}}{{seq}}"));
    let plan = Draft { targets, order: Order::Weighted, seed: 42, ..plan() };
    let one: Vec<_> = (0..60).map(|number| parts(&prepared(&plan), number, b"")).collect();
    // Three workers, each with a source of its own, each its share of the numbers, backwards.
    let mut three = vec![None; 60];
    for worker in 0..3_u32 {
        let own = prepared(&plan);
        for number in (worker..60).step_by(3).rev().map(u64::from) {
            three[number as usize] = Some(parts(&own, number, b""));
        }
    }
    assert_eq!(one.into_iter().map(Some).collect::<Vec<_>>(), three);
    let other = prepared(&Draft { seed: 43, ..plan.clone() });
    let differs = |number| parts(&other, number, b"") != parts(&prepared(&plan), number, b"");
    assert!((0..60).filter(|number| differs(*number)).count() > 50);
}
