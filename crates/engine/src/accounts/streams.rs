//! The messages of calls that stream: which of them go when, and when those of the server came.
//!
//! ```text
//!   client, bidi: a batch ── taken by the kernel, or held back and then let through ──▶ the next
//!   pingpong:     one message ────────────── its answer is here ──────────────────────▶ the next
//! ```
//!
//! What is told here stands beside the exchanges and not in them, so that a run without streams
//! pays nothing for it. Messages are written down as they come: those of a call that fails later,
//! or never ends, count. A message that never came is written down when its call is over, with the
//! time that it was waited for.

use plimsoll_conn::grpc::Arrived;
use plimsoll_conn::{ExchangeId, Portion};
use plimsoll_core::plan::CallKind;
use plimsoll_core::recorder::Recorder;
use plimsoll_core::streams::Streams as Record;

use super::Accounts;
use crate::exchanges::Exchange;
use crate::source::Script;

/// The messages of a worker's calls.
#[derive(Debug)]
pub(super) struct Streams {
    script: Script,
    /// By the number of the exchange.
    calls: Vec<Flow>,
}

/// The messages of one call.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// How many were handed over, and when the last ones were.
    sent: u32,
    sent_ns: u64,
    /// How many have come, and when the last one did.
    received: u64,
    received_ns: u64,
    /// The next ones are about to go.
    is_due: bool,
}

impl Streams {
    /// Of calls that go like this, with room for `room` at a time; more than that allocate.
    pub(super) fn new(script: Script, room: usize) -> Self {
        Self { script, calls: vec![Flow::default(); room] }
    }

    /// What such calls are written down in.
    pub(super) fn record(&self) -> Record {
        Record::new(self.script.kind == CallKind::PingPong)
    }

    /// A call begins.
    #[inline]
    pub(super) fn begin(&mut self, id: ExchangeId) {
        let at = id.0 as usize;
        if at >= self.calls.len() {
            self.calls.resize(at + 1, Flow::default());
        }
        self.calls[at] = Flow::default();
    }

    /// The messages that go next.
    #[inline]
    fn next(&self, id: ExchangeId) -> Portion {
        let Script { kind, messages, batch, .. } = self.script;
        let from = self.calls[id.0 as usize].sent;
        let batch = if kind == CallKind::PingPong { 1 } else { batch };
        Portion { from, to: from.saturating_add(batch).min(messages) }
    }

    /// Whether the next messages go now that those before them have gone; then they are due.
    fn follows_sent(&mut self, id: ExchangeId) -> bool {
        self.script.kind != CallKind::PingPong && self.is_due_now(id)
    }

    /// Whether all messages of a call have been handed over.
    fn has_sent_all(&self, id: ExchangeId) -> bool {
        self.calls[id.0 as usize].sent >= self.script.messages
    }

    fn is_due_now(&mut self, id: ExchangeId) -> bool {
        let flow = &mut self.calls[id.0 as usize];
        let has_more = flow.sent < self.script.messages;
        has_more && !std::mem::replace(&mut flow.is_due, true)
    }

    /// Messages have arrived, in answer to a call that was sent from `call_ns` on. Whether the next
    /// message goes now.
    fn received(
        &mut self,
        id: ExchangeId,
        arrived: Arrived,
        [call_ns, at_ns]: [u64; 2],
        recorder: &mut Recorder,
    ) -> bool {
        let flow = &mut self.calls[id.0 as usize];
        let is_answer = flow.received < u64::from(flow.sent);
        // The kernel's time for what came may be compared with ours for what was sent.
        let at_ns = at_ns.max(flow.received_ns).max(flow.sent_ns).max(call_ns);
        if let Some(record) = recorder.streams.as_deref_mut() {
            match flow.received {
                0 => record.first_message.record(at_ns - call_ns),
                _ => record.gaps.record(at_ns - flow.received_ns),
            }
            record.gaps.record_n(0, arrived.messages - 1);
            record.received.add(arrived.messages, arrived.bytes);
            if let Some(round_trips) = record.round_trips.as_mut().filter(|_| is_answer) {
                round_trips.record(at_ns - flow.sent_ns);
            }
        }
        flow.received += arrived.messages;
        flow.received_ns = at_ns;
        // It is the answer to the last message: no message goes before one has come.
        self.script.kind == CallKind::PingPong && self.is_due_now(id)
    }
}

impl Flow {
    /// Writes down what the call waited for when it was over at `at_ns`. It was sent at `call_ns`.
    fn over(self, end: CallEnd, script: Script, [call_ns, at_ns]: [u64; 2], record: &mut Record) {
        // Where each message has one answer, the number of answers is known.
        let has_all = match script.kind {
            CallKind::Client => self.received > 0,
            CallKind::PingPong => self.received >= u64::from(script.messages),
            _ => false,
        };
        let waited_ns = |since_ns: u64| at_ns.saturating_sub(since_ns);
        if self.received == 0 && matches!(end, CallEnd::Failed | CallEnd::Lost) {
            record.no_first_message(waited_ns(call_ns));
        }
        // The server may have sent all its messages, and its end is late.
        if self.received > 0 && end == CallEnd::Lost && !has_all {
            record.no_next_message(waited_ns(self.received_ns));
        }
        if self.received < u64::from(self.sent) {
            record.no_answer(waited_ns(self.sent_ns));
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallEnd {
    /// As it should.
    Met,
    /// With OK, and yet not as it was expected.
    Unmet,
    /// With another status.
    Failed,
    /// Without a whole response.
    Lost,
}

impl Accounts {
    /// The messages of a call that go next; none where calls do not stream.
    #[inline]
    pub(crate) fn next_messages(&self, id: ExchangeId) -> Portion {
        self.streams.as_ref().map(|streams| streams.next(id)).unwrap_or_default()
    }

    /// Messages of a call were handed over at `at_ns`, with the prefixes before them `body_bytes`.
    #[inline]
    pub(crate) fn handed_over(
        &mut self,
        id: ExchangeId,
        messages: Portion,
        body_bytes: usize,
        at_ns: u64,
    ) {
        let Some(streams) = &mut self.streams else { return };
        let flow = &mut streams.calls[id.0 as usize];
        (flow.sent, flow.sent_ns, flow.is_due) = (messages.to, at_ns, false);
        let count = u64::from(messages.to - messages.from);
        let recorder = self.observer.recorder(self.exchanges[id].measured);
        if let Some(record) = recorder.streams.as_deref_mut() {
            record.sent.add(count, (body_bytes as u64).saturating_sub(count * PREFIX_BYTES));
        }
    }

    /// Whether a call's messages are sent piece by piece.
    #[inline]
    pub(crate) fn sends_in_pieces(&self) -> bool {
        self.streams.as_ref().is_some_and(|streams| streams.script.is_in_pieces())
    }

    /// The kernel has taken all that was sent for these exchanges: further messages of those that
    /// have some are to go, unless those before them are held back.
    pub(crate) fn release_sent(&mut self, open: impl Iterator<Item = ExchangeId>) {
        let Self { exchanges, stalls, streams, released, .. } = self;
        let Some(streams) = streams else { return };
        for id in open {
            let is_held_back = exchanges[id].was_held_back && stalls.is_held_back(id);
            if !is_held_back && streams.follows_sent(id) {
                released.push(id);
            }
        }
    }

    /// A call is over. `times_ns`: when it was sent, or was to be, and when it was over.
    #[inline]
    pub(super) fn call_over(
        &mut self,
        id: ExchangeId,
        exchange: &Exchange,
        end: CallEnd,
        times_ns: [u64; 2],
    ) {
        let Some(streams) = &self.streams else { return };
        let recorder = self.observer.recorder(exchange.measured);
        let Some(record) = recorder.streams.as_deref_mut() else { return };
        if end == CallEnd::Met && !streams.has_sent_all(id) {
            record.cut_calls += 1;
        }
        streams.calls[id.0 as usize].over(end, streams.script, times_ns, record);
    }

    /// How a call ended whose response is whole.
    #[inline]
    pub(super) fn call_end(&self, id: ExchangeId, is_met: bool) -> CallEnd {
        let is_ok = || self.calls.as_ref().is_some_and(|calls| calls.code(id) == CODE_OF_OK);
        match is_met {
            true => CallEnd::Met,
            false if is_ok() => CallEnd::Unmet,
            false => CallEnd::Failed,
        }
    }

    /// What was held back of an exchange has gone.
    #[cold]
    pub(super) fn release_resumed(&mut self, id: ExchangeId) {
        if self.streams.as_mut().is_some_and(|streams| streams.follows_sent(id)) {
            self.released.push(id);
        }
    }

    /// Messages have arrived at `at_ns`.
    #[inline]
    pub(super) fn arrived(&mut self, id: ExchangeId, arrived: Arrived, at_ns: u64) {
        let Self { exchanges, streams, observer, released, .. } = self;
        let Some(streams) = streams.as_mut().filter(|_| arrived.messages > 0) else { return };
        let exchange = &exchanges[id];
        let recorder = observer.recorder(exchange.measured);
        if streams.received(id, arrived, [exchange.moments.sent_ns, at_ns], recorder) {
            released.push(id);
        }
    }
}

/// The status of a call that went well.
const CODE_OF_OK: u32 = 0;

/// Before each message.
const PREFIX_BYTES: u64 = 5;
