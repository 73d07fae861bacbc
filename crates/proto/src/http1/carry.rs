//! Incomplete heads: the part of a head that has arrived so far, and the blank lines between
//! messages.
//!
//! A head that arrives in one input never comes here. A head that arrives in pieces is put together
//! in a buffer and parsed once its blank line is in. It is also parsed whenever the buffer has
//! doubled, and while it is short whenever a line is complete, so that bytes that can never be a
//! head are refused early. A peer that sends a head byte by byte still costs a bounded number of
//! passes: one for each line of a short head, plus the logarithm of the length.

use super::DecodeError;

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 4096;

/// A head that is longer is not parsed for each of its lines.
const SHORT_BYTES_MAX: usize = 64 * 1024;

/// The head so far, and what was skipped before it.
#[derive(Debug, Clone, Default)]
pub(super) struct Carry {
    bytes: Vec<u8>,
    /// Parse again when the buffer is this long.
    check_at_bytes: usize,
    /// Bytes of blank lines before this head; they count as part of it, or a peer could send them
    /// for ever.
    blank_bytes: usize,
}

impl Carry {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How much longer the head may become.
    #[inline]
    pub(super) fn room(&self, head_bytes_max: usize) -> usize {
        head_bytes_max.saturating_sub(self.blank_bytes + self.bytes.len())
    }

    /// Forgets the head, once nothing borrows from it any more.
    #[inline]
    pub(super) fn release(&mut self) {
        self.blank_bytes = 0;
        if !self.bytes.is_empty() {
            self.release_buffer();
        }
    }

    #[cold]
    fn release_buffer(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > KEEP_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Holds a whole head in place of the one that was cut, if one was.
    #[cold]
    pub(super) fn hold(&mut self, head: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(head);
    }

    /// Starts a head that was cut; the parser has seen `input` and wants more.
    #[cold]
    pub(super) fn start(&mut self, input: &[u8]) {
        self.bytes.extend_from_slice(input);
        self.check_at_bytes = 2 * self.bytes.len();
    }

    /// Skips blank lines where a head should start (RFC 9112 2.2), and says how long they are. A
    /// CR at the end of the input is kept.
    #[inline]
    pub(super) fn skip_blank_lines(
        &mut self,
        head_bytes_max: usize,
        input: &[u8],
    ) -> Result<usize, DecodeError> {
        match input.first() {
            Some(b'\r' | b'\n') if self.bytes.is_empty() => self.blank_lines(head_bytes_max, input),
            Some(_) if self.bytes == b"\r" => self.blank_lines(head_bytes_max, input),
            _ => Ok(0),
        }
    }

    #[cold]
    fn blank_lines(&mut self, head_bytes_max: usize, input: &[u8]) -> Result<usize, DecodeError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            let after_cr = !self.bytes.is_empty();
            match byte {
                b'\n' => {
                    self.blank_bytes += 1 + self.bytes.len();
                    self.bytes.clear();
                }
                _ if after_cr => return Err(DecodeError::MalformedHead),
                b'\r' => self.bytes.push(byte),
                _ => break,
            }
            if self.blank_bytes > head_bytes_max {
                return Err(DecodeError::HeadTooLong);
            }
            at += 1;
        }
        Ok(at)
    }

    /// Adds to a head that was cut, and parses it when that is worthwhile. Returns what `parse`
    /// made of the head and how much of the input belonged to it, or `None` if all of it did and
    /// the head still goes on.
    pub(super) fn add<'c, T>(
        &'c mut self,
        head_bytes_max: usize,
        input: &[u8],
        parse: impl FnOnce(&'c [u8]) -> Result<Option<T>, DecodeError>,
    ) -> Result<Option<(T, usize)>, DecodeError> {
        let room = self.room(head_bytes_max);
        let window = &input[..input.len().min(room)];
        let end = head_end(&self.bytes, window);
        let taken = end.unwrap_or(window.len());
        self.bytes.extend_from_slice(&window[..taken]);
        let too_long = end.is_none() && input.len() > room;
        let has_line = self.bytes.len() <= SHORT_BYTES_MAX && window.contains(&b'\n');
        let check =
            end.is_some() || too_long || self.bytes.len() >= self.check_at_bytes || has_line;
        if !check {
            return Ok(None);
        }
        self.check_at_bytes = 2 * self.bytes.len();
        match parse(&self.bytes)? {
            Some(head) => Ok(Some((head, taken))),
            None if too_long => Err(DecodeError::HeadTooLong),
            None if end.is_some() => Err(DecodeError::MalformedHead),
            None => Ok(None),
        }
    }
}

/// Where in `input` the head ends that begins in `carried`: after the first blank line.
fn head_end(carried: &[u8], input: &[u8]) -> Option<usize> {
    let byte_before = |at: usize, distance: usize| {
        if distance <= at {
            return Some(input[at - distance]);
        }
        carried.len().checked_sub(distance - at).map(|index| carried[index])
    };
    let line_ends = input.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
    for (at, _) in line_ends {
        let blank = match byte_before(at, 1) {
            Some(b'\n') => true,
            Some(b'\r') => byte_before(at, 2) == Some(b'\n'),
            _ => false,
        };
        if blank {
            return Some(at + 1);
        }
    }
    None
}
