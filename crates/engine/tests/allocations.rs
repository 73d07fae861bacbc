//! Proves that a plain run allocates nothing on the path of a request: ten times as many requests
//! take no more allocations. The worker runs on a real driver against a server in another thread,
//! whose allocations do not count.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use allocation_counter::measure;
use plimsoll_conn::{Http1, Http2, Setup, WebSocket};
use plimsoll_core::plan::{Body, CallKind, Draft, Endpoint, GrpcPlan, HttpVersion};
use plimsoll_core::schedule::{Arrival, Profile};
use plimsoll_engine::worker::{Assignment, CpuUse, Worker};
use plimsoll_engine::{Signals, Spoken};
use plimsoll_grpc::Schema;
use plimsoll_io::select::{DriverChoice, Opened, open};
use plimsoll_io::{Driver, Spin, clock};
use plimsoll_proto::grpc::{MessageEvent, MessageReader};
use plimsoll_proto::http1::{Limits, RequestDecoder, RequestEvent};
use plimsoll_proto::http2::{self, Server, ServerEvent, ServerOptions};
use plimsoll_proto::websocket::handshake::{Answer, Upgrade};
use plimsoll_proto::websocket::{self, Deflater, Event, Kind, Options, Outgoing, Role, Socket};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CONNECTIONS: u32 = 20;
const S: u64 = 1_000_000_000;

/// Answers every request of HTTP/1 that has come whole.
fn answer_http1(mut stream: TcpStream) -> Option<()> {
    let (mut buffer, mut len) = ([0; 4096], 0);
    loop {
        len += stream.read(&mut buffer[len..]).ok().filter(|bytes| *bytes > 0)?;
        while let Some(end) = buffer[..len].windows(4).position(|four| four == b"\r\n\r\n") {
            let is_post = buffer.starts_with(b"POST");
            // The body of a POST is three bytes.
            let end = end + 4 + if is_post { 3 } else { 0 };
            if end > len {
                break;
            }
            buffer.copy_within(end..len, 0);
            len -= end;
            stream.write_all(RESPONSE).ok()?;
        }
    }
}

/// Answers every request of HTTP/2 that has come whole.
fn answer_http2(mut stream: TcpStream) -> Option<()> {
    let mut server = Server::new(ServerOptions::default());
    let (mut buffer, mut out, mut ended) = ([0; 4096], Vec::new(), Vec::new());
    server.begin(&mut out);
    loop {
        stream.write_all(&out).ok()?;
        out.clear();
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        let mut bytes = &buffer[..len];
        loop {
            let decoded = server.receive(bytes, &mut out).ok()?;
            bytes = &bytes[decoded.consumed..];
            match decoded.event {
                None => break,
                Some(ServerEvent::End(id)) => ended.push(id),
                Some(_) => {}
            }
        }
        for id in ended.drain(..) {
            server.send_head(id, false, &mut out, |head| head.status(200));
            server.send(id, http2::Body::Bytes(b"hello"), true, &mut out);
        }
    }
}

/// Answers calls of gRPC: each message with one, or as many when the call is whole as its method is
/// named after.
fn answer_calls(mut stream: TcpStream) -> Option<()> {
    const MESSAGE: &[u8] = b"\0\0\0\0\x02\x08\x01";
    let mut server = Server::new(ServerOptions::default());
    let (mut buffer, mut out, mut todo) = ([0; 4096], Vec::new(), Vec::new());
    // By stream: how many messages it wants in the end, and where the message that comes ends.
    let mut calls: HashMap<u32, (usize, MessageReader)> = HashMap::new();
    server.begin(&mut out);
    loop {
        stream.write_all(&out).ok()?;
        out.clear();
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        let mut bytes = &buffer[..len];
        loop {
            let decoded = server.receive(bytes, &mut out).ok()?;
            let mut credit = None;
            match decoded.event {
                None => break,
                Some(ServerEvent::Request(id, head)) => {
                    let in_the_end = match head.path()? {
                        "/t.S/Bidi" => 0,
                        "/t.S/Server" => 5,
                        _ => 1,
                    };
                    calls.insert(id, (in_the_end, MessageReader::new(1 << 20, false)));
                    todo.push((id, None));
                }
                Some(ServerEvent::Body(id, mut piece)) => {
                    credit = Some((id, piece.len() as u32));
                    let (in_the_end, messages) = calls.get_mut(&id)?;
                    while let Some(event) = messages.next(&mut piece).ok()? {
                        if event == MessageEvent::Ended && *in_the_end == 0 {
                            todo.push((id, Some(1)));
                        }
                    }
                }
                Some(ServerEvent::End(id)) => {
                    let (in_the_end, _) = calls.remove(&id)?;
                    todo.push((id, Some(in_the_end)));
                    todo.push((id, Some(usize::MAX)));
                }
                Some(_) => {}
            }
            bytes = &bytes[decoded.consumed..];
            if let Some((id, bytes)) = credit {
                server.release(id, bytes, &mut out);
            }
            for (id, messages) in todo.drain(..) {
                match messages {
                    None => server.send_head(id, false, &mut out, |head| {
                        head.status(200);
                        head.passed_on(b"content-type", b"application/grpc");
                    }),
                    Some(usize::MAX) => {
                        server.send_trailers(id, &mut out, |head| {
                            head.passed_on(b"grpc-status", b"0");
                        });
                    }
                    Some(messages) => {
                        let body = MESSAGE.repeat(messages);
                        server.send(id, http2::Body::Bytes(&body), false, &mut out);
                    }
                }
            }
        }
    }
}

/// Echoes every message of a WebSocket, compressed where that was offered.
fn answer_websocket(mut stream: TcpStream) -> Option<()> {
    const NO_KEY: [u8; 4] = [0; 4];
    let (mut buffer, mut len) = ([0; 4096], 0);
    let mut out = Vec::new();
    let head_bytes = loop {
        len += stream.read(&mut buffer[len..]).ok().filter(|bytes| *bytes > 0)?;
        if let Some(end) = buffer[..len].windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let mut decoder = RequestDecoder::new(Limits::default());
    let decoded = decoder.decode(&buffer[..head_bytes]).ok()?;
    let Some(RequestEvent::Head(head)) = decoded.event else { return None };
    let upgrade = Upgrade::read(&head).ok()??;
    let agreed = upgrade.deflate();
    upgrade.write_response(&Answer { subprotocol: None, deflate: agreed }, &mut out);
    let deflate = agreed.map(|agreed| agreed.parameters());
    let limits = websocket::Limits::default();
    let mut socket = Socket::new(Options { role: Role::Server, limits, deflate });
    let (mut deflater, mut message) = (Deflater::new(), Vec::new());
    loop {
        stream.write_all(&out).ok()?;
        out.clear();
        let len = stream.read(&mut buffer).ok().filter(|bytes| *bytes > 0)?;
        let mut bytes = &buffer[..len];
        loop {
            let decoded = socket.receive(bytes, NO_KEY, &mut out).ok()?;
            bytes = &bytes[decoded.consumed..];
            let event = decoded.event.map(|event| match event {
                Event::Data(piece) => (piece.to_vec(), false),
                event => (Vec::new(), matches!(event, Event::End(_))),
            });
            let Some((piece, is_end)) = event else { break };
            message.extend_from_slice(&piece);
            if is_end {
                let compressed = deflate.and_then(|it| deflater.message(&message, it));
                let is_compressed = compressed.is_some();
                let payload = compressed.unwrap_or(&message);
                let whole = Outgoing::whole(Kind::Text, payload);
                socket.send(&Outgoing { is_compressed, ..whole }, NO_KEY, &mut out);
                message.clear();
            }
        }
    }
}

fn server(answer: fn(TcpStream) -> Option<()>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

/// How many allocations a worker makes while it sends the plan's requests, on the given driver.
fn allocations<P: Spoken>(plan: &Draft, address: SocketAddr, choice: DriverChoice) -> Option<u64> {
    let plan = Arc::new(plan.clone().check().expect("a plan"));
    let routes = [address.into()].into();
    let assignment = Assignment::<P::Encoding>::new(Arc::clone(&plan), routes, false, Spin::Off);
    let assignment = assignment.expect("sound").for_worker(0, Setup::default());
    match open(choice, &assignment.driver_options()).ok()?.0 {
        Opened::Uring(driver) => Some(counted::<_, P>(driver, &assignment)),
        Opened::Epoll(driver) => Some(counted::<_, P>(driver, &assignment)),
    }
}

fn counted<D: Driver, P: Spoken>(driver: D, assignment: &Assignment<P::Encoding>) -> u64 {
    let (settings, source) = (P::settings(assignment), assignment.source());
    let cpu = CpuUse::default;
    let mut worker = Worker::<_, P, _>::new(driver, assignment, &settings, cpu, source);
    let signals = Signals::default();
    let opened = worker.open(clock::now_ns() + 10 * S, &signals).expect("a driver that works");
    assert_eq!(opened.open, Some(CONNECTIONS));
    let mut spares = vec![Box::default(), Box::default()];
    let info = measure(|| {
        worker
            .run(clock::now_ns() + 1_000_000, &signals, &mut |interval| {
                spares.push(interval);
                spares.pop()
            })
            .expect("a driver that works");
    });
    let (record, _) = worker.into_record();
    let ledger = record.measured.ledger;
    assert_eq!(Some(ledger.ok), assignment.plan().requests, "{ledger:?}");
    info.count_total
}

/// A closed loop, to vary.
fn closed(address: SocketAddr) -> Draft {
    Draft {
        connections: CONNECTIONS,
        workers: 1,
        ..Draft::new(Endpoint::http("127.0.0.1", address.port(), "/"))
    }
}

/// Above this difference the requests themselves allocate: one allocation for fifty of the 18 000
/// additional requests. Below it, buffers grow because the host is busy.
const BUSY_MOST: u64 = 18_000 / 50;

fn check<P: Spoken>(closed: &Draft, address: SocketAddr) {
    let mut varying = closed.clone();
    varying.endpoint.path = "/{{uuid}}".into();
    varying.request.method = "POST".to_owned();
    varying.request.body = Some(Body::new(b"{{random 100 999}}".to_vec()));
    let profile = Profile::constant(20_000 * 1_000_000, None, Arrival::Uniform);
    let at_rate = Draft { rate: Some(profile), ..closed.clone() };
    for (name, plan) in [("closed", closed.clone()), ("varying", varying), ("at a rate", at_rate)] {
        for choice in [DriverChoice::Epoll, DriverChoice::Uring] {
            let of = |requests| {
                let plan = Draft { requests: Some(requests), ..plan.clone() };
                allocations::<P>(&plan, address, choice)
            };
            // A host may have no io_uring.
            let Some(few) = of(2000) else { continue };
            // What happens once a second, and buffers that reach their size, may allocate. On a
            // busy machine more requests are open at once, and buffers reach it later.
            let mut counts = Vec::new();
            let is_flat = (0..3).filter_map(|_| of(20_000)).any(|many| {
                counts.push(many);
                many < few + BUSY_MOST
            });
            assert!(is_flat, "{name}, {choice:?}: {few} for 2000, {counts:?} for 20 000");
        }
    }
}

#[test]
fn calls_allocate_nothing() {
    const SOURCE: &str =
        "syntax = \"proto3\"; package t; message M { uint64 seq = 1; bytes x = 2; }
        service S { rpc Unary(M) returns (M); rpc Server(M) returns (stream M);
                    rpc Client(stream M) returns (M); rpc Bidi(stream M) returns (stream M); }";
    let read = |name: &str| Ok((name == "t.proto").then(|| SOURCE.to_owned()));
    let schema = Schema::compile(&["t.proto".to_owned()], read).expect("compiles");
    let address = server(answer_calls);
    for (method, stream, messages) in [
        ("Unary", None, None),
        ("Server", None, None),
        ("Client", None, Some(3)),
        ("Bidi", None, Some(3)),
        ("Bidi", Some(CallKind::PingPong), Some(3)),
    ] {
        let grpc = GrpcPlan {
            files: vec!["t.proto".to_owned()],
            descriptors: schema.descriptors(),
            stream,
            messages,
            ..GrpcPlan::new(format!("t.S/{method}"))
        };
        let mut plan = Draft { http_version: HttpVersion::Http2, ..closed(address) };
        plan.http2.streams = 10;
        plan.endpoint.path = grpc.path().into();
        plan.grpc = Some(grpc);
        plan.request.method = "POST".to_owned();
        plan.request.body = Some(Body::new(br#"{"seq": {{seq}}, "x": "AAEC"}"#.to_vec()));
        let kind = stream.map_or(method, CallKind::name);
        for choice in [DriverChoice::Epoll, DriverChoice::Uring] {
            let of = |requests| {
                let plan = Draft { requests: Some(requests), ..plan.clone() };
                allocations::<Http2>(&plan, address, choice)
            };
            let (Some(few), Some(many)) = (of(2000), of(20_000)) else { continue };
            assert!(many < few + 100, "{kind}, {choice:?}: {few} for 2000, {many} for 20 000");
        }
    }
}

#[test]
fn requests_allocate_nothing() {
    let address = server(answer_http1);
    check::<Http1>(&closed(address), address);
}

/// None fails, so each response is kept until its end.
#[test]
fn requests_that_are_kept_for_a_transcript_allocate_nothing() {
    let address = server(answer_http1);
    let mut plan = closed(address);
    plan.details.transcripts = true;
    check::<Http1>(&plan, address);
}

#[test]
fn requests_of_http2_allocate_nothing() {
    let address = server(answer_http2);
    let mut plan = Draft { http_version: HttpVersion::Http2, ..closed(address) };
    for streams in [1, 10] {
        plan.http2.streams = streams;
        check::<Http2>(&plan, address);
    }
}

#[test]
fn messages_of_a_websocket_allocate_nothing_compressed_or_not() {
    let address = server(answer_websocket);
    let endpoint = Endpoint { scheme: "ws".to_owned(), ..closed(address).endpoint };
    for (compress, text) in [
        (false, "always the same, always the same"),
        (false, "{{seq}} and {{seq}}, {{uuid}}"),
        (true, "always the same, always the same"),
        (true, "{{seq}} and {{seq}}, {{uuid}}"),
    ] {
        let mut plan = Draft { endpoint: endpoint.clone(), ..closed(address) };
        plan.websocket.compress = compress;
        plan.request.body = Some(Body::new(text.as_bytes().to_vec()));
        for choice in [DriverChoice::Epoll, DriverChoice::Uring] {
            let of = |requests| {
                let plan = Draft { requests: Some(requests), ..plan.clone() };
                allocations::<WebSocket>(&plan, address, choice)
            };
            let (Some(few), Some(many)) = (of(2000), of(20_000)) else { continue };
            assert!(many < few + 100, "{text}, {compress}, {choice:?}: {few}, then {many}");
        }
    }
}
