//! A slow wire between two network namespaces: two interfaces, and a thread that carries packets
//! from each to the other after a delay.
//!
//! It replaces `tc netem`, which kernels made for virtual machines often lack.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use crate::oracle::clock_ns;

/// Packets on their way in one direction; more are lost, as on a wire.
const ON_THE_WAY_MAX: usize = 10_000;
/// The longest packet.
const PACKET_MAX: usize = 65_536;
/// How long to sleep when nothing is due: how late a packet may be, and how soon an end is seen.
const LOOK_NS: u64 = 500_000;

/// A slow wire, there until it is dropped.
#[derive(Debug)]
pub struct Link {
    interfaces: [String; 2],
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Link {
    /// Makes one with this delay in each direction. Its ends still have to be moved to where
    /// they are needed.
    ///
    /// # Errors
    /// Without the privilege, or where the kernel has no such interfaces.
    pub fn new(delay: Duration) -> io::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        // At most 15 letters.
        let id = std::process::id() % 1_000_000;
        let interfaces = ["a", "b"].map(|end| format!("pl{id}-{number}{end}"));
        let files =
            [plimsoll_io::open_tun(&interfaces[0])?, plimsoll_io::open_tun(&interfaces[1])?];
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let delay_ns = delay.as_nanos() as u64;
        let thread = std::thread::spawn(move || carry(files, delay_ns, &told));
        Ok(Self { interfaces, over, thread: Some(thread) })
    }

    /// The names of its two ends.
    #[must_use]
    pub fn interfaces(&self) -> [&str; 2] {
        [&self.interfaces[0], &self.interfaces[1]]
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Its files close with it, and the interfaces go.
            let _ = thread.join();
        }
    }
}

/// Packets in one direction, each with when it is due.
type Way = VecDeque<(u64, Vec<u8>)>;

fn carry(mut files: [File; 2], delay_ns: u64, over: &AtomicBool) {
    let mut ways: [Way; 2] = Default::default();
    let mut buffer = vec![0; PACKET_MAX];
    while !over.load(Ordering::Relaxed) {
        for (end, way) in ways.iter_mut().enumerate() {
            // An error is that nothing is there, or that the end is gone.
            while let Ok(bytes @ 1..) = files[end].read(&mut buffer) {
                if way.len() < ON_THE_WAY_MAX {
                    way.push_back((clock_ns() + delay_ns, buffer[..bytes].to_vec()));
                }
            }
            while let Some((_, packet)) = way.pop_front_if(|(due_ns, _)| *due_ns <= clock_ns()) {
                // One that the kernel does not take is lost.
                let _ = files[1 - end].write(&packet);
            }
        }
        let due_ns = ways.iter().filter_map(|way| way.front()).map(|(due_ns, _)| *due_ns).min();
        let left_ns = due_ns.map_or(LOOK_NS, |due_ns| due_ns.saturating_sub(clock_ns()));
        let mut ends = [
            PollFd::from_borrowed_fd(files[0].as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(files[1].as_fd(), PollFlags::IN),
        ];
        let timeout = Timespec { tv_sec: 0, tv_nsec: left_ns.min(LOOK_NS) as _ };
        // Woken early or not at all, the next look finds the same.
        let _ = poll(&mut ends, Some(&timeout));
    }
}
