//! What TCP counted on this host: segments sent again, and connections that a full queue refused.
//!
//! The kernel counts for the whole network namespace, including other programs' traffic. During a
//! run, most of it is the load. A share is always given with its total, so that other traffic
//! dilutes it instead of adding to it.

use super::read;

/// Totals since the namespace began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpCounters {
    /// Connections opened from here, or tried to.
    pub opened: u64,
    /// Connections taken in by listeners here.
    pub accepted: u64,
    /// Segments sent, those sent again too.
    pub segments: u64,
    /// Of them, those sent again; SYNs too.
    pub resent: u64,
    /// SYNs, and answers to them, sent again.
    pub syns_resent: u64,
    /// Connections that listeners here lost because their queue was full.
    pub listen_overflows: u64,
    /// Connections that listeners here lost, for that reason or any other.
    pub listen_drops: u64,
    /// Acknowledgements sent once their delay was over.
    pub delayed_acks: u64,
}

impl TcpCounters {
    /// Reads them. `None` where `/proc/net` does not tell. What an older kernel does not count is
    /// 0.
    #[must_use]
    pub fn read() -> Option<Self> {
        counters(&read("/proc/net/snmp")?, &read("/proc/net/netstat").unwrap_or_default())
    }

    /// What came to them since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let more = |of: fn(&Self) -> u64| of(self).saturating_sub(of(earlier));
        Self {
            opened: more(|counters| counters.opened),
            accepted: more(|counters| counters.accepted),
            segments: more(|counters| counters.segments),
            resent: more(|counters| counters.resent),
            syns_resent: more(|counters| counters.syns_resent),
            listen_overflows: more(|counters| counters.listen_overflows),
            listen_drops: more(|counters| counters.listen_drops),
            delayed_acks: more(|counters| counters.delayed_acks),
        }
    }
}

fn counters(snmp: &str, netstat: &str) -> Option<TcpCounters> {
    let extended = |name| value(netstat, "TcpExt:", name).unwrap_or(0);
    let resent = value(snmp, "Tcp:", "RetransSegs")?;
    Some(TcpCounters {
        opened: value(snmp, "Tcp:", "ActiveOpens")?,
        accepted: value(snmp, "Tcp:", "PassiveOpens")?,
        // RFC 4022: tcpOutSegs leaves out those that hold only what was sent before.
        segments: value(snmp, "Tcp:", "OutSegs")?.saturating_add(resent),
        resent,
        syns_resent: extended("TCPSynRetrans"),
        listen_overflows: extended("ListenOverflows"),
        listen_drops: extended("ListenDrops"),
        delayed_acks: extended("DelayedACKs"),
    })
}

/// The value of a column: a line of names and, below it, one of numbers, both with the same prefix.
fn value(text: &str, prefix: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let column = names.split_whitespace().position(|word| word == name)?;
    // MaxConn may be -1; it is not asked for.
    numbers.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets \
        CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n\
        Tcp: 1 200 120000 -1 9574597 9552669 21767 1204795 4 468541858 468701850 19328 0 841736 0\n\
        Udp: InDatagrams\nUdp: 5";
    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPSynRetrans \
        DelayedACKs\nTcpExt: 0 7 9 4367 260\nIpExt: InNoRoutes\nIpExt: 0";

    #[test]
    fn counters_by_their_names() {
        let want = TcpCounters {
            opened: 9_574_597,
            accepted: 9_552_669,
            segments: 468_701_850 + 19_328,
            resent: 19_328,
            syns_resent: 4367,
            listen_overflows: 7,
            listen_drops: 9,
            delayed_acks: 260,
        };
        assert_eq!(counters(SNMP, NETSTAT), Some(want));
        let bare = TcpCounters {
            syns_resent: 0,
            listen_overflows: 0,
            listen_drops: 0,
            delayed_acks: 0,
            ..want
        };
        for missing in ["", "TcpExt: ListenDrops", "TcpExt: ListenDrops\nTcpExt: x", "TcpExt:"] {
            assert_eq!(counters(SNMP, missing), Some(bare), "{missing:?}");
        }
        for malformed in ["", "Tcp: OutSegs\nTcp: 1", "Tcp: RetransSegs\nTcp:", "Tcp:\nTcp: 1"] {
            assert_eq!(counters(malformed, NETSTAT), None, "{malformed:?}");
        }
    }

    #[test]
    fn what_came_since() {
        let earlier = counters(SNMP, NETSTAT).expect("well formed");
        let later = TcpCounters { resent: earlier.resent + 5, ..earlier };
        assert_eq!(later.since(&earlier), TcpCounters { resent: 5, ..TcpCounters::default() });
        assert_eq!(earlier.since(&later), TcpCounters::default(), "counters that went back");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_host_counts() {
        assert!(TcpCounters::read().is_some());
    }
}
