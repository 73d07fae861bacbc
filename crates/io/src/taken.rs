//! When the kernel had taken bytes that a call handed to it.
//!
//! It takes them soon after the call begins, but the call may return much later: their way to the
//! peer is a part of it, a peer on this host that is woken by them may get this CPU first, and with
//! io_uring one call sends for many sockets. What the peer does meanwhile is not sending, and a
//! thread cannot look at the clock while it has no CPU. So two things are known: the time before
//! the call and the time after it. The later one counts, unless it is further from the first than
//! such a call takes when it has the CPU.

/// The most that a call takes to send a few bytes, ns. Measured on the loopback: 2 to 8 µs.
const CALL_NS: u64 = 10_000;

/// The least that the kernel takes of a long message in a nanosecond, bytes. Measured on the
/// loopback: 5 to 10.
const BYTES_PER_NS: u64 = 4;

/// When the kernel had taken `bytes` in a call between these two times, ns.
#[inline]
pub(crate) fn taken_ns(began_ns: u64, returned_ns: u64, bytes: usize) -> u64 {
    returned_ns.min(began_ns + CALL_NS + bytes as u64 / BYTES_PER_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_ends_when_it_returns_or_could_have() {
        for (returned_ns, bytes, want_ns) in [
            (1_000, 100, 1_000),
            (1_007_000, 100, 1_007_000),
            (1_200_000, 100, 1_010_025),
            (1_120_000, 1 << 20, 1_120_000),
            (9_000_000, 1 << 20, 1_272_144),
        ] {
            let began_ns = returned_ns.min(1_000_000);
            assert_eq!(taken_ns(began_ns, returned_ns, bytes), want_ns, "{bytes} bytes");
        }
    }
}
