//! The access log: one line for each request, written by a separate thread.
//!
//! A worker copies the facts into a bounded queue; the thread formats and writes them. If the
//! thread cannot keep up, lines are dropped and counted, and no request waits.

use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::SystemTime;

use plimsoll_io::clock;

/// Lines that wait for the thread.
const QUEUE_LINES: usize = 8192;
/// Bytes of the request line that are kept.
const REQUEST_BYTES_MAX: usize = 160;

/// Where workers put their lines.
#[derive(Debug)]
pub struct AccessLog {
    lines: SyncSender<Line>,
}

/// The thread that writes. It ends when the last [`AccessLog`] is dropped.
#[derive(Debug)]
pub struct LogThread {
    thread: JoinHandle<io::Result<()>>,
}

/// The start of a request line, as it came.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestLine {
    bytes: [u8; REQUEST_BYTES_MAX],
    len: u8,
}

impl RequestLine {
    /// That of a request of HTTP/2, which has none, as a client of HTTP/1 would write it.
    pub(super) fn of_http2(method: &str, target: &str) -> Self {
        let mut bytes = [0; REQUEST_BYTES_MAX];
        let mut len = 0;
        for part in [method, " ", target, " HTTP/2.0"] {
            let taken = part.len().min(REQUEST_BYTES_MAX - len);
            bytes[len..len + taken].copy_from_slice(&part.as_bytes()[..taken]);
            len += taken;
        }
        Self { bytes, len: len as u8 }
    }

    /// Up to the first line break.
    pub(super) fn of(head: &[u8]) -> Self {
        let window = &head[..head.len().min(REQUEST_BYTES_MAX)];
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let len = window.iter().position(is_break).unwrap_or(window.len());
        let mut bytes = [0; REQUEST_BYTES_MAX];
        bytes[..len].copy_from_slice(&window[..len]);
        Self { bytes, len: len as u8 }
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: IpAddr,
    pub(super) request: RequestLine,
    pub(super) status: u16,
    /// Bytes of the response's body that were forwarded.
    pub(super) body_bytes: u64,
    /// From the request's head to the end of the response.
    pub(super) duration_ns: u64,
    /// Which upstream answered, counted from 0.
    pub(super) upstream: Option<u8>,
    /// Whether the response was forwarded in whole.
    pub(super) is_complete: bool,
}

impl AccessLog {
    /// Starts a thread that writes to `out`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<(Arc<Self>, LogThread)> {
        let (lines, received) = sync_channel(QUEUE_LINES);
        let thread =
            Builder::new().name("access-log".to_owned()).spawn(move || write(out, &received))?;
        Ok((Arc::new(Self { lines }), LogThread { thread }))
    }

    /// Hands a line over; false when there is no room for it.
    pub(super) fn put(&self, line: Line) -> bool {
        self.lines.try_send(line).is_ok()
    }
}

impl LogThread {
    /// Waits until all lines are written.
    ///
    /// # Errors
    /// The first error of writing. No line after it was written.
    pub fn join(self) -> io::Result<()> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the log's thread panicked")))
    }
}

fn write(out: impl Write, lines: &Receiver<Line>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    while let Ok(line) = lines.recv() {
        write_line(&mut out, clock::wall_time(), &line)?;
        while let Ok(line) = lines.try_recv() {
            write_line(&mut out, clock::wall_time(), &line)?;
        }
        out.flush()?;
    }
    Ok(())
}

/// `TIME CLIENT "REQUEST LINE" STATUS BODY_BYTES DURATION_US UPSTREAM ok|cut`
fn write_line(out: &mut impl Write, at: SystemTime, line: &Line) -> io::Result<()> {
    let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    write!(out, "{}.{:03} {} \"", since.as_secs(), since.subsec_millis(), line.client)?;
    for &byte in &line.request.bytes[..usize::from(line.request.len)] {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => write!(out, "\\x{byte:02x}")?,
            _ => out.write_all(&[byte])?,
        }
    }
    let micros = line.duration_ns / 1000;
    write!(out, "\" {} {} {micros}us ", line.status, line.body_bytes)?;
    match line.upstream {
        Some(upstream) => write!(out, "{upstream}")?,
        None => write!(out, "-")?,
    }
    writeln!(out, "{}", if line.is_complete { " ok" } else { " cut" })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(request: &[u8]) -> Line {
        Line {
            client: IpAddr::from([192, 0, 2, 1]),
            request: RequestLine::of(request),
            status: 200,
            body_bytes: 12,
            duration_ns: 1_234_567,
            upstream: Some(1),
            is_complete: true,
        }
    }

    #[test]
    fn a_line_is_one_line_whatever_was_asked() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1500);
        let long = [b'a'; 400];
        let cut = format!("1.500 192.0.2.1 \"{}\" 200 12 1234us 1 ok\n", "a".repeat(160));
        let cases: [(&[u8], &str); 3] = [
            (
                b"GET /x HTTP/1.1\r\nHost: a",
                "1.500 192.0.2.1 \"GET /x HTTP/1.1\" 200 12 1234us 1 ok\n",
            ),
            (
                b"GET /\"\\\x1b\xff",
                "1.500 192.0.2.1 \"GET /\\x22\\x5c\\x1b\\xff\" 200 12 1234us 1 ok\n",
            ),
            (&long, &cut),
        ];
        for (request, want) in cases {
            let mut out = Vec::new();
            write_line(&mut out, at, &line(request)).expect("a Vec takes everything");
            assert_eq!(String::from_utf8_lossy(&out), want);
        }
    }

    #[test]
    fn lines_are_written_before_the_thread_ends() {
        let path = tempfile::NamedTempFile::new().expect("a scratch file");
        let file = path.reopen().expect("the same file");
        let (log, thread) = AccessLog::start(file).expect("a thread");
        assert!((0..100).all(|_| log.put(line(b"GET / HTTP/1.1\r\n"))));
        drop(log);
        thread.join().expect("writes");
        let text = std::fs::read_to_string(path.path()).expect("readable");
        assert_eq!(text.lines().count(), 100);
    }
}
