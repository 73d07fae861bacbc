//! TLS 1.2 and 1.3 (RFC 5246, RFC 8446), both roles: bytes in, plaintext and bytes to send out.
//!
//! rustls implements the protocol. This module owns the seam to it: what can be configured, how the
//! bytes move, one list of errors with stable names, and where session tickets are kept.
//! The crypto provider is named explicitly; no default of the process is read or set.
//!
//! Nothing is shared between threads: make one [`ClientConfig`] for each thread, and its session
//! store is that thread's own.
//!
//! Memory is bounded: 18 KiB for a record that has not arrived whole, 64 KiB for a handshake
//! message, and [`TICKETS_MAX`] tickets for a name. Plaintext is handed out at once.
//!
//! Absent on purpose: early data (0-RTT requests can be replayed, so a server may treat them
//! differently), renegotiation, revocation lists, and a clock of our own: rustls looks at the wall
//! clock to judge certificates and tickets, and takes entropy from the system. No figure comes
//! from either.

mod certificates;
mod config;
mod connection;
mod error;
pub mod fuzz;
mod options;
mod pinned;
mod sessions;
#[cfg(test)]
mod tests;

pub use config::{ClientConfig, ServerConfig, TlsConfigError};
pub use connection::Tls;
pub use error::{TlsCause, TlsError, TlsErrorKind};
pub use options::{
    ClientOptions, Identity, ServerName, ServerNameError, ServerOptions, Verify, Version, Versions,
};
pub use sessions::TICKETS_MAX;
