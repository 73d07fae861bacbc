//! The masks that replace secrets.

const START: &str = "[masked:";
const END: char = ']';

/// Eight bits of a value, in hexadecimal: the FNV-1a hash, folded. Stable from version to version.
#[must_use]
pub fn fingerprint(bytes: &[u8]) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = bytes.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    let folded = hash.to_le_bytes().into_iter().fold(0, |sum, byte| sum ^ byte);
    format!("{folded:02x}")
}

/// The mask of a text. One that is empty or a mask already stays.
pub(super) fn of(text: &str) -> String {
    if text.is_empty() || is_mask(text) { text.to_owned() } else { of_bytes(text.as_bytes()) }
}

pub(super) fn of_bytes(bytes: &[u8]) -> String {
    format!("{START}{}{END}", fingerprint(bytes))
}

fn is_mask(text: &str) -> bool {
    let inside = text.strip_prefix(START).and_then(|text| text.strip_suffix(END));
    inside.is_some_and(|digits| digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Whether a mask stands in a text, which then cannot be sent as it was meant.
#[must_use]
pub fn holds_mask(text: &str) -> bool {
    text.match_indices(START).any(|(at, _)| {
        let end = at + START.len() + 3;
        text.get(at..end).is_some_and(is_mask)
    })
}
