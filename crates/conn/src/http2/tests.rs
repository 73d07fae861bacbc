//! What a server reads of the requests that are sent to it: [`Server`] decodes what [`Http2`] has
//! written.

use plimsoll_core::template::{Compiler, Template};
use plimsoll_proto::http2::{ClientOptions, Server, ServerEvent, ServerOptions, SharedFields};

use super::{Http2, Http2Request, Http2Settings};
use crate::event::{ExchangeId, Progress};
use crate::protocol::{Protocol as _, Wire};
use crate::request::{
    CompiledRequest, EncodeError, Encoding as _, Field, Filling, Framing, Hop, Message, Messages,
    Portion, RequestBody,
};

/// A text that may hold templates.
fn template(text: &str) -> Template {
    let mut compiler = Compiler::new(1, &[]);
    compiler.begin_request();
    compiler.compile(text).expect("a template")
}

/// A request with these fields; an empty name stands for the computed length.
fn request(method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> CompiledRequest {
    let field = |&(name, value): &(&str, &str)| match name {
        "" => Field::Length,
        _ => Field::Given(name.to_owned(), template(value)),
    };
    CompiledRequest {
        method: method.to_owned(),
        scheme: "http".to_owned(),
        prefix: String::new(),
        path: template(path),
        http_minor: 1,
        fields: fields.iter().map(field).collect(),
        framing: Framing::AsGiven,
        body: RequestBody::Template(template(body)),
        takes_cookies: true,
        follows_redirects: true,
        is_compressed: false,
    }
}

/// A client and the server that it speaks to.
struct Pair {
    shared: SharedFields,
    client: Http2,
    server: Server,
}

impl Pair {
    fn new() -> Self {
        let options = ClientOptions { streams: 10, ..ClientOptions::default() };
        let mut client = Http2::new(&Http2Settings { options });
        let mut server = Server::new(ServerOptions::default());
        let (mut up, mut down) = (Vec::new(), Vec::new());
        client.begin(None, &mut up);
        server.begin(&mut down);
        client.receive(&down, &mut up, &mut |_| {}).expect("settings");
        let mut pair = Self { shared: SharedFields::default(), client, server };
        pair.reads(&up);
        pair
    }

    fn encode(&mut self, request: CompiledRequest) -> Http2Request {
        Http2Request::of(request, &mut self.shared).expect("a sound request")
    }

    /// What the server reads of a request: a line for each field, and its body.
    fn sends(&mut self, encoding: &Http2Request, filling: Filling<'_>) -> Read {
        let (_, read) = self.starts(encoding, filling, false);
        assert!(read.has_ended, "{read:?}");
        read
    }

    /// Starts a request as the exchange 0; gives the bytes written, and what they mean.
    fn starts(
        &mut self,
        encoding: &Http2Request,
        filling: Filling<'_>,
        withholds_body: bool,
    ) -> (usize, Read) {
        let message = Message::Compiled { encoding, payload: None, filling, withholds_body };
        let mut out = Vec::new();
        assert_eq!(self.client.start(ExchangeId(0), &message, &mut out), Ok(Wire::Framed));
        (out.len(), self.reads(&out))
    }

    /// Answers the open request, so that the next can be exchange 0 again.
    fn answers(&mut self, stream: u32, length: Option<&str>) {
        let (mut down, mut up) = (Vec::new(), Vec::new());
        self.server.send_head(stream, true, &mut down, |head| {
            head.status(200);
            if let Some(length) = length {
                head.field("content-length", length.as_bytes()).expect("a sound field");
            }
        });
        let mut ended = Vec::new();
        let mut progress = |progress: Progress<'_>| match progress {
            Progress::Complete(_, response) => ended.push(response.status),
            Progress::Reset(_, kind) => panic!("{kind}"),
            _ => {}
        };
        self.client.receive(&down, &mut up, &mut progress).expect("a response");
        assert_eq!(ended, [200]);
        self.reads(&up);
    }

    fn reads(&mut self, mut bytes: &[u8]) -> Read {
        let mut read = Read::default();
        loop {
            let decoded = self.server.receive(bytes, &mut Vec::new()).expect("sound frames");
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => return read,
                Some(ServerEvent::Request(stream, head)) => {
                    let pseudo = [
                        (":method", Some(head.method())),
                        (":scheme", head.scheme()),
                        (":authority", head.authority()),
                        (":path", head.path()),
                    ];
                    let pseudo = pseudo.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
                    let fields = head
                        .headers()
                        .map(|(name, value)| (name, std::str::from_utf8(value).expect("text")));
                    let line = |(name, value)| format!("{name}: {value}");
                    read.lines = pseudo.chain(fields).map(line).collect();
                    read.stream = stream;
                }
                Some(ServerEvent::Body(_, piece)) => {
                    read.bodies.push(String::from_utf8_lossy(piece).into_owned());
                }
                Some(ServerEvent::End(_)) => read.has_ended = true,
                Some(ServerEvent::Greeted) => {}
                Some(event) => panic!("{event:?}"),
            }
        }
    }
}

#[derive(Debug, Default)]
struct Read {
    stream: u32,
    lines: Vec<String>,
    bodies: Vec<String>,
    has_ended: bool,
}

const GET: [&str; 3] = [":method: GET", ":scheme: http", ":path: /"];

/// Each time as the first request of a connection and as one whose fields are in its table.
#[test]
fn fields_are_what_the_plan_says_in_the_words_of_http2() {
    let long = "v".repeat(300);
    let long_line = format!("x: {long}");
    let long_templated = format!("{long}{{{{seq}}}}");
    let long_templated_line = format!("x: {long}7");
    let host = ("Host", "a.example:8080");
    let of_the_connection = [
        ("Connection", "close"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Connection", "keep-alive"),
        ("Transfer-Encoding", "chunked"),
        ("X", "1"),
    ];
    for (method, path, fields, body, want) in [
        ("GET", "/", &[][..], "", &[GET[0], GET[1], GET[2]][..]),
        (
            "GET",
            "/a?b=c",
            &[("Accept", "*/*"), host][..],
            "",
            &[GET[0], GET[1], ":authority: a.example:8080", ":path: /a?b=c", "accept: */*"],
        ),
        ("OPTIONS", "*", &[], "", &[":method: OPTIONS", GET[1], ":path: *"]),
        ("HEAD", "/", &[], "", &[":method: HEAD", GET[1], GET[2]]),
        ("get", "/", &[], "", &[":method: get", GET[1], GET[2]]),
        ("GET", "/", &of_the_connection, "", &[GET[0], GET[1], GET[2], "x: 1"]),
        ("GET", "/", &[("TE", "trailers")], "", &[GET[0], GET[1], GET[2], "te: trailers"]),
        ("GET", "/", &[("X", "")], "", &[GET[0], GET[1], GET[2], "x: "]),
        ("GET", "/", &[("X", " \ta b\t ")], "", &[GET[0], GET[1], GET[2], "x: a b"]),
        ("GET", "/", &[("X", " \t{{seq}} 8 \t")], "", &[GET[0], GET[1], GET[2], "x: 7 8"]),
        ("GET", "/", &[("X", &long)], "", &[GET[0], GET[1], GET[2], &long_line]),
        (
            "GET",
            "/",
            &[("X", &long_templated), ("Y", "{{seq}}")],
            "",
            &[GET[0], GET[1], GET[2], &long_templated_line, "y: 7"],
        ),
        ("GET", "/{{seq}}", &[("X", "{{seq}}")], "", &[GET[0], GET[1], ":path: /7", "x: 7"]),
        (
            "GET",
            "/",
            &[("Host", "{{seq}}.example")],
            "",
            &[GET[0], GET[1], ":authority: 7.example", GET[2]],
        ),
        (
            "POST",
            "/",
            &[("Expect", "100-continue"), ("", ""), ("Content-Type", "a/b")],
            "abc",
            &[
                ":method: POST",
                GET[1],
                GET[2],
                "expect: 100-continue",
                "content-length: 3",
                "content-type: a/b",
            ],
        ),
        (
            "POST",
            "/",
            &[("", "")],
            "{{seq}} and {{seq}}",
            &[":method: POST", GET[1], GET[2], "content-length: 7"],
        ),
        ("POST", "/", &[("", "")], "", &[":method: POST", GET[1], GET[2], "content-length: 0"]),
        (
            "POST",
            "/",
            &[("Transfer-Encoding", "chunked")],
            "abc",
            &[":method: POST", GET[1], GET[2]],
        ),
        (
            "DELETE",
            "/",
            &[("A", "1"), ("a", "2")],
            "",
            &[":method: DELETE", GET[1], GET[2], "a: 1", "a: 2"],
        ),
    ] {
        let mut pair = Pair::new();
        let encoding = pair.encode(request(method, path, fields, body));
        let mut bytes = Vec::new();
        for _ in 0..2 {
            let filling = Filling { number: 7, ..Filling::default() };
            assert_eq!(encoding.has_body(&filling), !body.is_empty());
            let (written_bytes, read) = pair.starts(&encoding, filling, false);
            assert_eq!(read.lines, want, "{method} {path} {fields:?}");
            assert_eq!(read.bodies.concat(), body.replace("{{seq}}", "7"), "{fields:?}");
            assert!(read.has_ended);
            assert!(written_bytes <= encoding.bytes_max(), "{fields:?}");
            pair.answers(read.stream, None);
            bytes.push(written_bytes);
        }
        assert!(bytes[1] <= bytes[0], "what is in the table takes no more bytes: {bytes:?}");
    }
}

#[test]
fn cookies_of_the_user_are_the_last_field() {
    let mut pair = Pair::new();
    let encoding = pair.encode(request("GET", "/", &[("X", "1")], ""));
    for (cookies, want) in [("", None), ("a=b; c=d", Some("cookie: a=b; c=d")), ("", None)] {
        let filling = Filling { cookies: cookies.as_bytes(), ..Filling::default() };
        let read = pair.sends(&encoding, filling);
        let lines = GET.iter().copied().chain(["x: 1"]).chain(want);
        assert_eq!(read.lines, lines.collect::<Vec<_>>());
        pair.answers(read.stream, None);
    }
}

#[test]
fn a_redirected_request_is_the_same_elsewhere_or_a_get_without_its_body() {
    let fields = [
        ("Host", "a.example"),
        ("", ""),
        ("Content-Type", "a/b"),
        ("Expect", "100-continue"),
        ("X", "{{seq}}"),
    ];
    let mut pair = Pair::new();
    let encoding = pair.encode(request("POST", "/{{seq}}", &fields, "b{{seq}}"));
    let start = [":scheme: http", ":authority: a.example"];
    for (path, as_get, want_path) in [
        ("/b?c", false, ":path: /b?c"),
        ("/b?c", true, ":path: /b?c"),
        ("b", true, ":path: /b"),
        ("/a b\r\n\u{7f}ä#x", true, ":path: /a%20b%0D%0A%7F%C3%A4"),
    ] {
        let hop = Hop { path: path.to_owned(), as_get };
        let filling = Filling { number: 7, cookies: b"c=d", hop: Some(&hop), ..Filling::default() };
        assert_eq!(encoding.has_body(&filling), !as_get);
        let read = pair.sends(&encoding, filling);
        let method = if as_get { ":method: GET" } else { ":method: POST" };
        let mut want = vec![method, start[0], start[1], want_path];
        if !as_get {
            want.extend(["content-length: 2", "content-type: a/b", "expect: 100-continue"]);
        }
        want.extend(["x: 7", "cookie: c=d"]);
        assert_eq!(read.lines, want, "{path}");
        assert_eq!(read.bodies.concat(), if as_get { "" } else { "b7" }, "{path}");
        pair.answers(read.stream, None);
    }
}

/// A response to HEAD says a length and has no body; one to what became a GET has one.
#[test]
fn a_response_to_head_has_no_body() {
    let mut pair = Pair::new();
    let encoding = pair.encode(request("HEAD", "/", &[], ""));
    let hop = Hop { path: "/x".to_owned(), as_get: false };
    for hop in [None, Some(&hop)] {
        let read = pair.sends(&encoding, Filling { hop, ..Filling::default() });
        assert_eq!(read.lines[0], ":method: HEAD");
        pair.answers(read.stream, Some("1000"));
    }
}

#[test]
fn a_body_that_is_held_back_follows_the_head() {
    for body in ["abc", "{{seq}}bc"] {
        let mut pair = Pair::new();
        let encoding = pair.encode(request("POST", "/", &[("", "")], body));
        let filling = Filling { number: 7, ..Filling::default() };
        let (_, read) = pair.starts(&encoding, filling, true);
        assert!(!read.has_ended && read.bodies.is_empty(), "{read:?}");
        assert_eq!(read.lines[3], "content-length: 3");
        let message =
            Message::Compiled { encoding: &encoding, payload: None, filling, withholds_body: true };
        let mut out = Vec::new();
        assert_eq!(pair.client.send_rest(ExchangeId(0), &message, &mut out), Wire::Framed);
        let read = pair.reads(&out);
        assert_eq!(read.bodies.concat(), body.replace("{{seq}}", "7"));
        assert!(read.has_ended);
    }
}

/// A message with the request's number in its field 1.
fn numbered() -> plimsoll_grpc::MessageTemplate {
    let source = "syntax = \"proto3\"; message M { uint64 seq = 1; }
        service S { rpc M(stream M) returns (M); }";
    let read = |name: &str| Ok((name == "m.proto").then(|| source.to_owned()));
    let schema = plimsoll_grpc::Schema::compile(&["m.proto".to_owned()], read).expect("compiles");
    let mut compiler = Compiler::new(1, &[]);
    compiler.begin_request();
    let method = schema.method("S/M").expect("is there");
    method.request(r#"{"seq": {{seq}}}"#, Some(&mut compiler)).expect("a message")
}

#[test]
fn the_messages_of_a_call_go_in_portions() {
    // Each portion, and whether the call ends with it.
    for portions in [&[(0, 3)][..], &[(0, 1), (1, 2), (2, 3)], &[(0, 2), (2, 3)]] {
        let mut pair = Pair::new();
        let mut call = request("POST", "/S/M", &[], "");
        let messages = Messages { templates: vec![numbered(); 2], count: 3 };
        assert_eq!((messages.bytes_max(), messages.batch()), (5 + 20, 3));
        call.body = RequestBody::Messages(messages);
        let encoding = pair.encode(call);
        let mut bodies = Vec::new();
        for (index, (from, to)) in portions.iter().enumerate() {
            let messages = Portion { from: *from, to: *to };
            let filling = Filling { number: 7, messages, ..Filling::default() };
            let read = if index == 0 {
                let (written_bytes, read) = pair.starts(&encoding, filling, false);
                assert!(written_bytes <= encoding.bytes_max(), "{portions:?}");
                read
            } else {
                let (payload, withholds_body) = (None, false);
                let message =
                    Message::Compiled { encoding: &encoding, payload, filling, withholds_body };
                let mut out = Vec::new();
                assert_eq!(pair.client.send_rest(ExchangeId(0), &message, &mut out), Wire::Framed);
                pair.reads(&out)
            };
            assert_eq!(pair.client.body_bytes(), 7 * (to - from) as usize, "{portions:?}");
            assert_eq!(read.has_ended, *to == 3, "{portions:?}");
            bodies.extend(read.bodies);
        }
        let want = "\0\0\0\0\x02\x08\x15\0\0\0\0\x02\x08\x16\0\0\0\0\x02\x08\x17";
        assert_eq!(bodies.concat(), want, "{portions:?}");
    }
}

#[test]
fn a_call_of_no_messages_is_a_head() {
    let mut pair = Pair::new();
    let mut call = request("POST", "/S/M", &[], "");
    call.body = RequestBody::Messages(Messages { templates: vec![numbered()], count: 0 });
    let encoding = pair.encode(call);
    let read = pair.sends(&encoding, Filling::default());
    assert!(read.bodies.is_empty() && !encoding.has_body(&Filling::default()), "{read:?}");
}

/// However long a call is, what goes at a time is bounded.
#[test]
fn a_batch_is_a_frame_or_one_message() {
    let of = |count| Messages { templates: vec![numbered()], count };
    for (count, want) in [(0, 1), (1, 1), (655, 655), (656, 655), (u32::MAX, 655)] {
        assert_eq!(of(count).batch(), want, "{count}");
    }
}

/// What becomes of three open requests after a GOAWAY that takes `last_stream` and nothing after
/// it: the kinds of those that are refused, and of the others when the connection ends.
fn after_goodbye(last_stream: u32, code: u32) -> (Vec<&'static str>, Result<(), &'static str>) {
    let mut pair = Pair::new();
    let encoding = pair.encode(request("GET", "/", &[], ""));
    for number in 0..3 {
        let filling = Filling::default();
        let message = Message::Compiled {
            encoding: &encoding,
            payload: None,
            filling,
            withholds_body: false,
        };
        pair.client.start(ExchangeId(number), &message, &mut Vec::new()).expect("compiled");
    }
    let mut frame = vec![0, 0, 8, 7, 0, 0, 0, 0, 0];
    frame.extend_from_slice(&last_stream.to_be_bytes());
    frame.extend_from_slice(&code.to_be_bytes());
    let mut kinds = Vec::new();
    let mut progress = |progress: Progress<'_>| match progress {
        Progress::Refused(_, kind) => kinds.push(kind),
        progress => panic!("{progress:?}"),
    };
    pair.client.receive(&frame, &mut Vec::new(), &mut progress).expect("a sound frame");
    let ended = pair.client.ended(&mut |_| {}).map_err(|failure| failure.kind());
    (kinds, ended)
}

#[test]
fn a_goodbye_that_names_a_fault_names_the_kind_of_error() {
    let refused = |kind, count| vec![kind; count];
    for (last_stream, code, kinds, ended) in [
        (0x7fff_ffff, 0, vec![], Err("closed")),
        (3, 0, refused("request_refused", 1), Err("closed")),
        (0, 0, refused("request_refused", 3), Ok(())),
        (3, 0xb, refused("goaway:ENHANCE_YOUR_CALM", 1), Err("goaway:ENHANCE_YOUR_CALM")),
        (0, 1, refused("goaway:PROTOCOL_ERROR", 3), Ok(())),
        (1, 0xd, refused("goaway:HTTP_1_1_REQUIRED", 2), Err("goaway:HTTP_1_1_REQUIRED")),
        (0x7fff_ffff, 99, vec![], Err("goaway:UNKNOWN")),
    ] {
        assert_eq!(after_goodbye(last_stream, code), (kinds, ended), "{last_stream} {code}");
    }
}

#[test]
fn what_http2_cannot_say_is_refused() {
    for (name, value) in [("Upgrade", "h2c"), ("TE", "gzip"), ("X Y", "1"), (":path", "/")] {
        let request = request("GET", "/", &[(name, value)], "");
        let encoded = Http2Request::of(request, &mut SharedFields::default());
        assert!(encoded.is_err(), "{name}: {value}");
    }
    let upgrade = request("GET", "/", &[("Upgrade", "{{seq}}")], "");
    let refused = Http2Request::of(upgrade, &mut SharedFields::default());
    let is_http2 = |error: &EncodeError| matches!(error, EncodeError::Http2(_));
    assert!(refused.as_ref().is_err_and(is_http2), "{refused:?}");
}

/// A request that was written during the run has the scheme of its connection. What else becomes of
/// it, and what is refused, the tests of `negotiated` say.
#[test]
fn a_written_request_says_whether_tls_lies_beneath() {
    for (alpn, want) in [(None, ":scheme: http"), (Some(&b"h2"[..]), ":scheme: https")] {
        let mut pair = Pair::new();
        let (mut up, mut down) = (Vec::new(), Vec::new());
        pair.server = Server::new(ServerOptions::default());
        pair.client.begin(alpn, &mut up);
        pair.server.begin(&mut down);
        pair.client.receive(&down, &mut up, &mut |_| {}).expect("settings");
        let bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let message = Message::Written { bytes, is_head: false };
        assert_eq!(pair.client.start(ExchangeId(0), &message, &mut up), Ok(Wire::Framed));
        let read = pair.reads(&up);
        assert_eq!(read.lines, [":method: GET", want, ":authority: a", ":path: /"]);
        assert!(read.has_ended && !pair.client.is_held_back(ExchangeId(0)));
    }
}
