//! A client that speaks HTTP/2 and writes all it has to say before the world begins: the script
//! sends that, and the client reads afterwards what it was sent.

use plimsoll_proto::http2::{Body, Client, ClientOptions, Event, Outgoing};

/// A server's SETTINGS without any, so that requests can be written before the real ones come.
const GREETING: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// A request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) fields: &'a [(&'a str, &'a str)],
    pub(crate) body: &'a [u8],
}

impl<'a> Ask<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, fields: &[], body: b"" }
    }

    pub(crate) fn post(path: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", path, fields: &[], body }
    }
}

pub(crate) struct Peer {
    client: Client,
    requests: u32,
    /// What it has to say and has not handed out.
    out: Vec<u8>,
}

impl Peer {
    /// A client with these windows; its greeting is written.
    pub(crate) fn new(window_bytes: u32) -> Self {
        let mut options = ClientOptions::default();
        options.receiving.window_bytes = window_bytes;
        let mut client = Client::new(ClientOptions { streams: 1000, ..options });
        let mut out = Vec::new();
        client.begin(&mut out);
        client.receive(&GREETING, &mut Vec::new()).expect("settings");
        Self { client, requests: 0, out }
    }

    /// Writes a request; `ends`: it is whole. They are numbered from 0.
    pub(crate) fn ask(&mut self, ask: Ask<'_>, ends: bool) -> u32 {
        let number = self.requests;
        self.requests += 1;
        let is_head = ask.method == "HEAD";
        let outgoing = Outgoing { is_head, body: Body::Bytes(ask.body), ends };
        self.client.start(number, &outgoing, &mut self.out, |head| {
            for (name, value) in [
                (":method", ask.method),
                (":scheme", "http"),
                (":authority", "a"),
                (":path", ask.path),
            ] {
                head.field(name, value.as_bytes()).expect("a field");
            }
            for (name, value) in ask.fields {
                head.field(name, value.as_bytes()).expect("a field");
            }
        });
        number
    }

    /// Writes more of a request's body.
    pub(crate) fn send(&mut self, number: u32, body: &[u8], ends: bool) {
        self.client.send(number, Body::Bytes(body), ends, &mut self.out);
    }

    /// Writes bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Hands out what was written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// What it was sent, a line for each event; bodies are joined, and those above 40 bytes are
    /// given by their length.
    pub(crate) fn read(mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut bodies = vec![Vec::new(); self.requests as usize];
        let mut at = 0;
        loop {
            let decoded = match self.client.receive(&bytes[at..], &mut Vec::new()) {
                Ok(decoded) => decoded,
                Err(error) => {
                    lines.push(format!("error {}", error.kind()));
                    return lines;
                }
            };
            at += decoded.consumed;
            let Some(event) = decoded.event else { return lines };
            match event {
                Event::Interim(number, head) => lines.push(format!("{number} {}", head.status)),
                Event::Head(number, head) => {
                    let fields = head.headers().map(field).collect::<String>();
                    lines.push(format!("{number} {}{fields}", head.status));
                }
                Event::Body(number, piece) => bodies[number as usize].extend_from_slice(piece),
                Event::Trailers(number, fields) => {
                    lines.push(format!(
                        "{number} trailers{}",
                        fields.map(field).collect::<String>()
                    ));
                }
                Event::Complete(number, _) => {
                    lines.push(format!("{number} end {}", text(&bodies[number as usize])));
                }
                Event::Refused(number) => lines.push(format!("{number} refused")),
                Event::Reset(number, code) => lines.push(format!("{number} reset {code}")),
                Event::Broken(number, error) => lines.push(format!("{number} {}", error.kind())),
                Event::Draining(code) => lines.push(format!("goaway {code}")),
                Event::Greeted | Event::Room | Event::Resumed(_) | Event::FirstByte(_) => {}
            }
        }
    }
}

fn field((name, value): (&str, &[u8])) -> String {
    format!(" {name}={}", String::from_utf8_lossy(value))
}

fn text(body: &[u8]) -> String {
    match body.len() {
        bytes @ 41.. => format!("{bytes} bytes"),
        _ => format!("{:?}", String::from_utf8_lossy(body)),
    }
}

/// The heads of the frames in `bytes`: type, flags, stream and length.
pub(crate) fn frames(bytes: &[u8]) -> Vec<(u8, u8, u32, usize)> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while let Some((&[l0, l1, l2, kind, flags, s0, s1, s2, s3], payload)) = rest.split_first_chunk()
    {
        let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        frames.push((kind, flags, u32::from_be_bytes([s0, s1, s2, s3]), length));
        rest = &payload[length.min(payload.len())..];
    }
    frames
}

/// A WINDOW_UPDATE.
pub(crate) fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    let head = [0, 0, 4, 8, 0];
    [&head[..], &stream.to_be_bytes(), &bytes.to_be_bytes()].concat()
}

/// An RST_STREAM with CANCEL.
pub(crate) fn cancel(stream: u32) -> Vec<u8> {
    [&[0, 0, 4, 3, 0][..], &stream.to_be_bytes(), &8u32.to_be_bytes()].concat()
}
