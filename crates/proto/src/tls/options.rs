//! The TLS options of a user, as plain data.

use std::fmt;
use std::sync::Arc;

use rustls::SupportedProtocolVersion;
use rustls::pki_types;
use rustls::version::{TLS12, TLS13};
use thiserror::Error;

/// A TLS version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl Version {
    /// The version's name in results and on screens.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        }
    }
}

/// The versions to offer or accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Versions {
    /// 1.2 or 1.3, the higher that both sides have.
    #[default]
    Both,
    /// Only this one.
    Only(Version),
}

impl Versions {
    pub(super) fn supported(self) -> &'static [&'static SupportedProtocolVersion] {
        const BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];
        match self {
            Self::Both => BOTH,
            Self::Only(Version::Tls12) => &BOTH[1..],
            Self::Only(Version::Tls13) => &BOTH[..1],
        }
    }
}

/// Which servers a client trusts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Verify {
    /// Certificates of the public authorities in Mozilla's list, as of the build.
    #[default]
    PublicRoots,
    /// Only certificates signed by one of these, or one of these itself; PEM.
    Roots(Arc<[u8]>),
    /// Any server: neither the certificate nor its name is checked. If the certificate can be read,
    /// the server still has to prove that it holds the key.
    Nothing,
}

/// A certificate to show, with its key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate and those between it and a root, in that order; PEM.
    pub chain: Vec<u8>,
    /// The private key (PKCS #8, PKCS #1 or SEC 1, not encrypted); PEM. It may be in the same
    /// text as the chain.
    pub key: Vec<u8>,
}

impl fmt::Debug for Identity {
    /// Leaves out the key, because debug output gets logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("chain_bytes", &self.chain.len()).finish_non_exhaustive()
    }
}

/// The options of a client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientOptions {
    /// Which servers to trust.
    pub verify: Verify,
    /// The certificate for a server that asks for one.
    pub identity: Option<Identity>,
    /// Protocols offered, the preferred first (RFC 7301); if empty, ALPN is left out.
    pub alpn: Vec<Vec<u8>>,
    /// Versions offered.
    pub versions: Versions,
    /// The cipher suites of TLS 1.2 that are offered, by their numbers at IANA; all if empty. Those
    /// of TLS 1.3 are always offered.
    pub suites: Vec<u16>,
}

/// The options of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// The server's certificate.
    pub identity: Identity,
    /// Authorities, PEM: a client has to show a certificate that one of them signed. `None` asks
    /// for no certificate.
    pub client_roots: Option<Vec<u8>>,
    /// Protocols spoken, the preferred first (RFC 7301); if empty, ALPN is left out.
    pub alpn: Vec<Vec<u8>>,
    /// Versions spoken.
    pub versions: Versions,
    /// Whether clients get tickets to resume with.
    pub resume: bool,
}

/// The name or address that a server's certificate has to be for, and which is sent as SNI
/// (RFC 6066 section 3; an address is not sent).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServerName(pub(super) pki_types::ServerName<'static>);

/// Why a text is not a server name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is neither a host name nor an address that a certificate could be for")]
pub struct ServerNameError(String);

impl ServerName {
    /// Reads a host name, or an address (an IPv6 address with or without brackets).
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, ServerNameError> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        match pki_types::ServerName::try_from(bare) {
            Ok(name) => Ok(Self(name.to_owned())),
            Err(_) => Err(ServerNameError(text.to_owned())),
        }
    }
}
