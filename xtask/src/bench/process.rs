//! Child processes: started on a given CPU, bounded in time, never left behind.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use wait4::{ResUse, Wait4 as _};

use super::host;

/// How often a child that should be ending is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often memory is sampled. Each sample disturbs a little, so it is only done where asked.
const SAMPLE: Duration = Duration::from_millis(250);

/// A folder for output and configurations, removed in the end.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// A new folder in the system's place for such.
    pub(super) fn create() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("plimsoll-bench-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing depends on it: what is left lies among other temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// How to start a child.
#[derive(Debug)]
pub(super) struct Start<'a> {
    /// The program.
    pub(super) program: &'a Path,
    /// Its arguments.
    pub(super) arguments: &'a [String],
    /// The CPU it and all its threads run on.
    pub(super) cpu: usize,
    /// Whether its stderr is a terminal.
    pub(super) terminal: bool,
}

/// A running child, killed when dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    reaped: bool,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// What a child left.
#[derive(Debug)]
pub(super) struct Ended {
    /// What it printed.
    pub(super) stdout: String,
    /// User and system time, by the kernel's account.
    pub(super) cpu: Duration,
    /// The most memory it had.
    pub(super) rss_peak_bytes: u64,
    /// Resident memory over time, if it was to be sampled.
    pub(super) resident: Vec<(Duration, u64)>,
}

impl Process {
    /// Starts a child; what it prints goes to files in the folder.
    pub(super) fn start(start: &Start<'_>, name: &str, folder: &Folder) -> Result<Self> {
        let stdout = folder.path().join(format!("{name}.out"));
        let stderr = folder.path().join(format!("{name}.err"));
        let mut command = Command::new(start.program);
        command.args(start.arguments).stdin(Stdio::null()).stdout(File::create(&stdout)?);
        let errors = File::create(&stderr)?;
        command.stderr(if start.terminal { terminal()? } else { errors.into() });
        let child = host::pinned(start.cpu, || command.spawn())?
            .with_context(|| format!("cannot start {}", start.program.display()))?;
        Ok(Self { child, reaped: false, stdout, stderr })
    }

    /// Its process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has printed so far.
    pub(super) fn printed(&self) -> String {
        fs::read(&self.stdout).map(|bytes| lossy(&bytes)).unwrap_or_default()
    }

    /// An error with this reason and the end of what the child said on stderr.
    pub(super) fn complaint(&self, reason: &str) -> anyhow::Error {
        let said = fs::read(&self.stderr).map(|bytes| lossy(&bytes)).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        anyhow::anyhow!("{reason}: {}", last.chars().take(200).collect::<String>())
    }

    /// Waits for the child to end by itself, which it should do after about `expected`. Until then
    /// it is left alone: looking at it takes CPU time from the measurement.
    pub(super) fn wait(mut self, expected: Duration, sample: bool) -> Result<Ended> {
        let limit = expected * 2 + Duration::from_secs(20);
        let began = Instant::now();
        let mut resident = Vec::new();
        let mut pause = LOOK * 10;
        loop {
            thread::sleep(pause);
            if let Some(used) = self.try_reap()? {
                return self.ended(used, resident);
            }
            let elapsed = began.elapsed();
            if elapsed > limit {
                bail!(self.complaint(&format!("did not end within {limit:?}")));
            }
            if sample {
                resident.extend(host::resident_bytes(self.id()).map(|bytes| (elapsed, bytes)));
            }
            pause = match expected.checked_sub(elapsed) {
                Some(_) if sample => SAMPLE,
                Some(left) => left.max(LOOK),
                None => LOOK,
            };
        }
    }

    /// Asks the child to end and waits until it has.
    pub(super) fn terminate(mut self) -> Result<Ended> {
        if let Some(pid) = i32::try_from(self.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, Signal::TERM).ok();
        }
        let deadline = Instant::now() + Duration::from_secs(5);
        while Instant::now() < deadline {
            if let Some(used) = self.try_reap()? {
                return Ok(self.left(used, Vec::new()));
            }
            thread::sleep(LOOK);
        }
        bail!(self.complaint("did not end when asked to"))
    }

    /// Whether the child has ended; it can only be asked for what it used once.
    pub(super) fn try_reap(&mut self) -> Result<Option<ResUse>> {
        let used = self.child.try_wait4()?;
        self.reaped = used.is_some();
        Ok(used)
    }

    fn ended(&self, used: ResUse, resident: Vec<(Duration, u64)>) -> Result<Ended> {
        if !used.status.success() {
            bail!(self.complaint(&used.status.to_string()));
        }
        Ok(self.left(used, resident))
    }

    fn left(&self, used: ResUse, resident: Vec<(Duration, u64)>) -> Ended {
        Ended {
            stdout: self.printed(),
            cpu: used.rusage.utime + used.rusage.stime,
            rss_peak_bytes: used.rusage.maxrss,
            resident,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.reaped {
            // Both fail only if the child is gone already.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// One end of a new terminal. What is written to it is read at once and forgotten.
fn terminal() -> Result<Stdio> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("cannot open a terminal")?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
    let name = ptsname(&ours, Vec::new())?;
    let theirs = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    let mut ours = File::from(ours);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // Fails once the child has closed its end.
        while ours.read(&mut buffer).is_ok_and(|n| n > 0) {}
    });
    Ok(theirs.into())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, terminal: bool, folder: &Folder) -> Process {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let program = Path::new("/bin/sh");
        // The first CPU we may use; which one that is differs between machines.
        let set = rustix::thread::sched_getaffinity(None).unwrap();
        let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| set.is_set(cpu)).unwrap();
        let start = Start { program, arguments: &arguments, cpu, terminal };
        Process::start(&start, "child", folder).unwrap()
    }

    /// One test, because the folder is named after the process.
    #[test]
    fn children() {
        let folder = Folder::create().unwrap();
        let ended = shell("echo hello; test -t 2 || echo no terminal", false, &folder);
        let ended = ended.wait(Duration::ZERO, true).unwrap();
        assert_eq!(ended.stdout, "hello\nno terminal\n");
        assert!(ended.rss_peak_bytes > 0);

        let ended = shell("test -t 2 && echo terminal", true, &folder);
        assert_eq!(ended.wait(Duration::ZERO, false).unwrap().stdout, "terminal\n");

        let error = shell("echo first; echo no luck >&2; exit 3", false, &folder);
        let error = error.wait(Duration::ZERO, false).unwrap_err();
        assert_eq!(error.to_string(), "exit status: 3: no luck");

        let ended = shell("exec sleep 1000", false, &folder).terminate().unwrap();
        assert_eq!(ended.stdout, "");
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
