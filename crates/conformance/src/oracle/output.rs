//! What a session has to write, and what in it the log has times of.

use std::collections::VecDeque;
use std::io::{self, Write as _};

use super::clock_ns;
use super::connection::Output;
use super::log::Log;
use super::wire::Wire;

/// What ends at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    /// The answer to a request.
    Answer,
    /// The first message of the answer to a call.
    FirstMessage,
}

/// Bytes to be written.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Frames are put here.
    pub bytes: Vec<u8>,
    /// How many of them are written.
    written: usize,
    /// All that was written before these bytes.
    before: u64,
    /// What ends where, counted from the first byte of the connection, and its number in the log.
    ends: VecDeque<(u64, usize, Mark)>,
}

impl Outbox {
    /// An answer ends here.
    pub(super) fn end_answer(&mut self, entry: usize) {
        self.mark(entry, Mark::Answer);
    }

    /// The first message of an answer ends here.
    pub(super) fn end_first_message(&mut self, entry: usize) {
        self.mark(entry, Mark::FirstMessage);
    }

    fn mark(&mut self, entry: usize, mark: Mark) {
        self.ends.push_back((self.before + self.bytes.len() as u64, entry, mark));
    }

    /// Writes until all is written or something stands in the way, and logs what was.
    pub(super) fn write(&mut self, stream: &mut Wire, log: &mut Log) -> Output {
        while self.written < self.bytes.len() {
            let at_ns = clock_ns();
            match stream.write(&self.bytes[self.written..]) {
                Ok(n) => self.wrote(n, at_ns, log),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Output::Blocked,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Output::Failed,
            }
        }
        self.before += self.bytes.len() as u64;
        self.bytes.clear();
        self.written = 0;
        Output::Done(0)
    }

    fn wrote(&mut self, bytes: usize, at_ns: u64, log: &mut Log) {
        self.written += bytes;
        let to = self.before + self.written as u64;
        while let Some((_, entry, mark)) = self.ends.pop_front_if(|(end, ..)| *end <= to) {
            let entry = &mut log.entries[entry];
            match mark {
                Mark::Answer => entry.sent_ns = at_ns,
                Mark::FirstMessage => {
                    if let Some(call) = &mut entry.call {
                        call.first_ns = at_ns;
                    }
                }
            }
        }
    }

    /// All that was written.
    pub(super) fn total(&self) -> u64 {
        self.before + self.written as u64
    }
}
