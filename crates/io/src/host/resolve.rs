//! Names to addresses, by the system's resolver, before a run starts. It blocks for as long as the
//! resolver does.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};

/// The addresses of a host, in the resolver's order (RFC 6724), never empty. `host` is a name or
/// an address; an IPv6 address may stand in brackets as it does in a URL.
///
/// # Errors
/// `cannot resolve host 'NAME': REASON`, with the resolver's reason.
pub fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let fail = |kind, reason: &str| {
        io::Error::new(kind, format!("cannot resolve host '{host}': {reason}"))
    };
    let mut addresses: Vec<SocketAddr> = (bare, port)
        .to_socket_addrs()
        .map_err(|error| fail(error.kind(), reason(&error.to_string())))?
        .collect();
    let mut seen = std::collections::HashSet::new();
    addresses.retain(|address| seen.insert(*address));
    if addresses.is_empty() {
        return Err(fail(io::ErrorKind::NotFound, "it has no address"));
    }
    Ok(addresses)
}

/// The resolver's own words, without what the standard library puts before them.
fn reason(error: &str) -> &str {
    error.rsplit_once(": ").map_or(error, |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_resolve_to_themselves() {
        for (host, want) in [
            ("127.0.0.1", "127.0.0.1:80"),
            ("::1", "[::1]:80"),
            ("[::1]", "[::1]:80"),
            ("fe80::1%1", "[fe80::1%1]:80"),
        ] {
            let want: SocketAddr = want.parse().expect("an address");
            assert_eq!(resolve(host, 80).expect(host), [want], "{host}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_named() {
        // Not a name at all, so that the answer does not depend on a name server.
        for host in ["", "no such host", "[::1", "256.256.256.256.256"] {
            let error = resolve(host, 80).expect_err(host).to_string();
            assert!(error.starts_with(&format!("cannot resolve host '{host}': ")), "{error}");
            assert!(!error.contains("failed to lookup"), "{error}");
        }
    }

    #[test]
    fn the_reason_is_the_resolvers() {
        let std = "failed to lookup address information: Name or service not known";
        assert_eq!(reason(std), "Name or service not known");
        assert_eq!(reason("plain"), "plain");
    }
}
