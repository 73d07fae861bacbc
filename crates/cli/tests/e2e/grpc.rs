//! Our server under grpc-go's interoperability client, and under grpcurl.

use std::process::Command;

use crate::programs::share_with;
use crate::support::{Finished, Server, run};

const CLIENT: &str = "grpc-interop-client";

/// The cases of the client that a server without compression, orca and credentials can pass.
const CASES: [&str; 14] = [
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "custom_metadata",
    "status_code_and_message",
    "special_status_message",
    "unimplemented_method",
    "unimplemented_service",
    "cancel_after_begin",
    "cancel_after_first_response",
    "timeout_on_sleeping_server",
];

fn port(server: &Server) -> String {
    server.addresses()[0].port().to_string()
}

fn interop(server: &Server, case: &str, flags: &[&str]) -> Finished {
    let port = port(server);
    let mut command = Command::new(CLIENT);
    command.args(["-server_host", "127.0.0.1", "-server_port", &port, "-test_case", case]);
    run(command.args(flags))
}

#[test]
fn interoperability_cases_pass() {
    let Some(_share) = share_with(&[CLIENT]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = directory.path().join("server.pem");
    let certificate = certificate.to_str().expect("a readable path");
    let plain = Server::start(&[]);
    let secure = Server::start(&["--tls", "--tls-save", certificate]);
    let name = ["-server_host_override", "localhost"];
    let tls = [&["-use_tls", "-use_test_ca", "-ca_file", certificate], &name[..]].concat();
    for (server, flags) in [(&plain, &[][..]), (&secure, &tls)] {
        for case in CASES {
            let seen = interop(server, case, flags);
            assert_eq!(seen.code, Some(0), "{case} {flags:?}: {}", seen.stderr);
        }
    }
    // The client does tell when a case fails.
    let faulty = Server::start(&["--grpc-status", "100%:UNAVAILABLE"]);
    let seen = interop(&faulty, "empty_unary", &[]);
    assert!(seen.code != Some(0) && seen.stderr.contains("Unavailable"), "{seen:?}");
}

#[test]
fn grpcurl_lists_describes_and_calls() {
    let Some(_share) = share_with(&["grpcurl"]) else { return };
    let server = Server::start(&[]);
    let address = format!("127.0.0.1:{}", port(&server));
    let ping = [r#"{"seq": 5, "payload": "é"}"#, &address, "fgrpc.PingServer/Ping"];
    for (arguments, want) in [
        (
            &[&*address, "list"][..],
            "fgrpc.PingServer\ngrpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\n\
             grpc.reflection.v1alpha.ServerReflection\ngrpc.testing.TestService\n",
        ),
        (&[&address, "describe", "fgrpc.PingServer.Ping"], "returns ( .fgrpc.PingMessage );"),
        (&[&["-d"], &ping[..]].concat(), "\"seq\": \"5\",\n  \"payload\": \"é\""),
        (&[&address, "grpc.health.v1.Health/Check"], "\"status\": \"SERVING\""),
    ] {
        let seen = run(Command::new("grpcurl").arg("-plaintext").args(arguments));
        assert_eq!(seen.code, Some(0), "{arguments:?}: {}", seen.stderr);
        assert!(seen.stdout.contains(want), "{arguments:?}: {}", seen.stdout);
    }
}
