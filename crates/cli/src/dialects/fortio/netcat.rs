//! `fortio nc`: stdin to a server, and what it sends to stderr.
//!
//! No load: it stands on the system's own blocking sockets.

use std::io::{self, Read, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plimsoll_dialect::fortio::{Level, LogLevel, Netcat};

use super::{Refused, log};
use crate::message::without_error_numbers;

/// The longest datagram, and a piece of a stream.
const PIECE_BYTES: usize = 64 << 10;
/// How long to wait for datagrams once stdin has ended.
const LAST_DATAGRAM: Duration = Duration::from_millis(400);

pub(super) fn connect(netcat: &Netcat) -> Result<ExitCode, Refused> {
    let (target, stops) = (&netcat.target, netcat.stops_on_eof);
    let kind = if netcat.is_udp { "UDP" } else { "TCP" };
    let text = format!("{kind} NetCat to {target}, stop on eof {stops}");
    log(LogLevel::Info, Level::Info, &text, &[]);
    let done = match netcat.is_udp {
        true => datagrams(netcat.address()),
        false => stream(netcat.address(), stops),
    };
    match done {
        Ok([read, wrote]) => {
            let text = format!("Read {read}, Wrote {wrote} bytes to {kind} {target}");
            log(LogLevel::Info, Level::Info, &text, &[]);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let text = without_error_numbers(&error.to_string());
            log(
                LogLevel::Info,
                Level::Error,
                &format!("Connection error to {target:?}: {text}"),
                &[],
            );
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Both directions of a stream at once; gives bytes read and written.
fn stream(address: &str, stops_on_eof: bool) -> io::Result<[u64; 2]> {
    let mut stream = TcpStream::connect(address)?;
    let mut sending = stream.try_clone()?;
    let sender = thread::spawn(move || {
        // An error of this direction shows in the other one.
        let sent = io::copy(&mut io::stdin(), &mut sending).unwrap_or(0);
        let _ = sending.shutdown(Shutdown::Write);
        sent
    });
    let read = io::copy(&mut stream, &mut io::stderr())?;
    // Stdin may never end, so nobody waits for it once the server has.
    let is_over = stops_on_eof && !sender.is_finished();
    let sent = if is_over { 0 } else { sender.join().unwrap_or(0) };
    Ok([read, sent])
}

/// Each piece of stdin is a datagram.
fn datagrams(address: &str) -> io::Result<[u64; 2]> {
    let to = address
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| io::Error::other("the name has no address"))?;
    let socket = UdpSocket::bind(if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
    socket.connect(to)?;
    socket.set_read_timeout(Some(LAST_DATAGRAM))?;
    let sending = socket.try_clone()?;
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    let sender = thread::spawn(move || {
        let sent = send_pieces(&mut io::stdin(), &sending);
        ended.store(true, Ordering::Release);
        sent
    });
    let mut piece = vec![0; PIECE_BYTES];
    let mut read = 0;
    loop {
        let was_over = has_ended.load(Ordering::Acquire);
        match socket.recv(&mut piece) {
            Ok(bytes) => {
                read += bytes as u64;
                io::stderr().write_all(&piece[..bytes])?;
            }
            Err(error) if is_timeout(&error) && was_over => break,
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok([read, sender.join().unwrap_or(0)])
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

fn send_pieces(from: &mut impl Read, to: &UdpSocket) -> u64 {
    let mut piece = vec![0; PIECE_BYTES];
    let mut sent = 0;
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        if to.send(&piece[..bytes]).is_err() {
            break;
        }
        sent += bytes as u64;
    }
    sent
}
