//! Which of the addresses that a name has are connected to. Names and meaning are k6's.

/// Which of several addresses is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsSelect {
    /// The first.
    First,
    /// Any.
    Random,
    /// One after the other.
    RoundRobin,
}

/// Which families of addresses are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnsPolicy {
    /// IPv4 if there is any.
    PreferIpv4,
    /// IPv6 if there is any.
    PreferIpv6,
    /// IPv4 alone.
    OnlyIpv4,
    /// IPv6 alone.
    OnlyIpv6,
    /// All.
    Any,
}
