//! `plimsoll serve`: the built-in server, until a signal.

use std::net::SocketAddr;
use std::process::ExitCode;

use plimsoll_server::{
    Faults, Role, RunningServer, ServeOptions, ServerOptions, StreamFaults, TlsConfig, tls_config,
};

use crate::exit::Exit;
use crate::serve_args::ServeFlags;
use crate::serving::{identity, read, save_certificate, say_where, until_signal};

const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Serves until SIGINT or SIGTERM; prints where it listens once it does.
///
/// # Errors
/// When an address cannot be listened on, or a worker fails.
pub(crate) fn serve(flags: &ServeFlags) -> Result<ExitCode, Exit> {
    let tls = tls(flags)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let options = ServeOptions {
        roles: roles(flags),
        workers: flags.threads as usize,
        server: ServerOptions { faults: faults(flags), tls, ..ServerOptions::default() },
        driver: flags.driver.into(),
        pin: (!flags.pin.is_empty()).then(|| flags.pin.clone()),
        ..ServeOptions::default()
    };
    until_signal(options, |running| announce(running, scheme))?;
    Ok(ExitCode::SUCCESS)
}

fn roles(flags: &ServeFlags) -> Vec<(Role, SocketAddr)> {
    let named = [
        (Role::All, flags.listen),
        (Role::Hello, flags.hello),
        (Role::Echo, flags.echo),
        (Role::Address, flags.address),
    ];
    let roles: Vec<_> =
        named.into_iter().filter_map(|(role, at)| at.map(|address| (role, address))).collect();
    if roles.is_empty() { vec![(Role::All, DEFAULT_ADDRESS)] } else { roles }
}

fn faults(flags: &ServeFlags) -> Faults {
    Faults {
        stall: flags.stall,
        latency: flags.latency.clone().unwrap_or_default(),
        errors: flags.errors.clone().unwrap_or_default(),
        reset: flags.reset.unwrap_or_default(),
        close_every: flags.close_every,
        grpc_status: flags.grpc_status.clone().unwrap_or_default(),
        http2: StreamFaults {
            streams: flags.h2_streams,
            settings_delay_ns: flags.h2_settings_delay.unwrap_or_default(),
            resets: flags.h2_reset.clone().unwrap_or_default(),
            refused: flags.h2_refuse.unwrap_or_default(),
            goaway: flags.h2_goaway,
            window_bytes: flags.h2_window,
            window_delay_ns: flags.h2_window_delay.unwrap_or_default(),
        },
        seed: flags.seed,
    }
}

/// What to speak TLS with; `None` when no flag asks for it.
fn tls(flags: &ServeFlags) -> Result<Option<TlsConfig>, Exit> {
    let is_asked_for = flags.tls
        || flags.tls_cert.is_some()
        || flags.tls_client_ca.is_some()
        || flags.tls_save.is_some();
    if !is_asked_for {
        return Ok(None);
    }
    let identity = identity(flags.tls_cert.as_deref(), flags.tls_key.as_deref())?;
    let client_roots =
        flags.tls_client_ca.as_deref().map(|path| read("--client-ca", path)).transpose()?;
    if let Some(path) = &flags.tls_save {
        save_certificate(path, &identity)?;
    }
    let protocols: Vec<&[u8]> =
        flags.alpn.iter().flat_map(|protocol| protocol.names()).copied().collect();
    let config = tls_config(identity, client_roots, &protocols);
    config.map(Some).map_err(|error| Exit::CouldNotRun(format!("TLS: {error}")))
}

fn announce(running: &RunningServer, scheme: &str) {
    say_where(running.addresses().iter().map(|(role, address)| match role {
        Role::All => format!("{scheme}://{address}"),
        _ => format!("{scheme}://{address} ({})", role.name()),
    }));
}
