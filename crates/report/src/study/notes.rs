//! Notes on the runs of a study and on the study itself, each given once.

use std::collections::BTreeSet;

use plimsoll_core::comparison::repeats_to_compare;
use plimsoll_core::study::{Case, CaseRun, Study, failure_kind};
use plimsoll_core::verdict::Verdict;

use crate::facts::counted;

/// How bad what a note says is, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Something to know that takes nothing from the figures.
    Note,
    /// The figures may be distorted.
    Suspect,
    /// They are not the server's.
    Invalid,
    /// They do not count.
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

/// What was said about the study and its runs, the worst first; words that several runs have in
/// common appear once, as the first has them.
pub(super) fn notes(study: &Study) -> Vec<Note<'_>> {
    let mut found: Vec<Common<'_>> = Vec::new();
    for common in study.cases.iter().flat_map(of_case) {
        let kind = |it: &Common<'_>| (it.said.weight, failure_kind(it.said.words));
        match found.iter_mut().find(|known| kind(known) == kind(&common)) {
            Some(known) => known.hits.extend(common.hits),
            None => found.push(common),
        }
    }
    let mut notes: Vec<Note<'_>> = found.iter().map(Common::note).collect();
    notes.splice(0..0, of_study(study));
    notes.sort_by_key(|note| std::cmp::Reverse(note.weight));
    notes
}

/// What holds for all cases: what the repeats cannot show, and in which order they were measured.
fn of_study(study: &Study) -> Vec<Note<'static>> {
    let note = |weight, text| Note { weight, about: "all".to_owned(), text, log: None };
    let mut notes = Vec::new();
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
        (Weight::Suspect, text)
    };
    notes.push(note(weight, text));
    notes
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
    /// The cases, each with the repeats.
    hits: Vec<(&'a Case, BTreeSet<u32>)>,
}

fn of_case(case: &Case) -> Vec<Common<'_>> {
    let mut found: Vec<Common<'_>> = Vec::new();
    for run in &case.runs {
        for said in said(run) {
            let kind = |it: &Said<'_>| (it.weight, failure_kind(it.what));
            match found.iter_mut().find(|known| kind(&known.said) == kind(&said)) {
                Some(known) => known.hits[0].1.extend([run.repeat]),
                None => {
                    let hits = vec![(case, BTreeSet::from([run.repeat]))];
                    found.push(Common { said, hits });
                }
            }
        }
    }
    found
}

/// Cases of a note that are named; of more, only the number is shown.
const CASES_NAMED: usize = 6;

impl<'a> Common<'a> {
    fn note(&self) -> Note<'a> {
        let count: usize = self.hits.iter().map(|(_, repeats)| repeats.len()).sum();
        let runs: usize = self.hits.iter().map(|(case, _)| case.runs.len()).sum();
        let what = match self.said.weight {
            Weight::Failed => " failed",
            Weight::Invalid => " invalid",
            Weight::Suspect => " suspect",
            Weight::Note => "",
        };
        let (about, which) = match self.hits.as_slice() {
            [(case, repeats)] => {
                let about = format!("{}, {}", case.load, case.server);
                let is_all = repeats.len() == case.runs.len();
                let which = (!is_all).then(|| repeats_words(repeats));
                (about, which)
            }
            several => (format!("{} cases", several.len()), Some(cases_named(several))),
        };
        let which = which.map(|which| format!(" ({which})")).unwrap_or_default();
        let runs = counted(runs as u64, "run");
        let text = format!("{count} of {runs}{what}{which}: {}", self.said.words);
        Note { weight: self.said.weight, about, text, log: self.said.log }
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
    what: &'a str,
    words: &'a str,
    log: Option<&'a str>,
}

fn said(run: &CaseRun) -> Vec<Said<'_>> {
    if let Some(failure) = &run.failure {
        let log = run.log.as_deref();
        return vec![Said { weight: Weight::Failed, what: failure, words: failure, log }];
    }
    let causes = run.causes.iter().map(|cause| {
        let weight = match cause.verdict {
            Verdict::Valid => Weight::Note,
            Verdict::Suspect => Weight::Suspect,
            Verdict::Invalid => Weight::Invalid,
        };
        Said { weight, what: &cause.code, words: &cause.text, log: None }
    });
    let usages = || [("server", &run.server), ("tester", &run.tester)].into_iter();
    let lost = usages().filter_map(|(whose, usage)| {
        let words = usage.as_ref()?.cpu_unknown.as_deref()?;
        let what = if whose == "server" { "the server's CPU" } else { "the tester's CPU" };
        Some(Said { weight: Weight::Note, what, words, log: None })
    });
    let usage = usages().filter_map(|(_, usage)| usage.as_ref()).flat_map(|usage| &usage.notes);
    let usage = usage.map(|note| Said { weight: Weight::Note, what: note, words: note, log: None });
    causes.chain(lost).chain(usage).collect()
}
