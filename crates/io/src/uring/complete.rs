//! Completions into events.

use std::num::NonZeroU64;
use std::os::fd::OwnedFd;

use io_uring::cqueue;

use super::operate::POLL_FIRST;
use super::slot::Phase;
use super::tag::{Op, Tag};
use super::{ACCEPT_REST_NS, UringDriver, own};
use crate::driver::{Event, Operation, OsError, Received, SocketId};
use crate::socket;
use crate::taken::taken_ns;

/// Errors after which the same operation is simply tried again.
fn is_passing(error: i32) -> bool {
    matches!(error, libc::EINTR | libc::EAGAIN)
}

/// Gives back what a completion nobody waits for carries.
pub(super) fn discard(completion: &cqueue::Entry) {
    if Tag(completion.user_data()).op() == Op::Accept && completion.result() >= 0 {
        drop(own(completion.result()));
    }
}

impl UringDriver {
    /// What a completion means to the caller, if anything.
    #[inline]
    pub(super) fn complete(&mut self, completion: &cqueue::Entry) -> Option<Event> {
        let tag = Tag(completion.user_data());
        let more = cqueue::more(completion.flags());
        match tag.op() {
            Op::Receive => {
                let buffer = cqueue::buffer_select(completion.flags()).map(u32::from);
                self.receive_completed(tag, completion.result(), buffer, more)
            }
            Op::Send => self.send_completed(tag, completion.result()),
            Op::Connect => self.connect_completed(tag, completion.result()),
            Op::Accept => self.accept_completed(tag, completion.result(), more),
            Op::Wake => {
                if !more {
                    self.arm_waker();
                }
                self.waker.take().then_some(Event::Woken)
            }
            Op::Unwatched => None,
        }
    }

    fn is_current(&self, tag: Tag) -> bool {
        self.sockets[tag.socket().index()].generation == tag.generation()
    }

    #[inline]
    fn receive_completed(
        &mut self,
        tag: Tag,
        result: i32,
        buffer: Option<u32>,
        more: bool,
    ) -> Option<Event> {
        let id = tag.socket();
        let socket = &mut self.sockets[id.index()];
        let current = socket.generation == tag.generation();
        if current && !more {
            socket.receiving = false;
        }
        if !current || socket.phase != Phase::Open {
            if let Some(buffer) = buffer {
                self.incoming.buffers.give_back(buffer);
            }
            return None;
        }
        let (result, kernel_ns) = self.open_received(result, buffer);
        if result > 0
            && let Some(buffer) = buffer
        {
            if !more {
                self.arm_receive(id, 0);
            }
            let len = result as u32;
            return Some(Event::Received(Received { socket: id, buffer, len, kernel_ns }));
        }
        if let Some(buffer) = buffer {
            self.incoming.buffers.give_back(buffer);
        }
        self.receive_stopped(tag, -result)
    }

    /// What a receive came to: how many bytes (0: the end, negative: an error), and when the kernel
    /// took them in, where that was asked for.
    #[inline]
    pub(super) fn open_received(
        &self,
        result: i32,
        buffer: Option<u32>,
    ) -> (i32, Option<NonZeroU64>) {
        match (&self.incoming.stamping, buffer) {
            (Some(stamping), Some(buffer)) if result > 0 => {
                stamping.open(self.incoming.buffers.whole(buffer, result as u32), self.turn.now_ns)
            }
            _ => (result, None),
        }
    }

    /// A receive came to its end, or to a halt.
    fn receive_stopped(&mut self, tag: Tag, error: i32) -> Option<Event> {
        let id = tag.socket();
        if error == libc::ENOBUFS {
            self.starved.push(tag);
            return None;
        }
        // Only a pause cancels a receive of this use of the number; it may be over already.
        if is_passing(error) || error == libc::ECANCELED {
            self.arm_receive(id, 0);
            return None;
        }
        let socket = &mut self.sockets[id.index()];
        if error == 0 && socket.cut_short {
            socket.send_error = libc::ECONNRESET; // no orderly end
        }
        if socket.send_error != 0 {
            let error = socket.send_error;
            return Some(self.fail(id, Operation::Send, error));
        }
        if error != 0 {
            return Some(self.fail(id, Operation::Receive, error));
        }
        socket.ended = true;
        Some(Event::Ended(id))
    }

    #[inline]
    fn send_completed(&mut self, tag: Tag, result: i32) -> Option<Event> {
        let id = tag.socket();
        if !self.is_current(tag) {
            self.orphans.retain(|orphan| orphan.tag != tag);
            return None;
        }
        let socket = &mut self.sockets[id.index()];
        if result < 0 && !is_passing(-result) {
            return self.send_failed(id, -result);
        }
        // One call sends for all of them, one after the other.
        let bytes = result.max(0) as usize;
        self.turn.taken_ns = taken_ns(self.turn.taken_ns, self.turn.now_ns, bytes);
        let (_, asked) = socket.outbox.current();
        socket.cut_short = 0 < result && (result as u32) < asked;
        if socket.outbox.advance(bytes, &mut self.outgoing.spare) {
            let is_open = socket.phase == Phase::Open;
            self.start_send(id);
            return (is_open && result > 0).then_some(Event::SentPart(id));
        }
        if socket.finishing {
            socket.finish_if_sent();
        }
        (socket.phase == Phase::Open).then_some(Event::Sent(id))
    }

    #[cold]
    fn send_failed(&mut self, id: SocketId, error: i32) -> Option<Event> {
        let socket = &mut self.sockets[id.index()];
        socket.outbox.abandon(&mut self.outgoing.spare); // the kernel is done with it
        if socket.phase != Phase::Open {
            return None;
        }
        // The peer is gone, but may have answered before it went: what it said comes first, and
        // the receive ends soon, with its own completion.
        let gone = matches!(error, libc::EPIPE | libc::ECONNRESET);
        if gone && !socket.ended && !socket.paused {
            socket.send_error = error;
            return None;
        }
        Some(self.fail(id, Operation::Send, error))
    }

    fn connect_completed(&mut self, tag: Tag, result: i32) -> Option<Event> {
        let id = tag.socket();
        if !self.is_current(tag) {
            return None;
        }
        if result < 0 {
            return Some(self.fail(id, Operation::Connect, -result));
        }
        self.sockets[id.index()].phase = Phase::Open;
        self.arm_receive(id, POLL_FIRST);
        Some(Event::Connected(id))
    }

    pub(super) fn accept_completed(&mut self, tag: Tag, result: i32, more: bool) -> Option<Event> {
        let accepted = (result >= 0).then(|| own(result));
        if !self.is_current(tag) {
            return None;
        }
        let listener = tag.socket();
        if !more {
            self.sockets[listener.index()].receiving = false;
        }
        match accepted {
            Some(fd) => {
                if !more {
                    self.arm_accept(listener);
                }
                self.take_connection(listener, fd)
            }
            None => self.accept_failed(tag, -result),
        }
    }

    fn take_connection(&mut self, listener: SocketId, fd: OwnedFd) -> Option<Event> {
        let Some(id) = self.free.pop() else {
            socket::reset_on_close(&fd);
            return Some(Event::Failed {
                socket: listener,
                operation: Operation::Accept,
                error: OsError(libc::EMFILE),
            });
        };
        let Ok(peer) = socket::peer(&fd) else {
            self.free.push(id);
            return None; // reset before it could be looked at
        };
        self.adopt(id, fd, Phase::Open);
        self.arm_receive(id, 0);
        Some(Event::Accepted { listener, socket: id, peer })
    }

    #[cold]
    fn accept_failed(&mut self, tag: Tag, error: i32) -> Option<Event> {
        let listener = tag.socket();
        if is_passing(error) {
            self.arm_accept(listener);
            return None;
        }
        if error == libc::ECONNABORTED {
            self.arm_accept(listener);
        } else {
            // Trying at once would fail at once, again and again.
            self.rest.listeners.push(tag);
            self.rest.until_ns = self.turn.now_ns + ACCEPT_REST_NS;
        }
        let operation = Operation::Accept;
        Some(Event::Failed { socket: listener, operation, error: OsError(error) })
    }
}
