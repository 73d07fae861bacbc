//! HTTP/2 (RFC 9113) with HPACK (RFC 7541): connections of both roles.
//!
//! One machine for each side of a connection: [`Client`] and [`Server`]. Bytes go in and come out
//! as events that borrow from them; bytes to be sent are appended to a buffer of the caller's, in
//! the order in which they have to go out.
//!
//! The contract with the caller:
//!
//! - `consumed` bytes of the input are done with; call again with the rest until the event is
//!   `None`, which means that all of the input was consumed and more is needed. What one frame sets
//!   off may be several events.
//! - Events and errors do not depend on how the bytes were cut into inputs, but for bodies, which
//!   come in other pieces.
//! - After an error, the machine gives the same error for ever. The goodbye that tells the peer why
//!   is in the buffer.
//!
//! Errors of a stream leave the connection alone ([`StreamError`]); errors of the connection end
//! it ([`ConnectionError`]).
//!
//! Memory: DATA is handed out as it comes and never kept. Other frames are read in place, and
//! carried over only if they came in pieces. Streams and buffers are used again, so that requests
//! allocate nothing once the longest has been seen. [`Limits`] bound what a peer can make us keep.
//!
//! Absent on purpose: pushed responses (refused), priorities (read over, RFC 9113 5.3.2), the
//! Upgrade from HTTP/1.1 (gone since RFC 9113), and time: how long settings may stay
//! unacknowledged, or how fast a peer may ask for pings, is the caller's to judge.

mod client;
mod closed;
mod error;
mod fields;
mod flow;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod head;
mod hpack;
mod limits;
mod reader;
mod receiving;
mod rules;
mod server;
mod session;
mod settings;
mod streams;
mod upload;

#[cfg(test)]
mod tests;

pub use client::{Client, ClientOptions, Event, Head, Outgoing, Response};
pub use error::{ConnectionError, EncodeError, ErrorCode, StreamError};
pub use hpack::{Block, BlockBuilder, HeadWriter, HpackError, SharedFields, Value, read_back};
pub use limits::{INTERIM_MAX, Limits};
pub use receiving::Receiving;
pub use server::{LastStream, RequestHead, Server, ServerEvent, ServerOptions};
pub use settings::Settings;
pub use streams::{Key, Streams};
pub use upload::Body;

pub use crate::http1::{Decoded, Headers};
