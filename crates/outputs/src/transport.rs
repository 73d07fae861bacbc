//! How a batch gets to its receiver: by a request of HTTP, or in datagrams.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

use crate::batch::Batch;
use crate::delivery::Fate;
use crate::http::Poster;
use crate::receiver::Http;

/// The most bytes of a datagram that no network cuts into pieces.
const DATAGRAM_BYTES_MAX: usize = 1432;

/// A way to one receiver.
#[derive(Debug)]
pub(crate) enum Transport {
    Http(Box<Poster>),
    Udp(Datagrams),
}

impl Transport {
    pub(crate) fn http(to: Http) -> Self {
        Self::Http(Box::new(Poster::new(to)))
    }

    pub(crate) fn udp(to: String) -> Self {
        Self::Udp(Datagrams { to, socket: None })
    }

    /// Sends a batch; takes no longer than the limit.
    pub(crate) fn send(&mut self, batch: &Batch, limit: Duration) -> Fate {
        match self {
            Self::Http(poster) => poster.post(batch, limit),
            Self::Udp(datagrams) => match datagrams.send(&batch.bytes) {
                Ok(()) => Fate::Delivered,
                // Datagrams are not worth a wait: the next ones have later figures.
                Err(error) => Fate::Refused { reason: error.to_string() },
            },
        }
    }
}

impl Transport {
    /// Why the batch that was sent last did not arrive, if that is known within a limit. Only
    /// datagrams are sent without an answer; where nobody takes them, their host may say so later.
    pub(crate) fn refusal(&mut self, limit: Duration) -> Option<String> {
        match self {
            Self::Http(_) => None,
            Self::Udp(datagrams) => datagrams.refusal(limit).map(|error| error.to_string()),
        }
    }
}

/// Datagrams of whole lines.
#[derive(Debug)]
pub(crate) struct Datagrams {
    to: String,
    socket: Option<UdpSocket>,
}

impl Datagrams {
    fn send(&mut self, lines: &[u8]) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => connect(&self.to)?,
        };
        // What fails is opened again for the next batch: the name may lead elsewhere by then. An
        // error of sending may be about the datagram before, which is of this batch too.
        datagrams(lines).try_for_each(|datagram| socket.send(datagram).map(drop))?;
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        self.socket = Some(socket);
        Ok(())
    }

    /// What the host said of the datagrams sent last.
    fn refusal(&mut self, limit: Duration) -> Option<io::Error> {
        let socket = self.socket.as_ref()?;
        let error = match limit.is_zero() {
            true => socket.take_error().ok()?,
            false => awaited_error(socket, limit),
        };
        // The next batch is sent from a new socket.
        self.socket.take_if(|_| error.is_some());
        error
    }
}

fn connect(to: &str) -> io::Result<UdpSocket> {
    let address = to.to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other("the host is not known"))?;
    let any: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    socket.connect(address)?;
    Ok(socket)
}

/// An error that comes within a limit. Servers do not answer datagrams.
fn awaited_error(socket: &UdpSocket, limit: Duration) -> Option<io::Error> {
    socket.set_nonblocking(false).ok()?;
    socket.set_read_timeout(Some(limit)).ok()?;
    let is_late = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    let error = socket.recv(&mut [0; 1]).err().filter(|error| !is_late(error));
    // More may be sent.
    socket.set_nonblocking(true).ok()?;
    error
}

/// As many whole lines in each piece as fit, without the last line's end.
fn datagrams(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = lines;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let within = &rest[..rest.len().min(DATAGRAM_BYTES_MAX + 1)];
        let end = within.iter().rposition(|byte| *byte == b'\n');
        // A line that is too long goes alone.
        let end = end.or_else(|| rest.iter().position(|byte| *byte == b'\n'));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after.get(1..).unwrap_or_default();
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_nobody_takes_are_lost_also_if_their_host_says_so_late() {
        // Nobody listens on a port that was just closed.
        let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut datagrams = Datagrams { to: closed.to_string(), socket: None };
        for _ in 0..3 {
            let sent = datagrams.send(b"a:1|c\nb:1|c\n");
            let error = sent.err().or_else(|| datagrams.refusal(Duration::from_secs(60)));
            let kind = error.expect("nobody took them").kind();
            assert_eq!(kind, io::ErrorKind::ConnectionRefused);
        }
        let open = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut datagrams = Datagrams { to: open.local_addr().unwrap().to_string(), socket: None };
        datagrams.send(b"a:1|c\n").unwrap();
        assert!(datagrams.refusal(Duration::ZERO).is_none());
        assert!(datagrams.refusal(Duration::from_millis(1)).is_none());
        datagrams.send(b"b:1|c\n").unwrap();
        let mut taken = [0; 16];
        let lengths = [(); 2].map(|()| open.recv(&mut taken).unwrap());
        assert_eq!((lengths, &taken[..5]), ([5, 5], b"b:1|c".as_slice()));
    }

    #[test]
    fn datagrams_hold_whole_lines() {
        let lines: Vec<String> = (0..400).map(|number| format!("plimsoll.a{number}:1|c")).collect();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let pieces: Vec<&[u8]> = datagrams(text.as_bytes()).collect();
        assert!(pieces.len() > 1);
        assert!(pieces.iter().all(|piece| piece.len() <= DATAGRAM_BYTES_MAX));
        assert_eq!(pieces.join(&b'\n'), text.trim_end().as_bytes());
        assert_eq!(datagrams(b"").count(), 0);
        let long = "x".repeat(2000);
        let text = format!("a\n{long}\nb\n");
        let pieces: Vec<&[u8]> = datagrams(text.as_bytes()).collect();
        assert_eq!(pieces, [b"a".as_slice(), long.as_bytes(), b"b"]);
    }
}
