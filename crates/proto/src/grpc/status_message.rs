//! The `grpc-message` field: text in UTF-8, percent-encoded.

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// Appends a text in the form of the field: printable ASCII stays as it is, but for `%`.
pub fn write(text: &str, out: &mut Vec<u8>) {
    for &byte in text.as_bytes() {
        match byte {
            b'%' | ..0x20 | 0x7f.. => {
                let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]);
                out.extend_from_slice(&[b'%', high, low]);
            }
            byte => out.push(byte),
        }
    }
}

/// Appends the first bytes of the text that a value stands for, up to `bytes_max`. What is not an
/// escape stays as it is. The bytes need not be UTF-8: peers send others, and the limit may cut a
/// character.
pub fn read(value: &[u8], bytes_max: usize, out: &mut Vec<u8>) {
    let mut rest = value;
    for _ in 0..bytes_max {
        let (byte, length) = match rest {
            [b'%', high, low, ..] => match (digit(*high), digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 3),
                _ => (b'%', 1),
            },
            [byte, ..] => (*byte, 1),
            [] => return,
        };
        out.push(byte);
        rest = &rest[length..];
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}
