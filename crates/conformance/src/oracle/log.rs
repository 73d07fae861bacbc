//! What an oracle saw: one entry for each request and each connection, and the figures computed
//! from them.
//!
//! Room for all entries is allocated before the first request. A full log no longer holds the
//! truth, so an experiment that fills one is void.

use std::io::{self, Read, Write};

/// Requests, and as many connections, that fit into a log.
pub const LOG_MAX: usize = 4_000_000;

const MAGIC: &[u8; 8] = b"oracle 1";

/// One request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// When its last byte had been read, ns of `CLOCK_MONOTONIC`.
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
        for e in &self.entries {
            let small = u32::from(e.reads) << 16 | u32::from(e.status);
            for word in [e.received_ns, e.sent_ns] {
                out.write_all(&word.to_le_bytes())?;
            }
            for word in [e.connection, e.bytes_in, e.bytes_out, e.path, small] {
                out.write_all(&word.to_le_bytes())?;
            }
        }
        for c in &self.connections {
            let end = match c.end {
                End::Open => 0,
                End::Tester => 1,
                End::Oracle => 2,
                End::Reset => 3,
            };
            let small = u32::from(c.port) << 16 | u32::from(c.address) << 8 | end;
            out.write_all(&c.accepted_ns.to_le_bytes())?;
            out.write_all(&c.closed_ns.to_le_bytes())?;
            out.write_all(&c.requests.to_le_bytes())?;
            out.write_all(&small.to_le_bytes())?;
        }
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
            let [received_ns, sent_ns] = [long(input)?, long(input)?];
            let [connection, bytes_in, bytes_out] = [word(input)?, word(input)?, word(input)?];
            let [path, small] = [word(input)?, word(input)?];
            let (reads, status) = ((small >> 16) as u16, small as u16);
            let entry = Entry {
                received_ns,
                sent_ns,
                connection,
                bytes_in,
                bytes_out,
                path,
                reads,
                status,
            };
            log.entries.push(entry);
        }
        for _ in 0..connections {
            let [accepted_ns, closed_ns] = [long(input)?, long(input)?];
            let [requests, small] = [word(input)?, word(input)?];
            let end = match small & 0xff {
                0 => End::Open,
                1 => End::Tester,
                2 => End::Oracle,
                _ => End::Reset,
            };
            let (port, address) = ((small >> 16) as u16, (small >> 8) as u8);
            let connection = Connection { accepted_ns, closed_ns, requests, port, address, end };
            log.connections.push(connection);
        }
        Ok(log)
    }
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
        let entry = Entry {
            received_ns: 5,
            sent_ns: 1_000_000_005,
            connection: 1,
            bytes_in: 2,
            bytes_out: 3,
            path: 4,
            reads: 7,
            status: 503,
        };
        let connection = Connection {
            accepted_ns: 1,
            closed_ns: 9,
            requests: 1,
            port: 65_535,
            address: 200,
            end: End::Reset,
        };
        let hung = Entry { received_ns: 2, ..Entry::default() };
        Log { entries: vec![entry, hung], connections: vec![connection], overflowed: false }
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
