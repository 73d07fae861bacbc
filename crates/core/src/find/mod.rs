//! The load line: the highest rate at which a server meets its objectives.
//!
//! [`Search`] says which probe comes next and ends with an [`Answer`]. A probe is a run at a rate.
//! Everything is a pure function of what the probes measured: the driver carries them out and
//! hands in their [`Figures`]. [`judge`] decides what a probe has shown. [`Document`] is
//! `plimsoll/find/1`.
//!
//! The aim: if meeting the objectives is monotone in the rate and the server does not change, the
//! answer fails to meet them with a chance of at most one less the confidence. Three rules serve
//! it. Only long probes of their own decide, and no quick probe that chose the rate. The climb ends
//! at the first rate that is not shown to meet the objectives, so that only one wrong claim is
//! possible (a fixed-sequence test). And stalls of the server, which come at any rate and too
//! seldom for one probe, are added up over all probes.
//!
//! The bounds of a probe are approximations: near saturation, a hold half a percent above the line
//! passes more often than one less the confidence. Whole searches kept to it on all simulated
//! servers, because few of their rates lie that close to the line (`tests::coverage`).
//!
//! Absent: carrying out probes, which the runner does, and views.

mod answer;
mod bound;
mod closed;
mod contrast;
mod document;
mod figure;
mod figures;
mod judge;
mod knee;
mod probe;
mod room;
mod search;
mod settings;
mod stalls;
mod tester;
mod turn;
mod usl;

pub use crate::gate::Objective;
pub use answer::{AfterOverload, Answer, Doubt, Ending, StallsSeen};
pub use closed::{
    CLOSED_SCHEMA, ClosedAnswer, ClosedDocument, ClosedNext, ClosedPlan, ClosedProbe,
    ClosedPurpose, ClosedSearch, ClosedSettings,
};
pub use contrast::{CONTRAST_SCHEMA, ContrastSide, Direction, SearchContrast};
pub use document::{Document, Origin, SCHEMA};
pub use figures::{Figures, INTERVALS_MAX, Sums, due_in};
pub use judge::{Finding, Judgement, Outcome, Subject, judge};
pub use knee::knee;
pub use probe::{Connected, Probe, ProbePlan, Purpose, Report};
pub use search::{Next, ResumeError, Search};
pub use settings::{Settings, SettingsError};
pub use stalls::{Pool, Stall};
pub use tester::{Late, LateFor, TesterDoubt, doubt};
pub use turn::{ClosedTurn, Turn, Why};
pub use usl::{LEAST_POINTS, Usl, UslError, fit_usl};

#[cfg(test)]
mod tests;
