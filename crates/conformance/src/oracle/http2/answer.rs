//! How streams are answered: heads, bodies as far as the tester's windows allow, trailers, resets.

use super::session::{Next, Session};
use super::{code, frame, hpack};
use crate::oracle::log::Side;
use crate::oracle::mode::Act;
use crate::oracle::shared::Shared;

/// What is left of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest {
    /// Bytes of its body.
    body_bytes: usize,
    /// The status of gRPC in its trailers.
    trailers: Option<u32>,
}

impl Session {
    /// Answers a stream, or resets it, as the mode says.
    pub(super) fn answer(&mut self, id: u32, shared: &mut Shared) -> Next {
        let Some(stream) = self.streams.get(&id) else { return Next::Open };
        let (entry, head_only) = (stream.entry, stream.head_only);
        let (status, trailers) = match stream.answer.act {
            Act::Status(status) => (status, None),
            Act::Early => (200, None),
            Act::Trailers(grpc_status) => (200, Some(grpc_status)),
            Act::Hang => return Next::Open,
            Act::Reset => return Next::Reset,
            Act::ResetStream(code) => {
                self.streams.remove(&id);
                frame::put_reset(&mut self.out.bytes, id, code);
                shared.reset(entry, Side::Oracle, code);
                return Next::Open;
            }
        };
        let body_bytes = shared.mode.body_bytes as usize;
        let mut block = Vec::new();
        hpack::put_status(&mut block, status);
        match trailers {
            Some(_) => hpack::put_field(&mut block, "content-type", "application/grpc"),
            None => hpack::put_length(&mut block, body_bytes),
        }
        let body_bytes = if head_only { 0 } else { body_bytes };
        let is_end = body_bytes == 0 && trailers.is_none();
        shared.log.entries[entry].status = status;
        self.put_block(id, entry, &block, is_end, shared);
        if is_end {
            self.answered(id, shared);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            stream.rest = Some(Rest { body_bytes, trailers });
            self.send_rest(id, shared);
        }
        Next::Open
    }

    /// Sends what the tester's windows allow of the rest of an answer.
    pub(super) fn send_rest(&mut self, id: u32, shared: &mut Shared) {
        while let Some(stream) = self.streams.get_mut(&id) {
            let Some(rest) = &mut stream.rest else { return };
            let entry = stream.entry;
            if rest.body_bytes == 0 {
                let Some(grpc_status) = rest.trailers else { return self.answered(id, shared) };
                let mut block = Vec::new();
                hpack::put_field(&mut block, "grpc-status", &grpc_status.to_string());
                self.put_block(id, entry, &block, true, shared);
                return self.answered(id, shared);
            }
            let window = usize::try_from(stream.window.min(self.window)).unwrap_or(0);
            let bytes = rest.body_bytes.min(window).min(self.frame_max);
            if bytes == 0 {
                return;
            }
            rest.body_bytes -= bytes;
            let is_end = rest.body_bytes == 0 && rest.trailers.is_none();
            stream.window -= bytes as i64;
            self.window -= bytes as i64;
            let flags = if is_end { frame::END_STREAM } else { 0 };
            frame::put(&mut self.out.bytes, frame::DATA, flags, id, &vec![b'x'; bytes]);
            shared.log.entries[entry].bytes_out += (frame::HEAD_BYTES + bytes) as u32;
        }
    }

    fn put_block(
        &mut self,
        id: u32,
        entry: usize,
        block: &[u8],
        is_end: bool,
        shared: &mut Shared,
    ) {
        let end = if is_end { frame::END_STREAM } else { 0 };
        frame::put(&mut self.out.bytes, frame::HEADERS, frame::END_HEADERS | end, id, block);
        let entry = &mut shared.log.entries[entry];
        entry.header_bytes_out += block.len() as u32;
        entry.bytes_out += (frame::HEAD_BYTES + block.len()) as u32;
    }

    /// A stream's answer is whole. The rest of its request is declined.
    fn answered(&mut self, id: u32, shared: &mut Shared) {
        let Some(stream) = self.streams.remove(&id) else { return };
        self.answers += 1;
        self.out.end_answer(stream.entry);
        if !stream.has_ended {
            frame::put_reset(&mut self.out.bytes, id, code::NO_ERROR);
            shared.reset(stream.entry, Side::Oracle, code::NO_ERROR);
        }
    }
}
