//! The cases with which fortio tests its own command line and its server from outside
//! (`cli_test.txtar`, `Webtest.sh`), on loopback: the same commands, what they print and where, and
//! their exit codes. Absent are those about its container, its logo and its charts.

use serde_json::Value;

use crate::fortio_server::FortioServer;
use crate::support::{Finished, plimsoll, run};

fn fortio(arguments: &[&str]) -> Finished {
    run(&mut plimsoll(&[&["fortio"], arguments].concat()))
}

#[test]
fn commands_say_what_fortios_say() {
    let server = FortioServer::all().1;
    let debug = format!("{}debug", server.http);
    let grpc = server.address("grpc");
    let typed = ["curl", "-H", "content-TYPE: foo/bar", "-H", "xyz: bar blah", &debug];
    let headers =
        ["load", "-quiet", "-H", "Foo:Bar", "-H", "Blah:Blah", "-qps", "10", "-t", "200ms"];
    let ping = |flags: &[&'static str]| [&["grpcping", "-quiet"], flags].concat();
    // What is there: on stdout, on stderr.
    for (arguments, code, stdout, stderr) in [
        (vec![], 1, &[][..], &["Missing command argument"][..]),
        (vec!["version"], 0, &["1.75.2+plimsoll."], &[]),
        (vec!["buildinfo"], 0, &["1.75.2+plimsoll."], &[]),
        (
            typed.to_vec(),
            0,
            &["\nXyz: bar blah\n", "\nContent-Type: foo/bar\n", "POST /debug HTTP/1.1\n"],
            &["HTTP/1.1 200 OK"],
        ),
        (vec!["curl", "-quiet", "http://doesnt.exist.invalid/"], 1, &[], &["doesnt.exist.invalid"]),
        (vec!["curl", "-quiet", "-curl-stdout-headers", &debug], 0, &["HTTP/1.1 200 OK\r\n"], &[]),
        (vec!["server", "-loglevel", "debug", "extra-arg"], 1, &[], &["too many arguments"]),
        ([&headers[..], &["-c", "2", &debug]].concat(), 0, &[], &["\nCode 200 : 2 (100.0 %)\n"]),
        ([ping(&[]), vec![&grpc]].concat(), 0, &["RTT histogram usec"], &[]),
        ([ping(&["-health"]), vec![&grpc]].concat(), 0, &["Health SERVING : 1"], &[]),
        (
            [ping(&["-health", "-healthservice", "ping"]), vec![&grpc]].concat(),
            0,
            &["Health SERVING : 1"],
            &[],
        ),
        (
            [ping(&["-health", "-healthservice", "ping_down"]), vec![&grpc]].concat(),
            1,
            &["Health NOT_SERVING : 1"],
            &[],
        ),
    ] {
        let finished = fortio(&arguments);
        assert_eq!(finished.code, Some(code), "{arguments:?}: {finished:?}");
        for (text, wanted) in [(&finished.stdout, stdout), (&finished.stderr, stderr)] {
            for part in wanted {
                assert!(text.contains(part), "{arguments:?}: {part} in {finished:?}");
            }
        }
        assert_eq!(finished.stdout.is_empty(), stdout.is_empty(), "{arguments:?}: {finished:?}");
    }
    // Quiet is quiet, and versions are for stdout alone.
    for silent in
        [&["curl", "-quiet", "-curl-stdout-headers", &debug][..], &["version"], &["buildinfo"]]
    {
        assert_eq!(fortio(silent).stderr, "", "{silent:?}");
    }
}

/// Runs of a server against itself, asked for through itself.
#[test]
fn a_server_loads_itself_through_itself() {
    let (_folder, server) = FortioServer::with(&["-fetch", "-maxpayloadsizekb", "8"]);
    let at = server.http.trim_start_matches("http://").trim_end_matches('/');
    let base = format!("http://{at}/fortio/");
    let debug = format!("http://{at}/debug");
    let grpc = server.address("grpc");
    for (path, pointer, want) in [
        (
            format!("?url={debug}&load=Start&t=100ms&qps=-1&json=on"),
            "/RequestedQPS",
            Value::from("max"),
        ),
        (format!("?url={debug}&load=Start&n=80&qps=-1&json=on"), "/RetCodes/200", 80.into()),
        (format!("rest/run?url={debug}&n=80&qps=-1"), "/RetCodes/200", 80.into()),
        (
            format!("?url={grpc}&load=Start&qps=-1&json=on&n=100&runner=grpc"),
            "/RetCodes/SERVING",
            100.into(),
        ),
    ] {
        let url = format!("{base}fetch/{at}/fortio/{path}");
        let finished = fortio(&["curl", "-quiet", &url]);
        assert_eq!(finished.code, Some(0), "{path}: {finished:?}");
        let result: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(result.pointer(pointer), Some(&want), "{path}");
        assert!(result["ActualQPS"].is_number(), "{path}");
    }
    let (_, large) = server.get("/echo?size=1048576");
    assert_eq!(large.len(), 8192);
    for page in ["", "browse", "sync"] {
        assert_eq!(fortio(&["curl", "-quiet", &format!("{base}{page}")]).code, Some(0), "{page}");
    }
}
