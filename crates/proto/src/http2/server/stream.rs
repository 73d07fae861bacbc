//! One request and its response, on one stream.
//!
//! ```text
//!                         request ends
//!     head --> open -----------------------> half-closed --+ response ends
//!                |                                         v
//!                +--- response ends ----> request ends --> closed
//! ```

use crate::http2::StreamError;
use crate::http2::flow::ReceiveWindow;
use crate::http2::settings::WINDOW_BYTES_DEFAULT;
use crate::http2::streams::Streams;
use crate::http2::upload::{Sending, Upload};

#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Whether the client has sent all of its request.
    pub(super) has_ended: bool,
    content_length: Option<u64>,
    body_bytes: u64,
    pub(super) upload: Upload,
    pub(super) window: ReceiveWindow,
}

impl Sending for Stream {
    fn upload(&mut self) -> &mut Upload {
        &mut self.upload
    }
}

impl Stream {
    pub(super) fn begin(&mut self, content_length: Option<u64>, window_bytes: u32) {
        self.has_ended = false;
        self.content_length = content_length;
        self.body_bytes = 0;
        self.window = ReceiveWindow::new(window_bytes);
    }

    /// More of the body is about to come.
    pub(super) fn body(&mut self, bytes: u32) -> Result<(), StreamError> {
        self.body_bytes += u64::from(bytes);
        let is_too_long = self.content_length.is_some_and(|length| self.body_bytes > length);
        if is_too_long { Err(StreamError::BodyLength) } else { Ok(()) }
    }

    /// The request ended.
    pub(super) fn end(&mut self) -> Result<(), StreamError> {
        self.has_ended = true;
        let differs = self.content_length.is_some_and(|length| self.body_bytes != length);
        if differs { Err(StreamError::BodyLength) } else { Ok(()) }
    }
}

impl Streams<Stream> {
    /// The client knows our settings from here on. Windows that were opened larger than those say
    /// shrink.
    pub(super) fn shrink_windows(&mut self, window_bytes: u32) {
        let shift = i64::from(window_bytes) - i64::from(WINDOW_BYTES_DEFAULT);
        let mut next = self.oldest().filter(|_| shift < 0);
        while let Some(key) = next {
            next = self.after(key);
            self[key].window.shift(shift);
        }
    }
}
