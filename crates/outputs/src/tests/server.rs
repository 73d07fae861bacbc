//! A receiver over HTTP in this process: keeps what it is sent, and answers as it is told to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// What a request gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reply {
    /// An answer with these lines in its head.
    Status(u16, &'static str),
    /// The same, made of the request's body.
    Of(u16, fn(&[u8]) -> String),
    /// An answer that says what the request was authorized by.
    Echo,
    /// The end of the connection.
    Drop,
    /// Nothing, until the server ends.
    Hang,
}

#[derive(Default)]
struct State {
    /// In lower case.
    heads: Vec<String>,
    bodies: Vec<Vec<u8>>,
    held: Vec<TcpStream>,
    is_over: bool,
}

/// A server on a free port of this host.
pub(super) struct Server {
    address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A server that gives these replies in turn, and 204 after them.
    pub(super) fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        let serve = move || {
            let mut replies = replies.into_iter();
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                if shared.0.lock().unwrap().is_over {
                    return;
                }
                let Some((head, body)) = read(&stream) else { continue };
                let reply = replies.next().unwrap_or(Reply::Status(204, ""));
                // It is there before its sender can know that it is.
                let mut state = shared.0.lock().unwrap();
                state.heads.push(head.clone());
                state.bodies.push(body.clone());
                drop(state);
                shared.1.notify_all();
                answer(&stream, reply, &head, &body);
                if matches!(reply, Reply::Hang) {
                    shared.0.lock().unwrap().held.push(stream);
                }
            }
        };
        Self { address, state, thread: Some(std::thread::spawn(serve)) }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The heads of all requests so far, in lower case.
    pub(super) fn heads(&self) -> Vec<String> {
        self.state.0.lock().unwrap().heads.clone()
    }

    /// All bodies so far.
    pub(super) fn bodies(&self) -> Vec<Vec<u8>> {
        self.state.0.lock().unwrap().bodies.clone()
    }

    /// All bodies, as soon as there are `count`.
    pub(super) fn wait_for(&self, count: usize) -> Vec<Vec<u8>> {
        let state = self.state.0.lock().unwrap();
        let state = self.state.1.wait_while(state, |state| state.bodies.len() < count);
        state.unwrap().bodies.clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        {
            let mut state = self.state.0.lock().unwrap();
            state.is_over = true;
            state.held.clear();
        }
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The head, in lower case, and the body of the request that comes.
fn read(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &(line + "\n");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn answer(mut stream: &TcpStream, reply: Reply, head: &str, request: &[u8]) {
    let (status, lines) = match reply {
        Reply::Status(status, lines) => (status, lines.to_owned()),
        Reply::Of(status, lines) => (status, lines(request)),
        Reply::Echo => (403, String::new()),
        Reply::Drop | Reply::Hang => return,
    };
    let authorization = head.lines().find(|line| line.starts_with("authorization:"));
    let body = match (reply, status) {
        (Reply::Echo, _) => authorization.unwrap_or_default(),
        (_, 204) => "",
        _ => "no\nmore",
    };
    let length = body.len();
    // The client may have given up.
    let _ = write!(
        stream,
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n{lines}\r\n{body}"
    );
}
