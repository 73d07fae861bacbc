//! The best that this machine allows: the same load from a loop that does nothing else.
//!
//! The loop never sleeps, keeps one request under way at a time, and records nothing while it runs.
//! Its lateness and its answers' times are the cost of the loopback and the CPU time that was taken
//! away. Testers that are judged by the microsecond are judged relative to that.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::oracle::clock_ns;

/// What it asks for; the oracle's answers to it are short.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: reference\r\n\r\n";
/// Most bytes of an answer's head and body.
const ANSWER_MAX: usize = 4096;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A load for it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) rate_rps: f64,
    pub(super) connections: usize,
    pub(super) duration_s: f64,
}

/// Sends the load from this thread. How long each answer took, seconds, in order.
///
/// # Errors
/// Those of the sockets; an answer that is not one.
pub(super) fn run(at: SocketAddr, load: Load) -> io::Result<Vec<f64>> {
    let mut streams = (0..load.connections)
        .map(|_| {
            let stream = TcpStream::connect(at)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        })
        .collect::<io::Result<Vec<_>>>()?;
    let count = (load.rate_rps * load.duration_s) as usize;
    let mut taken_s = Vec::with_capacity(count);
    let start_ns = clock_ns();
    for i in 0..count {
        let due_ns = start_ns + (i as f64 * 1e9 / load.rate_rps) as u64;
        while clock_ns() < due_ns {
            std::hint::spin_loop();
        }
        let sent_ns = clock_ns();
        exchange(&mut streams[i % load.connections])?;
        taken_s.push((clock_ns() - sent_ns) as f64 / 1e9);
    }
    Ok(taken_s)
}

/// A request and its answer.
fn exchange(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(REQUEST)?;
    let give_up_ns = clock_ns() + PATIENCE.as_nanos() as u64;
    let mut answer = [0; ANSWER_MAX];
    let mut len = 0;
    loop {
        match stream.read(&mut answer[len..]) {
            Ok(0) => return Err(io::Error::other("the oracle closed the reference's connection")),
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if is_whole(&answer[..len]) {
            return Ok(());
        }
        if clock_ns() > give_up_ns {
            return Err(io::Error::other("the oracle did not answer the reference"));
        }
        std::hint::spin_loop();
    }
}

/// Whether an answer with a `Content-Length` has come.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    answer.len() >= end + 4 + length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        for len in 0..answer.len() {
            assert!(!is_whole(&answer[..len]), "{len} bytes");
        }
        assert!(is_whole(answer));
    }
}
