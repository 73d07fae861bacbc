//! Codings of a request's messages: which there are, and what a compressed message holds.
//!
//! Absent on purpose: coding messages. Answers go out plain, whatever a client takes.

use std::io::Read as _;

use flate2::bufread::MultiGzDecoder;

/// The codings that a request may name, as a field of an answer names them.
pub(crate) const ACCEPTED: &[u8] = b"identity,gzip";

/// How the messages of a request may be compressed, by its `grpc-encoding` field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all.
    #[default]
    Identity,
    Gzip,
    /// In a way that is not known here.
    Other,
}

impl Coding {
    /// The coding that the value of the field names.
    pub(crate) fn named(value: &[u8]) -> Self {
        if value.eq_ignore_ascii_case(b"identity") {
            Self::Identity
        } else if value.eq_ignore_ascii_case(b"gzip") {
            Self::Gzip
        } else {
            Self::Other
        }
    }
}

/// Why a message cannot be decompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnzipError {
    /// It is not whole gzip, or something follows it.
    Malformed,
    /// It holds more bytes than are allowed.
    TooLong,
}

/// What a message in gzip holds, of up to `bytes_max` bytes. No more than that is decompressed.
pub(super) fn unzip(message: &[u8], bytes_max: usize) -> Result<Vec<u8>, UnzipError> {
    let mut plain = Vec::new();
    MultiGzDecoder::new(message)
        .take(bytes_max as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|_| UnzipError::Malformed)?;
    if plain.len() > bytes_max {
        return Err(UnzipError::TooLong);
    }
    Ok(plain)
}
