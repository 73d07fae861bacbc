//! What a server makes of a client's bytes, with the usual limits.

use super::check;
use crate::http1::fuzz::trace_request;
use crate::http1::{DecodeError, Limits, RequestDecoder};

fn check_request(data: &[u8], expected: &[&str]) {
    check(data, expected, |data, cuts| trace_request(Limits::default(), data, cuts));
}

#[test]
fn accepted() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &["idle"]),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            &["head GET / 1.1 keep-alive None [Host=x]", "end keep-alive", "idle"],
        ),
        (b"GET / HTTP/1.0\r\n\r\n", &["head GET / 1.0 close None", "end close", "done"]),
        (
            b"GET http://x/a?b#c HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            &[
                "head GET http://x/a?b#c 1.0 keep-alive None [Connection=Keep-Alive]",
                "end keep-alive",
                "idle",
            ],
        ),
        (
            b"POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
            &[
                "head POST /echo 1.1 keep-alive Known(5) [Content-Length=5]",
                "body hello",
                "end keep-alive",
                "idle",
            ],
        ),
        (
            b"PUT / HTTP/1.1\r\nTransfer-Encoding: CHUNKED\r\n\r\n\
              2;x\r\nab\r\n1\r\nc\r\n0\r\nT: v\r\n\r\n",
            &[
                "head PUT / 1.1 keep-alive Chunked [Transfer-Encoding=CHUNKED]",
                "body abc",
                "end keep-alive",
                "idle",
            ],
        ),
        // Pipelined, with the blank line that RFC 9112 2.2 wants ignored.
        (
            b"GET /1 HTTP/1.1\r\n\r\nPOST /2 HTTP/1.1\r\nContent-Length: 1\r\n\r\nx\r\n\
              OPTIONS * HTTP/1.1\r\nconnection: close\r\n\r\nGET /dropped HTTP/1.1\r\n\r\n",
            &[
                "head GET /1 1.1 keep-alive None",
                "end keep-alive",
                "head POST /2 1.1 keep-alive Known(1) [Content-Length=1]",
                "body x",
                "end keep-alive",
                "head OPTIONS * 1.1 close None [connection=close]",
                "end close",
                "done",
            ],
        ),
        // Bare LF ends a line of a head, as RFC 9112 2.2 allows.
        (
            b"GET / HTTP/1.1\nA: \t b c \t\nB:\n\n",
            &["head GET / 1.1 keep-alive None [A=b c] [B=]", "end keep-alive", "idle"],
        ),
    ];
    for (data, expected) in cases {
        check_request(data, expected);
    }
}

#[test]
fn expect_continue() {
    let cases: &[(&str, bool)] = &[
        ("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nEXPECT: a, 100-Continue\r\nContent-Length: 1\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", false),
        ("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n", false),
    ];
    for (data, expected) in cases {
        let trace = trace_request(Limits::default(), data.as_bytes(), &[]);
        assert_eq!(trace[0].contains(" expects"), *expected, "{data}");
    }
}

#[test]
fn refused() {
    let cases: &[(&[u8], DecodeError)] = &[
        // Where two servers could disagree about the end of the message.
        (
            b"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            DecodeError::ConflictingLength,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
            DecodeError::ConflictingLength,
        ),
        (
            b"POST / HTTP/1.1\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
            DecodeError::ConflictingLength,
        ),
        (b"POST / HTTP/1.1\r\nContent-Length: 4, 5\r\n\r\n", DecodeError::ConflictingLength),
        (b"POST / HTTP/1.1\r\nContent-Length: +4\r\n\r\n", DecodeError::BadContentLength),
        (b"POST / HTTP/1.1\r\nContent-Length: 4\x0b\r\n\r\n", DecodeError::MalformedHead),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            DecodeError::BadTransferEncoding,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
            DecodeError::BadTransferEncoding,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n",
            DecodeError::BadTransferEncoding,
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: \"chunked\"\r\n\r\n",
            DecodeError::BadTransferEncoding,
        ),
        (
            b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            DecodeError::BadTransferEncoding,
        ),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n", DecodeError::MalformedHead),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\n\r\n", DecodeError::MalformedHead),
        (
            b"POST / HTTP/1.1\r\nA: b\rTransfer-Encoding: chunked\r\n\r\n",
            DecodeError::MalformedHead,
        ),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding\0: chunked\r\n\r\n", DecodeError::MalformedHead),
        // Request lines.
        (b"GET /\r\n\r\n", DecodeError::MalformedHead),
        (b"GET / HTTP/0.9\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"GET / HTTP/1.9\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", DecodeError::UnsupportedVersion),
        (b"GET / FTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"GET  / HTTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"GET / HTTP/1.1 \r\n\r\n", DecodeError::MalformedHead),
        (b" GET / HTTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"G\0T / HTTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"GET /\0 HTTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"GET /\xff HTTP/1.1\r\n\r\n", DecodeError::MalformedHead),
        (b"\x16\x03\x01\x02\0\x01\0\x01", DecodeError::MalformedHead),
    ];
    for (data, error) in cases {
        check_request(data, &[&format!("error {}", error.kind())]);
    }
}

#[test]
fn truncated() {
    check_request(b"GET / HT", &["error truncated_head"]);
    check_request(
        b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhell",
        &[
            "head POST / 1.1 keep-alive Known(9) [Content-Length=9]",
            "body hell",
            "error truncated_body",
        ],
    );
    check_request(
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff",
        &["head POST / 1.1 keep-alive Chunked [Transfer-Encoding=chunked]", "error truncated_body"],
    );
}

#[test]
fn reset_forgets_everything() {
    let mut decoder = RequestDecoder::new(Limits::default());
    for start in ["GET / HT", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "\0", "\r"] {
        let _ = decoder.decode(start.as_bytes());
        assert!(!decoder.is_idle(), "{start:?}");
        decoder.reset();
        assert!(decoder.is_idle(), "{start:?}");
        assert_eq!(decoder.end(), Ok(()), "{start:?}");
    }
}

#[test]
fn an_idle_connection_costs_little() {
    let size = size_of::<RequestDecoder>();
    assert!(size <= 128, "{size} bytes");
}

#[test]
fn a_request_may_say_that_its_connection_ends() {
    for (head, ends) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nConnection: close\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nCONNECTION:  Keep-Alive ,\tCLOSE,\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: TE\r\nConnection: close\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", false),
        ("POST / HTTP/1.1\r\nHost: a\r\n\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", true),
        ("", false),
    ] {
        assert_eq!(crate::http1::ends_connection(head.as_bytes()), ends, "{head:?}");
    }
}
