//! Sends the body of a message as far as the peer's windows and the room for output allow, and
//! keeps the rest.
//!
//! A peer may open windows of gigabytes and read slowly. So a connection may have a limit to what
//! of its bodies waits for the kernel; beyond it they stay here, where a shared body is one for all
//! streams.
//!
//! A peer that credits each frame by itself returns room in the pieces in which it was used. Each
//! body's end and each stream's window cut such a piece in two, and nothing joins the parts again:
//! in the end bodies go out as frames of a few bytes. TCP calls that the silly window syndrome
//! (RFC 9293 3.8.6.2.1). So a stream whose window allows a splinter alone lets others go first, and
//! the last splinter of the connection's window is saved up, if more room is sure to come.

use std::sync::Arc;

use super::StreamError;
use super::flow::{Credits, Overflow, SPLINTER_BYTES, SendWindow};
use super::frame;
use super::session::Session;
use super::streams::{Key, Streams};

/// A buffer that grew beyond this is given back after use.
const KEEP_BYTES_MAX: usize = 64 * 1024;

/// So often others go first. A peer that credits a stream when its window is used up would never
/// credit this one otherwise.
const PASSED_OVER_MAX: u8 = 16;

/// Bytes of a body that are to be sent.
#[derive(Debug, Clone, Copy)]
pub enum Body<'a> {
    /// None.
    Empty,
    /// Bytes of the caller's. What is held back is copied.
    Bytes(&'a [u8]),
    /// Bytes that never vary. What is held back is referred to.
    Shared(&'a Arc<[u8]>),
}

impl Body<'_> {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Bytes(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// The way to the peer.
#[derive(Debug)]
pub(super) struct Line<'l> {
    /// The connection's window.
    pub(super) window: &'l mut SendWindow,
    pub(super) credits: Credits,
    /// Whether the window's room is saved up for the oldest stream that waits.
    pub(super) is_saved: &'l mut bool,
    /// How many more bytes of bodies may wait for the kernel.
    pub(super) output_room: &'l mut usize,
    pub(super) frame_bytes_max: usize,
    pub(super) out: &'l mut Vec<u8>,
}

impl Line<'_> {
    /// Whether to wait for more room, rather than send a splinter.
    fn saves(&self) -> bool {
        self.window.room() < SPLINTER_BYTES && self.credits.are_sure(*self.window)
    }
}

/// Our side of one stream.
#[derive(Debug, Default)]
pub(super) struct Upload {
    window: SendWindow,
    /// What is held back: the bytes of one of these from `at` on.
    shared: Option<Arc<[u8]>>,
    copied: Vec<u8>,
    at: usize,
    /// How often others went first since it last sent something.
    passed_over: u8,
    /// END_STREAM goes out with the last of what is held back.
    ends: bool,
    has_ended: bool,
}

impl Upload {
    /// Begins a stream whose window is as large. `has_ended`: its HEADERS said that nothing
    /// follows.
    pub(super) fn begin(&mut self, window_bytes: u32, has_ended: bool) {
        self.forget();
        self.window = SendWindow::new(window_bytes);
        self.passed_over = 0;
        self.ends = has_ended;
        self.has_ended = has_ended;
    }

    /// Lets go of what is held back.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.at = 0;
        self.shared = None;
        if !self.copied.is_empty() {
            self.empty();
        }
    }

    #[cold]
    fn empty(&mut self) {
        self.copied.clear();
        if self.copied.capacity() > KEEP_BYTES_MAX {
            self.copied = Vec::new();
        }
    }

    /// HEADERS have ended the stream.
    pub(super) fn end(&mut self) {
        (self.ends, self.has_ended) = (true, true);
    }

    /// Whether END_STREAM has been sent.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether nothing can be added any more.
    pub(super) fn is_last(&self) -> bool {
        self.ends
    }

    fn held(&self) -> &[u8] {
        let bytes = self.shared.as_deref().unwrap_or(&self.copied);
        &bytes[self.at..]
    }

    /// Bytes that are held back.
    pub(super) fn held_bytes(&self) -> usize {
        self.held().len()
    }

    /// Whether something is held back.
    pub(super) fn is_held_back(&self) -> bool {
        !self.held().is_empty()
    }

    /// The peer changes the stream's window.
    pub(super) fn shift(&mut self, bytes: i64) -> Result<(), Overflow> {
        self.window.shift(bytes)
    }

    /// Adds to the body; `ends`: this is the last of it.
    pub(super) fn push(&mut self, stream: u32, body: Body<'_>, ends: bool, line: &mut Line<'_>) {
        self.ends = ends;
        if self.is_held_back() {
            return self.hold_more(body.bytes());
        }
        let waits = *line.is_saved && !body.bytes().is_empty();
        let sent = if waits { 0 } else { self.send(stream, body.bytes(), line) };
        let rest = &body.bytes()[sent..];
        match body {
            _ if rest.is_empty() => {}
            Body::Shared(bytes) => {
                self.shared = Some(Arc::clone(bytes));
                self.at = sent;
            }
            _ => self.copied.extend_from_slice(rest),
        }
    }

    fn hold_more(&mut self, bytes: &[u8]) {
        if let Some(shared) = self.shared.take() {
            self.copied.extend_from_slice(&shared[self.at..]);
            self.at = 0;
        }
        self.copied.extend_from_slice(bytes);
    }

    /// Sends what is allowed by now of what was held back. Whether that was all of it.
    pub(super) fn resume(&mut self, stream: u32, line: &mut Line<'_>) -> bool {
        let (shared, copied) = (self.shared.take(), std::mem::take(&mut self.copied));
        let bytes = shared.as_deref().unwrap_or(&copied);
        let sent = self.send(stream, &bytes[self.at..], line);
        (self.shared, self.copied) = (shared, copied);
        self.at += sent;
        if sent > 0 {
            self.passed_over = 0;
        }
        if self.is_held_back() {
            return false;
        }
        self.forget();
        true
    }

    /// Whether others go first, because its window allows a splinter alone.
    fn passes(&mut self) -> bool {
        let room = self.window.room();
        let is_splinter = room < self.held_bytes().min(SPLINTER_BYTES);
        if is_splinter && room > 0 {
            self.passed_over = self.passed_over.saturating_add(1);
        }
        is_splinter && self.passed_over <= PASSED_OVER_MAX
    }

    /// Sends as much of `bytes` as is allowed; gives how many bytes that is.
    fn send(&mut self, stream: u32, bytes: &[u8], line: &mut Line<'_>) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            let windows = self.window.room().min(line.window.room());
            let room = windows.min(*line.output_room).min(line.frame_bytes_max);
            let piece = room.min(bytes.len() - sent);
            if piece == 0 {
                return sent;
            }
            if piece < bytes.len() - sent && line.saves() {
                *line.is_saved = true;
                return sent;
            }
            let end = sent + piece;
            let is_last = self.ends && end == bytes.len();
            frame::write_data(line.out, stream, &bytes[sent..end], is_last);
            self.window.take(piece);
            line.window.take(piece);
            *line.output_room -= piece;
            self.has_ended = is_last;
            sent = end;
        }
        if self.ends && !self.has_ended {
            frame::write_data(line.out, stream, &[], true);
            self.has_ended = true;
        }
        sent
    }
}

/// A stream with a side of ours.
pub(super) trait Sending {
    fn upload(&mut self) -> &mut Upload;
}

#[expect(private_bounds, reason = "so are the methods")]
impl<S: Default + Sending> Streams<S> {
    /// The peer's settings change the windows of all open streams.
    pub(super) fn shift_windows(&mut self, bytes: i64) -> Result<(), Overflow> {
        let mut next = self.oldest();
        while let Some(key) = next {
            next = self.after(key);
            self[key].upload().shift(bytes)?;
        }
        Ok(())
    }

    /// The peer makes the window of one stream larger. Whether it held something back.
    pub(super) fn widen(&mut self, key: Key, increment: u32) -> Result<bool, StreamError> {
        if increment == 0 {
            return Err(StreamError::ZeroIncrement);
        }
        let upload = self[key].upload();
        let widened = upload.shift(i64::from(increment));
        widened.map_err(|_| StreamError::WindowOverflow)?;
        Ok(upload.is_held_back())
    }

    /// Sends what larger windows or new room for output allow, oldest stream first, until one has
    /// been sent whole.
    #[cold]
    pub(super) fn resume_oldest(
        &mut self,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> Option<Key> {
        session.is_saved = false;
        for takes_splinters in [false, true] {
            let mut next = self.oldest();
            while let Some(key) = next.filter(|_| session.has_room()) {
                next = self.after(key);
                let id = self.id(key);
                let upload = self[key].upload();
                let is_turn = upload.is_held_back() && (takes_splinters || !upload.passes());
                if is_turn && upload.resume(id, &mut session.line(out)) {
                    return Some(key);
                }
            }
        }
        None
    }
}
