//! What an HTTP/2 server of the tests is asked, what it can be told to do, and what it writes down.

use std::collections::BTreeMap;

use plimsoll_io::sim::PeerConn;
use plimsoll_proto::http2::ErrorCode;

use crate::manners::Did;

/// So large that it never holds anything back, bytes.
pub(crate) const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// What it allows at first, and when it says so, ns after the connect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hello {
    pub after_ns: u64,
    pub streams: u32,
    /// Bytes of each body.
    pub window_bytes: u32,
    /// Bytes of all bodies.
    pub connection_window_bytes: u32,
    /// Whether it closes the connection once it has answered the last stream that it takes.
    pub closes: bool,
    /// What changes after the greeting, and how long after it in ns.
    pub then: Option<(u64, Change)>,
}

impl Default for Hello {
    fn default() -> Self {
        Self {
            after_ns: 0,
            streams: 100,
            window_bytes: WINDOW_BYTES_MAX,
            connection_window_bytes: WINDOW_BYTES_MAX,
            closes: false,
            then: None,
        }
    }
}

/// A request whose head has come.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Its number among all requests, from 0.
    pub number: u64,
    pub stream: u32,
    pub at_ns: u64,
    pub method: String,
    pub path: String,
    pub fields: Vec<(String, String)>,
    /// How long its body is to be, if it says so.
    pub body_bytes: Option<u64>,
}

impl Asked {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// How a request ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Answered,
    Refused,
    /// Reset in place of an answer.
    Reset(ErrorCode),
    /// Reset in place of the end of its answer.
    CutShort(ErrorCode),
    Hangs,
}

/// More room for bodies: of the stream's, or of all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grant {
    pub after_ns: u64,
    pub bytes: u32,
    pub is_for_all: bool,
}

/// Something that changes for the whole connection.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Ping,
    /// How many streams it allows from now on.
    Limit(u32),
    /// Announces that it will take no more, and takes no more after this time.
    Goodbye(u64),
    /// Takes none after this stream, from now on.
    Abrupt(u32),
}

/// What is done with a request, in ns after its head has come, or after the whole of it.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub fate: Fate,
    /// Whether it begins without the body.
    pub is_early: bool,
    /// Whether it lets the client know that the rest of the body is not needed.
    pub stops_upload: bool,
    /// When an interim response is sent, and which.
    pub interim: Option<(u64, u16)>,
    /// When its response begins, and how long that takes.
    pub after_ns: u64,
    pub lasts_ns: u64,
    pub status: u16,
    /// Whether that is not what the client expects.
    pub is_bad: bool,
    pub fields: Vec<(&'static str, String)>,
    pub body_bytes: usize,
    pub has_length: bool,
    pub has_trailers: bool,
    /// Bytes of padding of the first frame of its body, if that is padded.
    pub padding: Option<u8>,
    /// Room that is made for the request's body, in this order.
    pub grants: Vec<Grant>,
    pub change: Option<Change>,
}

impl Reply {
    /// Answers 200 after a time.
    pub(crate) fn ok(after_ns: u64) -> Self {
        Self {
            fate: Fate::Answered,
            is_early: false,
            stops_upload: false,
            interim: None,
            after_ns,
            lasts_ns: 0,
            status: 200,
            is_bad: false,
            fields: Vec::new(),
            body_bytes: 5,
            has_length: false,
            has_trailers: false,
            padding: None,
            grants: Vec::new(),
            change: None,
        }
    }
}

/// What the server and its clients did.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub did: Did,
    /// When each head came.
    pub arrivals_ns: Vec<u64>,
    /// The most requests open at a time on each connection, as the server sees it.
    pub open_max: BTreeMap<PeerConn, usize>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    /// Bodies that the client stopped to send because it had the answer.
    pub stopped: u64,
    /// Answers that were whole before the request was.
    pub early: u64,
    pub padded: u64,
    pub trailers: u64,
    /// Responses that the client's windows held back.
    pub downloads_held: u64,
}
