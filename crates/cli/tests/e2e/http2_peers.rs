//! HTTP/2 between us and other people's programs: hypercorn as the server, and haproxy as a front
//! of our own.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::fixture::{Listening, certificate};
use crate::programs::share_with;
use crate::support::{Running, Server, measure};

/// How long a start, or an answer to a question, may take before it counts as failed.
const LIMIT: Duration = Duration::from_secs(20);

const HYPERCORN: [&str; 3] = ["python3", "python3:hypercorn", "openssl"];

/// A hypercorn whose connections take some requests each, and may be silent for some seconds.
struct Hypercorn {
    folder: TempDir,
    listening: Listening,
}

impl Hypercorn {
    fn start(requests: &str, seconds: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [cert, key] = certificate(folder.path());
        let log = folder.path().join("log").display().to_string();
        let arguments = [&*log, &cert, &key, requests, seconds];
        let listening = Listening::start("python3", "hypercorn_server.py", &arguments);
        Self { folder, listening }
    }

    fn urls(&self, path: &str) -> [String; 2] {
        let [plain, secure] = self.listening.ports[..] else { panic!("two ports") };
        [("http", plain), ("https", secure)]
            .map(|(it, port)| format!("{it}://127.0.0.1:{port}{path}"))
    }

    /// The lines of its log, once there are that many: it writes them behind its answers.
    fn logged(&self, lines: u64) -> u64 {
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = fs::read_to_string(self.folder.path().join("log")).expect("a log");
            let logged = text.lines().count() as u64;
            if logged >= lines || Instant::now() > deadline {
                assert!(text.lines().all(|line| line.ends_with(" 2 200")), "{text}");
                return logged;
            }
            thread::yield_now();
        }
    }
}

#[test]
fn hypercorn_logs_what_we_say_we_sent() {
    let Some(_share) = share_with(&HYPERCORN) else { return };
    let hypercorn = Hypercorn::start("1000000", "60");
    let upload = "x".repeat(100_000);
    let mut before = 0;
    for url in hypercorn.urls("/") {
        for (n, flags) in [
            (2000, &["-n", "2000", "-c", "1", "-m", "50"][..]),
            (997, &["-n", "997", "-c", "7", "-m", "3", "-t", "2"]),
            (300, &["-n", "300", "-c", "3", "--driver", "epoll"]),
            (200, &["-n", "200", "-c", "5", "--requests-per-conn", "4"]),
            (400, &["-n", "400", "-r", "1k", "-c", "2", "-m", "5"]),
        ] {
            let all = [&[&*url, "--http", "2", "-k"], flags].concat();
            let report = measure(&all);
            assert_eq!(report.ledger(["sent", "completed", "ok"]), [n; 3], "{all:?}");
            assert!(report.errors().is_empty(), "{all:?}: {:?}", report.errors());
            assert_eq!(report.text("/protocols/0/name"), "h2", "{all:?}");
            before += n;
            assert_eq!(hypercorn.logged(before), before, "{all:?}");
        }
        // Bodies that are longer than the windows that the server gives.
        let echo = format!("{url}echo");
        let body = ["-b", &upload, "--expect", "bytes=100000"];
        let flags = [&[&*echo, "--http", "2", "-k", "-n", "100", "-m", "10"], &body[..]].concat();
        let report = measure(&flags);
        assert_eq!(report.ledger(["ok"]), [100], "{:?}", report.errors());
        before += 100;
        assert_eq!(hypercorn.logged(before), before, "{flags:?}");
    }
}

/// hypercorn says goodbye after some requests of a connection, and then leaves those that are open
/// without the answers that it has logged, until it closes the connection.
#[test]
fn goodbyes_of_hypercorn_lose_nothing_uncounted() {
    let Some(_share) = share_with(&HYPERCORN) else { return };
    let hypercorn = Hypercorn::start("20", "0.1");
    let (mut answered, mut lost) = (0, 0);
    for url in hypercorn.urls("/") {
        for streams in ["1", "8"] {
            let flags = [&*url, "--http", "2", "-k", "-n", "300", "-c", "3", "-m", streams];
            let report = measure(&flags);
            let [sent, completed, refused, broken] =
                report.ledger(["sent", "completed", "refused", "broken"]);
            let context = format!("{flags:?}: {:?}", report.errors());
            assert_eq!((sent, completed + refused + broken), (300, 300), "{context}");
            assert!(report.count("/ledger/reconnects") >= 10, "{context}");
            answered += completed;
            lost += broken;
            let logged = hypercorn.logged(answered);
            assert!((answered..=answered + lost).contains(&logged), "{logged} {context}");
        }
    }
}

/// haproxy in front of a server, over HTTP/2 with TLS and without, and what it counts.
struct Haproxy {
    _running: Running,
    folder: TempDir,
    addresses: [SocketAddr; 2],
}

impl Haproxy {
    /// One that speaks to `upstream`, HTTP/1 unless `how` says otherwise.
    fn start(upstream: SocketAddr, how: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [cert, key] = certificate(folder.path());
        let pem = [cert, key].map(|name| fs::read_to_string(name).expect("a file")).concat();
        fs::write(folder.path().join("both.pem"), pem).expect("a file");
        let bound =
            [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
        let addresses = bound.map(|listener| listener.local_addr().expect("a bound address"));
        let path = folder.path().join("haproxy.cfg");
        fs::write(&path, config(folder.path(), addresses, (upstream, how))).expect("a file");
        // In the foreground, without a master.
        let mut running = Running::start(Command::new("haproxy").args(["-db", "-f"]).arg(&path));
        let deadline = Instant::now() + LIMIT;
        let socket = folder.path().join("stats");
        // It listens at its ports before its own socket has its name.
        while TcpStream::connect(addresses[0]).is_err() || UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < deadline && running.ended().is_none(), "haproxy ended");
            thread::yield_now();
        }
        Self { _running: running, folder, addresses }
    }

    fn urls(&self, path: &str) -> [String; 2] {
        let [plain, secure] = self.addresses;
        [format!("http://{plain}{path}"), format!("https://{secure}{path}")]
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("stats")
    }

    /// Requests of its front, as it counts them.
    fn requests(&self) -> u64 {
        let mut stream = UnixStream::connect(self.socket()).expect("its socket");
        stream.set_read_timeout(Some(LIMIT)).expect("a limit");
        stream.write_all(b"show stat\n").expect("a question");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("counts");
        let names = text.lines().next().expect("names").trim_start_matches("# ");
        let front = text.lines().find(|line| line.starts_with("front,")).expect("the front");
        let mut cells = names.split(',').zip(front.split(','));
        let (_, count) = cells.find(|(name, _)| *name == "req_tot").expect("a column");
        count.parse().expect("a count")
    }
}

fn config(
    folder: &Path,
    [plain, secure]: [SocketAddr; 2],
    (upstream, how): (SocketAddr, &str),
) -> String {
    let folder = folder.display();
    format!(
        "global
    stats socket {folder}/stats mode 600
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend front
    bind {plain} proto h2
    bind {secure} ssl crt {folder}/both.pem alpn h2
    default_backend back
backend back
    server ours {upstream} {how}
"
    )
}

#[test]
fn haproxy_counts_what_we_say_we_sent() {
    let Some(_share) = share_with(&["haproxy", "openssl"]) else { return };
    let server = Server::start(&[]);
    let haproxy = Haproxy::start(server.addresses()[0], "");
    for url in haproxy.urls("") {
        for (path, n, flags) in [
            ("/", 5000, &["-n", "5000", "-c", "1", "-m", "100"][..]),
            ("/", 5000, &["-n", "5000", "-c", "7", "-m", "10", "-t", "2"]),
            ("/bytes/100k", 300, &["-n", "300", "-c", "3", "-m", "5", "--expect", "bytes=100000"]),
            ("/", 997, &["-n", "997", "-c", "5", "-m", "3", "--driver", "epoll"]),
            ("/", 500, &["-n", "500", "-c", "5", "--no-keepalive"]),
        ] {
            let before = haproxy.requests();
            let url = format!("{url}{path}");
            let all = [&[&*url, "--http", "2", "-k"], flags].concat();
            let report = measure(&all);
            assert!(report.errors().is_empty(), "{all:?}: {:?}", report.errors());
            let told = report.ledger(["sent", "completed", "ok"]);
            assert_eq!((told, haproxy.requests() - before), ([n; 3], n), "{all:?}");
            assert_eq!(report.text("/protocols/0/name"), "h2", "{all:?}");
        }
    }
}

/// Calls, whose status stands in trailers.
#[test]
fn calls_pass_haproxy_with_their_status() {
    let Some(_share) = share_with(&["haproxy", "openssl"]) else { return };
    let server = Server::start(&[]);
    let haproxy = Haproxy::start(server.addresses()[0], "proto h2");
    for url in haproxy.urls("/") {
        for (status, flags) in [
            ("OK", &["fgrpc.PingServer/Ping", "-b", r#"{"seq": {{seq}}}"#][..]),
            ("OK", &["grpc.testing.TestService/FullDuplexCall", "--grpc-messages", "20"]),
            ("UNIMPLEMENTED", &["grpc.testing.TestService/UnimplementedCall"]),
        ] {
            let load = ["-k", "--reflect", "-n", "500", "-c", "3", "-m", "5", "--grpc"];
            let all = [&[&*url], &load[..], flags].concat();
            let report = measure(&all);
            let told =
                (report.ledger(["completed"]), report.count(&format!("/grpc_status/{status}")));
            assert_eq!(told, ([500], 500), "{all:?}: {:?}", report.errors());
        }
    }
}
