//! Names to addresses, by the system's resolver, before a run starts. It blocks for as long as the
//! resolver does.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

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

/// Whether each of the addresses takes a connection within `timeout_ns`, all asked at once. The
/// connections are closed again.
#[must_use]
pub fn reachable(addresses: &[SocketAddr], timeout_ns: u64) -> Vec<io::Result<()>> {
    let timeout = Duration::from_nanos(timeout_ns);
    let probe = move |address: SocketAddr| match TcpStream::connect_timeout(&address, timeout) {
        // It was taken and dropped at once: a server is there.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(()),
        taken => taken.map(drop),
    };
    let died = |_| Err(io::Error::other("the probe's thread died"));
    thread::scope(|scope| {
        let start = |address: &SocketAddr| {
            let address = *address;
            thread::Builder::new().spawn_scoped(scope, move || probe(address))
        };
        let probes: Vec<_> = addresses.iter().map(start).collect();
        let joined = probes.into_iter().zip(addresses).map(|(started, address)| match started {
            Ok(thread) => thread.join().unwrap_or_else(died),
            // Where no thread can be started, they are asked one after another.
            Err(_) => probe(*address),
        });
        joined.collect()
    })
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
    fn addresses_that_answer_are_told_from_those_that_do_not() {
        let bind = || std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let dead = bind().local_addr().expect("bound");
        let listener = bind();
        let alive = listener.local_addr().expect("bound");
        let answers = reachable(&[dead, alive], 1_000_000_000);
        let kinds = answers.iter().map(|answer| answer.as_ref().map_err(io::Error::kind));
        let refused = Err(io::ErrorKind::ConnectionRefused);
        assert_eq!(kinds.collect::<Vec<_>>(), [refused, Ok(&())]);
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
