//! The answer of a search: the line, what was shown above it, and what readers have to know.

use serde::{Deserialize, Serialize};

use super::judge::{Finding, Outcome};
use super::knee::knee;
use super::probe::Probe;
use super::search::Search;
use super::turn::Turn;

/// Stalls that a hold should contain so that their share is known to a third.
const STALLS_WANTED: f64 = 10.0;

/// A rate that is lower by this factor says how long the server takes without much load.
const LOW_RATE: f64 = 1.5;

/// Responses that take this many times as long as at a low rate wait in the server.
const SLOWER: f64 = 1.5;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The line is found.
    Found,
    /// The highest rate of the search meets the objectives.
    AtLeast,
    /// Above the rate the tester was the limit.
    TesterLimited,
    /// No rate from the lowest on meets the objectives.
    NotMet,
    /// No rate was shown to meet the objectives, and the lowest was not shown to miss them.
    NotShown,
    /// A rate fails below one that passes: there is no single line.
    NotMonotone,
    /// A hold has too few requests at the rates where the line may be.
    TooFewRequests,
    /// The next probe did not fit into the budget. A rate that is given is shown to be met, and
    /// the line may be higher.
    OutOfBudget,
    /// The search was stopped. A rate that is given is shown to be met.
    Stopped,
    /// Quick probes passed at the rate; nothing is promised.
    Guessed,
}

/// What readers have to know before they believe an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// The same rate gave other figures at the end of the search.
    ChangedWhileMeasured,
    /// The server was not as before when a cool-down ended.
    DoesNotRecover,
    /// No probe was long enough to promise anything.
    QuickProbesOnly,
    /// The search ended before the answer was measured again.
    NotMeasuredAgain,
    /// The answer was measured again, and that hold did not show it.
    NotConfirmed,
    /// The answer passed a hold of its own. With the stalls that all probes have seen, it is not
    /// shown that it would pass a longer one.
    StallsUndecided,
}

/// What holds after overload, where that is less than the answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AfterOverload {
    /// The rate to which the load must drop before the objectives are met again; null where no
    /// rate was found.
    pub rate_rps: Option<f64>,
}

/// The stalls of the server seen in all probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallsSeen {
    /// The objective that they count against, as it was written.
    pub objective: String,
    /// How many.
    pub seen: usize,
    /// In how many seconds of measured time.
    pub measured_s: f64,
    /// Stalls that come less often than this, on average, may have remained unseen: with a chance
    /// above α none of them falls into the measured time.
    pub unseen_every_s: f64,
    /// The hold in which ten stalls can be expected; null where none was seen, or the hold is as
    /// long.
    pub hold_s: Option<f64>,
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// How the search ended.
    pub ending: Ending,
    /// The load line: the highest rate shown to meet the objectives. After `guessed`, the highest
    /// that passed a quick probe.
    pub rate_rps: Option<f64>,
    /// What was shown at that rate.
    pub shown: Vec<Finding>,
    /// The lowest rate shown not to meet them.
    pub fails_rps: Option<f64>,
    /// What failed there.
    pub failed: Option<Finding>,
    /// The highest rate that passed a quick probe below the lowest that failed one. Quick probes
    /// promise nothing.
    #[serde(default)]
    pub quick_passed_rps: Option<f64>,
    /// The lowest rate that failed a quick probe.
    #[serde(default)]
    pub quick_failed_rps: Option<f64>,
    /// The turns that the search took.
    #[serde(default)]
    pub turns: Vec<Turn>,
    /// What holds after overload, where that is less.
    pub after_overload: Option<AfterOverload>,
    /// The number of connections, if they and not the server were the limit at the lowest rate that
    /// failed: requests waited for one of them, and those that were sent were served as quickly as
    /// at a low rate.
    #[serde(default)]
    pub connections_limit: Option<u32>,
    /// The lowest rate that the tester could not offer or measure.
    pub tester_limit_rps: Option<f64>,
    /// What readers have to know before they believe it.
    pub doubts: Vec<Doubt>,
    /// The stalls that count against each objective on times.
    pub stalls: Vec<StallsSeen>,
    /// The highest rate of responses of any probe: about the server's capacity.
    pub saturation_rps: Option<f64>,
    /// Where the curve of p99 over the rate bends, about; depends on the range measured.
    pub knee_rps: Option<f64>,
    /// How long the search took.
    #[serde(rename = "elapsed_s", with = "crate::serde_units::from_ns")]
    pub elapsed_ns: u64,
}

impl Answer {
    /// Whether its rate was shown to meet the objectives, and not only passed quick probes, or a
    /// hold with too few of the server's stalls.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        let is_guess = |it: &Doubt| matches!(it, Doubt::QuickProbesOnly | Doubt::StallsUndecided);
        self.rate_rps.is_some() && !self.doubts.iter().any(is_guess)
    }
}

/// The answer from what a search knows at its end.
pub(super) fn conclude(search: &Search, ending: Ending) -> Answer {
    let (quick_passed_rps, quick_failed_rps) = quick(search.probes());
    let quick_rps = quick_passed_rps.filter(|_| ending == Ending::Guessed);
    // Below a rate that passes another fails: neither is the line.
    let shown = search.shown().filter(|_| ending != Ending::NotMonotone);
    let best = shown.and_then(|shown| search.probes().get(shown.probe));
    let rate_rps = best.map(|probe| probe.plan.rate_rps);
    let top = search.top_above(rate_rps.unwrap_or(0.0));
    let saturation = search.probes().iter().filter_map(Probe::achieved_rps);
    Answer {
        ending,
        rate_rps: rate_rps.or(quick_rps),
        shown: best.map(|probe| probe.judgement.findings.clone()).unwrap_or_default(),
        fails_rps: top.map(|probe| probe.plan.rate_rps),
        failed: top.and_then(|probe| probe.judgement.failed().cloned()),
        quick_passed_rps,
        quick_failed_rps,
        turns: search.turns(),
        after_overload: search.after_overload_found(),
        connections_limit: connections_limit(search.probes(), top),
        tester_limit_rps: search.tester_limit_rps(),
        doubts: search.doubts(shown),
        stalls: stalls(search, rate_rps),
        saturation_rps: saturation.max_by(f64::total_cmp),
        knee_rps: knee(&curve(search.probes())),
        elapsed_ns: search.elapsed_ns(),
    }
}

/// The connections, if they were the limit in the hold that failed, or without one in the lowest
/// quick probe that did. More of them would have sent the requests sooner that waited.
///
/// A server that is the limit itself makes requests wait too, but then those that were sent take
/// longer as well, since they wait for each other there.
fn connections_limit(probes: &[Probe], failed: Option<&Probe>) -> Option<u32> {
    let usual = || probes.iter().filter(|it| !it.plan.purpose.follows_overload());
    let by_rate = |a: &&Probe, b: &&Probe| a.plan.rate_rps.total_cmp(&b.plan.rate_rps);
    let quick = usual().filter(|it| it.judgement.outcome == Outcome::Fail).min_by(by_rate);
    let failed = failed.or(quick)?;
    let connected = failed.report.connections?;
    let service_p50_ns = |it: &Probe| it.report.connections?.service_p50_ns;
    let lowest = usual().filter(|it| service_p50_ns(it).is_some()).min_by(by_rate)?;
    let is_lower = lowest.plan.rate_rps * LOW_RATE <= failed.plan.rate_rps;
    let is_quick = service_p50_ns(failed)? as f64 <= SLOWER * service_p50_ns(lowest)? as f64;
    let p99_ns = failed.report.figures.as_ref()?.p99_ns?;
    let is_waiting = connected.waited_p99_ns()? >= p99_ns / 2;
    (is_lower && is_quick && is_waiting).then_some(connected.limit)
}

/// The highest rate that passed a quick probe below all that failed one, and the lowest that did.
fn quick(probes: &[Probe]) -> (Option<f64>, Option<f64>) {
    let quick = |outcome| {
        let of = move |it: &&Probe| it.plan.purpose.guides() && it.judgement.outcome == outcome;
        probes.iter().filter(of).map(|it| it.plan.rate_rps)
    };
    let failed_rps = quick(Outcome::Fail).min_by(f64::total_cmp);
    let is_below = |rate_rps: &f64| failed_rps.is_none_or(|failed_rps| *rate_rps < failed_rps);
    (quick(Outcome::Pass).filter(is_below).max_by(f64::total_cmp), failed_rps)
}

/// Rate and p99 of the probes from below, in rising order.
fn curve(probes: &[Probe]) -> Vec<(f64, f64)> {
    let mut curve: Vec<(f64, f64)> = probes
        .iter()
        .filter(|probe| !probe.plan.purpose.follows_overload())
        .filter_map(|probe| {
            let p99_ns = probe.report.figures.as_ref()?.p99_ns?;
            Some((probe.plan.rate_rps, p99_ns as f64))
        })
        .collect();
    curve.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    curve
}

/// Those that count at the rate of the answer; without an answer, at any rate.
fn stalls(search: &Search, rate_rps: Option<f64>) -> Vec<StallsSeen> {
    let settings = search.settings();
    let hold_s = settings.hold_ns as f64 / 1e9;
    let pools = search.pools(rate_rps.unwrap_or(f64::INFINITY));
    let with_pools = search.objectives().iter().zip(pools);
    let timed = with_pools
        .filter(|(objective, pool)| objective.far_ns().is_some() && pool.measured_s() > 0.0);
    timed
        .map(|(objective, pool)| {
            let (seen, measured_s) = (pool.seen(), pool.measured_s());
            let every_s = measured_s / seen.max(1) as f64;
            let wanted_s = (STALLS_WANTED * every_s).ceil();
            StallsSeen {
                objective: objective.text().to_owned(),
                seen,
                measured_s,
                unseen_every_s: measured_s / -settings.alpha().ln(),
                hold_s: (seen > 0 && wanted_s > hold_s).then_some(wanted_s),
            }
        })
        .collect()
}
