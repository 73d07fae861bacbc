//! A scripted HTTP server for the simulated network.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn};

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Answers with a status after a time.
    Status(u16, u64),
    /// Answers chunked.
    Chunked(u64),
    /// Answers without a length and closes.
    UntilClose(u64),
    /// Answers and says that it closes, and does.
    LastOne(u64),
    /// The same, but the close comes after another time.
    LastOneSlowly(u64, u64),
    /// Answers with a status and a header line.
    With(u16, &'static str, u64),
    /// Says `100 Continue` after a time, and answers after as long again.
    Continue(u64),
    /// Says `100 Continue` and answers in one breath.
    ContinueAtOnce(u64),
    /// Never answers.
    Hang,
    /// Sends what is not HTTP.
    Garbage(u64),
    /// Promises more body than it sends, then closes.
    Truncated(u64),
    /// Closes without an answer.
    Close,
    /// Resets.
    Reset,
}

/// What the server saw.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// When each whole request had arrived, ns.
    pub arrivals_ns: Vec<u64>,
    /// The head of each.
    pub heads: Vec<String>,
    pub connections: u64,
}

/// A server that asks `script` (number of the request over all, time) what to do.
pub(crate) struct Server<F> {
    script: F,
    log: Rc<RefCell<Log>>,
    pending: BTreeMap<PeerConn, Vec<u8>>,
}

impl<F: FnMut(u64, u64) -> Answer> Server<F> {
    pub(crate) fn new(script: F) -> (Self, Rc<RefCell<Log>>) {
        let log = Rc::new(RefCell::new(Log::default()));
        (Self { script, log: Rc::clone(&log), pending: BTreeMap::new() }, log)
    }
}

impl<F: FnMut(u64, u64) -> Answer> Peer for Server<F> {
    fn connected(&mut self, _now_ns: u64, conn: PeerConn, _out: &mut PeerActions) {
        self.log.borrow_mut().connections += 1;
        self.pending.insert(conn, Vec::new());
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        let Some(buffer) = self.pending.get_mut(&conn) else { return };
        buffer.extend_from_slice(bytes);
        while let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = buffer.drain(..end + 4).collect();
            let number = {
                let mut log = self.log.borrow_mut();
                log.heads.push(String::from_utf8_lossy(&head).into_owned());
                log.arrivals_ns.push(now_ns);
                log.arrivals_ns.len() as u64 - 1
            };
            let answer = (self.script)(number, now_ns);
            if !respond(answer, out) {
                self.pending.remove(&conn);
                return;
            }
        }
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.pending.remove(&conn);
    }
}

/// Acts on an answer; says whether the connection goes on.
fn respond(answer: Answer, out: &mut PeerActions) -> bool {
    match answer {
        Answer::Status(status, after_ns) => {
            let body = if status == 204 || status == 304 { "" } else { "hello" };
            let length = body.len();
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}");
            out.send(after_ns, text);
            true
        }
        Answer::Chunked(after_ns) => {
            let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
            out.send(after_ns, text);
            true
        }
        Answer::UntilClose(after_ns) => {
            out.send(after_ns, "HTTP/1.1 200 OK\r\n\r\nall until the end");
            out.close(after_ns);
            false
        }
        Answer::LastOne(after_ns) => {
            let text = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
            out.send(after_ns, text);
            out.close(after_ns);
            false
        }
        Answer::LastOneSlowly(after_ns, close_after_ns) => {
            let text = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
            out.send(after_ns, text);
            out.close(close_after_ns);
            false
        }
        Answer::With(status, line, after_ns) => {
            let text = format!("HTTP/1.1 {status} X\r\n{line}\r\nContent-Length: 5\r\n\r\nhello");
            out.send(after_ns, text);
            true
        }
        Answer::Continue(after_ns) => {
            out.send(after_ns, "HTTP/1.1 100 Continue\r\n\r\n");
            out.send(2 * after_ns, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            true
        }
        Answer::ContinueAtOnce(after_ns) => {
            let text =
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            out.send(after_ns, text);
            true
        }
        Answer::Hang => true,
        Answer::Garbage(after_ns) => {
            out.send(after_ns, "this is no HTTP at all\r\n\r\n");
            true
        }
        Answer::Truncated(after_ns) => {
            out.send(after_ns, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort");
            out.close(after_ns);
            false
        }
        Answer::Close => {
            out.close(0);
            false
        }
        Answer::Reset => {
            out.reset(0);
            false
        }
    }
}
