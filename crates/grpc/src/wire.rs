//! The binary form of messages: fields with numbers, read in place and written without a schema.
//! For messages whose fields are known here, and for the bytes between the places of a template.
//!
//! Groups, which proto3 does not have, are not read.

/// Bytes of a tag or a length at most, as far as this module writes them.
pub(crate) const VARINT_BYTES_MAX: usize = 10;

/// The low bits of a tag: how the value is written.
pub(crate) mod kind {
    pub(crate) const VARINT: u32 = 0;
    pub(crate) const FIXED64: u32 = 1;
    pub(crate) const DELIMITED: u32 = 2;
    pub(crate) const FIXED32: u32 = 5;
}

/// Bytes that are not a message of the type they should be of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a message of its type")]
pub struct Malformed;

/// The value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    /// Of four or eight bytes.
    Fixed,
    /// A string, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub(crate) fn number(self) -> Result<u64, Malformed> {
        match self {
            Self::Varint(number) => Ok(number),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

/// The fields of a message, with their numbers, in order.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    /// Bytes behind the field that was read last.
    pub(crate) fn left_bytes(&self) -> usize {
        self.rest.len()
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.varint()?;
        let value = match (tag & 7) as u32 {
            kind::VARINT => Value::Varint(self.varint()?),
            kind::FIXED64 => self.take(8).map(|_| Value::Fixed)?,
            kind::DELIMITED => {
                let length = self.varint()?;
                Value::Bytes(self.take(usize::try_from(length).ok()?)?)
            }
            kind::FIXED32 => self.take(4).map(|_| Value::Fixed)?,
            _ => return None,
        };
        (tag > 7).then_some((tag >> 3, value))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take(1)? else { return None };
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    /// After an error there are no more fields.
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or(Malformed))
    }
}

pub(crate) fn write_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Bytes that a number takes.
pub(crate) fn varint_bytes(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).div_ceil(7).max(1)
}

pub(crate) fn write_tag(out: &mut Vec<u8>, number: u32, kind: u32) {
    write_varint(out, u64::from(number) << 3 | u64::from(kind));
}

/// A number of a field without presence: 0 is not written.
pub(crate) fn write_number(out: &mut Vec<u8>, field: u32, number: u64) {
    if number != 0 {
        write_tag(out, field, kind::VARINT);
        write_varint(out, number);
    }
}

pub(crate) fn write_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    write_tag(out, field, kind::DELIMITED);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A text of a field without presence: an empty one is not written.
pub(crate) fn write_text(out: &mut Vec<u8>, field: u32, text: &str) {
    if !text.is_empty() {
        write_bytes(out, field, text.as_bytes());
    }
}

/// Appends what `write` appends, behind its length.
pub(crate) fn write_delimited(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    // Most lengths take one byte. What is longer moves over to make room.
    let start = out.len();
    out.push(0);
    write(out);
    let end = out.len();
    let length = end - start - 1;
    let mut prefix_bytes = 1;
    while length >> (7 * prefix_bytes) > 0 {
        prefix_bytes += 1;
    }
    if prefix_bytes > 1 {
        out.resize(end + prefix_bytes - 1, 0);
        out.copy_within(start + 1..end, start + prefix_bytes);
    }
    for place in 0..prefix_bytes {
        let more = if place + 1 < prefix_bytes { 0x80 } else { 0 };
        out[start + place] = (length >> (7 * place)) as u8 & 0x7f | more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_back() {
        let mut message = Vec::new();
        write_number(&mut message, 1, 300);
        write_number(&mut message, 2, 0);
        write_number(&mut message, 3, u64::MAX);
        write_text(&mut message, 4, "é");
        write_text(&mut message, 5, "");
        write_bytes(&mut message, 1 << 20, b"");
        message.extend_from_slice(&[0x31, 1, 2, 3, 4, 5, 6, 7, 8, 0x3d, 1, 2, 3, 4]);
        let fields: Vec<_> = Fields::of(&message).collect();
        let want = [
            (1, Value::Varint(300)),
            (3, Value::Varint(u64::MAX)),
            (4, Value::Bytes("é".as_bytes())),
            (1 << 20, Value::Bytes(b"")),
            (6, Value::Fixed),
            (7, Value::Fixed),
        ];
        assert_eq!(fields, want.map(Ok));
        for end in 0..message.len() {
            // Each prefix ends between two fields or within one: it is read, or refused once.
            let fields: Vec<_> = Fields::of(&message[..end]).collect();
            assert!(fields.iter().rev().skip(1).all(Result::is_ok), "{end}");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bytes in [
            &b"\x08"[..],
            b"\x08\x80",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0a\x05abc",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x0b\x0c",
            b"\x0e\0",
            b"\x00\x00",
        ] {
            let last = Fields::of(bytes).last();
            assert_eq!(last, Some(Err(Malformed)), "{}", bytes.escape_ascii());
        }
        assert_eq!(Value::Bytes(b"\xff").text(), Err(Malformed));
    }

    #[test]
    fn a_length_is_as_long_as_it_has_to_be() {
        for bytes in [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let content = vec![7; bytes];
            let (mut before, mut after) = (b"x".to_vec(), b"x".to_vec());
            write_varint(&mut before, bytes as u64);
            before.extend_from_slice(&content);
            write_delimited(&mut after, |out| out.extend_from_slice(&content));
            assert!(before == after, "{bytes}");
            assert_eq!(varint_bytes(bytes as u64), before.len() - 1 - bytes, "{bytes}");
        }
    }
}
