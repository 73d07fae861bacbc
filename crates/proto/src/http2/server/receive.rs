//! What a client's frames do to the server's streams.

use super::event::Happened;
use super::{Key, Server};
use crate::http2::error::Fault;
use crate::http2::frame::{self, FrameHead, flag};
use crate::http2::head::{RequestFields, TrailerFields};
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

impl Server {
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
            let fault = match self.step(input, at, out) {
                Ok(Step::More) => return Ok(None),
                Ok(Step::Quiet) => continue,
                Ok(Step::Happened(happened)) => return Ok(Some(happened)),
                Err(fault) => fault,
            };
            match self.judge(fault, out) {
                Ok(None) => {}
                Ok(Some(happened)) => return Ok(Some(happened)),
                Err(error) => {
                    return Err(self.session.fail(error, self.numbers.last(), out));
                }
            }
        }
    }

    #[inline]
    fn step(&mut self, input: &[u8], at: &mut usize, out: &mut Vec<u8>) -> Result<Step, Fault> {
        if let Some(happened) = self.backlog(out)? {
            return Ok(Step::Happened(happened));
        }
        if !self.preface.is_over() && !self.preface.read(input, at)? {
            return Ok(Step::More);
        }
        let happened = match self.session.next(input, at, out)? {
            Signal::More => return Ok(Step::More),
            Signal::Done => None,
            Signal::Settings { is_first, window_shift, .. } => {
                let shifted = self.streams.shift_windows(window_shift);
                shifted.map_err(|_| ConnectionError::WindowOverflow)?;
                self.resumes |= window_shift != 0;
                is_first.then_some(Happened::Greeted)
            }
            Signal::Acknowledged => {
                self.streams.shrink_windows(self.options.receiving.window_bytes);
                None
            }
            Signal::Widened => {
                self.resumes = true;
                None
            }
            Signal::HeadersBegun(id) => {
                let is_open = self.streams.find(id).is_some();
                self.numbers.check_headers(id, is_open, &self.session.given_up)?;
                None
            }
            Signal::Headers(block) => self.headers(&block, input, out)?,
            Signal::DataBegun { head, content_bytes } => {
                self.data_begun(head, content_bytes).map(|()| None)?
            }
            Signal::Piece(id, range) => {
                self.hands_out(id, range.len()).then_some(Happened::Body(id, range))
            }
            Signal::DataEnd(head) => {
                self.data_end(head, out);
                None
            }
            Signal::Reset(id, code) => self.client_reset(id, code)?,
            Signal::Window(id, increment) => self.window(id, increment).map(|()| None)?,
            Signal::GoAway { code, .. } => Some(Happened::Draining(code)),
        };
        Ok(happened.map_or(Step::Quiet, Step::Happened))
    }

    /// What earlier frames set off.
    #[inline]
    fn backlog(&mut self, out: &mut Vec<u8>) -> Result<Option<Happened>, Fault> {
        if let Some(key) = self.completing.take() {
            let id = self.streams.id(key);
            self.streams[key].end().map_err(|error| Fault::Stream(id, error))?;
            return Ok(Some(Happened::End(self.settle(key))));
        }
        if self.resumes {
            let resumed = self.streams.resume_oldest(&mut self.session, out);
            self.resumes = resumed.is_some();
            return Ok(resumed.map(|key| Happened::Resumed(self.settle(key))));
        }
        Ok(None)
    }

    #[inline]
    fn headers(
        &mut self,
        block: &BlockSignal,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Happened>, Fault> {
        let happened = match self.streams.find(block.stream) {
            Some(key) => Some(self.trailers(key, block, input)?),
            None if self.numbers.is_new(block.stream) => self.request(block, input, out)?,
            None => {
                self.session.decode(&block.at, input, |_, _| {})?;
                None
            }
        };
        if block.ends {
            self.completing = self.streams.find(block.stream);
        }
        Ok(happened)
    }

    /// The head of a new request.
    fn request(
        &mut self,
        block: &BlockSignal,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Happened>, Fault> {
        let id = block.stream;
        let is_taken = self.numbers.open(id);
        let list_bytes_max = self.session.limits.list_bytes as usize;
        let head = &mut self.head;
        let fields = RequestFields::new(&mut head.lines, &mut head.text, list_bytes_max);
        let mut fields = fields.with_protocol(self.options.connect_protocol);
        self.session.decode(&block.at, input, |name, value| fields.field(name, value))?;
        if !is_taken {
            self.session.given_up.add(id);
            return Ok(None);
        }
        let parts = fields.finish().map_err(|error| Fault::Stream(id, error))?;
        check_priority(block)?;
        self.head.parts = parts;
        if self.streams.count() >= self.options.streams as usize {
            frame::write_rst_stream(out, id, ErrorCode::REFUSED_STREAM);
            self.session.given_up.add(id);
            return Ok(None);
        }
        let window_bytes =
            self.options.receiving.opening_window_bytes(self.session.is_acknowledged);
        let key = self.streams.open(id);
        self.streams[key].begin(self.head.parts.content_length, window_bytes);
        self.streams[key].upload.begin(self.session.peer.window_bytes, false);
        Ok(Some(Happened::Request(id)))
    }

    fn trailers(&mut self, key: Key, block: &BlockSignal, input: &[u8]) -> Result<Happened, Fault> {
        let fault = |error| Fault::Stream(block.stream, error);
        let list_bytes_max = self.session.limits.list_bytes as usize;
        let mut fields = TrailerFields::new(&mut self.head.lines, list_bytes_max);
        self.session.decode(&block.at, input, |name, value| fields.field(name, value))?;
        if self.streams[key].has_ended {
            return Err(fault(StreamError::HalfClosed));
        }
        if !block.ends {
            return Err(fault(StreamError::Sequence));
        }
        fields.finish().map_err(fault)?;
        check_priority(block)?;
        Ok(Happened::Trailers(block.stream))
    }

    #[inline]
    fn data_begun(&mut self, head: FrameHead, content_bytes: u32) -> Result<(), Fault> {
        self.handed_out_bytes = 0;
        let Some(key) = self.streams.find(head.stream) else {
            return Ok(self.numbers.check_closed(head.stream, &self.session.given_up)?);
        };
        let fault = |error| Fault::Stream(head.stream, error);
        let stream = &mut self.streams[key];
        if stream.has_ended {
            return Err(fault(StreamError::HalfClosed));
        }
        let received = stream.window.receive(head.length);
        received.map_err(|_| fault(StreamError::WindowExceeded))?;
        stream.body(content_bytes).map_err(fault)
    }

    /// A piece of a body: counts it, and says whether its stream is still open.
    #[inline]
    fn hands_out(&mut self, id: u32, bytes: usize) -> bool {
        let is_open = self.streams.find(id).is_some();
        if is_open {
            self.handed_out_bytes += bytes as u32;
        }
        is_open
    }

    #[inline]
    fn data_end(&mut self, head: FrameHead, out: &mut Vec<u8>) {
        let held_bytes = if self.options.holds_windows { self.handed_out_bytes } else { 0 };
        let released_bytes = head.length - held_bytes;
        self.session.release(released_bytes, out);
        let Some(key) = self.streams.find(head.stream) else { return };
        if head.has(flag::END_STREAM) {
            self.completing = Some(key);
        } else if let Some(increment) = self.streams[key].window.release(released_bytes) {
            frame::write_window_update(out, head.stream, increment);
        }
    }

    /// The client gives a stream up.
    fn client_reset(&mut self, id: u32, code: ErrorCode) -> Result<Option<Happened>, Fault> {
        let Some(key) = self.streams.find(id) else {
            self.numbers.check_used(id)?;
            return Ok(None);
        };
        self.close(key);
        self.resets.add(self.session.limits.resets)?;
        Ok(Some(Happened::Reset(id, code)))
    }

    /// The client makes the window of one stream larger.
    fn window(&mut self, id: u32, increment: u32) -> Result<(), Fault> {
        let Some(key) = self.streams.find(id) else { return Ok(self.numbers.check_used(id)?) };
        let widened = self.streams.widen(key, increment);
        self.resumes |= widened.map_err(|error| Fault::Stream(id, error))?;
        Ok(())
    }

    /// Ends what a fault ends: the connection, by an error, or a stream.
    #[cold]
    fn judge(
        &mut self,
        fault: Fault,
        out: &mut Vec<u8>,
    ) -> Result<Option<Happened>, ConnectionError> {
        let (id, error) = match fault {
            Fault::Connection(error) => return Err(error),
            Fault::Stream(id, error) => (id, error),
        };
        self.resets.add(self.session.limits.resets)?;
        if let Some(key) = self.streams.find(id) {
            self.give_up(key, error.code(), out);
            return Ok(Some(Happened::Broken(id, error)));
        }
        if let Some(error) = self.numbers.idle_error(id, error.code()) {
            return Err(error);
        }
        frame::write_rst_stream(out, id, error.code());
        self.session.given_up.add(id);
        Ok(None)
    }
}

fn check_priority(block: &BlockSignal) -> Result<(), Fault> {
    if block.is_loop { Err(Fault::Stream(block.stream, StreamError::PriorityLoop)) } else { Ok(()) }
}
