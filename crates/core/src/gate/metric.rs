//! The metrics that conditions can name: `p99`, `ok.p99`, `errors`, `status.5xx`, `rate`,
//! `verdict`.

use std::str::FromStr;

use super::value::decimal;
use crate::clock::Clock;
use crate::nearest::nearest;
use crate::phase::Phase;
use crate::recorder::GRPC_STATUSES;
use crate::result::Unit;

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timing {
    Response,
    Service,
    Ok,
    Failed,
    Incomplete,
    Lag,
    Lateness,
    Phase(Phase),
    ReceiveDelay,
    Iteration,
    FirstMessage,
    MessageGap,
    RoundTrip,
}

const TIMINGS: [(&str, Timing); 21] = [
    ("response", Timing::Response),
    ("service", Timing::Service),
    ("ok", Timing::Ok),
    ("failed", Timing::Failed),
    ("incomplete", Timing::Incomplete),
    ("lag", Timing::Lag),
    ("blocked", Timing::Phase(Phase::Blocked)),
    ("lateness", Timing::Lateness),
    ("dns", Timing::Phase(Phase::Dns)),
    ("connect", Timing::Phase(Phase::Connect)),
    ("tls", Timing::Phase(Phase::Tls)),
    ("greeting", Timing::Phase(Phase::Greeting)),
    ("sending", Timing::Phase(Phase::Sending)),
    ("stalled", Timing::Phase(Phase::Stalled)),
    ("waiting", Timing::Phase(Phase::Waiting)),
    ("receiving", Timing::Phase(Phase::Receiving)),
    ("receive_delay", Timing::ReceiveDelay),
    ("iteration", Timing::Iteration),
    ("first_message", Timing::FirstMessage),
    ("message_gap", Timing::MessageGap),
    ("round_trip", Timing::RoundTrip),
];

/// A figure of a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Statistic {
    /// From 0 to 1, both left out.
    Quantile(f64),
    Min,
    Mean,
    Stdev,
    Max,
}

impl Statistic {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "min" => Some(Self::Min),
            "mean" => Some(Self::Mean),
            "stdev" => Some(Self::Stdev),
            "max" | "p100" => Some(Self::Max),
            _ => {
                let q = decimal(text.strip_prefix('p')?, 2)?;
                (0.0 < q && q < 1.0).then_some(Self::Quantile(q))
            }
        }
    }
}

/// Requests by what became of them; [`Tally::Errors`] are all that are not ok.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tally {
    Errors,
    Scheduled,
    Sent,
    Shed,
    Unsent,
    Completed,
    Refused,
    TimedOut,
    Broken,
    Unfinished,
    Ok,
    Failed,
    Redirects,
    Resent,
}

const TALLIES: [(&str, Tally); 14] = [
    ("errors", Tally::Errors),
    ("scheduled", Tally::Scheduled),
    ("sent", Tally::Sent),
    ("shed", Tally::Shed),
    ("unsent", Tally::Unsent),
    ("completed", Tally::Completed),
    ("refused", Tally::Refused),
    ("timed_out", Tally::TimedOut),
    ("broken", Tally::Broken),
    ("unfinished", Tally::Unfinished),
    ("ok", Tally::Ok),
    ("failed", Tally::Failed),
    ("redirects", Tally::Redirects),
    ("resent", Tally::Resent),
];

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Metric {
    Time(Timing, Statistic),
    Requests(Tally),
    /// Responses with a status from one to another, both included.
    Status(u16, u16),
    /// Calls of gRPC with a status of this name.
    GrpcStatus(&'static str),
    Achieved,
    Offered,
    /// Share of the users' time in which they were cut off.
    Outage,
    /// Connects that failed.
    ConnectErrors,
    /// Iterations that came to their end.
    Iterations,
    Reconnects,
    Retransmits,
    SentBytes,
    ReceivedBytes,
    /// Messages in calls that stream.
    SentMessages,
    ReceivedMessages,
    /// Calls ended with OK before all of their messages were sent.
    CutCalls,
    /// Messages of a WebSocket that answer none, and pings.
    Pushed,
    Pings,
    Cpu,
    Memory,
    TargetCpu,
    TargetMemory,
    Verdict,
}

const OTHERS: [(&str, Metric); 19] = [
    ("rate", Metric::Achieved),
    ("offered", Metric::Offered),
    ("outage", Metric::Outage),
    ("connect_errors", Metric::ConnectErrors),
    ("iterations", Metric::Iterations),
    ("reconnects", Metric::Reconnects),
    ("retransmits", Metric::Retransmits),
    ("bytes.sent", Metric::SentBytes),
    ("bytes.received", Metric::ReceivedBytes),
    ("messages.sent", Metric::SentMessages),
    ("messages.received", Metric::ReceivedMessages),
    ("cut_calls", Metric::CutCalls),
    ("pushed", Metric::Pushed),
    ("pings", Metric::Pings),
    ("cpu", Metric::Cpu),
    ("rss", Metric::Memory),
    ("target.cpu", Metric::TargetCpu),
    ("target.rss", Metric::TargetMemory),
    ("verdict", Metric::Verdict),
];

/// One way to write each metric: any other differs in its percentile, statistic or status. Each has
/// a section in `docs/gate-metrics.md`.
pub fn metric_names() -> impl Iterator<Item = String> {
    let figures = ["p99", "min", "mean", "stdev", "max"].map(str::to_owned);
    let timings = TIMINGS.iter().map(|(name, _)| format!("{name}.p99"));
    let tallies = TALLIES.iter().map(|(name, _)| (*name).to_owned());
    let statuses = [ANY_STATUS, ANY_GRPC_STATUS].map(str::to_owned);
    let others = OTHERS.iter().map(|(name, _)| (*name).to_owned());
    figures.into_iter().chain(timings).chain(tallies).chain(statuses).chain(others)
}

/// What stands for all statuses among the names of metrics.
const ANY_STATUS: &str = "status.5xx";
const ANY_GRPC_STATUS: &str = "grpc_status.UNAVAILABLE";

/// What a metric is called among [`metric_names`], however it is written: `status.503` as
/// `status.5xx`. `None` for what is no metric.
#[must_use]
pub fn metric_name(text: &str) -> Option<String> {
    let metric: Metric = text.parse().ok()?;
    let timing = text.split_once('.').filter(|(name, _)| is_timing(name));
    Some(match (metric, timing) {
        (Metric::Status(..), _) => ANY_STATUS.to_owned(),
        (Metric::GrpcStatus(_), _) => ANY_GRPC_STATUS.to_owned(),
        (Metric::Time(..), Some((name, _))) => format!("{name}.p99"),
        (Metric::Time(_, Statistic::Quantile(_)), None) => "p99".to_owned(),
        (Metric::Time(_, Statistic::Max), None) => "max".to_owned(),
        _ => text.to_owned(),
    })
}

/// Whether a custom metric of this name could not be told from a built-in one in a condition.
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    let first = |known: &String| known.split('.').next() == Some(name);
    name.parse::<Metric>().is_ok() || metric_names().any(|known| first(&known))
}

fn is_timing(name: &str) -> bool {
    TIMINGS.iter().any(|(timing, _)| *timing == name)
}

/// What a metric's limit may look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Time,
    /// A count of requests or their share.
    Requests,
    /// A count of other things.
    Events,
    Rate,
    Size,
    Cores,
    /// A share of the time.
    Share,
    /// A share of the values.
    Proportion,
    /// Any number.
    Number,
    /// A number for each second.
    PerSecond,
    Verdict,
}

/// What a metric is measured from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A whole result.
    Run,
    /// The requests of an endpoint, to an address or of a group.
    Part,
    /// The requests of a stage.
    Stage,
    /// Intervals of the series.
    Stretch,
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(statistic) = Statistic::parse(text) {
            return Ok(Self::Time(Timing::HEADLINE, statistic));
        }
        if let Some((_, metric)) = OTHERS.iter().find(|(name, _)| *name == text) {
            return Ok(*metric);
        }
        if let Some((_, tally)) = TALLIES.iter().find(|(name, _)| *name == text) {
            return Ok(Self::Requests(*tally));
        }
        if let Some(status) = text.strip_prefix("status.") {
            let wrong = || {
                format!("'{status}' is not a status: write status.503, or status.1xx to status.5xx")
            };
            return statuses(status).ok_or_else(wrong);
        }
        if let Some(status) = text.strip_prefix("grpc_status.") {
            return grpc_status(status);
        }
        let (name, rest) = text.split_once('.').unwrap_or((text, ""));
        match TIMINGS.iter().find(|(timing, _)| *timing == name) {
            Some((_, timing)) => Statistic::parse(rest)
                .map(|statistic| Self::Time(*timing, statistic))
                .ok_or_else(|| {
                    format!("'{text}' says no figure: write {name}.p99, {name}.mean or {name}.max")
                }),
            None => Err(unknown(text)),
        }
    }
}

fn unknown(text: &str) -> String {
    let small = text.to_ascii_lowercase();
    if small != text && small.parse::<Metric>().is_ok() {
        return format!("no metric '{text}': did you mean '{small}'?");
    }
    if text.strip_prefix('p').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return format!("'{text}' is not a percentile from 0 to 100: write p50, p99 or p99.9");
    }
    if let Some(meant) = meant(text) {
        return format!("no metric '{text}': did you mean '{meant}'?");
    }
    format!(
        "no metric '{text}': there are p99 (any percentile), mean, min, max, response.p99, \
         service.p99, ok.p99, connect.p99 and other phases, rate, offered, errors, outage, \
         connect_errors, failed, timed_out and the rest of the ledger, status.503, \
         bytes.received, cpu, rss, verdict"
    )
}

/// The metric that an unknown name probably meant.
fn meant(text: &str) -> Option<String> {
    let timings = || TIMINGS.iter().map(|(name, _)| *name);
    if let Some((name, rest)) = text.split_once('.') {
        let of_status = statuses(rest).and_then(|_| nearest(name, ["status"]));
        let of_time = Statistic::parse(rest).and_then(|_| nearest(name, timings()));
        if let Some(name) = of_status.or(of_time) {
            return Some(format!("{name}.{rest}"));
        }
    }
    let tallies = TALLIES.iter().map(|(name, _)| *name);
    let others = OTHERS.iter().map(|(name, _)| *name);
    let whole = tallies.chain(others).chain(["min", "mean", "stdev", "max", "p50"]);
    let whole = nearest(text, whole).map(str::to_owned);
    whole.or_else(|| nearest(text, timings()).map(|name| format!("{name}.p99")))
}

fn statuses(text: &str) -> Option<Metric> {
    if text.len() != 3 || !text.is_ascii() {
        return None;
    }
    let (from, to) = match text.strip_suffix("xx") {
        Some(class) => {
            let class: u16 = class.parse().ok()?;
            (class * 100, class * 100 + 99)
        }
        None => (text.parse().ok()?, text.parse().ok()?),
    };
    // There are five classes (RFC 9110 section 15); a server may send a status beyond them.
    let is_one = from >= 100 && (from == to || from < 600);
    is_one.then_some(Metric::Status(from, to))
}

fn grpc_status(text: &str) -> Result<Metric, String> {
    let known = GRPC_STATUSES.into_iter().find(|name| *name == text);
    known.map(Metric::GrpcStatus).ok_or_else(|| {
        let upper = text.to_ascii_uppercase();
        let meant = nearest(&upper, GRPC_STATUSES).unwrap_or("UNAVAILABLE");
        format!("'{text}' is not a status of gRPC: write its name, as in grpc_status.{meant}")
    })
}

impl Metric {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Time(..) => Kind::Time,
            Self::Requests(_) | Self::Status(..) | Self::GrpcStatus(_) => Kind::Requests,
            Self::Achieved | Self::Offered => Kind::Rate,
            Self::ConnectErrors
            | Self::Iterations
            | Self::Reconnects
            | Self::Retransmits
            | Self::SentMessages
            | Self::ReceivedMessages
            | Self::CutCalls
            | Self::Pushed
            | Self::Pings => Kind::Events,
            Self::Outage => Kind::Share,
            Self::SentBytes | Self::ReceivedBytes | Self::Memory | Self::TargetMemory => Kind::Size,
            Self::Cpu | Self::TargetCpu => Kind::Cores,
            Self::Verdict => Kind::Verdict,
        }
    }

    pub(super) fn is_rate(self) -> bool {
        self.kind() == Kind::Rate
    }

    /// Why it cannot be measured from a source, if so.
    pub(super) fn unknown_to(self, source: Source, unit: Unit) -> Option<String> {
        let known = match source {
            Source::Run => return None,
            Source::Part | Source::Stage => self.is_known_of_parts(),
            Source::Stretch => self.is_known_over_time(unit),
        };
        let has_target = matches!(source, Source::Run | Source::Stage);
        if self.is_rate() && unit == Unit::Share && !has_target {
            return Some("only the run and its stages have a target: give a rate".to_owned());
        }
        let possible = match source {
            _ if known => return None,
            Source::Stretch => {
                "of a stretch of time there are response and service times, lateness.max, rate, \
                 errors, outage, failed, timed_out, broken, shed, ok, completed, statuses, sent \
                 (a count), bytes.received and cpu"
            }
            _ => {
                "of a part there are response and service times, rate, offered, the ledger's \
                 counts and statuses"
            }
        };
        Some(format!("this is known of the whole run only; {possible}"))
    }

    fn is_known_of_parts(self) -> bool {
        match self {
            Self::Time(timing, _) => timing.is_a_clock(),
            Self::Requests(_) | Self::Status(..) | Self::Achieved | Self::Offered => true,
            _ => false,
        }
    }

    fn is_known_over_time(self, unit: Unit) -> bool {
        match self {
            Self::Time(Timing::Lateness, statistic) => statistic == Statistic::Max,
            Self::Time(timing, _) => timing.is_a_clock(),
            Self::Requests(tally) => match tally {
                Tally::Scheduled
                | Tally::Unsent
                | Tally::Unfinished
                | Tally::Redirects
                | Tally::Resent => false,
                Tally::Sent => unit == Unit::Count,
                _ => true,
            },
            Self::Status(..) | Self::Achieved | Self::Outage | Self::ReceivedBytes | Self::Cpu => {
                true
            }
            _ => false,
        }
    }
}

impl Timing {
    /// The clock of a condition that names none.
    const HEADLINE: Self = match Clock::HEADLINE {
        Clock::Response => Self::Response,
        Clock::Service => Self::Service,
    };

    /// Whether it is one of the two clocks, and not a part of their times.
    fn is_a_clock(self) -> bool {
        matches!(self, Self::Response | Self::Service)
    }
}
