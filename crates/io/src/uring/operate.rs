//! Operations handed to the ring, and sockets given a number and rid of it.

use std::io;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd, RawFd};

use io_uring::{opcode, squeue, types};

use super::slot::{Phase, Socket};
use super::tag::{Op, Tag, next_generation};
use super::{Orphan, UringDriver, buffers};
use crate::clock::now_ns;
use crate::driver::SocketId;
use crate::route::Route;
use crate::socket::{Waits, for_connecting};

/// `IORING_RECVSEND_POLL_FIRST`: wait for data before the first try.
pub(super) const POLL_FIRST: u16 = 1 << 0;
/// `IORING_RECV_MULTISHOT`: one receive completes again and again.
const RECEIVE_MULTISHOT: u16 = 1 << 1;

impl UringDriver {
    /// Queues an operation whose completion nobody needs; only a failure makes one.
    pub(super) fn push_unwatched(&mut self, entry: squeue::Entry) {
        let flags = squeue::Flags::SKIP_SUCCESS;
        let entry = entry.user_data(Tag::UNWATCHED.0).flags(flags);
        // SAFETY: only cancels and closes come here; they point to no memory.
        unsafe { self.ring.push(&entry) };
    }

    pub(super) fn arm_waker(&mut self) {
        let entry = opcode::PollAdd::new(types::Fd(self.waker.fd()), libc::POLLIN as u32)
            .multi(true)
            .build()
            .user_data(Tag::new(Op::Wake, 0, SocketId(0)).0);
        // SAFETY: it points to no memory; the event lives as long as the driver.
        unsafe { self.ring.push(&entry) };
    }

    /// Starts to receive, unless that is paused.
    pub(super) fn arm_receive(&mut self, id: SocketId, flags: u16) {
        let socket = &mut self.sockets[id.index()];
        if socket.paused {
            return;
        }
        socket.receiving = true;
        let (handle, handle_flags) = (socket.handle, socket.handle_flags);
        let tag = socket.tag(Op::Receive, id);
        self.push_receive(handle, handle_flags, flags, tag);
    }

    /// Queues a multishot receive into the provided buffers.
    pub(super) fn push_receive(
        &mut self,
        handle: i32,
        handle_flags: squeue::Flags,
        flags: u16,
        tag: Tag,
    ) {
        let entry = match &self.incoming.stamping {
            None => opcode::Recv::new(types::Fd(handle), std::ptr::null_mut(), 0)
                .ioprio(RECEIVE_MULTISHOT | flags)
                .buf_group(buffers::GROUP)
                .build(),
            Some(stamping) => {
                opcode::RecvMsgMulti::new(types::Fd(handle), stamping.message(), buffers::GROUP)
                    .ioprio(flags)
                    .build()
            }
        };
        let entry = entry.flags(squeue::Flags::BUFFER_SELECT | handle_flags).user_data(tag.0);
        // SAFETY: the message, if it points to one, lives as long as the driver; the buffers it
        // takes live as long as the ring.
        unsafe { self.ring.push(&entry) };
    }

    pub(super) fn arm_accept(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        socket.receiving = true;
        let entry = opcode::AcceptMulti::new(types::Fd(socket.handle))
            .flags(libc::SOCK_CLOEXEC)
            .build()
            .user_data(socket.tag(Op::Accept, id).0);
        // SAFETY: it points to no memory.
        unsafe { self.ring.push(&entry) };
    }

    /// Gives the outbox's current stretch to the kernel.
    #[inline]
    pub(super) fn start_send(&mut self, id: SocketId) {
        let socket = &self.sockets[id.index()];
        let (start, len) = socket.outbox.current();
        let entry = opcode::Send::new(types::Fd(socket.handle), start, len)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .flags(socket.handle_flags)
            .user_data(socket.tag(Op::Send, id).0);
        // SAFETY: the outbox keeps the bytes until the completion, or the orphans do.
        unsafe { self.ring.push_send(&entry) };
    }

    /// Gives a socket its number.
    pub(super) fn adopt(&mut self, id: SocketId, fd: OwnedFd, phase: Phase) {
        let raw = fd.as_raw_fd();
        let registered = phase != Phase::Listening && self.register_file(id, raw);
        let socket = &mut self.sockets[id.index()];
        debug_assert_eq!(socket.phase, Phase::Free, "socket {} is in use", id.0);
        socket.phase = phase;
        socket.fd = Some(fd);
        (socket.handle, socket.handle_flags) = if registered {
            (id.0 as i32, squeue::Flags::FIXED_FILE)
        } else {
            (raw, squeue::Flags::empty())
        };
    }

    /// Registers a socket under its number, if that pays. The plain descriptor stays open
    /// for socket options.
    fn register_file(&mut self, id: SocketId, fd: RawFd) -> bool {
        if !self.register_files {
            return false;
        }
        // Entries of the number's last use may still be queued, its close among them.
        let in_queue = self.sockets[id.index()].closed_at == self.ring.submissions();
        if in_queue && !self.ring.submit().unwrap_or(false) {
            return false;
        }
        matches!(self.ring.submitter().register_files_update(id.0, &[fd]), Ok(1))
    }

    /// Opens a socket; when descriptors have run out, those of queued closes are freed first.
    fn open_for_connecting(&mut self, route: &Route) -> io::Result<OwnedFd> {
        let exhausted = |error: &io::Error| error.raw_os_error() == Some(libc::EMFILE);
        let opened = match for_connecting(route, &self.options, Waits::Yes) {
            Err(error) if exhausted(&error) => {
                self.ring.submit()?;
                for_connecting(route, &self.options, Waits::Yes)
            }
            opened => opened,
        };
        opened.map(OwnedFd::from)
    }

    /// Gives a new socket its number and lets it connect.
    pub(super) fn start_connect(&mut self, id: SocketId, route: &Route) -> io::Result<()> {
        let fd = self.open_for_connecting(route)?;
        let address = self.addresses.intern(&route.to)?;
        let (start, len) = (address.as_ptr().cast(), address.len());
        self.adopt(id, fd, Phase::Connecting);
        let socket = &self.sockets[id.index()];
        let entry = opcode::Connect::new(types::Fd(socket.handle), start, len)
            .build()
            .flags(socket.handle_flags)
            .user_data(socket.tag(Op::Connect, id).0);
        // SAFETY: the address stays where it is for the life of the driver.
        unsafe { self.ring.push(&entry) };
        Ok(())
    }

    /// Starts again what had to pause: receives that found no buffer, listeners that rest.
    #[cold]
    pub(super) fn resume(&mut self) {
        for tag in std::mem::take(&mut self.starved) {
            let socket = &self.sockets[tag.socket().index()];
            let current = socket.generation == tag.generation() && socket.phase == Phase::Open;
            if current && !socket.receiving {
                self.arm_receive(tag.socket(), 0);
            }
        }
        if !self.rest.listeners.is_empty() && now_ns() >= self.rest.until_ns {
            self.rest.until_ns = u64::MAX;
            for tag in std::mem::take(&mut self.rest.listeners) {
                if self.sockets[tag.socket().index()].generation == tag.generation() {
                    self.arm_accept(tag.socket());
                }
            }
        }
    }

    /// Frees the number of a socket. What is with the kernel is cancelled and the descriptors are
    /// closed, in that order, in the next submission.
    pub(super) fn release_socket(&mut self, id: SocketId) {
        let socket = &mut self.sockets[id.index()];
        let receive = if socket.phase == Phase::Listening { Op::Accept } else { Op::Receive };
        let outstanding = [
            (receive, socket.receiving),
            (Op::Send, socket.outbox.is_sending()),
            (Op::Connect, socket.phase == Phase::Connecting),
        ];
        let generation = next_generation(socket.generation);
        let next = Socket { generation, ..Socket::new() };
        let mut last = std::mem::replace(socket, next);
        if let Some(bytes) = last.outbox.abandon(&mut self.outgoing.spare) {
            self.orphans.push(Orphan { tag: last.tag(Op::Send, id), _bytes: bytes });
        }
        for (op, _) in outstanding.iter().filter(|(_, is_outstanding)| *is_outstanding) {
            self.push_unwatched(opcode::AsyncCancel::new(last.tag(*op, id).0).build());
        }
        if last.is_registered() {
            self.push_unwatched(opcode::Close::new(types::Fixed(id.0)).build());
        }
        if let Some(fd) = last.fd {
            self.push_unwatched(opcode::Close::new(types::Fd(fd.into_raw_fd())).build());
        }
        // Only now: a full queue may have been submitted in between.
        self.sockets[id.index()].closed_at = self.ring.submissions();
    }
}
