//! What a frame's head alone may say, whatever came before (RFC 9113 6).

use super::ConnectionError;
use super::frame::{FrameHead, flag, kind};

/// Whether frames of this type come for a stream, or for the connection.
#[inline]
pub(super) fn check_stream(head: FrameHead) -> Result<(), ConnectionError> {
    let is_bad = match head.kind {
        kind::DATA | kind::HEADERS | kind::PRIORITY | kind::RST_STREAM | kind::CONTINUATION => {
            head.stream == 0
        }
        kind::SETTINGS | kind::PING | kind::GOAWAY => head.stream != 0,
        kind::PUSH_PROMISE => return Err(ConnectionError::Push),
        _ => false,
    };
    if is_bad { Err(ConnectionError::BadStream) } else { Ok(()) }
}

/// Whether frames of this type can be as long. PRIORITY with a wrong length is an
/// error of its stream alone.
#[inline]
pub(super) fn check_length(head: FrameHead) -> Result<(), ConnectionError> {
    let is_bad = match head.kind {
        kind::RST_STREAM | kind::WINDOW_UPDATE => head.length != 4,
        kind::SETTINGS if head.has(flag::ACK) => head.length != 0,
        kind::SETTINGS => !head.length.is_multiple_of(6),
        kind::PING => head.length != 8,
        kind::GOAWAY => head.length < 8,
        _ => false,
    };
    if is_bad { Err(ConnectionError::BadFrameLength) } else { Ok(()) }
}
