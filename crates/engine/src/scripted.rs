//! wrk's scripts as a source: the requests they write, the pauses they ask for, and the responses
//! they are told of.
//!
//! A script that always sends the same request and looks at no response costs nothing, because that
//! request is compiled like any other and no function of the script is ever called.

use plimsoll_conn::fields;
use plimsoll_core::outcome::Outcome;
use plimsoll_script::lua::{ScriptError, Thread, message_at};

use crate::source::{Answer, Interest, Reply, Request, Source, Step, Written};

/// What a script may write at once, bytes and requests.
const WRITTEN_BYTES_MAX: usize = 64 << 20;
const REQUESTS_MAX: usize = 10_000;

/// A worker's script.
pub struct Scripted {
    thread: Thread,
    writes: bool,
    pauses: bool,
    /// What the script has written last.
    bytes: Vec<u8>,
    requests: Vec<Written>,
    /// The first thing that went wrong in it.
    error: Option<ScriptError>,
}

impl Scripted {
    /// A script some of whose functions are called during the run.
    #[must_use]
    pub fn new(thread: Thread) -> Self {
        Self {
            writes: !is_fixed(&thread),
            pauses: thread.has_delay(),
            bytes: Vec::new(),
            requests: Vec::new(),
            error: None,
            thread,
        }
    }

    /// Has it write what is sent next: one request, or several to be sent at once.
    fn write(&mut self) -> Step {
        self.bytes.clear();
        self.requests.clear();
        if let Err(error) = self.thread.next(&mut self.bytes) {
            self.error.get_or_insert(error);
            return Step::Done;
        }
        let mut end = 0;
        self.bytes.truncate(WRITTEN_BYTES_MAX);
        while (end < self.bytes.len() && self.requests.len() < REQUESTS_MAX)
            || self.requests.is_empty()
        {
            let message = message_at(&self.bytes, end);
            end = message.end;
            self.requests.push(Written { is_head: message.is_head, end });
        }
        Step::Write
    }

    /// Tells it of a complete response.
    fn response(&mut self, answer: &Answer<'_>) {
        let Outcome::Completed { status, .. } = answer.outcome else { return };
        if !self.thread.wants().response {
            return;
        }
        let headers = fields(answer.head).map(|(name, value)| (name.as_bytes(), value));
        if let Err(error) = self.thread.response(status, headers, answer.body) {
            self.error.get_or_insert(error);
        }
    }

    /// What went wrong in it; that it was interrupted at the end of the run is no error.
    pub fn error(&mut self) -> Option<ScriptError> {
        self.error.take().filter(|error| !matches!(error, ScriptError::Interrupted { .. }))
    }

    /// The script, as it has become.
    #[must_use]
    pub fn into_thread(self) -> Thread {
        self.thread
    }
}

impl Source for Scripted {
    const RESUMES: bool = true;
    const COUNTS_ITERATIONS: bool = false;

    /// A pause, if the script says so.
    fn rest(&mut self, _user: u32) -> Step {
        if !self.pauses {
            return Step::Done;
        }
        let pause_ns = self.thread.delay_ns().unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            0
        });
        if pause_ns > 0 { Step::Sleep(pause_ns) } else { Step::Done }
    }

    fn begin(&mut self, _user: u32, _number: u64) -> Step {
        if self.writes {
            self.write()
        } else {
            Step::Send(Request { origin: 0, target: 0, tag: 0 })
        }
    }

    fn resume(&mut self, _user: u32, reply: Reply<'_>) -> Step {
        match reply {
            Reply::Taken => Step::Wait,
            Reply::Woken => Step::Done,
            Reply::Ended(answer) => {
                self.response(&answer);
                if answer.open > 0 { Step::Wait } else { Step::Done }
            }
        }
    }

    fn interest(&self) -> Interest {
        let wants = self.thread.wants();
        Interest { response: wants.response, head: wants.headers, body: wants.body }
    }

    fn written(&self) -> (&[u8], &[Written]) {
        (&self.bytes, &self.requests)
    }

    /// It has said so, or it broke.
    #[inline]
    fn is_over(&self) -> bool {
        self.error.is_some() || self.thread.is_stopped()
    }
}

/// Whether any of the script's functions is called during the run.
pub(crate) fn takes_part(thread: &Thread) -> bool {
    !is_fixed(thread) || thread.has_delay() || thread.wants().response
}

/// Whether the script sends one request that never changes.
pub(crate) fn is_fixed(thread: &Thread) -> bool {
    thread.fixed().is_some() && thread.depth() == 1
}
