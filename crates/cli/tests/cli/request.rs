//! `plimsoll request` and `run -v`: what is sent and what comes back, to look at.

use std::fs;

use crate::closed::ClosedPort;
use crate::peer::{Answer, OK, Peer};
use crate::support::{Finished, Server, plimsoll, run};

const CANARY: &str = "canary";

/// An overloaded server that says why, and gives secrets away.
const OVERLOADED: &str = "HTTP/1.1 503 Busy\r\nContent-Length: 57\r\nRetry-After: 7\r\n\
                          Content-Type: application/json\r\nSet-Cookie: id=canary-set; Path=/\r\n\r\n\
                          {\"error\":\"over capacity\",\"code\":17,\"token\":\"canary-body\"}";

fn request(arguments: &[&str]) -> Finished {
    run(plimsoll(&["request"]).args(arguments))
}

/// The lines with a mark, without it.
fn marked(text: &str, mark: char) -> Vec<String> {
    let of_mark = text.lines().filter_map(|line| line.strip_prefix(mark));
    of_mark.map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect()
}

#[track_caller]
fn check(finished: &Finished, code: i32, shown: &[&str], said: &str) {
    assert_eq!(finished.code, Some(code), "{finished:?}");
    for line in shown {
        assert!(finished.stdout.lines().any(|it| it == *line), "{line}: {finished:?}");
    }
    let lines = usize::from(!said.is_empty());
    assert_eq!(finished.stderr.lines().count(), lines, "{finished:?}");
    assert!(finished.stderr.contains(said), "{said}: {finished:?}");
}

#[test]
fn a_response_is_shown_and_judged_as_a_run_judges_it() {
    let server = Server::start(&[]);
    let ok = ["> GET / HTTP/1.1", ">", "< HTTP/1.1 200 OK", "< hello world"];
    let missing = ["> GET /status/503 HTTP/1.1", "< HTTP/1.1 503 Service Unavailable"];
    for (path, flags, code, shown, said) in [
        ("/", &[][..], 0, &ok[..], ""),
        ("/", &["-q"], 0, &[], ""),
        ("/", &["--expect", "status=201"], 3, &ok, "status 200, expected status=201"),
        ("/", &["--expect", "body*=goodbye"], 3, &ok, "not met: body*=goodbye"),
        ("/", &["--expect", "bytes=1..3"], 3, &ok, "bytes, expected bytes=1..3"),
        ("/status/503", &[], 3, &missing, "status 503, expected below 400"),
        ("/status/503", &["--expect", "status=503"], 0, &missing, ""),
        (
            "/echo",
            &["-X", "PUT", "-b", "a\nb", "-H", "Content-Type: text/x"],
            0,
            &["> PUT /echo HTTP/1.1", "> Content-Length: 3", "> a", "> b", "< a", "< b"],
            "",
        ),
        ("/echo", &["--chunked", "-b", "abc"], 0, &["> 3", "> abc", "> 0", "< abc"], ""),
        ("/echo", &["-X", "HEAD"], 0, &["> HEAD /echo HTTP/1.1", "< HTTP/1.1 200 OK"], ""),
        ("/bytes/5000", &[], 0, &["* these are the first 4 096 of 5 000 bytes"], ""),
        // What says how much is sent, and when, changes nothing.
        ("/", &["-c", "7", "-d", "1h", "-r", "5", "--warmup", "1h", "-t", "2"], 0, &ok, ""),
    ] {
        let finished = request(&[&[server.url(path).as_str()], flags].concat());
        check(&finished, code, shown, said);
        assert_eq!(finished.stdout.is_empty(), flags.contains(&"-q"), "{finished:?}");
    }
    let finished = request(&[&server.url("/delay/5ms")]);
    let notes = marked(&finished.stdout, '*');
    let address = server.addresses()[0];
    assert_eq!(notes[0], format!("connection: {address}, HTTP/1.1"), "{notes:?}");
    for phase in ["connect ", "sending ", "waiting ", "receiving "] {
        assert!(notes[1].starts_with("phases: ") && notes[1].contains(phase), "{notes:?}");
    }
    assert!(notes[2].contains("response time ") && notes[2].contains("service time "), "{notes:?}");
}

#[test]
fn http2_and_tls_are_shown_too() {
    let directory = tempfile::tempdir().expect("a directory");
    let certificate = directory.path().join("server.pem").display().to_string();
    let server = Server::start(&["--tls", "--tls-save", &certificate]);
    let flags = ["--cacert", &certificate, "--http", "2", "-b", "hello", "-H", "X-Own: canary"];
    let finished = request(&[&[server.url("/echo?token=canary").as_str()], &flags[..]].concat());
    let shown = [":method: POST", ":scheme: https", "content-length: 5", "", "hello"];
    let sent = marked(&finished.stdout, '>');
    for line in shown {
        assert!(sent.iter().any(|it| it == line), "{line}: {finished:?}");
    }
    assert!(sent.iter().any(|line| line.starts_with(":path: /echo?token=[masked:")), "{sent:?}");
    let received = marked(&finished.stdout, '<');
    assert_eq!(received.first().map(String::as_str), Some("HTTP/2 200"), "{finished:?}");
    assert_eq!(received.last().map(String::as_str), Some("hello"), "{finished:?}");
    assert!(finished.stdout.contains(", HTTP/2, TLS 1.3, "), "{finished:?}");
    assert!(finished.stdout.contains("TLS ") && !finished.stdout.contains(CANARY), "{finished:?}");
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn a_call_of_grpc_is_shown_with_its_trailers_and_without_its_messages() {
    let server = Server::start(&["--grpc-status", "100%:UNAVAILABLE"]);
    let call = ["--grpc", "fgrpc.PingServer/Ping", "-b", "{\"payload\": \"canary\"}"];
    let proto = ["--proto", "ping.proto"];
    let directory = tempfile::tempdir().expect("a directory");
    let text = "syntax = \"proto3\";\npackage fgrpc;\nmessage PingMessage {\n  int64 seq = 1;\n  \
                string payload = 3;\n}\nservice PingServer {\n  rpc Ping(PingMessage) returns \
                (PingMessage);\n}\n";
    fs::write(directory.path().join("ping.proto"), text).expect("a file");
    let url = server.url("/");
    let arguments = [&["request", &url][..], &call, &proto].concat();
    let finished = run(plimsoll(&arguments).current_dir(directory.path()));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let received = marked(&finished.stdout, '<');
    assert!(received.iter().any(|line| line == "grpc-status: 14"), "{finished:?}");
    assert!(finished.stdout.contains("* 13 bytes, masked: [masked:"), "{finished:?}");
    assert!(!finished.stdout.contains(CANARY), "{finished:?}");
    assert!(finished.stderr.contains("UNAVAILABLE"), "{finished:?}");
}

#[test]
fn secrets_are_masked_on_the_way_there_and_back() {
    let peer = Peer::answering(|_| Answer::Say(OVERLOADED));
    let url = peer.url("/x?token=canary-query&n=1").replace("://", "://me:canary-userinfo@");
    let flags = [
        "-H",
        "Cookie: id=canary-cookie",
        "-H",
        "X-Api-Key: canary-header",
        "-H",
        "X-Fruit: canary-redacted",
        "-b",
        "{\"user\":\"me\",\"password\":\"canary-password\",\"fruit\":\"canary-fruit\"}",
        "--redact",
        "fruit",
    ];
    let arguments = [&[url.as_str()], &flags[..]].concat();
    let shown = ["< HTTP/1.1 503 Busy", "< Retry-After: 7"];
    let finished = request(&arguments);
    check(&finished, 3, &shown, "status 503");
    let verbose = run(plimsoll(&["run", "-v", "-n", "20", "-c", "2"]).args(&arguments));
    for text in [&finished.stdout, &verbose.stderr] {
        assert!(!text.contains(CANARY), "{text}");
        for part in [
            "> POST /x?token=[masked:",
            "&n=1 HTTP/1.1",
            "> Authorization: [masked:",
            "> Cookie: [masked:",
            "> {\"user\":\"me\",\"password\":\"[masked:",
            "< Set-Cookie: id=[masked:",
            "]; Path=/\n",
            "< {\"error\":\"over capacity\",\"code\":17,\"token\":\"[masked:",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    assert!(!verbose.stdout.contains(CANARY), "{verbose:?}");
    let open = request(&[&arguments[..], &["--show-secrets"]].concat());
    for canary in ["query", "cookie", "header", "redacted", "password", "fruit", "set", "body"] {
        let canary = format!("canary-{canary}");
        assert!(open.stdout.contains(&canary), "{canary}: {open:?}");
    }
}

#[test]
fn no_byte_of_a_peer_steers_a_terminal() {
    let answers = [
        "HTTP/1.1 200 O\u{9b}K\r\nX: \u{202e}a\r\nContent-Length: 15\r\n\r\na\u{1b}[2J\u{7}\r\n* b\r\n\u{9b}",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\u{1b}\0[2J",
    ];
    let peer = Peer::answering(move |number| Answer::Say(answers[number % 2]));
    let first = request(&[&peer.url("/")]);
    let shown =
        ["< HTTP/1.1 200 O\\x9bK", "< X: \\u{202e}a", "< a\\x1b[2J\\x07", "< * b", "< \\x9b"];
    check(&first, 0, &shown, "");
    let second = request(&[&peer.url("/")]);
    check(&second, 0, &["* 5 bytes that are not text:"], "");
    assert!(second.stdout.contains("< 0000  1b 00 5b 32 4a "), "{second:?}");
    for text in [&first.stdout, &second.stdout] {
        assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    }
}

#[test]
fn what_does_not_answer_is_told_in_a_line() {
    let closed = ClosedPort::new();
    check(&request(&[&closed.url()]), 1, &[], "refused");
    let sent = ["> GET / HTTP/1.1", "* failed: no response in time"];
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
    for (answer, shown, said) in [
        (Answer::Hang, &sent[..], "no response to 1 request: nothing within 500ms (waiting)"),
        (
            Answer::Last(cut),
            &[
                "< HTTP/1.1 200 OK",
                "< Content-Length: 10",
                "< abc",
                "* failed: the response broke off",
            ],
            "no response to 1 request: ",
        ),
        (
            Answer::Reset,
            &["> GET / HTTP/1.1", "* failed: the connection ended before the response"],
            "no response to 1 request: ",
        ),
        (Answer::Say("nonsense\r\n\r\n"), &["> GET / HTTP/1.1"], "malformed message head"),
    ] {
        let peer = Peer::answering(move |_| answer);
        let finished = request(&["--timeout", "500ms", &peer.url("/")]);
        check(&finished, 1, shown, said);
        assert_eq!(peer.requests().len(), 1, "{finished:?}");
    }
}

#[test]
fn the_bytes_are_those_of_the_first_request_of_a_run() {
    let peer = Peer::answering(|_| Answer::Say(OK));
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str, text: &str| {
        fs::write(directory.path().join(name), text).expect("a file");
    };
    file("targets.http", &format!("GET {}\nX-A: b\n\nPOST {}\n", peer.url("/a"), peer.url("/b")));
    file(
        "plan.toml",
        &format!("url = \"{}\"\nrate = 7\njson = \"x.json\"\n", peer.url("/planned")),
    );
    file(
        "whole.lua",
        "function request()\n  return 'PUT /l HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'\nend\n",
    );
    let url = peer.url("/{{seq}}/{{uuid}}?r={{random 1 1000000}}");
    for arguments in [
        &[url.as_str(), "-H", "X-Id: {{uuid}}", "-b", "{{random_hex 20}}", "--seed", "7"][..],
        &[&url, "-F", "a=b", "--cookies"],
        &[&url, "--chunked", "-b", "abc", "--http", "1.1", "--no-keepalive"],
        &[&url, "--http", "1.0"],
        &["--targets", "targets.http", "--order", "random", "--seed", "3"],
        &["plan.toml"],
        &[&peer.url("/"), "-s", "whole.lua"],
    ] {
        let before = peer.requests().len();
        let shown = [&["request"], arguments, &["--show-secrets"]].concat();
        let shown = run(plimsoll(&shown).current_dir(directory.path()));
        assert_eq!(shown.code, Some(0), "{arguments:?}: {shown:?}");
        assert_eq!(peer.requests().len(), before + 1, "{arguments:?}: one request");
        let load = [&["run"], arguments, &["-n", "1", "-c", "1", "-q"]].concat();
        let load = run(plimsoll(&load).current_dir(directory.path()));
        assert_eq!(load.code, Some(0), "{arguments:?}: {load:?}");
        let requests = peer.requests();
        let [first, second] = &requests[before..] else { panic!("{requests:?}") };
        assert_eq!(first, second, "{arguments:?}");
        let lines: Vec<&str> = first.lines().collect();
        assert_eq!(marked(&shown.stdout, '>'), lines, "{arguments:?}");
    }
}

#[test]
fn redirects_are_followed_as_the_flags_say() {
    const THERE: &str = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n";
    let peer = Peer::answering(|number| Answer::Say(if number % 2 == 0 { THERE } else { OK }));
    let followed = request(&[&peer.url("/here"), "--redirects", "1", "--expect", "status=200"]);
    let shown = ["> GET /here HTTP/1.1", "< HTTP/1.1 302 Found", "> GET /there HTTP/1.1", "< ok"];
    check(&followed, 0, &shown, "");
    let stayed = request(&[&peer.url("/here"), "--expect", "status=200"]);
    check(&stayed, 3, &["< Location: /there"], "status 302");
    assert_eq!(peer.requests().len(), 3);
}

#[test]
fn a_websocket_shows_a_message_and_its_reply() {
    let server = Server::start(&[]);
    let url = server.url("/ws").replace("http://", "ws://");
    let finished = request(&[&url, "--ws-message", "hello"]);
    check(&finished, 0, &["> hello", "< hello"], "");
}

#[test]
fn verbose_shows_the_first_request_and_the_first_that_fails() {
    let third = |number: usize| if number == 2 { OVERLOADED } else { OK };
    for (answer, heads) in [
        ((|_| OK) as fn(usize) -> &'static str, &["the first request:"][..]),
        (third, &["the first request:", "the first that failed, request 3 of the run:"]),
        (|_| OVERLOADED, &["the first request, which is the first that failed:"]),
    ] {
        let peer = Peer::answering(move |number| Answer::Say(answer(number)));
        let url = peer.url("/{{seq}}");
        let finished = run(&mut plimsoll(&["run", "-v", "-n", "5", "-c", "1", &url]));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let notes = marked(&finished.stderr, '*');
        let said: Vec<&String> = notes.iter().filter(|line| line.ends_with(':')).collect();
        assert_eq!(said, heads, "{finished:?}");
        let sent = marked(&finished.stderr, '>');
        assert_eq!(sent[0], "GET /0 HTTP/1.1", "{finished:?}");
        let has_failed = answer(2) == OVERLOADED;
        assert_eq!(finished.stderr.contains("over capacity"), has_failed, "{finished:?}");
        assert_eq!(sent.contains(&"GET /2 HTTP/1.1".to_owned()), heads.len() == 2, "{finished:?}");
        assert!(finished.stdout.contains("5 requests"), "{finished:?}");
        assert_eq!(peer.requests().len(), 5, "no request beside those of the run");
    }
    // Without it stderr stays empty.
    let server = Server::start(&[]);
    let finished = run(&mut plimsoll(&["run", "-n", "5", &server.url("/status/503")]));
    assert!(finished.stderr.is_empty(), "{finished:?}");
}

#[test]
fn what_a_request_has_no_place_for_is_told_with_what_to_do() {
    let script = "a k6 script decides what it sends: look at that with `plimsoll k6 run";
    for (arguments, says) in [
        (&["request", "load.js"][..], script),
        (
            &["request", "http://a/", "--gate", "p99<1s"],
            "request has no --gate: say what the response",
        ),
        (&["request", "http://a/", "--json", "x"], "request has no --json: it writes no report"),
        (&["request", "http://a/", "--control", "x"], "request has no --control: "),
        (&["request"], "URL"),
        (
            &["find", "http://a/", "-v", "--slo", "p99<1s"],
            "find has no --verbose: look at a request",
        ),
        (&["run", "load.js", "-v"], "has no --verbose: see what it sends with"),
    ] {
        let finished = run(&mut plimsoll(arguments));
        assert_eq!(finished.code, Some(2), "{arguments:?}: {finished:?}");
        assert_eq!(finished.stderr.lines().count(), 1, "{finished:?}");
        assert!(finished.stderr.contains(says), "{says}: {finished:?}");
    }
}
