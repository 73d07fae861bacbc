//! What came of the gates, in a line: how many, and by how much the worst was missed.

use plimsoll_core::RunResult;
use plimsoll_core::gate::Condition;
use plimsoll_core::result::{Gate, Outcome};

use super::Look;
use crate::facts::printable;

/// Gates that are spelled out.
const SPELLED_OUT: usize = 2;

/// The line; `None` without gates.
pub(crate) fn gates_in_words(result: &RunResult) -> Option<(Look, String)> {
    let all = result.gates.len();
    let of = |outcome: Outcome| {
        let mut gates: Vec<&Gate> =
            result.gates.iter().filter(|gate| gate.outcome() == outcome).collect();
        gates.sort_by(|a, b| excess(b, result).total_cmp(&excess(a, result)));
        gates
    };
    let (failed, undecided) = (of(Outcome::Fail), of(Outcome::Undecided));
    let how_many = |count: usize, word: &str| match all {
        1 => format!("gate {word}"),
        _ => format!("{count} of {all} gates {word}"),
    };
    let spelled = |gates: &[&Gate], words: fn(&Gate) -> String| {
        let shown: Vec<String> =
            gates.iter().take(SPELLED_OUT).map(|gate| printable(&words(gate))).collect();
        shown.join("; ")
    };
    match (failed.len(), undecided.len()) {
        (0, 0) if all == 0 => None,
        (0, 0) => {
            let all: Vec<&Gate> = result.gates.iter().collect();
            let count = if all.len() == 1 { "gate".into() } else { format!("{} gates", all.len()) };
            let text = match all.len() <= SPELLED_OUT {
                true => format!("{count} passed: {}", spelled(&all, met)),
                false => format!("{count} passed"),
            };
            Some((Look::Good, text))
        }
        (0, count) => {
            let text = format!(
                "{}: {}",
                how_many(count, "UNDECIDED"),
                spelled(&undecided, undecided_words)
            );
            Some((Look::Caution, text))
        }
        (count, others) => {
            let text = format!("{}: {}", how_many(count, "FAILED"), spelled(&failed, missed));
            let rest = if others > 0 { format!("; {others} undecided") } else { String::new() };
            Some((Look::Bad, text + &rest))
        }
    }
}

/// By which factor a gate's value is off its limit: what cannot be measured is the worst.
pub(crate) fn excess(gate: &Gate, result: &RunResult) -> f64 {
    let Some(value) = gate.value else { return f64::INFINITY };
    let declared = result.metrics.declared();
    let Ok(condition) = Condition::parse(&gate.expr, &declared) else { return 0.0 };
    let (value, limit) = (value.abs(), condition.limit().abs());
    let (low, high) = (value.min(limit), value.max(limit));
    // A limit of nothing is missed by the whole value.
    if low == 0.0 { f64::MAX.min(high * 1e9) } else { high / low }
}

fn met(gate: &Gate) -> String {
    match apart(&gate.expr) {
        Some((subject, sign, limit)) => format!("{subject} {} {sign} {limit}", gate.decided(sign)),
        None => format!("{} ({})", gate.expr, gate.measured()),
    }
}

fn missed(gate: &Gate) -> String {
    let why = gate.note.as_deref().map(|note| format!(" ({note})")).unwrap_or_default();
    match (apart(&gate.expr), gate.value) {
        (Some((subject, sign, limit)), Some(_)) => {
            format!("{subject} {} is not {sign} {limit}", gate.decided(sign))
        }
        (None, Some(_)) => format!("{} (measured {})", gate.expr, gate.measured()),
        (_, None) => format!("{}: nothing to measure{why}", gate.expr),
    }
}

fn undecided_words(gate: &Gate) -> String {
    let why = gate.note.as_deref().map(|note| format!(", {note}")).unwrap_or_default();
    match apart(&gate.expr) {
        Some((subject, sign, limit)) => {
            format!("{subject} {} may be {sign} {limit} or not{why}", gate.measured())
        }
        None => format!("{} (measured {}{why})", gate.expr, gate.measured()),
    }
}

/// What a condition is on, its sign and its limit: `p99`, `<`, `250 ms`.
fn apart(expr: &str) -> Option<(&str, &str, String)> {
    let is_sign = |c: char| "<>=!".contains(c);
    let end = expr.rfind(is_sign)? + 1;
    let subject = expr[..end].trim_end_matches(is_sign);
    let sign = &expr[subject.len()..end];
    let limit = expr[end..].trim();
    let digits = limit.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(limit.len());
    let is_figure = digits > 0 && digits < limit.len() && !limit[digits..].starts_with(' ');
    let limit = match is_figure {
        true => format!("{} {}", &limit[..digits], &limit[digits..]),
        false => limit.to_owned(),
    };
    Some((subject.trim(), sign, limit))
}
