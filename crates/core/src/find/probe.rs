//! A probe: what the search asks for, what the driver reports, and what that showed.

use serde::{Deserialize, Serialize};

use super::figures::Figures;
use super::judge::{Judgement, Outcome};
use super::room::{BESIDE_NS, COOL_DOWN_NS};
use super::tester::Late;

/// From here on the wait of one request in a hundred for a connection is worth a word.
const WAITED_NS_NOTED: u64 = 1_000_000;

/// A run at one rate that the search asks for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProbePlan {
    /// What for.
    pub purpose: Purpose,
    /// The rate, requests per second.
    pub rate_rps: f64,
    /// The rate to cool down at before it, until the server is as it was; null to start at once.
    pub cool_down_rps: Option<f64>,
    /// How long the load lasts before it is measured.
    #[serde(rename = "settle_s", with = "crate::serde_units::from_ns")]
    pub settle_ns: u64,
    /// How long it is measured at most; it ends early once it shows what it is for.
    #[serde(rename = "measure_s", with = "crate::serde_units::from_ns")]
    pub measure_ns: u64,
}

impl ProbePlan {
    /// What it takes without a cool-down.
    #[must_use]
    pub fn needs_ns(&self) -> u64 {
        needs_ns(self.settle_ns, self.measure_ns)
    }

    /// What another attempt takes. The server cools down before it: the one before may have been an
    /// overload.
    #[must_use]
    pub fn again_ns(&self) -> u64 {
        self.needs_ns().saturating_add(COOL_DOWN_NS)
    }
}

/// What a load takes that settles and is measured.
pub(super) fn needs_ns(settle_ns: u64, measure_ns: u64) -> u64 {
    settle_ns.saturating_add(measure_ns).saturating_add(BESIDE_NS)
}

/// What a probe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A quick look for a rate that is too high.
    Bracket,
    /// A quick look between two rates.
    Narrow,
    /// A long one, to show that the objectives are met.
    Climb,
    /// A long one, to show that they are not met.
    Top,
    /// A quick one that brings the server into overload again.
    Overload,
    /// The answer once more, directly after overload.
    AfterOverload,
    /// The answer once more, after the server has cooled down.
    Recheck,
    /// Directly after overload, a quick look for the rate at which the server recovers.
    Descend,
    /// A long one at that rate.
    Recovered,
    /// Whether a lower rate fails where a higher one passes.
    Order,
}

impl Purpose {
    /// Whether its judgement is a statement at the level α. The others only guide the search.
    #[must_use]
    pub fn decides(self) -> bool {
        !matches!(self, Self::Bracket | Self::Narrow | Self::Overload | Self::Descend)
    }

    /// Whether it is a quick look for the rates of the climb.
    #[must_use]
    pub fn guides(self) -> bool {
        matches!(self, Self::Bracket | Self::Narrow)
    }

    /// Whether the server may still suffer from an overload before, so that the probe says nothing
    /// about how it usually is.
    #[must_use]
    pub fn follows_overload(self) -> bool {
        matches!(self, Self::Overload | Self::AfterOverload | Self::Descend | Self::Recovered)
    }
}

/// What the driver reports about a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What was measured; null where nothing was.
    pub figures: Option<Figures>,
    /// What the tester itself may have done to the figures that the objectives use: one line. The
    /// times contain its delays, so a probe that passes still passes. One that does not fails only
    /// if it would fail without what `late` may have added.
    pub tester: Option<String>,
    /// How late the tester was; null with `tester` where that bounds nothing.
    #[serde(default)]
    pub late: Option<Late>,
    /// How the requests fared with the connections there may be; null in documents without it.
    #[serde(default)]
    pub connections: Option<Connected>,
    /// How many CPUs the server used; null where it was not watched.
    pub server_cpus: Option<f64>,
    /// Whether the server was as before when the cool-down ended.
    pub recovered: bool,
    /// How long it took with everything before and after.
    #[serde(rename = "elapsed_s", with = "crate::serde_units::from_ns")]
    pub elapsed_ns: u64,
}

/// How requests fared with the connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connected {
    /// How many connections there may be.
    pub limit: u32,
    /// The most that were open at once.
    pub open_max: u64,
    /// The 99th percentile of the wait for one; null without requests.
    #[serde(rename = "blocked_p99_s", with = "crate::serde_units::optional_from_ns")]
    pub blocked_p99_ns: Option<u64>,
    /// The median from when a request was sent to its response; null without responses.
    #[serde(rename = "service_p50_s", with = "crate::serde_units::optional_from_ns")]
    pub service_p50_ns: Option<u64>,
}

impl Connected {
    /// The wait for a connection, if all were open and it was long enough to be worth a word.
    #[must_use]
    pub fn waited_p99_ns(&self) -> Option<u64> {
        let are_all_open = self.open_max >= u64::from(self.limit);
        self.blocked_p99_ns.filter(|it| are_all_open && *it >= WAITED_NS_NOTED)
    }
}

/// A probe that was carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// What the search asked for.
    pub plan: ProbePlan,
    /// What the driver reported.
    pub report: Report,
    /// What it showed when it was judged.
    pub judgement: Judgement,
}

impl Probe {
    /// Whether it says anything about the server.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.judgement.outcome != Outcome::NotMeasured
    }

    /// Responses per second; `None` where it was not measured.
    #[must_use]
    pub fn achieved_rps(&self) -> Option<f64> {
        self.report.figures.as_ref().filter(|_| self.is_measured()).map(Figures::achieved_rps)
    }
}
