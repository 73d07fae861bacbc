//! The servers' TLS identity: a given certificate, or one made at the start.

use plimsoll_proto::tls::{Identity, ServerConfig, ServerOptions, TlsConfigError, Versions};

use crate::options::ServeError;

/// The names and addresses in a certificate made here.
const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What servers of HTTP/1 alone offer, by the names of RFC 7301.
pub const HTTP1: &[&[u8]] = &[b"http/1.1", b"http/1.0"];

/// The configuration of a server with this identity that offers these protocols, the preferred
/// first. With `client_roots` (PEM), a client has to show a certificate that one of these
/// authorities signed. The server speaks TLS 1.2 and 1.3, and hands out tickets to resume with.
///
/// # Errors
/// When a certificate or key cannot be used.
pub fn tls_config(
    identity: Identity,
    client_roots: Option<Vec<u8>>,
    protocols: &[&[u8]],
) -> Result<ServerConfig, TlsConfigError> {
    ServerConfig::new(&ServerOptions {
        identity,
        client_roots,
        alpn: protocols.iter().map(|protocol| protocol.to_vec()).collect(),
        versions: Versions::Both,
        resume: true,
    })
}

/// Makes a certificate for this machine's own names (`localhost`, `127.0.0.1`, `::1`), signed by
/// itself, with a new key (ECDSA, P-256). A client can be told to trust its chain.
///
/// # Errors
/// When the system gives no entropy.
pub fn self_signed() -> Result<Identity, ServeError> {
    let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned));
    let made = made.map_err(|error| ServeError::Certificate(error.to_string()))?;
    Ok(Identity {
        chain: made.cert.pem().into_bytes(),
        key: made.signing_key.serialize_pem().into_bytes(),
    })
}
