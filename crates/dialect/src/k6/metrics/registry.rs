//! Metrics by name: those of k6, those that scripts make, and the parts of them that thresholds
//! select by tags.

use super::tags::{SystemTag, SystemTags, TagSet};
use crate::k6::options::shortened;

/// The most metrics, submetrics included.
pub const METRICS_MAX: usize = 10_000;

/// The longest name of a metric, in bytes.
const NAME_BYTES_MAX: usize = 129;

/// What a metric makes of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Adds them up.
    Counter,
    /// Keeps the last, the least and the greatest.
    Gauge,
    /// Counts those that are not 0.
    Rate,
    /// Keeps how they are distributed.
    Trend,
}

impl Kind {
    /// The name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Rate => "rate",
            Self::Trend => "trend",
        }
    }
}

/// What the values of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contains {
    /// Plain numbers.
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

impl Contains {
    /// The name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Time => "time",
            Self::Data => "data",
        }
    }
}

/// The metrics that are there without a script's doing.
pub const BUILT_IN: [(&str, Kind, Contains); 28] = [
    ("vus", Kind::Gauge, Contains::Default),
    ("vus_max", Kind::Gauge, Contains::Default),
    ("iterations", Kind::Counter, Contains::Default),
    ("iteration_duration", Kind::Trend, Contains::Time),
    ("dropped_iterations", Kind::Counter, Contains::Default),
    ("checks", Kind::Rate, Contains::Default),
    ("group_duration", Kind::Trend, Contains::Time),
    ("http_reqs", Kind::Counter, Contains::Default),
    ("http_req_failed", Kind::Rate, Contains::Default),
    ("http_req_duration", Kind::Trend, Contains::Time),
    ("http_req_blocked", Kind::Trend, Contains::Time),
    ("http_req_connecting", Kind::Trend, Contains::Time),
    ("http_req_tls_handshaking", Kind::Trend, Contains::Time),
    ("http_req_sending", Kind::Trend, Contains::Time),
    ("http_req_waiting", Kind::Trend, Contains::Time),
    ("http_req_receiving", Kind::Trend, Contains::Time),
    ("data_sent", Kind::Counter, Contains::Data),
    ("data_received", Kind::Counter, Contains::Data),
    ("ws_sessions", Kind::Counter, Contains::Default),
    ("ws_msgs_sent", Kind::Counter, Contains::Default),
    ("ws_msgs_received", Kind::Counter, Contains::Default),
    ("ws_ping", Kind::Trend, Contains::Time),
    ("ws_session_duration", Kind::Trend, Contains::Time),
    ("ws_connecting", Kind::Trend, Contains::Time),
    ("grpc_req_duration", Kind::Trend, Contains::Time),
    ("grpc_streams", Kind::Counter, Contains::Default),
    ("grpc_streams_msgs_sent", Kind::Counter, Contains::Default),
    ("grpc_streams_msgs_received", Kind::Counter, Contains::Default),
];

/// The number of a metric in its [`Registry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub(super) u32);

impl MetricId {
    /// The number: 0 for the first metric of the registry.
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }
}

/// Why there can be no such metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// The name has other characters, or the wrong number of them.
    #[error(
        "'{0}' is not a name for a metric: give a letter or _, then 1 to 128 letters, digits or _"
    )]
    Name(String),
    /// The name stands for another type, or for other values.
    #[error("metric '{name}' is a {known} of {contains} values: give another name")]
    Other {
        /// The name.
        name: String,
        /// Its type.
        known: &'static str,
        /// What its values are.
        contains: &'static str,
    },
    /// A selection of tags that cannot be read.
    #[error("'{0}' is not a metric with tags: write metric{{tag:value}}")]
    Selector(String),
    /// Nothing has the name.
    #[error("there is no metric '{0}': name one of k6's or of the script's")]
    Unknown(String),
    /// There are as many as there may be.
    #[error("metric '{0}' is one too many: there may be {METRICS_MAX}; tell values apart by tags")]
    TooMany(String),
}

/// A metric, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its name; that of a submetric is `metric{tags}`.
    pub name: String,
    /// What it makes of its values.
    pub kind: Kind,
    /// What they are.
    pub contains: Contains,
    /// Of a submetric: which metric it is part of, and which tags its samples have.
    pub part: Option<Selection>,
    /// Its submetrics, in the order in which they were selected.
    pub parts: Vec<MetricId>,
}

/// Which samples of a metric count in a submetric.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The metric.
    pub of: MetricId,
    /// What stands between the braces, without blanks around it.
    pub suffix: String,
    /// The tags that a sample has to have.
    pub tags: TagSet,
}

/// All metrics of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    metrics: Vec<Metric>,
}

impl Default for Registry {
    /// Those of k6.
    fn default() -> Self {
        let metric = |(name, kind, contains): (&str, Kind, Contains)| Metric {
            name: name.to_owned(),
            kind,
            contains,
            part: None,
            parts: Vec::new(),
        };
        Self { metrics: BUILT_IN.map(metric).to_vec() }
    }
}

impl Registry {
    /// Makes a metric of a script. A name that is known, with the same type and values, is the same
    /// metric.
    ///
    /// # Errors
    /// A name that cannot be one, or stands for something else; one metric more than there may be.
    pub fn declare(
        &mut self,
        name: &str,
        kind: Kind,
        contains: Contains,
    ) -> Result<MetricId, MetricError> {
        if !is_name(name) {
            return Err(MetricError::Name(shortened(name)));
        }
        if let Some(id) = self.find(name) {
            let known = self.get(id);
            if (known.kind, known.contains) == (kind, contains) {
                return Ok(id);
            }
            return Err(MetricError::Other {
                name: name.to_owned(),
                known: known.kind.name(),
                contains: known.contains.name(),
            });
        }
        let name = name.to_owned();
        self.push(Metric { name, kind, contains, part: None, parts: Vec::new() })
    }

    /// Finds `metric`, or makes the part of it that `metric{tag:value,…}` selects.
    ///
    /// # Errors
    /// A selection that cannot be read, and a metric that is not there.
    pub fn select(&mut self, text: &str) -> Result<MetricId, MetricError> {
        let (name, selector) = split(text)?;
        let of = self.find(name).ok_or_else(|| MetricError::Unknown(shortened(name)))?;
        let Some((suffix, tags)) = selector else { return Ok(of) };
        let name = format!("{name}{{{suffix}}}");
        if let Some(known) = self.find(&name) {
            return Ok(known);
        }
        let Metric { kind, contains, .. } = *self.get(of);
        let part = Some(Selection { of, suffix, tags });
        let id = self.push(Metric { name, kind, contains, part, parts: Vec::new() })?;
        self.metrics[of.0 as usize].parts.push(id);
        Ok(id)
    }

    /// Makes the submetric of requests with expected responses, which summaries show when the tag
    /// is set, unless a threshold has made one of these tags. Call it after thresholds have made
    /// theirs.
    ///
    /// # Errors
    /// One metric more than there may be.
    pub fn select_expected(&mut self, tags: &SystemTags) -> Result<(), MetricError> {
        let own = TagSet::of([("expected_response", "true")]);
        let is_there = self.metrics.iter().any(|metric| {
            metric.part.as_ref().is_some_and(|part| {
                part.tags == own && self.get(part.of).name == "http_req_duration"
            })
        });
        if tags.has(SystemTag::ExpectedResponse) && !is_there {
            self.select("http_req_duration{expected_response:true}")?;
        }
        Ok(())
    }

    fn push(&mut self, metric: Metric) -> Result<MetricId, MetricError> {
        if self.metrics.len() >= METRICS_MAX {
            return Err(MetricError::TooMany(shortened(&metric.name)));
        }
        self.metrics.push(metric);
        Ok(MetricId(self.metrics.len() as u32 - 1))
    }

    /// The metric or submetric with a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MetricId> {
        let at = self.metrics.iter().position(|metric| metric.name == name)?;
        Some(MetricId(at as u32))
    }

    /// A metric by its number, which this registry has given out.
    #[must_use]
    pub fn get(&self, id: MetricId) -> &Metric {
        &self.metrics[id.0 as usize]
    }

    /// All metrics and submetrics, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = (MetricId, &Metric)> {
        let id = |at: usize| MetricId(at as u32);
        self.metrics.iter().enumerate().map(move |(at, metric)| (id(at), metric))
    }
}

fn is_name(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    text.as_bytes().first().is_some_and(is_first)
        && (2..=NAME_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A name, and what its braces hold: the text and the tags.
type Selector<'a> = (&'a str, Option<(String, TagSet)>);

/// Takes `metric{tag:value,tag:"value"}` apart. Blanks and quotes around tags and values are not
/// part of them; a value may have colons and braces, and of a tag given twice the last value
/// counts.
fn split(text: &str) -> Result<Selector<'_>, MetricError> {
    let wrong = || MetricError::Selector(shortened(text));
    let Some((name, rest)) = text.split_once('{') else {
        return if text.contains('}') { Err(wrong()) } else { Ok((text, None)) };
    };
    let inside = rest.strip_suffix('}').ok_or_else(wrong)?;
    let mut tags = Vec::new();
    for pair in inside.split(',') {
        let (tag, value) = pair.split_once(':').ok_or_else(wrong)?;
        let bare = |text| str::trim_matches(str::trim(text), |c| c == '"' || c == '\'').trim();
        if tag.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        tags.push((bare(tag), bare(value)));
    }
    Ok((name, Some((inside.trim().to_owned(), TagSet::of(tags)))))
}
