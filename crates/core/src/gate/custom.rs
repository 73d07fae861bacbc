//! Custom metrics in conditions: `checkout_time.p95`, `checkout_time{page:home}.p95`, `items.rate`.
//!
//! Their names are known once the sources of work have declared them, so a condition is read with
//! the list of what is declared. A name that is not on it is a mistake, as for built-in metrics.

use super::measure::statistic;
use super::measured::Measured;
use super::metric::{Kind, Metric, Source, Statistic, Timing};
use crate::doubt::{self, Bounds, Doubts};
use crate::metric::{self as recorded, CustomMetric, CustomMetrics, Declared, Tags, Value};
use crate::nearest::nearest;
use crate::units::counted;

/// What a condition is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Subject {
    /// A metric of every run.
    BuiltIn(Metric),
    /// A metric that a source of work records itself.
    Custom(Custom),
}

impl Subject {
    /// What has times that are lower bounds.
    pub(super) fn incomplete_noun(&self) -> &'static str {
        use Timing::{FirstMessage, MessageGap, RoundTrip};
        match self {
            Self::BuiltIn(Metric::Time(FirstMessage | MessageGap | RoundTrip, _)) => {
                "missing message"
            }
            _ => "incomplete request",
        }
    }
}

/// A figure of a custom metric.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Custom {
    name: String,
    /// Of values that have these tags, and maybe more.
    tags: Tags,
    figure: Figure,
}

/// Which figure.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    /// Of a counter: the sum of its values.
    Sum,
    /// Of a counter: its sum per second of the measured part.
    PerSecond,
    /// Of a gauge.
    Last,
    /// Of a rate: the share that is true.
    Share,
    /// Of a trend: how many values it has.
    Count,
    /// Of a gauge or a trend.
    Min,
    /// Of a gauge or a trend.
    Max,
    /// Of a trend.
    Mean,
    /// Of a trend: from 0 to 1, both left out.
    Quantile(f64),
}

impl Figure {
    /// Reads what stands behind the name; empty where nothing does.
    fn parse(kind: recorded::Kind, text: &str) -> Option<Self> {
        use recorded::Kind::{Counter, Gauge, Rate, TimeTrend, Trend};
        let figure = match (kind, text) {
            (Counter, "" | "count") => Self::Sum,
            (Counter, "rate") => Self::PerSecond,
            (Gauge, "" | "value") => Self::Last,
            (Rate, "" | "rate") => Self::Share,
            (Trend | TimeTrend, "count") => Self::Count,
            (Gauge | Trend | TimeTrend, "min") => Self::Min,
            (Gauge | Trend | TimeTrend, "max") => Self::Max,
            (Trend | TimeTrend, "mean" | "avg") => Self::Mean,
            (Trend | TimeTrend, _) => match Statistic::parse(text)? {
                Statistic::Quantile(q) => Self::Quantile(q),
                Statistic::Max => Self::Max,
                _ => return None,
            },
            _ => return None,
        };
        Some(figure)
    }
}

/// What can be written of a metric of a kind.
fn possible(name: &str, kind: recorded::Kind) -> String {
    use recorded::Kind::{Counter, Gauge, Rate, TimeTrend, Trend};
    match kind {
        Counter => format!("write {name}.count or {name}.rate"),
        Gauge => format!("write {name}.value, {name}.min or {name}.max"),
        Rate => format!("write {name}"),
        Trend | TimeTrend => {
            format!("write {name}.p95, {name}.mean, {name}.min, {name}.max or {name}.count")
        }
    }
}

impl Subject {
    /// Reads what stands before the operator and the part. Names of built-in metrics come first;
    /// with braces, as in `errors{}`, only a custom metric is meant.
    pub(super) fn parse(text: &str, declared: &[Declared]) -> Result<Self, String> {
        let (head, tags, figure) = split(text)?;
        let built_in = match &tags {
            None => text.parse::<Metric>(),
            Some(_) => Err(format!("no metric '{head}' that has tags")),
        };
        let problem = match built_in {
            Ok(metric) => return Ok(Self::BuiltIn(metric)),
            Err(problem) => problem,
        };
        let Some(known) = declared.iter().find(|known| known.name.as_str() == head) else {
            let names = declared.iter().map(|known| known.name.as_str());
            return Err(match nearest(head, names) {
                Some(meant) => format!("no metric '{head}': did you mean '{meant}'?"),
                None => problem,
            });
        };
        let kind = known.kind;
        let wrong = || {
            let what = format!("'{text}' is not a figure of a {}", kind.words());
            format!("{what}: {}", possible(head, kind))
        };
        let figure = Figure::parse(kind, figure).ok_or_else(wrong)?;
        let (name, tags) = (head.to_owned(), tags.unwrap_or_default());
        Ok(Self::Custom(Custom { name, tags, figure }))
    }

    /// What its limit may look like.
    pub(super) fn kind(&self, declared: &[Declared]) -> Kind {
        match self {
            Self::BuiltIn(metric) => metric.kind(),
            Self::Custom(custom) => custom.kind(declared),
        }
    }
}

/// Name, tags if there are braces, and figure.
fn split(text: &str) -> Result<(&str, Option<Tags>, &str), String> {
    let Some((head, rest)) = text.split_once('{') else {
        let (head, figure) = text.split_once('.').unwrap_or((text, ""));
        return Ok((head, None, figure));
    };
    let end = closing_brace(rest).ok_or_else(|| format!("'{text}' has no closing brace"))?;
    let (pairs, behind) = (&rest[..end], rest[end + 1..].trim());
    let figure = match behind.strip_prefix('.') {
        Some(figure) => figure,
        None if behind.is_empty() => "",
        None => return Err(format!("'{text}' is not NAME{{KEY:VALUE}}.FIGURE")),
    };
    Ok((head.trim(), Some(parse_tags(pairs)?), figure))
}

/// Where the metric of a condition ends and `@` and a part may follow: tags may hold an `@`.
pub(super) fn end_of_tags(text: &str) -> usize {
    let braces = text.split_once('{').filter(|(head, _)| !head.contains('@'));
    let end = braces.and_then(|(head, rest)| Some(head.len() + 1 + closing_brace(rest)? + 1));
    end.unwrap_or(0)
}

/// The first brace outside of quotes.
fn closing_brace(text: &str) -> Option<usize> {
    outside_quotes(text, '}').next()
}

/// Where a character is that is not between quotes.
fn outside_quotes(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let mut quote = None;
    text.char_indices().filter_map(move |(at, c)| {
        match quote {
            Some(open) if open == c => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == wanted => return Some(at),
            _ => {}
        }
        None
    })
}

/// `page:home, step:"2"`: quotes and blanks around keys and values do not belong to them.
fn parse_tags(text: &str) -> Result<Tags, String> {
    let commas = outside_quotes(text, ',').chain([text.len()]);
    let mut from = 0;
    let mut pairs = Vec::new();
    for to in commas {
        let pair = text[from..to].trim();
        from = to + 1;
        if pair.is_empty() {
            continue;
        }
        let possible = || format!("'{pair}' is not a tag: write KEY:VALUE");
        let (key, value) = pair.split_once(':').ok_or_else(possible)?;
        pairs.push((unquoted(key), unquoted(value)));
    }
    Ok(pairs.into_iter().collect())
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    let inside = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

impl Custom {
    fn kind(&self, declared: &[Declared]) -> Kind {
        let of_times = |known: &Declared| known.kind == recorded::Kind::TimeTrend;
        let mut same = declared.iter().filter(|known| known.name.as_str() == self.name);
        match self.figure {
            Figure::PerSecond => Kind::PerSecond,
            Figure::Share => Kind::Proportion,
            Figure::Count => Kind::Events,
            Figure::Sum | Figure::Last => Kind::Number,
            _ if same.any(of_times) => Kind::Time,
            _ => Kind::Number,
        }
    }

    /// Why it cannot be measured from a source, if so.
    pub(super) fn unknown_to(&self, source: Source) -> Option<String> {
        match source {
            Source::Run => None,
            Source::Stretch if self.tags.is_empty() => None,
            Source::Stretch => {
                Some(format!("tags are known of the whole run only: write {} without", self.name))
            }
            Source::Part | Source::Stage => {
                Some(format!("values of '{}' belong to no endpoint, address or stage", self.name))
            }
        }
    }

    /// Measures it among what was recorded in a time.
    pub(super) fn measure(
        &self,
        metrics: &CustomMetrics,
        length_ns: u64,
        doubts: &Doubts<'_>,
    ) -> Measured {
        match self.find(metrics) {
            Ok(value) if value.count() > 0 => self.in_doubt(&value, length_ns, doubts),
            Ok(_) if self.tags.is_empty() => Measured::none("no value was recorded"),
            Ok(_) => Measured::none("no value was recorded with these tags"),
            Err(why) => Measured::none(why),
        }
    }

    fn find(&self, metrics: &CustomMetrics) -> Result<Value, String> {
        let named: Vec<&CustomMetric> = metrics.named(&self.name).collect();
        let metric = match named.as_slice() {
            [] => return Err("no value was recorded".to_owned()),
            [metric] => metric,
            _ => return Err(metrics.conflicts().join("; ")),
        };
        if !self.tags.is_empty() && metric.folded > 0 {
            return Err(format!(
                "{} had tags beyond those that are told apart: use tags with fewer values",
                counted(metric.folded, "value")
            ));
        }
        Ok(metric.with_tags(&self.tags))
    }

    /// A script mostly records times of its requests as trends, and counts of them as the others.
    fn in_doubt(&self, value: &Value, length_ns: u64, doubts: &Doubts<'_>) -> Measured {
        let measured = self.figure_of(value, length_ns);
        match value {
            Value::TimeTrend(times) => {
                let times = times.unpack();
                let bounds = Bounds::new(&times, 0, 0);
                let of = (doubts, doubt::Figure::Service);
                match self.figure.statistic() {
                    Some(statistic) => measured.of_times(statistic, &bounds, of),
                    None => measured.doubted(doubts, doubt::Figure::Counts),
                }
            }
            Value::Trend(_) if self.figure != Figure::Count => {
                measured.doubted_time(doubts, doubt::Figure::Service)
            }
            Value::Gauge(_) => measured,
            _ => measured.doubted(doubts, doubt::Figure::Counts),
        }
    }

    fn figure_of(&self, value: &Value, length_ns: u64) -> Measured {
        match (value, self.figure) {
            (Value::Counter(counter), Figure::Sum) => Measured::some(counter.total.value()),
            (Value::Counter(counter), Figure::PerSecond) => {
                let seconds = (length_ns > 0).then_some(length_ns as f64 / 1e9);
                let rate = seconds.map(|seconds| counter.total.value() / seconds);
                Measured::of(rate, "no time passed")
            }
            (Value::Gauge(gauge), Figure::Last) => Measured::of(gauge.last, "no value"),
            (Value::Gauge(gauge), Figure::Min) => Measured::of(gauge.min, "no value"),
            (Value::Gauge(gauge), Figure::Max) => Measured::of(gauge.max, "no value"),
            (Value::Rate(rate), Figure::Share) => Measured::of(rate.share(), "no value"),
            (trend, Figure::Count) => Measured::some(trend.count() as f64),
            (Value::TimeTrend(times), figure) => match figure.statistic() {
                Some(figure) => statistic(&times.unpack(), figure),
                None => self.of_another_kind(),
            },
            (Value::Trend(numbers), Figure::Min) => Measured::of(numbers.min(), "no value"),
            (Value::Trend(numbers), Figure::Max) => Measured::of(numbers.max(), "no value"),
            (Value::Trend(numbers), Figure::Mean) => Measured::of(numbers.mean(), "no value"),
            (Value::Trend(numbers), Figure::Quantile(q)) => {
                Measured::quantile(numbers.quantile(q), q, numbers.count())
            }
            _ => self.of_another_kind(),
        }
    }

    fn of_another_kind(&self) -> Measured {
        Measured::none(format!("'{}' was recorded as another kind of metric", self.name))
    }
}

impl Figure {
    fn statistic(self) -> Option<Statistic> {
        match self {
            Self::Min => Some(Statistic::Min),
            Self::Max => Some(Statistic::Max),
            Self::Mean => Some(Statistic::Mean),
            Self::Quantile(q) => Some(Statistic::Quantile(q)),
            _ => None,
        }
    }
}
