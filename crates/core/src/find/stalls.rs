//! Stalls of the server, added up over all probes of a search.
//!
//! A garbage collection, a checkpoint or a cron job stops a server for a while at any rate. One
//! probe holds none or one of them, and says nothing about how often they come. All probes together
//! hold more: their time counts at whatever rate it was measured. A stall shows by response times
//! far over the limit, which queues alone do not reach at rates around the load line. A probe in
//! overload has such times throughout, so that none of its intervals is a stall; it is left out.

use super::bound::{Clumps, blocks};
use super::figures::{Figures, Sums};

/// Stalls at rates this close below a rate do as much damage as at that rate.
pub(super) const NEAR: f64 = 1.1;

/// The level at which a probe is taken to have stalls of its own. It is high, because the mistake
/// that leads to a wrong answer is to miss it.
const OWN_ALPHA: f64 = 0.2;

/// The level at which stalls at higher rates are taken to come with the load. The mistake that
/// leads to a wrong answer is to see it where it is not so; the other sends the search far below
/// the line.
const WITH_LOAD_ALPHA: f64 = 0.02;

/// How many stalls say what one costs.
const STALLS_NEAR: usize = 5;

/// A stall in a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// The rate of the probe, requests per second.
    pub rate_rps: f64,
    /// For how many seconds' worth of requests the objective was missed.
    pub damage_s: f64,
}

/// What all probes of a search show about the stalls of an objective.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pool {
    /// The probes in which stalls would have shown: rate, and measured time in seconds.
    probes: Vec<(f64, f64)>,
    /// The stalls seen in them.
    stalls: Vec<Stall>,
}

impl Pool {
    /// Adds a probe at a rate, by the sums of an objective whose average must stay below `limit`.
    pub fn add(&mut self, figures: &Figures, sums: &Sums, limit: f64, rate_rps: f64) {
        if rate_rps <= 0.0 || is_overloaded(sums, limit) {
            return;
        }
        self.probes.push((rate_rps, figures.measured_s()));
        let mut damage = 0;
        for (against, far) in sums.against.iter().zip(&sums.far).chain([(&0, &0)]) {
            if *far > 0 {
                damage += against;
            } else if damage > 0 {
                self.stalls.push(Stall { rate_rps, damage_s: damage as f64 / rate_rps });
                damage = 0;
            }
        }
    }

    /// How many stalls there are.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.stalls.len()
    }

    /// The time measured in which they would have shown, in seconds.
    #[must_use]
    pub fn measured_s(&self) -> f64 {
        self.probes.iter().map(|(_, measured_s)| measured_s).sum()
    }

    /// What counts at a rate. Stalls that come more often at higher rates come with the load, and
    /// say nothing about this rate; then those rates are left out.
    pub(super) fn around(&self, rate_rps: f64) -> Self {
        let is_low = |other_rps: f64| other_rps <= rate_rps * NEAR;
        let part = |is_wanted: bool| Self {
            probes: self.probes.iter().filter(|it| is_low(it.0) == is_wanted).copied().collect(),
            stalls: self
                .stalls
                .iter()
                .filter(|it| is_low(it.rate_rps) == is_wanted)
                .copied()
                .collect(),
        };
        match self.are_more_frequent_in(&part(false), WITH_LOAD_ALPHA) {
            true => part(true),
            false => self.clone(),
        }
    }

    /// Whether stalls come more often in probes that are part of this, at the level `alpha`. Given
    /// the number of stalls, how many fall into a part of the time is binomially distributed.
    fn are_more_frequent_in(&self, part: &Self, alpha: f64) -> bool {
        let share = (part.measured_s() / self.measured_s()).min(1.0);
        let (all, seen) = (self.stalls.len(), part.stalls.len());
        if seen == 0 || share >= 1.0 {
            return false;
        }
        let mut chance = (1.0 - share).powi(all as i32);
        let mut fewer = 0.0;
        for i in 0..seen.min(all) {
            fewer += chance;
            chance *= (all - i) as f64 / (i + 1) as f64 * share / (1.0 - share);
        }
        1.0 - fewer < alpha
    }

    /// Whether a probe that is part of this has stalls of its own, which the other probes say
    /// nothing about.
    pub(super) fn are_its_own(&self, probe: &Self) -> bool {
        self.are_more_frequent_in(probe, OWN_ALPHA)
    }

    /// The share of requests that the stalls cost at a rate, as a sum of clumps.
    pub(super) fn share_at(&self, rate_rps: f64) -> Clumps {
        let measured_s = self.measured_s();
        if self.stalls.is_empty() || measured_s <= 0.0 {
            return Clumps::default();
        }
        let damages = self.damages_at(rate_rps);
        let n = damages.len() as f64;
        let mean = damages.iter().sum::<f64>() / n;
        let square = damages.iter().map(|it| it * it).sum::<f64>() / n;
        let seen = self.stalls.len() as f64;
        Clumps {
            sum: seen * mean / measured_s,
            variance: seen * square / measured_s.powi(2),
            largest: damages.iter().copied().fold(0.0, f64::max) / measured_s,
        }
    }

    /// What single stalls cost at a rate, from those seen near it.
    ///
    /// A stall does more damage at a higher rate, where the queue behind it takes longer to drain.
    /// So the damages are those at about this rate or just above; where too few were seen there,
    /// the largest of those seen below stand in for them.
    fn damages_at(&self, rate_rps: f64) -> Vec<f64> {
        let mut stalls = self.stalls.clone();
        stalls.sort_unstable_by(|a, b| a.rate_rps.total_cmp(&b.rate_rps));
        let below = stalls.partition_point(|stall| stall.rate_rps < rate_rps / NEAR);
        let above = stalls[below..].iter().map(|stall| stall.damage_s);
        let mut damages: Vec<f64> = above.take(STALLS_NEAR).collect();
        let mut lower: Vec<f64> = stalls[..below].iter().map(|stall| stall.damage_s).collect();
        lower.sort_unstable_by(|a, b| b.total_cmp(a));
        damages.extend(lower.into_iter().take(STALLS_NEAR.saturating_sub(damages.len())));
        damages
    }
}

/// Whether an objective is missed most of the time, and not now and then.
fn is_overloaded(sums: &Sums, limit: f64) -> bool {
    let of = |values: &[u64]| blocks(&values.iter().map(|it| *it as f64).collect::<Vec<_>>());
    let (among, against) = (of(&sums.among), of(&sums.against));
    let missed = among.iter().zip(&against).filter(|(among, against)| **against > limit * **among);
    2 * missed.count() > among.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(against: &[u64], far: &[u64]) -> (Figures, Sums) {
        let among = vec![100; against.len()];
        let figures =
            Figures { due: among.clone(), interval_ns: 1_000_000_000, ..Figures::default() };
        (
            figures,
            Sums { among, against: against.to_vec(), near: against.to_vec(), far: far.to_vec() },
        )
    }

    #[test]
    fn a_stall_is_a_run_of_intervals_with_times_far_over_the_limit() {
        let mut against = vec![0; 30];
        let mut far = vec![0; 30];
        (against[3], against[4], far[3], far[4]) = (60, 40, 50, 10);
        (against[7], against[9]) = (1, 1);
        (against[29], far[29]) = (50, 1);
        let (figures, sums) = sums(&against, &far);
        let mut pool = Pool::default();
        pool.add(&figures, &sums, 0.01, 100.0);
        let damages: Vec<f64> = pool.stalls.iter().map(|stall| stall.damage_s).collect();
        assert_eq!((pool.measured_s(), damages), (30.0, vec![1.0, 0.5]));
        let share = pool.share_at(100.0);
        assert_eq!((share.sum, share.largest), (1.5 / 30.0, 1.0 / 30.0));
        // At a higher rate nothing better is known; at a lower one neither.
        assert_eq!(pool.share_at(1000.0), share);
        assert_eq!(pool.share_at(10.0), share);
    }

    #[test]
    fn all_stalls_count_with_the_damage_near_the_rate() {
        let of = |(rate_rps, damage_s)| Stall { rate_rps, damage_s };
        let low = [(50.0, 0.2), (60.0, 0.1)];
        let near = [(480.0, 0.6), (500.0, 0.8), (500.0, 0.7), (510.0, 0.7), (520.0, 0.7)];
        let high = [(900.0, 3.0)];
        let stalls = low.into_iter().chain(near).chain(high).map(of).collect();
        let pool = Pool { probes: vec![(500.0, 100.0)], stalls };
        for (rate_rps, damage_s) in [
            (500.0, 0.7),
            // Fewer than five stalls are near: those above come in, and the largest below.
            (900.0, (3.0 + 0.8 + 0.7 + 0.7 + 0.7) / 5.0),
            (50.0, (0.2 + 0.1 + 0.6 + 0.8 + 0.7) / 5.0),
        ] {
            let share = pool.share_at(rate_rps).sum;
            assert!((share - 8.0 * damage_s / 100.0).abs() < 1e-12, "{rate_rps}: {share}");
        }
    }

    #[test]
    fn a_probe_with_most_of_the_stalls_has_its_own() {
        let of = |measured_s, seen| Pool {
            probes: vec![(500.0, measured_s)],
            stalls: vec![Stall { rate_rps: 500.0, damage_s: 0.5 }; seen],
        };
        for (all, own, want) in [
            // The binomial sum: 0.167, 0.25, 0.070, 0.001, 0.31. Probes without stalls, and a probe
            // that is all of the time, never have more of them.
            ((360.0, 1), (60.0, 1), true),
            ((240.0, 1), (60.0, 1), false),
            ((360.0, 10), (60.0, 4), true),
            ((360.0, 6), (60.0, 5), true),
            ((360.0, 2), (60.0, 1), false),
            ((360.0, 2), (60.0, 0), false),
            ((60.0, 2), (60.0, 2), false),
        ] {
            let found = of(all.0, all.1).are_its_own(&of(own.0, own.1));
            assert_eq!(found, want, "{all:?} {own:?}");
        }
    }

    #[test]
    fn stalls_that_come_with_the_load_count_at_its_rates_alone() {
        let stall = |rate_rps| Stall { rate_rps, damage_s: 0.5 };
        let pool = Pool {
            probes: vec![(100.0, 60.0), (500.0, 60.0), (600.0, 60.0)],
            stalls: vec![stall(600.0); 6],
        };
        assert_eq!(pool.around(500.0).seen(), 0);
        assert_eq!(pool.around(500.0).measured_s(), 120.0);
        assert_eq!((pool.around(600.0).seen(), pool.around(600.0).measured_s()), (6, 180.0));
        let any = Pool { stalls: vec![stall(100.0), stall(600.0), stall(600.0)], ..pool };
        assert_eq!(any.around(500.0).seen(), 3);
    }

    #[test]
    fn overload_has_no_stalls() {
        let (figures, sums) = sums(&[100; 30], &[100; 30]);
        let mut pool = Pool::default();
        pool.add(&figures, &sums, 0.01, 100.0);
        assert_eq!(pool, Pool::default());
    }
}
