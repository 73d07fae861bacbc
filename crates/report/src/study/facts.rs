//! What the views of a study share: headings, cells, rows and what is missing from them,
//! comparisons in words.

use std::collections::BTreeMap;

use plimsoll_core::comparison::{Comparison, Decision, Reason, Scale, contrast_with_baseline};
use plimsoll_core::study::{Case, Column, LineOutcome, LoadFacts, Measure, MessageTime, Study};
use plimsoll_core::units::{format_bytes, format_ns, format_rate, format_whole, three_digits};

use crate::comparison::Answer;
use crate::facts::counted;

/// A percentile's name: `99.9` for 0.999.
fn percentile(q: f64) -> String {
    // Rounded, because 0.999 times 100 is not 99.9 in binary.
    ((q * 1e8).round() / 1e6).to_string()
}

/// A measure's name at the head of a column.
pub(super) fn name(measure: Measure) -> String {
    match measure {
        Measure::Rate => "QPS".to_owned(),
        Measure::Responses => "responses/s".to_owned(),
        Measure::Latency(q) => format!("P{}", percentile(q)),
        Measure::Service(q) => format!("service P{}", percentile(q)),
        Measure::Message(time, q) => format!("{} P{}", message_words(time), percentile(q)),
        Measure::LoadLine => "load line".to_owned(),
        Measure::FailsAt => "fails at".to_owned(),
        Measure::Mean => "mean".to_owned(),
        Measure::Max => "max".to_owned(),
        Measure::Errors => "errors".to_owned(),
        Measure::Cpu => "CPU".to_owned(),
        Measure::CpuPerRequest => "CPU/request".to_owned(),
        Measure::Rss => "Mem(RES)".to_owned(),
        Measure::Pss => "Mem(PSS)".to_owned(),
        Measure::Processes => "processes".to_owned(),
        Measure::Threads => "threads".to_owned(),
        Measure::Connections => "connections".to_owned(),
        Measure::TesterCpu => "tester CPU".to_owned(),
        Measure::TesterRss => "tester Mem".to_owned(),
    }
}

/// What a time of messages is called.
fn message_words(time: MessageTime) -> &'static str {
    match time {
        MessageTime::First => "first message",
        MessageTime::Gap => "gap",
        MessageTime::RoundTrip => "round trip",
    }
}

/// A column's heading.
pub(super) fn heading(column: &Column) -> String {
    match column.over {
        None => name(column.measure),
        Some(over) => format!("{}/{}", name(column.measure), name(over)),
    }
}

/// What a measure is, in words.
pub(super) fn meaning(measure: Measure) -> &'static str {
    match measure {
        Measure::Rate => "good responses per second",
        Measure::Responses => "responses per second, failed ones too",
        Measure::Latency(_) => "a percentile of latency, by the clock that the tester puts first",
        Measure::Service(_) => "a percentile of service time",
        Measure::Message(MessageTime::First, _) => "a percentile of the time to the first message",
        Measure::Message(MessageTime::Gap, _) => "a percentile of the time between two messages",
        Measure::Message(MessageTime::RoundTrip, _) => {
            "a percentile of the time from a message to its answer"
        }
        Measure::LoadLine => "the highest rate shown to meet the objectives, 0 where none does",
        Measure::FailsAt => "the lowest rate shown not to meet them",
        Measure::Mean => "mean latency",
        Measure::Max => "greatest latency",
        Measure::Errors => "requests that failed or had no response",
        Measure::Cpu => "the server's CPU over the load, 100 % is one core",
        Measure::CpuPerRequest => "the server's CPU time for each response",
        Measure::Rss => "the server's resident memory at its peak",
        Measure::Pss => "the server's memory at its peak, shared pages counted once",
        Measure::Processes => "the server's processes at most",
        Measure::Threads => "the server's threads at most",
        Measure::Connections => "connections that the tester opened",
        Measure::TesterCpu => "the tester's CPU, 100 % is one core",
        Measure::TesterRss => "the tester's resident memory at its peak",
    }
}

/// What the headings of the columns mean, a line for each measure that is not plain from its name.
pub(super) fn legend(columns: &[Column]) -> String {
    let mut said: Vec<&str> = Vec::new();
    let mut parts = Vec::new();
    for measure in columns.iter().flat_map(|column| [Some(column.measure), column.over]).flatten() {
        let meaning = meaning(measure);
        if said.contains(&meaning) {
            continue;
        }
        said.push(meaning);
        let name = match measure {
            Measure::Latency(_) => "P50 and the like".to_owned(),
            Measure::Service(_) => "service P50 and the like".to_owned(),
            Measure::Message(time, _) => format!("{} P50 and the like", message_words(time)),
            other => name(other),
        };
        parts.push(format!("{name}: {meaning}"));
    }
    parts.join("; ")
}

/// A share as people write it.
pub(super) fn share_words(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        s if s.abs() < 0.01 => "< 0.01 %".to_owned(),
        s if s.abs() < 1.0 => format!("{s:.2} %"),
        s if s.abs() < 10.0 => format!("{s:.1} %"),
        s => format!("{} %", format_rate(s.round())),
    }
}

/// A value of a measure for people.
pub(super) fn value_words(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Rate | Measure::Responses | Measure::LoadLine | Measure::FailsAt => {
            format_rate(value)
        }
        Measure::Latency(_)
        | Measure::Service(_)
        | Measure::Message(..)
        | Measure::Mean
        | Measure::Max
        | Measure::CpuPerRequest => format_ns((value * 1e9).round() as u64),
        Measure::Errors => share_words(value),
        Measure::Cpu | Measure::TesterCpu => format!("{} %", three_digits(value * 100.0)),
        Measure::Rss | Measure::Pss | Measure::TesterRss => format_bytes(value as u64),
        Measure::Processes | Measure::Threads | Measure::Connections => format_whole(value),
    }
}

/// A value of a column for people.
pub(super) fn cell(column: &Column, value: f64) -> String {
    match column.over {
        None => value_words(column.measure, value),
        Some(_) => three_digits(value),
    }
}

/// In the place of a figure: there is none.
pub(super) const NO_FIGURE: &str = "–";

/// What needs a word beside the headings: columns that divide one figure by another, cells without
/// a figure, and how searches ended.
pub(super) fn marks(study: &Study) -> Vec<String> {
    let ratio = study.columns.iter().find(|column| column.over.is_some());
    let ratio = ratio.map(|column| {
        format!("{}: the first figure divided by the second, in each run", heading(column))
    });
    let measured = || rows(study).into_iter().filter_map(|row| row.content.ok());
    let is_missing = |case: &Case| study.columns.iter().any(|it| case.middle(it).is_none());
    let missing = measured().any(is_missing).then(|| {
        format!("{NO_FIGURE}: the tester does not print this figure, or no run counts for it")
    });
    let outcomes = study.loads.iter().filter_map(|load| outcomes_words(study, load));
    ratio.into_iter().chain(missing).chain(outcomes).collect()
}

/// Where the true median of a column lies; none where the repeats do not tell.
pub(super) fn interval_words(case: &Case, column: &Column) -> Option<String> {
    let interval = case.middle(column)?.interval?;
    let [low, high] = [interval.low, interval.high].map(|value| cell(column, value));
    Some(if low == high { low } else { format!("{low} – {high}") })
}

/// How sure the least sure interval of a median is, 0 to 1; none where no case has one.
pub(super) fn confidence(study: &Study) -> Option<f64> {
    let cells = study
        .cases
        .iter()
        .flat_map(|case| study.columns.iter().filter_map(|column| case.middle(column)?.interval));
    cells.map(|interval| interval.confidence).min_by(f64::total_cmp)
}

/// What has a row in the tables.
pub(super) struct Row<'a> {
    /// From 1.
    pub(super) number: usize,
    /// The load's name, or `all`.
    pub(super) load: &'a str,
    /// The tester's name.
    pub(super) tester: &'a str,
    /// The server's name, or `all`.
    pub(super) server: &'a str,
    /// What was measured, or why nothing was.
    pub(super) content: Result<&'a Case, String>,
}

/// In the place of a name: of each of them.
pub(super) const ALL: &str = "all";

/// A tester and its version, which most often begins with the name.
pub(super) fn tester_words(load: &LoadFacts) -> String {
    match load.version.as_deref() {
        Some(version) if version.starts_with(&load.tester) => version.to_owned(),
        Some(version) => format!("{} {version}", load.tester),
        None => load.tester.clone(),
    }
}

/// The rows of the table: by load, then by server, so that those to be compared stand together.
/// A server or a load that was skipped has one row, not one for each of its cases.
pub(super) fn rows(study: &Study) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut add = |load, tester, server, content| {
        rows.push(Row { number: rows.len() + 1, load, tester, server, content });
    };
    for load in &study.loads {
        if let Some(reason) = &load.skipped {
            add(&load.name, &load.tester, ALL, Err(reason.clone()));
            continue;
        }
        for server in study.servers.iter().filter(|server| server.skipped.is_none()) {
            let Some(case) = study.case(&server.name, &load.name) else { continue };
            let content = match &case.skipped {
                Some(reason) => Err(reason.clone()),
                None if case.runs.is_empty() => Err("not carried out yet".to_owned()),
                None => Ok(case),
            };
            add(&load.name, &load.tester, &server.name, content);
        }
    }
    for server in &study.servers {
        if let Some(reason) = &server.skipped {
            add(ALL, "", &server.name, Err(reason.clone()));
        }
    }
    rows
}

/// How the searches of a load ended for each server, in a sentence; none for a load that is not a
/// search.
fn outcomes_words(study: &Study, load: &LoadFacts) -> Option<String> {
    let of_case = |case: &Case| {
        let mut counts: BTreeMap<LineOutcome, u64> = BTreeMap::new();
        for line in case.whole().filter_map(|run| run.figures.load_line) {
            *counts.entry(line.outcome).or_default() += 1;
        }
        let words = |(outcome, count): (&LineOutcome, &u64)| format!("{} {count}", outcome.words());
        let words: Vec<String> = counts.iter().map(words).collect();
        (!words.is_empty()).then(|| format!("{} {}", case.server, words.join(", ")))
    };
    let under = study.cases.iter().filter(|case| case.load == load.name);
    let words: Vec<String> = under.filter_map(of_case).collect();
    (!words.is_empty())
        .then(|| format!("How the searches of {} ended: {}", load.name, words.join("; ")))
}

/// The loads under which something was measured.
pub(super) fn loads(study: &Study) -> impl Iterator<Item = &LoadFacts> {
    let measured = |load: &LoadFacts| {
        study.cases.iter().any(|case| case.load == load.name && !case.runs.is_empty())
    };
    study.loads.iter().filter(move |load| measured(load))
}

/// How many repeats the intervals of a study stand on, and how sure they are.
pub(super) fn repeats_words(study: &Study) -> String {
    let repeats = counted(study.repeats.into(), "repeat");
    if study.repeats < 2 {
        return format!("{repeats} of each case: how much it varies is not known");
    }
    format!("{repeats} of each case, in an order drawn from seed {}", study.seed)
}

/// Where and when, in a few words each.
pub(super) fn setting_words(study: &Study) -> Vec<String> {
    let host = &study.environment;
    let mut words = vec![study.started_at.clone(), format!("{} {}", host.os, host.kernel)];
    words.push(host.cpu.clone());
    if host.cores > 0 {
        words.push(format!("{} of {} CPUs", host.cores_allowed, host.cores));
    }
    words.push(repeats_words(study));
    if let Some(tool) = &study.tool {
        words.push(format!("{} {}", tool.name, tool.version));
    }
    words.retain(|word| !word.trim().is_empty());
    words
}

/// All that is known of the host.
pub(super) fn environment(study: &Study) -> Vec<(String, String)> {
    let host = &study.environment;
    let text = |name: &str, value: String| (name.to_owned(), value);
    let cpus = format!("{} of {} may be used", host.cores_allowed, host.cores);
    let mut rows = vec![
        text("system", host.os.clone()),
        text("kernel", host.kernel.clone()),
        text("CPU", host.cpu.clone()),
        text("CPUs", cpus),
        text("memory", format_bytes(host.memory_bytes)),
        text("governor", host.governor.clone().unwrap_or_default()),
        text("hypervisor", host.hypervisor.clone().unwrap_or_default()),
    ];
    rows.extend(crate::host::rows(host));
    rows.retain(|(_, value)| !value.is_empty());
    rows
}

/// What was decided, in a word or two. A mark of doubt stands behind what is decided by itself.
pub(super) fn decision_words(measure: Measure, comparison: &Comparison) -> String {
    let (better, worse) = match measure {
        Measure::Errors => ("fewer", "more"),
        Measure::LoadLine => ("higher", "lower"),
        Measure::Cpu | Measure::CpuPerRequest | Measure::Rss | Measure::Pss => ("less", "more"),
        _ => ("faster", "slower"),
    };
    let is_alone = comparison.p_together.is_none() && measure != Measure::Errors;
    let doubt = if is_alone { "?" } else { "" };
    match (comparison.decision, comparison.reason) {
        (Decision::Better, _) => format!("{better}{doubt}"),
        (Decision::Worse, _) => format!("{worse}{doubt}"),
        (_, Some(Reason::NothingMeasured)) => String::new(),
        (_, Some(Reason::LowerBound)) => "can't tell: a lower bound".to_owned(),
        (_, Some(Reason::UnlikeFailures)) => "can't tell: failures".to_owned(),
        _ if comparison.is_alike => "the same".to_owned(),
        // Why holds for several of them, so a note says it once.
        _ => "can't tell".to_owned(),
    }
}

/// What is known of each server under a load against the baseline, in a sentence: the server, and
/// the same words as those of a comparison of two sides.
pub(super) fn answers<'a>(
    study: &'a Study,
    load: &'a str,
) -> impl Iterator<Item = (&'a str, String)> {
    let under = study.cases.iter().filter(move |case| case.load == load && !case.runs.is_empty());
    under.filter_map(|case| {
        let contrast = contrast_with_baseline(study, case)?;
        // Where no run counts, the list of servers that are not compared says so.
        contrast
            .family()
            .iter()
            .any(|it| it.comparison.base.n > 0 && it.comparison.new.n > 0)
            .then(|| (case.server.as_str(), Answer::of(&contrast).words()))
    })
}

/// The change and its interval: `1.35 [1.31, 1.38]`, of shares `+0.10 [+0.02, +0.20] points`.
pub(super) fn change_words(comparison: &Comparison) -> String {
    let Some(change) = comparison.change else { return "–".to_owned() };
    let number = |value: f64| match comparison.scale {
        Scale::Ratio => ratio_words(value),
        Scale::Difference => format!("{:+.2}", value * 100.0),
    };
    let mut words = number(change);
    if let Some(interval) = &comparison.interval {
        words += &format!(" [{}, {}]", number(interval.low), number(interval.high));
    }
    if comparison.scale == Scale::Difference {
        words += " points";
    }
    words
}

fn ratio_words(ratio: f64) -> String {
    match ratio {
        r if r < 0.1 => format!("{r:.4}"),
        r if r < 10.0 => format!("{r:.3}"),
        r => format_rate(r),
    }
}

/// The call that measures a study again.
pub(super) fn again(study: &Study) -> String {
    format!("plimsoll lab suite.toml --repeats {} --seed {}", study.repeats, study.seed)
}

/// How to read comparisons.
pub(super) const COMPARED_HOW: &str = "Each figure is the ratio to the baseline's and where the \
    true ratio lies (Hodges-Lehmann); errors are compared by difference, in percentage points. \
    Rate, P50, P90, P99, P99.9 and CPU per request of a server are decided together (Holm): of \
    twenty servers that do not differ, one at most has any of them called, and their intervals \
    hold together (95 %). A word with ? is of a measure that is decided by itself. The same: no \
    change of 1 % or more. Failed answers are no speed: rates are of good ones, and where one side \
    fails more often its times are not called.";

/// The ranks a server may have: `1`, `≈ 2–3` where it cannot be told apart from others.
pub(super) fn rank_words(best: usize, worst: usize) -> String {
    if best == worst { best.to_string() } else { format!("≈ {best}–{worst}") }
}
