//! Cuts what arrives into frames.
//!
//! DATA is handed out piece by piece as it comes and never kept. Every other frame is handed out
//! whole: where it stands in the input, or in a buffer when it came in pieces. Each frame is
//! announced by its head first, so that what is wrong with that is found before the rest is read.

use std::ops::Range;

use super::ConnectionError;
use super::frame::{FrameHead, HEAD_BYTES, flag, kind};

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 16 * 1024;

/// Where a frame's payload stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the input.
    Input(Range<usize>),
    /// In the reader's buffer.
    Carried(Range<usize>),
}

impl Place {
    /// Where a part of the payload stands.
    #[inline]
    pub(super) fn part(self, part: Range<usize>) -> Self {
        let within = |whole: Range<usize>| whole.start + part.start..whole.start + part.end;
        match self {
            Self::Input(whole) => Self::Input(within(whole)),
            Self::Carried(whole) => Self::Carried(within(whole)),
        }
    }
}

/// What the next bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// Nothing yet; all of the input was taken.
    More,
    /// The head of a frame; and of DATA how many bytes it has without padding.
    Begun(FrameHead, u32),
    /// The whole of a frame that was announced.
    Frame(FrameHead, Place),
    /// A piece of the DATA frame that was announced, in the input; never empty.
    Piece(FrameHead, Range<usize>),
    /// The end of that frame.
    DataEnd(FrameHead),
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    /// A frame that is handed out whole.
    Whole(FrameHead),
    /// A frame of an unknown type, and how much of it is left.
    Skipped(u32),
    /// A DATA frame whose first byte says how much padding it has.
    PaddedData(FrameHead),
    Data(Data),
}

/// A DATA frame and what is left of it.
#[derive(Debug, Clone, Copy)]
struct Data {
    head: FrameHead,
    left: u32,
    padding: u32,
}

#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    /// Part of a head or of a frame that is to be handed out whole.
    carry: Vec<u8>,
    /// What is in `carry` was handed out.
    is_handed_out: bool,
}

impl Reader {
    pub(super) fn new() -> Self {
        Self { state: State::Head, carry: Vec::new(), is_handed_out: false }
    }

    /// Forgets the connection before.
    pub(super) fn reset(&mut self) {
        self.state = State::Head;
        self.carry.clear();
        self.is_handed_out = false;
    }

    /// The payload of a frame, as long as no other unit was read.
    #[inline]
    pub(super) fn payload<'a>(&'a self, input: &'a [u8], place: &Place) -> &'a [u8] {
        match place {
            Place::Input(range) => &input[range.clone()],
            Place::Carried(range) => &self.carry[range.clone()],
        }
    }

    /// Bytes of memory for what came in pieces.
    pub(super) fn kept_bytes(&self) -> usize {
        self.carry.capacity()
    }

    /// Whether it is between two frames.
    pub(super) fn is_between_frames(&self) -> bool {
        matches!(self.state, State::Head) && (self.carry.is_empty() || self.is_handed_out)
    }

    /// Reads on in `input` behind `at`, which moves along.
    #[inline]
    pub(super) fn next(&mut self, input: &[u8], at: &mut usize) -> Result<Unit, ConnectionError> {
        if self.is_handed_out {
            self.release();
        }
        loop {
            match self.state {
                State::Head => {
                    if let Some(unit) = self.head(input, at) {
                        return Ok(unit);
                    }
                }
                State::Whole(head) => return Ok(self.whole(head, input, at)),
                State::Skipped(left) => {
                    let taken = take(left, input, at);
                    if taken < left {
                        self.state = State::Skipped(left - taken);
                        return Ok(Unit::More);
                    }
                    self.state = State::Head;
                }
                State::PaddedData(head) => {
                    let inside = head.length.checked_sub(1).ok_or(ConnectionError::BadPadding)?;
                    let Some(&padding) = input.get(*at) else { return Ok(Unit::More) };
                    *at += 1;
                    let left = inside.checked_sub(u32::from(padding));
                    let left = left.ok_or(ConnectionError::BadPadding)?;
                    let padding = u32::from(padding);
                    self.state = State::Data(Data { head, left, padding });
                    return Ok(Unit::Begun(head, left));
                }
                State::Data(data) => return Ok(self.data(data, input, at)),
            }
        }
    }

    /// Reads a frame's head. `None`: it says no more before its first byte is read.
    #[inline]
    fn head(&mut self, input: &[u8], at: &mut usize) -> Option<Unit> {
        let rest = &input[*at..];
        let bytes = match rest.first_chunk::<HEAD_BYTES>() {
            Some(bytes) if self.carry.is_empty() => {
                *at += HEAD_BYTES;
                *bytes
            }
            _ => match self.carried_head(rest, at) {
                Some(bytes) => bytes,
                None => return Some(Unit::More),
            },
        };
        let head = FrameHead::read(&bytes);
        self.state = match head.kind {
            kind::DATA if head.has(flag::PADDED) => State::PaddedData(head),
            kind::DATA => State::Data(Data { head, left: head.length, padding: 0 }),
            kind::HEADERS..=kind::CONTINUATION => State::Whole(head),
            _ => State::Skipped(head.length),
        };
        let is_whole = !matches!(self.state, State::PaddedData(_));
        is_whole.then_some(Unit::Begun(head, head.length))
    }

    #[cold]
    fn carried_head(&mut self, rest: &[u8], at: &mut usize) -> Option<[u8; HEAD_BYTES]> {
        let taken = rest.len().min(HEAD_BYTES - self.carry.len());
        self.carry.extend_from_slice(&rest[..taken]);
        *at += taken;
        let bytes = self.carry.first_chunk().copied()?;
        self.carry.clear();
        Some(bytes)
    }

    #[inline]
    fn whole(&mut self, head: FrameHead, input: &[u8], at: &mut usize) -> Unit {
        let length = head.length as usize;
        let start = *at;
        if self.carry.is_empty() && input.len() - start >= length {
            *at += length;
            self.state = State::Head;
            return Unit::Frame(head, Place::Input(start..*at));
        }
        let taken = take((length - self.carry.len()) as u32, input, at) as usize;
        self.carry.extend_from_slice(&input[start..start + taken]);
        if self.carry.len() < length {
            return Unit::More;
        }
        self.state = State::Head;
        self.is_handed_out = true;
        Unit::Frame(head, Place::Carried(0..length))
    }

    #[inline]
    fn data(&mut self, data: Data, input: &[u8], at: &mut usize) -> Unit {
        let Data { head, left, padding } = data;
        let start = *at;
        let taken = take(left, input, at);
        if taken > 0 {
            self.state = State::Data(Data { head, left: left - taken, padding });
            return Unit::Piece(head, start..*at);
        }
        if left > 0 {
            return Unit::More;
        }
        let padding = padding - take(padding, input, at);
        if padding > 0 {
            self.state = State::Data(Data { head, left, padding });
            return Unit::More;
        }
        self.state = State::Head;
        Unit::DataEnd(head)
    }

    #[cold]
    fn release(&mut self) {
        self.is_handed_out = false;
        self.carry.clear();
        if self.carry.capacity() > KEEP_BYTES_MAX {
            self.carry = Vec::new();
        }
    }
}

/// Moves `at` on by up to `most` bytes; gives by how many.
#[inline]
fn take(most: u32, input: &[u8], at: &mut usize) -> u32 {
    let taken = (most as usize).min(input.len() - *at);
    *at += taken;
    taken as u32
}
