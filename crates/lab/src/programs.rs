//! Finds programs, runs commands of a suite to their end, and finds free ports.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use plimsoll_io::clock;

use crate::process::Process;

/// The file of a program that is looked for as a shell would.
#[must_use]
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        rustix::fs::access(path.as_path(), rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
    };
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(is_program)
}

/// How a command of a suite ended.
pub(crate) struct Ended {
    pub(crate) succeeded: bool,
    /// What it printed, both streams in one, up to a limit.
    pub(crate) output: String,
}

/// Between two looks at a command.
const LOOK: Duration = Duration::from_millis(5);
/// Most of a command's output that is read back.
const OUTPUT_MAX: u64 = 1 << 20;

/// Runs a line in a shell, in a folder, with its output in a file. `None`: it took too long, or
/// `stopped` said so.
pub(crate) fn shell(
    line: &str,
    folder: &Path,
    log: &Path,
    limit: Duration,
    stopped: &dyn Fn() -> bool,
) -> io::Result<Option<Ended>> {
    let file = File::options().create(true).append(true).read(true).open(log)?;
    let start = file.metadata()?.len();
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).stdin(Stdio::null());
    command.stdout(file.try_clone()?).stderr(file.try_clone()?);
    let mut process = Process::start_group(command, &[])?;
    let until_ns = clock::now_ns().saturating_add(limit.as_nanos() as u64);
    while !process.has_ended()? {
        if stopped() || clock::now_ns() >= until_ns {
            process.kill()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
    let Some(status) = process.finish(Duration::ZERO)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let mut file = file;
    file.seek(SeekFrom::Start(start))?;
    file.take(OUTPUT_MAX).read_to_end(&mut bytes)?;
    let output = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Some(Ended { succeeded: status.success(), output }))
}

/// The last lines of a file, `bytes_max` bytes at most.
pub(crate) fn tail(path: &Path, bytes_max: u64) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // A log that was never begun has no last lines.
    String::from_utf8_lossy(&read().unwrap_or_default()).trim_end().to_owned()
}

/// The last line of a text that says something.
pub(crate) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty())
}

/// Ports below those that the kernel gives to outgoing connections, so that none of a tester's is
/// in the way of a server that is started again.
pub(crate) struct Ports {
    next: u16,
    end: u16,
}

const PORTS_FIRST: u16 = 10_240;

impl Ports {
    /// From somewhere that depends on `spread`, so that two labs at once rarely meet.
    pub(crate) fn new(spread: u32) -> Self {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
        let low = range.ok().and_then(|text| text.split_whitespace().next()?.parse().ok());
        // Without room below, those above are as good.
        let end = low.filter(|low| *low > PORTS_FIRST + 1000).unwrap_or(32_768_u16);
        let room = u32::from(end - PORTS_FIRST);
        Self { next: PORTS_FIRST + (spread % room) as u16, end }
    }

    /// A port of 127.0.0.1 that nobody listens on at the moment.
    pub(crate) fn free(&mut self) -> Option<u16> {
        for _ in PORTS_FIRST..self.end {
            let port = self.next;
            self.next = if port + 1 < self.end { port + 1 } else { PORTS_FIRST };
            if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some(port);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_as_a_shell_would() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-program-at-all"), None);
        assert_eq!(find("/"), None);
    }

    #[test]
    fn commands_end_or_are_ended() {
        let scratch = tempfile::tempdir().expect("a folder");
        let log = scratch.path().join("log");
        let limit = Duration::from_secs(60);
        let run = |line: &str, limit| {
            shell(line, scratch.path(), &log, limit, &|| false).expect("a shell")
        };
        let good = run("pwd; echo two >&2", limit).expect("in time");
        assert!(good.succeeded && good.output.ends_with("two\n"), "{}", good.output);
        let bad = run("echo three; false", limit).expect("in time");
        assert!(!bad.succeeded && bad.output == "three\n", "only its own output");
        assert!(run("sleep 1000", Duration::from_millis(10)).is_none());
        assert_eq!(last_line(&tail(&log, 100)), Some("three"));
        assert_eq!(tail(&log, 3), "ee");
        assert_eq!(tail(&scratch.path().join("none"), 3), "");
    }

    #[test]
    fn ports_are_free_and_not_the_same() {
        let mut ports = Ports::new(12_345);
        let (a, b) = (ports.free().expect("one"), ports.free().expect("another"));
        assert_ne!(a, b);
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, a)).expect("it was free");
        let mut again = Ports { next: a, end: ports.end };
        assert_ne!(again.free(), Some(a));
        drop(taken);
    }
}
