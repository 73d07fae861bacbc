//! Calls of gRPC, from the flags to the report.

use std::fs;

use crate::call_peer::{CallPeer, Reflects};
use crate::support::{Finished, Server, measure, plimsoll, run};

const PING: &str = "fgrpc.PingServer/Ping";
const WATCH: &str = "grpc.health.v1.Health/Watch";
const PROTO: &str = "syntax = \"proto3\";\npackage fgrpc;\n\
    message PingMessage { int64 seq = 1; string payload = 3; }\n\
    service PingServer {\n  rpc Ping(PingMessage) returns (PingMessage);\n\
    rpc Pings(PingMessage) returns (stream PingMessage);\n\
    rpc Sum(stream PingMessage) returns (PingMessage);\n\
    rpc Talk(stream PingMessage) returns (stream PingMessage);\n}\n";

/// A folder with `ping.proto`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("ping.proto"), PROTO).expect("a file");
    fs::write(
        folder.path().join("bad.proto"),
        "syntax = \"proto3\";\nmessage A {\n int32 a 1; }\n",
    )
    .expect("a file");
    folder
}

#[test]
fn calls_are_made_with_a_file_and_by_reflection() {
    let folder = folder();
    let proto = folder.path().join("ping.proto");
    let proto = proto.to_str().expect("a readable path");
    let body = r#"{"seq": {{seq}}, "payload": "{{seq}}"}"#;
    for (reflects, schema) in [
        (Reflects::Never, &["--proto", proto][..]),
        (Reflects::V1, &["--reflect"]),
        (Reflects::V1Alpha, &["--reflect"]),
    ] {
        let peer = CallPeer::new(reflects);
        let url = peer.url();
        let rest = ["-b", body, "-c", "2", "-m", "4", "-n", "100", &url];
        let report = measure(&[&["run", "--grpc", PING], schema, &rest].concat());
        assert_eq!(report.ledger(["sent", "completed", "ok"]), [100, 100, 100], "{reflects:?}");
        assert_eq!(report.count("/grpc_status/OK"), 100);
        assert_eq!(report.text("/plan/grpc/method"), PING);
        assert_eq!(report.text("/plan/endpoint/path"), "/fgrpc.PingServer/Ping");
        assert_eq!(report.text("/protocols/0/name"), "h2");
    }
}

#[test]
fn a_status_fails_a_call_unless_it_is_expected() {
    let peer = CallPeer::new(Reflects::V1);
    let url = peer.url();
    let flags = ["run", "--grpc", PING, "--reflect", "-n", "20", "-b", r#"{"payload": "fail"}"#];
    let report = measure(&[&flags[..], &[&url]].concat());
    assert_eq!(report.ledger(["completed", "ok", "failed"]), [20, 0, 20]);
    assert_eq!(report.count("/grpc_status/UNAVAILABLE"), 20);
    assert_eq!(report.errors(), [("receiving", "grpc_status", 20)]);
    assert_eq!(report.text("/errors/0/sample"), "status UNAVAILABLE (14): \"too busy\"");
    let report = measure(&[&flags[..], &["--expect", "grpc-status=14", &url]].concat());
    assert_eq!(report.ledger(["completed", "ok", "failed"]), [20, 20, 0]);
    for (format, want) in [
        ("text", "UNAVAILABLE: 20"),
        ("md", "| `UNAVAILABLE` | 20 | 100"),
        ("html", "Calls of gRPC"),
    ] {
        let shown = run(plimsoll(&flags).args(["--format", format, &url]));
        assert!(shown.stdout.contains(want), "{format}: {}", shown.stdout);
    }
}

#[test]
fn streams_have_their_messages_counted() {
    let folder = folder();
    let lines = folder.path().join("messages.json");
    fs::write(&lines, "{\"seq\": 1}\n{\"payload\": \"two\"}\n\n{}\n").expect("a file");
    let lines = format!("@{}", lines.display());
    let proto = folder.path().join("ping.proto");
    let proto = proto.to_str().expect("a readable path");
    let peer = CallPeer::new(Reflects::V1);
    let url = peer.url();
    // Of each call: messages sent and received; the bytes of those received, as it happens.
    for (method, flags, sent, received, bytes) in [
        ("Pings", &["-b", "{\"seq\": 5}"][..], 1, 5, 10),
        ("Pings", &["-b", "{\"seq\": 0}", "--expect", "grpc-messages=0"], 1, 0, 0),
        ("Sum", &["-b", "{\"seq\": 2}", "--grpc-messages", "9"], 9, 1, 2),
        ("Sum", &["-b", &lines], 3, 1, 2),
        ("Sum", &["--grpc-messages", "0"], 0, 1, 0),
        ("Talk", &["-b", &lines], 3, 3, 7),
        ("Talk", &["-b", &lines, "--grpc-messages", "7"], 7, 7, 16),
        ("Talk", &["-b", &lines, "--grpc-stream", "pingpong"], 3, 3, 7),
        ("Talk", &["-b", "{\"seq\": {{seq}}}", "--grpc-messages", "50"], 50, 50, 0),
    ] {
        let method = format!("fgrpc.PingServer/{method}");
        let call = ["run", "--grpc", &method, "--proto", proto, "-n", "30", "-c", "2", "-m", "3"];
        let report = measure(&[&call[..], flags, &[&url]].concat());
        let case = format!("{method} {flags:?}: {:?}", report.errors());
        assert_eq!(report.ledger(["sent", "completed", "ok"]), [30, 30, 30], "{case}");
        let count = |at: &str| report.count(&format!("/grpc_streams/{at}"));
        assert_eq!(
            [count("sent/messages"), count("received/messages")],
            [30 * sent, 30 * received]
        );
        if bytes > 0 {
            assert_eq!(count("received/bytes"), 30 * bytes, "{case}");
        }
        let firsts = if received > 0 { 30 } else { 0 };
        assert_eq!(count("first_message/count"), firsts, "{case}");
        assert_eq!(count("gaps/count"), 30 * received - firsts, "{case}");
        if flags.contains(&"pingpong") {
            assert_eq!(count("round_trips/count"), 30 * sent, "{case}");
        }
    }
    let report = measure(&["run", "--grpc", PING, "--reflect", "-n", "3", &url]);
    assert_eq!(report.count("/grpc_streams/sent/messages"), 0, "a unary call is no stream");
}

#[test]
fn what_cannot_be_called_is_said_in_one_line_before_the_load() {
    let folder = folder();
    let (peer, silent) = (CallPeer::new(Reflects::V1), CallPeer::new(Reflects::Never));
    let (grpc, other) = (peer.url(), silent.url());
    let old = crate::peer::Peer::answering(|_| crate::peer::Answer::Say(crate::peer::OK));
    let old = old.url("/");
    let hello = Server::listen(&["--hello", "127.0.0.1:0"], 1);
    let with_path = format!("{grpc}/x");
    let proto = ["--grpc", PING, "--proto", "ping.proto"];
    let pings = ["--grpc", "fgrpc.PingServer/Pings", "--proto", "ping.proto"];
    let talk = ["--grpc", "fgrpc.PingServer/Talk", "--proto", "ping.proto"];
    for (flags, code, says) in [
        (&[&proto[..], &["--http", "1.1", &grpc]].concat()[..], 2, "HTTP/2 alone"),
        (&[&proto[..], &["--http", "auto", &grpc]].concat(), 2, "HTTP/2 alone"),
        (&[&proto[..], &[&with_path]].concat(), 2, "leave its path out"),
        (&[&proto[..], &["-b", r#"{"sek": 1}"#, &grpc]].concat(), 2, "sek"),
        (&[&proto[..], &["-b", r#"{"sek": {{seq}}}"#, &grpc]].concat(), 2, "did you mean 'seq'?"),
        (&[&proto[..], &["-b", r#"{"seq": "#, &grpc]].concat(), 2, "not the JSON of a fgrpc.Ping"),
        (&["--grpc", PING, &grpc], 2, "give --proto FILE or --reflect"),
        (&["--grpc", PING, "--proto", "none.proto", &grpc], 1, "there is no file 'none.proto'"),
        (&["--grpc", PING, "--proto", "bad.proto", &grpc], 2, "bad.proto:3:10: expected '='"),
        (
            &["--grpc", "fgrpc.PingServer/Pin", "--proto", "ping.proto", &grpc],
            2,
            "did you mean 'fgrpc.PingServer/Ping'?",
        ),
        (
            &[&pings[..], &["--grpc-stream", "pingpong", &grpc]].concat(),
            2,
            "is of the kind 'server', so it is not called as 'pingpong'",
        ),
        (
            &["--grpc", WATCH, "--reflect", "--grpc-stream", "unary", &grpc],
            2,
            "is of the kind 'server', so it is not called as 'unary'",
        ),
        (&[&pings[..], &["--grpc-messages", "2", &grpc]].concat(), 2, "sends one message, not 2"),
        (&[&proto[..], &["-b", "{} {}", &grpc]].concat(), 2, "and here are 2"),
        (&[&talk[..], &["-b", "{} {\"sek\": 1}", &grpc]].concat(), 2, "message 2: "),
        (&[&talk[..], &["--grpc-stream", "ping", &grpc]].concat(), 2, "bidi, pingpong"),
        (&["--grpc-stream", "bidi", &grpc], 2, "--grpc"),
        (&["--grpc-messages", "3", &grpc], 2, "--grpc"),
        (
            &["--grpc", "fgrpc.PingServe/Ping", "--reflect", &grpc],
            1,
            "did you mean 'fgrpc.PingServer'?",
        ),
        (&["--grpc", PING, "--reflect", &other], 1, "has no reflection service: give --proto FILE"),
        (&["--grpc", PING, "--reflect", &old], 1, "HTTP/1"),
        (&[&proto[..], &[&old]].concat(), 1, "HTTP/1"),
        (&["--grpc", PING, "--reflect", &hello.url("/")], 1, "not gRPC"),
        (&["--expect", "grpc-status=0", &grpc], 2, "is about gRPC"),
        (&["--expect", "grpc-messages=1", &grpc], 2, "is about gRPC"),
    ] {
        let command = &mut plimsoll(&["run", "-n", "1"]);
        let finished: Finished = run(command.args(flags).current_dir(folder.path()));
        let case = format!("{flags:?}: {finished:?}");
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(code), ""), "{case}");
        assert_eq!(finished.stderr.lines().count(), 1, "{case}");
        assert!(finished.stderr.contains(says), "{case}");
    }
}
