//! What calls of gRPC and messages of WebSockets meet in the simulation, and what a good tester
//! says of them.

use super::{Need, Seen, Setup};
use crate::judge::quantile_of;
use crate::oracle::{Act, CallEntry, Connection, Entry, SocketEntry};
use crate::tool::Further;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Calls,
    Sockets { in_flight: u32 },
}

/// What the messages of a load meet.
pub(super) struct Messages {
    kind: Kind,
    /// From the beginning of an answer to its end.
    pub(super) spread_ns: u64,
    /// After how many messages a connection is closed; 0: never.
    pub(super) close_at: u32,
    timeout_ns: u64,
    messages: u32,
    pushed: u32,
    pings: u32,
    connections: usize,
}

impl Messages {
    pub(super) fn new(setup: &Setup) -> Option<Self> {
        let Setup { ask, mode, .. } = setup;
        let kind = ask.extra.iter().find_map(|need| match need {
            Need::Grpc(_) => Some(Kind::Calls),
            Need::WebSocket { in_flight, .. } => Some(Kind::Sockets { in_flight: *in_flight }),
            _ => None,
        })?;
        let is_socket = kind != Kind::Calls;
        let of_call = mode.call.gap_ns * u64::from(mode.call.messages - 1);
        Some(Self {
            kind,
            spread_ns: if is_socket { mode.socket.fragments_ns } else { of_call },
            close_at: mode.socket.close_at,
            timeout_ns: ask.timeout_s.map_or(0, |timeout_s| (timeout_s * 1e9) as u64),
            messages: mode.call.messages,
            pushed: u32::from(mode.socket.push_after_ns > 0),
            pings: u32::from(mode.socket.pings),
            connections: ask.connections as usize,
        })
    }

    /// Messages on their way at a time on a WebSocket.
    pub(super) fn in_flight(&self) -> Option<usize> {
        match self.kind {
            Kind::Calls => None,
            Kind::Sockets { in_flight } => Some(in_flight as usize),
        }
    }

    /// Whether the message of this number of a connection is open when that is closed.
    pub(super) fn is_cut(&self, number: u32) -> bool {
        let in_flight = self.in_flight().unwrap_or(0) as u32;
        self.close_at > 0 && number + in_flight > self.close_at
    }

    /// What the log has of a call whose answer began at this time.
    pub(super) fn call(&self, act: Act, began_ns: u64) -> Option<CallEntry> {
        let (status, messages_out) = match act {
            Act::Trailers(status) => (Some(status), self.messages),
            Act::TrailersOnly(status) => (Some(status), 0),
            Act::NoTrailers => (None, self.messages),
            _ => (None, 0),
        };
        (self.kind == Kind::Calls).then_some(CallEntry {
            messages_in: 1,
            messages_out,
            first_ns: if messages_out > 0 { began_ns } else { 0 },
            timeout_ns: self.timeout_ns,
            status,
        })
    }

    /// A message came on a connection.
    pub(super) fn count(&self, connection: &mut Connection) {
        if self.kind == Kind::Calls {
            return;
        }
        let socket: &mut SocketEntry = connection.socket.get_or_insert_default();
        socket.pushed += self.pushed;
        socket.pings += self.pings;
        socket.pongs += self.pings;
    }

    /// What a good tester says.
    pub(super) fn complete(&self, seen: &mut Seen) {
        let (entries, connections) = (&seen.log.entries, &seen.log.connections);
        let sum = |of: fn(&SocketEntry) -> u32| {
            let sockets = connections.iter().filter_map(|connection| connection.socket);
            Some(sockets.map(|socket| u64::from(of(&socket))).sum())
        };
        if self.kind != Kind::Calls {
            seen.further = Further {
                reconnects: Some((connections.len() - self.connections) as u64),
                pushed: sum(|socket| socket.pushed),
                pings: sum(|socket| socket.pings),
                ..Further::default()
            };
            return;
        }
        let calls = || entries.iter().filter_map(|entry| entry.call);
        let median =
            |of: fn(&Entry, &CallEntry) -> Option<f64>| quantile_of(&seen.log.call_s(of), 0.5);
        let first_message_s = median(|entry, call| {
            let first_ns = call.first_ns.checked_sub(entry.received_ns)?;
            Some(first_ns as f64 / 1e9)
        });
        let gap_s = median(|entry, call| {
            let gaps = call.messages_out.checked_sub(2)? + 1;
            Some((entry.sent_ns - call.first_ns) as f64 / 1e9 / f64::from(gaps))
        });
        seen.further = Further {
            unavailable: Some(calls().filter(|call| call.status == Some(14)).count() as u64),
            messages_received: Some(calls().map(|call| u64::from(call.messages_out)).sum()),
            first_message_s,
            gap_s,
            ..Further::default()
        };
    }
}
