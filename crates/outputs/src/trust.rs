//! Whom a receiver over TLS is believed to be, and who it is told that we are.
//!
//! Absent on purpose: files. Callers read them, and say which one could not be read.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use ureq::tls::{
    Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem,
};

/// What TLS to a receiver believes; by default, the public authorities.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Authorities, PEM, in place of the public ones.
    roots: Option<Arc<[u8]>>,
    accepts_any: bool,
    identity: Option<Identity>,
}

/// A certificate of the client, PEM.
#[derive(Clone, PartialEq, Eq)]
struct Identity {
    chain: Arc<[u8]>,
    key: Arc<[u8]>,
}

/// Certificates or a key that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// There are no authorities in it.
    #[error("it has no certificate in PEM")]
    Roots,
    /// The key is not one, or is another certificate's.
    #[error("certificate and key of the client do not fit together, or are not PEM")]
    Identity,
}

/// Without its key.
impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("accepts_any", &self.accepts_any).finish_non_exhaustive()
    }
}

impl Trust {
    /// Believes these authorities, in PEM, and no others.
    ///
    /// # Errors
    /// When there is not one certificate among them.
    pub fn roots(mut self, pem: Vec<u8>) -> Result<Self, TrustError> {
        if certificates(&pem).is_empty() {
            return Err(TrustError::Roots);
        }
        self.roots = Some(pem.into());
        Ok(self)
    }

    /// Believes any certificate, if it is so.
    #[must_use]
    pub fn accepts_any(mut self, is_so: bool) -> Self {
        self.accepts_any = is_so;
        self
    }

    /// Shows a certificate of its own, whose chain and key are PEM.
    ///
    /// # Errors
    /// When they do not fit together.
    pub fn identity(mut self, chain: Vec<u8>, key: Vec<u8>) -> Result<Self, TrustError> {
        fits(&chain, &key).ok_or(TrustError::Identity)?;
        self.identity = Some(Identity { chain: chain.into(), key: key.into() });
        Ok(self)
    }

    /// As the client of HTTP takes it.
    pub(crate) fn config(&self) -> TlsConfig {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let roots = match &self.roots {
            Some(pem) => RootCerts::new_with_certs(&certificates(pem)),
            None => RootCerts::WebPki,
        };
        let identity = self.identity.as_ref().and_then(|Identity { chain, key }| {
            let key = PrivateKey::from_pem(key).ok()?;
            Some(ClientCert::new_with_certs(&certificates(chain), key))
        });
        TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(roots)
            .client_cert(identity)
            .disable_verification(self.accepts_any)
            .unversioned_rustls_crypto_provider(Arc::new(provider))
            .build()
    }
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    parse_pem(pem).filter_map(certificate).collect()
}

/// Whether a client could show this certificate. Asked here, since the client of HTTP asks it only
/// at its first connection, and panics.
fn fits(chain: &[u8], key: &[u8]) -> Option<()> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let key = PrivateKeyDer::from_pem_slice(key).ok()?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    let builder = builder.with_root_certificates(RootCertStore::empty());
    let chain = chain.ok().filter(|chain| !chain.is_empty())?;
    builder.with_client_auth_cert(chain, key).ok().map(drop)
}
