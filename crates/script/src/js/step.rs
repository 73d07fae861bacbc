//! The seam between a script and what carries out what it asks for: a virtual user is resumed, and
//! answers with a step.
//!
//! Steps are small values. What belongs to one, such as the request to send or the line to log,
//! stays with the virtual user and is read there before it is resumed.

use plimsoll_core::metric::MetricId;

use super::grpc::{Order, Told};

/// What a virtual user does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Sends a [request](super::Vu::request), and waits for its answer alone.
    Send(u32),
    /// Sends a request, and goes on at once.
    Begin(u32),
    /// Waits for the answer to a request that is under way; at most this long, ns, if it is given.
    Wait(Option<u64>),
    /// Does something with its channels and calls of gRPC, and goes on at once. What comes of it is
    /// told while the script [waits](Step::Wait).
    Grpc(Order),
    /// Opens a [socket](super::Vu::dial), and goes on at once.
    Connect(u32),
    /// Sends what is [outgoing](super::Vu::outgoing) on a socket, if that is open, and goes on at
    /// once, with [`Reply::Queued`].
    Transmit(u32),
    /// Asks how much waits to be sent on a socket, and goes on at once, with [`Reply::Queued`].
    Queued(u32),
    /// Needs a socket no more, which says goodbye if it is open, and goes on at once.
    Release(u32),
    /// Waits for the answer to a request, as [`Wait`](Self::Wait), or for news of a socket: of any,
    /// or of one; at most for this long, ns, if it is given.
    Listen(Option<u32>, Option<u64>),
    /// Does nothing for this long, ns.
    Sleep(u64),
    /// Records a value of a metric, and goes on at once.
    Record(Sample),
    /// Enters a [group](super::Worker::group) within the one that it is in, and goes on at once.
    Enter(u32),
    /// Leaves the group that it entered last, and goes on at once.
    Leave,
    /// Logs a [line](super::Vu::line), and goes on at once.
    Log(Level),
    /// Tells of something in a [line](super::Vu::line) that the script did not write to its
    /// console, and goes on at once.
    Note(Level),
    /// Has used up its share of the thread, and goes on when others have had theirs.
    Pause,
    /// Has done what it was to do.
    Done(Ending),
}

/// A value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Which metric, of those that the program has [declared](super::Program::registry).
    pub metric: MetricId,
    /// The number of the value's [tags](super::Worker::tags); `None` without any.
    pub tags: Option<u32>,
    /// The value, in the unit of `plimsoll_core::metric`.
    pub value: f64,
}

/// How severe a line of a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// `console.debug`.
    Debug,
    /// `console.log` and `console.info`.
    Info,
    /// `console.warn`, and what the API warns about in notes.
    Warn,
    /// `console.error`.
    Error,
}

/// How a task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As it should; a [result](super::Vu::result) is there if one was asked for.
    Complete,
    /// With an exception that nothing caught: the [error](super::Vu::error).
    Failed,
    /// It was [cancelled](super::Vu::cancel).
    Cancelled,
    /// The script has called `exec.test.abort()`: the error is the reason.
    Aborted,
}

/// What a virtual user learns.
#[derive(Debug, Clone, Copy)]
pub enum Reply<'a> {
    /// The step is taken, and took no time; or it is its turn again.
    Taken,
    /// It has slept or waited as long as it asked for.
    Woken,
    /// A request has ended. It may come at any step that takes time.
    Ended(Answer<'a>),
    /// What has come of a channel or a call. It may come when it waits for an answer.
    Grpc(Told<'a>),
    /// There is news of a socket, by its number. It only comes where the script listens.
    News(u32, News<'a>),
    /// How many bytes of the script's messages wait to be sent on a socket.
    Queued(u64),
}

/// News of a socket.
#[derive(Debug, Clone, Copy)]
pub enum News<'a> {
    /// It is open.
    Open(Answer<'a>),
    /// A message of text has come.
    Text(&'a [u8]),
    /// A message of bytes has come.
    Binary(&'a [u8]),
    /// A ping has come, and was answered.
    Ping,
    /// A pong has come.
    Pong,
    /// It is over, and its number is free.
    Over {
        /// What came of the opening, if it has failed.
        answer: Answer<'a>,
        /// The code of the server's Close, or 1006 without one; `None` if it was never open.
        code: Option<u16>,
        /// The reason that the server gave; often empty.
        reason: &'a str,
        /// What went wrong; empty if the server has closed.
        error: &'a str,
    },
}

/// What came of a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer<'a> {
    /// Its number: that of the step that asked for it.
    pub request: u32,
    /// The status; 0 if there was no response.
    pub status: u16,
    /// The reason phrase of the response, with the status: `200 OK`.
    pub status_text: &'a str,
    /// The protocol: `HTTP/1.1`, `HTTP/2.0`.
    pub protocol: &'a str,
    /// Where the response came from in the end; empty if that is where the request went.
    pub url: &'a str,
    /// The address of the server; empty if there was none.
    pub remote_ip: &'a str,
    /// The port of the server.
    pub remote_port: u16,
    /// The lines of the response's head, each `name: value` and ended by CR LF.
    pub head: &'a [u8],
    /// The value of `Cookie` that was sent first; empty without one.
    pub cookies: &'a str,
    /// Its body, decoded.
    pub body: &'a [u8],
    /// When what happened.
    pub timings: Timings,
    /// What went wrong; empty if nothing did.
    pub error: &'a str,
    /// The number of that error in k6; 0 without one.
    pub error_code: u16,
    /// The version of TLS, such as `tls1.3`; empty without TLS.
    pub tls_version: &'a str,
    /// The suite of TLS; empty without TLS.
    pub tls_cipher_suite: &'a str,
}

/// How long the parts of a request took, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// Waiting for a connection.
    pub blocked_ns: u64,
    /// The TCP connect.
    pub connecting_ns: u64,
    /// The TLS handshake.
    pub tls_handshaking_ns: u64,
    /// Writing the request.
    pub sending_ns: u64,
    /// Waiting for the first byte.
    pub waiting_ns: u64,
    /// Reading the response.
    pub receiving_ns: u64,
}

impl Timings {
    /// Sending, waiting and receiving, ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.sending_ns + self.waiting_ns + self.receiving_ns
    }
}
