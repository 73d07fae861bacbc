//! The answer of a comparison in a sentence: what limits come to, then what is known of a case by
//! measure, then how sure that is. All views, and those of studies, have the same sentences.

use plimsoll_core::comparison::{
    CaseContrast, CaseDecision, Contrast, Decision, Judged, MeasureContrast, Outcome, Reason,
    Scale, Settings,
};
use plimsoll_core::study::Measure;

use super::case_name;
use super::words::{
    case_word, change_words, decision_word, interval_words, name, reason_words, size_words,
    sure_words,
};

/// What is known of a case: the word for the whole, and the sentence by measure.
pub(crate) struct Answer {
    /// `SLOWER`.
    pub(crate) word: String,
    /// `p50 +5.4 % (+4.6 to +6.2 %); rate the same; p99 can't tell`.
    pub(crate) sentence: String,
}

impl Answer {
    pub(crate) fn of(case: &CaseContrast) -> Self {
        Self { word: case_word(case).to_uppercase(), sentence: sentence(case) }
    }

    /// Both.
    pub(crate) fn words(&self) -> String {
        format!("{}: {}", self.word, self.sentence)
    }
}

/// What is known first, by measure; each group of words has one judgement.
fn sentence(case: &CaseContrast) -> String {
    let family = case.family();
    if let Some(few) = too_few(&family) {
        return few;
    }
    let mut groups: Vec<String> = Vec::new();
    groups.extend(case.failures().map(|it| format!("{}: success comes first", changed(it))));
    let is_mixed = case.decision == CaseDecision::Mixed;
    for decision in [Decision::Worse, Decision::Better] {
        let called = family.iter().filter(|it| it.comparison.decision == decision);
        let called: Vec<&&MeasureContrast> = called.collect();
        let Some(first) = called.first() else { continue };
        let words = called.iter().map(|it| changed(it)).collect::<Vec<_>>().join(", ");
        let is_said = !is_mixed && case.failures().is_none();
        groups.push(match is_said {
            true => words,
            false => format!("{words} {}", decision_word(first.measure.measure, decision)),
        });
    }
    let is_alike = |it: &&&MeasureContrast| it.comparison.is_alike;
    let alike: Vec<&MeasureContrast> = family.iter().filter(is_alike).copied().collect();
    if !alike.is_empty() {
        groups.push(format!("{} the same{}", names(&alike), within(&alike)));
    }
    let is_open = |it: &&&MeasureContrast| {
        it.comparison.decision == Decision::CannotTell && !it.comparison.is_alike
    };
    let open: Vec<&MeasureContrast> = family.iter().filter(is_open).copied().collect();
    groups.extend(open_words(&open, groups.is_empty()));
    match groups.is_empty() {
        true => "nothing was measured on both sides".to_owned(),
        false => groups.join("; "),
    }
}

/// What cannot be told. Where that is all, the first says how far its change is known.
fn open_words(open: &[&MeasureContrast], is_all: bool) -> Option<String> {
    let first = open.first()?;
    let interval = interval_words(&first.comparison).filter(|_| is_all);
    Some(match (interval, open.len()) {
        (Some(interval), 1) => format!("{} between {interval}", name(first.measure.measure)),
        (Some(interval), _) => {
            let (first, others) = (name(first.measure.measure), names(&open[1..]));
            format!("{first} between {interval}; {others} can't tell either")
        }
        (None, _) if is_all => match reason_words(&first.comparison) {
            Some(why) => format!("{}: {why}", names(open)),
            None => names(open),
        },
        (None, _) => format!("{} can't tell", names(open)),
    })
}

/// That no measure has runs enough, said once: of the one that has most.
fn too_few(family: &[&MeasureContrast]) -> Option<String> {
    let is_short = |it: &&&MeasureContrast| it.comparison.reason == Some(Reason::TooFewRepeats);
    let is_short_or_bare = |it: &&MeasureContrast| {
        is_short(&it) || it.comparison.reason == Some(Reason::NothingMeasured)
    };
    if !family.iter().all(is_short_or_bare) {
        return None;
    }
    let runs = |it: &&&MeasureContrast| it.comparison.base.n + it.comparison.new.n;
    reason_words(&family.iter().filter(is_short).max_by_key(runs)?.comparison)
}

/// `p50 +5.4 % (+4.6 to +6.2 %)`
fn changed(contrast: &MeasureContrast) -> String {
    let found = &contrast.comparison;
    let name = name(contrast.measure.measure);
    let change = match (found.change, found.decision) {
        (None, _) => "from nothing".to_owned(),
        (change, _) => change_words(found.scale, change),
    };
    let interval = interval_words(found).map(|words| format!(" ({words})"));
    format!("{name} {change}{}", interval.unwrap_or_default())
}

fn names(measures: &[&MeasureContrast]) -> String {
    let names: Vec<String> = measures.iter().map(|it| name(it.measure.measure)).collect();
    names.join(", ")
}

/// How far measures may lie apart that are the same.
fn within(alike: &[&MeasureContrast]) -> String {
    let distance = |it: &&MeasureContrast| {
        let (found, interval) = (&it.comparison, it.comparison.interval?);
        let none = if found.scale == Scale::Ratio { 1.0 } else { 0.0 };
        Some((interval.low - none).abs().max((interval.high - none).abs()))
    };
    let widest = alike.iter().filter_map(distance).fold(0.0, f64::max);
    // Rounded up, because it is a bound.
    format!(" within {:.1} %", (widest * 1000.0).ceil().max(1.0) / 10.0)
}

/// How sure the answer on a case is, in one line. With too few runs the answer itself says all.
pub(super) fn confidence(case: &CaseContrast, settings: &Settings) -> String {
    let family = case.family();
    if too_few(&family).is_some() {
        return String::new();
    }
    let mut parts = Vec::new();
    if family.iter().any(|it| it.comparison.interval.is_some()) {
        let sure = sure_words(settings.confidence);
        parts.push(match family.len() {
            1 => format!("{sure} % sure"),
            _ => format!("{sure} % sure of all measures together"),
        });
    }
    let counts = || family.iter().map(|it| (it.comparison.base.n, it.comparison.new.n));
    if let Some((base, new)) = counts().max() {
        let some = if counts().all(|it| it == (base, new)) { "" } else { "up to " };
        parts.push(match base == new {
            true => format!("{some}{} on each side", crate::facts::counted(base as u64, "run")),
            false => format!("{some}{base} and {new} runs"),
        });
    }
    parts.extend(why_open(&family));
    parts.join("; ")
}

/// What the two sides differ in besides what is compared, a line each: it may be the reason of all.
pub(super) fn unlike(contrast: &Contrast) -> impl Iterator<Item = String> + '_ {
    contrast.differences.iter().map(|difference| format!("unlike: {difference}"))
}

/// Why measures cannot be told, those of one reason together.
fn why_open(family: &[&MeasureContrast]) -> Vec<String> {
    let open = |it: &&&MeasureContrast| {
        it.comparison.decision == Decision::CannotTell && !it.comparison.is_alike
    };
    let (hidden, others): (Vec<&MeasureContrast>, Vec<&MeasureContrast>) =
        family.iter().filter(open).partition(|it| {
            it.comparison.reason == Some(Reason::WithinNoise) && it.comparison.detectable.is_some()
        });
    let mut parts = Vec::new();
    if !hidden.is_empty() {
        let hides = |it: &&MeasureContrast| {
            let size = size_words(it.comparison.scale, it.comparison.detectable);
            format!("{size} in {}", name(it.measure.measure))
        };
        let hides: Vec<String> = hidden.iter().map(hides).collect();
        parts.push(format!("the noise hides differences below {}", hides.join(", ")));
    }
    let mut reasons: Vec<(String, Vec<&MeasureContrast>)> = Vec::new();
    for it in others {
        let Some(why) = reason_words(&it.comparison) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, measures)) => measures.push(it),
            None => reasons.push((why, vec![it])),
        }
    }
    parts.extend(reasons.iter().map(|(why, measures)| format!("{}: {why}", names(measures))));
    parts
}

/// What limits come to: the word for all of them, and each that matters.
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    /// `FAILED`, `2 of 3 limits FAILED`.
    pub(super) word: String,
    pub(super) sentence: String,
}

impl Verdict {
    /// None where no limit was given.
    pub(super) fn of(contrast: &Contrast) -> Option<Self> {
        let outcome = contrast.outcome();
        let deciding: Vec<&Judged> =
            contrast.limits.iter().filter(|it| it.outcome == outcome).collect();
        let first = deciding.first()?;
        let (all, some) = (contrast.limits.len(), deciding.len());
        let word = outcome_word(outcome);
        let word = match all {
            1 => word.to_owned(),
            _ if all == some => format!("{word}, all {all} limits"),
            _ => format!("{word}, {some} of {all} limits"),
        };
        let more = if some > 1 { format!("; and {} more", some - 1) } else { String::new() };
        let sentence = match outcome {
            Outcome::Passed if all > 1 => limits_named(contrast),
            _ => format!("{}{more}", judged_sentence(first)),
        };
        Some(Self { outcome, word, sentence })
    }
}

fn limits_named(contrast: &Contrast) -> String {
    let mut names: Vec<&str> = Vec::new();
    for judged in &contrast.limits {
        if !names.contains(&judged.expr.as_str()) {
            names.push(&judged.expr);
        }
    }
    format!("nothing is beyond {}", names.join(", "))
}

pub(super) fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Undecided => "UNDECIDED",
        Outcome::Failed => "FAILED",
    }
}

/// `p50 +5.4 % is more than +3 %`
pub(super) fn judged_sentence(judged: &Judged) -> String {
    let measure = name(judged.measure.measure);
    let unit = if is_in_points(judged) { "pt" } else { "%" };
    let limit = format!("{:+} {unit}", (judged.by * 1e8).round() / 1e6);
    let beyond = if judged.by.is_sign_negative() { "below" } else { "more than" };
    let change = judged.change.map(|change| format!(" {}", judged_size(judged, change)));
    let change = change.unwrap_or_default();
    let case = match case_name(&judged.server, &judged.load) {
        name if name.is_empty() => name,
        name => format!("{name}: "),
    };
    let note = judged.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let known = match (judged.at_least, judged.at_most) {
        (Some(least), Some(most)) => {
            let [least, most] = [least, most].map(|end| judged_number(judged, end));
            format!(" ({least} to {most} {unit})")
        }
        _ => String::new(),
    };
    let bound = bound_words(judged);
    match (judged.outcome, judged.change, judged.note.as_deref()) {
        (Outcome::Undecided, None, Some(note)) if note.starts_with(&measure) => {
            format!("{case}{note}")
        }
        (Outcome::Undecided, None, _) => format!("{case}{measure}{note}"),
        (Outcome::Undecided, ..) => {
            format!("{case}{measure}{change}{known} may be {beyond} {limit}{note}")
        }
        // Success decides whatever the speed.
        (Outcome::Failed, ..) if judged.note.is_some() && !is_beyond(judged) => {
            format!("{case}{measure}{change}{note}")
        }
        (Outcome::Failed, ..) => {
            format!("{case}{measure}{change}{bound} is {beyond} {limit}{note}")
        }
        (Outcome::Passed, ..) => {
            format!("{case}{measure}{change}{bound} is not {beyond} {limit}{note}")
        }
    }
}

/// The end of a change's bounds that decides a limit: ` (at least +10.2 %)`.
fn bound_words(judged: &Judged) -> String {
    let is_fall = judged.by.is_sign_negative();
    let (word, end) = match (judged.outcome == Outcome::Failed) != is_fall {
        true => ("at least", judged.at_least),
        false => ("at most", judged.at_most),
    };
    end.map(|end| format!(" ({word} {})", judged_size(judged, end))).unwrap_or_default()
}

fn is_beyond(judged: &Judged) -> bool {
    match judged.by.is_sign_negative() {
        true => judged.at_most.is_some_and(|most| most < judged.by),
        false => judged.at_least.is_none_or(|least| least > judged.by),
    }
}

fn is_in_points(judged: &Judged) -> bool {
    judged.measure.measure == Measure::Errors
}

fn judged_number(judged: &Judged, change: f64) -> String {
    let digits = if is_in_points(judged) { 2 } else { 1 };
    format!("{:+.digits$}", change * 100.0)
}

fn judged_size(judged: &Judged, change: f64) -> String {
    let unit = if is_in_points(judged) { "pt" } else { "%" };
    format!("{} {unit}", judged_number(judged, change))
}

/// How the measure of a limit changed: `+12.0 %`.
pub(super) fn judged_change(judged: &Judged) -> String {
    judged.change.map_or_else(|| "-".to_owned(), |change| judged_size(judged, change))
}
