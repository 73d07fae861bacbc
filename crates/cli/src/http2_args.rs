//! Flags for HTTP/2, and how they enter the plan.

use clap::Args;
use plimsoll_core::plan::Http2Plan;

use crate::value_args::count32;

/// How HTTP/2 is spoken.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP/2")]
pub(crate) struct Http2Flags {
    /// Requests in flight on one connection, each on a stream of its own; of WebSocket, messages
    #[arg(short = 'm', long, value_name = "N", default_value = "1", value_parser = count32)]
    pub streams: u32,
    /// Bytes that a server may send on a stream before it is told to go on
    #[arg(long, value_name = "BYTES", default_value = "2147483647", value_parser = count32)]
    pub window: u32,
    /// Bytes that a server may send on all streams of a connection before it is told to go on
    #[arg(long, value_name = "BYTES", default_value = "2147483647", value_parser = count32)]
    pub connection_window: u32,
    /// Bytes of the table that responses' header fields are decoded with
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = count32)]
    pub header_table_size: u32,
    /// Bytes of the largest frame that a server may send
    #[arg(long, value_name = "BYTES", default_value = "16384", value_parser = count32)]
    pub max_frame_size: u32,
}

impl Http2Flags {
    /// The part of a plan that these are.
    pub(crate) fn plan(&self) -> Http2Plan {
        Http2Plan {
            streams: self.streams,
            window_bytes: self.window,
            connection_window_bytes: self.connection_window,
            header_table_bytes: self.header_table_size,
            frame_bytes: self.max_frame_size,
        }
    }
}
