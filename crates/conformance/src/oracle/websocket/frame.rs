//! Frames (RFC 6455 section 5): how they are read and written.

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// The tester broke the protocol (RFC 6455 7.4.1).
pub(super) const PROTOCOL_ERROR: u16 = 1002;
/// Its message is longer than the oracle takes.
pub(super) const TOO_BIG: u16 = 1009;

/// The longest message that the oracle takes.
pub(super) const MESSAGE_MAX: usize = 1 << 16;
/// The longest payload of a Close, a ping or a pong.
const CONTROL_MAX: usize = 125;

/// A frame, unmasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub opcode: u8,
    pub is_final: bool,
    pub is_masked: bool,
    pub payload: Vec<u8>,
    /// How many bytes it has, head and all.
    pub bytes: usize,
}

/// The first frame in the bytes, once it is whole.
///
/// # Errors
/// The code to close with, when the oracle does not take the frame.
pub(super) fn read(input: &[u8]) -> Result<Option<Frame>, u16> {
    let &[first, second, ref rest @ ..] = input else { return Ok(None) };
    let (opcode, is_final, is_control) = (first & 0x0f, first & 0x80 != 0, first & 0x08 != 0);
    let is_known = matches!(opcode, CONTINUATION | TEXT | BINARY | CLOSE | PING | PONG);
    if !is_known || first & 0x70 != 0 || (is_control && !is_final) {
        return Err(PROTOCOL_ERROR);
    }
    let length_bytes = match second & 0x7f {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let Some((length, rest)) = rest.split_at_checked(length_bytes) else { return Ok(None) };
    let length = match length_bytes {
        0 => u64::from(second & 0x7f),
        _ => length.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
    };
    let length = usize::try_from(length).map_err(|_| TOO_BIG)?;
    if is_control && length > CONTROL_MAX {
        return Err(PROTOCOL_ERROR);
    }
    if length > MESSAGE_MAX {
        return Err(TOO_BIG);
    }
    let is_masked = second & 0x80 != 0;
    let key_bytes = if is_masked { 4 } else { 0 };
    let Some((key, rest)) = rest.split_at_checked(key_bytes) else { return Ok(None) };
    let Some(payload) = rest.get(..length) else { return Ok(None) };
    let mut payload = payload.to_vec();
    if is_masked {
        payload.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
    }
    let bytes = 2 + length_bytes + key_bytes + length;
    Ok(Some(Frame { opcode, is_final, is_masked, payload, bytes }))
}

/// Writes a frame, which a server does not mask; how many bytes it has.
pub(super) fn put(out: &mut Vec<u8>, opcode: u8, is_final: bool, payload: &[u8]) -> usize {
    let before = out.len();
    out.push(opcode | if is_final { 0x80 } else { 0 });
    match payload.len() {
        length @ ..126 => out.push(length as u8),
        length @ ..0x1_0000 => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
    out.len() - before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 6455 5.7.
    #[test]
    fn frames_of_the_standard() {
        let hello = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        let frame = read(hello).unwrap().unwrap();
        let want = Frame {
            opcode: TEXT,
            is_final: true,
            is_masked: true,
            payload: b"Hello".to_vec(),
            bytes: 11,
        };
        assert_eq!(frame, want);
        let mut out = Vec::new();
        assert_eq!(put(&mut out, TEXT, false, b"Hel"), 5);
        assert_eq!(put(&mut out, CONTINUATION, true, b"lo"), 4);
        assert_eq!(out, b"\x01\x03Hel\x80\x02lo");
        for (length, head) in [
            (125, &b"\x82\x7d"[..]),
            (126, b"\x82\x7e\x00\x7e"),
            (256, b"\x82\x7e\x01\x00"),
            (65_535, b"\x82\x7e\xff\xff"),
            (65_536, b"\x82\x7f\0\0\0\0\0\x01\0\0"),
        ] {
            let mut out = Vec::new();
            put(&mut out, BINARY, true, &vec![0; length]);
            assert_eq!(out[..head.len()], *head);
            let frame = read(&out).unwrap().unwrap();
            assert_eq!((frame.bytes, frame.payload.len()), (out.len(), length));
            assert!(!frame.is_masked);
        }
    }

    #[test]
    fn a_frame_is_there_once_it_is_whole() {
        let mut out = Vec::new();
        put(&mut out, TEXT, true, &[b'x'; 300]);
        let masked = [&b"\x81\xfe\x00\x80\x01\x02\x03\x04"[..], &[7; 128]].concat();
        for whole in [&out[..], &masked, b"\x89\x80\x01\x02\x03\x04"] {
            for end in 0..whole.len() {
                assert_eq!(read(&whole[..end]), Ok(None), "{end} of {whole:?}");
            }
            let more = [whole, b"\x81"].concat();
            assert_eq!(read(&more).unwrap().map(|frame| frame.bytes), Some(whole.len()));
        }
    }

    #[test]
    fn what_is_no_frame_has_a_code() {
        for (bytes, want) in [
            (&b"\x83\x80"[..], PROTOCOL_ERROR),
            (b"\xc1\x80", PROTOCOL_ERROR),
            (b"\x91\x80", PROTOCOL_ERROR),
            (b"\x09\x80", PROTOCOL_ERROR),
            (b"\x88\xfe\x00\x7e", PROTOCOL_ERROR),
            (b"\x81\xff\0\0\0\0\0\x01\0\x01", TOO_BIG),
            (b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", TOO_BIG),
        ] {
            assert_eq!(read(bytes), Err(want), "{bytes:?}");
        }
    }
}
