//! A response of HTTP/1, written to a stream of HTTP/2 as it comes.

use plimsoll_proto::http1::{BodyLength, ResponseHead};
use plimsoll_proto::http2::{Body, HeadWriter, Headers};

use super::{Http2, write_all};
use crate::proxy::head::{self, Unusable};
use crate::proxy::response::ClientEnd;

/// The stream that a response goes to.
pub(in crate::proxy) struct Http2End<'e> {
    http2: &'e mut Http2,
    stream: u32,
    /// Whether it was asked with HEAD.
    is_head: bool,
    /// Scratch memory for fields.
    lines: &'e mut Vec<u8>,
}

impl<'e> Http2End<'e> {
    pub(in crate::proxy) fn new(
        http2: &'e mut Http2,
        stream: u32,
        is_head: bool,
        lines: &'e mut Vec<u8>,
    ) -> Self {
        Self { http2, stream, is_head, lines }
    }

    fn send_head(&mut self, head: &ResponseHead<'_>, ends: bool) -> Result<(), Unusable> {
        self.lines.clear();
        head::write_lines(self.lines, head, self.is_head)?;
        let (lines, out) = (&*self.lines, &mut self.http2.out);
        self.http2.machine.send_head(self.stream, ends, out, |writer: &mut HeadWriter<'_>| {
            writer.status(head.status);
            write_all(writer, lines);
        });
        Ok(())
    }
}

impl ClientEnd for Http2End<'_> {
    fn interim(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable> {
        self.send_head(head, false)
    }

    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Unusable> {
        let ends = self.is_head || matches!(head.body, BodyLength::None | BodyLength::Known(0));
        self.send_head(head, ends)
    }

    fn piece(&mut self, piece: &[u8], is_last: bool) {
        let out = &mut self.http2.out;
        self.http2.machine.send(self.stream, Body::Bytes(piece), is_last, out);
    }

    fn end(&mut self, trailers: Headers<'_>) {
        self.lines.clear();
        head::write_trailers(self.lines, trailers);
        if self.lines.is_empty() {
            let out = &mut self.http2.out;
            return self.http2.machine.send(self.stream, Body::Empty, true, out);
        }
        self.http2.end_with_trailers(self.stream, self.lines);
    }
}

impl Http2 {
    /// Ends a response with trailers, at once or when the client's window lets its body go.
    fn end_with_trailers(&mut self, stream: u32, lines: &[u8]) {
        let text = [b"\r\n", lines].concat();
        let is_sent =
            self.machine.send_trailers(stream, &mut self.out, |head| write_all(head, &text));
        if let (false, Some(key)) = (is_sent, self.streams.find(stream)) {
            self.streams[key].trailers = text;
        }
    }
}
