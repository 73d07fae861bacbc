//! Every mode of WebSockets, seen by a blocking client that writes its own frames.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{Running, start};
use crate::oracle::{Act, End, Log, Mode, SocketEntry, SocketMode};

const HELLO: &[u8] = b"\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e";

struct Client(TcpStream);

impl Client {
    /// One whose handshake was answered.
    fn new(oracle: &Running) -> Self {
        let mut stream = oracle.connect();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        let head = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{answer}");
        Self(stream)
    }

    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    /// The next frame: its first byte, and its payload, which is short.
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        assert!(head[1] < 126, "neither masked nor long");
        let mut payload = vec![0; usize::from(head[1])];
        self.0.read_exact(&mut payload).unwrap();
        (head[0], payload)
    }

    /// Ends when the oracle does.
    fn leave(mut self, oracle: Running) -> Log {
        self.0.shutdown(std::net::Shutdown::Write).unwrap();
        // What is left to be read does not matter here.
        let _ = self.0.read_to_end(&mut Vec::new());
        oracle.stop()
    }
}

/// A frame of a client, masked with zeros, which change nothing.
fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0], payload].concat()
}

fn with(socket: SocketMode, delay_ns: u64) -> Mode {
    Mode { socket, ..Mode::delay_ns(delay_ns) }
}

fn logged(log: &Log) -> SocketEntry {
    log.connections[0].socket.expect("a WebSocket")
}

#[test]
fn messages_are_replied_to_and_logged() {
    let oracle = start(Mode::delay_ns(2_000_000));
    let mut client = Client::new(&oracle);
    for _ in 0..3 {
        client.send(HELLO);
        assert_eq!(client.frame(), (0x81, b"re: hello".to_vec()));
    }
    client.send(&masked(0x02, b"a"));
    client.send(&masked(0x89, b"?"));
    client.send(&masked(0x80, b"b"));
    assert_eq!(client.frame(), (0x8a, b"?".to_vec()), "a pong between fragments");
    assert_eq!(client.frame(), (0x82, b"re: ab".to_vec()));
    let log = client.leave(oracle);
    assert_eq!((log.entries.len(), log.answered(), log.connections.len()), (4, 4, 1));
    assert!(log.service_s().iter().all(|time_s| *time_s >= 0.002), "{:?}", log.service_s());
    let (entry, connection) = (log.entries[0], log.connections[0]);
    assert_eq!((entry.bytes_in, entry.bytes_out, entry.open), (11, 11, 1));
    assert_eq!((connection.requests, connection.end, connection.broke), (4, End::Tester, 0));
    assert_eq!(logged(&log), SocketEntry::default());
}

/// However the bytes of two messages and a ping are cut, they are the same.
#[test]
fn frames_may_be_cut_anywhere() {
    let bytes = [HELLO, &masked(0x89, b"?"), &masked(0x01, b"a"), &masked(0x80, b"b")].concat();
    let oracle = start(Mode::default());
    for cut in 0..=bytes.len() {
        let mut client = Client::new(&oracle);
        client.0.set_nodelay(true).unwrap();
        client.send(&bytes[..cut]);
        client.send(&bytes[cut..]);
        let frames = [client.frame(), client.frame(), client.frame()].map(|(_, payload)| payload);
        assert_eq!(frames, [&b"re: hello"[..], b"?", b"re: ab"], "{cut}");
    }
    let log = oracle.stop();
    assert_eq!(log.answered() as usize, 2 * (bytes.len() + 1));
}

#[test]
fn unmasked_frames_are_counted() {
    let oracle = start(Mode::default());
    let mut client = Client::new(&oracle);
    client.send(b"\x81\x01a");
    client.send(HELLO);
    assert_eq!([client.frame().1, client.frame().1], [&b"re: a"[..], b"re: hello"]);
    assert_eq!(logged(&client.leave(oracle)).unmasked, 1);
}

#[test]
fn something_is_pushed_before_each_reply_and_beside() {
    let push = SocketMode { push_after_ns: 1_000_000, ..SocketMode::default() };
    let oracle = start(with(push, 30_000_000));
    let mut client = Client::new(&oracle);
    for _ in 0..2 {
        client.send(HELLO);
        assert_eq!([client.frame().1, client.frame().1], [&b"news"[..], b"re: hello"]);
    }
    assert_eq!(logged(&client.leave(oracle)).pushed, 2);
    let on = SocketMode { push_every_ns: 1_000_000, ..SocketMode::default() };
    let oracle = start(with(on, 0));
    let mut client = Client::new(&oracle);
    client.send(HELLO);
    let frames = [client.frame().1, client.frame().1, client.frame().1];
    assert_eq!(frames, [&b"re: hello"[..], b"news", b"news"], "from the first message on");
    assert!(logged(&client.leave(oracle)).pushed >= 2);
}

#[test]
fn a_reply_in_fragments_has_a_ping_between() {
    let over_ns = 20_000_000;
    let socket =
        SocketMode { fragments: 3, fragments_ns: over_ns, pings: true, ..SocketMode::default() };
    let oracle = start(with(socket, 0));
    let mut client = Client::new(&oracle);
    for number in 1..=2 {
        client.send(HELLO);
        let ping = format!("ping {number}").into_bytes();
        assert_eq!(client.frame(), (0x01, b"re:".to_vec()));
        assert_eq!(client.frame(), (0x89, ping.clone()));
        client.send(&masked(0x8a, &ping));
        assert_eq!(
            [client.frame(), client.frame()],
            [(0, b" he".to_vec()), (0x80, b"llo".to_vec())]
        );
    }
    client.send(&masked(0x8a, b"nobody asked"));
    let log = client.leave(oracle);
    let SocketEntry { pings, pongs, .. } = logged(&log);
    assert_eq!((pings, pongs), (2, 2));
    let over_s = over_ns as f64 / 1e9;
    assert!(log.service_s().iter().all(|time_s| *time_s >= over_s), "{:?}", log.service_s());
}

/// Replies that would come in fragments at the same time come one after the other.
#[test]
fn fragments_do_not_mix() {
    let socket = SocketMode { fragments: 2, fragments_ns: 5_000_000, ..SocketMode::default() };
    let oracle = start(with(socket, 0));
    let mut client = Client::new(&oracle);
    client.send(&[masked(0x81, b"abcd"), masked(0x81, b"efgh")].concat());
    let frames = [client.frame(), client.frame(), client.frame(), client.frame()];
    let want = [(0x01, "re: "), (0x80, "abcd"), (0x01, "re: "), (0x80, "efgh")];
    assert_eq!(frames, want.map(|(first, text)| (first, text.as_bytes().to_vec())));
    let log = client.leave(oracle);
    assert_eq!((log.answered(), log.connections[0].open_max), (2, 2));
}

#[test]
fn a_close_leaves_messages_open() {
    let socket = SocketMode { close_at: 3, ..SocketMode::default() };
    let oracle = start(with(socket, 50_000_000));
    let mut client = Client::new(&oracle);
    client.send(&HELLO.repeat(3));
    assert_eq!(client.frame(), (0x88, 1001_u16.to_be_bytes().to_vec()));
    // One that was under way, and the answer to the Close.
    client.send(&[HELLO, &masked(0x88, &1001_u16.to_be_bytes())].concat());
    client.0.read_to_end(&mut Vec::new()).unwrap();
    let log = oracle.stop();
    assert_eq!((log.entries.len(), log.answered()), (4, 0));
    assert_eq!(log.connections[0].end, End::Oracle);
    assert!(logged(&log).is_close_answered);
}

#[test]
fn a_tester_may_close_and_need_not_answer() {
    let oracle = start(Mode::default());
    let mut client = Client::new(&oracle);
    client.send(&masked(0x88, &1000_u16.to_be_bytes()));
    assert_eq!(client.frame(), (0x88, 1000_u16.to_be_bytes().to_vec()));
    client.0.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(oracle.stop().connections[0].end, End::Oracle);
    let oracle = start(with(SocketMode { close_at: 1, ..SocketMode::default() }, 0));
    let mut client = Client::new(&oracle);
    client.send(HELLO);
    assert_eq!(client.frame().0, 0x88);
    client.0.read_to_end(&mut Vec::new()).unwrap();
    let log = oracle.stop();
    assert!(!logged(&log).is_close_answered);
    assert_eq!(log.connections[0].end, End::Oracle);
}

#[test]
fn a_mix_hangs_and_resets() {
    let oracle = start(Mode::mixed(&[(1, 0, Act::Reset)]));
    let mut client = Client::new(&oracle);
    client.send(HELLO);
    assert!(client.0.read_exact(&mut [0]).is_err());
    let log = oracle.stop();
    assert_eq!((log.answered(), log.connections[0].end), (0, End::Oracle));
    let oracle = start(Mode::mixed(&[(1, 0, Act::Hang)]));
    let mut client = Client::new(&oracle);
    client.send(&[HELLO, &masked(0x89, b"?")].concat());
    assert_eq!(client.frame(), (0x8a, b"?".to_vec()));
    assert_eq!(client.leave(oracle).answered(), 0);
}

#[test]
fn what_is_no_websocket_is_said_to_be_none() {
    for (bytes, want) in [
        (&b"\x83\x80"[..], 1002),
        (b"\x80\x80\x01\x02\x03\x04", 1002),
        (b"\x01\x80\x01\x02\x03\x04\x81\x80\x01\x02\x03\x04", 1002),
        (b"\x81\xff\0\0\0\0\0\x01\0\x01", 1009),
    ] {
        let oracle = start(Mode::default());
        let mut client = Client::new(&oracle);
        client.send(bytes);
        assert_eq!(client.frame(), (0x88, (want as u16).to_be_bytes().to_vec()));
        assert_eq!(client.leave(oracle).connections[0].broke, want, "{bytes:?}");
    }
}
