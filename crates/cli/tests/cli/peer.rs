//! A server of the test's own, for what the built-in one would never do. It keeps every request it
//! got, so a test knows the truth that a report must tell.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::SockRef;

/// The plainest response.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

const LIMIT: Duration = Duration::from_secs(60);

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    /// These bytes, and on to the next.
    Say(&'static str),
    /// These bytes, then the end of the stream.
    Last(&'static str),
    /// The connection is reset.
    Reset,
    /// Nothing, ever.
    Hang,
}

#[derive(Default)]
struct Log {
    connections: AtomicUsize,
    requests: Mutex<Vec<String>>,
    more: Condvar,
}

fn any_port() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port")
}

/// A server on a thread.
pub(crate) struct Peer {
    address: SocketAddr,
    log: Arc<Log>,
    stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Peer {
    /// Reads requests and answers each by its number, counted from 0 over all connections.
    pub(crate) fn answering(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::answering_on(any_port(), answer)
    }

    /// The same on a port that is there already.
    pub(crate) fn answering_on(
        listener: TcpListener,
        answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let log = Arc::new(Log::default());
        let kept = Arc::clone(&log);
        let answer = Arc::new(answer);
        Self::listen(listener, log, move |stream| {
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            thread::spawn(move || converse(stream, &kept, &*answer));
        })
    }

    /// Does this with each connection.
    pub(crate) fn accepting(act: impl Fn(TcpStream) + Send + 'static) -> Self {
        Self::listen(any_port(), Arc::default(), act)
    }

    fn listen(
        listener: TcpListener,
        log: Arc<Log>,
        act: impl Fn(TcpStream) + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a bound address");
        let stopping = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stopping);
        let accepting = thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                act(stream);
            }
        });
        Self { address, log, stopping, accepting: Some(accepting) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.log.requests.lock().expect("no panic under the lock").clone()
    }

    /// On how many connections it has waited for requests.
    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::Relaxed)
    }

    /// Waits until `count` requests have come.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        let requests = self.log.requests.lock().expect("no panic under the lock");
        let waited =
            self.log.more.wait_timeout_while(requests, LIMIT, |requests| requests.len() < count);
        assert!(!waited.expect("no panic under the lock").1.timed_out(), "{count} requests");
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Only a connection wakes the thread that accepts them.
        let woken = TcpStream::connect(self.address);
        if let Some(thread) = self.accepting.take().filter(|_| woken.is_ok()) {
            let _ = thread.join();
        }
    }
}

/// Lets a connection go with a reset.
pub(crate) fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("a socket option");
    drop(stream);
}

fn converse(mut stream: TcpStream, log: &Log, answer: &dyn Fn(usize) -> Answer) {
    log.connections.fetch_add(1, Ordering::Relaxed);
    let mut bytes = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut bytes) {
        let number = {
            let mut requests = log.requests.lock().expect("no panic under the lock");
            requests.push(request);
            requests.len() - 1
        };
        log.more.notify_all();
        // A client that has gone away ends the conversation at the next read.
        match answer(number) {
            Answer::Say(text) => drop(stream.write_all(text.as_bytes())),
            Answer::Last(text) => {
                let _ = stream.write_all(text.as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut bytes);
                return;
            }
            Answer::Reset => return reset(stream),
            Answer::Hang => {
                let _ = stream.read_to_end(&mut bytes);
                return;
            }
        }
    }
}

/// The next request with its body; what came beyond it stays in `bytes`.
fn read_request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(length) = request_length(bytes) {
            let request: Vec<u8> = bytes.drain(..length).collect();
            return Some(String::from_utf8_lossy(&request).into_owned());
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&more[..read]);
    }
}

fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    if text.contains("\r\ntransfer-encoding: chunked\r\n") {
        // The line break before it ends the last chunk, or the head of a body without chunks.
        let last = bytes[head - 2..].windows(7).position(|window| window == b"\r\n0\r\n\r\n");
        return last.map(|at| head - 2 + at + 7);
    }
    let body = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = head + body.map_or(0, |value| value.trim().parse::<usize>().unwrap_or(0));
    (bytes.len() >= length).then_some(length)
}
