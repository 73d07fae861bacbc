//! Reads HdrHistogram's V2 encoding from documents, which may come from a stranger: what it
//! claims and what it inflates to is looked at before any memory is given to it.

use std::io::{Cursor, Read as _};

use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram as Hdr;
use hdrhistogram::serialization::Deserializer;

/// The cookie before a compressed histogram, and the one before a plain histogram.
const COMPRESSED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;

/// Cookie, length, offset, digits, lowest and highest value, ratio.
const HEAD_BYTES: usize = 40;

/// A histogram of ours has 34 thousand buckets in use at most, each of a byte or a few.
const BYTES_MAX: usize = 4 << 20;

/// Of a histogram with other bounds than ours: 32 MiB.
const BUCKETS_MAX: u64 = 4 << 20;

/// Decodes what stands in a document.
///
/// # Errors
/// What is wrong with it, in a few words.
pub(super) fn read(bytes: &[u8]) -> Result<Hdr<u64>, String> {
    let plain = inflated(bytes)?;
    check_head(&plain)?;
    Deserializer::new().deserialize(&mut Cursor::new(&plain)).map_err(|error| error.to_string())
}

fn inflated(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if word(bytes, 0) != Some(COMPRESSED) {
        return Ok(bytes.to_vec());
    }
    let (Some(length), Some(rest)) = (word(bytes, 4), bytes.get(8..)) else {
        return Err("it is cut short".to_owned());
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
    let limit = (HEAD_BYTES + BYTES_MAX + 1) as u64;
    let mut plain = Vec::new();
    let read = ZlibDecoder::new(&rest[..length]).take(limit).read_to_end(&mut plain);
    read.map_err(|error| error.to_string())?;
    Ok(plain)
}

/// Whether a plain histogram is within the limits.
fn check_head(plain: &[u8]) -> Result<(), String> {
    let head = (word(plain, 0), word(plain, 4), word(plain, 12), word(plain, 28), word(plain, 24));
    let (Some(PLAIN), Some(length), Some(digits), Some(low), Some(high)) = head else {
        return Err("it is not HdrHistogram's V2 encoding".to_owned());
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let follows = plain.len().saturating_sub(HEAD_BYTES);
    if length > BYTES_MAX || follows > BYTES_MAX {
        return Err(format!("it inflates to more than {BYTES_MAX} bytes"));
    }
    if length > follows {
        return Err("it is cut short".to_owned());
    }
    let highest = u64::from(high) << 32 | u64::from(low);
    if digits > 5 || buckets(digits, highest) > BUCKETS_MAX {
        return Err(format!("it has more than {BUCKETS_MAX} buckets"));
    }
    Ok(())
}

/// At least how many buckets a histogram of such bounds has: a halved row for each power of two
/// beyond those that the first row, of twice `10^digits`, tells apart.
fn buckets(digits: u32, highest: u64) -> u64 {
    let row = (2 * 10_u64.pow(digits)).next_power_of_two();
    let powers = u64::from(u64::BITS - (highest / row).leading_zeros());
    (powers + 2) * (row / 2)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_be_bytes)
}
