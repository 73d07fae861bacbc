//! Views of the repeats of a load: text, Markdown, CSV, and the document itself.
//!
//! They share the wording: the answer, the spread, a row for each repeat, and the outcome of each
//! gate. A gate is judged in each repeat by what is known there, whatever the confidence in other
//! figures of that repeat. One repeat is shown by the views of its result.

mod answer;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_core::RunResult;
use plimsoll_core::repeats::{FOR_95_PERCENT, MeasureSpread, Repeats};
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::stats::LEAST_VALUES;
use plimsoll_core::study::{CaseRun, Measure};
use plimsoll_core::verdict::Cause;

use crate::advice::{REPEATS, explains};
use crate::comparison::value_words;
use crate::doubts::NOTE;
use crate::facts::counted;
use answer::{answer, worst};

pub use crate::json::write as write_json;
pub use markdown::write as write_markdown;
pub use text::write as write_text;

/// Writes a line of names and a row for each repeat.
///
/// # Errors
/// Those of `out`.
pub fn write_csv(repeats: &Repeats, out: &mut dyn Write) -> io::Result<()> {
    crate::csv::write_all(&repeats.runs, out)
}

/// What was measured of each repeat, in the order of [`ROW_HEAD`].
const ROW_MEASURES: [Measure; 4] =
    [Measure::Rate, Measure::Latency(0.5), Measure::Latency(0.99), Measure::Errors];

/// The heads of [`row`].
const ROW_HEAD: [&str; 7] = ["Repeat", "seed", "rate", "p50", "p99", "errors", "confidence"];

/// What readers have to know besides the answer: what does not count, why gates are not met, and
/// what happened on the way.
fn remarks(repeats: &Repeats) -> Vec<String> {
    // Why they do not count is shown once.
    let mut reasons: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for left_out in &repeats.left_out {
        reasons.entry(&left_out.reason).or_default().push(left_out.repeat);
    }
    let left_out = reasons.iter().map(|(reason, left_out)| {
        let verb = if left_out.len() == 1 { "does" } else { "do" };
        format!("{} {verb} not count in the median: {reason}", repeat_words(left_out))
    });
    let mut remarks: Vec<String> = left_out.collect();
    remarks.extend(doubts(repeats));
    remarks.extend((1..).zip(&repeats.runs).filter_map(|(repeat, run)| {
        let failed = run.iterations.as_ref()?.failed;
        let failed = (failed > 0).then(|| counted(failed, "iteration"))?;
        Some(format!("{}: {failed} ended with an exception", repeat_words(&[repeat])))
    }));
    let begun = repeats.runs.len() as u32;
    if begun < repeats.asked {
        remarks.push(format!("{begun} of {} repeats were begun", repeats.asked));
    }
    remarks
}

/// Why gates are not met, where their values do not show it: of each gate the repeats, and what the
/// first of them says.
fn doubts(repeats: &Repeats) -> Vec<String> {
    let mut doubts: Vec<(&Gate, Vec<u32>)> = Vec::new();
    for (repeat, run) in (1..).zip(&repeats.runs) {
        for gate in run.gates.iter().filter(|gate| !gate.pass && gate.note.is_some()) {
            match doubts.iter_mut().find(|(known, _)| known.expr == gate.expr) {
                Some((_, in_repeats)) => in_repeats.push(repeat),
                None => doubts.push((gate, vec![repeat])),
            }
        }
    }
    let words = |(gate, in_repeats): &(&Gate, Vec<u32>)| {
        let note = gate.note.as_deref().unwrap_or_default();
        format!("{}: {}: {note}", repeat_words(in_repeats), gate.expr)
    };
    doubts.iter().map(words).collect()
}

/// Each cause once, the worst first, its text behind the repeats that have it.
fn causes(repeats: &Repeats) -> Vec<Cause> {
    let mut causes: Vec<(&Cause, Vec<u32>)> = Vec::new();
    for (repeat, run) in (1..).zip(&repeats.runs) {
        for cause in &run.loader.causes {
            let is_it = |(known, _): &&mut (&Cause, Vec<u32>)| {
                (&known.code, known.verdict) == (&cause.code, cause.verdict)
            };
            match causes.iter_mut().find(is_it) {
                Some((_, in_repeats)) => in_repeats.push(repeat),
                None => causes.push((cause, vec![repeat])),
            }
        }
    }
    causes.sort_by_key(|(cause, _)| std::cmp::Reverse(cause.verdict));
    let told = causes.into_iter().map(|(cause, in_repeats)| {
        let text = cause.text.strip_prefix(NOTE).unwrap_or(&cause.text);
        let text = format!("{}: {text}", repeat_words(&in_repeats));
        Cause { text, ..cause.clone() }
    });
    told.collect()
}

/// `repeat 2`, `repeats 2, 3`.
fn repeat_words(repeats: &[u32]) -> String {
    let numbers: Vec<String> = repeats.iter().map(u32::to_string).collect();
    let noun = if repeats.len() == 1 { "repeat" } else { "repeats" };
    format!("{noun} {}", numbers.join(", "))
}

/// The order in which they were taken.
fn order(repeats: &Repeats) -> String {
    let all = counted(repeats.runs.len() as u64, "repeat");
    match repeats.in_turns_with.as_slice() {
        [] => format!("{all}, one after the other"),
        others => format!("{all}, in turns with {}", others.join(", ")),
    }
}

fn figure(spread: &MeasureSpread, value: f64) -> String {
    value_words(spread.measure.measure, Some(value))
}

/// The heads of [`spread_row`].
fn spread_head(repeats: &Repeats) -> Vec<String> {
    let mut head = vec![format!("Over {}", counted(repeats.counted() as u64, "repeat"))];
    head.extend(["median", "least", "greatest"].map(str::to_owned));
    if let Some(interval) = repeats.spread.iter().find_map(|spread| spread.interval) {
        head.push(format!("{} % interval", sure_words(interval.confidence)));
    }
    head
}

fn spread_row(spread: &MeasureSpread) -> Vec<String> {
    let mut cells = vec![spread.measure.to_string()];
    cells.extend([spread.median, spread.min, spread.max].map(|value| figure(spread, value)));
    cells.extend(spread.interval.map(|interval| {
        format!("{} to {}", figure(spread, interval.low), figure(spread, interval.high))
    }));
    cells
}

/// A confidence in per cent: what is promised where there are enough repeats, else what they have.
fn sure_words(confidence: f64) -> String {
    if confidence >= 0.95 { "95".to_owned() } else { format!("{:.1}", confidence * 100.0) }
}

/// What is missing to the intervals, and where repeats are explained.
fn missing(repeats: &Repeats) -> Option<String> {
    let counted = repeats.counted();
    let what = match counted {
        0 => return None,
        n if n < LEAST_VALUES => format!(
            "an interval takes {LEAST_VALUES} repeats that count, {FOR_95_PERCENT} for 95 %, and \
             compare takes {LEAST_VALUES} on each side"
        ),
        n if n < FOR_95_PERCENT => format!("{FOR_95_PERCENT} repeats make it a 95 % interval"),
        _ => return None,
    };
    Some(format!("{what} ({})", explains(REPEATS)))
}

/// A repeat in a row.
fn row(repeat: u32, run: &RunResult) -> [String; 7] {
    let case = CaseRun::of(run, repeat);
    let [rate, p50, p99, errors] =
        ROW_MEASURES.map(|measure| value_words(measure, measure.of(&case)));
    let mut sure = run.loader.verdict.name().to_owned();
    if case.why_left_out().is_some() {
        sure += ", left out";
    }
    [repeat.to_string(), run.plan.seed.to_string(), rate, p50, p99, errors, sure]
}

/// A gate over the repeats.
struct GateRow<'a> {
    expr: &'a str,
    /// What came of it: met if every repeat met it.
    outcome: Outcome,
    /// What each repeat measured, those that did not meet it marked.
    measured: String,
}

/// The gates in the order of the plan.
fn gates(repeats: &Repeats) -> Vec<GateRow<'_>> {
    let Some(first) = repeats.runs.first() else { return Vec::new() };
    let over_repeats = |index: usize| {
        let judged: Vec<&Gate> =
            repeats.runs.iter().filter_map(|run| run.gates.get(index)).collect();
        let measured = judged.iter().map(|gate| {
            let mark = match gate.outcome() {
                Outcome::Pass => "",
                Outcome::Fail => "✗",
                Outcome::Undecided => "?",
            };
            format!("{}{mark}", gate.measured())
        });
        let measured = measured.collect::<Vec<_>>().join(", ");
        (worst(judged.iter().map(|gate| gate.outcome())), measured)
    };
    let rows = first.gates.iter().enumerate().map(|(index, gate)| {
        let (outcome, measured) = over_repeats(index);
        GateRow { expr: &gate.expr, outcome, measured }
    });
    rows.collect()
}
