//! Timeouts finer than the whole milliseconds of `epoll_wait`: a timerfd in the same poll.
//!
//! It is armed only for deadlines that are near, and only when they change, because arming is a
//! system call. Elsewhere than on Linux the poll's own timeout has to do (kqueue's is in ns).

use std::io;
use std::time::Duration;

#[cfg(target_os = "linux")]
use {
    mio::{Interest, Registry, Token, unix::SourceFd},
    rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
    std::os::fd::{AsRawFd as _, OwnedFd},
};

/// Deadlines farther away than this are first approached with a timeout in ms.
#[cfg(target_os = "linux")]
const NEAR_NS: u64 = 2_000_000;

#[derive(Debug)]
pub(super) struct Timer {
    #[cfg(target_os = "linux")]
    fd: OwnedFd,
    /// What the timer is set to; 0 when it is not set.
    #[cfg(target_os = "linux")]
    armed_ns: u64,
}

#[cfg(target_os = "linux")]
impl Timer {
    /// # Errors
    /// What `timerfd_create` and the registration return.
    pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self { fd, armed_ns: 0 })
    }

    /// How long to poll in order to wake at `until_ns` or somewhat before; `None`: the timer wakes.
    ///
    /// # Errors
    /// What `timerfd_settime` returns.
    pub(super) fn timeout(&mut self, now_ns: u64, until_ns: u64) -> io::Result<Option<Duration>> {
        let left_ns = until_ns.saturating_sub(now_ns);
        if left_ns >= NEAR_NS {
            return Ok(Some(Duration::from_millis(left_ns / 1_000_000 - 1)));
        }
        if self.armed_ns != until_ns {
            let at_ns = crate::clock::origin_ns() + until_ns;
            let at = Timespec {
                tv_sec: (at_ns / 1_000_000_000) as i64,
                tv_nsec: (at_ns % 1_000_000_000) as _,
            };
            let once = Itimerspec { it_interval: Timespec::default(), it_value: at };
            timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &once)?;
            self.armed_ns = until_ns;
        }
        Ok(None)
    }

    /// The timer went off. Its count is left unread: setting it again clears it.
    pub(super) fn fired(&mut self) {
        self.armed_ns = 0;
    }
}

#[cfg(not(target_os = "linux"))]
impl Timer {
    pub(super) fn new(_: &mio::Registry, _: mio::Token) -> io::Result<Self> {
        Ok(Self {})
    }

    pub(super) fn timeout(&mut self, now_ns: u64, until_ns: u64) -> io::Result<Option<Duration>> {
        Ok(Some(Duration::from_nanos(until_ns.saturating_sub(now_ns))))
    }

    pub(super) fn fired(&mut self) {}
}
