//! Exchanges and broken ones, as they are and with bytes changed by a seed, through the fuzz
//! bodies: whole, in pieces, and every prefix.

use super::super::frame::{flag, kind};
use super::super::fuzz::{fuzz_client, fuzz_server, trace_client, trace_server};
use super::super::{ErrorCode, Limits};
use super::Bytes;
use super::frames::{GET, POST, block, encoded};

/// What servers send.
fn of_servers() -> Vec<Bytes> {
    let server = Bytes::of_server;
    let indexed = encoded(|head| {
        head.status(200);
        for (name, value) in [("server", "x"), ("date", "Mon, 21 Oct 2013 20:13:21 GMT")] {
            head.field(name, value.as_bytes()).expect("a valid field");
        }
    });
    let inserting = b"\x88\x40\x03x-a\x82\x1c\x64\xbe\x7e\x01c";
    vec![
        Bytes::default(),
        Bytes::default().raw(b"HTTP/1.1 200 OK\r\n\r\n"),
        server().ok(1).data(1, false, b"hello").data(1, true, b"").headers(
            3,
            true,
            &[(":status", "200")],
        ),
        server()
            .frame(kind::HEADERS, 4, 1, &indexed)
            .frame(kind::HEADERS, 4, 3, inserting)
            .frame(kind::HEADERS, 4, 5, b"\x20\x88\x3f\xe1\x1f\x40\x01a\x01b\xbe")
            .data(5, true, b"x"),
        server()
            .headers(1, false, &[(":status", "103")])
            .frame(kind::HEADERS, 1, 1, &indexed[..3])
            .frame(kind::CONTINUATION, 0, 1, b"")
            .frame(kind::CONTINUATION, 4, 1, &indexed[3..]),
        server()
            .ok(5)
            .frame(kind::DATA, flag::PADDED, 5, b"\x03abc\0\0\0")
            .frame(kind::PING, 0, 0, b"12345678")
            .headers(5, true, &[("trailer", "x")])
            .rst(5, ErrorCode::NO_ERROR),
        server().window(5, 1000).window(0, 9000).settings(&[(4, 70_000), (5, 20_000), (1, 0)]),
        server().settings(&[(3, 0)]).settings(&[(4, 1)]).window(5, 65_600).settings(&[(3, 10)]),
        server().goaway(0x7fff_ffff, ErrorCode::NO_ERROR).goaway(1, ErrorCode::NO_ERROR).ok(1),
        server().rst(1, ErrorCode::REFUSED_STREAM).rst(3, ErrorCode::CANCEL).window(1, 5),
        server()
            .frame(kind::PRIORITY, 0, 9, &[0; 5])
            .frame(0x10, 0, 0, b"u=1")
            .frame(99, 7, 2, b""),
        server().frame(kind::PUSH_PROMISE, 4, 1, b"\0\0\0\x02\x88"),
    ]
}

/// What clients send.
fn of_clients() -> Vec<Bytes> {
    let client = Bytes::of_client;
    let indexed = b"\x82\x86\x84\x41\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff";
    let again = b"\x82\x86\x84\xbe\x58\x86\xa8\xeb\x10\x64\x9c\xbf";
    let length = [&POST[..], &[("content-length", "5")]].concat();
    let priority = [&b"\x02\0\0\0\0\x10"[..], &block(&GET), b"\0\0"].concat();
    vec![
        Bytes::default(),
        Bytes::default().raw(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        client().get(1).get(3).window(0, 200_000).window(1, 100_000).settings(&[(4, 100_000)]),
        client().frame(kind::HEADERS, 5, 1, indexed).frame(kind::HEADERS, 5, 3, again).frame(
            kind::PING,
            0,
            0,
            b"abcdefgh",
        ),
        client().headers(1, false, &length).data(1, false, b"he").data(1, true, b"llo"),
        client()
            .post(1)
            .frame(kind::DATA, flag::PADDED, 1, b"\x01x\0")
            .headers(1, true, &[("t", "1")])
            .frame(kind::HEADERS, 0x2d, 3, &priority),
        client().post(1).rst(1, ErrorCode::CANCEL).post(3).rst(3, ErrorCode::CANCEL).post(5),
        client().post(1).post(3).post(5).data(5, true, b"late").get(7),
        client()
            .frame(kind::HEADERS, 0, 1, &indexed[..4])
            .frame(kind::CONTINUATION, 4, 1, &indexed[4..])
            .data(1, true, b"body"),
        client().goaway(0, ErrorCode::NO_ERROR).frame(0xfa, 0, 0, b"grease"),
        client().settings(&[(1, 0), (4, 0), (5, 30_000), (6, 100), (0xaaaa, 1)]).get(1),
        client()
            .post(1)
            .window(1, 0)
            .post(3)
            .frame(kind::PRIORITY, 0, 3, &[0; 4])
            .post(5)
            .data(5, true, b""),
    ]
}

#[test]
fn as_they_are() {
    for bytes in of_servers() {
        fuzz_client(&bytes.0);
    }
    for bytes in of_clients() {
        fuzz_server(&bytes.0);
    }
}

/// A prefix gives the first of the events, and then says that it was cut, or nothing.
#[test]
fn every_prefix() {
    let check = |whole: &[String], prefix: &[String]| {
        let (last, events) = prefix.split_last().expect("a trace ends in what the close gave");
        let is_end = last.starts_with("closed") || last == "error truncated_frame";
        assert!(is_end || whole.last() == Some(last), "{last:?}");
        for (line, full) in events.iter().zip(whole) {
            let is_part = line.starts_with("body ") && full.starts_with(line.as_str());
            assert!(line == full || is_part, "{line:?} instead of {full:?}");
        }
        assert!(events.len() <= whole.len());
    };
    for Bytes(data) in of_servers() {
        let whole = trace_client(Limits::default(), &data, &[]);
        for length in 0..data.len() {
            check(&whole.lines, &trace_client(Limits::default(), &data[..length], &[]).lines);
        }
    }
    for Bytes(data) in of_clients() {
        let whole = trace_server(Limits::default(), &data, &[]);
        for length in 0..data.len() {
            check(&whole.lines, &trace_server(Limits::default(), &data[..length], &[]).lines);
        }
    }
}

/// A generator of pseudo-random numbers (SplitMix64), so that a seed decides what is changed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    /// Changes, removes, adds or repeats a few bytes.
    fn change(&mut self, data: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(data.len().max(1));
            match self.below(5) {
                0 if !data.is_empty() => data[at] = self.below(256) as u8,
                1 if !data.is_empty() => data[at] ^= 1 << self.below(8),
                2 if !data.is_empty() => drop(data.remove(at)),
                3 => data.insert(at, self.below(256) as u8),
                _ => {
                    let end = data.len().min(at + self.below(60));
                    let again: Vec<u8> = data[at.min(end)..end].to_vec();
                    data.extend_from_slice(&again);
                }
            }
        }
    }
}

#[test]
fn changed_by_a_seed() {
    const ROUNDS: u64 = 15;
    for seed in 0..ROUNDS {
        for (nth, bytes) in of_servers().into_iter().enumerate() {
            let mut data = bytes.0;
            Random(seed << 32 | nth as u64).change(&mut data);
            let shown = data.escape_ascii().to_string();
            let result = std::panic::catch_unwind(|| fuzz_client(&data));
            assert!(result.is_ok(), "seed {seed}, exchange {nth}: {shown}");
        }
        for (nth, bytes) in of_clients().into_iter().enumerate() {
            let mut data = bytes.0;
            Random(seed << 32 | 1 << 16 | nth as u64).change(&mut data);
            let shown = data.escape_ascii().to_string();
            let result = std::panic::catch_unwind(|| fuzz_server(&data));
            assert!(result.is_ok(), "seed {seed}, exchange {nth}: {shown}");
        }
    }
}

/// Bytes without any meaning, behind a greeting so that they are read as frames.
#[test]
fn random_bytes() {
    for seed in 0..20 {
        let mut random = Random(seed);
        let noise: Vec<u8> = (0..400).map(|_| random.below(256) as u8).collect();
        // Frames whose heads are likely: short, of known types, on low streams.
        let mut frames = Vec::new();
        for _ in 0..30 {
            let length = random.below(12);
            let head = [0, 0, length as u8, random.below(11) as u8, random.below(64) as u8];
            frames.extend_from_slice(&head);
            frames.extend_from_slice(&[0, 0, 0, random.below(7) as u8]);
            frames.extend((0..length).map(|_| random.below(256) as u8));
        }
        for tail in [noise, frames] {
            fuzz_client(&Bytes::of_server().raw(&tail).0);
            fuzz_server(&Bytes::of_client().raw(&tail).0);
            fuzz_client(&tail);
        }
    }
}
