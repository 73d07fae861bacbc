//! What testers are asked to call over gRPC and to send over WebSockets.
//!
//! The service has the name, the method and the fields of fortio's ping, because fortio can call no
//! other. The oracle answers any method with what it was asked.

use crate::tool::Rpc;

/// The name of the file that describes the service.
pub(crate) const PROTO_FILE: &str = "ping.proto";

/// What stands in it.
pub(crate) const PROTO: &str = r#"syntax = "proto3";
package fgrpc;
message PingMessage {
  int64 seq = 1;
  int64 ts = 2;
  string payload = 3;
}
service PingServer {
  rpc Ping(PingMessage) returns (PingMessage);
  rpc Watch(PingMessage) returns (stream PingMessage);
}
"#;

/// The message of a call, as JSON.
pub(crate) const MESSAGE: &str = r#"{"payload":"hello"}"#;

/// The body of a call with that message, for testers that know nothing of messages: the prefix, the
/// tag of field 3, the length, the text.
pub(crate) const BODY: &str = "\0\0\0\0\x07\x1a\x05hello";

/// The message that is sent over a WebSocket. The reply to it begins with `re: `.
pub(crate) const TEXT: &str = "hello";

/// What replies begin with, and nothing else that the oracle sends, as a regular expression.
pub(crate) const REPLY: &str = "^re: ";

/// The method of a call, behind its service.
pub(crate) fn method(rpc: Rpc) -> &'static str {
    match rpc {
        Rpc::Unary => "fgrpc.PingServer/Ping",
        Rpc::ServerStream => "fgrpc.PingServer/Watch",
    }
}
