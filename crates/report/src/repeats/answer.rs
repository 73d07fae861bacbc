//! The answer of repeats: in how many of them the gates were met, what failed in all of them, and
//! the medians. Confidence is that of the repeat in which it is least.

use plimsoll_core::RunResult;
use plimsoll_core::confidence::{Confidence, confidence};
use plimsoll_core::repeats::Repeats;
use plimsoll_core::result::Outcome;
use plimsoll_core::study::Measure;
use plimsoll_core::units::counted;
use plimsoll_core::verdict::Verdict;

use super::{figure, repeat_words};
use crate::answer::{Answer, Look, failed, gates_in_words};

/// The answer of all repeats.
pub(super) fn answer(repeats: &Repeats) -> Answer {
    let mut said: Vec<(Look, String)> = Vec::new();
    said.extend(aborted(repeats));
    let gates = gates(repeats);
    said.extend(gates.clone());
    said.extend(failures(repeats));
    let is_met = gates.is_some_and(|(look, _)| look == Look::Good);
    let mut look = said.iter().map(|(look, _)| *look).max().unwrap_or(Look::Good);
    if look == Look::Bad && is_met && repeats.runs.iter().all(|run| run.aborted.is_none()) {
        look = Look::Caution;
    }
    let figures = figures(repeats);
    if said.is_empty() && figures.is_none() {
        said.push((Look::Bad, "nothing was measured".to_owned()));
        look = Look::Bad;
    }
    let mut lines = said.into_iter().map(|(_, text)| text).chain(figures);
    let lead = lines.next().unwrap_or_default();
    Answer { look, lead, behind: lines.collect(), confidence: least_sure(repeats) }
}

/// The worst of some outcomes.
pub(super) fn worst(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    let rank = |outcome: &Outcome| match outcome {
        Outcome::Fail => 2,
        Outcome::Undecided => 1,
        Outcome::Pass => 0,
    };
    outcomes.max_by_key(rank).unwrap_or(Outcome::Pass)
}

fn aborted(repeats: &Repeats) -> Option<(Look, String)> {
    let of = numbers(repeats, |run| run.aborted.is_some());
    (!of.is_empty()).then(|| {
        let all = repeats.runs.len();
        (Look::Bad, format!("{} of {all} repeats ABORTED: {}", of.len(), repeat_words(&of)))
    })
}

/// In how many repeats the gates were met. Of a repeat that a signal ended only what failed counts.
fn gates(repeats: &Repeats) -> Option<(Look, String)> {
    let judged: Vec<&RunResult> = repeats.runs.iter().filter(|run| !run.gates.is_empty()).collect();
    let outcome_of = |run: &RunResult| worst(run.gates.iter().map(|gate| gate.outcome()));
    let counts = |run: &&&RunResult| !run.interrupted || outcome_of(run) == Outcome::Fail;
    let whole: Vec<&&RunResult> = judged.iter().filter(counts).collect();
    let all = whole.len();
    if judged.is_empty() {
        return None;
    }
    if all == 0 {
        return Some((Look::Caution, "gates UNDECIDED: no repeat was whole".to_owned()));
    }
    let with = |outcome: Outcome| whole.iter().filter(move |run| outcome_of(run) == outcome);
    let first = |outcome| with(outcome).next().and_then(|run| gates_in_words(run));
    // What the first of them says stands for the others; the rows of the gates have each.
    let example = |outcome| match first(outcome) {
        Some((_, text)) => format!("; first: {text}"),
        None => String::new(),
    };
    let [failed, undecided] = [Outcome::Fail, Outcome::Undecided].map(|it| with(it).count());
    Some(match (failed, undecided) {
        (0, 0) => (Look::Good, format!("gates passed in {}", in_all(all, repeats))),
        (0, count) => {
            let example = example(Outcome::Undecided);
            (Look::Caution, format!("gates UNDECIDED in {count} of {all} repeats{example}"))
        }
        (count, _) => {
            let example = example(Outcome::Fail);
            (Look::Bad, format!("gates FAILED in {count} of {all} repeats{example}"))
        }
    })
}

fn in_all(whole: usize, repeats: &Repeats) -> String {
    match repeats.runs.len() {
        all if all == whole => format!("all {}", counted(all as u64, "repeat")),
        all => format!("{whole} of {all} repeats"),
    }
}

/// What failed in all repeats together.
fn failures(repeats: &Repeats) -> Option<(Look, String)> {
    let mut runs = repeats.runs.iter();
    let mut whole = runs.next()?.clone();
    let allowed = whole.gates.clone();
    runs.for_each(|run| whole.merge(run));
    whole.gates = allowed;
    failed(&whole)
}

/// The medians of those that count.
fn figures(repeats: &Repeats) -> Option<String> {
    let of = |measure: Measure| {
        let spread = repeats.spread.iter().find(|spread| spread.measure.measure == measure)?;
        Some(figure(spread, spread.median))
    };
    let named = [
        ("", of(Measure::Rate)),
        ("p50 ", of(Measure::Latency(0.5))),
        ("p99 ", of(Measure::Latency(0.99))),
    ];
    let words: Vec<String> =
        named.into_iter().filter_map(|(name, value)| Some(format!("{name}{}", value?))).collect();
    let counted = counted(repeats.counted() as u64, "repeat");
    (!words.is_empty()).then(|| format!("median of {counted}: {}", words.join(" · ")))
}

/// How sure the repeat is that is least so, and how many are like it.
fn least_sure(repeats: &Repeats) -> Confidence {
    let verdict = repeats.verdict;
    let like = numbers(repeats, |run| run.loader.verdict == verdict);
    let Some(run) = repeats.runs.iter().find(|run| run.loader.verdict == verdict) else {
        return Confidence { verdict, text: "nothing was run".to_owned() };
    };
    let whose = match verdict {
        Verdict::Valid => "each repeat".to_owned(),
        _ => format!("{} of {} repeats", like.len(), repeats.runs.len()),
    };
    Confidence { verdict, text: format!("{whose}: {}", confidence(run).text) }
}

/// The numbers of the repeats that are so, from 1.
fn numbers(repeats: &Repeats, is: impl Fn(&RunResult) -> bool) -> Vec<u32> {
    (1..).zip(&repeats.runs).filter(|(_, run)| is(run)).map(|(repeat, _)| repeat).collect()
}
