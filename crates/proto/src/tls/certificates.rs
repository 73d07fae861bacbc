//! Reads certificates and keys from PEM, and holds the verifier that verifies nothing.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::config::TlsConfigError;
use super::options::Identity;

/// The names that errors use for the two texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub(super) chain: &'static str,
    pub(super) key: &'static str,
}

/// The chain and the key of an identity.
pub(super) fn identity(
    identity: &Identity,
    named: Named,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsConfigError> {
    let chain = certificates(&identity.chain, named.chain)?;
    let key = PrivateKeyDer::from_pem_slice(&identity.key).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            let encrypted = identity.key.windows(9).any(|window| window == b"ENCRYPTED");
            TlsConfigError::NoKey { what: named.key, encrypted }
        }
        _ => TlsConfigError::Pem { what: named.key },
    })?;
    Ok((chain, key))
}

/// The certificates of a PEM text, at least one.
pub(super) fn certificates(
    text: &[u8],
    what: &'static str,
) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match found {
        Ok(found) if found.is_empty() => Err(TlsConfigError::NoCertificate { what }),
        Ok(found) => Ok(found),
        Err(_) => Err(TlsConfigError::Pem { what }),
    }
}

/// The authorities of a PEM text, at least one.
pub(super) fn roots(text: &[u8], what: &'static str) -> Result<RootCertStore, TlsConfigError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(text, what)? {
        roots.add(certificate).map_err(|_| TlsConfigError::BadCertificate { what })?;
    }
    Ok(roots)
}

/// The public authorities.
pub(super) fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

/// Trusts every certificate. Signatures are still checked, so that a handshake costs what it costs
/// other clients, except signatures by certificates that cannot be read.
#[derive(Debug)]
pub(super) struct Anybody(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        unless_unreadable(verify_tls12_signature(message, certificate, signature, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        unless_unreadable(verify_tls13_signature(message, certificate, signature, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Accepts what failed only because the certificate has a form that is not read here, such as X.509
/// version 1.
fn unless_unreadable(
    verified: Result<HandshakeSignatureValid, Error>,
) -> Result<HandshakeSignatureValid, Error> {
    match verified {
        Err(Error::InvalidCertificate(CertificateError::BadEncoding))
        | Err(Error::InvalidCertificate(CertificateError::UnhandledCriticalExtension))
        | Err(Error::InvalidCertificate(CertificateError::Other(_))) => {
            Ok(HandshakeSignatureValid::assertion())
        }
        verified => verified,
    }
}
