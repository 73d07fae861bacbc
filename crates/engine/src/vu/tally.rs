//! What happens in a run of virtual users, as it is told to the caller, who counts it.
//!
//! There is a tally for each worker, on the worker's thread: while it waits, so do the worker's
//! VUs. Times are ns on the driver's clock unless they say otherwise; `wall_ns` is ns since 1970.

use std::fmt;

use plimsoll_core::result::Connections;
use plimsoll_io::{Address, OsError};
use plimsoll_script::js::{self, Failure, Level, Sample, Timings};

use crate::error::{NO_FILES, NO_PORTS, kind};

/// Where something happens.
#[derive(Clone)]
pub struct Place<'a> {
    /// Which scenario, as an index of [`Cast::roles`](super::Cast::roles); `None` outside of
    /// scenarios: in `setup`, `teardown` and while modules are evaluated.
    pub scenario: Option<u32>,
    /// The number of the VU in this process, from 1; 0 outside of scenarios.
    pub vu: u64,
    /// Its iteration: `__ITER`.
    pub iteration: u64,
    /// The number of the group; `None` at the root.
    pub group: Option<u32>,
    /// The number of the VU's own tags; `None` without any. Requests and samples have numbers of
    /// their own, with these among them.
    pub tags: Option<u32>,
    /// The VU's metadata when it began what is told of; `None` without any.
    pub metadata: Option<js::Metadata>,
    /// When, ns since 1970.
    pub wall_ns: u64,
    /// When, on the driver's clock.
    pub at_ns: u64,
    /// What numbers of tags and groups stand for.
    pub names: &'a js::Worker,
}

impl fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("scenario", &self.scenario)
            .field("vu", &self.vu)
            .field("iteration", &self.iteration)
            .field("group", &self.group)
            .field("at_ns", &self.at_ns)
            .finish_non_exhaustive()
    }
}

/// A request on the wire that begins: its connection is asked for.
#[derive(Debug, Clone, Copy)]
pub struct RequestBegun {
    /// A number that no other request of this worker has until this one has ended.
    pub number: u32,
    /// When it was due, as in [`RequestEnded`].
    pub intended_ns: u64,
    /// Whether it follows a redirect.
    pub is_redirected: bool,
}

/// A request on the wire that has ended, one way or another: each redirect and each repetition with
/// authentication is a request of its own.
#[derive(Debug, Clone, Copy)]
pub struct RequestEnded<'a> {
    /// The number by which its beginning was told; `None` if it never began.
    pub begun: Option<u32>,
    /// Its method.
    pub method: &'a str,
    /// Its URL, credentials masked.
    pub url: &'a str,
    /// Its name; that is the URL where nothing else was given.
    pub name: &'a str,
    /// The status; 0 without a response.
    pub status: u16,
    /// `HTTP/1.1`, `HTTP/2.0`; empty without a response.
    pub proto: &'a str,
    /// The version of TLS, such as `tls1.3`; empty without TLS.
    pub tls_version: &'a str,
    /// The address of the server; empty if there was none.
    pub remote_ip: &'a str,
    /// What went wrong; empty if nothing did.
    pub error: &'a str,
    /// Its number; 0 without.
    pub error_code: u16,
    /// The number of the system's error, where the system has refused something.
    pub errno: Option<i32>,
    /// Whether the status is as expected; `None`: not judged.
    pub is_expected: Option<bool>,
    /// The number of the request's tags; `None` without any.
    pub tags: Option<u32>,
    /// When it was due: when the script asked for it, when the response came that led to it, or
    /// when the limit on the rate lets it go.
    pub intended_ns: u64,
    /// When it began: its connection was asked for.
    pub started_ns: u64,
    /// Whether it follows a redirect.
    pub is_redirected: bool,
    /// Whether it was sent a second time, on another connection: the server had not processed it,
    /// or had closed the connection before it came.
    pub is_resent: bool,
    /// When it ended.
    pub ended_ns: u64,
    /// How long what ended it may have waited to be read, at most: the worker had not looked
    /// before.
    pub unread_ns: u64,
    /// How long its parts took.
    pub timings: Timings,
}

/// What this host had none left of when something was to be connected or looked up. It is never the
/// server's doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortage {
    /// File descriptors, sockets among them.
    Files,
    /// Local ports.
    Ports,
}

impl Shortage {
    /// What an error of the system says that there was none of, if it says so.
    #[must_use]
    pub fn of(errno: Option<i32>) -> Option<Self> {
        match kind(OsError(errno?)) {
            NO_FILES => Some(Self::Files),
            NO_PORTS => Some(Self::Ports),
            _ => None,
        }
    }

    /// The stable name of the error.
    #[must_use]
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Files => NO_FILES,
            Self::Ports => NO_PORTS,
        }
    }
}

/// What has happened to a call of gRPC.
#[derive(Debug, Clone, Copy)]
pub struct CallTold<'a> {
    /// What it was.
    pub event: CallEvent,
    /// Where the call goes to, `/package.Service/Method`; empty for one that the program makes by
    /// itself, such as a health check.
    pub path: &'a str,
    /// Its URL; empty for such a one.
    pub url: &'a str,
    /// The number of its tags; `None` without any.
    pub tags: Option<u32>,
}

/// An event of a call of gRPC. All but the end are told of streams only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEvent {
    /// It was begun.
    Opened,
    /// A message was sent.
    Sent,
    /// A message has come; with the call's code if it came with its end.
    Received(Option<u32>),
    /// It has ended.
    Ended {
        /// With this code of gRPC.
        code: u32,
        /// When the script began it.
        started_ns: u64,
        /// When it ended.
        ended_ns: u64,
        /// Whether it was begun a second time: the server had not looked at it.
        is_resent: bool,
    },
}

/// Something that has happened on a WebSocket of a script.
#[derive(Debug, Clone, Copy)]
pub struct SocketTold<'a> {
    /// Its URL, or the name that it was given in place of that.
    pub url: &'a str,
    /// Its name; empty for none.
    pub name: &'a str,
    /// The status of the answer to its opening; 0 without an answer.
    pub status: u16,
    /// The subprotocol that the server has chosen; empty for none.
    pub subprotocol: &'a str,
    /// The address of the server; empty if there was no connection.
    pub remote_ip: &'a str,
    /// The number of its tags; `None` without any.
    pub tags: Option<u32>,
    /// What has happened.
    pub what: SocketEvent,
}

/// What happens on a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketEvent {
    /// It is open, or cannot be opened.
    Session {
        /// How long that took, from the script's call, ns.
        connecting_ns: u64,
    },
    /// A message was sent; with `k6/websockets` a ping or a Close too.
    Sent,
    /// The script was given a message.
    Received,
    /// The server has answered a ping.
    Pong {
        /// How long that took, ns.
        round_trip_ns: u64,
    },
    /// It is over.
    Ended {
        /// How long it took, from the script's call, ns.
        session_ns: u64,
    },
}

/// How an iteration has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Completed,
    /// With an exception; it counts as completed.
    Failed,
    /// It was cut off.
    Interrupted,
}

/// An iteration that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationEnded {
    /// How.
    pub outcome: Outcome,
    /// When it was due: by the arrival rate, else when its VU was free for it.
    pub due_ns: u64,
    /// When it started.
    pub started_ns: u64,
    /// When it ended.
    pub ended_ns: u64,
    /// Bytes sent on the VU's connections since the iteration before it.
    pub sent_bytes: u64,
    /// Bytes received on them.
    pub received_bytes: u64,
    /// Requests that were under way when it ended, or waited for their turn in a batch, and have
    /// ended with it. They were told as cut off or unsent, but for those that the limit on the rate
    /// held back: they were not due.
    pub requests_cut_off: u64,
}

/// A task that is not an iteration, once it has ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskEnded {
    /// Bytes sent on the connections of its VU.
    pub sent_bytes: u64,
    /// Bytes received on them.
    pub received_bytes: u64,
    /// Requests that were under way when it ended, or waited for their turn in a batch. They have
    /// ended with it, and were told as cut off or unsent.
    pub requests_cut_off: u64,
}

/// Counts what happens on one worker. See the head of this module.
pub trait Tally: Send {
    /// A request on the wire has ended.
    fn request(&mut self, place: &Place<'_>, ended: &RequestEnded<'_>);
    /// Something has happened to a call of gRPC.
    fn call(&mut self, place: &Place<'_>, told: &CallTold<'_>);
    /// What went over the wire, before its request is told: only if the network's options say so.
    fn exchange(&mut self, _: &Place<'_>, _texts: &[String; 2]) {}
    /// This host had nothing left for a connection that something else than a request needed: a
    /// call of gRPC, or a WebSocket.
    fn short(&mut self, _: &Place<'_>, _shortage: Shortage) {}
    /// Something has happened on a WebSocket.
    fn socket(&mut self, place: &Place<'_>, told: &SocketTold<'_>);
    /// The script has recorded a value.
    fn sample(&mut self, place: &Place<'_>, sample: &Sample);
    /// A group was left, of which `place` says the number, after `duration_ns`.
    fn group(&mut self, place: &Place<'_>, duration_ns: u64);
    /// An iteration has ended.
    fn iteration(&mut self, place: &Place<'_>, ended: &IterationEnded);
    /// A task that is not an iteration has ended: `setup`, `teardown`.
    fn task(&mut self, place: &Place<'_>, ended: &TaskEnded);
    /// Iterations that were to start and did not. `vu` of the place is 0 unless they were a VU's.
    fn dropped(&mut self, place: &Place<'_>, count: u64);
    /// The script has logged a line.
    fn log(&mut self, place: &Place<'_>, level: Level, line: &str);
    /// The API, or what carries the script out, tells of something.
    fn note(&mut self, place: &Place<'_>, level: Level, line: &str);
    /// An iteration has failed with an exception.
    fn failure(&mut self, place: &Place<'_>, failure: &Failure);
    /// A second has passed, or the run is over: VUs in their loops, those of arrival rates only
    /// within iterations, and VUs that are initialised. Every worker says the same numbers. They
    /// are `None` once all scenarios are over.
    fn tick(&mut self, place: &Place<'_>, vus: Option<[u64; 2]>);

    // What only some tallies want to know.

    /// The scenarios have started at this time. Nothing of them is told before.
    fn begin(&mut self, _at_ns: u64) {}
    /// A request on the wire begins. It is told as ended or as cut off later, once.
    fn began(&mut self, _place: &Place<'_>, _begun: &RequestBegun) {}
    /// A connection to this address is begun.
    fn dialled(&mut self, _place: &Place<'_>, _to: &Address) {}
    /// Bytes have come, for whatever the VU does.
    fn received(&mut self, _place: &Place<'_>, _bytes: u64) {}
    /// The end of its iteration has cut a request off: it has no status and no error. It is not
    /// told otherwise.
    fn cut_off(&mut self, _place: &Place<'_>, _cut: &RequestEnded<'_>) {}
    /// The end of its iteration has found a request waiting for its turn in a batch: it was due
    /// when the script asked for it, and never began. It is not told otherwise.
    fn unsent(&mut self, _place: &Place<'_>, _asked: &RequestEnded<'_>) {}
    /// What has become of the connections that requests of a scenario have opened, when the load is
    /// over. `reconnects` are those that a VU has opened beyond the most that it had at once.
    fn connections(&mut self, _place: &Place<'_>, _all: &Connections, _reconnects: u64) {}
    /// The most connections that requests of all scenarios had open at once, when the load is over.
    fn open_max(&mut self, _connections: u64) {}
    /// The worker does nothing more. It is its own thread that says so.
    fn end(&mut self, _at_ns: u64) {}
}

/// The methods of a tally that are told something, each passed on by a macro.
macro_rules! forward {
    ($self:ident, $call:ident) => {
        fn request(&mut $self, place: &Place<'_>, ended: &RequestEnded<'_>) {
            $call!($self, request(place, ended));
        }

        fn call(&mut $self, place: &Place<'_>, told: &CallTold<'_>) {
            $call!($self, call(place, told));
        }

        fn exchange(&mut $self, place: &Place<'_>, texts: &[String; 2]) {
            $call!($self, exchange(place, texts));
        }

        fn short(&mut $self, place: &Place<'_>, shortage: Shortage) {
            $call!($self, short(place, shortage));
        }

        fn socket(&mut $self, place: &Place<'_>, told: &SocketTold<'_>) {
            $call!($self, socket(place, told));
        }

        fn sample(&mut $self, place: &Place<'_>, sample: &Sample) {
            $call!($self, sample(place, sample));
        }

        fn group(&mut $self, place: &Place<'_>, duration_ns: u64) {
            $call!($self, group(place, duration_ns));
        }

        fn iteration(&mut $self, place: &Place<'_>, ended: &IterationEnded) {
            $call!($self, iteration(place, ended));
        }

        fn task(&mut $self, place: &Place<'_>, ended: &TaskEnded) {
            $call!($self, task(place, ended));
        }

        fn dropped(&mut $self, place: &Place<'_>, count: u64) {
            $call!($self, dropped(place, count));
        }

        fn log(&mut $self, place: &Place<'_>, level: Level, line: &str) {
            $call!($self, log(place, level, line));
        }

        fn note(&mut $self, place: &Place<'_>, level: Level, line: &str) {
            $call!($self, note(place, level, line));
        }

        fn failure(&mut $self, place: &Place<'_>, failure: &Failure) {
            $call!($self, failure(place, failure));
        }

        fn tick(&mut $self, place: &Place<'_>, vus: Option<[u64; 2]>) {
            $call!($self, tick(place, vus));
        }

        fn begin(&mut $self, at_ns: u64) {
            $call!($self, begin(at_ns));
        }

        fn began(&mut $self, place: &Place<'_>, begun: &RequestBegun) {
            $call!($self, began(place, begun));
        }

        fn dialled(&mut $self, place: &Place<'_>, to: &Address) {
            $call!($self, dialled(place, to));
        }

        fn received(&mut $self, place: &Place<'_>, bytes: u64) {
            $call!($self, received(place, bytes));
        }

        fn cut_off(&mut $self, place: &Place<'_>, cut: &RequestEnded<'_>) {
            $call!($self, cut_off(place, cut));
        }

        fn unsent(&mut $self, place: &Place<'_>, asked: &RequestEnded<'_>) {
            $call!($self, unsent(place, asked));
        }

        fn connections(&mut $self, place: &Place<'_>, all: &Connections, reconnects: u64) {
            $call!($self, connections(place, all, reconnects));
        }

        fn open_max(&mut $self, connections: u64) {
            $call!($self, open_max(connections));
        }

        fn end(&mut $self, at_ns: u64) {
            $call!($self, end(at_ns));
        }
    };
}

macro_rules! to_one {
    ($self:ident, $method:ident($($argument:ident),*)) => { (**$self).$method($($argument),*) };
}

impl<T: Tally> Tally for &mut T {
    forward!(self, to_one);
}

macro_rules! to_both {
    ($self:ident, $method:ident($($argument:ident),*)) => {{
        $self.0.$method($($argument),*);
        $self.1.$method($($argument),*);
    }};
}

/// Both count.
impl<A: Tally, B: Tally> Tally for (A, B) {
    forward!(self, to_both);
}

macro_rules! to_none {
    ($self:ident, $method:ident($($argument:ident),*)) => {{
        let _ = ($($argument),*);
    }};
}

/// Nothing is counted.
impl Tally for () {
    forward!(self, to_none);
}
