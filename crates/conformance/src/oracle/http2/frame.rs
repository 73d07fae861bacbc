//! Frames (RFC 9113 section 4): how they are read and written.

/// What a client's connection begins with (RFC 9113 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const END_STREAM: u8 = 0x01;
pub(super) const ACK: u8 = 0x01;
pub(super) const END_HEADERS: u8 = 0x04;
pub(super) const PADDED: u8 = 0x08;
pub(super) const PRIORITIZED: u8 = 0x20;

/// Bytes before each frame's payload.
pub(super) const HEAD_BYTES: usize = 9;

/// What stands before a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// Bytes of the payload.
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    /// 0: the connection.
    pub stream: u32,
}

impl Head {
    /// The head of the next frame, once it is there.
    pub(super) fn read(input: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD_BYTES] = input.first_chunk()?;
        let [a, b, c, kind, flags, stream @ ..] = *head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        Some(Self { length, kind, flags, stream: u32::from_be_bytes(stream) & 0x7fff_ffff })
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// A payload of DATA or HEADERS without padding and priority; `None`: it lies about them.
    pub(super) fn content(self, payload: &[u8]) -> Option<&[u8]> {
        let mut content = payload;
        if self.has(PADDED) {
            let (padding, rest) = payload.split_first()?;
            content = rest.get(..rest.len().checked_sub(usize::from(*padding))?)?;
        }
        if self.kind == HEADERS && self.has(PRIORITIZED) {
            content = content.get(5..)?;
        }
        Some(content)
    }
}

/// Writes a frame.
pub(super) fn put(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

pub(super) fn put_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    let one = |(name, value): &(u16, u32)| {
        name.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<u8>>()
    };
    let payload: Vec<u8> = settings.iter().flat_map(one).collect();
    put(out, SETTINGS, 0, 0, &payload);
}

pub(super) fn put_window(out: &mut Vec<u8>, stream: u32, bytes: u32) {
    put(out, WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
}

pub(super) fn put_reset(out: &mut Vec<u8>, stream: u32, code: u32) {
    put(out, RST_STREAM, 0, stream, &code.to_be_bytes());
}

pub(super) fn put_goaway(out: &mut Vec<u8>, last_stream: u32, code: u32) {
    put(out, GOAWAY, 0, 0, &[last_stream.to_be_bytes(), code.to_be_bytes()].concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_read_as_they_were_put() {
        let mut out = Vec::new();
        put_goaway(&mut out, 7, 11);
        let head = Head { length: 8, kind: GOAWAY, flags: 0, stream: 0 };
        assert_eq!(Head::read(&out), Some(head));
        assert_eq!(out[HEAD_BYTES..], [0, 0, 0, 7, 0, 0, 0, 11]);
        assert_eq!(Head::read(&out[..8]), None);
        let mut out = Vec::new();
        put(&mut out, DATA, END_STREAM, 0x8000_0003, &[1; 70_000]);
        let head = Head::read(&out).unwrap();
        assert_eq!((head.length, head.stream, head.has(END_STREAM)), (70_000, 3, true));
    }

    #[test]
    fn padding_and_priority_are_no_content() {
        for (kind, flags, payload, want) in [
            (DATA, 0, &b"ab"[..], Some(&b"ab"[..])),
            (DATA, PADDED, b"\x01ab", Some(b"a")),
            (DATA, PADDED, b"\x02ab", Some(b"")),
            (DATA, PADDED, b"\x03ab", None),
            (DATA, PADDED, b"", None),
            (DATA, PRIORITIZED, b"ab", Some(b"ab")),
            (HEADERS, PRIORITIZED, b"12345a", Some(b"a")),
            (HEADERS, PRIORITIZED | PADDED, b"\x0112345ab", Some(b"a")),
            (HEADERS, PRIORITIZED, b"1234", None),
        ] {
            let head = Head { length: payload.len(), kind, flags, stream: 1 };
            assert_eq!(head.content(payload), want, "{kind} {flags} {payload:?}");
        }
    }
}
