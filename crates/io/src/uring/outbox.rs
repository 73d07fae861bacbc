//! What one socket still has to send: the stretch that is with the kernel, and what waits behind
//! it.

use std::collections::VecDeque;

/// Memory a socket may keep between messages; what grew beyond it is given back once sent.
const KEEP_BYTES: usize = 64 * 1024;

/// The most one operation sends: the kernel's own limit is a little below 2 GiB.
const OPERATION_BYTES_MAX: usize = 1 << 30;

/// A stretch waiting behind the one that is being sent.
#[derive(Debug, Clone, Copy)]
enum Stretch {
    /// That many bytes from the front of `waiting`.
    Copied(usize),
    /// Registered bytes, which live as long as the driver.
    Registered(*const u8, usize),
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
    pub(super) fn push_copied(&mut self, bytes: &[u8]) -> bool {
        self.queued_bytes += bytes.len();
        if !self.is_sending() {
            self.sending.clear();
            self.sending.extend_from_slice(bytes);
            self.start = self.sending.as_ptr();
            self.len = bytes.len();
            return true;
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
    pub(super) fn advance(&mut self, count: usize) -> bool {
        let count = count.min(self.len);
        self.queued_bytes -= count;
        self.len -= count;
        if self.len > 0 {
            self.start = self.start.wrapping_add(count);
            return true;
        }
        match self.stretches.pop_front() {
            None => {
                self.trim();
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
    pub(super) fn abandon(&mut self) -> Option<Vec<u8>> {
        let copied = self.is_sending() && self.sending.as_ptr_range().contains(&self.start);
        let held = copied.then(|| std::mem::take(&mut self.sending));
        self.len = 0;
        self.queued_bytes = 0;
        self.stretches.clear();
        self.waiting.clear();
        self.trim();
        held
    }

    #[inline]
    fn trim(&mut self) {
        // One message that is always large keeps its memory; a single large one does not.
        if self.sending.capacity() > KEEP_BYTES && self.sending.len() <= KEEP_BYTES {
            self.sending.clear();
            self.sending.shrink_to(KEEP_BYTES);
        }
        if self.waiting.capacity() > KEEP_BYTES {
            self.waiting.shrink_to(KEEP_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes everything out, `step` bytes at a time, as the kernel would.
    fn drain(outbox: &mut Outbox, step: usize) -> Vec<u8> {
        let mut taken = Vec::new();
        loop {
            let (start, len) = outbox.current();
            let count = step.min(len as usize);
            // SAFETY: what the outbox says is to be sent is valid until `advance`.
            taken.extend_from_slice(unsafe { std::slice::from_raw_parts(start, count) });
            if !outbox.advance(count) {
                return taken;
            }
        }
    }

    #[test]
    fn bytes_leave_in_the_order_they_came_whatever_the_kernel_takes() {
        static REGISTERED: &[u8] = b"<registered>";
        for step in 1..40 {
            let mut outbox = Outbox::default();
            for _ in 0..3 {
                assert!(outbox.push_copied(b"one,"));
                assert!(!outbox.push_copied(b"two,"));
                assert!(!outbox.push_copied(b"three,"));
                assert!(!outbox.push_registered(REGISTERED));
                assert!(!outbox.push_copied(b"four,"));
                assert!(!outbox.push_registered(REGISTERED));
                assert!(!outbox.push_copied(b"five."));
                let expected = b"one,two,three,<registered>four,<registered>five.";
                assert_eq!(outbox.queued_bytes(), expected.len());
                assert_eq!(drain(&mut outbox, step), expected);
                assert_eq!(outbox.queued_bytes(), 0);
                assert!(!outbox.is_sending());
            }
        }
    }

    #[test]
    fn abandoned_bytes_stay_where_the_kernel_reads_them() {
        let mut outbox = Outbox::default();
        assert!(outbox.push_copied(b"in flight"));
        assert!(!outbox.push_copied(b"never sent"));
        let (start, len) = outbox.current();
        let held = outbox.abandon().expect("a send is outstanding");
        assert_eq!((held.as_ptr(), held.len()), (start, len as usize));
        assert_eq!(outbox.queued_bytes(), 0);
        assert!(outbox.push_copied(b"next use"));
        assert_ne!(outbox.current().0, held.as_ptr());
        assert_eq!(held, b"in flight");
    }

    #[test]
    fn one_large_message_does_not_keep_its_memory() {
        let mut outbox = Outbox::default();
        let large = vec![7; 10 * KEEP_BYTES];
        assert!(outbox.push_copied(b"small"));
        assert!(!outbox.push_copied(&large));
        assert_eq!(drain(&mut outbox, usize::MAX).len(), 5 + large.len());
        assert!(outbox.push_copied(b"small"));
        assert_eq!(drain(&mut outbox, usize::MAX), b"small");
        assert!(outbox.sending.capacity() <= KEEP_BYTES, "{}", outbox.sending.capacity());
        assert!(outbox.waiting.capacity() <= KEEP_BYTES, "{}", outbox.waiting.capacity());
    }
}
