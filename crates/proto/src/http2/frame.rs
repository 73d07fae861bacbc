//! Frames: their heads, what is in them, and writing them (RFC 9113 4, 6).

use std::ops::Range;

use super::ErrorCode;

/// Bytes of a frame's head.
pub(super) const HEAD_BYTES: usize = 9;

/// The largest frame that every peer takes, and the largest that a setting can allow.
pub(super) const FRAME_BYTES_MIN: u32 = 16_384;
pub(super) const FRAME_BYTES_MAX: u32 = (1 << 24) - 1;

/// Bytes of a stream's priority, in a PRIORITY frame and in HEADERS.
pub(super) const PRIORITY_BYTES: usize = 5;

/// The highest number of a stream; the first bit of a number is reserved.
pub(super) const STREAM_MAX: u32 = (1 << 31) - 1;

pub(super) mod kind {
    pub(in crate::http2) const DATA: u8 = 0;
    pub(in crate::http2) const HEADERS: u8 = 1;
    pub(in crate::http2) const PRIORITY: u8 = 2;
    pub(in crate::http2) const RST_STREAM: u8 = 3;
    pub(in crate::http2) const SETTINGS: u8 = 4;
    pub(in crate::http2) const PUSH_PROMISE: u8 = 5;
    pub(in crate::http2) const PING: u8 = 6;
    pub(in crate::http2) const GOAWAY: u8 = 7;
    pub(in crate::http2) const WINDOW_UPDATE: u8 = 8;
    pub(in crate::http2) const CONTINUATION: u8 = 9;
}

pub(super) mod flag {
    pub(in crate::http2) const END_STREAM: u8 = 1;
    pub(in crate::http2) const ACK: u8 = 1;
    pub(in crate::http2) const END_HEADERS: u8 = 4;
    pub(in crate::http2) const PADDED: u8 = 8;
    pub(in crate::http2) const PRIORITY: u8 = 0x20;
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Bytes that follow it.
    pub(super) length: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// 0 for the connection.
    pub(super) stream: u32,
}

impl FrameHead {
    #[inline]
    pub(super) fn read(bytes: &[u8; HEAD_BYTES]) -> Self {
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            kind,
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & STREAM_MAX,
        }
    }

    #[inline]
    pub(super) fn bytes(self) -> [u8; HEAD_BYTES] {
        let [_, l0, l1, l2] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, self.kind, self.flags, s0, s1, s2, s3]
    }

    #[inline]
    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// The number in the first four bytes, if there are as many.
#[inline]
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// What is in a HEADERS frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadersPayload {
    /// The part of the payload that is the header block, or its start.
    pub(super) fragment: Range<usize>,
    /// The stream that this one is to depend on, which is not looked at otherwise.
    pub(super) depends_on: Option<u32>,
}

impl HeadersPayload {
    /// `None`: padding or priority take more than there is.
    #[inline]
    pub(super) fn read(head: FrameHead, payload: &[u8]) -> Option<Self> {
        let mut fragment = 0..payload.len();
        if head.has(flag::PADDED) {
            let padding = usize::from(*payload.first()?);
            fragment = 1..payload.len().checked_sub(padding).filter(|&end| end >= 1)?;
        }
        if !head.has(flag::PRIORITY) {
            return Some(Self { fragment, depends_on: None });
        }
        let (priority, _) = payload[fragment.clone()].split_at_checked(PRIORITY_BYTES)?;
        fragment.start += PRIORITY_BYTES;
        Some(Self { fragment, depends_on: number(priority).map(|it| it & STREAM_MAX) })
    }
}

#[inline]
pub(super) fn write_frame_head(out: &mut Vec<u8>, head: FrameHead) {
    out.extend_from_slice(&head.bytes());
}

#[inline]
pub(super) fn write_data(out: &mut Vec<u8>, stream: u32, data: &[u8], ends: bool) {
    let flags = if ends { flag::END_STREAM } else { 0 };
    let length = data.len() as u32;
    write_frame_head(out, FrameHead { length, kind: kind::DATA, flags, stream });
    out.extend_from_slice(data);
}

/// A frame whose payload is one number.
fn write_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    write_frame_head(out, FrameHead { length: 4, kind, flags: 0, stream });
    out.extend_from_slice(&number.to_be_bytes());
}

pub(super) fn write_rst_stream(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_number(out, kind::RST_STREAM, stream, code.0);
}

pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_number(out, kind::WINDOW_UPDATE, stream, increment);
}

pub(super) fn write_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    let length = 6 * settings.len() as u32;
    write_frame_head(out, FrameHead { length, kind: kind::SETTINGS, flags: 0, stream: 0 });
    for (id, value) in settings {
        out.extend_from_slice(&id.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub(super) fn write_settings_ack(out: &mut Vec<u8>) {
    let head = FrameHead { length: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 };
    write_frame_head(out, head);
}

pub(super) fn write_ping_ack(out: &mut Vec<u8>, payload: &[u8]) {
    let length = payload.len() as u32;
    write_frame_head(out, FrameHead { length, kind: kind::PING, flags: flag::ACK, stream: 0 });
    out.extend_from_slice(payload);
}

pub(super) fn write_goaway(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode) {
    write_frame_head(out, FrameHead { length: 8, kind: kind::GOAWAY, flags: 0, stream: 0 });
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}

/// Leaves room at the end of `out` for the head of a frame whose length is not known yet; gives
/// where it is.
#[inline]
pub(super) fn reserve_head(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    at
}

/// Makes the header block behind the reserved head at `at` into HEADERS and, if the peer's frames
/// are too small for it, CONTINUATION frames.
#[inline]
pub(super) fn finish_headers(
    out: &mut Vec<u8>,
    at: usize,
    stream: u32,
    ends: bool,
    frame_bytes_max: usize,
) {
    let block_bytes = out.len() - at - HEAD_BYTES;
    let is_whole = block_bytes <= frame_bytes_max;
    let end_headers = if is_whole { flag::END_HEADERS } else { 0 };
    let length = block_bytes.min(frame_bytes_max) as u32;
    let flags = end_headers | if ends { flag::END_STREAM } else { 0 };
    let head = FrameHead { length, kind: kind::HEADERS, flags, stream };
    out[at..at + HEAD_BYTES].copy_from_slice(&head.bytes());
    if !is_whole {
        split_block(out, at + HEAD_BYTES, stream, frame_bytes_max);
    }
}

/// Puts heads of CONTINUATION frames into the block at `start`, from its end to its start so that
/// each byte's place is known.
#[cold]
fn split_block(out: &mut Vec<u8>, start: usize, stream: u32, frame_bytes_max: usize) {
    let block_bytes = out.len() - start;
    let count = (block_bytes - 1) / frame_bytes_max;
    for nth in (1..=count).rev() {
        let at = start + nth * frame_bytes_max;
        let length = (start + block_bytes - at).min(frame_bytes_max) as u32;
        let flags = if nth == count { flag::END_HEADERS } else { 0 };
        let head = FrameHead { length, kind: kind::CONTINUATION, flags, stream };
        out.splice(at..at, head.bytes());
    }
}
