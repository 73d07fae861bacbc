//! Calls by themselves: bytes in, messages and a status out.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_grpc::builtin::schema;
use plimsoll_proto::grpc::{Code, message_prefix};
use plimsoll_proto::http2::Headers;

use super::*;

/// The field of a request whose messages may be compressed.
const GZIP: &str = "grpc-encoding: gzip\n";

/// The body with these messages, in JSON, for the method at a path.
fn body(path: &str, messages: &[&str]) -> Vec<u8> {
    let schema = schema().expect("compiles");
    let mut body = Vec::new();
    for json in messages {
        let message = schema.method(path).expect(path).request(json, None).expect(json);
        let message = message.fixed().expect("has no templates");
        body.extend_from_slice(&message_prefix(message.len() as u32));
        body.extend_from_slice(message);
    }
    body
}

/// What gzip makes of some bytes.
fn zip(bytes: &[u8]) -> Vec<u8> {
    let mut zip = GzEncoder::new(Vec::new(), Compression::fast());
    zip.write_all(bytes).expect("to memory");
    zip.finish().expect("to memory")
}

/// A message that is marked as compressed, in a body.
fn marked(message: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = message_prefix(message.len() as u32);
    [&[1], &length[..], message].concat()
}

/// A body whose messages are compressed, but for each second one.
fn zipped(body: &[u8]) -> Vec<u8> {
    let (mut rest, mut zipped, mut is_plain) = (body, Vec::new(), true);
    while let [_, l0, l1, l2, l3, messages @ ..] = rest {
        let (message, others) =
            messages.split_at(u32::from_be_bytes([*l0, *l1, *l2, *l3]) as usize);
        is_plain = !is_plain;
        zipped.extend(if is_plain {
            [&message_prefix(message.len() as u32)[..], message].concat()
        } else {
            marked(&zip(message))
        });
        rest = others;
    }
    zipped
}

/// What a call says to a request: a line for each thing. Time passes while it waits. The request
/// comes in pieces of up to `piece_bytes`.
fn said(path: &str, fields: &str, body: &[u8], piece_bytes: usize) -> Vec<String> {
    let (mut call, mut lines) = (Call::default(), Vec::new());
    let fields = format!("\n{fields}\n");
    let method = Method::of(path).unwrap_or_default();
    call.begin(method, &CallHead::read(Headers::of_head(fields.as_bytes())));
    for piece in body.chunks(piece_bytes) {
        call.receive(piece, 0);
    }
    call.end();
    let mut now_ns = 5;
    for _ in 0..20 {
        let mut out = Vec::new();
        match call.next(now_ns, 0, &mut out) {
            Next::Read => panic!("{path}: the request has ended"),
            Next::Wait(u64::MAX) => return lines,
            Next::Wait(due_ns) => {
                lines.push(format!("wait {}", due_ns - now_ns));
                now_ns = due_ns;
            }
            Next::Message { zero_bytes } => {
                out.resize(out.len() + zero_bytes as usize, 0);
                assert_eq!(out[..5], message_prefix(out.len() as u32 - 5), "{path}");
                let method = schema().expect("compiles").method(path).expect(path);
                let json = method.response_json(&out[5..]).expect("is one");
                lines.push(if json.len() > 99 { format!("{} B", json.len()) } else { json });
            }
            Next::Status(code) => {
                lines.push(format!("{code} {}", call.text()));
                return lines;
            }
        }
    }
    panic!("{path}: it has no end: {lines:?}")
}

#[test]
fn methods_answer_however_a_request_is_cut() {
    use plimsoll_grpc::builtin::testing as t;
    let ping = r#"{"seq":"7","ts":"-1","payload":"é"}"#;
    let payload = |bytes: usize| format!(r#"{{"payload":{{"body":"{}"}}}}"#, "A".repeat(bytes));
    let status = r#"{"responseStatus": {"code": 2, "message": "a\tb é"}}"#;
    let outputs = r#"{"responseParameters": [{"size": 3}, {"intervalUs": 7}],
        "responseStatus": {"code": 5}}"#;
    let one = r#"{"responseParameters": [{"size": 3}]}"#;
    let three = payload(4);
    for (path, messages, want) in [
        (builtin::HEALTH_CHECK, &["{}"][..], &[r#"{"status":"SERVING"}"#, "OK "][..]),
        (
            builtin::HEALTH_CHECK,
            &[r#"{"service": "fgrpc.PingServer"}"#],
            &[r#"{"status":"SERVING"}"#, "OK "],
        ),
        (builtin::HEALTH_CHECK, &[r#"{"service": "x"}"#], &["NOT_FOUND there is no such service"]),
        (builtin::HEALTH_WATCH, &["{}"], &[r#"{"status":"SERVING"}"#]),
        (builtin::HEALTH_WATCH, &[r#"{"service": "x"}"#], &[r#"{"status":"SERVICE_UNKNOWN"}"#]),
        (builtin::PING, &[ping], &[ping, "OK "]),
        (builtin::PING, &[r#"{"delayNanos":"9"}"#], &["wait 9", r#"{"delayNanos":"9"}"#, "OK "]),
        (builtin::PING, &[r#"{"delayNanos":"-9"}"#], &[r#"{"delayNanos":"-9"}"#, "OK "]),
        (
            builtin::PING,
            &[r#"{"delayNanos":"9223372036854775807"}"#],
            &["wait 3600000000000", r#"{"delayNanos":"9223372036854775807"}"#, "OK "],
        ),
        (builtin::PING, &[], &["INTERNAL the method takes one message, and there is none"]),
        (
            builtin::PING,
            &["{}", "{}"],
            &["INTERNAL the method takes one message, and here are more"],
        ),
        (t::EMPTY_CALL, &["{}"], &["{}", "OK "]),
        (t::UNARY_CALL, &["{}"], &[r#"{"payload":{}}"#, "OK "]),
        (t::UNARY_CALL, &[r#"{"responseSize": 3}"#], &[&three, "OK "]),
        (t::UNARY_CALL, &[r#"{"responseSize": 314159}"#], &["418903 B", "OK "]),
        (
            t::UNARY_CALL,
            &[r#"{"responseSize": -1}"#],
            &["INVALID_ARGUMENT response_size is negative"],
        ),
        (
            t::UNARY_CALL,
            &[r#"{"responseType": 1}"#],
            &["INVALID_ARGUMENT the only response_type is 0"],
        ),
        (t::UNARY_CALL, &[status], &["UNKNOWN a\tb é"]),
        (t::STREAMING_INPUT_CALL, &[], &["{}", "OK "]),
        (
            t::STREAMING_INPUT_CALL,
            &[&payload(400), &payload(40)],
            &[r#"{"aggregatedPayloadSize":330}"#, "OK "],
        ),
        (t::STREAMING_OUTPUT_CALL, &["{}"], &["OK "]),
        (
            t::STREAMING_OUTPUT_CALL,
            &[outputs],
            &[&three, "wait 7000", r#"{"payload":{}}"#, "NOT_FOUND "],
        ),
        (
            t::STREAMING_OUTPUT_CALL,
            &[r#"{"responseParameters": [{"size": -1}]}"#],
            &["INVALID_ARGUMENT a size or an interval is negative"],
        ),
        (t::FULL_DUPLEX_CALL, &[], &["OK "]),
        (t::FULL_DUPLEX_CALL, &[one, "{}", one, one], &[&three, &three, &three, "OK "]),
        (t::FULL_DUPLEX_CALL, &[one, status, one], &[&three, "UNKNOWN a\tb é"]),
    ] {
        let body = body(path, messages);
        for (fields, body) in
            [("", &body), (GZIP, &body), (GZIP, &zipped(&body)), ("grpc-encoding: GZip\n", &body)]
        {
            for piece_bytes in [1, 2, 3, 7, 100, 1 << 20] {
                assert_eq!(
                    said(path, fields, body, piece_bytes),
                    want,
                    "{path} {fields:?} {messages:?} {piece_bytes}"
                );
            }
        }
    }
}

#[test]
fn what_breaks_the_rules_is_told() {
    use plimsoll_grpc::builtin::testing::{FULL_DUPLEX_CALL, STREAMING_INPUT_CALL};
    let ping = body(builtin::PING, &["{}"]);
    let malformed = &b"\0\0\0\0\x01\x08"[..];
    for (path, fields, body, want) in [
        ("/x.Y/Z", "", &ping[..], "UNIMPLEMENTED there is no such method; reflection lists them"),
        (
            builtin::PING,
            "grpc-encoding: br\n",
            &ping,
            "UNIMPLEMENTED messages are taken plain or with gzip",
        ),
        (builtin::PING, "grpc-timeout: soon\n", &ping, "INTERNAL grpc-timeout is not a time"),
        (builtin::PING, "", malformed, "INTERNAL the message is not one of the method's"),
        (STREAMING_INPUT_CALL, "", malformed, "INTERNAL the message is not one of the method's"),
        (FULL_DUPLEX_CALL, "", malformed, "INTERNAL the message is not one of the method's"),
        (builtin::PING, "", b"\0\0\x40\0\x01", "RESOURCE_EXHAUSTED a message is longer than 4 MiB"),
        (
            builtin::PING,
            "",
            b"\x01\0\0\0\0",
            "INTERNAL a message is compressed, and no field says how",
        ),
        (FULL_DUPLEX_CALL, "", b"x", "INTERNAL the body is not a sequence of messages"),
        (FULL_DUPLEX_CALL, "", b"\0\0", "INTERNAL the request ended within a message"),
        (builtin::PING, "", b"\0\0\0\0\x01", "INTERNAL the request ended within a message"),
    ] {
        for piece_bytes in [1, 3, 100] {
            assert_eq!(said(path, fields, body, piece_bytes), [want], "{path} {body:?}");
        }
    }
    for fields in ["grpc-encoding: identity\n", "grpc-timeout: 1S\n"] {
        assert_eq!(said(builtin::PING, fields, &ping, 100), ["{}", "OK "]);
    }
}

#[test]
fn compressed_messages_that_are_broken_or_too_long_end_the_call() {
    use plimsoll_grpc::builtin::testing::{FULL_DUPLEX_CALL, STREAMING_INPUT_CALL};
    let ping = zip(b"\x08\x07");
    let zeros = |bytes: usize| zip(&vec![0; bytes]);
    let (most, more) = (MESSAGE_BYTES_MAX as usize, MESSAGE_BYTES_MAX as usize + 1);
    let (malformed, not_whole) =
        ("INTERNAL the message is not one of the method's", "INTERNAL a message is not whole gzip");
    let too_long = "RESOURCE_EXHAUSTED a message is longer than 4 MiB";
    let nested = zip(&zeros(1 << 24));
    let (two_members, rubbish) =
        ([zip(b"\x08"), zip(b"\x07")].concat(), [&ping[..], b"xx"].concat());
    let mut wrong_sum = ping.clone();
    wrong_sum[ping.len() - 8] ^= 1;
    for (message, want) in [
        (&ping[..], &[r#"{"seq":"7"}"#, "OK "][..]),
        (&two_members, &[r#"{"seq":"7"}"#, "OK "]),
        (&zip(b""), &["{}", "OK "]),
        (&zip(b"\x08"), &[malformed]),
        (&zeros(most), &[malformed]),
        (&zeros(more), &[too_long]),
        (&zeros(1 << 28), &[too_long]),
        (&nested, &[malformed]),
        (b"", &[not_whole]),
        (b"\x08\x07", &[not_whole]),
        (&rubbish, &[not_whole]),
        (&wrong_sum, &[not_whole]),
    ] {
        for piece_bytes in [1000, 1 << 20] {
            let body = marked(message);
            assert_eq!(said(builtin::PING, GZIP, &body, piece_bytes), want, "{} B", message.len());
        }
        let uncoded = ["INTERNAL a message is compressed, and no field says how"];
        assert_eq!(said(builtin::PING, "grpc-encoding: identity\n", &marked(message), 9), uncoded);
    }
    for cut in 0..ping.len() {
        for path in [builtin::PING, STREAMING_INPUT_CALL, FULL_DUPLEX_CALL] {
            let lines = said(path, GZIP, &marked(&ping[..cut]), 100);
            assert_eq!(lines, [not_whole], "{path} {cut}");
        }
    }
}

#[test]
fn what_compressed_messages_hold_counts_among_what_is_held() {
    use plimsoll_grpc::builtin::testing::{FULL_DUPLEX_CALL, UNARY_CALL};
    let payload = format!(r#"{{"payload": {{"body": "{}"}}}}"#, "A".repeat(2 << 20));
    let long = marked(&zip(&body(UNARY_CALL, &[&payload])[5..]));
    let method = |path: &str| Method::of(path).expect(path);
    let head = format!("\n{GZIP}");
    for (path, others_bytes, want) in [
        (UNARY_CALL, HELD_BYTES_MAX - (2 << 20), Next::Read),
        (UNARY_CALL, HELD_BYTES_MAX - (1 << 20), Next::Status(Code::RESOURCE_EXHAUSTED)),
        (FULL_DUPLEX_CALL, HELD_BYTES_MAX - (1 << 20), Next::Status(Code::RESOURCE_EXHAUSTED)),
    ] {
        let mut call = Call::default();
        call.begin(method(path), &CallHead::read(Headers::of_head(head.as_bytes())));
        call.receive(&long, others_bytes);
        assert_eq!(call.next(0, others_bytes, &mut Vec::new()), want, "{path} {others_bytes}");
        assert!(call.held_bytes() + others_bytes <= HELD_BYTES_MAX, "{path} {others_bytes}");
    }
    // A message that waits for its turn is decompressed when that comes.
    let late = body(FULL_DUPLEX_CALL, &[r#"{"responseParameters": [{"intervalUs": 1}]}"#]);
    let mut call = Call::default();
    call.begin(method(FULL_DUPLEX_CALL), &CallHead::read(Headers::of_head(head.as_bytes())));
    call.receive(&[&late[..], &long].concat(), 0);
    assert_eq!(call.next(0, 0, &mut Vec::new()), Next::Wait(1_000));
    assert_eq!(call.next(1_000, 0, &mut Vec::new()), Next::Message { zero_bytes: 0 });
    let others_bytes = HELD_BYTES_MAX - (1 << 20);
    let next = call.next(1_000, others_bytes, &mut Vec::new());
    assert_eq!(next, Next::Status(Code::RESOURCE_EXHAUSTED));
    assert_eq!(call.text(), "too many long messages at once");
}

#[test]
fn reflection_answers_each_request_and_names_every_service() {
    for version in Version::ALL {
        let body = body(version.path(), &[r#"{"listServices": ""}"#, r#"{"fileByFilename": "x"}"#]);
        let lines = said(version.path(), "", &body, 7);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].ends_with(" B") && lines[2] == "OK ", "{lines:?}");
        let wrong = said(version.path(), "", b"\0\0\0\0\x02\x18\x01", 7);
        assert_eq!(wrong, ["INTERNAL the message is not one of the method's"]);
    }
}

#[test]
fn what_comes_during_an_answer_is_kept_unread_and_what_is_held_is_bounded() {
    use plimsoll_grpc::builtin::testing::FULL_DUPLEX_CALL;
    let late = r#"{"responseParameters": [{"intervalUs": 1}]}"#;
    let message = body(FULL_DUPLEX_CALL, &[late]);
    let mut call = Call::default();
    call.begin(Method::FullDuplexCall, &CallHead::default());
    call.receive(&message, 0);
    assert_eq!((call.has_room(), call.held_bytes()), (true, message.len() - 5));
    call.receive(&message, 0);
    assert_eq!((call.has_room(), call.held_bytes()), (false, 2 * message.len() - 5));
    let mut out = Vec::new();
    assert_eq!(call.next(0, 0, &mut out), Next::Wait(1_000));
    assert_eq!(call.next(1_000, 0, &mut out), Next::Message { zero_bytes: 0 });
    assert_eq!(call.next(1_000, 0, &mut out), Next::Wait(2_000));
    assert!(call.has_room());
    call.receive(&message, HELD_BYTES_MAX + 5 - 2 * message.len());
    assert_eq!(call.next(1_000, 0, &mut out), Next::Wait(2_000));
    call.receive(b"x", HELD_BYTES_MAX + 5 - 2 * message.len());
    assert_eq!(call.next(2_000, 0, &mut out), Next::Status(Code::RESOURCE_EXHAUSTED));
    let mut long = Call::default();
    long.begin(Method::UnaryCall, &CallHead::default());
    let status =
        format!(r#"{{"responseStatus": {{"code": 3, "message": "x{}"}}}}"#, "é".repeat(3000));
    long.receive(&body("/grpc.testing.TestService/UnaryCall", &[&status]), 0);
    long.end();
    assert_eq!(long.next(0, 0, &mut out), Next::Status(Code(3)));
    assert_eq!(long.text().len(), 4095);
}
