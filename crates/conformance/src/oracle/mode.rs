//! How an oracle behaves, as plain data: what an experiment says on the oracle's command line.

use serde::{Deserialize, Serialize};

/// A stretch of time, counted from the first request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSpan {
    /// When it begins, ns.
    pub from_ns: u64,
    /// How long it lasts, ns.
    pub for_ns: u64,
}

impl TimeSpan {
    /// When it ends, ns.
    #[must_use]
    pub fn end_ns(self) -> u64 {
        self.from_ns + self.for_ns
    }

    /// Whether a time is in it.
    #[must_use]
    pub fn holds(self, at_ns: u64) -> bool {
        (self.from_ns..self.end_ns()).contains(&at_ns)
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// It is answered with this status.
    Status(u16),
    /// It is never answered.
    Hang,
    /// The connection is reset.
    Reset,
    /// Its stream is reset with this code; over HTTP/1, its connection.
    ResetStream(u32),
    /// It is answered as soon as its head is there, all of it, and the rest of the request is
    /// declined with RST_STREAM(NO_ERROR) (RFC 9113 8.1); over HTTP/1 it is answered with 200.
    Early,
    /// A call of gRPC is answered with 200, its messages, and this status in the trailers; another
    /// request gets an empty message instead. Over HTTP/1 it is answered with 200.
    Trailers(u32),
    /// As that, with the status in the head and without a message: trailers alone.
    TrailersOnly(u32),
    /// As that, with messages and without trailers, and so without a status.
    NoTrailers,
}

/// One kind of answer in a mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// How many of a block of requests get it.
    pub count: u32,
    /// How long after the request.
    pub delay_ns: u64,
    /// What.
    pub act: Act,
}

/// How an oracle behaves on connections that begin with HTTP/2's preface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http2Mode {
    /// It does not speak HTTP/2: the preface is answered with 400 of HTTP/1.1 and the end.
    pub is_refused: bool,
    /// Streams that may be open at a time on a connection; those beyond are refused.
    pub streams_max: u32,
    /// How long after the preface its own SETTINGS leave, ns, and with them all else.
    pub settings_delay_ns: u64,
    /// After this many streams a connection gets GOAWAY; 0: it never does.
    pub goaway_every: u32,
    /// How many of the newest streams lie above the last one of that GOAWAY, and so are refused. 0:
    /// it is graceful, as RFC 9113 6.8 has it in two steps: all streams are answered.
    pub goaway_above: u32,
    /// The window that each stream of the tester begins with, bytes.
    pub window_bytes: u32,
    /// How long after a stream's window is used up it is opened again, ns; 0: with each frame.
    pub window_update_ns: u64,
    /// How long after its arrival a WINDOW_UPDATE of the tester counts, ns, as over a long way.
    pub updates_heard_ns: u64,
}

/// A protocol, as the handshake of TLS names it (RFC 7301).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Alpn {
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2.
    #[serde(rename = "h2")]
    Http2,
}

impl Alpn {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

/// How an oracle behaves whose connections begin with the handshake of TLS.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsMode {
    /// The protocols that it chooses from, the preferred first. Empty: it chooses none, as a server
    /// that does not know ALPN.
    pub alpn: Vec<Alpn>,
    /// How long after a connection was taken the oracle's part of the handshake leaves, ns.
    pub handshake_delay_ns: u64,
}

impl TlsMode {
    /// One that chooses from these.
    #[must_use]
    pub fn offering(alpn: &[Alpn]) -> Self {
        Self { alpn: alpn.to_vec(), handshake_delay_ns: 0 }
    }
}

impl Default for Http2Mode {
    fn default() -> Self {
        Self {
            is_refused: false,
            streams_max: 1000,
            settings_delay_ns: 0,
            goaway_every: 0,
            goaway_above: 0,
            window_bytes: 65_535,
            window_update_ns: 0,
            updates_heard_ns: 0,
        }
    }
}

/// How an oracle answers calls of gRPC. Each message of an answer is the last one of the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallMode {
    /// Messages in an answer, one at least.
    pub messages: u32,
    /// How long after the one before each of them leaves, ns.
    pub gap_ns: u64,
}

impl Default for CallMode {
    fn default() -> Self {
        Self { messages: 1, gap_ns: 0 }
    }
}

/// How an oracle behaves on WebSockets. The reply to a message is `re: ` and the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SocketMode {
    /// How long after each message something else is pushed, ns, and so before its reply; 0: never.
    pub push_after_ns: u64,
    /// How often something is pushed beside that, ns, from a connection's first message on; 0:
    /// never.
    pub push_every_ns: u64,
    /// Fragments of a reply.
    pub fragments: u32,
    /// From the first of them to the last, ns.
    pub fragments_ns: u64,
    /// Whether a ping stands between the first two.
    pub pings: bool,
    /// The message of a connection, counted from 1, at which it gets a Close instead of further
    /// replies; 0: it never does.
    pub close_at: u32,
    /// The code of that.
    pub close_code: u16,
}

impl Default for SocketMode {
    fn default() -> Self {
        Self {
            push_after_ns: 0,
            push_every_ns: 0,
            fragments: 1,
            fragments_ns: 0,
            pings: false,
            close_at: 0,
            close_code: 1001,
        }
    }
}

/// How an oracle behaves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Mode {
    /// The answers of a block of requests: each block has exactly these, in an order turned by the
    /// seed. Empty: 200 at once.
    pub mix: Vec<Answer>,
    /// Turns the order of the mix in each block.
    pub seed: u64,
    /// Nothing is answered in this time; requests are read and logged, and answered at its end.
    pub stall: Option<TimeSpan>,
    /// Requests in this time get this delay (ns) instead of the mix's.
    pub slow: Option<(TimeSpan, u64)>,
    /// How many of the requests in that time get it, at most; 0: all.
    pub slow_most: u32,
    /// After this many answers a connection gets no more; 0: all requests are answered.
    pub hang_after: u32,
    /// Every second connection's requests get this much more delay, ns.
    pub slow_connections_ns: u64,
    /// Answers are given one at a time and each takes this long, ns: a server of known capacity.
    pub service_ns: u64,
    /// A connection is closed after this many answers; 0: never.
    pub close_every: u32,
    /// Head and body are written apart, with this pause, ns.
    pub split_ns: Option<u64>,
    /// Length of the queue of connections not yet taken.
    pub backlog: i32,
    /// How long after the first connect none is taken, ns.
    pub accept_pause_ns: u64,
    /// Bytes of a body.
    pub body_bytes: u32,
    /// What is of HTTP/2 alone.
    pub http2: Http2Mode,
    /// What is of gRPC alone.
    pub call: CallMode,
    /// What is of WebSockets alone.
    pub socket: SocketMode,
    /// What is of TLS alone; `None`: there is no TLS.
    pub tls: Option<TlsMode>,
    /// Wait by looking all the time instead of sleeping: for experiments that measure microseconds
    /// and have a CPU to spare.
    pub spin: bool,
}

impl Default for Mode {
    fn default() -> Self {
        Self {
            mix: Vec::new(),
            seed: 1,
            stall: None,
            slow: None,
            slow_most: 0,
            hang_after: 0,
            slow_connections_ns: 0,
            service_ns: 0,
            close_every: 0,
            split_ns: None,
            backlog: 4096,
            accept_pause_ns: 0,
            body_bytes: 13,
            http2: Http2Mode::default(),
            tls: None,
            call: CallMode::default(),
            socket: SocketMode::default(),
            spin: false,
        }
    }
}

impl Mode {
    /// Answers all alike, after this delay.
    #[must_use]
    pub fn delay_ns(delay_ns: u64) -> Self {
        Self::mixed(&[(1, delay_ns, Act::Status(200))])
    }

    /// Answers of these kinds: how many in each block, delay in ns, and what.
    #[must_use]
    pub fn mixed(answers: &[(u32, u64, Act)]) -> Self {
        let mix = answers.iter().map(|&(count, delay_ns, act)| Answer { count, delay_ns, act });
        Self { mix: mix.collect(), ..Self::default() }
    }

    /// What the request of this number gets by the mix.
    #[must_use]
    pub fn answer(&self, sequence: u64) -> Answer {
        let plain = Answer { count: 1, delay_ns: 0, act: Act::Status(200) };
        let block: u64 = self.mix.iter().map(|answer| u64::from(answer.count)).sum();
        if block == 0 {
            return plain;
        }
        let turn = scatter(self.seed ^ (sequence / block));
        let mut place = (sequence % block + turn % block) % block;
        for answer in &self.mix {
            let count = u64::from(answer.count);
            if place < count {
                return *answer;
            }
            place -= count;
        }
        plain
    }
}

/// SplitMix64's output function (Steele, Lea and Flood, 2014).
fn scatter(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_exactly_its_mix() {
        let mode = Mode::mixed(&[(97, 1, Act::Status(200)), (3, 0, Act::Hang)]);
        let mut first = std::collections::BTreeSet::new();
        for block in 0..20_u64 {
            let hangs: Vec<u64> =
                (0..100).filter(|n| mode.answer(block * 100 + n).act == Act::Hang).collect();
            assert_eq!(hangs.len(), 3, "block {block}");
            first.insert(hangs[0]);
        }
        assert!(first.len() > 5, "the places of the rare ones move: {first:?}");
    }

    #[test]
    fn without_a_mix_all_is_well() {
        assert_eq!(Mode::default().answer(7).act, Act::Status(200));
    }

    #[test]
    fn spans_hold_their_start_and_not_their_end() {
        let span = TimeSpan { from_ns: 10, for_ns: 5 };
        assert_eq!([9, 10, 14, 15].map(|at| span.holds(at)), [false, true, true, false]);
    }

    #[test]
    fn a_mode_survives_its_command_line() {
        let mode = Mode {
            stall: Some(TimeSpan { from_ns: 1, for_ns: 2 }),
            slow: Some((TimeSpan { from_ns: 3, for_ns: 4 }, 5)),
            http2: Http2Mode { goaway_every: 100, ..Http2Mode::default() },
            call: CallMode { messages: 10, gap_ns: 6 },
            socket: SocketMode { fragments: 3, pings: true, ..SocketMode::default() },
            tls: Some(TlsMode::offering(&[Alpn::Http2, Alpn::Http1])),
            ..Mode::mixed(&[(1, 2, Act::Status(503)), (3, 4, Act::ResetStream(8))])
        };
        let text = serde_json::to_string(&mode).unwrap();
        assert_eq!(serde_json::from_str::<Mode>(&text).unwrap(), mode);
        for unknown in ["{\"bogus\":1}", "{\"tls\":{\"alpn\":[\"h3\"]}}"] {
            assert!(serde_json::from_str::<Mode>(unknown).is_err(), "{unknown}");
        }
    }
}
