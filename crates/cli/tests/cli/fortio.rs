//! `plimsoll fortio load`: what can be tested without the original.

use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::closed::ClosedPort;
use crate::fortio_server::FortioServer;
use crate::peer::{Answer, OK, Peer};
use crate::support::{Finished, Running, Server, check_schema, plimsoll, run};

pub(crate) fn load(flags: &[&str], target: &str) -> Finished {
    run(&mut plimsoll(&[&["fortio", "load"], flags, &[target]].concat()))
}

/// The lines that are not of the log.
fn report(finished: &Finished) -> Vec<&str> {
    finished.stderr.lines().filter(|line| !line.starts_with('{')).collect()
}

#[test]
fn a_run_prints_the_report_and_writes_the_document() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let [json, own] =
        ["r.json", "own.json"].map(|name| directory.path().join(name).display().to_string());
    let flags = ["-qps", "100", "-t", "300ms", "-c", "2", "-json", &json, "-json-result", &own];
    let finished = load(&flags, &server.url("/"));
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), ""), "{finished:?}");
    let lines = report(&finished);
    assert!(lines[0].starts_with("Fortio 1.75.2+plimsoll."), "{lines:?}");
    let starts = [
        "Starting at 100 qps with 2 thread(s) [gomax ",
        "Ended after ",
        "Sleep times : count 28 avg ",
        "Aggregated Function Time : count 30 avg ",
        "# target 50% ",
        "Error cases : no data",
        "# Socket and IP used for each connection:",
        "[0]   1 socket used, resolved to 127.0.0.1:",
        "[1]   1 socket used, resolved to 127.0.0.1:",
        "Connection time histogram (s) : count 2 avg ",
        "Sockets used: 2 (for perfect keepalive, would be 2)",
        "Uniform: false, Jitter: false, Catchup allowed: true",
        "IP addresses distribution:",
        "Code 200 : 30 (100.0 %)",
        "Response Header Sizes : count 30 avg ",
        "Response Body/Total Sizes : count 30 avg ",
        "All done 30 calls (plus 2 warmup) ",
        "Successfully wrote ",
        "Corrected Function Time : count 30 avg ",
        "Calls due 30 : sent 30, answered 30, ",
    ];
    let mut rest = lines.iter();
    for start in starts {
        // On a busy host, sleeps that came too late are shown in buckets.
        let other = start.replace("Sleep times", "Aggregated Sleep Time");
        let is_there = |line: &&str| line.starts_with(start) || line.starts_with(&other);
        assert!(rest.any(is_there), "{start} in {lines:#?}");
    }
    let text = std::fs::read_to_string(&json).expect("written");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["RetCodes"], serde_json::json!({ "200": 30 }));
    assert_eq!(document["DurationHistogram"]["Count"], 30);
    assert_eq!(document["CorrectedDurationHistogram"]["Count"], 30);
    assert_eq!(document["Ledger"]["scheduled"], 30);
    assert!(text.contains("\"Percentile\": 50,\n") && text.ends_with("]\n}\n"), "{text}");
    let own = std::fs::read_to_string(&own).expect("written");
    check_schema(&serde_json::from_str(&own).expect("JSON"), "result");
    let read = run(&mut plimsoll(&["report", &json]));
    assert_eq!(read.code, Some(0), "{read:?}");
}

#[test]
fn the_name_of_the_program_and_the_original_mode() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let link = directory.path().join("fortio");
    symlink(env!("CARGO_BIN_EXE_plimsoll"), &link).expect("a link");
    let flags = ["load", "-as-original", "-a", "-quiet", "-n", "9", "-qps", "0", "-labels", "a b"];
    let url = server.url("/");
    let finished = run(Command::new(&link).args(flags).arg(&url).current_dir(directory.path()));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let last = finished.stderr.lines().last().expect("a line");
    assert!(last.starts_with("Successfully wrote ") && last.ends_with("_a_b.json"), "{last}");
    assert!(!finished.stderr.contains("Starting"), "{}", finished.stderr);
    let version = run(Command::new(&link).arg("version"));
    assert!(version.stdout.starts_with("1.75.2+plimsoll."), "{version:?}");
}

/// Runs whose calls fail end with 0, a failed warm-up with 1.
#[test]
fn bad_statuses_and_servers_that_are_not_there() {
    let server = Server::start(&[]);
    let bad = server.url("/status/503");
    let aborted = load(&["-t", "100ms", "-c", "2"], &bad);
    assert_eq!(aborted.code, Some(1), "{aborted:?}");
    let want = format!("Aborting because of error 503 for {bad} (");
    assert!(
        aborted.stderr.lines().last().is_some_and(|line| line.starts_with(&want)),
        "{aborted:?}"
    );
    for flags in
        [&["-allow-initial-errors", "-qps", "0", "-t", "100ms"][..], &["-qps", "0", "-n", "8"]]
    {
        let finished = load(flags, &bad);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stderr.contains("\nCode 503 : "), "{}", finished.stderr);
        assert!(!finished.stderr.contains("Error cases : no data"), "{}", finished.stderr);
    }
    let closed = ClosedPort::new();
    let nobody = load(&["-t", "100ms"], &closed.url());
    assert_eq!(nobody.code, Some(1), "{nobody:?}");
    assert!(nobody.stderr.contains("Aborting because of error -1 for "), "{nobody:?}");
}

#[test]
fn calls_of_grpc_are_counted_by_what_was_said() {
    let server = Server::start(&[]);
    let target = server.addresses()[0].to_string();
    for (flags, want) in [
        (&["-grpc"][..], "\nHealth SERVING : 6\n"),
        (&["-grpc", "-s", "2"], "\nHealth SERVING : 6\n"),
        (&["-grpc", "-healthservice", "none"], "\nHealth ERROR : 6\n"),
        (&["-grpc", "-ping", "-payload", "hello"], "\nPing SERVING : 6\n"),
    ] {
        let finished = load(&[flags, &["-n", "6", "-qps", "0", "-c", "2"]].concat(), &target);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(finished.stderr.contains(want), "{flags:?}: {}", finished.stderr);
    }
}

/// One line, before anything is loaded.
#[test]
fn what_cannot_be_is_refused_before_the_load() {
    let url = "http://127.0.0.1:1/";
    for (flags, target, says) in [
        (&["-json", "no/such/r.json"][..], url, "cannot write to 'no/such': No such file"),
        (&["-a", "-data-dir", "no/such"], url, "cannot write to 'no/such': No such file"),
        (&["-json-result", "-"], url, "would both go to stdout"),
        (&["-payload-file", "no/such"], url, "cannot read -payload-file 'no/such'"),
        (&["-cacert", "no/such"], url, "cannot read -cacert 'no/such'"),
        (&["-resolve", "x"], url, "-resolve 'x' is not an address"),
        (&["-jitter", "-t", "0"], url, "keep the time of each call"),
        (&["-timeout", "99999h"], url, "-timeout is too long"),
        (&["-H", "na me:x"], url, "header name is not a token"),
        (&[], "ftp://a/", "unknown scheme 'ftp'"),
        (&[], "tcp://127.0.0.1", "'tcp://127.0.0.1' has no port: write tcp://HOST:PORT"),
        (&[], "tcp://127.0.0.1:1/x", "has a path: write tcp://127.0.0.1:1"),
        (&["-access-log-file", "no/such/log"], url, "cannot write -access-log-file"),
    ] {
        let finished = load(flags, target);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(1), ""), "{finished:?}");
        assert!(finished.stderr.contains(says), "{flags:?}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
    let unknown = load(&["-x"], url);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.stderr.starts_with("flag provided but not defined: -x\n"), "{unknown:?}");
}

#[test]
fn loads_with_a_log_a_range_and_a_method() {
    let (folder, server) = FortioServer::all();
    let log = folder.path().join("calls").display().to_string();
    let common = ["-qps", "0", "-n", "40", "-c", "2", "-json", "-"];
    let flags = [&common[..], &["-access-log-file", &log, "-connection-reuse", "2:5"]].concat();
    let finished = load(&flags, &server.http);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(document["AccessLoggerInfo"], format!("mode json to {log}"));
    assert_eq!(document["ConnReuseRange"], serde_json::json!([2, 5]));
    let sockets = document["SocketCount"].as_i64().expect("a number");
    assert!((8..=22).contains(&sockets), "{sockets}");
    let lines = std::fs::read_to_string(&log).expect("written");
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 40);
    assert!(lines.iter().all(|line| line["ok"] == true && line["details"] == "200"), "{lines:?}");
    let threads: std::collections::BTreeSet<_> =
        lines.iter().map(|line| line["thread"].as_i64()).collect();
    assert_eq!(threads.len(), 2);

    let grpc = server.address("grpc");
    let payload = r#"{"payload":"abc"}"#;
    let flags = ["-grpc", "-grpc-method", "fgrpc.PingServer/Ping", "-payload", payload];
    let finished = load(&[&flags[..], &common].concat(), &grpc);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("\nCustom gRPC Method SERVING : 40\n"), "{finished:?}");
    let run_type = "Custom GRPC Method fgrpc.PingServer/Ping and Payload {\\\"payload\\\":\\\"abc\\\"} PayloadLength=17";
    assert!(finished.stdout.contains(run_type), "{}", finished.stdout);
}

/// Ctrl-C ends a run well, as with fortio. SIGTERM, at which fortio dies without a word, gives the
/// report as well, and the code of the signal.
#[test]
fn a_run_that_a_signal_ends_is_reported() {
    for (signal, code) in [(Signal::INT, 0), (Signal::TERM, 143)] {
        for (flags, said) in [
            (&["-qps", "500", "-t", "80s"][..], "\"RequestedDuration\": \"1m20s\""),
            (&["-qps", "0", "-t", "0"], "\"RequestedDuration\": \"\""),
            (&["-qps", "500", "-n", "40000"], "exactly 40000 calls, interrupted after "),
        ] {
            let peer = Peer::answering(|_| Answer::Say(OK));
            let url = peer.url("/");
            let all = [&["fortio", "load", "-c", "4", "-json", "-"], flags, &[&url]].concat();
            let running = Running::start(&mut plimsoll(&all));
            peer.wait_for_requests(50);
            let finished = running.finish_by(signal);
            assert_eq!(finished.code, Some(code), "{flags:?}: {finished:?}");
            assert!(finished.stderr.contains("\nAll done "), "{finished:?}");
            assert!(finished.stdout.contains(said), "{finished:?}");
            let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
            let warmup = if flags.contains(&"-n") { 0 } else { 4 };
            let counted = document["DurationHistogram"]["Count"].as_u64().expect("a number");
            assert_eq!(counted + warmup, peer.requests().len() as u64, "{flags:?}");
        }
    }
}

/// What the warm-up opened, the load goes on with; it is counted as fortio counts it.
#[test]
fn the_load_goes_on_with_the_connections_of_its_warm_up() {
    let server = FortioServer::all().1;
    for (flags, warmup, sockets) in [
        (&["-c", "4"][..], 4, 4),
        (&["-c", "4", "-sequential-warmup"], 4, 4),
        (&["-c", "4", "-n", "20"], 0, 4),
        (&["-c", "4", "-keepalive=false"], 4, 24),
        (&["-c", "1", "-connection-reuse", "5:5"], 1, 5),
        (&["-c", "4", "-h2"], 4, 4),
        (&["-c", "4", "-allow-initial-errors"], 4, 4),
    ] {
        let all = [&["-qps", "100", "-t", "200ms", "-json", "-"], flags].concat();
        let finished = load(&all, &server.http);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let done = format!("\nAll done 20 calls (plus {warmup} warmup) ");
        assert!(finished.stderr.contains(&done), "{flags:?}: {}", finished.stderr);
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["SocketCount"], sockets, "{flags:?}");
        assert_eq!(document["ConnectionStats"]["Count"], sockets, "{flags:?}");
        assert_eq!(document["RetCodes"], serde_json::json!({ "200": 20 }), "{flags:?}");
    }
}

/// A call and its redirects are one call, with the last status.
#[test]
fn redirects_belong_to_their_call() {
    let server = FortioServer::all().1;
    let url = |path: &str| format!("{}{path}", server.http);
    for (flags, path, status) in [
        (&[][..], "?status=302&header=Location:/b", "200"),
        (&["-h2"], "?status=303&header=Location:/b", "200"),
        (&["-keepalive=false"], "?status=301&header=Location:/b", "200"),
        (&["-payload", "abc"], "?status=307&header=Location:/b", "200"),
        (&["-n", "20"], "?status=302&header=Location:/b?status=404", "404"),
    ] {
        let all = [&["-L", "-c", "2", "-qps", "100", "-t", "200ms", "-json", "-"], flags].concat();
        let finished = load(&all, &url(path));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["RetCodes"], serde_json::json!({ status: 20 }), "{flags:?}");
        assert_eq!(document["FollowRedirects"], true);
        assert_eq!(document["Ledger"]["scheduled"], 20);
        assert_eq!(document["Ledger"]["redirects"], 0);
        let body_bytes = if flags.contains(&"abc") { 3 } else { 0 };
        assert_eq!(document["Sizes"]["Max"], body_bytes, "{flags:?}");
    }
    // As with Go's client, calls that go on and on come to nothing.
    let circle =
        always_answering(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n");
    let endless = load(&["-L", "-n", "4", "-json", "-"], &format!("http://{circle}"));
    assert_eq!(endless.code, Some(0), "{endless:?}");
    let document: Value = serde_json::from_str(&endless.stdout).expect("JSON");
    assert_eq!(document["RetCodes"], serde_json::json!({ "-1": 4 }), "{document}");
    assert!(endless.stderr.contains("more than 9 redirects for one request"), "{endless:?}");
    let elsewhere = load(&["-L"], &url("?status=302&header=Location:http://192.0.2.1/"));
    assert_eq!(elsewhere.code, Some(1), "{elsewhere:?}");
    let last = elsewhere.stderr.lines().last().expect("a line");
    assert!(last.starts_with("Aborting because of error -1 for http://"), "{last}");
    assert!(
        last.ends_with(": to \"http://192.0.2.1/\", which is not on this server: not followed")
    );
}

/// The address of a server that answers each request with these bytes.
fn always_answering(answer: &'static [u8]) -> std::net::SocketAddr {
    crate::fortio_echo::serve(move |mut stream| {
        use std::io::{Read as _, Write as _};
        while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            let _ = stream.write_all(answer);
        }
    })
}

/// What comes beyond the answer fails no call, and the log does not say so.
#[test]
fn bytes_to_spare_are_not_failed_calls() {
    let server = always_answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nabc");
    let flags = ["-n", "4", "-qps", "0", "-c", "1", "-json", "-"];
    let finished = load(&flags, &format!("http://{server}"));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(document["RetCodes"], serde_json::json!({ "200": 4 }));
    let says = |text: &str| finished.stderr.contains(&format!("\"msg\":\"{text}\""));
    assert!(says("Bytes that answer no call") && !says("Calls failed"), "{}", finished.stderr);
}

/// Nobody is there: each call fails where that is to be counted, as with fortio.
#[test]
fn calls_of_a_server_that_is_not_there_are_counted() {
    let closed = ClosedPort::new();
    for flags in [
        &["-n", "4", "-qps", "400"][..],
        &["-n", "4", "-qps", "0", "-c", "2"],
        &["-allow-initial-errors", "-t", "1s", "-qps", "4"],
    ] {
        let finished = load(&[flags, &["-json", "-"]].concat(), &closed.url());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let document: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert_eq!(document["RetCodes"], serde_json::json!({ "-1": 4 }), "{flags:?}");
        assert_eq!(document["ErrorsDurationHistogram"]["Count"], 4, "{flags:?}");
    }
}
