//! The answer of a closed search, and its document, `plimsoll/find-closed/1`.

use serde::{Deserialize, Serialize};

use super::search::{ClosedNext, ClosedProbe, ClosedSearch, ClosedSettings};
use crate::find::answer::{Doubt, Ending};
use crate::find::document::Origin;
use crate::find::judge::Finding;
use crate::find::turn::ClosedTurn;
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
    /// The most connections that passed a quick probe below all that did not. Quick probes promise
    /// nothing.
    #[serde(default)]
    pub quick_passed_connections: Option<u32>,
    /// The fewest connections that failed a quick probe.
    #[serde(default)]
    pub quick_failed_connections: Option<u32>,
    /// The turns that the search took.
    #[serde(default)]
    pub turns: Vec<ClosedTurn>,
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
    let shown = search.shown().and_then(|at| search.probes().get(at));
    let quick_passed_connections = search.quick_passed();
    let guessed = quick_passed_connections.filter(|_| ending == Ending::Guessed);
    let connections = shown.map(|probe| probe.plan.connections).or(guessed);
    let measured = search.probes().iter().find(|it| Some(it.plan.connections) == connections);
    let top = search.top_above(connections.unwrap_or(0));
    let (usl, no_usl) = match fit_usl(&points(search.probes())) {
        Ok(usl) => (Some(usl), None),
        Err(error) => (None, Some(error.to_string())),
    };
    ClosedAnswer {
        ending,
        connections,
        rate_rps: shown.or(measured).and_then(ClosedProbe::achieved_rps),
        shown: shown.map(|probe| probe.judgement.findings.clone()).unwrap_or_default(),
        fails_connections: top.map(|probe| probe.plan.connections),
        failed: top.and_then(|probe| probe.judgement.failed().cloned()),
        quick_passed_connections,
        quick_failed_connections: search.quick_failed(),
        turns: search.turns(),
        tester_limit_connections: search.tester_limit(),
        doubts: doubts(search, shown.is_some()),
        usl,
        no_usl,
        elapsed_ns: search.elapsed_ns(),
    }
}

fn doubts(search: &ClosedSearch, is_answer: bool) -> Vec<Doubt> {
    [
        (search.has_changed(), Doubt::ChangedWhileMeasured),
        (search.settings().is_quick_only, Doubt::QuickProbesOnly),
        (is_answer && !search.is_rechecked(), Doubt::NotMeasuredAgain),
        (is_answer && search.is_unconfirmed(), Doubt::NotConfirmed),
    ]
    .into_iter()
    .filter_map(|(is_so, doubt)| is_so.then_some(doubt))
    .collect()
}
