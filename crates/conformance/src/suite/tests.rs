//! What a busy machine excuses, and what it does not.

use std::cell::Cell;

use super::one;
use crate::experiments::{Experiment, all};
use crate::harness::{Bench, Disturbance, Reference, Run, Runs, Setup, Subject};
use crate::judge::Judgement;
use crate::oracle::Mode;
use crate::tool::Ask;

/// A machine that is disturbed in the same way in each of its first runs, and quiet then.
#[derive(Debug)]
struct Machine {
    disturbance: Disturbance,
    disturbed_runs: Cell<u32>,
    last: Cell<Disturbance>,
}

impl Runs for Machine {
    fn run(&self, _: &Subject, _: &Setup, _: bool) -> Result<Run, Judgement> {
        let left = self.disturbed_runs.get();
        self.disturbed_runs.set(left.saturating_sub(1));
        self.last.set(if left > 0 { self.disturbance } else { Disturbance::default() });
        Ok(Run::default())
    }

    fn reference(&self, _: &Ask, _: &Mode) -> Result<Reference, Judgement> {
        Ok(Reference::default())
    }

    fn is_stopped(&self) -> bool {
        false
    }

    fn take_disturbance(&self) -> Disturbance {
        self.last.take()
    }
}

fn load(bench: &Bench, subject: &Subject) -> Result<Run, Judgement> {
    bench.hear(subject, &Setup { least: 0, ..Setup::new(Ask::to("/"), Mode::default()) })
}

fn fails(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    load(bench, subject)?;
    Ok(Judgement::fail("2 ms", "1 ms"))
}

fn passes(bench: &Bench, subject: &Subject) -> Result<Judgement, Judgement> {
    load(bench, subject)?;
    Ok(Judgement::pass("1 ms"))
}

#[test]
fn a_failure_counts_only_where_nothing_excuses_it() {
    let quiet = Disturbance::default();
    let stolen = Disturbance { stolen_share: Some(0.12), others_share: None };
    let others = Disturbance { stolen_share: None, others_share: Some(0.25) };
    let both = Disturbance { stolen_share: Some(0.12), others_share: Some(0.25) };
    let fail = Judgement::fail("2 ms", "1 ms");
    let excused = |what: &str| {
        Judgement::unmeasured(format!("{what} of the CPUs' time: 2 ms; expected 1 ms"))
    };
    // What disturbs, in how many runs, whether the experiment needs quiet, what comes of a tester
    // that fails, and the share of others that is told.
    for (disturbance, runs, needs_quiet, want, told) in [
        (quiet, 9, true, fail.clone(), None),
        (quiet, 9, false, fail.clone(), None),
        (stolen, 9, false, excused("the hypervisor took 12.0 %"), None),
        (stolen, 2, false, fail.clone(), None),
        (others, 9, true, excused("other processes used 25.0 %"), Some(0.25)),
        (others, 2, true, fail.clone(), None),
        (others, 9, false, fail.clone(), Some(0.25)),
        (both, 9, false, excused("the hypervisor took 12.0 %"), Some(0.25)),
    ] {
        let made = |run| {
            let machine =
                Machine { disturbance, disturbed_runs: Cell::new(runs), last: Cell::default() };
            let bench = Bench::made_up(Box::new(machine));
            let subject = Subject {
                tool: Box::new(crate::Plimsoll),
                program: "plimsoll".into(),
                version: String::new(),
            };
            let first = all().into_iter().next().expect("an experiment");
            one(&bench, &Experiment { needs_quiet, run, ..first }, &subject)
        };
        assert_eq!(made(fails), (want, told), "{disturbance:?} in {runs} runs, {needs_quiet}");
        // It passes at once: what disturbed that run is told.
        let pass = (Judgement::pass("1 ms"), disturbance.others_share);
        assert_eq!(made(passes), pass, "{disturbance:?} in {runs} runs, {needs_quiet}");
    }
}
