//! The proxy under HTTP/2 clients, ours and others, in front of our server and of nginx.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::nginx::Nginx;
use crate::programs::share_with;
use crate::support::{Server, measure, run};

/// A proxy to an upstream.
fn proxy(to: &str, flags: &[&str]) -> Server {
    let common = ["--listen", "127.0.0.1:0", "--json", "--to", to];
    Server::run("proxy", &[&common[..], flags].concat(), 1)
}

/// Ends a proxy, and gives what it counted.
fn counts(proxy: Server) -> Value {
    let finished = proxy.finish_by(Signal::TERM);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(finished.stdout.lines().last().expect("counts")).expect("JSON")
}

#[test]
fn a_load_over_http2_is_counted_alike_everywhere() {
    let server = Server::start(&[]);
    for driver in ["auto", "epoll"] {
        for (front, flags) in
            [(&[][..], &["--http", "2"][..]), (&["--tls"], &["--http", "2", "-k"])]
        {
            let proxy = proxy(&server.url(""), &[&["--driver", driver], front].concat());
            for (n, load) in [
                (12_345, &["-n", "12345", "-c", "3", "-m", "10"][..]),
                (5000, &["-n", "5000", "-c", "1", "-m", "100"]),
                (500, &["-n", "500", "-c", "7", "--no-keepalive"]),
            ] {
                let url = proxy.url("/");
                let report = measure(&[&[&*url], flags, load].concat());
                assert!(report.errors().is_empty(), "{load:?}: {:?}", report.errors());
                assert_eq!(report.ledger(["sent", "completed", "ok"]), [n; 3], "{load:?}");
                assert_eq!(report.text("/protocols/0/name"), "h2");
            }
            let counts = counts(proxy);
            assert_eq!(counts["completed"], 17_845, "{counts}");
            assert_eq!(counts["http2_connections"], 504, "{counts}");
            assert_eq!((&counts["http2_errors"], &counts["abandoned"]), (&0.into(), &0.into()));
        }
    }
}

#[test]
fn nginx_behind_the_proxy_counts_what_we_say_we_sent() {
    let Some(_share) = share_with(&["nginx"]) else { return };
    let nginx = Nginx::start();
    let proxy = proxy(&nginx.url(""), &[]);
    let url = proxy.url("/");
    let flags = [&url, "--http", "2", "-n", "12345", "-c", "4", "-m", "25"];
    let (report, counted) = nginx.counting(|| measure(&flags));
    assert_eq!((report.ledger(["completed", "ok"]), counted.requests), ([12_345; 2], 12_345));
}

#[test]
fn large_bodies_come_back_bit_for_bit() {
    let server = Server::start(&[]);
    let directory = tempfile::tempdir().expect("a directory");
    let upload = directory.path().join("upload");
    let body: Vec<u8> = (0..1u32 << 20).map(|at| (at / 7 % 251) as u8).collect();
    std::fs::write(&upload, &body).expect("a file");
    let upload = upload.to_str().expect("text");
    let proxy = proxy(&server.url(""), &[]);
    let url = proxy.url("/echo");
    let body_flag = format!("@{upload}");
    let load = ["--http", "2", "-m", "10", "-c", "2", "-n", "100", "-X", "POST", "-b", &body_flag];
    let report = measure(&[&[&*url, "--expect", "bytes=1048576"], &load[..]].concat());
    assert_eq!(report.ledger(["completed", "ok"]), [100; 2]);
    let Some(_share) = share_with(&["curl"]) else { return };
    let echoed = directory.path().join("echoed");
    let echoed = echoed.to_str().expect("text");
    for flags in [&["--header", "Content-Length: 1048576"][..], &["--header", "Content-Length:"]] {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--max-time", "20", "--http2-prior-knowledge"]);
        command.args(["--output", echoed, "--write-out", "%{http_version} %{http_code}"]);
        command.args(["--data-binary", &body_flag, &url]).args(flags);
        let seen = run(&mut command);
        assert_eq!((seen.stdout.as_str(), seen.stderr.as_str()), ("2 200", ""), "{flags:?}");
        assert!(std::fs::read(echoed).expect("an echo") == body, "{flags:?}");
    }
}

#[test]
fn curl_gets_through_the_proxy_what_each_route_promises() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let server = Server::start(&[]);
    let facts = "%{http_version} %{http_code} %{size_download}";
    let common = ["--silent", "--show-error", "--max-time", "20", "--insecure"];
    let output = ["--output", "/dev/null", "--write-out", facts];
    for (front, how) in [(&[][..], "--http2-prior-knowledge"), (&["--tls"], "--http2")] {
        let proxy = proxy(&server.url(""), front);
        for (path, flags, want) in [
            ("/", &[][..], "2 200 11"),
            ("/", &["--head"], "2 200 0"),
            ("/status/204", &[], "2 204 0"),
            ("/status/304", &[], "2 304 0"),
            ("/bytes/10M", &[], "2 200 10000000"),
            ("/chunked/100k", &[], "2 200 100000"),
            ("/echo", &["--data", "0123456789", "--header", "Expect: 100-continue"], "2 200 10"),
            ("/none", &[], "2 404 106"),
        ] {
            let url = proxy.url(path);
            let seen =
                run(Command::new("curl").args(common).args(output).arg(how).args(flags).arg(&url));
            assert_eq!(
                (seen.stdout.as_str(), seen.stderr.as_str()),
                (want, ""),
                "{path} {flags:?}"
            );
        }
        // The same port speaks HTTP/1.
        let url = proxy.url("/");
        let seen = run(Command::new("curl").args(common).args(output).arg("--http1.1").arg(&url));
        assert_eq!(seen.stdout, "1.1 200 11");
    }
}

#[test]
fn h2load_finds_no_fault_in_the_proxy() {
    let Some(_share) = share_with(&["h2load"]) else { return };
    let server = Server::start(&[]);
    for front in [&[][..], &["--tls"]] {
        let proxy = proxy(&server.url(""), front);
        for (path, requests, connections, streams) in
            [("/", "20000", "10", "10"), ("/", "20000", "1", "100"), ("/bytes/1M", "100", "3", "9")]
        {
            let url = proxy.url(path);
            let mut command = Command::new("h2load");
            let seen = run(command.args(["-n", requests, "-c", connections, "-m", streams, &url]));
            assert_eq!(seen.code, Some(0), "{seen:?}");
            let line = format!(
                "requests: {requests} total, {requests} started, {requests} done, {requests} \
                 succeeded, 0 failed, 0 errored, 0 timeout"
            );
            assert!(seen.stdout.contains(&line), "{url}: {}", seen.stdout);
        }
    }
}
