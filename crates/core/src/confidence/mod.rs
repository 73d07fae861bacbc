//! How sure the figures of a result are: which of those that a report leads with are in doubt, what
//! that makes of its verdict, and the one line that says so.
//!
//! The verdict follows from the doubts. *Invalid*: a median, a rate or counts are in doubt.
//! *Suspect*: higher percentiles are, or the load was not the one that was asked for. A cause never
//! makes it worse than the worst verdict that `verdict` gives it: what the server or the load did
//! is suspect at most. What a cause does to which figure is in `verdict`, the arithmetic in
//! `doubt`.

mod line;
#[cfg(test)]
mod tests;

use crate::clock::Clock;
use crate::doubt::{Doubts, Figure, Reach, Touch};
use crate::result::RunResult;
use crate::verdict::{Cause, QUOTED, Verdict};

pub use line::{Confidence, confidence, reason};

/// What is known of a cause that does not say which figures it touches, as in documents of earlier
/// versions: nothing.
static EVERYTHING: [Touch; 10] = {
    const fn any(figure: Figure) -> Touch {
        Touch { figure, below: Reach::Any, above: Reach::Any }
    }
    [
        any(Figure::Load),
        any(Figure::Counts),
        any(Figure::Offered),
        any(Figure::Achieved),
        any(Figure::Response),
        any(Figure::Service),
        any(Figure::Phases),
        any(Figure::Connections),
        any(Figure::Server),
        any(Figure::Series),
    ]
};

/// What causes can have done to figures.
#[must_use]
pub fn doubts(causes: &[Cause]) -> Doubts<'_> {
    Doubts::of(causes.iter().flat_map(touches))
}

fn touches(cause: &Cause) -> &[Touch] {
    let is_unsaid = cause.touches.is_empty() && cause.verdict > Verdict::Valid;
    if is_unsaid { &EVERYTHING } else { &cause.touches }
}

/// Lowers the verdict of each cause to what its touches make of the figures of a result, and gives
/// the verdict of all of them together. Worst first.
#[must_use]
pub fn conclude(causes: Vec<Cause>, result: &RunResult) -> (Verdict, Vec<Cause>) {
    let worst = causes.iter().map(|cause| cause.verdict).max().unwrap_or_default();
    let together = severity(&Doubts::of(causes.iter().flat_map(|it| &it.touches)), result);
    let concluded = causes.into_iter().map(|cause| {
        let severity = severity(&Doubts::of(&cause.touches), result);
        lowered(cause, severity)
    });
    let mut concluded: Vec<Cause> = concluded.collect();
    concluded.sort_by_key(|cause| std::cmp::Reverse(cause.verdict));
    let alone = concluded.first().map_or(Verdict::Valid, |cause| cause.verdict);
    (alone.max(together.min(worst)), concluded)
}

/// A cause that no longer is one becomes a note.
fn lowered(cause: Cause, to: Verdict) -> Cause {
    let verdict = cause.verdict.min(to);
    let is_note = verdict == Verdict::Valid && !cause.text.starts_with(NOTE);
    let text = if is_note { format!("{NOTE}{}", cause.text) } else { cause.text };
    Cause { verdict, text, ..cause }
}

const NOTE: &str = "note: ";

/// What doubts make of a result, from the figures that reports lead with.
fn severity(doubts: &Doubts<'_>, result: &RunResult) -> Verdict {
    let counted = [Figure::Counts, Figure::Offered, Figure::Achieved];
    let is_in_doubt = |clock: Clock, q: f64| {
        doubts.is_quantile_in_doubt(clock.figure(), clock.histogram(result), q)
    };
    let clocks = [Clock::Response, Clock::Service];
    if counted.iter().any(|figure| doubts.is_value_in_doubt(*figure))
        || clocks.iter().any(|clock| is_in_doubt(*clock, 0.5))
    {
        return Verdict::Invalid;
    }
    let tails = clocks.iter().flat_map(|clock| {
        let count = clock.histogram(result).count();
        QUOTED.iter().filter(move |at| count >= at.samples()).map(move |at| (*clock, at.q))
    });
    if doubts.touch(Figure::Load) || { tails }.any(|(clock, q)| is_in_doubt(clock, q)) {
        return Verdict::Suspect;
    }
    Verdict::Valid
}
