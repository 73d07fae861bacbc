//! Network namespaces and CPU quotas for experiments, where the kernel permits them. All are
//! removed when their owner is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::harness::Process;

/// How long setting something up may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A name that no other run uses.
fn unique() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    format!("plimsoll-{}-{made}", std::process::id())
}

/// Runs a command to its end; an error says what it said.
pub(super) fn command(words: &[&str]) -> Result<(), String> {
    let [program, arguments @ ..] = words else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let cannot = |error: std::io::Error| format!("{program}: {error}");
    let mut process = Process::start(command, &[]).map_err(cannot)?;
    let stderr = process.child().stderr.take();
    match process.finish(LIMIT).map_err(cannot)? {
        Some(status) if status.success() => Ok(()),
        _ => {
            let mut said = String::new();
            if let Some(mut stderr) = stderr {
                // What it said is for people; half of it will do.
                let _ = std::io::Read::read_to_string(&mut stderr, &mut said);
            }
            Err(format!("{}: {}", words.join(" "), said.trim()))
        }
    }
}

/// A network of its own, with a loopback.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes one. `hosts`: what its `/etc/hosts` says, in place of the machine's.
    ///
    /// # Errors
    /// One line, when that is not allowed here.
    pub(super) fn new(hosts: Option<&str>) -> Result<Self, String> {
        let name = unique();
        command(&["ip", "netns", "add", &name])
            .map_err(|why| format!("needs network namespaces: {why}"))?;
        let namespace = Self { name };
        if let Some(hosts) = hosts {
            // `ip netns exec` puts what stands here over /etc.
            fs::create_dir_all(namespace.etc())
                .and_then(|()| fs::write(namespace.etc().join("hosts"), hosts))
                .map_err(|error| format!("needs /etc/netns: {error}"))?;
        }
        namespace.run(&["ip", "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }

    /// Moves an interface there and gives it an address, such as `10.0.0.1/30`.
    ///
    /// # Errors
    /// What `ip` said.
    pub(super) fn take(&self, interface: &str, address: &str) -> Result<(), String> {
        command(&["ip", "link", "set", interface, "netns", &self.name])?;
        self.run(&["ip", "addr", "add", address, "dev", interface])?;
        self.run(&["ip", "link", "set", interface, "up"])
    }

    /// What stands before a command line to run it there.
    pub(super) fn wrapper(&self) -> Vec<String> {
        ["ip", "netns", "exec", &self.name].map(str::to_owned).to_vec()
    }

    /// Runs a command there.
    ///
    /// # Errors
    /// What it said.
    pub(super) fn run(&self, words: &[&str]) -> Result<(), String> {
        command(&[&["ip", "netns", "exec", &self.name], words].concat())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What is left of it does no harm, and there is nobody to tell.
        let _ = command(&["ip", "netns", "del", &self.name]);
        let _ = fs::remove_dir_all(self.etc());
    }
}

/// A control group that has so much CPU in each period.
#[derive(Debug)]
pub(super) struct Quota {
    directory: PathBuf,
}

impl Quota {
    /// Makes one, of version 2 where it counts CPU, else of version 1.
    ///
    /// # Errors
    /// One line, when that is not allowed here.
    pub(super) fn new(quota_us: u32, period_us: u32) -> Result<Self, String> {
        let name = unique();
        let root = Path::new("/sys/fs/cgroup");
        let mut why = "no control group counts CPU".to_owned();
        let (both, quota, period) =
            (format!("{quota_us} {period_us}"), quota_us.to_string(), period_us.to_string());
        let v1: &[(&str, &str)] = &[("cpu.cfs_period_us", &period), ("cpu.cfs_quota_us", &quota)];
        let v2: &[(&str, &str)] = &[("cpu.max", &both)];
        let places = [(root.join(&name), v2), (root.join("cpu").join(&name), v1)];
        for (directory, files) in places {
            if !directory.parent().is_some_and(|parent| parent.join("cgroup.procs").exists()) {
                continue;
            }
            // Where it is not enabled already and cannot be, the files below are missing.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+cpu");
            if let Err(error) = fs::create_dir(&directory) {
                why = format!("{}: {error}", directory.display());
                continue;
            }
            let quota = Self { directory };
            let set = files.iter().try_for_each(|(file, value)| {
                fs::write(quota.directory.join(file), value)
                    .map_err(|error| format!("{file}: {error}"))
            });
            match set {
                Ok(()) => return Ok(quota),
                Err(error) => why = error,
            }
        }
        Err(format!("needs a control group with a CPU quota: {why}"))
    }

    /// What stands before a command line to run it there.
    pub(super) fn wrapper(&self) -> Vec<String> {
        let script =
            format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", self.directory.display());
        vec!["sh".to_owned(), "-c".to_owned(), script]
    }

    /// Periods in which the quota ran out.
    pub(super) fn throttled_periods(&self) -> Option<u64> {
        let stat = fs::read_to_string(self.directory.join("cpu.stat")).ok()?;
        stat.lines().find_map(|line| line.strip_prefix("nr_throttled "))?.trim().parse().ok()
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Its processes have been waited for; an empty group left over does no harm.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// What stands before a command line to limit its open files.
pub(super) fn few_files(most: u32) -> Vec<String> {
    let script = format!("ulimit -n {most} && exec \"$0\" \"$@\"");
    vec!["sh".to_owned(), "-c".to_owned(), script]
}
