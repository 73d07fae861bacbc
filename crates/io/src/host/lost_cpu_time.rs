//! CPU time that was taken away: by a hypervisor (steal) or by a cgroup's quota (throttling). Both
//! delay a load tester without any trace in its own CPU time, so the verdict needs them.

use super::cgroup::Groups;
use super::{field, read};

/// Ticks of all CPUs of the machine since it started, of `/proc/stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Ticks in which a virtual CPU was ready and the hypervisor ran something else.
    pub steal: u64,
    /// Ticks in which there was nothing to do, or only disks to wait for.
    pub idle: u64,
    /// Ticks in all.
    pub total: u64,
}

impl CpuTicks {
    /// Reads them. `None` where `/proc/stat` does not tell.
    #[must_use]
    pub fn read() -> Option<Self> {
        cpu_ticks(&read("/proc/stat")?, "cpu")
    }

    /// Those of some CPUs only. `None` where `/proc/stat` does not tell of each.
    #[must_use]
    pub fn of(cpus: &[u32]) -> Option<Self> {
        let stat = read("/proc/stat")?;
        let each = cpus.iter().map(|cpu| cpu_ticks(&stat, &format!("cpu{cpu}")));
        each.sum()
    }

    /// The share of the CPUs' time since `earlier` that was stolen, 0 to 1.
    #[must_use]
    pub fn steal_share_since(&self, earlier: &Self) -> f64 {
        self.share_since(earlier, self.steal.saturating_sub(earlier.steal))
    }

    /// The share of the CPUs' time since `earlier` in which anybody's work was done, 0 to 1.
    #[must_use]
    pub fn busy_share_since(&self, earlier: &Self) -> f64 {
        let without = |ticks: &Self| ticks.total.saturating_sub(ticks.idle + ticks.steal);
        self.share_since(earlier, without(self).saturating_sub(without(earlier)))
    }

    fn share_since(&self, earlier: &Self, ticks: u64) -> f64 {
        match self.total.saturating_sub(earlier.total) {
            0 => 0.0,
            total => ticks as f64 / total as f64,
        }
    }
}

impl std::iter::Sum for CpuTicks {
    fn sum<I: Iterator<Item = Self>>(ticks: I) -> Self {
        ticks.fold(Self::default(), |sum, one| Self {
            steal: sum.steal.saturating_add(one.steal),
            idle: sum.idle.saturating_add(one.idle),
            total: sum.total.saturating_add(one.total),
        })
    }
}

/// The line of `cpu`, or of one CPU, `cpu0`: user, nice, system, idle, iowait, irq, softirq, steal;
/// what follows (guests) is counted in user already.
fn cpu_ticks(stat: &str, name: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    let ticks: Vec<u64> =
        line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let steal = *ticks.get(7)?;
    let total = ticks.iter().fold(0, |sum: u64, &ticks| sum.saturating_add(ticks));
    Some(CpuTicks { steal, idle: ticks[3].saturating_add(ticks[4]), total })
}

/// How often and how long a CPU quota stopped this process: its own control group and those above
/// it added up, since a quota on any of them stops it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods in which the quota ran out.
    pub periods: u64,
    /// How long threads were kept from running, ns, added up over CPUs.
    pub throttled_ns: u64,
}

impl Throttling {
    /// Reads it. `None` where no group of this process counts it, so also without a quota to run
    /// out of.
    #[must_use]
    pub fn read() -> Option<Self> {
        let groups = Groups::find("cpu");
        sum(groups.version2.iter().chain(&groups.version1), |group| {
            throttling(&read(&format!("{group}/cpu.stat"))?)
        })
    }

    /// What came to it since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled_ns: self.throttled_ns.saturating_sub(earlier.throttled_ns),
        }
    }
}

/// Adds up what `of` says of each group that says something.
fn sum<'a>(
    groups: impl Iterator<Item = &'a String>,
    of: impl Fn(&str) -> Option<Throttling>,
) -> Option<Throttling> {
    groups.filter_map(|group| of(group)).reduce(|sum, one| Throttling {
        periods: sum.periods + one.periods,
        throttled_ns: sum.throttled_ns.saturating_add(one.throttled_ns),
    })
}

/// `nr_throttled` of a group's `cpu.stat`, and the time beside it: `throttled_usec` in version 2,
/// `throttled_time` in nanoseconds in version 1.
fn throttling(cpu_stat: &str) -> Option<Throttling> {
    let number = |key| field(cpu_stat, key, ' ')?.parse::<u64>().ok();
    let version2 = number("throttled_usec").map(|us| us.saturating_mul(1000));
    Some(Throttling {
        periods: number("nr_throttled")?,
        throttled_ns: version2.or_else(|| number("throttled_time"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_stat() {
        let stat = "cpu  100 1 20 300 4 0 6 17 50 2\ncpu0 9 9 9 9 9 9 9 9 9 9";
        let all = CpuTicks { steal: 17, idle: 304, total: 448 };
        assert_eq!(cpu_ticks(stat, "cpu"), Some(all));
        let first = CpuTicks { steal: 9, idle: 18, total: 72 };
        assert_eq!(cpu_ticks(stat, "cpu0"), Some(first));
        assert_eq!(cpu_ticks(stat, "cpu1"), None);
        let sum = CpuTicks { steal: 26, idle: 322, total: 520 };
        assert_eq!([all, first].into_iter().sum::<CpuTicks>(), sum);
        for bad in ["", "cpu0 1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7", "cpu  1 2 3 4 5 6 7 x"] {
            assert_eq!(cpu_ticks(bad, "cpu"), None, "{bad:?}");
        }
    }

    #[test]
    fn the_stolen_share_is_of_the_time_between() {
        let earlier = CpuTicks { steal: 10, idle: 500, total: 1000 };
        let later = CpuTicks { steal: 35, idle: 525, total: 1100 };
        assert_eq!(later.steal_share_since(&earlier), 0.25);
        assert_eq!(later.busy_share_since(&earlier), 0.5);
        assert_eq!(later.steal_share_since(&later), 0.0);
        assert_eq!(earlier.steal_share_since(&later), 0.0, "counters that went back");
    }

    #[test]
    fn throttling_of_cpu_stat() {
        let version2 = "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 41000";
        let version1 = "nr_periods 9\nnr_throttled 3\nthrottled_time 41000000\nnr_bursts 0";
        let want = Some(Throttling { periods: 3, throttled_ns: 41_000_000 });
        assert_eq!([throttling(version2), throttling(version1)], [want, want]);
        for bad in ["", "usage_usec 5\nuser_usec 3", "nr_throttled 3", "nr_throttled x"] {
            assert_eq!(throttling(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn groups_above_count_too() {
        let of = |group: &str| match group {
            "/pod/box" => Some(Throttling { periods: 1, throttled_ns: 10 }),
            "/pod" => Some(Throttling { periods: 2, throttled_ns: 20 }),
            _ => None,
        };
        let groups =
            |paths: &[&str]| -> Vec<String> { paths.iter().map(|&path| path.to_owned()).collect() };
        let both = Some(Throttling { periods: 3, throttled_ns: 30 });
        assert_eq!(sum(groups(&["/pod/box", "/pod", ""]).iter(), of), both);
        assert_eq!(sum(groups(&["/"]).iter(), of), None);
    }

    #[test]
    fn what_came_since() {
        let earlier = Throttling { periods: 1, throttled_ns: 10 };
        let later = Throttling { periods: 4, throttled_ns: 35 };
        assert_eq!(later.since(&earlier), Throttling { periods: 3, throttled_ns: 25 });
        assert_eq!(earlier.since(&later), Throttling::default(), "counters that went back");
    }
}
