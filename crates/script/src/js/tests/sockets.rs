//! WebSockets of `k6/ws` and `k6/websockets`: a test plays the server. What a script sends is in
//! the trace, and what the server does is a list for each socket.

use std::collections::VecDeque;

use super::*;

/// What a server does.
#[derive(Clone)]
enum Does {
    Opens(&'static str),
    Declines(u16),
    Refuses,
    Says(&'static str),
    Gives(&'static [u8]),
    Pings,
    Pongs,
    Closes(u16, &'static str),
}
use Does::{Closes, Declines, Gives, Opens, Pings, Pongs, Refuses, Says};

struct Server {
    program: Program,
    now_ns: u64,
    trace: Vec<String>,
    /// What is left to do, by the number of the socket; the next socket gets the first of `next`.
    open: Vec<(u32, VecDeque<Does>)>,
    next: VecDeque<Vec<Does>>,
    queued: u64,
}

/// The first step of a task after the pauses between turns.
fn after_pauses(vu: &mut Vu, task: Task) -> Step {
    let mut step = vu.begin(task, START_NS);
    while step == Step::Pause {
        step = vu.resume(Reply::Taken, START_NS);
    }
    step
}

impl Server {
    fn run(text: &str, sockets: &[&[Does]]) -> Vec<String> {
        let program = load(text).unwrap_or_else(|failure| panic!("{failure}"));
        let next = sockets.iter().map(|does| does.to_vec()).collect();
        let (trace, open) = (Vec::new(), Vec::new());
        let mut server = Self { program, now_ns: START_NS, trace, open, next, queued: 0 };
        let worker = Rc::new(Worker::new());
        let mut vu = server.program.spawn(&worker, 1).unwrap();
        assert_eq!(after_pauses(&mut vu, Task::Evaluate), Step::Done(Ending::Complete));
        let function = server.program.function("default").expect("a default function");
        let mut step = vu.begin(Task::Iterate(function), START_NS);
        for _ in 0..10_000 {
            if let Step::Done(ending) = step {
                let failure = vu.error().map(|failure| failure.text);
                let place = failure.map(|text| text.rsplit(": ").next().unwrap_or("").to_owned());
                server.trace.push(format!(
                    "{ending:?}{}",
                    place.map_or(String::new(), |text| format!(" {text}"))
                ));
                return server.trace;
            }
            step = server.carry_out(&mut vu, step);
        }
        panic!("it does not end: {:?}", server.trace);
    }

    fn carry_out(&mut self, vu: &mut Vu, step: Step) -> Step {
        match step {
            Step::Connect(number) => {
                let does = self.next.pop_front().unwrap_or_default();
                self.open.push((number, does.into()));
                let dial = vu.dial(number);
                let fault = if dial.fault.is_empty() { "" } else { " fault: " };
                self.trace.push(format!("connect {} {}{fault}{}", number, dial.url, dial.fault));
                drop(dial);
                vu.resume(Reply::Taken, self.now_ns)
            }
            Step::Transmit(number) => {
                let line = {
                    let outgoing = vu.outgoing();
                    let payload = String::from_utf8_lossy(&outgoing.payload);
                    self.queued += payload.len() as u64;
                    format!("{number} sends {:?} {payload}", outgoing.sends)
                };
                self.trace.push(line);
                vu.resume(Reply::Queued(self.queued), self.now_ns)
            }
            Step::Queued(_) => vu.resume(Reply::Queued(self.queued), self.now_ns),
            Step::Release(number) => {
                self.trace.push(format!("release {number}"));
                self.open.retain(|(open, _)| *open != number);
                vu.resume(Reply::Taken, self.now_ns)
            }
            Step::Listen(of, wait_ns) => self.listen(vu, of, wait_ns),
            Step::Sleep(sleep_ns) | Step::Wait(Some(sleep_ns)) => {
                self.now_ns += sleep_ns;
                vu.resume(Reply::Woken, self.now_ns)
            }
            Step::Log(_) => {
                self.trace.push(vu.line().to_owned());
                vu.resume(Reply::Taken, self.now_ns)
            }
            _ => vu.resume(Reply::Taken, self.now_ns),
        }
    }

    fn listen(&mut self, vu: &mut Vu, of: Option<u32>, wait_ns: Option<u64>) -> Step {
        let is_meant = |(number, does): &&mut (u32, VecDeque<Does>)| {
            of.is_none_or(|of| of == *number) && !does.is_empty()
        };
        let Some((number, does)) = self.open.iter_mut().find(is_meant) else {
            // No clock is as fine as the last bit of a time that JavaScript has as a number.
            self.now_ns += wait_ns.map_or(0, |wait_ns| wait_ns.max(1_000));
            return vu.resume(Reply::Woken, self.now_ns);
        };
        let (number, next) = (*number, does.pop_front().expect("it is there"));
        let head = match &next {
            Opens(fields) => (*fields).to_owned(),
            _ => "X-A: 1\r\nx-a: 2\r\n".to_owned(),
        };
        let answer =
            Answer { request: number, status: 101, head: head.as_bytes(), ..Answer::default() };
        let over = |answer, code, reason| News::Over { answer, code, reason, error: "" };
        let news = match next {
            Opens(_) => News::Open(answer),
            Declines(status) => over(Answer { status, body: b"no", ..answer }, None, ""),
            Refuses => over(Answer { error: "refused", ..Answer::default() }, None, ""),
            Says(text) => News::Text(text.as_bytes()),
            Gives(bytes) => News::Binary(bytes),
            Pings => News::Ping,
            Pongs => News::Pong,
            Closes(code, reason) => over(Answer::default(), Some(code), reason),
        };
        if matches!(news, News::Over { .. }) {
            self.open.retain(|(open, _)| *open != number);
        }
        vu.resume(Reply::News(number, news), self.now_ns)
    }
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// A script of `k6/ws`, in which `s` is the socket and every event is logged.
fn ws(body: &str, does: &[Does]) -> Vec<String> {
    let text = format!(
        "import ws from 'k6/ws';
         export default function () {{
           const log = (...args) => console.log(args.map(String).join(' '));
           const r = ws.connect('ws://a/b', null, (s) => {{
             for (const e of ['open', 'message', 'ping', 'pong', 'close']) s.on(e, (...a) => log(e, ...a));
             s.on('binaryMessage', (b) => log('binary', new Uint8Array(b)));
             s.on('error', (e) => log('error', e.error()));
             {body}
           }});
           log('returned', r.status, r.url, r.body, r.error, JSON.stringify(r.headers));
         }}"
    );
    Server::run(&text, &[does])
}

#[test]
fn every_event_of_a_blocking_socket_comes_once_and_in_order() {
    let does =
        [Opens("X-A: 1\r\n"), Says("one"), Gives(b"\x01\x02"), Pings, Pongs, Closes(4000, "bye")];
    let body = "s.on('open', () => { s.send('x'); s.send(5); s.send(null); s.ping(); \
                s.sendBinary(new Uint8Array([65]).buffer); });";
    let want = "connect 0 ws://a/b
        open
        0 sends Text x
        0 sends Text 5
        0 sends Text
        0 sends Ping
        0 sends Binary A
        message one
        binary 1,2
        ping
        pong
        error websocket: close 4000: bye
        close 4000
        returned 101 ws://a/b   {\"X-A\":\"1\"}
        Complete";
    let trace = ws(body, &does);
    let trace: Vec<&str> = trace.iter().map(|line| line.trim()).collect();
    assert_eq!(trace, lines(want));
}

#[test]
fn a_blocking_socket_ends_as_in_k6() {
    for (body, does, want) in [
        // A close of the script's is told at once, with its code, and nothing follows.
        (
            "s.on('message', () => { s.close(); s.close(); s.send('late'); });",
            &[Opens(""), Says("a"), Says("b")][..],
            "open\nmessage a\n0 sends Close(1001, \"\")\nrelease 0\nclose 1001\n\
             error websocket: close sent\nreturned 101 ws://a/b   {}\nComplete",
        ),
        (
            "s.on('open', () => s.close(4005));",
            &[Opens("")],
            "open\n0 sends Close(4005, \"\")\nrelease 0\nclose 4005\nreturned 101 ws://a/b   {}\n\
             Complete",
        ),
        (
            "",
            &[Opens(""), Closes(1000, "")],
            "open\nclose 1000\nreturned 101 ws://a/b   {}\nComplete",
        ),
        (
            "",
            &[Opens(""), Closes(1006, "unexpected EOF")],
            "open\nerror websocket: close 1006 (abnormal closure): unexpected EOF\nclose 1006\n\
             returned 101 ws://a/b   {}\nComplete",
        ),
        ("", &[Declines(404)], "returned 404  no  {\"X-A\":\"1, 2\"}\nComplete"),
        ("", &[Refuses], "returned 0   refused {}\nComplete"),
        // An exception closes the socket, and is the iteration's.
        (
            "s.on('message', () => { throw new Error('oh'); });",
            &[Opens(""), Says("a"), Says("b")],
            "open\nmessage a\n0 sends Close(1001, \"\")\nrelease 0\nclose 1001\nFailed oh",
        ),
        (
            "throw new Error('oh');",
            &[Opens(""), Says("a")],
            "0 sends Close(1001, \"\")\nrelease 0\nclose 1001\nFailed oh",
        ),
        // Timers are the socket's own, and end with it.
        (
            "s.setTimeout(() => { log('late'); s.close(1000); }, 25); let n = 0; \
             s.setInterval(() => log('tick', ++n), 10);",
            &[Opens("")],
            "open\ntick 1\ntick 2\nlate\n0 sends Close(1000, \"\")\nrelease 0\nclose 1000\n\
             returned 101 ws://a/b   {}\nComplete",
        ),
    ] {
        let trace = ws(body, does);
        let trace: Vec<&str> = trace[1..].iter().map(|line| line.trim()).collect();
        assert_eq!(trace, lines(want), "{body}");
    }
}

#[test]
fn wrong_calls_of_a_blocking_socket_are_exceptions() {
    for (call, want) in [
        ("ws.connect()", "invalid number of arguments to ws.connect"),
        ("ws.connect('ws://a')", "invalid number of arguments to ws.connect"),
        ("ws.connect('ws://a', {}, 5)", "last argument to ws.connect must be a function"),
        (
            "ws.connect('ws://a', { compression: 'gzip' }, () => {})",
            "unsupported compression algorithm 'gzip', supported algorithm is 'deflate'",
        ),
        (
            "ws.connect('ws://a', null, (s) => s.setTimeout(() => {}, 0))",
            "setTimeout requires a >0 timeout parameter, received 0.00",
        ),
        ("ws.connect('ws://a', null, (s) => s.sendBinary('x'))", "String"),
    ] {
        let text = format!("import ws from 'k6/ws'; export default function () {{ {call}; }}");
        let trace = Server::run(&text, &[&[Opens("")]]);
        assert!(trace.last().is_some_and(|line| line.ends_with(want)), "{call}: {trace:?}");
    }
    // These are sockets that cannot be opened.
    for (url, params, want) in [
        ("http://a/", "null", "malformed ws or wss URL"),
        ("ws://u:p@a/", "null", "malformed ws or wss URL"),
        (
            "ws://a/",
            "{ headers: { 'sec-websocket-key': 'x' } }",
            "websocket: duplicate header not allowed: Sec-Websocket-Key",
        ),
    ] {
        let text = format!(
            "import ws from 'k6/ws';
             export default function () {{ ws.connect('{url}', {params}, () => {{}}); }}"
        );
        let trace = Server::run(&text, &[&[Refuses]]);
        assert_eq!(trace[0], format!("connect 0 {url} fault: {want}"));
    }
}

/// A script of `k6/websockets` with a function `open` that logs every event of a socket.
fn websockets(body: &str, sockets: &[&[Does]]) -> Vec<String> {
    let text = format!(
        "import {{ WebSocket, Blob }} from 'k6/websockets';
         const log = (...args) => console.log(args.map(String).join(' '));
         const open = (name, url = 'ws://a/b', protocols, params) => {{
           const w = new WebSocket(url, protocols, params);
           for (const e of ['open', 'message', 'error', 'close', 'ping', 'pong']) {{
             w.addEventListener(e, (event) => log(name, e, w.readyState,
               event.data ?? event.error ?? event.code ?? '', event.reason ?? ''));
           }}
           return w;
         }};
         export default function () {{ {body} }}"
    );
    let trace = Server::run(&text, sockets);
    trace.iter().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn every_event_of_a_socket_comes_once_and_in_order() {
    let does = [
        Opens("Sec-WebSocket-Protocol: p\r\n"),
        Says("one"),
        Gives(b"\x01\x02"),
        Pings,
        Pongs,
        Closes(4000, "bye"),
    ];
    let body = "const w = open('w'); log(w.readyState, w.url, w.binaryType);
        w.onopen = (e) => {
          log('own', w.protocol, e.target === w, typeof e.timestamp);
          w.send('x'); w.send(new Uint8Array([65])); w.send(new Uint8Array([66]).buffer);
          w.send(new Blob(['C'])); w.send(new DataView(new Uint8Array([67, 68]).buffer, 1));
          w.ping(); log('queued', w.bufferedAmount); };
        setTimeout(() => log('timer'), 1);";
    let want = "connect 0 ws://a/b
        0 ws://a/b blob
        own p true number
        0 sends Text x
        0 sends Binary A
        0 sends Binary B
        0 sends Binary C
        0 sends Binary D
        0 sends Ping
        queued 5
        w open 1
        w message 1 one
        w message 1 [object Blob]
        w ping 1
        w pong 1
        w error 3 websocket: close 4000: bye
        w close 3 4000 bye
        timer
        Complete";
    assert_eq!(websockets(body, &[&does]), lines(want));
}

#[test]
fn sockets_end_as_in_k6() {
    for (body, sockets, want) in [
        // The close waits for that of the server. A message before that is for nobody.
        (
            "const w = open('w'); w.onopen = () => { w.close(4001, 'why'); log(w.readyState); \
             w.close(); try { w.send('x'); } catch (e) { log(e.message); } };",
            &[&[Opens(""), Says("late"), Closes(1000, "")][..]][..],
            "0 sends Close(4001, \"why\")\n2\nInvalidStateError\nw open 2\n\
             w close 3 1000\nComplete",
        ),
        // Once it is closed, no code is wrong; no code at all is the usual one, as is no number.
        (
            "const w = open('w'); w.onopen = () => { w.close(); w.close(1); }; \
             w.onclose = () => w.close(1);",
            &[&[Opens(""), Closes(1000, "")]],
            "0 sends Close(1000, \"\")\nw open 2\nw close 3 1000\nComplete",
        ),
        (
            "for (const code of [0, null, NaN, 'x', '1000', 1000.7]) { const w = open('w'); \
             w.onopen = () => w.close(code, null); }",
            &[
                &[Opens(""), Closes(1000, "")],
                &[Opens(""), Closes(1000, "")],
                &[Opens(""), Closes(1000, "")],
                &[Opens(""), Closes(1000, "")],
                &[Opens(""), Closes(1000, "")],
                &[Opens(""), Closes(1000, "")],
            ],
            "connect 1 ws://a/b\nconnect 2 ws://a/b\nconnect 3 ws://a/b\nconnect 4 ws://a/b\n\
             connect 5 ws://a/b\n\
             0 sends Close(1000, \"\")\nw open 2\nw close 3 1000\n\
             1 sends Close(1000, \"\")\nw open 2\nw close 3 1000\n\
             2 sends Close(1000, \"\")\nw open 2\nw close 3 1000\n\
             3 sends Close(1000, \"\")\nw open 2\nw close 3 1000\n\
             4 sends Close(1000, \"\")\nw open 2\nw close 3 1000\n\
             5 sends Close(1000, \"\")\nw open 2\nw close 3 1000\nComplete",
        ),
        // Setting `undefined` removes a handler.
        (
            "const w = new WebSocket('ws://a/b'); w.onopen = () => log('never'); \
             w.onopen = undefined; log(w.onopen); w.onclose = () => log('closed');",
            &[&[Opens(""), Closes(1000, "")]],
            "null\nclosed\nComplete",
        ),
        // The exception that ends a socket is the iteration's, whatever handlers of the end do.
        (
            "const w = open('w'); w.onmessage = () => { w.close(3000); throw new Error('oh'); }; \
             w.onclose = () => { throw new Error('another'); };",
            &[&[Opens(""), Says("a")]],
            "w open 1\n0 sends Close(3000, \"\")\nrelease 0\nw error 3 Error: oh\nFailed oh",
        ),
        (
            "const w = open('w'); w.onmessage = () => { w.close(3000); throw new Error('oh'); };",
            &[&[Opens(""), Says("a")]],
            "w open 1\n0 sends Close(3000, \"\")\nrelease 0\nw error 3 Error: oh\n\
             w close 3 3000\nFailed oh",
        ),
        (
            "const w = open('w'); w.onmessage = () => { throw new Error('oh'); }; \
             w.onerror = () => { throw new Error('another'); };",
            &[&[Opens(""), Says("a")]],
            "w open 1\nrelease 0\nFailed oh",
        ),
        // One that is closed before it is open is never open.
        (
            "const w = open('w'); w.close(); log(w.readyState);",
            &[&[Opens(""), Closes(1000, "")]],
            "2\n0 sends Close(1000, \"\")\nw close 3 1000\nComplete",
        ),
        (
            "open('w'); open('v');",
            &[&[Declines(404)], &[Refuses]],
            "connect 1 ws://a/b\nw error 3 websocket: bad handshake\nw close 3\n\
             v error 3 refused\nv close 3\nComplete",
        ),
        // An exception is an error of the socket, then the iteration's.
        (
            "const w = open('w'); w.onmessage = () => { throw new Error('oh'); };",
            &[&[Opens(""), Says("a"), Says("b")]],
            "w open 1\nrelease 0\nw error 3 Error: oh\nw close 3\nFailed oh",
        ),
        (
            "const w = open('w'); w.onclose = () => { throw new Error('oh'); };",
            &[&[Opens(""), Closes(1000, "")]],
            "w open 1\nFailed oh",
        ),
        // The number of one that is over is used again, and a promise goes on between events.
        (
            "const w = open('w'); w.onclose = () => { Promise.resolve().then(() => log('job')); \
             open('v'); };",
            &[&[Opens(""), Closes(1000, "")], &[Opens(""), Closes(1001, "")]],
            "w open 1\nconnect 0 ws://a/b\nw close 3 1000\njob\nv open 1\nv close 3 1001\nComplete",
        ),
    ] {
        let trace = websockets(body, sockets);
        assert_eq!(trace[1..], lines(want), "{body}");
    }
}

#[test]
fn wrong_calls_of_sockets_are_exceptions() {
    for (call, want) in [
        ("new WebSocket()", "WebSocket requires a url"),
        ("new WebSocket('foo')", "but got \"\""),
        ("new WebSocket('http://a')", "but got \"http\""),
        ("new WebSocket('ws://a/#x')", "but got \"x\""),
        ("new WebSocket('ws://a b/')", "no host has: write names beyond ASCII as xn--…"),
        ("new WebSocket('ws://a', null, { bogus: 1 })", "unknown WebSocket's option bogus"),
        ("new WebSocket('ws://a', null, { compression: '' })", "supported algorithm is 'deflate'"),
        ("open('w').send('x')", "InvalidStateError"),
        ("open('w').ping()", "InvalidStateError"),
        ("open('w').close(99)", "1000, or between 3000 and 4999. 99 is neither"),
        ("open('w').close(1000, 'x'.repeat(124))", "must not be greater than 123 bytes"),
        ("open('w').binaryType = 'x'", "the supported ones are \"blob\" and \"arraybuffer\""),
        ("open('w').onopen = 5", "a value for 'onopen' should be callable"),
        ("open('w').addEventListener('open')", "\"open\" isn't a callable function"),
        ("new Blob(5)", "the parts of a Blob are an array"),
        ("new Blob([1])", "views of them and Blobs"),
    ] {
        let trace = websockets(
            &format!("try {{ {call}; }} catch (e) {{ log(e.message); }}"),
            &[&[Refuses]],
        );
        assert!(trace.iter().any(|line| line.ends_with(want)), "{call}: {trace:?}");
    }
}

#[test]
fn blobs_are_bytes() {
    let body = "const b = new Blob(['ab', new Uint8Array([99]), new Blob(['d'])], { type: 't' });
        log(b.size, b.type, b, b.slice(1, 3).size, b.slice(-1).size, b.slice(3, 1).size);
        b.text().then((t) => log(t));
        b.slice(1, -1).arrayBuffer().then((a) => log(new Uint8Array(a)));
        b.bytes().then((a) => log(a));";
    let want = "4 t [object Blob] 2 1 0\nabcd\n98,99\n97,98,99,100\nComplete";
    assert_eq!(websockets(body, &[]), lines(want));
}

#[test]
fn a_request_for_a_socket_has_all_its_fields() {
    let program = load(
        "import { WebSocket } from 'k6/websockets'; import http from 'k6/http';
         export default function () {
           http.cookieJar().set('http://a/', 'c', 'v');
           new WebSocket('wss://a:1/b', ['p', 'q'],
             { headers: { 'X-A': 5 }, compression: 'deflate', tags: { name: 'n' } });
         }",
    )
    .unwrap();
    let worker = Rc::new(Worker::new());
    let mut vu = program.spawn(&worker, 1).unwrap();
    assert_eq!(after_pauses(&mut vu, Task::Evaluate), Step::Done(Ending::Complete));
    let function = program.function("default").expect("it is there");
    assert_eq!(after_pauses(&mut vu, Task::Iterate(function)), Step::Connect(0));
    let dial = vu.dial(0);
    let mut flow = http::Flow::new();
    assert_eq!(
        flow.begin(&dial.request, &http::HttpOptions::default(), START_NS),
        http::Next::Send
    );
    let wire = String::from_utf8(flow.wire().to_vec()).unwrap();
    let key = wire.lines().find_map(|line| line.strip_prefix("Sec-Websocket-Key: ")).unwrap();
    let want = format!(
        "GET /b HTTP/1.1\r\nHost: a:1\r\nConnection: Upgrade\r\nCookie: c=v\r\n\
         Sec-Websocket-Extensions: permessage-deflate; server_no_context_takeover; \
         client_no_context_takeover\r\nSec-Websocket-Key: {key}\r\nSec-Websocket-Protocol: p, q\r\n\
         Sec-Websocket-Version: 13\r\nUpgrade: websocket\r\nX-A: 5\r\n\r\n"
    );
    assert_eq!(wire, want);
    let Dial { nonce, subprotocols, offers_deflate, is_blocking, .. } = &*dial;
    assert_eq!(
        (&subprotocols[..], *offers_deflate, *is_blocking),
        (&["p".to_owned(), "q".to_owned()][..], true, false)
    );
    assert!(nonce.iter().any(|byte| *byte != 0));
    assert_eq!(dial.request.name, "n");
    drop(dial);
    // What was open is gone with the iteration.
    assert_eq!(vu.cancel(START_NS), Some(Ending::Cancelled));
    assert_eq!(after_pauses(&mut vu, Task::Iterate(function)), Step::Connect(0));
}
