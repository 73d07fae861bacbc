//! Adds up what causes can have done to figures.
//!
//! If at most the share `s` of the requests is off by more than `a`, the true quantile `q` is at
//! least the measured quantile `q - s` less `a`: the requests below it that are off by more are `s`
//! at most. The same holds in the other direction. Two causes that each have such a bound have the
//! one of twice `a` and both shares together. Nothing is known of how causes depend on each other,
//! and nothing is assumed.

use super::{Bounds, Figure, Interval, Lean, Off, Reach, Touch};
use crate::histogram::Histogram;

/// Doubt of times below this is noise, whatever the server's speed.
const FLOOR_NS: f64 = 100_000.0;
/// And below this share of the value.
const TIME_SHARE: f64 = 0.1;
/// Doubt of rates and counts below this share of the value does not matter.
const VALUE_SHARE: f64 = 0.05;
/// The lower end of a bucket of a histogram, as a share of its upper end.
const BUCKET_LOW: f64 = 0.999;

/// The touches of some causes, to be asked about figures.
#[derive(Debug, Clone)]
pub struct Doubts<'a> {
    touches: Vec<&'a Touch>,
    /// How many times as many of a part's requests may be off as of all.
    concentration: f64,
}

/// All that is known of one side of a figure.
struct Side<'a> {
    is_any: bool,
    /// The shares of the value, multiplied.
    factor: f64,
    curves: Vec<&'a [Off]>,
    concentration: f64,
}

impl<'a> Doubts<'a> {
    /// Of causes' touches.
    #[must_use]
    pub fn of(touches: impl IntoIterator<Item = &'a Touch>) -> Self {
        Self { touches: touches.into_iter().collect(), concentration: 1.0 }
    }

    /// No doubt at all.
    #[must_use]
    pub fn none() -> Self {
        Self::of([])
    }

    /// Of a part that has `requests` of `all` requests. Those that are off may all be in it.
    #[must_use]
    pub fn of_part(&self, requests: u64, all: u64) -> Self {
        // No share at all stays none: infinity times zero is no number.
        let concentration = if requests == 0 { f64::MAX } else { all as f64 / requests as f64 };
        Self { touches: self.touches.clone(), concentration: concentration.max(1.0) }
    }

    /// Whether anything touches a figure.
    #[must_use]
    pub fn touch(&self, figure: Figure) -> bool {
        self.touches.iter().any(|touch| {
            touch.figure == figure && !(touch.below.is_nothing() && touch.above.is_nothing())
        })
    }

    /// The interval of a rate or a count. `value` is in any unit.
    #[must_use]
    pub fn value(&self, figure: Figure, value: f64) -> Interval {
        let below = self.side(&[figure], |touch| &touch.below);
        let above = self.side(&[figure], |touch| &touch.above);
        // A share of the requests is that share of what is counted of them.
        let low = if below.is_any { 0.0 } else { value * (1.0 - below.whole_share()).max(0.0) };
        let high = if above.is_any { f64::INFINITY } else { value * (1.0 + above.whole_share()) };
        Interval { low, high }
    }

    /// The interval of a quantile `q` (0 to 1; 1 is the maximum) of times, ns.
    #[must_use]
    pub fn quantile_ns(&self, figure: Figure, times: &Bounds<'_>, q: f64) -> Interval {
        let below = self.below(figure);
        let low = below.best(f64::max, |share, by_ns| {
            let rank = q - share;
            let is_lowest = rank <= 0.0 && share > 0.0;
            let value_ns = if is_lowest { None } else { times.all().quantile_ns(rank) };
            (value_ns.unwrap_or(0) as f64 - by_ns).max(0.0)
        });
        let above = self.above(figure);
        let high = above.best(f64::min, |share, by_ns| {
            let most_ns = times.most_ns(q + share).filter(|_| share == 0.0 || q + share < 1.0);
            most_ns.map_or(f64::INFINITY, |most_ns| most_ns as f64 + by_ns)
        });
        let known = times.all().quantile_ns(q).map_or(0.0, |value_ns| value_ns as f64);
        Interval {
            low: low.unwrap_or(0.0).min(known) * (2.0 - below.factor).max(0.0),
            high: high.unwrap_or(f64::INFINITY).max(known) * above.factor,
        }
    }

    /// The interval of the mean of times, ns.
    #[must_use]
    pub fn mean_ns(&self, figure: Figure, times: &Bounds<'_>) -> Interval {
        let mean_ns = times.all().mean_ns().unwrap_or(0.0);
        let below = self.below(figure);
        let low = below.best(f64::max, |share, by_ns| {
            (mean_of_lowest_ns(times.all(), 1.0 - share) - by_ns).max(0.0)
        });
        let above = self.above(figure);
        let high = above.best(f64::min, |share, by_ns| {
            if share > 0.0 || times.incomplete() > 0 { f64::INFINITY } else { mean_ns + by_ns }
        });
        Interval {
            low: low.unwrap_or(0.0).min(mean_ns) * (2.0 - below.factor).max(0.0),
            high: high.unwrap_or(f64::INFINITY).max(mean_ns) * above.factor,
        }
    }

    /// The interval of the standard deviation of times, ns, of which little is known in doubt.
    #[must_use]
    pub fn stdev_ns(&self, figure: Figure, times: &Bounds<'_>) -> Interval {
        let stdev_ns = times.all().stdev_ns().unwrap_or(0.0);
        let is_touched = with_phases(figure).iter().any(|figure| self.touch(*figure));
        if is_touched || times.incomplete() > 0 {
            return Interval::unknown();
        }
        Interval::exact(stdev_ns)
    }

    /// The interval of a value that was made of times, if nothing is known of the distribution.
    #[must_use]
    pub fn of_times(&self, figure: Figure, value: f64) -> Interval {
        let (below, above) = (self.below(figure), self.above(figure));
        let is_bounded = |side: &Side<'_>| !side.is_any && side.curves.is_empty();
        Interval {
            low: if is_bounded(&below) { value * (2.0 - below.factor).max(0.0) } else { 0.0 },
            high: if is_bounded(&above) { value * above.factor } else { f64::INFINITY },
        }
    }

    /// Whether the doubt of a quantile matters to a reader: the true value may be off by more than
    /// a tenth and more than 100 µs.
    #[must_use]
    pub fn is_quantile_in_doubt(&self, figure: Figure, all: &Histogram, q: f64) -> bool {
        match all.quantile_ns(q) {
            Some(_) => self.quantile_lean(figure, all, q).is_some(),
            None => self.touch(figure),
        }
    }

    /// To which side a quantile may be off, if that matters.
    #[must_use]
    pub fn quantile_lean(&self, figure: Figure, all: &Histogram, q: f64) -> Option<Lean> {
        // Incomplete requests have a mark of their own.
        let interval = self.quantile_ns(figure, &Bounds::new(all, 0, 0), q);
        time_lean(interval, all.quantile_ns(q)? as f64)
    }

    /// To which side the mean may be off, if that matters.
    #[must_use]
    pub fn mean_lean(&self, figure: Figure, all: &Histogram) -> Option<Lean> {
        time_lean(self.mean_ns(figure, &Bounds::new(all, 0, 0)), all.mean_ns()?)
    }

    /// Whether the doubt of a rate or of counts matters: the true value may be off by more than 5
    /// %.
    #[must_use]
    pub fn is_value_in_doubt(&self, figure: Figure) -> bool {
        self.value_lean(figure).is_some()
    }

    /// To which side a rate or counts may be off, if that matters.
    #[must_use]
    pub fn value_lean(&self, figure: Figure) -> Option<Lean> {
        self.value(figure, 1.0).lean(1.0, VALUE_SHARE)
    }

    /// What makes times too long.
    fn below(&self, figure: Figure) -> Side<'_> {
        self.side(with_phases(figure), |touch| &touch.below)
    }

    /// What makes times too short.
    fn above(&self, figure: Figure) -> Side<'_> {
        self.side(with_phases(figure), |touch| &touch.above)
    }

    fn side(&self, figures: &[Figure], of: fn(&Touch) -> &Reach) -> Side<'_> {
        let concentration = self.concentration;
        let mut side = Side { is_any: false, factor: 1.0, curves: Vec::new(), concentration };
        for touch in self.touches.iter().filter(|touch| figures.contains(&touch.figure)) {
            match of(touch) {
                Reach::Nothing => {}
                Reach::SharePpm(share_ppm) => side.factor *= 1.0 + f64::from(*share_ppm) / 1e6,
                Reach::Requests(curve) => side.curves.push(curve),
                Reach::Any => side.is_any = true,
            }
        }
        side
    }
}

impl Side<'_> {
    /// The best bound that `bound` gives for a share of the requests that is off by more than a
    /// time in ns; `None` if there is no limit.
    fn best(&self, better: fn(f64, f64) -> f64, bound: impl Fn(f64, f64) -> f64) -> Option<f64> {
        if self.is_any {
            return None;
        }
        if self.curves.is_empty() {
            return Some(bound(0.0, 0.0));
        }
        let times_ns = self.curves.iter().flat_map(|curve| curve.iter().map(|off| off.over_ns));
        let causes = self.curves.len() as f64;
        let bounds = times_ns.map(|over_ns| {
            let share: f64 = self.curves.iter().map(|curve| share_over(curve, over_ns)).sum();
            // At the end of a curve no request is off by more, in no part of them.
            let share = if share == 0.0 { 0.0 } else { (share * self.concentration).min(1.0) };
            bound(share, over_ns as f64 * causes)
        });
        bounds.reduce(better)
    }

    /// By which share of it a value may be off, if the value counts requests.
    fn whole_share(&self) -> f64 {
        let requests: f64 = self.curves.iter().map(|curve| share_over(curve, 0)).sum();
        self.factor - 1.0 + requests * self.concentration
    }
}

/// What times of a figure depend on. Opening a connection is a phase, and more can happen to it.
fn with_phases(figure: Figure) -> &'static [Figure] {
    match figure {
        Figure::Connections => &[Figure::Connections, Figure::Phases],
        Figure::Response => &[Figure::Response],
        Figure::Service => &[Figure::Service],
        Figure::Phases => &[Figure::Phases],
        Figure::Load => &[Figure::Load],
        Figure::Counts => &[Figure::Counts],
        Figure::Offered => &[Figure::Offered],
        Figure::Achieved => &[Figure::Achieved],
        Figure::Server => &[Figure::Server],
        Figure::Series => &[Figure::Series],
    }
}

/// To which side a time may be off by more than a reader cares about.
fn time_lean(interval: Interval, value_ns: f64) -> Option<Lean> {
    interval.lean(value_ns, FLOOR_NS.max(value_ns * TIME_SHARE))
}

/// The share of the requests that may be off by more than a time, ns.
fn share_over(curve: &[Off], over_ns: u64) -> f64 {
    let known = curve.iter().filter(|off| off.over_ns <= over_ns).map(|off| off.share_ppm).min();
    known.map_or(1.0, |share_ppm| f64::from(share_ppm) / 1e6)
}

/// What the lowest `share` of the times adds to the mean of all, ns.
fn mean_of_lowest_ns(times: &Histogram, share: f64) -> f64 {
    let count = times.count() as f64;
    if count == 0.0 || share >= 1.0 {
        return times.mean_ns().unwrap_or(0.0);
    }
    let mut left = (count * share.max(0.0)).floor();
    let mut sum_ns = 0.0;
    for (value_ns, held) in times.buckets() {
        let taken = left.min(held as f64);
        sum_ns += taken * value_ns as f64 * BUCKET_LOW;
        left -= taken;
        if left <= 0.0 {
            break;
        }
    }
    sum_ns / count
}
