//! One side of a connection after its upgrade: reads what the peer sends, answers what the protocol
//! answers by itself, and writes what the caller sends.

use super::deflate::DeflateParameters;
use super::frame::Opcode;
use super::mask::MaskKey;
use super::reader::{Message, Reader, Unit};
use super::sender::{Outgoing, Sender};
use super::{CloseCode, Decoded, Error, Kind, Limits, Role};

/// How a connection is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Which side this is.
    pub role: Role,
    /// How long what the peer sends may be.
    pub limits: Limits,
    /// What the handshake agreed on; `None` without compression.
    pub deflate: Option<DeflateParameters>,
}

/// What the peer sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message begins.
    Begin(Kind),
    /// A piece of it; never empty.
    Data(&'a [u8]),
    /// The message is complete.
    End(Message),
    /// A ping; its pong was written.
    Ping(&'a [u8]),
    /// A pong, asked for or not.
    Pong(&'a [u8]),
    /// The peer closes; it sends no more. Our own Close was written, unless it had been before.
    Close(Close<'a>),
}

/// What a Close frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close<'a> {
    /// Why; [`CloseCode::NO_STATUS`] when it does not say.
    pub code: CloseCode,
    /// The reason in words; often empty.
    pub reason: &'a str,
}

/// One side of a connection.
#[derive(Debug)]
pub struct Socket {
    reader: Reader,
    sender: Sender,
    failed: Option<Error>,
    /// The peer's Close has come.
    is_peer_closed: bool,
}

impl Socket {
    /// A connection whose handshake is done.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            reader: Reader::new(options.role, options.limits, options.deflate),
            sender: Sender::new(options.role),
            failed: None,
            is_peer_closed: false,
        }
    }

    /// Reads the next event out of `input` and appends what it calls for to `out`. The
    /// [module](super) says how to loop. A client masks its answer with `key`.
    ///
    /// # Errors
    /// When the peer breaks the protocol or a limit; then for every further call.
    #[inline]
    pub fn receive<'a>(
        &'a mut self,
        input: &'a [u8],
        key: MaskKey,
        out: &mut Vec<u8>,
    ) -> Result<Decoded<Event<'a>>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        if self.is_peer_closed {
            return Ok(Decoded { consumed: input.len(), event: None });
        }
        let mut consumed = 0;
        let unit = match self.reader.next(input, &mut consumed) {
            Ok(unit) => unit,
            Err(error) => return Err(self.fail(error, key, out)),
        };
        let event = match unit {
            Unit::More => None,
            Unit::Begin(kind) => Some(Event::Begin(kind)),
            Unit::Piece(place) => Some(Event::Data(self.reader.piece(input, place))),
            Unit::End(message) => Some(Event::End(message)),
            Unit::Control(Opcode::Close) => Some(self.take_close(key, out)?),
            Unit::Control(Opcode::Ping) => {
                self.sender.control(Opcode::Pong, self.reader.control(), key, out);
                Some(Event::Ping(self.reader.control()))
            }
            Unit::Control(_) => Some(Event::Pong(self.reader.control())),
        };
        Ok(Decoded { consumed, event })
    }

    /// The peer's side of the connection has ended (a FIN).
    ///
    /// # Errors
    /// When no Close came before, or the connection had failed.
    pub fn end(&mut self) -> Result<(), Error> {
        match self.failed {
            Some(error) => Err(error),
            None if self.is_peer_closed => Ok(()),
            None => {
                let error = if self.reader.is_idle() { Error::NoClose } else { Error::Truncated };
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    /// Appends a message, or a fragment of one, to `out`. False, and nothing appended, once a Close
    /// was sent. A client masks it with `key`; a server ignores that.
    #[inline]
    pub fn send(&mut self, what: &Outgoing<'_>, key: MaskKey, out: &mut Vec<u8>) -> bool {
        self.sender.message(what, key, out)
    }

    /// Appends a ping; of `payload` at most 125 bytes. False as for [`send`](Self::send).
    pub fn ping(&mut self, payload: &[u8], key: MaskKey, out: &mut Vec<u8>) -> bool {
        self.sender.control(Opcode::Ping, payload, key, out)
    }

    /// Appends a pong that nobody asked for; of `payload` at most 125 bytes. False as for
    /// [`send`](Self::send).
    pub fn pong(&mut self, payload: &[u8], key: MaskKey, out: &mut Vec<u8>) -> bool {
        self.sender.control(Opcode::Pong, payload, key, out)
    }

    /// Appends a Close, the last that this side sends. It has neither code nor reason when `code`
    /// is `None` or one that is never sent; of the reason at most 123 bytes are sent. False as for
    /// [`send`](Self::send).
    pub fn close(
        &mut self,
        code: Option<CloseCode>,
        reason: &str,
        key: MaskKey,
        out: &mut Vec<u8>,
    ) -> bool {
        self.sender.close(code, reason, key, out)
    }

    /// Whether this side has sent its Close.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether both sides have sent their Close. The server ends the connection then, the client
    /// waits for that (RFC 6455 7.1.1).
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.is_peer_closed && self.sender.is_closed()
    }

    /// Whether neither a frame nor a message of the peer is under way.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.reader.is_idle()
    }

    /// Bytes of memory for what passes through.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        self.reader.kept_bytes()
    }

    /// Says why the connection fails, unless a Close was sent before.
    #[cold]
    fn fail(&mut self, error: Error, key: MaskKey, out: &mut Vec<u8>) -> Error {
        self.failed = Some(error);
        self.sender.close(Some(error.code()), "", key, out);
        error
    }

    fn take_close(&mut self, key: MaskKey, out: &mut Vec<u8>) -> Result<Event<'_>, Error> {
        if let Err(error) = close_of(self.reader.control()) {
            return Err(self.fail(error, key, out));
        }
        self.is_peer_closed = true;
        let close = close_of(self.reader.control())?;
        self.sender.close(Some(close.code), "", key, out);
        Ok(Event::Close(close))
    }
}

/// Reads the payload of a Close frame (RFC 6455 5.5.1).
fn close_of(payload: &[u8]) -> Result<Close<'_>, Error> {
    let (code, reason) = match payload {
        [] => return Ok(Close { code: CloseCode::NO_STATUS, reason: "" }),
        [_] => return Err(Error::CloseLength),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    let code = CloseCode::new(code).ok_or(Error::InvalidCloseCode)?;
    let reason = std::str::from_utf8(reason).map_err(|_| Error::InvalidCloseReason)?;
    Ok(Close { code, reason })
}
