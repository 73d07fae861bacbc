//! A ring of receive buffers that the kernel picks from (a provided buffer ring).

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::BufRingEntry;

/// How many buffers; a power of two.
const COUNT: u16 = 1024;
/// The size of one.
const BYTES: usize = 4096;
/// The group's number, for operations that take a buffer from it.
pub(crate) const GROUP: u16 = 0;

/// The buffers and the ring that hands them to the kernel. They are never freed: until the process
/// ends, the kernel may have a receive that uses them.
pub(crate) struct Buffers {
    ring: *mut BufRingEntry,
    bytes: *mut u8,
    tail: u16,
}

impl Buffers {
    /// Allocates the buffers and registers them.
    pub(crate) fn register(submitter: &Submitter<'_>) -> io::Result<Self> {
        let mut buffers = Self { ring: allocate(RING).cast(), bytes: allocate(POOL), tail: 0 };
        for id in 0..COUNT {
            buffers.give_back(id);
        }
        buffers.publish();
        // SAFETY: the ring is page-aligned, has COUNT entries, and is never freed.
        unsafe { submitter.register_buf_ring_with_flags(buffers.ring as u64, COUNT, GROUP, 0)? };
        Ok(buffers)
    }

    /// The first `len` bytes of a buffer the kernel has filled in.
    pub(crate) fn bytes(&self, id: u16, len: usize) -> &[u8] {
        assert!(id < COUNT && len <= BYTES);
        // SAFETY: in the pool, by the assertion; the kernel doesn't write to it until it is given
        // back, which takes `&mut self`.
        unsafe { std::slice::from_raw_parts(self.bytes.add(usize::from(id) * BYTES), len) }
    }

    /// Lets the kernel use a buffer again, once published.
    pub(crate) fn give_back(&mut self, id: u16) {
        assert!(id < COUNT);
        // SAFETY: the entry's index is below COUNT, and entries from `tail` on are ours to write.
        unsafe {
            let entry = &mut *self.ring.add(usize::from(self.tail & (COUNT - 1)));
            entry.set_addr(self.bytes.add(usize::from(id) * BYTES) as u64);
            entry.set_len(BYTES as u32);
            entry.set_bid(id);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Shows the kernel all that was given back.
    pub(crate) fn publish(&self) {
        // SAFETY: the tail lies within the ring's first entry and is aligned; the kernel only
        // reads it.
        let tail = unsafe { &*BufRingEntry::tail(self.ring).cast::<AtomicU16>() };
        tail.store(self.tail, Ordering::Release);
    }
}

const RING: Layout = page_aligned(COUNT as usize * size_of::<BufRingEntry>());
const POOL: Layout = page_aligned(COUNT as usize * BYTES);

const fn page_aligned(size: usize) -> Layout {
    match Layout::from_size_align(size, 4096) {
        Ok(layout) => layout,
        Err(_) => panic!("the size is a constant that fits"),
    }
}

fn allocate(layout: Layout) -> *mut u8 {
    // SAFETY: the layouts used here are not empty.
    let pointer = unsafe { alloc_zeroed(layout) };
    if pointer.is_null() {
        handle_alloc_error(layout);
    }
    pointer
}
