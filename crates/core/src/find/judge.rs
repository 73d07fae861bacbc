//! What a probe has shown: that the server meets the objectives at its rate, that it does not, or
//! neither.
//!
//! A probe passes if every objective's upper bound at level α stays below the limit, and fails if
//! one lower bound is above it. Where any probe of the search has seen a stall of the server, the
//! upper bound is made with the stalls of all probes.
//!
//! Two conditions stand beside the objectives. The server must answer 99 % of what was due. And
//! the backlog must not grow: above its capacity a server meets a limit of seconds for as long as
//! the queue takes to get there.
//!
//! Quick probes are judged by their averages alone. They guide the search and decide nothing.

use serde::{Deserialize, Serialize};

use super::bound::{BLOCKS, Bounds, Clumps, blocks, mean_bounds};
use super::figures::{Figures, Sums};
use super::stalls::Pool;
use crate::gate::Objective;

/// The share of the due requests that may remain without a response.
const UNANSWERED_MAX: f64 = 0.01;

/// The level at which a backlog is called growing.
const GROWTH_ALPHA: f64 = 0.01;

/// Fewer blocks than this do not show how counts vary: two are equal by chance.
const BLOCKS_LEAST: usize = 5;

/// In a probe with fewer blocks, the share of the due requests that may be left at its end, and
/// how many standard deviations of their number: those that are just open, or held up for a moment,
/// are no backlog. Twice the capacity leaves half of them.
const LEFT_MAX: (f64, f64) = (0.1, 3.0);

/// The level at which a backlog is called growing is this part of that of the objectives at most.
const GROWTH_PART: f64 = 0.2;

/// Of [`BLOCKS`] blocks, how many above the limit make a probe fail, and how often that happens by
/// chance to probes whose blocks are as often below it (a sign test).
const BLOCKS_TO_FAIL: [(usize, f64); 4] = [(12, 0.0176), (13, 0.0037), (14, 0.0005), (15, 0.0)];

/// What a probe has shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The objectives are met.
    Pass,
    /// Neither.
    Unclear,
    /// An objective is not met.
    Fail,
    /// The tester did not offer the load, or could not measure it.
    NotMeasured,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// An objective, as it was written.
    Objective(String),
    /// The share of due requests without a response.
    Unanswered,
    /// How many seconds longer requests would wait after the time that load has to be sustained.
    Backlog,
}

/// What a probe shows about one condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The condition.
    pub subject: Subject,
    /// What is shown.
    pub outcome: Outcome,
    /// The average over the requests, in the unit of the limit.
    pub value: f64,
    /// The true average is less with a chance of at most α; null where nothing is known.
    pub low: Option<f64>,
    /// The true average is more with a chance of at most α.
    pub high: Option<f64>,
    /// What the figure must stay below: a share from 0 to 1, or seconds.
    pub limit: f64,
    /// The upper bound with the stalls of all probes in the place of those of this one.
    pub high_with_stalls: Option<f64>,
}

/// What a probe shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The worst of the findings.
    pub outcome: Outcome,
    /// The level of the bounds; null for a quick probe, which is judged by its averages.
    pub alpha: Option<f64>,
    /// Each condition.
    pub findings: Vec<Finding>,
}

impl Judgement {
    /// Of a probe without figures.
    pub(super) fn not_measured() -> Self {
        Self { outcome: Outcome::NotMeasured, alpha: None, findings: Vec::new() }
    }

    /// The condition that failed, the first where several did.
    #[must_use]
    pub fn failed(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.outcome == Outcome::Fail)
    }

    /// Whether the server does not keep up with the rate.
    #[must_use]
    pub fn is_overload(&self) -> bool {
        let is_about_load = |it: &Finding| !matches!(it.subject, Subject::Objective(_));
        self.findings.iter().any(|it| it.outcome == Outcome::Fail && is_about_load(it))
    }
}

/// Judges the figures of a probe at a rate.
///
/// `alpha` is the level of the statement; none judges by the averages. `pools` has the stalls of
/// each objective seen in all probes, this one included; none leaves them out. `sustain_ns` is how
/// long the load has to be sustained.
#[must_use]
pub fn judge(
    figures: &Figures,
    objectives: &[Objective],
    rate_rps: f64,
    alpha: Option<f64>,
    pools: &[Pool],
    sustain_ns: u64,
) -> Judgement {
    let of_objectives = objectives.iter().zip(&figures.objectives).enumerate();
    let mut findings: Vec<Finding> = of_objectives
        .map(|(i, (objective, sums))| {
            of_objective(objective, figures, sums, rate_rps, alpha, pools.get(i))
        })
        .collect();
    let growth_alpha = alpha.map_or(GROWTH_ALPHA, |it| GROWTH_ALPHA.min(it * GROWTH_PART));
    findings.push(unanswered(figures, growth_alpha));
    let time_limit_ns = objectives.iter().filter_map(Objective::time_limit_ns).min();
    findings
        .extend(time_limit_ns.map(|limit_ns| backlog(figures, limit_ns, sustain_ns, growth_alpha)));
    let outcome = findings.iter().map(|it| it.outcome).max().unwrap_or(Outcome::Unclear);
    Judgement { outcome, alpha, findings }
}

fn of_objective(
    objective: &Objective,
    figures: &Figures,
    sums: &Sums,
    rate_rps: f64,
    alpha: Option<f64>,
    pool: Option<&Pool>,
) -> Finding {
    let floats = |column: &[u64]| column.iter().map(|it| *it as f64).collect::<Vec<f64>>();
    let (among, against) = (floats(&sums.among), floats(&sums.against));
    let (requests, limit) = (among.iter().sum::<f64>(), objective.limit());
    let value = against.iter().sum::<f64>() / requests.max(1.0);
    // Times stand in the document as seconds.
    let scale = if objective.is_share() { 1.0 } else { 1e-9 };
    let finding = |outcome, low: Option<f64>, high: Option<f64>, stalls: Option<f64>| Finding {
        subject: Subject::Objective(objective.text().to_owned()),
        outcome,
        value: value * scale,
        low: low.map(|it: f64| it * scale),
        high: high.map(|it: f64| it * scale),
        limit: limit * scale,
        high_with_stalls: stalls.map(|it| it * scale),
    };
    if requests < 1.0 {
        return finding(Outcome::Unclear, None, None, None);
    }
    let Some(alpha) = alpha else {
        // A share this small cannot be seen in a quick probe: a single request is no evidence.
        let is_seen = !objective.is_share() || against.iter().sum::<f64>() >= 2.0;
        let outcome = if value >= limit && is_seen { Outcome::Fail } else { Outcome::Pass };
        return finding(outcome, None, None, None);
    };
    let unit = if objective.is_share() { 1.0 } else { limit };
    let clumps = Clumps::of(&among, &against, &floats(&sums.near), unit, alpha);
    // No share is more than all.
    let most = if objective.is_share() { 1.0 } else { f64::INFINITY };
    let (low, high) = (clumps.low(alpha) / requests, (clumps.high(alpha) / requests).min(most));
    let with_stalls = pool.and_then(|pool| {
        let calm = calm(sums, unit, alpha).times(1.0 / requests);
        let mut own = Pool::default();
        own.add(figures, sums, limit, rate_rps);
        let pool = pool.around(rate_rps);
        let count = pool.seen() > 0 && !pool.are_its_own(&own);
        count.then(|| calm.plus(pool.share_at(rate_rps)).high(alpha).min(most))
    });
    let missed = blocks(&among).into_iter().zip(blocks(&against));
    let missed = missed.filter(|(among, against)| *against > limit * among).count();
    let needed = BLOCKS_TO_FAIL.iter().find(|(_, chance)| *chance <= alpha).map(|it| it.0);
    let is_missed_throughout =
        needed.is_some_and(|needed| missed >= needed) && blocks(&among).len() == BLOCKS;
    // Stalls come too seldom for one probe to know their share.
    let is_met = with_stalls.unwrap_or(high) < limit;
    let outcome = if low > limit || is_missed_throughout {
        Outcome::Fail
    } else if is_met {
        Outcome::Pass
    } else {
        Outcome::Unclear
    };
    finding(outcome, Some(low), Some(high), with_stalls)
}

/// The clumps of the intervals without stalls.
fn calm(sums: &Sums, unit: f64, alpha: f64) -> Clumps {
    let calm = |column: &[u64]| {
        let with_far = column.iter().zip(&sums.far).filter(|(_, far)| **far == 0);
        with_far.map(|(value, _)| *value as f64).collect::<Vec<f64>>()
    };
    Clumps::of(&calm(&sums.among), &calm(&sums.against), &calm(&sums.near), unit, alpha)
}

/// The share of the due requests without a response.
fn unanswered(figures: &Figures, alpha: f64) -> Finding {
    let all = figures.due.iter().sum::<u64>().max(1) as f64;
    let due = all / figures.due.len().max(1) as f64;
    let missing = missing(figures, &figures.answered);
    let bounds = mean_bounds(&missing, alpha);
    let value = bounds.value / due;
    let outcome = match (bounds.low / due > UNANSWERED_MAX, value > UNANSWERED_MAX) {
        _ if blocks(&missing).len() < BLOCKS_LEAST
            && value > LEFT_MAX.0.max(LEFT_MAX.1 / all.sqrt()) =>
        {
            Outcome::Fail
        }
        _ if blocks(&missing).len() < BLOCKS_LEAST => Outcome::Pass,
        (true, _) => Outcome::Fail,
        // So few intervals vary more than that.
        (false, true) if figures.due.len() >= 2 * BLOCKS => Outcome::Unclear,
        _ => Outcome::Pass,
    };
    of_load(Subject::Unanswered, outcome, bounds, 1.0 / due, UNANSWERED_MAX)
}

/// How much longer, in seconds, requests wait after `sustain_ns` of this load.
fn backlog(figures: &Figures, limit_ns: u64, sustain_ns: u64, alpha: f64) -> Finding {
    let missing = missing(figures, &figures.ended);
    let growth = mean_bounds(&missing, alpha);
    let ended = figures.ended.iter().sum::<u64>().max(1) as f64;
    let seconds = |growth: f64| growth * figures.due.len() as f64 / ended * sustain_ns as f64 / 1e9;
    let limit = limit_ns as f64 / 1e9;
    let is_known = blocks(&missing).len() >= BLOCKS_LEAST;
    let is_growing = is_known && growth.low > 0.0 && seconds(growth.value) > limit;
    let outcome = if is_growing { Outcome::Fail } else { Outcome::Pass };
    of_load(Subject::Backlog, outcome, growth, seconds(1.0), limit)
}

/// A finding that is not about an objective, with bounds in another unit.
fn of_load(subject: Subject, outcome: Outcome, bounds: Bounds, unit: f64, limit: f64) -> Finding {
    let finite = |bound: f64| Some(bound * unit).filter(|it| it.is_finite());
    Finding {
        subject,
        outcome,
        value: bounds.value * unit,
        low: finite(bounds.low),
        high: finite(bounds.high),
        limit,
        high_with_stalls: None,
    }
}

/// How many more requests were due in each interval than a column counts.
fn missing(figures: &Figures, column: &[u64]) -> Vec<f64> {
    figures.due.iter().zip(column).map(|(due, count)| *due as f64 - *count as f64).collect()
}
