//! What a metric holds: values added up, or kept.
//!
//! A trend keeps its values as they are up to [`RAW_VALUES_MAX`], so that percentiles are exact and
//! interpolated as k6 does. Beyond it they go into a histogram: memory stays bounded, percentiles
//! are at most 0.1 % too high, and [`Trend::is_exact`] says so.

use plimsoll_core::metric::NumberHistogram;

use super::registry::Kind;
use super::stat::TrendStat;

/// How many values a trend keeps as they are: 400 kB of times, 800 kB of other numbers.
pub const RAW_VALUES_MAX: usize = 100_000;

/// The largest magnitude in a histogram; larger values are cut to it.
const VALUE_MAX: f64 = 1e270;

/// The values of a metric, by its type.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Their sum.
    Counter(Counter),
    /// The last, the least and the greatest.
    Gauge(Gauge),
    /// How many are not 0.
    Rate(Rate),
    /// How they are distributed.
    Trend(Trend),
}

/// A sum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counter {
    /// How many values were added.
    pub adds: u64,
    /// Their sum.
    pub sum: f64,
}

/// The last value and the range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauge {
    /// How many values were set.
    pub sets: u64,
    /// The last; 0 without any.
    pub value: f64,
    /// The least; 0 without any.
    pub min: f64,
    /// The greatest; 0 without any.
    pub max: f64,
}

/// A share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rate {
    /// Values that are not 0.
    pub trues: u64,
    /// All.
    pub total: u64,
}

impl Rate {
    /// The share, 0 to 1; 0 without values.
    #[must_use]
    pub fn share(self) -> f64 {
        if self.total == 0 { 0.0 } else { self.trues as f64 / self.total as f64 }
    }
}

impl Sink {
    /// Without values.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate(Rate::default()),
            Kind::Trend => Self::Trend(Trend::default()),
        }
    }

    /// The type of its metric.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Rate(_) => Kind::Rate,
            Self::Trend(_) => Kind::Trend,
        }
    }

    /// Adds a value, which is not NaN.
    pub fn add(&mut self, value: f64) {
        match self {
            Self::Counter(counter) => {
                counter.adds += 1;
                counter.sum += value;
            }
            Self::Gauge(gauge) => {
                let is_first = gauge.sets == 0;
                gauge.sets += 1;
                gauge.value = value;
                gauge.min = if is_first { value } else { gauge.min.min(value) };
                gauge.max = if is_first { value } else { gauge.max.max(value) };
            }
            Self::Rate(rate) => {
                rate.total += 1;
                rate.trues += u64::from(value != 0.0);
            }
            Self::Trend(trend) => trend.add(value),
        }
    }

    /// Adds a value that is known to be this or more, such as the time of a request that was given
    /// up. In all figures it counts as it is.
    pub fn add_bound(&mut self, value: f64) {
        self.add(value);
        if let Self::Trend(trend) = self {
            trend.bounds += 1;
        }
    }

    /// Adds the values of a sink of the same type that were recorded after these. One of another
    /// type is left alone.
    pub fn merge(&mut self, later: &Self) {
        match (self, later) {
            (Self::Counter(mine), Self::Counter(other)) => {
                mine.adds += other.adds;
                mine.sum += other.sum;
            }
            (Self::Gauge(mine), Self::Gauge(other)) if other.sets > 0 => {
                let is_first = mine.sets == 0;
                mine.sets += other.sets;
                mine.value = other.value;
                mine.min = if is_first { other.min } else { mine.min.min(other.min) };
                mine.max = if is_first { other.max } else { mine.max.max(other.max) };
            }
            (Self::Rate(mine), Self::Rate(other)) => {
                mine.trues += other.trues;
                mine.total += other.total;
            }
            (Self::Trend(mine), Self::Trend(other)) => mine.merge(other),
            _ => {}
        }
    }

    /// How many values it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Counter(counter) => counter.adds,
            Self::Gauge(gauge) => gauge.sets,
            Self::Rate(rate) => rate.total,
            Self::Trend(trend) => trend.count(),
        }
    }
}

/// Values as they are, in any order.
#[derive(Debug, Clone, Default)]
struct Values {
    /// How many of them are 0, as most times for connects are.
    zeros: usize,
    others: Others,
}

/// Values that are not 0.
#[derive(Debug, Clone)]
enum Others {
    /// Millionths, while all values are whole numbers of them: times in ms are, and so are many
    /// other numbers.
    Millionths(Vec<u32>),
    /// Numbers, since one was anything else.
    Numbers(Vec<f64>),
}

impl Default for Others {
    fn default() -> Self {
        Self::Millionths(Vec::new())
    }
}

impl Values {
    fn len(&self) -> usize {
        let others = match &self.others {
            Others::Millionths(values) => values.len(),
            Others::Numbers(values) => values.len(),
        };
        self.zeros + others
    }

    fn push(&mut self, value: f64) {
        // There is a negative zero, too.
        if value.to_bits() == 0 {
            self.zeros += 1;
            return;
        }
        match (&mut self.others, millionths(value)) {
            (Others::Millionths(values), Some(whole)) => push(values, whole),
            (Others::Numbers(values), _) => push(values, value),
            (Others::Millionths(values), None) => {
                let mut numbers = values.iter().map(|whole| of_millionths(*whole)).collect();
                push(&mut numbers, value);
                self.others = Others::Numbers(numbers);
            }
        }
    }

    fn for_each(&self, mut take: impl FnMut(f64)) {
        (0..self.zeros).for_each(|_| take(0.0));
        match &self.others {
            Others::Millionths(values) => {
                values.iter().for_each(|whole| take(of_millionths(*whole)));
            }
            Others::Numbers(values) => values.iter().for_each(|value| take(*value)),
        }
    }

    fn numbers(&self) -> Vec<f64> {
        let mut numbers = Vec::with_capacity(self.len());
        self.for_each(|value| numbers.push(value));
        numbers
    }
}

/// Adds a value, without room for more than a trend keeps.
fn push<T>(values: &mut Vec<T>, value: T) {
    if values.len() == values.capacity() {
        let room = (values.len() * 2).clamp(16, RAW_VALUES_MAX);
        values.reserve_exact(room.saturating_sub(values.len()));
    }
    values.push(value);
}

/// The millionths that a value is, if those stand for the same value.
fn millionths(value: f64) -> Option<u32> {
    let whole = (value * 1e6).round() as u32;
    (of_millionths(whole).to_bits() == value.to_bits()).then_some(whole)
}

fn of_millionths(whole: u32) -> f64 {
    f64::from(whole) / 1e6
}

/// How values are distributed.
#[derive(Debug, Clone, Default)]
pub struct Trend {
    /// All values, while there are few.
    values: Values,
    /// All values, once there are many.
    histogram: Option<Box<NumberHistogram>>,
    count: u64,
    /// How many of them are lower bounds.
    bounds: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Trend {
    /// Adds a value, which is not NaN.
    pub fn add(&mut self, value: f64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = if self.count == 0 { value } else { self.max.max(value) };
        self.count += 1;
        self.sum += value;
        self.keep(value);
    }

    fn keep(&mut self, value: f64) {
        match &mut self.histogram {
            Some(histogram) => record(histogram, value),
            None if self.values.len() < RAW_VALUES_MAX => self.values.push(value),
            None => record(self.compress(), value),
        }
    }

    /// Moves the values into a histogram.
    fn compress(&mut self) -> &mut NumberHistogram {
        let values = std::mem::take(&mut self.values);
        let histogram = self.histogram.get_or_insert_default();
        values.for_each(|value| record(histogram, value));
        histogram
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        let is_first = self.count == 0;
        self.min = if is_first { other.min } else { self.min.min(other.min) };
        self.max = if is_first { other.max } else { self.max.max(other.max) };
        self.count += other.count;
        self.bounds += other.bounds;
        self.sum += other.sum;
        if let Some(theirs) = &other.histogram {
            self.compress().merge(theirs);
        }
        other.values.for_each(|value| self.keep(value));
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The greatest that a figure can be, as some of the values are lower bounds: a percentile has
    /// no limit if more of them are that than lie beyond it.
    #[must_use]
    pub fn most(&self, stat: &TrendStat) -> f64 {
        let share = match stat {
            _ if self.bounds == 0 => return self.figures(std::slice::from_ref(stat))[0],
            TrendStat::Avg | TrendStat::Max => 1.0,
            TrendStat::Count | TrendStat::Min => {
                return self.figures(std::slice::from_ref(stat))[0];
            }
            TrendStat::Med => 0.5,
            TrendStat::Percentile { share, .. } => *share,
        };
        let worst = share + self.bounds as f64 / self.count.max(1) as f64;
        if worst > 1.0 || share >= 1.0 { f64::INFINITY } else { Sorted::of(self).percentile(worst) }
    }

    /// Whether percentiles are exact: there are at most [`RAW_VALUES_MAX`] values.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.histogram.is_none()
    }

    /// Figures, in the order in which they are asked for; 0 without values.
    #[must_use]
    pub fn figures(&self, stats: &[TrendStat]) -> Vec<f64> {
        let sorted = Sorted::of(self);
        stats.iter().map(|stat| sorted.figure(stat)).collect()
    }
}

fn record(histogram: &mut NumberHistogram, value: f64) {
    histogram.record(value.clamp(-VALUE_MAX, VALUE_MAX));
}

/// A trend whose percentiles can be read.
struct Sorted<'a> {
    trend: &'a Trend,
    values: Vec<f64>,
    histogram: Option<plimsoll_core::metric::PackedNumbers>,
}

impl<'a> Sorted<'a> {
    fn of(trend: &'a Trend) -> Self {
        let mut values = trend.values.numbers();
        values.sort_unstable_by(f64::total_cmp);
        let histogram = trend.histogram.as_deref().map(NumberHistogram::pack);
        Self { trend, values, histogram }
    }

    fn figure(&self, stat: &TrendStat) -> f64 {
        let trend = self.trend;
        match stat {
            _ if trend.count == 0 => 0.0,
            TrendStat::Avg => trend.sum / trend.count as f64,
            TrendStat::Min => trend.min,
            TrendStat::Max => trend.max,
            TrendStat::Count => trend.count as f64,
            TrendStat::Med => self.percentile(0.5),
            TrendStat::Percentile { share, .. } => self.percentile(*share),
        }
    }

    /// Between two values of the sorted list, in proportion to how far behind the first it lies.
    fn percentile(&self, share: f64) -> f64 {
        if let Some(histogram) = &self.histogram {
            return histogram.quantile(share).unwrap_or(0.0);
        }
        let Some(last) = self.values.len().checked_sub(1) else { return 0.0 };
        let place = share * last as f64;
        let below = self.values[(place.floor() as usize).min(last)];
        let above = self.values[(place.ceil() as usize).min(last)];
        if last == 0 {
            // Between infinities there is no proportion.
            return below;
        }
        below + (above - below) * (place - place.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_to_the_last_bit() {
        let whole = [0.0, 1e-6, 0.123_457, 1.0, 17.5, 4_294.967_295];
        let others = [-0.0, 4_294.967_296, 1.0 / 3.0, 1e-7, -1.0, 1e270, f64::MIN_POSITIVE];
        let mixed = [&whole[..], &others, &whole].concat();
        for (given, is_whole) in [(&whole[..], true), (&others, false), (&mixed, false)] {
            let mut values = Values::default();
            given.iter().for_each(|value| values.push(*value));
            let bits = |values: &[f64]| {
                let mut bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                bits.sort_unstable();
                bits
            };
            assert_eq!(bits(&values.numbers()), bits(given), "{given:?}");
            assert_eq!(values.len(), given.len());
            assert_eq!(matches!(values.others, Others::Millionths(_)), is_whole, "{given:?}");
        }
        for ns in (0..u64::from(u32::MAX)).step_by(1_000_003) {
            let ms = ns as f64 / 1e6;
            assert_eq!(millionths(ms), Some(ns as u32), "{ms}");
        }
    }
}
