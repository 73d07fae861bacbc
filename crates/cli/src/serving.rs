//! What `serve` and `proxy` have in common: running until a signal, saying where, and certificates.

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use plimsoll_io::host::raise_open_files;
use plimsoll_server::{Identity, Running, Service, self_signed, start};

use crate::destination;
use crate::exit::Exit;
use crate::outputs::is_stdout;
use crate::signals::Caught;

/// How often to look whether the workers still run.
const LOOK: Duration = Duration::from_millis(200);

/// Runs until SIGINT or SIGTERM, which is how serving ends, and gives what was counted. `announce`
/// is called once every worker listens.
///
/// # Errors
/// When an address cannot be listened on, or a worker fails.
pub(crate) fn until_signal<S: Service>(
    service: S,
    announce: impl FnOnce(&Running<S>),
) -> Result<S::Counters, Exit> {
    // With fewer it still serves, if not as many connections.
    let _ = raise_open_files();
    let (stop, stopped) = channel();
    Caught::watch(move || {
        // Nobody listens any more once the workers have stopped by themselves.
        let _ = stop.send(());
    })
    .map_err(|error| Exit::CouldNotRun(format!("signals: {error}")))?;
    let running = start(service).map_err(|error| Exit::CouldNotRun(error.to_string()))?;
    announce(&running);
    while running.is_running() && stopped.recv_timeout(LOOK).is_err() {}
    let report = running.stop();
    match report.failure {
        Some(failure) => Err(Exit::CouldNotRun(failure.to_string())),
        None => Ok(report.counters),
    }
}

/// Prints a line for each address that is listened on.
pub(crate) fn say_where(addresses: impl Iterator<Item = impl Display>) {
    let mut out = std::io::stdout().lock();
    for address in addresses {
        // The program that started this may not read it.
        let _ = writeln!(out, "listening on {address}");
    }
    let _ = out.flush();
}

/// The given certificate and key, or new ones.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn identity(chain: Option<&Path>, key: Option<&Path>) -> Result<Identity, Exit> {
    match (chain, key) {
        (Some(chain), Some(key)) => {
            Ok(Identity { chain: read("--cert", chain)?, key: read("--key", key)? })
        }
        _ => self_signed().map_err(|error| Exit::CouldNotRun(error.to_string())),
    }
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
    destination::write(path, &identity.chain)
        .map_err(|error| Exit::CouldNotRun(format!("--tls-save {}: {error}", path.display())))
}

/// Reads the file of a flag.
///
/// # Errors
/// The flag, the file, and why.
pub(crate) fn read(flag: &str, path: &Path) -> Result<Vec<u8>, Exit> {
    std::fs::read(path)
        .map_err(|error| Exit::CouldNotRun(format!("{flag} {}: {error}", path.display())))
}
