//! One watched process: its readings, with the cheap ones apart from the expensive ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use plimsoll_io::host::process_cpu_ns;

use super::busy::{Busy, Thread};
use super::lost::ignores_children;
use super::readings::{Stat, kib_as_bytes, numbers_in, read, read_or, switches};
use super::switches::Switches;
use super::tree::{Cpu, Reading};

/// More than what stands before the lines on memory: lists of groups and namespaces are short.
const STATUS_BYTES: usize = 4096;

/// A process and what was last read of it.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    /// Kept open: it costs less to read, and never becomes another process's.
    status: Option<File>,
    /// The share of user mode in its time, as the kernel's ticks have it.
    user_share: f64,
    /// It has not ended, nor is it a zombie.
    pub is_alive: bool,
    pub start_ticks: u64,
    pub rss_bytes: u64,
    pub threads: u32,
    pub open_files: Option<u64>,
    pub switches: Switches,
    pub busy: Busy,
    pub parent: u32,
    /// Its children are not waited for.
    pub ignores_children: bool,
    /// The kernel's record of the most that was resident, since the program began.
    rss_record_bytes: u64,
    rss_record_before_bytes: u64,
}

impl Process {
    /// A process that was just found. Its record of memory counts whole if it `is_born` in the
    /// measured part.
    pub(super) fn new(pid: u32, is_born: bool) -> Self {
        let mut process = Self {
            pid,
            status: File::open(format!("/proc/{pid}/status")).ok(),
            user_share: 1.0,
            is_alive: true,
            start_ticks: 0,
            rss_bytes: 0,
            threads: 0,
            open_files: None,
            switches: Switches::default(),
            busy: Busy::default(),
            parent: 0,
            ignores_children: false,
            rss_record_bytes: 0,
            rss_record_before_bytes: 0,
        };
        process.see_memory();
        process.rss_record_before_bytes = if is_born { 0 } else { process.rss_record_bytes };
        process
    }

    /// Starts over.
    pub(super) fn begin(&mut self) {
        self.switches.begin();
        self.busy = Busy::default();
        self.rss_record_before_bytes = self.rss_record_bytes;
    }

    /// Takes its line of `/proc/PID/stat`, and its CPU time.
    pub(super) fn take(&mut self, stat: &Stat) -> Reading {
        let ticks = stat.user_ticks + stat.system_ticks;
        if ticks > 0 {
            self.user_share = stat.user_ticks as f64 / ticks as f64;
        }
        self.is_alive = !stat.is_zombie;
        self.start_ticks = stat.start_ticks;
        self.parent = stat.parent;
        self.threads = if self.is_alive { stat.threads } else { 0 };
        self.see_memory();
        let reaped = ns(stat.reaped_user_ticks + stat.reaped_system_ticks);
        Reading {
            parent: stat.parent,
            start_ticks: stat.start_ticks,
            own: self.own_cpu().unwrap_or_else(|| self.split(ns(ticks))),
            reaped: Cpu { total_ns: reaped, user_ns: ns(stat.reaped_user_ticks) },
        }
    }

    /// Looks at memory and at the CPU time so far.
    pub(super) fn look(&mut self) -> Option<Cpu> {
        self.see_memory();
        // Every program has some memory; one that has ended has none.
        self.is_alive = self.rss_bytes > 0;
        if self.is_alive { self.own_cpu() } else { None }
    }

    /// The kernel adds up its counters for `status`; `stat` and `statm` tell an estimate, which is
    /// off by as much as a small server has.
    fn see_memory(&mut self) {
        let mut bytes = [0; STATUS_BYTES];
        let length = self.status.as_ref().and_then(|status| status.read_at(&mut bytes, 0).ok());
        let text = String::from_utf8_lossy(&bytes[..length.unwrap_or(0)]);
        self.rss_bytes = kib_as_bytes(&text, "VmRSS").unwrap_or(0);
        self.ignores_children |= ignores_children(&text);
        let record_bytes = kib_as_bytes(&text, "VmHWM").unwrap_or(0);
        self.rss_record_bytes = self.rss_record_bytes.max(record_bytes);
    }

    fn own_cpu(&self) -> Option<Cpu> {
        process_cpu_ns(self.pid).map(|total_ns| self.split(total_ns))
    }

    fn split(&self, total_ns: u64) -> Cpu {
        Cpu { total_ns, user_ns: (total_ns as f64 * self.user_share) as u64 }
    }

    /// Sees how much each thread has used, which costs a file for each.
    pub(super) fn see_threads(&mut self, now_ns: u64) {
        let directory = format!("/proc/{}/task", self.pid);
        let numbers = numbers_in(&directory).unwrap_or_default();
        let threads = numbers.into_iter().filter_map(|number| {
            let stat = Stat::parse(&read(&format!("{directory}/{number}/stat"))?)?;
            let ticks = stat.user_ticks + stat.system_ticks;
            Some(Thread { number, start_ticks: stat.start_ticks, cpu_ns: ns(ticks) })
        });
        let threads: Vec<Thread> = threads.collect();
        // One that has ended has none; what its threads had is kept.
        if self.is_alive && !threads.is_empty() {
            self.busy.put(now_ns, &threads);
        }
    }

    /// Counts what may cost a file for each thread or each open file.
    pub(super) fn count(&mut self) {
        if !self.is_alive {
            self.open_files = Some(0);
            return;
        }
        self.open_files = open_files(self.pid);
        let directory = format!("/proc/{}/task", self.pid);
        let threads = numbers_in(&directory).unwrap_or_default();
        let counts: BTreeMap<_, _> = threads
            .into_iter()
            .filter_map(|t| Some((t, switches(&read(&format!("{directory}/{t}/status"))?)?)))
            .collect();
        if !counts.is_empty() {
            self.switches.put(counts);
        }
    }

    /// The most that was resident in the measured part, where the kernel's record rose in it: then
    /// it is exact, however short the peak was.
    pub(super) fn rss_record_of_run_bytes(&self) -> Option<u64> {
        let rose = self.rss_record_bytes > self.rss_record_before_bytes;
        rose.then_some(self.rss_record_bytes)
    }

    /// Its resident memory, shared pages by halves, thirds and so on. The kernel walks the pages of
    /// the whole process for it.
    ///
    /// # Errors
    /// It may not be read, or not here.
    pub(super) fn pss_bytes(&self) -> std::io::Result<u64> {
        if !self.is_alive {
            return Ok(0);
        }
        match read_or(&format!("/proc/{}/smaps_rollup", self.pid)) {
            Ok(text) => kib_as_bytes(&text, "Pss").ok_or_else(|| ErrorKind::InvalidData.into()),
            // It ended meanwhile.
            Err(error) if error.raw_os_error() == Some(NO_SUCH_PROCESS) => Ok(0),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.is_there() => Ok(0),
            Err(error) => Err(error),
        }
    }

    fn is_there(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks)
    }
}

/// ESRCH, which the standard library has no name for.
const NO_SUCH_PROCESS: i32 = rustix::io::Errno::SRCH.raw_os_error();

/// Since Linux 6.2 the directory's size is their number; before, they have to be counted.
fn open_files(pid: u32) -> Option<u64> {
    let path = format!("/proc/{pid}/fd");
    let size = std::fs::metadata(&path).ok()?.size();
    if size > 0 { Some(size) } else { Some(numbers_in(&path)?.len() as u64) }
}

pub(super) fn ns(ticks: u64) -> u64 {
    ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// The process a number belongs to is in a network namespace of its own: the path of its counters.
pub(super) fn own_network(pid: u32) -> Result<Option<String>, std::io::Error> {
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net"));
    let is_own = namespace(&pid.to_string())? != namespace("self")?;
    Ok(is_own.then(|| format!("/proc/{pid}/net/dev")))
}

/// Clock ticks since the start of the machine, in which processes' starts are told.
pub(super) fn ticks_now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let ticks = rustix::param::clock_ticks_per_second();
    let whole = u64::try_from(time.tv_sec).unwrap_or(0) * ticks;
    whole + u64::try_from(time.tv_nsec).unwrap_or(0) * ticks / 1_000_000_000
}
