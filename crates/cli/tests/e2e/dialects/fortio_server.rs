//! fortio's server and ours, side by side: the same answers to the same requests; and what each
//! makes of the other's results.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::programs::share_with;
use crate::support::{plimsoll, run};

/// fortio's server, or ours, ended when it is dropped.
pub(super) struct Echo {
    child: Child,
    pub(super) address: String,
    /// fortio ends when it prints where nobody reads.
    _out: BufReader<ChildStdout>,
    pub(super) folder: tempfile::TempDir,
}

impl Echo {
    pub(super) fn start(command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let ports = ["-grpc-port", "-tcp-port", "-udp-port", "-redirect-port"];
        let off = ports.iter().flat_map(|port| [*port, "disabled"]);
        Self::over(command, folder, &["server"].into_iter().chain(off).collect::<Vec<_>>())
    }

    /// The server of a command over a folder of results.
    pub(super) fn over(mut command: Command, folder: tempfile::TempDir, flags: &[&str]) -> Self {
        let data = folder.path().display().to_string();
        let flags = [flags, &["-data-dir", &data, "-http-port", "127.0.0.1:0"]].concat();
        let mut child = command
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let url = out
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find(|line| line.trim_start().starts_with("http://"));
        let url = url.expect("where it is");
        let address = url
            .trim()
            .trim_start_matches("http://")
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        Self { child, address, _out: out, folder }
    }

    /// A request to it. fortio keeps its list of results with the host of the first request.
    fn get(&self, path: &str) -> String {
        let host = &self.address;
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    }

    /// Waits until a page is there: fortio tells its address before it has its pages.
    fn await_pages(&self, path: &str) {
        let request = self.get(path);
        let is_there = || self.ask(&request).0[0] == "HTTP/1.1 200 OK";
        assert!((0..10_000).any(|_| is_there()), "{path} of {}", self.address);
    }

    /// The answer to a request, without what differs each time.
    pub(super) fn ask(&self, request: &str) -> (Vec<String>, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).expect("a server");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|part| part == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("{}: no head for {request}", self.address)) + 4;
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let lines = head.lines().filter(|line| !line.is_empty());
        let plain = |line: &str| match line.split_once(": ") {
            Some(("Date", _)) => "Date".to_owned(),
            _ => line.to_owned(),
        };
        (lines.map(plain).collect(), answer[end..].to_vec())
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_answers_as_fortios_does() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let theirs = Echo::start(Command::new("fortio"));
    let ours = Echo::start(plimsoll(&["fortio"]));
    let get = |target: &str, fields: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{fields}\r\n")
    };
    let post = |target: &str, fields: &str| {
        format!(
            "POST {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5\r\n{fields}\
             \r\nhello"
        )
    };
    let gzip = "Accept-Encoding: gzip\r\n";
    for (request, is_random) in [
        (get("/", ""), false),
        (get("/a?status=503", ""), false),
        (get("/a?status=404:150", ""), false),
        (get("/a?status=bad", ""), false),
        (get("/a?status=204&size=5", ""), false),
        (get("/a?size=7", ""), true),
        (get("/a?size=-4", ""), false),
        (get("/a?size=bad&delay=bad&close=&gzip=false", ""), false),
        (get("/a?delay=5ms:50,2ms:50", ""), false),
        (get("/a?header=X-B:1&header=A:%20b+c&header=bad", ""), false),
        (get("/debug/echo/x", ""), false),
        (post("/a", ""), false),
        (post("/a", "Content-Type: a/b\r\n"), false),
        (post("/a?size=3", "Content-Type: a/b\r\n"), true),
        (post("/a?status=418", "Content-Type: a/b\r\n"), false),
        (get("/fortio/rest/run", ""), false),
        (get("/fortio/rest/run?url=http://a/&t=bad", ""), false),
        (get("/fortio/rest/status", ""), false),
        (get("/fortio/rest/stop", ""), false),
        (get("/fortio/rest/stop?runid=77", ""), false),
        (get("/fortio/rest/dns?name=127.0.0.1", ""), false),
        (get("/fortio/rest/dns", ""), false),
        (get("/fortio/rest/status?runid=77", ""), false),
        (get("/fortio/rest/status?runid=x", ""), false),
        (get("/fortio/rest/stop?wait=true", ""), false),
        (get("/fortio/data/", ""), false),
        (get("/a?close=true", ""), false),
    ] {
        let ((head, body), (their_head, their_body)) = (ours.ask(&request), theirs.ask(&request));
        assert_eq!(head, their_head, "{request}");
        match is_random {
            true => assert_eq!(body.len(), their_body.len(), "{request}"),
            false => {
                let [body, their_body] =
                    [body, their_body].map(|body| String::from_utf8_lossy(&body).into_owned());
                assert_eq!(body, their_body, "{request}");
            }
        }
    }
    // How well each compresses differs.
    let request = post("/a?gzip=true", gzip);
    for server in [&ours, &theirs] {
        let (head, body) = server.ask(&request);
        assert!(head.contains(&"Content-Encoding: gzip".to_owned()), "{head:?}");
        assert!(body.starts_with(b"\x1f\x8b"), "{body:?}");
    }
    // A run of each, of both servers.
    for (server, target) in [(&ours, &theirs), (&theirs, &ours)] {
        let path = format!("/fortio/rest/run?url=http://{}/&n=12&qps=-1&c=3", target.address);
        let (head, body) = server.ask(&get(&path, ""));
        assert_eq!(head[0], "HTTP/1.1 200 OK");
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("\"200\": 12"), "{text}");
    }
}

/// A run over REST, of both servers against ours: the keys of its result, and counts.
#[test]
fn runs_over_rest_come_to_the_same() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let (theirs, ours) = (Echo::start(Command::new("fortio")), Echo::start(plimsoll(&["fortio"])));
    let url = format!("http://{}/", ours.address);
    for query in [
        format!("url={url}&n=9&qps=-1&c=3"),
        format!("url={url}&n=9&qps=90&c=2&labels=a+b&uniform=on&nocatchup=on&p=50"),
        format!("url={url}&t=200ms&qps=50&c=2&r=0.0001&p=50,99"),
        format!("url={url}&n=4&qps=-1&c=2&p=101"),
        format!("url={url}&n=6&qps=-1&c=1&connection-reuse=2:2"),
        format!("url={url}?status=503&n=4&qps=-1&c=2&stdclient=on"),
    ] {
        let of = |server: &Echo| -> Value {
            let (head, body) = server.ask(&format!(
                "GET /fortio/rest/run?{query} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
            ));
            assert_eq!(head[0], "HTTP/1.1 200 OK", "{query}");
            serde_json::from_slice(&unchunked(&head, body)).expect("JSON")
        };
        let (mut our, mut their) = (of(&ours), of(&theirs));
        // Plimsoll's own keys stand at the end, and each run measures other figures.
        for key in ["CorrectedDurationHistogram", "Ledger", "Verdict", "VerdictCauses"] {
            our.as_object_mut().expect("an object").remove(key);
        }
        assert_eq!(paths(&our), paths(&their), "{query}");
        for measured in
            ["StartTime", "ActualQPS", "ActualDuration", "Version", "RunID", "ID", "IPCountMap"]
        {
            our[measured] = Value::Null;
            their[measured] = Value::Null;
        }
        for histogram in ["DurationHistogram", "ErrorsDurationHistogram", "ConnectionStats"] {
            our[histogram] = our[histogram]["Count"].take();
            their[histogram] = their[histogram]["Count"].take();
        }
        assert_eq!(our, their, "{query}");
    }
}

/// A body as it was before it was sent in chunks.
fn unchunked(head: &[String], body: Vec<u8>) -> Vec<u8> {
    if !head.iter().any(|line| line == "Transfer-Encoding: chunked") {
        return body;
    }
    let (mut whole, mut rest) = (Vec::new(), &body[..]);
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").expect("a chunk");
        let length = std::str::from_utf8(&rest[..end]).expect("digits");
        let length = usize::from_str_radix(length, 16).expect("digits");
        if length == 0 {
            return whole;
        }
        whole.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
}

/// The names of an object's fields, and of those within them; buckets are as many as they are.
fn paths(value: &Value) -> Vec<String> {
    let Some(fields) = value.as_object() else { return Vec::new() };
    let of = |(name, value): (&String, &Value)| {
        let inner = paths(value).into_iter().map(move |path| format!("{name}/{path}"));
        [name.clone()].into_iter().chain(inner).collect::<Vec<_>>()
    };
    fields.iter().flat_map(of).collect()
}

/// Results of each tester in the folder of the other's report: listed, shown and copied.
#[test]
fn each_opens_the_results_of_the_other() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let target = Echo::start(plimsoll(&["fortio"]));
    let url = format!("http://{}/", target.address);
    let flags = ["load", "-a", "-quiet", "-n", "8", "-qps", "0", "-labels", "of each", &url];
    let get = |server: &Echo, path: &str| {
        let (head, body) = server.ask(&server.get(path));
        assert_eq!(head[0], "HTTP/1.1 200 OK", "{path}");
        String::from_utf8(unchunked(&head, body)).expect("text")
    };
    let (fortio, plimsoll_fortio) = (|| Command::new("fortio"), || plimsoll(&["fortio"]));
    for (writer, reader) in [(plimsoll_fortio(), fortio()), (fortio(), plimsoll_fortio())] {
        let mut writer = writer;
        let folder = tempfile::tempdir().expect("a folder");
        let written = run(writer.args(flags).current_dir(folder.path()));
        assert_eq!(written.code, Some(0), "{written:?}");
        let mut files = fs::read_dir(folder.path()).expect("a folder").flatten();
        let name = files.next().expect("a result").file_name().into_string().expect("text");
        assert!(files.next().is_none() && name.ends_with("_of_each.json"), "{name}");
        let document = fs::read_to_string(folder.path().join(&name)).expect("written");
        let report = Echo::over(reader, folder, &["report", "-redirect-port", "disabled"]);
        report.await_pages("/data/index.tsv");
        assert_eq!(get(&report, &format!("/data/{name}")), document);
        let index = get(&report, "/data/index.tsv");
        let line = format!("http://{}/data/{name}\t{}\t", report.address, document.len());
        assert!(index.starts_with("TsvHttpData-1.0\n") && index.contains(&line), "{index}");
        let page = get(&report, "/");
        assert!(page.contains("report only limited UI"), "{page}");
        let stem = name.trim_end_matches(".json");
        assert!(page.contains(stem), "{page}");
        let shown = get(&report, &format!("/browse?url={name}"));
        assert!(shown.contains(stem), "{shown}");
        // Both copy what such a list has.
        let list = format!("http://{}/data/index.tsv", report.address);
        for copier in [fortio(), plimsoll_fortio()] {
            let folder = tempfile::tempdir().expect("a folder");
            let copy = Echo::over(
                copier,
                folder,
                &["report", "-redirect-port", "disabled", "-sync", &list],
            );
            let copied = fs::read_to_string(copy.folder.path().join(&name));
            assert_eq!(copied.expect("copied"), document);
        }
    }
}

/// A bucket in two parts, as a server of files would give it.
#[test]
fn both_copy_what_a_bucket_lists() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let part = |inside: &str| {
        format!("<?xml version=\"1.0\"?><ListBucketResult>{inside}</ListBucketResult>")
    };
    let object = |key: &str| format!("<Contents><Key>{key}</Key></Contents>");
    let bucket = Files::serve(vec![
        ("/b?marker=x%2Fa.json".to_owned(), part(&(object("x/b.json") + &object("x/c.txt")))),
        ("/b".to_owned(), part(&(object("x/a.json") + "<NextMarker>x/a.json</NextMarker>"))),
        ("/b/x/a.json".to_owned(), "{\"a\":1}".to_owned()),
        ("/b/x/b.json?marker=x%2Fa.json".to_owned(), "{\"b\":2}".to_owned()),
    ]);
    for copier in [Command::new("fortio"), plimsoll(&["fortio"])] {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("http://{}/b", bucket.address);
        let flags = ["report", "-redirect-port", "disabled", "-sync", &url];
        let copy = Echo::over(copier, folder, &flags);
        let mut files: Vec<(String, String)> = fs::read_dir(copy.folder.path())
            .expect("a folder")
            .flatten()
            .map(|file| {
                let name = file.file_name().into_string().expect("text");
                (name, fs::read_to_string(file.path()).expect("text"))
            })
            .collect();
        files.sort_unstable();
        let want = [("a.json", "{\"a\":1}"), ("b.json", "{\"b\":2}")];
        assert_eq!(files, want.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
}

/// A server of texts by their targets, a request for each connection.
struct Files {
    address: String,
}

impl Files {
    fn serve(texts: Vec<(String, String)>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        // It ends with the test's process.
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut head = String::new();
                let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
                while !head.ends_with("\r\n\r\n")
                    && reader.read_line(&mut head).is_ok_and(|n| n > 0)
                {}
                let target = head.split(' ').nth(1).unwrap_or_default();
                let found = texts.iter().find(|(known, _)| known == target);
                let (status, text) = found.map_or((404, ""), |(_, text)| (200, text.as_str()));
                let length = text.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n\
                     {text}"
                );
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { address }
    }
}
