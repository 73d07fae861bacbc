//! What the connections of channels report, and what that means for the calls on them.

use plimsoll_conn::grpc::{CallMessageError, CallResponse, Incoming};
use plimsoll_conn::{ExchangeId, Failure, Progress, State as Connected};
use plimsoll_io::{Driver, Event, Received};
use plimsoll_script::js::grpc::{CallKind, Coding};

use super::super::{Net, fault};
use super::call::{Call, Phase};
use super::channel::{Channel, State};
use super::{Around, Owned, words};
use crate::vu::tally::Tally;
use crate::vu::user::User;

/// Whether TLS resumes sessions.
const RESUMES: bool = false;

/// What has happened to a call.
pub(super) enum Happening {
    Message,
    /// The server has not looked at it.
    Refused,
    Complete,
    /// It has ended otherwise: a code, and a text.
    Failed(u32, String),
}

/// What is noted while a connection reads.
struct Noted<'a> {
    calls: &'a mut Vec<Call>,
    channels: &'a [Channel],
    users: &'a [User],
    happened: &'a mut Vec<(u32, Happening)>,
}

impl Noted<'_> {
    fn note(&mut self, progress: Progress<'_>) {
        let failed = |code, text| Happening::Failed(code, text);
        match progress {
            Progress::Head(ExchangeId(id), head) => {
                let call = &mut self.calls[id as usize];
                let bytes_max = self.channels[call.channel as usize].received_bytes_max;
                call.response = Some(CallResponse::of_head(head, bytes_max));
            }
            Progress::Body(ExchangeId(id), bytes) => self.body(id, bytes),
            Progress::Trailers(ExchangeId(id), fields) => {
                if let Some(response) = &mut self.calls[id as usize].response {
                    response.trailers(fields);
                }
            }
            Progress::Resumed { exchange: ExchangeId(id), .. } => {
                self.calls[id as usize].stalled_bytes = 0;
            }
            Progress::Complete(ExchangeId(id), _) => self.happened.push((id, Happening::Complete)),
            Progress::Refused(ExchangeId(id), _) => self.happened.push((id, Happening::Refused)),
            Progress::Reset(ExchangeId(id), kind) => {
                let (code, text) = words::reset(kind);
                self.happened.push((id, failed(code, text)));
            }
            Progress::Broken(ExchangeId(id), error) => {
                self.happened.push((id, failed(words::code::INTERNAL, error.to_string())));
            }
            _ => {}
        }
    }

    fn body(&mut self, id: u32, bytes: &[u8]) {
        let call = &mut self.calls[id as usize];
        call.held_bytes += bytes.len() as u32;
        if call.has_failed {
            return;
        }
        let Some(response) = &mut call.response else { return };
        let mut whole: Vec<Incoming> = Vec::new();
        let read = response.body(bytes, |message| whole.push(message));
        let is_gzip = response.is_gzip();
        for message in whole {
            if let Err((code, text)) = self.message(id, message, is_gzip) {
                return self.fail(id, code, text);
            }
        }
        if let Err(error) = read {
            let (code, text) = words::bad_message(error);
            self.fail(id, code, text);
        }
    }

    /// What follows of its body is not looked at.
    fn fail(&mut self, id: u32, code: u32, text: String) {
        self.calls[id as usize].has_failed = true;
        self.happened.push((id, Happening::Failed(code, text)));
    }

    fn message(&mut self, id: u32, message: Incoming, is_gzip: bool) -> Result<(), (u32, String)> {
        let call = &mut self.calls[id as usize];
        let bytes_max = self.channels[call.channel as usize].received_bytes_max;
        let coding = match (message.is_compressed, is_gzip) {
            (false, _) => Coding::Identity,
            (true, true) => Coding::Gzip(bytes_max),
            (true, false) => Coding::Other,
        };
        let Some(asked) = self.users[call.user as usize].vu.call(call.number) else {
            return Ok(());
        };
        let read = asked.read(message.bytes, coding).map_err(|why| (words::code::INTERNAL, why))?;
        call.count += 1;
        if call.returns_stream {
            call.messages.push_back(read);
            self.happened.push((id, Happening::Message));
            return Ok(());
        }
        // The last one is what a script gets to see.
        call.messages.clear();
        call.messages.push_back(read);
        if call.count > 1 {
            return Err((words::code::INTERNAL, words::EXTRA_MESSAGE.to_owned()));
        }
        Ok(())
    }
}

impl<D: Driver> Net<D> {
    /// Takes an event of a channel's connection.
    pub(in super::super) fn channel_event<T: Tally>(
        &mut self,
        channel: u32,
        event: Event,
        around: &mut Around<'_, T>,
    ) {
        match event {
            Event::Connected(socket) => self.channel_connected(channel, socket.0, around),
            Event::Received(received) => self.channel_received(channel, received, around),
            Event::Ended(socket) => {
                let wire = socket.0;
                let connection = self.wires.connection(wire);
                let (was_opening, ended) = (connection.is_opening(), connection.ended(|_| {}));
                let failure = ended.err().unwrap_or(Failure::Closed);
                let fault = fault::of_connection(&failure, false);
                self.channel_lost(channel, (wire, was_opening), &fault, around);
            }
            Event::Failed { socket, operation, error } => {
                let was_opening = self.wires.connection(socket.0).is_opening();
                let fault = fault::of_system(operation, error);
                self.channel_lost(channel, (socket.0, was_opening), &fault, around);
            }
            Event::Sent(_) | Event::SentPart(_) | Event::Woken | Event::Accepted { .. } => {}
        }
    }

    fn channel_connected<T: Tally>(&mut self, channel: u32, wire: u32, around: &mut Around<'_, T>) {
        let Some(route) = self.wires.route(wire) else { return };
        let user = self.wires.user(wire);
        let setup = &self.grpc.channels[channel as usize].setup;
        let connection = self.wires.connection(wire);
        let begun =
            connection.connected(&mut self.driver, setup, &route, RESUMES, &mut self.scratch);
        match begun {
            Ok(bytes) => self.owned[user as usize].sent_bytes += bytes as u64,
            Err(failure) => {
                let fault = fault::of_connection(&failure, false);
                self.channel_lost(channel, (wire, true), &fault, around);
            }
        }
    }

    fn channel_received<T: Tally>(
        &mut self,
        id: u32,
        received: Received,
        around: &mut Around<'_, T>,
    ) {
        let wire = received.socket.0;
        let user = self.wires.user(wire);
        self.owned[user as usize].received_bytes += received.len() as u64;
        let actor = around.users[user as usize].actor();
        let (tally, place) = around.books.at(actor, around.now_ns);
        tally.received(&place, received.len() as u64);
        let mut happened = std::mem::take(&mut self.grpc.happened);
        let super::Grpc { calls, channels, .. } = &mut self.grpc;
        let channels: &[Channel] = channels;
        let setup = &channels[id as usize].setup;
        let mut noted = Noted { calls, channels, users: around.users, happened: &mut happened };
        let connection = self.wires.connection(wire);
        let was_opening = connection.is_opening();
        let bytes = self.driver.bytes(&received);
        let scratch = &mut self.scratch;
        let read =
            connection.receive(setup, RESUMES, scratch, bytes, |progress| noted.note(progress));
        self.driver.release(received);
        let sent = connection.flush(&mut self.driver, scratch);
        let is_open = matches!(connection.state(), Connected::Open | Connected::Spent);
        let is_other = is_open && connection.protocol_name() != "h2"
            || connection.tls().is_some_and(|tls| !tls.is_handshaking() && tls.alpn().is_none());
        self.owned[user as usize].sent_bytes += sent as u64;
        for (call, what) in happened.drain(..) {
            self.happen(call, what, around);
        }
        self.grpc.happened = happened;
        if !was_opening && self.wires.connection(wire).is_opening() {
            // It was closed meanwhile, and is the channel's next one by now.
            return;
        }
        if let Err(failure) = read {
            let fault = fault::of_connection(&failure, false);
            self.channel_lost(id, (wire, was_opening), &fault, around);
        } else if is_other {
            let text = "the server does not choose HTTP/2 in TLS (ALPN)".to_owned();
            self.channel_lost(id, (wire, true), &Owned::Tls(text), around);
        } else if was_opening && is_open {
            self.channel_opened(id, wire, around);
        } else if self.wires.is_in_use(wire) {
            self.tidy_call_wire(id, wire, around);
        }
    }

    /// Gives calls that wait their turn, and closes a connection that takes none and has none.
    fn tidy_call_wire<T: Tally>(&mut self, id: u32, wire: u32, around: &mut Around<'_, T>) {
        let connection = self.wires.connection(wire);
        let is_spent = connection.state() == Connected::Spent;
        let is_unused = connection.open_exchanges() == 0;
        let channel = &mut self.grpc.channels[id as usize];
        if is_spent && channel.state == State::Ready(wire) {
            channel.state = State::Idle;
        }
        if is_spent && is_unused {
            self.close_call_wire(wire);
        }
        self.serve_channel(id, around);
    }

    /// A connection is of no use any more.
    fn channel_lost<T: Tally>(
        &mut self,
        id: u32,
        (wire, was_opening): (u32, bool),
        fault: &Owned,
        around: &mut Around<'_, T>,
    ) {
        if !self.wires.is_in_use(wire) {
            return;
        }
        let (user, route) = (self.wires.user(wire), self.wires.route(wire));
        let mut open = Vec::new();
        self.wires.give_up(&mut self.driver, wire, &mut open);
        self.grpc.owned[user as usize].wires.retain(|known| *known != wire);
        let channel = &mut self.grpc.channels[id as usize];
        if matches!(channel.state, State::Dialling(it) | State::Ready(it) if it == wire) {
            channel.state = State::Idle;
        }
        let text = words::lost(fault);
        for call in open {
            self.grpc.calls[call as usize].phase = Phase::Waiting;
            self.end_call(call, words::code::UNAVAILABLE, text.as_bytes(), around);
        }
        if was_opening {
            self.unconnected(id, fault, route.as_ref().map(|route| &route.to), around);
        } else {
            self.serve_channel(id, around);
        }
    }

    /// Goes on with a call to which something has happened.
    fn happen<T: Tally>(&mut self, id: u32, what: Happening, around: &mut Around<'_, T>) {
        if !self.grpc.calls[id as usize].is_open() {
            return;
        }
        match what {
            Happening::Message => self.tell_message(id, around),
            Happening::Complete => {
                self.grpc.calls[id as usize].phase = Phase::Waiting;
                let (code, text) = outcome(&self.grpc.calls[id as usize]);
                self.end_call(id, code, &text, around);
            }
            Happening::Refused => self.refused(id, around),
            Happening::Failed(code, text) => self.end_call(id, code, text.as_bytes(), around),
        }
        if self.grpc.calls[id as usize].is_open() {
            self.give_room(id);
        }
    }

    /// A call that the server has not looked at goes out once more, if it is known what it sends.
    fn refused<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        let call = &mut self.grpc.calls[id as usize];
        let Phase::OnWire(wire) = call.phase else { return };
        call.phase = Phase::Waiting;
        if call.kind == CallKind::Unary && !call.is_repeated {
            call.is_repeated = true;
            let channel = call.channel;
            self.prepare_call(id, around.users);
            self.grpc.channels[channel as usize].waiting.push(id);
            self.serve_channel(channel, around);
            return;
        }
        let text = match self.wires.connection(wire).state() {
            Connected::Spent => words::DRAINING.to_owned(),
            _ => words::reset("REFUSED_STREAM").1,
        };
        self.end_call(id, words::code::UNAVAILABLE, text.as_bytes(), around);
    }
}

/// What the complete response of a call says.
fn outcome(call: &Call) -> (u32, Vec<u8>) {
    let Some(response) = &call.response else {
        return (words::code::INTERNAL, b"the response has no head".to_vec());
    };
    let (code, text) = words::of_status(response.status());
    let said = |(code, text): (u32, String)| (code, text.into_bytes());
    match response.ended() {
        Err(error @ CallMessageError::Cut) if code == 0 => said(words::bad_message(error)),
        _ if code == 0 && !call.returns_stream && call.count == 0 => {
            said((words::code::INTERNAL, words::NO_MESSAGE.to_owned()))
        }
        _ => (code, text),
    }
}
