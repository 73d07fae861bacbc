//! An HTTP/2 server for the simulated network: does with each request what a script says, when it
//! says, and writes down what it did and what the client did.
//!
//! The frames of responses are [`Server`]'s. What it allows the client is written here, and each
//! frame of the client's is checked against that.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use plimsoll_io::sim::{Peer, PeerActions, PeerConn};
use plimsoll_proto::http2::{ErrorCode, Server, ServerEvent, ServerOptions};

use crate::http2_script::{Asked, Change, Hello, Log, Reply, WINDOW_BYTES_MAX};

const PREFACE_BYTES: usize = 24;
const FRAME_HEAD_BYTES: usize = 9;

/// The kinds of frames that are looked at or written here, and flags.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    /// Of SETTINGS and PING.
    pub(crate) const ACK: u8 = 1;
    /// Of DATA.
    pub(crate) const PADDED: u8 = 8;
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    Greet,
    Interim(u32, u16),
    /// Makes room for a body, of a stream or, with 0, of all of them.
    Grant(u32, u32),
    Begin(u32),
    Finish(u32),
    Change(Change),
    LastStream,
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct Stream {
    pub asked: Asked,
    pub reply: Reply,
    pub has_ended: bool,
    pub body: Vec<u8>,
    /// How much of the body there is room for, and since when for all of it.
    pub room: u64,
    pub whole_room_ns: Option<u64>,
    pub head_ns: Option<u64>,
    /// Whether all but the trailers has been handed over.
    pub is_finishing: bool,
    /// Whether it is never answered, though it could be by now.
    pub has_hung: bool,
}

pub(crate) struct Line {
    pub server: Server,
    pub received: Vec<u8>,
    pub has_preface: bool,
    pub out: Vec<u8>,
    pub is_greeted: bool,
    /// How many streams the client has acknowledged, and what it was told since.
    pub limit: u32,
    pub announced: VecDeque<u32>,
    pub open: BTreeMap<u32, Stream>,
    pub newest: u32,
    /// Whether it has begun to say goodbye, and the last stream that is taken.
    pub is_leaving: bool,
    pub last_taken: u32,
    /// Room for all bodies that there is left.
    pub room: u64,
    pub tasks: BTreeMap<(u64, u64), Task>,
    pub tasks_added: u64,
}

pub(crate) type Script = Box<dyn FnMut(&Asked) -> Reply>;

/// A server that asks a script what to do.
pub(crate) struct Http2Server {
    hello: Hello,
    script: Script,
    log: Rc<RefCell<Log>>,
    lines: BTreeMap<PeerConn, Line>,
}

impl Http2Server {
    pub(crate) fn new(
        hello: Hello,
        script: impl FnMut(&Asked) -> Reply + 'static,
    ) -> (Self, Rc<RefCell<Log>>) {
        let log = Rc::new(RefCell::new(Log::default()));
        let script = Box::new(script);
        (Self { hello, script, log: Rc::clone(&log), lines: BTreeMap::new() }, log)
    }

    /// Has something done on a connection, and sends what that left to send.
    fn turn(
        &mut self,
        now_ns: u64,
        conn: PeerConn,
        actions: &mut PeerActions,
        act: impl FnOnce(&mut Turn<'_>),
    ) {
        let Some(line) = self.lines.get_mut(&conn) else { return };
        let mut log = self.log.borrow_mut();
        let (hello, script) = (&self.hello, &mut self.script);
        let mut turn = Turn { now_ns, conn, hello, line, script, log: &mut log, actions };
        act(&mut turn);
        if line.is_greeted && !line.out.is_empty() {
            log.sent_bytes += line.out.len() as u64;
            actions.send(0, std::mem::take(&mut line.out));
        }
        let is_done = line.last_taken != u32::MAX && line.open.is_empty();
        if is_done && hello.closes {
            actions.close(0);
            self.lines.remove(&conn);
        }
    }
}

impl Peer for Http2Server {
    fn connected(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions) {
        let mut receiving = ServerOptions::default().receiving;
        (receiving.window_bytes, receiving.connection_window_bytes) =
            (WINDOW_BYTES_MAX, WINDOW_BYTES_MAX);
        let options = ServerOptions { streams: u32::MAX, receiving, ..ServerOptions::default() };
        let mut server = Server::new(options);
        // `greet` announces the settings instead.
        server.begin(&mut Vec::new());
        let line = Line {
            server,
            received: Vec::new(),
            has_preface: false,
            out: Vec::new(),
            is_greeted: false,
            limit: 0,
            announced: VecDeque::new(),
            open: BTreeMap::new(),
            newest: 0,
            is_leaving: false,
            last_taken: u32::MAX,
            room: u64::from(self.hello.connection_window_bytes),
            tasks: BTreeMap::new(),
            tasks_added: 0,
        };
        self.lines.insert(conn, line);
        let after_ns = self.hello.after_ns;
        self.turn(now_ns, conn, out, |turn| {
            turn.log.did.connections += 1;
            match after_ns {
                0 => turn.carry_out(Task::Greet),
                _ => turn.later(after_ns, Task::Greet),
            }
        });
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], out: &mut PeerActions) {
        self.turn(now_ns, conn, out, |turn| {
            turn.log.received_bytes += bytes.len() as u64;
            turn.line.received.extend_from_slice(bytes);
            while let Some(unit) = turn.line.next_unit() {
                turn.read(&unit);
            }
        });
    }

    fn woken(&mut self, now_ns: u64, conn: PeerConn, out: &mut PeerActions) {
        self.turn(now_ns, conn, out, |turn| {
            while let Some(entry) = turn.line.tasks.first_entry().filter(|it| it.key().0 <= now_ns)
            {
                let task = entry.remove();
                turn.carry_out(task);
            }
        });
    }

    fn closed(&mut self, _now_ns: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}

impl Line {
    /// The preface, or a whole frame.
    fn next_unit(&mut self) -> Option<Vec<u8>> {
        let bytes = &self.received;
        let len = match bytes.get(..FRAME_HEAD_BYTES) {
            _ if !self.has_preface => PREFACE_BYTES,
            Some(&[high, middle, low, ..]) => {
                FRAME_HEAD_BYTES + u32::from_be_bytes([0, high, middle, low]) as usize
            }
            _ => return None,
        };
        (bytes.len() >= len).then(|| self.received.drain(..len).collect())
    }

    /// The most streams that the client may have open by what it can know.
    fn limit(&self) -> u32 {
        self.announced.iter().copied().fold(self.limit, u32::max)
    }
}

/// One look at a connection.
pub(crate) struct Turn<'t> {
    pub now_ns: u64,
    pub conn: PeerConn,
    pub hello: &'t Hello,
    pub line: &'t mut Line,
    pub script: &'t mut Script,
    pub log: &'t mut Log,
    pub actions: &'t mut PeerActions,
}

/// What a unit of the client's bytes meant.
enum Happened {
    Asked(Asked),
    Body(u32, Vec<u8>),
    End(u32),
    Resumed(u32),
    Reset(u32, ErrorCode),
    Violation(String),
}

impl Turn<'_> {
    pub(crate) fn violation(&mut self, text: String) {
        self.log.did.violations.push(format!("{text} at {} ns", self.now_ns));
    }

    pub(crate) fn later(&mut self, after_ns: u64, task: Task) {
        self.line.tasks_added += 1;
        self.line.tasks.insert((self.now_ns + after_ns, self.line.tasks_added), task);
        self.actions.wake(after_ns);
    }

    /// Reads the preface or a frame.
    fn read(&mut self, unit: &[u8]) {
        if !std::mem::replace(&mut self.line.has_preface, true) {
            return self.feed(unit);
        }
        let (kind, flags) = (unit[3], unit[4]);
        match kind {
            kind::SETTINGS if flags & kind::ACK != 0 => match self.line.announced.pop_front() {
                Some(limit) => self.line.limit = limit,
                None => self.violation("settings acknowledged that were never sent".to_owned()),
            },
            kind::PING if flags & kind::ACK != 0 => {
                self.log.did.pongs += 1;
                if unit[FRAME_HEAD_BYTES..] != *b"plimsoll" {
                    self.violation("another ping than was sent".to_owned());
                }
            }
            kind::DATA => {
                let bytes = (unit.len() - FRAME_HEAD_BYTES) as u64;
                match self.line.room.checked_sub(bytes) {
                    Some(left) => self.line.room = left,
                    None => self.violation("more than the connection's window".to_owned()),
                }
            }
            _ => {}
        }
        self.feed(unit);
    }

    fn feed(&mut self, mut bytes: &[u8]) {
        loop {
            let happened = match self.line.server.receive(bytes, &mut self.line.out) {
                Err(error) => {
                    return self.violation(format!("{error}"));
                }
                Ok(decoded) => {
                    bytes = &bytes[decoded.consumed..];
                    let Some(event) = decoded.event else { return };
                    let number = self.log.did.requests;
                    of_event(event, number, self.now_ns)
                }
            };
            match happened {
                None => {}
                Some(Happened::Asked(asked)) => self.asked(asked),
                Some(Happened::Body(id, piece)) => self.body(id, &piece),
                Some(Happened::End(id)) => self.ended(id),
                Some(Happened::Resumed(id)) => self.sent(id),
                Some(Happened::Reset(id, code)) => self.given_up(id, code),
                Some(Happened::Violation(text)) => self.violation(text),
            }
        }
    }

    /// The head of a request has come.
    fn asked(&mut self, asked: Asked) {
        let id = asked.stream;
        self.log.did.requests += 1;
        self.log.arrivals_ns.push(self.now_ns);
        if !self.line.is_greeted {
            self.violation(format!("stream {id} before the greeting"));
        }
        if id != self.line.newest + 2 && (id, self.line.newest) != (1, 0) {
            self.violation(format!("stream {id} after {}", self.line.newest));
        }
        self.line.newest = id;
        if id > self.line.last_taken {
            self.log.did.refused += 1;
            return;
        }
        if self.line.open.len() >= self.line.limit() as usize {
            self.violation(format!("more than {} streams", self.line.limit()));
        }
        let reply = (self.script)(&asked);
        if let Some((after_ns, status)) = reply.interim {
            self.later(after_ns, Task::Interim(id, status));
        }
        for grant in &reply.grants {
            let of = if grant.is_for_all { 0 } else { id };
            self.later(grant.after_ns, Task::Grant(of, grant.bytes));
        }
        if reply.is_early {
            self.later(reply.after_ns, Task::Begin(id));
        }
        let change = reply.change;
        let room = u64::from(self.hello.window_bytes);
        let stream = Stream {
            asked,
            reply,
            has_ended: false,
            body: Vec::new(),
            room,
            whole_room_ns: None,
            head_ns: None,
            is_finishing: false,
            has_hung: false,
        };
        self.line.open.insert(id, stream);
        let open_max = self.log.open_max.entry(self.conn).or_default();
        *open_max = self.line.open.len().max(*open_max);
        if let Some(change) = change {
            self.change(change);
        }
    }

    fn body(&mut self, id: u32, piece: &[u8]) {
        let Some(stream) = self.line.open.get_mut(&id) else { return };
        self.log.did.bodies += u64::from(stream.body.is_empty());
        stream.body.extend_from_slice(piece);
        if stream.body.len() as u64 > stream.room {
            self.violation(format!("more than the window of stream {id}"));
        }
    }

    /// A request is whole.
    fn ended(&mut self, id: u32) {
        let Some(stream) = self.line.open.get_mut(&id) else { return };
        stream.has_ended = true;
        let (is_early, after_ns) = (stream.reply.is_early, stream.reply.after_ns);
        let number = stream.asked.field("x-number").unwrap_or_default();
        let has_number = stream.body.starts_with(format!("{number}:").as_bytes());
        if !stream.body.is_empty() && !number.is_empty() && !has_number {
            let text = format!("{:?} as the body of {number}", stream.body.escape_ascii());
            self.violation(text);
        }
        if !is_early {
            self.later(after_ns, Task::Begin(id));
        }
    }

    /// The client gave a stream up.
    fn given_up(&mut self, id: u32, code: ErrorCode) {
        let was_open = self.line.open.remove(&id).is_some();
        match code {
            ErrorCode::NO_ERROR if !was_open => self.log.stopped += 1,
            ErrorCode::CANCEL => self.log.did.cancelled += 1,
            _ => self.violation(format!("stream {id} was reset with {code:?}, open: {was_open}")),
        }
    }
}

fn of_event(event: ServerEvent<'_, '_>, number: u64, at_ns: u64) -> Option<Happened> {
    Some(match event {
        ServerEvent::Greeted | ServerEvent::Trailers(..) => return None,
        ServerEvent::Request(stream, head) => {
            let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
            let fields = head.headers().map(|(name, value)| (name.to_owned(), text(value)));
            Happened::Asked(Asked {
                number,
                stream,
                at_ns,
                method: head.method().to_owned(),
                path: head.path().unwrap_or_default().to_owned(),
                fields: fields.collect(),
                body_bytes: head.content_length(),
            })
        }
        ServerEvent::Body(id, piece) => Happened::Body(id, piece.to_vec()),
        ServerEvent::End(id) => Happened::End(id),
        ServerEvent::Resumed(id) => Happened::Resumed(id),
        ServerEvent::Reset(id, code) => Happened::Reset(id, code),
        ServerEvent::Broken(id, error) => Happened::Violation(format!("stream {id}: {error}")),
        ServerEvent::Draining(code) => Happened::Violation(format!("a goodbye with {code:?}")),
    })
}
