//! What an HTTP/2 server of the tests does when it is due: greets, makes room, answers, leaves.

use plimsoll_proto::http2::{Block, BlockBuilder, Body, ErrorCode, SharedFields, Value};

use crate::http2_script::{Change, Fate, Hello};
use crate::http2_server::{Task, Turn, kind};

/// A connection's window before it is enlarged (RFC 9113 section 6.9.2), bytes.
const CONNECTION_WINDOW_BYTES: u32 = 65_535;
/// The last stream that there can be.
const STREAM_MAX: u32 = (1 << 31) - 1;

impl Turn<'_> {
    pub(crate) fn carry_out(&mut self, task: Task) {
        match task {
            Task::Greet => self.greet(),
            Task::Interim(id, status) => self.interim(id, status),
            Task::Grant(id, bytes) => self.grant(id, bytes),
            Task::Begin(id) => self.begin(id),
            Task::Finish(id) => self.finish(id),
            Task::Change(change) => self.change(change),
            Task::LastStream => self.take_none_after(self.line.newest),
        }
    }

    /// Says what it allows; what was to be sent before waits for that.
    fn greet(&mut self) {
        let Hello { streams, window_bytes, connection_window_bytes, then, .. } = *self.hello;
        let mut out = Vec::new();
        let settings = [(3, streams), (4, window_bytes)];
        write_settings(&mut out, &settings);
        let increment = connection_window_bytes - CONNECTION_WINDOW_BYTES;
        if increment > 0 {
            write_frame(&mut out, kind::WINDOW_UPDATE, 0, 0, &increment.to_be_bytes());
        }
        out.append(&mut self.line.out);
        self.line.out = out;
        self.line.announced.push_back(streams);
        self.line.is_greeted = true;
        match then {
            Some((0, change)) => self.change(change),
            Some((after_ns, change)) => self.later(after_ns, Task::Change(change)),
            None => {}
        }
    }

    fn interim(&mut self, id: u32, status: u16) {
        if self.line.open.contains_key(&id) {
            let out = &mut self.line.out;
            self.line.server.send_head(id, false, out, |head| head.status(status));
        }
    }

    pub(crate) fn change(&mut self, change: Change) {
        let out = &mut self.line.out;
        match change {
            Change::Ping => {
                self.log.did.pings += 1;
                write_frame(out, kind::PING, 0, 0, b"plimsoll");
            }
            Change::Limit(streams) => {
                write_settings(out, &[(3, streams)]);
                self.line.announced.push_back(streams);
            }
            Change::Goodbye(_) | Change::Abrupt(_) if self.line.is_leaving => {}
            Change::Goodbye(after_ns) => {
                self.log.did.goodbyes += 1;
                self.line.is_leaving = true;
                write_goaway(out, STREAM_MAX);
                self.later(after_ns, Task::LastStream);
            }
            Change::Abrupt(last) => {
                self.log.did.goodbyes += 1;
                self.line.is_leaving = true;
                // What has hung may be given up in this moment.
                let hung = self.line.open.iter().filter(|(_, stream)| stream.has_hung);
                let last = hung.map(|(id, _)| *id).fold(last, u32::max);
                self.take_none_after(last);
            }
        }
    }

    /// Says which stream was the last, and refuses those after it.
    fn take_none_after(&mut self, last: u32) {
        write_goaway(&mut self.line.out, last);
        let refused = self.line.open.split_off(&(last + 1));
        self.log.did.refused += refused.len() as u64;
        for id in refused.into_keys() {
            // The client hears no more of it.
            self.line.server.reset(id, ErrorCode::REFUSED_STREAM, &mut Vec::new());
        }
        self.line.last_taken = last;
    }

    fn grant(&mut self, id: u32, bytes: u32) {
        if id == 0 {
            self.line.room += u64::from(bytes);
        } else {
            let Some(stream) = self.line.open.get_mut(&id) else { return };
            stream.room += u64::from(bytes);
            if stream.asked.body_bytes.is_some_and(|length| stream.room >= length) {
                stream.whole_room_ns.get_or_insert(self.now_ns);
            }
        }
        write_frame(&mut self.line.out, kind::WINDOW_UPDATE, 0, id, &bytes.to_be_bytes());
    }

    /// Begins a response, or ends the request without one.
    fn begin(&mut self, id: u32) {
        let Some(stream) = self.line.open.get_mut(&id) else { return };
        let reply = &stream.reply;
        let code = match reply.fate {
            Fate::Hangs => {
                self.log.did.hung += 1;
                stream.has_hung = true;
                return;
            }
            Fate::Refused => Some(ErrorCode::REFUSED_STREAM),
            Fate::Reset(code) => Some(code),
            Fate::CutShort(_) | Fate::Answered => None,
        };
        if let Some(code) = code {
            let did = &mut self.log.did;
            let count = if reply.fate == Fate::Refused { &mut did.refused } else { &mut did.reset };
            *count += 1;
            self.line.server.reset(id, code, &mut self.line.out);
            self.line.open.remove(&id);
            return;
        }
        stream.head_ns = Some(self.now_ns);
        let length = reply.has_length.then_some(reply.body_bytes);
        let is_bodyless = stream.asked.method == "HEAD";
        let ends = is_bodyless && reply.fate == Fate::Answered && reply.lasts_ns == 0;
        let block = usual_fields();
        self.line.server.send_head(id, ends, &mut self.line.out, |head| {
            head.status(reply.status);
            head.block(&block, |_, _| {});
            if let Some(length) = length {
                head.field("content-length", length.to_string().as_bytes()).expect("a field");
            }
            for (name, value) in &reply.fields {
                head.field(name, value.as_bytes()).expect("a field");
            }
        });
        match reply.lasts_ns {
            _ if ends => self.sent(id),
            0 => self.finish(id),
            lasts_ns => self.later(lasts_ns, Task::Finish(id)),
        }
    }

    /// Sends the rest of a response, or ends the request in place of that.
    fn finish(&mut self, id: u32) {
        let Some(stream) = self.line.open.get_mut(&id) else { return };
        let (reply, out) = (&stream.reply, &mut self.line.out);
        if let Fate::CutShort(code) = reply.fate {
            self.log.did.reset += 1;
            self.line.server.reset(id, code, out);
            self.line.open.remove(&id);
            return;
        }
        let is_bodyless = stream.asked.method == "HEAD";
        let bytes = if is_bodyless { 0 } else { reply.body_bytes };
        let mut body: Vec<u8> = b"hello".iter().cycle().take(bytes).copied().collect();
        if let Some(padding) = reply.padding.filter(|_| bytes > 2) {
            let mut payload = vec![padding];
            payload.extend(body.drain(..2));
            payload.resize(payload.len() + usize::from(padding), 0);
            write_frame(out, kind::DATA, kind::PADDED, id, &payload);
            self.log.padded += 1;
        }
        let ends = !reply.has_trailers;
        stream.is_finishing = true;
        self.line.server.send(id, Body::Bytes(&body), ends, out);
        if self.line.server.is_stalled(id) {
            self.log.downloads_held += 1;
        } else {
            self.sent(id);
        }
    }

    /// All but the trailers of a response has been sent.
    pub(crate) fn sent(&mut self, id: u32) {
        let Some(stream) = self.line.open.remove(&id) else { return };
        let (server, out) = (&mut self.line.server, &mut self.line.out);
        if stream.reply.has_trailers && stream.is_finishing {
            self.log.trailers += 1;
            server.send_trailers(id, out, |head| {
                head.field("x-checksum", b"1").expect("a sound field");
            });
        }
        if stream.reply.stops_upload {
            server.reset(id, ErrorCode::NO_ERROR, out);
        }
        self.log.did.answered += 1;
        self.log.did.answered_badly += u64::from(stream.reply.is_bad);
        self.log.early += u64::from(!stream.has_ended);
        let is_held = stream.asked.body_bytes.is_some_and(|bytes| {
            stream.asked.field("expect").is_none() && bytes > u64::from(self.hello.window_bytes)
        });
        if let Some(head_ns) = stream.head_ns.filter(|_| is_held) {
            let until_ns = stream.whole_room_ns.unwrap_or(head_ns).min(head_ns);
            self.log.did.held_ns.push(until_ns - stream.asked.at_ns);
        }
    }
}

/// The same in each response, so that the tables of both sides are used.
fn usual_fields() -> Block {
    let mut shared = SharedFields::default();
    let mut block = BlockBuilder::new(&mut shared);
    block.field("server", Value::Fixed(b"h2")).expect("a sound field");
    block.field("x-constant", Value::Fixed(b"yes")).expect("a sound field");
    block.finish()
}

fn write_frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// A goodbye without an error, which names the last stream.
fn write_goaway(out: &mut Vec<u8>, last: u32) {
    let payload = [last.to_be_bytes(), ErrorCode::NO_ERROR.0.to_be_bytes()].concat();
    write_frame(out, kind::GOAWAY, 0, 0, &payload);
}

fn write_settings(out: &mut Vec<u8>, settings: &[(u16, u32)]) {
    let mut payload = Vec::new();
    for (setting, value) in settings {
        payload.extend_from_slice(&setting.to_be_bytes());
        payload.extend_from_slice(&value.to_be_bytes());
    }
    write_frame(out, kind::SETTINGS, 0, 0, &payload);
}
