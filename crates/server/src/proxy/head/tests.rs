//! Heads in, heads out, as tables.

use plimsoll_proto::http1::{
    Limits, RequestDecoder, RequestEvent, RequestKind, ResponseDecoder, ResponseEvent,
};

use super::fields::NAMED_MAX;
use super::*;

const PLAIN: Rewriting = Rewriting {
    forwarded: Forwarded::Off,
    host: HostField::Keep,
    via: false,
    answers_expect: false,
    is_secure: false,
};

fn request_with(rewriting: Rewriting, head: &str) -> Result<(String, Written), u16> {
    let mut decoder = RequestDecoder::new(Limits::default());
    let decoded = decoder.decode(head.as_bytes()).expect("the decoder takes it");
    let Some(RequestEvent::Head(head)) = decoded.event else { panic!("a head: {decoded:?}") };
    let mut out = Vec::new();
    let client = IpAddr::from([192, 0, 2, 107]);
    let from = Sender { address: client, is_http2: false, takes_trailers: false };
    match write_request(&mut out, &head, from, rewriting) {
        Ok(written) => Ok((String::from_utf8_lossy(&out).into_owned(), written)),
        Err(refusal) => Err(refusal.status),
    }
}

fn request(head: &str) -> Result<String, u16> {
    request_with(PLAIN, head).map(|(text, _)| text)
}

#[test]
fn end_to_end_fields_pass_and_others_do_not() {
    let kept = "GET /a?b HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nx-two:2  \r\n\r\n";
    assert_eq!(request(kept), Ok(kept.to_owned()));
    for hop in [
        "Connection: close",
        "Connection: keep-alive, TE",
        "connection: Upgrade\r\nUpgrade: h2c",
        "Keep-Alive: timeout=5",
        "Proxy-Connection: close",
        "Proxy-Authorization: Basic eA==",
        "TE: trailers",
        "Trailer: X-One",
        "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        "Content_Length: 5",
        "transfer_Encoding: chunked",
        "Connection: x-hop, close\r\nX-Hop: 1\r\nX-hop: 2",
        "X-Hop: 1\r\nConnection: x-hop",
    ] {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{hop}\r\nX-One: 1\r\n\r\n");
        let want = "GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n\r\n";
        assert_eq!(request(&head).as_deref(), Ok(want), "{hop}");
    }
}

#[test]
fn a_target_names_the_host_where_no_field_does() {
    let head = "GET http://a.example/x HTTP/1.0\r\nX-One: 1\r\n\r\n";
    let (text, written) = request_with(PLAIN, head).expect("it is forwarded");
    assert_eq!(text, "GET /x HTTP/1.1\r\nX-One: 1\r\nHost: a.example\r\n\r\n");
    assert_eq!(written.host_at, 0);
    let upstream = Rewriting { host: HostField::Upstream, ..PLAIN };
    let (text, written) = request_with(upstream, head).expect("it is forwarded");
    assert_eq!(text, "GET /x HTTP/1.1\r\nX-One: 1\r\n\r\n");
    assert!(written.host_at > 0);
}

#[test]
fn connection_cannot_take_host_or_framing_away() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\
                Connection: host, content-length, transfer-encoding\r\n\r\n";
    let want = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(request(head).as_deref(), Ok(want));
    let names: Vec<_> = (0..=NAMED_MAX).map(|number| format!("x{number}")).collect();
    let head = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: {}\r\n\r\n", names.join(","));
    assert_eq!(request(&head), Err(400));
}

#[test]
fn framing_is_written_from_what_was_understood() {
    for (fields, want) in [
        ("Content-Length: 007", "Content-Length: 7\r\n"),
        ("content-length:\t0 ", "Content-Length: 0\r\n"),
        ("Transfer-Encoding: Chunked", "Transfer-Encoding: chunked\r\n"),
        ("X: 1", "X: 1\r\n"),
    ] {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let want = format!("POST / HTTP/1.1\r\nHost: a\r\n{want}\r\n");
        assert_eq!(request(&head), Ok(want), "{fields}");
    }
    for fields in ["Content-Length: 7, 7", "Content-Length: 7\r\nContent-Length: 7"] {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        assert_eq!(request(&head), Err(400), "{fields}");
    }
}

#[test]
fn lines_end_in_crlf_and_in_nothing_else() {
    for head in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: 1\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: x\r\nX: 1\r\n\n",
    ] {
        assert_eq!(request(head), Err(400), "{head:?}");
    }
}

#[test]
fn targets_and_hosts() {
    for (line, host, want) in [
        ("GET http://a:80/x?y", "a:80", Ok("GET /x?y")),
        ("GET HTTPS://A", "a", Ok("GET /")),
        ("GET http://a?x", "a", Ok("GET /?x")),
        ("OPTIONS http://a", "a", Ok("OPTIONS *")),
        ("OPTIONS *", "a", Ok("OPTIONS *")),
        ("GET /%41|{}", "a", Ok("GET /%41|{}")),
        ("GET *", "a", Err(400)),
        ("GET x", "a", Err(400)),
        ("GET http://b/", "a", Err(400)),
        ("GET http://u@a/", "a", Err(400)),
        ("GET http:///", "a", Err(400)),
        ("GET ftp://a/", "a", Err(400)),
        ("GET /#x", "a", Err(400)),
        ("GET /\"", "a", Err(400)),
        ("GET /ä", "a", Err(400)),
        ("GET /", "", Err(400)),
        ("GET /", "a/b", Err(400)),
        ("GET /", "a b", Err(400)),
        ("GET /", "a, b", Err(400)),
        ("GET /", "u@a", Err(400)),
        ("GET /", "[::1]:80", Ok("GET /")),
        ("GET /", "[::1]", Ok("GET /")),
        ("GET /", "a:", Ok("GET /")),
        ("GET /", "a:b", Err(400)),
        ("GET /", "a:80:80", Err(400)),
        ("GET /", "[::1", Err(400)),
        ("GET /", "[]", Err(400)),
        ("GET /", "[::1]x", Err(400)),
        ("GET /", "a]", Err(400)),
        ("GET /", ":80", Err(400)),
        ("CONNECT a:443", "a:443", Err(501)),
        ("TRACE /", "a", Err(501)),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let want = want.map(|start| format!("{start} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(request(&head), want, "{line} {host}");
    }
    assert_eq!(request("GET / HTTP/1.1\r\n\r\n"), Err(400));
    assert_eq!(request("GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"), Err(400));
    assert_eq!(request("GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n"), Err(400));
}

#[test]
fn what_is_said_of_the_client() {
    let came = "GET / HTTP/1.1\r\nX-Forwarded-For: 10.0.0.1\r\nHost: a\r\nForwarded: for=b\r\n\
                X-Forwarded-Proto: gopher\r\nx-forwarded-for: 10.0.0.2\r\n\
                X-Forwarded-Host: evil\r\nX_Forwarded_For: 10.0.0.3\r\n\
                X-Forwarded_Proto: gopher\r\nx_forwarded_host: evil\r\n\r\n";
    let line = "GET / HTTP/1.1\r\n";
    let ours = "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n\r\n";
    for (forwarded, want) in [
        (Forwarded::Off, came.to_owned()),
        (
            Forwarded::Append,
            format!("{line}Host: a\r\nX-Forwarded-For: 10.0.0.1, 10.0.0.2, 192.0.2.107\r\n{ours}"),
        ),
        (Forwarded::Replace, format!("{line}Host: a\r\nX-Forwarded-For: 192.0.2.107\r\n{ours}")),
    ] {
        let rewriting = Rewriting { forwarded, ..PLAIN };
        let (text, _) = request_with(rewriting, came).expect("forwarded");
        assert_eq!(text, want, "{forwarded:?}");
    }
}

#[test]
fn options_go_as_far_as_they_may() {
    for (method, hops, want) in [
        ("OPTIONS", "5", Ok("Max-Forwards: 4\r\n")),
        ("OPTIONS", "99999999999999999999", Ok("Max-Forwards: 999\r\n")),
        ("OPTIONS", "0", Err(501)),
        ("OPTIONS", "-1", Err(400)),
        ("OPTIONS", "", Err(400)),
        ("GET", "0", Ok("Max-Forwards: 0\r\n")),
    ] {
        let head = format!("{method} / HTTP/1.1\r\nHost: a\r\nMax-Forwards: {hops}\r\n\r\n");
        let want = want.map(|it| format!("{method} / HTTP/1.1\r\nHost: a\r\n{it}\r\n"));
        assert_eq!(request(&head), want, "{method} {hops}");
    }
}

#[test]
fn addresses_as_text() {
    for text in ["0.0.0.0", "1.22.133.255", "10.0.100.9", "::1", "2001:db8::1:0:2"] {
        let mut out = Vec::new();
        write_address(&mut out, text.parse().expect("an address"));
        assert_eq!(String::from_utf8_lossy(&out), text);
    }
    let mut out = Vec::new();
    write_address(&mut out, "::ffff:1.2.3.4".parse().expect("an address"));
    assert_eq!(out, b"1.2.3.4");
}

#[test]
fn via_and_the_place_of_the_hosts_name() {
    let via = Rewriting { via: true, ..PLAIN };
    let (text, written) = request_with(via, "GET / HTTP/1.0\r\nX: 1\r\n\r\n").expect("forwarded");
    assert_eq!(text, "GET / HTTP/1.1\r\nX: 1\r\nVia: 1.0 plimsoll\r\n\r\n");
    assert_eq!(written.host_at as usize, "GET / HTTP/1.1\r\n".len());
    let own = Rewriting { host: HostField::Upstream, ..PLAIN };
    let head = "HEAD http://b/ HTTP/1.1\r\nHost: b\r\n\r\n";
    let (text, written) = request_with(own, head).expect("forwarded");
    assert_eq!(text, "HEAD / HTTP/1.1\r\n\r\n");
    assert_eq!(written.host_at as usize, "HEAD / HTTP/1.1\r\n".len());
    assert!(written.is_head && written.is_idempotent);
}

fn response(head: &str, to: Recipient) -> Result<(String, Body), Unusable> {
    let mut decoder = ResponseDecoder::new(Limits::default());
    let kind = if to.is_head { RequestKind::Head } else { RequestKind::Plain };
    let decoded = decoder.decode(kind, head.as_bytes()).expect("the decoder takes it");
    let Some(ResponseEvent::Head(head)) = decoded.event else { panic!("a head: {decoded:?}") };
    let mut out = Vec::new();
    let body = write_response(&mut out, &head, to)?;
    Ok((String::from_utf8_lossy(&out).into_owned(), body))
}

#[test]
fn responses_and_how_their_bodies_go_on() {
    let to = Recipient { minor_version: 1, is_head: false, is_last: false };
    let old = Recipient { minor_version: 0, ..to };
    let head = Recipient { is_head: true, ..to };
    let last = Recipient { is_last: true, ..to };
    for (to, fields, want, body) in [
        (to, "Content-Length: 05", "Content-Length: 5\r\n", Body::Plain),
        (to, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n", Body::Chunked),
        (to, "X: 1", "X: 1\r\nTransfer-Encoding: chunked\r\n", Body::Chunked),
        (old, "X: 1", "X: 1\r\nConnection: close\r\n", Body::UntilClose),
        (old, "Content-Length: 5", "Content-Length: 5\r\nConnection: keep-alive\r\n", Body::Plain),
        (old, "Transfer-Encoding: chunked", "Connection: close\r\n", Body::UntilClose),
        (head, "Content-Length: 5", "Content-Length: 5\r\n", Body::Plain),
        (head, "Transfer-Encoding: chunked", "", Body::Plain),
        (last, "Content-Length: 5", "Content-Length: 5\r\nConnection: close\r\n", Body::Plain),
        (
            to,
            "Connection: close, x-y\r\nX-Y: 1\r\nKeep-Alive: 5\r\nContent-Length: 0",
            "Content-Length: 0\r\n",
            Body::Plain,
        ),
    ] {
        let came = format!("HTTP/1.1 200 Fine  by me\r\n{fields}\r\n\r\n");
        let want = format!("HTTP/1.1 200 Fine  by me\r\n{want}\r\n");
        assert_eq!(response(&came, to), Ok((want, body)), "{fields} {to:?}");
    }
    let short = response("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", to);
    let want = "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n".to_owned();
    assert_eq!(short, Ok((want, Body::Plain)));
    let none = response("HTTP/1.0 204 No\r\nContent-Length: 5\r\n\r\n", to);
    assert_eq!(none, Ok(("HTTP/1.1 204 No\r\n\r\n".to_owned(), Body::Plain)));
    let same = response("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", to);
    assert_eq!(same, Ok(("HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n".to_owned(), Body::Plain)));
}

#[test]
fn responses_in_doubt() {
    let to = Recipient { minor_version: 1, is_head: false, is_last: false };
    for head in [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\n",
    ] {
        assert_eq!(response(head, to), Err(Unusable), "{head:?}");
    }
}

#[test]
fn bytes_are_found_wherever_they_stand() {
    let mut text = vec![b'x'; 40];
    for at in 0..40 {
        text[at] = b'\n';
        assert_eq!(find(&text, b'\n'), Some(at));
        text[at] = b'x';
    }
    assert_eq!(find(&text, b'\n'), None);
    assert_eq!(find(b"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\n", b'\n'), Some(8));
    assert_eq!(find(b"", b'\n'), None);
}
