//! The names of custom metrics, declared before the load begins.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most custom metrics of a run, unless its registry says otherwise: each interval of the
/// series holds a value of each.
pub const METRICS_MAX: usize = 100;

/// The longest name, in characters.
const NAME_CHARS_MAX: usize = 128;

/// What a metric makes of the values that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Adds them up. Values of 0 or more.
    Counter,
    /// Keeps the last, the least and the greatest.
    Gauge,
    /// Counts how many are true: all but 0.
    Rate,
    /// Keeps how plain numbers are distributed.
    Trend,
    /// Keeps how times are distributed. Values in ns, 0 or more.
    TimeTrend,
}

impl Kind {
    /// What it is called in reports and messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Rate => "rate",
            Self::Trend => "trend",
            Self::TimeTrend => "trend of times",
        }
    }
}

/// A name of letters, digits and `_`, shared by all that hold it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Name {
    type Error = DeclareError;

    fn try_from(text: &str) -> Result<Self, DeclareError> {
        let is_valid = is_name(text);
        is_valid.then(|| Self(text.into())).ok_or_else(|| DeclareError::Name(shortened(text)))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.as_str().try_into().map_err(serde::de::Error::custom)
    }
}

/// A metric that values may be recorded for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// What conditions and reports call it.
    pub name: Name,
    /// What it makes of its values.
    pub kind: Kind,
}

/// The number of a metric in its [`Registry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MetricId(pub(super) u16);

/// Why a metric cannot be declared: one line, what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclareError {
    /// The name has other characters, or too many.
    #[error(
        "'{0}' is not a name for a metric: give a letter or _, then letters, digits or _, at most \
         {NAME_CHARS_MAX}"
    )]
    Name(String),
    /// A built-in metric has the name.
    #[error("metric '{0}' is built in: give another name")]
    BuiltIn(String),
    /// The name stands for another kind.
    #[error("metric '{name}' is a {}, and cannot also be a {}", known.words(), asked.words())]
    Kind {
        /// The name.
        name: String,
        /// What it was declared as.
        known: Kind,
        /// What it should be now.
        asked: Kind,
    },
    /// There are as many as there may be.
    #[error("metric '{name}' is one too many: there may be {most}; tell values apart by tags")]
    TooMany {
        /// The name.
        name: String,
        /// How many there may be.
        most: usize,
    },
}

/// The custom metrics of a run.
#[derive(Debug, Clone)]
pub struct Registry {
    declared: Vec<Declared>,
    metrics_max: usize,
    is_built_in: fn(&str) -> bool,
}

impl Default for Registry {
    /// Without metrics and without names that are taken.
    fn default() -> Self {
        Self::new(|_| false)
    }
}

impl Registry {
    /// Without metrics. Names for which `is_built_in` holds cannot be declared, such as those of
    /// the metrics that gates know (`gate::is_built_in`).
    #[must_use]
    pub fn new(is_built_in: fn(&str) -> bool) -> Self {
        Self { declared: Vec::new(), metrics_max: METRICS_MAX, is_built_in }
    }

    /// The same, with room for this many metrics, for runs whose values are recorded elsewhere.
    #[must_use]
    pub fn with_room(self, metrics_max: u16) -> Self {
        Self { metrics_max: usize::from(metrics_max), ..self }
    }

    /// Declares a metric. A name that was declared before, as the same kind, has the same number.
    ///
    /// # Errors
    /// A name that cannot be one or is taken, and one metric more than there may be.
    pub fn declare(&mut self, name: &str, kind: Kind) -> Result<MetricId, DeclareError> {
        if let Some((id, known)) = self.find(name) {
            let wrong = || DeclareError::Kind { name: name.to_owned(), known, asked: kind };
            return if known == kind { Ok(id) } else { Err(wrong()) };
        }
        let valid: Name = name.try_into()?;
        if (self.is_built_in)(name) {
            return Err(DeclareError::BuiltIn(name.to_owned()));
        }
        if self.declared.len() == self.metrics_max {
            let (name, most) = (name.to_owned(), self.metrics_max);
            return Err(DeclareError::TooMany { name, most });
        }
        self.declared.push(Declared { name: valid, kind });
        Ok(MetricId((self.declared.len() - 1) as u16))
    }

    /// The number and kind of a metric.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(MetricId, Kind)> {
        let at = self.declared.iter().position(|declared| declared.name.as_str() == name)?;
        Some((MetricId(at as u16), self.declared[at].kind))
    }

    /// All metrics, in the order in which they were declared.
    #[must_use]
    pub fn declared(&self) -> &[Declared] {
        &self.declared
    }

    #[inline]
    pub(super) fn kind(&self, id: MetricId) -> Option<Kind> {
        self.declared.get(usize::from(id.0)).map(|declared| declared.kind)
    }
}

fn is_name(text: &str) -> bool {
    let is_first = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    text.as_bytes().first().is_some_and(is_first)
        && text.len() <= NAME_CHARS_MAX
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A name as far as a message shows it.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &name[..at]),
        None => name.to_owned(),
    }
}
