//! `plimsoll fortio server`, and the commands that look at one.

use serde_json::Value;

use crate::closed::ClosedPort;
use crate::support::{plimsoll, run};

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

    /// All parts of it, and the folder of its results.
    pub(crate) fn all() -> (tempfile::TempDir, Self) {
        Self::with(&[])
    }

    /// The same with more flags.
    pub(crate) fn with(more: &[&str]) -> (tempfile::TempDir, Self) {
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
        let server = Self::start(&[&flags[..], more].concat());
        (folder, server)
    }

    /// The address of the server whose line of the log has this word.
    pub(crate) fn address(&self, word: &str) -> String {
        let line = self.log.iter().find(|line| line.contains(word)).expect(word);
        let (_, rest) = line.split_once("listening on tcp ").expect("an address");
        rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect()
    }

    /// The answer to a request: its head, and its body.
    pub(crate) fn ask(&self, request: &str) -> (String, Vec<u8>) {
        ask(self.http.trim_start_matches("http://").trim_end_matches('/'), request)
    }

    pub(crate) fn get(&self, path: &str) -> (String, Vec<u8>) {
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
