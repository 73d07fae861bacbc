//! The answer of a study in its first lines: what the servers differ in from the baseline, what
//! they do not, and what cannot be told here and why. It stands above everything else, in every
//! view.
//!
//! All of it follows from the comparisons that stand further below. Absent on purpose: a winner,
//! because readers know which measure matters to them.

use plimsoll_core::comparison::{Comparison, Decision, Reason, against_baseline};
use plimsoll_core::result::Outcome;
use plimsoll_core::study::{Better, Case, Column, Measure, Study};
use plimsoll_core::units::counted;

use super::facts::{name, share_words, shown_words};

/// Servers whose differences are spelled out; of more, only the number is shown.
const SERVERS_NAMED: usize = 4;
/// Loads that are named; of more, the number is shown.
const LOADS_NAMED: usize = 3;
/// Rates that differ by less are those that the load asks for.
const RATE_ALIKE: f64 = 0.01;

/// The sentences, without full stops at their ends; none if nothing was measured.
pub(super) fn answer(study: &Study) -> Vec<String> {
    let mut sentences: Vec<String> = gates(study).into_iter().collect();
    let servers = measured(study);
    match servers.as_slice() {
        [] => {}
        [only] => sentences.extend(alone(study, only)),
        [first, ..] => {
            let (study, baseline) = with_baseline(study, &servers, first);
            let others = || servers.iter().filter(|name| **name != baseline);
            let named = others().take(SERVERS_NAMED);
            sentences.extend(named.map(|server| against(&study, server, &baseline)));
            if let more @ 1.. = others().count().saturating_sub(SERVERS_NAMED) {
                sentences.push(format!("{} more below", counted(more as u64, "server")));
            }
        }
    }
    sentences
}

/// Whether a server differs from the baseline in what leads.
pub(super) fn has_difference(study: &Study) -> bool {
    let servers = measured(study);
    let Some(first) = servers.first() else { return false };
    let (study, _) = with_baseline(study, &servers, first);
    let differs = |case: &Case, measure: &Measure| {
        let comparison = against_baseline(&study, case, *measure);
        comparison.is_some_and(|it| matches!(it.decision, Decision::Better | Decision::Worse))
    };
    study.cases.iter().any(|case| leading(&study).iter().any(|measure| differs(case, measure)))
}

/// The study with the baseline that it is told against, and that baseline: without one, or without
/// a run of it, the first server that was measured.
fn with_baseline(study: &Study, servers: &[&str], first: &str) -> (Study, String) {
    let is_there = |name: &String| servers.contains(&name.as_str());
    let baseline = study.baseline.clone().filter(is_there).unwrap_or_else(|| first.to_owned());
    (Study { baseline: Some(baseline.clone()), ..study.clone() }, baseline)
}

/// The servers that have a run which did not fail.
fn measured(study: &Study) -> Vec<&str> {
    let has_run = |name: &str| {
        let mut cases = study.cases.iter().filter(|case| case.server == name);
        cases.any(|case| case.runs.iter().any(|run| run.failure.is_none()))
    };
    let names = study.servers.iter().map(|server| server.name.as_str());
    names.filter(|name| has_run(name)).collect()
}

/// How the conditions of the loads were decided, if not all of them were met.
fn gates(study: &Study) -> Option<String> {
    let gates = || study.cases.iter().flat_map(|case| case.whole()).flat_map(|run| &run.gates);
    let count = |outcome| gates().filter(|gate| gate.outcome() == outcome).count() as u64;
    let (failed, undecided) = (count(Outcome::Fail), count(Outcome::Undecided));
    let all = counted(gates().count() as u64, "gate");
    match (failed, undecided) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{failed} of {all} FAILED")),
        (0, undecided) => Some(format!("{undecided} of {all} UNDECIDED")),
        (failed, undecided) => Some(format!("{failed} of {all} FAILED, {undecided} UNDECIDED")),
    }
}

/// The figures of a study of one server.
fn alone(study: &Study, server: &str) -> Vec<String> {
    let under = study.cases.iter().filter(|case| case.server == server && !case.runs.is_empty());
    let figures = |case: &Case| {
        let of = |measure: &Measure| {
            let words = shown_words(case, &Column { measure: *measure, over: None })?;
            Some(format!("{} {words}", name(*measure)))
        };
        let leading = [
            Measure::LoadLine,
            Measure::Rate,
            Measure::Latency(0.5),
            Measure::Latency(0.99),
            Measure::Cpu,
        ];
        let words: Vec<String> = leading.iter().filter_map(of).collect();
        (!words.is_empty()).then(|| format!("{server} under {}: {}", case.load, words.join(", ")))
    };
    under.filter_map(figures).take(LOADS_NAMED).collect()
}

/// What a measure of a server is, compared with the baseline's under one load.
enum Finding {
    /// It differs.
    Differs(Box<Comparison>),
    /// It differs by too little to matter.
    Alike,
    /// That cannot be told, and why.
    Unknown(String),
    /// It is in doubt, and why.
    Doubt(String),
}

/// A measure under the loads for which it is known.
struct Found<'a> {
    measure: Measure,
    by_load: Vec<(&'a str, Finding)>,
}

/// What leads: the load line and rates, times, what a request costs, memory, failures.
fn leading(study: &Study) -> Vec<Measure> {
    let always = [
        Measure::LoadLine,
        Measure::Rate,
        Measure::Latency(0.5),
        Measure::Latency(0.99),
        Measure::CpuPerRequest,
    ];
    let has_column = |measure: &Measure| study.columns.iter().any(|it| it.measure == *measure);
    let if_shown = [Measure::Rss, Measure::Pss].into_iter().filter(has_column);
    always.into_iter().chain(if_shown).chain([Measure::Errors]).collect()
}

/// The sentence about a server.
fn against(study: &Study, server: &str, baseline: &str) -> String {
    let all: Vec<Found<'_>> = leading(study)
        .into_iter()
        .map(|measure| of_measure(study, server, baseline, measure))
        .filter(|found| !found.by_load.is_empty())
        .collect();
    let mut parts: Vec<String> = Vec::new();
    let clauses = all.iter().flat_map(clauses).collect::<Vec<_>>();
    for (at, (place, clauses)) in grouped(clauses).into_iter().enumerate() {
        let than = if at == 0 { format!(" than {baseline}") } else { String::new() };
        parts.push(format!("{}{than}{place}", joined(&clauses, "and")));
    }
    let alike = all.iter().filter(|found| is_everywhere(found, |it| matches!(it, Finding::Alike)));
    let alike: Vec<String> = alike.map(|found| name(found.measure)).collect();
    if !alike.is_empty() {
        parts.push(format!("{} {} alike", joined(&alike, "and"), verb(&alike, "is", "are")));
    }
    let is_told = !parts.is_empty();
    for (why, names) in open(&all, in_doubt) {
        parts.push(format!(
            "{} {} in doubt {why}",
            joined(&names, "and"),
            verb(&names, "is", "are")
        ));
    }
    for (why, names) in open(&all, within_noise) {
        parts.push(format!("{} can't be told apart {why}", joined(&names, "and")));
    }
    match (parts.is_empty(), is_told) {
        (true, _) => format!("{server} has nothing to compare with {baseline}"),
        (false, true) => format!("{server} {}", parts.join("; ")),
        (false, false) => format!("{server} and {baseline}: {}", parts.join("; ")),
    }
}

fn verb<'a>(of: &[String], one: &'a str, several: &'a str) -> &'a str {
    if of.len() == 1 { one } else { several }
}

fn of_measure<'a>(study: &'a Study, server: &str, baseline: &str, measure: Measure) -> Found<'a> {
    let under = study.cases.iter().filter(|case| case.server == server);
    let of_case = |case: &'a Case| {
        let comparison = against_baseline(study, case, measure)?;
        let base = study.case(baseline, &case.load)?;
        let finding = match (comparison.decision, comparison.reason) {
            (Decision::Better | Decision::Worse, _) => Finding::Differs(Box::new(comparison)),
            _ if is_as_asked(measure, &comparison) => return None,
            (_, Some(Reason::TooSmall)) => Finding::Alike,
            (_, Some(Reason::NothingMeasured)) => Finding::Doubt(doubt(measure, [base, case])?),
            (_, reason) => Finding::Unknown(why(reason).to_owned()),
        };
        Some((case.load.as_str(), finding))
    };
    Found { measure, by_load: under.filter_map(of_case).collect() }
}

/// Whether a measure that does not differ need not be mentioned: rates that the load sets, and
/// failures that are as rare on both sides.
fn is_as_asked(measure: Measure, comparison: &Comparison) -> bool {
    match measure {
        Measure::Rate => comparison.ratio().is_some_and(|it| (it - 1.0).abs() < RATE_ALIKE),
        Measure::Errors => true,
        _ => false,
    }
}

/// Why a measure is in doubt; none if it was not measured at all.
fn doubt(measure: Measure, cases: [&Case; 2]) -> Option<String> {
    let doubtful = cases.into_iter().find(|case| case.is_in_doubt(measure))?;
    let runs = doubtful.runs.iter().filter(|run| run.failure.is_none());
    let reason = runs.flat_map(|run| run.reasons()).next();
    Some(reason.unwrap_or("the tester's own verdict").to_owned())
}

fn why(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::TooFewRepeats) => "too few repeats count",
        Some(Reason::OwnDelay) => "the tester's own delay may be the difference",
        Some(Reason::LowerBound) => "requests had no response",
        Some(Reason::UnlikeFailures) => "one side fails more often",
        _ => "the difference is within the noise",
    }
}

fn is_everywhere(found: &Found<'_>, is_it: impl Fn(&Finding) -> bool) -> bool {
    found.by_load.iter().all(|(_, finding)| is_it(finding))
}

/// The measures that are open for one kind of reason, by where and why.
fn open(all: &[Found<'_>], why: fn(&Found<'_>, &Finding) -> Option<String>) -> Grouped {
    let of = |found: &Found<'_>| {
        let open = found.by_load.iter().filter_map(|(load, finding)| {
            let why = why(found, finding)?;
            Some(((*load).to_owned(), why))
        });
        let (loads, mut reasons): (Vec<String>, Vec<String>) = open.unzip();
        reasons.sort();
        reasons.dedup();
        let place = match loads.len() {
            0 => return None,
            some if some == found.by_load.len() => "here".to_owned(),
            _ => place(&loads, found.by_load.len()).trim().to_owned(),
        };
        Some((format!("{place}: {}", reasons.join(", or ")), name(found.measure)))
    };
    grouped(all.iter().filter_map(of).collect())
}

/// Why a figure of one of the two is in doubt.
fn in_doubt(_: &Found<'_>, finding: &Finding) -> Option<String> {
    match finding {
        Finding::Doubt(why) => Some(why.clone()),
        _ => None,
    }
}

/// Why the figures do not show which is better. Where a difference shows under some loads, these
/// say enough.
fn within_noise(found: &Found<'_>, finding: &Finding) -> Option<String> {
    let is_told =
        |(_, finding): &(&str, Finding)| matches!(finding, Finding::Differs(_) | Finding::Alike);
    match finding {
        Finding::Unknown(why) if !found.by_load.iter().any(is_told) => Some(why.clone()),
        _ => None,
    }
}

/// In what a measure differs, once for each direction, after where that is so.
fn clauses(found: &Found<'_>) -> Vec<(String, String)> {
    let of = |decision: Decision| {
        let differs = |(load, finding): &'_ (&'_ str, Finding)| match finding {
            Finding::Differs(it) if it.decision == decision => {
                Some(((*load).to_owned(), it.change?))
            }
            _ => None,
        };
        let (loads, changes): (Vec<String>, Vec<f64>) =
            found.by_load.iter().filter_map(differs).unzip();
        (!loads.is_empty()).then(|| {
            let place = place(&loads, found.by_load.len());
            (place, clause(found.measure, decision, &changes))
        })
    };
    [Decision::Better, Decision::Worse].into_iter().filter_map(of).collect()
}

/// ` under both loads`, ` under 10k`; nothing if there is only one.
fn place(loads: &[String], all: usize) -> String {
    match (loads.len(), all) {
        (1, 1) => format!(" under {}", loads[0]),
        (2, 2) => " under both loads".to_owned(),
        (some, all) if some == all => format!(" under all {all} loads"),
        (some, _) if some <= LOADS_NAMED => format!(" under {}", joined(loads, "and")),
        (some, all) => format!(" under {some} of {all} loads"),
    }
}

/// `took 12 % less CPU per request`
fn clause(measure: Measure, decision: Decision, changes: &[f64]) -> String {
    let is_more = (measure.better() == Better::Higher) == (decision == Decision::Better);
    let by = |more: &str, less: &str| by(changes, is_more, more, less);
    match measure {
        Measure::LoadLine => format!("carried {} load", by("more", "less")),
        Measure::Rate => format!("answered {} requests per second", by("more", "fewer")),
        Measure::CpuPerRequest => format!("took {} CPU per request", by("more", "less")),
        Measure::Rss | Measure::Pss => format!("used {} memory", by("more", "less")),
        Measure::Errors => {
            let most = changes.iter().map(|change| change.abs()).fold(0.0, f64::max);
            let often = if is_more { "more" } else { "less" };
            format!("failed {often} often (by up to {} of the requests)", share_words(most))
        }
        other => format!("had a {} {}", by("higher", "lower"), name(other)),
    }
}

/// `12 to 14 % less`
fn by(changes: &[f64], is_more: bool, more: &str, less: &str) -> String {
    let sizes = changes.iter().map(|ratio| (ratio - 1.0).abs());
    let (low, high) = sizes
        .fold((f64::MAX, 0.0), |(low, high): (f64, f64), size| (low.min(size), high.max(size)));
    let word = if is_more { more } else { less };
    let percent = |size: f64| match size * 100.0 {
        size if size < 9.95 => format!("{size:.1}"),
        size => format!("{size:.0}"),
    };
    let (low, high) = (percent(low), percent(high));
    let range = if low == high { low } else { format!("{low} to {high}") };
    format!("{range} % {word}")
}

/// What stands together, under where or why.
type Grouped = Vec<(String, Vec<String>)>;

/// Those with the same key together, in the order of the first of each.
fn grouped(all: Vec<(String, String)>) -> Grouped {
    let mut groups: Grouped = Vec::new();
    for (key, value) in all {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

fn joined(parts: &[String], word: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}
