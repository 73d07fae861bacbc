//! What a simulation is told beforehand: the faults of the network and the script of the peer.

use std::net::SocketAddr;
use std::ops::Range;

use crate::Address;
use crate::tcp_info::TcpInfo;

/// A stretch of simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When it begins, ns.
    pub at_ns: u64,
    /// How long it lasts, ns.
    pub for_ns: u64,
}

impl Window {
    pub(super) fn end_ns(self) -> u64 {
        self.at_ns.saturating_add(self.for_ns)
    }

    pub(super) fn holds(self, now_ns: u64) -> bool {
        (self.at_ns..self.end_ns()).contains(&now_ns)
    }
}

/// The seed and the faults. Probabilities are from 0 to 1.
#[derive(Debug, Clone)]
pub struct SimOptions {
    /// Everything random follows from it.
    pub seed: u64,
    /// Time from one end to the other, ns, drawn for each delivery. Order is kept.
    pub latency_ns: Range<u64>,
    /// Probability, at each cut, that a delivery is cut in two once more.
    pub split: f64,
    /// Probability that a send is taken by the kernel in two goes.
    pub partial_write: f64,
    /// Probability, per delivery, that the connection is reset instead.
    pub reset: f64,
    /// Probability, per connect, that it is refused.
    pub refuse: f64,
    /// Where nobody is: connects to it are refused.
    pub refused: Option<SocketAddr>,
    /// Time a connection waits until it is accepted, ns.
    pub accept_delay_ns: Range<u64>,
    /// Lateness of waking from a sleep, ns.
    pub wait_jitter_ns: Range<u64>,
    /// The whole process under test stands still; the network goes on.
    pub pause: Option<Window>,
    /// Behaves as a readiness API does: takes in one event after the other, each a little later
    /// than the one before it, and a wait that a standstill of the process cuts short comes back
    /// without having looked.
    pub readiness: bool,
    /// What the process under test does between two looks at the clock takes this long, ns. With
    /// nothing, the clock stands still between waits.
    pub work_ns: Range<u64>,
    /// A call that sends or connects keeps the thread this long, ns, as where the peer is woken by
    /// it and gets the CPU first. The kernel does what it is called for at the beginning, and the
    /// network goes on.
    pub call_ns: Range<u64>,
    /// The peer is dead: its connections are reset at the start, connects are refused throughout.
    pub peer_dead: Option<Window>,
    /// The peer is stopped (SIGSTOP): its kernel goes on taking connections and bytes, the peer
    /// sees them when the window ends.
    pub peer_stalled: Option<Window>,
    /// What [`Driver::tcp_info`](crate::Driver::tcp_info) says of every open TCP connection.
    pub tcp_info: Option<TcpInfo>,
}

impl Default for SimOptions {
    /// No faults; a delivery takes 10 µs, waking none.
    fn default() -> Self {
        Self {
            seed: 0,
            latency_ns: 10_000..10_001,
            split: 0.0,
            partial_write: 0.0,
            reset: 0.0,
            refuse: 0.0,
            refused: None,
            accept_delay_ns: 0..1,
            wait_jitter_ns: 0..1,
            pause: None,
            readiness: false,
            work_ns: 0..1,
            call_ns: 0..1,
            peer_dead: None,
            peer_stalled: None,
            tcp_info: None,
        }
    }
}

/// A connection as a [`Peer`] sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerConn(pub u32);

/// A script at the other end of every connection that no listener of the driver takes.
pub trait Peer {
    /// A connection to this address is about to be accepted.
    fn connecting(&mut self, conn: PeerConn, to: &Address) {
        let _ = (conn, to);
    }
    /// A connection was accepted.
    fn connected(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions);
    /// Bytes arrived, in order, in any pieces.
    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions);
    /// The time that the script asked to be woken at has come.
    fn woken(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions) {
        let _ = (now_ns, conn, out);
    }
    /// The other side sends no more, but still reads. The peer closes at once, unless the script
    /// says otherwise.
    fn ended(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions) {
        let _ = (now_ns, conn);
        out.close(0);
    }
    /// The connection is gone: closed or reset by the other side, by a fault or in death. Not
    /// called after the peer's own close or reset.
    fn closed(&mut self, now_ns: u64, conn: PeerConn);
}

/// What a [`Peer`] does next with the connection it was called for.
#[derive(Debug, Default)]
pub struct PeerActions(pub(super) Vec<(u64, Action)>);

impl PeerActions {
    /// Sends bytes, `after_ns` from now.
    pub fn send(&mut self, after_ns: u64, bytes: impl Into<Vec<u8>>) {
        self.0.push((after_ns, Action::Send(bytes.into())));
    }

    /// Has [`Peer::woken`] called, `after_ns` from now and at least 1 ns, unless the connection is
    /// gone by then.
    pub fn wake(&mut self, after_ns: u64) {
        self.0.push((after_ns.max(1), Action::Wake));
    }

    /// Closes after what was sent before, `after_ns` from now.
    pub fn close(&mut self, after_ns: u64) {
        self.0.push((after_ns, Action::Close));
    }

    /// Resets, `after_ns` from now.
    pub fn reset(&mut self, after_ns: u64) {
        self.0.push((after_ns, Action::Reset));
    }
}

#[derive(Debug)]
pub(super) enum Action {
    Send(Vec<u8>),
    Wake,
    Close,
    Reset,
}
