//! Answers that are good, in every form there is.

use super::{Ask, Case, Passed, Want, case, passed};

fn good(name: &'static str, source: &'static str, bytes: impl AsRef<[u8]>, want: Passed) -> Case {
    case(name, source, bytes, Want::Passed(want))
}

fn hello() -> Passed {
    passed(200, "hello")
}

pub(super) fn cases() -> Vec<Case> {
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                  2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
    let close = "HTTP/1.1 200 OK\r\nX: y\r\n\r\nhello";
    let mut cases = vec![
        good("a length", "RFC 9112 6.2", length, hello()),
        good("a length, to HTTP/1.0", "RFC 9112 6.2", length, hello()).to(Ask::GetOld),
        good("a length, to HEAD", "RFC 9110 9.3.2", &length[..38], passed(200, "")).to(Ask::Head),
        good("a length, to POST", "RFC 9112 6.2", length, hello()).to(Ask::Post),
        good("chunks", "RFC 9112 7.1", chunks, hello()),
        good("chunks, to HTTP/1.0", "RFC 9112 7.1: none for it", chunks, hello()).to(Ask::GetOld),
        good("chunks, to HEAD", "RFC 9110 9.3.2", &chunks[..47], passed(200, "")).to(Ask::Head),
        good("up to the close", "RFC 9112 6.3", close, hello()).closing(),
        good("up to the close, to HTTP/1.0", "RFC 9112 6.3", close, hello())
            .to(Ask::GetOld)
            .closing(),
        good("up to the close of HTTP/1.0", "RFC 9112 6.3", close.replace("/1.1", "/1.0"), hello())
            .closing(),
        good("a length of HTTP/1.0", "RFC 9112 6.2", length.replace("/1.1", "/1.0"), hello())
            .closing(),
        good("a length, then a close", "RFC 9112 9.6", length, hello()).closing(),
        good(
            "a length, and said to close",
            "RFC 9112 9.6",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
            hello(),
        )
        .closing(),
    ];
    cases.extend(kinds());
    cases.extend(interim());
    cases.extend(large());
    cases
}

fn kinds() -> Vec<Case> {
    vec![
        good("204", "RFC 9110 15.3.5", "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", passed(204, "")),
        good(
            "304 with the length of what is not sent",
            "RFC 9110 15.4.5",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n",
            passed(304, ""),
        ),
        good(
            "length 0",
            "RFC 9110 8.6",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            passed(404, ""),
        ),
        good("no reason", "RFC 9112 4", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", hello()),
        good(
            "status nobody knows",
            "RFC 9110 15",
            "HTTP/1.1 299 Odd\r\nContent-Length: 5\r\n\r\nhello",
            passed(299, "hello"),
        ),
        good(
            "chunks with extensions and trailers",
            "RFC 9112 7.1.1, 7.1.2",
            "HTTP/1.1 200 OK\r\nTrailer: X\r\nTransfer-Encoding: chunked\r\n\r\n\
             5;a=b\r\nhello\r\n0;c\r\nX: y\r\nContent-Length: 9\r\n\r\n",
            hello(),
        ),
        good(
            "hop-by-hop fields",
            "RFC 9110 7.6.1",
            "HTTP/1.1 200 OK\r\nConnection: X-Secret, keep-alive\r\nX-Secret: 1\r\n\
             Keep-Alive: timeout=5\r\nProxy-Connection: x\r\nUpgrade: h2c\r\nTE: x\r\n\
             Content-Length: 5\r\n\r\nhello",
            Passed { without: &["X-Secret", "Proxy-Connection", "TE"], ..hello() },
        ),
        good(
            "Connection names Content-Length",
            "Davison 2019",
            "HTTP/1.1 200 OK\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\nhello",
            hello(),
        ),
        good(
            "body that looks like a response",
            "RFC 9112 11.1",
            "HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison",
            passed(200, super::POISON),
        ),
    ]
}

fn interim() -> Vec<Case> {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let with = |interim: &str| format!("{interim}{ok}");
    vec![
        good(
            "103 before 200",
            "RFC 9110 15.2; RFC 8297",
            with("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
            Passed { interim: Some(&[103]), ..hello() },
        ),
        good(
            "103 before 200, to HTTP/1.0",
            "RFC 9110 15.2: none for it",
            with("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"),
            Passed { interim: Some(&[]), ..hello() },
        )
        .to(Ask::GetOld),
        good(
            "100 unasked before 200",
            "RFC 9110 15.2.1",
            with("HTTP/1.1 100 Continue\r\n\r\n"),
            hello(),
        ),
        good(
            "102 and 103 before 200",
            "RFC 9110 15.2",
            with("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"),
            Passed { interim: Some(&[102, 103]), ..hello() },
        ),
    ]
}

fn large() -> Vec<Case> {
    let body: Vec<u8> = (0..300_000u32).map(|i| (i / 7 % 251) as u8).collect();
    let mut chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in body.chunks(7919) {
        chunks.extend(format!("{:X}\r\n", piece.len()).bytes());
        chunks.extend([piece, b"\r\n"].concat());
    }
    chunks.extend(b"0\r\n\r\n");
    let length = [&b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"[..], &body].concat();
    let close = [&b"HTTP/1.1 200 OK\r\n\r\n"[..], &body].concat();
    vec![
        good("300 000 bytes with a length", "RFC 9112 6.2", length, passed(200, &body)),
        good("300 000 bytes in chunks", "RFC 9112 7.1", &chunks, passed(200, &body)),
        good("300 000 bytes in chunks, to HTTP/1.0", "RFC 9112 7.1", &chunks, passed(200, &body))
            .to(Ask::GetOld),
        good("300 000 bytes up to the close", "RFC 9112 6.3", close, passed(200, &body)).closing(),
    ]
}
