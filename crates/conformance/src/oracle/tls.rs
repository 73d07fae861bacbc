//! What an oracle with TLS shows to testers: a certificate that it made for itself, and the
//! protocols that it chooses from.
//!
//! Every handshake is a full one, so that all of them cost the same: there are no tickets and no
//! sessions to resume.

use std::io;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

use super::mode::TlsMode;

/// The names in the certificate. Testers are told to take any.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// What the connections of an oracle with TLS share.
#[derive(Debug)]
pub(super) struct Tls {
    config: Arc<ServerConfig>,
    /// Whether the oracle's part of each handshake is held back at first.
    pub is_late: bool,
}

impl Tls {
    /// # Errors
    /// When the system gives no entropy.
    pub(super) fn new(mode: &TlsMode) -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(NAMES.map(str::to_owned));
        let made = made.map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let builder = builder.with_no_client_auth();
        let config = builder.with_single_cert(vec![made.cert.der().clone()], key);
        let mut config = config.map_err(io::Error::other)?;
        config.alpn_protocols = mode.alpn.iter().map(|alpn| alpn.name().to_vec()).collect();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), is_late: mode.handshake_delay_ns > 0 })
    }

    /// TLS for a new connection.
    ///
    /// # Errors
    /// When rustls cannot begin.
    pub(super) fn connection(&self) -> io::Result<ServerConnection> {
        ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)
    }
}
