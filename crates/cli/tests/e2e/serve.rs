//! Our server under other people's clients.

use std::process::Command;

use rustix::process::Signal;

use crate::programs::share_with;
use crate::support::{Finished, Server, run};

fn curl(arguments: &[&str], url: &str) -> Finished {
    let mut command = Command::new("curl");
    command.args(["--silent", "--show-error", "--max-time", "20"]).args(arguments).arg(url);
    run(&mut command)
}

#[test]
fn curl_gets_what_each_route_promises() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let server = Server::start(&[]);
    // The status, and how many bytes the body had.
    let facts = ["--output", "/dev/null", "--write-out", "%{http_code} %{size_download}"];
    for (path, flags, want) in [
        ("/", &[][..], "200 11"),
        ("/", &["--http1.0"], "200 11"),
        ("/", &["--head"], "200 0"),
        ("/status/204", &[], "204 0"),
        ("/status/304", &[], "304 0"),
        ("/bytes/0", &[], "200 0"),
        ("/bytes/123", &[], "200 123"),
        ("/bytes/10M", &[], "200 10000000"),
        ("/chunked/0", &[], "200 0"),
        ("/chunked/100k", &[], "200 100000"),
        ("/chunked/100k", &["--http1.0"], "200 100000"),
        ("/delay/20ms", &[], "200 11"),
        ("/echo", &["--data", "0123456789"], "200 10"),
        ("/echo", &["--data", "0123456789", "--header", "Transfer-Encoding: chunked"], "200 10"),
    ] {
        let finished = curl(&[&facts[..], flags].concat(), &server.url(path));
        assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{path} {flags:?}");
        assert_eq!(finished.stdout, want, "{path} {flags:?}");
    }
    for status in ["418", "503", "599"] {
        let finished = curl(&facts, &server.url(&format!("/status/{status}")));
        assert!(finished.stdout.starts_with(status), "{}", finished.stdout);
    }
    for (path, status) in [("/none", "404"), ("/bytes/x", "400"), ("/status/99", "400")] {
        let finished = curl(&facts, &server.url(path));
        assert!(finished.stdout.starts_with(status), "{path}: {}", finished.stdout);
    }
}

#[test]
fn curl_reads_the_bodies() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let server = Server::start(&[]);
    assert_eq!(curl(&[], &server.url("/")).stdout, "hello world");
    assert!(curl(&[], &server.url("/ip")).stdout.starts_with("127.0.0.1"));
    assert_eq!(curl(&["--data", "a=b"], &server.url("/echo")).stdout, "a=b");
    let head = curl(&["--header", "X-One: 1"], &server.url("/echo")).stdout;
    assert!(head.starts_with("GET /echo HTTP/1.1\r\n") && head.contains("X-One: 1\r\n"), "{head}");
    let full = curl(&["--data", "a=b"], &server.url("/echo?full")).stdout;
    assert!(full.starts_with("POST /echo?full HTTP/1.1\r\n"), "{full}");
    assert!(full.ends_with("\r\n\r\na=b"), "{full}");
    // Two requests on one connection.
    let url = server.url("/");
    let twice = curl(&["--write-out", "%{num_connects} ", &url], &url);
    assert_eq!(twice.stdout, "hello world1 hello world0 ");
    let finished = server.finish_by(Signal::TERM);
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn curl_gets_one_kind_of_answer_from_each_of_three_ports() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let any = "127.0.0.1:0";
    let server = Server::listen(&["--hello", any, "--echo", any, "--address", any], 3);
    for (address, want) in server.addresses().iter().zip(["hello world", "a=b", "127.0.0.1"]) {
        let answer = curl(&["--data", "a=b"], &format!("http://{address}/any/thing")).stdout;
        assert!(answer.starts_with(want), "{answer}, not {want}");
    }
}

#[test]
fn curl_believes_the_certificate_that_was_made() {
    let Some(_share) = share_with(&["curl"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let saved = directory.path().join("certificate.pem");
    let saved = saved.to_str().expect("text");
    let server = Server::start(&["--tls", "--tls-save", saved]);
    let url = server.url("/");
    assert!(url.starts_with("https://"), "{url}");
    let facts = ["--output", "/dev/null", "--write-out", "%{http_code} %{size_download}"];
    for version in [&["--tlsv1.3"][..], &["--tls-max", "1.2"]] {
        for (path, flags, want) in [
            ("/", &[][..], "200 11"),
            ("/", &["--http1.0"], "200 11"),
            ("/", &["--head"], "200 0"),
            ("/bytes/10M", &[], "200 10000000"),
            ("/chunked/100k", &[], "200 100000"),
            // Only the end of the connection ends this one, so it has to be an orderly one.
            ("/chunked/100k", &["--http1.0"], "200 100000"),
            ("/echo", &["--data", "0123456789"], "200 10"),
        ] {
            let flags = [&facts[..], version, &["--cacert", saved], flags].concat();
            let finished = curl(&flags, &server.url(path));
            assert_eq!(
                (finished.code, finished.stderr.as_str()),
                (Some(0), ""),
                "{path} {flags:?}"
            );
            assert_eq!(finished.stdout, want, "{path} {flags:?}");
        }
    }
    let twice = curl(&["--cacert", saved, "--write-out", "%{num_connects} ", &url], &url);
    assert_eq!(twice.stdout, "hello world1 hello world0 ");
    assert_eq!(curl(&["--insecure"], &url).stdout, "hello world");
    // 60: the certificate cannot be verified.
    assert_eq!(curl(&[], &url).code, Some(60));
}

#[test]
fn curl_shows_its_certificate() {
    let Some(_share) = share_with(&["curl", "openssl"]) else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    for name in ["server", "client"] {
        let mut command = Command::new("openssl");
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        command.args(["-nodes", "-days", "2", "-subj", "/CN=plimsoll", "-addext"]);
        command.args(["subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=CA:FALSE"]);
        command.args(["-keyout", &path(&format!("{name}.key")), "-out", &path(name)]);
        let made = run(&mut command);
        assert_eq!(made.code, Some(0), "{made:?}");
    }
    let (certificate, key) = (path("server"), path("server.key"));
    let client = path("client");
    let server = Server::start(&["--cert", &certificate, "--key", &key, "--client-ca", &client]);
    let url = server.url("/");
    let shown =
        curl(&["--cacert", &certificate, "--cert", &client, "--key", &path("client.key")], &url);
    assert_eq!((shown.stdout.as_str(), shown.stderr.as_str()), ("hello world", ""));
    for flags in [
        &["--cacert", &certificate][..],
        &["--cacert", &certificate, "--cert", &certificate, "--key", &key],
    ] {
        let refused = curl(flags, &url);
        assert!(refused.code != Some(0) && refused.stdout.is_empty(), "{refused:?}");
    }
}

#[test]
fn openssl_resumes_sessions() {
    let Some(_share) = share_with(&["openssl"]) else { return };
    let server = Server::start(&["--tls", "--threads", "2"]);
    let address = server.addresses()[0].to_string();
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &address, "-tls1_2", "-reconnect"]);
    let finished = run(command.stdin(std::process::Stdio::null()));
    let count = |word: &str| finished.stdout.lines().filter(|it| it.starts_with(word)).count();
    assert_eq!((count("New, TLSv1.2"), count("Reused, TLSv1.2")), (1, 5), "{finished:?}");
}

#[test]
fn ab_finds_no_fault() {
    let Some(_share) = share_with(&["ab"]) else { return };
    let server = Server::start(&[]);
    for (path, flags) in [
        ("/", &[][..]),
        ("/", &["-k"]),
        ("/bytes/100k", &["-k"]),
        ("/bytes/100k", &[]),
        ("/", &["-k", "-i"]),
    ] {
        let mut command = Command::new("ab");
        command.args(["-q", "-n", "3000", "-c", "7"]).args(flags).arg(server.url(path));
        let finished = run(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let said = |name: &str| {
            let line = finished.stdout.lines().find_map(|line| line.strip_prefix(name));
            line.map(|rest| rest.trim().to_owned())
        };
        assert_eq!(said("Complete requests:").as_deref(), Some("3000"), "{path} {flags:?}");
        assert_eq!(said("Failed requests:").as_deref(), Some("0"), "{path} {flags:?}");
        assert_eq!(said("Non-2xx responses:"), None, "{path} {flags:?}");
        if flags.contains(&"-k") {
            assert_eq!(said("Keep-Alive requests:").as_deref(), Some("3000"), "{path} {flags:?}");
        }
    }
}

#[test]
fn wrk_finds_no_fault() {
    let Some(_share) = share_with(&["wrk"]) else { return };
    let server = Server::start(&[]);
    let secure = Server::start(&["--tls"]);
    let routes = ["/", "/bytes/100k", "/chunked/10k"];
    for url in routes.iter().flat_map(|path| [server.url(path), secure.url(path)]) {
        let mut command = Command::new("wrk");
        command.args(["-t", "1", "-c", "20", "-d", "1s"]).arg(&url);
        let finished = run(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let text = &finished.stdout;
        assert!(!text.contains("Socket errors") && !text.contains("Non-2xx"), "{url}: {text}");
        let line = text.lines().find(|line| line.contains(" requests in ")).unwrap_or_default();
        let requests = line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        assert!(requests.is_some_and(|requests| requests > 100), "{url}: {text}");
    }
}
