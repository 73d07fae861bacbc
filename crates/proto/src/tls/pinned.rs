//! Trusts what a file of authorities names: certificates that one of them signed, and each of them
//! itself as the server's own. A certificate that `openssl req -x509` makes is an authority's by
//! its form (CA:TRUE) and a server's by its use, and its owner trusts it by naming it. webpki takes
//! no authority's certificate for a server's, so this case is judged here: by the server's name and
//! the time, since who is named needs no signature of another.
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
                check_time(certificate, now)?;
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

fn check_time(certificate: &[u8], now: UnixTime) -> Result<(), Error> {
    let bad = |error| Err(Error::InvalidCertificate(error));
    let Some((from_s, to_s)) = validity(certificate) else {
        return bad(CertificateError::BadEncoding);
    };
    let now_s = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    match now_s {
        _ if now_s < from_s => bad(CertificateError::NotValidYet),
        _ if now_s > to_s => bad(CertificateError::Expired),
        _ => Ok(()),
    }
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// From when to when a certificate is valid, Unix time in seconds (RFC 5280 section 4.1.2.5).
fn validity(certificate: &[u8]) -> Option<(i64, i64)> {
    let (mut certificate, _) = value(certificate, SEQUENCE)?;
    let (mut fields, _) = value(take(&mut certificate)?, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        take(&mut fields)?;
    }
    value(fields, INTEGER)?;
    // Serial number, algorithm and issuer stand before it.
    for _ in 0..3 {
        take(&mut fields)?;
    }
    let (mut validity, _) = value(fields, SEQUENCE)?;
    Some((time(take(&mut validity)?)?, time(take(&mut validity)?)?))
}

/// The content of an element of DER with this tag, and what follows the element.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [first, length, rest @ ..] = bytes else { return None };
    if *first != tag {
        return None;
    }
    let (length, rest) = match *length {
        short @ 0..=0x7f => (usize::from(short), rest),
        // Certificates are far shorter than 2^32 bytes.
        long @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Takes the first element off, with its tag and length.
fn take<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (_, rest) = value(bytes, *bytes.first()?)?;
    let (element, rest) = bytes.split_at(bytes.len() - rest.len());
    *bytes = rest;
    Some(element)
}

fn time(element: &[u8]) -> Option<i64> {
    let (text, years) = match *element.first()? {
        // Two digits stand for 1950 to 2049.
        UTC_TIME => (value(element, UTC_TIME)?.0, 2),
        GENERALIZED_TIME => (value(element, GENERALIZED_TIME)?.0, 4),
        _ => return None,
    };
    let (year, rest) = text.split_at_checked(years)?;
    let [rest @ .., b'Z'] = rest else { return None };
    if rest.len() != 10 {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_i64, |number, digit| {
            digit.is_ascii_digit().then(|| 10 * number + i64::from(digit - b'0'))
        })
    };
    let year = match (years, number(year)?) {
        (2, year @ 50..) => 1900 + year,
        (2, year) => 2000 + year,
        (_, year) => year,
    };
    let mut parts = [0; 5];
    for (part, digits) in parts.iter_mut().zip(rest.chunks(2)) {
        *part = number(digits)?;
    }
    let [month, day, hour, minute, second] = parts;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_date.then(|| ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

/// Days from 1970 to a date of the Gregorian calendar. The year is taken to begin in March, so that
/// the leap day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // From March on, months have 31 and 30 days in a pattern of five.
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_certificates_are_read() {
        let element = |tag: u8, text: &str| {
            let mut bytes = vec![tag, text.len() as u8];
            bytes.extend_from_slice(text.as_bytes());
            bytes
        };
        for (tag, text, want) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "000229120000Z", Some(951_825_600)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (UTC_TIME, "500101000000Z", Some(-631_152_000)),
            (GENERALIZED_TIME, "20500101000000Z", Some(2_524_608_000)),
            (GENERALIZED_TIME, "21000301000000Z", Some(4_107_542_400)),
            (UTC_TIME, "700101000000", None),
            (UTC_TIME, "701301000000Z", None),
            (UTC_TIME, "70010100000xZ", None),
            (INTEGER, "700101000000Z", None),
        ] {
            assert_eq!(time(&element(tag, text)), want, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_times() {
        for bytes in
            [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x02\x30\x00", b"\x30\x80"]
        {
            assert_eq!(validity(bytes), None, "{bytes:?}");
        }
    }
}
