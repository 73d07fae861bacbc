//! Our client under other people's HTTP/2 servers, and under our own.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::Command;

use crate::nginx::Nginx;
use crate::programs::share_with;
use crate::support::{Running, Server, measure, plimsoll, run};

/// h2specd keeps the result of the last connection of a case. A run opens its connection again
/// when that breaks, and ends when its request has; what h2specd was about to do on a connection
/// then is a failure to it. So a case has passed if it passed once.
const H2SPECD_TRIES: u32 = 6;

#[test]
fn nginx_counts_what_we_say_we_sent_over_http2() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    let url = nginx.http2_url("/");
    for driver in ["auto", "epoll"] {
        for (n, flags) in [
            (12_345, &["-n", "12345", "-c", "1", "-m", "100"][..]),
            (12_345, &["-n", "12345", "-c", "7", "-m", "10", "-t", "2"]),
            (1, &["-n", "1", "-c", "5", "-m", "9"]),
            (997, &["-n", "997", "-c", "8", "-m", "3", "--requests-per-conn", "10"]),
            (500, &["-n", "500", "-c", "7", "--no-keepalive"]),
            (2000, &["-n", "2000", "-r", "4k", "-c", "5", "-m", "10"]),
        ] {
            let common = [&url, "--http", "2", "--driver", driver];
            let all = [&common[..], flags].concat();
            let (report, counted) = nginx.counting(|| measure(&all));
            assert!(report.errors().is_empty(), "{all:?}: {:?}", report.errors());
            let told = report.ledger(["scheduled", "sent", "completed", "ok"]);
            assert_eq!((told, counted.requests), ([n; 4], n), "{all:?}");
            let opened = report.count("/phases/connect/count");
            assert_eq!(opened, counted.accepted, "{all:?}");
            assert_eq!(report.count("/phases/greeting/count"), opened, "{all:?}");
            assert_eq!(report.count("/protocols/0/allowed/streams"), 128, "nginx's own limit");
        }
    }
}

/// nginx says goodbye after ten requests, and does not process those that came in the meantime.
#[test]
fn requests_behind_a_goodbye_of_nginx_are_sent_again_or_refused() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    let url = nginx.http2_goodbye_url("/");
    for (streams, more) in [("1", &[][..]), ("8", &[]), ("8", &["--no-resend"])] {
        let flags = [&url, "--http", "2", "-n", "1000", "-c", "3", "-m", streams];
        let (report, counted) = nginx.counting(|| measure(&[&flags[..], more].concat()));
        let [sent, completed, refused, broken, resent] =
            report.ledger(["sent", "completed", "refused", "broken", "resent"]);
        let context = format!("{streams} {more:?}: refused {refused}, resent {resent}");
        assert_eq!((sent, completed + refused, broken), (1000, 1000, 0), "{context}");
        assert_eq!(completed, counted.requests, "{context}");
        let is_refused = streams == "8" && !more.is_empty();
        assert_eq!(
            (refused > 0, resent > 0),
            (is_refused, streams == "8" && !is_refused),
            "{context}"
        );
        assert!(counted.accepted >= completed / 10, "{counted:?}");
    }
}

#[test]
fn nghttpd_answers_every_request() {
    let Some(_share) = share_with(&["nghttpd"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("file"), "x".repeat(100_000)).expect("a file");
    let port = free_port().to_string();
    let mut command = Command::new("nghttpd");
    command.args(["--no-tls", "--address", "127.0.0.1", "--htdocs"]);
    command.arg(directory.path()).arg(&port);
    let _running = Running::start(&mut command);
    let url = format!("http://127.0.0.1:{port}/file");
    let common = ["--http", "2", "--wait", "20s", "--expect", "bytes=100000"];
    for flags in [
        &["-n", "3000", "-c", "2", "-m", "20"][..],
        &["-n", "300", "-c", "2", "-m", "20", "--window", "1000"],
        &["-n", "300", "-c", "2", "-m", "20", "--connection-window", "65535"],
        &["-n", "300", "-c", "2", "--header-table-size", "0", "--max-frame-size", "1M"],
    ] {
        let report = measure(&[&[&*url], &common[..], flags].concat());
        let [completed, ok] = report.ledger(["completed", "ok"]);
        assert_eq!((completed, ok), (flags[1].parse().expect("a number"), completed), "{flags:?}");
    }
}

#[test]
fn tls_decides_what_is_spoken() {
    let (both, old) = (Server::start(&["--tls"]), Server::start(&["--tls", "--alpn", "http/1.1"]));
    for (server, version, spoken) in [
        (&both, "2", "h2"),
        (&both, "auto", "h2"),
        (&both, "1.1", "http/1.1"),
        (&old, "auto", "http/1.1"),
    ] {
        let url = server.url("/");
        let report = measure(&[&url, "-k", "--http", version, "-n", "100", "-c", "3"]);
        assert_eq!(report.ledger(["ok"]), [100], "{version}");
        assert_eq!(report.text("/protocols/0/name"), spoken, "{version}");
    }
    let plain = Server::start(&[]);
    let report = measure(&[&plain.url("/"), "--http", "auto", "-n", "10"]);
    assert_eq!(report.text("/protocols/0/name"), "http/1.1");
}

#[test]
fn a_server_without_http2_is_told_before_the_load() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let (nginx, old) = (Nginx::start(), Server::start(&["--tls", "--alpn", "http/1.1"]));
    for (url, why) in [
        (nginx.url("/"), "the server speaks HTTP/1 where HTTP/2 was expected"),
        (old.url("/"), "the server speaks none of the application protocols offered"),
    ] {
        let seen = run(&mut plimsoll(&["run", "--http", "2", "-k", "-n", "10", &url]));
        assert_eq!(seen.code, Some(1), "{seen:?}");
        assert!(seen.stderr.contains(why) && seen.stderr.lines().count() == 1, "{}", seen.stderr);
        assert_eq!(seen.stdout, "");
    }
}

/// A port that is free until it is used; those after it most likely are, too.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("bound").port()
}

/// The first of as many free ports one after the other, below those that the kernel gives to
/// connections: many of them are in use while other tests run.
fn free_ports(count: u16) -> u16 {
    const FROM: u16 = 10_000;
    const TO: u16 = 30_000;
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    // Another process begins elsewhere.
    let start = FROM + (std::process::id() % u32::from(TO - FROM)) as u16;
    let blocks = (start..TO).chain(FROM..start).step_by(count.into());
    blocks.into_iter().find(|&from| (from..from + count).all(is_free)).expect("free ports")
}

/// The cases that a run of h2specd has found passed, of all. It takes a port for each.
fn h2specd(from_port: u16) -> (BTreeSet<String>, BTreeSet<String>) {
    let load = "run --http 2 -c 1 -n 1 --timeout 1s --drain 1s --quiet --no-progress";
    let exec = format!("{} {load}", env!("CARGO_BIN_EXE_plimsoll"));
    let from_port = from_port.to_string();
    let flags = ["--from-port", &from_port, "--port", "0", "--timeout", "1", "--exec", &exec];
    let seen = run(Command::new("h2specd").args(flags));
    let (mut section, mut passed, mut all) = (String::new(), BTreeSet::new(), BTreeSet::new());
    for line in seen.stdout.lines().map(str::trim) {
        if line.starts_with("Failures:") {
            break;
        }
        let case = line.strip_prefix("✔ ").or_else(|| line.strip_prefix("× "));
        match case.map(|case| format!("{section} {case}")) {
            Some(case) => {
                all.insert(case.clone());
                passed.extend(line.starts_with('✔').then_some(case));
            }
            None if line.starts_with(|c: char| c.is_ascii_digit()) => line.clone_into(&mut section),
            None => {}
        }
    }
    (passed, all)
}

#[test]
fn h2specd_finds_no_fault() {
    let Some(_share) = share_with(&["h2specd"]) else { return };
    let (mut passed, mut all) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..H2SPECD_TRIES {
        let (more, known) = h2specd(free_ports(100));
        passed.extend(more);
        all.extend(known);
        if all.len() == 57 && passed.len() == 57 {
            return;
        }
    }
    let failed: Vec<_> = all.difference(&passed).collect();
    panic!("{} of {} cases passed, never {failed:?}", passed.len(), all.len());
}
