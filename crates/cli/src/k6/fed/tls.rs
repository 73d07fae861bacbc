//! Files that variables name for TLS to receivers. `SSL_CERT_FILE` has the authorities of all of
//! them, as for requests of scripts.

use std::path::Path;

use plimsoll_dialect::k6::Refused;
use plimsoll_outputs::{Trust, TrustError};

use crate::k6::log::other_fault;
use crate::k6::outputs::Variables;
use crate::message::without_error_numbers;

/// Variables that name files; empty: there is no such variable.
#[derive(Clone, Copy, Default)]
pub(super) struct Files {
    pub(super) accepts_any: bool,
    /// Authorities, in place of those of `SSL_CERT_FILE`.
    pub(super) roots: &'static str,
    /// The client's certificate.
    pub(super) certificate: &'static str,
    /// Its key.
    pub(super) key: &'static str,
}

/// What TLS to a receiver believes.
///
/// # Errors
/// A file that cannot be read or used, by the variable that names it; exit code 255.
pub(super) fn trust(variables: Variables<'_>, files: Files) -> Result<Trust, Refused> {
    let mut trust = Trust::default().accepts_any(files.accepts_any);
    let roots = [files.roots, "SSL_CERT_FILE"];
    if let Some((name, path)) = roots.iter().find_map(|name| named(variables, name)) {
        trust = trust.roots(read(name, &path)?).map_err(|error| unfit(name, &path, &error))?;
    }
    let certificate = named(variables, files.certificate);
    let key = named(variables, files.key);
    match (certificate, key) {
        (None, None) => Ok(trust),
        (Some((name, path)), Some((of_key, key))) => {
            let (chain, key) = (read(name, &path)?, read(of_key, &key)?);
            trust.identity(chain, key).map_err(|error| unfit(name, &path, &error))
        }
        (Some(_), None) => Err(other_fault(format!("{} needs {}", files.certificate, files.key))),
        (None, Some(_)) => Err(other_fault(format!("{} needs {}", files.key, files.certificate))),
    }
}

fn named<'a>(variables: Variables<'_>, name: &'a str) -> Option<(&'a str, String)> {
    let path = variables.text(name).filter(|_| !name.is_empty())?;
    Some((name, path))
}

fn read(name: &str, path: &str) -> Result<Vec<u8>, Refused> {
    crate::files::pem(Path::new(path)).map_err(|why| {
        other_fault(without_error_numbers(&format!("cannot read {name} '{path}': {why}")))
    })
}

fn unfit(name: &str, path: &str, error: &TrustError) -> Refused {
    other_fault(format!("{name} '{path}': {error}"))
}
