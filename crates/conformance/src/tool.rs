//! The seam between experiments and load testers: the load asked for, the call that makes it, and
//! the figures reported.
//!
//! An experiment makes an [`Ask`]. A [`TesterAdapter`] turns it into a [`Call`], and the output of
//! its program into a [`Reading`]. Neither knows the other. Only the harness starts processes, so
//! an adapter is a pure function of text and can be tested with text.

use std::net::IpAddr;

pub use plimsoll_lab::testers::{Finished, Reading};

/// A method without a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Method {
    /// GET.
    #[default]
    Get,
    /// HEAD.
    Head,
}

/// A name with addresses of its own, in place of what the resolver would say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// The name, as it stands in the address.
    pub host: String,
    /// The port it is for.
    pub port: u16,
    /// Its addresses, all of which are to be used.
    pub addresses: Vec<IpAddr>,
}

/// A kind of call of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rpc {
    /// One message there, one back.
    Unary,
    /// One message there, any number back.
    ServerStream,
}

/// What few testers can do.
#[derive(Debug, Clone, PartialEq)]
pub enum Need {
    /// Open more connections, up to a limit, when the open ones do not keep up.
    Growth {
        /// The most.
        connections_max: u32,
    },
    /// Drop a request that could not be sent within this time of when it was due, and count it.
    Shed {
        /// How late a request may be sent, seconds.
        after_s: f64,
    },
    /// Ask for these paths instead of the address's own, drawn at random with these weights from
    /// the seed of the ask.
    Targets(Vec<(String, u32)>),
    /// Ramp the rate from the first to the second of these over the duration, instead of the rate.
    Ramp {
        /// Requests per second at the start.
        from_rps: f64,
        /// Requests per second at the end.
        to_rps: f64,
    },
    /// A line of figures each second, into the file of this name in the scratch directory.
    Intervals(String),
    /// A line of figures each second on the standard output, while it runs.
    IntervalsOnStdout,
    /// The number of requests under way on a connection at a time.
    Pipeline(u32),
    /// Speak HTTP/2: behind TLS where the address has it, by prior knowledge otherwise.
    Http2 {
        /// Streams open at a time on each connection.
        streams: u32,
    },
    /// Call a method of gRPC over HTTP/2, by prior knowledge, one call at a time on each
    /// connection.
    Grpc(Rpc),
    /// Send messages over WebSockets and wait for the reply to each.
    WebSocket {
        /// Messages on their way at a time on each connection.
        in_flight: u32,
        /// Whether the server also sends what is no reply, so that replies have to be told by what
        /// they begin with.
        is_pushed_to: bool,
    },
    /// Send a body of this many bytes, with POST.
    Upload(u32),
    /// The number of threads.
    Threads(u32),
    /// Send this urlencoded form, with POST.
    Form(String),
    /// End with a code other than 0 unless p99 is below this.
    Gate {
        /// The bound, seconds.
        p99_s: f64,
    },
    /// End with a code other than 0 unless fewer of the requests fail.
    ErrorGate {
        /// The bound, a share.
        share: f64,
    },
}

/// What an experiment wants of a tester; all numbers are totals.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// Where the requests go.
    pub url: String,
    /// Connections kept open.
    pub connections: u32,
    /// Requests per second; `None`: closed loop.
    pub rate_rps: Option<f64>,
    /// Whether arrivals at that rate are Poisson instead of even.
    pub poisson: bool,
    /// How long requests are started, seconds.
    pub duration_s: Option<f64>,
    /// Exactly how many requests are started.
    pub requests: Option<u64>,
    /// How long one request may take, seconds; `None`: the tester's own choice, which has to be
    /// long enough for the experiment (10 s at least).
    pub timeout_s: Option<f64>,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Load before the measured part, seconds.
    pub warmup_s: f64,
    /// Whether any certificate will do.
    pub insecure: bool,
    /// Seed of what is random.
    pub seed: Option<u64>,
    /// The method.
    pub method: Method,
    /// Headers beside the tester's own.
    pub headers: Vec<(String, String)>,
    /// Addresses for the name in the address.
    pub resolve: Option<Resolve>,
    /// Addresses to send from; empty: the system's choice.
    pub source_addresses: Vec<IpAddr>,
    /// What few testers can do. A tester that cannot do one of them cannot express the ask.
    pub extra: Vec<Need>,
}

impl Ask {
    /// One connection, kept alive, closed loop, and everything else left to the tester.
    #[must_use]
    pub fn to(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            connections: 1,
            rate_rps: None,
            poisson: false,
            duration_s: None,
            requests: None,
            timeout_s: None,
            keep_alive: true,
            warmup_s: 0.0,
            insecure: false,
            seed: None,
            method: Method::Get,
            headers: Vec::new(),
            resolve: None,
            source_addresses: Vec::new(),
            extra: Vec::new(),
        }
    }
}

/// What few testers say, beside their [`Reading`]; `None`: it does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Further {
    /// Requests that the server said it did not process.
    pub refused: Option<u64>,
    /// Connections opened in place of others.
    pub reconnects: Option<u64>,
    /// The median time in which a request was sent, seconds.
    pub sending_s: Option<f64>,
    /// The median time for which the server's windows kept a request from being sent, seconds.
    pub stalled_s: Option<f64>,
    /// The median time from the end of a request to the beginning of its response, seconds.
    pub waiting_s: Option<f64>,
    /// All bytes sent.
    pub bytes_sent: Option<u64>,
    /// All bytes received.
    pub bytes_received: Option<u64>,
    /// Bytes of header blocks received, as they came.
    pub header_bytes_received: Option<u64>,
    /// Calls of gRPC that ended with UNAVAILABLE.
    pub unavailable: Option<u64>,
    /// Messages received in calls of gRPC.
    pub messages_received: Option<u64>,
    /// The median time to the first message of a call, seconds.
    pub first_message_s: Option<f64>,
    /// The median time from one message of a call to the next, seconds.
    pub gap_s: Option<f64>,
    /// Messages of WebSockets that were no reply.
    pub pushed: Option<u64>,
    /// Pings received over WebSockets.
    pub pings: Option<u64>,
}

/// Where a tester speaks HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Http2Over {
    /// Behind TLS alone, when the handshake chooses it.
    Tls,
    /// Behind TLS, and by prior knowledge without it.
    Either,
}

/// How to call a tester for an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Run its program.
    Command {
        /// Its arguments; `{dir}` in one stands for the scratch directory.
        arguments: Vec<String>,
        /// Files to write into the scratch directory first: name and content.
        files: Vec<(String, String)>,
    },
    /// The tester has no way to say this; the text says what is missing, such as "no fixed rate".
    CannotExpress(String),
}

/// A load tester that the experiments can be run against.
pub trait TesterAdapter {
    /// What it is called, here and on the command line.
    fn name(&self) -> &'static str;
    /// Its program, looked for in `PATH`.
    fn program(&self) -> &'static str;
    /// Arguments of further calls of its program in the scratch directory, once it has ended, where
    /// it gives its figures only then. Each one's output follows on a line of its own.
    fn reports(&self) -> &'static [&'static [&'static str]] {
        &[]
    }
    /// Arguments that make it print its version.
    fn version_arguments(&self) -> &'static [&'static str];
    /// Where it speaks HTTP/2, if its adapter can ask for it.
    fn http2(&self) -> Option<Http2Over> {
        None
    }
    /// How to call it for this.
    fn call(&self, ask: &Ask) -> Call;
    /// What it said.
    ///
    /// # Errors
    /// One line, when what it printed cannot be understood.
    fn read(&self, run: &Finished) -> Result<Reading, String>;
    /// What it said beside that, of a call whose reading is this.
    fn further(&self, _run: &Finished, _reading: &Reading) -> Further {
        Further::default()
    }
}
