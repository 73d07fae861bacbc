//! Values that the flags of several commands have in common, and their parsers.

use std::convert::Infallible;
use std::path::Path;

use clap::ValueEnum;
use plimsoll_core::secret::Secret;
use plimsoll_core::units::parse_count;
use plimsoll_io::DriverChoice;
use plimsoll_outputs::{Receiver, Trust};

/// Which driver to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriverFlag {
    #[default]
    Auto,
    Uring,
    Epoll,
}

impl From<DriverFlag> for DriverChoice {
    fn from(flag: DriverFlag) -> Self {
        match flag {
            DriverFlag::Auto => Self::Auto,
            DriverFlag::Uring => Self::Uring,
            DriverFlag::Epoll => Self::Epoll,
        }
    }
}

pub(crate) fn count32(text: &str) -> Result<u32, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    u32::try_from(count).map_err(|_| format!("'{text}' is too many"))
}

/// More threads than any machine has CPUs would only be in one another's way.
const THREADS_MAX: u32 = 4096;

/// How many threads work.
pub(crate) fn threads(text: &str) -> Result<u32, String> {
    match count32(text)? {
        0 => Err("0 threads do nothing: give 1 or more".to_owned()),
        THREADS_MAX.. => Err(format!("{text} threads are too many: give fewer than {THREADS_MAX}")),
        threads => Ok(threads),
    }
}

/// What is not to be printed, also not with the rest of the flags.
#[expect(clippy::unnecessary_wraps, reason = "a parser of values may fail")]
pub(crate) fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(text.into())
}

/// Reads a value of `--out`.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn receiver(text: &str) -> Result<Receiver, String> {
    receiver_with(text, &variable)
}

/// The same with the variables that a lookup has. Over TLS, authorities come from `SSL_CERT_FILE`.
///
/// # Errors
/// What is wrong with it, or with that file.
pub(crate) fn receiver_with(
    text: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<Receiver, String> {
    let receiver = Receiver::parse(text, lookup).map_err(|error| error.to_string())?;
    let path = lookup("SSL_CERT_FILE").filter(|path| !path.is_empty() && receiver.is_encrypted());
    let Some(path) = path else { return Ok(receiver) };
    let wrong = |why: String| format!("SSL_CERT_FILE '{path}': {why}");
    let roots = crate::files::pem(Path::new(&path)).map_err(wrong)?;
    let trust = Trust::default().roots(roots).map_err(|error| wrong(error.to_string()))?;
    Ok(receiver.with_trust(trust))
}

/// A variable of the environment, unless it is empty or not text.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

/// A share written as a percentage, from 0 up.
pub(crate) fn percent(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%')?.trim();
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let percent: f64 = number.parse().ok().filter(|_| is_plain)?;
    Some(percent / 100.0)
}

/// How the name of a script ends.
const EXTENSIONS: [&str; 4] = ["js", "mjs", "cjs", "ts"];

/// Whether an argument names a k6 script and not a URL.
pub(crate) fn is_script(text: &str) -> bool {
    let extension = Path::new(text).extension().and_then(|extension| extension.to_str());
    !text.contains("://") && extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

/// Reads a variable of `--env`: `NAME=value`.
pub(crate) fn variable_of(text: &str) -> Result<Secret, String> {
    match text.split_once('=') {
        Some((name, _)) if !name.is_empty() => Ok(Secret::new(text.to_owned())),
        _ => Err("a variable is written as NAME=value".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_told_from_urls() {
        for (text, want) in [
            ("load.js", true),
            ("./a/b.ts", true),
            ("b.mjs", true),
            ("http://a/load.js", false),
            ("load.toml", false),
            ("127.0.0.1:80/x", false),
            ("js", false),
        ] {
            assert_eq!(is_script(text), want, "{text}");
        }
    }
}
