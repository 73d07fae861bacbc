//! Custom metrics at rest: of one worker, of a result, of an interval. They merge by name and tags.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::registry::{Declared, Kind, Name};
use super::tags::Tags;
use super::value::Value;

/// A custom metric with all that was recorded for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CustomMetric {
    /// Its name.
    pub name: Name,
    /// Of all values, whatever their tags.
    pub value: Value,
    /// Values that could not be counted and are in no figure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rejected: u64,
    /// Values whose tags are not told apart, because there were too many. They are in `value`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub folded: u64,
    /// By tags, those values that have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tagged: Vec<Tagged>,
}

/// The values of a metric that have one set of tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tagged {
    /// Their tags.
    pub tags: Tags,
    /// Their figures.
    pub value: Value,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl CustomMetric {
    /// A metric that nothing was recorded for.
    #[must_use]
    pub fn empty(name: Name, kind: Kind) -> Self {
        Self { name, value: Value::empty(kind), rejected: 0, folded: 0, tagged: Vec::new() }
    }

    /// What it makes of its values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.value.kind()
    }

    /// All values whose tags contain `wanted`; of the whole metric where that is empty.
    #[must_use]
    pub fn with_tags(&self, wanted: &Tags) -> Value {
        if wanted.is_empty() {
            return self.value.clone();
        }
        let mut sum = Value::empty(self.kind());
        for tagged in self.tagged.iter().filter(|tagged| tagged.tags.contain(wanted)) {
            sum.merge(&tagged.value);
        }
        sum
    }

    /// Adds values that have these tags, without adding them to the whole.
    pub(super) fn add_tagged(&mut self, tags: &Tags, value: &Value) {
        match self.tagged.binary_search_by(|known| known.tags.cmp(tags)) {
            Ok(at) => self.tagged[at].value.merge(value),
            Err(at) => {
                self.tagged.insert(at, Tagged { tags: tags.clone(), value: value.clone() });
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.value.merge(&other.value);
        self.rejected += other.rejected;
        self.folded += other.folded;
        for tagged in &other.tagged {
            self.add_tagged(&tagged.tags, &tagged.value);
        }
    }

    /// Stops to tell apart all sets of tags but those with the most values.
    fn fold(&mut self, sets_max: usize) {
        if self.tagged.len() <= sets_max {
            return;
        }
        self.tagged.sort_by_cached_key(|tagged| Reverse(tagged.value.count()));
        let folded = self.tagged.split_off(sets_max);
        self.folded += folded.iter().map(|tagged| tagged.value.count()).sum::<u64>();
        self.tagged.sort_by(|a, b| a.tags.cmp(&b.tags));
    }

    fn order(&self) -> (&Name, Kind) {
        (&self.name, self.kind())
    }
}

/// Custom metrics, by name. Two of one name are of different kinds: processes whose results were
/// merged did not agree.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<CustomMetric>", into = "Vec<CustomMetric>")]
pub struct CustomMetrics(Vec<CustomMetric>);

impl CustomMetrics {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The metrics, by name.
    pub fn iter(&self) -> std::slice::Iter<'_, CustomMetric> {
        self.0.iter()
    }

    /// Those of a name: none, one, or as many as kinds that processes did not agree on.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &CustomMetric> {
        self.iter().filter(move |metric| metric.name.as_str() == name)
    }

    /// Their names and kinds.
    #[must_use]
    pub fn declared(&self) -> Vec<Declared> {
        let declared =
            |metric: &CustomMetric| Declared { name: metric.name.clone(), kind: metric.kind() };
        self.iter().map(declared).collect()
    }

    /// Names that stand for several kinds, with a word for each. Results of processes that declared
    /// a name differently can be merged without loss, but the figures do not belong together.
    #[must_use]
    pub fn conflicts(&self) -> Vec<String> {
        let pairs = self.0.windows(2).filter(|pair| pair[0].name == pair[1].name);
        let text = |pair: &[CustomMetric]| {
            let [first, second] = [pair[0].kind().words(), pair[1].kind().words()];
            format!("metric '{}' was recorded as a {first} and as a {second}", pair[0].name)
        };
        pairs.map(text).collect()
    }

    /// Adds all of `other`, by name, kind and tags. Lossless, associative and commutative.
    pub fn merge(&mut self, other: &Self) {
        for metric in &other.0 {
            self.add(metric);
        }
    }

    /// Has everything happen `later_ns` later: gauges know when they were set.
    pub(crate) fn shift(&mut self, later_ns: u64) {
        for metric in &mut self.0 {
            metric.value.shift(later_ns);
            metric.tagged.iter_mut().for_each(|tagged| tagged.value.shift(later_ns));
        }
    }

    pub(super) fn add(&mut self, metric: &CustomMetric) {
        match self.0.binary_search_by(|known| known.order().cmp(&metric.order())) {
            Ok(at) => self.0[at].merge(metric),
            Err(at) => self.0.insert(at, metric.clone()),
        }
    }

    /// Keeps at most `sets_max` sets of tags over all metrics, for each those with the most values.
    /// What is folded stays in the whole of its metric. Merging never folds, or the sum would
    /// depend on its order.
    pub fn fold(&mut self, sets_max: usize) {
        let kept = |each: usize| self.iter().map(|it| it.tagged.len().min(each)).sum::<usize>();
        let each = (0..=sets_max).rev().find(|each| kept(*each) <= sets_max).unwrap_or(0);
        for metric in &mut self.0 {
            metric.fold(each);
        }
    }
}

impl<'a> IntoIterator for &'a CustomMetrics {
    type Item = &'a CustomMetric;
    type IntoIter = std::slice::Iter<'a, CustomMetric>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<CustomMetric> for CustomMetrics {
    fn from_iter<I: IntoIterator<Item = CustomMetric>>(metrics: I) -> Self {
        let mut all = Self::default();
        for metric in metrics {
            all.add(&metric);
        }
        all
    }
}

impl From<CustomMetrics> for Vec<CustomMetric> {
    fn from(metrics: CustomMetrics) -> Self {
        metrics.0
    }
}

impl TryFrom<Vec<CustomMetric>> for CustomMetrics {
    type Error = String;

    fn try_from(metrics: Vec<CustomMetric>) -> Result<Self, String> {
        for metric in &metrics {
            if metric.tagged.iter().any(|tagged| tagged.value.kind() != metric.kind()) {
                return Err(format!("metric '{}' has values of several kinds", metric.name));
            }
        }
        Ok(metrics.into_iter().collect())
    }
}
