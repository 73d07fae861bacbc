//! A study as a page: one file that needs nothing else, offline, on screen and on paper.
//!
//! The answer comes first, then the table. Then each load has its ranks, percentiles, comparison
//! with the baseline, and CPU and memory over time. Servers keep their colour and shape throughout,
//! so that readers need not rely on one of the two. The script sorts the table; everything else
//! works without it.
//!
//! The page is bounded: outputs share a budget, and no chart has more points than a screen can
//! show.

mod curves;
mod looks;
mod ranking;
mod results;
mod usage;

use std::io::{self, Write};

use plimsoll_core::comparison::{Reason, against_baseline};
use plimsoll_core::study::{Case, LoadFacts, Measure, ServerFacts, Study};

use super::answer::answer;
use super::facts::{
    self, COMPARED_HOW, IN_DOUBT, change_words, decision_words, is_in_doubt, tester_words,
};
use super::notes::{self, Weight};
use super::standing::sureness;
use crate::facts::counted;
use crate::page::escape::{Escaped, Lines};
use crate::page::push;
use crate::page::table::{Column, Table, Text, clipped, pairs};
use looks::Looks;

const STYLE: &str = include_str!("study.css");
const SCRIPT: &str = include_str!("study.js");

/// Bytes that all outputs together take of the page.
const OUTPUT_BYTES: usize = 768 << 10;

/// Bytes that the outputs of one case take at most.
const CASE_OUTPUT_BYTES: usize = 24 << 10;

/// Notes that are spelled out; of more, only the number is shown.
const NOTES_SHOWN: usize = 100;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn write(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(page(study).as_bytes())
}

fn page(study: &Study) -> String {
    let mut page = String::with_capacity(256 << 10);
    let looks = Looks::of(study);
    let title = if study.title.is_empty() { &study.name } else { &study.title };
    crate::page::head(title, STYLE, &mut page);
    page.push_str("<body>\n<main>\n");
    head(study, title, &mut page);
    results::write(study, &looks, &mut page);
    notes(study, &mut page);
    for (number, load) in facts::loads(study).enumerate() {
        of_load(study, load, number, &looks, &mut page);
    }
    curves::against_rate(study, &looks, &mut page);
    subjects(study, &mut page);
    outputs(study, &mut page);
    let tool = study.tool.as_ref().map(|tool| format!("{} {}", tool.name, tool.version));
    let (tool, schema) = (tool.unwrap_or_default(), Escaped(&study.schema));
    push(&mut page, format_args!("</main>\n<footer>{} · {schema}</footer>\n", Escaped(&tool)));
    push(&mut page, format_args!("<script>\n{SCRIPT}</script>\n</body>\n</html>\n"));
    page
}

fn head(study: &Study, title: &str, page: &mut String) {
    push(page, format_args!("<header class=\"study\">\n<h1>{}</h1>\n", Escaped(title)));
    for sentence in answer(study) {
        push(page, format_args!("<p class=\"answer\"><b>{}.</b></p>\n", Escaped(&sentence)));
    }
    if let Some(sure) = sureness(study) {
        let sure = Escaped(&sure);
        push(page, format_args!("<p class=\"confidence\"><b>Confidence</b> {sure}</p>\n"));
    }
    for paragraph in study.description.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        push(page, format_args!("<p>{}</p>\n", Escaped(&text)));
    }
    page.push_str("<p class=\"facts\">");
    for words in facts::setting_words(study) {
        push(page, format_args!("<span>{}</span> ", Escaped(&words)));
    }
    page.push_str("</p>\n");
    let loads: Vec<&LoadFacts> = facts::loads(study).collect();
    if loads.len() > 1 {
        page.push_str("<nav aria-label=\"Loads\">Loads: ");
        for (number, load) in loads.iter().enumerate() {
            let name = Escaped(&load.name);
            push(page, format_args!("<a href=\"#load-{number}\">{name}</a> "));
        }
        page.push_str("</nav>\n");
    }
    page.push_str("</header>\n");
}

/// What was said about the runs, with the logs of servers that failed.
fn notes(study: &Study, page: &mut String) {
    let notes = notes::notes(study);
    if notes.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Notes</h2>\n<ul class=\"notes\">\n");
    for note in notes.iter().take(NOTES_SHOWN) {
        let (class, sign) = match note.weight {
            Weight::Failed => ("invalid", "✕ "),
            Weight::Doubt => ("suspect", "! "),
            Weight::Note => ("note", ""),
        };
        let (about, text) = (clipped(&note.about), clipped(&note.text));
        let (about, text) = (Escaped(&about), Escaped(&text));
        push(page, format_args!("<li class=\"{class}\">{sign}<b>{about}</b>: {text}"));
        if let Some(log) = note.log.filter(|log| !log.trim().is_empty()) {
            page.push_str("<details><summary>The end of its log</summary><pre>");
            capped(log, CASE_OUTPUT_BYTES, page);
            page.push_str("</pre></details>");
        }
        page.push_str("</li>\n");
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES_SHOWN) {
        push(page, format_args!("<li>and {more} more, which the JSON document has</li>\n"));
    }
    page.push_str("</ul>\n</section>\n");
}

/// All about one load.
fn of_load(study: &Study, load: &LoadFacts, number: usize, looks: &Looks<'_>, page: &mut String) {
    let name = Escaped(&load.name);
    push(page, format_args!("<section class=\"load\" id=\"load-{number}\">\n<h2>{name}</h2>\n"));
    let tester = tester_words(load);
    push(
        page,
        format_args!(
            "<p class=\"command\"><code>{}</code><span>{}</span></p>\n",
            Escaped(&clipped(&load.command)),
            Escaped(&tester)
        ),
    );
    ranking::write(study, load, number, looks, page);
    curves::percentiles(study, load, number, looks, page);
    compared(study, load, if number == 0 { COMPARED_HOW } else { "" }, page);
    usage::write(study, load, number, page);
    page.push_str("</section>\n");
}

/// What is known of each server against the baseline, in a sentence.
fn answers(study: &Study, load: &LoadFacts, page: &mut String) {
    let answers: Vec<(&str, String)> = facts::answers(study, &load.name).collect();
    if answers.is_empty() {
        return;
    }
    page.push_str("<ul class=\"notes\">\n");
    for (server, answer) in answers {
        let (server, answer) = (clipped(server), clipped(&answer));
        let (server, answer) = (Escaped(&server), Escaped(&answer));
        push(page, format_args!("<li class=\"note\"><b>{server}</b>: {answer}</li>\n"));
    }
    page.push_str("</ul>\n");
}

/// The servers against the baseline; `note` says how to read it, once in a page.
fn compared(study: &Study, load: &LoadFacts, note: &str, page: &mut String) {
    let Some(baseline) = &study.baseline else { return };
    let measures = study.measures();
    let cell = |case: &Case, measure: &Measure| match against_baseline(study, case, *measure) {
        Some(comparison) if comparison.reason != Some(Reason::NothingMeasured) => {
            format!("{} {}", change_words(&comparison), decision_words(*measure, &comparison))
        }
        Some(_) if is_in_doubt(study, case, *measure) => IN_DOUBT.to_owned(),
        _ => String::new(),
    };
    let under = study.cases.iter().filter(|case| case.load == load.name && !case.runs.is_empty());
    let rows: Vec<Vec<String>> = under
        .filter(|case| case.server != *baseline)
        .map(|case| {
            let cells = measures.iter().map(|measure| cell(case, measure));
            std::iter::once(clipped(&case.server)).chain(cells).collect()
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    answers(study, load, page);
    let names: Vec<String> = measures.iter().map(|measure| facts::name(*measure)).collect();
    let mut head: Vec<(&str, Column)> = vec![("", Text)];
    head.extend(names.iter().map(|name| (name.as_str(), Text)));
    let caption = format!("Compared with {baseline}");
    Table { caption: &caption, head: &head, rows, note }.write(page);
}

/// Servers, loads and the host, and how to measure again.
fn subjects(study: &Study, page: &mut String) {
    page.push_str("<section>\n<h2>How it was measured</h2>\n");
    let optional = |text: &Option<String>| clipped(text.as_deref().unwrap_or("–"));
    let server = |it: &ServerFacts| {
        vec![clipped(&it.name), optional(&it.version), optional(&it.cpus), clipped(&it.command)]
    };
    let load = |it: &LoadFacts| {
        let tester = tester_words(it);
        vec![clipped(&it.name), clipped(&tester), optional(&it.cpus), clipped(&it.command)]
    };
    let head = |what| [("", Text), (what, Text), ("CPUs", Text), ("command", Text)];
    let rows = study.servers.iter().map(server).collect();
    Table { caption: "Servers", head: &head("version"), rows, note: "" }.write(page);
    let rows = study.loads.iter().map(load).collect();
    Table { caption: "Loads", head: &head("tester"), rows, note: "" }.write(page);
    let words = format!("{}, with the suite {}", facts::again(study), study.name);
    pairs("Run it again", vec![("", words), ("", facts::repeats_words(study))], page);
    crate::page::host(&study.environment, page);
    page.push_str("</section>\n");
}

/// What the testers printed.
fn outputs(study: &Study, page: &mut String) {
    let has_output = |case: &&Case| case.runs.iter().any(|run| !run.output.trim().is_empty());
    let cases: Vec<&Case> = study.cases.iter().filter(has_output).collect();
    if cases.is_empty() {
        return;
    }
    let for_case = (OUTPUT_BYTES / cases.len()).min(CASE_OUTPUT_BYTES);
    page.push_str("<section class=\"outputs\">\n<h2>What the testers printed</h2>\n");
    for case in cases {
        let name = format!("{}, {}", case.load, case.server);
        push(page, format_args!("<details><summary>{}</summary>\n", Escaped(&name)));
        for run in case.runs.iter().filter(|run| !run.output.trim().is_empty()) {
            let command = Escaped(&run.command);
            push(page, format_args!("<h3>Repeat {}</h3>\n<pre>$ {command}\n", run.repeat));
            capped(&run.output, for_case / case.runs.len(), page);
            page.push_str("</pre>\n");
        }
        page.push_str("</details>\n");
    }
    page.push_str("</section>\n");
}

/// As much of a text as there is room for, its start and its end, escaped.
fn capped(text: &str, most: usize, page: &mut String) {
    if text.len() <= most {
        push(page, format_args!("{}", Lines(text)));
        return;
    }
    let (from, to) = (text.floor_char_boundary(most / 2), text.len() - most / 2);
    let to = text.ceil_char_boundary(to);
    let left_out = to - from;
    push(
        page,
        format_args!(
            "{}\n… {} left out here; the JSON document has what was kept …\n{}",
            Lines(&text[..from]),
            counted(left_out as u64, "byte"),
            Lines(&text[to..])
        ),
    );
}

#[cfg(test)]
mod tests;
