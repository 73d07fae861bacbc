//! Flags for gRPC.

use std::path::PathBuf;

use clap::Args;
use plimsoll_core::plan::CallKind;

use crate::value_args::count32;

/// What is called with gRPC.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct GrpcFlags {
    /// Call this method, with -b as its message in JSON and -H as its metadata, over HTTP/2
    #[arg(long, value_name = "PACKAGE.SERVICE/METHOD")]
    #[arg(conflicts_with_all = ["targets", "script", "method", "form", "form_urlencoded"])]
    #[arg(conflicts_with_all = ["chunked", "expect_continue", "redirects"])]
    pub grpc: Option<String>,
    /// A .proto file with the method; may be given again
    #[arg(long, value_name = "FILE", requires = "grpc")]
    pub proto: Vec<PathBuf>,
    /// A folder that imports are relative to; may be given again [default: those of the files]
    #[arg(long, value_name = "DIR", requires = "proto")]
    pub proto_path: Vec<PathBuf>,
    /// Ask the server for the schema, by its reflection service
    #[arg(long, requires = "grpc", conflicts_with = "proto")]
    pub reflect: bool,
    /// How the messages of a call go: one there and one back, many back, many there, many both ways
    /// at once, or each when the one before is answered [default: what the schema says]
    #[arg(long, value_name = "unary|server|client|bidi|pingpong", requires = "grpc")]
    pub grpc_stream: Option<CallKind>,
    /// Messages that a call sends, where it sends many; those of -b are taken in turn [default:
    /// those of -b]
    #[arg(long, value_name = "N", value_parser = count32, requires = "grpc")]
    pub grpc_messages: Option<u32>,
}
