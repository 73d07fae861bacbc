//! A worker's script: the requests it writes, the pauses it asks for, and the responses it is told
//! of.
//!
//! A script that always sends the same request costs nothing here, because that request is compiled
//! like any other. A worker has a `Scripted` only if its script takes part in the run.

use plimsoll_conn::{ExchangeId, fields};
use plimsoll_core::Plan;
use plimsoll_script::lua::{Message, ScriptError, Thread, Wants, message_at};

/// What a script may write at once, bytes and requests.
const WRITTEN_BYTES_MAX: usize = 64 << 20;
const MESSAGES_MAX: usize = 10_000;

/// A worker's script.
pub(crate) struct Scripted {
    thread: Thread,
    writes: bool,
    pauses: bool,
    /// What the script has written last.
    bytes: Vec<u8>,
    messages: Vec<Message>,
    /// Room for the requests that go with the first of those.
    pub more: Vec<ExchangeId>,
    /// The first thing that went wrong in it.
    error: Option<ScriptError>,
}

impl Scripted {
    pub(crate) fn new(thread: Thread) -> Self {
        Self {
            writes: !is_fixed(&thread),
            pauses: thread.has_delay(),
            bytes: Vec::new(),
            messages: Vec::new(),
            more: Vec::new(),
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
        self.bytes.truncate(WRITTEN_BYTES_MAX);
        while (end < self.bytes.len() && self.messages.len() < MESSAGES_MAX)
            || self.messages.is_empty()
        {
            let message = message_at(&self.bytes, end);
            end = message.end;
            self.messages.push(message);
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
        let headers = fields(head).map(|(name, value)| (name.as_bytes(), value));
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

/// Whether the script sends one request that never changes.
pub(crate) fn is_fixed(thread: &Thread) -> bool {
    thread.fixed().is_some() && thread.depth() == 1
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
        ("-X", plan.request.method != "GET"),
        ("--http", plan.request.http_minor == 0),
        ("--expect-continue", plan.request.expect_continue),
        ("a template", plan.templates && has_templates(plan)),
        ("--proxy", plan.transport.proxy.is_some()),
        ("--unix-socket", plan.transport.unix_socket.is_some()),
        ("--resolve", !plan.transport.resolve.is_empty()),
        ("--connect-to", !plan.transport.connect_to.is_empty()),
    ];
    let (flag, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
    Some(format!("{flag} and a script do not go together: leave it out, or have the script do it"))
}

fn has_templates(plan: &Plan) -> bool {
    let values = plan.request.headers.iter().map(|(_, value)| value);
    values.chain([&plan.endpoint.path]).any(|text| text.reveal().contains("{{"))
}
