//! A client and a server that talk to each other: what was sent arrives, whatever the windows, the
//! limits, and the pieces in which bytes travel.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::{
    Block, BlockBuilder, Body, Client, ClientOptions, ErrorCode, Event, Limits, Outgoing,
    Receiving, Server, ServerEvent, ServerOptions, SharedFields, Value,
};
use super::frames::names;
use super::windows::Watch;

/// One request of a plan, and what the server does with it.
#[derive(Debug, Clone)]
struct Planned {
    request_bytes: usize,
    response_bytes: usize,
    server: Does,
    client_cancels: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    Answers,
    AnswersWithTrailers,
    AnswersEarly,
    Refuses,
    Resets,
}

#[derive(Debug, Clone)]
struct World {
    requests: Vec<Planned>,
    client: ClientOptions,
    server: ServerOptions,
    /// How many bytes travel at a time, in turn.
    pieces: Vec<usize>,
}

fn planned() -> impl Strategy<Value = Planned> {
    let does = prop_oneof![
        6 => Just(Does::Answers),
        2 => Just(Does::AnswersWithTrailers),
        1 => Just(Does::AnswersEarly),
        1 => Just(Does::Refuses),
        1 => Just(Does::Resets),
    ];
    let bytes = || prop_oneof![Just(0), 1usize..100, 1usize..30_000];
    let cancels = prop::bool::weighted(0.1);
    (bytes(), bytes(), does, cancels).prop_map(
        |(request_bytes, response_bytes, server, cancels)| Planned {
            request_bytes,
            response_bytes,
            server,
            client_cancels: cancels,
        },
    )
}

fn world() -> impl Strategy<Value = World> {
    let window = || prop_oneof![10u32..200, 200u32..100_000, Just(0x7fff_ffff)];
    let connection = || prop_oneof![Just(65_535u32), 65_535u32..1_000_000];
    let sides = (1u32..8, window(), connection(), 1u32..8, window(), connection());
    let tables = (0u32..5000, 0u32..5000, 16_384u32..40_000, 16_384u32..40_000);
    let pieces = prop::collection::vec(prop_oneof![1 => 3usize..50, 2 => 1usize..40_000], 1..6);
    (prop::collection::vec(planned(), 1..14), sides, tables, pieces).prop_map(
        |(requests, sides, tables, pieces)| World {
            requests,
            client: ClientOptions {
                streams: sides.0,
                receiving: Receiving {
                    window_bytes: sides.1,
                    connection_window_bytes: sides.2,
                    header_table_bytes: tables.0,
                    frame_bytes: tables.2,
                    limits: Limits::default(),
                },
                ..ClientOptions::default()
            },
            server: ServerOptions {
                streams: sides.3,
                receiving: Receiving {
                    window_bytes: sides.4,
                    connection_window_bytes: sides.5,
                    header_table_bytes: tables.1,
                    frame_bytes: tables.3,
                    limits: Limits::default(),
                },
                ..ServerOptions::default()
            },
            pieces,
        },
    )
}

/// The body that request or response `number` has.
fn body(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at / 7 + number) as u8).collect()
}

/// A request as the server sees it.
#[derive(Debug, Default)]
struct Seen {
    number: usize,
    body: Vec<u8>,
    has_ended: bool,
}

/// Bytes on their way.
#[derive(Default)]
struct Pipe {
    bytes: Vec<u8>,
    /// How many of them have arrived, and how many have been watched.
    arrived: usize,
    watched: usize,
}

impl Pipe {
    /// Lets up to `most` bytes arrive.
    fn take(&mut self, most: usize) -> Vec<u8> {
        let end = self.bytes.len().min(self.arrived + most);
        let taken = self.bytes[self.arrived..end].to_vec();
        self.arrived = end;
        if self.is_empty() {
            *self = Self::default();
        }
        taken
    }

    fn is_empty(&self) -> bool {
        self.arrived == self.bytes.len()
    }

    fn watch(&mut self, sender: &mut Watch, receiver: &Watch) {
        sender.sends(&self.bytes[self.watched..], receiver);
        self.watched = self.bytes.len();
    }
}

struct Run<'w> {
    world: &'w World,
    client: Client,
    server: Server,
    request: Block,
    to_server: Pipe,
    to_client: Pipe,
    client_watch: Watch,
    server_watch: Watch,
    next: usize,
    seen: HashMap<u32, Seen>,
    /// Trailers that wait for the rest of a body.
    trailers: Vec<u32>,
    answers: HashMap<usize, Vec<u8>>,
    outcomes: HashMap<usize, String>,
}

fn run(world: &World) -> HashMap<usize, String> {
    let mut shared = SharedFields::default();
    let mut builder = BlockBuilder::new(&mut shared);
    for (name, value) in [
        (":method", Value::Fixed(b"POST")),
        (":scheme", Value::Fixed(b"https")),
        (":authority", Value::Fixed(b"example.test")),
        (":path", Value::Varying),
        ("user-agent", Value::Fixed(b"pairs")),
        ("authorization", Value::Fixed(b"secret")),
        ("content-length", Value::Varying),
    ] {
        builder.field(name, value).expect("a valid field");
    }
    let request = builder.finish();
    let client = Client::new(ClientOptions { shared_fields: shared.len(), ..world.client });
    let mut run = Run {
        world,
        client,
        server: Server::new(world.server),
        request,
        to_server: Pipe::default(),
        to_client: Pipe::default(),
        client_watch: Watch::new(),
        server_watch: Watch::new(),
        next: 0,
        seen: HashMap::new(),
        trailers: Vec::new(),
        answers: HashMap::new(),
        outcomes: HashMap::new(),
    };
    run.client.begin(&mut run.to_server.bytes);
    run.server.begin(&mut run.to_client.bytes);
    run.travel();
    assert_eq!(run.client.end(), Ok(()));
    assert_eq!(run.server.end(), Ok(()));
    assert_eq!(run.client.open(), 0, "nothing is left open");
    assert_eq!(run.server.open(), 0, "nothing is left open");
    run.outcomes
}

impl Run<'_> {
    /// Lets bytes travel in pieces until none are on their way.
    fn travel(&mut self) {
        let pieces = self.world.pieces.clone();
        for (turn, piece) in pieces.iter().cycle().enumerate() {
            assert!(turn < 10_000_000, "it comes to an end");
            self.start();
            self.to_server.watch(&mut self.client_watch, &self.server_watch);
            self.to_client.watch(&mut self.server_watch, &self.client_watch);
            if self.to_server.is_empty() && self.to_client.is_empty() {
                return;
            }
            if turn % 2 == 0 {
                let input = self.to_server.take(*piece);
                self.serve(&input);
            } else {
                let input = self.to_client.take(*piece);
                self.take(&input);
            }
        }
    }

    fn start(&mut self) {
        while self.client.room() > 0 && self.next < self.world.requests.len() {
            let number = self.next;
            self.next += 1;
            let planned = &self.world.requests[number];
            let bytes = body(number, planned.request_bytes);
            let shared: Arc<[u8]> = bytes.as_slice().into();
            let body =
                if number.is_multiple_of(2) { Body::Shared(&shared) } else { Body::Bytes(&bytes) };
            let outgoing = Outgoing { is_head: false, body, ends: true };
            let request = &self.request;
            self.client.start(number as u32, &outgoing, &mut self.to_server.bytes, |head| {
                head.block(request, |nth, out| {
                    let value =
                        if nth == 0 { format!("/{number}") } else { bytes.len().to_string() };
                    out.extend_from_slice(value.as_bytes());
                });
            });
            if planned.client_cancels {
                assert!(self.client.cancel(number as u32, &mut self.to_server.bytes));
                self.outcomes.insert(number, "cancelled".to_owned());
            }
        }
    }

    fn serve(&mut self, mut input: &[u8]) {
        loop {
            let decoded = self.server.receive(input, &mut self.to_client.bytes).expect("no error");
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else { return };
            let stream = match event {
                ServerEvent::Request(stream, head) => {
                    assert_eq!((head.method(), head.authority()), ("POST", Some("example.test")));
                    let fields: Vec<_> = head.headers().map(|field| field.0).collect();
                    assert_eq!(fields, ["user-agent", "authorization", "content-length"]);
                    let path = head.path().expect("a path");
                    let number = path[1..].parse().expect("a number");
                    let seen = Seen { number, ..Seen::default() };
                    self.seen.insert(stream, seen);
                    stream
                }
                ServerEvent::Body(stream, piece) => {
                    let seen = self.seen.get_mut(&stream).expect("a request");
                    seen.body.extend_from_slice(piece);
                    continue;
                }
                ServerEvent::End(stream) => {
                    self.seen.get_mut(&stream).expect("a request").has_ended = true;
                    stream
                }
                ServerEvent::Resumed(stream) => {
                    if self.trailers.contains(&stream) {
                        self.send_trailers(stream);
                    }
                    continue;
                }
                ServerEvent::Greeted | ServerEvent::Reset(..) => continue,
                event => panic!("{event:?}"),
            };
            self.answer(stream);
        }
    }

    /// Does what is planned for a request that has begun or ended.
    fn answer(&mut self, stream: u32) {
        let Seen { number, body: received, has_ended } = &self.seen[&stream];
        let (number, has_ended) = (*number, *has_ended);
        let planned = &self.world.requests[number];
        if has_ended {
            assert!(*received == body(number, planned.request_bytes), "request {number} arrives");
        }
        let is_early = planned.server == Does::AnswersEarly;
        match planned.server {
            Does::Refuses if !has_ended => {
                self.server.reset(stream, ErrorCode::REFUSED_STREAM, &mut self.to_client.bytes);
            }
            Does::Resets if !has_ended => {
                self.server
                    .send_head(stream, false, &mut self.to_client.bytes, |head| head.status(200));
                self.server.reset(stream, ErrorCode::CANCEL, &mut self.to_client.bytes);
            }
            Does::Answers | Does::AnswersWithTrailers | Does::AnswersEarly
                if has_ended != is_early =>
            {
                let bytes = body(number + 1, planned.response_bytes);
                let with_trailers = planned.server == Does::AnswersWithTrailers;
                let length = bytes.len().to_string();
                self.server.send_head(stream, false, &mut self.to_client.bytes, |head| {
                    head.status(200);
                    head.field("content-length", length.as_bytes()).expect("a valid field");
                });
                self.server.send(
                    stream,
                    Body::Bytes(&bytes),
                    !with_trailers,
                    &mut self.to_client.bytes,
                );
                if with_trailers {
                    self.trailers.push(stream);
                    self.send_trailers(stream);
                }
            }
            _ => {}
        }
    }

    fn send_trailers(&mut self, stream: u32) {
        let sent = self.server.send_trailers(stream, &mut self.to_client.bytes, |head| {
            head.field("checksum", b"0").expect("a valid field");
        });
        if sent {
            self.trailers.retain(|&other| other != stream);
        }
    }

    fn take(&mut self, mut input: &[u8]) {
        loop {
            let decoded = self.client.receive(input, &mut self.to_server.bytes).expect("no error");
            input = &input[decoded.consumed..];
            let Some(event) = decoded.event else { return };
            let (number, outcome) = match event {
                Event::Body(number, piece) => {
                    let answer = self.answers.entry(number as usize).or_default();
                    answer.extend_from_slice(piece);
                    continue;
                }
                Event::Complete(number, response) => {
                    let planned = &self.world.requests[number as usize];
                    let answer = self.answers.remove(&(number as usize)).unwrap_or_default();
                    assert_eq!(response.body_bytes, planned.response_bytes as u64);
                    let want = body(number as usize + 1, planned.response_bytes);
                    assert!(answer == want, "response {number} arrives");
                    (number, "complete".to_owned())
                }
                Event::Refused(number) => (number, "refused".to_owned()),
                Event::Reset(number, code) => (number, format!("reset {code}")),
                Event::Broken(..) | Event::Draining(_) | Event::Interim(..) => panic!("{event:?}"),
                _ => continue,
            };
            let before = self.outcomes.insert(number as usize, outcome);
            assert_eq!(before, None, "request {number} ends once");
        }
    }
}

/// A head that is longer than the largest frame arrives, in frames that continue it.
#[test]
fn long_heads() {
    for value_bytes in [16_000, 16_384, 32_768, 40_000] {
        let mut client = Client::new(ClientOptions::default());
        let mut server = Server::new(ServerOptions::default());
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        client.begin(&mut to_server);
        server.begin(&mut to_client);
        client.receive(&to_client, &mut to_server).expect("a greeting");
        // The Huffman code of `&` has eight bits, so the block is about as long as the value.
        let value = vec![b'&'; value_bytes];
        let outgoing = Outgoing { is_head: false, body: Body::Empty, ends: true };
        client.start(0, &outgoing, &mut to_server, |head| {
            for (name, value) in [
                (":method", &b"GET"[..]),
                (":scheme", b"http"),
                (":path", b"/"),
                ("x-long", &value),
            ] {
                head.field(name, value).expect("a valid field");
            }
        });
        let continuations = names(&to_server).iter().filter(|it| *it == "CONTINUATION 1").count();
        assert_eq!(continuations, value_bytes / 16_384, "{value_bytes}");
        let mut input = to_server.as_slice();
        let mut arrived = 0;
        while let Ok(decoded) = server.receive(input, &mut to_client) {
            input = &input[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ServerEvent::Request(1, head)) => {
                    let field = head.headers().next().expect("a field");
                    assert_eq!(field, ("x-long", &value[..]));
                    arrived += 1;
                }
                Some(_) => {}
            }
        }
        assert_eq!(arrived, 1, "{value_bytes}");
    }
}

/// What has to become of a request.
fn want(planned: &Planned) -> &'static str {
    match planned.server {
        _ if planned.client_cancels => "cancelled",
        Does::Refuses => "refused",
        Does::Resets => "reset CANCEL",
        _ => "complete",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_sent_arrives(world in world()) {
        let outcomes = run(&world);
        for (number, planned) in world.requests.iter().enumerate() {
            let got = outcomes.get(&number).map(String::as_str);
            prop_assert_eq!(got, Some(want(planned)), "request {}", number);
        }
    }
}
