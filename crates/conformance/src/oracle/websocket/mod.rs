//! WebSockets (RFC 6455) as far as an oracle needs them.
//!
//! ```text
//! open ──Close of the oracle──► closing ──Close of the tester, or a second──► closed
//!   └────Close of the tester, answered──────────────────────────────────────► closed
//! ```
//!
//! It is a codec of its own, SHA-1 and all, so that a mistake in Plimsoll's is not repeated in its
//! truth. Each message of a tester is a request in the log, and the reply to it an answer.
//!
//! Absent on purpose: extensions, which are not agreed to; subprotocols; and whether text is UTF-8,
//! because the replies are made of what came.

mod frame;
mod handshake;
mod session;
mod sha1;

pub(super) use session::{Session, Timer};
