//! The ring of receive buffers the kernel takes from, one for all sockets of a driver.

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::BufRingEntry;

use super::ring::{Ring, explain};

/// The buffer group, the only one of a ring.
pub(super) const GROUP: u16 = 0;

/// Added to buffers of whole pages: else the first lines of all of them, the only ones a small
/// message touches, fall into the same few sets of the cache.
const STAGGER_BYTES: usize = 192;

/// Buffers registered with a ring. Must outlive the ring they are registered with.
pub(super) struct Buffers {
    memory: Mapping,
    /// Where the buffers start; the entries lie before.
    buffers_at: usize,
    /// From one buffer to the next.
    stride_bytes: usize,
    /// What comes before the received bytes in each buffer, and the room for them.
    header_bytes: usize,
    buffer_bytes: u32,
    count: u32,
    /// Entries added so far, modulo 2^16. The kernel's copy stands in the first entry.
    tail: u16,
}

impl Buffers {
    /// Maps `count` buffers (a power of two) and hands them all to the ring. Each has room for
    /// `buffer_bytes` behind a header.
    pub(super) fn new(
        ring: &Ring,
        count: u32,
        header_bytes: usize,
        buffer_bytes: u32,
    ) -> io::Result<Self> {
        assert!(count.is_power_of_two() && count <= 1 << 15, "a buffer ring's sizes");
        let buffer_bytes = buffer_bytes.max(1);
        let rounded = (header_bytes + buffer_bytes as usize).next_multiple_of(64);
        let stride_bytes =
            if rounded.is_multiple_of(4096) { rounded + STAGGER_BYTES } else { rounded };
        let buffers_at = (count as usize * size_of::<BufRingEntry>()).next_multiple_of(4096);
        let memory = Mapping::new(buffers_at + count as usize * stride_bytes)?;
        let address = memory.start.as_ptr() as u64;
        // SAFETY: the mapping is page-aligned, large enough for the entries, and its owner keeps it
        // until the ring is closed.
        unsafe { ring.submitter().register_buf_ring_with_flags(address, count as u16, GROUP, 0) }
            .map_err(|error| explain("IORING_REGISTER_PBUF_RING", &error))?;
        let mut buffers =
            Self { memory, buffers_at, stride_bytes, header_bytes, buffer_bytes, count, tail: 0 };
        for buffer in 0..count {
            buffers.give_back(buffer);
        }
        Ok(buffers)
    }

    fn address(&self, buffer: u32) -> *mut u8 {
        assert!(buffer < self.count, "a buffer of another driver");
        let at = self.buffers_at + buffer as usize * self.stride_bytes;
        // SAFETY: within the mapping, by the check above.
        unsafe { self.memory.start.as_ptr().add(at) }
    }

    /// What was received into a buffer.
    #[inline]
    pub(super) fn bytes(&self, buffer: u32, len: u32) -> &[u8] {
        assert!(len <= self.buffer_bytes, "a buffer of another driver");
        // SAFETY: mapped, initialised (fresh mappings are zero), and written by the kernel only
        // during calls that borrow the driver mutably.
        unsafe {
            std::slice::from_raw_parts(self.address(buffer).add(self.header_bytes), len as usize)
        }
    }

    /// The first `len` bytes of a buffer, its header among them.
    pub(super) fn whole(&self, buffer: u32, len: u32) -> &[u8] {
        assert!(len as usize <= self.header_bytes + self.buffer_bytes as usize, "a kernel's limit");
        // SAFETY: as in `bytes`.
        unsafe { std::slice::from_raw_parts(self.address(buffer), len as usize) }
    }

    /// Hands a buffer to the kernel (again).
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u32) {
        let address = self.address(buffer) as u64;
        let entries = self.memory.start.as_ptr().cast::<BufRingEntry>();
        let slot = u32::from(self.tail) & (self.count - 1);
        // SAFETY: the slot is within the entries, and not the kernel's before the tail says so:
        // there are as many slots as buffers.
        let entry = unsafe { &mut *entries.add(slot as usize) };
        entry.set_addr(address);
        entry.set_len(self.header_bytes as u32 + self.buffer_bytes);
        entry.set_bid(buffer as u16);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, aligned, and is shared with the kernel alone.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// Zeroed memory of its own pages, which cost nothing until touched.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

impl Mapping {
    fn new(len: usize) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping touches no existing memory.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(explain("mmap of the receive buffers", &io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
