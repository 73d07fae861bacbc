//! The document of a search, `plimsoll/find/1`: its settings, every probe with its figures, and the
//! answer. A search is resumed from it.

use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::probe::Probe;
use super::search::Search;
use super::settings::Settings;
use crate::plan::Record;
use crate::result::{Environment, Tool};

/// The schema's name and version.
pub const SCHEMA: &str = "plimsoll/find/1";

/// A search, whole or interrupted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// Which program wrote it.
    pub tool: Tool,
    /// What is sent, with the load of the first probe.
    pub plan: Record,
    /// When the first probe began, RFC 3339, UTC.
    pub started_at: String,
    /// Where it was measured.
    pub environment: Environment,
    /// The objectives, as they were written.
    pub objectives: Vec<String>,
    /// How the search went about it.
    pub settings: Settings,
    /// The probes, in the order in which they were carried out.
    pub probes: Vec<Probe>,
    /// What is known.
    pub answer: Answer,
}

/// What a search is about, and where and when it began.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Which program searches.
    pub tool: Tool,
    /// What is sent, with the load of the first probe.
    pub plan: Record,
    /// When the first probe began, RFC 3339, UTC.
    pub started_at: String,
    /// Where it is measured.
    pub environment: Environment,
}

impl Document {
    /// The document of a search as it stands: with its answer, or with what is known so far.
    #[must_use]
    pub fn of(search: &Search, origin: Origin) -> Self {
        let answer = match search.next() {
            super::Next::Answer(answer) => *answer,
            super::Next::Probe(_) => search.so_far(),
        };
        let Origin { tool, plan, started_at, environment } = origin;
        Self {
            schema: SCHEMA.to_owned(),
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
