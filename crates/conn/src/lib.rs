//! One connection of a pool: a driver's socket joined to a protocol.
//!
//! Absent on purpose: which request goes where and when, what is recorded, and when to open or
//! close. Those are the engine's decisions.
#![forbid(unsafe_code)]

mod connection;
mod echo;
mod event;
pub mod grpc;
mod http1;
mod http2;
mod negotiated;
mod protocol;
mod request;
mod setup;
mod websocket;

pub use connection::{Connection, State};
pub use echo::{Echo, EchoRequest, EchoSettings};
pub use event::{
    ExchangeId, Failure, Head, OTHER_PROTOCOL, PeerClose, Progress, REFUSED, Response, fields,
};
pub use http1::{Http1, Http1Request, Http1Settings};
pub use http2::{Http2, Http2Request, Http2Settings};
pub use negotiated::{Negotiated, NegotiatedSettings, Uncompiled};
pub use plimsoll_proto::http1::{DecodeError, Headers};
pub use protocol::{Protocol, Wire};
pub use request::{
    CompiledRequest, EncodeError, Encoding, Field, Filling, Framing, Hop, Message, Messages,
    Portion, RequestBody, WrittenError,
};
pub use setup::{ProxyHeader, Scratch, Setup, TlsSetup, connect_request};
pub use websocket::{
    Compressor, Duplex, Handshake, Heard, Replies, Say, Upgrade, UpgradeAnswer, WebSocket,
    WebSocketRequest, WebSocketSettings,
};
