//! Whether this host is fit to measure on, by the first round of a study: if it disturbed every run
//! so much that no time counts, further rounds will hardly be better, and hours are saved by saying
//! so early.
//!
//! Absent on purpose: doubt that comes from the server or the load. Another round cannot be blamed
//! for that, nor another host.

use plimsoll_core::confidence::reason;
use plimsoll_core::study::{CaseRun, Study};
use plimsoll_core::units::counted;
use plimsoll_core::verdict::{Verdict, is_about_pace};

/// Why the host is unfit, by the runs of a repeat: nothing that leads a report counts in any of
/// them, because of the host or the tester. `None` if it is fit, or no run gave figures.
pub(crate) fn unfit(study: &Study, repeat: u32) -> Option<String> {
    let runs = study.cases.iter().flat_map(|case| &case.runs);
    let runs: Vec<&CaseRun> =
        runs.filter(|run| run.repeat == repeat && run.failure.is_none()).collect();
    let mut reasons: Vec<&str> = Vec::new();
    for run in &runs {
        if run.has_leading_figure() {
            return None;
        }
        let causes = || run.causes.iter().filter(|cause| cause.verdict > Verdict::Valid);
        let worst = causes().find(|cause| is_about_pace(&cause.code))?;
        let words = reason(&worst.code).unwrap_or(&worst.code);
        if !reasons.contains(&words) {
            reasons.push(words);
        }
    }
    (!runs.is_empty()).then(|| {
        format!(
            "times are in doubt in all {} of the first round: {}",
            counted(runs.len() as u64, "run"),
            reasons.join(", and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use plimsoll_core::doubt::{Figure, Reach, Touch};
    use plimsoll_core::study::{Case, Figures, Mark, Quantile};
    use plimsoll_core::verdict::Cause;

    use super::*;

    /// A run whose times at p50 and p99 are in doubt, or not, for a cause.
    fn run(repeat: u32, doubts: [bool; 2], code: &str) -> CaseRun {
        let quantile = |(q, is_doubtful): (f64, bool)| Quantile {
            doubt: is_doubtful.then_some(Mark::AtMost),
            ..Quantile::known(q, 0.01)
        };
        let touches = vec![Touch::below(Figure::Response, Reach::Any)];
        CaseRun {
            repeat,
            figures: Figures {
                rate_rps: Some(10.0),
                latency: vec![quantile((0.5, doubts[0])), quantile((0.99, doubts[1]))],
                ..Figures::default()
            },
            verdict: Some(Verdict::Invalid),
            causes: vec![Cause { touches, ..Cause::new(Verdict::Invalid, code, String::new()) }],
            ..CaseRun::default()
        }
    }

    #[test]
    fn a_host_is_unfit_if_it_spoils_every_run_of_the_round() {
        let failed = CaseRun { failure: Some("no".to_owned()), ..run(1, [true; 2], "late") };
        let bad = || run(1, [true; 2], "late");
        for (name, runs, want) in [
            ("nothing", vec![], None),
            ("failures alone", vec![failed.clone()], None),
            ("every run", vec![bad(), bad(), failed], Some("this host was busy")),
            ("p50 holds in one", vec![bad(), run(1, [false, true], "late")], None),
            ("the server's doing", vec![bad(), run(1, [true; 2], "none_ok")], None),
            ("a later round is better", vec![bad(), run(2, [false; 2], "late")], Some("all 1 run")),
            ("another round", vec![run(2, [true; 2], "late")], None),
        ] {
            let cases = runs.into_iter().map(|run| Case { runs: vec![run], ..Case::default() });
            let study = Study { cases: cases.collect(), ..Study::default() };
            let found = unfit(&study, 1);
            assert_eq!(found.is_some(), want.is_some(), "{name}: {found:?}");
            let found = found.unwrap_or_default();
            assert!(found.contains(want.unwrap_or_default()), "{name}: {found}");
        }
    }
}
