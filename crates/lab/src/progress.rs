//! The line about each run when it ends. What several runs have in common is printed once.

use std::collections::BTreeMap;

use plimsoll_core::study::{CaseRun, LineOutcome, LoadLine, Measure, failure_kind};
use plimsoll_core::units::{format_count, format_ns, format_rate};
use plimsoll_core::verdict::Verdict;

use crate::order::PlannedRun;

/// The lines of a study's runs.
pub(crate) struct Progress {
    runs: usize,
    /// What was said already, and of which run.
    said: BTreeMap<String, usize>,
}

impl Progress {
    pub(crate) fn new(runs: usize) -> Self {
        Self { runs, said: BTreeMap::new() }
    }

    /// `[3/40] nginx wrk-100 #2: 82759/s, p99 1.20 ms`
    pub(crate) fn line(&mut self, slot: &PlannedRun<'_>, place: usize, run: &CaseRun) -> String {
        let what = match &run.failure {
            Some(failure) => format!("FAILED{}", self.once(place, &failure_kind(failure), failure)),
            None => [figures(run), self.doubts(place, run)].concat().join(", "),
        };
        let PlannedRun { server, load, repeat, .. } = slot;
        format!("[{place}/{}] {} {} #{repeat}: {what}", self.runs, server.name, load.name)
    }

    /// Why the figures may not be the server's.
    fn doubts(&mut self, place: usize, run: &CaseRun) -> Vec<String> {
        let Some(verdict) = run.verdict.filter(|it| *it > Verdict::Valid) else {
            return Vec::new();
        };
        let worst = run.causes.iter().find(|cause| Some(cause.verdict) == run.verdict);
        let why = worst.map(|cause| self.once(place, &cause.code, &cause.text));
        vec![format!("{}{}", verdict.name(), why.unwrap_or_default())]
    }

    /// A text, or where it was said before.
    fn once(&mut self, place: usize, kind: &str, text: &str) -> String {
        match self.said.get(kind) {
            Some(first) => format!(" as in [{first}/{}]", self.runs),
            None => {
                self.said.insert(kind.to_owned(), place);
                format!(": {text}")
            }
        }
    }
}

fn figures(run: &CaseRun) -> Vec<String> {
    let figures = &run.figures;
    let line = figures.load_line.map(line_words);
    let sign =
        |measure| run.mark(measure).map(|mark| format!("{} ", mark.sign())).unwrap_or_default();
    let rate_sign = sign(Measure::Responses);
    let rate = figures.rate_rps.map(|rate| format!("{rate_sign}{}/s", format_count(rate as u64)));
    let p99_sign = sign(Measure::Latency(0.99));
    let p99 = figures.latency_s(0.99);
    let p99 = p99.map(|s| format!("p99 {p99_sign}{}", format_ns((s * 1e9) as u64)));
    let cpu = run.server.as_ref().map(|it| format!("CPU {:.0} %", it.cpu_percent_mean));
    [line, rate, p99, cpu].into_iter().flatten().collect()
}

/// `load line 540/s, not 594/s`
fn line_words(line: LoadLine) -> String {
    let rate = |rps: f64| format!("{}/s", format_rate(rps));
    let found = match (line.outcome, line.rate_rps) {
        (LineOutcome::Found, Some(rps)) => format!("load line {}", rate(rps)),
        (outcome, Some(rps)) => format!("load line {} {}", outcome.words(), rate(rps)),
        (outcome, None) => format!("load line {}", outcome.words()),
    };
    let fails = line.fails_rps.map(|rps| format!(", not {}", rate(rps)));
    found + &fails.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use plimsoll_core::study::Figures;
    use plimsoll_core::verdict::Cause;

    use super::*;
    use crate::order::order;

    #[test]
    fn what_runs_have_in_common_is_said_once() {
        let text = "name = 's'\nrepeats = 7\n[[servers]]\nname = 'a'\ncommand = 'x'\n\
                    [[loads]]\nname = 'l'\n";
        let suite = crate::suite::read(Path::new("s.toml"), Path::new("."), text).expect("a suite");
        let failed = |why: &str| CaseRun { failure: Some(why.to_owned()), ..CaseRun::default() };
        let judged = |verdict, text: &str| CaseRun {
            figures: Figures { rate_rps: Some(1234.0), ..Figures::default() },
            verdict: Some(verdict),
            causes: vec![Cause {
                verdict,
                code: "cpu".to_owned(),
                text: text.to_owned(),
                touches: Vec::new(),
            }],
            ..CaseRun::default()
        };
        let runs = [
            failed("port 10240: refused"),
            failed("status 404"),
            failed("port 30000: refused"),
            judged(Verdict::Invalid, "97 % of its CPU"),
            judged(Verdict::Suspect, "96 % of its CPU"),
            judged(Verdict::Valid, "a note"),
            failed("status 503"),
        ];
        let mut progress = Progress::new(runs.len());
        let said: Vec<String> = order(&suite)
            .iter()
            .zip(1..)
            .zip(&runs)
            .map(|((slot, place), run)| progress.line(slot, place, run))
            .collect();
        assert_eq!(
            said,
            [
                "[1/7] a l #1: FAILED: port 10240: refused",
                "[2/7] a l #2: FAILED: status 404",
                "[3/7] a l #3: FAILED as in [1/7]",
                "[4/7] a l #4: ≈ 1 234/s, invalid: 97 % of its CPU",
                "[5/7] a l #5: 1 234/s, suspect as in [4/7]",
                "[6/7] a l #6: 1 234/s",
                "[7/7] a l #7: FAILED: status 503",
            ]
        );
    }
}
