//! The answer of a search and its probes in words.

use plimsoll_core::find::{
    Answer, Document, Doubt, Ending, Finding, Outcome, Probe, Purpose, Report, StallsSeen, Subject,
    Turn, Why,
};
use plimsoll_core::units::{counted, format_duration, format_ns, format_rate, three_digits};
use plimsoll_core::verdict::Verdict;

/// A search takes few turns; a server that it finds no line for could make it list hundreds.
const TURNS_MAX: usize = 12;

/// The heads of [`row`].
pub(super) const HEAD: [&str; 8] =
    ["#", "probe", "rate", "measured", "p50", "p99", "what decides", "outcome"];

/// What a person reads first: a word, and the answer in a sentence. The verdict is how the word is
/// coloured.
pub(super) fn headline(found: &Document) -> (Verdict, &'static str, String) {
    let answer = &found.answer;
    let met = found.objectives.join(" and ");
    let Some(rate_rps) = answer.rate_rps else { return none(found, &met) };
    if answer.ending == Ending::Guessed {
        let guessed = match answer.quick_failed_rps {
            Some(rps) => format!(
                "{} kept {met} in quick probes, which promise nothing; {} did not",
                per_second(rate_rps),
                per_second(rps)
            ),
            None => {
                format!(
                    "{} kept {met} in quick probes, which promise nothing",
                    per_second(rate_rps)
                )
            }
        };
        return (Verdict::Suspect, "about", guessed + &limited(answer));
    }
    if answer.doubts.contains(&Doubt::StallsUndecided) {
        let fails = answer.fails_rps.map(|rps| format!("; {} does not", per_second(rps)));
        let sentence = format!(
            "{} kept {met} in its own hold, and is not shown with the server's stalls{}",
            per_second(rate_rps),
            fails.unwrap_or_default()
        );
        return (Verdict::Suspect, "about", sentence);
    }
    let sentence = match answer.fails_rps {
        Some(fails_rps) if answer.connections_limit.is_some() => format!(
            "{} keeps {met}; {} does not{}",
            per_second(rate_rps),
            per_second(fails_rps),
            limited(answer)
        ),
        Some(fails_rps) => format!(
            "{} keeps {met}; {} does not; {} to {} is not settled",
            per_second(rate_rps),
            per_second(fails_rps),
            format_rate(rate_rps),
            format_rate(fails_rps)
        ),
        None if answer.ending == Ending::AtLeast => {
            format!("{} keeps {met}: the highest rate of the search", per_second(rate_rps))
        }
        None if answer.ending == Ending::TesterLimited => format!(
            "{} keeps {met}; above it the tester was the limit, not the server",
            per_second(rate_rps)
        ),
        None => format!(
            "{} keeps {met}; above it nothing is settled{}{}",
            per_second(rate_rps),
            quick_failed(answer, rate_rps),
            limited(answer)
        ),
    };
    let look = match answer.ending {
        _ if answer.doubts.contains(&Doubt::ChangedWhileMeasured) => Verdict::Suspect,
        _ if answer.doubts.contains(&Doubt::NotConfirmed) => Verdict::Suspect,
        _ if answer.connections_limit.is_some() => Verdict::Suspect,
        Ending::Found | Ending::AtLeast => Verdict::Valid,
        _ => Verdict::Suspect,
    };
    let is_line = answer.ending == Ending::Found && answer.connections_limit.is_none();
    (look, if is_line { "load line" } else { "at least" }, sentence)
}

/// What a quick probe above the answer came to, which settles nothing.
fn quick_failed(answer: &Answer, rate_rps: f64) -> String {
    let failed = answer.quick_failed_rps.filter(|failed_rps| *failed_rps > rate_rps);
    let words = |rps: f64| format!(" (a quick probe failed at {})", per_second(rps));
    failed.map(words).unwrap_or_default()
}

/// What was the limit in the place of the server.
fn limited(answer: &Answer) -> String {
    let Some(limit) = answer.connections_limit else { return String::new() };
    let were = if limit == 1 { "was" } else { "were" };
    let limit = counted(limit.into(), "connection");
    format!(": {limit} {were} the limit, not the server (raise -c)")
}

/// The headline where no rate was shown to meet the objectives.
fn none(found: &Document, met: &str) -> (Verdict, &'static str, String) {
    let answer = &found.answer;
    let (min, max) = (format_rate(found.settings.min_rps), format_rate(found.settings.max_rps));
    let sentence = match answer.ending {
        Ending::TesterLimited => {
            "the tester was the limit at every rate: no figure is the server's".to_owned()
        }
        Ending::NotMonotone => {
            format!("a rate fails below one that passes, so {met} has no single load line")
        }
        Ending::TooFewRequests => {
            "a hold has too few requests at the rates where the line may be: \
                                   give a longer --hold"
                .to_owned()
        }
        Ending::NotShown => {
            format!(
                "no rate was shown to keep {met}, nor the lowest to miss it: give a longer --hold"
            )
        }
        Ending::OutOfBudget => {
            format!("the budget ended the search before a rate was shown to keep {met}")
        }
        Ending::Stopped => {
            format!("the search was stopped before a rate was shown to keep {met}")
        }
        _ => format!("no rate from {min}/s to {max}/s was shown to keep {met}"),
    };
    let fails = answer.fails_rps.map(|rps| format!("; {} does not", per_second(rps)));
    let sentence = sentence + &fails.unwrap_or_default() + &limited(answer);
    (Verdict::Invalid, if answer.ending == Ending::NotMet { "not met" } else { "none" }, sentence)
}

/// How sure the answer is, and why, in a line.
fn confidence(found: &Document) -> Option<String> {
    let (answer, settings) = (&found.answer, &found.settings);
    let is_shown = answer.rate_rps.is_some() && answer.ending != Ending::Guessed;
    if !is_shown {
        let passed = answer.quick_passed_rps.filter(|_| answer.ending != Ending::Guessed)?;
        return Some(quick(&per_second(passed), answer.quick_failed_rps.map(per_second)));
    }
    if answer.doubts.contains(&Doubt::StallsUndecided) {
        let sure = plain_percent(settings.confidence);
        return Some(format!("not {sure} sure: {}", doubt_words(Doubt::StallsUndecided)));
    }
    let each = if answer.fails_rps.is_some() { "at each of these rates" } else { "at this rate" };
    let sure = sure(settings.confidence, settings.hold_ns, each, answer.ending);
    let unseen_s = answer.stalls.iter().map(|it| it.unseen_every_s).max_by(f64::total_cmp);
    let rare = unseen_s.map(|it| format!("; stalls rarer than every {it:.0} s may be unseen"));
    Some(sure + &rare.unwrap_or_default())
}

/// What quick probes have shown where no hold has.
pub(super) fn quick(passed: &str, failed: Option<String>) -> String {
    let failed = failed.map(|failed| format!(", {failed} failed")).unwrap_or_default();
    format!("quick probes, which promise nothing: {passed} passed{failed}")
}

/// How sure an answer is that holds have shown.
pub(super) fn sure(confidence: f64, hold_ns: u64, each: &str, ending: Ending) -> String {
    let why = match ending {
        Ending::TesterLimited => "; above it the tester was the limit",
        Ending::OutOfBudget => "; the budget ended the search",
        Ending::Stopped => "; the search was stopped",
        _ => "",
    };
    let (sure, hold) = (plain_percent(confidence), format_duration(hold_ns));
    format!("{sure} sure: shown by a hold of up to {hold} {each}{why}")
}

/// Why a search did not simply go on, in a line.
pub(super) fn turn_words(turn: &Turn) -> String {
    why_words(turn.after, turn.why, &per_second(turn.rate_rps), turn.next_rps.map(per_second))
}

/// A turn after a number of probes. `at` is the load that it is about, `next` that of the probe
/// that follows.
pub(super) fn why_words(after: usize, why: Why, at: &str, next: Option<String>) -> String {
    let then = |what: &str| next.as_ref().map(|next| format!("{what} {next}")).unwrap_or_default();
    let text = match why {
        Why::FirstFailed => {
            format!("the first rate, {at}, did not pass{}", then(": the search tries"))
        }
        Why::NothingBelow => {
            format!("nothing passes below {at}{}", then(": the search looks above it, at"))
        }
        Why::QuickWasWrong => format!(
            "{at} passed a hold, and a quick probe below it had failed{}",
            then(": quick probes go on at")
        ),
        Why::NotShown => {
            format!("a hold at {at} did not show it{}", then(": the search goes lower, to"))
        }
        Why::Spoilt => {
            format!("the tester was in the way at {at}: that hold shows nothing")
        }
        Why::FailedAfterOverload => {
            format!("{at} failed directly after overload: it is measured again after a cool-down")
        }
        Why::FailedAgain => format!("{at} passed, and failed when it was measured again"),
        Why::NotShownAgain => {
            format!("{at} was measured again, and both holds together do not show it")
        }
        Why::Stalls => format!(
            "{at} passed its own hold, but not with the stalls that other probes have seen{}",
            then(": the search goes lower, to")
        ),
        Why::FellBack => format!("the answer is {at} now: it passed before"),
        Why::Recovering => format!(
            "the server does not recover from overload at {at}: the search looks for a rate at \
             which it does"
        ),
        Why::Hurried => format!(
            "the budget leaves no time for a quick probe at {at}{}",
            then(": the holds begin, at")
        ),
        Why::Shortened => format!("the budget left less than a whole hold for {at}"),
        Why::OutOfBudget => format!("the budget leaves no time for {at}: the search ends"),
    };
    format!("after probe {after}: {text}")
}

fn per_second(rate_rps: f64) -> String {
    format!("{}/s", format_rate(rate_rps))
}

/// The answer in a line, for stderr.
#[must_use]
pub fn answer_words(found: &Document) -> String {
    let (_, word, sentence) = headline(found);
    format!("{word}: {sentence}")
}

/// What readers have to know beside the headline, a line each.
pub(super) fn remarks(found: &Document) -> Vec<String> {
    let answer = &found.answer;
    let mut remarks: Vec<String> = confidence(found).into_iter().collect();
    if let (Some(rps), Some(failed)) = (answer.fails_rps, &answer.failed) {
        remarks.push(format!("{} does not: {}", per_second(rps), failure(failed)));
    }
    remarks.extend(turns(&answer.turns, turn_words));
    remarks.extend(after_overload(answer));
    if let Some(limit_rps) = answer.tester_limit_rps {
        let probe = found.probes.iter().find(|probe| probe.plan.rate_rps == limit_rps);
        let why = probe.and_then(|probe| probe.report.tester.clone());
        let why = why.unwrap_or_else(|| "nothing was measured".to_owned());
        remarks.push(format!("the tester spoilt {}/s: {why}", format_rate(limit_rps)));
    }
    // The line on confidence says it.
    let doubts = answer.doubts.iter().filter(|doubt| **doubt != Doubt::StallsUndecided);
    remarks.extend(doubts.map(|doubt| doubt_words(*doubt).to_owned()));
    remarks.extend(answer.stalls.iter().map(stall_words));
    if let Some(waited) = waited_above(found) {
        remarks.push(waited);
    }
    if let Some(rps) = answer.saturation_rps {
        let knee = answer.knee_rps.map(|rps| {
            format!("; p99 begins to climb at about {}/s, in the range measured", format_rate(rps))
        });
        let knee = knee.unwrap_or_default();
        remarks.push(format!("the most responses of any probe: {}/s{knee}", format_rate(rps)));
    }
    remarks
}

/// The first turns in a line each, and how many more there are.
pub(super) fn turns<T>(turns: &[T], words: fn(&T) -> String) -> Vec<String> {
    let mut lines: Vec<String> = turns.iter().take(TURNS_MAX).map(words).collect();
    if let Some(more @ 1..) = turns.len().checked_sub(TURNS_MAX) {
        lines.push(format!("{more} more turns are in the document (--json)"));
    }
    lines
}

fn after_overload(answer: &Answer) -> Option<String> {
    let after = answer.after_overload?;
    Some(match after.rate_rps {
        Some(rps) => format!(
            "after overload the load has to drop to {}/s before the objectives are met again",
            format_rate(rps)
        ),
        None => "after overload no rate was found at which the objectives are met again".to_owned(),
    })
}

pub(super) fn doubt_words(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::ChangedWhileMeasured => {
            "the server changed while it was measured: the same rate gave other figures at the end"
        }
        Doubt::DoesNotRecover => {
            "the server was not as before when a cool-down of 30 s ended, so that a probe may \
             suffer from the one before it"
        }
        Doubt::QuickProbesOnly => "quick probes are too short to promise anything (--quick-only)",
        Doubt::NotMeasuredAgain => "the search ended before the answer was measured again",
        Doubt::NotConfirmed => "the answer was measured again, and that hold did not show it",
        Doubt::StallsUndecided => {
            "the answer passed its own hold; with the stalls that all probes have seen, a longer \
             one may fail"
        }
    }
}

/// What all probes saw of the server's stalls.
fn stall_words(stalls: &StallsSeen) -> String {
    let StallsSeen { objective, seen, measured_s, hold_s, .. } = stalls;
    let longer = hold_s.map(|hold_s| {
        let hold = format_duration((hold_s * 1e9) as u64);
        format!("; --hold {hold} would see about ten")
    });
    match seen {
        0 => format!("{objective}: no stall was seen in {measured_s:.0} s"),
        seen => {
            let times = if *seen == 1 { "once".to_owned() } else { format!("{seen} times") };
            let longer = longer.unwrap_or_default();
            format!("{objective}: the server stalled {times} in {measured_s:.0} s{longer}")
        }
    }
}

/// Whether requests waited for connections where the objectives were missed.
fn waited_above(found: &Document) -> Option<String> {
    let fails_rps = found.answer.fails_rps?;
    let probe = found.probes.iter().find(|probe| probe.plan.rate_rps == fails_rps)?;
    let waited = waited(&probe.report)?;
    Some(format!("at {}/s {waited}; -c sets how many there may be", format_rate(fails_rps)))
}

/// What a probe was for.
pub(super) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Bracket => "quick",
        Purpose::Narrow => "narrow",
        Purpose::Climb => "climb",
        Purpose::Top => "top",
        Purpose::Overload => "overload",
        Purpose::AfterOverload => "after overload",
        Purpose::Recheck => "recheck",
        Purpose::Descend => "descend",
        Purpose::Recovered => "recovered",
        Purpose::Order => "order",
    }
}

pub(super) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Unclear => "unclear",
        Outcome::Fail => "FAIL",
        Outcome::NotMeasured => "not measured",
    }
}

/// A probe in a row, in the order of [`HEAD`].
pub(super) fn row(number: usize, probe: &Probe) -> [String; 8] {
    let figures = probe.report.figures.as_ref();
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), format_ns);
    [
        number.to_string(),
        purpose(probe.plan.purpose).to_owned(),
        format_rate(probe.plan.rate_rps),
        format_duration(figures.map_or(probe.plan.measure_ns, |it| (it.measured_s() * 1e9) as u64)),
        time(figures.and_then(|it| it.p50_ns)),
        time(figures.and_then(|it| it.p99_ns)),
        decisive(&probe.judgement.findings).map_or_else(|| "–".to_owned(), finding),
        outcome(probe.judgement.outcome).to_owned(),
    ]
}

/// The finding that decided: the first of the worst, and of those that pass the one closest to its
/// limit.
pub(super) fn decisive(findings: &[Finding]) -> Option<&Finding> {
    let worst = findings.iter().map(|it| it.outcome).max()?;
    let mut of_worst = findings.iter().filter(|it| it.outcome == worst);
    if worst != Outcome::Pass {
        return of_worst.next();
    }
    let part = |it: &Finding| it.high.unwrap_or(it.value) / it.limit;
    findings
        .iter()
        .filter(|it| matches!(it.subject, Subject::Objective(_)))
        .rev()
        .max_by(|a, b| part(a).total_cmp(&part(b)))
}

/// How long requests of a probe waited for a connection, if that is worth a word.
fn waited(report: &Report) -> Option<String> {
    let connected = report.connections?;
    let (waited_ns, limit) = (connected.waited_p99_ns()?, connected.limit);
    Some(format!(
        "one request in a hundred waited {} or more for one of {}",
        format_ns(waited_ns),
        counted(limit.into(), "connection")
    ))
}

/// What else is to be known of a probe.
pub(super) fn notes(probe: &Probe) -> Vec<String> {
    let cool = (!probe.report.recovered).then(|| "the server had not cooled down".to_owned());
    probe.report.tester.iter().cloned().chain(waited(&probe.report)).chain(cool).collect()
}

/// What a finding is about, as a column names it.
pub(super) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Objective(text) => text.clone(),
        Subject::Unanswered => "unanswered".to_owned(),
        Subject::Backlog => "backlog".to_owned(),
    }
}

/// A finding with its bounds and its limit.
pub(super) fn finding(finding: &Finding) -> String {
    let Finding { subject, value, low, high, limit, high_with_stalls, .. } = finding;
    let is_time = match subject {
        Subject::Backlog => true,
        Subject::Unanswered => false,
        Subject::Objective(text) => is_mean(text),
    };
    let show = |value: f64| if is_time { seconds(value) } else { percent(value) };
    let name = match subject {
        Subject::Objective(text) => text.as_str(),
        Subject::Unanswered => "unanswered",
        Subject::Backlog => "backlog grows by",
    };
    let bounds = match (low, high) {
        (Some(low), Some(high)) if *subject != Subject::Backlog => {
            format!(" [{}, {}]", show(*low), show(high_with_stalls.unwrap_or(*high)))
        }
        _ => String::new(),
    };
    let most = if is_time { seconds(*limit) } else { plain_percent(*limit) };
    format!("{name} {}{bounds} of {most}", show(*value))
}

/// Why a load does not meet the objectives, in a sentence.
pub(super) fn failure(failed: &Finding) -> String {
    let Finding { subject, value, low, limit, .. } = failed;
    match subject {
        Subject::Objective(text) if is_mean(text) => {
            format!("{text}, and the mean is {}", seconds(*value))
        }
        Subject::Objective(text) => {
            let low = low.map(|low| format!(" (at least {})", percent(low))).unwrap_or_default();
            format!(
                "{text}: {}{low} of the requests missed it, and {} may",
                percent(*value),
                plain_percent(*limit)
            )
        }
        Subject::Unanswered => {
            format!("{} of the requests had no response in time", percent(*value))
        }
        Subject::Backlog => format!(
            "a backlog grows, so that requests would wait {} longer at the end of --sustain",
            seconds(*value)
        ),
    }
}

/// Whether an objective is on the mean: its figures are times and not shares.
fn is_mean(text: &str) -> bool {
    plimsoll_core::find::Objective::parse(text).is_ok_and(|objective| !objective.is_share())
}

/// `0.62 %`.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 99.95 => format!("{percent:.0} %"),
        percent if percent < 0.001 && percent > 0.0 => "< 0.001 %".to_owned(),
        percent => format!("{} %", three_digits(percent)),
    }
}

/// `5 %`: a share as a user writes it.
pub(super) fn plain_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

fn seconds(value: f64) -> String {
    format_ns((value.max(0.0) * 1e9) as u64)
}
