//! What `fortio grpcping` prints: round trips and how far the clocks of both sides differ.

use plimsoll_core::details::Buckets;

use super::buckets::{Form, export};
use super::text::histogram;

/// Values are ns, and shown in µs.
const RTT: Form<'static> = Form { unit: 1e3, resolution: 10.0, offset: 0.0, percentiles: &[50.0] };
const SKEW: Form<'static> =
    Form { unit: 1e3, resolution: 2.0, offset: -10.0, percentiles: &[50.0] };

/// The times of two pings one after the other, ns of each side's wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the first was sent.
    pub sent_ns: i64,
    /// When the server answered it, as that says.
    pub first_answered_ns: i64,
    /// When the answer was here, and the second was sent.
    pub between_ns: i64,
    /// When the server answered the second.
    pub second_answered_ns: i64,
    /// When that answer was here.
    pub ended_ns: i64,
}

impl Exchange {
    /// The first round trip, that between the server's two answers, and the second one, ns.
    #[must_use]
    pub fn round_trips_ns(&self) -> [i64; 3] {
        [
            self.between_ns - self.sent_ns,
            self.second_answered_ns - self.first_answered_ns,
            self.ended_ns - self.between_ns,
        ]
    }

    /// How far the server's clock is ahead, ns: the server answers in the middle of a round trip,
    /// as far as is known.
    #[must_use]
    pub fn skew_ns(&self) -> i64 {
        let answered_ns = i128::from(self.first_answered_ns) + i128::from(self.second_answered_ns);
        let middle_ns =
            i128::from(self.sent_ns) + 2 * i128::from(self.between_ns) + i128::from(self.ended_ns);
        ((2 * answered_ns - middle_ns) / 4) as i64
    }
}

/// Pings in sum.
#[derive(Debug, Clone)]
pub struct Pings {
    skews: Buckets,
    round_trips: Buckets,
}

impl Default for Pings {
    fn default() -> Self {
        Self { skews: Buckets::new(&SKEW.ends()), round_trips: Buckets::new(&RTT.ends()) }
    }
}

impl Pings {
    /// Adds two pings, and gives the line that fortio logs of them.
    pub fn add(&mut self, exchange: &Exchange) -> String {
        let round_trips_ns = exchange.round_trips_ns();
        round_trips_ns.iter().for_each(|it| self.round_trips.record(*it));
        let skew_ns = exchange.skew_ns();
        self.skews.record(skew_ns);
        let [first, server, second] = round_trips_ns;
        let mean = (first + server + second) / 3;
        format!("Ping RTT {mean} (avg of {first}, {server}, {second} ns) clock skew {skew_ns}")
    }

    /// Adds a round trip alone, ns.
    pub fn add_round_trip(&mut self, ns: i64) {
        self.round_trips.record(ns);
    }

    /// The histograms.
    #[must_use]
    pub fn report(&self) -> String {
        let round_trips = histogram("RTT histogram usec", &export(&self.round_trips, RTT));
        if self.skews.count() == 0 {
            return round_trips;
        }
        let skews = histogram("Clock skew histogram usec", &export(&self.skews, SKEW));
        format!("{skews}{round_trips}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fortio printed of these round trips.
    #[test]
    fn histograms_are_those_of_fortio() {
        let golden = include_str!("fixtures/grpcping.out");
        let (_, rtts) = golden.split_once("RTT histogram").expect("two histograms");
        let mut pings = Pings::default();
        // Three in the first bucket, one in the second, and two far above, with fortio's sum.
        for ns in [91_735, 92_000, 93_000, 105_000, 196_537, 197_705] {
            pings.add_round_trip(ns);
        }
        let report = pings.report();
        let rest = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rest(&report), rest(rtts));
        assert!(report.starts_with("RTT histogram usec : count 6 avg 129.3295 +/- 4"), "{report}");
    }

    #[test]
    fn clocks_are_compared_at_the_middles_of_round_trips() {
        for (ahead_ns, there_ns, back_ns) in [(0, 10, 10), (500, 10, 10), (-7_000, 40, 40)] {
            let answered = |sent: i64| sent + there_ns + ahead_ns;
            let round = there_ns + back_ns;
            let exchange = Exchange {
                sent_ns: 1000,
                first_answered_ns: answered(1000),
                between_ns: 1000 + round,
                second_answered_ns: answered(1000 + round),
                ended_ns: 1000 + 2 * round,
            };
            assert_eq!(exchange.skew_ns(), ahead_ns);
            assert_eq!(exchange.round_trips_ns(), [round; 3]);
            let line = Pings::default().add(&exchange);
            assert!(line.ends_with(&format!("clock skew {ahead_ns}")), "{line}");
        }
    }
}
