//! Words for the figures of comparisons: values, changes, decisions, and why nothing can be told.

use plimsoll_core::comparison::{
    CaseContrast, CaseDecision, Comparison, Decision, MeasureContrast, Reason, Scale,
};
use plimsoll_core::result::Unit;
use plimsoll_core::study::Measure;
use plimsoll_core::units::counted;

/// A measure as sentences have it.
pub(super) fn name(measure: Measure) -> String {
    match measure {
        Measure::CpuPerRequest => "CPU per request".to_owned(),
        Measure::LoadLine => "load line".to_owned(),
        other => other.to_string(),
    }
}

/// Whether a measure says how fast a server is.
fn is_of_speed(measure: Measure) -> bool {
    matches!(
        measure,
        Measure::Rate
            | Measure::Responses
            | Measure::Latency(_)
            | Measure::Service(_)
            | Measure::Message(..)
            | Measure::Mean
            | Measure::Max
    )
}

/// What a decision is called: of times and rates faster and slower, of the rest less and more.
pub(super) fn decision_word(measure: Measure, decision: Decision) -> &'static str {
    let (better, worse) = match measure {
        Measure::Errors => ("fewer", "more"),
        Measure::LoadLine => ("higher", "lower"),
        measure if is_of_speed(measure) => ("faster", "slower"),
        _ => ("less", "more"),
    };
    match decision {
        Decision::Better => better,
        Decision::Worse => worse,
        Decision::CannotTell => "can't tell",
    }
}

/// What was decided of a measure, for the end of its row. A mark of doubt stands behind what is
/// decided by itself, beside the family.
pub(super) fn row_word(contrast: &MeasureContrast, is_decisive: bool) -> String {
    let found = &contrast.comparison;
    let is_sure = contrast.in_family || is_decisive;
    match found.decision {
        Decision::CannotTell if found.is_alike => "the same".to_owned(),
        Decision::CannotTell if is_sure => "can't tell".to_owned(),
        Decision::CannotTell => String::new(),
        decision => {
            let doubt = if is_sure { "" } else { "?" };
            format!("{}{doubt}", decision_word(contrast.measure.measure, decision))
        }
    }
}

/// What was decided of a case, in a word or two.
pub(super) fn case_word(case: &CaseContrast) -> &'static str {
    let family = case.family();
    let called: Vec<Measure> = family
        .iter()
        .filter(|it| it.comparison.decision != Decision::CannotTell)
        .map(|it| it.measure.measure)
        .collect();
    let is_of_failures = case.failures().is_some();
    let is_of = |is: fn(Measure) -> bool| called.iter().any(|measure| is(*measure));
    let is_line = is_of(|measure| measure == Measure::LoadLine);
    let is_speed = is_of(is_of_speed);
    match case.decision {
        CaseDecision::Better if is_of_failures => "better",
        CaseDecision::Worse if is_of_failures => "worse",
        CaseDecision::Better if is_line => "higher",
        CaseDecision::Worse if is_line => "lower",
        CaseDecision::Better if is_speed => "faster",
        CaseDecision::Worse if is_speed => "slower",
        CaseDecision::Better => "less CPU",
        CaseDecision::Worse => "more CPU",
        CaseDecision::Mixed => "mixed",
        CaseDecision::Alike => "the same",
        // What is known to be the same does not stand under the other word. Two servers that keep
        // the pace of a schedule have the same rate, however much their times differ.
        CaseDecision::CannotTell
            if family.iter().any(|it| it.comparison.is_alike && !is_rate(it.measure.measure)) =>
        {
            "no difference found"
        }
        CaseDecision::CannotTell => "can't tell",
    }
}

fn is_rate(measure: Measure) -> bool {
    matches!(measure, Measure::Rate | Measure::Responses)
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

/// From this ratio on the words have how many times it is.
const TIMES_FROM: f64 = 10.0;

/// How a ratio changes, without its unit, and the unit: `+5.4` and `%`.
fn ratio_parts(ratio: f64) -> (String, &'static str) {
    match ratio {
        ratio if ratio >= 1e6 => (format!("{ratio:.0e}"), "times"),
        ratio if ratio >= TIMES_FROM => (format!("{ratio:.0}"), "times"),
        ratio => {
            let percent = (ratio - 1.0) * 100.0;
            let digits = usize::from(percent.abs() < 99.95);
            // Of the two zeros the plain one.
            (format!("{:+.digits$}", (percent * 10.0).round() / 10.0 + 0.0), "%")
        }
    }
}

fn parts(scale: Scale, change: f64) -> (String, &'static str) {
    match scale {
        Scale::Ratio => ratio_parts(change),
        Scale::Difference => (format!("{:+.2}", change * 100.0), "pt"),
    }
}

/// A change: `+5.4 %`, `67 times`, or a difference in percentage points.
pub(super) fn change_words(scale: Scale, change: Option<f64>) -> String {
    let Some(change) = change else { return "-".to_owned() };
    let (number, unit) = parts(scale, change);
    format!("{number} {unit}")
}

/// An interval of changes: `+4.6 to +6.2 %`.
pub(super) fn interval_words(found: &Comparison) -> Option<String> {
    let interval = found.interval?;
    let [(low, of_low), (high, of_high)] =
        [interval.low, interval.high].map(|end| parts(found.scale, end));
    let low = if of_low == of_high { low } else { format!("{low} {of_low}") };
    Some(format!("{low} to {high} {of_high}"))
}

/// A size of a difference without its direction: 0.02 is 2 %.
pub(super) fn size_words(scale: Scale, size: Option<f64>) -> String {
    let unit = if scale == Scale::Ratio { "%" } else { "pt" };
    match size.map(|size| size * 100.0) {
        None => "-".to_owned(),
        Some(percent) if percent < 100.0 => format!("{percent:.1} {unit}"),
        Some(percent) if percent < 1e6 => format!("{percent:.0} {unit}"),
        Some(percent) => format!("{percent:.0e} {unit}"),
    }
}

/// What heads the columns of [`cells`].
pub(super) const HEAD: [&str; 6] = ["base", "new", "change", "from", "to", "reveals"];

/// Figures of a measure as cells: base, new, change, its interval's ends, what could be seen.
pub(super) fn cells(contrast: &MeasureContrast) -> [String; 6] {
    let (measure, found) = (contrast.measure.measure, &contrast.comparison);
    // The unit stands beside the change, where it is the same.
    let unit = found.change.map(|change| parts(found.scale, change).1);
    let end = |end: Option<f64>| match end.map(|end| parts(found.scale, end)) {
        None => "-".to_owned(),
        Some((number, of_end)) if Some(of_end) == unit => number,
        Some((number, of_end)) => format!("{number} {of_end}"),
    };
    [
        value_words(measure, found.base.median),
        value_words(measure, found.new.median),
        change_words(found.scale, found.change),
        end(found.interval.map(|interval| interval.low)),
        end(found.interval.map(|interval| interval.high)),
        size_words(found.scale, found.detectable),
    ]
}

/// Why nothing can be told, and what to do.
pub(super) fn reason_words(found: &Comparison) -> Option<String> {
    let needed = found.repeats_needed.unwrap_or(usize::MAX);
    let words = match found.reason? {
        Reason::NothingMeasured => "no run counts on one side".to_owned(),
        Reason::TooFewRepeats if found.base.n == 1 && found.new.n == 1 => format!(
            "one run each does not say how far runs of one server lie apart: repeat {needed} times"
        ),
        Reason::TooFewRepeats => format!(
            "{} on one side and {} on the other count, too few to tell: it takes {needed} of each",
            counted(found.base.n as u64, "run"),
            found.new.n
        ),
        Reason::WithinNoise if found.detectable.is_some() => format!(
            "the noise hides differences below {}",
            size_words(found.scale, found.detectable)
        ),
        Reason::WithinNoise => "the noise hides differences of any size".to_owned(),
        Reason::TooSmall => "no accident, but it may be too small to matter".to_owned(),
        Reason::OwnDelay => "the tester was delayed more on one side, which may be all of the \
                             difference"
            .to_owned(),
        Reason::LowerBound => "a lower bound: requests had no whole response".to_owned(),
        Reason::UnlikeFailures => "a failed answer is not a fast one".to_owned(),
    };
    Some(words)
}

/// A confidence in per cent. Nothing is all sure.
pub(super) fn sure_words(confidence: f64) -> String {
    let percent = confidence * 100.0;
    if percent < 99.5 {
        format!("{percent:.0}")
    } else {
        format!("{:.2}", (percent * 100.0).floor() / 100.0)
    }
}
