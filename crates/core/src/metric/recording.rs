//! What one worker records of custom metrics. On the path of a request: no lock, and no allocation
//! once a metric was used with its tags.

use std::sync::Arc;

use super::meter::Meter;
use super::registry::{Kind, MetricId, Registry};
use super::tags::{TAG_SETS_MAX, TagSets, TagsId};
use super::totals::{CustomMetric, CustomMetrics};
use super::value::Value;

/// Stands for a meter that there is not yet.
const NOWHERE: u32 = u32::MAX;

/// The custom metrics of one worker.
///
/// Without a registry, as the recorder of a warm-up has it, all values are ignored.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    registry: Arc<Registry>,
    sets: TagSets,
    /// Where the meter of a metric with its tags is, by both numbers.
    places: Vec<Vec<u32>>,
    meters: Vec<Meter>,
    /// How many meters are for values with tags of their own.
    tagged: usize,
    /// Values that could not be counted, by metric.
    rejected: Vec<u64>,
    /// The running interval.
    interval: IntervalMetrics,
    /// What other workers recorded.
    others: CustomMetrics,
}

impl Metrics {
    /// For a run whose sources of work declared these metrics.
    #[must_use]
    pub fn new(registry: &Arc<Registry>) -> Self {
        let count = registry.declared().len();
        Self {
            registry: Arc::clone(registry),
            places: vec![Vec::new(); count],
            rejected: vec![0; count],
            interval: IntervalMetrics::new(registry),
            ..Self::default()
        }
    }

    /// The number of a set of tags in this recorder. Of pairs with one key the last counts.
    /// Allocates when a set is new; a set that is one too many is [`TagsId::FOLDED`].
    pub fn tags(&mut self, pairs: &[(&str, &str)]) -> TagsId {
        self.sets.number(pairs)
    }

    /// Records a value at a time from the start of the measured part. A value that its metric
    /// cannot count ([`Kind::accepts`](super::Kind::accepts)) is counted as rejected.
    #[inline]
    pub fn record(&mut self, metric: MetricId, tags: TagsId, value: f64, at_ns: u64) {
        let Some(kind) = self.registry.kind(metric) else { return };
        if !kind.accepts(value) {
            self.rejected[usize::from(metric.0)] += 1;
            return;
        }
        // There is one zero, without a sign.
        let value = value + 0.0;
        let place = self.place(metric, tags);
        self.meters[place].record(value, at_ns);
        self.interval.meter(metric, kind).record(value, at_ns);
    }

    #[inline]
    fn place(&mut self, metric: MetricId, tags: TagsId) -> usize {
        let places = &self.places[usize::from(metric.0)];
        match places.get(tags.0 as usize) {
            Some(&place) if place != NOWHERE => place as usize,
            _ => self.open(metric, tags),
        }
    }

    /// Makes the meter of a metric with its tags. With one set too many it is that of folded tags.
    #[cold]
    fn open(&mut self, metric: MetricId, tags: TagsId) -> usize {
        let is_known = self.sets.get(tags).is_some();
        if tags.is_set() && !is_known {
            return self.place(metric, TagsId::FOLDED);
        }
        let place = if is_known && self.tagged == TAG_SETS_MAX {
            self.place(metric, TagsId::FOLDED)
        } else {
            self.tagged += usize::from(is_known);
            let kind = self.registry.declared()[usize::from(metric.0)].kind;
            self.meters.push(Meter::new(kind));
            self.meters.len() - 1
        };
        let (places, at) = (&mut self.places[usize::from(metric.0)], tags.0 as usize);
        if places.len() <= at {
            places.resize(at + 1, NOWHERE);
        }
        places[at] = place as u32;
        place
    }

    /// Ends the running interval: puts it in place of an empty one, and goes on with that. The
    /// empty one gets room for all that the running one has, so recording does not have to make it.
    pub fn take_interval(&mut self, empty: &mut IntervalMetrics) {
        empty.make_room(&self.interval);
        std::mem::swap(&mut self.interval, empty);
    }

    /// Adds what another worker recorded. Lossless and associative.
    pub fn merge(&mut self, other: &Self) {
        if other.registry.declared().is_empty() && other.others.is_empty() {
            return;
        }
        self.others.merge(&other.totals());
    }

    /// All that was recorded, here and by the workers that were added. Each declared metric is in
    /// it, also without a value.
    #[must_use]
    pub fn totals(&self) -> CustomMetrics {
        let declared = self.registry.declared().iter().zip(0..);
        let own = declared.map(|(declared, number)| {
            let empty = CustomMetric::empty(declared.name.clone(), declared.kind);
            self.fill(empty, MetricId(number))
        });
        let mut totals: CustomMetrics = own.collect();
        totals.merge(&self.others);
        totals
    }

    fn fill(&self, mut empty: CustomMetric, metric: MetricId) -> CustomMetric {
        empty.rejected = self.rejected[usize::from(metric.0)];
        let folded = self.packed(metric, TagsId::FOLDED);
        empty.folded = folded.as_ref().map_or(0, Value::count);
        for value in [self.packed(metric, TagsId::NONE), folded].iter().flatten() {
            empty.value.merge(value);
        }
        for (tags, id) in self.sets.iter() {
            if let Some(value) = self.packed_tagged(metric, id) {
                empty.value.merge(&value);
                empty.add_tagged(tags, &value);
            }
        }
        empty
    }

    /// What has these tags and is told apart by them.
    fn packed_tagged(&self, metric: MetricId, tags: TagsId) -> Option<Value> {
        let folded = self.place_of(metric, TagsId::FOLDED);
        let place = self.place_of(metric, tags)?;
        (Some(place) != folded).then(|| self.meters[place].pack())
    }

    fn packed(&self, metric: MetricId, tags: TagsId) -> Option<Value> {
        Some(self.meters[self.place_of(metric, tags)?].pack())
    }

    fn place_of(&self, metric: MetricId, tags: TagsId) -> Option<usize> {
        let place = *self.places[usize::from(metric.0)].get(tags.0 as usize)?;
        (place != NOWHERE).then_some(place as usize)
    }
}

/// What was recorded of each metric in an interval, whatever its tags.
#[derive(Debug, Clone, Default)]
pub struct IntervalMetrics {
    registry: Arc<Registry>,
    /// By metric.
    meters: Vec<Option<Meter>>,
}

impl IntervalMetrics {
    fn new(registry: &Arc<Registry>) -> Self {
        let meters = vec![None; registry.declared().len()];
        Self { registry: Arc::clone(registry), meters }
    }

    #[inline]
    fn meter(&mut self, metric: MetricId, kind: Kind) -> &mut Meter {
        self.meters[usize::from(metric.0)].get_or_insert_with(|| Meter::new(kind))
    }

    fn make_room(&mut self, running: &Self) {
        if self.meters.len() != running.meters.len() {
            *self = Self::new(&running.registry);
        }
        let kinds = running.registry.declared().iter().map(|declared| declared.kind);
        let meters = running.meters.iter().zip(kinds).zip((0..).map(MetricId));
        for ((_, kind), metric) in meters.filter(|((meter, _), _)| meter.is_some()) {
            self.meter(metric, kind);
        }
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.meters.iter().flatten().all(Meter::is_empty)
    }

    /// The figures at rest, of metrics that have some. Empties it.
    pub fn pack(&mut self) -> CustomMetrics {
        let declared = self.registry.declared().iter();
        let used = declared.zip(&mut self.meters).filter_map(|(declared, meter)| {
            let meter = meter.as_mut().filter(|meter| !meter.is_empty())?;
            let value = meter.pack();
            meter.clear();
            Some(CustomMetric {
                value,
                ..CustomMetric::empty(declared.name.clone(), declared.kind)
            })
        });
        used.collect()
    }
}
