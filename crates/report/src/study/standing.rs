//! How far the figures of a case can be believed, in a few words for the column beside them.

use plimsoll_core::study::{Case, CaseRun, Study};
use plimsoll_core::verdict::Verdict;

/// How a case stands, by the worst of its runs, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    /// Nobody said anything of the tester.
    Unsaid,
    /// The figures are the server's.
    Valid,
    /// Those of a run may be distorted.
    Suspect,
    /// A run is left out, because its figures are the tester's own.
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

    /// Whether a run of such a case is in no figure.
    pub(super) fn leaves_out(self) -> bool {
        self >= Self::Invalid
    }

    fn name(self) -> &'static str {
        match self {
            Self::Unsaid => "none",
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "INVALID",
            Self::Failed => "FAILED",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Unsaid => "none: the tester does not judge itself, and the lab saw nothing wrong",
            Self::Valid => "valid: the figures are the server's",
            Self::Suspect => "suspect: the figures may be distorted, but count",
            Self::Invalid => "INVALID: the figures in doubt are the tester's, and do not count",
            Self::Failed => "FAILED: nothing that counts was measured",
        }
    }
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

/// Why servers under a load are in no ranking, where none of their runs counts.
pub(super) fn unranked_words(study: &Study, load: &str) -> Option<String> {
    let under = study.cases.iter().filter(|case| case.load == load && !case.runs.is_empty());
    let without = under.filter(|case| !case.runs.iter().any(CaseRun::counts));
    let names: Vec<String> =
        without.map(|case| format!("{} ({})", case.server, verdict_words(study, case))).collect();
    (!names.is_empty()).then(|| {
        format!("Neither ranked nor compared, because no run counts: {}", names.join(", "))
    })
}
