//! Protocol state machines without sockets or clocks.
//!
//! Bytes go in as slices and come out as events that borrow from them; the caller decides what to
//! do about an event. Both roles are here: the client's side reads responses, the server's side
//! reads requests, and both use the same writers. [`tls`] goes beneath either.
//!
//! Absent on purpose: sockets, threads, time (except the wall clock by which rustls judges
//! certificates), and buffering beyond a message head or TLS record that arrived in pieces.
//! Peers are not trusted: no input panics, and every length has a limit.
#![forbid(unsafe_code)]

mod cuts;
pub mod grpc;
pub mod http1;
pub mod http2;
pub mod proxy_protocol;
pub mod tls;
