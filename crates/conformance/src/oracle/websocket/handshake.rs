//! The answer to an upgrade (RFC 6455 4.2.2).

use super::sha1;

/// What stands behind the tester's key in the text that is digested.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The head that switches the connection to WebSocket.
pub(super) fn answer(key: &[u8]) -> Vec<u8> {
    let accept = base64(&sha1::digest(&[key, GUID].concat()));
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    head.into_bytes()
}

/// RFC 4648 section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 6455 1.3.
    #[test]
    fn the_key_of_the_standard_is_accepted_as_there() {
        let head = String::from_utf8(answer(b"dGhlIHNhbXBsZSBub25jZQ==")).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(
            head.ends_with("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"),
            "{head}"
        );
    }

    /// RFC 4648 section 10.
    #[test]
    fn base64_of_the_standard() {
        for (text, want) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), want);
        }
    }
}
