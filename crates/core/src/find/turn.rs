//! The turns that a search takes: where it does not simply go on to the next rate, and why. Each is
//! one line for people, in progress and in reports; `report` has the words.

use serde::{Deserialize, Serialize};

/// A turn of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// After how many probes.
    pub after: usize,
    /// Why.
    pub why: Why,
    /// The rate that it is about, requests per second.
    pub rate_rps: f64,
    /// The rate of the probe that follows from it; null without one.
    pub next_rps: Option<f64>,
}

/// A turn of a closed search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedTurn {
    /// After how many probes.
    pub after: usize,
    /// Why.
    pub why: Why,
    /// The number of connections that it is about.
    pub connections: u32,
    /// The number of the probe that follows from it; null without one.
    pub next_connections: Option<u32>,
}

/// Why a search takes a turn. Closed searches have connections in the place of rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The first quick probe did not pass: lower rates are tried.
    FirstFailed,
    /// No rate below passed: higher ones are tried, in case the server is slow at low rates.
    NothingBelow,
    /// A hold passed above a quick probe that failed: quick probes look further up.
    QuickWasWrong,
    /// The first hold of a climb was not shown to meet the objectives: the climb begins lower.
    NotShown,
    /// The tester was in the way of a hold, which therefore shows nothing.
    Spoilt,
    /// The answer failed directly after overload: it is measured again after a cool-down.
    FailedAfterOverload,
    /// The answer failed when it was measured again: a lower rate has to be the answer.
    FailedAgain,
    /// The answer was measured again, and is not shown by both holds together: a lower rate has to
    /// be the answer.
    NotShownAgain,
    /// With the stalls of all probes, the answer is not shown: a lower rate has to be the answer.
    Stalls,
    /// A lower rate that passed before is the answer now.
    FellBack,
    /// The server does not recover from overload at the answer: lower rates are tried.
    Recovering,
    /// The budget leaves no time for more quick probes: the holds begin.
    Hurried,
    /// The budget leaves less time than a whole hold: this one is shorter.
    Shortened,
    /// No time is left for the next probe.
    OutOfBudget,
}
