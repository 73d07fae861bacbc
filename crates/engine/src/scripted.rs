//! A worker's script: the requests it writes, the pauses it asks for, and what it is told of
//! responses.
//!
//! A script that sends the same request each time costs nothing here: the request was compiled like
//! any other. A worker has one of these only where its script has something to say while it runs.

use plimsoll_core::Plan;
use plimsoll_proto::http1::{Headers, RequestKind, first_request};
use plimsoll_script::lua::{ScriptError, Thread, Wants};

/// One of the requests a script has written, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub kind: RequestKind,
    /// Where it ends in the bytes of all.
    pub end: usize,
}

/// A worker's script.
pub(crate) struct Scripted {
    thread: Thread,
    writes: bool,
    pauses: bool,
    /// What the script has written last.
    bytes: Vec<u8>,
    messages: Vec<Message>,
    /// The first thing that went wrong in it.
    error: Option<ScriptError>,
}

impl Scripted {
    pub(crate) fn new(thread: Thread) -> Self {
        Self {
            writes: thread.fixed().is_none(),
            pauses: thread.has_delay(),
            bytes: Vec::new(),
            messages: Vec::new(),
            error: None,
            thread,
        }
    }

    /// What it is to be told of responses; a script may replace its `response()` at any time.
    #[inline]
    pub(crate) fn wants(&self) -> Wants {
        self.thread.wants()
    }

    /// Whether it writes each request.
    pub(crate) fn writes(&self) -> bool {
        self.writes
    }

    /// Whether a connection pauses before each request.
    pub(crate) fn pauses(&self) -> bool {
        self.pauses
    }

    /// Has it write what is sent next: one request, or several to be sent at once. `false`: it
    /// could not, see [`error`](Self::error).
    pub(crate) fn write(&mut self) -> bool {
        self.bytes.clear();
        self.messages.clear();
        if let Err(error) = self.thread.next(&mut self.bytes) {
            self.error.get_or_insert(error);
            return false;
        }
        let mut end = 0;
        while end < self.bytes.len() || self.messages.is_empty() {
            let (kind, len) = first_request(&self.bytes[end..]);
            end += len;
            self.messages.push(Message { kind, end });
        }
        true
    }

    /// What it has written: the bytes of all, and where each ends.
    pub(crate) fn written(&self) -> (&[u8], &[Message]) {
        (&self.bytes, &self.messages)
    }

    /// How long the connection is to pause now, ns.
    pub(crate) fn pause_ns(&mut self) -> u64 {
        self.thread.delay_ns().unwrap_or_else(|error| {
            self.error.get_or_insert(error);
            0
        })
    }

    /// Tells it of a complete response.
    pub(crate) fn response(&mut self, status: u16, head: &[u8], body: &[u8]) {
        let headers = Headers::of_head(head).map(|(name, value)| (name.as_bytes(), value));
        if let Err(error) = self.thread.response(status, headers, body) {
            self.error.get_or_insert(error);
        }
    }

    /// Whether it starts nothing more: it has said so, or it broke.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.error.is_some() || self.thread.is_stopped()
    }

    /// What went wrong in it; that it was interrupted at the end of the run is no error.
    pub(crate) fn error(&mut self) -> Option<ScriptError> {
        self.error.take().filter(|error| !matches!(error, ScriptError::Interrupted { .. }))
    }

    pub(crate) fn into_thread(self) -> Thread {
        self.thread
    }
}

/// What a script and the rest of a plan can't both decide; one line.
pub(crate) fn conflict(plan: &Plan) -> Option<String> {
    plan.script.as_ref()?;
    let given = [
        ("--targets", !plan.targets.is_empty()),
        ("--redirects", plan.redirects > 0),
        ("--cookies", plan.cookies),
        ("--pipeline", plan.pipeline > 1),
        ("-b", plan.request.body.is_some()),
        ("--expect-continue", plan.request.expect_continue),
    ];
    let (flag, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
    Some(format!("{flag} and a script do not go together: have the script do it"))
}
