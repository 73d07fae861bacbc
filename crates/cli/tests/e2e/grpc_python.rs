//! gRPC between us and grpcio, Python's library over gRPC's core in C++: as the server under our
//! calls and as a client of our server. Both sides have to count the same.

use serde_json::{Value, json};

use crate::fixture::{Listening, certificate, fixture, run_fixture};
use crate::programs::share_with;
use crate::support::{Report, Server, measure};

const GRPCIO: [&str; 3] = ["python3", "python3:grpc", "openssl"];

/// A number of calls that no division of theirs is whole for.
const CALLS: u64 = 97;
const CALLS_TEXT: &str = "97";

/// What one load asks for, and what the server must have counted for it.
struct Case {
    method: &'static str,
    flags: &'static [&'static str],
    /// Metadata that say how the server answers.
    asks: &'static [&'static str],
    /// The status that calls end with.
    status: &'static str,
    /// Messages of each call, to the server and from it.
    messages: [u64; 2],
}

const CASES: [Case; 9] = [
    Case { method: "Say", flags: &[], asks: &[], status: "OK", messages: [1, 1] },
    Case {
        method: "Say",
        flags: &[],
        asks: &["x-status: 5"],
        status: "NOT_FOUND",
        messages: [0, 0],
    },
    Case {
        method: "Say",
        flags: &[],
        asks: &["x-status: 14"],
        status: "UNAVAILABLE",
        messages: [0, 0],
    },
    Case { method: "Watch", flags: &[], asks: &["x-count: 7"], status: "OK", messages: [1, 7] },
    Case { method: "Watch", flags: &[], asks: &["x-count: 0"], status: "OK", messages: [1, 0] },
    Case {
        method: "Upload",
        flags: &["--grpc-messages", "9"],
        asks: &[],
        status: "OK",
        messages: [9, 1],
    },
    Case {
        method: "Chat",
        flags: &["--grpc-messages", "9"],
        asks: &[],
        status: "OK",
        messages: [9, 9],
    },
    Case {
        method: "Chat",
        flags: &["--grpc-messages", "9", "--grpc-stream", "pingpong"],
        asks: &[],
        status: "OK",
        messages: [9, 9],
    },
    Case {
        method: "Chat",
        flags: &["--grpc-messages", "0"],
        asks: &[],
        status: "OK",
        messages: [0, 0],
    },
];

/// Calls a method of the server's.
fn call(port: u16, is_tls: bool, method: &str, flags: &[&str]) -> Report {
    let scheme = if is_tls { "https" } else { "http" };
    let url = format!("{scheme}://127.0.0.1:{port}/");
    let (method, proto) = (format!("peers.Talk/{method}"), fixture("talk.proto"));
    let common = [&*url, "-k", "--grpc", &method, "--proto", &proto];
    let load = ["-c", "2", "-m", "4", "-b", r#"{"text": "hello", "number": {{seq}}}"#];
    measure(&[&common[..], &load, flags].concat())
}

fn is_counted_alike(case: &Case, listening: &mut Listening, is_tls: bool) {
    let Case { method, flags, asks, status, messages } = *case;
    let context = format!("{method} {flags:?} {asks:?} {is_tls}");
    let metadata: Vec<&str> = asks.iter().flat_map(|line| ["-H", *line]).collect();
    let flags = [&["-n", CALLS_TEXT], &metadata[..], flags].concat();
    let report = call(listening.ports[0], is_tls, method, &flags);
    let counts = listening.take_counts();
    assert_eq!(
        report.ledger(["sent", "completed"]),
        [CALLS; 2],
        "{context}: {:?}",
        report.errors()
    );
    assert_eq!(report.count(&format!("/grpc_status/{status}")), CALLS, "{context}");
    assert_eq!(report.ledger(["ok"]), [if status == "OK" { CALLS } else { 0 }], "{context}");
    assert_eq!(counts[method], CALLS, "{context}");
    assert_eq!(counts["deadlines"], CALLS, "the default timeout travels: {context}");
    let [sent, received] = messages.map(|each| each * CALLS);
    assert_eq!(
        (&counts["received"], &counts["sent"]),
        (&json!(sent), &json!(received)),
        "{context}"
    );
    if method != "Say" {
        let told =
            ["sent", "received"].map(|it| report.count(&format!("/grpc_streams/{it}/messages")));
        assert_eq!(told, [sent, received], "{context}");
    }
}

#[test]
fn grpcio_counts_the_calls_and_messages_that_we_say_we_sent() {
    let Some(_share) = share_with(&GRPCIO) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let [cert, key] = certificate(folder.path());
    for tls in [&[][..], &[&*cert, &*key]] {
        let mut listening = Listening::start("python3", "grpcio_server.py", tls);
        for case in &CASES {
            is_counted_alike(case, &mut listening, !tls.is_empty());
        }
    }
}

/// The server sleeps for longer than the calls may take, as many as it has threads, and sees that
/// they were given up.
#[test]
fn grpcio_sees_the_deadlines_of_calls() {
    let Some(_share) = share_with(&GRPCIO) else { return };
    let mut listening = Listening::start("python3", "grpcio_server.py", &[]);
    let flags = ["-n", "8", "-H", "x-sleep-ms: 500", "--timeout", "100ms"];
    let report = call(listening.ports[0], false, "Say", &flags);
    let [sent, timed_out] = report.ledger(["sent", "timed_out"]);
    // Either side may see the deadline first.
    let told = report.count("/grpc_status/DEADLINE_EXCEEDED");
    assert_eq!((sent, timed_out + told), (8, 8), "{:?}", report.errors());
    // Its threads are free again when they have seen it.
    let free = call(listening.ports[0], false, "Say", &["-n", "8"]);
    assert_eq!(free.ledger(["ok"]), [8], "{:?}", free.errors());
    let counts = listening.take_counts();
    let told = ["Say", "deadlines", "cancelled"].map(|name| counts[name].as_u64());
    assert_eq!(told, [Some(16), Some(16), Some(8)], "{counts}");
}

#[test]
fn grpcio_gets_what_each_method_promises() {
    let Some(_share) = share_with(&GRPCIO) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let saved = folder.path().join("server.pem").display().to_string();
    for (server, certificate) in [
        (Server::start(&[]), &[][..]),
        (Server::start(&["--tls", "--tls-save", &saved]), &[&*saved]),
    ] {
        let address = format!("127.0.0.1:{}", server.addresses()[0].port());
        let arguments = [&[&*address, "300"], certificate].concat();
        let finished = run_fixture("python3", "grpcio_client.py", &arguments);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let seen: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        // Each of the payloads stands in two fields, whose heads take 2 to 4 bytes.
        let sizes = json!([31_423, 13, 2659, 58_987]);
        let codes =
            ["NOT_FOUND", "UNIMPLEMENTED", "UNIMPLEMENTED", "DEADLINE_EXCEEDED", "INTERNAL"];
        let want = json!({
            "echoes": 300, "output": sizes, "duplex": sizes, "upload": true, "health": true,
            "codes": codes,
        });
        assert_eq!(seen, want, "{certificate:?}");
    }
}
