//! Flags for WebSocket, and how they enter the plan.

use clap::Args;
use plimsoll_core::plan::WebSocketPlan;
use plimsoll_core::plan::websocket::Reply;
use plimsoll_core::secret::Secret;

use crate::value_args::secret;

/// What is sent to a WebSocket.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "WebSocket")]
pub(crate) struct WebSocketFlags {
    /// A message to a ws:// or wss:// URL, or @FILE to read it from; given again, taken in turn
    #[arg(long, value_name = "STR|@FILE", value_parser = secret)]
    pub ws_message: Vec<Secret>,
    /// What ends a message: the next one that comes, the next that matches, or none: then it ends
    /// when the kernel has taken it
    #[arg(long, value_name = "next|match:REGEX|none", default_value_t)]
    pub ws_reply: Reply,
    /// Send messages as binary ones
    #[arg(long)]
    pub ws_binary: bool,
    /// Offer permessage-deflate, which compresses messages
    #[arg(long)]
    pub ws_compress: bool,
    /// Ask for a subprotocol
    #[arg(long, value_name = "NAME")]
    pub ws_subprotocol: Option<String>,
}

impl WebSocketFlags {
    /// The part of a plan that these are, with `in_flight` messages at a time on a connection.
    pub(crate) fn plan(&self, in_flight: u32) -> WebSocketPlan {
        WebSocketPlan {
            reply: self.ws_reply.clone(),
            binary: self.ws_binary,
            compress: self.ws_compress,
            subprotocol: self.ws_subprotocol.clone(),
            in_flight,
        }
    }
}
