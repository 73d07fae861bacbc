//! `/ws`: what a client of our own and hand-made bytes get from it, and when.

use plimsoll_proto::http1::{self, RequestKind, ResponseDecoder, ResponseEvent};
use plimsoll_proto::websocket::handshake::{Agreed, Offer};
use plimsoll_proto::websocket::{
    CloseCode, Deflater, Event, Kind, Limits, Options, Outgoing, Role, Socket,
};

use crate::world::{Act, MS, S, Scene};

const OFFER: Offer<'static> =
    Offer { nonce: *b"the sample nonce", subprotocols: &["chat", "superchat"], deflate: false };
const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn request(target: &str, offer: &Offer<'_>) -> Vec<u8> {
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: a\r\n").into_bytes();
    offer.write_fields(&mut request);
    request.extend_from_slice(b"\r\n");
    request
}

fn text(payload: &[u8]) -> Vec<u8> {
    let mut socket = client(None);
    let mut out = Vec::new();
    assert!(socket.send(&Outgoing::whole(Kind::Text, payload), KEY, &mut out));
    out
}

fn close(code: CloseCode) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(client(None).close(Some(code), "", KEY, &mut out));
    out
}

fn client(agreed: Option<Agreed>) -> Socket {
    let deflate = agreed.and_then(|agreed| agreed.deflate);
    Socket::new(Options { role: Role::Client, limits: Limits::default(), deflate })
}

/// What a client makes of what it got: what was agreed on, and a line for each event.
fn seen(offer: &Offer<'_>, bytes: &[u8]) -> (Agreed, Vec<String>) {
    let mut decoder = ResponseDecoder::new(http1::Limits::default());
    let decoded = decoder.decode(RequestKind::Plain, bytes).expect("a response");
    let Some(ResponseEvent::Head(head)) = decoded.event else { panic!("no head") };
    let agreed = offer.check(&head).expect("a WebSocket");
    let mut input = &bytes[head.head_bytes().len()..];
    let mut socket = client(Some(agreed));
    let (mut lines, mut payload, mut out) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let decoded = socket.receive(input, KEY, &mut out).expect("what the server sends is right");
        input = &input[decoded.consumed..];
        match decoded.event {
            None => return (agreed, lines),
            Some(Event::Begin(_)) => payload.clear(),
            Some(Event::Data(piece)) => payload.extend_from_slice(piece),
            Some(Event::End(message)) => lines.push(format!(
                "{:?} in {}: {}",
                message.kind,
                message.fragments,
                payload.escape_ascii()
            )),
            Some(Event::Ping(payload)) => lines.push(format!("ping {}", payload.escape_ascii())),
            Some(Event::Pong(payload)) => lines.push(format!("pong {}", payload.escape_ascii())),
            Some(Event::Close(close)) => lines.push(format!("close {}", close.code)),
        }
    }
}

#[test]
fn echoes_however_the_bytes_are_cut() {
    let ping = b"\x89\x81\0\0\0\0p";
    let empty = b"\x82\x80\0\0\0\0";
    let frames = [&text(b"hello")[..], ping, empty, &close(CloseCode::NORMAL)].concat();
    let data = [request("/ws", &OFFER), frames].concat();
    let cuts: Vec<usize> = (1..data.len()).collect();
    for cuts in cuts.chunks(20) {
        let script = cuts.iter().enumerate().flat_map(|(client, &cut)| {
            let (start, end) = data.split_at(cut);
            [(MS, client, Act::Send(start.to_vec())), (2 * MS, client, Act::Send(end.to_vec()))]
        });
        let outcome = Scene { script: script.collect(), ..Scene::default() }.run();
        assert_eq!(outcome.clients.len(), cuts.len());
        for (client, cut) in outcome.clients.iter().zip(cuts) {
            let (agreed, lines) = seen(&OFFER, &client.bytes);
            assert_eq!((agreed.subprotocol, agreed.deflate), (Some(0), None));
            let want = ["Text in 1: hello", "pong p", "Binary in 1: ", "close 1000"];
            assert_eq!(lines, want, "cut at {cut}");
            assert!(client.ended_ns.is_some() && client.reset_ns.is_none());
        }
        assert_eq!(outcome.counters.messages, 2 * cuts.len() as u64);
        assert_eq!(outcome.open, 0);
    }
}

#[test]
fn scripts() {
    for (target, lines) in [
        ("/ws?subprotocol=superchat", &["Text in 1: hello", "Text in 1: again"][..]),
        ("/ws?fragments=3", &["Text in 3: hello", "Text in 3: again"]),
        ("/ws?fragments=3&pause=10ms", &["Text in 3: hello", "Text in 3: again"]),
        ("/ws?delay=100ms", &["Text in 1: hello", "Text in 1: again"]),
        ("/ws?close-after=1&close-code=4000", &["Text in 1: hello", "close 4000"]),
        (
            "/ws?push=900ms&size=2",
            &[
                "Text in 1: hello",
                "Text in 1: again",
                "Binary in 1: pp",
                "Binary in 1: pp",
                "Binary in 1: pp",
            ],
        ),
    ] {
        let data = [request(target, &OFFER), text(b"hello"), text(b"again")].concat();
        let outcome = Scene::ask(data).run();
        let client = &outcome.clients[0];
        let (agreed, seen) = seen(&OFFER, &client.bytes);
        assert_eq!(seen, lines, "{target}");
        assert_eq!(agreed.subprotocol == Some(1), target.contains("superchat"), "{target}");
        assert_eq!(client.ended_ns.is_some(), target.contains("close"), "{target}");
    }
}

#[test]
fn delays_and_pauses() {
    for (target, delay_ns) in
        [("/ws?delay=100ms", 100 * MS), ("/ws?fragments=3&pause=50ms", 100 * MS)]
    {
        let data = [request(target, &OFFER), text(b"hello")].concat();
        let outcome = Scene::ask(data).run();
        let client = &outcome.clients[0];
        let last_ns = client.at_ns(client.bytes.len());
        let waited_ns = last_ns - client.at_ns(1);
        assert!((delay_ns..delay_ns + 10 * MS).contains(&waited_ns), "{target}: {waited_ns} ns");
    }
}

#[test]
fn compression() {
    let offer = Offer { deflate: true, ..OFFER };
    let plain = "compress ".repeat(50);
    let parameters = plimsoll_proto::websocket::DeflateParameters {
        window_bits: 15,
        peer_no_context_takeover: true,
    };
    let mut deflater = Deflater::new();
    let payload = deflater.message(plain.as_bytes(), parameters).expect("a message").to_vec();
    let agreed = Agreed { subprotocol: None, deflate: Some(parameters) };
    let mut data = request("/ws?fragments=2", &offer);
    let mut socket = client(Some(agreed));
    for _ in 0..2 {
        let what =
            Outgoing { kind: Kind::Text, payload: &payload, is_compressed: true, is_last: true };
        assert!(socket.send(&what, KEY, &mut data));
    }
    let outcome = Scene::ask(data).run();
    let bytes = &outcome.clients[0].bytes;
    let (agreed, lines) = seen(&offer, bytes);
    assert!(agreed.deflate.is_some());
    assert_eq!(lines, vec![format!("Text in 2: {plain}"); 2]);
    assert!(bytes.len() < plain.len(), "{} bytes", bytes.len());
}

#[test]
fn broken_clients_are_told_and_left() {
    for (frames, code) in [
        (b"\x81\x01a".to_vec(), 1002),
        (b"\x83\x80\0\0\0\0".to_vec(), 1002),
        (text(b"\xff"), 1007),
        ([&b"\x82\xff\0\0\0\0\x7f\0\0\0"[..], &KEY].concat(), 1009),
    ] {
        let outcome = Scene::ask([request("/ws", &OFFER), frames].concat()).run();
        let client = &outcome.clients[0];
        assert_eq!(seen(&OFFER, &client.bytes).1, [format!("close {code}")]);
        assert!(client.ended_ns.is_some() && client.reset_ns.is_none());
        assert_eq!((outcome.counters.refused, outcome.open), (1, 0));
    }
}

/// 13 MB of pings, and nobody reads the answers.
#[test]
fn a_client_that_pings_and_does_not_read_is_not_read_from() {
    let mut pings = Vec::new();
    let mut socket = client(None);
    (0..1000).for_each(|_| {
        socket.ping(&[b'x'; 125], KEY, &mut pings);
    });
    let mut script = vec![(0, 0, Act::Send(request("/ws", &OFFER))), (MS, 0, Act::Pause)];
    script.extend((2..102).map(|at| (at * MS, 0, Act::Send(pings.clone()))));
    let outcome = Scene { script, ..Scene::default() }.run();
    let sent = outcome.counters.bytes_sent;
    assert!((10_000..3 << 20).contains(&sent), "{sent} bytes");
}

/// Several messages of 1 MB at once, whether the client reads meanwhile or only later, and whether
/// answers go out at once or wait.
#[test]
fn large_messages_in_flight_are_all_answered() {
    const BYTES: usize = 1_000_000;
    for target in ["/ws", "/ws?delay=20ms", "/ws?fragments=5&pause=5ms"] {
        for reads_from_ns in [0, S] {
            let messages = text(&vec![b'x'; BYTES]).repeat(4);
            let mut script = vec![(MS, 0, Act::Send(request(target, &OFFER)))];
            if reads_from_ns > 0 {
                script.extend([(2 * MS, 0, Act::Pause), (reads_from_ns, 0, Act::Resume)]);
            }
            script.push((3 * MS, 0, Act::Send(messages)));
            let outcome = Scene { script, ..Scene::default() }.run();
            let client = &outcome.clients[0];
            let why = format!("{target}, read from {reads_from_ns} ns");
            assert_eq!((client.reset_ns, client.ended_ns), (None, None), "{why}");
            let lines = seen(&OFFER, &client.bytes).1;
            assert_eq!(lines.len(), 4, "{why}");
            assert!(lines.iter().all(|line| line.len() > BYTES), "{why}");
        }
    }
}

/// 40 MB of messages, and nobody reads the answers.
#[test]
fn a_client_that_sends_and_does_not_read_is_not_read_from() {
    let messages = text(&vec![b'x'; 100_000]).repeat(10);
    for target in ["/ws", "/ws?delay=20ms"] {
        let mut script = vec![(0, 0, Act::Send(request(target, &OFFER))), (MS, 0, Act::Pause)];
        script.extend((2..42).map(|at| (at * MS, 0, Act::Send(messages.clone()))));
        let outcome = Scene { script, ..Scene::default() }.run();
        let (sent, received) = (outcome.counters.bytes_sent, outcome.counters.bytes_received);
        assert!((500_000..3 << 20).contains(&sent), "{sent} bytes sent, {target}");
        assert!((500_000..4 << 20).contains(&received), "{received} bytes received, {target}");
        assert_eq!((outcome.counters.resets, outcome.open), (0, 1), "{target}");
    }
}

#[test]
fn a_stopping_server_says_so() {
    let scene = Scene::ask([request("/ws", &OFFER), text(b"hello")].concat());
    let outcome = Scene { stop_ns: Some(S), ..scene }.run();
    let bytes = &outcome.clients[0].bytes;
    assert_eq!(seen(&OFFER, bytes).1, ["Text in 1: hello"]);
    // The world ends with the server, before its last frame arrives: a Close with a code.
    assert_eq!(outcome.counters.bytes_sent, bytes.len() as u64 + 4);
    assert!(outcome.finished);
}

#[test]
fn what_is_not_upgraded() {
    let upgrade = String::from_utf8(request("/ws", &OFFER)).expect("text");
    for (request, status, says) in [
        ("GET /ws HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), "200 OK", "new WebSocket("),
        (
            upgrade.replace("Version: 13", "Version: 8"),
            "426 Upgrade Required",
            "Sec-WebSocket-Version: 13\r\n",
        ),
        (upgrade.replace("Connection: Upgrade\r\n", ""), "400 Bad Request", "Connection: Upgrade"),
        (
            upgrade.replace("Sec-WebSocket-Key: ", "Sec-WebSocket-Key: x"),
            "400 Bad Request",
            "16 bytes",
        ),
        (upgrade.replace("/ws", "/ws?push=1us"), "400 Bad Request", "push=100ms"),
        (upgrade.replace("/ws", "/"), "200 OK", "hello world"),
    ] {
        let outcome = Scene::ask(request.clone()).run();
        let answer = outcome.clients[0].text();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}\n{answer}");
        assert!(answer.contains(says), "{request}\n{answer}");
        assert!(outcome.clients[0].ended_ns.is_none(), "{request}");
    }
}
