//! How WebSocket is spoken, where the URL is `ws://` or `wss://`. The messages are the bodies of
//! the plan's requests; the rest of a request is the opening handshake.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What ends a message that was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The next message that the server sends.
    #[default]
    Next,
    /// The next message that this regular expression matches.
    Match(String),
    /// Nothing: it is complete when the kernel has taken it.
    None,
}

/// How WebSocket is spoken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSocketPlan {
    /// What ends a message that was sent.
    pub reply: Reply,
    /// Whether messages are sent as binary ones, and not as text.
    pub binary: bool,
    /// The subprotocol that the handshake asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subprotocol: Option<String>,
    /// Whether to offer the server that messages are compressed (RFC 7692).
    #[serde(default)]
    pub compress: bool,
    /// Messages in flight on one connection.
    pub in_flight: u32,
}

impl Default for WebSocketPlan {
    fn default() -> Self {
        let reply = Reply::Next;
        Self { reply, binary: false, subprotocol: None, compress: false, in_flight: 1 }
    }
}

/// What stands before the expression of [`Reply::Match`].
const MATCH: &str = "match:";

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Next => f.write_str("next"),
            Self::Match(pattern) => write!(f, "{MATCH}{pattern}"),
            Self::None => f.write_str("none"),
        }
    }
}

impl FromStr for Reply {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix(MATCH)) {
            ("next", _) => Ok(Self::Next),
            ("none", _) => Ok(Self::None),
            (_, Some(pattern)) if !pattern.is_empty() => Ok(Self::Match(pattern.to_owned())),
            _ => Err(format!("'{text}' is not one of next, match:REGEX and none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_as_they_are_written() {
        for text in ["next", "none", "match:^a:b$"] {
            assert_eq!(text.parse::<Reply>().expect(text).to_string(), text);
        }
        for text in ["", "first", "match:", "Next"] {
            let error = text.parse::<Reply>().expect_err(text);
            assert!(error.contains("match:REGEX"), "{error}");
        }
    }
}
