//! The experiments: each provokes one measuring mistake and knows the truth.
//!
//! An experiment is a function from a bench and a tester to an outcome. Judging is a separate
//! function, of readings and logs alone, so that it can be tested on made-up ones.

mod client;
mod clocks;
mod counts;
mod figures;
mod http2;
mod latency;
mod limits;
#[cfg(test)]
mod made_up;
mod messages;
mod network;
mod outage;
mod pacing;
mod place;
mod secrets;
mod shapes;
mod tls;

use crate::harness::{Bench, Subject};
use crate::judge::Judgement;

/// A way to find out whether a tester makes a mistake.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// The number of the mistake, as `docs/conformance.md` lists them.
    pub row: u8,
    /// The mistake.
    pub title: &'static str,
    /// What is run.
    pub method: &'static str,
    /// What is true, and why.
    pub truth: &'static str,
    /// How far from it a figure may lie.
    pub tolerance: &'static str,
    /// Whether other processes on the machine can make a good tester fail.
    pub needs_quiet: bool,
    /// Runs it. An `Err` is an outcome too: the one that ended it early.
    pub run: fn(&Bench, &Subject) -> Result<Judgement, Judgement>,
}

/// A mistake that no experiment is made for.
#[derive(Debug, Clone, Copy)]
pub struct Uncovered {
    /// Its number.
    pub row: u8,
    /// The mistake.
    pub title: &'static str,
    /// Why.
    pub why: &'static str,
}

/// Every experiment, in the order of the mistakes.
#[must_use]
pub fn all() -> Vec<Experiment> {
    let mut all = [
        &latency::ALL[..],
        &figures::ALL,
        &pacing::ALL,
        &counts::ALL,
        &shapes::ALL,
        &client::ALL,
        &limits::ALL,
        &network::ALL,
        &clocks::ALL,
        &outage::ALL,
        &secrets::ALL,
        &http2::all(),
        &tls::ALL,
        &messages::all(),
    ]
    .concat();
    all.sort_by_key(|experiment| experiment.row);
    all
}

/// The mistakes without one.
pub const LEFT_OUT: [Uncovered; 2] = [
    Uncovered {
        row: 13,
        title: "Percentiles of several agents are averaged",
        why: "needs several agents; Plimsoll's merging is held to it by a unit test",
    },
    Uncovered {
        row: 55,
        title: "Quantiles are taken from a sample in which the start of a run weighs more",
        why: "needs more requests than there is time for",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_mistake_is_covered_or_left_out() {
        let all = all();
        let names: BTreeSet<&str> = all.iter().map(|experiment| experiment.name).collect();
        assert_eq!(names.len(), all.len());
        let rows = all.iter().map(|experiment| experiment.row);
        let rows: BTreeSet<u8> = rows.chain(LEFT_OUT.iter().map(|left| left.row)).collect();
        assert_eq!(rows, (1..=60).collect());
    }
}
