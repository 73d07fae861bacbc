//! A control group for one program and everything it starts. The kernel counts the CPU time of the
//! group completely, including processes that live for a millisecond, that no parent waits for, or
//! that have left the tree they were started in. Removing the group ends what is still in it.
//!
//! The group is made below this process's own: in version 2, which needs no controller for it, or
//! in version 1's `cpuacct`. If the new group would also get its own share of the CPUs, it is not
//! made, because that would change what is measured.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::cgroup::Groups;

/// A control group of our own, removed when dropped.
#[derive(Debug)]
pub struct OwnCgroup {
    counter: CgroupCounter,
}

/// Reads what a control group counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupCounter {
    directory: PathBuf,
}

/// CPU time of all that was ever in a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CgroupCpu {
    /// In all, ns.
    pub total_ns: u64,
    /// Of it, in user mode, ns.
    pub user_ns: u64,
}

/// How often a group is tried to be emptied and removed, and how long to wait in between.
const TRIES: u32 = 1000;
const WAIT: Duration = Duration::from_millis(2);
/// Groups within groups that are looked into.
const DEPTH: u32 = 8;

impl OwnCgroup {
    /// Makes one of this name.
    ///
    /// # Errors
    /// Why no group could be made: one line.
    pub fn make(name: &str) -> Result<Self, String> {
        let groups = Groups::find("cpuacct");
        let places = [groups.version2.first(), groups.version1.first()];
        let mut why = "no control groups are shown".to_owned();
        for place in places.into_iter().flatten() {
            match Self::make_in(Path::new(place), name) {
                Ok(group) => return Ok(group),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    fn make_in(place: &Path, name: &str) -> Result<Self, String> {
        let directory = place.join(name);
        // One of the same name is of a program that was killed.
        remove(&directory, 0);
        fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        let group = Self { counter: CgroupCounter { directory } };
        let has = |file: &str| group.counter.directory.join(file).exists();
        if has("cpu.weight") || has("cpu.shares") {
            return Err("a group of its own would get a share of the CPUs of its own".to_owned());
        }
        if group.counter.cpu().is_none() {
            return Err("control groups do not count CPU time".to_owned());
        }
        Ok(group)
    }

    /// Has a command start in the group. Where it cannot be entered, starting fails.
    ///
    /// # Errors
    /// The group cannot be opened.
    pub fn holds(&self, command: &mut Command) -> io::Result<()> {
        use std::os::unix::process::CommandExt as _;
        let file = File::options().write(true).open(self.counter.directory.join("cgroup.procs"))?;
        let enter = move || rustix::io::write(&file, b"0").map(drop).map_err(io::Error::from);
        // SAFETY: between fork and exec only what is async-signal-safe may be done: this is one
        // write(2) of a constant to a file that is open already, without allocation or lock.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// What reads its counters.
    #[must_use]
    pub fn counter(&self) -> &CgroupCounter {
        &self.counter
    }

    /// Kills all that is in it and removes it. Once it is gone, nothing.
    pub fn remove(&self) {
        remove(&self.counter.directory, 0);
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        self.remove();
    }
}

impl CgroupCounter {
    /// CPU time so far; `None` where it is not told, or the group is gone.
    #[must_use]
    pub fn cpu(&self) -> Option<CgroupCpu> {
        let read = |name: &str| fs::read_to_string(self.directory.join(name)).ok();
        let second = read("cpu.stat").and_then(|text| {
            let us = |name| super::field(&text, name, ' ')?.parse::<u64>().ok()?.checked_mul(1000);
            Some(CgroupCpu { total_ns: us("usage_usec")?, user_ns: us("user_usec")? })
        });
        second.or_else(|| {
            let ns = |name| read(name)?.trim().parse::<u64>().ok();
            let total_ns = ns("cpuacct.usage")?;
            Some(CgroupCpu { total_ns, user_ns: ns("cpuacct.usage_user")?.min(total_ns) })
        })
    }

    /// The processes in it now, and in groups within it.
    #[must_use]
    pub fn processes(&self) -> Vec<u32> {
        let mut found = processes(&self.directory, 0);
        found.sort_unstable();
        found.dedup();
        found
    }
}

fn processes(directory: &Path, depth: u32) -> Vec<u32> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    // One of another namespace of process numbers is told as 0.
    let own = text.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid > 0);
    let within = folders(directory, depth);
    own.chain(within.iter().flat_map(|folder| processes(folder, depth + 1))).collect()
}

fn folders(directory: &Path, depth: u32) -> Vec<PathBuf> {
    if depth >= DEPTH {
        return Vec::new();
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|it| it.path())
        .collect()
}

fn remove(directory: &Path, depth: u32) {
    for _ in 0..TRIES {
        if !directory.exists() {
            return;
        }
        // A kernel of before 5.14 has no such file; then one by one, until none is new.
        let _ = fs::write(directory.join("cgroup.kill"), "1");
        for pid in processes(directory, depth) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        for folder in folders(directory, depth) {
            remove(&folder, depth + 1);
        }
        // It is busy while those that were killed end.
        if fs::remove_dir(directory).is_ok() {
            return;
        }
        thread::sleep(WAIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up group: files of a folder.
    fn counter(files: &[(&str, &str)]) -> (tempfile::TempDir, CgroupCounter) {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let directory = folder.path().to_path_buf();
        (folder, CgroupCounter { directory })
    }

    #[test]
    fn both_versions_are_read() {
        let want = Some(CgroupCpu { total_ns: 5_000_000, user_ns: 2_000_000 });
        for (files, want) in [
            (&[("cpu.stat", "usage_usec 5000\nuser_usec 2000\nsystem_usec 3000\n")][..], want),
            (&[("cpuacct.usage", "5000000\n"), ("cpuacct.usage_user", "2000000\n")], want),
            // Version 1 has this file too, with other lines.
            (
                &[
                    ("cpu.stat", "nr_periods 0\n"),
                    ("cpuacct.usage", "5000000\n"),
                    ("cpuacct.usage_user", "2000000\n"),
                ],
                want,
            ),
            (&[("cpu.stat", "nr_periods 0\n")], None),
            (&[], None),
        ] {
            let (_folder, counter) = counter(files);
            assert_eq!(counter.cpu(), want, "{files:?}");
        }
    }

    #[test]
    fn processes_of_groups_within_belong() {
        let files = [("cgroup.procs", "7\n3\n0\n"), ("a/b/cgroup.procs", "9\n7\n")];
        let (_folder, counter) = counter(&files);
        assert_eq!(counter.processes(), [3, 7, 9]);
    }

    /// Where none can be made, as in most containers, there is a reason to show.
    #[test]
    fn what_is_put_in_is_counted_and_goes_with_it() {
        let name = format!("plimsoll-test-{}", std::process::id());
        let group = match OwnCgroup::make(&name) {
            Ok(group) => group,
            Err(why) => {
                assert!(!why.is_empty() && !why.contains('\n'), "{why}");
                return;
            }
        };
        let before = group.counter().cpu().expect("it counts");
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 1000"]);
        group.holds(&mut command).expect("it can be opened");
        let Ok(mut child) = command.spawn() else { return };
        assert!(group.counter().processes().contains(&child.id()));
        while group.counter().cpu().expect("it counts") == before {
            thread::yield_now();
        }
        let directory = group.counter().directory.clone();
        drop(group);
        assert!(!directory.exists(), "{}", directory.display());
        let ended = child.wait().expect("our child");
        assert!(!ended.success(), "it was killed");
    }
}
