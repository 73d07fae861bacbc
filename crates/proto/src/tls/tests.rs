//! Client against server in memory.

mod handshakes;
mod hostile;
mod trust;
mod world;
