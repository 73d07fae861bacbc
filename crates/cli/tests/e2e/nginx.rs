//! nginx with one worker, or several, in a directory of its own, and what it counts.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::programs::processes;
use crate::support::Running;

/// How long a start may take before it counts as failed.
const START_LIMIT: Duration = Duration::from_secs(20);
const TRIES: u32 = 5;

/// What nginx has counted: connections accepted and requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) accepted: u64,
    pub(crate) requests: u64,
}

/// A running nginx.
pub(crate) struct Nginx {
    running: Option<Running>,
    directory: TempDir,
    address: SocketAddr,
    /// Where it speaks HTTP/2 and nothing else: as long as a connection likes, and for ten
    /// requests.
    http2_addresses: [SocketAddr; 2],
    workers: u32,
}

impl Nginx {
    /// Starts one on a free port: master and worker in one process.
    pub(crate) fn start() -> Self {
        Self::start_with_workers(0)
    }

    /// Starts a master with this many workers; with 0, the master does their work.
    pub(crate) fn start_with_workers(workers: u32) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("file"), "x".repeat(100_000)).expect("a file");
        for _ in 0..TRIES {
            // Another program may take the port in between: then with another one.
            let [address, http2_addresses @ ..] = free_addresses();
            let config = config(address, http2_addresses, workers);
            fs::write(directory.path().join("nginx.conf"), config).expect("a file");
            if let Ok(running) = launch(&directory, address, workers) {
                let running = Some(running);
                return Self { running, directory, address, http2_addresses, workers };
            }
        }
        panic!("nginx does not start: {}", error_log(&directory));
    }

    /// Kills it on the spot; `restart` brings it back to the same port.
    pub(crate) fn kill(&mut self) {
        let running = self.running.take().expect("a running nginx");
        assert_eq!(running.finish_by(Signal::KILL).code, None);
    }

    pub(crate) fn restart(&mut self) {
        let launched = launch(&self.directory, self.address, self.workers);
        let running = launched.unwrap_or_else(|()| panic!("{}", error_log(&self.directory)));
        self.running = Some(running);
    }

    /// The process that was started.
    pub(crate) fn id(&self) -> u32 {
        self.running.as_ref().expect("a running nginx").id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.running.as_ref().expect("a running nginx").signal(signal);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The same over HTTP/2 by prior knowledge.
    pub(crate) fn http2_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http2_addresses[0])
    }

    /// The same, where a connection takes ten requests.
    pub(crate) fn http2_goodbye_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http2_addresses[1])
    }

    /// What nginx counts while `act` runs, without the question itself.
    pub(crate) fn counting<T>(&self, act: impl FnOnce() -> T) -> (T, Counted) {
        let before = counted(self.address).expect("the counts of a running nginx");
        let acted = act();
        let after = counted(self.address).expect("the counts of a running nginx");
        let during = Counted {
            accepted: after.accepted - before.accepted - 1,
            requests: after.requests - before.requests - 1,
        };
        (acted, during)
    }

    /// The log of requests below `/logged/`: status, request bytes and response bytes of each.
    pub(crate) fn take_log(&self) -> Vec<[u64; 3]> {
        let path = self.directory.path().join("requests.log");
        let text = fs::read_to_string(&path).expect("a log");
        // nginx appends, so cutting the file off is enough.
        fs::write(&path, "").expect("a log");
        text.lines()
            .map(|line| {
                let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
                [(); 3].map(|()| words.next().expect("three numbers"))
            })
            .collect()
    }
}

impl Drop for Nginx {
    /// A master that is killed leaves its workers behind; one that is told to stop does not.
    fn drop(&mut self) {
        if let Some(running) = self.running.take().filter(|_| self.workers > 0) {
            drop(running.finish_by(Signal::TERM));
        }
    }
}

/// Addresses that are free until they are used.
fn free_addresses() -> [SocketAddr; 3] {
    let bound = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port"));
    bound.map(|listener| listener.local_addr().expect("a bound address"))
}

/// Starts nginx and waits until it answers with all its workers: the first one answers while the
/// others are still to be started. `Err` when it ended instead.
fn launch(directory: &TempDir, address: SocketAddr, workers: u32) -> Result<Running, ()> {
    let mut command = Command::new("nginx");
    command.arg("-p").arg(directory.path()).args(["-c", "nginx.conf", "-e", "error.log"]);
    let mut running = Running::start(&mut command);
    let deadline = Instant::now() + START_LIMIT;
    while Instant::now() < deadline && running.ended().is_none() {
        let is_whole = processes(running.id()).len() == 1 + workers as usize;
        if is_whole && counted(address).is_some() {
            return Ok(running);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Err(())
}

fn error_log(directory: &TempDir) -> String {
    fs::read_to_string(directory.path().join("error.log")).unwrap_or_default()
}

/// Without workers one process is master and worker, so that a signal to it stops the server.
fn config(address: SocketAddr, http2_addresses: [SocketAddr; 2], workers: u32) -> String {
    let [http2_address, goodbye_address] = http2_addresses;
    let processes = match workers {
        0 => "master_process off;".to_owned(),
        workers => format!("worker_processes {workers};"),
    };
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("    {name}_temp_path temp_{name};\n"))
        .concat();
    format!(
        "daemon off;
{processes}
pid nginx.pid;
events {{ worker_connections 4096; }}
http {{
{paths}    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    log_format counts '$status $request_length $bytes_sent';
    server {{
        listen {address} backlog=4096;
        listen {http2_address} http2 backlog=4096;
        root .;
        location / {{ return 200 'hello world'; }}
        location = /counts {{ stub_status; }}
        location = /ten {{ keepalive_requests 10; return 200 'hello world'; }}
        location /logged/ {{ access_log requests.log counts; alias ./; }}
        location = /logged/busy {{ access_log requests.log counts; return 503; }}
    }}
    server {{
        listen {goodbye_address} http2;
        keepalive_requests 10;
        location / {{ return 200 'hello world'; }}
    }}
}}
"
    )
}

/// Asks for the counts; `None` when nobody answers.
fn counted(address: SocketAddr) -> Option<Counted> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(START_LIMIT)).ok()?;
    stream.write_all(b"GET /counts HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let line = text.lines().skip_while(|line| !line.starts_with("server accepts")).nth(1)?;
    let mut counts = line.split_whitespace().map(|word| word.parse().ok());
    let (accepted, _handled, requests) = (counts.next()??, counts.next()??, counts.next()??);
    Some(Counted { accepted, requests })
}
