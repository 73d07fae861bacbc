//! What an oracle saw: one entry for each request and each connection, and the figures computed
//! from them.
//!
//! Room for all entries is allocated before the first request. A full log no longer holds the
//! truth, so an experiment that fills one is void.

use std::io::{self, Read, Write};

use super::mode::Alpn;

/// Requests, and as many connections, that fit into a log.
pub const LOG_MAX: usize = 4_000_000;

const MAGIC: &[u8; 8] = b"oracle 3";

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The tester.
    Tester,
    /// The oracle.
    Oracle,
}

/// The end of a stream before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamReset {
    /// Who reset it. A stream above the last one of a GOAWAY counts as reset by the oracle with
    /// `REFUSED_STREAM`, which says the same (RFC 9113 8.7).
    pub by: Side,
    /// The code of the reason.
    pub code: u32,
    /// When, ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
}

/// What a request has that is a call of gRPC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallEntry {
    /// The messages in it.
    pub messages_in: u32,
    /// The messages in its answer.
    pub messages_out: u32,
    /// When the first of those was written, ns of `CLOCK_MONOTONIC`; 0: never.
    pub first_ns: u64,
    /// How long the tester said that it waits, ns, as `grpc-timeout`; 0: it said nothing.
    pub timeout_ns: u64,
    /// The status that ended it; `None`: it was not said.
    pub status: Option<u32>,
}

/// One request: of HTTP, or a message of a WebSocket, whose answer is the reply to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// When its head had been read, ns of `CLOCK_MONOTONIC`.
    pub opened_ns: u64,
    /// When its last byte had been read; the same as `opened_ns` while it has not.
    pub received_ns: u64,
    /// When the last piece of the answer was written; 0: never.
    pub sent_ns: u64,
    /// Number of its connection, from 0.
    pub connection: u32,
    /// Bytes of the request.
    pub bytes_in: u32,
    /// Bytes of the answer.
    pub bytes_out: u32,
    /// A hash of its path.
    pub path: u32,
    /// How many reads it took to have all of it.
    pub reads: u16,
    /// The status of the answer; 0: none.
    pub status: u16,
    /// The number of its stream; 0: it did not come over HTTP/2.
    pub stream: u32,
    /// Streams open on its connection when it was opened, with it.
    pub open: u32,
    /// Bytes of its header block.
    pub header_bytes_in: u32,
    /// Bytes of the header blocks of its answer.
    pub header_bytes_out: u32,
    /// How its stream was reset, if it was.
    pub reset: Option<StreamReset>,
    /// What it has as a call of gRPC, if it is one.
    pub call: Option<CallEntry>,
}

impl Entry {
    /// When it was answered or its stream was reset; `None`: never.
    #[must_use]
    pub fn ended_ns(&self) -> Option<u64> {
        let answered = (self.sent_ns > 0).then_some(self.sent_ns);
        answered.or_else(|| self.reset.map(|reset| reset.at_ns))
    }

    /// Whether this side reset its stream with this code.
    #[must_use]
    pub fn is_reset(&self, by: Side, code: u32) -> bool {
        self.reset.is_some_and(|reset| reset.by == by && reset.code == code)
    }
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    /// It has not.
    #[default]
    Open,
    /// The tester closed it.
    Tester,
    /// The oracle closed it.
    Oracle,
    /// The tester reset it.
    Reset,
}

/// What a connection has that is a WebSocket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SocketEntry {
    /// Messages that the oracle sent of its own accord.
    pub pushed: u32,
    /// Pings that it sent.
    pub pings: u32,
    /// The tester's pongs that have what the ping before them had.
    pub pongs: u32,
    /// The tester's frames that were not masked (RFC 6455 5.1).
    pub unmasked: u32,
    /// Whether the tester answered a Close of the oracle with its own.
    pub is_close_answered: bool,
}

/// One connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Connection {
    /// When it was accepted, ns of `CLOCK_MONOTONIC`.
    pub accepted_ns: u64,
    /// When it ended; 0: it has not.
    pub closed_ns: u64,
    /// Requests on it.
    pub requests: u32,
    /// The tester's port.
    pub port: u16,
    /// The last byte of the oracle's address on it.
    pub address: u8,
    /// How it ended.
    pub end: End,
    /// Whether HTTP/2 was spoken on it.
    pub is_http2: bool,
    /// When the handshake of TLS ended, ns of `CLOCK_MONOTONIC`; 0: there was none, or it did not.
    pub handshake_ns: u64,
    /// The protocol that the handshake chose.
    pub alpn: Option<Alpn>,
    /// What it had as a WebSocket, if it was one.
    pub socket: Option<SocketEntry>,
    /// The most streams, or messages of a WebSocket, that were open at a time.
    pub open_max: u32,
    /// The code of the error by which the tester broke the protocol; 0: it has not.
    pub broke: u32,
    /// All bytes read, frames of the connection too, without those of TLS; 0 where it was not of
    /// HTTP/2.
    pub bytes_in: u64,
    /// All bytes written, likewise.
    pub bytes_out: u64,
}

/// What an oracle saw. Requests stand in the order they were received in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// The requests.
    pub entries: Vec<Entry>,
    /// The connections.
    pub connections: Vec<Connection>,
    /// Whether something did not fit.
    pub overflowed: bool,
}

/// Why a log cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// It could not be read.
    #[error("cannot read the oracle's log: {0}")]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("the oracle's log is not one, or of another version")]
    Format,
    /// It was too small.
    #[error("the oracle's log ran full at {LOG_MAX} entries")]
    Full,
}

impl Log {
    /// An empty one with room for all there may be.
    #[must_use]
    pub fn with_room() -> Self {
        Self {
            entries: Vec::with_capacity(LOG_MAX),
            connections: Vec::with_capacity(LOG_MAX),
            overflowed: false,
        }
    }

    /// Adds a request; its number.
    pub(super) fn push(&mut self, entry: Entry) -> Option<usize> {
        self.overflowed |= self.entries.len() == LOG_MAX;
        (!self.overflowed).then(|| {
            self.entries.push(entry);
            self.entries.len() - 1
        })
    }

    /// Adds a connection; its number.
    pub(super) fn connect(&mut self, connection: Connection) -> Option<usize> {
        self.overflowed |= self.connections.len() == LOG_MAX;
        (!self.overflowed).then(|| {
            self.connections.push(connection);
            self.connections.len() - 1
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(MAGIC)?;
        let counts = [self.entries.len() as u64, self.connections.len() as u64];
        for count in counts.into_iter().chain([u64::from(self.overflowed)]) {
            out.write_all(&count.to_le_bytes())?;
        }
        self.entries.iter().try_for_each(|entry| write_entry(entry, out))?;
        self.connections.iter().try_for_each(|connection| write_connection(connection, out))?;
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// When it cannot be read, is no log, or ran full.
    pub fn read(input: &mut dyn Read) -> Result<Self, LogError> {
        let mut magic = [0; 8];
        input.read_exact(&mut magic)?;
        let [entries, connections, overflowed] = [long(input)?, long(input)?, long(input)?];
        if &magic != MAGIC || entries.max(connections) > LOG_MAX as u64 {
            return Err(LogError::Format);
        }
        if overflowed != 0 {
            return Err(LogError::Full);
        }
        let mut log = Self::default();
        for _ in 0..entries {
            log.entries.push(read_entry(input)?);
        }
        for _ in 0..connections {
            log.connections.push(read_connection(input)?);
        }
        Ok(log)
    }
}

fn write_entry(e: &Entry, out: &mut dyn Write) -> io::Result<()> {
    let reset = e.reset.unwrap_or(StreamReset { by: Side::Tester, code: 0, at_ns: 0 });
    let by = e.reset.map_or(0, |reset| 1 + u32::from(reset.by == Side::Oracle));
    let call = e.call.unwrap_or_default();
    let times = [e.opened_ns, e.received_ns, e.sent_ns, reset.at_ns];
    for long in times.into_iter().chain([call.first_ns, call.timeout_ns]) {
        out.write_all(&long.to_le_bytes())?;
    }
    let small = u32::from(e.reads) << 16 | u32::from(e.status);
    let request = [e.connection, e.bytes_in, e.bytes_out, e.path, small];
    let stream = [e.stream, e.open, e.header_bytes_in, e.header_bytes_out, by, reset.code];
    // 0: no call; 1: one whose status was not said.
    let kind = e.call.map_or(0, |call| 1 + u32::from(call.status.is_some()));
    let call = [kind, call.status.unwrap_or(0), call.messages_in, call.messages_out];
    let mut words = request.into_iter().chain(stream).chain(call);
    words.try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

fn read_entry(input: &mut dyn Read) -> io::Result<Entry> {
    let [opened_ns, received_ns, sent_ns, reset_ns] =
        [long(input)?, long(input)?, long(input)?, long(input)?];
    let [first_ns, timeout_ns] = [long(input)?, long(input)?];
    let [connection, bytes_in, bytes_out] = [word(input)?, word(input)?, word(input)?];
    let [path, small, stream, open] = [word(input)?, word(input)?, word(input)?, word(input)?];
    let [header_bytes_in, header_bytes_out] = [word(input)?, word(input)?];
    let [by, code] = [word(input)?, word(input)?];
    let [kind, status, messages_in, messages_out] =
        [word(input)?, word(input)?, word(input)?, word(input)?];
    let status = (kind > 1).then_some(status);
    let call = CallEntry { messages_in, messages_out, first_ns, timeout_ns, status };
    let side = if by == 2 { Side::Oracle } else { Side::Tester };
    Ok(Entry {
        opened_ns,
        received_ns,
        sent_ns,
        connection,
        bytes_in,
        bytes_out,
        path,
        reads: (small >> 16) as u16,
        status: small as u16,
        stream,
        open,
        header_bytes_in,
        header_bytes_out,
        reset: (by > 0).then_some(StreamReset { by: side, code, at_ns: reset_ns }),
        call: (kind > 0).then_some(call),
    })
}

fn write_connection(c: &Connection, out: &mut dyn Write) -> io::Result<()> {
    let end = match c.end {
        End::Open => 0,
        End::Tester => 1,
        End::Oracle => 2,
        End::Reset => 3,
    };
    let alpn = match c.alpn {
        None => 0,
        Some(Alpn::Http1) => 1,
        Some(Alpn::Http2) => 2,
    };
    for long in [c.accepted_ns, c.closed_ns, c.handshake_ns, c.bytes_in, c.bytes_out] {
        out.write_all(&long.to_le_bytes())?;
    }
    let small = u32::from(c.port) << 16 | u32::from(c.address) << 8 | end;
    let spoken = alpn << 1 | u32::from(c.is_http2);
    // 0: no WebSocket; 1: one whose Close was not answered, or that had none.
    let kind = c.socket.map_or(0, |socket| 1 + u32::from(socket.is_close_answered));
    let of = c.socket.unwrap_or_default();
    let words = [c.requests, small, spoken, c.open_max, c.broke];
    let socket = [kind, of.pushed, of.pings, of.pongs, of.unmasked];
    let mut words = words.into_iter().chain(socket);
    words.try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

fn read_connection(input: &mut dyn Read) -> io::Result<Connection> {
    let [accepted_ns, closed_ns, handshake_ns] = [long(input)?, long(input)?, long(input)?];
    let [bytes_in, bytes_out] = [long(input)?, long(input)?];
    let [requests, small, spoken] = [word(input)?, word(input)?, word(input)?];
    let [open_max, broke] = [word(input)?, word(input)?];
    let [kind, pushed, pings] = [word(input)?, word(input)?, word(input)?];
    let [pongs, unmasked] = [word(input)?, word(input)?];
    let socket = SocketEntry { pushed, pings, pongs, unmasked, is_close_answered: kind > 1 };
    let end = match small & 0xff {
        0 => End::Open,
        1 => End::Tester,
        2 => End::Oracle,
        _ => End::Reset,
    };
    Ok(Connection {
        accepted_ns,
        closed_ns,
        requests,
        port: (small >> 16) as u16,
        address: (small >> 8) as u8,
        end,
        is_http2: spoken & 1 > 0,
        handshake_ns,
        alpn: [None, Some(Alpn::Http1), Some(Alpn::Http2)]
            .get((spoken >> 1) as usize)
            .copied()
            .flatten(),
        socket: (kind > 0).then_some(socket),
        open_max,
        broke,
        bytes_in,
        bytes_out,
    })
}

fn long(input: &mut dyn Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn word(input: &mut dyn Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Figures that follow from a log.
impl Log {
    /// Requests that were answered.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.sent_ns > 0).count() as u64
    }

    /// Requests whose stream this side reset with this code.
    #[must_use]
    pub fn resets(&self, by: Side, code: u32) -> u64 {
        self.entries.iter().filter(|entry| entry.is_reset(by, code)).count() as u64
    }

    /// The same of each call's answer, to this time of it; calls without one are left out.
    #[must_use]
    pub fn call_s(&self, of: impl Fn(&Entry, &CallEntry) -> Option<f64>) -> Vec<f64> {
        let of = |entry: &Entry| of(entry, entry.call.as_ref()?);
        let mut times: Vec<f64> = self.entries.iter().filter_map(of).collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Requests answered within `within_s` seconds of the first one.
    #[must_use]
    pub fn answered_within_s(&self, within_s: f64) -> u64 {
        let first_ns = self.entries.iter().map(|entry| entry.received_ns).min().unwrap_or(0);
        let end_ns = first_ns + (within_s * 1e9) as u64;
        let is_inside = |entry: &&Entry| entry.sent_ns > 0 && entry.sent_ns <= end_ns;
        self.entries.iter().filter(is_inside).count() as u64
    }

    /// How long answers took, seconds, ascending.
    #[must_use]
    pub fn service_s(&self) -> Vec<f64> {
        let answered = self.entries.iter().filter(|entry| entry.sent_ns > 0);
        let mut times: Vec<f64> = answered
            .map(|entry| entry.sent_ns.saturating_sub(entry.received_ns) as f64 / 1e9)
            .collect();
        times.sort_by(f64::total_cmp);
        times
    }

    /// Times of arrival from the first one, seconds, ascending.
    #[must_use]
    pub fn arrivals_s(&self) -> Vec<f64> {
        let Some(first) = self.entries.iter().map(|entry| entry.received_ns).min() else {
            return Vec::new();
        };
        let mut times: Vec<f64> =
            self.entries.iter().map(|entry| (entry.received_ns - first) as f64 / 1e9).collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        let reset = StreamReset { by: Side::Oracle, code: 8, at_ns: 12 };
        let entry = Entry {
            opened_ns: 4,
            received_ns: 5,
            sent_ns: 1_000_000_005,
            connection: 1,
            bytes_in: 2,
            bytes_out: 3,
            path: 4,
            reads: 7,
            status: 503,
            stream: 11,
            open: 10,
            header_bytes_in: 20,
            header_bytes_out: 30,
            reset: Some(reset),
            call: Some(CallEntry {
                messages_in: 1,
                messages_out: 10,
                first_ns: 1 << 50,
                timeout_ns: 1 << 51,
                status: Some(14),
            }),
        };
        let connection = Connection {
            accepted_ns: 1,
            closed_ns: 9,
            requests: 1,
            port: 65_535,
            address: 200,
            end: End::Reset,
            is_http2: true,
            handshake_ns: 7,
            alpn: Some(Alpn::Http2),
            socket: Some(SocketEntry {
                pushed: 13,
                pings: 14,
                pongs: 15,
                unmasked: 16,
                is_close_answered: true,
            }),
            open_max: 12,
            broke: 3,
            bytes_in: 1 << 40,
            bytes_out: 1 << 41,
        };
        let by_tester = StreamReset { by: Side::Tester, ..reset };
        let call = Some(CallEntry::default());
        let hung = Entry { received_ns: 2, reset: Some(by_tester), call, ..Entry::default() };
        let plain =
            Connection { socket: Some(SocketEntry::default()), is_http2: false, ..connection };
        Log { entries: vec![entry, hung], connections: vec![connection, plain], overflowed: false }
    }

    #[test]
    fn a_log_reads_as_it_was_written() {
        let mut bytes = Vec::new();
        log().write(&mut bytes).unwrap();
        assert_eq!(Log::read(&mut bytes.as_slice()).unwrap(), log());
        for end in 0..bytes.len() {
            assert!(Log::read(&mut &bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn a_full_log_is_no_truth() {
        let mut bytes = Vec::new();
        Log { overflowed: true, ..log() }.write(&mut bytes).unwrap();
        assert!(matches!(Log::read(&mut bytes.as_slice()), Err(LogError::Full)));
        bytes[0] = b'x';
        assert!(matches!(Log::read(&mut bytes.as_slice()), Err(LogError::Format)));
    }

    #[test]
    fn figures_follow() {
        assert_eq!(log().answered(), 1);
        assert_eq!(log().service_s(), [1.0]);
        assert_eq!(log().arrivals_s(), [0.0, 3e-9]);
    }
}
