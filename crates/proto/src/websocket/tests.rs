//! Tests of both roles: what Autobahn's suite demands, the handshake, compression, and properties
//! of a client and a server that talk to each other.

mod autobahn;
mod autobahn_text;
mod bytes;
mod corpus;
mod deflate;
mod handshake;
mod pairs;
mod sockets;
