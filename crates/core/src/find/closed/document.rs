//! The answer of a closed search, and its document, `plimsoll/find-closed/1`.

use serde::{Deserialize, Serialize};

use super::search::{ClosedNext, ClosedProbe, ClosedSearch, ClosedSettings};
use crate::find::answer::{Doubt, Ending};
use crate::find::document::Origin;
use crate::find::judge::{Finding, Outcome};
use crate::find::usl::{Usl, fit_usl};
use crate::plan::Record;
use crate::result::{Environment, Tool};

/// The schema's name and version.
pub const CLOSED_SCHEMA: &str = "plimsoll/find-closed/1";

/// The answer of a closed search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedAnswer {
    /// How the search ended.
    pub ending: Ending,
    /// The load line: the highest number of connections shown to meet the objectives.
    pub connections: Option<u32>,
    /// The responses per second with them.
    pub rate_rps: Option<f64>,
    /// What was shown with them.
    pub shown: Vec<Finding>,
    /// The lowest number shown not to meet them.
    pub fails_connections: Option<u32>,
    /// What failed there.
    pub failed: Option<Finding>,
    /// The lowest number with which the tester was the limit.
    pub tester_limit_connections: Option<u32>,
    /// What readers have to know before they believe it.
    pub doubts: Vec<Doubt>,
    /// The server by the Universal Scalability Law, from the rates of all probes; null where there
    /// is no fit.
    pub usl: Option<Usl>,
    /// Why no curve fits: one line.
    pub no_usl: Option<String>,
    /// How long the search took.
    #[serde(rename = "elapsed_s", with = "crate::serde_units::from_ns")]
    pub elapsed_ns: u64,
}

/// A closed search, whole or interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosedDocument {
    /// [`CLOSED_SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Tool,
    /// What is sent.
    pub plan: Record,
    /// When the first probe began, RFC 3339, UTC.
    pub started_at: String,
    /// Where it was measured.
    pub environment: Environment,
    /// The objectives, as they were written.
    pub objectives: Vec<String>,
    /// How the search went about it.
    pub settings: ClosedSettings,
    /// The probes, in the order in which they were carried out.
    pub probes: Vec<ClosedProbe>,
    /// What is known.
    pub answer: ClosedAnswer,
}

impl ClosedDocument {
    /// The document of a search as it stands: with its answer, or with what is known so far.
    #[must_use]
    pub fn of(search: &ClosedSearch, origin: Origin) -> Self {
        let answer = match search.next() {
            ClosedNext::Answer(answer) => *answer,
            ClosedNext::Probe(_) => search.so_far(),
        };
        let Origin { tool, plan, started_at, environment } = origin;
        Self {
            schema: CLOSED_SCHEMA.to_owned(),
            tool,
            plan,
            started_at,
            environment,
            objectives: search.objectives().iter().map(|it| it.text().to_owned()).collect(),
            settings: search.settings().clone(),
            probes: search.probes().to_vec(),
            answer,
        }
    }
}

/// Numbers of connections and their rates, as they are fitted.
fn points(probes: &[ClosedProbe]) -> Vec<(f64, f64)> {
    let point = |it: &ClosedProbe| Some((f64::from(it.plan.connections), it.achieved_rps()?));
    probes.iter().filter_map(point).collect()
}

/// The answer from what a search knows at its end.
pub(super) fn conclude(search: &ClosedSearch, ending: Ending) -> ClosedAnswer {
    let quick = match ending {
        Ending::Guessed => highest_passed(search.probes()),
        _ => None,
    };
    let is_settled = !matches!(ending, Ending::NotMet | Ending::NotShown);
    let best = search.best().filter(|_| is_settled);
    let answer = best.or(quick);
    let top = search.top();
    let (usl, no_usl) = match fit_usl(&points(search.probes())) {
        Ok(usl) => (Some(usl), None),
        Err(error) => (None, Some(error.to_string())),
    };
    ClosedAnswer {
        ending,
        connections: answer.map(|probe| probe.plan.connections),
        rate_rps: answer.and_then(ClosedProbe::achieved_rps),
        shown: best.map(|probe| probe.judgement.findings.clone()).unwrap_or_default(),
        fails_connections: top.map(|probe| probe.plan.connections),
        failed: top.and_then(|probe| probe.judgement.failed().cloned()),
        tester_limit_connections: search.tester_limit(),
        doubts: doubts(search),
        usl,
        no_usl,
        elapsed_ns: search.elapsed_ns(),
    }
}

/// The quick probe with the most connections of those that passed below the first that did not.
fn highest_passed(probes: &[ClosedProbe]) -> Option<&ClosedProbe> {
    let count = |probe: &&ClosedProbe| probe.plan.connections;
    let failed = probes.iter().filter(|it| it.judgement.outcome != Outcome::Pass);
    let failed = failed.map(|probe| probe.plan.connections).min().unwrap_or(u32::MAX);
    let passed = probes.iter().filter(|it| it.judgement.outcome == Outcome::Pass);
    passed.filter(|it| it.plan.connections < failed).max_by_key(count)
}

fn doubts(search: &ClosedSearch) -> Vec<Doubt> {
    let is_answer = search.best().is_some();
    [
        (search.has_changed(), Doubt::ChangedWhileMeasured),
        (search.settings().is_quick_only, Doubt::QuickProbesOnly),
        (is_answer && !search.is_rechecked(), Doubt::NotMeasuredAgain),
    ]
    .into_iter()
    .filter_map(|(is_so, doubt)| is_so.then_some(doubt))
    .collect()
}
