//! How far the figures of a case can be believed, in a few words for the column beside them.

use plimsoll_core::study::{Case, CaseRun, Study};
use plimsoll_core::units::counted;
use plimsoll_core::verdict::Verdict;

use super::answer::has_difference;
use super::facts::name;

/// How a case stands, by the worst of its runs, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Nobody said anything of the tester.
    Unsaid,
    /// The figures are the server's.
    Valid,
    /// Tails of a run are in doubt, or its load was another.
    Suspect,
    /// A median, the rate or the counts of a run are in doubt.
    Invalid,
    /// A run is left out, because it failed.
    Failed,
}

impl Standing {
    /// That of a run.
    fn of(run: &CaseRun) -> Self {
        match (&run.failure, run.verdict) {
            (Some(_), _) => Self::Failed,
            (_, Some(Verdict::Invalid)) => Self::Invalid,
            (_, Some(Verdict::Suspect)) => Self::Suspect,
            (_, Some(Verdict::Valid)) => Self::Valid,
            (_, None) => Self::Unsaid,
        }
    }

    /// That of the worst run of a case.
    pub(super) fn of_case(case: &Case) -> Self {
        case.runs.iter().map(Self::of).max().unwrap_or(Self::Unsaid)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unsaid => "unjudged",
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
            Self::Failed => "FAILED",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Unsaid => {
                "unjudged: the tester does not judge itself and may have been late unnoticed; the \
                 lab saw nothing wrong"
            }
            Self::Valid => "valid: all figures hold",
            Self::Suspect => {
                "suspect: high percentiles are in doubt, or the load was not the one asked for; \
                 figures without a mark hold"
            }
            Self::Invalid => {
                "invalid: a median, the rate or counts are in doubt; figures without a mark hold"
            }
            Self::Failed => "FAILED: nothing that counts was measured",
        }
    }
}

/// How sure the answer of a study is: its differences, and the figures that they stand on. None if
/// nothing was measured.
pub(super) fn sureness(study: &Study) -> Option<String> {
    let runs = || study.cases.iter().flat_map(|case| case.runs.iter().map(move |run| (case, run)));
    let count = |is: fn(&CaseRun) -> bool| runs().filter(|(_, run)| is(run)).count() as u64;
    let all = runs().count() as u64;
    if all == 0 {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    if has_difference(study) {
        parts.push("each difference is 95 % sure".to_owned());
    }
    if let failed @ 1.. = count(|run| run.failure.is_some()) {
        parts.push(format!("{failed} of {} failed", counted(all, "run")));
    }
    let judged = count(|run| run.failure.is_none() && run.verdict.is_some());
    let doubted = count(|run| run.failure.is_none() && run.verdict > Some(Verdict::Valid));
    match (judged, doubted) {
        (0, _) => {}
        (_, 0) => {
            parts.push(format!("{} of Plimsoll valid: all figures hold", counted(judged, "run")))
        }
        _ => parts.push(format!(
            "{doubted} of {} of Plimsoll with figures in doubt, which are marked and not compared",
            counted(judged, "run")
        )),
    }
    let unsaid = || runs().filter(|(_, run)| Standing::of(run) == Standing::Unsaid);
    let mut testers: Vec<&str> = unsaid().filter_map(|(case, _)| tester(study, case)).collect();
    testers.sort_unstable();
    testers.dedup();
    if let some @ 1.. = unsaid().count() as u64 {
        let judge =
            if testers.len() == 1 { "does not judge itself" } else { "do not judge themselves" };
        parts.push(format!("{} {judge} ({})", testers.join(" and "), counted(some, "run")));
    }
    Some(parts.join("; "))
}

fn tester<'s>(study: &'s Study, case: &Case) -> Option<&'s str> {
    let load = study.loads.iter().find(|load| load.name == case.load)?;
    Some(&load.tester)
}

/// The heading of the column that says how cases stand.
pub(super) const VERDICT: &str = "Verdict";

/// How far the figures of a case can be believed, the worst first, with how many of its runs where
/// it is not all of them; and how many runs there are, where some are missing.
pub(super) fn verdict_words(study: &Study, case: &Case) -> String {
    let runs = case.runs.len();
    let count = |standing| case.runs.iter().filter(|run| Standing::of(run) == standing).count();
    let counted = |standing: Standing| match count(standing) {
        0 => None,
        all if all == runs => Some(standing.name().to_owned()),
        some => Some(format!("{} {some}/{runs}", standing.name())),
    };
    let bad = [Standing::Failed, Standing::Invalid, Standing::Suspect];
    let mut words: Vec<String> = bad.into_iter().filter_map(counted).collect();
    if words.is_empty() {
        words.push(Standing::of_case(case).name().to_owned());
    }
    if (runs as u64) < u64::from(study.repeats) {
        words.push(format!("{runs}/{} runs", study.repeats));
    }
    words.join(", ")
}

/// What the words in the column of verdicts mean, those that stand there; empty without any.
pub(super) fn verdict_legend(study: &Study) -> String {
    let runs = || study.cases.iter().flat_map(|case| &case.runs);
    let all =
        [Standing::Valid, Standing::Suspect, Standing::Invalid, Standing::Failed, Standing::Unsaid];
    let said = all.into_iter().filter(|it| runs().any(|run| Standing::of(run) == *it));
    let said: Vec<&str> = said.map(Standing::meaning).collect();
    if said.is_empty() {
        String::new()
    } else {
        format!("{VERDICT} of the runs: {}", said.join("; "))
    }
}

/// Whether nothing of some run of a case counts.
pub(super) fn has_left_out(case: &Case) -> bool {
    case.runs.iter().any(|run| !run.is_whole())
}

/// What is in no ranking of a load: servers of which no run counts, and single figures in doubt.
pub(super) fn unranked_words(study: &Study, load: &str) -> Option<String> {
    let under = || study.cases.iter().filter(|case| case.load == load && !case.runs.is_empty());
    let without = under().filter(|case| case.whole().next().is_none());
    let without: Vec<String> =
        without.map(|case| format!("{} ({})", case.server, verdict_words(study, case))).collect();
    let measures = study.measures();
    let doubtful = under().filter(|case| case.whole().next().is_some()).filter_map(|case| {
        let doubtful = measures.iter().filter(|measure| case.is_in_doubt(**measure));
        let names: Vec<String> = doubtful.map(|measure| name(*measure)).collect();
        (!names.is_empty()).then(|| format!("{} ({})", case.server, names.join(", ")))
    });
    let doubtful: Vec<String> = doubtful.collect();
    let words: Vec<String> = [("because no run counts", without), ("because in doubt", doubtful)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(why, names)| format!("{why}: {}", names.join(", ")))
        .collect();
    (!words.is_empty()).then(|| format!("Neither ranked nor compared, {}", words.join("; ")))
}
