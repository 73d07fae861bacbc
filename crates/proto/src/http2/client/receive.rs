//! What the server's frames do to the client's streams.

use super::event::Happened;
use super::exchange::Phase;
use super::{Client, Goodbye, Key};
use crate::http2::error::Fault;
use crate::http2::frame::{self, FrameHead, flag};
use crate::http2::head::{ResponseFields, TrailerFields};
use crate::http2::session::{BlockSignal, Signal};
use crate::http2::{ConnectionError, ErrorCode, StreamError};

/// What a signal came to.
enum Step {
    /// All of the input was read.
    More,
    /// Nothing to tell.
    Quiet,
    Happened(Happened),
}

impl Client {
    /// Reads on until something has happened, or the input is used up.
    #[inline]
    pub(super) fn advance(
        &mut self,
        input: &[u8],
        at: &mut usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<Happened>, ConnectionError> {
        if let Some(error) = self.session.failed {
            return Err(error);
        }
        loop {
            match self.step(input, at, out) {
                Ok(Step::More) => return Ok(None),
                Ok(Step::Quiet) => {}
                Ok(Step::Happened(happened)) => return Ok(Some(happened)),
                Err(Fault::Connection(error)) => return Err(self.session.fail(error, 0, out)),
                Err(Fault::Stream(id, error)) => {
                    if let Some(happened) = self.break_stream(id, error, out) {
                        return Ok(Some(happened));
                    }
                }
            }
        }
    }

    #[inline]
    fn step(&mut self, input: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Result<Step, Fault> {
        if let Some(happened) = self.backlog(out)? {
            return Ok(Step::Happened(happened));
        }
        let happened = match self.session.next(input, at, out)? {
            Signal::More => return Ok(Step::More),
            Signal::Done | Signal::Acknowledged => None,
            Signal::Settings { is_first, window_shift, streams_before } => {
                let peer = self.session.peer;
                let [least, most] = if is_first { [peer; 2] } else { self.allowed_range };
                self.allowed_range = [least.least(peer), most.most(peer)];
                self.settings(window_shift)?;
                let is_more = self.session.peer.streams > streams_before;
                if is_first { Some(Happened::Greeted) } else { is_more.then_some(Happened::Room) }
            }
            Signal::Widened => {
                self.backlog.resumes = true;
                None
            }
            Signal::HeadersBegun(id) => self.headers_begun(id)?,
            Signal::Headers(block) => self.headers(&block, input)?,
            Signal::DataBegun { head, content_bytes } => {
                self.data_begun(head, content_bytes).map(|()| None)?
            }
            Signal::Piece(id, range) => {
                let key = self.streams.find(id);
                key.map(|key| Happened::Body(self.streams[key].number, range))
            }
            Signal::DataEnd(head) => {
                self.data_end(head, out);
                None
            }
            Signal::Reset(id, code) => self.reset(id, code)?,
            Signal::Window(id, increment) => self.window(id, increment).map(|()| None)?,
            Signal::GoAway { last_stream, code } => Some(self.goaway(last_stream, code)?),
        };
        Ok(happened.map_or(Step::Quiet, Step::Happened))
    }

    /// What earlier frames set off.
    #[inline]
    fn backlog(&mut self, out: &mut Vec<u8>) -> Result<Option<Happened>, Fault> {
        if let Some(key) = self.backlog.completing.take() {
            return self.complete(key, out).map(Some);
        }
        if self.backlog.refuses {
            let newest = self.streams.newest();
            let last_stream = self.goodbye.map_or(frame::STREAM_MAX, |it| it.last_stream);
            match newest.filter(|&key| self.streams.id(key) > last_stream) {
                Some(key) => return Ok(Some(Happened::Refused(self.take(key)))),
                None => self.backlog.refuses = false,
            }
        }
        if self.backlog.resumes {
            let resumed = self.streams.resume_oldest(&mut self.session, out);
            self.backlog.resumes = resumed.is_some();
            return Ok(resumed.map(|key| Happened::Resumed(self.streams[key].number)));
        }
        Ok(None)
    }

    /// The server has changed its settings, and so the windows of open streams.
    fn settings(&mut self, window_shift: i64) -> Result<(), ConnectionError> {
        if window_shift != 0 {
            let shifted = self.streams.shift_windows(window_shift);
            shifted.map_err(|_| ConnectionError::WindowOverflow)?;
            self.backlog.resumes = true;
        }
        Ok(())
    }

    /// Judges a frame for a stream that is not open.
    #[cold]
    fn check_closed(&self, id: u32) -> Result<(), ConnectionError> {
        if id.is_multiple_of(2) || id >= self.next_stream {
            return Err(ConnectionError::IdleStream);
        }
        if self.session.given_up.may_have(id) { Ok(()) } else { Err(ConnectionError::StreamClosed) }
    }

    #[inline]
    fn headers_begun(&mut self, id: u32) -> Result<Option<Happened>, Fault> {
        let Some(key) = self.streams.find(id) else {
            self.check_closed(id)?;
            return Ok(None);
        };
        let exchange = &mut self.streams[key];
        if exchange.phase != Phase::Head || exchange.has_first_byte {
            return Ok(None);
        }
        exchange.has_first_byte = true;
        Ok(Some(Happened::FirstByte(exchange.number)))
    }

    #[inline]
    fn headers(&mut self, block: &BlockSignal, input: &[u8]) -> Result<Option<Happened>, Fault> {
        let fault = |error| Fault::Stream(block.stream, error);
        let Some(key) = self.streams.find(block.stream) else {
            self.session.decode(&block.at, input, |_, _| {})?;
            return Ok(None);
        };
        let happened = match self.streams[key].phase {
            Phase::Head => self.head(key, block, input)?,
            Phase::Body => self.trailers(key, block, input)?,
        };
        if block.is_loop {
            return Err(fault(StreamError::PriorityLoop));
        }
        if block.ends {
            self.backlog.completing = Some(key);
        }
        Ok(Some(happened))
    }

    #[inline]
    fn head(&mut self, key: Key, block: &BlockSignal, input: &[u8]) -> Result<Happened, Fault> {
        let fault = |error| Fault::Stream(block.stream, error);
        let list_bytes_max = self.session.limits.list_bytes as usize;
        let mut fields = ResponseFields::new(&mut self.lines, list_bytes_max);
        self.session.decode(&block.at, input, |name, value| fields.field(name, value))?;
        let parts = fields.finish().map_err(fault)?;
        let exchange = &mut self.streams[key];
        if parts.status < 200 {
            exchange.interim(block.ends).map_err(fault)?;
            return Ok(Happened::Interim(exchange.number, parts.status));
        }
        exchange.head(parts);
        Ok(Happened::Head(exchange.number, parts.status))
    }

    fn trailers(&mut self, key: Key, block: &BlockSignal, input: &[u8]) -> Result<Happened, Fault> {
        let fault = |error| Fault::Stream(block.stream, error);
        let list_bytes_max = self.session.limits.list_bytes as usize;
        let mut fields = TrailerFields::new(&mut self.lines, list_bytes_max);
        self.session.decode(&block.at, input, |name, value| fields.field(name, value))?;
        fields.finish().map_err(fault)?;
        if !block.ends {
            return Err(fault(StreamError::Sequence));
        }
        Ok(Happened::Trailers(self.streams[key].number))
    }

    #[inline]
    fn data_begun(&mut self, head: FrameHead, content_bytes: u32) -> Result<(), Fault> {
        let Some(key) = self.streams.find(head.stream) else {
            return Ok(self.check_closed(head.stream)?);
        };
        let fault = |error| Fault::Stream(head.stream, error);
        let exchange = &mut self.streams[key];
        if exchange.phase == Phase::Head {
            return Err(fault(StreamError::Sequence));
        }
        let received = exchange.window.receive(head.length);
        received.map_err(|_| fault(StreamError::WindowExceeded))?;
        exchange.held_bytes = if self.options.holds_windows { content_bytes } else { 0 };
        exchange.body(content_bytes).map_err(fault)
    }

    #[inline]
    fn data_end(&mut self, head: FrameHead, out: &mut Vec<u8>) {
        self.session.release(head.length, out);
        let Some(key) = self.streams.find(head.stream) else { return };
        let released_bytes = head.length - self.streams[key].held_bytes;
        if head.has(flag::END_STREAM) {
            self.backlog.completing = Some(key);
        } else if let Some(increment) = self.streams[key].window.release(released_bytes) {
            frame::write_window_update(out, head.stream, increment);
        }
    }

    /// The response has ended, and with it the request. If that was not sent whole, the server does
    /// not need the rest (RFC 9113 8.1).
    #[inline]
    fn complete(&mut self, key: Key, out: &mut Vec<u8>) -> Result<Happened, Fault> {
        let exchange = &self.streams[key];
        exchange.end().map_err(|error| Fault::Stream(self.streams.id(key), error))?;
        let happened = Happened::Complete(exchange.number, exchange.response);
        if exchange.upload.has_ended() {
            self.close(key);
        } else {
            self.give_up(key, ErrorCode::NO_ERROR, out);
        }
        Ok(happened)
    }

    /// The server gives a stream up.
    fn reset(&mut self, id: u32, code: ErrorCode) -> Result<Option<Happened>, Fault> {
        let Some(key) = self.streams.find(id) else {
            self.check_used(id)?;
            return Ok(None);
        };
        let is_unanswered = self.streams[key].phase == Phase::Head;
        let number = self.take(key);
        Ok(Some(match code {
            ErrorCode::REFUSED_STREAM if is_unanswered => Happened::Refused(number),
            _ => Happened::Reset(number, code),
        }))
    }

    /// RST_STREAM and WINDOW_UPDATE may come for a closed stream, but not for an idle one.
    fn check_used(&self, id: u32) -> Result<(), ConnectionError> {
        let is_idle = id.is_multiple_of(2) || id >= self.next_stream;
        if is_idle { Err(ConnectionError::IdleStream) } else { Ok(()) }
    }

    /// The server makes the window of one stream larger.
    fn window(&mut self, id: u32, increment: u32) -> Result<(), Fault> {
        let Some(key) = self.streams.find(id) else { return Ok(self.check_used(id)?) };
        let widened = self.streams.widen(key, increment);
        self.backlog.resumes |= widened.map_err(|error| Fault::Stream(id, error))?;
        Ok(())
    }

    /// The server takes no streams after `last_stream`. A later GOAWAY may lower it.
    fn goaway(&mut self, last_stream: u32, code: ErrorCode) -> Result<Happened, ConnectionError> {
        if self.goodbye.is_some_and(|before| last_stream > before.last_stream) {
            return Err(ConnectionError::BadGoAway);
        }
        self.goodbye = Some(Goodbye { last_stream, code });
        self.backlog.refuses = true;
        Ok(Happened::Draining(code))
    }

    /// The server broke the protocol on one stream.
    #[cold]
    fn break_stream(&mut self, id: u32, error: StreamError, out: &mut Vec<u8>) -> Option<Happened> {
        let key = self.streams.find(id)?;
        let number = self.streams[key].number;
        self.give_up(key, error.code(), out);
        Some(Happened::Broken(number, error))
    }

    /// Closes a stream that the server has ended; gives its request's number.
    fn take(&mut self, key: Key) -> u32 {
        let number = self.streams[key].number;
        self.close(key);
        number
    }
}
