//! An echo of datagrams, on a thread of its own.
//!
//! Datagrams have no connections, so nothing of the drivers is needed: one socket that blocks.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The longest datagram.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;
/// How often to look whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// An echo that runs until it is dropped.
#[derive(Debug)]
pub(super) struct UdpEcho {
    address: SocketAddr,
    stops: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl UdpEcho {
    /// Starts one at an address; port 0 stands for a free one.
    ///
    /// # Errors
    /// The address is in use or cannot be bound, or no thread can be started.
    pub(super) fn start(at: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(at)?;
        socket.set_read_timeout(Some(LOOK))?;
        let address = socket.local_addr()?;
        let stops = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stops);
        let thread = thread::Builder::new()
            .name("udp-echo".to_owned())
            .spawn(move || echo(&socket, &told))?;
        Ok(Self { address, stops, thread: Some(thread) })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for UdpEcho {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing to clean up.
            let _ = thread.join();
        }
    }
}

fn echo(socket: &UdpSocket, stops: &AtomicBool) {
    let mut datagram = vec![0; DATAGRAM_BYTES_MAX];
    while !stops.load(Ordering::Relaxed) {
        // An error is the read timeout, or the ICMP answer to an earlier datagram.
        if let Ok((bytes, from)) = socket.recv_from(&mut datagram) {
            let _ = socket.send_to(&datagram[..bytes], from);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_back() {
        let echo = UdpEcho::start(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.connect(echo.address()).expect("an address");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
        let mut back = [0; 16];
        for datagram in [&b"one"[..], b"", b"three"] {
            socket.send(datagram).expect("sent");
            let bytes = socket.recv(&mut back).expect("an answer");
            assert_eq!(&back[..bytes], datagram);
        }
    }
}
