//! Calls of gRPC that scripts make: channels with their connections, and the calls on them.
//!
//! What a script asks for goes on at once, and what comes of it is news for its user, each of which
//! is told when the script waits for it. A message that the script has not been told of holds back
//! the server: its bytes are given room again when the last one is told, so that a call never keeps
//! more than a window and a message.
//!
//! Absent on purpose: what messages say. A script's call reads them, and writes them.

mod call;
mod channel;
mod events;
mod words;

use std::collections::VecDeque;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use plimsoll_conn::grpc::{framed, timeout_value};
use plimsoll_conn::{ExchangeId, Message};
use plimsoll_io::Driver;
use plimsoll_script::js::grpc::{CallKind, Order, Told};

use super::Net;
use super::fault::Owned;
use crate::deadlines::Deadlines;
use crate::vu::books::{Actor, Books};
use crate::vu::tally::{CallEvent, CallTold, Tally};
use crate::vu::user::User;
use call::{Call, Phase};
use channel::{Channel, Configs, State};
use events::Happening;

/// Stands in the numbers of those who wait for the addresses of a server: this one is a channel.
pub(super) const CHANNEL: u32 = 1 << 30;

/// Bytes of messages that a server's windows may hold back, of one call.
const STALLED_BYTES_MAX: usize = 64 << 20;

/// Metadata of a script that is left out, as in k6: the protocol has these for itself.
const RESERVED: [&str; 8] = [
    "content-type",
    "grpc-encoding",
    "grpc-message",
    "grpc-message-type",
    "grpc-status",
    "grpc-timeout",
    "te",
    "user-agent",
];

/// What a user is told next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vu) enum News {
    /// Of a channel.
    Channel(u32),
    /// Of a call: its next message or, after the last, its end.
    Call(u32),
}

/// What belongs to one user.
#[derive(Debug, Default)]
struct Belongings {
    channels: Vec<u32>,
    calls: Vec<u32>,
    wires: Vec<u32>,
}

/// What every step here needs.
pub(super) struct Around<'a, T> {
    pub now_ns: u64,
    pub users: &'a [User],
    pub books: &'a mut Books<T>,
}

/// See the head of this module.
#[derive(Default)]
pub(super) struct Grpc {
    channels: Vec<Channel>,
    free_channels: Vec<u32>,
    calls: Vec<Call>,
    free_calls: Vec<u32>,
    owned: Vec<Belongings>,
    deadlines: Deadlines,
    channel_deadlines: Deadlines,
    news: VecDeque<(u32, News)>,
    configs: Configs,
    /// What has happened on a connection; empty between two events.
    happened: Vec<(u32, Happening)>,
}

impl Grpc {
    pub(super) fn add_user(&mut self) {
        self.owned.push(Belongings::default());
    }

    pub(super) fn next_ns(&self) -> u64 {
        self.deadlines.next_ns().min(self.channel_deadlines.next_ns())
    }

    fn claim_channel(&mut self) -> u32 {
        self.free_channels.pop().unwrap_or_else(|| {
            self.channels.push(Channel::default());
            self.channel_deadlines.grow(self.channels.len());
            self.channels.len() as u32 - 1
        })
    }

    fn claim_call(&mut self) -> u32 {
        self.free_calls.pop().unwrap_or_else(|| {
            self.calls.push(Call::default());
            self.deadlines.grow(self.calls.len());
            self.calls.len() as u32 - 1
        })
    }

    fn channel_of(&self, user: u32, number: u32) -> Option<u32> {
        let owned = self.owned[user as usize].channels.iter().copied();
        owned.rev().find(|id| self.channels[*id as usize].number == number)
    }

    /// The call of this number, if it is open.
    fn open_call(&self, user: u32, number: u32) -> Option<u32> {
        let owned = self.owned[user as usize].calls.iter().copied();
        let mut open = owned.rev().filter(|id| self.calls[*id as usize].is_open());
        open.find(|id| self.calls[*id as usize].number == number)
    }

    fn free_call(&mut self, id: u32) {
        let user = self.calls[id as usize].user;
        self.owned[user as usize].calls.retain(|known| *known != id);
        self.calls[id as usize] = Call::default();
        self.free_calls.push(id);
    }
}

impl<D: Driver> Net<D> {
    /// Does what a script asks for.
    pub(in crate::vu) fn obey<T: Tally>(
        &mut self,
        (user, order): (u32, Order),
        actor: Actor,
        now_ns: u64,
        users: &[User],
        books: &mut Books<T>,
    ) {
        let around = &mut Around { now_ns, users, books };
        match order {
            Order::Connect(number) => self.open_channel((user, number), actor, around),
            Order::Close(number) => {
                if let Some(id) = self.grpc.channel_of(user, number) {
                    self.close_channel(id, around);
                }
            }
            Order::Begin(number) => self.begin_call((user, number), actor, around),
            Order::Send(number) => {
                if let Some(id) = self.grpc.open_call(user, number) {
                    self.send_message(id, around);
                }
            }
            Order::Finish(number) => {
                if let Some(id) = self.grpc.open_call(user, number) {
                    self.put(id, &[], true, around);
                }
            }
        }
    }

    fn begin_call<T: Tally>(
        &mut self,
        (user, number): (u32, u32),
        actor: Actor,
        around: &mut Around<'_, T>,
    ) {
        let Some(asked) = around.users[user as usize].vu.call(number) else { return };
        let id = self.grpc.claim_call();
        let channel = self.grpc.channel_of(user, asked.channel);
        self.grpc.calls[id as usize] = Call {
            user,
            number,
            actor,
            channel: channel.unwrap_or_default(),
            kind: asked.kind,
            returns_stream: asked.returns_stream(),
            phase: Phase::Waiting,
            started_ns: around.now_ns,
            deadline_ns: asked
                .timeout_ns
                .map_or(u64::MAX, |timeout_ns| around.now_ns.saturating_add(timeout_ns)),
            ..Call::default()
        };
        let message_bytes = asked.message.len();
        drop(asked);
        self.grpc.owned[user as usize].calls.push(id);
        self.tell(id, CallEvent::Opened, around);
        let Some(channel) = channel else {
            let text = words::CLOSING.as_bytes();
            return self.end_call(id, words::code::CANCELLED, text, around);
        };
        self.grpc.deadlines.watch(id, self.grpc.calls[id as usize].deadline_ns);
        let bytes_max = self.grpc.channels[channel as usize].sent_bytes_max;
        if message_bytes > bytes_max as usize {
            let text = words::too_long(message_bytes, bytes_max);
            return self.end_call(id, words::code::RESOURCE_EXHAUSTED, text.as_bytes(), around);
        }
        self.prepare_call(id, around.users);
        self.grpc.channels[channel as usize].waiting.push(id);
        self.serve_channel(channel, around);
    }

    /// Puts together what a call sends at its start.
    fn prepare_call(&mut self, id: u32, users: &[User]) {
        let call = &mut self.grpc.calls[id as usize];
        if call.kind != CallKind::Unary {
            return;
        }
        if let Some(asked) = users[call.user as usize].vu.call(call.number) {
            call.unsent = framed(&asked.message);
            call.finishes = true;
        }
    }

    /// Starts a call on a connection that has room for it.
    fn start_call<T: Tally>(&mut self, id: u32, wire: u32, around: &mut Around<'_, T>) {
        let call = &mut self.grpc.calls[id as usize];
        let Some(asked) = around.users[call.user as usize].vu.call(call.number) else { return };
        let channel = &self.grpc.channels[call.channel as usize];
        let mut head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\ncontent-type: application/grpc\r\n",
            asked.path, channel.authority
        );
        let agent = &self.terms.network.call_agent;
        if !agent.is_empty() {
            let _ = write!(head, "user-agent: {agent}\r\n");
        }
        head.push_str("te: trailers\r\ngrpc-accept-encoding: gzip\r\n");
        if call.deadline_ns != u64::MAX {
            let left = timeout_value(call.deadline_ns.saturating_sub(around.now_ns));
            let _ = write!(head, "grpc-timeout: {}\r\n", String::from_utf8_lossy(&left));
        }
        let own = |name: &str| RESERVED.iter().any(|it| it.eq_ignore_ascii_case(name));
        for (name, value) in asked.metadata.iter().filter(|(name, _)| !own(name)) {
            let value = match name.ends_with("-bin") {
                true => BASE64_STANDARD_NO_PAD.encode(value),
                false => String::from_utf8_lossy(value).into_owned(),
            };
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        drop(asked);
        let (head, ends) = (head.as_bytes(), call.finishes);
        let message = Message::Streamed { head, body: &call.unsent, ends };
        let connection = self.wires.connection(wire);
        let exchange = ExchangeId(id);
        let sent = connection.send(&mut self.driver, exchange, &message, &mut self.scratch);
        match sent {
            Ok(bytes) => {
                call.phase = Phase::OnWire(wire);
                call.unsent.clear();
                self.owned[call.user as usize].sent_bytes += bytes as u64;
            }
            Err(error) => {
                let text = error.to_string();
                self.end_call(id, words::code::INTERNAL, text.as_bytes(), around);
            }
        }
    }

    /// Sends the message that the script's call has.
    fn send_message<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        let call = &self.grpc.calls[id as usize];
        let bytes_max = self.grpc.channels[call.channel as usize].sent_bytes_max;
        let Some(asked) = around.users[call.user as usize].vu.call(call.number) else { return };
        let bytes = asked.message.len();
        let message = if bytes > bytes_max as usize { None } else { Some(framed(&asked.message)) };
        drop(asked);
        match message {
            Some(message) => {
                self.tell(id, CallEvent::Sent, around);
                self.put(id, &message, false, around);
            }
            None => {
                let text = words::too_long(bytes, bytes_max);
                self.end_call(id, words::code::RESOURCE_EXHAUSTED, text.as_bytes(), around);
            }
        }
    }

    /// Sends bytes of a call, or keeps them until it has a connection.
    fn put<T: Tally>(&mut self, id: u32, body: &[u8], ends: bool, around: &mut Around<'_, T>) {
        let call = &mut self.grpc.calls[id as usize];
        let Phase::OnWire(wire) = call.phase else {
            call.unsent.extend_from_slice(body);
            call.finishes |= ends;
            if call.unsent.len() > STALLED_BYTES_MAX {
                self.overfull(id, around);
            }
            return;
        };
        let message = Message::Streamed { head: &[], body, ends };
        let (connection, exchange) = (self.wires.connection(wire), ExchangeId(id));
        let sent = connection.send_rest(&mut self.driver, exchange, &message, &mut self.scratch);
        call.stalled_bytes += body.len();
        if !connection.is_held_back(exchange) {
            call.stalled_bytes = 0;
        }
        self.owned[call.user as usize].sent_bytes += sent as u64;
        if call.stalled_bytes > STALLED_BYTES_MAX {
            self.overfull(id, around);
        }
    }

    fn overfull<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        let most = STALLED_BYTES_MAX >> 20;
        let text = format!("the server takes no messages, and {most} MiB of them wait");
        self.end_call(id, words::code::RESOURCE_EXHAUSTED, text.as_bytes(), around);
    }

    /// A message of a stream is news for its user.
    fn tell_message<T: Tally>(&mut self, id: u32, around: &mut Around<'_, T>) {
        self.tell(id, CallEvent::Received(None), around);
        let user = self.grpc.calls[id as usize].user;
        self.grpc.news.push_back((user, News::Call(id)));
    }

    /// Lets the server send more, unless there are messages that the script does not know of.
    fn give_room(&mut self, id: u32) {
        let call = &mut self.grpc.calls[id as usize];
        let Phase::OnWire(wire) = call.phase else { return };
        if call.held_bytes == 0 || (call.returns_stream && !call.messages.is_empty()) {
            return;
        }
        let bytes = std::mem::take(&mut call.held_bytes);
        let connection = self.wires.connection(wire);
        connection.release(ExchangeId(id), bytes, &mut self.scratch);
        let sent = connection.flush(&mut self.driver, &mut self.scratch);
        self.owned[call.user as usize].sent_bytes += sent as u64;
    }

    /// A call has ended, or is given up.
    fn end_call<T: Tally>(&mut self, id: u32, code: u32, text: &[u8], around: &mut Around<'_, T>) {
        let call = &mut self.grpc.calls[id as usize];
        let (user, phase, channel) = (call.user, call.phase, call.channel);
        call.phase = Phase::Ended;
        (call.code, call.text) = (code, text.to_vec());
        (call.unsent, call.held_bytes) = (Vec::new(), 0);
        if !call.returns_stream {
            let is_wanted = call.kind == CallKind::Unary || code == 0;
            if !is_wanted {
                call.messages.clear();
            }
            if !call.messages.is_empty() {
                self.grpc.news.push_back((user, News::Call(id)));
                self.tell(id, CallEvent::Received(Some(code)), around);
            }
        }
        self.take_off_call(id, phase, channel);
        let call = &self.grpc.calls[id as usize];
        let (started_ns, is_resent) = (call.started_ns, call.is_repeated);
        let ended_ns = around.now_ns;
        self.tell(id, CallEvent::Ended { code, started_ns, ended_ns, is_resent }, around);
        self.grpc.news.push_back((user, News::Call(id)));
    }

    /// Takes a call off its connection, or out of those that wait for one.
    fn take_off_call(&mut self, id: u32, phase: Phase, channel: u32) {
        match phase {
            Phase::OnWire(wire) => {
                let user = self.grpc.calls[id as usize].user;
                let driver = &mut self.driver;
                let sent = self.wires.cancel(driver, wire, id, &mut self.scratch);
                self.owned[user as usize].sent_bytes += sent.unwrap_or(0) as u64;
            }
            Phase::Waiting => {
                if let Some(channel) = self.grpc.channels.get_mut(channel as usize) {
                    channel.waiting.retain(|waiting| *waiting != id);
                }
            }
            Phase::Free | Phase::Ended => {}
        }
    }

    /// Tells the tally of a call.
    fn tell<T: Tally>(&self, id: u32, event: CallEvent, around: &mut Around<'_, T>) {
        let call = &self.grpc.calls[id as usize];
        let is_counted = match event {
            // The script did not ask for the calls that fetch a server's schema.
            CallEvent::Ended { .. } => call.kind != CallKind::Survey,
            _ => call.kind == CallKind::Stream,
        };
        let Some(asked) = around.users[call.user as usize].vu.call(call.number) else { return };
        if !is_counted {
            return;
        }
        // What the program asks by itself has no URL, and no names.
        let path = if asked.url.is_empty() { "" } else { asked.path.as_str() };
        let told = CallTold { event, path, url: &asked.url, tags: asked.tags };
        let (tally, place) = around.books.at(call.actor.clone(), around.now_ns);
        tally.call(&place, &told);
    }

    /// News, with whose they are.
    pub(in crate::vu) fn take_news(&mut self) -> Option<(u32, News)> {
        self.grpc.news.pop_front()
    }

    /// What a user is told.
    pub(in crate::vu) fn told(&self, news: News) -> Told<'_> {
        match news {
            News::Channel(id) => {
                let channel = &self.grpc.channels[id as usize];
                match &channel.outcome {
                    Some(Err(why)) => Told::Unconnected(channel.number, why),
                    _ => Told::Connected(channel.number),
                }
            }
            News::Call(id) => {
                let call = &self.grpc.calls[id as usize];
                match call.messages.front() {
                    Some(message) => Told::Message(call.number, message),
                    None => Told::Ended(call.number, call.end()),
                }
            }
        }
    }

    /// A user was told.
    pub(in crate::vu) fn was_told(&mut self, news: News) {
        match news {
            News::Channel(id) => {
                if matches!(self.grpc.channels[id as usize].outcome, Some(Err(_))) {
                    self.drop_channel(id);
                }
            }
            News::Call(id) => match self.grpc.calls[id as usize].messages.pop_front() {
                Some(_) => self.give_room(id),
                None => self.grpc.free_call(id),
            },
        }
    }

    /// Ends all calls of a user without telling of them, and says how many those are. Channels that
    /// are open stay.
    pub(in crate::vu) fn cut_off_calls(&mut self, user: u32) -> u64 {
        self.grpc.news.retain(|(owner, _)| *owner != user);
        let mut count = 0;
        for id in std::mem::take(&mut self.grpc.owned[user as usize].calls) {
            let call = &self.grpc.calls[id as usize];
            let (phase, channel) = (call.phase, call.channel);
            count += u64::from(call.is_open());
            self.take_off_call(id, phase, channel);
            self.grpc.free_call(id);
        }
        for id in self.grpc.owned[user as usize].channels.clone() {
            if !matches!(self.grpc.channels[id as usize].outcome, Some(Ok(()))) {
                self.drop_channel(id);
            }
        }
        count
    }

    /// Looks at what is due.
    pub(super) fn look_at_calls<T: Tally>(&mut self, by_ns: u64, around: &mut Around<'_, T>) {
        while let Some(id) = self.grpc.deadlines.pop(by_ns) {
            let call = &self.grpc.calls[id as usize];
            if !call.is_open() || call.deadline_ns == u64::MAX {
                continue;
            }
            if call.deadline_ns <= by_ns {
                let text = words::DEADLINE.as_bytes();
                self.end_call(id, words::code::DEADLINE_EXCEEDED, text, around);
            } else {
                let deadline_ns = call.deadline_ns;
                self.grpc.deadlines.watch(id, deadline_ns);
            }
        }
        while let Some(id) = self.grpc.channel_deadlines.pop(by_ns) {
            let channel = &self.grpc.channels[id as usize];
            if !matches!(channel.state, State::Naming | State::Dialling(_)) {
                continue;
            }
            if channel.deadline_ns <= by_ns {
                self.fail_channel(id, words::DEADLINE, around);
            } else {
                let deadline_ns = channel.deadline_ns;
                self.grpc.channel_deadlines.watch(id, deadline_ns);
            }
        }
    }
}
