//! The memory of echoes, of requests and of WebSocket messages alike: what one holds, and how much
//! all of a worker hold.

use crate::route::Refusal;
use crate::site::Parts;

pub(crate) const TOO_LARGE: Refusal =
    Refusal { status: 413, line: "the body is larger than is echoed" };
const TOO_MUCH: Refusal =
    Refusal { status: 503, line: "too much is being echoed at once; try again" };

/// The memory of an echo, reused for later ones.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Header lines of the answer.
    pub(crate) fields: Vec<u8>,
    /// Body of the answer.
    pub(crate) body: Vec<u8>,
    /// Of a request with wishes.
    pub(crate) site: Parts,
    /// The head of a request that a program answers.
    pub(crate) head: Vec<u8>,
    /// How much of the request's body has arrived.
    received: u64,
}

/// The memory of all echoes: the buffers not in use, and how much those in use hold. An echo
/// allocates only when more echoes are under way than ever before.
#[derive(Debug)]
pub(crate) struct Pool {
    #[expect(clippy::vec_box, reason = "a connection holds the box, allocated once")]
    free: Vec<Box<Work>>,
    /// Bytes of bodies in buffers in use.
    used_bytes: u64,
    used_bytes_max: u64,
}

impl Pool {
    const KEPT_MAX: usize = 256;
    const KEPT_BYTES_MAX: usize = 64 * 1024;

    /// For at most `used_bytes_max` bytes of bodies.
    pub(crate) fn new(used_bytes_max: u64) -> Self {
        Self { free: Vec::new(), used_bytes: 0, used_bytes_max }
    }

    pub(crate) fn take(&mut self) -> Box<Work> {
        self.free.pop().unwrap_or_default()
    }

    /// Adds to a body, if that keeps within the limits.
    pub(crate) fn extend(
        &mut self,
        work: &mut Work,
        piece: &[u8],
        bytes_max: u64,
    ) -> Result<(), Refusal> {
        let bytes = piece.len() as u64;
        if work.received + bytes > bytes_max {
            return Err(TOO_LARGE);
        }
        if self.used_bytes + bytes > self.used_bytes_max {
            return Err(TOO_MUCH);
        }
        self.used_bytes += bytes;
        work.received += bytes;
        work.body.extend_from_slice(piece);
        Ok(())
    }

    /// Counts a body that was made to be longer than what came, if that keeps within the limits.
    pub(crate) fn charge(&mut self, work: &mut Work) -> Result<(), Refusal> {
        let bytes = (work.body.len() as u64).saturating_sub(work.received);
        if self.used_bytes + bytes > self.used_bytes_max {
            return Err(TOO_MUCH);
        }
        self.used_bytes += bytes;
        work.received += bytes;
        Ok(())
    }

    /// Takes a buffer back, or frees it if it grew too large.
    pub(crate) fn put(&mut self, mut work: Box<Work>) {
        self.used_bytes -= work.received;
        if self.free.len() < Self::KEPT_MAX && work.body.capacity() <= Self::KEPT_BYTES_MAX {
            work.fields.clear();
            work.body.clear();
            work.head.clear();
            work.site = Parts::default();
            work.received = 0;
            self.free.push(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_buffers_that_grew_large_are_not_kept() {
        let mut pool = Pool::new(1 << 20);
        let large = vec![0; Pool::KEPT_BYTES_MAX + 1];
        for (piece, kept) in [(&large[..100], 1), (&large, 0)] {
            let mut work = pool.take();
            pool.extend(&mut work, piece, u64::MAX).expect("room");
            work.fields.extend_from_slice(b"x");
            assert_eq!(pool.used_bytes, piece.len() as u64);
            pool.put(work);
            assert_eq!((pool.free.len(), pool.used_bytes), (kept, 0));
        }
        pool.put(Box::default());
        let work = pool.take();
        assert!(work.fields.is_empty() && work.body.is_empty() && work.received == 0);
    }

    #[test]
    fn echoes_are_bounded_each_and_together() {
        let mut pool = Pool::new(10);
        let (mut first, mut second) = (pool.take(), pool.take());
        assert_eq!(pool.extend(&mut first, b"12345", 5), Ok(()));
        assert_eq!(pool.extend(&mut first, b"6", 5), Err(TOO_LARGE));
        assert_eq!(pool.extend(&mut second, b"123456", 9), Err(TOO_MUCH));
        assert_eq!(pool.extend(&mut second, b"12345", 9), Ok(()));
        pool.put(first);
        assert_eq!(pool.extend(&mut second, b"6789", 9), Ok(()));
        assert_eq!(second.body, b"123456789");
    }
}
