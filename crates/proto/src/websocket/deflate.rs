//! permessage-deflate (RFC 7692): messages compressed one by one.
//!
//! A message is compressed without those before it, which either side may always do, and the other
//! side does not see. So one [`Deflater`] serves any number of connections. Where the peer allows
//! a window of under 2^15 bytes, a message is compressed in pieces of the window's length, each
//! without those before it: nothing can point farther back than its piece begins. A peer's messages
//! may refer to its earlier ones, unless it agreed not to, so that each connection has an inflater
//! of its own. What they refer to before the window's start reads as zeros, as the decompressor
//! does not tell.

use std::fmt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// What each message's data ends in, and what is left off before it is sent (RFC 7692 7.2.1).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// An empty block; the bits between its head and its length mean nothing. Between two blocks
/// nothing comes of it. Within a block it is taken for data or codes, which come to something or
/// are wrong.
const EMPTY_BLOCK: [u8; 5] = [0xf8, 0, 0, 0xff, 0xff];
/// Empty blocks that follow a message: together they are longer than the head of a block.
const PROBE: [[u8; 5]; 64] = [EMPTY_BLOCK; 64];
/// The largest window, in bits, and the default.
pub(super) const WINDOW_BITS_MAX: u8 = 15;

/// What was agreed on for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeflateParameters {
    /// Bits of the window that our own messages may use, 8 to 15.
    pub window_bits: u8,
    /// Whether each of the peer's messages stands by itself.
    pub peer_no_context_takeover: bool,
}

impl DeflateParameters {
    /// The largest window there is.
    pub const LARGEST: Self =
        Self { window_bits: WINDOW_BITS_MAX, peer_no_context_takeover: false };
}

/// Compresses messages.
pub struct Deflater {
    compress: Compress,
    out: Vec<u8>,
}

impl fmt::Debug for Deflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deflater").finish_non_exhaustive()
    }
}

impl Default for Deflater {
    fn default() -> Self {
        Self::new()
    }
}

impl Deflater {
    /// The bytes of the least output buffer.
    const ROOM_BYTES: usize = 1024;

    /// A compressor, at zlib's usual level.
    #[must_use]
    pub fn new() -> Self {
        Self::with_room(0)
    }

    /// One that needs no further memory for messages of up to this length that can be compressed.
    #[must_use]
    pub fn with_room(message_bytes: usize) -> Self {
        let out = Vec::with_capacity(message_bytes + Self::ROOM_BYTES);
        let mut deflater = Self { compress: Compress::new(Compression::default(), false), out };
        deflater.prime();
        deflater
    }

    /// At its very beginning the compressor finds one match less. So that the length of a message
    /// does not depend on whether it was the first, something goes before that.
    fn prime(&mut self) {
        self.piece(b"x");
    }

    /// Compresses the whole of a message. `None` when the compressor fails, and the message has to
    /// go out as it is.
    pub fn message(&mut self, message: &[u8], parameters: DeflateParameters) -> Option<&[u8]> {
        let piece_bytes = match parameters.window_bits {
            WINDOW_BITS_MAX.. => message.len(),
            bits => 1 << bits,
        };
        self.out.clear();
        let mut rest = message;
        loop {
            let (piece, after) = rest.split_at(rest.len().min(piece_bytes));
            if !self.piece(piece) {
                self.compress.reset();
                self.prime();
                return None;
            }
            rest = after;
            if rest.is_empty() {
                return self.out.strip_suffix(&TAIL);
            }
        }
    }

    /// Compresses a piece, up to a byte's end and without what came before. False when the
    /// compressor fails, which it does on misuse only.
    fn piece(&mut self, piece: &[u8]) -> bool {
        let start = self.compress.total_in();
        loop {
            self.out.reserve(Self::ROOM_BYTES);
            let taken = (self.compress.total_in() - start) as usize;
            // A full flush has the compressor forget what it has seen.
            let (rest, flush) = (&piece[taken..], FlushCompress::Full);
            if self.compress.compress_vec(rest, &mut self.out, flush).is_err() {
                return false;
            }
            let is_taken = (self.compress.total_in() - start) as usize == piece.len();
            if is_taken && self.out.len() < self.out.capacity() {
                return true;
            }
        }
    }
}

/// Decompresses the messages of one peer.
pub(super) struct Inflater {
    decompress: Decompress,
    parameters: DeflateParameters,
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

/// What came of a piece of compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inflated {
    /// Bytes of the input that were used up.
    pub(super) taken: usize,
    /// Bytes of the output that were written.
    pub(super) made: usize,
    /// What comes behind them cannot be decompressed.
    pub(super) is_broken: bool,
}

impl Inflater {
    pub(super) fn new(parameters: DeflateParameters) -> Self {
        Self { decompress: Decompress::new(false), parameters }
    }

    /// Decompresses as much of `input` as `out` has room for.
    pub(super) fn take(&mut self, input: &[u8], out: &mut [u8]) -> Inflated {
        let (taken, made) = (self.decompress.total_in(), self.decompress.total_out());
        let status = self.decompress.decompress(input, out, FlushDecompress::None);
        let taken = (self.decompress.total_in() - taken) as usize;
        let made = (self.decompress.total_out() - made) as usize;
        // A block may say that it is the last (RFC 7692 7.2.3.4); more may follow.
        if let Ok(Status::StreamEnd) = status {
            self.decompress.reset(false);
        }
        Inflated { taken, made, is_broken: status.is_err() }
    }

    /// Hands out what is left of a message whose input was taken whole. Nothing is made once that
    /// is done; the message is broken if it does not end where a block does.
    pub(super) fn end(&mut self, out: &mut [u8]) -> Inflated {
        let mut left = self.take(&[], out);
        if left.made > 0 || left.is_broken {
            return left;
        }
        left.is_broken = !self.is_whole(out);
        if self.parameters.peer_no_context_takeover {
            self.decompress.reset(false);
        }
        left
    }

    /// Whether the tail ends a block, as it does behind a whole message. The decompressor does not
    /// tell, and takes the tail for data or codes if the message was cut.
    fn is_whole(&mut self, out: &mut [u8]) -> bool {
        [&TAIL[..], PROBE.as_flattened()].into_iter().all(|bytes| {
            let probed = self.take(bytes, out);
            probed.taken == bytes.len() && probed.made == 0 && !probed.is_broken
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: DeflateParameters =
        DeflateParameters { window_bits: 15, peer_no_context_takeover: false };

    /// Decompresses a message that comes in pieces, into a buffer of a length.
    fn inflate(
        inflater: &mut Inflater,
        message: &[u8],
        piece_bytes: usize,
        out_bytes: usize,
    ) -> Option<Vec<u8>> {
        let mut plain = Vec::new();
        let mut out = vec![0; out_bytes];
        for mut piece in message.chunks(piece_bytes) {
            while !piece.is_empty() {
                let inflated = inflater.take(piece, &mut out);
                piece = &piece[inflated.taken..];
                plain.extend_from_slice(&out[..inflated.made]);
                if inflated.is_broken {
                    return None;
                }
            }
        }
        loop {
            let inflated = inflater.end(&mut out);
            plain.extend_from_slice(&out[..inflated.made]);
            match inflated {
                Inflated { is_broken: true, .. } => return None,
                Inflated { made: 0, .. } => return Some(plain),
                _ => {}
            }
        }
    }

    /// The examples of RFC 7692 7.2.3, one after another over one window.
    #[test]
    fn the_examples_of_the_rfc() {
        for piece_bytes in [1, 2, 100] {
            for out_bytes in [1, 3, 100] {
                let mut inflater = Inflater::new(OPEN);
                for message in [
                    &b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..],
                    // It refers to the message before.
                    b"\xf2\x00\x11\x00\x00",
                    // Without compression.
                    b"\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00",
                    // Two blocks.
                    b"\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
                    // A block that says it is the last.
                    b"\xf3\x48\xcd\xc9\xc9\x07\x00\x00",
                ] {
                    let plain = inflate(&mut inflater, message, piece_bytes, out_bytes);
                    assert_eq!(plain.as_deref(), Some(&b"Hello"[..]), "{message:x?}");
                }
            }
        }
        let mut deflater = Deflater::new();
        for _ in 0..2 {
            let made = deflater.message(b"Hello", OPEN);
            assert_eq!(made, Some(&b"\xf2\x48\xcd\xc9\xc9\x07\x00"[..]));
        }
    }

    #[test]
    fn without_takeover_messages_stand_by_themselves() {
        let parameters = DeflateParameters { peer_no_context_takeover: true, ..OPEN };
        let mut inflater = Inflater::new(parameters);
        let first = inflate(&mut inflater, b"\xf2\x48\xcd\xc9\xc9\x07\x00", 100, 100);
        assert_eq!(first.as_deref(), Some(&b"Hello"[..]));
        let second = inflate(&mut inflater, b"\xf2\x00\x11\x00\x00", 100, 100);
        assert_eq!(second.as_deref(), Some(&b"H\0\0\0\0"[..]));
    }

    #[test]
    fn any_length_and_back() {
        let mut deflater = Deflater::new();
        let mut inflater = Inflater::new(OPEN);
        for length in [0, 1, 2, 100, 1023, 1024, 1025, 70_000] {
            // The second kind does not compress, so that it is longer than its input.
            for factor in [0_u64, 0x9e37_79b9_7f4a_7c15] {
                let message: Vec<u8> = (0..length as u64)
                    .map(|index| {
                        (index.wrapping_mul(index ^ factor).wrapping_mul(factor) >> 56) as u8
                    })
                    .collect();
                let made = deflater.message(&message, OPEN).expect("the largest window").to_vec();
                let plain = inflate(&mut inflater, &made, 100, 1000);
                assert_eq!(plain, Some(message), "{length} bytes");
            }
        }
    }

    /// Bytes that do not compress, by a rule.
    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    /// What repeats from farther back than the window costs as much again.
    #[test]
    fn a_small_window_is_respected() {
        let mut deflater = Deflater::new();
        for bits in 8..=15_u8 {
            let parameters = DeflateParameters { window_bits: bits, ..OPEN };
            let window_bytes = 1_usize << bits;
            for (back_bytes, is_seen) in [
                (window_bytes / 4, true),
                (window_bytes + 1, false),
                (window_bytes + window_bytes / 2, false),
            ] {
                let message = noise(back_bytes).repeat(2);
                let made = deflater.message(&message, parameters).expect("a message").to_vec();
                let is_small = made.len() < message.len() * 7 / 8;
                assert_eq!(is_small, is_seen, "{bits} bits, {back_bytes} bytes back");
                let mut inflater = Inflater::new(parameters);
                assert_eq!(inflate(&mut inflater, &made, 100, 1000), Some(message), "{bits} bits");
            }
        }
    }

    /// What was compressed before makes no difference, so that any connection can have a message.
    #[test]
    fn messages_are_compressed_by_themselves() {
        let mut deflater = Deflater::with_room(1000);
        for bits in [8, 15] {
            let parameters = DeflateParameters { window_bits: bits, ..OPEN };
            for message in [&b""[..], b"Hello", &noise(1000), &[b'a'; 1000]] {
                let first = Deflater::new().message(message, parameters).map(<[u8]>::to_vec);
                for before in [&b""[..], b"Hello", &noise(1000), &[b'a'; 70_000]] {
                    assert!(deflater.message(before, parameters).is_some());
                    let again = deflater.message(message, parameters).map(<[u8]>::to_vec);
                    assert_eq!(again, first, "{} bytes after {}", message.len(), before.len());
                }
            }
        }
    }
}
