//! What streams of HTTP/2 meet in the simulation, and what a good tester says of them.

use std::collections::BTreeMap;

use super::{Need, Seen, Setup};
use crate::judge::quantile_of;
use crate::oracle::{Act, Connection, Entry, Log, Side, code};
use crate::tool::Further;

/// What the streams of a load meet.
pub(super) struct Http2 {
    /// Streams open at a time on a connection.
    pub(super) streams: usize,
    /// Whether those are fewer than were asked for.
    is_limited: bool,
    /// How long a request takes to be sent.
    pub(super) sending_ns: u64,
    /// After how many requests a connection is left; 0: never.
    pub(super) goaway_every: u32,
    goaway_above: u32,
    connections: usize,
}

impl Http2 {
    pub(super) fn new(setup: &Setup) -> Option<Self> {
        let (ask, mode) = (&setup.ask, &setup.mode.http2);
        let asked = ask.extra.iter().find_map(|need| match need {
            Need::Http2 { streams } => Some(*streams),
            Need::Grpc(_) => Some(1),
            _ => None,
        })?;
        let bytes = ask.extra.iter().find_map(|need| match need {
            Need::Upload(bytes) => Some(*bytes),
            _ => None,
        });
        let windows = bytes.unwrap_or(1).div_ceil(mode.window_bytes);
        Some(Self {
            streams: asked.min(mode.streams_max) as usize,
            is_limited: asked > mode.streams_max,
            sending_ns: u64::from(windows - 1) * mode.window_update_ns,
            goaway_every: mode.goaway_every,
            goaway_above: mode.goaway_above,
            connections: ask.connections as usize,
        })
    }

    /// Who resets the stream of a connection's request of this number, and with which code.
    pub(super) fn reset_of(&self, act: Act, number: u32) -> Option<(Side, u32)> {
        let is_above = number > self.goaway_every.saturating_sub(self.goaway_above);
        match act {
            _ if self.goaway_above > 0 && is_above => Some((Side::Oracle, code::REFUSED_STREAM)),
            Act::ResetStream(code) => Some((Side::Oracle, code)),
            Act::Early => Some((Side::Oracle, code::NO_ERROR)),
            Act::Hang => Some((Side::Tester, code::CANCEL)),
            _ => None,
        }
    }

    /// Completes the log, and what a good tester says.
    pub(super) fn complete(&self, seen: &mut Seen) {
        count_open(&mut seen.log);
        let Log { entries, connections, .. } = &seen.log;
        let sum = |of: fn(&Entry) -> u32| entries.iter().map(|e| u64::from(of(e))).sum::<u64>();
        let sending_s = Some(self.sending_ns as f64 / 1e9);
        let service_s = quantile_of(&seen.service_s, 0.5);
        seen.further = Further {
            refused: Some(seen.log.resets(Side::Oracle, code::REFUSED_STREAM)),
            reconnects: Some((connections.len() - self.connections) as u64),
            sending_s,
            stalled_s: sending_s,
            waiting_s: service_s.zip(sending_s).map(|(service_s, sending_s)| service_s - sending_s),
            bytes_sent: Some(sum(|entry| entry.bytes_in)),
            bytes_received: Some(sum(|entry| entry.bytes_out)),
            header_bytes_received: Some(sum(|entry| entry.header_bytes_out)),
            ..Further::default()
        };
        seen.waited_for_streams = self.is_limited;
    }
}

/// Counts the streams that were open when each was opened.
fn count_open(log: &mut Log) {
    let mut open: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for entry in &mut log.entries {
        let ends = open.entry(entry.connection).or_default();
        ends.retain(|end_ns| *end_ns > entry.opened_ns);
        ends.push(entry.ended_ns().unwrap_or(u64::MAX));
        entry.open = ends.len() as u32;
        let connection: &mut Connection = &mut log.connections[entry.connection as usize];
        connection.open_max = connection.open_max.max(entry.open);
        connection.bytes_in += u64::from(entry.bytes_in);
        connection.bytes_out += u64::from(entry.bytes_out);
    }
}
