//! Servers of the fuzzing test: a thread for each connection, which plays a fault and ends,
//! whatever the client does. Plain sockets, so that nothing of the program under test is in them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::SockRef;

/// Longer than the timeout of any load here, so that what stalls is found by the client.
const STALL: Duration = Duration::from_millis(800);
/// Between the bytes of something slow.
const DRIP: Duration = Duration::from_millis(20);

/// A seeded stream of numbers: splitmix64.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// What a server does next on a connection.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Waits for bytes of the client, to the end of a head if it is one.
    Read,
    /// Sends these bytes.
    Say(Vec<u8>),
    /// Sends these bytes, each in a segment of its own.
    Split(Vec<u8>),
    /// Sends these bytes slowly.
    Drip(Vec<u8>),
    /// Sends these bytes this many times.
    Flood(Vec<u8>, usize),
    /// Ends its side and reads on to the client's end.
    Fin,
    /// Resets.
    Reset,
    /// Does nothing at all for a while.
    Stall,
}

/// Plays steps until the end or until the client is gone. What is left open is closed.
pub(crate) fn play(mut stream: TcpStream, steps: &[Step]) {
    for step in steps {
        let went = match step {
            Step::Read => read_head(&mut stream),
            Step::Say(bytes) => stream.write_all(bytes).is_ok(),
            Step::Split(bytes) => bytes.iter().all(|byte| stream.write_all(&[*byte]).is_ok()),
            Step::Drip(bytes) => bytes.iter().all(|byte| {
                thread::sleep(DRIP);
                stream.write_all(&[*byte]).is_ok()
            }),
            Step::Flood(bytes, times) => (0..*times).all(|_| stream.write_all(bytes).is_ok()),
            Step::Fin => finish(&mut stream),
            Step::Reset => return reset(&stream),
            Step::Stall => {
                thread::sleep(STALL);
                true
            }
        };
        if !went {
            return;
        }
    }
}

/// Ends with a reset once the stream is dropped.
pub(crate) fn reset(stream: &TcpStream) {
    // The client may have been first.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// Ends this side and reads on to the client's end.
pub(crate) fn finish(stream: &mut TcpStream) -> bool {
    let _ = stream.shutdown(Shutdown::Write);
    let mut bytes = [0; 4096];
    while stream.read(&mut bytes).is_ok_and(|read| read > 0) {}
    false
}

fn read_head(stream: &mut TcpStream) -> bool {
    let mut bytes = [0; 4096];
    let mut length = 0;
    while length < bytes.len() {
        let Ok(read) = stream.read(&mut bytes[length..]) else { return false };
        length += read;
        // A ClientHello has no end of a head: it is there when something is.
        if read == 0 || bytes[0] == 22 || bytes[..length].windows(4).any(|at| at == b"\r\n\r\n") {
            return read > 0;
        }
    }
    true
}

/// A listener that plays faults, one after the other.
pub(crate) struct FaultServer {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl FaultServer {
    /// Calls `act` with each connection, on a thread of its own, and the connection's number.
    pub(crate) fn start(act: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let stopping = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stopping);
        let act = Arc::new(act);
        let number = AtomicU64::new(0);
        let accepting = thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let limited = stream
                    .set_read_timeout(Some(2 * STALL))
                    .and_then(|()| stream.set_write_timeout(Some(2 * STALL)))
                    .and_then(|()| stream.set_nodelay(true));
                if limited.is_err() {
                    continue;
                }
                let (act, number) = (Arc::clone(&act), number.fetch_add(1, Ordering::Relaxed));
                thread::spawn(move || act(stream, number));
            }
        });
        Self { address, stopping, accepting: Some(accepting) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Only a connection wakes the thread that accepts them.
        let woken = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}
