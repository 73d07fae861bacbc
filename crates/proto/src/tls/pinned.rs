//! Trusts what a file of authorities names: certificates that one of them signed, and each of them
//! itself as the server's own. A certificate that `openssl req -x509` makes is an authority's by
//! its form (CA:TRUE) and a server's by its use, and its owner trusts it by naming it. webpki takes
//! no authority's certificate for a server's, so this case is judged here, by the server's name: a
//! certificate that is named needs no signature of another. webpki has found its dates to be right
//! by then, because it looks at those first; the tests of trust hold it to that.
//!
//! Absent on purpose: the public authorities, none of which is a server.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Whether an error says that a certificate would be fine if it were no authority's.
pub(super) fn is_of_authority(error: &CertificateError) -> bool {
    let CertificateError::Other(error) = error else { return false };
    error.to_string().contains("CaUsedAsEndEntity")
}

/// Trusts authorities, and what they signed.
#[derive(Debug)]
pub(super) struct Pinned {
    authorities: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Pinned {
    /// `signed` verifies what these authorities signed.
    pub(super) fn new(
        authorities: Vec<CertificateDer<'static>>,
        signed: Arc<WebPkiServerVerifier>,
    ) -> Self {
        Self { authorities, signed }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.signed.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(error))
                if is_of_authority(&error) && self.authorities.contains(certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}
