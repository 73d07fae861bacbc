//! Every mode of HTTP/2, seen by a plain blocking client that writes its own frames.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use super::{Running, start};
use crate::oracle::{Act, Connection, End, Entry, Http2Mode, Log, Mode, Side, StreamReset, code};

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

/// A frame as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) kind: u8,
    flags: u8,
    stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    pub(super) fn is_end(&self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.flags & 1 != 0
    }

    /// The last number of its payload: a code, or an increment.
    pub(super) fn number(&self) -> u32 {
        u32::from_be_bytes(*self.payload.last_chunk().unwrap())
    }
}

pub(super) struct Client(TcpStream);

impl Client {
    /// One that has said the preface and these settings.
    pub(super) fn new(oracle: &Running, settings: &[u8]) -> Self {
        let mut client = Self(oracle.connect());
        client.0.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        client.0.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        client.send(SETTINGS, 0, 0, settings);
        client
    }

    pub(super) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        self.0.write_all(&frame(kind, flags, stream, payload)).unwrap();
    }

    fn get(&mut self, stream: u32) {
        self.0.write_all(&get(stream)).unwrap();
    }

    /// GET / on several streams, in one write: all of them are open before one is answered.
    fn get_all(&mut self, streams: &[u32]) {
        let frames: Vec<u8> = streams.iter().flat_map(|stream| get(*stream)).collect();
        self.0.write_all(&frames).unwrap();
    }

    /// POST / on a stream, whose body is to follow.
    fn post(&mut self, stream: u32) {
        self.send(HEADERS, 4, stream, &[0x83, 0x84, 0x86]);
    }

    fn frame(&mut self) -> Frame {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).unwrap();
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.0.read_exact(&mut payload).unwrap();
        Frame { kind, flags, stream: u32::from_be_bytes(stream), payload }
    }

    /// The next frame that this holds for.
    pub(super) fn next(&mut self, is_it: impl Fn(&Frame) -> bool) -> Frame {
        loop {
            let frame = self.frame();
            if is_it(&frame) {
                return frame;
            }
        }
    }

    /// The end of a stream: `None` for a good one, or the code of its reset.
    pub(super) fn end_of(&mut self, stream: u32) -> Option<u32> {
        let is_end = |frame: &Frame| frame.is_end() || frame.kind == RST_STREAM;
        let frame = self.next(|frame| frame.stream == stream && is_end(frame));
        (frame.kind == RST_STREAM).then(|| frame.number())
    }

    /// Ends, and waits for the oracle to see it.
    pub(super) fn leave(mut self, oracle: Running) -> Log {
        self.0.shutdown(Shutdown::Write).unwrap();
        // What is left to be read does not matter here.
        let _ = self.0.read_to_end(&mut Vec::new());
        oracle.stop()
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// GET / on a stream, in three bytes of headers.
fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, 5, stream, &[0x82, 0x84, 0x86])
}

fn with(http2: Http2Mode) -> Mode {
    Mode { http2, ..Mode::default() }
}

fn reset_of(entry: &Entry) -> Option<(Side, u32)> {
    entry.reset.map(|StreamReset { by, code, .. }| (by, code))
}

#[test]
fn streams_are_answered_and_logged() {
    let oracle = start(Mode::delay_ns(20_000_000));
    let mut client = Client::new(&oracle, &[]);
    client.get_all(&[1, 3, 5]);
    let settings = client.frame();
    assert_eq!((settings.kind, settings.flags), (SETTINGS, 0), "it comes first");
    let head = client.next(|frame| frame.kind == HEADERS);
    assert_eq!(head.payload, b"\x88\x0f\x0d\x0213");
    let body = client.frame();
    assert_eq!((body.stream, body.payload.as_slice(), body.is_end()), (1, &[b'x'; 13][..], true));
    client.end_of(5);
    client.send(PING, 0, 0, b"12345678");
    let pong = client.next(|frame| frame.kind == PING);
    assert_eq!((pong.flags, pong.payload.as_slice()), (1, &b"12345678"[..]));
    let log = client.leave(oracle);
    assert_eq!((log.entries.len(), log.answered()), (3, 3));
    assert_eq!(log.entries.iter().map(|entry| entry.open).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(log.service_s().iter().all(|time_s| *time_s >= 0.02), "{:?}", log.service_s());
    let entry = log.entries[1];
    assert_eq!((entry.stream, entry.status, entry.reset), (3, 200, None));
    assert_eq!((entry.bytes_in, entry.header_bytes_in), (9 + 3, 3));
    assert_eq!((entry.bytes_out, entry.header_bytes_out), (9 + 6 + 9 + 13, 6));
    let Connection { is_http2, open_max, broke, requests, end, bytes_in, .. } = log.connections[0];
    assert_eq!((is_http2, open_max, broke, requests), (true, 3, 0, 3));
    assert_eq!((end, bytes_in), (End::Tester, 24 + 9 + 3 * 12 + 17));
}

#[test]
fn http1_goes_on_on_the_same_port() {
    let oracle = start(Mode::default());
    let mut stream = oracle.connect();
    assert!(super::get(&mut stream, "/", 12).starts_with("HTTP/1.1 200"));
    drop(stream);
    let log = Client::new(&oracle, &[]).leave(oracle);
    assert_eq!(log.connections.iter().map(|c| c.is_http2).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_server_without_http2_says_so() {
    let oracle = start(with(Http2Mode { is_refused: true, ..Http2Mode::default() }));
    let mut stream = oracle.connect();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert_eq!(oracle.stop().entries, []);
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let mode = Mode::delay_ns(5_000_000);
    let http2 = Http2Mode { streams_max: 2, ..Http2Mode::default() };
    let oracle = start(Mode { http2, ..mode });
    let mut client = Client::new(&oracle, &[]);
    client.get_all(&[1, 3, 5]);
    let settings = client.frame();
    assert_eq!(settings.payload[..6], [0, 3, 0, 0, 0, 2]);
    assert_eq!(client.end_of(5), Some(code::REFUSED_STREAM));
    assert_eq!(client.end_of(3), None);
    let log = client.leave(oracle);
    assert_eq!(log.answered(), 2);
    assert_eq!(reset_of(&log.entries[2]), Some((Side::Oracle, code::REFUSED_STREAM)));
    assert_eq!((log.entries[2].open, log.connections[0].open_max), (3, 2));
}

#[test]
fn late_settings_hold_everything_back() {
    let delay_ns = 100_000_000;
    let oracle = start(with(Http2Mode { settings_delay_ns: delay_ns, ..Http2Mode::default() }));
    let mut client = Client::new(&oracle, &[]);
    client.get(1);
    assert_eq!(client.frame().kind, SETTINGS);
    assert_eq!(client.end_of(1), None);
    let log = client.leave(oracle);
    let (entry, connection) = (log.entries[0], log.connections[0]);
    assert!(entry.received_ns < connection.accepted_ns + delay_ns, "read meanwhile");
    assert!(entry.sent_ns >= connection.accepted_ns + delay_ns, "answered after it");
}

#[test]
fn a_graceful_goodbye_has_two_steps_and_answers_all() {
    let http2 = Http2Mode { goaway_every: 2, ..Http2Mode::default() };
    let oracle = start(Mode { http2, ..Mode::delay_ns(20_000_000) });
    let mut client = Client::new(&oracle, &[]);
    client.get_all(&[1, 3]);
    let first = client.next(|frame| frame.kind == GOAWAY);
    assert_eq!(first.payload, [0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    let ping = client.next(|frame| frame.kind == PING);
    // One that was under way when it was said goodbye to, and one that should know better: at once,
    // so that the first has not been answered when the second comes.
    client.0.write_all(&[get(5), frame(PING, 1, 0, &ping.payload), get(7)].concat()).unwrap();
    let second = client.next(|frame| frame.kind == GOAWAY);
    assert_eq!(second.payload, [0, 0, 0, 5, 0, 0, 0, 0]);
    assert_eq!(client.end_of(5), None);
    let log = client.leave(oracle);
    assert_eq!((log.entries.len(), log.answered()), (4, 3));
    assert_eq!(reset_of(&log.entries[3]), Some((Side::Oracle, code::REFUSED_STREAM)));
}

#[test]
fn a_goodbye_refuses_the_newest_streams() {
    let http2 = Http2Mode { goaway_every: 4, goaway_above: 2, ..Http2Mode::default() };
    let oracle = start(Mode { http2, ..Mode::delay_ns(5_000_000) });
    let mut client = Client::new(&oracle, &[]);
    client.get_all(&[1, 3, 5, 7]);
    let goodbye = client.next(|frame| frame.kind == GOAWAY);
    assert_eq!(goodbye.payload, [0, 0, 0, 3, 0, 0, 0, 0]);
    assert_eq!(client.end_of(3), None);
    let log = client.leave(oracle);
    let refused = Some((Side::Oracle, code::REFUSED_STREAM));
    let resets: Vec<_> = log.entries.iter().map(reset_of).collect();
    assert_eq!(resets, [None, None, refused, refused]);
}

#[test]
fn a_connection_that_is_not_left_is_closed() {
    let oracle =
        start(with(Http2Mode { goaway_every: 1, goaway_above: 1, ..Http2Mode::default() }));
    let mut client = Client::new(&oracle, &[]);
    client.get(1);
    client.0.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(oracle.stop().connections[0].end, End::Oracle);
}

#[test]
fn a_mix_resets_hangs_and_says_in_trailers() {
    let answers = [Act::ResetStream(code::CANCEL), Act::Trailers(14), Act::Hang];
    for act in answers {
        let oracle = start(Mode::mixed(&[(1, 0, act)]));
        let mut client = Client::new(&oracle, &[]);
        client.get(1);
        let want = match act {
            Act::ResetStream(code) => {
                assert_eq!(client.end_of(1), Some(code));
                Some((Side::Oracle, code))
            }
            Act::Trailers(_) => {
                let trailers = client.next(Frame::is_end);
                assert_eq!(trailers.payload, b"\x00\x0bgrpc-status\x0214");
                None
            }
            _ => {
                client.send(RST_STREAM, 0, 1, &code::CANCEL.to_be_bytes());
                Some((Side::Tester, code::CANCEL))
            }
        };
        let log = client.leave(oracle);
        assert_eq!(reset_of(&log.entries[0]), want, "{act:?}");
        assert_eq!(log.answered(), u64::from(want.is_none()), "{act:?}");
    }
}

#[test]
fn an_early_answer_declines_the_rest() {
    let oracle = start(Mode::mixed(&[(1, 0, Act::Early)]));
    let mut client = Client::new(&oracle, &[]);
    client.post(1);
    assert_eq!(client.end_of(1), None);
    let reset = client.frame();
    assert_eq!((reset.kind, reset.number()), (RST_STREAM, code::NO_ERROR));
    // Still under way, and not a word about it.
    client.send(DATA, 1, 1, &[1; 100]);
    let log = client.leave(oracle);
    assert_eq!((log.answered(), log.connections[0].broke), (1, 0));
    assert_eq!(reset_of(&log.entries[0]), Some((Side::Oracle, code::NO_ERROR)));
}

#[test]
fn a_window_that_is_used_up_opens_later() {
    let pause_ns = 20_000_000;
    let http2 =
        Http2Mode { window_bytes: 65_536, window_update_ns: pause_ns, ..Http2Mode::default() };
    let oracle = start(with(http2));
    let mut client = Client::new(&oracle, &[]);
    client.post(1);
    for _ in 0..2 {
        for _ in 0..4 {
            client.send(DATA, 0, 1, &[1; 16_384]);
        }
        let update = client.next(|frame| frame.kind == WINDOW_UPDATE && frame.stream == 1);
        assert_eq!(update.number(), 65_536);
    }
    client.send(DATA, 1, 1, &[]);
    assert_eq!(client.end_of(1), None);
    let log = client.leave(oracle);
    let entry = log.entries[0];
    assert!(entry.received_ns >= entry.opened_ns + 2 * pause_ns, "{entry:?}");
    assert_eq!(entry.bytes_in as usize, 9 + 3 + 8 * (9 + 16_384) + 9);
}

#[test]
fn more_than_the_window_breaks_the_protocol() {
    let oracle = start(with(Http2Mode { window_update_ns: 1_000_000, ..Http2Mode::default() }));
    let mut client = Client::new(&oracle, &[]);
    client.post(1);
    for _ in 0..4 {
        client.send(DATA, 0, 1, &[1; 16_384]);
    }
    let goodbye = client.next(|frame| frame.kind == GOAWAY);
    assert_eq!(goodbye.number(), code::FLOW_CONTROL);
    assert_eq!(client.leave(oracle).connections[0].broke, code::FLOW_CONTROL);
}

#[test]
fn what_is_no_http2_is_said_to_be_none() {
    for (kind, stream, payload, want) in [
        (HEADERS, 2, &b"\x82\x84\x86"[..], code::PROTOCOL),
        (HEADERS, 1, b"\xff\xff", code::COMPRESSION),
        (9, 1, b"", code::PROTOCOL),
        (PING, 0, b"123", code::FRAME_SIZE),
    ] {
        let oracle = start(Mode::default());
        let mut client = Client::new(&oracle, &[]);
        client.send(kind, 4, stream, payload);
        let goodbye = client.next(|frame| frame.kind == GOAWAY);
        assert_eq!(goodbye.number(), want, "{kind}");
        assert_eq!(client.leave(oracle).connections[0].broke, want, "{kind}");
    }
}

/// The tester's window holds a body back; its updates are heard late.
#[test]
fn bodies_wait_for_the_testers_window() {
    let heard_ns = 20_000_000;
    let http2 = Http2Mode { updates_heard_ns: heard_ns, ..Http2Mode::default() };
    let oracle = start(Mode { body_bytes: 25, http2, ..Mode::default() });
    // SETTINGS_INITIAL_WINDOW_SIZE is 10.
    let mut client = Client::new(&oracle, &[0, 4, 0, 0, 0, 10]);
    client.get(1);
    for (more, want, is_end) in [(10_u32, 10, false), (5, 10, false), (0, 5, true)] {
        let body = client.next(|frame| frame.kind == DATA);
        assert_eq!((body.payload.len(), body.is_end()), (want, is_end));
        if more > 0 {
            client.send(WINDOW_UPDATE, 0, 1, &more.to_be_bytes());
        }
    }
    let log = client.leave(oracle);
    assert!(log.service_s()[0] >= 2.0 * heard_ns as f64 / 1e9, "{:?}", log.service_s());
}
