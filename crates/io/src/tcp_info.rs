//! What the kernel's TCP says of a connection (`TCP_INFO`, tcp(7)): what was sent again, and round
//! trips.
//!
//! Read by offset, because C libraries know different lengths of the kernel's structure, which only
//! ever grows at its end.

use std::os::fd::BorrowedFd;

/// A connection's state in the kernel, since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// Segments sent again, the SYN's among them.
    pub retransmits: u32,
    /// Bytes of data sent again; `None` before Linux 4.19.
    pub retransmitted_bytes: Option<u64>,
    /// Bytes that the peer's kernel has acknowledged, the SYN as one; `None` before Linux 4.1.
    pub acked_bytes: Option<u64>,
    /// Segments the kernel takes for lost at the moment.
    pub lost: u32,
    /// Smoothed round-trip time (RFC 6298), ns. 0 before the first measurement.
    pub rtt_ns: u64,
    /// Its mean deviation, ns.
    pub rtt_deviation_ns: u64,
    /// The least round-trip time of the last five minutes (`net.ipv4.tcp_min_rtt_wlen`), ns. `None`
    /// before the first measurement.
    pub rtt_min_ns: Option<u64>,
    /// Whether the peer has not answered the connect yet.
    pub connecting: bool,
}

impl TcpInfo {
    /// How often the SYN was sent again: each time cost the connect a second or more. `None` when
    /// data was sent again too, for then the kernel's one count holds both.
    #[must_use]
    pub fn syn_retransmits(&self) -> Option<u32> {
        let only_syns = self.retransmits == 0 || self.connecting;
        (only_syns || self.retransmitted_bytes == Some(0)).then_some(self.retransmits)
    }
}

/// What the kernel says of a TCP socket; `None` of any other, and on other systems than Linux.
#[cfg(target_os = "linux")]
pub(crate) fn read(socket: BorrowedFd<'_>) -> Option<TcpInfo> {
    use std::os::fd::AsRawFd as _;
    let mut raw = [0_u8; RAW_BYTES];
    let mut len = RAW_BYTES as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `raw`, which is that long.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    (result == 0).then(|| parse(raw.get(..len as usize).unwrap_or_default()))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_: BorrowedFd<'_>) -> Option<TcpInfo> {
    None
}

/// As much of `struct tcp_info` as is read, from its start.
#[cfg(target_os = "linux")]
const RAW_BYTES: usize = 216;

/// `TCP_SYN_SENT` of the kernel's states.
#[cfg(target_os = "linux")]
const SYN_SENT: u8 = 2;

/// Takes the fields from `struct tcp_info` (linux/tcp.h); one that an old kernel left out is 0.
#[cfg(target_os = "linux")]
fn parse(raw: &[u8]) -> TcpInfo {
    let u32_at = |offset: usize| {
        let bytes = raw.get(offset..offset + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_ne_bytes)
    };
    let u64_at = |offset: usize| {
        let bytes = raw.get(offset..offset + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes)
    };
    let us_at = |offset: usize| u32_at(offset).map(|us| u64::from(us) * 1000);
    let rtt_min_ns = us_at(148).filter(|&ns| ns != u64::from(u32::MAX) * 1000);
    TcpInfo {
        retransmits: u32_at(100).unwrap_or(0),
        retransmitted_bytes: u64_at(208),
        acked_bytes: u64_at(120),
        lost: u32_at(32).unwrap_or(0),
        rtt_ns: us_at(68).unwrap_or(0),
        rtt_deviation_ns: us_at(72).unwrap_or(0),
        rtt_min_ns,
        connecting: raw.first() == Some(&SYN_SENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syns_are_told_apart_only_where_it_is_certain() {
        let info = |retransmits, retransmitted_bytes, connecting| TcpInfo {
            retransmits,
            retransmitted_bytes,
            connecting,
            ..TcpInfo::default()
        };
        for (info, want) in [
            (info(0, None, false), Some(0)),
            (info(2, None, false), None),
            (info(2, None, true), Some(2)),
            (info(2, Some(0), false), Some(2)),
            (info(2, Some(1), false), None),
        ] {
            assert_eq!(info.syn_retransmits(), want, "{info:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn fields_are_where_the_kernel_has_them_and_old_ones_are_short() {
        let mut raw = [0xff; RAW_BYTES];
        raw[0] = SYN_SENT;
        for (offset, value) in [(32, 1_u32), (68, 2), (72, 3), (100, 4), (148, 5)] {
            raw[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        }
        raw[208..].copy_from_slice(&6_u64.to_ne_bytes());
        raw[120..128].copy_from_slice(&7_u64.to_ne_bytes());
        let whole = TcpInfo {
            retransmits: 4,
            retransmitted_bytes: Some(6),
            acked_bytes: Some(7),
            lost: 1,
            rtt_ns: 2_000,
            rtt_deviation_ns: 3_000,
            rtt_min_ns: Some(5_000),
            connecting: true,
        };
        assert_eq!(parse(&raw), whole);
        let short = TcpInfo { retransmitted_bytes: None, ..whole };
        assert_eq!(parse(&raw[..192]), short);
        assert_eq!(parse(&raw[..104]), TcpInfo { rtt_min_ns: None, acked_bytes: None, ..short });
        assert_eq!(parse(&[]), TcpInfo::default());
    }
}
