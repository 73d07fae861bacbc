//! What a client makes of a server's bytes, with the usual limits.

use super::check;
use crate::http1::RequestKind::{self, Head, Plain};
use crate::http1::fuzz::trace_response;
use crate::http1::{DecodeError, Limits, ResponseDecoder, ResponseEnd, ResponseEvent};

type Case = (RequestKind, &'static [u8], &'static [&'static str]);

fn check_all(cases: &[Case]) {
    for &(kind, data, expected) in cases {
        check(data, expected, |data, cuts| trace_response(Limits::default(), kind, data, cuts));
    }
}

#[test]
fn lengths() {
    check_all(&[
        (Plain, b"", &["idle"]),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            &["head 200 1.1 Known(5) [Content-Length=5]", "body hello", "end keep-alive", "idle"],
        ),
        (
            Plain,
            b"HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n",
            &["head 404 1.1 Known(0) [content-length=0]", "end keep-alive", "idle"],
        ),
        // Repeats of the same number.
        (
            Plain,
            b"HTTP/1.1 200\r\nContent-Length: 1\r\nContent-Length: 01, 1\r\n\r\nx",
            &[
                "head 200 1.1 Known(1) [Content-Length=1] [Content-Length=01, 1]",
                "body x",
                "end keep-alive",
                "idle",
            ],
        ),
        // Neither length nor coding: up to the close.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\n\r\nall of it",
            &["head 200 1.1 UntilClose", "body all of it", "end close"],
        ),
        (Plain, b"HTTP/1.0 200 OK\n\n", &["head 200 1.0 UntilClose", "end close"]),
        // Status codes beyond the classes of RFC 9110 are final responses too.
        (
            Plain,
            b"HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n",
            &["head 999 1.1 Known(0) [Content-Length=0]", "end keep-alive", "idle"],
        ),
        // A body may hold anything.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n\0\r\n\r\n\xff",
            &[
                "head 200 1.1 Known(6) [Content-Length=6]",
                "body \\x00\\r\\n\\r\\n\\xff",
                "end keep-alive",
                "idle",
            ],
        ),
    ]);
}

#[test]
fn no_body() {
    check_all(&[
        (
            Head,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            &["head 200 1.1 None [Content-Length=5]", "end keep-alive", "idle"],
        ),
        (
            Head,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            &["head 200 1.1 None [Transfer-Encoding=chunked]", "end keep-alive", "idle"],
        ),
        (Head, b"HTTP/1.1 200 OK\r\n\r\n", &["head 200 1.1 None", "end keep-alive", "idle"]),
        (
            Plain,
            b"HTTP/1.1 204 No Content\r\n\r\n\
              HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            &[
                "head 204 1.1 None",
                "end keep-alive",
                "head 304 1.1 None [Content-Length=9]",
                "end keep-alive",
                "idle",
            ],
        ),
        // A 204 that promises a body is not trusted with another request.
        (
            Plain,
            b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi",
            &["head 204 1.1 None [Content-Length=2]", "end close", "done"],
        ),
        (
            Plain,
            b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &["head 204 1.1 None [Transfer-Encoding=chunked]", "end close", "done"],
        ),
    ]);
}

#[test]
fn interim() {
    check_all(&[
        (
            Plain,
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
              HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            &[
                "interim 100",
                "interim 103",
                "head 200 1.1 Known(1) [Content-Length=1]",
                "body x",
                "end keep-alive",
                "idle",
            ],
        ),
        (Head, b"HTTP/1.1 199 \r\n\r\n", &["interim 199", "error truncated_head"]),
        (
            Plain,
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n\x81\0",
            &["head 101 1.1 None [Upgrade=x] [Connection=Upgrade]", "end close", "done"],
        ),
    ]);
}

#[test]
fn chunked() {
    check_all(&[
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
              5\r\nhello\r\n1;a=\"b\"\r\n!\r\n0\r\n\r\n",
            &[
                "head 200 1.1 Chunked [Transfer-Encoding=chunked]",
                "body hello!",
                "end keep-alive",
                "idle",
            ],
        ),
        // Upper and lower case, leading zeros, padding, extensions on the last chunk, trailers.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip , Chunked\r\n\r\n000A \t\r\n0123456789\r\n\
              1 ; a ;b\r\nx\r\n00;last\r\nX-Sum: 1\r\nEmpty:\r\n\r\nHTTP/1.1 204 \r\n\r\n",
            &[
                "head 200 1.1 Chunked [transfer-encoding=gzip , Chunked]",
                "body 0123456789x",
                "end keep-alive",
                "head 204 1.1 None",
                "end keep-alive",
                "idle",
            ],
        ),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n\
              0\r\n\r\n",
            &[
                "head 200 1.1 Chunked [Transfer-Encoding=gzip] [Transfer-Encoding=chunked]",
                "end keep-alive",
                "idle",
            ],
        ),
    ]);
}

#[test]
fn suspect_transfer_encodings() {
    check_all(&[
        // Not chunked at last: up to the close.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
            &[
                "head 200 1.1 UntilClose [Transfer-Encoding=gzip]",
                "body 0\\r\\n\\r\\n",
                "end close",
            ],
        ),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\nContent-Length: 1\r\n\r\nxy",
            &[
                "head 200 1.1 UntilClose [Transfer-Encoding=chunked, gzip] [Content-Length=1]",
                "body xy",
                "end close",
            ],
        ),
        // Suspect framing: read, but the connection is not used again.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
              1\r\nx\r\n0\r\n\r\n",
            &[
                "head 200 1.1 Chunked [Content-Length=3] [Transfer-Encoding=chunked]",
                "body x",
                "end close",
                "done",
            ],
        ),
        (
            Plain,
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\
              0\r\n\r\n",
            &[
                "head 200 1.0 Chunked [Connection=keep-alive] [Transfer-Encoding=chunked]",
                "end close",
                "done",
            ],
        ),
    ]);
}

#[test]
fn persistence() {
    let cases: &[(&str, &str, &str)] = &[
        ("1.1", "", "keep-alive"),
        ("1.0", "", "close"),
        ("1.0", "Connection: keep-alive\r\n", "keep-alive"),
        ("1.0", "connection: Keep-Alive\r\n", "keep-alive"),
        ("1.0", "Connection: Upgrade\r\nCONNECTION: foo ,\tKEEP-ALIVE\r\n", "keep-alive"),
        ("1.0", "Connection: keep-alive\r\nConnection: close\r\n", "close"),
        ("1.0", "Connection: keep-alive-not\r\n", "close"),
        ("1.1", "Connection: close\r\n", "close"),
        ("1.1", "Connection: foo, CLOSE\r\n", "close"),
        ("1.1", "Connection: foo\r\nConnection: ,, close,\r\n", "close"),
        ("1.1", "Connection: closed\r\n", "keep-alive"),
        ("1.1", "Connections: close\r\n", "keep-alive"),
        ("1.1", "Connection: close, keep-alive\r\n", "close"),
    ];
    for (version, fields, expected) in cases {
        let data = format!("HTTP/{version} 200 OK\r\n{fields}Content-Length: 1\r\n\r\nx");
        let trace = trace_response(Limits::default(), Plain, data.as_bytes(), &[]);
        assert_eq!(trace[2], format!("end {expected}"), "{data}");
    }
}

#[test]
fn pipelined_and_blank_lines() {
    check_all(&[
        (
            Plain,
            b"\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\r\nHTTP/1.1 200 OK\r\n\
              Content-Length: 2\r\n\r\nbc\r\n",
            &[
                "head 200 1.1 Known(1) [Content-Length=1]",
                "body a",
                "end keep-alive",
                "head 200 1.1 Known(2) [Content-Length=2]",
                "body bc",
                "end keep-alive",
                "idle",
            ],
        ),
        // RFC 9112 9.6: nothing counts after close.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\n\
              Connection: close\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n",
            &[
                "head 200 1.1 Known(1) [Connection=close] [Content-Length=1]",
                "body a",
                "end close",
                "done",
            ],
        ),
        (Plain, b"\r", &["error truncated_head"]),
        (Plain, b"\rHTTP/1.1 200 OK\r\n\r\n", &["error malformed_head"]),
    ]);
}

#[test]
fn truncated() {
    check_all(&[
        (Plain, b"H", &["error truncated_head"]),
        (Plain, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", &["error truncated_head"]),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            &["head 200 1.1 Known(5) [Content-Length=5]", "body hell", "error truncated_body"],
        ),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r",
            &["head 200 1.1 Chunked [Transfer-Encoding=chunked]", "body x", "error truncated_body"],
        ),
    ]);
}

#[test]
fn folded_fields() {
    check_all(&[
        // RFC 9112 5.2.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nX-A: one\r\n\ttwo \r\n  three\r\nContent-Length: 2\r\n\r\nok",
            &[
                "head 200 1.1 Known(2) [X-A=one two three] [Content-Length=2]",
                "body ok",
                "end keep-alive",
                "idle",
            ],
        ),
        (
            Plain,
            b"HTTP/1.1 103 Early\r\nLink: a\r\n b: c\r\n\r\nHTTP/1.1 200 OK\r\n\
              Content-Length: 0\r\n\r\n",
            &["interim 103", "head 200 1.1 Known(0) [Content-Length=0]", "end keep-alive", "idle"],
        ),
        // Others may see no length there, or a shorter one.
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\n\r\nok",
            &["head 200 1.1 Known(2) [Content-Length=2]", "body ok", "end close", "done"],
        ),
        (
            Plain,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n0\r\nX: a\r\n b\r\n\r\n",
            &["head 200 1.1 Chunked [Transfer-Encoding=chunked]", "end close", "done"],
        ),
    ]);
}

#[test]
fn refused_heads() {
    let field = || DecodeError::ALL[1];
    assert_eq!(field().kind(), "malformed_field");
    let cases: &[(&[u8], DecodeError)] = &[
        (b"<html>", DecodeError::MalformedHead),
        (b"SSH-2.0-OpenSSH_9.2\r\n", DecodeError::MalformedHead),
        (b"ICY 200 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"\x15\x03\x01\0\x02\x02\x0a", DecodeError::TlsRecord),
        (b"\x16", DecodeError::TlsRecord),
        (b"\x17\x03\x03", DecodeError::MalformedHead),
        (b"http/1.1 200 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/0.9 200 OK\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"HTTP/1.2 200 OK\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"HTTP/2 200\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"HTTP/1.1  200 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/1.1 20 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/1.1 2000 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/1.1 099 OK\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/1.1 200 O\0K\r\n\r\n", DecodeError::MalformedHead),
        (b"HTTP/1.1 200 OK\r\n: x\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nA : x\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\n\"A\": x\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nB: y\r\n z\r\nA : x\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\n A: x\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nA: x\0\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nA: x\r\n y\0\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\nA: x\ry\r\n\r\n", field()),
        (b"HTTP/1.1 200 OK\r\n\rX", DecodeError::MalformedHead),
    ];
    for (data, error) in cases {
        let expected = format!("error {}", error.kind());
        check(data, &[&expected], |data, cuts| {
            trace_response(Limits::default(), Plain, data, cuts)
        });
    }
}

#[test]
fn refused_lengths() {
    let cases: &[(&str, DecodeError)] = &[
        ("Content-Length:", DecodeError::BadContentLength),
        ("Content-Length: +5", DecodeError::BadContentLength),
        ("Content-Length: -5", DecodeError::BadContentLength),
        ("Content-Length: 5 5", DecodeError::BadContentLength),
        ("Content-Length: 5,", DecodeError::BadContentLength),
        ("Content-Length: ,5", DecodeError::BadContentLength),
        ("Content-Length: 0x5", DecodeError::BadContentLength),
        ("Content-Length: 5.0", DecodeError::BadContentLength),
        ("Content-Length: \"5\"", DecodeError::BadContentLength),
        ("Content-Length: 18446744073709551616", DecodeError::BadContentLength),
        ("Content-Length: 99999999999999999999999", DecodeError::BadContentLength),
        ("Content-Length: 5, 6", DecodeError::ConflictingLength),
        ("Content-Length: 5\r\nContent-Length: 6", DecodeError::ConflictingLength),
        ("Transfer-Encoding:", DecodeError::BadTransferEncoding),
        ("Transfer-Encoding: ,", DecodeError::BadTransferEncoding),
        ("Transfer-Encoding: chunked, chunked", DecodeError::BadTransferEncoding),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip, chunked",
            DecodeError::BadTransferEncoding,
        ),
        ("Transfer-Encoding: chunked;q=1", DecodeError::BadTransferEncoding),
    ];
    for (fields, error) in cases {
        let data = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhello");
        let expected = format!("error {}", error.kind());
        check(data.as_bytes(), &[&expected], |data, cuts| {
            trace_response(Limits::default(), Plain, data, cuts)
        });
    }
}

#[test]
fn refused_chunks() {
    let chunks: &[&str] = &[
        "\r\n",
        " 1\r\nx\r\n",
        "g\r\n",
        "-1\r\n",
        "0x1\r\nx\r\n",
        ";a\r\n",
        "1 1\r\n",
        "1\nx\r\n",
        "1\rx",
        "1;a\nx\r\n",
        "1;a\0\r\nx\r\n",
        "1;\rx\r\n",
        "10000000000000000\r\n",
        "fffffffffffffffff\r\n",
        "0\n\r\n",
        "0\r\n\n",
        "0\r\n\rx",
        "0\r\nno colon\r\n\r\n",
        "0\r\n: x\r\n\r\n",
        "0\r\n a: x\r\n\r\n",
        "0\r\na : x\r\n\r\n",
        "0\r\na: \0\r\n\r\n",
        "0\r\na: x\n\r\n",
        "0\r\na: x\r\r\n",
        "0\r\nGET / HTTP/1.1\r\n\r\n",
    ];
    for chunk in chunks {
        let data = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
        let expected = ["head 200 1.1 Chunked [Transfer-Encoding=chunked]", "error bad_chunk"];
        check(data.as_bytes(), &expected, |data, cuts| {
            trace_response(Limits::default(), Plain, data, cuts)
        });
    }
    // Data that is longer than its chunk.
    let data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n";
    let expected =
        ["head 200 1.1 Chunked [Transfer-Encoding=chunked]", "body x", "error bad_chunk"];
    check(data, &expected, |data, cuts| trace_response(Limits::default(), Plain, data, cuts));
}

#[test]
fn reset_forgets_everything() {
    let mut decoder = ResponseDecoder::new(Limits::default());
    let starts: [&[u8]; 5] = [
        b"HTTP/1.1 200 OK\r\nContent-",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        b"garbage",
        b"\r",
    ];
    for start in starts {
        let _ = decoder.decode(Plain, start);
        assert!(!decoder.is_idle(), "{}", start.escape_ascii());
        decoder.reset();
        assert!(decoder.is_idle(), "{}", start.escape_ascii());
        assert_eq!(decoder.end(), Ok(None));
        let decoded = decoder.decode(Plain, b"HTTP/1.1 204 No Content\r\n\r\n");
        assert!(
            matches!(decoded, Ok(it) if matches!(it.event, Some(ResponseEvent::Head(_)))),
            "{}",
            start.escape_ascii()
        );
        decoder.reset();
    }
}

/// Reads `data` up to an event for which `stop` holds; gives the bytes not consumed by then.
fn read_until<'a>(
    decoder: &mut ResponseDecoder,
    mut data: &'a [u8],
    stop: impl Fn(&ResponseEvent<'_>) -> bool,
) -> &'a [u8] {
    loop {
        let decoded = decoder.decode(Plain, data).expect("a response");
        data = &data[decoded.consumed..];
        if stop(&decoded.event.expect("the whole message is there")) {
            return data;
        }
    }
}

#[test]
fn bytes_behind_a_message_are_left() {
    let messages = [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    ];
    for message in messages {
        let data = format!("{message}\r\nbehind");
        let mut decoder = ResponseDecoder::new(Limits::default());
        let is_end = |event: &ResponseEvent<'_>| matches!(event, ResponseEvent::End(_));
        let rest = read_until(&mut decoder, data.as_bytes(), is_end);
        assert_eq!(rest, b"\r\nbehind", "{message}");
    }
}

#[test]
fn a_close_right_behind_the_body_completes_it() {
    let data = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let mut decoder = ResponseDecoder::new(Limits::default());
    let is_body = |event: &ResponseEvent<'_>| matches!(event, ResponseEvent::Body(_));
    assert_eq!(read_until(&mut decoder, data, is_body), b"x");
    assert_eq!(decoder.end(), Ok(Some(ResponseEnd { keep_alive: false })));
    assert_eq!(decoder.end(), Ok(None));
}

#[test]
fn an_idle_connection_costs_little() {
    let size = size_of::<ResponseDecoder>();
    assert!(size <= 128, "{size} bytes");
}

#[test]
fn a_whole_message_is_not_copied() {
    let data = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let mut decoder = ResponseDecoder::new(Limits::default());
    let head = decoder.decode(Plain, data).expect("a response");
    let Some(ResponseEvent::Head(event)) = head.event else { panic!("a head") };
    assert_eq!(event.head_bytes().as_ptr(), data.as_ptr());
    let rest = &data[head.consumed..];
    let body = decoder.decode(Plain, rest).expect("a response");
    let Some(ResponseEvent::Body(piece)) = body.event else { panic!("a body") };
    assert_eq!(piece.as_ptr(), rest.as_ptr());
    assert_eq!(body.consumed, 4, "the last byte is the end's");
}

#[test]
fn trailers_are_kept_on_request_wherever_they_are_cut() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let kept = |stream: &[u8], cut: usize| {
        let mut decoder = ResponseDecoder::new(Limits::default()).keeping_trailers();
        let mut kept = Vec::new();
        for mut input in [&stream[..cut], &stream[cut..]] {
            while !input.is_empty() {
                let decoded = decoder.decode(Plain, input).expect("a response");
                input = &input[decoded.consumed..];
                if let Some(ResponseEvent::End(_)) = decoded.event {
                    let text = |(name, value): (&str, &[u8])| {
                        format!("{name}={}", String::from_utf8_lossy(value))
                    };
                    kept.push(decoder.trailers().map(text).collect::<Vec<_>>());
                }
            }
        }
        kept
    };
    for (body, want) in [
        ("2\r\nok\r\n0\r\nA: 1\r\nb:\t2 \r\n\r\n", &["A=1", "b=2"][..]),
        ("0\r\nA:\r\n\r\n", &["A="]),
        ("2\r\nok\r\n0\r\n\r\n", &[]),
    ] {
        // What one response leaves is not the next one's.
        let stream = [HEAD, body, HEAD, "0\r\n\r\n"].concat().into_bytes();
        for cut in 0..=stream.len() {
            assert_eq!(kept(&stream, cut), [want.to_vec(), Vec::new()], "{body:?} cut at {cut}");
        }
    }
}
