//! Frame heads (RFC 6455 5.2): read and judged, and written in their shortest form.
//!
//! A head is judged at its second byte for all that these two say, and at its end for its length.
//! So the error does not depend on how the bytes were cut.

use super::mask::{MaskKey, mask};
use super::{Error, Kind};

/// The longest head: two bytes, a length of 8 and a key.
pub(super) const HEAD_BYTES_MAX: usize = 14;
/// The longest payload of a control frame (RFC 6455 5.5).
pub(super) const CONTROL_BYTES_MAX: usize = 125;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV23: u8 = 0x30;
const MASK: u8 = 0x80;

/// What a frame is (RFC 6455 11.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(bits: u8) -> Result<Self, Error> {
        Ok(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return Err(Error::ReservedOpcode),
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    pub(super) fn is_control(self) -> bool {
        self.bits() >= 8
    }
}

impl From<Kind> for Opcode {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Text,
            Kind::Binary => Self::Binary,
        }
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) opcode: Opcode,
    pub(super) is_last: bool,
    /// RSV1: the message is compressed (RFC 7692 6).
    pub(super) is_compressed: bool,
    pub(super) key: Option<MaskKey>,
    pub(super) payload_bytes: u64,
}

/// What a reader expects of heads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    /// Whether payloads are masked: those of a client are, those of a server are not.
    pub(super) masked: bool,
    /// Whether messages may be compressed.
    pub(super) compression: bool,
    /// Whether a message is under way.
    pub(super) within_message: bool,
}

impl FrameHead {
    /// Reads a head from the start of `bytes`: its length, and the head. `None` when it is not
    /// whole yet.
    #[inline]
    pub(super) fn read(bytes: &[u8], expected: Expected) -> Result<Option<(usize, Self)>, Error> {
        let [first, second, rest @ ..] = bytes else { return Ok(None) };
        let opcode = judge(*first, *second, expected)?;
        let (length_bytes, payload_bytes) = match second & !MASK {
            126 => match rest.first_chunk() {
                Some(length) => (2, u64::from(u16::from_be_bytes(*length))),
                None => return Ok(None),
            },
            127 => match rest.first_chunk() {
                Some(length) => (8, u64::from_be_bytes(*length)),
                None => return Ok(None),
            },
            short => (0, u64::from(short)),
        };
        if payload_bytes > i64::MAX as u64 {
            return Err(Error::LengthOverflow);
        }
        let key = match rest[length_bytes..].first_chunk() {
            _ if !expected.masked => None,
            Some(key) => Some(*key),
            None => return Ok(None),
        };
        let head = Self {
            opcode,
            is_last: first & FIN != 0,
            is_compressed: first & RSV1 != 0,
            key,
            payload_bytes,
        };
        Ok(Some((2 + length_bytes + if expected.masked { 4 } else { 0 }, head)))
    }

    /// Appends the head to `out`.
    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; HEAD_BYTES_MAX];
        bytes[0] = self.opcode.bits()
            | if self.is_last { FIN } else { 0 }
            | if self.is_compressed { RSV1 } else { 0 };
        let masked = if self.key.is_some() { MASK } else { 0 };
        let mut at = 2;
        match self.payload_bytes {
            short @ 0..=125 => bytes[1] = short as u8 | masked,
            medium @ 126..=0xffff => {
                bytes[1] = 126 | masked;
                bytes[2..4].copy_from_slice(&(medium as u16).to_be_bytes());
                at = 4;
            }
            long => {
                bytes[1] = 127 | masked;
                bytes[2..10].copy_from_slice(&long.to_be_bytes());
                at = 10;
            }
        }
        if let Some(key) = self.key {
            bytes[at..at + 4].copy_from_slice(&key);
            at += 4;
        }
        out.extend_from_slice(&bytes[..at]);
    }
}

/// Judges the first two bytes of a head.
#[inline]
fn judge(first: u8, second: u8, expected: Expected) -> Result<Opcode, Error> {
    let opcode = Opcode::of(first & 0x0f)?;
    let is_start = matches!(opcode, Opcode::Text | Opcode::Binary);
    // Only the first frame of a message says whether the message is compressed (RFC 7692 6).
    let may_compress = expected.compression && is_start;
    if first & RSV23 != 0 || (first & RSV1 != 0 && !may_compress) {
        return Err(Error::ReservedBits);
    }
    if expected.masked != (second & MASK != 0) {
        return Err(if expected.masked { Error::MaskMissing } else { Error::MaskUnexpected });
    }
    if opcode.is_control() {
        if first & FIN == 0 {
            return Err(Error::FragmentedControl);
        }
        if usize::from(second & !MASK) > CONTROL_BYTES_MAX {
            return Err(Error::ControlTooLong);
        }
        return Ok(opcode);
    }
    match (is_start, expected.within_message) {
        (true, true) => Err(Error::MessageInterrupted),
        (false, false) => Err(Error::NothingToContinue),
        _ => Ok(opcode),
    }
}

/// Appends a frame to `out`: the head, and `payload` masked if there is a key.
#[inline]
pub(super) fn write_frame(out: &mut Vec<u8>, head: &FrameHead, payload: &[u8]) {
    debug_assert_eq!(head.payload_bytes, payload.len() as u64);
    head.write(out);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = head.key {
        mask(&mut out[start..], key, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_as_short_as_can_be_and_read_back() {
        for (payload_bytes, length) in
            [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10), (i64::MAX as u64, 10)]
        {
            for (key, key_bytes) in [(None, 0), (Some([1, 2, 3, 4]), 4)] {
                let head = FrameHead {
                    opcode: Opcode::Binary,
                    is_last: false,
                    is_compressed: true,
                    key,
                    payload_bytes,
                };
                let mut bytes = Vec::new();
                head.write(&mut bytes);
                assert_eq!(bytes.len(), length + key_bytes, "{head:?}");
                let expected =
                    Expected { masked: key.is_some(), compression: true, within_message: false };
                for prefix in 0..bytes.len() {
                    assert_eq!(FrameHead::read(&bytes[..prefix], expected), Ok(None));
                }
                assert_eq!(FrameHead::read(&bytes, expected), Ok(Some((bytes.len(), head))));
            }
        }
    }

    #[test]
    fn longer_forms_are_read_too() {
        let expected = Expected { masked: false, compression: false, within_message: false };
        for bytes in [&b"\x81\x7e\0\x05"[..], b"\x81\x7f\0\0\0\0\0\0\0\x05"] {
            let (length, head) = FrameHead::read(bytes, expected).expect("valid").expect("whole");
            assert_eq!((length, head.payload_bytes), (bytes.len(), 5));
        }
    }
}
