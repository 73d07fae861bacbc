//! `plimsoll fortio proxies -M`: requests that go on to several servers.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Stdio};

use crate::fortio_server::{FortioServer, ask};
use crate::support::{plimsoll, run};

/// A server with `-M`, ended when it is dropped.
struct Multi {
    child: Child,
    address: String,
    _err: BufReader<ChildStderr>,
}

impl Multi {
    fn start(flags: &[&str], targets: &str) -> Self {
        let multi = format!("0 {targets}");
        let mut command = plimsoll(&[&["fortio", "proxies", "-M", &multi], flags].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
        let mut err = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        err.read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("Multi on 0 server listening on tcp ").expect("an address");
        let address = rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':'));
        Self { child, address: address.collect(), _err: err }
    }

    /// The status and the body of the answer to a request.
    fn ask(&self, line: &str, rest: &str) -> (String, String) {
        let request = format!("{line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{rest}");
        let (head, body) = ask(&self.address, &request);
        let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
        (status, String::from_utf8_lossy(&body).into_owned())
    }
}

impl Drop for Multi {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_request_goes_on_to_all_servers() {
    let (_folder, server) = FortioServer::all();
    let echo = server.http.trim_end_matches('/');
    let multi = Multi::start(&[], &format!("{echo} {echo}/"));
    let post = "Content-Type: a/b\r\nX-Own: c\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(multi.ask("POST /x", post), ("200".to_owned(), "hellohello".to_owned()));
    let (status, _) = multi.ask("GET /x?status=404", "\r\n");
    assert_eq!(status, "404");
    let (status, shown) = multi.ask("POST /debug?a", post);
    assert_eq!(status, "200");
    for (line, times) in [
        ("POST /debug?a HTTP/1.1", 2),
        ("X-Own: c", 2),
        ("X-Fortio-Multi-Id: 1", 1),
        ("X-Fortio-Multi-Id: 2", 1),
        ("X-On-Behalf-Of: 127.0.0.1:", 2),
    ] {
        assert_eq!(shown.matches(line).count(), times, "{line}: {shown}");
    }
    // One that does not answer, and both ways to make one status of several.
    let targets = format!("{echo} 127.0.0.1:1");
    for (flags, status) in [(&[][..], "503"), (&["-multi-serial-mode"], "200")] {
        let multi = Multi::start(flags, &targets);
        let (told, body) = multi.ask("POST /x", post);
        assert_eq!(told, status, "{flags:?}: {body}");
        let start = "helloError for http://127.0.0.1:1/x: no connection to 127.0.0.1:1";
        assert!(body.starts_with(start), "{body}");
    }
    let plain = Multi::start(&["-multi-mirror-origin=false"], &format!("{echo}/debug"));
    let (_, shown) = plain.ask("POST /x", post);
    assert!(shown.contains("GET /debug HTTP/1.1") && !shown.contains("X-Own"), "{shown}");
}

#[test]
fn a_server_without_others_is_refused() {
    for (multi, says) in [
        ("0", "-M '0' is not a server: give \"port URL URL\""),
        ("x http://127.0.0.1:1", "-M 'x' is not an address"),
        ("0 ftp://a", "unknown scheme 'ftp'"),
        ("0 http://a/ b@c", "credentials"),
    ] {
        let finished = run(&mut plimsoll(&["fortio", "proxies", "-M", multi]));
        assert_eq!(finished.code, Some(1), "{multi}: {finished:?}");
        assert!(finished.stderr.contains(says), "{multi}: {}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
}
