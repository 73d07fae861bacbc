//! Which control groups a process is in, where the kernel shows them, and what they allow this one.
//!
//! A machine has version 2, version 1 or, for different controllers, both. Within a container the
//! path that `/proc/self/cgroup` gives may begin above what is mounted there; what is not mounted
//! cannot be read and is left out.

use super::read;

/// The directories of this process's groups for one controller: its own first, then those above.
/// Either list may be empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Groups {
    /// Of the version 2 hierarchy, whether or not the controller is on it.
    pub version2: Vec<String>,
    /// Of the version 1 hierarchy that has the controller.
    pub version1: Vec<String>,
}

impl Groups {
    /// Finds those for `cpu`, `memory` and so on.
    pub(super) fn find(controller: &str) -> Self {
        Self::of(read("/proc/self/cgroup"), controller)
    }

    fn of(cgroup: Option<String>, controller: &str) -> Self {
        let mountinfo = read("/proc/self/mountinfo").unwrap_or_default();
        Self::parse(&mountinfo, &cgroup.unwrap_or_default(), controller)
    }

    /// The directory of the group itself, that of version 1 where both have one: a controller is
    /// on one of them only.
    fn own(self) -> Option<String> {
        self.version1.into_iter().chain(self.version2).next()
    }

    fn parse(mountinfo: &str, cgroup: &str, controller: &str) -> Self {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(mount).collect();
        let paths = |version2: bool| {
            let path = path(cgroup, version2, controller)?;
            let fits = |mount: &&Mount| mount.version2 == version2 && mount.has(controller);
            let mut fitting = mounts.iter().filter(fits);
            let first = fitting.clone().next()?;
            let mount = fitting.find(|mount| below(path, &mount.root).is_some()).unwrap_or(first);
            Some(directories(&mount.point, below(path, &mount.root).unwrap_or("")))
        };
        Self {
            version2: paths(true).unwrap_or_default(),
            version1: paths(false).unwrap_or_default(),
        }
    }
}

/// A mounted hierarchy.
struct Mount {
    version2: bool,
    /// The group that the mount point shows.
    root: String,
    point: String,
    /// Of version 1: the controllers, among other options.
    options: String,
}

impl Mount {
    fn has(&self, controller: &str) -> bool {
        self.version2 || self.options.split(',').any(|option| option == controller)
    }
}

/// A line of `/proc/self/mountinfo` (proc(5)): number, parent, device, root, mount point and more,
/// a lone dash, then type, source and options.
fn mount(line: &str) -> Option<Mount> {
    let (mount, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let version2 = match kind.next()? {
        "cgroup2" => true,
        "cgroup" => false,
        _ => return None,
    };
    let mut mount = mount.split(' ').skip(3);
    Some(Mount {
        version2,
        root: unescape(mount.next()?),
        point: unescape(mount.next()?),
        options: kind.nth(1).unwrap_or("").to_owned(),
    })
}

/// Undoes what the kernel does to spaces, tabs, line ends and backslashes in paths: `\040`.
fn unescape(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// This process's group in `/proc/self/cgroup`: `0::PATH` for version 2, otherwise
/// `NUMBER:CONTROLLERS:PATH`.
fn path<'a>(cgroup: &'a str, version2: bool, controller: &str) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = if version2 {
            number == "0" && controllers.is_empty()
        } else {
            controllers.split(',').any(|name| name == controller)
        };
        fits.then_some(path)
    })
}

/// The part of a group's path below the group `root`; `None` where it is not below it.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let is_below = (rest.is_empty() || rest.starts_with('/')) && !path.contains("/..");
    is_below.then_some(rest)
}

/// The directory of a group and those above it, up to the mount point.
fn directories(point: &str, group: &str) -> Vec<String> {
    let (point, mut group) = (point.trim_end_matches('/'), group.trim_end_matches('/'));
    let mut directories = vec![format!("{point}{group}")];
    while let Some((parent, _)) = group.rsplit_once('/') {
        group = parent;
        directories.push(format!("{point}{group}"));
    }
    directories
}

/// The control groups of another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path in the hierarchy that counts CPU time.
    pub path: String,
    /// The directory of the group that counts CPU time.
    pub cpu: Option<String>,
    /// The directory of the group that counts memory.
    pub memory: Option<String>,
}

impl Cgroup {
    /// Those of a process. `None` where they are this process's own, which say nothing of the other
    /// alone, or are not shown.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let cgroup = read(&format!("/proc/{pid}/cgroup"))?;
        let path = path(&cgroup, false, "cpu").or_else(|| path(&cgroup, true, "cpu"))?.to_owned();
        let other = |controller: &str| {
            let directory = Groups::of(Some(cgroup.clone()), controller).own()?;
            (Some(&directory) != Groups::find(controller).own().as_ref()).then_some(directory)
        };
        let (cpu, memory) = (other("cpu"), other("memory"));
        (cpu.is_some() || memory.is_some()).then_some(Self { path, cpu, memory })
    }
}

/// How many CPUs' worth of time the quotas of this process's groups allow it; `None` without one.
#[must_use]
pub fn cpu_limit() -> Option<f64> {
    let groups = Groups::find("cpu");
    let version2 = groups.version2.iter().filter_map(|group| {
        let text = read(&format!("{group}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        quota_cpus(quota, period)
    });
    let version1 = groups.version1.iter().filter_map(|group| {
        let quota = read(&format!("{group}/cpu.cfs_quota_us"))?;
        quota_cpus(&quota, &read(&format!("{group}/cpu.cfs_period_us"))?)
    });
    version2.chain(version1).min_by(f64::total_cmp)
}

/// `None` for no quota: `max` in version 2, -1 in version 1.
fn quota_cpus(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0).then(|| quota as f64 / period as f64)
}

/// The memory that the groups of this process allow all that is in them; `None` without a limit.
#[must_use]
pub fn memory_limit_bytes() -> Option<u64> {
    let groups = Groups::find("memory");
    let version2 = groups.version2.iter().map(|group| format!("{group}/memory.max"));
    let version1 = groups.version1.iter().map(|group| format!("{group}/memory.limit_in_bytes"));
    version2.chain(version1).filter_map(|path| memory_limit(&read(&path)?)).min()
}

/// Version 1 writes no limit as the largest number of pages there can be.
const NO_LIMIT_BYTES: u64 = 1 << 60;

/// `None` for no limit.
fn memory_limit(text: &str) -> Option<u64> {
    text.parse().ok().filter(|&bytes| bytes < NO_LIMIT_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION2: &str = "24 29 0:21 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw";
    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
    const JOINED: &str =
        "33 25 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct";
    const DOCKER1: &str = "716 713 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:9 - \
        cgroup cgroup rw,cpu,cpuacct";

    #[test]
    fn groups_are_found_in_both_versions() {
        for (name, mountinfo, cgroup, version2, version1) in [
            (
                "version 2",
                VERSION2,
                "0::/user.slice/a.scope",
                &[
                    "/sys/fs/cgroup/user.slice/a.scope",
                    "/sys/fs/cgroup/user.slice",
                    "/sys/fs/cgroup",
                ][..],
                &[][..],
            ),
            ("version 2 in a container", VERSION2, "0::/", &["/sys/fs/cgroup"], &[]),
            ("above what is mounted", VERSION2, "0::/../other", &["/sys/fs/cgroup"], &[]),
            (
                "both, controllers apart",
                HYBRID,
                "4:memory:/m\n2:cpuacct:/x\n1:cpu:/y\n0::/",
                &["/sys/fs/cgroup/unified"],
                &["/sys/fs/cgroup/cpu/y", "/sys/fs/cgroup/cpu"],
            ),
            (
                "version 1, controllers together",
                JOINED,
                "5:cpu,cpuacct:/user.slice",
                &[],
                &["/sys/fs/cgroup/cpu,cpuacct/user.slice", "/sys/fs/cgroup/cpu,cpuacct"],
            ),
            (
                "version 1 in a container: the mount shows the group itself",
                DOCKER1,
                "5:cpu,cpuacct:/docker/abc",
                &[],
                &["/sys/fs/cgroup/cpu,cpuacct"],
            ),
            (
                "a group whose name only begins alike",
                DOCKER1,
                "5:cpu,cpuacct:/docker/abcdef",
                &[],
                &["/sys/fs/cgroup/cpu,cpuacct"],
            ),
            ("missing", "", "", &[], &[]),
            ("malformed", "garbage - cgroup2\n1 - cgroup", "garbage\n0:\n::", &[], &[]),
            ("not mounted", "31 23 0:28 / /tmp rw - tmpfs tmpfs rw", "1:cpu:/y\n0::/", &[], &[]),
        ] {
            let own = |list: &[&str]| list.iter().map(|&path| path.to_owned()).collect();
            let want = Groups { version2: own(version2), version1: own(version1) };
            assert_eq!(Groups::parse(mountinfo, cgroup, "cpu"), want, "{name}");
        }
    }

    #[test]
    fn spaces_in_a_mount_point() {
        let line = "24 29 0:21 / /a\\040b rw - cgroup2 cgroup2 rw";
        assert_eq!(Groups::parse(line, "0::/", "cpu").version2, ["/a b"]);
    }

    #[test]
    fn a_group_shared_with_this_process_says_nothing() {
        assert_eq!(Cgroup::of(std::process::id()), None);
        assert_eq!(Cgroup::of(u32::MAX), None);
    }

    #[test]
    fn quotas_and_limits() {
        for (quota, period, want) in [
            ("20000", "100000", Some(0.2)),
            ("150000", "100000", Some(1.5)),
            ("max", "100000", None),
            ("-1", "100000", None),
            ("20000", "0", None),
            ("", "", None),
        ] {
            assert_eq!(quota_cpus(quota, period), want, "{quota} {period}");
        }
        for (text, want) in [
            ("268435456", Some(268_435_456)),
            ("max", None),
            ("9223372036854771712", None),
            ("", None),
        ] {
            assert_eq!(memory_limit(text), want, "{text}");
        }
    }
}
