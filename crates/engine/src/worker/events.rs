//! What a worker makes of completions and of deadlines that passed.

use plimsoll_conn::http1::{Progress, Response, State};
use plimsoll_core::Phase;
use plimsoll_core::part::Place;
use plimsoll_core::recorder::Outcome;
use plimsoll_core::units::format_duration;
use plimsoll_io::{Close, Driver, Event, Operation, OsError, Received, Token};

use super::Worker;
use crate::client::Flight;
use crate::error::{TIMEOUT, kind};
use crate::observer::Observer;

/// How long to wait for the FIN of a server that said it would close. Letting the server close
/// first keeps the port's TIME-WAIT on its side, where it costs no local port.
const FIN_WAIT_NS: u64 = 1_000_000_000;

/// A status from here on fails the request.
const FAILED_STATUS: u16 = 400;

impl<D: Driver> Worker<D> {
    #[inline]
    pub(super) fn handle(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Received(received) => self.received(at_ns, received),
            Event::Sent(token) => self.written(at_ns, token),
            Event::Connected(token) => self.connected(token.0, at_ns),
            Event::Ended(token) => self.ended(token.0, at_ns),
            Event::Failed { token, operation, error } => {
                self.failed(token.0, at_ns, operation, error);
            }
            // The stop flag is looked at in every turn.
            Event::Woken | Event::Accepted { .. } => {}
        }
    }

    #[inline]
    fn written(&mut self, at_ns: u64, token: Token) {
        for flight in self.clients[token.index()].connection.requests_mut() {
            if flight.moments.written_ns == 0 {
                flight.moments.written_ns = at_ns;
            }
        }
    }

    #[inline]
    fn received(&mut self, at_ns: u64, received: Received) {
        let index = received.token.0;
        self.observer.recorder_at(at_ns).received_bytes += received.len() as u64;
        let client = &mut self.clients[received.token.index()];
        let Self { observer, open_requests, answered_ns, .. } = self;
        let answered = &mut client.answered;
        let bytes = self.driver.bytes(&received);
        let taken = client.connection.receive(bytes, |progress| match progress {
            Progress::FirstByte(flight) => flight.moments.first_byte_ns = at_ns,
            Progress::Complete(flight, response) => {
                *answered += 1;
                *open_requests -= 1;
                *answered_ns = at_ns;
                complete(observer, flight, at_ns, response);
            }
        });
        self.driver.release(received);
        self.progress_ns = at_ns;
        match taken {
            Err(failure) => self.broken(index, at_ns, failure.kind(), || failure.to_string()),
            Ok(()) => self.answered(index, at_ns),
        }
    }

    /// Goes on with a connection after it received something.
    #[inline]
    fn answered(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        if client.connection.state() == State::Spent {
            if client.connection.open_requests() > 0 {
                let text = "the server closed with later requests unanswered";
                self.broken(index, at_ns, "closed", || text.to_owned());
                return;
            }
            // The first answer of this kind starts the wait; what a server sends after it is noise.
            client.due_ns = client.due_ns.min(at_ns + FIN_WAIT_NS);
            self.deadlines.watch(index, client.due_ns);
        } else if client.connection.open_requests() == 0
            && self.driver.queued_bytes(Token(index)) > 0
        {
            // Answered before it was sent whole: what follows on this connection would be its rest.
            self.close(index, at_ns, Close::Reset);
        } else {
            self.freed(index, at_ns);
        }
    }

    fn connected(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        client.connection.opened();
        let connect_ns = at_ns - client.opening_ns;
        let again = std::mem::replace(&mut client.ever_opened, true);
        let recorder = self.observer.recorder_at(at_ns);
        recorder.connect.record(connect_ns);
        recorder.ledger.reconnects += u64::from(again);
        match client.pending.take() {
            Some(mut flight) => {
                flight.moments.sent_ns = at_ns;
                self.send(index, flight);
            }
            None => {
                self.opener.succeeded();
                self.freed(index, at_ns);
            }
        }
    }

    fn ended(&mut self, index: u32, at_ns: u64) {
        let client = &mut self.clients[index as usize];
        let Self { observer, open_requests, answered_ns, .. } = self;
        let answered = &mut client.answered;
        let taken = client.connection.ended(|progress| {
            if let Progress::Complete(flight, response) = progress {
                *answered += 1;
                *open_requests -= 1;
                *answered_ns = at_ns;
                complete(observer, flight, at_ns, response);
            }
        });
        match taken {
            Err(failure) => self.broken(index, at_ns, failure.kind(), || failure.to_string()),
            Ok(()) => self.close(index, at_ns, Close::Graceful),
        }
    }

    fn failed(&mut self, index: u32, at_ns: u64, operation: Operation, error: OsError) {
        if operation == Operation::Connect {
            self.connect_failed(index, at_ns, kind(error), Outcome::Broken, || error.to_string());
        } else {
            self.broken(index, at_ns, kind(error), || error.to_string());
        }
    }

    fn connect_failed(
        &mut self,
        index: u32,
        at_ns: u64,
        kind: &'static str,
        outcome: Outcome,
        sample: impl FnOnce() -> String,
    ) {
        self.observer.recorder_at(at_ns).error(Phase::Connect, kind, 1, sample);
        if self.clients[index as usize].pending.is_none() {
            self.opener.failed();
        }
        self.abandon(index, at_ns, |_| outcome);
        self.close(index, at_ns, Close::Reset);
    }

    /// A connection cannot be used any further: its open requests are broken.
    fn broken(
        &mut self,
        index: u32,
        at_ns: u64,
        kind: &'static str,
        sample: impl FnOnce() -> String,
    ) {
        let phase = self.phase(index);
        let settled = self.abandon(index, at_ns, |_| Outcome::Broken);
        // A server may close an idle connection; nobody's request was hurt.
        if settled > 0 {
            self.observer.recorder_at(at_ns).error(phase, kind, settled, sample);
        } else if kind == "unsolicited" {
            self.observer.recorder_at(at_ns).error(phase, kind, 1, sample);
        }
        self.close(index, at_ns, Close::Reset);
    }

    /// Where the oldest request of a connection stands.
    fn phase(&self, index: u32) -> Phase {
        let client = &self.clients[index as usize];
        let written = client.connection.oldest().is_none_or(|flight| flight.moments.written_ns > 0);
        match (client.connection.state(), client.connection.has_first_byte(), written) {
            (State::Opening, ..) => Phase::Connect,
            (_, true, _) => Phase::Receiving,
            (_, _, true) => Phase::Waiting,
            _ => Phase::Sending,
        }
    }

    /// Looks at the connections whose deadline has come.
    pub(super) fn look_at_deadlines(&mut self, now_ns: u64) {
        while let Some(index) = self.deadlines.pop(now_ns) {
            let timeout_ns = self.plan.timeout_ns;
            if self.clients[index as usize].due_ns <= now_ns {
                self.due(index, now_ns);
            } else if self.clients[index as usize].timeout_at_ns(timeout_ns) <= now_ns {
                self.timed_out(index, now_ns);
            }
            let client = &self.clients[index as usize];
            let next_ns = client.due_ns.min(client.timeout_at_ns(timeout_ns));
            if next_ns != u64::MAX {
                self.deadlines.watch(index, next_ns);
            }
        }
    }

    /// The backoff is over, or the FIN did not come.
    fn due(&mut self, index: u32, now_ns: u64) {
        self.clients[index as usize].due_ns = u64::MAX;
        if self.clients[index as usize].connection.state() == State::Closed {
            self.come_back(index, now_ns);
        } else {
            self.close(index, now_ns, Close::Graceful);
        }
    }

    fn timed_out(&mut self, index: u32, now_ns: u64) {
        let timeout_ns = self.plan.timeout_ns;
        let phase = self.phase(index);
        let sample = || format!("nothing within {}", format_duration(timeout_ns));
        if phase == Phase::Connect {
            self.connect_failed(index, now_ns, TIMEOUT, Outcome::TimedOut, sample);
            return;
        }
        // Requests pipelined behind the late one have not waited that long: their connection broke.
        let is_late = |flight: &Flight| flight.moments.started_ns + timeout_ns <= now_ns;
        let late = self.clients[index as usize].connection.requests_mut().filter(|f| is_late(f));
        let late = late.count() as u64;
        let settled = self.abandon(index, now_ns, |flight| {
            if is_late(flight) { Outcome::TimedOut } else { Outcome::Broken }
        });
        let recorder = self.observer.recorder_at(now_ns);
        recorder.error(phase, TIMEOUT, late, sample);
        if settled > late {
            let sample = || "pipelined behind a request that timed out".to_owned();
            recorder.error(Phase::Waiting, "abandoned", settled - late, sample);
        }
        self.close(index, now_ns, Close::Reset);
    }
}

/// Writes down a complete response.
#[inline]
fn complete(observer: &mut Observer, flight: Flight, at_ns: u64, response: Response) {
    let mut moments = flight.moments;
    // The completion of the send may be reported after the response, or not at all when the
    // server answered early.
    if moments.written_ns == 0 || moments.written_ns > moments.first_byte_ns {
        moments.written_ns = moments.first_byte_ns;
    }
    let ok = response.status < FAILED_STATUS;
    let outcome = Outcome::Completed { status: response.status, ok };
    observer.recorder(flight.measured).ended(&moments, at_ns, outcome, Place::NOWHERE);
}
