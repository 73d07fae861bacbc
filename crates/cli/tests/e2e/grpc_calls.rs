//! Our client under grpc-go's server: the cases of gRPC's interoperability tests that are about
//! calls and not about a language's API
//! (<https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md>).

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::fixture::certificate;
use crate::programs::share_with;
use crate::support::{Report, Running, measure};

/// `go install google.golang.org/grpc/interop/server@v1.85.0`, under a name that says what it is.
const SERVER: &str = "grpc-interop-server";

/// What of gRPC's own `test.proto` and `messages.proto` the cases need.
const PROTO: &str = r#"syntax = "proto3";
package grpc.testing;
message Empty {}
message Payload { int32 type = 1; bytes body = 2; }
message EchoStatus { int32 code = 1; string message = 2; }
message SimpleRequest {
  int32 response_type = 1;
  int32 response_size = 2;
  Payload payload = 3;
  EchoStatus response_status = 7;
}
message SimpleResponse { Payload payload = 1; }
message StreamingInputCallRequest { Payload payload = 1; }
message StreamingInputCallResponse { int32 aggregated_payload_size = 1; }
message ResponseParameters { int32 size = 1; int32 interval_us = 2; }
message StreamingOutputCallRequest {
  int32 response_type = 1;
  repeated ResponseParameters response_parameters = 2;
  Payload payload = 3;
  EchoStatus response_status = 7;
}
message StreamingOutputCallResponse { Payload payload = 1; }
service TestService {
  rpc EmptyCall(Empty) returns (Empty);
  rpc UnaryCall(SimpleRequest) returns (SimpleResponse);
  rpc StreamingOutputCall(StreamingOutputCallRequest) returns (stream StreamingOutputCallResponse);
  rpc StreamingInputCall(stream StreamingInputCallRequest) returns (StreamingInputCallResponse);
  rpc FullDuplexCall(stream StreamingOutputCallRequest)
      returns (stream StreamingOutputCallResponse);
  rpc UnimplementedCall(Empty) returns (Empty);
}
service UnimplementedService { rpc UnimplementedCall(Empty) returns (Empty); }
"#;

/// The sizes that the cases with streams send, and those that they ask for.
const SENT: [usize; 4] = [27_182, 8, 1_828, 45_904];
const ASKED: [usize; 4] = [31_415, 9, 2_653, 58_979];

/// How often each case is called.
const CALLS: u64 = 40;

/// A running server, and the flags with which it is called.
struct Peer {
    _running: Running,
    folder: tempfile::TempDir,
    flags: Vec<String>,
}

impl Peer {
    fn start(is_tls: bool) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("test.proto"), PROTO).expect("a file");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let mut command = Command::new(SERVER);
        command.arg(format!("-port={port}"));
        if is_tls {
            let [cert, key] = certificate(folder.path());
            command.args(["-use_tls", &format!("-tls_cert_file={cert}")]);
            command.arg(format!("-tls_key_file={key}"));
        }
        let scheme = if is_tls { "https" } else { "http" };
        let proto = folder.path().join("test.proto").display().to_string();
        let url = format!("{scheme}://127.0.0.1:{port}/");
        let calls = CALLS.to_string();
        let flags = ["--proto", &proto, "-n", &calls, "-c", "2", "-m", "4", "--wait", "20s", &url];
        let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
        flags.extend(is_tls.then(|| "-k".to_owned()));
        Self { _running: Running::start(&mut command), folder, flags }
    }

    /// Calls a method with these messages, all of them in one file.
    fn call(&self, method: &str, messages: &str, flags: &[&str]) -> Report {
        let file = self.folder.path().join("messages.json");
        fs::write(&file, messages).expect("a file");
        let body = format!("@{}", file.display());
        let method = format!("grpc.testing.{method}");
        let call = ["run", "--grpc", &method, "-b", &body];
        let own: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        measure(&[&call[..], flags, &own].concat())
    }
}

/// This number of zeros, as JSON writes bytes.
fn zeros(bytes: usize) -> String {
    BASE64.encode(vec![0; bytes])
}

/// How long a field with as many bytes is, behind its tag of one byte.
fn field_bytes(bytes: usize) -> usize {
    let bits = (usize::BITS - bytes.leading_zeros()).max(1) as usize;
    1 + bits.div_ceil(7) + bytes
}

/// How long a response with a payload of this size is.
fn response_bytes(size: usize) -> u64 {
    field_bytes(field_bytes(size)) as u64
}

#[track_caller]
fn all_ok(report: &Report) {
    assert_eq!(report.ledger(["sent", "ok"]), [CALLS, CALLS], "{:?}", report.errors());
    assert_eq!(report.text("/protocols/0/name"), "h2");
}

/// The messages of streams that were sent and received, and the bytes of the latter.
fn streams(report: &Report) -> [u64; 3] {
    ["sent/messages", "received/messages", "received/bytes"]
        .map(|at| report.count(&format!("/grpc_streams/{at}")))
}

fn unary_cases(peer: &Peer) {
    // empty_unary
    all_ok(&peer.call("TestService/EmptyCall", "", &["--expect", "bytes=5"]));
    // large_unary
    let large =
        format!(r#"{{"response_size": 314159, "payload": {{"body": "{}"}}}}"#, zeros(271_828));
    let bytes = format!("bytes={}", 5 + response_bytes(314_159));
    all_ok(&peer.call("TestService/UnaryCall", &large, &["--expect", &bytes]));
    // custom_metadata; expectations see the head, and so one of the two fields that come back
    let echo = ["x-grpc-test-echo-initial", "test_initial_metadata_value"];
    let [header, expect] = [echo.join(": "), format!("header:{}", echo.join("="))];
    let trailing = "x-grpc-test-echo-trailing-bin: q6ur";
    let flags = ["-H", &header, "-H", trailing, "--expect", &expect];
    all_ok(&peer.call("TestService/UnaryCall", r#"{"response_size": 9}"#, &flags));
    let asked = r#"{"response_parameters": [{"size": 9}]}"#;
    all_ok(&peer.call("TestService/FullDuplexCall", asked, &flags));
}

fn status_cases(peer: &Peer) {
    // status_code_and_message, special_status_message
    let special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
    for text in ["test status message", special] {
        let json = serde_json::to_string(text).expect("text");
        let asked = format!(r#"{{"response_status": {{"code": 2, "message": {json}}}}}"#);
        for method in ["TestService/UnaryCall", "TestService/FullDuplexCall"] {
            let report = peer.call(method, &asked, &[]);
            assert_eq!(report.ledger(["completed", "failed"]), [CALLS, CALLS], "{method}");
            assert_eq!(report.count("/grpc_status/UNKNOWN"), CALLS);
            let want = format!("status UNKNOWN (2): {text:?}");
            assert_eq!(report.text("/errors/0/sample"), want, "{method}");
            all_ok(&peer.call(method, &asked, &["--expect", "grpc-status=2"]));
        }
    }
    // unimplemented_method, unimplemented_service
    for method in ["TestService/UnimplementedCall", "UnimplementedService/UnimplementedCall"] {
        let report = peer.call(method, "", &[]);
        assert_eq!(report.count("/grpc_status/UNIMPLEMENTED"), CALLS, "{method}");
    }
    // timeout_on_sleeping_server; either side may see the deadline first, and a server that does
    // may reset the stream without a status
    let slow = r#"{"response_parameters": [{"size": 31415, "interval_us": 2000000}]}"#;
    let report = peer.call("TestService/FullDuplexCall", slow, &["--timeout", "50ms"]);
    let [sent, timed_out] = report.ledger(["sent", "timed_out"]);
    let told = report.count("/grpc_status/DEADLINE_EXCEEDED");
    let resets = report.errors().into_iter().filter(|(_, kind, _)| *kind == "reset:CANCEL");
    let reset: u64 = resets.map(|(_, _, count)| count).sum();
    assert_eq!((sent, timed_out + told + reset), (CALLS, CALLS), "{:?}", report.errors());
}

fn stream_cases(peer: &Peer) {
    let parameters = ASKED.map(|size| format!(r#"{{"size": {size}}}"#));
    let asked_bytes: u64 = ASKED.into_iter().map(response_bytes).sum();
    // server_streaming
    let asked = format!(r#"{{"response_parameters": [{}]}}"#, parameters.join(","));
    let four = ["--expect", "grpc-messages=4"];
    let report = peer.call("TestService/StreamingOutputCall", &asked, &four);
    all_ok(&report);
    assert_eq!(streams(&report), [CALLS, 4 * CALLS, asked_bytes * CALLS]);
    assert_eq!(report.count("/grpc_streams/gaps/count"), 3 * CALLS);
    // client_streaming: the answer has the sum of the sizes, 74922, in its field 1
    let messages =
        SENT.map(|size| format!(r#"{{"payload": {{"body": "{}"}}}}"#, zeros(size))).join("\n");
    let expect = ["--expect", "bytes=9", "--expect", r"body~=(?-u)\x08\xaa\xc9\x04$"];
    let report = peer.call("TestService/StreamingInputCall", &messages, &expect);
    all_ok(&report);
    assert_eq!(streams(&report), [4 * CALLS, CALLS, 4 * CALLS]);
    // ping_pong, and the same without waiting
    let message = |(size, sent): (&String, &usize)| {
        let body = zeros(*sent);
        format!(r#"{{"response_parameters": [{size}], "payload": {{"body": "{body}"}}}}"#)
    };
    let messages: Vec<String> = parameters.iter().zip(&SENT).map(message).collect();
    for kind in ["pingpong", "bidi"] {
        let flags = [&["--grpc-stream", kind][..], &four].concat();
        let report = peer.call("TestService/FullDuplexCall", &messages.join("\n"), &flags);
        all_ok(&report);
        assert_eq!(streams(&report), [4 * CALLS, 4 * CALLS, asked_bytes * CALLS], "{kind}");
        let round_trips = report.count("/grpc_streams/round_trips/count");
        assert_eq!(round_trips, if kind == "bidi" { 0 } else { 4 * CALLS });
    }
    // empty_stream
    for kind in ["pingpong", "bidi"] {
        let none = ["--grpc-stream", kind, "--grpc-messages", "0", "--expect", "grpc-messages=0"];
        let report = peer.call("TestService/FullDuplexCall", "", &none);
        all_ok(&report);
        assert_eq!(streams(&report), [0, 0, 0], "{kind}");
    }
}

#[test]
fn grpc_go_answers_every_case() {
    let Some(_share) = share_with(&[SERVER, "openssl"]) else { return };
    for is_tls in [false, true] {
        let peer = Peer::start(is_tls);
        unary_cases(&peer);
        status_cases(&peer);
        stream_cases(&peer);
    }
}
