//! What a process holds, as `/proc` tells.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Memory and sockets of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) rss_kib: u64,
    pub(super) sockets: usize,
}

impl Process {
    pub(super) fn of(id: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
        let number = line.split_whitespace().next().expect("a number");
        let rss_kib = number.parse().expect("a number");
        let files = fs::read_dir(format!("/proc/{id}/fd")).expect("it runs");
        let is_socket = |link: &fs::DirEntry| {
            fs::read_link(link.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket"))
        };
        Self { rss_kib, sockets: files.flatten().filter(is_socket).count() }
    }
}

/// The process once it holds no more sockets than these, or after a time in which it should.
pub(super) fn settled(id: u32, sockets: impl Fn() -> usize) -> Process {
    let start = Instant::now();
    loop {
        let now = Process::of(id);
        if now.sockets <= sockets() || start.elapsed() > Duration::from_secs(20) {
            return now;
        }
        thread::park_timeout(Duration::from_millis(50));
    }
}
