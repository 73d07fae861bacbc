//! Thresholds: what they are written as, whether they fit their metric, and whether they hold.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::exit::Refused;
use super::metrics::{Book, Kind, MetricId, Registry, Sink, TrendStat};
use super::options::{Ns, OptionValue, field, shortened};

/// The most thresholds of a run.
pub const THRESHOLDS_MAX: usize = 10_000;

/// A threshold as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct ThresholdText {
    /// `p(95)<500`.
    pub source: String,
    /// Whether the run ends when it fails.
    pub abort_on_fail: bool,
    /// How long the run goes on even so.
    pub delay_abort_eval: Option<Ns>,
}

/// Thresholds by the metric that they are about.
impl OptionValue for BTreeMap<String, Vec<ThresholdText>> {
    fn from_json(value: &Value) -> Result<Self, String> {
        let entries = value.as_object().ok_or("it is not an object of lists by metric")?;
        let entry = |(metric, list): (&String, &Value)| match texts(list) {
            Ok(texts) => Ok((metric.clone(), texts)),
            Err(what) => Err(format!("'{}': {what}", shortened(metric))),
        };
        let all: Self = entries.iter().map(entry).collect::<Result<_, _>>()?;
        let count: usize = all.values().map(Vec::len).sum();
        let too_many = || format!("{count} are too many: give {THRESHOLDS_MAX} at most");
        (count <= THRESHOLDS_MAX).then_some(all).ok_or_else(too_many)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let json = serde_json::from_str(text);
        let wrong = r#"it is not JSON: write {"http_req_duration":["p(95)<500"]}"#;
        Self::from_json(&json.map_err(|_| wrong.to_owned())?)
    }

    fn to_json(&self) -> Value {
        let text = |text: &ThresholdText| match text.abort_on_fail {
            false => Value::from(text.source.as_str()),
            true => json!({
                "threshold": text.source,
                "abortOnFail": true,
                "delayAbortEval": text.delay_abort_eval.map(|delay| delay.to_string()),
            }),
        };
        let list = |all: &Vec<ThresholdText>| all.iter().map(text).collect::<Value>();
        self.iter().map(|(name, all)| (name.clone(), list(all))).collect()
    }
}

fn texts(list: &Value) -> Result<Vec<ThresholdText>, String> {
    let items = match list {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => return Err("it is not a list: put the threshold in brackets".to_owned()),
    };
    items.iter().map(text).collect()
}

fn text(value: &Value) -> Result<ThresholdText, String> {
    let plain = |source: &str| ThresholdText {
        source: source.to_owned(),
        abort_on_fail: false,
        delay_abort_eval: None,
    };
    if let Value::String(source) = value {
        return Ok(plain(source));
    }
    let wrong = "a threshold is not text, and not an object with threshold and abortOnFail";
    let fields = value.as_object().ok_or(wrong)?;
    let field = |name: &str| field(fields, name);
    let of = |name: &str, what: String| format!("{name}: {what}");
    let source = field("threshold").map_or(Ok(String::new()), |value| {
        String::from_json(value).map_err(|what| of("threshold", what))
    })?;
    let abort = field("abortOnFail").map(bool::from_json).transpose();
    let delay = field("delayAbortEval").map(Ns::from_json).transpose();
    Ok(ThresholdText {
        abort_on_fail: abort.map_err(|what| of("abortOnFail", what))?.unwrap_or(false),
        delay_abort_eval: delay.map_err(|what| of("delayAbortEval", what))?,
        ..plain(&source)
    })
}

/// What a threshold compares.
#[derive(Debug, Clone, PartialEq)]
pub enum Aggregate {
    /// The sum of a counter.
    Count,
    /// The sum of a counter in a second, or the share of a rate.
    Rate,
    /// The last value of a gauge.
    Value,
    /// A figure of a trend.
    Trend(TrendStat),
}

impl Aggregate {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "count" => Self::Count,
            "rate" => Self::Rate,
            "value" => Self::Value,
            _ => Self::Trend(TrendStat::parse(text)?),
        })
    }

    /// As it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Count => "count",
            Self::Rate => "rate",
            Self::Value => "value",
            Self::Trend(stat) => stat.name(),
        }
    }

    fn fits(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Self::Count | Self::Rate, Kind::Counter)
                | (Self::Value, Kind::Gauge)
                | (Self::Rate, Kind::Rate)
                | (Self::Trend(_), Kind::Trend)
        )
    }
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
    /// `==` or `===`
    Equal,
    /// `!=`
    Unequal,
}

/// In the order in which they are looked for: the first that is in the text counts.
const OPERATORS: [(&str, Comparison); 7] = [
    ("<=", Comparison::AtMost),
    ("<", Comparison::Below),
    (">=", Comparison::AtLeast),
    (">", Comparison::Above),
    ("===", Comparison::Equal),
    ("==", Comparison::Equal),
    ("!=", Comparison::Unequal),
];

impl Comparison {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::AtMost => value <= limit,
            Self::Below => value < limit,
            Self::AtLeast => value >= limit,
            Self::Above => value > limit,
            Self::Equal => value == limit,
            Self::Unequal => value != limit,
        }
    }
}

/// A threshold that can be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As it was written.
    pub text: ThresholdText,
    /// What it compares.
    pub aggregate: Aggregate,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub limit: f64,
    /// Whether it did not hold when it was last evaluated.
    pub has_failed: bool,
}

impl Threshold {
    /// Reads `agg op number`, with blanks anywhere between.
    ///
    /// # Errors
    /// What cannot be read, without where it stands.
    pub fn parse(text: &ThresholdText) -> Result<Self, String> {
        let shown = shortened(&text.source);
        let found = OPERATORS.iter().find_map(|(operator, comparison)| {
            text.source.split_once(operator).map(|(left, right)| (left, *comparison, right))
        });
        let (left, comparison, right) =
            found.ok_or_else(|| format!("'{shown}' compares nothing: write p(95)<500"))?;
        let aggregate = Aggregate::parse(left.trim()).ok_or_else(|| {
            let left = shortened(left.trim());
            format!(
                "'{left}' of '{shown}' is not one of count, rate, value, avg, min, med, max, p(N)"
            )
        })?;
        let limit = number(right.trim()).ok_or_else(|| {
            let right = shortened(right.trim());
            format!("'{right}' of '{shown}' is not a number: write p(95)<500, without a unit")
        })?;
        Ok(Self { text: text.clone(), aggregate, comparison, limit, has_failed: false })
    }

    /// Whether it holds for a value in k6's unit.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.comparison.holds(value, self.limit)
    }

    /// What it compares, of the samples of a metric in a run of `run_ns`, in k6's unit.
    #[must_use]
    pub fn value(&self, sink: &Sink, run_ns: u64) -> f64 {
        match (sink, &self.aggregate) {
            (Sink::Counter(counter), Aggregate::Rate) => per_second(counter.sum, run_ns),
            (Sink::Counter(counter), _) => counter.sum,
            (Sink::Gauge(gauge), _) => gauge.value,
            (Sink::Rate(rate), _) => rate.share(),
            (Sink::Trend(trend), Aggregate::Trend(stat)) => {
                trend.figures(std::slice::from_ref(stat))[0]
            }
            (Sink::Trend(_), _) => 0.0,
        }
    }
}

/// A sum divided by a time; 0 in no time.
pub(super) fn per_second(sum: f64, run_ns: u64) -> f64 {
    if run_ns == 0 { 0.0 } else { sum / (run_ns as f64 / 1e9) }
}

/// A decimal number; digits may be apart with `_`.
fn number(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|c| c.is_ascii_digit() || b"+-.eE_".contains(&c));
    text.replace('_', "").parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

/// The thresholds of a run, by metric.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Thresholds(Vec<(MetricId, Vec<Threshold>)>);

/// What an evaluation found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// Whether a threshold does not hold.
    pub has_failed: bool,
    /// Whether one that does not hold ends the run.
    pub aborts: bool,
}

impl Thresholds {
    /// Checks all thresholds, and makes the submetrics that they are about.
    ///
    /// # Errors
    /// The first threshold that cannot be evaluated; exit code 104.
    pub fn new(
        texts: &BTreeMap<String, Vec<ThresholdText>>,
        registry: &mut Registry,
    ) -> Result<Self, Refused> {
        let mut all = Vec::with_capacity(texts.len());
        for (name, texts) in texts {
            let wrong = |what: String| {
                Refused::config(format!("thresholds of '{}': {what}", shortened(name)))
            };
            let metric = registry.select(name).map_err(|error| wrong(error.to_string()))?;
            let kind = registry.get(metric).kind;
            let mut checked = Vec::with_capacity(texts.len());
            for text in texts {
                let threshold = Threshold::parse(text).map_err(wrong)?;
                if !threshold.aggregate.fits(kind) {
                    let (aggregate, kind) = (threshold.aggregate.name(), kind.name());
                    let known = aggregates(kind);
                    return Err(wrong(format!("a {kind} has no {aggregate}: compare {known}")));
                }
                checked.push(threshold);
            }
            all.push((metric, checked));
        }
        Ok(Self(all))
    }

    /// A line for each that selects samples by what is no tag of them, so that none counts.
    #[must_use]
    pub fn warnings(&self, registry: &Registry) -> Vec<String> {
        let selected = self.0.iter().filter_map(|(metric, _)| {
            let metric = registry.get(*metric);
            Some((metric, metric.part.as_ref()?))
        });
        let lines = selected.flat_map(|(metric, part)| {
            let given = ["vu", "iter"].into_iter().filter(|tag| part.tags.get(tag).is_some());
            given.map(move |tag| {
                let name = shortened(&metric.name);
                format!("'{tag}' is not a tag that thresholds see, so '{name}' has no samples")
            })
        });
        lines.collect()
    }

    /// Metrics and their thresholds, by name of the metric.
    pub fn iter(&self) -> impl Iterator<Item = (MetricId, &[Threshold])> {
        self.0.iter().map(|(metric, thresholds)| (*metric, &thresholds[..]))
    }

    /// The thresholds of a metric.
    #[must_use]
    pub fn of(&self, metric: MetricId) -> &[Threshold] {
        let found = self.0.iter().find(|(id, _)| *id == metric);
        found.map_or(&[], |(_, thresholds)| thresholds)
    }

    /// Evaluates all, `run_ns` after the start of the test. While the run goes on, metrics without
    /// samples are left out. At its end a rate without samples passes, and others compare 0.
    pub fn evaluate(&mut self, book: &Book, run_ns: u64, is_end: bool) -> Evaluation {
        let mut result = Evaluation::default();
        for (metric, thresholds) in &mut self.0 {
            let kind = book.registry().get(*metric).kind;
            let empty = Sink::new(kind);
            let sink = book.sink(*metric).filter(|sink| sink.count() > 0);
            if sink.is_none() && !is_end {
                continue;
            }
            let passes = sink.is_none() && kind == Kind::Rate;
            for threshold in thresholds {
                let value = threshold.value(sink.unwrap_or(&empty), run_ns);
                let holds = passes || threshold.holds(value);
                threshold.has_failed = !holds;
                result.has_failed |= !holds;
                let delay_ns = threshold.text.delay_abort_eval.map(Ns::unsigned);
                let is_late = delay_ns.is_none_or(|delay_ns| run_ns > delay_ns);
                result.aborts |= !holds && threshold.text.abort_on_fail && is_late;
            }
        }
        result
    }

    /// The names of the metrics with a threshold that does not hold, by name.
    #[must_use]
    pub fn failed<'a>(&self, registry: &'a Registry) -> Vec<&'a str> {
        let failed = self.iter().filter(|(_, all)| all.iter().any(|one| one.has_failed));
        failed.map(|(metric, _)| registry.get(metric).name.as_str()).collect()
    }
}

fn aggregates(kind: &str) -> &'static str {
    match kind {
        "counter" => "count or rate",
        "gauge" => "value",
        "rate" => "rate",
        _ => "avg, min, med, max or p(N)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k6::metrics::TagSet;

    fn checked(texts: &Value) -> Result<(Thresholds, Registry), String> {
        let mut registry = Registry::default();
        let texts = BTreeMap::from_json(texts)?;
        let all = Thresholds::new(&texts, &mut registry).map_err(|error| {
            assert_eq!(error.code.code(), 104);
            error.what
        })?;
        Ok((all, registry))
    }

    #[test]
    fn what_cannot_be_evaluated_is_refused() {
        for (metric, text, want) in [
            ("nope", "count>1", "thresholds of 'nope': there is no metric 'nope': name one of"),
            ("vus{", "value>1", "thresholds of 'vus{': 'vus{' is not a metric with tags: write"),
            (
                "iterations",
                "p(95)>1",
                "thresholds of 'iterations': a counter has no p(95): compare",
            ),
            ("vus", "rate>0", "thresholds of 'vus': a gauge has no rate: compare value"),
            ("checks", "count>0", "thresholds of 'checks': a rate has no count: compare rate"),
            (
                "iteration_duration",
                "count>0",
                "thresholds of 'iteration_duration': a trend has no c",
            ),
            ("iterations", "foo>1", "thresholds of 'iterations': 'foo' of 'foo>1' is not one of"),
            ("iterations", "", "thresholds of 'iterations': '' compares nothing: write p(95)<500"),
            ("iterations", "count", "thresholds of 'iterations': 'count' compares nothing"),
            ("iterations", "count > ", "thresholds of 'iterations': '' of 'count > ' is not a n"),
            (
                "iterations",
                "count>1 && count<2",
                "thresholds of 'iterations': 'count>1 && count' of",
            ),
            ("iterations", "count=>1", "thresholds of 'iterations': 'count=' of 'count=>1' is not"),
            (
                "iterations",
                "count>=0x1",
                "thresholds of 'iterations': '0x1' of 'count>=0x1' is not",
            ),
            ("iterations", "count>inf", "thresholds of 'iterations': 'inf' of 'count>inf' is not"),
            (
                "iteration_duration",
                "p(95)<500ms",
                "thresholds of 'iteration_duration': '500ms' of ",
            ),
            ("iteration_duration", "p(101)<1", "thresholds of 'iteration_duration': 'p(101)' of "),
        ] {
            let error = checked(&json!({ metric: [text] })).expect_err(want);
            assert!(error.starts_with(want), "{error}");
        }
        let abort = json!({ "vus": [{ "abortOnFail": true }] });
        assert!(checked(&abort).expect_err("no text").contains("'' compares nothing"));
        assert!(checked(&json!({ "vus": null, "checks": [] })).is_ok());
    }

    #[test]
    fn figures_are_compared() {
        for (metric, texts, values, want) in [
            ("iterations", "count==3", &[1.0, 2.0][..], true),
            ("iterations", "  count  >=  +3.0  ", &[1.0, 2.0], true),
            ("iterations", "rate<1.5", &[1.0, 2.0], false),
            ("iterations", "rate<=1.5", &[1.0, 2.0], true),
            ("iterations", "count>=1_0", &[9.0], false),
            ("vus", "value===2", &[1.0, 2.0], true),
            ("vus", "value!=2", &[1.0, 2.0], false),
            ("checks", "rate>.5", &[1.0, 0.0], false),
            ("checks", "rate>=5e-1", &[1.0, 0.0], true),
            ("iteration_duration", "p(50)<1.6", &[1.0, 2.0], true),
            ("iteration_duration", "max>-1", &[1.0, 2.0], true),
            ("checks", "rate==1", &[], true),
            ("iterations", "count>0", &[], false),
            ("iterations", "rate<1", &[], true),
            ("vus", "value<1", &[], true),
            ("iteration_duration", "avg<1", &[], true),
        ] {
            let (mut all, registry) = checked(&json!({ metric: [texts] })).expect(texts);
            let id = registry.find(metric).expect("built in");
            let mut book = Book::new(registry, false);
            values.iter().for_each(|value| book.record(id, &TagSet::default(), *value));
            let result = all.evaluate(&book, 2_000_000_000, true);
            assert_eq!(result.has_failed, !want, "{texts} of {values:?}");
            assert!(!result.aborts);
            let failed = all.failed(book.registry());
            assert_eq!(failed, if want { vec![] } else { vec![metric] });
        }
    }

    #[test]
    fn a_run_ends_when_its_delay_is_over() {
        let texts = json!({ "iterations": [
            { "threshold": "count<1", "abortOnFail": true, "delayAbortEval": "3s" },
            { "threshold": "count<2", "abortOnFail": false },
        ] });
        let (mut all, registry) = checked(&texts).expect("thresholds");
        let id = registry.find("iterations").expect("built in");
        let mut book = Book::new(registry, false);
        let nothing = all.evaluate(&book, 9_000_000_000, false);
        assert_eq!(nothing, Evaluation::default(), "without samples nothing is evaluated");
        book.record(id, &TagSet::default(), 1.0);
        for (run_ns, aborts) in
            [(2_000_000_000, false), (3_000_000_000, false), (3_000_000_001, true)]
        {
            let result = all.evaluate(&book, run_ns, false);
            assert_eq!(result, Evaluation { has_failed: true, aborts }, "{run_ns}");
        }
        assert!(all.of(id)[0].has_failed && !all.of(id)[1].has_failed);
        let mut at_once = checked(&json!({ "iterations": [
            { "threshold": "count<1", "abortOnFail": true }] }))
        .expect("thresholds")
        .0;
        assert!(at_once.evaluate(&book, 0, false).aborts);
    }
}
