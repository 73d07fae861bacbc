//! Flow control: what the tester sends and gets back, and what it lets the oracle send.

use super::code;
use super::frame::{self, Head};
use super::session::{Session, Timer};
use crate::oracle::session::Next;
use crate::oracle::shared::Shared;

/// The initial window of a stream, and of a connection, where nothing else was said.
pub(super) const WINDOW_BYTES: u32 = 65_535;
/// The connection's window for the tester: never what limits it.
pub(super) const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;

impl Session {
    /// A frame of a request's body; an error is its code.
    pub(super) fn data(
        &mut self,
        head: Head,
        payload: &[u8],
        shared: &mut Shared,
    ) -> Result<Next, u32> {
        let content = head.content(payload).ok_or(code::PROTOCOL)?;
        let bytes = head.length as u32;
        self.used += bytes;
        if self.used > CONNECTION_WINDOW_BYTES / 2 {
            frame::put_window(&mut self.out.bytes, 0, std::mem::take(&mut self.used));
        }
        // What came after the stream was reset or answered.
        let Some(stream) = self.streams.get_mut(&head.stream) else { return Ok(Next::Open) };
        shared.log.entries[stream.entry].bytes_in += frame::HEAD_BYTES as u32 + bytes;
        stream.window_in -= i64::from(bytes);
        stream.used += bytes;
        if stream.window_in < 0 {
            return Err(code::FLOW_CONTROL);
        }
        let is_end = head.has(frame::END_STREAM);
        if let Some(call) = &mut shared.log.entries[stream.entry].call {
            stream.messages.take(content).ok_or(code::PROTOCOL)?;
            call.messages_in = stream.messages.whole;
            if is_end && !stream.messages.is_complete() {
                return Err(code::PROTOCOL);
            }
        }
        if is_end {
            return Ok(self.request_ended(head.stream, shared));
        }
        let (used, update_ns) = (stream.used, shared.mode.http2.window_update_ns);
        if update_ns == 0 {
            return Ok(self.timer(Timer::OpenWindow(head.stream), shared));
        }
        if used >= shared.mode.http2.window_bytes {
            self.remind(update_ns, Timer::OpenWindow(head.stream), shared);
        }
        Ok(Next::Open)
    }

    /// The tester may be sent more: on a stream, or (0) on the connection.
    pub(super) fn widen(&mut self, id: u32, bytes: u32, shared: &mut Shared) {
        let window = match self.streams.get_mut(&id) {
            _ if id == 0 => &mut self.window,
            Some(stream) => &mut stream.window,
            None => return,
        };
        *window += i64::from(bytes);
        self.go_on(shared);
    }

    /// What the tester settles.
    pub(super) fn settings(&mut self, payload: &[u8], shared: &mut Shared) {
        for setting in payload.chunks_exact(6) {
            let (name, value) = (u16::from_be_bytes([setting[0], setting[1]]), &setting[2..]);
            let value = u32::from_be_bytes([value[0], value[1], value[2], value[3]]);
            match name {
                4 => {
                    let more = i64::from(value) - self.stream_window;
                    self.stream_window += more;
                    self.streams.values_mut().for_each(|stream| stream.window += more);
                }
                5 => self.frame_max = (value as usize).max(1),
                _ => {}
            }
        }
        frame::put(&mut self.out.bytes, frame::SETTINGS, frame::ACK, 0, &[]);
        self.go_on(shared);
    }

    /// Goes on with all answers that a window had stopped.
    fn go_on(&mut self, shared: &mut Shared) {
        let stopped = self.streams.iter().filter(|(_, stream)| stream.rest.is_some());
        let stopped: Vec<u32> = stopped.map(|(id, _)| *id).collect();
        stopped.into_iter().for_each(|id| self.send_rest(id, shared));
    }
}
