//! Calls of gRPC under the simulated driver: a server ends them in every way that it can, and each
//! ends for the script with the status that k6 gives.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use plimsoll_core::executor::Executor;
use plimsoll_core::metric::Registry;
use plimsoll_io::sim::{Peer, PeerActions, PeerConn, SimOptions};
use plimsoll_proto::http2::{
    Body, ErrorCode, HeadWriter, LastStream, Server, ServerEvent, ServerOptions,
};
use plimsoll_script::js::{Notice, Program, Settings, Source};

use super::{Kept, MS, Run, S, WALL_NS, cast, role, run_with};
use crate::vu::schemas;

const PROTO: &str = "syntax = \"proto3\"; package t; message M { int32 n = 1; }
    service T { rpc Say(M) returns (M); rpc Watch(M) returns (stream M); rpc Chat(stream M) returns (stream M); }";

/// A message whose number is 7.
const ONE: &[u8] = b"\0\0\0\0\x02\x08\x07";

#[derive(Default)]
struct Did {
    connections: usize,
    requests: Vec<Vec<String>>,
    /// When a flood began, and how many bytes of it went out in the four seconds after that.
    flood_ns: Option<u64>,
    flooded: usize,
}

struct Line {
    machine: Server,
    received: Vec<u8>,
    modes: BTreeMap<u32, String>,
}

/// Ends a call as its `x-mode` says.
struct Modes {
    lines: BTreeMap<PeerConn, Line>,
    did: Rc<RefCell<Did>>,
}

fn fields<'f>(
    status: u16,
    fields: &'f [(&'f [u8], &'f [u8])],
) -> impl FnOnce(&mut HeadWriter<'_>) + 'f {
    move |head| {
        head.status(status);
        fields.iter().for_each(|(name, value)| head.passed_on(name, value));
    }
}

impl Line {
    /// Ends a call; `None`: the connection closes.
    fn end(&mut self, stream: u32, mode: &str, out: &mut Vec<u8>) -> Option<()> {
        let (machine, kind) = (&mut self.machine, (&b"content-type"[..], &b"application/grpc"[..]));
        let (name, value) = mode.split_once('=').unwrap_or((mode, ""));
        let trailers = |machine: &mut Server, out: &mut Vec<u8>, status: &[u8]| {
            machine.send_trailers(stream, out, |head| head.passed_on(b"grpc-status", status));
        };
        match name {
            "hang" => {}
            "close" => return None,
            "reset" => machine.reset(stream, ErrorCode(value.parse().expect("a code")), out),
            "away" => machine.go_away(LastStream::Number(0), ErrorCode::NO_ERROR, out),
            "html" => {
                machine.send_head(
                    stream,
                    false,
                    out,
                    fields(404, &[(b"content-type", b"text/html")]),
                );
                machine.send(stream, Body::Bytes(b"<p>"), true, out);
            }
            "only" => {
                let status = [kind, (b"grpc-status", value.as_bytes()), (b"grpc-message", b"o%21")];
                machine.send_head(stream, true, out, fields(200, &status));
            }
            name => {
                machine.send_head(stream, false, out, fields(200, &[kind]));
                let body = match name {
                    "two" => [ONE, ONE].concat(),
                    "none" => Vec::new(),
                    "cut" => ONE[..6].to_vec(),
                    "flag" => b"\x09\0\0\0\0".to_vec(),
                    "long" => b"\0\0\0\xff\xff".to_vec(),
                    "junk" => b"\0\0\0\0\x01\xff".to_vec(),
                    _ => ONE.to_vec(),
                };
                machine.send(stream, Body::Bytes(&body), name == "mute", out);
                if name != "mute" {
                    trailers(machine, out, if name == "late" { b"10" } else { b"0" });
                }
            }
        }
        Some(())
    }
}

impl Peer for Modes {
    fn connected(&mut self, _: u64, conn: PeerConn, actions: &mut PeerActions) {
        let (mut machine, mut out) = (Server::new(ServerOptions::default()), Vec::new());
        machine.begin(&mut out);
        self.did.borrow_mut().connections += 1;
        let line = Line { machine, received: Vec::new(), modes: BTreeMap::new() };
        self.lines.insert(conn, line);
        actions.send(0, out);
    }

    fn received(&mut self, now_ns: u64, conn: PeerConn, bytes: &[u8], actions: &mut PeerActions) {
        let line = self.lines.get_mut(&conn).expect("it was connected");
        line.received.extend(bytes);
        let mut out = Vec::new();
        // What is no HTTP/2, such as TLS, gets no answer.
        while let Ok(decoded) = line.machine.receive(&line.received, &mut out) {
            let mut ended = None;
            match decoded.event {
                None if decoded.consumed == 0 => break,
                None => {}
                Some(ServerEvent::Request(stream, head)) => {
                    let path = head.path().unwrap_or_default().to_owned();
                    let mut all = vec![path];
                    let mut mode = String::new();
                    for (name, value) in head.headers() {
                        let value = String::from_utf8_lossy(value).into_owned();
                        if name == "x-mode" {
                            mode.clone_from(&value);
                        }
                        all.push(format!("{name}: {value}"));
                    }
                    self.did.borrow_mut().requests.push(all);
                    line.modes.insert(stream, mode);
                }
                Some(ServerEvent::End(stream)) => ended = Some(stream),
                Some(_) => {}
            }
            let consumed = decoded.consumed;
            line.received.drain(..consumed);
            let Some(stream) = ended else { continue };
            let mode = line.modes[&stream].clone();
            if mode == "flood" {
                let kind = (&b"content-type"[..], &b"application/grpc"[..]);
                line.machine.send_head(stream, false, &mut out, fields(200, &[kind]));
                let flood = ONE.repeat(1 << 19);
                line.machine.send(stream, Body::Bytes(&flood), false, &mut out);
                self.did.borrow_mut().flood_ns = Some(now_ns);
            } else if line.end(stream, &mode, &mut out).is_none() {
                actions.close(MS);
                return;
            }
        }
        if !out.is_empty() {
            let mut did = self.did.borrow_mut();
            if did.flood_ns.is_some_and(|since_ns| now_ns < since_ns + 4 * S) {
                did.flooded += out.len();
            }
            actions.send(MS, out);
        }
    }

    fn closed(&mut self, _: u64, conn: PeerConn) {
        self.lines.remove(&conn);
    }
}

fn program(text: &str) -> Program {
    let source = Source {
        path: "/script.js".to_owned(),
        text: format!(
            "import grpc from 'k6/net/grpc'; import {{ sleep }} from 'k6';
             const client = new grpc.Client(); client.load(null, 't.proto');
             const call = (mode, params) => client.invoke('t.T/Say', {{ n: 3 }},
               Object.assign({{ timeout: '2s', metadata: {{ 'x-mode': mode, 'User-Agent': 'b', te: 'c' }} }}, params));
             {text}"
        )
        .into_bytes(),
        read: Box::new(|path| match path {
            "/t.proto" => Ok(PROTO.into()),
            _ => Err("there is no other file".to_owned()),
        }),
        registry: Registry::default(),
    };
    let settings = Settings { schemas: schemas(), ..Settings::default() };
    Program::load(source, settings, WALL_NS, &mut |_: Notice<'_>| ControlFlow::Continue(WALL_NS))
        .unwrap_or_else(|failure| panic!("{failure}"))
}

fn ran(text: &str, max_duration_ns: u64) -> (Kept, Rc<RefCell<Did>>) {
    let program = program(text);
    let executor = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration_ns };
    let mut cast = cast(&program, vec![role(&program, executor)], 1);
    cast.network.call_agent = "agent/1".to_owned();
    let did: Rc<RefCell<Did>> = Rc::default();
    let peer = Modes { lines: BTreeMap::new(), did: Rc::clone(&did) };
    let Run { kept, .. } = run_with(cast, SimOptions::default(), Some(Box::new(peer)), |_, _| {});
    (kept, did)
}

/// The texts are those of k6 1.8.1.
#[test]
fn a_call_ends_with_the_status_that_k6_gives() {
    const TOO_LONG: &str = "grpc: received message larger than max (65535 vs. 100)";
    let cases = [
        ("ok", 0, ""),
        ("only=5", 5, "o!"),
        ("only=99", 99, "o!"),
        ("late", 10, ""),
        (
            "two",
            13,
            "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
        ),
        (
            "none",
            13,
            "cardinality violation: received no response message from non-server-streaming RPC",
        ),
        ("mute", 13, "server closed the stream without sending trailers"),
        ("cut", 13, "unexpected EOF"),
        ("flag", 13, "grpc: received unexpected payload format 9"),
        ("long", 8, TOO_LONG),
        ("junk", 13, "grpc: failed to unmarshal the received message: not a message of its type"),
        (
            "html",
            12,
            "unexpected HTTP status code received from server: 404; transport: received unexpected content-type \"text/html\"\ndata: \"<p>\"",
        ),
        ("reset=2", 13, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"),
        ("reset=7", 14, "stream terminated by RST_STREAM with error code: REFUSED_STREAM"),
        ("reset=8", 1, "stream terminated by RST_STREAM with error code: CANCEL"),
        ("reset=11", 8, "stream terminated by RST_STREAM with error code: ENHANCE_YOUR_CALM"),
        ("close", 14, "error reading from server: EOF"),
        ("ok", 0, ""),
        ("away", 14, "the connection is draining"),
        ("ok", 0, ""),
        ("hang", 4, "context deadline exceeded"),
        ("ok", 0, ""),
    ];
    let modes: Vec<&str> = cases.iter().map(|(mode, ..)| *mode).collect();
    let (kept, did) = ran(
        &format!(
            "export default () => {{
               client.connect('127.0.0.1:5', {{ plaintext: true, maxReceiveSize: 100 }});
               for (const mode of {modes:?}) {{
                 const r = call(mode);
                 console.log(`${{r.status}} ${{r.error ? r.error.message : ''}}`);
               }} }};"
        ),
        60 * S,
    );
    assert_eq!(kept.failures, [""; 0]);
    let want: Vec<String> = cases.iter().map(|(_, code, text)| format!("{code} {text}")).collect();
    assert_eq!(kept.lines, want);
    let ended: Vec<String> =
        cases.iter().map(|(_, code, _)| format!("ended {code} /t.T/Say")).collect();
    assert_eq!(kept.calls, ended);
    let did = did.borrow();
    // What a server refuses goes out twice; a connection that is lost is replaced.
    assert_eq!(did.requests.len(), cases.len() + 2, "{:?}", did.requests);
    assert_eq!(did.connections, 4);
    let head = &did.requests[0];
    for (name, value) in [
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("grpc-timeout", "2000000u"),
        ("user-agent", "agent/1"),
        ("x-mode", "ok"),
    ] {
        let of_name = head.iter().filter(|line| line.starts_with(&format!("{name}: ")));
        assert_eq!(of_name.collect::<Vec<_>>(), [&format!("{name}: {value}")]);
    }
}

#[test]
fn an_iteration_that_is_cut_off_resets_its_calls() {
    let (kept, did) = ran(
        "export default () => {
           client.connect('127.0.0.1:5', { plaintext: true });
           const stream = new grpc.Stream(client, 't.T/Chat', { metadata: { 'x-mode': 'hang' } });
           stream.on('end', () => console.log('end'));
           call('hang', { timeout: '1h' });
         };",
        S,
    );
    assert_eq!(kept.iterations.len(), 1);
    assert_eq!(kept.iterations[0].ended.requests_cut_off, 2);
    assert_eq!((kept.lines.len(), did.borrow().requests.len()), (0, 2));
    assert_eq!(kept.calls, ["Opened /t.T/Chat"]);
}

/// The script does not look at messages while it sleeps, and the server may send no more than a
/// window meanwhile.
#[test]
fn messages_that_the_script_does_not_take_hold_up_the_server() {
    let (kept, did) = ran(
        "export default () => {
           client.connect('127.0.0.1:5', { plaintext: true });
           const stream = new grpc.Stream(client, 't.T/Watch', { metadata: { 'x-mode': 'flood' } });
           let count = 0;
           stream.on('data', () => { if (++count === 1) sleep(5); if (count === 1 << 19) client.close(); });
           stream.on('end', () => console.log(count));
           stream.write({}); stream.end();
         };",
        600 * S,
    );
    assert_eq!(kept.failures, [""; 0]);
    let sent = did.borrow().flooded;
    assert!((1 << 19..2 << 20).contains(&sent), "{sent}");
    assert_eq!(kept.lines, [(1 << 19).to_string()]);
}

#[test]
fn a_connect_that_fails_is_an_exception() {
    let (kept, _) = ran(
        "export default () => {
           for (const address of ['127.0.0.1:5', 'nobody.invalid:5'])
             try { client.connect(address, { timeout: '1s' }); } catch (error) { console.log(error.message); }
         };",
        60 * S,
    );
    assert_eq!(kept.failures, [""; 0]);
    assert_eq!(kept.lines.len(), 2, "{:?}", kept.lines);
    assert!(
        kept.lines
            .iter()
            .all(|line| line.contains("connection error") || line.contains("deadline"))
    );
}
