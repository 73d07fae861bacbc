//! Clients that break the protocol: of one stream, or of the connection. What the server does with
//! requests is told in [`server`](super::server).

use super::super::frame::kind;
use super::super::fuzz::trace_server;
use super::super::{ErrorCode, Limits};
use super::Bytes;
use super::frames::{GET, POST, block, names};
use super::server::{check, client};

/// Heads that make no request: their streams are given up, and the connection goes on.
#[test]
fn malformed_requests() {
    let get = GET[..].to_vec();
    let with = |field| [&GET[..], &[field]].concat();
    let without = |name| get.iter().filter(|field| field.0 != name).copied().collect::<Vec<_>>();
    let replaced = |name, value| [vec![(name, value)], without(name)].concat();
    for fields in [
        without(":method"),
        without(":scheme"),
        without(":path"),
        with((":path", "/")),
        with((":method", "GET")),
        with((":status", "200")),
        with((":protocol", "websocket")),
        [vec![("x", "y")], get.clone()].concat(),
        replaced(":path", ""),
        replaced(":path", "x"),
        replaced(":path", "*"),
        replaced(":path", "/a b"),
        replaced(":path", "/\r\n"),
        replaced(":method", "G T"),
        replaced(":scheme", "1:"),
        replaced(":authority", ""),
        replaced(":method", "CONNECT"),
        vec![(":method", "CONNECT")],
        with(("Upper", "x")),
        with(("a:b", "x")),
        with(("x", "a\nb")),
        with(("x", "a ")),
        with(("connection", "x")),
        with(("transfer-encoding", "chunked")),
        with(("te", "gzip")),
        with(("content-length", "1x")),
        with(("host", "b")),
    ] {
        let bytes = client().headers(1, false, &fields).data(1, true, b"late").post(3);
        let lines = "greeted, request 3 POST http a /, closed, 1 open";
        check(&format!("{fields:?}"), &bytes, lines, "RST 1 PROTOCOL_ERROR");
    }
    let own = [&b"\0\0\0\x01\0"[..], &block(&GET)].concat();
    let bytes = client().frame(kind::HEADERS, 0x25, 1, &own).post(3);
    let lines = "greeted, request 3 POST http a /, closed, 1 open";
    check("a head that depends on its own stream", &bytes, lines, "RST 1 PROTOCOL_ERROR");
    let short = [&POST[..], &[("content-length", "2")]].concat();
    let one = "greeted, request 1 POST http a /";
    for (why, bytes, lines, sent) in [
        (
            "a shorter body than its length",
            client().headers(1, false, &short).data(1, true, b"a"),
            format!("{one} [content-length=2], body 1 a, broken 1 body_length, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "none, though it has a length",
            client().headers(1, true, &short),
            format!("{one} [content-length=2], broken 1 body_length, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a longer one",
            client().headers(1, false, &short).data(1, false, b"abc"),
            format!("{one} [content-length=2], broken 1 body_length, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "trailers that do not end",
            client().post(1).headers(1, false, &[("x", "y")]),
            format!("{one}, broken 1 bad_sequence, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "trailers with a pseudo-field",
            client().post(1).headers(1, true, &[(":path", "/")]),
            format!("{one}, broken 1 bad_pseudo_field, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a stream that depends on itself, in PRIORITY",
            client().post(1).frame(kind::PRIORITY, 0, 1, b"\0\0\0\x01\0"),
            format!("{one}, broken 1 priority_loop, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a PRIORITY of 4 bytes",
            client().post(1).frame(kind::PRIORITY, 0, 1, &[0; 4]),
            format!("{one}, broken 1 priority_length, closed, 0 open"),
            "RST 1 FRAME_SIZE_ERROR",
        ),
        (
            "an increase by 0",
            client().post(1).window(1, 0),
            format!("{one}, broken 1 stream_zero_increment, closed, 0 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a window that is too large",
            client().post(1).window(1, 0x7fff_ffff),
            format!("{one}, broken 1 stream_window_overflow, closed, 0 open"),
            "RST 1 FLOW_CONTROL_ERROR",
        ),
    ] {
        check(why, &bytes, &lines, sent);
    }
    for (why, late) in [
        ("DATA after the end", client().get(1).data(1, true, b"x")),
        ("HEADERS after the end", client().get(1).headers(1, true, &[("x", "y")])),
    ] {
        let trace = trace_server(Limits::default(), &late.0, &[]);
        let last = trace.lines[trace.lines.len() - 2..].join(", ");
        assert_eq!(last, "broken 1 half_closed, closed, 0 open", "{why}");
        assert_eq!(names(&trace.sent).last().map(String::as_str), Some("RST 1 STREAM_CLOSED"));
    }
}

/// Errors that end the connection.
#[test]
fn broken_connections() {
    let reset = |bytes: Bytes| bytes.post(1).rst(1, ErrorCode::CANCEL);
    let update = [&[0x3f, 0xe2, 0x1f][..], &block(&GET)].concat();
    let late_update = [&block(&GET)[..], &[0x20]].concat();
    let block_of = |bytes: &[u8]| client().frame(kind::HEADERS, 5, 1, bytes);
    let with = |bytes: &[u8]| block_of(&[&block(&GET)[..], bytes].concat());
    let (protocol, closed) = ("PROTOCOL_ERROR", "STREAM_CLOSED");
    for (why, bytes, error, goaway) in [
        ("an even stream", client().get(2), "bad_stream_id", protocol.to_owned()),
        ("stream 0", client().get(0), "bad_stream", protocol.to_owned()),
        (
            "a lower stream than before",
            client().post(5).post(3),
            "bad_stream_id",
            protocol.to_owned(),
        ),
        (
            "DATA for an idle stream",
            client().data(1, false, b""),
            "idle_stream",
            protocol.to_owned(),
        ),
        (
            "RST for an idle stream",
            client().rst(1, ErrorCode::CANCEL),
            "idle_stream",
            protocol.to_owned(),
        ),
        ("a window of an idle stream", client().window(1, 1), "idle_stream", protocol.to_owned()),
        (
            "an idle stream that depends on itself",
            client().frame(kind::PRIORITY, 0, 1, b"\0\0\0\x01\0"),
            "idle_stream",
            protocol.to_owned(),
        ),
        (
            "DATA after RST_STREAM",
            reset(client()).data(1, true, b""),
            "stream_closed",
            closed.to_owned(),
        ),
        ("HEADERS after RST_STREAM", reset(client()).get(1), "stream_closed", closed.to_owned()),
        (
            "CONTINUATION after RST_STREAM",
            reset(client()).frame(kind::CONTINUATION, 4, 1, b""),
            "broken_header_block",
            protocol.to_owned(),
        ),
        (
            "HEADERS within a block",
            client().frame(kind::HEADERS, 0, 1, &block(&GET)).get(3),
            "broken_header_block",
            protocol.to_owned(),
        ),
        (
            "a push",
            client().frame(kind::PUSH_PROMISE, 4, 1, b"\0\0\0\x02\x88"),
            "push",
            protocol.to_owned(),
        ),
        ("ENABLE_PUSH 2", client().settings(&[(2, 2)]), "bad_setting", protocol.to_owned()),
        ("frames of 2^24", client().settings(&[(5, 1 << 24)]), "bad_setting", protocol.to_owned()),
        ("index 0", with(&[0x80]), "compression", "COMPRESSION_ERROR".to_owned()),
        (
            "index 62 of an empty table",
            with(&[0xbe]),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        (
            "a name beyond the table",
            with(&[0x7f, 0, 1, b'a']),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        (
            "a field that is cut",
            with(&[0x40, 1, b'a', 2, b'b']),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        ("a number that is cut", with(&[0xff]), "compression", "COMPRESSION_ERROR".to_owned()),
        ("a number without end", with(&[0xff; 12]), "compression", "COMPRESSION_ERROR".to_owned()),
        (
            "Huffman padding of 8 bits",
            with(&[0x40, 1, b'a', 0x82, 0x1f, 0xff]),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        (
            "Huffman padding of zeros",
            with(&[0x40, 1, b'a', 0x81, 0x18]),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        (
            "Huffman with the end in it",
            with(&[0x40, 1, b'a', 0x84, 0xff, 0xff, 0xff, 0xff]),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        ("a table of 4097", block_of(&update), "compression", "COMPRESSION_ERROR".to_owned()),
        (
            "a table's size at the end",
            block_of(&late_update),
            "compression",
            "COMPRESSION_ERROR".to_owned(),
        ),
        (
            "frames that are too long",
            client().data(1, false, &[0; 16_385]),
            "frame_too_long",
            "FRAME_SIZE_ERROR".to_owned(),
        ),
    ] {
        let trace = trace_server(Limits::default(), &bytes.0, &[]);
        assert_eq!(trace.lines.last(), Some(&format!("error {error}")), "{why}");
        let frames = names(&trace.sent);
        let last = frames.last().expect("a goodbye");
        assert!(last.starts_with("GOAWAY ") && last.ends_with(&goaway), "{why}: {last}");
        let every_byte: Vec<usize> = (1..bytes.0.len()).collect();
        assert_eq!(trace_server(Limits::default(), &bytes.0, &every_byte), trace, "{why}: bytes");
    }
}

/// Streams that clients give up, or make the server give up, are counted less those that end well.
#[test]
fn floods() {
    let limits = Limits { resets: 3, ..Limits::default() };
    let resets = |bytes: Bytes, from: u32, count: u32| {
        (0..count).fold(bytes, |bytes, nth| {
            let stream = from + 2 * nth;
            bytes.post(stream).rst(stream, ErrorCode::CANCEL)
        })
    };
    let broken = |bytes: Bytes, from: u32, count: u32| {
        (0..count).fold(bytes, |bytes, nth| bytes.headers(from + 2 * nth, true, &[("x", "y")]))
    };
    let wide = || client().window(0, 1 << 24).settings(&[(4, 1 << 20)]);
    for (why, bytes, last) in [
        ("three resets", resets(wide(), 1, 3), "closed, 0 open"),
        ("four", resets(wide(), 1, 4), "error reset_flood"),
        ("four broken requests", broken(wide(), 1, 4), "error reset_flood"),
        ("two and two", broken(resets(wide(), 1, 2), 5, 2), "error reset_flood"),
        ("three, a response, and one", resets(resets(wide(), 1, 3).get(7), 9, 1), "closed, 0 open"),
    ] {
        let trace = trace_server(limits, &bytes.0, &[]);
        assert_eq!(trace.lines.last().map(String::as_str), Some(last), "{why}");
        let goodbye = names(&trace.sent).last().is_some_and(|it| it.ends_with("ENHANCE_YOUR_CALM"));
        assert_eq!(goodbye, last.starts_with("error"), "{why}");
    }
}
