//! A server of gRPC of the test's own: fortio's ping service, and reflection.

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
    Message(Vec<u8>),
    Status(&'static str, &'static str),
}

/// Until the client goes, or breaks the protocol.
fn serve(mut stream: TcpStream, line: &Line) {
    let (mut machine, mut out) = (Server::new(ServerOptions::default()), Vec::new());
    let (mut received, mut piece) = (Vec::new(), [0; 16 * 1024]);
    let mut calls: BTreeMap<u32, (String, Vec<u8>)> = BTreeMap::new();
    machine.begin(&mut out);
    loop {
        let Ok(length @ 1..) = stream.write_all(&out).and_then(|()| stream.read(&mut piece)) else {
            return;
        };
        out.clear();
        received.extend_from_slice(&piece[..length]);
        loop {
            let Ok(decoded) = machine.receive(&received, &mut out) else { return };
            let (mut whole, is_last) = (None, decoded.event.is_none());
            match &decoded.event {
                None => {}
                Some(ServerEvent::Request(number, head)) => {
                    let path = head.path().unwrap_or_default().to_owned();
                    calls.insert(*number, (path, Vec::new()));
                }
                Some(ServerEvent::Body(number, bytes)) => {
                    if let Some((_, body)) = calls.get_mut(number) {
                        body.extend_from_slice(bytes);
                    }
                }
                Some(ServerEvent::End(number)) => whole = Some(*number),
                Some(_) => {}
            }
            let consumed = decoded.consumed;
            received.drain(..consumed);
            if is_last {
                break;
            }
            if let Some(number) = whole
                && let Some((path, body)) = calls.remove(&number)
            {
                let message = body.get(PREFIX_BYTES..).unwrap_or_default();
                end(&mut machine, number, &line.answer(&path, message), &mut out);
            }
        }
    }
}

impl Line {
    fn answer(&self, path: &str, message: &[u8]) -> Answer {
        let version = match self.reflects {
            Reflects::V1 => Some(Version::V1),
            Reflects::V1Alpha => Some(Version::V1Alpha),
            Reflects::Never => None,
        };
        let mut out = Vec::new();
        if version.is_some_and(|version| version.path() == path) {
            self.answers.answer(message, &mut out).expect("a request of the service");
            return Answer::Message(out);
        }
        match (path, Ping::read(message)) {
            (builtin::PING, Ok(ping)) if ping.payload == "fail" => {
                Answer::Status("14", "too%20busy")
            }
            (builtin::PING, Ok(ping)) => {
                ping.write(&mut out);
                Answer::Message(out)
            }
            (builtin::PING, Err(_)) => Answer::Status("3", ""),
            _ => Answer::Status("12", ""),
        }
    }
}

fn end(machine: &mut Server, stream: u32, answer: &Answer, out: &mut Vec<u8>) {
    let head = |head: &mut HeadWriter<'_>| {
        head.status(200);
        head.passed_on(b"content-type", b"application/grpc");
    };
    match answer {
        Answer::Message(message) => {
            let body = [&message_prefix(message.len() as u32)[..], message].concat();
            machine.send_head(stream, false, out, head);
            machine.send(stream, Body::Bytes(&body), false, out);
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
