//! Addresses to listen on, as people write them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads `ADDR:PORT`, `localhost:PORT`, or a port of 127.0.0.1.
///
/// # Errors
/// What was given and what to write instead.
pub(crate) fn listen(text: &str) -> Result<SocketAddr, String> {
    let loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(loopback(port));
    }
    let text = text
        .strip_prefix("localhost:")
        .map_or_else(|| text.to_owned(), |port| format!("{}:{port}", Ipv4Addr::LOCALHOST));
    text.parse().map_err(|_| format!("'{text}' is neither ADDR:PORT nor a port (0 to 65535)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_of_loopback() {
        for (text, want) in [
            ("8000", Some("127.0.0.1:8000")),
            (":8000", Some("127.0.0.1:8000")),
            ("localhost:8000", Some("127.0.0.1:8000")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("[::1]:80", Some("[::1]:80")),
            ("80000", None),
            ("a:80", None),
            ("", None),
        ] {
            assert_eq!(listen(text).ok().map(|it| it.to_string()).as_deref(), want, "{text}");
        }
    }
}
