//! The bytes of answers, in the pieces they are written in. Paths under `/shape/` have answers that
//! shortcuts in a tester's parser get wrong.

use super::mode::Mode;
use super::request::Request;

/// Bytes written at once, with a pause before them.
pub(super) type Piece = (u64, Vec<u8>);

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    /// What is written.
    pub pieces: Vec<Piece>,
    /// Whether the connection is closed after it.
    pub close: bool,
}

/// Between the pieces of a head that comes in pieces: long enough to be read apart.
const PIECE_PAUSE_NS: u64 = 5_000_000;

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

/// The answer to a request with this status. `close`: the oracle's own reason to close afterwards.
pub(super) fn bytes(mode: &Mode, request: &Request, status: u16, close: bool) -> Bytes {
    let close = close || request.close;
    if let Some(shape) = request.path.strip_prefix(b"/shape/") {
        return shaped(shape, close);
    }
    let length = mode.body_bytes as usize;
    let connection = match (close, request.old) {
        (true, _) => "Connection: close\r\n",
        (false, true) => "Connection: keep-alive\r\n",
        (false, false) => "",
    };
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Length: {length}\r\n{connection}\r\n",
        reason(status)
    );
    let mut head = head.into_bytes();
    let body = if request.head_only { Vec::new() } else { vec![b'x'; length] };
    let pieces = match mode.split_ns {
        Some(pause_ns) if !body.is_empty() => vec![(0, head), (pause_ns, body)],
        _ => {
            head.extend_from_slice(&body);
            vec![(0, head)]
        }
    };
    Bytes { pieces, close }
}

/// What a server without HTTP/2 says to its preface.
pub(super) fn not_http2() -> Bytes {
    let text = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    Bytes { pieces: vec![(0, text.as_bytes().to_vec())], close: true }
}

fn shaped(shape: &[u8], close: bool) -> Bytes {
    let (texts, ends): (&[&str], bool) = match shape {
        b"chunked" => (
            &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
               5;a=b\r\nhello\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n"],
            false,
        ),
        b"continue" => (
            &["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"],
            false,
        ),
        b"hints" => (
            &[
                "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            ],
            false,
        ),
        b"204" => (&["HTTP/1.1 204 No Content\r\n\r\n"], false),
        // Its length is that of the answer it stands for; no body follows (RFC 9110, 15.4.5).
        b"304" => (&["HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n"], false),
        b"until-close" => (&["HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello"], true),
        b"truncated" => (&["HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"], true),
        b"truncated-chunk" => {
            (&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nhello"], true)
        }
        b"split-head" => {
            (&["HTTP/1.1 2", "00 OK\r\nContent-Le", "ngth: 5\r\n\r", "\nhel", "lo"], false)
        }
        _ => (&["HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"], false),
    };
    let pieces = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (PIECE_PAUSE_NS * u64::from(index > 0), text.as_bytes().to_vec()));
    Bytes { pieces: pieces.collect(), close: close || ends }
}
