//! Figures of a trend that a summary shows or a threshold asks for.

use serde_json::Value;

use crate::k6::options::{OptionValue, shortened};

/// A figure of a trend.
#[derive(Debug, Clone, PartialEq)]
pub enum TrendStat {
    /// The mean.
    Avg,
    /// The least.
    Min,
    /// The median.
    Med,
    /// The greatest.
    Max,
    /// How many values there are.
    Count,
    /// A percentile.
    Percentile {
        /// As it was written: `p(99.9)`.
        text: String,
        /// 0 to 1.
        share: f64,
    },
}

impl TrendStat {
    /// Reads `avg`, `min`, `med`, `max`, `count` or `p(99.9)`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "avg" => Self::Avg,
            "min" => Self::Min,
            "med" => Self::Med,
            "max" => Self::Max,
            "count" => Self::Count,
            _ => {
                let percent = text.strip_prefix("p(")?.strip_suffix(')')?;
                let is_number = percent.bytes().all(|c| c.is_ascii_digit() || c == b'.');
                let percent: f64 = percent.parse().ok().filter(|_| is_number)?;
                if percent > 100.0 {
                    return None;
                }
                Self::Percentile { text: text.to_owned(), share: percent / 100.0 }
            }
        })
    }

    /// As it was written.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Med => "med",
            Self::Max => "max",
            Self::Count => "count",
            Self::Percentile { text, .. } => text,
        }
    }

    /// `avg,min,med,max,p(90),p(95)`: what k6 shows unless told otherwise.
    #[must_use]
    pub fn defaults() -> Vec<Self> {
        let names = ["avg", "min", "med", "max", "p(90)", "p(95)"];
        names.into_iter().filter_map(Self::parse).collect()
    }
}

impl OptionValue for Vec<TrendStat> {
    fn from_json(value: &Value) -> Result<Self, String> {
        stats(&Vec::<String>::from_json(value)?)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        stats(&Vec::<String>::from_text(text)?)
    }

    fn to_json(&self) -> Value {
        self.iter().map(TrendStat::name).collect()
    }
}

fn stats(names: &[String]) -> Result<Vec<TrendStat>, String> {
    let wrong = |name: &str| {
        format!("'{}' is not one of avg, min, med, max, count and p(N)", shortened(name))
    };
    names.iter().map(|name| TrendStat::parse(name).ok_or_else(|| wrong(name))).collect()
}
