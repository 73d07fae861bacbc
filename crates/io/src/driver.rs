//! The seam between the program and the operating system: what a driver can be asked to do, and
//! what it reports back.
//!
//! The shape is io_uring's (submit operations, then take completions), because a readiness API can
//! emulate completions while the reverse loses multishot receives and provided buffers. The same
//! trait is met by `uring`, `epoll` and `sim`, and one conformance test holds all three to it.
//!
//! A caller numbers its sockets densely, by [`SocketId`]s, and indexes its own table with them.
//! Once [`Driver::close`] returns, no event for the old use of a number is ever delivered, so it
//! may be used again at once.
//!
//! Absent on purpose: TLS and HTTP (they are `proto`'s), callbacks, futures, and a clock other than
//! the one a driver hands out.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;

pub use plimsoll_core::plan::Spin;

use crate::route::Route;
use crate::tcp_info::TcpInfo;

/// The number of a socket, by which the driver and its user name it.
///
/// Numbers below [`DriverOptions::reserved`] are the caller's to choose, for
/// [`Driver::connect`] and [`Driver::listen`]; those from there up to
/// [`DriverOptions::sockets`] are handed out by the driver, one for each accepted connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The number as an index into a table.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Bytes registered with [`Driver::register`], to be sent any number of times without a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadId(pub u32);

/// What to send.
#[derive(Debug, Clone, Copy)]
pub enum Payload<'a> {
    /// Copied by the driver before the call returns.
    Copied(&'a [u8]),
    /// A range of registered bytes.
    Registered {
        /// Which registered bytes.
        id: PayloadId,
        /// Where the range starts.
        offset: u32,
        /// How many bytes to send.
        len: u32,
    },
}

impl Payload<'_> {
    /// How many bytes this sends.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Copied(bytes) => bytes.len(),
            Self::Registered { len, .. } => *len as usize,
        }
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The kernel delivers what was sent, then a FIN. Bytes the driver still queues are dropped.
    Graceful,
    /// A reset: nothing more is delivered, and the port is free at once (`SO_LINGER` 0).
    Reset,
}

/// Received bytes the driver still owns: read with [`Driver::bytes`], then give back with
/// [`Driver::release`]. At most a bounded number can be out, so release before asking for the next
/// event.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "give the buffer back with Driver::release"]
pub struct Received {
    /// Whose bytes these are.
    pub socket: SocketId,
    pub(crate) buffer: u32,
    pub(crate) len: u32,
    pub(crate) kernel_ns: Option<NonZeroU64>,
}

impl Received {
    /// How many bytes were received; never 0.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "an end of stream is its own event")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// When the kernel took in the last of the packets these bytes came in, on the driver's clock,
    /// ns. That is before it worked on them, woke a thread or was asked for them, and so never
    /// after the event. Exact to well below a microsecond.
    ///
    /// `None` without [`DriverOptions::receive_timestamps`], on Unix sockets, for packets taken in
    /// right after the driver was opened, and for those from before the wall clock was set, because
    /// the kernel stamps packets with that.
    #[must_use]
    pub fn kernel_ns(&self) -> Option<u64> {
        self.kernel_ns.map(NonZeroU64::get)
    }
}

/// Which operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Opening a connection.
    Connect,
    /// Writing.
    Send,
    /// Reading.
    Receive,
    /// Taking a new connection from a listener.
    Accept,
}

/// An operating system error number (`errno`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OsError(pub i32);

impl OsError {
    /// Whether this host has too little of something (descriptors, ports, memory). Of the peer that
    /// says nothing.
    #[must_use]
    pub fn is_shortage(self) -> bool {
        let shortages =
            [libc::EMFILE, libc::ENFILE, libc::EADDRNOTAVAIL, libc::ENOBUFS, libc::ENOMEM];
        shortages.contains(&self.0)
    }
}

impl std::fmt::Display for OsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

/// A completion.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// A [`Driver::connect`] succeeded; the connection already receives.
    Connected(SocketId),
    /// A listener took a connection, which already receives.
    Accepted {
        /// The listener.
        listener: SocketId,
        /// The new connection, whose number is free again after [`Driver::close`].
        socket: SocketId,
        /// The address at the other end.
        peer: SocketAddr,
    },
    /// Everything handed to [`Driver::send`] on this socket so far is with the kernel. Its time is
    /// when the kernel had taken it, which may lie before the times of events reported earlier.
    Sent(SocketId),
    /// Some of what is queued on this socket is with the kernel, and not all:
    /// [`Driver::queued_bytes`] has the rest. A kernel that takes the rest soon may leave this out.
    /// Its time is that of the taking, too.
    SentPart(SocketId),
    /// Bytes arrived.
    Received(Received),
    /// The peer will send no more (an orderly FIN). The number stays in use until closed.
    Ended(SocketId),
    /// The operation failed for good. The number stays in use until closed; nothing more comes on
    /// it. On a listener ([`Operation::Accept`]) it is passing: the listener goes on accepting.
    Failed {
        /// The socket.
        socket: SocketId,
        /// What was being done.
        operation: Operation,
        /// Why it failed.
        error: OsError,
    },
    /// [`Wake::wake`] was called, once or more.
    Woken,
}

/// A stretch in which a driver's thread did not run though it could have: the process was stopped,
/// its CPU taken away, or a call other than a wait blocked it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standstill {
    /// When it began, on the driver's clock, ns; give or take a look's 2 ms.
    pub at_ns: u64,
    /// How long it lasted, ns.
    pub for_ns: u64,
}

/// Which driver it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DriverKind {
    /// io_uring.
    Uring,
    /// epoll, through mio.
    Epoll,
    /// The simulated kernel.
    Sim,
}

impl DriverKind {
    /// The name used on command lines and in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "uring",
            Self::Epoll => "epoll",
            Self::Sim => "sim",
        }
    }
}

/// What a driver is sized and set up for. Everything is allocated from this at the start.
#[derive(Debug, Clone)]
pub struct DriverOptions {
    /// Sockets in all; their numbers are `0..sockets`.
    pub sockets: u32,
    /// Numbers below this are the caller's to choose; the rest are for accepted connections.
    pub reserved: u32,
    /// How many sockets receive at a time, about. Each needs a receive buffer: from 64 to 1024 are
    /// made, and a socket that finds none receives a little later.
    pub receivers: u32,
    /// Bytes in one receive buffer.
    pub receive_buffer_bytes: u32,
    /// Whether connections live for many requests, so that registering their files pays.
    pub long_lived: bool,
    /// Whether to spin instead of sleeping. With [`Spin::Auto`] it is done for as long before a
    /// deadline as sleeps have ended late, 50 to 500 µs, and for 100 µs after work.
    pub spin: Spin,
    /// Whether to learn when the kernel took received bytes in, see [`Received::kernel_ns`]. A
    /// request in a closed loop over the loopback takes some 4 % more CPU time with it under
    /// io_uring and 12 % under epoll. Linux only; elsewhere no driver opens with it.
    pub receive_timestamps: bool,
    /// Settings of listeners.
    pub socket: SocketOptions,
}

/// Settings of the listeners a driver opens.
#[derive(Debug, Clone, Default)]
pub struct SocketOptions {
    /// `SO_REUSEPORT`, so that several workers share one port.
    pub reuse_port: bool,
    /// Length of a listener's queue of connections not yet accepted; 0 means the kernel's limit.
    pub listen_backlog: u32,
}

/// Wakes a driver out of [`Driver::wait`] from another thread.
pub trait Wake: Send + Sync {
    /// Makes the driver report [`Event::Woken`] soon. Never blocks.
    fn wake(&self);
}

/// A handle to wake a driver with.
pub type Waker = Arc<dyn Wake>;

/// Sockets and time, completion-shaped. One driver belongs to one thread.
///
/// The order of a loop: do what is due, [`wait`](Self::wait), then take events with
/// [`next`](Self::next) until there are none. Operations may be started at any point; they reach
/// the kernel at the latest in the next `wait`.
///
/// Per socket, events keep the order of what they report: bytes in stream order, `Ended` after the
/// last bytes, nothing after `Failed`.
pub trait Driver {
    /// Which driver this is.
    fn kind(&self) -> DriverKind;

    /// Reads the monotonic clock, ns since an origin common to all drivers of the process.
    fn clock_ns(&mut self) -> u64;

    /// Keeps `bytes` for [`Payload::Registered`] until the driver is dropped. Not for the path of
    /// a request.
    fn register(&mut self, bytes: Arc<[u8]>) -> PayloadId;

    /// Opens a connection under a free number of the caller's (`TCP_NODELAY` set on TCP). Every
    /// outcome, also one known at once, is reported as [`Event::Connected`] or [`Event::Failed`].
    ///
    /// A Unix listener whose queue is full makes the connect wait under io_uring and fail with
    /// `EAGAIN` under epoll.
    fn connect(&mut self, socket: SocketId, route: &Route);

    /// Starts listening under a free number of the caller's and accepts until closed.
    ///
    /// # Errors
    /// What `socket`, `bind` and `listen` return. The address bound is returned (port 0 resolved).
    fn listen(&mut self, socket: SocketId, at: SocketAddr) -> io::Result<SocketAddr>;

    /// Queues bytes on a connected socket. Sends on one socket go out in order; one
    /// [`Event::Sent`] follows when all that was queued has been taken by the kernel.
    fn send(&mut self, socket: SocketId, payload: Payload<'_>);

    /// Bytes queued on the socket that the kernel has not taken yet.
    fn queued_bytes(&self, socket: SocketId) -> usize;

    /// Ends this direction of a connected socket: a FIN goes out after everything queued so far.
    /// What is handed to [`send`](Self::send) afterwards is dropped. Receiving goes on, and the
    /// number stays in use until closed.
    fn shutdown(&mut self, socket: SocketId);

    /// Stops receiving on a connected socket, so that its peer has to wait once the kernel's
    /// buffers are full. What the driver has already received is still delivered, at most what its
    /// buffers hold.
    ///
    /// While paused, the end or failure of the connection may go unseen until receiving is resumed;
    /// but a send that fails is reported at once, and bytes not yet received are lost.
    fn pause_receiving(&mut self, socket: SocketId);

    /// Goes on receiving after [`pause_receiving`](Self::pause_receiving).
    fn resume_receiving(&mut self, socket: SocketId);

    /// What the kernel says of a connection, also of one that is being opened or has failed, until
    /// it is closed. `None` without a connection, on Unix sockets and on systems other than Linux.
    /// It costs a system call: not for the path of a request.
    fn tcp_info(&self, socket: SocketId) -> Option<TcpInfo>;

    /// The address at this end of a connection, or that of a listener. `None` without a socket
    /// and on Unix sockets. It costs a system call: not for the path of a request.
    fn local_address(&self, socket: SocketId) -> Option<SocketAddr>;

    /// Ends a connection, a connect under way, or a listener. The number is free on return and no
    /// event of its old use follows.
    fn close(&mut self, socket: SocketId, how: Close);

    /// Hands queued operations to the kernel, then sleeps until an event is there or `until_ns`
    /// has come (0: do not sleep). Returns the clock on return; where it had no need to enter the
    /// kernel, as the driver last read it. Spins where [`DriverOptions::spin`] says so.
    ///
    /// # Errors
    /// Only when the driver itself is broken; errors of sockets come as events.
    fn wait(&mut self, until_ns: u64) -> io::Result<u64>;

    /// Changes [`DriverOptions::spin`] while running.
    fn set_spin(&mut self, spin: Spin);

    /// Time spent spinning so far: CPU time that was not work.
    fn spun_ns(&self) -> u64;

    /// Until when everything that had arrived has been delivered, once [`next`](Self::next) has
    /// returned `None`, ns. What was to come by then and was not reported did not come. Never
    /// after the clock; it may stay behind a [`wait`](Self::wait), and catches up after a few.
    fn caught_up_ns(&self) -> u64;

    /// From now on notes the stretches in which this thread does not run. Sleeps are cut into
    /// slices of 2 ms for that.
    fn watch_standstills(&mut self);

    /// The oldest stretch noted that has not been taken.
    fn take_standstill(&mut self) -> Option<Standstill>;

    /// The next completion and the time to record for it, which does not go back but for sends.
    /// `None`: call [`wait`](Self::wait).
    fn next(&mut self) -> Option<(u64, Event)>;

    /// The received bytes.
    fn bytes(&self, received: &Received) -> &[u8];

    /// Gives a receive buffer back.
    fn release(&mut self, received: Received);

    /// A handle that wakes this driver from other threads.
    fn waker(&self) -> Waker;
}
