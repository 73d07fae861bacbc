//! Our server under other people's HTTP/2 clients.

use std::process::Command;

use crate::programs::share_with;
use crate::support::{Finished, Server, run};

/// The case of h2spec that an address which also speaks HTTP/1 cannot pass: what is not the preface
/// of HTTP/2 is a malformed request to it, and gets a 400.
const HTTP1_PREFACE: &str = "Sends invalid connection preface";

fn finished(program: &str, arguments: &[&str]) -> Finished {
    run(Command::new(program).args(arguments))
}

/// The cases that failed, and the line with the counts.
fn h2spec(server: &Server, flags: &[&str]) -> (Vec<String>, String) {
    let port = server.addresses()[0].port().to_string();
    let arguments = [&["--host", "127.0.0.1", "--port", &port, "--timeout", "5"], flags].concat();
    let text = finished("h2spec", &arguments).stdout;
    let failures = text.split_once("Failures:").map_or("", |(_, failures)| failures);
    let cases = failures.lines().filter_map(|line| line.trim().strip_prefix("× "));
    let counts = text.lines().find(|line| line.contains(" tests, ")).unwrap_or_default();
    let names = cases.map(|case| case.split_once(": ").map_or(case, |(_, name)| name).to_owned());
    (names.collect(), counts.to_owned())
}

#[test]
fn h2spec_finds_no_fault() {
    let Some(_share) = share_with(&["h2spec"]) else { return };
    let (failed, counts) = h2spec(&Server::start(&["--tls"]), &["--tls", "--insecure"]);
    assert_eq!(counts, "145 tests, 145 passed, 0 skipped, 0 failed", "{failed:?}");
    let plain = Server::start(&[]);
    for path in ["/", "/bytes/100k"] {
        let (failed, counts) = h2spec(&plain, &["--path", path]);
        assert_eq!(failed, [HTTP1_PREFACE], "{path}");
        assert_eq!(counts, "145 tests, 144 passed, 0 skipped, 1 failed", "{path}");
    }
}

#[test]
fn h2spec_finds_no_fault_in_the_proxy() {
    let Some(_share) = share_with(&["h2spec"]) else { return };
    let server = Server::start(&[]);
    let proxy = |flags: &[&str]| {
        let common = ["--listen", "127.0.0.1:0", "--to", &server.url("")];
        Server::run("proxy", &[&common[..], flags].concat(), 1)
    };
    let (failed, counts) = h2spec(&proxy(&["--tls"]), &["--tls", "--insecure"]);
    assert_eq!(counts, "145 tests, 145 passed, 0 skipped, 0 failed", "{failed:?}");
    let plain = proxy(&[]);
    for path in ["/", "/bytes/100k"] {
        let (failed, counts) = h2spec(&plain, &["--path", path]);
        assert_eq!(failed, [HTTP1_PREFACE], "{path}");
        assert_eq!(counts, "145 tests, 144 passed, 0 skipped, 1 failed", "{path}");
    }
}

#[test]
fn curl_gets_what_each_route_promises_over_http2() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let upload = directory.path().join("upload");
    let body: Vec<u8> = (0..5_000_000u32).map(|at| (at / 7 % 251) as u8).collect();
    std::fs::write(&upload, &body).expect("a file");
    let upload = upload.to_str().expect("text");
    let facts = "%{http_version} %{http_code} %{size_download}";
    let common = ["--silent", "--show-error", "--max-time", "20", "--write-out", facts];
    let echoed = directory.path().join("echoed");
    let echoed = echoed.to_str().expect("text");
    let (plain, secure) = (Server::start(&[]), Server::start(&["--tls"]));
    for (server, how) in [(&plain, "--http2-prior-knowledge"), (&secure, "--http2")] {
        for (path, flags, want) in [
            ("/", &[][..], "2 200 11"),
            ("/", &["--head"], "2 200 0"),
            ("/status/204", &[], "2 204 0"),
            ("/bytes/10M", &[], "2 200 10000000"),
            ("/chunked/100k", &[], "2 200 100000"),
            ("/delay/20ms", &[], "2 200 11"),
            ("/echo", &["--data", "0123456789"], "2 200 10"),
            ("/echo", &["--data", "0123456789", "--header", "Expect: 100-continue"], "2 200 10"),
            ("/echo", &["--upload-file", upload], "2 200 5000000"),
            ("/none", &[], "2 404 106"),
        ] {
            let url = server.url(path);
            let output = ["--output", echoed, "--insecure", how, &url];
            let seen = finished("curl", &[&common[..], &output, flags].concat());
            assert_eq!((seen.code, seen.stderr.as_str()), (Some(0), ""), "{path} {flags:?}");
            let text = if flags == ["--head"] { "2 200 0" } else { &seen.stdout };
            assert_eq!(text, want, "{path} {flags:?}");
            if flags.contains(&upload) {
                assert!(std::fs::read(echoed).expect("an echo") == body, "{how}");
            }
        }
    }
    // A client that offers nothing, or only HTTP/1, gets HTTP/1.
    for flags in [&["--http1.1"][..], &["--no-alpn"]] {
        let url = secure.url("/");
        let seen = finished("curl", &[&common[..], &["--insecure", &url], flags].concat());
        assert_eq!(seen.stdout, "hello world1.1 200 11", "{flags:?}");
    }
    let only = Server::start(&["--tls", "--alpn", "http/1.1"]);
    let seen =
        finished("curl", &[&common[..], &["--insecure", "--http2", &only.url("/")]].concat());
    assert_eq!(seen.stdout, "hello world1.1 200 11");
}

#[test]
fn h2load_finds_no_fault() {
    let Some(_share) = share_with(&["h2load"]) else { return };
    let (plain, secure) = (Server::start(&[]), Server::start(&["--tls"]));
    for server in [&plain, &secure] {
        for (path, requests, connections, streams) in
            [("/", "20000", "10", "10"), ("/", "20000", "1", "100"), ("/bytes/1M", "100", "3", "9")]
        {
            let url = server.url(path);
            let seen =
                finished("h2load", &["-n", requests, "-c", connections, "-m", streams, &url]);
            assert_eq!(seen.code, Some(0), "{seen:?}");
            let line = format!(
                "requests: {requests} total, {requests} started, {requests} done, {requests} \
                 succeeded, 0 failed, 0 errored, 0 timeout"
            );
            assert!(seen.stdout.contains(&line), "{url}: {}", seen.stdout);
        }
    }
}

#[test]
fn nghttp_sees_the_protocol_kept() {
    let Some(_share) = share_with(&["nghttp"]) else { return };
    let server = Server::start(&["--h2-goaway", "1"]);
    let (slow, fast) = (server.url("/delay/50ms"), server.url("/bytes/100k"));
    let seen = finished("nghttp", &["--no-dep", "--verbose", "--null-out", &slow, &fast]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let count = |what: &str| seen.stdout.matches(what).count();
    assert_eq!(count(":status: 200"), 2, "{}", seen.stdout);
    assert_eq!(count("recv GOAWAY"), 2, "{}", seen.stdout);
    assert_eq!(count("[ERROR]") + count("recv RST_STREAM"), 0, "{}", seen.stdout);
}

/// What Chromium has negotiated is in its log of the network.
#[test]
fn chromium_speaks_http2_with_us() {
    let Some(_share) = share_with(&["chromium"]) else { return };
    let server = Server::start(&["--tls"]);
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("net.json");
    let page = chromium(&server.url("/"), &[&format!("--log-net-log={}", log.display())]);
    assert!(page.contains("hello world"), "{page}");
    let log = std::fs::read_to_string(log).expect("a log of the network");
    let host = format!("127.0.0.1:{}", server.addresses()[0].port());
    assert!(log.contains(&host) && log.contains("\"negotiated_protocol\":\"h2\""), "{host}");
}

/// Chromium prints the page when it likes to, which may be before the first message.
#[test]
fn chromium_opens_the_page_of_our_websocket() {
    const TRIES: u32 = 5;
    let Some(_share) = share_with(&["chromium"]) else { return };
    for flags in [&[][..], &["--tls"]] {
        let server = Server::start(flags);
        let url = server.url("/ws?fragments=3");
        let mut pages = (0..TRIES).map(|_| chromium(&url, &["--virtual-time-budget=10000"]));
        let is_good =
            |page: &String| page.contains("open</p>") && page.contains("<li>received hello</li>");
        assert!(pages.any(|page| is_good(&page)), "{flags:?}");
    }
}

/// The page at a URL as Chromium has it once its scripts have run.
fn chromium(url: &str, flags: &[&str]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let profile = format!("--user-data-dir={}", directory.path().display());
    let common = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
        "--dump-dom",
        &profile,
    ];
    let seen = finished("chromium", &[&common, flags, &[url]].concat());
    assert_eq!(seen.code, Some(0), "{}", seen.stderr);
    seen.stdout
}
