//! The Huffman code of HPACK (RFC 7541 Appendix B), decoded one bit after the other.
//!
//! The code is canonical: among codes of one length, they ascend with the symbol. So the lengths
//! say all of it.

/// Bits of each symbol's code; the last one is that of the end of a string.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5,
    7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22,
    22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23,
    22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22,
    21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26,
    26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20,
    24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27,
    27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const LENGTH_MAX: u8 = 30;
/// The symbol that may not stand in a string.
const END: usize = 256;

/// The text, where it is one: padding is shorter than a byte and all ones (RFC 7541 5.2).
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let code = Code::new();
    let mut text = Vec::with_capacity(bytes.len() * 2);
    let (mut read, mut length) = (0_u32, 0_u8);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)) {
        (read, length) = (read << 1 | u32::from(bit), length + 1);
        if length > LENGTH_MAX {
            return None;
        }
        if let Some(symbol) = code.symbol(read, length) {
            text.push(u8::try_from(symbol).ok()?);
            (read, length) = (0, 0);
        }
    }
    (length < 8 && read + 1 == 1 << length).then_some(text)
}

/// Symbols in the order of their codes, and for each length the first code and where it stands.
struct Code {
    symbols: Vec<usize>,
    first: [(u32, usize, u32); LENGTH_MAX as usize + 1],
}

impl Code {
    fn new() -> Self {
        let mut symbols = Vec::with_capacity(LENGTHS.len());
        let mut first = [(0, 0, 0); LENGTH_MAX as usize + 1];
        let mut next = 0;
        for (length, place) in (0..=LENGTH_MAX).zip(&mut first) {
            next <<= 1;
            let at = symbols.len();
            symbols.extend((0..=END).filter(|symbol| LENGTHS[*symbol] == length));
            let count = (symbols.len() - at) as u32;
            *place = (next, at, count);
            next += count;
        }
        Self { symbols, first }
    }

    fn symbol(&self, read: u32, length: u8) -> Option<usize> {
        let (first, at, count) = self.first[usize::from(length)];
        let place = read.checked_sub(first).filter(|place| *place < count)?;
        self.symbols.get(at + place as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Strings of RFC 7541 C.4 and C.6, and what is none.
    #[test]
    fn strings_of_the_standard() {
        for (hex, want) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", Some("www.example.com")),
            ("a8eb10649cbf", Some("no-cache")),
            ("25a849e95bb8e8b4bf", Some("custom-value")),
            ("9d29ad171863c78f0b97c8e9ae82ae43d3", Some("https://www.example.com")),
            ("d07abe941054d444a8200595040b8166e082a62d1bff", Some("Mon, 21 Oct 2013 20:13:21 GMT")),
            ("", Some("")),
            ("a8eb10649cb0", None),
            ("a8eb10649cbfff", None),
            ("ffffffff", None),
        ] {
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let text = decode(&bytes).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(text.as_deref(), want, "{hex}");
        }
    }
}
