//! The servers: each on one CPU, one worker, on a free loopback port, answering 11 bytes to a GET.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::contest::Stage;
use super::host;
use super::process::{Ended, Process, Start};

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(10);

/// A server to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    /// The program, as `build` names it.
    pub(super) program: &'static str,
    /// Arguments it is given beside those all its uses have.
    pub(super) extra: &'static [&'static str],
}

pub(super) const BARE_URING: Kind = Kind { program: "bare-uring", extra: &[] };
pub(super) const BARE_EPOLL: Kind = Kind { program: "bare-epoll", extra: &[] };
pub(super) const BARE_CLOSING: Kind = Kind { program: "bare-epoll", extra: &["--close"] };
pub(super) const BARE_LOGGING: Kind = Kind { program: "bare-epoll", extra: &["--log-arrivals"] };
pub(super) const PLIMSOLL: Kind = Kind { program: "plimsoll", extra: &[] };
pub(super) const NGINX: Kind = Kind { program: "nginx", extra: &[] };
pub(super) const HAPROXY: Kind = Kind { program: "haproxy", extra: &[] };

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    process: Process,
    /// Where it listens: `127.0.0.1:PORT`.
    pub(super) address: String,
}

impl Server {
    /// Starts a server and waits until it listens.
    pub(super) fn start(kind: Kind, stage: &Stage<'_>) -> Result<Self> {
        let free = free_address()?;
        let own = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (mut arguments, tells) = match kind.program {
            "plimsoll" => (own("serve -t 1 --listen 127.0.0.1:0"), true),
            "nginx" => (nginx(stage, &free)?, false),
            "haproxy" => (haproxy(stage, &free)?, false),
            _ => (own("server 127.0.0.1:0"), true),
        };
        arguments.extend(kind.extra.iter().map(|&argument| argument.to_owned()));
        let start = Start {
            program: &stage.program(kind.program)?.path,
            arguments: &arguments,
            cpu: stage.options.server_cpu,
            terminal: false,
        };
        let mut process = Process::start(&start, "server", stage.folder)?;
        let began = Instant::now();
        loop {
            let address = if tells { told_address(&process.printed()) } else { Some(free.clone()) };
            // One that doesn't tell is ready once it accepts.
            if let Some(address) = address
                && (tells || TcpStream::connect(&address).is_ok())
            {
                return Ok(Self { process, address });
            }
            if process.try_reap()?.is_some() {
                bail!(process.complaint(&format!("{} ended at once", kind.program)));
            }
            if began.elapsed() > PATIENCE {
                bail!(process.complaint(&format!("{} did not start to listen", kind.program)));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// CPU time it and its children have used.
    pub(super) fn cpu_time(&self) -> Duration {
        host::cpu_time(self.process.id())
    }

    /// Ends it; what it printed may hold its own account.
    pub(super) fn stop(self) -> Result<Ended> {
        self.process.terminate()
    }
}

/// An address nobody listens on. Another program could take it before its user does; then that
/// one fails to start, and says so.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// The address in the line `listening on http://ADDRESS`.
fn told_address(printed: &str) -> Option<String> {
    let (line, _) = printed.split_once("listening on http://")?.1.split_once('\n')?;
    Some(line.split_whitespace().next()?.trim_end_matches('/').to_owned())
}

fn nginx(stage: &Stage<'_>, address: &str) -> Result<Vec<String>> {
    let folder = stage.folder.path().join("nginx");
    fs::create_dir_all(&folder)?;
    let file = folder.join("nginx.conf");
    let folder = folder.display();
    let text = format!(
        r#"daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 16000; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {address} backlog=4096;
        location / {{ default_type text/plain; return 200 "hello world"; }}
    }}
}}
"#
    );
    fs::write(&file, text).context("cannot write nginx.conf")?;
    let file = file.display();
    Ok(["-p".to_owned(), folder.to_string(), "-c".to_owned(), file.to_string()].to_vec())
}

fn haproxy(stage: &Stage<'_>, address: &str) -> Result<Vec<String>> {
    let file = stage.folder.path().join("haproxy.cfg");
    let text = format!(
        "global\n    nbthread 1\n    maxconn 8000\n\
         defaults\n    mode http\n    timeout client 1h\n    timeout server 1h\n    \
         timeout connect 5s\n\
         frontend hello\n    bind {address}\n    \
         http-request return status 200 content-type text/plain string \"hello world\"\n"
    );
    fs::write(&file, text).context("cannot write haproxy.cfg")?;
    Ok(["-db".to_owned(), "-f".to_owned(), file.display().to_string()].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_server_says_it_listens() {
        let told = |text| told_address(text);
        assert_eq!(told("listening on http://127.0.0.1:80\n").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(told("hi\nlistening on http://[::1]:80/ (all)\nx").as_deref(), Some("[::1]:80"));
        assert_eq!(told("listening on http://127.0.0.1:8"), None);
    }
}
