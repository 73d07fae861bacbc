//! fortio and us, side by side: the same lines, the same keys, the same counts, and the same
//! requests on the wire. fortio 1.66 and later are compared.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::outputs::shape;
use super::recorder::Recorder;
use crate::nginx::Nginx;
use crate::programs::{share_with, turn_with};
use crate::support::{Finished, plimsoll, run};

/// fortio's run, and ours in fortio's own pace.
pub(super) fn both(arguments: &[&str]) -> [Finished; 2] {
    let theirs = run(Command::new("fortio").arg("load").args(arguments));
    let ours = run(&mut plimsoll(&[&["fortio", "load", "-as-original"], arguments].concat()));
    [theirs, ours]
}

/// Lines of the report, without the log and without buckets, whose number depends on the values.
pub(super) fn lines(finished: &Finished) -> Vec<String> {
    let is_wanted = |line: &&str| !line.starts_with(['{', '>']);
    let lines = finished.stderr.lines().filter(is_wanted);
    // Small numbers have exponents, and versions are each program's own.
    let without = |line: &str| {
        let plain = ["e-04", "e-05", "e-06", "e-07"]
            .iter()
            .fold(line.to_owned(), |line, end| line.replace(end, ""));
        plain.replacen(concat!("+plimsoll.", env!("CARGO_PKG_VERSION")), "", 1)
    };
    lines.map(|line| shape(&without(line))).collect()
}

/// Keys of the outermost object, in order.
pub(super) fn keys(document: &str) -> Vec<&str> {
    let lines = document.lines().filter_map(|line| line.strip_prefix("  \""));
    lines.filter_map(|line| line.split('"').next()).collect()
}

/// Lines that have the same figures in any run of these flags.
fn counts(finished: &Finished) -> Vec<&str> {
    let starts = ["Code ", "Sockets used", "Starting at", "Uniform", "Response "];
    let is_wanted = |line: &&str| starts.iter().any(|start| line.starts_with(start));
    finished.stderr.lines().filter(is_wanted).collect()
}

#[test]
fn fortio_load_prints_what_fortio_prints() {
    let Some(_turn) = turn_with(&["nginx", "fortio"]) else { return };
    let nginx = Nginx::start();
    let (url, missing) = (nginx.url("/"), nginx.url("/none"));
    for arguments in [
        &["-qps", "50", "-t", "1s", "-c", "2", "-json", "-", &url][..],
        &["-qps", "20", "-n", "5", "-c", "2", "-json", "-", &url],
        &["-qps", "40", "-n", "12", "-c", "3", "-uniform", "-jitter", "-r", "0.0001", &url],
        &["-qps", "0", "-n", "100", "-c", "4", "-quiet", &url],
        &["-qps", "10", "-n", "3", "-loglevel", "warning", "-labels", "a", &url],
        &["-qps", "10", "-n", "4", "-c", "2", "-keepalive=false", &url],
        &["-qps", "10", "-n", "4", "-c", "1", "-connection-reuse", "2:2", &url],
    ] {
        let [theirs, ours] = both(arguments);
        assert_eq!((ours.code, theirs.code), (Some(0), Some(0)), "{arguments:?}: {ours:?}");
        assert_eq!(lines(&ours), lines(&theirs), "{arguments:?}");
        assert_eq!(counts(&ours), counts(&theirs), "{arguments:?}");
        assert_eq!(keys(&ours.stdout), keys(&theirs.stdout), "{arguments:?}");
    }
    for arguments in [&["-t", "1s", &missing][..], &["-x", &url], &["-p", "101", &url], &[]] {
        let [theirs, ours] = both(arguments);
        assert_eq!(ours.code, theirs.code, "{arguments:?}: {ours:?} {theirs:?}");
    }
}

#[test]
fn requests_are_those_of_fortio() {
    let Some(_turn) = turn_with(&["fortio"]) else { return };
    let recorder = Recorder::start();
    for flags in [
        &[][..],
        &["-H", "x-a: b", "-H", "Host: foo.bar"],
        &["-H", "user-agent:"],
        &["-payload", "hello", "-user", "a:b"],
        &["-payload", "hello", "-content-type", "text/plain", "-keepalive=false"],
        &["-content-type", "text/plain"],
        &["-X", "PUT"],
        &["-http1.0"],
        &["-keepalive=false"],
        &["-H", "content-type: a/b", "-payload", "zz"],
    ] {
        let url = recorder.url("/a?b=c");
        let all = [&["-quiet", "-qps", "0", "-n", "1", "-c", "1"], flags, &[&url]].concat();
        let seen = both(&all).map(|finished| finished.code);
        assert_eq!(seen, [Some(0); 2], "{flags:?}");
        let requests: Vec<String> =
            recorder.take().into_iter().flatten().map(unversioned).collect();
        assert_eq!(requests.len(), 2, "{flags:?}: {requests:?}");
        assert_eq!(requests[1], requests[0], "{flags:?}");
    }
}

/// A request without the number of fortio's version.
fn unversioned(request: String) -> String {
    let Some((before, after)) = request.split_once("fortio-") else { return request };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    format!("{before}fortio{rest}")
}

/// fortio's server, or ours, ended when it is dropped.
struct Echo {
    child: Child,
    address: String,
    /// fortio ends when it prints where nobody reads.
    _out: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

impl Echo {
    fn start(mut command: Command) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().display().to_string();
        let mut flags = vec!["server", "-data-dir", &data, "-http-port", "127.0.0.1:0"];
        for port in ["-grpc-port", "-tcp-port", "-udp-port", "-redirect-port"] {
            flags.extend([port, "disabled"]);
        }
        let mut child = command
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let url = out.by_ref().lines().map_while(Result::ok).find(|line| line.contains("http://"));
        let url = url.expect("where it is");
        let address =
            url.trim().trim_start_matches("http://").trim_end_matches("/fortio/").to_owned();
        Self { child, address, _out: out, _folder: folder }
    }

    /// The answer to a request, without what differs each time.
    fn ask(&self, request: &str) -> (Vec<String>, Vec<u8>) {
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

#[test]
fn clients_print_what_fortios_print() {
    let Some(_turn) = share_with(&["fortio"]) else { return };
    let server = Echo::start(Command::new("fortio"));
    let url = format!("http://{}", server.address);
    for (flags, path) in [
        (&["curl"][..], "/"),
        (&["curl", "-stdclient", "-payload", "abcd"], "/"),
        (&["curl", "-h2", "-payload", "abcd"], "/"),
        (&["curl", "-payload", "abc"], "/"),
        (&["curl", "-curl-stdout-headers"], "/?header=A:B"),
        (&["curl"], "/?status=204"),
        (&["load", "-curl", "-payload", "abcd"], "/"),
        (&["curl", "-L"], "/?status=302&header=Location:/a?status=404"),
        (&["curl", "-L", "-payload", "ab"], "/?status=307&header=Location:b"),
        (&["curl", "-L", "-payload", "ab"], "/?status=301&header=Location:b"),
    ] {
        let target = format!("{url}{path}");
        let arguments = [flags, &[&target]].concat();
        let theirs = run(Command::new("fortio").args(&arguments));
        let ours = run(&mut plimsoll(&[&["fortio"], &arguments[..]].concat()));
        assert_eq!(ours.code, theirs.code, "{arguments:?}: {ours:?}");
        let undated = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("Date: "));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(undated(&ours.stdout), undated(&theirs.stdout), "{arguments:?}");
        let heads = |finished: &Finished| {
            let lines = finished.stderr.lines().filter(|line| !line.starts_with('{'));
            lines.filter(|line| !line.starts_with("Date: ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(heads(&ours), heads(&theirs), "{arguments:?}");
    }
}
