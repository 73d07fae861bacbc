//! The columns that tables of a study can show: a measure of a run, or the ratio of two measures.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{CaseRun, quantile};
use crate::nearest::nearest;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less.
    Lower,
    /// More.
    Higher,
}

/// A time of the messages of calls that stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageTime {
    /// From the start of sending to the first message.
    First,
    /// From each message of a call to the next one.
    Gap,
    /// From a message to its answer.
    RoundTrip,
}

impl MessageTime {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::First, Self::Gap, Self::RoundTrip];

    /// Its name, as gates have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first_message",
            Self::Gap => "message_gap",
            Self::RoundTrip => "round_trip",
        }
    }
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Good responses per second.
    Rate,
    /// Responses per second, failed ones too.
    Responses,
    /// A quantile (0 to 1) of latency, by the clock that the tester puts first, seconds.
    Latency(f64),
    /// A quantile of service time, where that is the second clock, seconds.
    Service(f64),
    /// A quantile of a time of messages, where calls stream, seconds.
    Message(MessageTime, f64),
    /// The load line, requests per second: of searches.
    LoadLine,
    /// The lowest rate that a search has shown not to meet its objectives.
    FailsAt,
    /// Mean latency, seconds.
    Mean,
    /// Greatest latency, seconds.
    Max,
    /// Share of requests that failed or had no response, 0 to 1.
    Errors,
    /// The server's CPU, share of one core, mean over the load.
    Cpu,
    /// The server's CPU time for each response, seconds.
    CpuPerRequest,
    /// The server's resident memory at its peak, bytes.
    Rss,
    /// The server's memory, shared pages divided among their users, at its peak, bytes.
    Pss,
    /// The server's processes at the most.
    Processes,
    /// The server's threads at the most.
    Threads,
    /// Connections that the tester opened.
    Connections,
    /// The tester's CPU, share of one core.
    TesterCpu,
    /// The tester's resident memory at its peak, bytes.
    TesterRss,
}

/// The names of measures without a quantile.
const NAMES: [(&str, Measure); 16] = [
    ("rate", Measure::Rate),
    ("responses", Measure::Responses),
    ("load_line", Measure::LoadLine),
    ("fails_at", Measure::FailsAt),
    ("mean", Measure::Mean),
    ("max", Measure::Max),
    ("errors", Measure::Errors),
    ("cpu", Measure::Cpu),
    ("cpu_per_request", Measure::CpuPerRequest),
    ("rss", Measure::Rss),
    ("pss", Measure::Pss),
    ("processes", Measure::Processes),
    ("threads", Measure::Threads),
    ("connections", Measure::Connections),
    ("tester_cpu", Measure::TesterCpu),
    ("tester_rss", Measure::TesterRss),
];

impl Measure {
    /// What it was in a run; `None` where nobody said.
    #[must_use]
    pub fn of(self, run: &CaseRun) -> Option<f64> {
        let (figures, server, tester) = (&run.figures, run.server.as_ref(), run.tester.as_ref());
        match self {
            Self::Rate => figures.good_rate_rps(),
            Self::Responses => figures.rate_rps,
            Self::Latency(q) => figures.latency_s(q),
            Self::Service(q) => figures.service_s(q),
            Self::Message(time, q) => figures.message_s(time, q),
            Self::LoadLine => figures.load_line.as_ref()?.ranked_rps(),
            Self::FailsAt => figures.load_line.as_ref()?.fails_rps,
            Self::Mean => figures.mean_s,
            Self::Max => figures.max_s,
            Self::Errors => figures.error_share(),
            Self::Cpu => server?.known_cores(),
            Self::CpuPerRequest => {
                let completed = figures.completed.filter(|count| *count > 0)?;
                Some(server?.known_cpu_ns()? as f64 / 1e9 / completed as f64)
            }
            Self::Rss => server.map(|usage| usage.rss_peak_bytes as f64),
            Self::Pss => server?.pss_peak_bytes.map(|bytes| bytes as f64),
            Self::Processes => server.map(|usage| f64::from(usage.processes_max)),
            Self::Connections => figures.connections.map(|count| count as f64),
            Self::Threads => server.map(|usage| f64::from(usage.threads_max)),
            Self::TesterCpu => tester?.known_cores(),
            Self::TesterRss => tester.map(|usage| usage.rss_peak_bytes as f64),
        }
    }

    /// Whether its value in a run is known to be a [lower bound](super::Quantile::is_lower_bound).
    #[must_use]
    pub fn is_lower_bound(self, run: &CaseRun) -> bool {
        let found = match self {
            Self::Latency(q) => quantile(&run.figures.latency, q),
            Self::Service(q) => quantile(&run.figures.service, q),
            _ => None,
        };
        found.is_some_and(|it| it.is_lower_bound)
    }

    /// Which way is better.
    #[must_use]
    pub fn better(self) -> Better {
        match self {
            Self::Rate | Self::Responses | Self::LoadLine | Self::FailsAt => Better::Higher,
            _ => Better::Lower,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Rounded, because 0.999 times 100 is not 99.9 in binary.
            Self::Latency(q) => write!(f, "p{}", (q * 1e8).round() / 1e6),
            Self::Service(q) => write!(f, "service.p{}", (q * 1e8).round() / 1e6),
            Self::Message(time, q) => write!(f, "{}.p{}", time.name(), (q * 1e8).round() / 1e6),
            named => {
                let name = NAMES.iter().find(|(_, measure)| measure == named);
                f.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Measure {
    type Err = String;

    /// Reads `rate`, `p99.9`, `service.p50`, `round_trip.p99`, `rss` and so on.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percentile = |text: &str| {
            let percent: f64 = text.strip_prefix('p')?.parse().ok()?;
            (percent > 0.0 && percent < 100.0).then(|| (percent * 1e6).round() / 1e8)
        };
        if let Some((_, measure)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*measure);
        }
        let of = |name: &str| percentile(text.strip_prefix(name)?.strip_prefix('.')?);
        let message = |time: MessageTime| Some(Self::Message(time, of(time.name())?));
        let named = of("service").map(Self::Service);
        let named = named.or_else(|| MessageTime::ALL.into_iter().find_map(message));
        named.or_else(|| percentile(text).map(Self::Latency)).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            match nearest(text, names.iter().copied().chain(["p50", "p99"])) {
                Some(meant) => format!("'{text}' is not a measure: did you mean '{meant}'?"),
                None => {
                    let names = names.join(", ");
                    format!(
                        "'{text}' is not a measure: there are {names}, p50, service.p99, \
                         first_message.p99, message_gap.p99, round_trip.p99"
                    )
                }
            }
        })
    }
}

/// A column of a table: `p99`, or `p99/p50`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Column {
    /// The measure.
    pub measure: Measure,
    /// What it is divided by, run by run.
    pub over: Option<Measure>,
}

impl Column {
    /// What it was in a run; `None` where nobody said or it would be divided by nothing.
    #[must_use]
    pub fn of(&self, run: &CaseRun) -> Option<f64> {
        let value = self.measure.of(run)?;
        match self.over {
            None => Some(value),
            Some(over) => over.of(run).filter(|under| *under > 0.0).map(|under| value / under),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.over {
            None => self.measure.fmt(f),
            Some(over) => write!(f, "{}/{over}", self.measure),
        }
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (measure, over) = match text.split_once('/') {
            None => (text, None),
            Some((measure, over)) => (measure, Some(over.parse()?)),
        };
        Ok(Self { measure: measure.parse()?, over })
    }
}

impl TryFrom<String> for Column {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Column> for String {
    fn from(column: Column) -> Self {
        column.to_string()
    }
}
