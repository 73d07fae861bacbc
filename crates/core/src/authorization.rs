//! Credentials: how they are sent to a server or a proxy.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// The value of an Authorization or Proxy-Authorization field for `user:password` (the Basic
/// scheme, RFC 7617 section 2).
#[must_use]
pub fn basic(credentials: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_in_the_rfc() {
        assert_eq!(basic("Aladdin:open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(basic("test:123\u{a3}"), "Basic dGVzdDoxMjPCow==");
    }
}
