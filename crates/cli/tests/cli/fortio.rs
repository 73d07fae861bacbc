//! `plimsoll fortio load`: what can be tested without the original.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::support::{Finished, Server, check_schema, plimsoll, run};

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
        assert!(rest.any(|line| line.starts_with(start)), "{start} in {lines:#?}");
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

/// A server of fortio's kind, ended when it is dropped.
pub(crate) struct FortioServer {
    child: std::process::Child,
    pub(crate) http: String,
    log: Vec<String>,
}

impl FortioServer {
    fn start(flags: &[&str]) -> Self {
        use std::io::{BufRead as _, BufReader};
        let all = [&["fortio", "server"], flags].concat();
        let mut command = plimsoll(&all);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let mut child = command.spawn().expect("started");
        let out = BufReader::new(child.stdout.take().expect("piped"));
        let mut err = BufReader::new(child.stderr.take().expect("piped"));
        let url = out.lines().map_while(Result::ok).find(|line| line.contains("http://"));
        let url = url.expect("where it is").trim().to_owned();
        // What was logged before that; the rest is left unread.
        let mut log = Vec::new();
        for _ in 0..4 {
            let mut line = String::new();
            err.read_line(&mut line).expect("a line");
            log.push(line);
        }
        let http = url.trim_end_matches("fortio/").to_owned();
        Self { child, http, log }
    }

    pub(crate) fn all() -> (tempfile::TempDir, Self) {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().display().to_string();
        let flags = [
            "-http-port",
            "0",
            "-grpc-port",
            "0",
            "-tcp-port",
            "0",
            "-redirect-port",
            "0",
            "-udp-port",
            "disabled",
            "-data-dir",
            &data,
        ];
        let server = Self::start(&flags);
        (folder, server)
    }

    /// The address of the server whose line of the log has this word.
    pub(crate) fn address(&self, word: &str) -> String {
        let line = self.log.iter().find(|line| line.contains(word)).expect(word);
        let (_, rest) = line.split_once("listening on tcp ").expect("an address");
        rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect()
    }

    /// The answer to a request: its head, and its body.
    fn ask(&self, request: &str) -> (String, Vec<u8>) {
        ask(self.http.trim_start_matches("http://").trim_end_matches('/'), request)
    }

    fn get(&self, path: &str) -> (String, Vec<u8>) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        let (head, body) = self.get(path);
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{path}: {error}: {head}"))
    }
}

pub(crate) fn ask(address: &str, request: &str) -> (String, Vec<u8>) {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).expect("a server");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let end = answer.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    (head, answer[end..].to_vec())
}

impl Drop for FortioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The head without its date, which is always another one.
fn undated(head: &str) -> Vec<&str> {
    head.lines().filter(|line| !line.is_empty() && !line.starts_with("Date: ")).collect()
}

#[test]
fn the_echo_does_what_the_query_says() {
    let (_folder, server) = FortioServer::all();
    for (path, want, body_bytes) in [
        ("/", &["HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close"][..], 0),
        (
            "/x?status=503&size=3&header=A:B",
            &[
                "HTTP/1.1 503 Service Unavailable",
                "A: B",
                "Content-Length: 3",
                "Content-Type: application/octet-stream",
                "Connection: close",
            ],
            3,
        ),
        (
            "/?status=bad",
            &["HTTP/1.1 400 Bad Request", "Content-Length: 0", "Connection: close"],
            0,
        ),
        ("/?delay=1ms", &["HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close"], 0),
    ] {
        let (head, body) = server.get(path);
        assert_eq!((undated(&head), body.len()), (want.to_vec(), body_bytes), "{path}");
        assert!(head.contains("\r\nDate: ") && head.contains(" GMT\r\n"), "{head}");
    }
    let (head, body) = server.ask(
        "POST /?close=true HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello",
    );
    assert_eq!(body, b"hello", "{head}");
    assert!(
        head.contains("\r\nConnection: close\r\n") && head.contains("Content-Type: a/b"),
        "{head}"
    );
    let (head, body) = server.ask(
        "POST /?gzip=true HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\
         Content-Length: 5\r\n\r\nhello",
    );
    assert!(head.contains("Content-Encoding: gzip") && body.starts_with(b"\x1f\x8b"), "{head}");
    let redirect = server.address("redirector");
    let (head, _) = ask(&redirect, "GET /a?b HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 303 ") && head.contains("Location: https://h:1/a?b\r\n"),
        "{head}"
    );
    let (_, debug) = server.get("/debug?x");
    let debug = String::from_utf8(debug).expect("text");
    assert!(debug.contains("\nGET /debug?x HTTP/1.1\n\nheaders:\n\nHost: h\n"), "{debug}");
}

#[test]
fn runs_are_started_over_rest() {
    let (folder, server) = FortioServer::all();
    let target = format!("{}x", server.http);
    for (path, want) in [
        ("/fortio/rest/run".to_owned(), "URL is required"),
        (format!("/fortio/rest/run?url={target}&t=bad"), "parsing duration"),
        ("/fortio/rest/dns?name=".to_owned(), "dns failed"),
    ] {
        let (head, body) = server.get(&path);
        assert!(head.starts_with("HTTP/1.1 400 "), "{path}: {head}");
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!((&answer["error"], &answer["message"]), (&true.into(), &want.into()), "{path}");
    }
    let run = format!("/fortio/rest/run?url={target}&n=20&qps=-1&c=2&save=on&labels=a+b");
    let result = server.json(&run);
    assert_eq!(result["RetCodes"], serde_json::json!({ "200": 20 }));
    assert_eq!(result["Labels"], "a b");
    let id = result["ID"].as_str().expect("a name");
    assert!(id.ends_with("_a_b"), "{id}");
    assert!(folder.path().join(format!("{id}.json")).exists(), "{id}");
    let saved = server.json(&format!("/fortio/data/{id}.json"));
    assert_eq!(saved, result);
    let (_, list) = server.get("/fortio/data/");
    let list = String::from_utf8(list).expect("text");
    assert!(list.contains(&format!("<li><a href=\"{id}.json\">{id}</a>")), "{list}");
    let (_, index) = server.get("/fortio/data/index.tsv");
    let index = String::from_utf8(index).expect("text");
    assert!(
        index.starts_with(&format!("TsvHttpData-1.0\nhttp://h/fortio/data/{id}.json\t")),
        "{index}"
    );
    // An endless run goes on until it is told to stop.
    let endless = format!("/fortio/rest/run?url={target}&t=on&qps=50&c=1&async=on");
    let started = server.json(&endless);
    assert_eq!((&started["message"], &started["Count"]), (&"started".into(), &1.into()));
    let run_id = started["RunID"].as_i64().expect("a number");
    let running = |server: &FortioServer| {
        let status = server.json("/fortio/rest/status");
        status["Statuses"][run_id.to_string()]["State"] == 2
    };
    while !running(&server) {}
    let stopped = server.json(&format!("/fortio/rest/stop?runid={run_id}&wait=true"));
    assert_eq!((&stopped["message"], &stopped["Count"]), (&"stopped".into(), &1.into()));
    assert_eq!(server.json("/fortio/rest/status"), serde_json::json!({ "Statuses": {} }));
    for path in ["/fortio/data/../../etc/passwd", "/fortio/data/%2e%2e%2fx.json", "/fortio/data/x"]
    {
        let (head, _) = server.get(path);
        assert!(head.starts_with("HTTP/1.1 404 "), "{path}: {head}");
    }
    let (_, metrics) = server.get("/debug/metrics");
    let metrics = String::from_utf8(metrics).expect("text");
    assert!(metrics.contains("\nfortio_running 0\n"), "{metrics}");
    assert!(metrics.contains("\nfortio_runs_total "), "{metrics}");
    // What fetches pages of others has to be asked for.
    let (_, body) = server.get(&format!("/fortio/fetch2/?url={target}"));
    assert!(String::from_utf8_lossy(&body).contains("control UI"));
}

#[test]
fn clients_show_what_a_server_answers() {
    let (_folder, server) = FortioServer::all();
    let fortio = |arguments: &[&str]| run(&mut plimsoll(&[&["fortio"], arguments].concat()));
    let url = |path: &str| format!("{}{path}", server.http);
    for (flags, path, code, stdout_bytes, head_at) in [
        (&["-payload", "abc"][..], "", 0, 3, "stderr"),
        (&["-stdclient", "-payload", "abcd"], "", 0, 4, "nowhere"),
        (&["-h2", "-payload", "abcd"], "", 0, 4, "nowhere"),
        (&[], "", 0, 0, "stderr"),
        (&["-quiet"], "?status=503", 1, 0, "stderr"),
        (&["-quiet"], "?status=204", 1, 0, "stderr"),
        (&["-L"], "?status=302&header=Location:/b?c", 0, 0, "nowhere"),
        (&["-L", "-payload", "abc"], "?status=307&header=Location:b", 0, 3, "nowhere"),
    ] {
        let url = url(path);
        let shown = fortio(&[&["curl"], flags, &[&url]].concat());
        assert_eq!(
            (shown.code, shown.stdout.len()),
            (Some(code), stdout_bytes),
            "{path} {shown:?}"
        );
        assert_eq!(shown.stderr.contains("HTTP/1.1 "), head_at == "stderr", "{flags:?} {shown:?}");
        assert_eq!(shown.stderr.contains("Error status "), code == 1, "{shown:?}");
    }
    let both = fortio(&["curl", "-curl-stdout-headers", &url("?size=2")]);
    assert!(both.stdout.starts_with("HTTP/1.1 200 OK\r\n"), "{both:?}");
    let closed = ClosedPort::new();
    let nobody = fortio(&["curl", &closed.url()]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(1), ""), "{nobody:?}");
    assert!(nobody.stderr.contains("Error status -1"), "{nobody:?}");

    let circle = crate::fortio_echo::serve(|mut stream| {
        use std::io::{Read as _, Write as _};
        let answer = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";
        while stream.read(&mut [0; 4096]).is_ok_and(|bytes| bytes > 0) {
            let _ = stream.write_all(answer);
        }
    });
    let endless = fortio(&["curl", "-L", &format!("http://{circle}")]);
    assert_eq!((endless.code, endless.stdout.as_str()), (Some(1), ""), "{endless:?}");
    assert!(endless.stderr.contains("stopped after 10 redirects"), "{endless:?}");

    let grpc = server.address("grpc");
    let pings = fortio(&["grpcping", "-n", "2", &grpc]);
    assert_eq!(pings.code, Some(0), "{pings:?}");
    assert!(pings.stdout.starts_with("Clock skew histogram usec : count 2 avg "), "{pings:?}");
    assert!(pings.stdout.contains("\nRTT histogram usec : count 6 avg "), "{pings:?}");
    assert_eq!(pings.stderr.matches("Ping RTT ").count(), 2, "{pings:?}");
    for (service, code, want) in
        [("", 0, "\nHealth SERVING : 2\n"), ("ping_down", 1, "\nHealth NOT_SERVING : 2\n")]
    {
        let flags = ["grpcping", "-health", "-healthservice", service, "-n", "2", &grpc];
        let health = fortio(&flags);
        assert_eq!(health.code, Some(code), "{health:?}");
        assert!(health.stdout.ends_with(want), "{health:?}");
    }
    assert_eq!(fortio(&["grpcping", &closed.url()["http://".len()..]]).code, Some(1));

    let tcp = server.address("tcp-echo");
    let mut netcat = plimsoll(&["fortio", "nc", &tcp]);
    let stdin = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(stdin.path(), "hi\n").expect("written");
    let input = std::fs::File::open(stdin.path()).expect("a file");
    let said = netcat.stdin(input).output().expect("it runs");
    let shown = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && said.stdout.is_empty(), "{said:?}");
    assert!(shown.contains("\nhi\n"), "{shown}");
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
