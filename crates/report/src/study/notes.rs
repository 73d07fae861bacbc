//! Notes on the runs of a study and on the study itself, each given once. What disturbed runs is
//! grouped by cause: what happened, in which runs, which figures are in doubt for it, and then the
//! details.

use std::collections::BTreeSet;

use plimsoll_core::comparison::repeats_to_compare;
use plimsoll_core::confidence::reason;
use plimsoll_core::result::{Gate, Outcome};
use plimsoll_core::study::{Case, CaseRun, Column, LoadFacts, Measure, Study, failure_kind};
use plimsoll_core::verdict::{Cause, Verdict};

use super::facts::name;
use crate::facts::counted;

/// How bad what a note says is, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Something to know that takes nothing from the figures.
    Note,
    /// Figures are in doubt.
    Doubt,
    /// Something failed.
    Failed,
}

/// Something that was said about runs, or about the study.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Note<'a> {
    pub(super) weight: Weight,
    /// What it is about: a load and a server, several of them, or all.
    pub(super) about: String,
    /// How many of the runs, and what.
    pub(super) text: String,
    /// The last lines of the server's log.
    pub(super) log: Option<&'a str>,
}

/// What was said about the study and its runs, the worst first; what several runs have in common
/// appears once, in the words of the first.
pub(super) fn notes(study: &Study) -> Vec<Note<'_>> {
    let mut found: Vec<Common<'_>> = Vec::new();
    for common in study.cases.iter().flat_map(of_case) {
        match found.iter_mut().find(|known| known.said.is_like(&common.said)) {
            Some(known) => known.add(common),
            None => found.push(common),
        }
    }
    // What put nothing in doubt in some runs is a part of the note on those where it did.
    let (harmless, mut found): (Vec<_>, Vec<_>) = found.into_iter().partition(|it| it.is_harmless);
    for harmless in harmless {
        let is_like = |known: &&mut Common<'_>| known.said.kind == harmless.said.kind;
        match found.iter_mut().find(is_like) {
            Some(known) => known.harmless_runs += harmless.runs(),
            None => found.push(harmless),
        }
    }
    let mut notes: Vec<Note<'_>> = found.iter().map(|common| common.note(study)).collect();
    notes.splice(0..0, of_study(study));
    notes.sort_by_key(|note| std::cmp::Reverse(note.weight));
    notes
}

/// What holds for all cases: what the repeats cannot show, and in which order they were measured.
fn of_study(study: &Study) -> Vec<Note<'static>> {
    let note = |weight, text| Note { weight, about: "all".to_owned(), text, log: None };
    let mut notes: Vec<Note<'static>> =
        unjudged(study).map(|text| note(Weight::Note, text)).into_iter().collect();
    if let Some(needed) = repeats_missing(study) {
        let repeats = match study.repeats {
            1 => "1 repeat is".to_owned(),
            repeats => format!("{repeats} repeats are"),
        };
        let text = format!(
            "{repeats} too few to tell servers apart: it takes {needed} of each case (plimsoll lab \
             --continue --repeats {needed} measures those that are missing)"
        );
        notes.push(note(Weight::Note, text));
    } else if let Some(text) = runs_missing(study) {
        notes.push(note(Weight::Note, text));
    }
    let goes = study.cases.iter().flat_map(|case| &case.runs).map(|run| run.resumed).max();
    let Some(goes @ 2..) = goes.map(|resumed| resumed + 1) else { return notes };
    let split = study.repeats_out_of_turn();
    let (weight, text) = if split.is_empty() {
        let text = format!(
            "measured in {goes} goes (--continue), each repeat within one of them, so that the \
             cases still took turns"
        );
        (Weight::Note, text)
    } else {
        let text = format!(
            "measured in {goes} goes (--continue): in {} the cases did not take turns, so what \
             changed on the machine in between may look like a difference of servers; for a \
             comparison measure it anew",
            repeats_words(&split)
        );
        (Weight::Doubt, text)
    };
    notes.push(note(weight, text));
    notes
}

/// Which testers say nothing of themselves, so that their rows must not look surer than others.
fn unjudged(study: &Study) -> Option<String> {
    let is_silent = |load: &&LoadFacts| {
        let runs =
            || study.cases.iter().filter(|case| case.load == load.name).flat_map(Case::whole);
        !matches!(load.tester.as_str(), "plimsoll") && runs().next().is_some()
    };
    let mut testers: Vec<&str> = Vec::new();
    for load in study.loads.iter().filter(is_silent) {
        if !testers.contains(&load.tester.as_str()) {
            testers.push(&load.tester);
        }
    }
    let (last, rest) = testers.split_last()?;
    let (names, verb) = match rest {
        [] => ((*last).to_owned(), "does"),
        rest => (format!("{} and {last}", rest.join(", ")), "do"),
    };
    Some(format!(
        "{names} {verb} not judge how far the tester itself was late: an unmarked figure there \
         means that the lab saw nothing on this host that could have moved it, not that nothing did"
    ))
}

/// How many repeats it takes to tell servers apart, where there are several and too few repeats.
fn repeats_missing(study: &Study) -> Option<u32> {
    let needed = repeats_to_compare();
    (study.repeats < needed && has_several_servers(study)).then_some(needed)
}

fn has_several_servers(study: &Study) -> bool {
    let mut names = study.cases.iter().filter(|case| !case.runs.is_empty()).map(|it| &it.server);
    names.next().is_some_and(|first| names.any(|name| name != first))
}

/// In which cases of enough repeats too few runs count to tell their servers apart.
fn runs_missing(study: &Study) -> Option<String> {
    let needed = repeats_to_compare();
    let count = |case: &Case| case.whole().count() as u32;
    let is_short = |case: &&Case| (1..needed).contains(&count(case));
    let short: Vec<&Case> = study.cases.iter().filter(is_short).collect();
    let least =
        short.iter().map(|case| count(case)).min().filter(|_| has_several_servers(study))?;
    let name = |case: &&Case| {
        format!("{}, {}: {} of {}", case.load, case.server, count(case), case.runs.len())
    };
    let mut words: Vec<String> = short.iter().take(CASES_NAMED).map(name).collect();
    if let more @ 1.. = short.len().saturating_sub(CASES_NAMED) {
        words.push(format!("and {more} more"));
    }
    Some(format!(
        "too few runs count to tell servers apart ({}): it takes {needed} of each case (plimsoll \
         lab --continue --repeats {} measures more)",
        words.join("; "),
        study.repeats + needed - least
    ))
}

/// `repeat 2`, `repeats 1–3, 5`
fn repeats_words(repeats: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in repeats {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let words = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    });
    let plural = if repeats.len() == 1 { "" } else { "s" };
    format!("repeat{plural} {}", words.collect::<Vec<_>>().join(", "))
}

/// What several runs have in common.
struct Common<'a> {
    /// Of the first.
    said: Said<'a>,
    /// What else was said of the same kind, in other words.
    details: Vec<(String, String)>,
    /// The cases, each with the repeats.
    hits: Vec<(&'a Case, BTreeSet<u32>)>,
    /// Whether it is a cause that put nothing in doubt.
    is_harmless: bool,
    /// Further runs in which the same put nothing in doubt.
    harmless_runs: usize,
}

fn of_case(case: &Case) -> Vec<Common<'_>> {
    let mut found: Vec<Common<'_>> = Vec::new();
    for run in &case.runs {
        for said in said(run) {
            let common = Common {
                details: vec![(said.code.clone(), said.words.clone())],
                is_harmless: said.weight == Weight::Note,
                said,
                hits: vec![(case, BTreeSet::from([run.repeat]))],
                harmless_runs: 0,
            };
            match found.iter_mut().find(|known| known.said.is_like(&common.said)) {
                Some(known) => {
                    known.hits[0].1.extend([run.repeat]);
                    known.learn(common.details);
                }
                None => found.push(common),
            }
        }
    }
    found
}

/// Cases of a note that are named; of more, only the number is shown.
const CASES_NAMED: usize = 6;

/// Details of a note that are spelled out.
const DETAILS_SHOWN: usize = 3;

impl<'a> Common<'a> {
    fn add(&mut self, other: Self) {
        self.hits.extend(other.hits);
        self.learn(other.details);
    }

    fn learn(&mut self, details: Vec<(String, String)>) {
        for (code, words) in details {
            if self.details.iter().all(|(known, _)| *known != code) {
                self.details.push((code, words));
            }
        }
    }

    /// In how many runs.
    fn runs(&self) -> usize {
        self.hits.iter().map(|(_, repeats)| repeats.len()).sum()
    }

    fn note(&self, study: &Study) -> Note<'a> {
        let count = self.runs();
        let runs: usize = self.hits.iter().map(|(case, _)| case.runs.len()).sum();
        let what = if self.said.weight == Weight::Failed { " failed" } else { "" };
        let (about, which) = match (self.said.head, self.hits.as_slice()) {
            (Some(head), hits) => (head.to_owned(), Some(cases_named(hits))),
            (None, [(case, repeats)]) => {
                let about = format!("{}, {}", case.load, case.server);
                let is_all = repeats.len() == case.runs.len();
                let which = (!is_all).then(|| repeats_words(repeats));
                (about, which)
            }
            (None, several) => (format!("{} cases", several.len()), Some(cases_named(several))),
        };
        let which = which.map(|which| format!(" ({which})")).unwrap_or_default();
        let doubtful = match self.said.weight {
            Weight::Doubt => self.doubtful(study),
            _ => String::new(),
        };
        let runs = counted(runs as u64, "run");
        let details: Vec<&str> =
            self.details.iter().take(DETAILS_SHOWN).map(|(_, words)| words.as_str()).collect();
        let mut text = format!("{count} of {runs}{what}{which}{doubtful}: {}", details.join("; "));
        if self.harmless_runs > 0 {
            let more = counted(self.harmless_runs as u64, "run");
            text += &format!("; the same in {more} put no leading figure in doubt");
        }
        Note { weight: self.said.weight, about, text, log: self.said.log }
    }

    /// `, P99 ≤ and QPS ≥ in doubt`: which figures of the tables are in doubt in these runs.
    fn doubtful(&self, study: &Study) -> String {
        let runs = || {
            self.hits.iter().flat_map(|(case, repeats)| {
                case.runs.iter().filter(|run| repeats.contains(&run.repeat))
            })
        };
        let mut measures: Vec<Measure> = Vec::new();
        for measure in study.columns.iter().flat_map(Column::measures) {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        let words = measures.into_iter().filter_map(|measure| {
            let marks = runs().filter(|run| measure.of(run).is_some());
            let mark = marks.filter_map(|run| run.doubt(measure)).reduce(|a, b| a.and(b))?;
            Some(format!("{} {}", name(measure), mark.sign()))
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() { String::new() } else { format!(", in doubt: {}", words.join(", ")) }
    }
}

/// `10k, nginx; 30k, nginx repeats 2–3`
fn cases_named(hits: &[(&Case, BTreeSet<u32>)]) -> String {
    let name = |(case, repeats): &(&Case, BTreeSet<u32>)| {
        let name = format!("{}, {}", case.load, case.server);
        match repeats.len() == case.runs.len() {
            true => name,
            false => format!("{name} {}", repeats_words(repeats)),
        }
    };
    let mut words: Vec<String> = hits.iter().take(CASES_NAMED).map(name).collect();
    if let more @ 1.. = hits.len().saturating_sub(CASES_NAMED) {
        words.push(format!("and {more} more"));
    }
    words.join("; ")
}

/// Something said of one run.
struct Said<'a> {
    weight: Weight,
    /// What counts as the same in several runs.
    kind: String,
    /// What leads the note, if it is not about cases.
    head: Option<&'a str>,
    /// Of things of one kind, those with the same code have the same words but for numbers.
    code: String,
    words: String,
    log: Option<&'a str>,
}

impl<'a> Said<'a> {
    fn is_like(&self, other: &Self) -> bool {
        self.weight == other.weight && self.kind == other.kind
    }

    fn plain(weight: Weight, what: &str, words: &str) -> Self {
        let kind = failure_kind(what);
        Self { weight, code: kind.clone(), kind, head: None, words: words.to_owned(), log: None }
    }

    fn of_cause(cause: &'a Cause) -> Self {
        let code = cause.code.as_str();
        if cause.verdict == Verdict::Valid {
            let said = Self::plain(Weight::Note, code, &cause.text);
            return Self { kind: reason(code).map_or(said.kind, str::to_owned), ..said };
        }
        let head = reason(code).unwrap_or(code);
        Self {
            weight: Weight::Doubt,
            kind: head.to_owned(),
            head: Some(head),
            code: code.to_owned(),
            words: cause.text.clone(),
            log: None,
        }
    }

    fn of_gate(gate: &'a Gate) -> Option<Self> {
        let words = format!("the gate {}, with {}", gate.expr, gate.measured());
        let what = format!("the gate {}", gate.expr);
        match gate.outcome() {
            Outcome::Pass => None,
            Outcome::Fail => Some(Self::plain(Weight::Failed, &what, &words)),
            Outcome::Undecided => {
                Some(Self { head: Some("undecided"), ..Self::plain(Weight::Doubt, &what, &words) })
            }
        }
    }
}

fn said(run: &CaseRun) -> Vec<Said<'_>> {
    if let Some(failure) = &run.failure {
        let log = run.log.as_deref();
        return vec![Said { log, ..Said::plain(Weight::Failed, failure, failure) }];
    }
    let causes = run.causes.iter().map(Said::of_cause);
    let usages = || [("server", &run.server), ("tester", &run.tester)].into_iter();
    let lost = usages().filter_map(|(whose, usage)| {
        let words = usage.as_ref()?.cpu_unknown.as_deref()?;
        let what = if whose == "server" { "the server's CPU" } else { "the tester's CPU" };
        Some(Said::plain(Weight::Note, what, words))
    });
    let usage = usages().filter_map(|(_, usage)| usage.as_ref()).flat_map(|usage| &usage.notes);
    let usage = usage.map(|note| Said::plain(Weight::Note, note, note));
    let gates = run.gates.iter().filter_map(Said::of_gate);
    gates.chain(causes).chain(lost).chain(usage).collect()
}
