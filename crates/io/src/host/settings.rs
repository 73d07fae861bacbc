//! Kernel settings that affect a load test: what happens to closed connections, how long queues may
//! be, whether connections are tracked, and whether io_uring is allowed.

use super::read;

/// What `/proc/sys` and `/sys` say; `None` where they do not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSettings {
    /// `net.ipv4.tcp_tw_reuse`: whether a port in TIME-WAIT may be used for a new connection to the
    /// same address after a second. 0 never, 1 always, 2 on loopback.
    pub tcp_tw_reuse: Option<u32>,
    /// `net.ipv4.tcp_max_syn_backlog`: connections half open that a listener remembers.
    pub tcp_max_syn_backlog: Option<u64>,
    /// Where connections are tracked (netfilter): how many are, and how many may be.
    pub conntrack: Option<Conntrack>,
    /// What the kernel reads its clock from: `tsc`, `kvm-clock`, `hpet`.
    pub clocksource: Option<String>,
    /// `kernel.io_uring_disabled`: 0 allowed, 1 for those in `io_uring_group`, 2 for nobody.
    pub io_uring_disabled: Option<u32>,
}

/// The table of tracked connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Conntrack {
    /// Connections in it.
    pub count: u64,
    /// When it is full, packets of new ones are dropped.
    pub max: u64,
}

impl KernelSettings {
    /// Reads them.
    #[must_use]
    pub fn read() -> Self {
        Self::from(read)
    }

    fn from(read: impl Fn(&str) -> Option<String>) -> Self {
        let number = |path: &str| read(path)?.parse::<u64>().ok();
        let conntrack = || {
            Some(Conntrack {
                count: number("/proc/sys/net/netfilter/nf_conntrack_count")?,
                max: number("/proc/sys/net/netfilter/nf_conntrack_max")?,
            })
        };
        let small = |path: &str| u32::try_from(number(path)?).ok();
        Self {
            tcp_tw_reuse: small("/proc/sys/net/ipv4/tcp_tw_reuse"),
            tcp_max_syn_backlog: number("/proc/sys/net/ipv4/tcp_max_syn_backlog"),
            conntrack: conntrack(),
            clocksource: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            io_uring_disabled: small("/proc/sys/kernel/io_uring_disabled"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_host() {
        let files = [
            ("/proc/sys/net/ipv4/tcp_tw_reuse", "2"),
            ("/proc/sys/net/ipv4/tcp_max_syn_backlog", "2048"),
            ("/proc/sys/net/netfilter/nf_conntrack_count", "17"),
            ("/proc/sys/net/netfilter/nf_conntrack_max", "262144"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
            ("/proc/sys/kernel/io_uring_disabled", "0"),
        ];
        let file = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        };
        let want = KernelSettings {
            tcp_tw_reuse: Some(2),
            tcp_max_syn_backlog: Some(2048),
            conntrack: Some(Conntrack { count: 17, max: 262_144 }),
            clocksource: Some("tsc".to_owned()),
            io_uring_disabled: Some(0),
        };
        assert_eq!(KernelSettings::from(file), want);
        assert_eq!(KernelSettings::from(|_| None), KernelSettings::default());
        let malformed = KernelSettings::from(|_| Some("x 1".to_owned()));
        let want =
            KernelSettings { clocksource: Some("x 1".to_owned()), ..KernelSettings::default() };
        assert_eq!(malformed, want);
    }
}
