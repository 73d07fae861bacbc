//! Serves sockets that a poll found ready: ends connects, writes queued bytes, receives, accepts.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd as _;

use rustix::net::RecvFlags;
use socket2::SockRef;

use super::slot::Handle;
use super::{ACCEPT_REST_NS, EpollDriver, failed, os_error, retrying};
use crate::driver::{Event, Operation, OsError, Received, SocketId};
use crate::taken::taken_ns;
use crate::{socket, stamps};

impl EpollDriver {
    /// Does one thing a slot is ready for.
    pub(super) fn serve(&mut self, id: SocketId) -> Option<(u64, Event)> {
        let slot = &self.slots[id.index()];
        match &slot.handle {
            Handle::Free | Handle::Failed(_) => None,
            Handle::Listener(_) => self.accept(id),
            Handle::Stream(_) if slot.connecting => self.conclude_connect(id),
            Handle::Stream(_) => {
                let sent = if slot.writable { self.flush(id) } else { None };
                let slot = &self.slots[id.index()];
                match slot.send_error {
                    _ if sent.is_some() || !slot.readable => sent,
                    Some(error) if slot.paused => Some(self.fail(id, Operation::Send, error)),
                    _ if slot.paused => None,
                    _ => self.receive(id),
                }
            }
        }
    }

    fn conclude_connect(&mut self, id: SocketId) -> Option<(u64, Event)> {
        let slot = &mut self.slots[id.index()];
        let Handle::Stream(stream) = &slot.handle else { return None };
        if slot.to_end
            && let Some(error) = SockRef::from(stream).take_error().unwrap_or_else(Some)
        {
            return Some(self.fail(id, Operation::Connect, os_error(&error)));
        }
        if !slot.writable {
            return None;
        }
        slot.connecting = false;
        slot.writable = !slot.queue.is_empty();
        Some((self.clock.now_ns(), Event::Connected(id)))
    }

    fn flush(&mut self, id: SocketId) -> Option<(u64, Event)> {
        let slot = &mut self.slots[id.index()];
        slot.writable = false;
        let Handle::Stream(stream) = &mut slot.handle else { return None };
        let queued_bytes = slot.queue.len();
        let began_ns = self.clock.now_ns();
        match slot.queue.write_to(stream, &self.registered) {
            Ok(()) if slot.queue.is_empty() => {
                if slot.finishing {
                    slot.finish_if_sent();
                }
                let at_ns = taken_ns(began_ns, self.clock.now_ns(), queued_bytes);
                Some((at_ns, Event::Sent(id)))
            }
            Ok(()) if slot.queue.len() < queued_bytes => {
                let taken_bytes = queued_bytes - slot.queue.len();
                let at_ns = taken_ns(began_ns, self.clock.now_ns(), taken_bytes);
                Some((at_ns, Event::SentPart(id)))
            }
            Ok(()) => None,
            Err(error) => {
                slot.send_failed(&error);
                None
            }
        }
    }

    fn receive(&mut self, id: SocketId) -> Option<(u64, Event)> {
        let buffer_bytes = self.buffer_bytes();
        let slot = &mut self.slots[id.index()];
        let Handle::Stream(stream) = &mut slot.handle else { return None };
        if slot.ended {
            slot.readable = false;
            let error = slot.send_error?;
            return Some(self.fail(id, Operation::Send, error));
        }
        // Without a buffer the slot stays readable, so its turn comes after a release.
        let buffer = self.buffers.free.pop()?;
        let start = buffer as usize * buffer_bytes;
        let room = &mut self.buffers.bytes[start..start + buffer_bytes];
        let mut stamp = None;
        let result = retrying(|| {
            if self.stamps.is_some() {
                let (len, taken) = stamps::receive(stream.as_fd(), room)?;
                stamp = taken;
                return Ok(len);
            }
            let received = rustix::net::recv(&*stream, &mut *room, RecvFlags::empty());
            received.map(|(len, _)| len).map_err(io::Error::from)
        });
        let at_ns = self.clock.now_ns();
        if let Ok(len @ 1..) = result {
            slot.readable = slot.to_end || slot.takes_datagrams || len == buffer_bytes;
            let stamps = self.stamps.as_ref();
            let kernel_ns = stamps.zip(stamp).and_then(|(stamps, at)| stamps.convert(at, at_ns));
            let received = Received { socket: id, buffer, len: len as u32, kernel_ns };
            return Some((at_ns, Event::Received(received)));
        }
        self.buffers.free.push(buffer);
        slot.readable = false;
        if let Some(error) = slot.send_error {
            return Some(self.fail(id, Operation::Send, error));
        }
        match result {
            Ok(_) => {
                slot.ended = true;
                Some((at_ns, Event::Ended(id)))
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                slot.to_end = false;
                None
            }
            Err(error) => Some(self.fail(id, Operation::Receive, os_error(&error))),
        }
    }

    fn accept(&mut self, id: SocketId) -> Option<(u64, Event)> {
        let slot = &mut self.slots[id.index()];
        let Handle::Listener(listener) = &slot.handle else { return None };
        let (stream, peer) = match retrying(|| listener.accept()) {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                slot.readable = false;
                return None;
            }
            Err(error) => {
                let at_ns = self.clock.now_ns();
                // A connection that was gone again says nothing about the next one. Anything else
                // would fail again at once: rest, instead of spinning.
                if error.kind() != ErrorKind::ConnectionAborted {
                    slot.readable = false;
                    self.rest.listeners.push(id);
                    self.rest.until_ns = self.rest.until_ns.min(at_ns + ACCEPT_REST_NS);
                }
                return Some((at_ns, failed(id, Operation::Accept, os_error(&error))));
            }
        };
        let at_ns = self.clock.now_ns();
        let Some(accepted) = self.spare.pop() else {
            socket::reset_on_close(&stream);
            return Some((at_ns, failed(id, Operation::Accept, OsError(libc::EMFILE))));
        };
        if let Err(error) = self.adopt(accepted, stream.into()) {
            self.spare.push(accepted);
            return Some((at_ns, failed(id, Operation::Accept, os_error(&error))));
        }
        Some((at_ns, Event::Accepted { listener: id, socket: accepted, peer }))
    }
}
