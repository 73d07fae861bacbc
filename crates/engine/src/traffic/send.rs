//! What exactly is sent for an exchange.

use plimsoll_conn::{Encoding as _, ExchangeId, Filling, Message, Portion, Protocol};
use plimsoll_io::Driver;

use super::Traffic;
use crate::accounts::Holder;
use crate::exchanges::Exchange;
use crate::id::ConnectionId;
use crate::kept::SentOn;
use crate::source::Written;

/// How long to wait for `100 Continue` before the body goes anyway (RFC 9110 10.1.1 leaves
/// it to the client; curl's second is what servers know).
const CONTINUE_WAIT_NS: u64 = 1_000_000_000;

impl<D: Driver, P: Protocol> Traffic<D, P> {
    /// Sends a request on an open connection.
    #[inline]
    pub(super) fn send(&mut self, entry: ConnectionId, id: ExchangeId) {
        let user = self.lines.pool.entries.user(entry);
        let exchange = self.lines.accounts.exchanges[id];
        if exchange.is_written {
            self.send_kept(user, entry, id);
            return;
        }
        let messages = self.lines.accounts.next_messages(id);
        if self.lines.accounts.keeps_transcripts() {
            self.witness_sent(user, entry, id, messages);
        }
        let target = self.prepared.target(exchange.target);
        let filling = Filling {
            number: exchange.number,
            cookies: self.users[user].cookies.value(),
            hop: self.lines.accounts.exchanges.hop(id),
            messages,
        };
        let withholds_body = target.expects_continue && target.encoding.has_body(&filling);
        let payload = self.payloads[exchange.target as usize];
        let encoding = &target.encoding;
        let message = Message::Compiled { encoding, payload, filling, withholds_body };
        let sent_bytes = self.lines.pool.send(entry, id, &message, exchange.measured);
        self.lines.accounts.sent(exchange.measured, sent_bytes);
        self.lines.accounts.exchanges[id].end_bytes = self.lines.pool.output_end(entry);
        if let Some(sizes) = self.lines.pool[entry].connection.compressed() {
            self.lines.accounts.sent_compressed(exchange.measured, sizes);
        }
        let body_bytes = self.lines.pool[entry].connection.body_bytes();
        let sent_ns = exchange.moments.sent_ns;
        self.lines.accounts.handed_over(id, messages, body_bytes, sent_ns);
        self.note_held(entry, id, sent_ns);
        if withholds_body {
            self.lines.accounts.exchanges[id].withholds = true;
            let until_ns = exchange.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
            self.lines.pool.watch(entry, until_ns);
        }
    }

    /// Sends a request that the source had written for a user before its connection was open.
    #[cold]
    fn send_kept(&mut self, user: u32, entry: ConnectionId, id: ExchangeId) {
        if let Some((bytes, is_head)) = self.users[user].written.take() {
            let request = Written { is_head, end: bytes.len() };
            self.send_written(entry, &[id], &bytes, &[request]);
        }
    }

    /// Sends requests that the source has written, all at once, as these exchanges.
    pub(crate) fn send_written(
        &mut self,
        entry: ConnectionId,
        ids: &[ExchangeId],
        bytes: &[u8],
        requests: &[Written],
    ) {
        if self.lines.accounts.keeps_transcripts() {
            self.witness_written(entry, ids, bytes, requests);
        }
        // The bytes of all go with the first.
        let mut bytes = &bytes[..requests[ids.len() - 1].end];
        for (request, id) in requests.iter().zip(ids) {
            let message = Message::Written { bytes, is_head: request.is_head };
            let Exchange { measured, moments, .. } = self.lines.accounts.exchanges[*id];
            let sent_bytes = self.lines.pool.send(entry, *id, &message, measured);
            self.lines.accounts.sent(measured, sent_bytes);
            self.lines.accounts.exchanges[*id].end_bytes = self.lines.pool.output_end(entry);
            self.note_held(entry, *id, moments.sent_ns);
            bytes = &[];
        }
    }

    /// Notes what a transcript shows of a request that is about to be sent.
    #[cold]
    fn witness_sent(&mut self, user: u32, entry: ConnectionId, id: ExchangeId, messages: Portion) {
        let client = &self.lines.pool[entry];
        let line = SentOn {
            place: (self.lines.pool.entries.origin(entry), client.route),
            protocol: client.connection.protocol_name(),
            tls: client.connection.tls().and_then(SentOn::tls),
            began_ns: client.opening.began_ns,
            reached_ns: client.opening.reached_ns,
            secured_ns: client.opening.secured_ns,
            carried: client.usage.sent,
        };
        let cookies = self.users[user].cookies.value();
        self.lines.accounts.witness_sent(id, line, cookies, messages);
    }

    /// Notes what transcripts show of requests that a script has written and that are about to be
    /// sent.
    #[cold]
    fn witness_written(
        &mut self,
        entry: ConnectionId,
        ids: &[ExchangeId],
        bytes: &[u8],
        requests: &[Written],
    ) {
        let user = self.lines.pool.entries.user(entry);
        let mut start = 0;
        for (request, id) in requests.iter().zip(ids) {
            self.witness_sent(user, entry, *id, Portion::default());
            self.lines.accounts.witness_written(*id, &bytes[start..request.end]);
            start = request.end;
        }
    }

    /// Sends the bodies or the next messages of the exchanges that were released and have not ended
    /// since.
    #[cold]
    pub(super) fn send_released(&mut self, entry: ConnectionId, at_ns: u64) {
        while let Some(id) = self.lines.accounts.released.pop() {
            if self.lines.pool[entry].connection.exchanges().any(|open| open == id) {
                self.send_body(entry, id, at_ns);
            }
        }
    }

    /// Sends the bodies that a connection has withheld for as long as it may.
    pub(super) fn send_withheld(&mut self, entry: ConnectionId, now_ns: u64) {
        loop {
            let exchanges = &self.lines.accounts.exchanges;
            let open = self.lines.pool[entry].connection.exchanges();
            let withheld = open.map(|id| (id, &exchanges[id])).filter(|(_, it)| it.withholds);
            let Some((id, exchange)) = withheld.min_by_key(|(_, it)| it.moments.started_ns) else {
                return;
            };
            let until_ns = exchange.moments.started_ns.saturating_add(CONTINUE_WAIT_NS);
            if until_ns > now_ns {
                self.lines.pool.watch(entry, until_ns);
                return;
            }
            self.send_body(entry, id, now_ns);
        }
    }

    /// Sends the body of an exchange that withholds it, or its next messages.
    fn send_body(&mut self, entry: ConnectionId, id: ExchangeId, at_ns: u64) {
        let user = self.lines.pool.entries.user(entry);
        let exchange = self.lines.accounts.exchanges[id];
        let encoding = &self.prepared.target(exchange.target).encoding;
        let messages = self.lines.accounts.next_messages(id);
        let filling = Filling {
            number: exchange.number,
            cookies: self.users[user].cookies.value(),
            hop: self.lines.accounts.exchanges.hop(id),
            messages,
        };
        let message = Message::Compiled { encoding, payload: None, filling, withholds_body: true };
        let sent_bytes = self.lines.pool.send_rest(entry, id, &message);
        self.lines.accounts.sent(exchange.measured, sent_bytes);
        let exchange = &mut self.lines.accounts.exchanges[id];
        exchange.withholds = false;
        exchange.end_bytes = self.lines.pool.output_end(entry);
        if exchange.moments.first_byte_ns == 0 {
            // Written is what the kernel has taken whole.
            exchange.moments.written_ns = 0;
        }
        let client = &mut self.lines.pool[entry];
        let (at_ns, body_bytes) = (client.moment(at_ns), client.connection.body_bytes());
        self.lines.accounts.handed_over(id, messages, body_bytes, at_ns);
        self.note_held(entry, id, at_ns);
    }

    /// Notes whether a part of what was handed over for an exchange at `at_ns` is held back.
    #[inline]
    fn note_held(&mut self, entry: ConnectionId, id: ExchangeId, at_ns: u64) {
        let connection = &self.lines.pool[entry].connection;
        if connection.is_held_back(id) {
            let is_full = connection.is_full();
            self.lines.accounts.held_back(id, Holder::of(is_full), at_ns);
            // What the peer held back until then may be the kernel's from now on.
            if is_full {
                self.lines.turn_held(entry, at_ns);
            }
        }
    }
}
