//! Reads the files that flags name, each up to a limit.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The largest body, target file, and list of times.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 30;
/// The largest script, and the largest file of certificates.
const TEXT_BYTES_MAX: u64 = 1 << 26;

/// Reads a file, or stdin for `-`, up to a limit.
pub(crate) fn read_or_stdin(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, String> {
    match path.as_os_str() == "-" {
        true => bounded(io::stdin().lock(), limit_bytes),
        false => read(path, limit_bytes),
    }
}

/// Reads a file up to a limit.
fn read(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, String> {
    bounded(File::open(path).map_err(|error| error.to_string())?, limit_bytes)
}

/// Reads a file of certificates or keys.
pub(crate) fn pem(path: &Path) -> Result<Vec<u8>, String> {
    read(path, TEXT_BYTES_MAX)
}

/// Reads a script.
///
/// # Errors
/// Why it cannot be read, in one line that names it.
pub(crate) fn script(path: &str) -> Result<String, String> {
    let text = read(Path::new(path), TEXT_BYTES_MAX).and_then(in_utf8);
    text.map_err(|why| format!("cannot read the script '{path}': {why}"))
}

/// Reads a file of text.
pub(crate) fn text_of(path: &Path) -> Result<String, String> {
    in_utf8(read(path, FILE_BYTES_MAX)?)
}

fn in_utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
}

fn bounded(source: impl io::Read, limit_bytes: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match source.take(limit_bytes + 1).read_to_end(&mut bytes) {
        Err(error) => Err(error.to_string()),
        Ok(_) if bytes.len() as u64 > limit_bytes => {
            Err(format!("it is larger than {} MiB", limit_bytes >> 20))
        }
        Ok(_) => Ok(bytes),
    }
}
