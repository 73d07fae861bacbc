//! Kernel receive timestamps: when the kernel took received bytes in, on the program's own clock.
//!
//! The kernel stamps packets with the wall clock (`SO_TIMESTAMPNS`, socket(7)), which can be set
//! while a run goes on. Its distance to the monotonic clock changes then and only then, since both
//! are slewed together; so the distance is measured in every turn, a change is taken for what it
//! is, and stamps from before it are dropped.
//!
//! Absent on purpose: the network card's own clock. It leaves out the interrupt, but is a clock of
//! its own to be kept in step, is on few cards, and not on the loopback.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, UdpSocket};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};

use crate::clock::{now_ns, realtime_ns};

/// Room for one timestamp among a message's control data.
pub(crate) const CONTROL_BYTES: usize = 32;

/// Two readings of the clocks may differ by this much from rounding alone, ns.
const ROUNDING_NS: i64 = 50;

/// What turns the kernel's timestamps into times of this program.
#[derive(Debug)]
pub(crate) struct Stamps {
    distance: Distance,
    /// The kernel stamps packets only while a socket asks for it, and starts a little after the
    /// first one does. This one asks for as long as the driver lives.
    _asking: UdpSocket,
}

impl Stamps {
    /// # Errors
    /// When the system has no such timestamps.
    pub(crate) fn new() -> io::Result<Self> {
        let asking = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        request(&asking)?;
        let mut stamps = Self { distance: Distance::new(realtime_ns()), _asking: asking };
        // Any of these may be torn apart by another thread's turn on the CPU, but hardly all.
        (0..8).for_each(|_| stamps.measure());
        Ok(stamps)
    }

    /// Measures the distance of the clocks. Once a turn.
    #[inline]
    pub(crate) fn measure(&mut self) {
        let before_ns = now_ns();
        let wall_ns = realtime_ns();
        self.distance.narrow(before_ns, wall_ns, now_ns());
    }

    /// When a packet with this timestamp came, seen `now_ns`; `None` when that is not certain.
    #[inline]
    pub(crate) fn convert(&self, stamp: WallNs, now_ns: u64) -> Option<NonZeroU64> {
        self.distance.convert(stamp, now_ns)
    }
}

/// A time of the wall clock, ns since 1970.
pub(crate) type WallNs = i64;

/// How far the wall clock is ahead of the program's, as an interval that narrows as long as the
/// wall clock is not set.
#[derive(Debug)]
struct Distance {
    least_ns: i64,
    most_ns: i64,
    /// When the wall clock was found to be set, in its new time.
    since: WallNs,
}

impl Distance {
    /// Nothing is known yet.
    fn new(since: WallNs) -> Self {
        Self { least_ns: i64::MIN, most_ns: i64::MAX, since }
    }

    /// Takes in that the wall clock stood at `wall` between two readings of the other.
    fn narrow(&mut self, before_ns: u64, wall: WallNs, after_ns: u64) {
        let least_ns = wall - after_ns as i64 - ROUNDING_NS;
        let most_ns = wall - before_ns as i64 + ROUNDING_NS;
        let both = (self.least_ns.max(least_ns), self.most_ns.min(most_ns));
        if both.0 <= both.1 {
            (self.least_ns, self.most_ns) = both;
        } else {
            *self = Self { least_ns, most_ns, since: wall };
        }
    }

    fn convert(&self, stamp: WallNs, now_ns: u64) -> Option<NonZeroU64> {
        if stamp < self.since {
            return None;
        }
        let width_ns = self.most_ns.saturating_sub(self.least_ns);
        let at_ns = stamp - (self.least_ns + width_ns / 2);
        // What lies ahead by more than the distance is uncertain is from before a setting back.
        let now_ns = now_ns as i64;
        if at_ns > now_ns.saturating_add(width_ns) {
            return None;
        }
        NonZeroU64::new(u64::try_from(at_ns.min(now_ns)).ok()?)
    }
}

/// Asks for a timestamp with everything this socket receives; what a listener accepts inherits it.
///
/// # Errors
/// What `setsockopt` returns; `Unsupported` elsewhere than on Linux.
#[cfg(target_os = "linux")]
pub(crate) fn request(socket: &impl AsFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes an int, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn request(_: &impl AsFd) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "receive timestamps are Linux's alone"))
}

/// Receives bytes and their timestamp, if there is one.
///
/// # Errors
/// What `recvmsg` returns.
pub(crate) fn receive(
    socket: BorrowedFd<'_>,
    room: &mut [u8],
) -> io::Result<(usize, Option<WallNs>)> {
    let mut control = [0_u64; CONTROL_BYTES / 8];
    let mut part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: all its fields are numbers and pointers, for which zeroes are a value.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: the kernel writes to `room` and `control` within their lengths; both outlive this.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let len = usize::try_from(result).map_err(|_| io::Error::last_os_error())?;
    let mut bytes = [0; CONTROL_BYTES];
    for (piece, word) in bytes.chunks_exact_mut(8).zip(control) {
        piece.copy_from_slice(&word.to_ne_bytes());
    }
    Ok((len, find(&bytes)))
}

/// Finds the timestamp among control data (cmsg(3)).
#[cfg(target_os = "linux")]
pub(crate) fn find(mut control: &[u8]) -> Option<WallNs> {
    const WORD: usize = size_of::<usize>();
    const HEADER: usize = WORD + 8;
    loop {
        let (header, rest) = control.split_at_checked(HEADER)?;
        let (len, kind) = header.split_at(WORD);
        let data_len = usize::from_ne_bytes(len.try_into().ok()?).checked_sub(HEADER)?;
        let data = rest.get(..data_len)?;
        let (level, kind) = kind.split_at(4);
        let level = i32::from_ne_bytes(level.try_into().ok()?);
        let kind = i32::from_ne_bytes(kind.try_into().ok()?);
        if (level, kind, data_len) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, 16) {
            let (seconds, ns) = data.split_at(8);
            let seconds = i64::from_ne_bytes(seconds.try_into().ok()?);
            let ns = i64::from_ne_bytes(ns.try_into().ok()?);
            return seconds.checked_mul(1_000_000_000)?.checked_add(ns);
        }
        control = rest.get(data_len.next_multiple_of(WORD)..)?;
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn find(_: &[u8]) -> Option<WallNs> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = 86_400_000_000_000;

    #[test]
    fn the_distance_narrows_to_what_all_readings_allow() {
        let mut distance = Distance::new(0);
        distance.narrow(1_000_000, DAY_NS + 2_000_000, 9_000_000); // torn apart
        distance.narrow(10_000_000, DAY_NS + 10_000_100, 10_000_200);
        distance.narrow(20_000_000, DAY_NS + 29_000_000, 29_000_000); // torn apart
        assert!(distance.least_ns <= DAY_NS && DAY_NS <= distance.most_ns, "{distance:?}");
        assert!(distance.most_ns - distance.least_ns <= 200 + 2 * ROUNDING_NS, "{distance:?}");
        let at_ns = distance.convert(DAY_NS + 25_000_000, 30_000_000).expect("certain").get();
        assert!(at_ns.abs_diff(25_000_000) <= 150, "{at_ns}");
        // A stamp that rounding puts after its own reading is of that moment.
        let now = distance.convert(DAY_NS + 25_000_000, at_ns - 1).expect("certain").get();
        assert_eq!(now, at_ns - 1);
    }

    #[test]
    fn stamps_from_before_the_clock_was_set_are_dropped() {
        for step_ns in [DAY_NS, 1_000_000, -1_000_000, -DAY_NS / 2] {
            let mut distance = Distance::new(0);
            distance.narrow(1_000_000, DAY_NS + 1_000_000, 1_000_010);
            let old = DAY_NS + 1_500_000;
            assert!(distance.convert(old, 1_600_000).is_some());
            let wall = DAY_NS + step_ns;
            distance.narrow(2_000_000, wall + 2_000_000, 2_000_010);
            assert_eq!(distance.convert(old, 2_000_100), None, "set by {step_ns}");
            let new_ns = distance.convert(wall + 2_500_000, 3_000_000).expect("certain").get();
            assert!(new_ns.abs_diff(2_500_000) <= 100, "{new_ns}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_timestamp_is_found_and_what_is_cut_short_is_none() {
        let entry = |level: i32, kind: i32, data: &[u8]| {
            let mut bytes = (size_of::<usize>() + 8 + data.len()).to_ne_bytes().to_vec();
            bytes.extend(level.to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
            bytes
        };
        let time = [3_i64.to_ne_bytes(), 7_i64.to_ne_bytes()].concat();
        let stamp = entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &time);
        let other = entry(libc::SOL_SOCKET, libc::SCM_RIGHTS, &[1, 2, 3]);
        assert_eq!(find(&stamp), Some(3_000_000_007));
        assert_eq!(find(&[&*other, &stamp].concat()), Some(3_000_000_007));
        assert_eq!(find(&other), None);
        for len in 0..stamp.len() {
            assert_eq!(find(&stamp[..len]), None, "{len}");
        }
        let endless = [i64::MAX.to_ne_bytes(), 0_i64.to_ne_bytes()].concat();
        assert_eq!(find(&entry(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &endless)), None);
        assert_eq!(find(&[0xff; 64]), None);
        assert_eq!(find(&[0; 64]), None);
    }
}
