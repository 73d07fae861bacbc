//! Whether text is UTF-8 (RFC 3629), checked as it comes: pieces may end within a character.
//!
//! The first byte that no valid text can have at its place is found at once, so that a message is
//! refused before the rest of it has come. Whole pieces are left to the standard library, which
//! checks ASCII many bytes at a time; only characters that were cut go byte by byte.

/// The state between two pieces: what the next byte has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Utf8 {
    /// Bytes missing from the character under way.
    missing: u8,
    /// The least and the greatest that the next of them may be.
    from: u8,
    to: u8,
}

impl Utf8 {
    pub(super) fn new() -> Self {
        Self { missing: 0, from: 0x80, to: 0xbf }
    }

    /// Whether text may end here.
    pub(super) fn is_whole(self) -> bool {
        self.missing == 0
    }

    /// Takes the next piece. Returns how many bytes of it are valid: fewer than its length when
    /// the byte behind them is wrong, which is not taken.
    pub(super) fn take(&mut self, piece: &[u8]) -> usize {
        let mut at = 0;
        while self.missing > 0 {
            let Some(&byte) = piece.get(at) else { return at };
            if !self.step(byte) {
                return at;
            }
            at += 1;
        }
        let Err(error) = std::str::from_utf8(&piece[at..]) else { return piece.len() };
        at += error.valid_up_to();
        while let Some(&byte) = piece.get(at)
            && self.step(byte)
        {
            at += 1;
        }
        at
    }

    /// Takes a byte, if it may stand here.
    fn step(&mut self, byte: u8) -> bool {
        let (missing, from, to) = match byte {
            _ if self.missing > 0 && (self.from..=self.to).contains(&byte) => {
                (self.missing - 1, 0x80, 0xbf)
            }
            _ if self.missing > 0 => return false,
            0..=0x7f => (0, 0x80, 0xbf),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            // Shorter forms exist of what is below.
            0xe0 => (2, 0xa0, 0xbf),
            // The rest are surrogates.
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            // Unicode ends at U+10FFFF.
            0xf4 => (3, 0x80, 0x8f),
            _ => return false,
        };
        *self = Self { missing, from, to };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `bytes` in pieces of a length: how many are valid, and whether the text may end there.
    fn take(bytes: &[u8], length: usize) -> (usize, bool) {
        let mut state = Utf8::new();
        let mut valid = 0;
        for piece in bytes.chunks(length) {
            let taken = state.take(piece);
            valid += taken;
            if taken < piece.len() {
                break;
            }
        }
        (valid, state.is_whole())
    }

    #[test]
    fn every_code_point_in_any_pieces() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let mut buffer = [0; 4];
            let text = character.encode_utf8(&mut buffer).as_bytes();
            assert_eq!(take(text, 1), (text.len(), true), "{character:?}");
            assert_eq!(take(&text[..text.len() - 1], 1), (text.len() - 1, text.len() == 1));
        }
    }

    #[test]
    fn the_first_wrong_byte() {
        for (bytes, valid) in [
            (&b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited"[..], 12),
            (b"\xf5", 0),
            (b"ed\xed\xa0\x80", 3),
            (b"\xf4\x90\x80\x80", 1),
            (b"\xc0\xaf", 0),
            (b"\xe0\x9f\xbf", 1),
            (b"\xf0\x8f\xbf\xbf", 1),
            (b"\xe2\x82\xe2", 2),
            (b"a\x80", 1),
            (b"abcdefghijklmnop\xff", 16),
        ] {
            for length in 1..=bytes.len() {
                assert_eq!(take(bytes, length).0, valid, "{bytes:x?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn agrees_with_the_standard_library() {
        // Every sequence of up to three bytes out of those that bound the ranges.
        let edges = [
            0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
            0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ];
        for a in edges {
            for b in edges {
                for c in edges {
                    let bytes = [a, b, c];
                    let want = std::str::from_utf8(&bytes).is_ok();
                    assert_eq!(take(&bytes, 1) == (3, true), want, "{bytes:x?}");
                    assert_eq!(take(&bytes, 3), take(&bytes, 1), "{bytes:x?}");
                }
            }
        }
    }
}
