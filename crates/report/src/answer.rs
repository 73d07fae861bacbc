//! The answer of a run, which every view has first: whether its gates were met, else what failed,
//! else how fast it was. Then the figures, if something else leads, and one line of confidence.
//!
//! Looks (colours, marks) follow the answer and not the confidence: a server that fails half of the
//! requests is no good news, however sure that is. The line of confidence has a look of its own.
//! Where the figures alone are the answer, and it is invalid, they do not look good.
//! What causes doubt in detail is no part of the answer: `doubts` shows it behind the numbers.

mod failed;
mod gates;

use plimsoll_core::RunResult;
use plimsoll_core::confidence::{Confidence, confidence};
use plimsoll_core::doubt::Figure;
use plimsoll_core::units::{counted, format_ns};
use plimsoll_core::verdict::Verdict;

use crate::Clock;
use crate::facts;
use crate::failures::unanswered;
use crate::tail::{Times, rate};

pub(crate) use failed::failed;
pub(crate) use gates::gates_in_words;

/// How an answer looks: its colour and its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Look {
    Good,
    /// Something is open, or good only in what was asked.
    Caution,
    Bad,
}

/// What a reader sees first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) look: Look,
    /// The answer in a line.
    pub(crate) lead: String,
    /// What else belongs to it: failures behind gates, rate and times. A line each.
    pub(crate) behind: Vec<String>,
    /// How sure all this is.
    pub(crate) confidence: Confidence,
}

impl Answer {
    /// The answer of a run.
    pub(crate) fn of(result: &RunResult) -> Self {
        let confidence = confidence(result);
        let figures = figures(result);
        let mut said: Vec<(Look, String)> = Vec::new();
        said.extend(aborted(result).map(|text| (Look::Bad, text)));
        said.extend(gates_in_words(result));
        said.extend(match unanswered(result) {
            Some(text) => Some((Look::Bad, text)),
            None => failed(result),
        });
        let of_figures = match confidence.verdict {
            Verdict::Invalid => Look::Caution,
            Verdict::Valid | Verdict::Suspect => Look::Good,
        };
        let mut look = said.iter().map(|(look, _)| *look).max().unwrap_or(of_figures);
        if look == Look::Bad && !is_judged_bad(result) {
            look = Look::Caution;
        }
        let mut lines = said.into_iter().map(|(_, text)| text).chain(figures);
        let lead = lines.next().unwrap_or_else(|| "nothing was measured".to_owned());
        Self { look, lead, behind: lines.collect(), confidence }
    }

    /// All lines but that of confidence.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        [&self.lead].into_iter().chain(&self.behind).map(String::as_str)
    }

    /// The line of confidence in words: `suspect · p99 and beyond in doubt: …`.
    pub(crate) fn sureness(&self) -> String {
        let Confidence { verdict, text } = &self.confidence;
        format!("{} · {text}", verdict.name())
    }
}

impl Look {
    /// The class of a page.
    pub(crate) fn class(self) -> &'static str {
        // Those of the style sheet.
        match self {
            Self::Good => Verdict::Valid.name(),
            Self::Caution => Verdict::Suspect.name(),
            Self::Bad => Verdict::Invalid.name(),
        }
    }

    /// A mark of one character.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Good => '✓',
            Self::Caution => '!',
            Self::Bad => '✕',
        }
    }

    /// A mark that forges show in colour.
    pub(crate) fn emoji(self) -> &'static str {
        match self {
            Self::Good => "✅",
            Self::Caution => "⚠️",
            Self::Bad => "❌",
        }
    }

    /// The escape code of a terminal.
    pub(crate) fn color(self) -> &'static str {
        match self {
            Self::Good => "1;32",
            Self::Caution => "1;33",
            Self::Bad => "1;31",
        }
    }
}

/// The escape code of a line of confidence: none of those that answers have.
pub(crate) fn color_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Valid => "36",
        Verdict::Suspect => "35",
        Verdict::Invalid => "1;35",
    }
}

/// Whether the run is bad by what was asked of it, or by failures of which nothing was asked.
/// Gates that pass take the red from failures, not the caution.
fn is_judged_bad(result: &RunResult) -> bool {
    let has_passed = !result.gates.is_empty() && result.gates.iter().all(|gate| gate.pass);
    !has_passed || result.aborted.is_some() || result.is_unanswered()
}

fn aborted(result: &RunResult) -> Option<String> {
    let condition = result.aborted.as_ref()?;
    Some(format!("ABORTED after {} because {condition}", format_ns(result.elapsed_ns)))
}

/// Rate and times of both clocks in a line; `None` if nothing was measured.
pub(crate) fn figures(result: &RunResult) -> Option<String> {
    if result.ledger.completed == 0 {
        return None;
    }
    let mut words = vec![rate_words(result)];
    words.extend([Clock::HEADLINE, Clock::HEADLINE.other()].into_iter().filter_map(|clock| {
        if clock.histogram(result).is_empty() {
            return None;
        }
        let times = Times::of_run(clock, result);
        let (p50, p99) = (times.tail(5000), times.tail(9900));
        let tail = match p99.value_ns {
            Some(_) => format!("p99 {}", p99.spoken()),
            None => format!("max {}", times.max().unwrap_or_default()),
        };
        Some(match p50.value_ns {
            Some(_) => format!("{} p50 {}, {tail}", clock.word(), p50.spoken()),
            None => format!("{} {tail}", clock.word()),
        })
    }));
    Some(words.join(" · "))
}

/// The rate, or why the run has no rate.
pub(crate) fn rate_words(result: &RunResult) -> String {
    if let Some(words) = without_rate(result) {
        return words;
    }
    let rate = format!("{} responses/s", rate(Figure::Achieved, result, result.rate.achieved_rps));
    match facts::averaged(result) {
        Some(over) => format!("{rate} on average {over}"),
        None => rate,
    }
}

/// A time and a number of responses that make a rate.
const RATE_FROM_NS: u64 = 100_000_000;
const RATE_FROM_RESPONSES: u64 = 10;

/// Why a run has no rate: it was too short, or too little happened. The rate of a moment is that of
/// the first few requests.
pub(crate) fn without_rate(result: &RunResult) -> Option<String> {
    let completed = result.ledger.completed;
    let window_ns = result.rate.window_ns;
    let is_short = window_ns < RATE_FROM_NS;
    if completed == 0 || !(is_short || completed < RATE_FROM_RESPONSES) {
        return None;
    }
    let why = if is_short { "too short" } else { "too few" };
    let requests = counted(completed, "response");
    Some(format!("{requests} in {}: {why} for a rate", format_ns(result.elapsed_ns)))
}

#[cfg(test)]
mod tests;
