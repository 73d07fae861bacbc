//! What the host allows: open files, local ports, the length of a listener's queue. Read before a
//! run starts, so that a plan that cannot fit is refused with a number instead of failing midway.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::read;

/// Limits that a load test runs into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostLimits {
    /// File descriptors this process may have open now; [`u64::MAX`] means without limit.
    pub open_files_soft: u64,
    /// How far [`raise_open_files`] can raise it; [`u64::MAX`] means without limit.
    pub open_files_hard: u64,
    /// The first and last port the kernel gives to outgoing connections. To one server address,
    /// at most this many connections can be open, or lately closed, from one local address.
    pub local_ports: (u16, u16),
    /// The longest queue of connections not yet accepted that a listener gets.
    pub somaxconn: u32,
}

/// The range RFC 6335 section 6 sets aside for this, for systems that do not tell theirs.
const LOCAL_PORTS_DEFAULT: (u16, u16) = (49_152, 65_535);

/// What POSIX systems have long granted, for systems that do not tell theirs.
const SOMAXCONN_DEFAULT: u32 = 128;

impl HostLimits {
    /// Reads them.
    #[must_use]
    pub fn read() -> Self {
        let open_files = getrlimit(Resource::Nofile);
        Self {
            open_files_soft: open_files.current.unwrap_or(u64::MAX),
            open_files_hard: open_files.maximum.unwrap_or(u64::MAX),
            local_ports: read("/proc/sys/net/ipv4/ip_local_port_range")
                .and_then(|text| port_range(&text))
                .unwrap_or(LOCAL_PORTS_DEFAULT),
            somaxconn: read("/proc/sys/net/core/somaxconn")
                .and_then(|text| text.parse().ok())
                .unwrap_or(SOMAXCONN_DEFAULT),
        }
    }

    /// How many local ports there are for connections to one server address.
    #[must_use]
    pub fn local_ports_count(&self) -> u32 {
        let (first, last) = self.local_ports;
        u32::from(last) - u32::from(first) + 1
    }
}

/// Two ports with white space between, in ascending order.
fn port_range(text: &str) -> Option<(u16, u16)> {
    let mut ports = text.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (ports.next()?.ok()?, ports.next()?.ok()?);
    (ports.next().is_none() && first <= last).then_some((first, last))
}

/// Raises the soft limit of open files to the hard one and returns the soft limit then in force.
///
/// # Errors
/// What `setrlimit` returns; the limit is then as it was.
pub fn raise_open_files() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
    }
    Ok(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_ranges() {
        for (text, want) in [
            ("32768\t60999", Some((32_768, 60_999))),
            ("1024 65535\n", Some((1024, 65_535))),
            ("5 5", Some((5, 5))),
            ("60999 32768", None),
            ("32768", None),
            ("32768 70000", None),
            ("1 2 3", None),
            ("", None),
        ] {
            assert_eq!(port_range(text), want, "{text:?}");
        }
    }

    #[test]
    fn a_range_counts_both_ends() {
        let count =
            |local_ports| HostLimits { local_ports, ..HostLimits::read() }.local_ports_count();
        assert_eq!([count((5, 5)), count((0, u16::MAX))], [1, 65_536]);
    }

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let hard = HostLimits::read().open_files_hard;
        assert_eq!(raise_open_files().expect("raising within the hard limit is allowed"), hard);
        assert_eq!(HostLimits::read().open_files_soft, hard);
    }
}
