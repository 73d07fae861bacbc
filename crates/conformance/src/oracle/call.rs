//! What stands in the fields and the body of a call of gRPC: its deadline, and the prefixes of its
//! messages, which DATA frames cut anywhere.
//!
//! The messages are bytes: an answer has those of the call, which makes it right for any method
//! that answers with what it was asked. Absent on purpose: compression, which no tester here asks
//! for, and schemas.

/// Bytes before each message: whether it is compressed, and its length.
pub(super) const PREFIX_BYTES: usize = 5;
/// The longest message that the oracle takes.
const MESSAGE_MAX: usize = 1 << 16;

/// Reads the messages of one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    prefix: Vec<u8>,
    /// The message that is being read, or the last one.
    message: Vec<u8>,
    /// What is missing of it.
    missing: usize,
    /// Whole ones.
    pub whole: u32,
}

impl Messages {
    /// Takes the next bytes of the body; `None`: they are not messages.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            if self.missing == 0 {
                let lacking = (PREFIX_BYTES - self.prefix.len()).min(bytes.len());
                self.prefix.extend_from_slice(&bytes[..lacking]);
                bytes = &bytes[lacking..];
                let Some(&[compressed, length @ ..]) = self.prefix.first_chunk::<PREFIX_BYTES>()
                else {
                    return Some(());
                };
                self.missing = u32::from_be_bytes(length) as usize;
                if compressed != 0 || self.missing > MESSAGE_MAX {
                    return None;
                }
                self.prefix.clear();
                self.message.clear();
                self.whole += u32::from(self.missing == 0);
                continue;
            }
            let part = self.missing.min(bytes.len());
            self.message.extend_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            self.missing -= part;
            self.whole += u32::from(self.missing == 0);
        }
        Some(())
    }

    /// Whether no message is cut off here.
    pub(super) fn is_complete(&self) -> bool {
        self.missing == 0 && self.prefix.is_empty()
    }

    /// The last message, as it is written: with its prefix.
    pub(super) fn echo(&self) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend_from_slice(&(self.message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&self.message);
        bytes
    }
}

/// Whether a content type is of gRPC.
pub(super) fn is_call(content_type: &[u8]) -> bool {
    let rest = content_type.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| rest.is_empty() || matches!(rest[0], b'+' | b';'))
}

/// The nanoseconds of a `grpc-timeout`: up to eight digits and a unit.
pub(super) fn timeout_ns(value: &[u8]) -> Option<u64> {
    let (unit, digits) = value.split_last()?;
    if digits.is_empty() || digits.len() > 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let unit_ns = match unit {
        b'H' => 3_600_000_000_000,
        b'M' => 60_000_000_000,
        b'S' => 1_000_000_000,
        b'm' => 1_000_000,
        b'u' => 1_000,
        b'n' => 1,
        _ => return None,
    };
    let count: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    count.checked_mul(unit_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"\0\0\0\0\x05hello\0\0\0\0\0\0\0\0\0\x02hi";

    #[test]
    fn messages_are_the_same_however_they_are_cut() {
        let mut whole = Messages::default();
        whole.take(BODY).unwrap();
        assert_eq!((whole.whole, whole.is_complete()), (3, true));
        assert_eq!(whole.echo(), b"\0\0\0\0\x02hi");
        for first in 0..=BODY.len() {
            for second in first..=BODY.len() {
                let mut cut = Messages::default();
                for part in [&BODY[..first], &BODY[first..second], &BODY[second..]] {
                    cut.take(part).unwrap();
                }
                assert_eq!(cut, whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn every_prefix_has_the_messages_that_are_whole() {
        for end in 0..=BODY.len() {
            let mut cut = Messages::default();
            cut.take(&BODY[..end]).unwrap();
            let whole = [10, 15, 22].into_iter().filter(|whole| *whole <= end).count();
            let is_complete = [0, 10, 15, 22].contains(&end);
            assert_eq!((cut.whole as usize, cut.is_complete()), (whole, is_complete), "{end}");
        }
    }

    #[test]
    fn what_is_no_message_is_none() {
        for bytes in [&b"\x01\0\0\0\0"[..], b"\0\x7f\0\0\0", b"\0\0\x01\0\x01"] {
            assert_eq!(Messages::default().take(bytes), None, "{bytes:?}");
        }
        assert_eq!(Messages::default().echo(), [0; 5]);
    }

    #[test]
    fn timeouts_and_content_types_are_read() {
        for (text, want) in [
            ("100m", Some(100_000_000)),
            ("99999u", Some(99_999_000)),
            ("1S", Some(1_000_000_000)),
            ("2M", Some(120_000_000_000)),
            ("1H", Some(3_600_000_000_000)),
            ("12345678n", Some(12_345_678)),
            ("99999999H", None),
            ("123456789n", None),
            ("m", None),
            ("-1m", None),
            ("1", None),
            ("", None),
        ] {
            assert_eq!(timeout_ns(text.as_bytes()), want, "{text}");
        }
        for (text, want) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x", true),
            ("application/grpc-web", false),
            ("text/plain", false),
            ("", false),
        ] {
            assert_eq!(is_call(text.as_bytes()), want, "{text}");
        }
    }
}
