//! The Huffman code of HPACK (RFC 7541 5.2 and Appendix B).
//!
//! The code is canonical: codes ascend with their length, and with the symbol among codes of one
//! length. So the lengths alone say all of it. Codes of up to [`TABLE_BITS`] bits, which are those
//! of common characters, are decoded by one look into a table; for longer ones the length is found
//! by comparing with the first code of each length.

use super::HpackError;

/// The symbol that never stands in a string: its code pads the last byte.
const END: usize = 256;

/// Bits of each symbol's code, the bytes first and then [`END`].
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28,
    30, 28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11,
    8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20,
    22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
    22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23,
    22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26,
    28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27,
    26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const LENGTH_MAX: usize = 30;
const TABLE_BITS: usize = 10;

/// Each symbol's code, in the low bits.
const CODES: [u32; 257] = codes();

/// Symbols in the order of their codes.
const SORTED: [u16; 257] = sorted();

/// For each length: the first code that is longer, in the high bits of 32.
const LIMITS: [u64; LENGTH_MAX + 1] = limits();

/// For each length: the position in [`SORTED`] of its first symbol, and the code of that.
const FIRST: [(u16, u32); LENGTH_MAX + 1] = first();

/// What the first [`TABLE_BITS`] bits decode to: the symbol and the bits of its code; none of
/// these bits when the code is longer.
static TABLE: [(u8, u8); 1 << TABLE_BITS] = table();

const fn sorted() -> [u16; 257] {
    let mut sorted = [0; 257];
    let (mut position, mut length) = (0, 1);
    while length <= LENGTH_MAX {
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                sorted[position] = symbol as u16;
                position += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    sorted
}

const fn codes() -> [u32; 257] {
    let sorted = sorted();
    let mut codes = [0; 257];
    let (mut code, mut length, mut position) = (0u32, 0, 0);
    while position < 257 {
        let symbol = sorted[position] as usize;
        code <<= LENGTHS[symbol] - length;
        length = LENGTHS[symbol];
        codes[symbol] = code;
        code += 1;
        position += 1;
    }
    codes
}

const fn first() -> [(u16, u32); LENGTH_MAX + 1] {
    let (sorted, codes) = (sorted(), codes());
    let mut first = [(0, 0); LENGTH_MAX + 1];
    let mut position = 257;
    while position > 0 {
        position -= 1;
        let symbol = sorted[position] as usize;
        first[LENGTHS[symbol] as usize] = (position as u16, codes[symbol]);
    }
    first
}

const fn limits() -> [u64; LENGTH_MAX + 1] {
    let codes = codes();
    let mut limits = [0; LENGTH_MAX + 1];
    let mut symbol = 0;
    while symbol < 257 {
        let length = LENGTHS[symbol] as usize;
        let end = (codes[symbol] as u64 + 1) << (32 - length);
        if limits[length] < end {
            limits[length] = end;
        }
        symbol += 1;
    }
    limits
}

const fn table() -> [(u8, u8); 1 << TABLE_BITS] {
    let codes = codes();
    let mut table = [(0, 0); 1 << TABLE_BITS];
    let mut symbol = 0;
    while symbol < END {
        let length = LENGTHS[symbol] as usize;
        if length <= TABLE_BITS {
            let spare = TABLE_BITS - length;
            let start = (codes[symbol] as usize) << spare;
            let mut at = start;
            while at < start + (1 << spare) {
                table[at] = (symbol as u8, length as u8);
                at += 1;
            }
        }
        symbol += 1;
    }
    table
}

/// The symbol that `window`, 32 bits, begins with, and the bits of its code. Every window begins
/// with one, because the code is complete.
fn long_code(window: u32) -> (usize, u32) {
    let is_within = |length: &usize| u64::from(window) < LIMITS[*length];
    let length = (TABLE_BITS + 1..LENGTH_MAX).find(is_within).unwrap_or(LENGTH_MAX);
    let (position, code) = FIRST[length];
    let nth = (window >> (32 - length)) - code;
    (usize::from(SORTED[usize::from(position) + nth as usize]), length as u32)
}

/// Appends what `input` decodes to.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    // The shortest code has five bits.
    out.reserve(input.len() * 8 / 5);
    let mut bytes = input.iter();
    // The bits that are yet to be decoded, the next one highest.
    let (mut bits, mut count) = (0u64, 0u32);
    loop {
        while count <= 56 {
            let Some(&byte) = bytes.next() else { break };
            bits |= u64::from(byte) << (56 - count);
            count += 8;
        }
        // Beyond the end stand ones, so that correct padding looks like the code of the end.
        let window = ((bits | u64::MAX.checked_shr(count).unwrap_or(0)) >> 32) as u32;
        let (symbol, length) = match TABLE[(window >> (32 - TABLE_BITS)) as usize] {
            (_, 0) => long_code(window),
            (symbol, length) => (usize::from(symbol), u32::from(length)),
        };
        if length > count {
            let is_padding = count < 8 && window == u32::MAX;
            return if is_padding { Ok(()) } else { Err(HpackError::Huffman) };
        }
        if symbol == END {
            return Err(HpackError::Huffman);
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

/// How many bytes `text` takes encoded.
pub(super) fn encoded_bytes(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the code of `text`.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0u64, 0u32);
    for &byte in text {
        let length = u32::from(LENGTHS[usize::from(byte)]);
        bits = bits << length | u64::from(CODES[usize::from(byte)]);
        count += length;
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | 0xff >> count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_padding() {
        for byte in 0..=255u8 {
            for count in 1..9 {
                let text = vec![byte; count];
                let mut coded = Vec::new();
                encode(&text, &mut coded);
                assert_eq!(coded.len(), encoded_bytes(&text));
                let mut back = Vec::new();
                assert_eq!(decode(&coded, &mut back), Ok(()));
                assert_eq!(back, text);
            }
        }
        let every: Vec<u8> = (0..=255).collect();
        let (mut coded, mut back) = (Vec::new(), Vec::new());
        encode(&every, &mut coded);
        assert_eq!(decode(&coded, &mut back), Ok(()));
        assert_eq!(back, every);
    }

    #[test]
    fn what_is_refused() {
        for (bytes, why) in [
            (&[0xff][..], "a byte of padding"),
            (&[0x1f, 0xff], "eight bits of padding and three"),
            (&[0x18], "padding of zeros"),
            (&[0x1e], "padding that ends in a zero"),
            (&[0xff, 0xff, 0xff, 0xff], "the end"),
            (&[0xff, 0xff, 0xff, 0xfc], "the end and no more"),
            (&[0xff, 0xfe], "a long code that is cut"),
        ] {
            assert_eq!(decode(bytes, &mut Vec::new()), Err(HpackError::Huffman), "{why}");
        }
        let mut text = Vec::new();
        assert_eq!(decode(&[0x1f], &mut text), Ok(()));
        assert_eq!(text, b"a");
    }
}
