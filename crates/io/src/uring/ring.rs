//! The rings themselves: setting them up, filling the submission queue, entering the kernel, and
//! waiting for completions until a time.
//!
//! One thread submits and reaps (`SINGLE_ISSUER`), and completions are made only while it is inside
//! `io_uring_enter` (`DEFER_TASKRUN`): nothing happens to the driver's memory behind its back.

use std::collections::VecDeque;
use std::io;

use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, Submitter, cqueue, squeue};

use crate::clock::{now_ns, origin_ns, thread_cpu_ns};
use crate::spin::Spinning;
use crate::standstill::{SLICE_NS, Watch};

/// What the setting up of a ring needs to say when it fails: which call, why, what to look at.
pub(super) fn explain(call: &str, error: &io::Error) -> io::Error {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => " (seccomp or kernel.io_uring_disabled)",
        Some(libc::ENOSYS) => " (the kernel has no io_uring)",
        Some(libc::EINVAL) => " (the kernel is older than 6.1)",
        Some(libc::ENOMEM) => " (the limit on locked memory, ulimit -l)",
        _ => "",
    };
    let reason = match error.raw_os_error() {
        Some(number) => rustix::io::Errno::from_raw_os_error(number).to_string(),
        None => error.to_string(),
    };
    // The standard text ends in "(os error 1)", which tells a reader nothing.
    let reason = reason.split(" (os error").next().unwrap_or_default();
    io::Error::new(error.kind(), format!("{call}: {reason}{hint}"))
}

/// An io_uring and the entries that did not fit into it yet.
pub(super) struct Ring {
    ring: IoUring,
    /// Entries pushed while the submission queue was full and the kernel would not take it.
    spill: VecDeque<squeue::Entry>,
    /// Whether `io_uring_enter` takes absolute times (Linux 6.12).
    absolute_timer: bool,
    /// How often all that was queued had been handed over.
    submissions: u64,
    /// Whether sends are among what is queued.
    has_sends: bool,
    /// When the look began that showed what is in the completion queue, or that no longer slept.
    looked_ns: u64,
}

impl Ring {
    /// Sets up a ring with room for one operation a socket in a batch.
    pub(super) fn new(sockets: u32) -> io::Result<Self> {
        let entries = sockets.saturating_add(8).clamp(64, 1024).next_power_of_two();
        let build = |no_array: bool| {
            let mut builder = IoUring::builder();
            builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_taskrun_flag()
                .setup_submit_all()
                .setup_cqsize(entries * 4);
            if no_array {
                builder.setup_no_sqarray();
            }
            builder.build(entries)
        };
        // Linux 6.6 can do without the array between queue and entries.
        let ring = build(true)
            .or_else(|error| match error.raw_os_error() {
                Some(libc::EINVAL) => build(false),
                _ => Err(error),
            })
            .map_err(|error| explain("io_uring_setup", &error))?;
        if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "io_uring_setup: waiting with a timeout is missing (the kernel is older than 6.1)",
            ));
        }
        let mut ring = Self {
            ring,
            spill: VecDeque::new(),
            absolute_timer: false,
            submissions: 0,
            has_sends: false,
            looked_ns: 0,
        };
        ring.absolute_timer = monotonic_is_the_kernels() && ring.takes_absolute_time();
        Ok(ring)
    }

    /// For registering files and buffers.
    pub(super) fn submitter(&self) -> Submitter<'_> {
        self.ring.submitter()
    }

    /// Counts the times everything queued had gone to the kernel: an entry pushed at an earlier
    /// count is no longer in the queue.
    pub(super) fn submissions(&self) -> u64 {
        self.submissions
    }

    /// When the kernel began to make the completions that are in the queue since the last wait, ns.
    /// It has taken what is sent at once soon after that; what made a sleep end came just now.
    #[inline]
    pub(super) fn looked_ns(&self) -> u64 {
        self.looked_ns
    }

    /// Queues an entry that sends.
    ///
    /// # Safety
    /// As [`push`](Self::push).
    #[inline]
    pub(super) unsafe fn push_send(&mut self, entry: &squeue::Entry) {
        self.has_sends = true;
        // SAFETY: the caller's promise.
        unsafe { self.push(entry) };
    }

    /// Queues an entry.
    ///
    /// # Safety
    /// What the entry points to must stay valid until it completes.
    #[inline]
    pub(super) unsafe fn push(&mut self, entry: &squeue::Entry) {
        if self.spill.is_empty() {
            // SAFETY: the caller's promise.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.push_full(entry) }
    }

    /// # Safety
    /// As [`push`](Self::push).
    #[cold]
    unsafe fn push_full(&mut self, entry: &squeue::Entry) {
        // A broken ring reports itself again in the next wait.
        let _ = self.submit();
        if self.spill.is_empty() {
            // SAFETY: the caller's promise.
            if unsafe { self.ring.submission().push(entry) }.is_ok() {
                return;
            }
        }
        self.spill.push_back(entry.clone());
    }

    /// Takes the oldest completion.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<cqueue::Entry> {
        self.ring.completion().next()
    }

    /// How many completions are there to take.
    #[inline]
    pub(super) fn completions(&mut self) -> usize {
        self.ring.completion().len()
    }

    #[inline]
    fn has_completions(&mut self) -> bool {
        !self.ring.completion().is_empty()
    }

    /// Whether an enter would do anything: entries to submit, or completions the kernel holds back.
    #[inline]
    fn has_work(&mut self) -> bool {
        let queue = self.ring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// Whether the kernel has completions to make, or to hand over, that are not in the queue.
    /// What arrived before this says no is there.
    #[inline]
    pub(super) fn holds_back(&mut self) -> bool {
        let queue = self.ring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Hands everything queued to the kernel without waiting. `false`: some of it is still queued.
    pub(super) fn submit(&mut self) -> io::Result<bool> {
        loop {
            self.enter(0, None)?;
            if !self.ring.submission().is_empty() {
                return Ok(false);
            }
            if self.spill.is_empty() {
                self.submissions += 1;
                return Ok(true);
            }
            while let Some(entry) = self.spill.front() {
                // SAFETY: promised when it was pushed.
                if unsafe { self.ring.submission().push(entry) }.is_err() {
                    break;
                }
                self.spill.pop_front();
            }
        }
    }

    /// Submits, then sleeps and spins until there is a completion or `until_ns` has come (0: only
    /// submits; `u64::MAX`: no deadline). Returns the clock.
    pub(super) fn wait(
        &mut self,
        until_ns: u64,
        spinning: &mut Spinning,
        watch: &mut Option<Watch>,
    ) -> io::Result<u64> {
        let now = self.wait_unwatched(until_ns, spinning, watch)?;
        look(watch, now);
        Ok(now)
    }

    fn wait_unwatched(
        &mut self,
        until_ns: u64,
        spinning: &mut Spinning,
        watch: &mut Option<Watch>,
    ) -> io::Result<u64> {
        if until_ns == 0 || !self.spill.is_empty() || self.has_completions() {
            self.looked_ns = now_ns();
            if self.has_work() || !self.spill.is_empty() {
                self.submit()?;
                return Ok(now_ns());
            }
            return Ok(self.looked_ns);
        }
        if until_ns == u64::MAX || spinning.is_off() {
            return self.sleep(until_ns, watch);
        }
        let now = now_ns();
        let (poll_until_ns, sleep_until_ns) = spinning.split(now, until_ns);
        let now = self.poll_until(poll_until_ns, now, spinning)?;
        if self.has_completions() || now >= until_ns {
            return Ok(now);
        }
        if sleep_until_ns > now {
            let now = self.sleep(sleep_until_ns, watch)?;
            if now < sleep_until_ns || self.has_completions() {
                return Ok(now); // an event, or a signal
            }
            spinning.slept(sleep_until_ns, now);
        }
        self.poll_until(until_ns, now_ns(), spinning)
    }

    /// Submits and sleeps until there is a completion, a signal, or `until_ns` has come
    /// (`u64::MAX`: no deadline); in slices if the thread is watched. Returns the clock.
    fn sleep(&mut self, until_ns: u64, watch: &mut Option<Watch>) -> io::Result<u64> {
        // What the kernel takes at once is to be told from what it takes during the sleep.
        if self.has_sends {
            self.looked_ns = now_ns();
            self.enter(0, None)?;
            self.note_submission();
            if self.has_completions() {
                return Ok(now_ns());
            }
        }
        if watch.is_none() {
            self.enter(1, (until_ns != u64::MAX).then_some(until_ns))?;
            self.note_submission();
            self.looked_ns = now_ns();
            return Ok(self.looked_ns);
        }
        let mut now = now_ns();
        loop {
            let slice_end_ns = until_ns.min(now + SLICE_NS);
            self.enter(1, Some(slice_end_ns))?;
            self.note_submission();
            let before = std::mem::replace(&mut now, now_ns());
            self.looked_ns = now;
            if let Some(watch) = watch {
                watch.slept(before, slice_end_ns, now);
            }
            if now < slice_end_ns || now >= until_ns || self.has_completions() {
                return Ok(now);
            }
            look(watch, now);
        }
    }

    /// Polls until there is a completion or `until_ns` has come. Returns the clock.
    fn poll_until(
        &mut self,
        until_ns: u64,
        start_ns: u64,
        spinning: &mut Spinning,
    ) -> io::Result<u64> {
        let mut now = start_ns;
        self.looked_ns = now;
        while now < until_ns && !self.has_completions() {
            let works = self.has_work();
            self.looked_ns = now;
            if works {
                self.enter(0, None)?;
                self.note_submission();
            } else {
                std::hint::spin_loop();
            }
            let before = std::mem::replace(&mut now, now_ns());
            // What the kernel does in an enter, sending among it, is work.
            if !works {
                spinning.looked(before, now);
            }
        }
        Ok(now)
    }

    fn note_submission(&mut self) {
        if self.ring.submission().is_empty() {
            self.submissions += 1;
        }
    }

    /// Enters the kernel: submits what is queued and waits for `want` completions, until
    /// `deadline_ns` at the latest. Being woken for another reason is not an error.
    fn enter(&mut self, want: u32, deadline_ns: Option<u64>) -> io::Result<()> {
        self.has_sends = false;
        let count = self.ring.submission().len() as u32;
        let entered = match deadline_ns {
            None => {
                let flags = EnterFlags::GETEVENTS.bits();
                // SAFETY: no argument is passed; what the entries point to was promised in `push`.
                unsafe { self.ring.submitter().enter::<libc::sigset_t>(count, want, flags, None) }
            }
            Some(at_ns) => self.enter_until(count, want, at_ns),
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                // The time has come; a signal; the completion queue is full and must be drained
                // first; no memory at the moment. What was not submitted goes next time.
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(explain("io_uring_enter", &error)),
            },
        }
    }

    fn enter_until(&self, count: u32, want: u32, at_ns: u64) -> io::Result<usize> {
        let mut flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        let time_ns = if self.absolute_timer {
            flags |= EnterFlags::ABS_TIMER;
            origin_ns().saturating_add(at_ns)
        } else {
            at_ns.saturating_sub(now_ns())
        };
        let time =
            Timespec::new().sec(time_ns / 1_000_000_000).nsec((time_ns % 1_000_000_000) as u32);
        let arguments = SubmitArgs::new().timespec(&time);
        // SAFETY: the arguments live through the call and are what EXT_ARG says they are; what the
        // entries point to was promised in `push`.
        unsafe { self.ring.submitter().enter(count, want, flags.bits(), Some(&arguments)) }
    }

    /// Tries a wait whose absolute deadline has passed.
    fn takes_absolute_time(&mut self) -> bool {
        self.absolute_timer = true;
        let entered = self.enter_until(0, 1, now_ns());
        matches!(entered, Err(error) if error.raw_os_error() == Some(libc::ETIME))
    }

    /// Cancels whatever is with the kernel, so that nothing holds on to sockets and memory when the
    /// ring is closed. The cancelled operations complete in [`run_rest`](Self::run_rest).
    pub(super) fn cancel_all(&mut self) {
        let second = Timespec::new().sec(1);
        // Each fails only if the ring itself is broken, or there is nothing to cancel.
        let _ = self.submit();
        let _ = self.submitter().register_sync_cancel(Some(second), CancelBuilder::any());
        let _ = self.enter(0, None);
    }

    /// Lets the kernel complete what it still can. `false`: there is nothing left.
    pub(super) fn run_rest(&mut self) -> bool {
        let before = self.has_work();
        before && self.submit().is_ok()
    }
}

#[cfg(test)]
impl Ring {
    /// Entries not yet submitted.
    pub(super) fn queued(&mut self) -> usize {
        self.ring.submission().len() + self.spill.len()
    }

    pub(super) fn has_absolute_timer(&self) -> bool {
        self.absolute_timer
    }

    pub(super) fn set_absolute_timer(&mut self, on: bool) {
        self.absolute_timer = on;
    }
}

/// Looks whether the thread stood still, if it is watched and it is time to.
#[inline]
fn look(watch: &mut Option<Watch>, now_ns: u64) {
    if let Some(watch) = watch.as_mut().filter(|watch| watch.is_due(now_ns)) {
        watch.look(now_ns, thread_cpu_ns());
    }
}

/// Whether `CLOCK_MONOTONIC` here is the kernel's own: in a time namespace it is shifted, and the
/// absolute times of `io_uring_enter` are not shifted with it.
fn monotonic_is_the_kernels() -> bool {
    let Ok(offsets) = std::fs::read_to_string("/proc/self/timens_offsets") else {
        return true; // a kernel without time namespaces
    };
    offsets.lines().all(|line| {
        let mut words = line.split_whitespace();
        words.next() != Some("monotonic") || words.all(|word| word == "0")
    })
}
