//! The answer of a closed search and its probes in words.

use plimsoll_core::find::{
    ClosedAnswer, ClosedDocument, ClosedProbe, ClosedPurpose, ClosedTurn, Doubt, Ending, Figures,
    Usl,
};
use plimsoll_core::units::{counted, format_duration, format_ns, format_rate, three_digits};
use plimsoll_core::verdict::Verdict;

use crate::find::words::{
    decisive, doubt_words, failure, finding, outcome, plain_percent, quick, sure, turns, why_words,
};

/// The heads of [`row`].
pub(super) const HEAD: [&str; 10] = [
    "#",
    "probe",
    "connections",
    "rate",
    "off the law",
    "measured",
    "p50",
    "p99",
    "what decides",
    "outcome",
];

fn connections(count: u32) -> String {
    counted(count.into(), "connection")
}

/// What a person reads first: a word, and the answer in a sentence. The verdict is how the word is
/// coloured.
pub(super) fn headline(found: &ClosedDocument) -> (Verdict, &'static str, String) {
    let answer = &found.answer;
    let met = found.objectives.join(" and ");
    let Some(count) = answer.connections else { return none(found, &met) };
    let rate = answer.rate_rps.map(|rps| format!(", with {}/s", format_rate(rps)));
    let rate = rate.unwrap_or_default();
    if answer.ending == Ending::Guessed {
        let failed = answer.quick_failed_connections.map(|failed| format!("; {failed} did not"));
        let failed = failed.unwrap_or_default();
        let sentence = format!(
            "{} kept {met} in quick probes{rate}, which promise nothing{failed}",
            connections(count)
        );
        return (Verdict::Suspect, "about", sentence);
    }
    let keep = if count == 1 { "keeps" } else { "keep" };
    let shown = format!("{} {keep} {met}{rate}", connections(count));
    let sentence = match answer.fails_connections {
        Some(fails) => format!("{shown}; {fails} do not{}", unsettled(count, fails)),
        None if answer.ending == Ending::AtLeast => {
            format!("{shown}: the most connections of the search")
        }
        None => format!("{shown}; above that nothing is settled"),
    };
    let look = match answer.ending {
        _ if answer.doubts.contains(&Doubt::ChangedWhileMeasured) => Verdict::Suspect,
        _ if answer.doubts.contains(&Doubt::NotConfirmed) => Verdict::Suspect,
        Ending::Found | Ending::AtLeast => Verdict::Valid,
        _ => Verdict::Suspect,
    };
    let word = if answer.ending == Ending::Found { "load line" } else { "at least" };
    (look, word, sentence)
}

/// The numbers between one that keeps the objectives and one that does not.
fn unsettled(keeps: u32, fails: u32) -> String {
    match fails.saturating_sub(keeps) {
        0 | 1 => String::new(),
        2 => format!("; {} is not settled", keeps + 1),
        _ => format!("; {} to {} is not settled", keeps + 1, fails - 1),
    }
}

/// The headline where no number was shown to meet the objectives.
fn none(found: &ClosedDocument, met: &str) -> (Verdict, &'static str, String) {
    let answer = &found.answer;
    let sentence = match answer.ending {
        Ending::TesterLimited => {
            "the tester was the limit with every number: no figure is the server's".to_owned()
        }
        Ending::NotMet => format!("not even a single connection keeps {met}"),
        Ending::NotShown => format!(
            "no number of connections was shown to keep {met}, nor was a single one shown to miss \
             it: give a longer --hold"
        ),
        Ending::OutOfBudget => {
            format!("the budget ended the search before a number was shown to keep {met}")
        }
        _ => format!("the search was stopped before a number was shown to keep {met}"),
    };
    let is_not_met = answer.ending == Ending::NotMet;
    let fails = answer.fails_connections.filter(|_| !is_not_met);
    let fails = fails.map(|count| format!("; {} {}", connections(count), do_not(count)));
    let word = if is_not_met { "not met" } else { "none" };
    (Verdict::Invalid, word, sentence + &fails.unwrap_or_default())
}

fn do_not(count: u32) -> &'static str {
    if count == 1 { "does not" } else { "do not" }
}

/// How sure the answer is, and why, in a line.
fn confidence(found: &ClosedDocument) -> Option<String> {
    let (answer, settings) = (&found.answer, &found.settings);
    if answer.connections.is_none() || answer.ending == Ending::Guessed {
        let passed = answer.quick_passed_connections.filter(|_| answer.connections.is_none())?;
        return Some(quick(
            &connections(passed),
            answer.quick_failed_connections.map(|count| count.to_string()),
        ));
    }
    let each = "with each of these numbers";
    Some(sure(settings.confidence, settings.hold_ns, each, answer.ending))
}

/// A turn that the search took, in a line.
pub(super) fn turn_words(turn: &ClosedTurn) -> String {
    let (at, next) = (connections(turn.connections), turn.next_connections.map(connections));
    why_words(turn.after, turn.why, &at, next)
}

/// The answer in a line, for stderr.
#[must_use]
pub fn answer_words(found: &ClosedDocument) -> String {
    let (_, word, sentence) = headline(found);
    format!("{word}: {sentence}")
}

/// What readers have to know beside the headline, a line each.
pub(super) fn remarks(found: &ClosedDocument) -> Vec<String> {
    let answer = &found.answer;
    let mut remarks: Vec<String> = confidence(found).into_iter().collect();
    if let (Some(count), Some(failed)) = (answer.fails_connections, &answer.failed) {
        remarks.push(format!("{} {}: {}", connections(count), do_not(count), failure(failed)));
    }
    remarks.extend(turns(&answer.turns, turn_words));
    if let Some(limit) = answer.tester_limit_connections {
        let probe = found.probes.iter().find(|probe| probe.plan.connections == limit);
        let why = probe.and_then(|probe| probe.report.tester.clone());
        let why = why.unwrap_or_else(|| "nothing was measured".to_owned());
        remarks.push(format!("the tester spoilt {}: {why}", connections(limit)));
    }
    remarks.extend(answer.doubts.iter().map(|doubt| doubt_words(*doubt).to_owned()));
    remarks.push(law(answer));
    remarks
}

/// What the law says of the server.
fn law(answer: &ClosedAnswer) -> String {
    let Some(usl) = &answer.usl else {
        let why = answer.no_usl.as_deref().unwrap_or("nothing was measured");
        return format!("no fit of the Universal Scalability Law: {why}");
    };
    let peak = usl.peak_connections.zip(usl.peak_rps).map_or_else(
        || "the rate only ever rises".to_owned(),
        |(count, rps)| {
            format!("the highest rate is {}/s with {count:.0} connections", format_rate(rps))
        },
    );
    let Usl { lambda_rps, sigma, kappa, r2, residuals, .. } = usl;
    let (low, high) =
        residuals.iter().fold((0.0_f64, 0.0_f64), |(low, high), it| (low.min(*it), high.max(*it)));
    format!(
        "by the Universal Scalability Law a connection alone has {}/s, contention σ is {}, \
         agreement κ is {}, and {peak} (R² {r2:.3}, off by {:+.0} % to {:+.0} %)",
        format_rate(*lambda_rps),
        coefficient(*sigma),
        coefficient(*kappa),
        100.0 * low,
        100.0 * high
    )
}

fn coefficient(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 1e-3 => format!("{value:.1e}"),
        value => three_digits(value),
    }
}

/// How the search went about it, in a few words each.
pub(super) fn search_words(found: &ClosedDocument) -> Vec<String> {
    let settings = &found.settings;
    let mut words = vec![
        counted(found.probes.len() as u64, "probe"),
        format!("{:.0} s", found.answer.elapsed_ns as f64 / 1e9),
        "closed loop".to_owned(),
        format!("up to {}", connections(settings.max_connections)),
    ];
    if !settings.is_quick_only {
        words.push(format!("holds of up to {}", format_duration(settings.hold_ns)));
        words.push(format!("steps of {}", plain_percent(settings.step - 1.0)));
    }
    words
}

/// What a probe was for.
pub(super) fn purpose(purpose: ClosedPurpose) -> &'static str {
    match purpose {
        ClosedPurpose::Curve => "quick",
        ClosedPurpose::Narrow => "narrow",
        ClosedPurpose::Climb => "climb",
        ClosedPurpose::Top => "top",
        ClosedPurpose::Recheck => "recheck",
    }
}

/// The probes, each with its residual by the law where it has one.
pub(super) fn with_residuals(found: &ClosedDocument) -> Vec<(&ClosedProbe, Option<f64>)> {
    let residuals = found.answer.usl.as_ref().map(|usl| usl.residuals.as_slice());
    let mut residuals = residuals.unwrap_or_default().iter().copied();
    let with = |probe: &'_ ClosedProbe| probe.achieved_rps().and_then(|_| residuals.next());
    let residuals: Vec<Option<f64>> = found.probes.iter().map(with).collect();
    found.probes.iter().zip(residuals).collect()
}

/// A probe in a row, in the order of [`HEAD`]. `residual` is how far its rate is off the law.
pub(super) fn row(number: usize, probe: &ClosedProbe, residual: Option<f64>) -> [String; 10] {
    let figures = probe.report.figures.as_ref();
    let nothing = || "–".to_owned();
    let time = |ns: Option<u64>| ns.map_or_else(nothing, format_ns);
    [
        number.to_string(),
        purpose(probe.plan.purpose).to_owned(),
        probe.plan.connections.to_string(),
        figures.map(Figures::achieved_rps).map_or_else(nothing, format_rate),
        residual.map_or_else(nothing, |part| format!("{:+.1} %", 100.0 * part)),
        format_duration(figures.map_or(probe.plan.measure_ns, |it| (it.measured_s() * 1e9) as u64)),
        time(figures.and_then(|it| it.p50_ns)),
        time(figures.and_then(|it| it.p99_ns)),
        decisive(&probe.judgement.findings).map_or_else(nothing, finding),
        outcome(probe.judgement.outcome).to_owned(),
    ]
}
