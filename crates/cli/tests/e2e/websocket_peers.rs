//! WebSockets between us and other people's libraries: `websockets` of Python and `ws` of npm, as
//! servers under our load and as clients of our server. Both sides have to count the same.

use serde_json::{Value, json};

use crate::fixture::{Listening, run_fixture};
use crate::programs::share_with;
use crate::support::{Report, Server, measure};

/// Interpreter, server, client, and the package that both stand on.
const PEERS: [(&str, &str, &str, &str); 2] = [
    ("python3", "websockets_server.py", "websockets_client.py", "python3:websockets"),
    ("node", "ws_server.js", "ws_client.js", "node:ws"),
];

/// Messages that compress well, some longer than the windows that servers allow.
const LONG: &str = "{{seq}} all work and no play makes a dull load tester, ";

struct Load {
    path: &'static str,
    messages: u64,
    flags: &'static [&'static str],
}

const LOADS: [Load; 6] = [
    Load { path: "/echo", messages: 2000, flags: &["-c", "4"] },
    Load { path: "/echo", messages: 2000, flags: &["-c", "2", "-m", "8", "--driver", "epoll"] },
    Load { path: "/echo", messages: 300, flags: &["-c", "3", "-r", "2k", "--ws-binary"] },
    Load { path: "/echo", messages: 60, flags: &["-c", "3", "--requests-per-conn", "7"] },
    Load { path: "/fragments", messages: 500, flags: &["-c", "2", "--expect", "bytes=1.."] },
    Load { path: "/pings", messages: 300, flags: &["-c", "2"] },
];

fn load(port: u16, path: &str, messages: u64, flags: &[&str]) -> Report {
    let url = format!("ws://127.0.0.1:{port}{path}");
    let (count, long) = (messages.to_string(), LONG.repeat(200));
    let common = [&*url, "-n", &count, "--ws-message", "short {{seq}}", "--ws-message", &long];
    measure(&[&common[..], flags].concat())
}

fn bytes_of_messages(messages: u64) -> u64 {
    let digits = |number: u64| number.to_string().len();
    let long = |number: u64| 200 * (LONG.len() - "{{seq}}".len() + digits(number));
    let short = |number: u64| "short ".len() + digits(number);
    let bytes = |n: u64| if n.is_multiple_of(2) { short(n) } else { long(n) };
    (0..messages).map(|number| bytes(number) as u64).sum()
}

/// Loads a server of theirs in every way; `is_on`: it would compress. Whether we offer it decides.
fn each_load_is_counted_alike(peer: (&str, &str), is_on: bool) {
    let (interpreter, server) = peer;
    let arguments = [if is_on { "deflate" } else { "plain" }];
    let mut listening = Listening::start(interpreter, server, &arguments);
    for offers in [false, true] {
        for Load { path, messages, flags } in LOADS {
            let context = format!("{server} {is_on} {offers} {path} {flags:?}");
            let offer: &[&str] = if offers { &["--ws-compress"] } else { &[] };
            let report = load(listening.ports[0], path, messages, &[flags, offer].concat());
            let counts = listening.take_counts();
            assert!(report.errors().is_empty(), "{context}: {:?}", report.errors());
            assert_eq!(report.ledger(["sent", "completed", "ok"]), [messages; 3], "{context}");
            let count = |name: &str| counts[name].as_u64().expect("a count");
            assert_eq!([count("messages"), count("answers")], [messages; 2], "{context}");
            assert_eq!(count("bytes"), bytes_of_messages(messages), "{context}");
            let is_text = !flags.contains(&"--ws-binary");
            assert_eq!(count("text_messages"), if is_text { messages } else { 0 }, "{context}");
            let opened = report.count("/protocols/0/connections");
            assert_eq!(count("connections"), opened, "{context}");
            let pings = if path == "/pings" { messages } else { 0 };
            let told = [report.count("/pushed/pings"), count("pongs")];
            assert_eq!((report.count("/pushed/messages"), told), (0, [pings; 2]), "{context}");
            let agreed = if is_on && offers { opened } else { 0 };
            assert_eq!(count("deflate_connections"), agreed, "{context}");
            compression_is_told(&report, offers, is_on, messages, &context);
        }
    }
}

/// What a result says of compression, and that it shows on the wire.
fn compression_is_told(report: &Report, offers: bool, is_on: bool, messages: u64, context: &str) {
    let opened = report.count("/protocols/0/connections");
    let bytes = bytes_of_messages(messages);
    let count = |at: &str| report.count(&format!("/compression/{at}"));
    let causes = report.at("/loader/causes").as_array().expect("a list");
    let is_noted = causes.iter().any(|cause| cause["code"] == "uncompressed");
    assert_eq!(is_noted, offers && !is_on, "{context}");
    let sent = report.count("/bytes/sent");
    if !(offers && is_on) {
        let declined = if offers { opened } else { 0 };
        assert_eq!([count("agreed"), count("declined")], [0, declined], "{context}");
        assert_eq!([count("sent/messages"), count("received/messages")], [0; 2], "{context}");
        assert!(sent > bytes, "{context}: {sent}");
        return;
    }
    assert_eq!([count("agreed"), count("declined")], [opened, 0], "{context}");
    for way in ["sent", "received"] {
        let [said, took] = ["bytes", "compressed_bytes"].map(|it| count(&format!("{way}/{it}")));
        assert_eq!((count(&format!("{way}/messages")), said), (messages, bytes), "{context} {way}");
        assert!(took * 5 < said, "{context} {way}: {said} bytes as {took}");
        // Heads of frames have 14 bytes at most; the handshakes go beside them.
        let wire = report.count(&format!("/bytes/{way}"));
        let beside = 14 * messages + 1000 * opened;
        assert!((took..took + beside).contains(&wire), "{context} {way}: {wire} and {took}");
    }
}

#[test]
fn servers_count_what_we_say_we_sent() {
    for (interpreter, server, _, package) in PEERS {
        let Some(_share) = share_with(&[interpreter, package]) else { continue };
        for is_on in [false, true] {
            each_load_is_counted_alike((interpreter, server), is_on);
        }
    }
}

/// The server closes behind the fifth message of each connection.
#[test]
fn closes_of_servers_are_told_with_their_codes() {
    for (interpreter, server, _, package) in PEERS {
        let Some(_share) = share_with(&[interpreter, package]) else { continue };
        let mut listening = Listening::start(interpreter, server, &["plain"]);
        for code in ["1000", "1001", "1011", "4321"] {
            let path = format!("/close/{code}/5");
            let report = load(listening.ports[0], &path, 200, &["-c", "2", "-m", "2"]);
            let counts = listening.take_counts();
            let context = format!("{server} {code}: {:?} {counts}", report.errors());
            let [sent, ok, broken] = report.ledger(["sent", "ok", "broken"]);
            assert_eq!((sent, ok + broken), (200, 200), "{context}");
            assert_eq!(counts["answers"], ok, "{context}");
            let kind =
                if code == "4321" { "close:4xxx".to_owned() } else { format!("close:{code}") };
            let errors = report.errors();
            assert!(broken > 0 && errors.iter().all(|(_, it, _)| *it == kind), "{context}");
            let text = format!("the server closed the WebSocket with {code}: \"enough\"");
            assert_eq!(report.text("/errors/0/sample"), text, "{context}");
        }
    }
}

/// How long the messages of the clients are, in turn.
const LENGTHS: [u64; 7] = [0, 1, 125, 126, 65_535, 65_536, 1_000_000];

#[test]
fn clients_get_their_messages_back() {
    for (interpreter, _, client, package) in PEERS {
        let Some(_share) = share_with(&[interpreter, package]) else { continue };
        let server = Server::start(&[]);
        for compression in ["plain", "deflate"] {
            for query in ["", "?fragments=3", "?delay=1ms&fragments=2&pause=1ms"] {
                let url = server.url(&format!("/ws{query}")).replacen("http", "ws", 1);
                let arguments = [&*url, compression, "42"];
                let finished = run_fixture(interpreter, client, &arguments);
                assert_eq!(finished.code, Some(0), "{client} {arguments:?}: {finished:?}");
                let seen: Value = serde_json::from_str(&finished.stdout).expect("JSON");
                let context = format!("{client} {arguments:?}: {seen}");
                let deflate = json!(["permessage-deflate"]);
                let want = if compression == "deflate" { deflate } else { json!([]) };
                assert_eq!(
                    (&seen["extensions"], &seen["echoes"]),
                    (&want, &json!(42)),
                    "{context}"
                );
                // Text of Python's has characters of several bytes.
                let bytes = seen["bytes"].as_u64().expect("bytes");
                assert!(bytes >= 6 * LENGTHS.iter().sum::<u64>(), "{context}");
                // The code of a Close comes back without its reason.
                assert_eq!(seen["close"], json!([4000, ""]), "{context}");
            }
        }
    }
}
