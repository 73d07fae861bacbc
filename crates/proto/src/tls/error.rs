//! The failures of a TLS connection: each has a stable name for results, and a line that says what
//! to do about it.

use std::fmt::Write as _;

use rustls::{
    AlertDescription as Alert, CertificateError, Error, InvalidMessage, PeerIncompatible,
    PeerMisbehaved,
};

use super::pinned::is_of_authority;

/// Why a TLS connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{advice}")]
pub struct TlsError {
    kind: TlsErrorKind,
    cause: TlsCause,
    what: Box<str>,
    /// What to do, which begins with a colon; or nothing.
    advice: &'static str,
}

/// Causes that callers tell apart within a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsCause {
    /// No authority that is trusted has signed the certificate.
    UnknownAuthority,
    /// The certificate is for another name.
    WrongName,
    /// What came is not TLS.
    NotTls,
    /// Any other.
    Other,
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TlsErrorKind {
    /// The peer's certificate is not trusted, or is missing.
    Certificate,
    /// The peer ended the connection with an alert.
    Alert,
    /// There is no version that both sides speak.
    Version,
    /// There is no cipher suite, group or signature scheme that both sides speak.
    Incompatible,
    /// There is no application protocol that both sides speak (ALPN).
    Alpn,
    /// The peer's bytes break the protocol, or are not TLS at all.
    Protocol,
    /// A record was changed on its way, or encrypted with another key.
    Decrypt,
    /// The transport ended without the peer saying that it was done.
    Truncated,
    /// Sending before the handshake is done or after the close: the caller's mistake.
    NotOpen,
    /// A failure of this side: no entropy, no clock.
    Internal,
}

impl TlsErrorKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Certificate,
        Self::Alert,
        Self::Version,
        Self::Incompatible,
        Self::Alpn,
        Self::Protocol,
        Self::Decrypt,
        Self::Truncated,
        Self::NotOpen,
        Self::Internal,
    ];

    /// The kind's name in results: snake case, stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "tls_certificate",
            Self::Alert => "tls_alert",
            Self::Version => "tls_version",
            Self::Incompatible => "tls_incompatible",
            Self::Alpn => "tls_alpn",
            Self::Protocol => "tls_protocol",
            Self::Decrypt => "tls_decrypt",
            Self::Truncated => "tls_truncated",
            Self::NotOpen => "tls_not_open",
            Self::Internal => "tls_internal",
        }
    }
}

impl TlsError {
    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> TlsErrorKind {
        self.kind
    }

    /// What caused it.
    #[must_use]
    pub fn cause(&self) -> TlsCause {
        self.cause
    }

    /// What it is, without what to do about it, which names flags.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    fn of(kind: TlsErrorKind, what: impl Into<Box<str>>) -> Self {
        Self { kind, cause: TlsCause::Other, what: what.into(), advice: "" }
    }

    pub(super) fn new(error: &Error, is_client: bool, is_handshaking: bool) -> Self {
        let peer = if is_client { "server" } else { "client" };
        let (mut cause, mut advice) = (TlsCause::Other, "");
        let (kind, text) = match error {
            Error::InvalidCertificate(error) => {
                (cause, advice) = cause_of(error, is_client);
                (TlsErrorKind::Certificate, untrusted(error, is_client))
            }
            Error::NoCertificatesPresented => {
                (TlsErrorKind::Certificate, format!("the {peer} showed no certificate"))
            }
            Error::AlertReceived(Alert::ProtocolVersion) => {
                (TlsErrorKind::Version, no_version(peer))
            }
            Error::AlertReceived(Alert::NoApplicationProtocol) | Error::NoApplicationProtocol => {
                let text = format!("the {peer} speaks none of the application protocols offered");
                (TlsErrorKind::Alpn, text)
            }
            Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
                let text = format!("the {peer} chose an application protocol that was not offered");
                (TlsErrorKind::Alpn, text)
            }
            Error::AlertReceived(alert) => {
                advice = advice_on(*alert, peer);
                (TlsErrorKind::Alert, alerted(*alert, peer))
            }
            Error::PeerIncompatible(reason) => incompatible(reason, peer),
            Error::InvalidMessage(InvalidMessage::InvalidContentType) if is_handshaking => {
                (cause, advice) = (TlsCause::NotTls, ": is it a port for plain http?");
                (TlsErrorKind::Protocol, format!("what the {peer} sent is not TLS"))
            }
            Error::DecryptError => {
                (TlsErrorKind::Decrypt, format!("a record from the {peer} does not decrypt"))
            }
            Error::FailedToGetCurrentTime
            | Error::FailedToGetRandomBytes
            | Error::General(_)
            | Error::EncryptError => (TlsErrorKind::Internal, format!("TLS failed here: {error}")),
            error => (TlsErrorKind::Protocol, format!("the {peer} breaks TLS: {error}")),
        };
        // A peer can put control characters into a name, and a terminal would obey them.
        let text = text.replace(char::is_control, "?");
        Self { cause, advice, ..Self::of(kind, text) }
    }

    /// An error of this side.
    #[expect(clippy::needless_pass_by_value, reason = "for map_err")]
    pub(super) fn ours(error: Error) -> Self {
        Self::of(TlsErrorKind::Internal, format!("TLS failed here: {error}"))
    }

    pub(super) fn endless_message() -> Self {
        Self::of(TlsErrorKind::Protocol, "a TLS message is longer than 64 KiB")
    }

    pub(super) fn not_open() -> Self {
        Self::of(TlsErrorKind::NotOpen, "TLS is not open for sending")
    }

    pub(super) fn truncated(is_handshaking: bool, is_client: bool) -> Self {
        let text = match (is_handshaking, is_client) {
            (true, true) => "the server closed the connection during the TLS handshake",
            (true, false) => "the client closed the connection during the TLS handshake",
            (false, _) => "the connection ended without TLS close_notify: it may have been cut",
        };
        Self::of(TlsErrorKind::Truncated, text)
    }
}

/// What is wrong with a certificate in a word, and what to do.
fn cause_of(error: &CertificateError, is_client: bool) -> (TlsCause, &'static str) {
    use CertificateError as E;
    let (cause, advice) = match error {
        E::UnknownIssuer | E::BadSignature => {
            (TlsCause::UnknownAuthority, ": name its authority with --cacert FILE, or use -k")
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => {
            (TlsCause::WrongName, ": ask for its name with --sni NAME, or use -k")
        }
        error if is_of_authority(error) => (
            TlsCause::UnknownAuthority,
            ": name it with --cacert FILE, make it anew with CA:FALSE (openssl req -addext \
             basicConstraints=critical,CA:FALSE), or use -k",
        ),
        _ => (TlsCause::Other, ": renew it, or use -k"),
    };
    (cause, if is_client { advice } else { "" })
}

/// Why a certificate is not trusted.
fn untrusted(error: &CertificateError, is_client: bool) -> String {
    use CertificateError as E;
    let whose = if is_client { "server's" } else { "client's" };
    let what = match error {
        E::UnknownIssuer => "is signed by no authority known here".to_owned(),
        E::Expired | E::ExpiredContext { .. } => "has expired".to_owned(),
        E::NotValidYet | E::NotValidYetContext { .. } => "is not valid yet".to_owned(),
        E::Revoked => "has been revoked".to_owned(),
        E::BadSignature => "bears a signature that does not verify".to_owned(),
        E::NotValidForName => "is for another name".to_owned(),
        E::NotValidForNameContext { expected, presented } => {
            format!("is for {}, not for {}", names(presented), expected.to_str())
        }
        error if is_of_authority(error) => {
            "is an authority's own (CA:TRUE), and is not named itself".to_owned()
        }
        error => format!("cannot be verified: {error}"),
    };
    format!("the {whose} certificate {what}")
}

/// A few of the names in a certificate, which rustls gives as `DnsName("localhost")`.
fn names(presented: &[String]) -> String {
    const NAMES_MAX: usize = 4;
    let mut text = String::new();
    for (i, name) in presented.iter().take(NAMES_MAX).enumerate() {
        let bare = name.split('"').nth(1).unwrap_or(name);
        let comma = if i > 0 { ", " } else { "" };
        let bare: String = bare.chars().take(100).collect();
        let _ = write!(text, "{comma}{bare}");
    }
    match presented.len() {
        0 => "no name at all".to_owned(),
        count if count > NAMES_MAX => format!("{text} and {} more", count - NAMES_MAX),
        _ => text,
    }
}

fn alerted(alert: Alert, peer: &str) -> String {
    let name = alert.as_str().map_or_else(|| u8::from(alert).to_string(), str::to_owned);
    format!("the {peer} refused with TLS alert {name}")
}

fn advice_on(alert: Alert, peer: &str) -> &'static str {
    match (alert, peer) {
        (Alert::CertificateRequired | Alert::NoCertificate, "server") => {
            ": it wants a client certificate, --cert FILE --key FILE"
        }
        (Alert::UnrecognisedName, "server") => ": it does not serve that name, try --sni NAME",
        (Alert::UnknownCA | Alert::BadCertificate | Alert::CertificateUnknown, "server") => {
            ": it does not believe the client certificate, or wants one (--cert FILE --key FILE)"
        }
        (Alert::HandshakeFailure, "server") => {
            ": it shares no cipher suite with this client, or wants a client certificate"
        }
        (Alert::UnknownCA | Alert::BadCertificate | Alert::CertificateUnknown, _) => {
            ": it does not believe the certificate"
        }
        _ => "",
    }
}

fn no_version(peer: &str) -> String {
    format!("the {peer} speaks no TLS version that is allowed here (1.2 and 1.3 are supported)")
}

fn incompatible(reason: &PeerIncompatible, peer: &str) -> (TlsErrorKind, String) {
    use PeerIncompatible as P;
    match reason {
        P::ServerDoesNotSupportTls12Or13
        | P::ServerTlsVersionIsDisabledByOurConfig
        | P::SupportedVersionsExtensionRequired
        | P::Tls12NotOffered
        | P::Tls12NotOfferedOrEnabled => (TlsErrorKind::Version, no_version(peer)),
        reason => {
            let text = format!("the {peer} and this side have nothing in common: {reason:?}");
            (TlsErrorKind::Incompatible, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_apart_without_reading_texts() {
        use CertificateError as E;
        let certificate = |error| Error::InvalidCertificate(error);
        let not_tls = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        for (error, cause, what, advice) in [
            (
                certificate(E::UnknownIssuer),
                TlsCause::UnknownAuthority,
                "the server's certificate is signed by no authority known here",
                ": name its authority with --cacert FILE, or use -k",
            ),
            (
                certificate(E::NotValidForName),
                TlsCause::WrongName,
                "the server's certificate is for another name",
                ": ask for its name with --sni NAME, or use -k",
            ),
            (
                certificate(E::Expired),
                TlsCause::Other,
                "the server's certificate has expired",
                ": renew it, or use -k",
            ),
            (
                not_tls,
                TlsCause::NotTls,
                "what the server sent is not TLS",
                ": is it a port for plain http?",
            ),
        ] {
            let made = TlsError::new(&error, true, true);
            assert_eq!((made.cause(), made.what()), (cause, what), "{error}");
            assert_eq!(made.to_string(), format!("{what}{advice}"));
        }
    }

    #[test]
    fn a_protocol_that_was_not_offered_is_an_error_of_alpn() {
        for error in [
            Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol),
            Error::NoApplicationProtocol,
            Error::AlertReceived(Alert::NoApplicationProtocol),
        ] {
            assert_eq!(TlsError::new(&error, true, true).kind(), TlsErrorKind::Alpn, "{error}");
        }
    }
}
