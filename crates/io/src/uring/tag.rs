//! What a completion says of itself: which operation, on which use of which socket's number.

use crate::driver::SocketId;

/// Generations count modulo this.
const GENERATIONS: u32 = 1 << 24;

/// The operation a completion belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    /// Nobody waits for it: cancels and closes, which report only failures.
    Unwatched,
    Receive,
    Send,
    Connect,
    Accept,
    Wake,
}

/// Operation, generation and socket, as the kernel carries them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(pub(super) u64);

impl Tag {
    /// For operations whose completion is dropped.
    pub(super) const UNWATCHED: Self = Self::new(Op::Unwatched, 0, SocketId(0));

    #[inline]
    pub(super) const fn new(op: Op, generation: u32, id: SocketId) -> Self {
        Self((op as u64) << 56 | (generation as u64) << 32 | id.0 as u64)
    }

    #[inline]
    pub(super) fn op(self) -> Op {
        match self.0 >> 56 {
            1 => Op::Receive,
            2 => Op::Send,
            3 => Op::Connect,
            4 => Op::Accept,
            5 => Op::Wake,
            _ => Op::Unwatched,
        }
    }

    #[inline]
    pub(super) fn generation(self) -> u32 {
        (self.0 >> 32) as u32 % GENERATIONS
    }

    #[inline]
    pub(super) fn socket(self) -> SocketId {
        SocketId(self.0 as u32)
    }
}

/// The generation after this one.
pub(super) fn next_generation(generation: u32) -> u32 {
    (generation + 1) % GENERATIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_gives_back_what_went_in() {
        for op in [Op::Unwatched, Op::Receive, Op::Send, Op::Connect, Op::Accept, Op::Wake] {
            for generation in [0, 1, GENERATIONS - 1] {
                for id in [0, 1, u32::MAX].map(SocketId) {
                    let tag = Tag::new(op, generation, id);
                    let parts = (tag.op(), tag.generation(), tag.socket());
                    assert_eq!(parts, (op, generation, id));
                }
            }
        }
        assert_eq!(next_generation(GENERATIONS - 1), 0);
    }
}
