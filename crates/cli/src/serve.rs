//! `plimsoll serve`: the built-in target, until a signal.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_io::DriverChoice;
use plimsoll_io::host::raise_open_files;
use plimsoll_server::{
    Faults, Identity, Role, RunningServer, ServeOptions, ServerOptions, TlsConfig, self_signed,
    start, tls_config,
};

use crate::args::DriverFlag;
use crate::exit::Exit;
use crate::outputs::is_stdout;
use crate::serve_args::ServeFlags;
use crate::signals::Caught;

const DEFAULT_ADDRESS: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// How often to look whether the servers still run.
const LOOK: Duration = Duration::from_millis(200);

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
        driver: match flags.driver {
            DriverFlag::Auto => DriverChoice::Auto,
            DriverFlag::Uring => DriverChoice::Uring,
            DriverFlag::Epoll => DriverChoice::Epoll,
        },
        pin: (!flags.pin.is_empty()).then(|| flags.pin.clone()),
        ..ServeOptions::default()
    };
    // With fewer it still serves, if not as many connections.
    let _ = raise_open_files();
    let (stop, stopped) = channel();
    let caught = Caught::watch(move || {
        // Nobody listens any more once the servers have stopped by themselves.
        let _ = stop.send(());
    })
    .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
    let running = start(options).map_err(|error| Exit::CouldNotRun(error.to_string()))?;
    announce(&running, scheme);
    while running.is_running() && stopped.recv_timeout(LOOK).is_err() {}
    let report = running.stop();
    if let Some(failure) = report.failure {
        return Err(Exit::CouldNotRun(failure.to_string()));
    }
    // Being told to stop is how serving ends.
    let _ = caught;
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
    let identity = match (&flags.tls_cert, &flags.tls_key) {
        (Some(chain), Some(key)) => {
            Identity { chain: read("--cert", chain)?, key: read("--key", key)? }
        }
        _ => self_signed().map_err(|error| Exit::CouldNotRun(error.to_string()))?,
    };
    let client_roots =
        flags.tls_client_ca.as_deref().map(|path| read("--client-ca", path)).transpose()?;
    if let Some(path) = &flags.tls_save {
        save_certificate(path, &identity)?;
    }
    let config = tls_config(identity, client_roots);
    config.map(Some).map_err(|error| Exit::CouldNotRun(format!("TLS: {error}")))
}

/// Writes a server's certificate where clients can read it.
///
/// # Errors
/// A file that cannot be written, and stdout, which says where the server listens.
pub(crate) fn save_certificate(path: &Path, identity: &Identity) -> Result<(), Exit> {
    if is_stdout(path) {
        let text = "--tls-save -: stdout says where the server listens: give a file";
        return Err(Exit::Usage(text.to_owned()));
    }
    std::fs::write(path, &identity.chain)
        .map_err(|error| Exit::CouldNotRun(format!("--tls-save {}: {error}", path.display())))
}

fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Exit> {
    std::fs::read(path)
        .map_err(|error| Exit::CouldNotRun(format!("{flag} {}: {error}", path.display())))
}

fn announce(running: &RunningServer, scheme: &str) {
    let mut out = std::io::stdout().lock();
    for (role, address) in running.addresses() {
        let what = if *role == Role::All { String::new() } else { format!(" ({})", role.name()) };
        // The program that started this may not read it.
        let _ = writeln!(out, "listening on {scheme}://{address}{what}");
    }
    let _ = out.flush();
}
