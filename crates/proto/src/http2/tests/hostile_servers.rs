//! Servers that break the protocol: of one stream, or of the connection. The client's requests are
//! those of [`client`](super::client).

use super::super::frame::{flag, kind};
use super::super::fuzz::trace_client;
use super::super::{ErrorCode, Limits};
use super::Bytes;
use super::client::{check, server};
use super::frames::{block, names};

/// Errors of one stream: it is given up, and the others go on.
#[test]
fn malformed_responses() {
    for (fields, error) in [
        (&[("x", "y")][..], "bad_pseudo_field"),
        (&[(":status", "200"), (":status", "200")], "bad_pseudo_field"),
        (&[("x", "y"), (":status", "200")], "bad_pseudo_field"),
        (&[(":status", "200"), (":path", "/")], "bad_pseudo_field"),
        (&[(":status", "200"), (":unknown", "")], "bad_pseudo_field"),
        (&[(":status", "20")], "bad_pseudo_field"),
        (&[(":status", "2000")], "bad_pseudo_field"),
        (&[(":status", "2x0")], "bad_pseudo_field"),
        (&[(":status", "099")], "bad_pseudo_field"),
        (&[(":status", "101")], "bad_pseudo_field"),
        (&[(":status", "200"), ("X-Upper", "y")], "bad_field_name"),
        (&[(":status", "200"), ("", "y")], "bad_field_name"),
        (&[(":status", "200"), ("a b", "y")], "bad_field_name"),
        (&[(":status", "200"), ("x", "a\r\nb: c")], "bad_field_value"),
        (&[(":status", "200"), ("x", "a\0")], "bad_field_value"),
        (&[(":status", "200"), ("x", " a")], "bad_field_value"),
        (&[(":status", "200"), ("connection", "close")], "connection_field"),
        (&[(":status", "200"), ("transfer-encoding", "chunked")], "connection_field"),
        (&[(":status", "200"), ("keep-alive", "1")], "connection_field"),
        (&[(":status", "200"), ("proxy-connection", "1")], "connection_field"),
        (&[(":status", "200"), ("upgrade", "h2c")], "connection_field"),
        (&[(":status", "200"), ("te", "gzip")], "connection_field"),
        (&[(":status", "200"), ("content-length", "x")], "bad_content_length"),
        (
            &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
            "bad_content_length",
        ),
    ] {
        let bytes = server().headers(1, false, fields).data(1, true, b"late");
        let lines = format!("greeted, first byte 10, broken 10 {error}, closed, 2 open");
        check(&format!("{fields:?}"), &bytes, &lines, "RST 1 PROTOCOL_ERROR");
    }
    let length = [(":status", "200"), ("content-length", "3")];
    let head = "greeted, first byte 10, head 10 200";
    for (why, bytes, lines, sent) in [
        (
            "DATA before a head",
            server().data(1, true, b"x"),
            "greeted, broken 10 bad_sequence, closed, 2 open".to_owned(),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "an interim response that ends",
            server().headers(1, true, &[(":status", "100")]),
            "greeted, first byte 10, broken 10 bad_sequence, closed, 2 open".to_owned(),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a second head that does not end",
            server().ok(1).ok(1),
            format!("{head}, broken 10 bad_pseudo_field, closed, 2 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "trailers that do not end",
            server().ok(1).headers(1, false, &[("a", "b")]),
            format!("{head}, broken 10 bad_sequence, closed, 2 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a shorter body than its length",
            server().headers(1, false, &length).data(1, true, b"ab"),
            format!("{head} [content-length=3], body 10 ab, broken 10 body_length, closed, 2 open"),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a longer one",
            server().headers(1, false, &length).data(1, false, b"abc").data(1, false, b"d"),
            format!(
                "{head} [content-length=3], body 10 abc, broken 10 body_length, closed, 2 open"
            ),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a body for HEAD",
            server().ok(3).data(3, true, b"x"),
            "greeted, first byte 11, head 11 200, broken 11 body_length, closed, 2 open".to_owned(),
            "RST 3 PROTOCOL_ERROR",
        ),
        (
            "a body for 304",
            server().headers(1, false, &[(":status", "304")]).data(1, true, b"x"),
            "greeted, first byte 10, head 10 304, broken 10 body_length, closed, 2 open".to_owned(),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a stream that depends on itself, in HEADERS",
            server().frame(kind::HEADERS, 0x25, 1, b"\0\0\0\x01\0\x88"),
            "greeted, first byte 10, broken 10 priority_loop, closed, 2 open".to_owned(),
            "RST 1 PROTOCOL_ERROR",
        ),
        (
            "a PRIORITY of 4 bytes",
            server().frame(kind::PRIORITY, 0, 1, &[0; 4]),
            "greeted, broken 10 priority_length, closed, 2 open".to_owned(),
            "RST 1 FRAME_SIZE_ERROR",
        ),
    ] {
        check(why, &bytes, &lines, sent);
    }
}

/// Errors that end the connection.
#[test]
fn broken_connections() {
    let big = vec![0; 16_385];
    let big_data = server().ok(1).data(1, false, &big);
    let head = block(&[(":status", "200")]);
    for (why, bytes, error, code) in [
        ("DATA for the connection", server().data(0, false, b"x"), "bad_stream", "PROTOCOL_ERROR"),
        ("HEADERS for it", server().ok(0), "bad_stream", "PROTOCOL_ERROR"),
        ("RST for it", server().rst(0, ErrorCode::CANCEL), "bad_stream", "PROTOCOL_ERROR"),
        (
            "PRIORITY for it",
            server().frame(kind::PRIORITY, 0, 0, &[0; 5]),
            "bad_stream",
            "PROTOCOL_ERROR",
        ),
        (
            "SETTINGS for a stream",
            server().frame(kind::SETTINGS, 0, 1, b""),
            "bad_stream",
            "PROTOCOL_ERROR",
        ),
        (
            "PING for a stream",
            server().frame(kind::PING, 0, 1, &[0; 8]),
            "bad_stream",
            "PROTOCOL_ERROR",
        ),
        (
            "GOAWAY for a stream",
            server().frame(kind::GOAWAY, 0, 1, &[0; 8]),
            "bad_stream",
            "PROTOCOL_ERROR",
        ),
        ("DATA for an idle stream", server().data(7, false, b""), "idle_stream", "PROTOCOL_ERROR"),
        ("HEADERS for an idle stream", server().ok(7), "idle_stream", "PROTOCOL_ERROR"),
        ("HEADERS for an even stream", server().ok(2), "idle_stream", "PROTOCOL_ERROR"),
        (
            "RST for an idle stream",
            server().rst(7, ErrorCode::CANCEL),
            "idle_stream",
            "PROTOCOL_ERROR",
        ),
        ("a window of an idle stream", server().window(7, 1), "idle_stream", "PROTOCOL_ERROR"),
        (
            "a SETTINGS of 5 bytes",
            server().frame(kind::SETTINGS, 0, 0, &[0; 5]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        (
            "an acknowledgement with settings",
            server().frame(kind::SETTINGS, flag::ACK, 0, &[0; 6]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        (
            "a PING of 7 bytes",
            server().frame(kind::PING, 0, 0, &[0; 7]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        (
            "an RST_STREAM of 3 bytes",
            server().frame(kind::RST_STREAM, 0, 1, &[0; 3]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        (
            "a WINDOW_UPDATE of 5 bytes",
            server().frame(kind::WINDOW_UPDATE, 0, 1, &[0; 5]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        (
            "a GOAWAY of 7 bytes",
            server().frame(kind::GOAWAY, 0, 0, &[0; 7]),
            "bad_frame_length",
            "FRAME_SIZE_ERROR",
        ),
        ("ENABLE_PUSH 1", server().settings(&[(2, 1)]), "bad_setting", "PROTOCOL_ERROR"),
        (
            "a frame size of 16383",
            server().settings(&[(5, 16_383)]),
            "bad_setting",
            "PROTOCOL_ERROR",
        ),
        (
            "a window of 2^31",
            server().settings(&[(4, 1 << 31)]),
            "window_overflow",
            "FLOW_CONTROL_ERROR",
        ),
        (
            "a setting that makes an open stream's window too large",
            server().window(5, 70_000).settings(&[(4, 0x7fff_ffff)]),
            "window_overflow",
            "FLOW_CONTROL_ERROR",
        ),
        (
            "a connection's window that is too large",
            server().window(0, 0x7fff_ffff).window(0, 0x7fff_ffff),
            "window_overflow",
            "FLOW_CONTROL_ERROR",
        ),
        ("an increase by 0", server().window(0, 0), "zero_increment", "PROTOCOL_ERROR"),
        (
            "a pushed response",
            server().frame(kind::PUSH_PROMISE, 4, 1, b"\0\0\0\x02\x88"),
            "push",
            "PROTOCOL_ERROR",
        ),
        (
            "padding as long as the frame",
            server().ok(1).frame(kind::DATA, flag::PADDED, 1, &[4, 0, 0, 0]),
            "bad_padding",
            "PROTOCOL_ERROR",
        ),
        (
            "padding without a length",
            server().ok(1).frame(kind::DATA, flag::PADDED, 1, b""),
            "bad_padding",
            "PROTOCOL_ERROR",
        ),
        (
            "padding of a head that is too long",
            server().frame(kind::HEADERS, flag::PADDED | flag::END_HEADERS, 1, &[2, 0x88]),
            "bad_padding",
            "PROTOCOL_ERROR",
        ),
        (
            "a head without room for its priority",
            server().frame(kind::HEADERS, flag::PRIORITY | flag::END_HEADERS, 1, &[0; 4]),
            "bad_padding",
            "PROTOCOL_ERROR",
        ),
        (
            "a block that is no block",
            server().frame(kind::HEADERS, flag::END_HEADERS, 1, &[0x80]),
            "compression",
            "COMPRESSION_ERROR",
        ),
        (
            "CONTINUATION without a block",
            server().frame(kind::CONTINUATION, flag::END_HEADERS, 1, &head),
            "broken_header_block",
            "PROTOCOL_ERROR",
        ),
        (
            "CONTINUATION after the end of one",
            server().ok(1).frame(kind::CONTINUATION, flag::END_HEADERS, 1, &head),
            "broken_header_block",
            "PROTOCOL_ERROR",
        ),
        (
            "CONTINUATION for another stream",
            server().frame(kind::HEADERS, 0, 1, &head).frame(kind::CONTINUATION, 4, 3, &head),
            "broken_header_block",
            "PROTOCOL_ERROR",
        ),
        (
            "DATA within a block",
            server().frame(kind::HEADERS, 0, 1, &head).data(3, false, b""),
            "broken_header_block",
            "PROTOCOL_ERROR",
        ),
        (
            "an unknown frame within a block",
            server().frame(kind::HEADERS, 0, 1, &head).frame(99, 0, 1, b""),
            "broken_header_block",
            "PROTOCOL_ERROR",
        ),
        ("a frame of 16385 bytes", big_data, "frame_too_long", "FRAME_SIZE_ERROR"),
        (
            "DATA after the end",
            server().headers(1, true, &[(":status", "200")]).data(1, false, b"x"),
            "stream_closed",
            "STREAM_CLOSED",
        ),
        (
            "HEADERS after the end",
            server().headers(1, true, &[(":status", "200")]).ok(1),
            "stream_closed",
            "STREAM_CLOSED",
        ),
        (
            "DATA after the server's own RST_STREAM",
            server().rst(1, ErrorCode::CANCEL).data(1, true, b""),
            "stream_closed",
            "STREAM_CLOSED",
        ),
    ] {
        let trace = trace_client(Limits::default(), &bytes.0, &[]);
        assert_eq!(trace.lines.last(), Some(&format!("error {error}")), "{why}");
        let frames = names(&trace.sent);
        assert_eq!(frames.last(), Some(&format!("GOAWAY 0 {code}")), "{why}");
        let every_byte: Vec<usize> = (1..bytes.0.len()).collect();
        assert_eq!(trace_client(Limits::default(), &bytes.0, &every_byte), trace, "{why}: bytes");
    }
}

#[test]
fn limits() {
    let head = block(&[(":status", "200")]);
    let many = |count: usize, next: fn(Bytes) -> Bytes| (0..count).fold(server(), |it, _| next(it));
    let long = vec![("x", "0123456789abcdef0123456789abcdef"); 2000];
    let long_list = [&[(":status", "200")][..], &long].concat();
    let long_block = block(&long_list);
    let in_frames = |bytes: Bytes, frame_bytes: usize| {
        let first = bytes.frame(kind::HEADERS, 0, 1, &long_block[..frame_bytes]);
        long_block[frame_bytes..]
            .chunks(frame_bytes)
            .fold(first, |bytes, chunk| bytes.frame(kind::CONTINUATION, 0, 1, chunk))
    };
    let empty = (0..33).fold(server().frame(kind::HEADERS, 0, 1, &head), |bytes, _| {
        bytes.frame(kind::CONTINUATION, 0, 1, b"")
    });
    let interim = many(33, |bytes| bytes.headers(1, false, &[(":status", "100")]));
    for (why, bytes, last, sent) in [
        (
            "a long block",
            in_frames(server(), 16_000),
            "error block_too_long",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        ("CONTINUATION without end", empty, "error block_too_long", "GOAWAY 0 ENHANCE_YOUR_CALM"),
        (
            "empty DATA without end",
            (0..10_001).fold(server().ok(1), |bytes, _| bytes.data(1, false, b"")),
            "error futile_flood",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        (
            "PING without end",
            many(10_001, |bytes| bytes.frame(kind::PING, 0, 0, &[0; 8])),
            "error futile_flood",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        (
            "PRIORITY without end",
            many(10_001, |bytes| bytes.frame(kind::PRIORITY, 0, 1, &[0; 5])),
            "error futile_flood",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        (
            "SETTINGS without end",
            many(10_001, |bytes| bytes.settings(&[])),
            "error futile_flood",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        (
            "room for more than the 65 535 bytes that were sent, without end",
            many(65_535 + 10_001, |bytes| bytes.window(0, 1)),
            "error futile_flood",
            "GOAWAY 0 ENHANCE_YOUR_CALM",
        ),
        (
            "room for all that was sent, byte by byte, and for a little more",
            many(65_535 + 10_000, |bytes| bytes.window(0, 1)),
            "closed, 3 open",
            "DATA 5 16383",
        ),
        ("interim responses without end", interim, "closed, 2 open", "RST 1 ENHANCE_YOUR_CALM"),
    ] {
        let trace = trace_client(Limits::default(), &bytes.0, &[]);
        assert_eq!(trace.lines.last().map(String::as_str), Some(last), "{why}");
        assert_eq!(names(&trace.sent).last().map(String::as_str), Some(sent), "{why}");
    }
    // A list that is too long for the limit, though its block is short: the table is in step after.
    let table = [&[0x88, 0x40, 1, b'a', 1, b'b'][..], &[0xbe; 4000]].concat();
    let bytes = server().frame(kind::HEADERS, flag::END_HEADERS, 1, &table).frame(
        kind::HEADERS,
        5,
        3,
        &[0x88, 0xbe],
    );
    let lines = "greeted, first byte 10, broken 10 head_too_long, first byte 11, head 11 200 [a=b], \
                 complete 11 0 bytes, closed, 1 open";
    let trace = trace_client(Limits::default(), &bytes.0, &[]);
    assert_eq!(trace.lines.join(", "), lines);
}
