//! Requests allocate nothing once the longest has been seen.

use allocation_counter::measure;
use plimsoll_proto::http2::{Body, Client, ClientOptions, Outgoing};

use super::*;
use crate::faults::Faults;
use crate::options::ServerLimits;
use crate::site::{Shaper, SiteOptions};

/// A server's SETTINGS without any, so that requests can be written before the real ones come.
const GREETING: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

fn fields_of(path: &str) -> impl Iterator<Item = (&str, &str)> {
    let fields = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", path)];
    let call = [("content-type", "application/grpc"), ("grpc-timeout", "1S")];
    let is_call = path.starts_with("/grpc.") || path.starts_with("/fgrpc.");
    fields.into_iter().chain(call.into_iter().filter(move |_| is_call))
}

/// What a client says at its start, and with each of a number of batches of requests.
fn said(path: &str, body: &[u8], batches: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut options = ClientOptions { streams: 1000, ..ClientOptions::default() };
    options.receiving.window_bytes = 1 << 30;
    let mut client = Client::new(options);
    let mut greeting = Vec::new();
    client.begin(&mut greeting);
    client.receive(&GREETING, &mut Vec::new()).expect("settings");
    let batch = |batch: usize| {
        let mut out = Vec::new();
        for number in 0..10 {
            let number = (batch * 10 + number) as u32;
            let outgoing = Outgoing { is_head: false, body: Body::Bytes(body), ends: true };
            client.start(number, &outgoing, &mut out, |head| {
                for (name, value) in fields_of(path) {
                    head.field(name, value.as_bytes()).expect("a field");
                }
            });
        }
        out
    };
    let batches = (0..batches).map(batch).collect();
    (greeting, batches)
}

#[test]
fn requests_allocate_nothing_once_the_longest_has_been_seen() {
    for (path, body) in [
        ("/", &b""[..]),
        ("/", b"x"),
        ("/bytes/40k", b""),
        ("/echo", b"abc"),
        ("/status/404", b""),
        ("/grpc.health.v1.Health/Check", b"\0\0\0\0\0"),
        ("/grpc.health.v1.Health/Check", b"\0\0\0\0\x03\x0a\x01x"),
        ("/fgrpc.PingServer/Ping", b"\0\0\0\0\x07\x08\x01\x1a\x03abc"),
        ("/fgrpc.PingServer/Pong", b"\0\0\0\0\0"),
        ("/grpc.testing.TestService/EmptyCall", b"\0\0\0\0\0"),
        ("/grpc.testing.TestService/UnaryCall", b"\0\0\0\0\x04\x10\x80\x80\x04"),
        ("/grpc.testing.TestService/FullDuplexCall", b"\0\0\0\0\x04\x12\0\x12\0"),
    ] {
        let blocks = Blocks::new();
        let limits = ServerLimits::default();
        let mut http2 =
            Http2::new(ServerOptions { shared_fields: blocks.shared_fields, ..limits.http2 });
        let (mut fates, mut counters) = (Fates::new(Faults::default(), 0, 0), Counters::default());
        let mut shaper = Shaper::new(SiteOptions::default(), None, 0);
        let queue = Queue::default();
        let (greeting, batches) = said(path, body, 20);
        let mut out = Vec::new();
        let mut read = |input: &[u8], is_first: bool| {
            out.clear();
            let mut turn = Turn {
                now_ns: 1,
                out: &mut out,
                out_bytes_max: 1 << 20,
                blocks: &blocks,
                fates: &mut fates,
                counters: &mut counters,
                queue: &queue,
                shaper: &mut shaper,
                role: Role::All,
                peer: SocketAddr::from(([127, 0, 0, 1], 1)),
            };
            if is_first {
                http2.begin(&mut turn);
            }
            http2.read(input, &mut turn).expect("a client that keeps the protocol");
            http2.finish_turn(&mut turn);
        };
        read(&greeting, true);
        let (warm, rest) = batches.split_at(3);
        warm.iter().for_each(|batch| read(batch, false));
        let allocated = measure(|| rest.iter().for_each(|batch| read(batch, false)));
        assert_eq!(allocated.count_total, 0, "{path} {body:?}: {allocated:?}");
        assert_eq!((counters.requests, counters.refused), (200, 0), "{path}");
    }
}
