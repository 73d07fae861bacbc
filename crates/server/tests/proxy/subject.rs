//! The proxy under test: ours within this process, or a program of its own, ours or another one, so
//! that all get the same bytes.
//!
//! `PLIMSOLL_PROXY` says which program: `nginx`, `haproxy`, or the path of a `plimsoll`. Without
//! it, ours runs within this process.

use std::env;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use plimsoll_io::{DriverChoice, DriverKind};
use plimsoll_server::proxy::{ProxyCounters, ProxyOptions, Rules, RunningProxy};
use plimsoll_server::start;
use tempfile::TempDir;

/// Which proxy is examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Ours, on this driver.
    Within(DriverChoice),
    Nginx,
    Haproxy,
    /// Ours as a program at this path.
    Program(String),
}

impl Kind {
    /// Those to examine: each driver there is, or the one program that the environment names.
    pub(crate) fn all() -> Vec<Self> {
        match env::var("PLIMSOLL_PROXY").as_deref() {
            Ok("nginx") => vec![Self::Nginx],
            Ok("haproxy") => vec![Self::Haproxy],
            Ok(path) => vec![Self::Program(path.to_owned())],
            Err(_) => vec![Self::Within(DriverChoice::Auto), Self::Within(DriverChoice::Epoll)],
        }
    }

    /// Whether it has to keep the promises of ours.
    pub(crate) fn is_ours(&self) -> bool {
        !matches!(self, Self::Nginx | Self::Haproxy)
    }
}

enum Running {
    Within(RunningProxy),
    Program(Child, #[expect(dead_code, reason = "removed when dropped")] Option<TempDir>),
}

/// A proxy that runs.
pub(crate) struct Subject {
    pub(crate) address: SocketAddr,
    running: Running,
}

impl Subject {
    /// Starts one in front of these upstreams. `change` sets what is not usual. Programs learn
    /// nothing of that, except that ours learns the length of the buffer for bodies.
    pub(crate) fn start(
        kind: &Kind,
        upstreams: &[SocketAddr],
        change: impl FnOnce(&mut Rules),
    ) -> Self {
        match kind {
            Kind::Within(driver) => {
                let mut options = ProxyOptions::to(upstreams.iter().map(|&it| it.into()).collect());
                options.driver = *driver;
                options.rules.timeouts.drain_ns = 1_000_000_000;
                change(&mut options.rules);
                let running = start(options).expect("a proxy");
                Self { address: running.addresses()[0], running: Running::Within(running) }
            }
            Kind::Nginx => {
                let directory = tempfile::tempdir().expect("a directory");
                Self::launch(Some(directory), |path, listen| nginx(path, listen, upstreams))
            }
            Kind::Haproxy => {
                let directory = tempfile::tempdir().expect("a directory");
                Self::launch(Some(directory), |path, listen| haproxy(path, listen, upstreams))
            }
            Kind::Program(path) => {
                let mut rules = Rules::to(upstreams.iter().map(|&it| it.into()).collect());
                change(&mut rules);
                let buffer = rules.limits.body_buffer_bytes;
                Self::launch(None, |_, listen| plimsoll(path, listen, upstreams, buffer))
            }
        }
    }

    /// Starts a program and waits until it listens.
    fn launch(
        directory: Option<TempDir>,
        command: impl FnOnce(&Path, SocketAddr) -> Command,
    ) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let address = free.local_addr().expect("an address");
        drop(free);
        let path = directory.as_ref().map_or_else(|| Path::new("."), TempDir::path);
        let mut command = command(path, address);
        let mut child = command.stdout(Stdio::null()).spawn().expect("the program is there");
        while TcpStream::connect(address).is_err() {
            assert!(child.try_wait().expect("a child").is_none(), "{command:?} ended");
            thread::park_timeout(Duration::from_millis(1));
        }
        Self { address, running: Running::Program(child, directory) }
    }

    /// The process of a program.
    pub(crate) fn process(&self) -> Option<u32> {
        match &self.running {
            Running::Within(_) => None,
            Running::Program(child, _) => Some(child.id()),
        }
    }

    /// Whether this is a second copy of one that was examined: no io_uring here.
    pub(crate) fn is_double(&self, kind: &Kind) -> bool {
        match &self.running {
            Running::Within(running) => {
                *kind == Kind::Within(DriverChoice::Auto)
                    && running.driver().kind == DriverKind::Epoll
            }
            Running::Program(..) => false,
        }
    }

    /// Ends it, and with it every connection it has. Ours tells what it counted.
    pub(crate) fn stop(self) -> ProxyCounters {
        match self.running {
            Running::Within(running) => {
                let report = running.stop();
                assert!(report.failure.is_none(), "{:?}", report.failure);
                report.counters
            }
            Running::Program(mut child, _) => {
                assert!(child.try_wait().expect("a child").is_none(), "the proxy had ended");
                child.kill().expect("a child");
                child.wait().expect("a child");
                ProxyCounters::default()
            }
        }
    }
}

fn plimsoll(path: &str, listen: SocketAddr, upstreams: &[SocketAddr], buffer: usize) -> Command {
    let upstreams: Vec<String> = upstreams.iter().map(ToString::to_string).collect();
    let mut command = Command::new(path);
    command.args(["proxy", "--listen", &listen.to_string(), "--to", &upstreams.join(",")]);
    // As crosstalk has it within this process.
    command.args(["--response-timeout", "300ms", "--upstream-connections", "128"]);
    command.args(["--fail-after", "0", "--body-buffer", &buffer.to_string()]);
    command
}

fn nginx(path: &Path, listen: SocketAddr, upstreams: &[SocketAddr]) -> Command {
    let servers: String = upstreams.iter().map(|it| format!("server {it};")).collect();
    let at = path.display();
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|name| format!("{name}_temp_path {at}/{name};"))
        .collect();
    let text = format!(
        "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
        events {{ worker_connections 1024; }}
        http {{
            access_log off; {temporary} lingering_close off;
            upstream behind {{ {servers} keepalive 16; }}
            server {{
                listen {listen};
                location / {{
                    proxy_pass http://behind; proxy_http_version 1.1;
                    proxy_set_header Connection \"\"; proxy_set_header Host $http_host;
                    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                    proxy_request_buffering off; proxy_buffering off;
                }}
            }}
        }}"
    );
    let file = path.join("nginx.conf");
    fs::write(&file, text).expect("a file");
    let mut command = Command::new("nginx");
    command.arg("-c").arg(file).arg("-e").arg(path.join("error.log")).stderr(Stdio::null());
    command
}

fn haproxy(path: &Path, listen: SocketAddr, upstreams: &[SocketAddr]) -> Command {
    let numbered = upstreams.iter().enumerate();
    let servers: String = numbered.map(|(i, it)| format!("  server s{i} {it}\n")).collect();
    let text = format!(
        "global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s
  timeout client 60s\n  timeout server 60s\n  option forwardfor\n  http-reuse always
frontend f\n  bind {listen}\n  default_backend b\nbackend b\n{servers}"
    );
    let file = path.join("haproxy.cfg");
    fs::write(&file, text).expect("a file");
    let mut command = Command::new("haproxy");
    command.arg("-db").arg("-f").arg(file).stderr(Stdio::null());
    command
}
