//! What the tester itself may have added to the figures of a run, for comparisons.
//!
//! A run whose figures hold for people may still have a few per cent of the tester's own delay in
//! them: doubt begins at a tenth of a time. Comparisons call differences of one per cent, so they
//! ask whether a difference is still there without that delay ([`CaseRun::undelayed`]). It is an
//! estimate and not a bound: times less the lateness of sending at the same quantile, and less as
//! much again where the tester read the responses as late; figures of a closed loop less the share
//! of the time in which the tester was kept from running. If both sides had the same delay, nothing
//! changes between them.
//!
//! Nothing is known of testers of another make, and nothing is taken from them.

use serde::{Deserialize, Serialize};

use super::{CaseRun, Figures, Measure, Quantile, quantile_s, quantiles};
use crate::doubt::{Bounds, Doubts, Figure};
use crate::plan::Timestamps;
use crate::result::RunResult;

/// Times have no less than this without the tester's delay, s.
const LEAST_S: f64 = 1e-9;

/// What a tester knows of its own delay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnDelay {
    /// How late it sent, ascending by quantile; empty if nothing was due at a time of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<Quantile>,
    /// How late it sent on average, seconds.
    #[serde(default)]
    pub late_mean_s: f64,
    /// Whether the kernel's clock timed the responses, so that reading late is in no time.
    #[serde(default)]
    pub is_read_exact: bool,
    /// Of a closed loop: the share of the time (0 to 1) in which it was kept from running.
    #[serde(default)]
    pub lost_share: f64,
}

impl OwnDelay {
    /// That of a result; `None` if the document says nothing of it.
    pub(super) fn of(result: &RunResult) -> Option<Self> {
        let is_read_exact = result.plan.timestamps == Timestamps::Kernel;
        let late = &result.loader.lateness;
        if !result.is_open_loop() {
            let lost_share = result.loader.lost_share?;
            return Some(Self { lost_share, is_read_exact, ..Self::default() });
        }
        Some(Self {
            late: quantiles(&Doubts::none(), Figure::Phases, &Bounds::new(late, 0, 0)),
            late_mean_s: late.mean_ns()? / 1e9,
            is_read_exact,
            lost_share: 0.0,
        })
    }

    /// A time without the delay, in which sending late counts `sent` times. All in seconds.
    fn of_time(&self, s: f64, late_s: f64, sent: f64) -> f64 {
        let read = if self.is_read_exact { 0.0 } else { 1.0 };
        ((s - late_s * (sent + read)) * (1.0 - self.lost_share)).max(LEAST_S)
    }

    fn late_s(&self, q: f64) -> f64 {
        quantile_s(&self.late, q).unwrap_or(0.0)
    }
}

impl CaseRun {
    /// What a measure would have been without the tester's own delay, as far as that is known: the
    /// measure itself where nothing is.
    #[must_use]
    pub fn undelayed(&self, measure: Measure) -> Option<f64> {
        let value = measure.of(self)?;
        let Some(delay) = self.figures.own_delay.as_deref() else { return Some(value) };
        Some(match measure {
            Measure::Latency(q) => delay.of_time(value, delay.late_s(q), 1.0),
            Measure::Service(q) => delay.of_time(value, delay.late_s(q), 0.0),
            Measure::Mean => delay.of_time(value, delay.late_mean_s, 1.0),
            Measure::Rate | Measure::Responses => value / (1.0 - delay.lost_share).max(LEAST_S),
            _ => value,
        })
    }
}

impl Figures {
    /// Takes what the tester knows of its own delay from figures that were made of its result.
    pub(super) fn take_delay(&mut self, of_result: &Self) {
        self.own_delay.clone_from(&of_result.own_delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::case;

    fn run(delay: OwnDelay) -> CaseRun {
        let mut run = case("a", &[1000.0]).runs[0].clone();
        run.figures.latency = vec![Quantile::known(0.5, 0.020), Quantile::known(0.99, 0.030)];
        run.figures.service = vec![Quantile::known(0.5, 0.020)];
        run.figures.mean_s = Some(0.022);
        run.figures.own_delay = Some(Box::new(delay));
        run
    }

    #[test]
    fn times_lose_what_the_tester_added_to_them() {
        let late = vec![Quantile::known(0.5, 0.0001), Quantile::known(0.99, 0.004)];
        let at_a_rate = OwnDelay { late, late_mean_s: 0.0005, ..OwnDelay::default() };
        let exact = OwnDelay { is_read_exact: true, ..at_a_rate.clone() };
        let closed = OwnDelay { lost_share: 0.1, ..OwnDelay::default() };
        let late_all_along =
            OwnDelay { late: vec![Quantile::known(0.5, 1.0)], ..OwnDelay::default() };
        for (delay, measure, want) in [
            (&at_a_rate, Measure::Latency(0.5), 0.0198),
            (&at_a_rate, Measure::Latency(0.99), 0.022),
            (&at_a_rate, Measure::Service(0.5), 0.0199),
            (&at_a_rate, Measure::Mean, 0.021),
            (&at_a_rate, Measure::Rate, 1000.0),
            (&exact, Measure::Latency(0.99), 0.026),
            (&exact, Measure::Service(0.5), 0.020),
            (&closed, Measure::Latency(0.5), 0.018),
            (&closed, Measure::Rate, 1000.0 / 0.9),
            (&late_all_along, Measure::Latency(0.5), LEAST_S),
        ] {
            let found = run(delay.clone()).undelayed(measure).unwrap();
            assert!((found - want).abs() < 1e-9, "{measure} of {delay:?}: {found}, not {want}");
        }
        let mut unknown = run(OwnDelay::default());
        unknown.figures.own_delay = None;
        assert_eq!(unknown.undelayed(Measure::Latency(0.5)), Some(0.020));
        assert_eq!(unknown.undelayed(Measure::Service(0.9)), None);
    }
}
