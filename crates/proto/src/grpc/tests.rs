//! Tables of the protocol, every prefix and every cut of bodies, and the fuzz bodies over seeds.

use proptest::prelude::*;

use super::fuzz::{fuzz_messages, fuzz_values, trace};
use super::*;
use crate::cuts::check_cuts;
use crate::http1::Headers;
use crate::http2::ErrorCode;

const BODY: &[u8] = b"\0\0\0\0\x05hello\0\0\0\0\0\x01\0\0\0\x02hi";

#[test]
fn messages_are_found_however_they_are_cut() {
    let whole = ["message 5:hello", "end", "message 0:", "end", "message 2 compressed:hi", "end"];
    assert_eq!(trace(BODY, &[], 5, true), whole);
    check_cuts(BODY, |cuts| trace(BODY, cuts, 5, true));
    for cut in 0..=BODY.len() {
        let lines = trace(&BODY[..cut], &[], 5, true);
        let is_whole = [0, 10, 15, 22].contains(&cut);
        assert_eq!(lines.last().is_some_and(|line| line == "grpc_message_cut"), !is_whole, "{cut}");
    }
}

#[test]
fn what_is_no_message_is_refused() {
    for (body, has_coding, want) in [
        (&b"\x02"[..], true, "grpc_flag"),
        (b"HTTP/1.1 400", true, "grpc_flag"),
        (b"\x01", false, "grpc_uncoded"),
        (b"\x01\0\0\0\0", false, "grpc_uncoded"),
        (b"\0\0\0\0\x06", false, "grpc_message_too_long"),
        (b"\0\xff\xff\xff\xff", false, "grpc_message_too_long"),
        (b"\0\0\0\0", false, "grpc_message_cut"),
    ] {
        let lines = trace(body, &[], 5, has_coding);
        assert_eq!(lines, [want], "{}", body.escape_ascii());
        check_cuts(body, |cuts| trace(body, cuts, 5, has_coding));
    }
    let limit = MessageError::TooLong { bytes: 6, limit: 5 };
    assert_eq!(limit.code(), Code::RESOURCE_EXHAUSTED);
    assert_eq!(MessageError::Cut.code(), Code::INTERNAL);
}

#[test]
fn a_prefix_is_read_back() {
    for bytes in [0, 1, 255, 256, 70_000, u32::MAX] {
        let prefix = message_prefix(bytes);
        let mut reader = MessageReader::new(u32::MAX, false);
        let event = reader.next(&mut &prefix[..]);
        assert_eq!(event, Ok(Some(MessageEvent::Started { bytes, is_compressed: false })));
    }
}

#[test]
fn timeouts_are_written_in_the_finest_unit_rounded_up() {
    for (ns, want) in [
        (0, "1n"),
        (1, "1n"),
        (99_999_999, "99999999n"),
        (100_000_000, "100000u"),
        (100_000_001, "100001u"),
        (99_999_999_000, "99999999u"),
        (99_999_999_001, "100000m"),
        (99_999_999_000_000, "99999999m"),
        (99_999_999_000_001, "100000S"),
        (99_999_999_000_000_001, "1666667M"),
        (u64::MAX, "5124096H"),
    ] {
        let mut text = Vec::new();
        timeout::write(ns, &mut text);
        assert_eq!(text.escape_ascii().to_string(), want, "{ns}");
        assert!(timeout::read(&text).is_some_and(|read| read >= ns), "{ns}");
    }
}

#[test]
fn timeouts_are_read() {
    for (text, want) in [
        ("1H", Some(3_600_000_000_000)),
        ("2M", Some(120_000_000_000)),
        ("3S", Some(3_000_000_000)),
        ("4m", Some(4_000_000)),
        ("5u", Some(5_000)),
        ("6n", Some(6)),
        ("0S", Some(0)),
        ("007n", Some(7)),
        ("99999999n", Some(99_999_999)),
        ("99999999H", Some(u64::MAX)),
        ("100000000n", None),
        ("", None),
        ("S", None),
        ("1", None),
        ("1s", None),
        ("-1S", None),
        ("+1S", None),
        ("1.5S", None),
        (" 1S", None),
    ] {
        assert_eq!(timeout::read(text.as_bytes()), want, "{text:?}");
    }
}

#[test]
fn messages_of_a_status_are_percent_encoded() {
    for (text, field) in [
        ("", ""),
        ("plain ~text!", "plain ~text!"),
        ("50% of it", "50%25 of it"),
        ("two\r\nlines\x7f", "two%0D%0Alines%7F"),
        ("é", "%C3%A9"),
    ] {
        let (mut written, mut read) = (Vec::new(), Vec::new());
        status_message::write(text, &mut written);
        assert_eq!(written.escape_ascii().to_string(), field, "{text:?}");
        status_message::read(&written, 100, &mut read);
        assert_eq!(read, text.as_bytes(), "{text:?}");
    }
    for (field, bytes_max, text) in [
        ("%", 100, "%"),
        ("%4", 100, "%4"),
        ("%4x%zz", 100, "%4x%zz"),
        ("%%41", 100, "%A"),
        ("%c3%a9", 100, "é"),
        ("abc", 2, "ab"),
        ("%41%42%43", 2, "AB"),
        ("abc", 0, ""),
    ] {
        let mut read = Vec::new();
        status_message::read(field.as_bytes(), bytes_max, &mut read);
        assert_eq!(read, text.as_bytes(), "{field:?}");
    }
}

#[test]
fn codes_have_names() {
    for (number, name) in Code::names().iter().enumerate() {
        let code = Code(number as u32);
        assert_eq!((code.name(), code.to_string()), (Some(*name), (*name).to_owned()));
        assert_eq!(Code::named(&name.to_lowercase()), Some(code));
        assert_eq!(Code::read(number.to_string().as_bytes()), Some(code));
    }
    let named = [
        (Code::OK, "OK"),
        (Code::CANCELLED, "CANCELLED"),
        (Code::UNKNOWN, "UNKNOWN"),
        (Code::INVALID_ARGUMENT, "INVALID_ARGUMENT"),
        (Code::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"),
        (Code::NOT_FOUND, "NOT_FOUND"),
        (Code::PERMISSION_DENIED, "PERMISSION_DENIED"),
        (Code::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"),
        (Code::UNIMPLEMENTED, "UNIMPLEMENTED"),
        (Code::INTERNAL, "INTERNAL"),
        (Code::UNAVAILABLE, "UNAVAILABLE"),
        (Code::UNAUTHENTICATED, "UNAUTHENTICATED"),
    ];
    for (code, name) in named {
        assert_eq!(code.name(), Some(name));
    }
    assert_eq!((Code(17).name(), Code(99).to_string()), (None, "99".to_owned()));
    assert_eq!(Code::named("CANCELED"), None);
    for (value, want) in [
        ("4294967295", Some(u32::MAX)),
        ("4294967296", None),
        ("99999999999", None),
        ("00", Some(0)),
        ("", None),
        ("-1", None),
        ("1x", None),
    ] {
        assert_eq!(Code::read(value.as_bytes()), want.map(Code), "{value:?}");
    }
}

#[test]
fn http_and_resets_stand_in_for_a_status() {
    for (status, want) in [
        (200, 2),
        (400, 13),
        (401, 16),
        (403, 7),
        (404, 12),
        (429, 14),
        (431, 13),
        (500, 2),
        (502, 14),
        (503, 14),
        (504, 14),
    ] {
        assert_eq!(Code::of_http_status(status), Code(want), "{status}");
    }
    for reset in 0..=0xd {
        let want = match ErrorCode(reset) {
            ErrorCode::REFUSED_STREAM => 14,
            ErrorCode::CANCEL => 1,
            ErrorCode::ENHANCE_YOUR_CALM => 8,
            ErrorCode::INADEQUATE_SECURITY => 7,
            _ => 13,
        };
        assert_eq!(Code::of_reset(ErrorCode(reset)), Code(want), "{reset}");
    }
}

/// How a call ended whose response has this status, fields, body and trailers.
fn ended(status: u16, head: &str, has_body: bool, trailers: Option<&str>) -> u32 {
    let lines = |text: &str| format!("\n{}", text.replace(';', "\n") + "\n");
    let mut reply = Reply::of_head(status, Headers::of_head(lines(head).as_bytes()));
    if has_body {
        reply.body();
    }
    if let Some(text) = trailers {
        reply.trailers(Headers::of_head(lines(text).as_bytes()));
    }
    reply.code().0
}

#[test]
fn the_fields_of_a_response_say_how_its_call_ended() {
    const GRPC: &str = "content-type: application/grpc";
    let only = |status: &str| format!("{GRPC};grpc-status: {status}");
    for (http, head, has_body, trailers, want) in [
        (200, GRPC, true, Some("grpc-status: 0"), 0),
        (200, GRPC, false, Some("grpc-status: 0"), 0),
        (200, GRPC, true, Some("x: y;Grpc-Status: 5;grpc-message: no"), 5),
        (200, GRPC, true, Some("grpc-status: 99"), 99),
        (200, GRPC, true, Some("grpc-status: zero"), 2),
        (200, GRPC, true, Some("x: y"), 2),
        (200, GRPC, true, None, 2),
        (200, GRPC, false, None, 2),
        // Trailers-only.
        (200, &only("14"), false, None, 14),
        (200, &only("0"), false, None, 0),
        // A status in the head is not the end once more follows.
        (200, &only("0"), true, None, 2),
        (200, &only("0"), true, Some("grpc-status: 3"), 3),
        (200, &only("0"), false, Some("x: y"), 2),
        // Other content types are not gRPC, whatever they say.
        (200, "content-type: text/html", true, Some("grpc-status: 0"), 2),
        (200, "grpc-status: 0", false, None, 2),
        (503, "content-type: text/html", true, None, 14),
        (404, "", false, None, 12),
        // HTTP says no.
        (503, &only("0"), false, None, 14),
        (503, &only("8"), false, None, 8),
    ] {
        assert_eq!(ended(http, head, has_body, trailers), want, "{http} {head:?} {trailers:?}");
    }
}

#[test]
fn content_types_and_codings() {
    for (value, want) in [
        ("application/grpc", true),
        ("application/grpc+proto", true),
        ("Application/GRPC;charset=utf-8", true),
        ("application/grpc-web", false),
        ("application/grp", false),
        ("text/plain", false),
        ("", false),
    ] {
        assert_eq!(is_content_type(value.as_bytes()), want, "{value:?}");
        let lines = format!("\ncontent-type: {value}\n");
        let reply = Reply::of_head(200, Headers::of_head(lines.as_bytes()));
        assert_eq!((reply.is_grpc(), reply.has_coding()), (want, false), "{value:?}");
    }
    for (value, want) in [("gzip", true), ("identity", false)] {
        let lines = format!("\ngrpc-encoding: {value}\n");
        assert_eq!(Reply::of_head(200, Headers::of_head(lines.as_bytes())).has_coding(), want);
    }
}

#[test]
fn values_hold_what_fuzzing_asks_for() {
    for value in ["1H", "99999999H", "%", "%4", "%zz%41", "é%", "0", "4294967295", "00", "\r\n\0"]
    {
        fuzz_values(value.as_bytes());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_alike_however_they_are_cut(data: Vec<u8>) {
        fuzz_messages(&data);
        fuzz_values(&data);
    }

    #[test]
    fn changed_bodies_are_read_alike_however_they_are_cut(at in 0..BODY.len(), byte: u8) {
        let mut body = BODY.to_vec();
        body[at] = byte;
        fuzz_messages(&body);
    }

    #[test]
    fn a_timeout_is_never_shortened(ns: u64) {
        let mut text = Vec::new();
        timeout::write(ns, &mut text);
        let read = timeout::read(&text).expect("it was written");
        // A unit holds more than six digits, so that rounding adds at most a millionth and one.
        prop_assert!(read >= ns.max(1) && read - ns <= ns / 1_000_000 + 1, "{ns}: {read}");
    }
}
