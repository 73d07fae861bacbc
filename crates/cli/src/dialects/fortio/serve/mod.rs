//! `fortio server` and its parts: the echo, gRPC, TCP, UDP and the redirect on the built-in server,
//! and what [`site`] answers beside that.
//!
//! Everything listens on 127.0.0.1 unless an address is given.

mod client;
mod data;
mod multi;
mod pages;
mod rest;
mod results;
mod site;
mod sync;
mod tcp_proxy;
mod udp;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use plimsoll_dialect::fortio::{Level, LogLevel, Serve, ServeKind, version};
use plimsoll_io::clock;
use plimsoll_server::{Handle, Role, ServeOptions, ServerOptions, SiteOptions, tls_config};

use super::{Refused, log, now};
use crate::serving::{identity, until_signal};
use site::Site;
use udp::UdpEcho;

pub(super) fn serve(serve: &Serve) -> Result<ExitCode, Refused> {
    let addresses = Addresses::of(serve)?;
    let site = addresses.http.map(|_| Site::new(serve)).transpose()?.map(Arc::new);
    if let Some(site) = site.as_ref().filter(|_| !serve.sync_url.is_empty()) {
        sync::once(&serve.sync_url, site.data_dir())
            .map_err(|why| format!("fortio: -sync {}: {why}", serve.sync_url))?;
        if serve.sync_interval_ns > 0 {
            sync::again_and_again(serve, site.data_dir());
        }
    }
    let _udp = addresses.udp.map(start_udp).transpose()?;
    for proxy in &serve.proxies {
        tcp_proxy::start(proxy)?;
    }
    let mut _multis = Vec::new();
    for multi in &serve.multis {
        _multis.push(multi::begin(multi, serve)?);
    }
    let roles = addresses.roles();
    if roles.is_empty() {
        return wait_for_signal();
    }
    let options = options(serve, roles, site.as_ref())?;
    until_signal(options, |running| {
        for (role, address) in running.addresses() {
            say_started(*role, *address);
        }
        let http = running.addresses().iter().find(|(role, _)| *role == Role::Site);
        if let (Some((_, address)), Some(site)) = (http, &site) {
            site.set_address(*address);
            announce(serve, *address);
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Where the servers listen.
struct Addresses {
    http: Option<SocketAddr>,
    grpc: Option<SocketAddr>,
    redirect: Option<SocketAddr>,
    tcp: Option<SocketAddr>,
    udp: Option<SocketAddr>,
}

impl Addresses {
    fn of(serve: &Serve) -> Result<Self, Refused> {
        Ok(Self {
            http: address("-http-port", &serve.http)?,
            grpc: address("-grpc-port", &serve.grpc)?,
            redirect: address("-redirect-port", &serve.redirect)?,
            tcp: address("-tcp-port", &serve.tcp)?,
            udp: address("-udp-port", &serve.udp)?,
        })
    }

    fn roles(&self) -> Vec<(Role, SocketAddr)> {
        let named = [
            (Role::Site, self.http),
            (Role::Calls, self.grpc),
            (Role::Redirect, self.redirect),
            (Role::Bytes, self.tcp),
        ];
        named.into_iter().filter_map(|(role, at)| at.map(|at| (role, at))).collect()
    }
}

/// `port`, `host:port`, or nothing and `disabled` for no server.
fn address(flag: &str, text: &str) -> Result<Option<SocketAddr>, Refused> {
    if text.is_empty() || text == "disabled" {
        return Ok(None);
    }
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
    }
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    match found {
        Some(address) => Ok(Some(address)),
        None => Err(format!(
            "fortio: {flag} '{text}' is not an address: give a port, host:port or disabled"
        )
        .into()),
    }
}

fn options(
    serve: &Serve,
    roles: Vec<(Role, SocketAddr)>,
    site: Option<&Arc<Site>>,
) -> Result<ServeOptions, Refused> {
    let tls = match (serve.cert.as_str(), serve.key.as_str()) {
        ("", "") => None,
        (cert, key) if cert.is_empty() || key.is_empty() => {
            return Err("fortio: -cert and -key go together".to_owned().into());
        }
        (cert, key) => {
            let identity = identity(Some(Path::new(cert)), Some(Path::new(key)))?;
            let protocols: [&[u8]; 2] = [b"h2", b"http/1.1"];
            let config = tls_config(identity, None, &protocols);
            Some(config.map_err(|error| format!("fortio: TLS: {error}"))?)
        }
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let handler = site.map(|site| Arc::clone(site) as Arc<dyn Handle>);
    let unix_ns = now().unix_ns.max(0) as u64;
    let site_options = SiteOptions {
        default_query: serve.default_params.clone(),
        delay_ns_max: serve.echo_delay_ns_max,
        body_bytes_max: serve.payload_bytes_max,
        handled: handled(serve),
        handler,
        seed: unix_ns,
    };
    let server = ServerOptions {
        tls,
        site: site_options,
        base_unix_ns: Some(unix_ns.saturating_sub(clock::now_ns())),
        ..ServerOptions::default()
    };
    let workers = if serve.threads > 0 { serve.threads as usize } else { processors };
    Ok(ServeOptions { roles, workers, server, ..ServeOptions::default() })
}

/// Paths that are not of the echo.
fn handled(serve: &Serve) -> Vec<String> {
    let mut paths = Vec::new();
    if serve.debug_path.starts_with('/') {
        let debug = serve.debug_path.trim_end_matches('/');
        paths.extend([debug.to_owned(), format!("{debug}/metrics"), format!("{debug}/pprof/")]);
    }
    if serve.ui_path.starts_with('/') {
        paths.push(format!("{}/", serve.ui_path.trim_end_matches('/')));
        if serve.kind == ServeKind::Report {
            paths.push("/data/".to_owned());
        }
    }
    paths
}

fn start_udp(at: SocketAddr) -> Result<UdpEcho, Refused> {
    let echo =
        UdpEcho::start(at).map_err(|error| format!("fortio: cannot listen on {at}: {error}"))?;
    let text = format!("Fortio {} udp-echo server listening on udp {}", version(), echo.address());
    log(LogLevel::Info, Level::Info, &text, &[]);
    Ok(echo)
}

fn say_started(role: Role, address: SocketAddr) {
    let name = match role {
        Role::Calls => "grpc 'ping'",
        Role::Redirect => "https redirector",
        Role::Bytes => "tcp-echo",
        _ => "http-echo",
    };
    let text = format!("Fortio {} {name} server listening on tcp {address}", version());
    log(LogLevel::Info, Level::Info, &text, &[]);
}

/// Tells people where to look.
fn announce(serve: &Serve, address: SocketAddr) {
    let scheme = if serve.cert.is_empty() { "http" } else { "https" };
    let path = &serve.ui_path;
    let text = match serve.kind {
        ServeKind::Report => {
            format!("Browse only UI started - visit:\n{scheme}://{address}{path}\n")
        }
        _ if path.is_empty() => return,
        _ => format!("\t UI started - visit:\n\t\t{scheme}://{address}{path}\n"),
    };
    // The program that started this may not read it.
    let _ = super::print(|out| out.write_all(text.as_bytes()));
}

fn wait_for_signal() -> Result<ExitCode, Refused> {
    let (stop, stopped) = std::sync::mpsc::channel();
    crate::signals::Caught::watch(move || {
        let _ = stop.send(());
    })
    .map_err(|error| format!("fortio: signals: {error}"))?;
    let _ = stopped.recv();
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_loopback() {
        for (text, want) in [
            ("8080", Some("127.0.0.1:8080")),
            (":0", Some("127.0.0.1:0")),
            ("0.0.0.0:1", Some("0.0.0.0:1")),
            ("[::1]:2", Some("[::1]:2")),
            ("disabled", None),
            ("", None),
        ] {
            let Ok(got) = address("-http-port", text) else { panic!("{text}") };
            assert_eq!(got.map(|it| it.to_string()).as_deref(), want, "{text}");
        }
        for text in ["99999", "/run/a.sock", "x"] {
            assert!(address("-http-port", text).is_err(), "{text}");
        }
    }
}
