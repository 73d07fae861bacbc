//! CPU time that was taken away: by a hypervisor (steal) or by a cgroup's quota (throttling). Both
//! delay a load tester without any trace in its own CPU time, so the verdict needs them.
//!
//! Absent on purpose: cgroup version 1, whose counters are not read; there, throttling is unknown.

use super::{field, read};

/// Ticks of all CPUs of the machine since it started, of `/proc/stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Ticks in which a virtual CPU was ready and the hypervisor ran something else.
    pub steal: u64,
    /// Ticks in all, idle ones too.
    pub total: u64,
}

impl CpuTicks {
    /// Reads them. `None` where `/proc/stat` does not tell.
    #[must_use]
    pub fn read() -> Option<Self> {
        cpu_ticks(&read("/proc/stat")?)
    }

    /// The share of the CPUs' time since `earlier` that was stolen, 0 to 1.
    #[must_use]
    pub fn steal_share_since(&self, earlier: &Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        if total == 0 {
            return 0.0;
        }
        self.steal.saturating_sub(earlier.steal) as f64 / total as f64
    }
}

/// The `cpu` line: user, nice, system, idle, iowait, irq, softirq, steal; what follows (guests) is
/// counted in user already.
fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let steal = *ticks.get(7)?;
    Some(CpuTicks { steal, total: ticks.iter().sum() })
}

/// How often and how long a CPU quota stopped this process: cgroup version 2, its own group and
/// those above it added up, since a quota on any of them stops it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the quota ran out.
    pub periods: u64,
    /// How long threads were kept from running, in microseconds, added up over CPUs.
    pub throttled_us: u64,
}

impl Throttling {
    /// Reads it. `None` where no group of this process counts it, so also without a quota to run
    /// out of.
    #[must_use]
    pub fn read() -> Option<Self> {
        let mount = cgroup2_mount(&read("/proc/self/mountinfo")?)?;
        let group = cgroup2_path(&read("/proc/self/cgroup")?)?;
        sum_up_to_root(&group, |group| throttling(&read(&format!("{mount}{group}/cpu.stat"))?))
    }
}

/// Adds up what `of` says of a group and of each above it, to the root.
fn sum_up_to_root(group: &str, of: impl Fn(&str) -> Option<Throttling>) -> Option<Throttling> {
    let mut sum: Option<Throttling> = None;
    let mut group = group.trim_end_matches('/');
    loop {
        if let Some(one) = of(group) {
            let sum = sum.get_or_insert_default();
            sum.periods += one.periods;
            sum.throttled_us += one.throttled_us;
        }
        let Some((parent, _)) = group.rsplit_once('/') else { return sum };
        group = parent;
    }
}

/// `nr_throttled` and `throttled_usec` of a group's `cpu.stat`.
fn throttling(cpu_stat: &str) -> Option<Throttling> {
    Some(Throttling {
        periods: field(cpu_stat, "nr_throttled", ' ')?.parse().ok()?,
        throttled_us: field(cpu_stat, "throttled_usec", ' ')?.parse().ok()?,
    })
}

/// Where the version 2 hierarchy is mounted: field 5 of the line of `/proc/self/mountinfo` whose
/// type, the field after the lone dash, is `cgroup2` (proc(5)).
fn cgroup2_mount(mountinfo: &str) -> Option<String> {
    mountinfo.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let kind = kind.split_whitespace().next()?;
        (kind == "cgroup2").then(|| mount.split_whitespace().nth(4).map(str::to_owned))?
    })
}

/// The version 2 group of this process: what follows `0::` in `/proc/self/cgroup`.
fn cgroup2_path(cgroup: &str) -> Option<String> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_stat() {
        let stat = "cpu  100 1 20 300 4 0 6 17 50 2\ncpu0 9 9 9 9 9 9 9 9 9 9";
        assert_eq!(cpu_ticks(stat), Some(CpuTicks { steal: 17, total: 448 }));
        for bad in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 x"] {
            assert_eq!(cpu_ticks(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_stolen_share_is_of_the_time_between() {
        let earlier = CpuTicks { steal: 10, total: 1000 };
        let later = CpuTicks { steal: 35, total: 1100 };
        assert_eq!(later.steal_share_since(&earlier), 0.25);
        assert_eq!(later.steal_share_since(&later), 0.0);
        assert_eq!(earlier.steal_share_since(&later), 0.0, "counters that went back");
    }

    #[test]
    fn throttling_of_cpu_stat() {
        let stat = "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 41000\nnr_bursts 0";
        assert_eq!(throttling(stat), Some(Throttling { periods: 3, throttled_us: 41_000 }));
        assert_eq!(throttling("usage_usec 5\nuser_usec 3"), None, "the root group has no quota");
    }

    #[test]
    fn the_mount_of_version_2() {
        let hybrid = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:1 - cgroup2 cgroup2 rw";
        assert_eq!(cgroup2_mount(hybrid).as_deref(), Some("/sys/fs/cgroup/unified"));
        assert_eq!(cgroup2_mount("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw"), None);
        assert_eq!(cgroup2_mount("garbage"), None);
    }

    #[test]
    fn the_group_of_version_2() {
        let hybrid = "2:cpuacct:/x\n1:cpu:/y\n0::/user.slice/a.scope";
        assert_eq!(cgroup2_path(hybrid).as_deref(), Some("/user.slice/a.scope"));
        assert_eq!(cgroup2_path("1:cpu:/y"), None);
    }

    #[test]
    fn groups_above_count_too() {
        let of = |group: &str| match group {
            "/pod/box" => Some(Throttling { periods: 1, throttled_us: 10 }),
            "/pod" => Some(Throttling { periods: 2, throttled_us: 20 }),
            _ => None,
        };
        let both = Some(Throttling { periods: 3, throttled_us: 30 });
        assert_eq!(sum_up_to_root("/pod/box", of), both);
        assert_eq!(sum_up_to_root("/pod/box/inner", of), both);
        assert_eq!(sum_up_to_root("/", of), None);
    }
}
