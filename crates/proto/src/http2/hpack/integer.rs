//! Integers with a prefix (RFC 7541 5.1).

use super::HpackError;

/// Integers from here on are refused: no length, index or size that we allow is near it.
const LIMIT: u32 = 1 << 28;

/// Reads an integer whose first byte has `prefix_bits` of it, and removes it from `input`.
#[inline]
pub(super) fn decode(input: &mut &[u8], prefix_bits: u32) -> Result<u32, HpackError> {
    let mask = (1u32 << prefix_bits) - 1;
    let (&first, rest) = input.split_first().ok_or(HpackError::Truncated)?;
    *input = rest;
    let prefix = u32::from(first) & mask;
    if prefix < mask {
        return Ok(prefix);
    }
    decode_rest(input, mask)
}

fn decode_rest(input: &mut &[u8], mask: u32) -> Result<u32, HpackError> {
    let mut value = u64::from(mask);
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = input.split_first().ok_or(HpackError::Truncated)?;
        *input = rest;
        value += u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).map_err(|_| HpackError::Integer)?;
            return if value < LIMIT { Ok(value) } else { Err(HpackError::Integer) };
        }
    }
    Err(HpackError::Integer)
}

/// Writes an integer with `prefix_bits` in its first byte, whose other bits are `pattern`.
#[inline]
pub(super) fn encode(out: &mut Vec<u8>, pattern: u8, prefix_bits: u32, value: usize) {
    let mask = (1usize << prefix_bits) - 1;
    if value < mask {
        out.push(pattern | value as u8);
        return;
    }
    out.push(pattern | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for prefix_bits in 4..8 {
            for value in [0, 1, 14, 15, 16, 30, 31, 126, 127, 128, 254, 255, 1337, 268_435_455] {
                let mut bytes = Vec::new();
                encode(&mut bytes, 0, prefix_bits, value);
                bytes.push(0xaa);
                let mut input = bytes.as_slice();
                assert_eq!(decode(&mut input, prefix_bits), Ok(value as u32), "{value}");
                assert_eq!(input, [0xaa]);
                for length in 0..bytes.len() - 1 {
                    let mut cut = &bytes[..length];
                    assert_eq!(decode(&mut cut, prefix_bits), Err(HpackError::Truncated));
                }
            }
        }
    }

    /// RFC 7541 C.1.
    #[test]
    fn examples_of_the_rfc() {
        for (value, prefix_bits, want) in
            [(10, 5, vec![0x0a]), (1337, 5, vec![0x1f, 0x9a, 0x0a]), (42, 7, vec![0x2a])]
        {
            let mut bytes = Vec::new();
            encode(&mut bytes, 0, prefix_bits, value);
            assert_eq!(bytes, want);
            assert_eq!(decode(&mut want.as_slice(), prefix_bits), Ok(value as u32));
        }
        // Bits that are not the integer's make no difference.
        assert_eq!(decode(&mut [0xeau8].as_slice(), 5), Ok(10));
    }

    #[test]
    fn too_large() {
        for bytes in [
            &[0x7f, 0x81, 0xff, 0xff, 0x7f][..],
            &[0x7f, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        ] {
            assert_eq!(decode(&mut { bytes }, 7), Err(HpackError::Integer), "{bytes:x?}");
        }
    }
}
