//! Names that mark their values as secrets.

/// Request headers whose values are shown. Any other may carry a credential of somebody's making.
pub const HARMLESS_HEADERS: [&str; 36] = [
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "connection",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "date",
    "dnt",
    "expect",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "keep-alive",
    "max-forwards",
    "origin",
    "pragma",
    "prefer",
    "priority",
    "proxy-connection",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-forwarded-proto",
];

/// Names of secrets, also as parts of names.
const PARTS: [&str; 23] = [
    "apikey",
    "assertion",
    "auth",
    "bearer",
    "code",
    "cookie",
    "credential",
    "csrf",
    "jwt",
    "key",
    "nonce",
    "pass",
    "passcode",
    "private",
    "pwd",
    "saml",
    "secret",
    "session",
    "sig",
    "ticket",
    "token",
    "xsrf",
    "hmac",
];

/// Names that are too short to look for within others.
const WORDS: [&str; 5] = ["otp", "pin", "pw", "sid", "sess"];

/// As often as a name is decoded: proxies and frameworks encode again what is encoded.
const DECODED_MAX: usize = 3;

pub(super) fn is_harmless_header(name: &str) -> bool {
    HARMLESS_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
}

pub(super) fn is_secret(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    let plain = letters(&name);
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    PARTS.iter().any(|part| plain.contains(part)) || words.any(|word| WORDS.contains(&word))
}

/// Whether a name holds another, whatever the case and what stands between the letters.
pub(super) fn contains(name: &str, part: &str) -> bool {
    let part = letters(&part.to_ascii_lowercase());
    !part.is_empty() && letters(&decoded(name).to_ascii_lowercase()).contains(&part)
}

fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A name with its `%XX` decoded.
fn decoded(name: &str) -> String {
    let mut text = name.to_owned();
    for _ in 0..DECODED_MAX {
        let once = percent_decoded(&text);
        if once == text {
            break;
        }
        text = once;
    }
    text
}

/// A text with `%XX` decoded (RFC 3986 section 2.1). Anything else stays as it is. Bytes that are
/// not UTF-8 become U+FFFD.
#[must_use]
pub fn percent_decoded(text: &str) -> String {
    String::from_utf8_lossy(&percent_decoded_bytes(text)).into_owned()
}

/// A value of a query or a form, decoded: `+` is a space, and the rest as
/// [`percent_decoded`] (WHATWG URL, section 5.1).
#[must_use]
pub fn form_decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " "))
}

/// The bytes of a text with `%XX` decoded, which need not be UTF-8.
#[must_use]
pub fn percent_decoded_bytes(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, more @ ..] = rest {
        let digits = more.get(..2).filter(|_| *first == b'%');
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &more[2..] } else { more };
    }
    bytes
}
