//! The codings of bodies: those of responses are undone, and requests are compressed on demand
//! (RFC 9110 8.4). All are implemented in Rust.

use std::io::{self, Read};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder, ZlibDecoder, ZlibEncoder};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::CompressionLevel;

/// The most codings of one body.
const CODINGS_MAX: usize = 5;

/// How thoroughly Brotli compresses, 0 to 11: what is usual for content made on demand.
const BROTLI_QUALITY: i32 = 5;

/// The bytes of a step through Brotli.
const BROTLI_BUFFER_BYTES: usize = 16 << 10;

/// A coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Gzip,
    /// zlib's format (RFC 1950), not the bare one.
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn named(name: &str) -> Option<Self> {
        let names = [
            ("gzip", Self::Gzip),
            ("deflate", Self::Deflate),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ];
        names.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, coding)| *coding)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    fn decode(self, coded: &[u8], out: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
        match self {
            Self::Gzip => read(MultiGzDecoder::new(coded), out, bytes_max),
            Self::Deflate => read(ZlibDecoder::new(coded), out, bytes_max),
            Self::Brotli => {
                read(brotli::Decompressor::new(coded, BROTLI_BUFFER_BYTES), out, bytes_max)
            }
            Self::Zstd => decode_zstd(coded, out, bytes_max),
        }
    }

    fn encode(self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Gzip => GzEncoder::new(plain, Compression::default()).read_to_end(out).map(drop),
            Self::Deflate => {
                ZlibEncoder::new(plain, Compression::default()).read_to_end(out).map(drop)
            }
            Self::Brotli => {
                // A window that is larger than the body is memory for nothing.
                let window_bits = usize::BITS - plain.len().leading_zeros();
                let params = BrotliEncoderParams {
                    quality: BROTLI_QUALITY,
                    lgwin: window_bits.clamp(16, 22) as i32,
                    size_hint: plain.len(),
                    ..BrotliEncoderParams::default()
                };
                brotli::BrotliCompress(&mut &plain[..], out, &params).map(drop)
            }
            Self::Zstd => {
                ruzstd::encoding::compress(plain, out, CompressionLevel::Fastest);
                Ok(())
            }
        }
    }
}

/// Reads to the end; more than a number of bytes is an error.
fn read(from: impl Read, out: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
    let room = (bytes_max - out.len().min(bytes_max)) as u64;
    from.take(room.saturating_add(1)).read_to_end(out)?;
    if out.len() > bytes_max {
        return Err(io::Error::other(format!("it is longer than {bytes_max} bytes")));
    }
    Ok(())
}

/// Any number of frames, some of which may be there to be skipped (RFC 8878 3.1).
fn decode_zstd(mut coded: &[u8], out: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
    while !coded.is_empty() {
        let mut decoder = FrameDecoder::new();
        // No distance in a body exceeds the body.
        let window_bytes_max = ruzstd::decoding::DEFAULT_MAX_WINDOW_SIZE.min(bytes_max as u64);
        decoder.set_max_window_size(window_bytes_max.max(8 << 20));
        match StreamingDecoder::new_with_decoder(&mut coded, &mut decoder) {
            Ok(frame) => read(frame, out, bytes_max)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => coded = coded.get(length as usize..).ok_or(io::ErrorKind::UnexpectedEof)?,
            Err(error) => return Err(io::Error::other(error.to_string())),
        }
        if decoder.get_checksum_from_data() != decoder.get_calculated_checksum()
            && decoder.get_checksum_from_data().is_some()
        {
            return Err(io::Error::other("the checksum is wrong"));
        }
    }
    Ok(())
}

/// The codings of a list, in the order in which they were applied; the first name that is not known
/// as an error, and `None` if they are too many.
fn codings(list: &str) -> Result<Vec<Coding>, Option<&str>> {
    let names = list.split(',').map(str::trim);
    let mut codings = Vec::new();
    for name in names.filter(|name| !name.is_empty() && !name.eq_ignore_ascii_case("identity")) {
        codings.push(Coding::named(name).ok_or(Some(name))?);
    }
    if codings.len() > CODINGS_MAX { Err(None) } else { Ok(codings) }
}

/// What is wrong with the codings that a request is to be compressed with; `None` if nothing is.
pub(in crate::js) fn list_error(list: &str) -> Option<String> {
    Some(match codings(list).err()? {
        Some(name) => {
            let name = super::shown(name);
            format!("compression {name} is not one of gzip, deflate, br, zstd")
        }
        None => format!("compression has more than {CODINGS_MAX} codings"),
    })
}

/// A list as it stands in the field `Content-Encoding`.
pub(in crate::js) fn field_of(list: &str) -> String {
    let codings = codings(list).unwrap_or_default();
    codings.iter().map(|coding| coding.name()).collect::<Vec<_>>().join(", ")
}

/// Compresses a body with the codings of a list, one after the other.
pub(super) fn compress(list: &str, body: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    let mut plain = body.to_vec();
    for coding in codings(list).map_err(|_| io::ErrorKind::InvalidInput)? {
        out.clear();
        coding.encode(&plain, out)?;
        plain.clone_from(out);
    }
    *out = plain;
    Ok(())
}

/// Undoes the codings of a body, if all are known, and says why it cannot. A body whose codings are
/// not known stays as it is.
pub(super) fn decode(list: &str, body: &mut Vec<u8>, bytes_max: usize) -> Result<(), String> {
    // A response to HEAD, or one that is empty, tells the coding that the body would have.
    if body.is_empty() {
        return Ok(());
    }
    let Ok(codings) = codings(list) else { return Ok(()) };
    for coding in codings.into_iter().rev() {
        let mut plain = Vec::new();
        let decoded = coding.decode(body, &mut plain, bytes_max);
        let name = coding.name();
        decoded.map_err(|error| format!("error decompressing response body ({name}: {error})"))?;
        *body = plain;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: [&str; 6] =
        ["gzip", "deflate", "br", "zstd", "gzip, br", "Zstd,identity, GZIP,deflate"];

    /// Text that repeats itself, and noise.
    fn bodies() -> [Vec<u8>; 4] {
        let mut state = 7u32;
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let text = b"the quick brown fox jumps over the lazy dog. ".repeat(2000);
        [b"x".to_vec(), text, noise.take(300_000).collect(), vec![0; 1 << 20]]
    }

    fn coded(list: &str, body: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        compress(list, body, &mut out).unwrap();
        out
    }

    #[test]
    fn what_was_compressed_comes_back() {
        for list in LISTS {
            for body in bodies() {
                let mut got = coded(list, &body);
                assert!(got != body, "{list}");
                // Noise grows a little on the way.
                assert_eq!(decode(list, &mut got, body.len() + 1024), Ok(()), "{list}");
                assert!(got == body, "{list}: {} bytes", body.len());
            }
        }
    }

    #[test]
    fn other_encoders_are_understood() {
        // Made by the reference programs: `gzip`, Python's zlib, `brotli`, `zstd` with a checksum.
        for (list, coded) in [
            (
                "gzip",
                &b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcbH\xcd\xc9\xc9\x07\0\x86\xa6\x106\x05\0\0\0"[..],
            ),
            ("deflate", b"x\x9c\xcbH\xcd\xc9\xc9\x07\0\x06,\x02\x15"),
            ("br", b"\x0b\x02\x80hello\x03"),
            ("zstd", b"\x28\xb5\x2f\xfd\x04\x58\x29\0\0hello\xa3\x6d\x9f\x88"),
        ] {
            let mut body = coded.to_vec();
            let decoded = decode(list, &mut body, 5);
            assert_eq!((decoded, &*body), (Ok(()), &b"hello"[..]), "{list}");
        }
        // Several members, frames, and one to be skipped.
        let two = [coded("gzip", b"hel"), coded("gzip", b"lo")].concat();
        let skipped = b"\x50\x2a\x4d\x18\x02\0\0\0..".to_vec();
        let three = [coded("zstd", b"hel"), skipped, coded("zstd", b"lo")].concat();
        for (list, mut body) in [("gzip", two), ("zstd", three)] {
            assert_eq!(decode(list, &mut body, 5), Ok(()), "{list}");
            assert_eq!(body, b"hello", "{list}");
        }
    }

    #[test]
    fn a_bomb_is_given_up() {
        for list in LISTS {
            let bomb = coded(list, &vec![0; 4 << 20]);
            assert!(bomb.len() < 64 << 10, "{list}: {}", bomb.len());
            let mut body = bomb;
            let error = decode(list, &mut body, (4 << 20) - 1).unwrap_err();
            assert!(error.ends_with("it is longer than 4194303 bytes)"), "{list}: {error}");
        }
    }

    #[test]
    fn bodies_that_are_cut_or_changed_do_no_harm() {
        let plain = b"some text, some text, and other text".repeat(4);
        for list in ["gzip", "deflate", "br", "zstd"] {
            let whole = coded(list, &plain);
            for end in 1..whole.len() {
                let mut body = whole[..end].to_vec();
                assert!(decode(list, &mut body, 1000).is_err(), "{list}: {end} of {}", whole.len());
            }
            for at in 0..whole.len() {
                for change in [1, 0x10, 0x80, 0xff] {
                    let mut body = whole.clone();
                    body[at] ^= change;
                    drop(decode(list, &mut body, 1000));
                }
            }
        }
    }

    #[test]
    fn lists_name_codings() {
        for (list, want) in [
            ("", None),
            ("gzip, BR ,identity", None),
            ("lzma", Some("compression 'lzma' is not one of gzip, deflate, br, zstd")),
            ("br,br,br,br,br,br", Some("compression has more than 5 codings")),
        ] {
            assert_eq!(list_error(list).as_deref(), want);
            let field = field_of(list);
            assert_eq!(field, if want.is_none() && !list.is_empty() { "gzip, br" } else { "" });
        }
        for (list, body) in [("lzma", "as it is"), ("gzip, lzma", "as it is"), ("gzip", "")] {
            let mut kept = body.as_bytes().to_vec();
            assert_eq!(decode(list, &mut kept, 5), Ok(()));
            assert_eq!(kept, body.as_bytes(), "{list}");
        }
    }
}
