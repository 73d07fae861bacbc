//! Makes configurations from options and checks them once, before any connection.

use std::fmt;
use std::sync::Arc;

use rustls::Error;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs as crypto};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use thiserror::Error;

use super::certificates::{self, Anybody, Named};
use super::options::{ClientOptions, ServerOptions, Verify, Version, Versions};
use super::pinned::Pinned;
use super::sessions::Sessions;

/// Why options do not make a configuration. The caller knows which file or flag it was about.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TlsConfigError {
    /// The text is not well-formed PEM.
    #[error("the {what} is not well-formed PEM")]
    Pem {
        /// What was read.
        what: &'static str,
    },
    /// There is no certificate in the text.
    #[error("the {what} holds no certificate: a PEM block BEGIN CERTIFICATE is needed")]
    NoCertificate {
        /// What was read.
        what: &'static str,
    },
    /// A certificate cannot be used.
    #[error("a certificate in the {what} cannot be read")]
    BadCertificate {
        /// What was read.
        what: &'static str,
    },
    /// There is no private key in the text.
    #[error("the {what} holds no usable private key: {}", no_key(*encrypted))]
    NoKey {
        /// What was read.
        what: &'static str,
        /// Whether there is a key that needs a password.
        encrypted: bool,
    },
    /// The key is of an unknown kind.
    #[error("the key in the {what} is of a kind that is not supported: use RSA, ECDSA or Ed25519")]
    BadKey {
        /// What was read.
        what: &'static str,
    },
    /// The key does not belong to the certificate.
    #[error("the key in the {what} is not the one that the certificate was made for")]
    KeyMismatch {
        /// What was read.
        what: &'static str,
    },
    /// A protocol name for ALPN is empty or longer than 255 bytes (RFC 7301 section 3.1).
    #[error("an ALPN protocol name has 1 to 255 bytes")]
    Alpn,
    /// None of the named cipher suites can be offered, and TLS 1.3, whose suites always are, is
    /// off.
    #[error(
        "of the cipher suites of TLS 1.2 that are named, none can be offered: \
         name one with ECDHE and AES-GCM or ChaCha20-Poly1305, or allow TLS 1.3"
    )]
    NoSuites,
    /// The error of rustls about options that passed all checks here.
    #[error("TLS cannot be set up: {0}")]
    Other(String),
}

fn no_key(encrypted: bool) -> &'static str {
    match encrypted {
        true => "it is encrypted, take the password off (openssl pkey)",
        false => "a PEM block BEGIN PRIVATE KEY is needed",
    }
}

/// A client's configuration and its store of sessions.
///
/// A clone shares the store. Threads that are to share nothing each call [`new`](Self::new).
#[derive(Clone)]
pub struct ClientConfig {
    pub(super) resuming: Arc<rustls::ClientConfig>,
    pub(super) full: Arc<rustls::ClientConfig>,
}

impl ClientConfig {
    /// Makes a configuration.
    ///
    /// # Errors
    /// When a certificate, a key or a protocol name is not usable.
    pub fn new(options: &ClientOptions) -> Result<Self, TlsConfigError> {
        const NAMED: Named = Named { chain: "client certificate file", key: "client key file" };
        check_alpn(&options.alpn)?;
        let provider = Arc::new(with_suites(provider(), &options.suites));
        if options.versions == Versions::Only(Version::Tls12) && !has_tls12(&provider) {
            return Err(TlsConfigError::NoSuites);
        }
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(options.versions.supported())
            .map_err(other)?;
        let builder = match &options.verify {
            Verify::PublicRoots => builder.with_root_certificates(certificates::public_roots()),
            Verify::Roots(text) => {
                const WHAT: &str = "CA file";
                let roots = Arc::new(certificates::roots(text, WHAT)?);
                let provider = Arc::clone(&provider);
                let signed = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
                let authorities = certificates::certificates(text, WHAT)?;
                let pinned = Pinned::new(authorities, signed.map_err(other)?);
                builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned))
            }
            Verify::Nothing => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(Arc::clone(&provider)))),
        };
        let mut full = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = certificates::identity(identity, NAMED)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| refused(error, NAMED))?
            }
        };
        full.alpn_protocols.clone_from(&options.alpn);
        full.resumption = Resumption::disabled();
        let mut resuming = full.clone();
        resuming.resumption = Resumption::store(Arc::new(Sessions::default()));
        Ok(Self { resuming: Arc::new(resuming), full: Arc::new(full) })
    }

    /// The same for other protocols: identity, authorities and store of sessions are shared.
    ///
    /// # Errors
    /// When a protocol name is not usable.
    pub fn with_alpn(&self, alpn: &[Vec<u8>]) -> Result<Self, TlsConfigError> {
        check_alpn(alpn)?;
        let [resuming, full] = [&self.resuming, &self.full].map(|config| {
            let mut config = rustls::ClientConfig::clone(config);
            config.alpn_protocols = alpn.to_vec();
            Arc::new(config)
        });
        Ok(Self { resuming, full })
    }
}

impl fmt::Debug for ClientConfig {
    /// Leaves out the content, which includes keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig").finish_non_exhaustive()
    }
}

/// A server's configuration and the key of its tickets. Clones accept each other's tickets.
#[derive(Clone)]
pub struct ServerConfig(pub(super) Arc<rustls::ServerConfig>);

impl ServerConfig {
    /// Makes a configuration.
    ///
    /// # Errors
    /// When a certificate, a key or a protocol name is not usable.
    pub fn new(options: &ServerOptions) -> Result<Self, TlsConfigError> {
        const NAMED: Named = Named { chain: "certificate file", key: "key file" };
        check_alpn(&options.alpn)?;
        let provider = Arc::new(provider());
        let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(options.versions.supported())
            .map_err(other)?;
        let builder = match &options.client_roots {
            None => builder.with_no_client_auth(),
            Some(text) => {
                let roots = certificates::roots(text, "client CA file")?;
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(other)?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let (chain, key) = certificates::identity(&options.identity, NAMED)?;
        let mut config =
            builder.with_single_cert(chain, key).map_err(|error| refused(error, NAMED))?;
        config.alpn_protocols.clone_from(&options.alpn);
        // Tickets need no memory here, whatever the number of clients.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if options.resume {
            config.ticketer = ticketer().map_err(other)?;
        } else {
            config.send_tls13_tickets = 0;
        }
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for ServerConfig {
    /// Leaves out the content, which includes keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig").finish_non_exhaustive()
    }
}

/// The crypto provider, with its own order of suites and groups. ARCHITECTURE.md has the figures it
/// was chosen by.
fn provider() -> CryptoProvider {
    crypto::default_provider()
}

/// A provider without the suites of TLS 1.2 that are not named, if any are.
fn with_suites(mut provider: CryptoProvider, named: &[u16]) -> CryptoProvider {
    provider.cipher_suites.retain(|suite| {
        let is_named = named.contains(&u16::from(suite.suite()));
        named.is_empty() || is_named || suite.tls13().is_some()
    });
    provider
}

fn has_tls12(provider: &CryptoProvider) -> bool {
    provider.cipher_suites.iter().any(|suite| suite.tls13().is_none())
}

fn ticketer() -> Result<Arc<dyn rustls::server::ProducesTickets>, Error> {
    crypto::Ticketer::new()
}

fn check_alpn(protocols: &[Vec<u8>]) -> Result<(), TlsConfigError> {
    let good = protocols.iter().all(|name| (1..=255).contains(&name.len()));
    if good { Ok(()) } else { Err(TlsConfigError::Alpn) }
}

fn refused(error: Error, named: Named) -> TlsConfigError {
    match error {
        Error::InconsistentKeys(_) => TlsConfigError::KeyMismatch { what: named.key },
        Error::InvalidCertificate(_) => TlsConfigError::BadCertificate { what: named.chain },
        Error::General(_) => TlsConfigError::BadKey { what: named.key },
        error => other(error),
    }
}

fn other(error: impl fmt::Display) -> TlsConfigError {
    TlsConfigError::Other(error.to_string())
}
