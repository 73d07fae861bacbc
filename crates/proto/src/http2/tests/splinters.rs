//! How finely bodies are cut when windows open again in small steps: into frames, not splinters,
//! whatever the order in which the peer credits a connection and its streams, and never so that a
//! peer which credits otherwise waits for ever.

use std::collections::{HashMap, VecDeque};

use super::super::frame::{FrameHead, HEAD_BYTES, flag, kind};
use super::super::settings::id;
use super::super::{Body, Client, ClientOptions, Event, Outgoing, ServerEvent, ServerOptions};
use super::frames::{Bytes, names};

/// When a server credits what it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credits {
    /// Each frame by itself, first to the connection.
    ConnectionFirst,
    /// Each frame by itself, first to its stream.
    StreamFirst,
    /// Once half of a window is used up.
    ByHalves,
    /// Once nothing is left of a window.
    WhenUsedUp,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    credits: Credits,
    /// Whether each WINDOW_UPDATE arrives by itself.
    is_apart: bool,
    /// Bodies at a time, how many in all, and how long each is.
    streams: u32,
    bodies: u32,
    body_bytes: usize,
    window_bytes: u32,
}

/// A window as the server keeps it.
#[derive(Debug, Clone, Copy)]
struct Window {
    size: u32,
    used: u32,
}

impl Window {
    /// Takes bytes of a frame; gives what is to be credited.
    fn take(&mut self, bytes: u32, credits: Credits) -> u32 {
        self.used += bytes;
        assert!(self.used <= self.size, "beyond the window");
        let is_due = match credits {
            Credits::ConnectionFirst | Credits::StreamFirst => self.used > 0,
            Credits::ByHalves => 2 * self.used >= self.size,
            Credits::WhenUsedUp => self.used == self.size,
        };
        if is_due { std::mem::take(&mut self.used) } else { 0 }
    }
}

struct Server {
    run: Run,
    /// What the client sent and was not read yet.
    received: Vec<u8>,
    /// DATA frames in their order.
    frames: VecDeque<(u32, u32, bool)>,
    connection: Window,
    streams: HashMap<u32, Window>,
    data_frames: usize,
}

impl Server {
    fn new(run: Run) -> Self {
        Self {
            run,
            received: Vec::new(),
            frames: VecDeque::new(),
            connection: Window { size: 65_535, used: 0 },
            streams: HashMap::new(),
            data_frames: 0,
        }
    }

    /// What the client has sent.
    fn take(&mut self, sent: &mut Vec<u8>) {
        self.received.append(sent);
        let mut at = 0;
        while let Some(head) = self.received[at..].first_chunk::<HEAD_BYTES>() {
            let head = FrameHead::read(head);
            at += HEAD_BYTES + head.length as usize;
            if head.kind == kind::DATA {
                self.frames.push_back((head.stream, head.length, head.has(flag::END_STREAM)));
                self.data_frames += 1;
            }
        }
        self.received.clear();
    }

    /// Reads one frame. Gives what to answer, in the pieces in which it arrives.
    fn answer(&mut self) -> Option<Vec<Bytes>> {
        let (stream, bytes, is_last) = self.frames.pop_front()?;
        let Run { credits, window_bytes, .. } = self.run;
        let connection = self.connection.take(bytes, credits);
        let window = self.streams.entry(stream);
        let window = window.or_insert(Window { size: window_bytes, used: 0 });
        let of_stream = window.take(bytes, credits);
        let mut updates = vec![(0, connection), (stream, of_stream)];
        if credits == Credits::StreamFirst {
            updates.reverse();
        }
        let update = |(stream, bytes)| Bytes::default().window(stream, bytes);
        let due = updates.into_iter().filter(|&(_, bytes)| bytes > 0);
        let mut pieces: Vec<Bytes> = due.map(update).collect();
        if is_last {
            pieces.push(Bytes::default().ok(stream).data(stream, true, b"ok"));
        }
        if !self.run.is_apart {
            pieces = vec![pieces.into_iter().fold(Bytes::default(), |all, it| all.raw(&it.0))];
        }
        Some(pieces)
    }
}

/// How many DATA frames a run takes; `None` if it never ends.
fn data_frames(run: Run) -> Option<usize> {
    let mut client =
        Client::new(ClientOptions { streams: run.streams, ..ClientOptions::default() });
    let mut server = Server::new(run);
    let (mut sent, mut started, mut ended) = (Vec::new(), 0, 0);
    client.begin(&mut sent);
    sent.clear();
    let greeting = Bytes::of_server().settings(&[(id::INITIAL_WINDOW_SIZE, run.window_bytes)]);
    let mut pieces = vec![greeting];
    let body: std::sync::Arc<[u8]> = vec![b'x'; run.body_bytes].into();
    loop {
        for piece in &pieces {
            let mut input = &piece.0[..];
            loop {
                let decoded = client.receive(input, &mut sent).expect("a sound server");
                input = &input[decoded.consumed..];
                let Some(event) = decoded.event else { break };
                ended += u32::from(matches!(event, Event::Complete(..)));
            }
            while client.room() > 0 && started < run.bodies {
                let outgoing = Outgoing { is_head: false, body: Body::Shared(&body), ends: true };
                client.start(started, &outgoing, &mut sent, |_| {});
                started += 1;
            }
            server.take(&mut sent);
        }
        match server.answer() {
            Some(answer) => pieces = answer,
            None => return (ended == run.bodies).then_some(server.data_frames),
        }
    }
}

/// The frames of all bodies, were each cut at the largest frame alone.
fn fewest_frames(bodies: u32, body_bytes: usize, window_bytes: u32) -> usize {
    bodies as usize * body_bytes.div_ceil(16_384.min(window_bytes as usize))
}

#[test]
fn bodies_are_not_cut_into_splinters() {
    use Credits::{ByHalves, ConnectionFirst, StreamFirst, WhenUsedUp};
    for (streams, bodies, body_bytes, window_bytes) in [
        (3, 3, 1_000_000, 65_535),
        (3, 3, 10_000_000, 65_535),
        (3, 1000, 100_000, 65_535),
        // The connection's window alone holds back.
        (3, 300, 100_000, 1 << 20),
        (100, 3000, 10_000, 65_535),
        (100, 3000, 1_000, 65_535),
        (100, 1000, 100_000, 65_535),
        // Windows below a splinter.
        (3, 3, 100_000, 100),
        (3, 3, 1_000, 1),
    ] {
        for credits in [ConnectionFirst, StreamFirst, ByHalves, WhenUsedUp] {
            for is_apart in [false, true] {
                let run = Run { credits, is_apart, streams, bodies, body_bytes, window_bytes };
                let frames = data_frames(run).unwrap_or_else(|| panic!("{run:?} never ends"));
                let fewest = fewest_frames(bodies, body_bytes, window_bytes);
                assert!(frames <= 2 * fewest, "{frames} frames instead of {fewest}, {run:?}");
            }
        }
    }
}

/// A server's responses, to a client that credits each frame by itself.
#[test]
fn responses_are_not_cut_into_splinters() {
    const BODIES: u32 = 300;
    for is_connection_first in [true, false] {
        let mut server = super::super::Server::new(ServerOptions::default());
        let (mut sent, mut data_frames, mut next) = (Vec::new(), 0, 1);
        let mut frames = VecDeque::new();
        server.begin(&mut sent);
        let mut input = Bytes::of_client().get(1).get(3).get(5);
        loop {
            let mut rest = &input.0[..];
            loop {
                let decoded = server.receive(rest, &mut sent).expect("a sound client");
                rest = &rest[decoded.consumed..];
                let Some(event) = decoded.event else { break };
                let ServerEvent::End(stream) = event else { continue };
                next = next.max(stream + 2);
                server.send_head(stream, false, &mut sent, |head| head.status(200));
                server.send(stream, Body::Bytes(&[b'y'; 100_000]), true, &mut sent);
            }
            let mut at = 0;
            while let Some(head) = sent[at..].first_chunk::<HEAD_BYTES>().map(FrameHead::read) {
                at += HEAD_BYTES + head.length as usize;
                if head.kind == kind::DATA {
                    frames.push_back(head);
                    data_frames += 1;
                }
            }
            sent.clear();
            let Some(head) = frames.pop_front() else { break };
            let order = if is_connection_first { [0, head.stream] } else { [head.stream, 0] };
            input = order.into_iter().fold(Bytes::default(), |it, id| it.window(id, head.length));
            if head.has(flag::END_STREAM) && next < 2 * BODIES {
                input = input.get(next);
            }
        }
        let fewest = fewest_frames(BODIES, 100_000, 65_535);
        assert_eq!(next, 2 * BODIES + 1, "all were answered");
        assert!(data_frames <= 2 * fewest, "{data_frames} frames instead of {fewest}");
    }
}

/// While a stream waits for the connection's window, those behind it wait, too, but for what needs
/// no room. They go on once it is given up.
#[test]
fn room_is_saved_for_the_oldest() {
    let mut client = Client::new(ClientOptions { streams: 3, ..ClientOptions::default() });
    let mut sent = Vec::new();
    client.begin(&mut sent);
    let take = |client: &mut Client, bytes: Bytes, sent: &mut Vec<u8>| {
        let mut input = &bytes.0[..];
        while let Some(_event) = {
            let decoded = client.receive(input, sent).expect("a sound server");
            input = &input[decoded.consumed..];
            decoded.event
        } {}
        names(&std::mem::take(sent))
    };
    take(
        &mut client,
        Bytes::of_server().settings(&[(id::INITIAL_WINDOW_SIZE, 1 << 20)]),
        &mut sent,
    );
    let outgoing = |body, ends| Outgoing { is_head: false, body, ends };
    let large = vec![b'x'; 200_000];
    client.start(0, &outgoing(Body::Bytes(&large), true), &mut sent, |_| {});
    sent.clear();
    for credited in 1..=10 {
        let frames = take(&mut client, Bytes::default().window(0, 100), &mut sent);
        let is_sent = credited < 8;
        assert_eq!(frames, if is_sent { vec!["DATA 1 100"] } else { vec![] }, "{credited}");
    }
    client.start(1, &outgoing(Body::Empty, false), &mut sent, |_| {});
    client.send(1, Body::Empty, true, &mut sent);
    client.start(2, &outgoing(Body::Bytes(b"abc"), true), &mut sent, |_| {});
    let frames = take(&mut client, Bytes::default().window(0, 100), &mut sent);
    assert_eq!(frames, ["HEADERS 3", "DATA 3 0 end", "HEADERS 5"]);
    assert!(client.cancel(0, &mut sent));
    let frames = take(&mut client, Bytes::default().window(0, 100), &mut sent);
    assert_eq!(frames, ["RST 1 CANCEL", "DATA 5 3 end"]);
}
