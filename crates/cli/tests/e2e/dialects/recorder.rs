//! A server that remembers the bytes it was sent and when, connection by connection, and answers
//! each request with a few bytes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nX-Token: t0k3n\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok";

/// Requests as they came, in order, for each connection that sent any.
type Seen = Arc<Mutex<Vec<Vec<Request>>>>;

/// When a request was there, since 1970, and its bytes as text.
type Request = (Duration, String);

/// The server. Its threads end with the connections.
pub(super) struct Recorder {
    address: SocketAddr,
    seen: Seen,
}

impl Recorder {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let seen = Seen::default();
        let kept = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&kept);
                thread::spawn(move || record(stream, &seen));
            }
        });
        Self { address, seen }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// What was seen since the last time, with the server's own address written as HOST.
    pub(super) fn take(&self) -> Vec<Vec<String>> {
        let own = self.address.to_string();
        let seen = std::mem::take(&mut *lock(&self.seen));
        let texts = |requests: Vec<Request>| -> Vec<String> {
            requests.into_iter().map(|(_, text)| text.replace(&own, "HOST")).collect()
        };
        seen.into_iter().filter(|requests| !requests.is_empty()).map(texts).collect()
    }

    /// What was seen since the last time, and when.
    pub(super) fn take_timed(&self) -> Vec<Request> {
        std::mem::take(&mut *lock(&self.seen)).into_iter().flatten().collect()
    }
}

fn lock(seen: &Seen) -> MutexGuard<'_, Vec<Vec<Request>>> {
    seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Reads requests until the client closes, and writes each down when it is whole.
fn record(mut stream: TcpStream, seen: &Seen) {
    let _ = stream.set_nodelay(true);
    let number = {
        let mut seen = lock(seen);
        seen.push(Vec::new());
        seen.len() - 1
    };
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..len]);
        while let Some(request_bytes) = whole(&bytes) {
            let request: Vec<u8> = bytes.drain(..request_bytes).collect();
            // Taken away meanwhile: nobody asks any more.
            if let Some(requests) = lock(seen).get_mut(number) {
                let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                requests.push((at, String::from_utf8_lossy(&request).into_owned()));
            }
            if stream.write_all(ANSWER).is_err() {
                return;
            }
        }
    }
}

/// The length of the first request, if all of it is there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let body: usize = length.map_or(0, |length| length.trim().parse().expect("a length"));
    (bytes.len() >= head + body).then_some(head + body)
}
