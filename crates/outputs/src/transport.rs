//! How a batch gets to its receiver: by a request of HTTP, or in datagrams.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::time::Duration;

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
    pub(crate) fn send(&mut self, batch: &[u8], limit: Duration) -> Fate {
        match self {
            Self::Http(poster) => poster.post(batch, limit),
            Self::Udp(datagrams) => match datagrams.send(batch) {
                Ok(()) => Fate::Delivered,
                // Datagrams are not worth a wait: the next ones have later figures.
                Err(error) => Fate::Refused { reason: error.to_string() },
            },
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
        // What fails is opened again for the next batch: the name may lead elsewhere by then.
        datagrams(lines).try_for_each(|datagram| socket.send(datagram).map(drop))?;
        self.socket = Some(socket);
        Ok(())
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
