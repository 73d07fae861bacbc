//! Masking (RFC 6455 5.3): a client's payload is combined with a key of 4 bytes by exclusive or.
//!
//! Keys are arguments. The RFC wants them unpredictable, so that a page in a browser cannot choose
//! the bytes that pass a proxy. Who sends its own data only may use one key for many frames.

/// What a client combines a frame's payload with.
pub type MaskKey = [u8; 4];

/// Combines `bytes` with `key`, which masks and unmasks alike. `offset` says how many bytes of the
/// payload came before.
#[inline]
pub fn mask(bytes: &mut [u8], key: MaskKey, offset: u64) {
    let key = key_from(key, offset);
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let mut words = bytes.chunks_exact_mut(8);
    for word in &mut words {
        let plain = u64::from_ne_bytes((&*word).try_into().expect("8 bytes")) ^ wide;
        word.copy_from_slice(&plain.to_ne_bytes());
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// The key as it applies from byte `offset` of a payload on.
#[inline]
fn key_from(mut key: MaskKey, offset: u64) -> MaskKey {
    key.rotate_left((offset % 4) as usize);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_any_offset_at_any_length() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let plain: Vec<u8> = (0..40_u8).map(|index| index.wrapping_mul(7)).collect();
        for offset in 0..9_usize {
            for length in 0..plain.len() {
                let want: Vec<u8> =
                    (0..length).map(|at| plain[at] ^ key[(offset + at) % 4]).collect();
                let mut bytes = plain[..length].to_vec();
                mask(&mut bytes, key, offset as u64);
                assert_eq!(bytes, want, "{length} bytes from {offset}");
            }
        }
    }

    #[test]
    fn the_example_of_the_rfc() {
        let mut bytes = *b"Hello";
        mask(&mut bytes, [0x37, 0xfa, 0x21, 0x3d], 0);
        assert_eq!(bytes, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
    }
}
