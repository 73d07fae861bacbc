//! What the process or one thread has used: CPU time, memory, and how often it was taken off its
//! CPU. Totals since the start; a figure for a stretch of time is the difference of two readings.

use super::read;

/// What getrusage(2) counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rusage {
    /// CPU time spent in the program, microseconds.
    pub cpu_user_us: u64,
    /// CPU time spent in the kernel on its behalf, microseconds.
    pub cpu_system_us: u64,
    /// Times the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// Times the CPU was given up to wait.
    pub voluntary_switches: u64,
}

impl Rusage {
    /// All threads of this process, also those that have ended.
    #[must_use]
    pub fn of_process() -> Self {
        usage(libc::RUSAGE_SELF)
    }

    /// The calling thread. `None` on systems that count processes only.
    #[must_use]
    pub fn of_thread() -> Option<Self> {
        #[cfg(target_os = "linux")]
        return Some(usage(libc::RUSAGE_THREAD));
        #[cfg(not(target_os = "linux"))]
        return None;
    }

    /// CPU time in all, microseconds.
    #[must_use]
    pub fn cpu_us(&self) -> u64 {
        self.cpu_user_us + self.cpu_system_us
    }
}

fn usage(who: libc::c_int) -> Rusage {
    let usage = rusage(who);
    Rusage {
        cpu_user_us: microseconds(usage.ru_utime),
        cpu_system_us: microseconds(usage.ru_stime),
        involuntary_switches: count(usage.ru_nivcsw),
        voluntary_switches: count(usage.ru_nvcsw),
    }
}

/// The CPU time of any process, all its threads and those that have ended, ns. `None` where there
/// is no such process or the system does not tell.
///
/// `/proc` tells it in ticks of 10 ms, which is too coarse for a second of an idle server.
#[must_use]
pub fn process_cpu_ns(pid: u32) -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        // clock_getcpuclockid(3) of Linux: the complement of the number above three bits, of which
        // 2 stands for CPU time as the scheduler counts it.
        let id = (!i32::try_from(pid).ok()? << 3) | 2;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a writable `timespec` that outlives the call; any clock id may be asked
        // for, and one that is not valid is an error.
        let status = unsafe { libc::clock_gettime(id, &raw mut time) };
        (status == 0).then(|| count(time.tv_sec) * 1_000_000_000 + count(time.tv_nsec))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pid;
        None
    }
}

fn rusage(who: libc::c_int) -> libc::rusage {
    // SAFETY: `rusage` is made of integers only, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a writable `rusage` that outlives the call.
    let status = unsafe { libc::getrusage(who, &raw mut usage) };
    assert_eq!(status, 0, "getrusage fails only for an unknown `who`");
    usage
}

fn microseconds(time: libc::timeval) -> u64 {
    count(time.tv_sec) * 1_000_000 + count(time.tv_usec)
}

/// A counter of the kernel's, which is signed in C and never negative.
fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Bytes in the unit of `ru_maxrss`.
const MAXRSS_UNIT_BYTES: u64 = if cfg!(target_os = "macos") { 1 } else { 1024 };

/// The most memory of this process that was resident at once, since the program began.
///
/// Linux counts into `ru_maxrss` what was resident before execve(2) too, which is the memory of
/// whatever started the program; `/proc` tells of the program alone.
#[must_use]
pub fn rss_peak_bytes() -> u64 {
    let told = read("/proc/self/status").and_then(|status| peak_kib(&status)?.checked_mul(1024));
    told.unwrap_or_else(|| count(rusage(libc::RUSAGE_SELF).ru_maxrss) * MAXRSS_UNIT_BYTES)
}

/// The line `VmHWM:   1234 kB` of `/proc/PID/status`.
fn peak_kib(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    value.split_whitespace().next()?.parse().ok()
}

/// Memory of this process resident now. `None` where `/proc` does not tell.
#[must_use]
pub fn rss_bytes() -> Option<u64> {
    let pages = resident_pages(&read("/proc/self/statm")?)?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

/// The second field of `/proc/PID/statm`.
fn resident_pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

/// Time the calling thread has spent ready to run and without a CPU, ns, since it began. `None`
/// where the kernel does not tell (Linux without schedstat, other systems).
#[must_use]
pub fn run_delay_ns() -> Option<u64> {
    run_delay(&read("/proc/thread-self/schedstat")?)
}

/// The second of schedstat's fields: on CPU, waiting for one, time slices.
fn run_delay(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_delay_is_the_second_field() {
        assert_eq!(run_delay("3100931 18043 7"), Some(18043));
        assert_eq!(run_delay(""), None);
    }

    #[test]
    fn resident_pages_of_statm() {
        for (text, want) in
            [("765 432 403 5 0 123 0", Some(432)), ("765", None), ("1 x 2", None), ("", None)]
        {
            assert_eq!(resident_pages(text), want, "{text:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_thread_burns_its_process_burned() {
        let thread_us = || Rusage::of_thread().expect("Linux counts threads").cpu_us();
        let process_before_us = Rusage::of_process().cpu_us();
        let thread_before_us = thread_us();
        while thread_us() < thread_before_us + 1000 {
            std::hint::spin_loop();
        }
        // User and system time are each rounded down to a microsecond.
        assert!(Rusage::of_process().cpu_us() >= process_before_us + 1000 - 2);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_of_a_process_is_its_usage() {
        let before_us = Rusage::of_process().cpu_us();
        let clock_us = process_cpu_ns(std::process::id()).expect("this process") / 1000;
        let after_us = Rusage::of_process().cpu_us();
        // User and system time are each rounded down to a microsecond.
        assert!(before_us <= clock_us + 2 && clock_us <= after_us + 2);
        assert_eq!(process_cpu_ns(u32::MAX), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn resident_memory_and_its_peak_are_told() {
        let resident = rss_bytes().expect("Linux tells the resident size");
        let peak = rss_peak_bytes();
        assert!(resident > 0 && peak > 0, "{resident} resident, {peak} at the peak");
    }

    #[test]
    fn peak_of_status() {
        let status = "VmSize:\t 9 kB\nVmHWM:\t   5124 kB\nVmRSS:\t 4 kB\n";
        for (text, want) in [(status, Some(5124)), ("VmHWM:", None), ("VmHWM: x kB", None)] {
            assert_eq!(peak_kib(text), want, "{text:?}");
        }
    }
}
