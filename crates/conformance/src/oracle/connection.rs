//! One connection of an oracle: what was read, what is to be written, and where in that it is.
//!
//! A connection of HTTP/1 has one request at a time; one of HTTP/2 and a WebSocket have a session
//! instead.
//!
//! ```text
//! idle ──request──► waiting ──due──► writing ──done──► idle
//!                                      │  ▲
//!                                      └──┘ pause between pieces
//! ```

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};

use super::answer::{Bytes, Piece};
use super::clock_ns;
use super::http2::{self, Start};
use super::log::Log;
use super::mode::Act;
use super::request::{self, Request};
use super::session::{Next, Session};
use super::shared::Shared;
use super::wire::Wire;

/// Bytes of unread requests above which a tester is not talking sense.
const INPUT_MAX: usize = 1 << 20;
/// Bytes read at once, so that one connection with much to say does not keep the others waiting.
const TURN_MAX: usize = 1 << 18;

/// A request that waits for its answer or is being answered.
pub(super) struct Pending {
    /// Its number in the log.
    pub entry: usize,
    /// The request.
    pub request: Request,
    /// What becomes of it when it is due.
    pub act: Act,
}

/// What reading brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Something or nothing; the connection stands.
    Open,
    /// The tester is done.
    Ended,
    /// The connection failed.
    Failed,
}

/// How far writing got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// All is written; the last piece at this time, ns.
    Done(u64),
    /// The kernel takes no more for now.
    Blocked,
    /// How much later the next piece is due, ns.
    Pause(u64),
    /// The connection failed.
    Failed,
}

/// One connection.
pub(super) struct Peer {
    /// The socket, with TLS where there is any.
    pub stream: Wire,
    /// Its number in the log, which also tells uses of a slot apart.
    pub id: usize,
    /// The request at hand.
    pub pending: Option<Pending>,
    /// Whether to close once all is written.
    pub close: bool,
    /// Answers given.
    pub answers: u32,
    /// Whether it waits to be written to.
    pub blocked: bool,
    /// What it speaks, where that is not HTTP/1.
    pub session: Option<Box<Session>>,
    input: Vec<u8>,
    reads: u16,
    pieces: VecDeque<Piece>,
    written: usize,
}

impl Peer {
    pub(super) fn new(stream: Wire, id: usize) -> Self {
        Self {
            stream,
            id,
            pending: None,
            close: false,
            answers: 0,
            blocked: false,
            session: None,
            input: Vec::new(),
            reads: 0,
            pieces: VecDeque::new(),
            written: 0,
        }
    }

    /// Reads what is there.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Input {
        let mut turn = 0;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Input::Ended,
                Ok(n) => {
                    self.input.extend_from_slice(&buffer[..n]);
                    self.reads = self.reads.saturating_add(1);
                    if self.input.len() > INPUT_MAX {
                        return Input::Failed;
                    }
                    turn += n;
                    if n < buffer.len() || turn >= TURN_MAX {
                        return Input::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Input::Open,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Input::Failed,
            }
        }
    }

    /// Logs when the handshake of TLS ended and what it chose, once that is so.
    pub(super) fn note_handshake(&self, log: &mut Log) {
        let connection = &mut log.connections[self.id];
        match self.stream.chosen() {
            Some(alpn) if connection.handshake_ns == 0 => {
                connection.handshake_ns = clock_ns();
                connection.alpn = alpn;
            }
            _ => {}
        }
    }

    /// What it begins with, before its first request; later always something else.
    pub(super) fn start(&self) -> Start {
        let is_new = self.answers == 0 && self.pending.is_none() && !self.input.is_empty();
        if is_new { http2::start(&self.input) } else { Start::Other }
    }

    /// Goes on with something else than HTTP/1 after a preface of this many bytes.
    pub(super) fn begin(&mut self, preface: usize, session: Session) {
        self.input.drain(..preface);
        self.session = Some(Box::new(session));
    }

    /// Takes up all frames that were read.
    pub(super) fn receive_frames(&mut self, shared: &mut Shared) -> Next {
        let Some(session) = &mut self.session else { return Next::Open };
        session.receive(&mut self.input, shared)
    }

    /// The next request and how many reads it took, when no other is at hand.
    pub(super) fn take_request(&mut self) -> Option<(Request, u16)> {
        if self.pending.is_some() {
            return None;
        }
        let request = request::parse(&self.input)?;
        self.input.drain(..request.bytes);
        let reads = std::mem::take(&mut self.reads);
        // What is left came with the same read.
        self.reads = u16::from(!self.input.is_empty());
        Some((request, reads))
    }

    /// Takes an answer to write; how many bytes it has.
    pub(super) fn answer(&mut self, bytes: Bytes) -> usize {
        self.close |= bytes.close;
        self.pieces = bytes.pieces.into();
        self.pieces.iter().map(|(_, piece)| piece.len()).sum()
    }

    /// Whether an answer is being written.
    pub(super) fn is_writing(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// Writes until something stands in the way. A pause before the first piece is over.
    pub(super) fn write(&mut self, log: &mut Log) -> Output {
        if let Some(session) = &mut self.session {
            return session.write(&mut self.stream, log);
        }
        let mut at_ns = 0;
        while let Some((_, piece)) = self.pieces.front() {
            while self.written < piece.len() {
                at_ns = clock_ns();
                match self.stream.write(&piece[self.written..]) {
                    Ok(n) => self.written += n,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Output::Blocked;
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Output::Failed,
                }
            }
            self.written = 0;
            self.pieces.pop_front();
            match self.pieces.front() {
                Some((pause_ns, _)) if *pause_ns > 0 => return Output::Pause(*pause_ns),
                _ => {}
            }
        }
        Output::Done(at_ns)
    }
}
