//! What is sent and what is counted, against servers that do nothing wrong.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::peer::{Answer, OK, Peer};
use crate::support::{Report, Server, measure, plimsoll, run};

/// The drivers this machine has: io_uring may be missing.
fn drivers(url: &str) -> Vec<&'static str> {
    let probe = run(&mut plimsoll(&[url, "-n", "1", "-q", "--driver", "uring"]));
    if probe.code == Some(0) { vec!["epoll", "uring"] } else { vec!["epoll"] }
}

/// Sends bytes, closes that direction, and reads all that comes back.
pub(crate) fn exchange(address: SocketAddr, request: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("sent");
    stream.shutdown(Shutdown::Write).expect("half closed");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    answer
}

#[test]
fn exactly_n_on_every_driver_however_connections_are_used() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let keep: &[&str] = &[];
    let once: &[&str] = &["--no-keepalive"];
    let few: &[&str] = &["--requests-per-conn", "10"];
    let pipe: &[&str] = &["--pipeline", "8"];
    for driver in drivers(&url) {
        for (n, connections, threads, flags) in [
            (1, 1, 1, keep),
            (1, 64, 1, keep),
            (997, 1, 1, keep),
            (12_345, 7, 2, keep),
            (1000, 64, 2, keep),
            (200, 1, 1, once),
            (301, 7, 2, once),
            (997, 1, 1, few),
            (997, 7, 2, few),
            (997, 1, 1, pipe),
            (12_345, 7, 2, pipe),
        ] {
            let (n_text, c, t) = (n.to_string(), connections.to_string(), threads.to_string());
            let mut arguments = vec![url.as_str(), "--driver", driver, "-n", &n_text];
            arguments.extend(["-c", &c, "-t", &t]);
            arguments.extend(flags);
            let report = measure(&arguments);
            let want = [n, n, n, n];
            assert_eq!(
                report.ledger(["scheduled", "sent", "completed", "ok"]),
                want,
                "{arguments:?}"
            );
            assert_eq!(report.text("/loader/driver/kind"), driver);
            assert_eq!(report.count("/loader/workers"), threads);
            assert!(report.errors().is_empty(), "{arguments:?}: {:?}", report.errors());
            let connects = report.count("/phases/connect/count");
            match flags.first() {
                None | Some(&"--pipeline") => assert_eq!(report.ledger(["reconnects"]), [0]),
                Some(&"--no-keepalive") => assert_eq!(connects, n, "{arguments:?}"),
                _ => assert!(connects + connections >= n.div_ceil(10), "{arguments:?}: {connects}"),
            }
        }
    }
}

/// Closes that fill the submission queue must not close the sockets that come after them.
#[test]
fn many_connections_closed_together_come_back_without_an_error_of_our_own() {
    let server = Server::start(&[]);
    let url = server.url("/");
    for driver in drivers(&url) {
        for _ in 0..12 {
            let flags = ["-n", "2000", "-c", "64", "--requests-per-conn", "2", "--driver", driver];
            let report = measure(&[&[url.as_str()], &flags[..]].concat());
            assert_eq!(report.ledger(["completed"]), [2000], "{driver}");
            assert!(report.errors().is_empty(), "{driver}: {}", report.at("/errors"));
        }
    }
}

#[test]
fn a_rate_schedules_exactly_rate_times_time() {
    let server = Server::start(&[]);
    let url = server.url("/");
    let rate = |rate: &'static str, time: &'static str| vec!["-r", rate, "-d", time];
    for (flags, connections, want) in [
        (rate("1000", "500ms"), "7", 500),
        (rate("997", "1s"), "64", 997),
        (rate("0.5", "1s"), "1", 1),
        (rate("7", "1s"), "64", 7),
        (rate("10003", "300ms"), "7", 3001),
        (vec!["-r", "400", "-n", "123"], "7", 123),
        (vec!["--stages", "250ms@100,500ms@100..300,250ms@0"], "7", 125),
    ] {
        let report = measure(&[&[url.as_str(), "-c", connections], &flags[..]].concat());
        let [scheduled, completed, unsent] = report.ledger(["scheduled", "completed", "unsent"]);
        assert_eq!((scheduled, completed + unsent), (want, want), "{flags:?}");
        assert!(report.at("/rate/target_rps").is_number());
    }
}

#[test]
fn what_warms_up_is_in_no_figure_but_its_own() {
    let server = Server::start(&[]);
    let flags = ["-c", "4", "-r", "200", "-d", "500ms", "--warmup", "500ms"];
    let report = measure(&[&[server.url("/").as_str()], &flags[..]].concat());
    assert_eq!(report.ledger(["scheduled"]), [100]);
    assert_eq!(report.count("/warmup/ledger/scheduled"), 100);
    assert_eq!(report.number("/warmup/duration_s"), 0.5);
}

#[test]
fn statuses_decide_what_failed() {
    let server = Server::start(&[]);
    for (path, status, ok) in [
        ("/status/200", "200", true),
        ("/status/204", "204", true),
        ("/status/304", "304", true),
        ("/status/399", "399", true),
        ("/status/404", "404", false),
        ("/status/503", "503", false),
        ("/nothing/here", "404", false),
    ] {
        let report = measure(&[&server.url(path), "-n", "100", "-c", "3"]);
        let want = if ok { [100, 0] } else { [0, 100] };
        assert_eq!(report.ledger(["ok", "failed"]), want, "{path}");
        assert_eq!(report.count(&format!("/status/{status}")), 100, "{path}");
        assert!(report.errors().is_empty(), "a status is no error of the connection");
    }
}

/// Bytes are counted as they cross the connection: the same for each request.
#[test]
fn bytes_are_exact() {
    let server = Server::start(&[]);
    let address = server.addresses()[0];
    for (path, flags, request, body) in [
        ("/", &[][..], "GET / HTTP/1.1\r\nHost: a\r\n\r\n", 11),
        ("/", &["-X", "HEAD"], "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 0),
        ("/bytes/1M", &[], "GET /bytes/1M HTTP/1.1\r\nHost: a\r\n\r\n", 1_000_000),
        ("/bytes/1M", &["-X", "HEAD"], "HEAD /bytes/1M HTTP/1.1\r\nHost: a\r\n\r\n", 0),
        ("/chunked/100k", &[], "GET /chunked/100k HTTP/1.1\r\nHost: a\r\n\r\n", 100_000),
        (
            "/echo",
            &["-b", "hello"],
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
            5,
        ),
    ] {
        let answer = exchange(address, request).len() as u64;
        assert!(answer > body, "{path}: {answer} bytes with the head");
        for driver in drivers(&server.url("/")) {
            let url = server.url(path);
            let arguments = [&[url.as_str(), "-n", "10", "-c", "2", "--driver", driver], flags];
            let report = measure(&arguments.concat());
            assert_eq!(report.ledger(["completed", "ok"]), [10, 10], "{path} {flags:?}");
            assert_eq!(report.count("/bytes/received"), 10 * answer, "{path} {flags:?} {driver}");
        }
    }
}

#[test]
fn requests_are_what_was_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("body");
    let at_file = format!("@{}", file.display());
    std::fs::write(&file, "from a file").expect("a file");
    let peer = Peer::answering(|_| Answer::Say(OK));
    let host = peer.address().to_string();
    type Words<'a> = &'a [&'a str];
    let cases: [(&str, Words<'_>, Words<'_>, Words<'_>); 8] = [
        (
            "/",
            &[],
            &["GET / HTTP/1.1", &format!("Host: {host}")],
            &["Content-Length", "Connection"],
        ),
        ("/a%20b?c=d&e#f", &[], &["GET /a%20b?c=d&e HTTP/1.1"], &["#f"]),
        ("/", &["--http", "1.0"], &["GET / HTTP/1.0"], &[]),
        ("/", &["-X", "DELETE"], &["DELETE / HTTP/1.1"], &["Content-Length"]),
        ("/", &["-b", "a=b"], &["POST / HTTP/1.1", "Content-Length: 3", "\r\n\r\na=b"], &[]),
        (
            "/",
            &["-X", "PUT", "-b", &at_file],
            &["PUT / HTTP/1.1", "Content-Length: 11", "\r\n\r\nfrom a file"],
            &[],
        ),
        (
            "/",
            &["-H", "Host: other", "-H", "X-One: 1", "-H", "Accept: text/*; q=0.5"],
            &["Host: other", "X-One: 1", "Accept: text/*; q=0.5"],
            &[&host],
        ),
        ("/", &["-H", "User-Agent:"], &["GET / HTTP/1.1"], &["User-Agent"]),
    ];
    for (path, flags, present, absent) in cases {
        let before = peer.requests().len();
        let url = peer.url(path);
        let report = measure(&[&[url.as_str(), "-n", "3", "-c", "2"], flags].concat());
        let requests = peer.requests().split_off(before);
        assert_eq!(requests.len(), 3, "{flags:?}");
        for text in present {
            assert!(requests[0].contains(text), "{flags:?}: no {text} in {}", requests[0]);
        }
        for text in absent {
            assert!(!requests[0].contains(text), "{flags:?}: {text} in {}", requests[0]);
        }
        assert!(requests.iter().all(|request| *request == requests[0]), "{requests:?}");
        assert_eq!(report.count("/bytes/sent"), 3 * requests[0].len() as u64);
        assert_eq!(report.count("/bytes/received"), 3 * OK.len() as u64);
    }
}

#[test]
fn connections_are_used_in_turn_and_closed_as_told() {
    for (answer, flags, says_close) in [
        (OK, &["--no-keepalive"][..], true),
        (OK, &["--http", "1.0"], false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", &[], false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end", &[], false),
    ] {
        let keeps = answer == OK && !says_close;
        let peer = Peer::answering(
            move |_| if keeps { Answer::Say(answer) } else { Answer::Last(answer) },
        );
        let url = peer.url("/");
        let report = measure(&[&[url.as_str(), "-n", "30", "-c", "3"], flags].concat());
        assert_eq!(report.ledger(["completed", "broken"]), [30, 0], "{answer} {flags:?}");
        let closes = peer.requests().iter().filter(|r| r.contains("Connection: close")).count();
        assert_eq!(closes, if says_close { 30 } else { 0 }, "{flags:?}: {:?}", peer.requests()[0]);
    }
}

/// Interim responses, 204 and 304 with a length, and trailers are no body.
#[test]
fn responses_end_where_the_standard_says() {
    for (method, answer) in [
        (
            "GET",
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        ),
        ("GET", "HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"),
        ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nSum: 1\r\n\r\n",
        ),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ] {
        let peer = Peer::answering(move |_| Answer::Say(answer));
        let report = measure(&[&peer.url("/"), "-n", "50", "-c", "2", "-X", method]);
        assert_eq!(report.ledger(["completed", "ok", "reconnects"]), [50, 50, 0], "{answer}");
        assert!(report.errors().is_empty(), "{answer}: {:?}", report.errors());
        assert_eq!(report.count("/bytes/received"), 50 * answer.len() as u64);
    }
}

/// The figures of a report that follow from each other.
#[test]
fn rates_follow_from_counts_and_times() {
    let server = Server::start(&[]);
    let report: Report = measure(&[&server.url("/"), "-d", "500ms", "-c", "4"]);
    let [scheduled, completed] = report.ledger(["scheduled", "completed"]);
    assert!(scheduled > 100, "a server of hello answers more than 200 a second: {scheduled}");
    let offered = report.number("/rate/offered_rps") * report.number("/rate/window_s");
    assert!((offered - scheduled as f64).abs() < 0.5, "{offered} {scheduled}");
    let [responses, good] = ["/rate/responses", "/rate/good"].map(|count| report.count(count));
    // Those that were on their way when the window ended don't count: one for each connection.
    assert!(good == responses && (completed - 4..=completed).contains(&responses), "{responses}");
    for (rate, time, count) in [
        ("/rate/achieved_rps", "/rate/window_s", responses),
        ("/rate/good_rps", "/rate/window_s", good),
        ("/rate/to_last_rps", "/rate/answered_s", completed),
    ] {
        let found = report.number(rate) * report.number(time);
        assert!((found - count as f64).abs() < 0.5, "{rate}: {found} {count}");
    }
    assert!(report.at("/rate/target_rps").is_null());
}

/// The kernel counts what was resident before execve(2) into getrusage's figure.
#[test]
fn the_memory_told_is_the_testers_and_not_that_of_what_started_it() {
    const OURS: usize = 200 << 20;
    let server = Server::start(&[]);
    let ours = std::hint::black_box(vec![1_u8; OURS]);
    let report = measure(&[&server.url("/"), "-n", "10", "-c", "1"]);
    drop(ours);
    let rss_bytes = report.count("/loader/rss_peak_bytes");
    assert!((1 << 20..OURS as u64 / 2).contains(&rss_bytes), "{rss_bytes} bytes");
}

/// The server answers the hundredth request only once the last has come: the thread that sent it
/// must leave what it had taken beside it to the other.
#[test]
fn requests_of_a_thread_that_can_send_none_go_to_the_other() {
    const REQUESTS: usize = 3000;
    let asked = (Mutex::new(0), Condvar::new());
    let peer = Peer::answering(move |number| {
        let (last, more) = &asked;
        let mut last = last.lock().expect("no panic under the lock");
        *last = number.max(*last);
        more.notify_all();
        if number == 100 {
            let is_early = |last: &mut usize| *last < REQUESTS - 1;
            let _ = more.wait_timeout_while(last, Duration::from_secs(30), is_early);
        }
        Answer::Say(OK)
    });
    let requests = REQUESTS.to_string();
    let url = peer.url("/");
    let report = measure(&[&url, "-c", "2", "-t", "2", "-n", &requests, "--timeout", "10s"]);
    assert_eq!(report.ledger(["sent", "ok", "timed_out"]), [3000, 3000, 0]);
}
