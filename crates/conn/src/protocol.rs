//! The seam between a connection and what is spoken on it.
//!
//! A protocol is a state machine without a socket and without a clock: bytes go in, events and
//! bytes to be sent come out. The engine runs over any of them.

use std::fmt;

use plimsoll_core::compression::Sizes;
use plimsoll_core::protocol::AllowedRange;
use plimsoll_io::PayloadId;

use crate::event::{ExchangeId, Failure, Progress};
use crate::request::{Encoding, Message, WrittenError};

/// What of a request goes on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire<'m> {
    /// A payload that the driver knows, and its length.
    Registered(PayloadId, usize),
    /// Bytes of the message, as they are.
    Bytes(&'m [u8]),
    /// What the protocol has written to `out`.
    Framed,
}

/// What is spoken on a connection once the way to the server stands.
///
/// Each exchange that was started is told of as ended exactly once: by an event (complete, refused,
/// reset), by [`cancel`](Self::cancel), or by [`drain`](Self::drain). `out` takes the bytes that
/// are to be sent; what is in it already stays. What the peer or the kernel has no room for yet is
/// the protocol's to keep, and to send as room comes.
pub trait Protocol: fmt::Debug {
    /// What all connections of a run have in common.
    type Settings: fmt::Debug + Clone;

    /// The form it gives a request before the run.
    type Encoding: Encoding;

    /// Whether requests that are started together leave together: what [`start`](Self::start)
    /// writes is kept until [`Connection::flush`](crate::Connection::flush). Then all that it
    /// sends is [`Wire::Framed`].
    const GATHERS: bool;

    /// Whether an exchange may end when the kernel has taken its request, so that
    /// [`taken`](Self::taken) has to be asked.
    const ENDS_WHEN_TAKEN: bool = false;

    /// What is spoken on this connection once it is open, as ALPN names it (RFC 7301).
    fn name(&self) -> &'static str;

    /// Whether this is what TLS has agreed on (RFC 7301).
    fn is_agreed(alpn: Option<&[u8]>) -> bool;

    /// The protocol on a connection that has yet to be opened.
    fn new(settings: &Self::Settings) -> Self;

    /// The most exchanges that a connection can have at a time.
    fn exchanges_max(settings: &Self::Settings) -> usize;

    /// The connection is open for it, and this is what TLS has agreed on; `None` without TLS too.
    /// Forgets the connection before.
    fn begin(&mut self, alpn: Option<&[u8]>, out: &mut Vec<u8>);

    /// Whether the peer has said what a client must know before its first request.
    fn is_greeted(&self) -> bool;

    /// How many exchanges the peer allows at a time, once it has said so; `u32::MAX`: no limit.
    fn exchanges_allowed(&self) -> Option<u32> {
        None
    }

    /// What the peer has allowed since it first said so.
    fn allowed_range(&self) -> Option<AllowedRange> {
        None
    }

    /// Whether the peer agreed to messages being compressed; `None` where that was not offered.
    fn is_compressed(&self) -> Option<bool> {
        None
    }

    /// How many more exchanges can be started now.
    fn room(&self) -> usize;

    /// Whether no further exchange can be started on this connection. Open ones may go on.
    fn is_spent(&self) -> bool;

    /// Whether the peer was told why the connection ends, and is to read it.
    fn has_said_goodbye(&self) -> bool {
        false
    }

    /// How many exchanges are open.
    fn open_exchanges(&self) -> usize;

    /// The open exchanges in the order in which they were started.
    fn exchanges(&self) -> impl DoubleEndedIterator<Item = ExchangeId>;

    /// Starts an exchange. There must be [`room`](Self::room), but for messages without bytes:
    /// those were sent as part of the one before.
    ///
    /// # Errors
    /// When a request that was written during the run does not fit the protocol: nothing was
    /// started. One that was compiled fits.
    fn start<'m>(
        &mut self,
        exchange: ExchangeId,
        message: &Message<'m, Self::Encoding>,
        out: &mut Vec<u8>,
    ) -> Result<Wire<'m>, WrittenError>;

    /// Sends the body of a request that was started without it, or further messages of a call;
    /// `message` is the same, but for the messages. A protocol that holds nothing back has nothing
    /// to send.
    fn send_rest<'m>(
        &mut self,
        _exchange: ExchangeId,
        _message: &Message<'m, Self::Encoding>,
        _out: &mut Vec<u8>,
    ) -> Wire<'m> {
        Wire::Framed
    }

    /// How long the body was that was handed over last, where the protocol says so; of a call,
    /// those of its messages.
    fn body_bytes(&self) -> usize {
        0
    }

    /// How long the message was that was started last, where it was compressed.
    fn compressed(&self) -> Option<Sizes> {
        None
    }

    /// Whether a part of this exchange's request is held back: by the kernel if the output
    /// [is full](Self::is_full), else by the peer's flow control, as a window of the stream or of
    /// the connection. To be asked when the request or its body has just been handed over;
    /// [`Progress::Resumed`] says when the rest has gone.
    #[inline]
    fn is_held_back(&self, _exchange: ExchangeId) -> bool {
        false
    }

    /// Whether as many bytes of bodies wait for the kernel as the limit allows.
    #[inline]
    fn is_full(&self) -> bool {
        false
    }

    /// The kernel has taken output and has yet to take `queued_bytes`. Whether bodies that it held
    /// back can go on: [`receive`](Self::receive) without bytes sends them.
    #[inline]
    fn output_taken(&mut self, _queued_bytes: usize) -> bool {
        false
    }

    /// Reads what was received.
    ///
    /// # Errors
    /// When the connection can't be used any further; the open exchanges are still in it.
    fn receive(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        progress: &mut impl FnMut(Progress<'_>),
    ) -> Result<(), Failure>;

    /// The kernel has taken all that was started.
    fn taken(&mut self, _progress: &mut impl FnMut(Progress<'_>)) {}

    /// Whether only the end of the connection ends the response being read.
    fn ends_with_connection(&self) -> bool {
        false
    }

    /// The server will send no more. A response that only the close could end is complete.
    ///
    /// # Errors
    /// When exchanges are left open or a response was cut short; they are still in it.
    fn ended(&mut self, progress: &mut impl FnMut(Progress<'_>)) -> Result<(), Failure>;

    /// The caller is done with bytes of a response, where the protocol was told to wait for that
    /// before it lets the peer send more.
    fn release(&mut self, _exchange: ExchangeId, _bytes: u32, _out: &mut Vec<u8>) {}

    /// Begins to part from the peer, where nothing else would tell whether it has read all that was
    /// sent: writes what it answers when it has. `false`: there is no answer to wait for.
    fn part(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Whether the peer has answered that.
    fn has_parted(&self) -> bool {
        false
    }

    /// Gives up on one exchange and goes on with the others. `false`: this protocol can't; the
    /// connection has to be closed.
    fn cancel(&mut self, exchange: ExchangeId, out: &mut Vec<u8>) -> bool;

    /// Whether the connection is of use after a response to a request that was not sent whole.
    fn survives_early_response(&self) -> bool;

    /// Takes the open exchanges out, in the order in which they were started.
    fn drain(&mut self) -> impl Iterator<Item = ExchangeId>;
}
