//! What a search says of a server, as the figures of one run of a study.

use super::answer::{Doubt, Ending};
use super::document::Document;
use super::judge::{Finding, Subject};
use crate::study::{LineOutcome, LoadLine};
use crate::units::{counted, format_rate};
use crate::verdict::{Cause, Verdict};

impl Document {
    /// The load line, which is all that a study has of a search: rates and times are those of
    /// single probes.
    #[must_use]
    pub fn load_line(&self) -> LoadLine {
        let answer = &self.answer;
        let outcome = match (answer.ending, answer.rate_rps) {
            (Ending::NotMet, _) => LineOutcome::NotMet,
            (_, None) => LineOutcome::Unknown,
            (Ending::Guessed, Some(_)) => LineOutcome::Guessed,
            (_, Some(_)) if !answer.is_shown() => LineOutcome::Guessed,
            // With more connections the server may stand more.
            (Ending::Found, Some(_)) if answer.connections_limit.is_none() => LineOutcome::Found,
            (_, Some(_)) => LineOutcome::AtLeast,
        };
        LoadLine { outcome, rate_rps: answer.rate_rps, fails_rps: answer.fails_rps }
    }

    /// Why the load line does not count; `None` if it counts.
    #[must_use]
    pub fn why_no_line(&self) -> Option<String> {
        let none = self.answer.rate_rps.is_none();
        Some(match self.answer.ending {
            Ending::Stopped => "the search was stopped".to_owned(),
            Ending::OutOfBudget if none => {
                "the budget ended the search before a rate was shown to meet the objectives: give \
                 a longer budget"
                    .to_owned()
            }
            Ending::TesterLimited if none => {
                "the tester was the limit at every rate: no figure is the server's".to_owned()
            }
            Ending::TooFewRequests => {
                "a hold has too few requests at the rates where the line may be: give a longer hold"
                    .to_owned()
            }
            _ => return None,
        })
    }

    /// What readers have to know about the load line, by how much it takes from it.
    #[must_use]
    pub fn line_causes(&self) -> Vec<Cause> {
        let answer = &self.answer;
        let mut causes: Vec<Cause> = self.ending_cause().into_iter().collect();
        causes.extend(answer.connections_limit.map(|limit| {
            let limit = counted(limit.into(), "connection");
            let text = format!(
                "{limit} were the limit and not the server, and the line may be higher: give more \
                 connections"
            );
            cause(Verdict::Suspect, "load_line_connections", text)
        }));
        causes.extend(answer.doubts.iter().filter_map(|doubt| doubt_cause(*doubt)));
        if let (Some(rps), Some(failed)) = (answer.fails_rps, &answer.failed) {
            let subject = failed_words(failed);
            let text = format!("{}/s does not meet the objectives: {subject}", format_rate(rps));
            causes.push(cause(Verdict::Valid, "load_line_fails", text));
        }
        causes
    }

    fn ending_cause(&self) -> Option<Cause> {
        let answer = &self.answer;
        let rate = answer.rate_rps.map(|rps| format!("{}/s", format_rate(rps)));
        let (code, text) = match (answer.ending, rate) {
            (Ending::AtLeast, Some(rate)) => {
                let text = format!(
                    "{rate} is the highest rate of the search, and the line may be higher: give a \
                     higher max-rate"
                );
                ("load_line_at_least", text)
            }
            (Ending::TesterLimited, Some(rate)) => (
                "load_line_tester_limit",
                format!("above {rate} the tester was the limit, and the line may be higher"),
            ),
            (Ending::OutOfBudget, Some(rate)) => (
                "load_line_budget",
                format!("the budget ended the search at {rate}, and the line may be higher"),
            ),
            (Ending::Guessed, _) => {
                ("load_line_guessed", "quick probes are too short to show a load line".to_owned())
            }
            (Ending::NotShown, _) => (
                "load_line_not_shown",
                "no rate was shown to meet the objectives, nor was the lowest shown to miss them: \
                 give a longer hold"
                    .to_owned(),
            ),
            (Ending::NotMonotone, _) => (
                "load_line_not_monotone",
                "a rate fails below one that passes: the server has no single load line".to_owned(),
            ),
            (Ending::NotMet, _) => {
                let min = format_rate(self.settings.min_rps);
                let text = format!("no rate from {min}/s on meets the objectives");
                return Some(cause(Verdict::Valid, "load_line_not_met", text));
            }
            _ => return None,
        };
        Some(cause(Verdict::Suspect, code, text))
    }
}

fn doubt_cause(doubt: Doubt) -> Option<Cause> {
    let (verdict, code, text) = match doubt {
        Doubt::ChangedWhileMeasured => (
            Verdict::Suspect,
            "load_line_changed",
            "the server changed while it was measured: the same rate gave other figures at the end",
        ),
        Doubt::DoesNotRecover => (
            Verdict::Suspect,
            "load_line_no_recovery",
            "the server was not as before when a cool-down ended, so that a probe may suffer from \
             the one before it",
        ),
        Doubt::NotMeasuredAgain => (
            Verdict::Valid,
            "load_line_once",
            "the search ended before the load line was measured again",
        ),
        Doubt::NotConfirmed => (
            Verdict::Suspect,
            "load_line_unconfirmed",
            "the load line was measured again, and that hold did not show it",
        ),
        Doubt::StallsUndecided => (
            Verdict::Suspect,
            "load_line_stalls",
            "with the stalls that all probes have seen, the load line is not shown: give a longer \
             hold",
        ),
        // The ending says it.
        Doubt::QuickProbesOnly => return None,
    };
    Some(cause(verdict, code, text.to_owned()))
}

fn failed_words(failed: &Finding) -> String {
    match &failed.subject {
        Subject::Objective(text) => format!("{text} fails"),
        Subject::Unanswered => "requests had no response in time".to_owned(),
        Subject::Backlog => "a backlog grows".to_owned(),
    }
}

fn cause(verdict: Verdict, code: &str, text: String) -> Cause {
    Cause { verdict, code: code.to_owned(), text, touches: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::find::{Objective, Origin, Search, Settings};
    use crate::plan::{Draft, Endpoint};
    use crate::result::Tool;

    fn document(ending: Ending, rate_rps: Option<f64>) -> Document {
        let objectives = vec![Objective::parse("p99<10ms").unwrap()];
        let search = Search::new(Settings::default(), objectives).unwrap();
        let tool = Tool { name: "plimsoll".to_owned(), version: "0.1.0".to_owned() };
        let plan = Draft::new(Endpoint::http("a", 80, "/")).record();
        let (started_at, environment) = (String::new(), Environment::default());
        let mut found = Document::of(&search, Origin { tool, plan, started_at, environment });
        (found.answer.ending, found.answer.rate_rps) = (ending, rate_rps);
        found
    }

    #[test]
    fn each_ending_is_a_figure_a_doubt_or_a_failure() {
        let some = Some(100.0);
        for (ending, rate_rps, outcome, ranked, code, fails) in [
            (Ending::Found, some, LineOutcome::Found, some, "", false),
            (Ending::AtLeast, some, LineOutcome::AtLeast, some, "load_line_at_least", false),
            (
                Ending::TesterLimited,
                some,
                LineOutcome::AtLeast,
                some,
                "load_line_tester_limit",
                false,
            ),
            (Ending::TesterLimited, None, LineOutcome::Unknown, None, "", true),
            (Ending::NotMet, None, LineOutcome::NotMet, Some(0.0), "load_line_not_met", false),
            (Ending::NotShown, None, LineOutcome::Unknown, None, "load_line_not_shown", false),
            (
                Ending::NotMonotone,
                None,
                LineOutcome::Unknown,
                None,
                "load_line_not_monotone",
                false,
            ),
            (Ending::TooFewRequests, None, LineOutcome::Unknown, None, "", true),
            (Ending::OutOfBudget, some, LineOutcome::AtLeast, some, "load_line_budget", false),
            (Ending::OutOfBudget, None, LineOutcome::Unknown, None, "", true),
            (Ending::Stopped, some, LineOutcome::AtLeast, some, "", true),
            (Ending::Guessed, some, LineOutcome::Guessed, some, "load_line_guessed", false),
        ] {
            let found = document(ending, rate_rps);
            let line = found.load_line();
            assert_eq!((line.outcome, line.ranked_rps()), (outcome, ranked), "{ending:?}");
            let codes: Vec<String> = found.line_causes().into_iter().map(|it| it.code).collect();
            let want: Vec<&str> = Some(code).filter(|code| !code.is_empty()).into_iter().collect();
            assert_eq!(codes, want, "{ending:?}");
            assert_eq!(found.why_no_line().is_some(), fails, "{ending:?}");
        }
    }

    #[test]
    fn a_line_that_connections_limit_may_be_higher() {
        let mut found = document(Ending::Found, Some(100.0));
        found.answer.connections_limit = Some(2);
        let line = found.load_line();
        assert_eq!((line.outcome, line.ranked_rps()), (LineOutcome::AtLeast, Some(100.0)));
        let codes: Vec<String> = found.line_causes().into_iter().map(|it| it.code).collect();
        assert_eq!(codes, ["load_line_connections"]);
    }

    #[test]
    fn a_line_that_is_not_shown_with_stalls_is_a_guess() {
        let mut found = document(Ending::Found, Some(100.0));
        found.answer.doubts = vec![Doubt::StallsUndecided];
        assert_eq!(found.load_line().outcome, LineOutcome::Guessed);
        let codes: Vec<String> = found.line_causes().into_iter().map(|it| it.code).collect();
        assert_eq!(codes, ["load_line_stalls"]);
    }

    #[test]
    fn doubts_make_a_line_suspect() {
        let mut found = document(Ending::Found, Some(100.0));
        found.answer.doubts =
            vec![Doubt::ChangedWhileMeasured, Doubt::DoesNotRecover, Doubt::NotMeasuredAgain];
        let verdicts: Vec<Verdict> = found.line_causes().iter().map(|it| it.verdict).collect();
        assert_eq!(verdicts, [Verdict::Suspect, Verdict::Suspect, Verdict::Valid]);
    }
}
