//! A server of gRPC of the test's own: fortio's ping service with further methods that stream, and
//! reflection.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use plimsoll_grpc::builtin::{self, Ping};
use plimsoll_grpc::reflection::{Answers, Version};
use plimsoll_proto::grpc::{PREFIX_BYTES, message_prefix};
use plimsoll_proto::http2::{Body, HeadWriter, Server, ServerEvent, ServerOptions};

/// Which reflection a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reflects {
    V1,
    V1Alpha,
    Never,
}

/// A server on a thread, until the test's end.
pub(crate) struct CallPeer {
    address: SocketAddr,
}

impl CallPeer {
    pub(crate) fn new(reflects: Reflects) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let schema = builtin::schema().expect("compiles");
        let answers = Arc::new(Answers::new(&schema));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&answers);
                thread::spawn(move || serve(stream, &Line { answers, reflects }));
            }
        });
        Self { address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

struct Line {
    answers: Arc<Answers>,
    reflects: Reflects,
}

/// What a call is answered with.
enum Answer {
    /// Messages, the last of which came with the end.
    Messages(Vec<Vec<u8>>),
    Status(&'static str, &'static str),
}

/// A call under way.
#[derive(Default)]
struct Call {
    path: String,
    /// What came of a message that is not whole.
    rest: Vec<u8>,
    messages: Vec<Vec<u8>>,
    has_head: bool,
}

impl Call {
    /// A piece of its body has come: gives the number of messages before it.
    fn take(&mut self, piece: &[u8]) -> usize {
        let before = self.messages.len();
        self.rest.extend_from_slice(piece);
        while let Some((prefix, rest)) = self.rest.split_first_chunk::<PREFIX_BYTES>() {
            let [_, length @ ..] = *prefix;
            let length = u32::from_be_bytes(length) as usize;
            let Some(message) = rest.get(..length) else { break };
            self.messages.push(message.to_vec());
            self.rest.drain(..PREFIX_BYTES + length);
        }
        before
    }
}

/// What a client said of a call.
enum Said {
    Head(u32, String),
    Body(u32, Vec<u8>),
    End(u32),
    Other,
}

/// Until the client goes, or breaks the protocol.
fn serve(mut stream: TcpStream, line: &Line) {
    let (mut machine, mut out) = (Server::new(ServerOptions::default()), Vec::new());
    let (mut received, mut piece) = (Vec::new(), [0; 16 * 1024]);
    let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
    machine.begin(&mut out);
    loop {
        let Ok(length @ 1..) = stream.write_all(&out).and_then(|()| stream.read(&mut piece)) else {
            return;
        };
        out.clear();
        received.extend_from_slice(&piece[..length]);
        loop {
            let Ok(decoded) = machine.receive(&received, &mut out) else { return };
            let said = decoded.event.map(|event| match event {
                ServerEvent::Request(number, head) => {
                    Said::Head(number, head.path().unwrap_or_default().to_owned())
                }
                ServerEvent::Body(number, bytes) => Said::Body(number, bytes.to_vec()),
                ServerEvent::End(number) => Said::End(number),
                _ => Said::Other,
            });
            let consumed = decoded.consumed;
            received.drain(..consumed);
            match said {
                None => break,
                Some(Said::Head(number, path)) => {
                    calls.insert(number, Call { path, ..Call::default() });
                }
                Some(Said::Body(number, bytes)) => {
                    machine.release(number, bytes.len() as u32, &mut out);
                    let Some(call) = calls.get_mut(&number) else { continue };
                    let before = call.take(&bytes);
                    if call.path == TALK {
                        send(&mut machine, number, call, before, &mut out);
                    }
                }
                Some(Said::End(number)) => {
                    let Some(mut call) = calls.remove(&number) else { continue };
                    line.end(&mut machine, number, &mut call, &mut out);
                }
                Some(Said::Other) => {}
            }
        }
    }
}

fn head(head: &mut HeadWriter<'_>) {
    head.status(200);
    head.passed_on(b"content-type", b"application/grpc");
}

/// Sends the messages of a call from this one on.
fn send(machine: &mut Server, stream: u32, call: &mut Call, from: usize, out: &mut Vec<u8>) {
    if !std::mem::replace(&mut call.has_head, true) {
        machine.send_head(stream, false, out, head);
    }
    for message in &call.messages[from..] {
        let body = [&message_prefix(message.len() as u32)[..], message].concat();
        machine.send(stream, Body::Bytes(&body), false, out);
    }
}

/// Answers each message with the same.
const TALK: &str = "/fgrpc.PingServer/Talk";

impl Line {
    /// A call is whole.
    fn end(&self, machine: &mut Server, stream: u32, call: &mut Call, out: &mut Vec<u8>) {
        let number = call.messages.len();
        let message = call.messages.first().map_or(&[][..], Vec::as_slice);
        let answer = match call.path.as_str() {
            TALK => Answer::Messages(Vec::new()),
            "/fgrpc.PingServer/Sum" => Answer::Messages(vec![seq(number as i64)]),
            path => self.answer(path, message),
        };
        match answer {
            Answer::Messages(messages) => {
                call.messages = messages;
                send(machine, stream, call, 0, out);
                let ok = |head: &mut HeadWriter<'_>| head.passed_on(b"grpc-status", b"0");
                assert!(machine.send_trailers(stream, out, ok), "its windows are large");
            }
            Answer::Status(code, text) => machine.send_head(stream, true, out, |to| {
                head(to);
                to.passed_on(b"grpc-status", code.as_bytes());
                to.passed_on(b"grpc-message", text.as_bytes());
            }),
        }
    }

    fn answer(&self, path: &str, message: &[u8]) -> Answer {
        let version = match self.reflects {
            Reflects::V1 => Some(Version::V1),
            Reflects::V1Alpha => Some(Version::V1Alpha),
            Reflects::Never => None,
        };
        let mut out = Vec::new();
        if version.is_some_and(|version| version.path() == path) {
            self.answers.answer(message, &mut out).expect("a request of the service");
            return Answer::Messages(vec![out]);
        }
        match (path, Ping::read(message)) {
            ("/fgrpc.PingServer/Pings", Ok(ping)) => {
                // Two bytes each.
                Answer::Messages((0..ping.seq).map(|_| seq(127)).collect())
            }
            (builtin::PING, Ok(ping)) if ping.payload == "fail" => {
                Answer::Status("14", "too%20busy")
            }
            (builtin::PING, Ok(ping)) => {
                ping.write(&mut out);
                Answer::Messages(vec![out])
            }
            (builtin::PING, Err(_)) => Answer::Status("3", ""),
            _ => Answer::Status("12", ""),
        }
    }
}

/// A message with a number.
fn seq(seq: i64) -> Vec<u8> {
    let mut out = Vec::new();
    Ping { seq, ..Ping::default() }.write(&mut out);
    out
}
