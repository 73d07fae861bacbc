//! Frames as a peer writes them, right or wrong, and as they are found in what was sent. Not the
//! code under test.

use crate::websocket::Role;

pub(super) const FIN: u8 = 0x80;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// What one side sends.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    role: Role,
    bytes: Vec<u8>,
}

impl Bytes {
    /// Nothing yet, of the side that `role` talks to.
    pub(super) fn to(role: Role) -> Self {
        Self { role, bytes: Vec::new() }
    }

    /// A frame with this first byte.
    pub(super) fn frame(mut self, first: u8, payload: &[u8]) -> Self {
        const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
        let masked = self.role == Role::Server;
        let mask = if masked { 0x80 } else { 0 };
        self.bytes.push(first);
        match payload.len() {
            short @ 0..=125 => self.bytes.push(short as u8 | mask),
            medium @ 126..=0xffff => {
                self.bytes.push(126 | mask);
                self.bytes.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                self.bytes.push(127 | mask);
                self.bytes.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        if masked {
            self.bytes.extend_from_slice(&KEY);
        }
        let keys = KEY.iter().cycle();
        let plain = payload.iter().zip(keys);
        self.bytes.extend(plain.map(|(byte, key)| if masked { byte ^ key } else { *byte }));
        self
    }

    pub(super) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// A whole text message.
    pub(super) fn text(self, payload: &[u8]) -> Self {
        self.frame(FIN | TEXT, payload)
    }

    pub(super) fn ping(self, payload: &[u8]) -> Self {
        self.frame(FIN | PING, payload)
    }

    pub(super) fn close(self, code: u16, reason: &[u8]) -> Self {
        let payload = [&code.to_be_bytes()[..], reason].concat();
        self.frame(FIN | CLOSE, &payload)
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
}

/// The frames in what `role` sent, a line each: `text Hello`, `close 1000`.
pub(super) fn frames_of(role: Role, mut sent: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    while !sent.is_empty() {
        let (first, second) = (sent[0], sent[1]);
        assert_eq!(second & 0x80 != 0, role == Role::Client, "only a client masks");
        assert_eq!(first & 0x70, 0, "no reserved bit");
        let (head, length) = match second & 0x7f {
            126 => (4, u64::from(u16::from_be_bytes([sent[2], sent[3]]))),
            127 => (10, u64::from_be_bytes(sent[2..10].try_into().expect("8 bytes"))),
            short => (2, u64::from(short)),
        };
        assert!(head < 4 || length > 125 && (head < 10 || length > 0xffff), "the shortest form");
        sent = &sent[head..];
        let mut key = [0; 4];
        if role == Role::Client {
            key.copy_from_slice(&sent[..4]);
            sent = &sent[4..];
        }
        let (payload, rest) = sent.split_at(length as usize);
        sent = rest;
        let payload: Vec<u8> = payload.iter().zip(key.iter().cycle()).map(|(a, b)| a ^ b).collect();
        lines.push(line(first, &payload));
    }
    lines
}

fn line(first: u8, payload: &[u8]) -> String {
    let shown = payload.escape_ascii();
    match first {
        0x81 => format!("text {shown}"),
        0x82 => format!("binary {shown}"),
        0x89 => format!("ping {shown}"),
        0x8a => format!("pong {shown}"),
        0x88 if payload.is_empty() => "close".to_owned(),
        0x88 => format!("close {}", u16::from_be_bytes([payload[0], payload[1]])),
        _ => format!("{first:#x} {shown}"),
    }
}
