//! The client's side of a connection: starts requests, and makes events of what the server sends.
//!
//! ```text
//!   begin ──▶ greeting ── SETTINGS ──▶ open ── GOAWAY, or streams used up ──▶ spent
//!                 any state ── connection error ──▶ failed: the same error from then on
//! ```
//!
//! A request ends by exactly one of: [`Event::Complete`], [`Event::Refused`], [`Event::Reset`],
//! [`Event::Broken`], [`Client::cancel`], or [`Client::drain`].
//!
//! What a window or the limit of the output holds back of a body is kept here, and goes out as the
//! server or the kernel makes room. What the
//! server sends is never kept: its bytes are credited as soon as a DATA frame is read whole, or on
//! its stream when the caller is done with them ([`ClientOptions::holds_windows`]).

mod event;
mod exchange;
mod options;
mod receive;

pub use event::{Event, Head, Response};
pub use options::ClientOptions;

use exchange::Exchange;

use super::frame;
use super::hpack::HeadWriter;
use super::session::Session;
use super::settings::Settings;
use super::streams::{Key, Streams};
use super::upload::Body;
use super::{ConnectionError, Decoded, ErrorCode};

/// What a client's connection begins with (RFC 9113 3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// From this stream on a connection is replaced, well before its numbers end at 2^31-1.
const STREAM_LAST: u32 = 1 << 30;

/// What of a request is not in its head.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    /// Whether it is a HEAD request, whose response has no body.
    pub is_head: bool,
    /// The body, or its start.
    pub body: Body<'a>,
    /// Whether that is all of the body. If not, [`Client::send`] sends the rest.
    pub ends: bool,
}

/// A client's connection.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    session: Session,
    streams: Streams<Exchange>,
    next_stream: u32,
    /// The least and the most of each setting that the server has had in force.
    allowed_range: [Settings; 2],
    /// The server's last GOAWAY.
    goodbye: Option<Goodbye>,
    /// What the server's last bytes set off and is yet to be told.
    backlog: Backlog,
    /// The head that was read last, as lines.
    lines: Vec<u8>,
}

/// What a GOAWAY says.
#[derive(Debug, Clone, Copy)]
struct Goodbye {
    /// The server takes no stream after this one.
    last_stream: u32,
    code: ErrorCode,
}

/// The open requests, on their way out.
struct Drain<'c>(&'c mut Client);

impl Iterator for Drain<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let Self(client) = self;
        let key = client.streams.oldest()?;
        let number = client.streams[key].number;
        client.close(key);
        Some(number)
    }
}

impl Drop for Drain<'_> {
    fn drop(&mut self) {
        self.for_each(drop);
    }
}

#[derive(Debug, Default)]
struct Backlog {
    /// The last frame of this response has been read.
    completing: Option<Key>,
    /// Streams above the last one of a GOAWAY may be open.
    refuses: bool,
    /// There is more room for bodies.
    resumes: bool,
}

impl Client {
    /// A connection that has yet to begin. Allocates what requests need on the prepared streams.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        let options = options.bounded();
        let (settings, shared_fields) = (options.settings(), options.shared_fields);
        let mut session = Session::new(false, settings, &options.receiving, shared_fields);
        session.limit_output(options.output_bytes_max);
        Self {
            options,
            session,
            streams: Streams::with_capacity(options.prepared_streams as usize),
            next_stream: 1,
            allowed_range: [Settings::INITIAL; 2],
            goodbye: None,
            backlog: Backlog::default(),
            lines: Vec::new(),
        }
    }

    /// The way to the server stands: greets it. Forgets the connection before.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(PREFACE);
        self.session.begin(out);
        while let Some(key) = self.streams.oldest() {
            self.close(key);
        }
        self.next_stream = 1;
        self.goodbye = None;
        self.backlog = Backlog::default();
    }

    /// Whether the server has announced its settings.
    #[must_use]
    pub fn is_greeted(&self) -> bool {
        self.session.is_greeted
    }

    /// What the server allows now.
    #[must_use]
    pub fn allowed(&self) -> &Settings {
        &self.session.peer
    }

    /// The least and the most of each setting that the server has allowed on this connection since
    /// its first SETTINGS.
    #[must_use]
    pub fn allowed_range(&self) -> &[Settings; 2] {
        &self.allowed_range
    }

    /// How many more requests can be started now: none before the server's settings.
    #[inline]
    #[must_use]
    pub fn room(&self) -> usize {
        if !self.session.is_greeted || self.is_spent() {
            return 0;
        }
        let most = self.options.streams.min(self.session.peer.streams) as usize;
        most.saturating_sub(self.streams.count())
    }

    /// Whether no request can be started on this connection any more. Open ones may go on.
    #[inline]
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.goodbye.is_some() || self.next_stream > STREAM_LAST || self.session.failed.is_some()
    }

    /// Why the server takes no more requests, once its GOAWAY has said so.
    #[must_use]
    pub fn goodbye(&self) -> Option<ErrorCode> {
        self.goodbye.map(|goodbye| goodbye.code)
    }

    /// Whether the server broke the protocol, and was told so.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.session.failed.is_some()
    }

    /// How many requests are open.
    #[must_use]
    pub fn open(&self) -> usize {
        self.streams.count()
    }

    /// The numbers of the open requests, in the order in which they were started.
    pub fn requests(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.streams.keys().map(|key| self.streams[key].number)
    }

    /// Starts a request, for which there must be [`room`](Self::room), under a number that no open
    /// request has. `head` writes its fields: `:method`, `:scheme`, `:authority` and `:path`, then
    /// the others.
    pub fn start(
        &mut self,
        number: u32,
        outgoing: &Outgoing<'_>,
        out: &mut Vec<u8>,
        head: impl FnOnce(&mut HeadWriter<'_>),
    ) {
        debug_assert!(self.room() > 0);
        let id = self.next_stream;
        self.next_stream += 2;
        let key = self.streams.open(id);
        let exchange = &mut self.streams[key];
        exchange.begin(number, outgoing.is_head, self.session.local.window_bytes);
        let is_empty = outgoing.body.bytes().is_empty();
        let has_ended = outgoing.ends && is_empty;
        exchange.upload.begin(self.session.peer.window_bytes, has_ended);
        let at = frame::reserve_head(out);
        head(&mut self.session.encoder.begin(out));
        frame::finish_headers(out, at, id, has_ended, self.session.peer.frame_bytes as usize);
        if !is_empty {
            let mut line = self.session.line(out);
            exchange.upload.push(id, outgoing.body, outgoing.ends, &mut line);
        }
    }

    /// Sends more of a request's body; `ends`: the last of it. Ignored if the request has ended or
    /// was sent whole.
    pub fn send(&mut self, number: u32, body: Body<'_>, ends: bool, out: &mut Vec<u8>) {
        let Some(key) = self.find(number) else { return };
        let id = self.streams.id(key);
        let upload = &mut self.streams[key].upload;
        if !upload.is_last() {
            upload.push(id, body, ends, &mut self.session.line(out));
        }
    }

    /// Whether a part of this request's body is held back: by the kernel if the output
    /// [is full](Self::is_full), else by a window of the server's. [`Event::Resumed`] says when the
    /// rest has gone.
    #[must_use]
    pub fn is_held_back(&self, number: u32) -> bool {
        self.find(number).is_some_and(|key| self.streams[key].upload.is_held_back())
    }

    /// Whether as many bytes of bodies wait for the kernel as the limit allows.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.session.is_full()
    }

    /// The kernel has taken output of this connection and has yet to take `queued_bytes`. Whether
    /// bodies that it held back can go on: [`receive`](Self::receive), without input too, sends
    /// them.
    #[inline]
    pub fn output_taken(&mut self, queued_bytes: usize) -> bool {
        let goes_on = self.session.output_taken(queued_bytes);
        self.backlog.resumes |= goes_on;
        goes_on
    }

    /// Gives up on one request; the others go on. `false`: no such request is open.
    pub fn cancel(&mut self, number: u32, out: &mut Vec<u8>) -> bool {
        let Some(key) = self.find(number) else { return false };
        self.give_up(key, ErrorCode::CANCEL, out);
        true
    }

    /// The caller is done with bytes of a response's body, so the server may send as many more.
    /// Only with [`ClientOptions::holds_windows`]. Ignored if the request has ended.
    pub fn release(&mut self, number: u32, bytes: u32, out: &mut Vec<u8>) {
        let Some(key) = self.find(number) else { return };
        if let Some(increment) = self.streams[key].window.release(bytes) {
            frame::write_window_update(out, self.streams.id(key), increment);
        }
    }

    /// Reads the next event out of `input`. Call it with the rest of the input until there is no
    /// event: what one frame sets off may be more than one event.
    ///
    /// # Errors
    /// When the server breaks the protocol in a way that ends the connection; then for every
    /// further call. The open requests are still in it, and `out` says goodbye to the server.
    #[inline]
    pub fn receive<'a>(
        &'a mut self,
        input: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Result<Decoded<Event<'a>>, ConnectionError> {
        let mut consumed = 0;
        let happened = self.advance(input, &mut consumed, out)?;
        let event = happened.map(|happened| happened.event(input, &self.lines));
        Ok(Decoded { consumed, event })
    }

    /// The server sends no more. Requests that are open will not be answered; they are still in it.
    ///
    /// # Errors
    /// When the connection failed before, or was closed within a frame.
    pub fn end(&mut self) -> Result<(), ConnectionError> {
        self.session.end()
    }

    /// Takes the open requests out, in the order in which they were started; those that are not
    /// asked for too.
    pub fn drain(&mut self) -> impl Iterator<Item = u32> {
        Drain(self)
    }

    /// Bytes of memory that the server made it keep, streams left out.
    pub(super) fn kept_bytes(&self) -> usize {
        self.session.kept_bytes() + self.lines.capacity()
    }

    /// Requests are asked for soon after they were started, so the newest is tried first.
    fn find(&self, number: u32) -> Option<Key> {
        self.streams.keys().rev().find(|&key| self.streams[key].number == number)
    }

    /// Closes a stream, and tells the server to send no more on it.
    fn give_up(&mut self, key: Key, code: ErrorCode, out: &mut Vec<u8>) {
        let id = self.streams.id(key);
        frame::write_rst_stream(out, id, code);
        self.session.given_up.add(id);
        self.close(key);
    }

    fn close(&mut self, key: Key) {
        if self.streams[key].upload.is_held_back() {
            self.session.is_saved = false;
            self.backlog.resumes = true;
        }
        self.streams[key].upload.forget();
        if self.backlog.completing == Some(key) {
            self.backlog.completing = None;
        }
        self.streams.close(key);
    }
}
