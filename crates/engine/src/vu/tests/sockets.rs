//! WebSockets of scripts against a server on a thread: every event once, floods, and ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use plimsoll_core::executor::Executor;
use plimsoll_core::plan::DriverPlan;
use plimsoll_proto::websocket::handshake::accept;
use plimsoll_proto::websocket::{
    CloseCode, Event, Kind, Limits, MaskKey, Options, Outgoing, Role, Socket,
};

use super::{Kept, S, cast, program, role};
use crate::vu::{Controls, Network, Outcome, SocketEvent, prepare};

const NO_KEY: MaskKey = [0; 4];

/// A server that tells of the codes that its sockets were closed with; 1006 for none.
fn serve() -> (SocketAddr, Receiver<u16>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (closed, codes) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let closed: Sender<u16> = closed.clone();
            thread::spawn(move || {
                if let Some(code) = attend(stream) {
                    // The test may have seen enough.
                    let _ = closed.send(code);
                }
            });
        }
    });
    (address, codes)
}

/// Attends to a connection; gives the code that it was closed with if it was a WebSocket.
fn attend(mut stream: TcpStream) -> Option<u16> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let path = head.split(' ').nth(1)?;
    if path == "/404" {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnope").ok()?;
        return None;
    }
    let is_key = |line: &&str| line.to_ascii_lowercase().starts_with("sec-websocket-key: ");
    let key = head.lines().find(is_key)?.split_once(": ")?.1;
    let accept = accept(key.as_bytes());
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).ok()?;
    let options = Options { role: Role::Server, limits: Limits::default(), deflate: None };
    let mut socket = Socket::new(options);
    let mut out = Vec::new();
    match path {
        "/drop" => return None,
        "/reset" => {
            // With bytes that nobody has read, its end is a reset.
            stream.write_all(&out).ok()?;
            stream.peek(&mut [0]).ok()?;
            return None;
        }
        "/stay" => {
            socket.close(CloseCode::new(4000), "bye", NO_KEY, &mut out);
            stream.write_all(&out).ok()?;
            // Until the client closes the connection, which is for the server to do.
            while stream.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
            return None;
        }
        "/deaf" => {
            // It reads when the client is gone.
            thread::park();
        }
        "/close" => {
            let code = CloseCode::new(4000);
            socket.close(code, "bye", NO_KEY, &mut out);
        }
        "/greet" => {
            socket.send(&Outgoing::whole(Kind::Text, b"hello"), NO_KEY, &mut out);
            socket.send(&Outgoing::whole(Kind::Binary, &[1, 2]), NO_KEY, &mut out);
            socket.ping(b"p", NO_KEY, &mut out);
        }
        "/flood" => {
            let message = vec![b'x'; 64 << 10];
            socket.send(&Outgoing::whole(Kind::Text, &message), NO_KEY, &mut out);
            // Until the client closes.
            while stream.write_all(&out).is_ok() {}
            return None;
        }
        _ => {}
    }
    stream.write_all(&out).ok()?;
    Some(echo(stream, &mut socket).unwrap_or(1006))
}

/// Sends every message back until the client closes.
fn echo(mut stream: TcpStream, socket: &mut Socket) -> Option<u16> {
    let (mut buffer, mut message, mut out) = ([0; 4096], Vec::new(), Vec::new());
    loop {
        let len = stream.read(&mut buffer).ok().filter(|len| *len > 0)?;
        let (mut bytes, mut code) = (&buffer[..len], None);
        loop {
            let decoded = socket.receive(bytes, NO_KEY, &mut out).ok()?;
            let consumed = decoded.consumed;
            let mut whole = None;
            match decoded.event {
                None => break,
                Some(Event::Data(piece)) => message.extend_from_slice(piece),
                Some(Event::End(ended)) => whole = Some(ended.kind),
                Some(Event::Close(close)) => code = Some(close.code.number()),
                Some(_) => {}
            }
            bytes = &bytes[consumed..];
            if let Some(kind) = whole {
                socket.send(&Outgoing::whole(kind, &message), NO_KEY, &mut out);
                message.clear();
            }
        }
        stream.write_all(&out).ok()?;
        out.clear();
        if code.is_some() {
            return code;
        }
    }
}

/// Iterations of a script by one VU with this driver; `URL` in it is the server's.
fn iterate(script: &str, address: SocketAddr, driver: DriverPlan, executor: Executor) -> Kept {
    let program = program(&script.replace("URL", &format!("ws://{address}")));
    let mut cast = cast(&program, vec![role(&program, executor)], 1);
    cast.network = Network { driver, ..Network::default() };
    let controls = Arc::new(Controls::new(1));
    let prepared = prepare(cast, &controls, |_| Kept::default()).expect("it can be prepared");
    let mut ended = prepared.run().expect("it can be run");
    ended.tallies.pop().expect("there is one worker")
}

fn once(script: &str, address: SocketAddr, driver: DriverPlan) -> Kept {
    let executor = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration_ns: 60 * S };
    iterate(script, address, driver, executor)
}

/// How often each thing was told: sessions, sent, received, pongs, ends.
fn counts(kept: &Kept) -> [usize; 5] {
    let mut counts = [0; 5];
    for (_, _, what) in &kept.sockets {
        counts[match what {
            SocketEvent::Session { .. } => 0,
            SocketEvent::Sent => 1,
            SocketEvent::Received => 2,
            SocketEvent::Pong { .. } => 3,
            SocketEvent::Ended { .. } => 4,
        }] += 1;
    }
    counts
}

const DRIVERS: [DriverPlan; 2] = [DriverPlan::Auto, DriverPlan::Epoll];

#[test]
fn a_blocking_socket_talks_and_closes() {
    let (address, codes) = serve();
    let script = "import ws from 'k6/ws';
        export default function () {
          const r = ws.connect('URL/greet', null, (s) => {
            s.on('open', () => { s.send('a'); s.ping(); });
            s.on('message', (m) => console.log(m));
            s.on('pong', () => s.setTimeout(() => s.close(), 1));
            s.on('binaryMessage', (b) => console.log(b.byteLength));
            for (const e of ['ping', 'close']) s.on(e, (c) => console.log(e, c));
          });
          console.log(r.status, r.error);
        }";
    for driver in DRIVERS {
        let kept = once(script, address, driver);
        assert_eq!(kept.failures, [""; 0]);
        assert_eq!(kept.lines, ["hello", "2", "ping undefined", "a", "close 1001", "101 "]);
        assert_eq!(counts(&kept), [1, 1, 3, 1, 1]);
        assert_eq!(codes.recv(), Ok(1001));
        let bytes = kept.iterations[0].ended;
        assert!(bytes.sent_bytes > 100 && bytes.received_bytes > 100, "{bytes:?}");
    }
}

#[test]
fn sockets_of_the_event_loop_talk_and_close() {
    let (address, codes) = serve();
    let script = "import { WebSocket } from 'k6/websockets';
        export default function () {
          for (const path of ['close', '404', 'drop', 'echo']) {
            const w = new WebSocket(`URL/${path}`);
            w.onopen = () => { if (path === 'echo') { w.send(path); w.ping(); } };
            w.onmessage = (e) => { console.log(path, e.data); w.close(4001, 'done'); };
            w.onpong = () => console.log(path, 'pong');
            w.onerror = (e) => console.log(path, e.error);
            w.onclose = (e) => console.log(path, w.readyState, e.code, e.reason);
          }
        }";
    for driver in DRIVERS {
        let kept = once(script, address, driver);
        assert_eq!(kept.failures, [""; 0]);
        for (path, want) in [
            ("close", &["websocket: close 4000: bye", "3 4000 bye"][..]),
            ("404", &["websocket: bad handshake", "3 undefined "]),
            (
                "drop",
                &[
                    "websocket: close 1006 (abnormal closure): unexpected EOF",
                    "3 1006 unexpected EOF",
                ],
            ),
            ("echo", &["echo", "pong", "websocket: close 4001", "3 4001 "]),
        ] {
            let of = |line: &String| line.strip_prefix(&format!("{path} ")).map(str::to_owned);
            let lines: Vec<String> = kept.lines.iter().filter_map(of).collect();
            assert_eq!(lines, want, "{path}");
        }
        // A ping and a Close count as sent.
        assert_eq!(counts(&kept), [4, 3, 1, 1, 3]);
        let mut statuses: Vec<u16> = kept
            .sockets
            .iter()
            .filter(|(_, _, what)| matches!(what, SocketEvent::Session { .. }))
            .map(|(_, status, _)| *status)
            .collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [101, 101, 101, 404]);
        let mut closed = [codes.recv(), codes.recv()].map(|code| code.unwrap_or(0));
        closed.sort_unstable();
        assert_eq!(closed, [4000, 4001]);
    }
}

/// A connection whose other side has ended is not waited for; another is, after the end of the run.
#[test]
fn no_wait_for_connections_is_part_of_a_run() {
    let (address, _codes) = serve();
    for (path, waits) in [("drop", false), ("reset", false), ("stay", true)] {
        let script = format!(
            "import ws from 'k6/ws';
             export default () => ws.connect('ws://{address}/{path}', null, (s) => {{
                 s.on('open', () => s.send('a')); s.on('error', () => {{}}); }});"
        );
        for driver in DRIVERS {
            let program = program(&script);
            let executor =
                Executor::PerVuIterations { vus: 1, iterations: 2, max_duration_ns: 60 * S };
            let mut cast = cast(&program, vec![role(&program, executor)], 1);
            cast.network = Network { driver, ..Network::default() };
            let controls = Arc::new(Controls::new(1));
            let prepared = prepare(cast, &controls, |_| Kept::default()).expect("prepared");
            let ended = prepared.run().expect("it can be run");
            let waited_ns = controls.wound_up_ns();
            assert_eq!(waited_ns > S / 2, waits, "{path}: {waited_ns}");
            assert!(plimsoll_io::clock::now_ns() - ended.ended_ns >= waited_ns, "{path}");
            assert_eq!(waited_ns == 0, !waits, "{path}: {waited_ns}");
        }
    }
}

#[test]
fn no_server_is_an_error_of_the_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let script = "import ws from 'k6/ws';
        export default function () {
          const r = ws.connect('URL/', null, () => console.log('no'));
          console.log(r.status, r.url, r.error);
          console.log(ws.connect('http://a', null, () => {}).error);
        }";
    let kept = once(script, address, DriverPlan::Auto);
    let refused = format!("0  dial tcp {address}: connect: connection refused");
    assert_eq!(kept.lines, [refused, "malformed ws or wss URL".to_owned()]);
    // Such sessions have a duration, as in k6.
    assert_eq!(counts(&kept), [2, 0, 0, 0, 2]);
}

/// An iteration that is cut off closes its sockets: the server gets a Close, the script nothing.
#[test]
fn sockets_end_with_their_iteration() {
    let (address, codes) = serve();
    for (module, script) in [
        ("ws", "ws.connect('URL/', null, (s) => { s.on('close', () => console.log('no')); });"),
        ("websockets", "new ws.WebSocket('URL/').onclose = () => console.log('no');"),
    ] {
        let script =
            format!("import * as ws from 'k6/{module}'; export default function () {{ {script} }}");
        for driver in DRIVERS {
            let executor = Executor::ConstantVus { vus: 1, duration_ns: S / 5 };
            let kept = iterate(&script, address, driver, executor);
            assert_eq!((kept.lines.len(), &kept.failures[..]), (0, &[][..]));
            assert_eq!(kept.iterations.len(), 1);
            assert_eq!(kept.iterations[0].ended.outcome, Outcome::Interrupted);
            assert_eq!(counts(&kept), [1, 0, 0, 0, 0]);
            assert_eq!(codes.recv(), Ok(1001), "{module}");
        }
    }
    // So it is after an exception, and the next iteration has sockets of its own.
    let script = "import { WebSocket } from 'k6/websockets';
        export default function () {
          const w = new WebSocket('URL/'); w.onopen = () => { throw new Error('oh'); };
        }";
    let executor = Executor::PerVuIterations { vus: 1, iterations: 3, max_duration_ns: 60 * S };
    let kept = iterate(script, address, DriverPlan::Auto, executor);
    assert_eq!(kept.failures.len(), 3);
    assert_eq!([codes.recv(), codes.recv(), codes.recv()], [Ok(1001); 3]);
}

/// A script that is slower than its server gets what it takes, and the rest waits outside.
#[test]
fn a_flood_waits_for_the_script() {
    let (address, _codes) = serve();
    let script = "import { WebSocket } from 'k6/websockets'; import { sleep } from 'k6';
        export default function () {
          const w = new WebSocket('URL/flood');
          let count = 0;
          w.onmessage = (e) => {
            if (e.data.length !== 65536) throw new Error(`${e.data.length}`);
            count += 1;
            if (count % 50 === 1) sleep(0.01);
            if (count === 200) w.close();
          };
          w.onclose = () => {};
        }";
    for driver in DRIVERS {
        let executor = Executor::ConstantVus { vus: 1, duration_ns: S / 2 };
        let kept = iterate(script, address, driver, executor);
        assert_eq!(kept.failures, [""; 0]);
        assert!(counts(&kept)[2] >= 200, "{:?}", counts(&kept));
    }
}

/// A server that does not read: the script learns how much waits, and no more than a limit does.
#[test]
fn what_waits_to_be_sent_is_bounded() {
    let (address, _codes) = serve();
    let script = "import { WebSocket } from 'k6/websockets';
        export default function () {
          const w = new WebSocket('URL/deaf');
          const part = 'x'.repeat(1 << 20);
          w.onopen = () => {
            try { for (let n = 0; n < 1000; n++) w.send(part); } catch (e) {
              console.log(e.message);
              console.log(w.bufferedAmount > 50e6, w.bufferedAmount <= 64 * (1 << 20));
              throw e;
            }
          };
        }";
    let kept = once(script, address, DriverPlan::Auto);
    assert_eq!(kept.lines.len(), 2, "{:?}", kept.lines);
    assert!(kept.lines[0].starts_with("64 MiB of messages wait"), "{:?}", kept.lines);
    assert_eq!(kept.lines[1], "true true");
    assert!(counts(&kept)[1] < 100, "{:?}", counts(&kept));
}
