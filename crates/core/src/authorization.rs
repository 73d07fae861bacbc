//! Credentials: how they are sent to a server or a proxy.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The value of an Authorization or Proxy-Authorization field for `user:password` (the Basic
/// scheme, RFC 7617 section 2).
#[must_use]
pub fn basic(credentials: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(credentials))
}

/// The `user:password` of such a value.
#[must_use]
pub fn credentials(value: &str) -> Option<String> {
    let (scheme, encoded) = value.split_once(' ')?;
    let encoded = Some(encoded.trim()).filter(|_| scheme.eq_ignore_ascii_case("basic"))?;
    String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_rfc() {
        assert_eq!(basic("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("test:123\u{a3}"), "Basic dGVzdDoxMjPCow==");
    }

    #[test]
    fn credentials_are_read_as_they_were_written() {
        for (value, want) in [
            ("Basic dGVzdDoxMjPCow==", Some("test:123\u{a3}")),
            ("basic  YTpi", Some("a:b")),
            ("Bearer YTpi", None),
            ("Basic %%", None),
            ("YTpi", None),
        ] {
            assert_eq!(credentials(value).as_deref(), want, "{value}");
        }
    }
}
