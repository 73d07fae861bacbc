//! Views of a comparison: text, Markdown, and the document itself.
//!
//! They share the wording: the names of decisions, the form of figures and changes, and the
//! sentences for why nothing can be told.

mod markdown;
#[cfg(test)]
mod tests;
mod text;

use plimsoll_core::comparison::{
    CaseContrast, Comparison, Contrast, Decision, Judged, MeasureContrast, Reason, Scale,
};
use plimsoll_core::result::Unit;
use plimsoll_core::study::Measure;

pub use crate::json::write as write_json;
pub use markdown::write as write_markdown;
pub use text::write as write_text;

/// What a decision is called: of times and rates faster and slower, of the rest less and more.
fn decision_word(measure: Measure, decision: Decision) -> &'static str {
    let (better, worse) = match measure {
        Measure::Errors => ("fewer", "more"),
        Measure::LoadLine => ("higher", "lower"),
        Measure::Rate
        | Measure::Responses
        | Measure::Latency(_)
        | Measure::Service(_)
        | Measure::Message(..)
        | Measure::Mean
        | Measure::Max => ("faster", "slower"),
        _ => ("less", "more"),
    };
    match decision {
        Decision::Better => better,
        Decision::Worse => worse,
        Decision::CannotTell => "can't tell",
    }
}

/// The decision on a case, in a word. Who fails more often is no slower one but the worse one.
fn case_word(case: &CaseContrast) -> &'static str {
    match (case.headline.measure.measure, case.decision) {
        (Measure::Errors, Decision::Better) => "better",
        (Measure::Errors, Decision::Worse) => "worse",
        (measure, decision) => decision_word(measure, decision),
    }
}

/// The word for a measure that does not decide its case.
fn other_word(other: &MeasureContrast) -> String {
    match other.comparison.decision {
        Decision::CannotTell => String::new(),
        decision => format!("{}?", decision_word(other.measure.measure, decision)),
    }
}

/// A value of a measure, with its unit; `-` without a value.
pub(crate) fn value_words(measure: Measure, value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    match measure {
        // Nothing real, and it would not fit.
        Measure::Rate | Measure::Responses if value >= 1e9 => format!("{value:.1e}/s"),
        Measure::Rate | Measure::Responses | Measure::LoadLine | Measure::FailsAt => {
            Unit::Rps.format(value)
        }
        Measure::Errors | Measure::Cpu | Measure::TesterCpu => Unit::Share.format(value),
        Measure::Rss | Measure::Pss | Measure::TesterRss => Unit::Bytes.format(value),
        Measure::Processes | Measure::Threads | Measure::Connections => Unit::Count.format(value),
        _ => Unit::Us.format(value * 1e6),
    }
}

/// A ratio, or a difference in percentage points.
fn change_words(scale: Scale, change: Option<f64>) -> String {
    match (scale, change) {
        (_, None) => "-".to_owned(),
        (Scale::Difference, Some(change)) => format!("{:+.2} pt", change * 100.0),
        (Scale::Ratio, Some(ratio)) if (0.001..1000.0).contains(&ratio) => format!("{ratio:.3}"),
        (Scale::Ratio, Some(0.0)) => "0".to_owned(),
        (Scale::Ratio, Some(ratio)) => format!("{ratio:.1e}"),
    }
}

/// A size of a difference without its direction: 0.02 is 2 %.
fn size_words(scale: Scale, size: Option<f64>) -> String {
    let unit = if scale == Scale::Ratio { "%" } else { "pt" };
    match size.map(|size| size * 100.0) {
        None => "-".to_owned(),
        Some(percent) if percent < 100.0 => format!("{percent:.1} {unit}"),
        Some(percent) if percent < 1e6 => format!("{percent:.0} {unit}"),
        Some(percent) => format!("{percent:.0e} {unit}"),
    }
}

/// Figures of a measure as cells: base, new, change, its interval's ends, what could be seen.
fn cells(contrast: &MeasureContrast) -> [String; 6] {
    let (measure, found) = (contrast.measure.measure, &contrast.comparison);
    // The unit stands beside the change.
    let end = |end: Option<f64>| change_words(found.scale, end).replace(" pt", "");
    [
        value_words(measure, found.base.median),
        value_words(measure, found.new.median),
        change_words(found.scale, found.change),
        end(found.interval.map(|interval| interval.low)),
        end(found.interval.map(|interval| interval.high)),
        size_words(found.scale, found.detectable),
    ]
}

/// What the decision on a case rests on, in a sentence.
fn case_sentence(case: &CaseContrast) -> String {
    let found = &case.headline.comparison;
    let measure = case.headline.measure;
    let change = match (found.scale, found.change) {
        (_, None) => measure.to_string(),
        (Scale::Ratio, ratio) => {
            format!("{measure} {} times that of the base", change_words(found.scale, ratio))
        }
        (Scale::Difference, change) => {
            format!("{measure} {}", change_words(found.scale, change))
        }
    };
    let between = found.interval.map(|interval| {
        let [low, high] =
            [interval.low, interval.high].map(|end| change_words(found.scale, Some(end)));
        format!(", between {low} and {high} ({} % sure)", sure_words(interval.confidence))
    });
    let why = reason_words(found).map(|why| format!(": {why}"));
    format!("{change}{}{}", between.unwrap_or_default(), why.unwrap_or_default())
}

/// A confidence in per cent. Nothing is all sure.
fn sure_words(confidence: f64) -> String {
    let percent = confidence * 100.0;
    if percent < 99.5 {
        format!("{percent:.0}")
    } else {
        format!("{:.2}", (percent * 100.0).floor() / 100.0)
    }
}

/// Why nothing can be told, and what to do.
fn reason_words(found: &Comparison) -> Option<String> {
    let needed = found.repeats_needed.unwrap_or(usize::MAX);
    let words = match found.reason? {
        Reason::NothingMeasured => "not measured on both sides".to_owned(),
        Reason::TooFewRepeats if found.base.n == 1 && found.new.n == 1 => format!(
            "one run each does not say how far runs of one server lie apart: repeat {needed} times"
        ),
        Reason::TooFewRepeats => format!(
            "{} and {} runs that count are too few to tell: it takes {needed} of each",
            found.base.n, found.new.n
        ),
        Reason::WithinNoise => "within the noise".to_owned(),
        Reason::TooSmall => "no accident, but too small to matter".to_owned(),
        Reason::LowerBound => "a lower bound: requests had no whole response".to_owned(),
        Reason::UnlikeFailures => "a failed answer is not a fast one".to_owned(),
    };
    Some(words)
}

/// What could be seen of the headline, in a sentence.
fn power_sentence(case: &CaseContrast) -> Option<String> {
    let found = &case.headline.comparison;
    found.detectable?;
    let least = size_words(found.scale, found.detectable);
    let runs = match (found.base.n, found.new.n) {
        (n, m) if n == m => n.to_string(),
        (n, m) => format!("{n} and {m}"),
    };
    Some(format!(
        "with this noise {runs} repeats can show differences from {least} up ({})",
        case.headline.measure
    ))
}

/// How many cases were decided which way, in a sentence.
fn count_sentence(contrast: &Contrast) -> String {
    let mut counts: Vec<(&str, usize)> =
        ["faster", "slower", "can't tell"].into_iter().map(|word| (word, 0)).collect();
    for case in &contrast.cases {
        let word = case_word(case);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{} cases: {}", contrast.cases.len(), counts.join(", "))
}

/// A case's name where it has one.
fn case_name(server: &str, load: &str) -> String {
    match (server, load) {
        ("", "") => String::new(),
        (server, load) => format!("{server} under {load}"),
    }
}

/// What the columns mean. The confidence is the least of the intervals shown.
fn legend(contrast: &Contrast) -> Vec<String> {
    let [percent, least_change] = [contrast.settings.confidence, contrast.settings.least_change]
        .map(|share| (share * 1e6).round() / 1e4);
    vec![
        format!(
            "base, new: medians over the runs. ratio: the median of the ratios of every new run to \
             every base run (Hodges-Lehmann), not that of the medians. from, to: where the true \
             ratio lies, {percent} % sure. shows: the smallest difference that as many \
             runs, as noisy as these, reveal two times in three. Ratios closer to 1 than {least_change} % are never \
             called."
        ),
        format!(
            "A case is decided by failures and then by one measure alone, so that chance decides \
             at most {} % of cases without a difference, each case by itself. \
             \"perhaps\" or \"?\": this measure alone would have been called different.",
            (1e4 - percent * 100.0).round() / 100.0
        ),
    ]
}

/// How the measure of a limit changed: `+12.0 %`.
fn judged_change(judged: &Judged) -> String {
    judged.change.map_or_else(|| "-".to_owned(), |change| format!("{:+.1} %", change * 100.0))
}
