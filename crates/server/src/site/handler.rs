//! Requests that a program beside the server answers, from whichever thread and whenever it likes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_io::Waker;

/// What answers requests. It is called on the worker's thread, so it hands them to another one.
pub trait Handle: Send + Sync {
    /// Takes a request; the reply may be sent later. A reply that is dropped closes the connection.
    fn handle(&self, asked: Asked, reply: Reply);
}

/// A request, whole.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its head as it came, from the request line to the blank line.
    pub head: Vec<u8>,
    /// Its method, as in the head.
    pub method: String,
    /// Its target, as in the head.
    pub target: String,
    /// Its body.
    pub body: Vec<u8>,
    /// Who sent it.
    pub peer: SocketAddr,
    /// Whether it came over TLS.
    pub is_secure: bool,
    /// Whether its client still waits.
    pub client: Client,
}

/// The client of a request, for a program that takes long to answer.
#[derive(Debug, Clone, Default)]
pub struct Client {
    has_left: Arc<AtomicBool>,
}

impl Client {
    /// Whether it has closed its connection, or its side of it.
    #[must_use]
    pub fn has_left(&self) -> bool {
        self.has_left.load(Ordering::Relaxed)
    }

    /// Its connection has ended.
    pub(crate) fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }
}

impl Asked {
    /// The value of the first field of this name, if it is text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.head).ok()?;
        let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let mut values = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }
}

/// What a request is answered with. The server adds Date and Content-Length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// 200 to 599.
    pub status: u16,
    /// Fields in their order, without those that say how long the body is.
    pub fields: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Where the answer to a request goes.
#[derive(Debug)]
pub struct Reply {
    mailbox: Arc<Mailbox>,
    ticket: u64,
    is_sent: bool,
}

impl Reply {
    pub(crate) fn new(mailbox: &Arc<Mailbox>, ticket: u64) -> Self {
        Self { mailbox: Arc::clone(mailbox), ticket, is_sent: false }
    }

    /// Answers. If the client has gone, nothing happens.
    pub fn send(mut self, response: Response) {
        self.is_sent = true;
        self.mailbox.post(self.ticket, Some(response));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.is_sent {
            self.mailbox.post(self.ticket, None);
        }
    }
}

/// Answers on their way to a worker.
pub(crate) struct Mailbox {
    waker: Waker,
    letters: Mutex<Vec<(u64, Option<Response>)>>,
}

impl std::fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl Mailbox {
    /// Whose worker this wakes.
    pub(crate) fn new(waker: Waker) -> Self {
        Self { waker, letters: Mutex::default() }
    }

    fn post(&self, ticket: u64, response: Option<Response>) {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner).push((ticket, response));
        self.waker.wake();
    }

    /// What has come.
    pub(crate) fn take(&self) -> Vec<(u64, Option<Response>)> {
        std::mem::take(&mut *self.letters.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
