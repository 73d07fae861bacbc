//! A WebSocket: reads messages, replies to them, and pushes, pings and closes as the mode says.
//!
//! Replies of one connection do not mix: while one is written in fragments, the next one waits, and
//! nothing is pushed.

use std::collections::{BTreeMap, VecDeque};

use super::frame::{self, Frame};
use super::handshake;
use crate::oracle::clock_ns;
use crate::oracle::connection::Output;
use crate::oracle::log::{Entry, Log, SocketEntry};
use crate::oracle::mode::Act;
use crate::oracle::output::Outbox;
use crate::oracle::server::hash;
use crate::oracle::session::Next;
use crate::oracle::shared::{Due, Shared};
use crate::oracle::wire::Wire;

/// What stands before the message in the reply to it.
const REPLY: &[u8] = b"re: ";
/// What is pushed.
const NEWS: &[u8] = b"news";
/// How long a tester has to answer a Close.
const LEAVE_NS: u64 = 1_000_000_000;

/// Something that is due on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::oracle) enum Timer {
    /// The reply to the message of this number begins.
    Reply(u32),
    /// The next fragment of it.
    Fragment(u32),
    /// Something is pushed.
    Push,
    /// As that, and again after the mode's time.
    PushOn,
    /// The connection is closed, whether its Close was answered or not.
    Leave,
}

/// A message whose reply is not whole.
struct Open {
    /// Its number in the log.
    entry: usize,
    opcode: u8,
    reply: Vec<u8>,
    /// How many fragments of that are written, and when the first one was due.
    fragments: u32,
    due_ns: u64,
}

/// A connection.
pub(in crate::oracle) struct Session {
    /// Its slot, and its number in the log.
    slot: usize,
    connection: usize,
    /// The hash of the path that it was opened with.
    path: u32,
    out: Outbox,
    /// A message that is not whole: its opcode, its bytes, and those of its frames.
    message: Option<(u8, Vec<u8>, usize)>,
    /// Messages that came.
    messages: u32,
    open: BTreeMap<u32, Open>,
    /// The message whose reply is written, and those whose replies wait for that.
    speaking: Option<u32>,
    waiting: VecDeque<u32>,
    answers: u32,
    is_closing: bool,
}

impl Session {
    /// A connection that asked to be upgraded, with this path and this key.
    pub(in crate::oracle) fn new(
        (slot, connection): (usize, usize),
        path: &[u8],
        key: &[u8],
        shared: &mut Shared,
    ) -> Self {
        shared.log.connections[connection].socket = Some(SocketEntry::default());
        let mut out = Outbox::default();
        out.bytes = handshake::answer(key);
        Self {
            slot,
            connection,
            path: hash(path),
            out,
            message: None,
            messages: 0,
            open: BTreeMap::new(),
            speaking: None,
            waiting: VecDeque::new(),
            answers: 0,
            is_closing: false,
        }
    }

    /// Takes the whole frames out of what was read.
    pub(in crate::oracle) fn receive(&mut self, input: &mut Vec<u8>, shared: &mut Shared) -> Next {
        let mut taken = 0;
        let mut next = Next::Open;
        while next == Next::Open {
            let frame = match frame::read(&input[taken..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(code) => {
                    next = self.broken(code, shared);
                    break;
                }
            };
            taken += frame.bytes;
            next = self.frame(frame, shared).unwrap_or_else(|code| self.broken(code, shared));
        }
        input.drain(..taken);
        next
    }

    /// Does what is due.
    pub(in crate::oracle) fn timer(&mut self, timer: Timer, shared: &mut Shared) -> Next {
        match timer {
            Timer::Leave => return Next::Close,
            _ if self.is_closing => {}
            Timer::Reply(number) => self.reply(number, shared),
            Timer::Fragment(number) => self.fragment(number, shared),
            Timer::Push => self.push(shared),
            Timer::PushOn => {
                self.push(shared);
                self.remind(shared.mode.socket.push_every_ns, Timer::PushOn, shared);
            }
        }
        Next::Open
    }

    /// Writes what there is.
    pub(in crate::oracle) fn write(&mut self, stream: &mut Wire, log: &mut Log) -> Output {
        self.out.write(stream, log)
    }

    fn remind(&self, in_ns: u64, timer: Timer, shared: &mut Shared) {
        self.remind_at(clock_ns() + in_ns, timer, shared);
    }

    fn remind_at(&self, at_ns: u64, timer: Timer, shared: &mut Shared) {
        shared.remind(at_ns, Due::Session(self.slot, self.connection, timer.into()));
    }

    /// The tester broke the protocol: that is logged and said, and it is the end.
    fn broken(&mut self, code: u16, shared: &mut Shared) -> Next {
        shared.log.connections[self.connection].broke = u32::from(code);
        frame::put(&mut self.out.bytes, frame::CLOSE, true, &code.to_be_bytes());
        Next::Close
    }

    /// A frame; an error is the code of a Close.
    fn frame(&mut self, frame: Frame, shared: &mut Shared) -> Result<Next, u16> {
        let pinged = ping_text(self.logged(shared).pings);
        self.logged(shared).unmasked += u32::from(!frame.is_masked);
        match frame.opcode {
            frame::CLOSE if self.is_closing => {
                self.logged(shared).is_close_answered = true;
                return Ok(Next::Close);
            }
            frame::CLOSE => {
                frame::put(&mut self.out.bytes, frame::CLOSE, true, &frame.payload);
                return Ok(Next::Close);
            }
            frame::PING => {
                frame::put(&mut self.out.bytes, frame::PONG, true, &frame.payload);
            }
            frame::PONG => {
                self.logged(shared).pongs += u32::from(frame.payload == pinged);
            }
            _ => return self.part(frame, shared),
        }
        Ok(Next::Open)
    }

    /// A part of a message, or all of it.
    fn part(&mut self, frame: Frame, shared: &mut Shared) -> Result<Next, u16> {
        let (opcode, mut message, mut bytes) = match (frame.opcode, self.message.take()) {
            (frame::CONTINUATION, Some(before)) => before,
            (frame::CONTINUATION, None) | (_, Some(_)) => return Err(frame::PROTOCOL_ERROR),
            (opcode, None) => (opcode, Vec::new(), 0),
        };
        message.extend_from_slice(&frame.payload);
        bytes += frame.bytes;
        if message.len() > frame::MESSAGE_MAX {
            return Err(frame::TOO_BIG);
        }
        if frame.is_final {
            return Ok(self.message(opcode, &message, bytes, shared));
        }
        self.message = Some((opcode, message, bytes));
        Ok(Next::Open)
    }

    /// A message is whole: its reply is due now or later.
    fn message(&mut self, opcode: u8, text: &[u8], bytes: usize, shared: &mut Shared) -> Next {
        let now_ns = clock_ns();
        self.messages += 1;
        let number = self.messages;
        let entry = Entry {
            opened_ns: now_ns,
            received_ns: now_ns,
            connection: self.connection as u32,
            bytes_in: bytes as u32,
            path: self.path,
            open: self.open.len() as u32 + 1,
            ..Entry::default()
        };
        let most = &mut shared.log.connections[self.connection].open_max;
        *most = entry.open.max(*most);
        let Some((entry, answer)) = shared.request(entry, self.answers) else { return Next::Close };
        if self.is_closing {
            // It was under way when the oracle closed: nobody answers it.
            return Next::Open;
        }
        if number == shared.mode.socket.close_at {
            return self.close(shared);
        }
        let due_ns = shared.due_ns(answer, now_ns);
        let reply = [REPLY, text].concat();
        self.open.insert(number, Open { entry, opcode, reply, fragments: 0, due_ns });
        let (after_ns, every_ns) =
            (shared.mode.socket.push_after_ns, shared.mode.socket.push_every_ns);
        if after_ns > 0 {
            self.remind(after_ns, Timer::Push, shared);
        }
        if every_ns > 0 && number == 1 {
            self.remind(every_ns, Timer::PushOn, shared);
        }
        match answer.act {
            Act::Hang => {}
            Act::Reset => return Next::Reset,
            _ if due_ns <= now_ns => self.reply(number, shared),
            _ => self.remind_at(due_ns, Timer::Reply(number), shared),
        }
        Next::Open
    }

    /// The reply to a message begins, or waits for the one that is written.
    fn reply(&mut self, number: u32, shared: &mut Shared) {
        if self.speaking.is_some() {
            self.waiting.push_back(number);
        } else {
            self.speaking = Some(number);
            self.fragment(number, shared);
        }
    }

    fn fragment(&mut self, number: u32, shared: &mut Shared) {
        let (count, over_ns) =
            (shared.mode.socket.fragments.max(1), shared.mode.socket.fragments_ns);
        let Some(open) = self.open.get_mut(&number) else { return };
        let (at, is_last) = (open.fragments, open.fragments + 1 == count);
        let cut = |at: u32| open.reply.len() * at as usize / count as usize;
        let opcode = if at == 0 { open.opcode } else { frame::CONTINUATION };
        let part = &open.reply[cut(at)..cut(at + 1)];
        let bytes = frame::put(&mut self.out.bytes, opcode, is_last, part);
        shared.log.entries[open.entry].bytes_out += bytes as u32;
        open.fragments += 1;
        if !is_last {
            let at_ns = open.due_ns + over_ns * u64::from(at + 1) / u64::from(count - 1);
            self.remind_at(at_ns, Timer::Fragment(number), shared);
            if at == 0 && shared.mode.socket.pings {
                self.ping(shared);
            }
            return;
        }
        self.out.end_answer(open.entry);
        self.open.remove(&number);
        self.answers += 1;
        self.speaking = None;
        if let Some(next) = self.waiting.pop_front() {
            self.reply(next, shared);
        }
    }

    fn push(&mut self, shared: &mut Shared) {
        if self.speaking.is_none() {
            frame::put(&mut self.out.bytes, frame::TEXT, true, NEWS);
            self.logged(shared).pushed += 1;
        }
    }

    fn ping(&mut self, shared: &mut Shared) {
        let logged = self.logged(shared);
        logged.pings += 1;
        frame::put(&mut self.out.bytes, frame::PING, true, &ping_text(logged.pings));
    }

    /// Says goodbye; open messages get no reply.
    fn close(&mut self, shared: &mut Shared) -> Next {
        let code = shared.mode.socket.close_code;
        frame::put(&mut self.out.bytes, frame::CLOSE, true, &code.to_be_bytes());
        self.is_closing = true;
        self.remind(LEAVE_NS, Timer::Leave, shared);
        Next::Open
    }

    /// What the log has of this WebSocket.
    fn logged<'a>(&self, shared: &'a mut Shared) -> &'a mut SocketEntry {
        shared.log.connections[self.connection].socket.get_or_insert_default()
    }
}

/// The payload of a connection's ping of this number.
fn ping_text(number: u32) -> Vec<u8> {
    format!("ping {number}").into_bytes()
}
