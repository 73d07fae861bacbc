//! The servers: each on one CPU, one worker, on a free loopback port, answering 11 bytes to a GET;
//! or forwarding it to one that does, which then has the client's CPU.

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
    /// Whether it forwards requests, with up to 256 connections, instead of answering them.
    pub(super) forwards: bool,
    /// What follows the address in the `listen` line of nginx.
    listen: &'static str,
    /// Whether it speaks TLS.
    pub(super) tls: bool,
}

const fn answering(program: &'static str, extra: &'static [&'static str]) -> Kind {
    Kind { program, extra, forwards: false, listen: "", tls: false }
}

const fn forwarding(program: &'static str, extra: &'static [&'static str]) -> Kind {
    Kind { forwards: true, ..answering(program, extra) }
}

pub(super) const BARE_URING: Kind = answering("bare-uring", &[]);
pub(super) const BARE_EPOLL: Kind = answering("bare-epoll", &[]);
pub(super) const BARE_CLOSING: Kind = answering("bare-epoll", &["--close"]);
pub(super) const BARE_LOGGING: Kind = answering("bare-epoll", &["--log-arrivals"]);
pub(super) const PLIMSOLL: Kind = answering("plimsoll", &[]);
pub(super) const PLIMSOLL_TLS: Kind = Kind { tls: true, ..answering("plimsoll", &["--tls"]) };
pub(super) const NGINX: Kind = answering("nginx", &[]);
pub(super) const NGINX_HTTP2: Kind = Kind { listen: " http2", ..answering("nginx", &[]) };
pub(super) const NGHTTPD: Kind = answering("nghttpd", &[]);
pub(super) const HAPROXY: Kind = answering("haproxy", &[]);
pub(super) const PLIMSOLL_PROXY: Kind = forwarding("plimsoll", &[]);
pub(super) const PLIMSOLL_PROXY_EPOLL: Kind = forwarding("plimsoll", &["--driver", "epoll"]);
pub(super) const NGINX_PROXY: Kind = forwarding("nginx", &[]);
pub(super) const HAPROXY_PROXY: Kind = forwarding("haproxy", &[]);

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    process: Process,
    /// What it forwards requests to.
    _behind: Option<Process>,
    /// Where it listens: `127.0.0.1:PORT`.
    pub(super) address: String,
}

impl Server {
    /// Starts a server, and what is behind it, and waits until it listens.
    pub(super) fn start(kind: Kind, stage: &Stage<'_>) -> Result<Self> {
        let cpu = stage.options.server_cpu;
        if !kind.forwards {
            let (process, address) = start(kind, None, cpu, stage)?;
            return Ok(Self { process, _behind: None, address });
        }
        let (behind, upstream) = start(BARE_URING, None, stage.options.client_cpu, stage)?;
        let (process, address) = start(kind, Some(&upstream), cpu, stage)?;
        Ok(Self { process, _behind: Some(behind), address })
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

/// Starts one server and waits until it listens: where, is returned too.
fn start(
    kind: Kind,
    upstream: Option<&str>,
    cpu: usize,
    stage: &Stage<'_>,
) -> Result<(Process, String)> {
    let free = free_address()?;
    let own = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (mut arguments, tells) = match (kind.program, upstream) {
        ("plimsoll", None) => (own("serve -t 1 --listen 127.0.0.1:0"), true),
        ("plimsoll", Some(to)) => (own(&format!("proxy --listen 127.0.0.1:0 --to {to}")), true),
        ("nginx", _) => (nginx(stage, &free, kind.listen, upstream)?, false),
        ("nghttpd", _) => (nghttpd(stage, &free)?, false),
        ("haproxy", _) => (haproxy(stage, &free, upstream)?, false),
        _ => (own("server 127.0.0.1:0"), true),
    };
    arguments.extend(kind.extra.iter().map(|&argument| argument.to_owned()));
    let program = &stage.program(kind.program)?.path;
    let start = Start { program, arguments: &arguments, cpu, terminal: false };
    let name = if upstream.is_some() { "proxy" } else { "server" };
    let mut process = Process::start(&start, name, stage.folder)?;
    let began = Instant::now();
    loop {
        let address = if tells { told_address(&process.printed()) } else { Some(free.clone()) };
        // One that doesn't tell is ready once it accepts.
        if let Some(address) = address
            && (tells || TcpStream::connect(&address).is_ok())
        {
            return Ok((process, address));
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

/// An address nobody listens on. Another program could take it before its user does; then that
/// one fails to start, and says so.
fn free_address() -> Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// The address in the line `listening on http://ADDRESS`, or `https`.
fn told_address(printed: &str) -> Option<String> {
    let (_, told) = printed.split_once("listening on http")?;
    let (line, _) = told.trim_start_matches('s').strip_prefix("://")?.split_once('\n')?;
    Some(line.split_whitespace().next()?.trim_end_matches('/').to_owned())
}

fn nginx(
    stage: &Stage<'_>,
    address: &str,
    listen: &str,
    upstream: Option<&str>,
) -> Result<Vec<String>> {
    let folder = stage.folder.path().join("nginx");
    fs::create_dir_all(&folder)?;
    let file = folder.join("nginx.conf");
    let folder = folder.display();
    let (pool, location) = match upstream {
        None => {
            let answer = r#"default_type text/plain; return 200 "hello world";"#;
            (String::new(), answer)
        }
        Some(upstream) => {
            let pool = format!(
                "upstream behind {{ server {upstream}; keepalive 256; \
                 keepalive_requests 1000000000; }}"
            );
            // What the proxy of plimsoll says without being asked.
            let forward = "proxy_pass http://behind; proxy_http_version 1.1; \
                           proxy_set_header Connection \"\"; \
                           proxy_set_header Host $http_host; \
                           proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; \
                           proxy_set_header X-Forwarded-Proto $scheme; \
                           proxy_set_header X-Forwarded-Host $http_host;";
            (pool, forward)
        }
    };
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
    {pool}
    server {{
        listen {address}{listen} backlog=4096;
        location / {{ {location} }}
    }}
}}
"#
    );
    fs::write(&file, text).context("cannot write nginx.conf")?;
    let file = file.display();
    Ok(["-p".to_owned(), folder.to_string(), "-c".to_owned(), file.to_string()].to_vec())
}

fn nghttpd(stage: &Stage<'_>, address: &str) -> Result<Vec<String>> {
    let folder = stage.folder.path().join("nghttpd");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("index.html"), "hello world")?;
    let (host, port) = address.split_once(':').context("no port")?;
    let folder = folder.display();
    let line = format!("--no-tls -n 1 -a {host} -d {folder} {port}");
    Ok(line.split(' ').map(str::to_owned).collect())
}

fn haproxy(stage: &Stage<'_>, address: &str, upstream: Option<&str>) -> Result<Vec<String>> {
    let file = stage.folder.path().join("haproxy.cfg");
    let answer = match upstream {
        None => "    http-request return status 200 content-type text/plain \
                 string \"hello world\"\n"
            .to_owned(),
        Some(upstream) => format!(
            "    option forwardfor\n    default_backend behind\n\
             backend behind\n    http-reuse always\n    server one {upstream}\n"
        ),
    };
    let text = format!(
        "global\n    nbthread 1\n    maxconn 8000\n\
         defaults\n    mode http\n    timeout client 1h\n    timeout server 1h\n    \
         timeout connect 5s\n\
         frontend hello\n    bind {address}\n{answer}"
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
        assert_eq!(told("listening on https://[::1]:8/\n").as_deref(), Some("[::1]:8"));
        assert_eq!(told("listening on http://127.0.0.1:8"), None);
    }
}
