//! A server behind the proxy: a thread for each connection that reads strictly, keeps what it read,
//! and answers with the request's own target, or with what a script says.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::Pace;
use crate::strict::{self, Fault, Request};

/// Longer than anything here takes, so that it ends only what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Targets that begin so are asked to keep order, and not recorded.
pub(crate) const PACE: &str = "/pace";
/// Targets that begin so are answered by the script.
pub(crate) const CASE: &str = "/case";

/// What came over all connections of an upstream.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Whole requests, in the order they were complete.
    pub(crate) requests: Vec<Request>,
    /// What no strict reader takes, with its bytes.
    pub(crate) wrong: Vec<String>,
    /// What was there of a request when the connection ended.
    pub(crate) cut: Vec<String>,
}

/// When a script's answer is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Once the request is complete.
    Whole,
    /// Once its head is; the rest is read after that.
    Head,
}

/// In which pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    One,
    /// The proxy sees these bytes before the others are sent.
    At(usize),
    /// Only these bytes, then a close.
    CloseAt(usize),
    /// Only these bytes, then a reset.
    ResetAt(usize),
}

/// What becomes of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    Keep,
    Close,
}

/// The answer to a request below [`CASE`].
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) when: When,
    pub(crate) bytes: Vec<u8>,
    pub(crate) pieces: Pieces,
    pub(crate) then: Then,
}

struct Shared {
    record: Mutex<Record>,
    script: Mutex<Option<Script>>,
    pace: Pace,
    stop: AtomicBool,
    /// A second handle of each open connection by its number, for [`Upstream::say_unasked`].
    open: Mutex<BTreeMap<usize, TcpStream>>,
    /// Told of each that is no longer open.
    closed: Condvar,
}

/// A server that runs until [`Upstream::finish`].
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<Vec<JoinHandle<()>>>,
}

impl Upstream {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            record: Mutex::default(),
            script: Mutex::default(),
            pace: Pace::default(),
            stop: AtomicBool::new(false),
            open: Mutex::default(),
            closed: Condvar::new(),
        });
        let ours = Arc::clone(&shared);
        let accepting = thread::spawn(move || accept(&listener, &ours));
        Self { address, shared, accepting }
    }

    /// Where to ask so that what was sent before has been seen.
    pub(crate) fn pace(&self) -> &Pace {
        &self.shared.pace
    }

    /// How requests below [`CASE`] are answered from now on.
    pub(crate) fn play(&self, script: Script) {
        *self.shared.script.lock().expect("no panic") = Some(script);
    }

    /// Sends bytes that nobody asked for on every open connection, and waits until the proxy has
    /// closed them all: a request that overtakes such bytes on the way cannot be told from one that
    /// they answer.
    ///
    /// # Panics
    /// When one stays open.
    pub(crate) fn say_unasked(&self, bytes: &[u8]) {
        let mut open = self.shared.open.lock().expect("no panic");
        let told: Vec<usize> = open.keys().copied().collect();
        for stream in open.values_mut() {
            // The proxy may have closed that one.
            let _ = stream.write_all(bytes);
        }
        let is_one_left = |open: &mut BTreeMap<usize, TcpStream>| {
            told.iter().any(|number| open.contains_key(number))
        };
        let waited = self.shared.closed.wait_timeout_while(open, PATIENCE, is_one_left);
        assert!(!waited.expect("no panic").1.timed_out(), "a connection is kept after {bytes:?}");
    }

    /// What came; only once the proxy has ended, so that nothing more can come.
    pub(crate) fn finish(self) -> Record {
        self.shared.stop.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address).expect("the listener is there"));
        for thread in self.accepting.join().expect("no panic") {
            thread.join().expect("no panic");
        }
        std::mem::take(&mut *self.shared.record.lock().expect("no panic"))
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) -> Vec<JoinHandle<()>> {
    let mut threads = Vec::new();
    loop {
        let (stream, _) = listener.accept().expect("a connection");
        if shared.stop.load(Ordering::Relaxed) {
            return threads;
        }
        stream.set_nodelay(true).expect("an open socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
        let (number, second) = (threads.len(), stream.try_clone().expect("a second handle"));
        shared.open.lock().expect("no panic").insert(number, second);
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            serve(&mut &stream, &shared);
            // A socket is closed with its last handle.
            shared.open.lock().expect("no panic").remove(&number);
            shared.closed.notify_all();
        }));
    }
}

/// Reads and answers until the connection ends.
fn serve(stream: &mut &TcpStream, shared: &Shared) {
    let (mut bytes, mut is_answered) = (Vec::new(), false);
    loop {
        let complaint = match strict::request(&bytes) {
            Ok((request, length)) => {
                bytes.drain(..length);
                if std::mem::take(&mut is_answered) {
                    shared.record.lock().expect("no panic").requests.push(request);
                } else if !answer(request, stream, shared) {
                    return;
                }
                continue;
            }
            Err(Fault::Incomplete) if is_answered => read(stream, &mut bytes),
            Err(Fault::Incomplete) => match early(&bytes, stream, shared) {
                Some(false) => return,
                Some(true) => {
                    is_answered = true;
                    None
                }
                None => read(stream, &mut bytes),
            },
            Err(Fault::Wrong(why)) => Some(format!("{why}, in {}", bytes.escape_ascii())),
        };
        let Some(complaint) = complaint else { continue };
        let mut record = shared.record.lock().expect("no panic");
        if !complaint.is_empty() {
            record.wrong.push(complaint);
        } else if !bytes.is_empty() {
            record.cut.push(bytes.escape_ascii().to_string());
        }
        return;
    }
}

/// Takes more bytes; otherwise what is wrong, or nothing when the connection ended.
fn read(stream: &mut &TcpStream, bytes: &mut Vec<u8>) -> Option<String> {
    let mut piece = [0; 16 << 10];
    match stream.read(&mut piece) {
        Ok(0) => Some(String::new()),
        Ok(length) => {
            bytes.extend(&piece[..length]);
            None
        }
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            Some("the proxy left a connection open".into())
        }
        Err(_) => Some(String::new()),
    }
}

fn discard(stream: &mut &TcpStream) {
    let mut bytes = Vec::new();
    while read(stream, &mut bytes).is_none() {
        bytes.clear();
    }
}

/// Answers a whole request; whether to go on.
fn answer(request: Request, stream: &mut &TcpStream, shared: &Shared) -> bool {
    let closes = request.head.closes();
    if request.target.starts_with(CASE) {
        let script = shared.script.lock().expect("no panic").clone().expect("a script");
        shared.record.lock().expect("no panic").requests.push(request);
        return say(&script, stream, shared) && !closes;
    }
    let echo = format!("{} {} {}", request.method, request.target, request.body.len());
    let body = if request.method == "HEAD" { "" } else { &echo };
    let continued = request.head.get("expect").map_or("", |_| "HTTP/1.1 100 Continue\r\n\r\n");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", echo.len());
    if !request.target.starts_with(PACE) {
        shared.record.lock().expect("no panic").requests.push(request);
    }
    stream.write_all(format!("{continued}{head}{body}").as_bytes()).is_ok() && !closes
}

/// What a script says before the body is there; whether the connection stays open then.
fn early(bytes: &[u8], stream: &mut &TcpStream, shared: &Shared) -> Option<bool> {
    let (_, _, target) = strict::request_head(bytes).ok()?;
    let script = shared.script.lock().expect("no panic").clone()?;
    let now = target.starts_with(CASE) && script.when == When::Head;
    now.then(|| say(&script, stream, shared))
}

/// Sends a script's answer; whether the connection stays open.
fn say(script: &Script, stream: &mut &TcpStream, shared: &Shared) -> bool {
    let bytes = &script.bytes;
    let (first, second) = match script.pieces {
        Pieces::One => (&bytes[..], &[][..]),
        Pieces::At(at) => bytes.split_at(at),
        Pieces::CloseAt(at) | Pieces::ResetAt(at) => (&bytes[..at], &[][..]),
    };
    let mut sent = stream.write_all(first).is_ok();
    if !second.is_empty() {
        // A proxy that is gone by now is found out where the response is missing.
        let _ = shared.pace.wait();
        sent &= stream.write_all(second).is_ok();
    }
    let ends = script.then == Then::Close || script.pieces == Pieces::CloseAt(first.len());
    if let Pieces::ResetAt(_) = script.pieces {
        // What is unread or unacknowledged is lost in any case.
        let _ = socket_reset(stream);
        return false;
    }
    if ends {
        // The proxy may have been first.
        let _ = stream.shutdown(Shutdown::Write);
        discard(stream);
    }
    sent && !ends
}

/// Makes the close of a stream a reset.
pub(crate) fn socket_reset(stream: &TcpStream) -> std::io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
