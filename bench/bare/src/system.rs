//! The system calls that std doesn't offer: affinity, limits, CPU time, and file descriptors that
//! become readable when it is time to stop (so that no loop needs a timeout in each wait).

use std::io;
use std::net::{SocketAddrV4, TcpListener};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// Turns a system call's -1 into its error.
///
/// # Errors
/// The error in `errno`, when `result` is negative.
pub fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Keeps this thread on one CPU.
///
/// # Errors
/// The CPU doesn't exist, or isn't ours to use.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::other(format!("there is no CPU {cpu}")));
    }
    // SAFETY: a zeroed cpu_set_t is an empty set, `cpu` is below its size, and the set outlives
    // the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        check(libc::sched_setaffinity(0, size_of_val(&set), &raw const set))?;
    }
    Ok(())
}

/// Allows as many open files as the system lets us.
///
/// # Errors
/// None in practice: raising the soft limit to the hard one is always permitted.
pub fn raise_file_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls take a pointer to a whole rlimit that outlives them.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
    }
    Ok(())
}

/// A listening socket with the longest queue the system allows; its connections have TCP_NODELAY.
pub(crate) fn listen(address: SocketAddrV4) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the option's value is an int of the stated size.
    unsafe {
        check(libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        ))?;
        // A second listen only sets the queue's length; std's own is 128.
        check(libc::listen(listener.as_raw_fd(), 65_535))?;
    }
    Ok(listener)
}

/// Becomes readable once, after `seconds`.
///
/// # Errors
/// What timerfd returns.
pub fn stop_after(seconds: f64) -> io::Result<OwnedFd> {
    let value = libc::timespec {
        tv_sec: seconds as libc::time_t,
        tv_nsec: (seconds.fract() * 1e9) as libc::c_long,
    };
    let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let timer = libc::itimerspec { it_interval: never, it_value: value };
    // SAFETY: the descriptor just made belongs to no one else; `timer` outlives the call.
    unsafe {
        let fd = check(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK))?;
        let fd = OwnedFd::from_raw_fd(fd);
        check(libc::timerfd_settime(fd.as_raw_fd(), 0, &raw const timer, std::ptr::null_mut()))?;
        Ok(fd)
    }
}

/// Becomes readable on SIGTERM or SIGINT, which then no longer kill the process.
///
/// # Errors
/// What signalfd returns.
pub fn stop_on_signal() -> io::Result<OwnedFd> {
    // SAFETY: sigemptyset initialises the set before it is used; the descriptor just made belongs
    // to no one else.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        check(libc::sigemptyset(&raw mut signals))?;
        check(libc::sigaddset(&raw mut signals, libc::SIGTERM))?;
        check(libc::sigaddset(&raw mut signals, libc::SIGINT))?;
        check(libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(-1, &raw const signals, libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// This process's CPU time so far, and the most memory it had.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuTime {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    pub(crate) max_rss_bytes: u64,
}

impl CpuTime {
    pub(crate) fn now() -> Self {
        // SAFETY: an rusage of zeroes is valid, and getrusage only fills it in.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self {
            user_s: seconds(usage.ru_utime),
            system_s: seconds(usage.ru_stime),
            max_rss_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
        }
    }
}
