//! The server's side of a connection: makes events of what a client sends, and writes responses.
//!
//! A stream is open from its [`ServerEvent::Request`] until both sides have ended theirs, or either
//! gives it up. What is to be sent on a stream that is no longer open is dropped: the client may
//! have given it up in the meantime.
//!
//! What a window holds back of a response is kept here and goes out as the client makes room. Small
//! frames can make the server write more than it reads (PING, RST_STREAM), so a caller should read
//! no more while the client does not take what was written.

mod event;
mod guard;
mod options;
mod receive;
mod stream;

pub use event::{RequestHead, ServerEvent};
pub use guard::LastStream;
pub use options::ServerOptions;

use event::HeadText;
use guard::{Numbers, Preface, Resets};
use stream::Stream;

use super::frame;
use super::hpack::HeadWriter;
use super::session::Session;
use super::settings::Settings;
use super::streams::{Key, Streams};
use super::upload::Body;
use super::{ConnectionError, Decoded, ErrorCode};

/// A server's connection.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    session: Session,
    streams: Streams<Stream>,
    preface: Preface,
    numbers: Numbers,
    resets: Resets,
    /// The last frame of this request has been read.
    completing: Option<Key>,
    /// Windows have become larger.
    resumes: bool,
    /// Bytes of the DATA frame being read that were handed out.
    handed_out_bytes: u32,
    /// The head that was read last.
    head: HeadText,
}

impl Server {
    /// A connection that has yet to begin.
    #[must_use]
    pub fn new(options: ServerOptions) -> Self {
        let options = options.bounded();
        let (settings, shared_fields) = (options.settings(), options.shared_fields);
        let session = Session::new(true, settings, &options.receiving, shared_fields);
        Self {
            options,
            session,
            streams: Streams::with_capacity(0),
            preface: Preface::new(),
            numbers: Numbers::new(),
            resets: Resets::default(),
            completing: None,
            resumes: false,
            handed_out_bytes: 0,
            head: HeadText::default(),
        }
    }

    /// A client has connected: greets it. Forgets the connection before.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.session.begin(out);
        while let Some(key) = self.streams.oldest() {
            self.close(key);
        }
        self.preface = Preface::new();
        self.numbers = Numbers::new();
        self.resets = Resets::default();
        self.resumes = false;
    }

    /// What the client allows.
    #[must_use]
    pub fn allowed(&self) -> &Settings {
        &self.session.peer
    }

    /// How many streams are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.streams.count()
    }

    /// Whether a stream is open.
    #[must_use]
    pub fn is_open(&self, stream: u32) -> bool {
        self.streams.find(stream).is_some()
    }

    /// Whether a window of the client's holds back a part of a response.
    /// [`ServerEvent::Resumed`] says when the rest has gone.
    #[must_use]
    pub fn is_stalled(&self, stream: u32) -> bool {
        self.streams.find(stream).is_some_and(|key| self.streams[key].upload.is_held_back())
    }

    /// Bytes of a response that windows of the client's hold back.
    #[must_use]
    pub fn held_bytes(&self, stream: u32) -> usize {
        self.streams.find(stream).map_or(0, |key| self.streams[key].upload.held_bytes())
    }

    /// Reads the next event out of `input`. Call it with the rest of the input until there is no
    /// event: what one frame sets off may be more than one event.
    ///
    /// # Errors
    /// When the client breaks the protocol in a way that ends the connection; then for every
    /// further call. `out` says goodbye to the client.
    #[inline]
    pub fn receive<'m, 'i>(
        &'m mut self,
        input: &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Decoded<ServerEvent<'m, 'i>>, ConnectionError> {
        let mut consumed = 0;
        let happened = self.advance(input, &mut consumed, out)?;
        let is_whole = self.completing.is_some();
        let event = happened.map(|happened| happened.event(&self.head, is_whole, input));
        Ok(Decoded { consumed, event })
    }

    /// The client sends no more.
    ///
    /// # Errors
    /// When the connection failed before, or was closed within a frame.
    pub fn end(&mut self) -> Result<(), ConnectionError> {
        self.session.end()
    }

    /// Sends the head of a response, interim or final; `head` writes its status and fields. `ends`:
    /// nothing follows it.
    pub fn send_head(
        &mut self,
        stream: u32,
        ends: bool,
        out: &mut Vec<u8>,
        head: impl FnOnce(&mut HeadWriter<'_>),
    ) {
        let Some(key) = self.streams.find(stream) else { return };
        let at = frame::reserve_head(out);
        head(&mut self.session.encoder.begin(out));
        let frame_bytes_max = self.session.peer.frame_bytes as usize;
        frame::finish_headers(out, at, stream, ends, frame_bytes_max);
        if ends {
            self.streams[key].upload.end();
            self.settle(key);
        }
    }

    /// Sends more of a response's body; `ends`: the last of it.
    pub fn send(&mut self, stream: u32, body: Body<'_>, ends: bool, out: &mut Vec<u8>) {
        let Some(key) = self.streams.find(stream) else { return };
        let upload = &mut self.streams[key].upload;
        if !upload.is_last() {
            upload.push(stream, body, ends, &mut self.session.line(out));
            self.settle(key);
        }
    }

    /// Ends a response with trailers, which `trailers` writes. `false`: windows still hold back a
    /// part of the body, so nothing was written; to be called again at [`ServerEvent::Resumed`].
    pub fn send_trailers(
        &mut self,
        stream: u32,
        out: &mut Vec<u8>,
        trailers: impl FnOnce(&mut HeadWriter<'_>),
    ) -> bool {
        let stalled = self.is_stalled(stream);
        if !stalled {
            self.send_head(stream, true, out, trailers);
        }
        !stalled
    }

    /// Gives a stream up. With REFUSED_STREAM: its request was not processed. With NO_ERROR, after
    /// a whole response: the rest of the request is not needed (RFC 9113 8.1).
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(key) = self.streams.find(stream) {
            self.give_up(key, code, out);
        }
    }

    /// The caller is done with bytes of a body, so the client may send as many more. Only with
    /// [`ServerOptions::holds_windows`]; also for streams that are closed by now.
    pub fn release(&mut self, stream: u32, bytes: u32, out: &mut Vec<u8>) {
        self.session.release(bytes, out);
        let Some(key) = self.streams.find(stream) else { return };
        let stream_ended = self.streams[key].has_ended;
        if let Some(increment) = self.streams[key].window.release(bytes).filter(|_| !stream_ended) {
            frame::write_window_update(out, stream, increment);
        }
    }

    /// Tells the client which requests are taken, and takes no others. Open requests above the last
    /// are given up: the client may send them again elsewhere.
    pub fn go_away(&mut self, last: LastStream, code: ErrorCode, out: &mut Vec<u8>) {
        let number = self.numbers.end(last);
        while let Some(key) = self.streams.newest().filter(|&key| self.streams.id(key) > number) {
            self.session.given_up.add(self.streams.id(key));
            self.close(key);
        }
        frame::write_goaway(out, number, code);
    }

    /// Bytes of memory that the client made it keep, streams left out.
    pub(super) fn kept_bytes(&self) -> usize {
        self.session.kept_bytes() + self.head.kept_bytes()
    }

    /// Closes a stream if both sides have ended it. Gives its number.
    fn settle(&mut self, key: Key) -> u32 {
        let id = self.streams.id(key);
        let stream = &self.streams[key];
        if stream.has_ended && stream.upload.has_ended() {
            self.resets.forgive();
            self.close(key);
        }
        id
    }

    /// Closes a stream, and tells the client to send no more on it.
    fn give_up(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) {
        let id = self.streams.id(key);
        frame::write_rst_stream(out, id, code);
        self.session.given_up.add(id);
        self.close(key);
    }

    fn close(&mut self, key: Key) {
        if self.streams[key].upload.is_held_back() {
            self.session.is_saved = false;
            self.resumes = true;
        }
        self.streams[key].upload.forget();
        if self.completing == Some(key) {
            self.completing = None;
        }
        self.streams.close(key);
    }
}
