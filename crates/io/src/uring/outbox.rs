//! What one socket still has to send: the stretch that is with the kernel, and what waits behind
//! it. The memory for it is borrowed from what the driver's sockets share, so that a socket that
//! has nothing to send holds none, and the memory used is what was used last.

use std::collections::VecDeque;

/// The most memory that is kept while no socket needs it.
const SPARE_BYTES_MAX: usize = 8 << 20;

/// The most one operation sends. An operation completes when the kernel has taken all of it, and
/// only then is it seen that a slow reader goes on reading.
const OPERATION_BYTES_MAX: usize = 64 << 10;

/// A stretch waiting behind the one that is being sent.
#[derive(Debug, Clone, Copy)]
enum Stretch {
    /// That many bytes from the front of `waiting`.
    Copied(usize),
    /// Registered bytes, which live as long as the driver.
    Registered(*const u8, usize),
}

/// Buffers that no socket uses, the one used last at the end.
#[derive(Debug, Default)]
pub(super) struct Spare {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Spare {
    #[inline]
    fn take(&mut self) -> Vec<u8> {
        let buffer = self.buffers.pop().unwrap_or_default();
        self.bytes -= buffer.capacity();
        buffer
    }

    /// Takes a buffer back, unless there are enough.
    #[inline]
    fn put(&mut self, mut buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        if bytes > 0 && self.bytes + bytes <= SPARE_BYTES_MAX {
            buffer.clear();
            self.bytes += bytes;
            self.buffers.push(buffer);
        }
    }
}

/// Bytes to send, in order. At most one stretch is with the kernel at any time.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The rest of the stretch with the kernel; nothing is, when `len` is 0.
    start: *const u8,
    len: usize,
    /// The copied bytes that are with the kernel. Untouched while `len` is not 0.
    sending: Vec<u8>,
    /// Copied bytes behind them.
    waiting: Vec<u8>,
    stretches: VecDeque<Stretch>,
    queued_bytes: usize,
}

impl Default for Outbox {
    fn default() -> Self {
        Self {
            start: std::ptr::null(),
            len: 0,
            sending: Vec::new(),
            waiting: Vec::new(),
            stretches: VecDeque::new(),
            queued_bytes: 0,
        }
    }
}

impl Outbox {
    /// Whether a stretch is with the kernel.
    #[inline]
    pub(super) fn is_sending(&self) -> bool {
        self.len > 0
    }

    /// Bytes the kernel has not taken.
    pub(super) fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Adds bytes to be copied. `true`: they are now to be given to the kernel.
    #[inline]
    pub(super) fn push_copied(&mut self, bytes: &[u8], spare: &mut Spare) -> bool {
        self.queued_bytes += bytes.len();
        if !self.is_sending() {
            if self.sending.capacity() == 0 {
                self.sending = spare.take();
            }
            self.sending.clear();
            self.sending.extend_from_slice(bytes);
            self.start = self.sending.as_ptr();
            self.len = bytes.len();
            return true;
        }
        if self.waiting.capacity() == 0 {
            self.waiting = spare.take();
        }
        self.waiting.extend_from_slice(bytes);
        if let Some(Stretch::Copied(len)) = self.stretches.back_mut() {
            *len += bytes.len();
        } else {
            self.stretches.push_back(Stretch::Copied(bytes.len()));
        }
        false
    }

    /// Adds bytes that stay where they are for the driver's life. `true`: they are now to be given
    /// to the kernel.
    #[inline]
    pub(super) fn push_registered(&mut self, bytes: &[u8]) -> bool {
        self.queued_bytes += bytes.len();
        if !self.is_sending() {
            self.start = bytes.as_ptr();
            self.len = bytes.len();
            return true;
        }
        self.stretches.push_back(Stretch::Registered(bytes.as_ptr(), bytes.len()));
        false
    }

    /// What the kernel is to send now.
    #[inline]
    pub(super) fn current(&self) -> (*const u8, u32) {
        (self.start, self.len.min(OPERATION_BYTES_MAX) as u32)
    }

    /// The kernel took `count` bytes. `true`: more is to be sent, see [`current`](Self::current).
    #[inline]
    pub(super) fn advance(&mut self, count: usize, spare: &mut Spare) -> bool {
        let count = count.min(self.len);
        self.queued_bytes -= count;
        self.len -= count;
        if self.len > 0 {
            self.start = self.start.wrapping_add(count);
            return true;
        }
        match self.stretches.pop_front() {
            None => {
                self.give_back(spare);
                return false;
            }
            Some(Stretch::Registered(start, len)) => {
                self.start = start;
                self.len = len;
            }
            Some(Stretch::Copied(len)) => {
                self.sending.clear();
                if len == self.waiting.len() {
                    std::mem::swap(&mut self.sending, &mut self.waiting);
                } else {
                    self.sending.extend(self.waiting.drain(..len));
                }
                self.start = self.sending.as_ptr();
                self.len = len;
            }
        }
        true
    }

    /// Forgets everything. Returns the memory the kernel may still be reading, which has to live
    /// until the operation completes.
    pub(super) fn abandon(&mut self, spare: &mut Spare) -> Option<Vec<u8>> {
        let copied = self.is_sending() && self.sending.as_ptr_range().contains(&self.start);
        let held = copied.then(|| std::mem::take(&mut self.sending));
        self.len = 0;
        self.queued_bytes = 0;
        self.stretches.clear();
        self.give_back(spare);
        held
    }

    #[inline]
    fn give_back(&mut self, spare: &mut Spare) {
        if self.sending.capacity() > 0 {
            spare.put(std::mem::take(&mut self.sending));
        }
        if self.waiting.capacity() > 0 {
            spare.put(std::mem::take(&mut self.waiting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everything out, `step` bytes at a time, as the kernel would.
    fn drain(outbox: &mut Outbox, spare: &mut Spare, step: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        loop {
            let (start, len) = outbox.current();
            let count = step.min(len as usize);
            // SAFETY: what the outbox says is to be sent is valid until `advance`.
            taken.extend_from_slice(unsafe { std::slice::from_raw_parts(start, count) });
            if !outbox.advance(count, spare) {
                return taken;
            }
        }
    }

    #[test]
    fn bytes_leave_in_the_order_they_came_whatever_the_kernel_takes() {
        static REGISTERED: &[u8] = b"<registered>";
        let spare = &mut Spare::default();
        for step in 1..40 {
            let mut outbox = Outbox::default();
            for _ in 0..3 {
                assert!(outbox.push_copied(b"one,", spare));
                assert!(!outbox.push_copied(b"two,", spare));
                assert!(!outbox.push_copied(b"three,", spare));
                assert!(!outbox.push_registered(REGISTERED));
                assert!(!outbox.push_copied(b"four,", spare));
                assert!(!outbox.push_registered(REGISTERED));
                assert!(!outbox.push_copied(b"five.", spare));
                let expected = b"one,two,three,<registered>four,<registered>five.";
                assert_eq!(outbox.queued_bytes(), expected.len());
                assert_eq!(drain(&mut outbox, spare, step), expected);
                assert_eq!(outbox.queued_bytes(), 0);
                assert!(!outbox.is_sending());
            }
        }
    }

    #[test]
    fn one_operation_is_small_however_much_there_is() {
        let spare = &mut Spare::default();
        let mut outbox = Outbox::default();
        assert!(outbox.push_copied(&vec![7; 3 * OPERATION_BYTES_MAX + 1], spare));
        for left in [3, 2, 1] {
            assert_eq!(outbox.current().1 as usize, OPERATION_BYTES_MAX);
            assert!(outbox.advance(OPERATION_BYTES_MAX, spare));
            assert_eq!(outbox.queued_bytes(), (left - 1) * OPERATION_BYTES_MAX + 1);
        }
        assert_eq!(outbox.current().1, 1);
        assert!(!outbox.advance(1, spare));
    }

    #[test]
    fn abandoned_bytes_stay_where_the_kernel_reads_them() {
        let spare = &mut Spare::default();
        let mut outbox = Outbox::default();
        assert!(outbox.push_copied(b"in flight", spare));
        assert!(!outbox.push_copied(b"never sent", spare));
        let (start, len) = outbox.current();
        let held = outbox.abandon(spare).expect("a send is outstanding");
        assert_eq!((held.as_ptr(), held.len()), (start, len as usize));
        assert_eq!(outbox.queued_bytes(), 0);
        assert!(outbox.push_copied(b"next use", spare));
        assert_ne!(outbox.current().0, held.as_ptr());
        assert_eq!(held, b"in flight");
    }

    #[test]
    fn what_is_sent_needs_no_memory_any_more_and_little_is_kept() {
        let spare = &mut Spare::default();
        let large = vec![7; SPARE_BYTES_MAX + 1];
        let mut outboxes: Vec<_> = (0..4).map(|_| Outbox::default()).collect();
        for message in [&b"small"[..], &large] {
            for outbox in &mut outboxes {
                assert!(outbox.push_copied(message, spare));
                assert!(!outbox.push_copied(message, spare));
            }
            for outbox in &mut outboxes {
                assert_eq!(drain(outbox, spare, usize::MAX).len(), 2 * message.len());
                assert_eq!((outbox.sending.capacity(), outbox.waiting.capacity()), (0, 0));
            }
            let kept: usize = spare.buffers.iter().map(Vec::capacity).sum();
            assert_eq!(kept, spare.bytes);
            assert!(kept <= SPARE_BYTES_MAX, "{kept}");
        }
    }
}
