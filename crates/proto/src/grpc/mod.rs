//! gRPC over HTTP/2 (PROTOCOL-HTTP2 of the gRPC project): what stands in the fields and in the body
//! of a call. Both roles.
//!
//! A body is a sequence of messages, each behind a prefix with its length: [`MessageReader`] finds
//! them however they were cut, [`message_prefix`] writes what stands before one. How a call ended
//! is in the fields behind the body: [`Reply`] takes the fields and says it as a [`Code`].
//! [`timeout`] and [`status_message`] read and write the two values that have a form of their own.
//!
//! Absent on purpose: streams and flow control, which are [`http2`](crate::http2)'s; what is in a
//! message; decompression, because a client that names no coding gets none.

mod code;
#[doc(hidden)]
pub mod fuzz;
mod message;
mod reply;
pub mod status_message;
pub mod timeout;

#[cfg(test)]
mod tests;

pub use code::Code;
pub use message::{MessageError, MessageEvent, MessageReader, PREFIX_BYTES, message_prefix};
pub use reply::{Reply, is_content_type};
