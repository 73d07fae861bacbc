//! The header of the PROXY protocol, with which a load balancer announces a client: versions 1 (a
//! line of text) and 2 (binary), after HAProxy's `proxy-protocol.txt`, sections 2.1 and 2.2.
//!
//! Absent on purpose: reading it, and the optional values (TLVs) of version 2.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};

/// What every header of version 2 begins with.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";

/// Version 2, command PROXY.
const PROXIED: u8 = 0x21;
/// Version 2, command LOCAL: without addresses.
const LOCAL: u8 = 0x20;
const TCP_OVER_IPV4: u8 = 0x11;
const TCP_OVER_IPV6: u8 = 0x21;

/// Appends the header of version 1. Without addresses of one family it is that of an unknown
/// connection.
pub fn write_v1(out: &mut Vec<u8>, from: Option<SocketAddr>, to: Option<SocketAddr>) {
    let family = match (from, to) {
        (Some(SocketAddr::V4(_)), Some(SocketAddr::V4(_))) => "TCP4",
        (Some(SocketAddr::V6(_)), Some(SocketAddr::V6(_))) => "TCP6",
        _ => "UNKNOWN",
    };
    let written = match (from, to) {
        (Some(from), Some(to)) if family != "UNKNOWN" => {
            let (from_ip, to_ip) = (from.ip(), to.ip());
            write!(out, "PROXY {family} {from_ip} {to_ip} {} {}\r\n", from.port(), to.port())
        }
        _ => out.write_all(b"PROXY UNKNOWN\r\n"),
    };
    written.expect("a Vec takes everything");
}

/// Appends the header of version 2. Without addresses of one family it is that of a connection the
/// proxy made for itself.
pub fn write_v2(out: &mut Vec<u8>, from: Option<SocketAddr>, to: Option<SocketAddr>) {
    out.extend_from_slice(&SIGNATURE);
    let mut ends = Vec::with_capacity(36);
    let family = match (from, to) {
        (Some(from), Some(to)) => addresses(&mut ends, from, to),
        _ => None,
    };
    out.push(if family.is_some() { PROXIED } else { LOCAL });
    out.push(family.unwrap_or(0));
    out.extend_from_slice(&(ends.len() as u16).to_be_bytes());
    out.extend_from_slice(&ends);
}

/// Both ends, and the code of their family.
fn addresses(out: &mut Vec<u8>, from: SocketAddr, to: SocketAddr) -> Option<u8> {
    let family = match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
            TCP_OVER_IPV4
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            out.extend_from_slice(&from.octets());
            out.extend_from_slice(&to.octets());
            TCP_OVER_IPV6
        }
        _ => return None,
    };
    out.extend_from_slice(&from.port().to_be_bytes());
    out.extend_from_slice(&to.port().to_be_bytes());
    Some(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Option<SocketAddr> {
        Some(text.parse().expect("an address"))
    }

    #[test]
    fn version_1_is_a_line() {
        let cases = [
            (
                address("10.0.0.1:4000"),
                address("10.0.0.2:80"),
                "PROXY TCP4 10.0.0.1 10.0.0.2 4000 80\r\n",
            ),
            (address("[::1]:4000"), address("[::2]:80"), "PROXY TCP6 ::1 ::2 4000 80\r\n"),
            (address("10.0.0.1:1"), address("[::2]:80"), "PROXY UNKNOWN\r\n"),
            (None, address("10.0.0.2:80"), "PROXY UNKNOWN\r\n"),
        ];
        for (from, to, want) in cases {
            let mut out = Vec::new();
            write_v1(&mut out, from, to);
            assert_eq!(String::from_utf8_lossy(&out), want);
        }
    }

    #[test]
    fn version_2_is_binary() {
        let mut out = Vec::new();
        write_v2(&mut out, address("10.0.0.1:4000"), address("10.0.0.2:80"));
        let mut want = SIGNATURE.to_vec();
        want.extend([0x21, 0x11, 0, 12, 10, 0, 0, 1, 10, 0, 0, 2, 0x0f, 0xa0, 0, 80]);
        assert_eq!(out, want);

        out.clear();
        write_v2(&mut out, address("[::1]:4000"), address("[::2]:80"));
        assert_eq!((out.len(), &out[12..16]), (16 + 36, &[0x21, 0x21, 0, 36][..]));

        out.clear();
        write_v2(&mut out, None, None);
        assert_eq!(out[12..], [0x20, 0, 0, 0]);
    }
}
