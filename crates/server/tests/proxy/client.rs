//! Clients of the proxy: they send bytes as they are told, in pieces that the proxy sees one after
//! the other, and read responses strictly.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use crate::strict::{self, Fault, Response};
use crate::upstream::{PACE, PATIENCE};

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// In order.
    Closed,
    /// By a reset.
    Reset,
    /// Not at all, for as long as anyone would wait.
    Open,
}

/// Why there is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// What came is not a response.
    Wrong(String),
    /// The connection ended before it was whole; this much was there.
    Ended(Ended, Vec<u8>),
}

impl From<Trouble> for String {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Wrong(why) => why,
            Trouble::Ended(ended, rest) => format!("{ended:?} after \"{}\"", rest.escape_ascii()),
        }
    }
}

/// A connection to the proxy.
pub(crate) struct Client {
    stream: TcpStream,
    /// What was received and not yet read as a response.
    pub(crate) rest: Vec<u8>,
    ended: Option<Ended>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        Self::on(TcpStream::connect(address).expect("the proxy accepts"))
    }

    fn on(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("an open socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("an open socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("an open socket");
        Self { stream, rest: Vec::new(), ended: None }
    }

    /// Sends; whether it could. A proxy that has refused a request may have closed.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Says that nothing more is sent.
    pub(crate) fn finish(&mut self) {
        // The proxy may have been first.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads the next response to a request of that method.
    pub(crate) fn response(&mut self, method: &str) -> Result<Response, Trouble> {
        loop {
            // A reset says that what came may not be all.
            let is_all = self.ended == Some(Ended::Closed);
            match strict::response(&self.rest, method, is_all) {
                Ok((response, length)) => {
                    self.rest.drain(..length);
                    return Ok(response);
                }
                Err(Fault::Wrong(why)) => {
                    let why = format!("{why}, in {}", self.rest.escape_ascii());
                    return Err(Trouble::Wrong(why));
                }
                Err(Fault::Incomplete) => {}
            }
            if let Some(ended) = self.ended {
                return Err(Trouble::Ended(ended, std::mem::take(&mut self.rest)));
            }
            self.read();
        }
    }

    /// How long to wait for more before the connection counts as left open.
    pub(crate) fn be_patient_for(&self, patience: Duration) {
        self.stream.set_read_timeout(Some(patience)).expect("an open socket");
    }

    /// Reads until the end; what came is in `rest`.
    pub(crate) fn end(&mut self) -> Ended {
        loop {
            if let Some(ended) = self.ended {
                return ended;
            }
            self.read();
        }
    }

    fn read(&mut self) {
        let mut piece = [0; 16 << 10];
        match self.stream.read(&mut piece) {
            Ok(0) => self.ended = Some(Ended::Closed),
            Ok(length) => self.rest.extend(&piece[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.ended = Some(Ended::Open),
            Err(_) => self.ended = Some(Ended::Reset),
        }
    }
}

/// A way to wait until the proxy has seen what was sent to it before, without a clock: it runs one
/// worker, and a request sent later is answered later.
#[derive(Default)]
pub(crate) struct Pace {
    proxy: OnceLock<SocketAddr>,
    client: Mutex<Option<Client>>,
}

impl Pace {
    /// Has to be called before the first wait.
    pub(crate) fn through(&self, proxy: SocketAddr) {
        self.proxy.set(proxy).expect("one proxy for one upstream");
    }

    /// An error says what came in place of the answer.
    pub(crate) fn wait(&self) -> Result<(), String> {
        let mut slot = self.client.lock().expect("no panic");
        let proxy = *self.proxy.get().expect("`through` was called");
        if slot.is_none() {
            let stream = TcpStream::connect(proxy).map_err(|_| "the proxy is gone")?;
            *slot = Some(Client::on(stream));
        }
        let client = slot.as_mut().expect("just put there");
        client.send(format!("GET {PACE} HTTP/1.1\r\nHost: pace\r\n\r\n").as_bytes());
        match client.response("GET") {
            Ok(response) if response.status == 200 && response.body == b"GET /pace 0" => Ok(()),
            Ok(response) => Err(format!("a good request got {}", response.status)),
            Err(trouble) => Err(format!("a good request got {}", String::from(trouble))),
        }
    }

    /// Forgets the connection, so that the proxy has none left.
    pub(crate) fn close(&self) {
        *self.client.lock().expect("no panic") = None;
    }
}
