//! Writes messages into the caller's buffer, without any allocation except the buffer's own and
//! without formatting machinery.
//!
//! A message is always framed as the caller meant. A request head with a part that would break it
//! is refused; in the fields of a response, such bytes are replaced.

use super::headers::{is_token_byte, is_value_byte};
use super::{EncodeError, reason_phrase};

/// Writes a request line, the header fields and the blank line after them.
///
/// `minor_version` is 0 or 1. Nothing is added: Host and the framing fields are the caller's.
/// Bytes beyond ASCII are passed through in the target and in values.
///
/// # Errors
/// When a part would not be read back as it was meant; `out` is then as before.
pub fn write_request_head<'h>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    minor_version: u8,
    headers: impl Iterator<Item = (&'h str, &'h str)>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let written = append_request_head(out, method, target, minor_version, headers);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

fn append_request_head<'h>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    minor_version: u8,
    headers: impl Iterator<Item = (&'h str, &'h str)>,
) -> Result<(), EncodeError> {
    let is_target_byte = |byte| byte > b' ' && byte != 0x7f;
    require(is_token(method), EncodeError::BadMethod)?;
    require(!target.is_empty() && target.bytes().all(is_target_byte), EncodeError::BadTarget)?;
    require(minor_version <= 1, EncodeError::BadVersion)?;
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.");
    out.extend_from_slice(&[b'0' + minor_version, b'\r', b'\n']);
    for (name, value) in headers {
        require(is_token(name), EncodeError::BadHeaderName)?;
        require(value.bytes().all(is_value_byte), EncodeError::BadHeaderValue)?;
        write_header(out, name, value.as_bytes());
    }
    write_head_end(out);
    Ok(())
}

fn require(holds: bool, error: EncodeError) -> Result<(), EncodeError> {
    if holds { Ok(()) } else { Err(error) }
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Writes a status line with the usual reason phrase. A `minor_version` above 1 is written as 1, a
/// `status` outside 100 to 999 as the nearest of these.
pub fn write_status_line(out: &mut Vec<u8>, minor_version: u8, status: u16) {
    out.extend_from_slice(b"HTTP/1.");
    out.extend_from_slice(&[b'0' + minor_version.min(1), b' ']);
    let status = status.clamp(100, 999);
    write_decimal(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason_phrase(status).as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes one header field. CR, LF and NUL become spaces, as RFC 9110 5.5 allows, so that no value
/// can end the line.
pub fn write_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    debug_assert!(is_token(name), "header name {name:?} is not a token");
    write_line_part(out, name.as_bytes());
    out.extend_from_slice(b": ");
    write_line_part(out, value);
    out.extend_from_slice(b"\r\n");
}

fn write_line_part(out: &mut Vec<u8>, part: &[u8]) {
    let start = out.len();
    out.extend_from_slice(part);
    for byte in &mut out[start..] {
        if matches!(byte, b'\r' | b'\n' | 0) {
            *byte = b' ';
        }
    }
}

/// Writes a Content-Length field.
pub fn write_content_length(out: &mut Vec<u8>, length_bytes: u64) {
    out.extend_from_slice(b"Content-Length: ");
    write_decimal(out, length_bytes);
    out.extend_from_slice(b"\r\n");
}

/// Writes the blank line that ends a head.
pub fn write_head_end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// Writes `data` as one chunk (RFC 9112 7.1); nothing if it is empty, as a chunk of size 0 would
/// end the body.
pub fn write_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    write_number(out, data.len() as u64, 16);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

/// Writes the chunk of size 0 that ends a chunked body, without trailers.
pub fn write_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Writes a number in decimal digits.
pub fn write_decimal(out: &mut Vec<u8>, number: u64) {
    write_number(out, number, 10);
}

fn write_number(out: &mut Vec<u8>, mut number: u64, radix: u64) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // 2^64 has 20 decimal digits.
    let mut text = [0u8; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = DIGITS[(number % radix) as usize];
        number /= radix;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&text[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str, name: &str, value: &str) -> Result<String, EncodeError> {
        let mut out = b"before ".to_vec();
        let written = write_request_head(&mut out, method, target, 1, [(name, value)].into_iter());
        let text = String::from_utf8(out).expect("ASCII went in");
        match written {
            Ok(()) => Ok(text),
            Err(error) => {
                assert_eq!(text, "before ", "nothing is left of a refused head");
                Err(error)
            }
        }
    }

    #[test]
    fn request_head_is_exact() {
        assert_eq!(
            request("GET", "/a?b", "Host", "x:80"),
            Ok("before GET /a?b HTTP/1.1\r\nHost: x:80\r\n\r\n".to_owned())
        );
    }

    #[test]
    fn request_parts_that_break_the_head_are_refused() {
        for bad in ["", "A B", "A\r", "A\n", "A\0", "A:", "Ä", "A/"] {
            assert_eq!(request(bad, "/", "a", "b"), Err(EncodeError::BadMethod), "{bad:?}");
            assert_eq!(request("GET", "/", bad, "b"), Err(EncodeError::BadHeaderName), "{bad:?}");
        }
        for bad in ["", "/ ", "/\r\nx", "/\n", "/\0", "/\t", "/\x7f"] {
            assert_eq!(request("GET", bad, "a", "b"), Err(EncodeError::BadTarget), "{bad:?}");
        }
        for bad in ["\r", "a\nb", "\0", "a\x7f", "a\r\nb: c"] {
            assert_eq!(request("GET", "/", "a", bad), Err(EncodeError::BadHeaderValue), "{bad:?}");
        }
        let mut out = Vec::new();
        let written = write_request_head(&mut out, "GET", "/", 2, std::iter::empty());
        assert_eq!(written, Err(EncodeError::BadVersion));
    }

    #[test]
    fn response_head_is_exact() {
        let mut out = Vec::new();
        write_status_line(&mut out, 1, 200);
        write_header(&mut out, "X-Echo", b"a\r\nb\0c");
        write_content_length(&mut out, u64::MAX);
        write_content_length(&mut out, 0);
        write_head_end(&mut out);
        write_status_line(&mut out, 0, 599);
        write_status_line(&mut out, 9, 99);
        write_status_line(&mut out, 9, u16::MAX);
        let expected = "HTTP/1.1 200 OK\r\nX-Echo: a  b c\r\n\
            Content-Length: 18446744073709551615\r\nContent-Length: 0\r\n\r\n\
            HTTP/1.0 599 \r\nHTTP/1.1 100 Continue\r\nHTTP/1.1 999 \r\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn chunks_are_exact() {
        let mut out = Vec::new();
        write_chunk(&mut out, b"");
        write_chunk(&mut out, b"hello");
        write_chunk(&mut out, &[b'x'; 26]);
        write_last_chunk(&mut out);
        let expected = format!("5\r\nhello\r\n1a\r\n{}\r\n0\r\n\r\n", "x".repeat(26));
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
