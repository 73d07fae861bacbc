//! Which streams we gave up, so that frames which the peer had sent before it knew are told from
//! frames that it should never have sent (RFC 9113 5.1).

const REMEMBERED: usize = 64;

/// The latest streams that we gave up. For older ones the benefit of the doubt holds: a frame for
/// a closed stream up to there is never taken for an error.
#[derive(Debug)]
pub(super) struct GivenUp {
    ids: [u32; REMEMBERED],
    next: usize,
    /// The highest number that was pushed out.
    forgotten: u32,
}

impl GivenUp {
    pub(super) fn new() -> Self {
        Self { ids: [0; REMEMBERED], next: 0, forgotten: 0 }
    }

    pub(super) fn add(&mut self, id: u32) {
        let pushed_out = std::mem::replace(&mut self.ids[self.next], id);
        self.forgotten = self.forgotten.max(pushed_out);
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// Whether frames for this closed stream may still come.
    pub(super) fn may_have(&self, id: u32) -> bool {
        id <= self.forgotten || self.ids.contains(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_in_favour_of_the_peer() {
        let mut given_up = GivenUp::new();
        given_up.add(5);
        assert!(given_up.may_have(5));
        assert!(!given_up.may_have(3));
        for id in 0..REMEMBERED as u32 {
            given_up.add(101 + 2 * id);
        }
        assert!(given_up.may_have(3));
        assert!(given_up.may_have(5));
        assert!(!given_up.may_have(7));
        assert!(given_up.may_have(101));
    }
}
