//! The clocks, and what a thread can ask of the scheduler so that its clock is worth reading.
//!
//! Time inside the program is `u64` nanoseconds of `CLOCK_MONOTONIC` since an origin fixed the
//! first time the clock is read, so that times of all drivers and threads of the process compare.
//!
//! Absent on purpose: anything that sleeps. Waiting is the drivers'.

use std::io;
use std::sync::OnceLock;
use std::time::SystemTime;

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` at the origin, ns.
static ORIGIN_NS: OnceLock<u64> = OnceLock::new();

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    // Neither field is negative for the clocks read here; 2^64 ns are 584 years.
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Where the origin lies on `CLOCK_MONOTONIC`, ns. The first reading comes out as 1, because 0
/// stands for "do not wait" in [`Driver::wait`](crate::Driver::wait).
pub(crate) fn origin_ns() -> u64 {
    *ORIGIN_NS.get_or_init(|| read_ns(ClockId::Monotonic).saturating_sub(1))
}

/// Monotonic time since the process's origin, ns; never 0.
#[must_use]
pub fn now_ns() -> u64 {
    let origin = origin_ns();
    read_ns(ClockId::Monotonic).saturating_sub(origin).max(1)
}

/// The wall clock, which may be set at any time, ns since 1970.
pub(crate) fn realtime_ns() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    (time.tv_sec as i64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as i64)
}

/// The wall clock, for stamps on results; never for measuring.
#[must_use]
pub fn wall_time() -> SystemTime {
    SystemTime::now()
}

/// CPU time this thread has used, user and system, ns.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::ThreadCPUTime)
}

/// Sets how late the kernel may let this thread's timers fire to save power. Linux's default is
/// 50 µs, which is most of a timed request's lateness; 1 is the least. Does nothing elsewhere.
///
/// # Errors
/// What `prctl(PR_SET_TIMERSLACK)` returns.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(slack_ns))?;
    #[cfg(not(target_os = "linux"))]
    let _ = slack_ns;
    Ok(())
}

/// Ties this thread to one CPU.
///
/// # Errors
/// Those of [`pin_to_cpus`].
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    pin_to_cpus(&[cpu])
}

/// Ties this thread, and the processes it starts from now on, to these CPUs.
///
/// # Errors
/// `EINVAL` when there are none, or one does not exist or may not be used; `Unsupported` where
/// threads cannot be tied to CPUs.
pub fn pin_to_cpus(cpus: &[usize]) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_setaffinity};
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let mut set = CpuSet::new();
        for cpu in cpus {
            if *cpu >= CpuSet::MAX_CPU {
                return Err(invalid());
            }
            set.set(*cpu);
        }
        sched_setaffinity(None, &set)?;
        // The kernel leaves out what is not there, as long as one is.
        let tied = allowed_cpus();
        if cpus.iter().all(|cpu| tied.contains(cpu)) { Ok(()) } else { Err(invalid()) }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = cpus;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The CPUs this thread may run on, ascending. Where the system does not say: all it has.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    #[cfg(target_os = "linux")]
    {
        use rustix::thread::{CpuSet, sched_getaffinity};
        if let Ok(set) = sched_getaffinity(None) {
            return (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
        }
    }
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_is_zero_and_never_goes_back() {
        let mut last = now_ns();
        assert!(last > 0);
        for _ in 0..10_000 {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = thread_cpu_ns();
        let mut sum = 0_u64;
        while thread_cpu_ns() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(thread_cpu_ns() > before);
    }

    #[test]
    fn a_thread_can_be_tied_to_each_cpu_it_may_use_and_to_no_other() {
        std::thread::spawn(|| {
            let cpus = allowed_cpus();
            assert!(!cpus.is_empty());
            if cfg!(target_os = "linux") {
                let last = *cpus.last().expect("not empty");
                pin_to_cpu(last).expect("it is allowed");
                assert_eq!(allowed_cpus(), [last]);
                assert!(pin_to_cpu(usize::MAX).is_err());
            }
        })
        .join()
        .expect("the thread ends well");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn timer_slack_is_set() {
        std::thread::spawn(|| {
            set_timer_slack_ns(1).expect("always allowed for oneself");
            assert_eq!(rustix::thread::current_timer_slack().expect("readable"), 1);
        })
        .join()
        .expect("the thread ends well");
    }
}
