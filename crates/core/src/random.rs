//! Random numbers without state: the value for request `number` of a stream is a function of the
//! seed, the stream and the number. Whichever worker sends a request, and in whatever order, it
//! draws the same value, so two runs with one seed send the same requests.
//!
//! A stream is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! 2014), whose outputs can be computed in any order.

/// The odd constant nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Purposes of streams below this are the places in a request that are random.
pub const TABLES: u64 = 1 << 32;
/// The purpose of choosing targets. Between [`TABLES`] and this, those of choosing rows.
pub const TARGETS: u64 = 1 << 40;
/// The purpose of making the boundaries of multipart bodies.
pub const BOUNDARIES: u64 = TARGETS + 1;
/// The purpose of seeding the scenarios of a run.
pub const SCENARIOS: u64 = TARGETS + 2;

/// The purpose of drawing the nonces of WebSocket handshakes.
pub const WEBSOCKET_NONCES: u64 = TARGETS + 3;
/// The purpose of drawing the keys that WebSocket messages are masked with.
pub const WEBSOCKET_KEYS: u64 = TARGETS + 4;
/// The purpose of varying the times of calls.
pub const JITTER: u64 = TARGETS + 5;
/// The purpose of drawing how many requests connections serve.
pub const REUSE: u64 = TARGETS + 6;

/// A stream of random words that can be read at any place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream of a purpose, which is any number: streams of different purposes have nothing to
    /// do with each other.
    #[must_use]
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self { key: mix(mix(seed.wrapping_add(GAMMA)) ^ purpose.wrapping_mul(GAMMA)) }
    }

    /// The word at a place, every value with the same chance.
    #[inline]
    #[must_use]
    pub fn word(self, place: u64) -> u64 {
        mix(self.key.wrapping_add(place.wrapping_add(1).wrapping_mul(GAMMA)))
    }
}

/// Maps a word evenly to `0..limit`; `limit` is at least 1 and at most 2^64.
#[inline]
#[must_use]
pub fn below(word: u64, limit: u128) -> u64 {
    debug_assert!(0 < limit && limit <= 1 << 64);
    ((u128::from(word) * limit) >> 64) as u64
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_splitmix64() {
        // The first outputs of the reference implementation seeded with 1234567.
        let stream = Stream { key: 1_234_567 };
        let words: Vec<u64> = (0..3).map(|place| stream.word(place)).collect();
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn seeds_and_purposes_have_streams_of_their_own() {
        let mut first: Vec<u64> = (0..10)
            .flat_map(|seed| (0..10).map(move |purpose| Stream::new(seed, purpose).word(0)))
            .collect();
        first.sort_unstable();
        first.dedup();
        assert_eq!(first.len(), 100);
    }

    #[test]
    fn below_covers_its_range_and_nothing_else() {
        assert_eq!((below(0, 10), below(u64::MAX, 10)), (0, 9));
        assert_eq!((below(0, 1 << 64), below(u64::MAX, 1 << 64)), (0, u64::MAX));
        let mut seen = [0u32; 10];
        for place in 0..10_000 {
            seen[below(Stream::new(7, 0).word(place), 10) as usize] += 1;
        }
        // Six standard deviations of a count with mean 1000.
        assert!(seen.iter().all(|count| (820..1180).contains(count)), "{seen:?}");
    }
}
