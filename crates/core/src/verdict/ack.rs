//! Finds delayed acknowledgements: a peak at 40 ms or 200 ms beside fast answers.
//!
//! A delay alone proves nothing, because a server may take 40 ms on purpose. The evidence is that
//! other requests of the same kind were fast, or that answers paused after their first byte while
//! the kernel sent as many delayed acknowledgements.

use super::{Cause, Evidence, note, percent, share};
use crate::histogram::Histogram;

/// At one delayed request in a thousand, the delay determines the 99.9th percentile.
const DELAYED_SHARE: f64 = 0.001;
/// With fewer than this, a share means nothing.
const DELAYED_MIN: u64 = 10;
/// A peak stands out when it is this many times as high as the higher of its neighbours.
const PEAK: u64 = 10;
/// At least this many whole answers, and this share of them, must be fast.
const FAST_MIN: u64 = 10;
const FAST_SHARE: f64 = 0.01;
/// The kernel's count confirms a peak when it is at least this share of the peak's requests.
const BORNE_OUT: f64 = 0.9;

/// A delay that kernels have: its range and its neighbours, of one width, in ms. Linux delays an
/// acknowledgement by 40 ms at least and 200 ms at most, and a tick of its clock: with 250 ticks a
/// second 44 ms and 48 ms are the most frequent. Systems of other makes delay by 200 ms.
struct Delay {
    bounds_ms: [u64; 4],
    words: &'static str,
}

const DELAYS: [Delay; 2] = [
    Delay { bounds_ms: [27, 38, 49, 60], words: "38 to 49 ms" },
    Delay { bounds_ms: [184, 198, 212, 226], words: "198 to 212 ms" },
];

/// How many times lie about a delay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// Less than half of it.
    pub fast: u64,
    /// A little less.
    pub below: u64,
    /// As long.
    pub inside: u64,
    /// A little more.
    pub above: u64,
}

impl Peak {
    fn of(times: &Histogram, delay: &Delay) -> Self {
        let [from, low, high, to] = delay.bounds_ms;
        let [fast, from, low, high, to] =
            [low / 2, from, low, high, to].map(|ms| times.count_at_most(ms * 1_000_000));
        Self { fast, below: low - from, inside: high - low, above: to - high }
    }

    fn stands_out(&self, count: u64) -> bool {
        self.inside >= DELAYED_MIN
            && share(self.inside, count) >= DELAYED_SHARE
            && self.inside >= PEAK * self.below.max(self.above)
    }
}

/// Times about each of the delays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peaks {
    /// About 40 ms, and about 200 ms.
    pub at: [Peak; 2],
    /// Times in all.
    pub count: u64,
}

impl Peaks {
    /// Counts them.
    #[must_use]
    pub fn of(times: &Histogram) -> Self {
        let at = [Peak::of(times, &DELAYS[0]), Peak::of(times, &DELAYS[1])];
        Self { at, count: times.count() }
    }
}

/// What may show delayed acknowledgements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AckDelays {
    /// Service times: of each endpoint where there are several, for what is slow beside another
    /// endpoint's requests may be meant so; else of all.
    pub service: Vec<Peaks>,
    /// From the first byte of an answer to its last.
    pub receiving: Peaks,
    /// Delayed acknowledgements that the kernel sent in the tester's network namespace.
    pub host_delayed: u64,
}

impl AckDelays {
    /// Answers whose first byte came at once and the rest after a delay. That some had no such
    /// stop shows that it is not meant, where all requests are alike; else the kernel has to say.
    fn behind_first_byte(&self, delay: usize) -> Option<f64> {
        let Peaks { at, count } = self.receiving;
        let peak = at[delay];
        let is_one_kind = self.service.len() < 2;
        let is_borne_out = share(self.host_delayed, peak.inside) >= BORNE_OUT;
        let shows = is_borne_out || (is_one_kind && peak.fast > 0);
        (peak.stands_out(count) && shows).then(|| share(peak.inside, count))
    }

    /// Answers that took a delay beside fast ones of their kind.
    fn beside_fast(&self, delay: usize) -> Option<f64> {
        let shows = |kind: &&Peaks| {
            let peak = kind.at[delay];
            peak.stands_out(kind.count)
                && peak.fast >= FAST_MIN
                && share(peak.fast, kind.count) >= FAST_SHARE
        };
        let inside: u64 = self.service.iter().filter(shows).map(|kind| kind.at[delay].inside).sum();
        let count = self.service.iter().map(|kind| kind.count).sum();
        (inside > 0).then(|| share(inside, count))
    }
}

pub(super) fn delayed_ack(e: &Evidence) -> Option<Cause> {
    let seen = DELAYS.iter().enumerate().find_map(|(index, delay)| {
        let words = delay.words;
        if let Some(part) = e.ack_delays.behind_first_byte(index) {
            let part = percent(part);
            return Some(format!(
                "{part} of the answers stopped for {words} behind their first byte"
            ));
        }
        let part = percent(e.ack_delays.beside_fast(index)?);
        Some(format!("{part} of the requests took {words} and hardly any a little less or more"))
    })?;
    note(
        "delayed_ack",
        format!(
            "{seen}, as when a server that writes an answer in pieces waits for a delayed ACK \
             (Nagle's algorithm): unless it means to, set TCP_NODELAY there (it is set here)"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times in ms and how many of each.
    type Times = [(f64, u64)];

    fn histogram(times: &Times) -> Histogram {
        let mut histogram = Histogram::new();
        for (ms, count) in times {
            histogram.record_n((ms * 1e6) as u64, *count);
        }
        histogram
    }

    fn says(service: &[&Times], receiving: &Times, host_delayed: u64) -> bool {
        let service = service.iter().map(|times| Peaks::of(&histogram(times))).collect();
        let receiving = Peaks::of(&histogram(receiving));
        let ack_delays = AckDelays { service, receiving, host_delayed };
        delayed_ack(&Evidence { ack_delays, ..Evidence::default() }).is_some()
    }

    /// As it was measured: a server that writes head and body apart without TCP_NODELAY, 8
    /// connections. The first answer on each is fast, because the kernel acknowledges at once
    /// there.
    const NAGLE: [(f64, u64); 3] = [(0.3, 8), (44.0, 270), (48.0, 10)];
    /// The same behind a warm-up, which has the first answers.
    const NAGLE_WARM: [(f64, u64); 2] = [(44.0, 270), (48.0, 10)];
    /// What a server's answers of one piece take to be received.
    const AT_ONCE: [(f64, u64); 1] = [(0.02, 288)];

    #[test]
    fn delayed_acknowledgements_are_seen() {
        for (name, service, receiving, host_delayed) in [
            ("from the start", &NAGLE[..], &NAGLE[..], 0),
            ("behind a warm-up, by the kernel's count", &NAGLE_WARM, &NAGLE_WARM, 281),
            ("behind a proxy", &[(0.4, 100), (44.0, 200)], &AT_ONCE, 0),
            ("of 200 ms", &[(0.4, 100), (203.0, 200)], &AT_ONCE, 0),
            (
                "of 200 ms, behind the first byte",
                &[(0.4, 8), (203.0, 200)],
                &[(0.1, 8), (203.0, 200)],
                0,
            ),
        ] {
            assert!(says(&[service], receiving, host_delayed), "{name}");
        }
    }

    #[test]
    fn other_delays_are_not_taken_for_them() {
        let fast: &Times = &[(0.4, 1000)];
        let meant: &Times = &[(40.2, 1000)];
        for (name, service, receiving, host_delayed) in [
            ("/delay/50ms", &[&[(50.1, 288)][..]][..], &AT_ONCE[..], 288),
            ("/delay/40ms", &[&[(40.1, 280), (40.9, 8)]], &AT_ONCE, 288),
            ("/delay/200ms", &[&[(200.2, 288)]], &AT_ONCE, 288),
            ("half of them 50 ms", &[&[(0.2, 144), (50.1, 144)]], &AT_ONCE, 144),
            ("an endpoint that means to, beside a fast one", &[fast, meant], &AT_ONCE, 0),
            ("a body that is sent 40 ms behind its head", &[meant], meant, 20),
            ("a network of 40 ms", &[&[(40.0, 900), (44.0, 80), (60.0, 20)]], &AT_ONCE, 0),
            ("one fast failure", &[&[(0.4, 1), (40.0, 999)]], &AT_ONCE, 0),
            (
                "a broad distribution",
                &[&[(0.4, 90), (33.0, 50), (44.0, 60), (55.0, 50)]],
                &AT_ONCE,
                0,
            ),
            ("nothing", &[&[]], &[], 0),
        ] {
            assert!(!says(service, receiving, host_delayed), "{name}");
        }
    }

    #[test]
    fn times_are_counted_about_both_delays() {
        let times =
            [(1.0, 500), (28.0, 2), (40.0, 5), (44.0, 200), (48.0, 7), (53.0, 4), (204.0, 9)];
        let peaks = Peaks::of(&histogram(&times));
        let at_40ms = Peak { fast: 500, below: 2, inside: 212, above: 4 };
        let at_200ms = Peak { fast: 718, below: 0, inside: 9, above: 0 };
        assert_eq!(peaks, Peaks { at: [at_40ms, at_200ms], count: 727 });
    }
}
