//! Calls of gRPC from `run` to `serve`.

use std::fs;

use crate::support::{Server, measure, plimsoll, run};

const PING: &str = "fgrpc.PingServer/Ping";
const UNARY: &str = "grpc.testing.TestService/UnaryCall";
const PROTO: &str = include_str!("../../../grpc/proto/ping.proto");

#[test]
fn each_call_is_answered_with_and_without_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let proto = folder.path().join("ping.proto");
    fs::write(&proto, PROTO).expect("a file");
    let proto = proto.to_str().expect("a readable path");
    let body = r#"{"seq": {{seq}}, "payload": "{{seq}}"}"#;
    let (plain, secure) = (Server::start(&["--threads", "2"]), Server::start(&["--tls"]));
    for server in [&plain, &secure] {
        for schema in [&["--proto", proto][..], &["--reflect"]] {
            let url = server.url("");
            let rest = ["-k", "-b", body, "-c", "2", "-m", "4", "-n", "100", &url];
            let report = measure(&[&["run", "--grpc", PING], schema, &rest].concat());
            assert_eq!(report.ledger(["sent", "completed", "ok"]), [100, 100, 100], "{url}");
            assert_eq!(report.count("/grpc_status/OK"), 100, "{url}");
            assert_eq!(report.text("/plan/grpc/method"), PING);
            assert_eq!(report.text("/protocols/0/name"), "h2");
        }
    }
}

#[test]
fn other_methods_answer_too() {
    let server = Server::start(&[]);
    let url = server.url("");
    for (method, body, bytes) in [
        ("grpc.health.v1.Health/Check", "{}", 7),
        ("grpc.testing.TestService/EmptyCall", "{}", 5),
        (UNARY, r#"{"responseSize": 100000}"#, 100_013),
    ] {
        let bytes = format!("bytes={bytes}");
        let flags = ["--reflect", "-n", "10", "-b", body, "--expect", &bytes, &url];
        let report = measure(&[&["run", "--grpc", method][..], &flags].concat());
        assert_eq!(report.ledger(["completed", "ok"]), [10, 10], "{method}");
    }
}

#[test]
fn a_status_that_is_asked_for_comes_back_with_its_text() {
    let server = Server::start(&[]);
    let url = server.url("");
    let body = r#"{"responseStatus": {"code": 14, "message": "50 % é"}}"#;
    let flags = ["run", "--grpc", UNARY, "--reflect", "-n", "20", "-b", body];
    let report = measure(&[&flags[..], &[&url]].concat());
    assert_eq!(report.ledger(["completed", "ok", "failed"]), [20, 0, 20]);
    assert_eq!(report.count("/grpc_status/UNAVAILABLE"), 20);
    assert_eq!(report.text("/errors/0/sample"), "status UNAVAILABLE (14): \"50 % é\"");
    let report = measure(&[&flags[..], &["--expect", "grpc-status=14", &url]].concat());
    assert_eq!(report.ledger(["completed", "ok", "failed"]), [20, 20, 0]);
}

#[test]
fn shares_of_calls_end_with_a_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let proto = folder.path().join("ping.proto");
    fs::write(&proto, PROTO).expect("a file");
    let proto = proto.to_str().expect("a readable path");
    let server = Server::start(&["--grpc-status", "20%:UNAVAILABLE,10%:8", "--seed", "7"]);
    let url = server.url("");
    let report = measure(&["run", "--grpc", PING, "--proto", proto, "-n", "200", &url]);
    // Exact for this seed; the expectations are 40, 20 and 140.
    let counts = ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "OK"]
        .map(|code| report.count(&format!("/grpc_status/{code}")));
    assert_eq!(counts, [31, 21, 148]);
    assert_eq!(report.ledger(["completed", "ok", "failed"]), [200, 148, 52]);
    let wrong = run(&mut plimsoll(&["serve", "--grpc-status", "1%:OK"]));
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("'1%:OK' is not a list of gRPC statuses"), "{}", wrong.stderr);
}
