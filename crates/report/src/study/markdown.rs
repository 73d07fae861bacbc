//! A study as Markdown, GitHub's kind: the answer, the table of medians, the number of runs behind
//! them, how the servers compare, and everything needed to measure it again.
//!
//! Absent on purpose: the output of the testers, which the document and the page have.

use std::io::{self, Write};

use plimsoll_core::comparison::{Reason, against_baseline};
use plimsoll_core::study::{Case, Column, LoadFacts, Measure, Study};

use super::answer::answer;
use super::facts::{
    self, ALL, COMPARED_HOW, IN_DOUBT, NO_FIGURE, Row, change_words, decision_words, heading,
    interval_words, is_in_doubt, legend, repeats_words, shown_words,
};
use super::notes::{self, Note, Weight};
use super::standing::{
    Standing, VERDICT, has_left_out, sureness, unranked_words, verdict_legend, verdict_words,
};
use crate::markdown::escape::{code, fenced, prose};
use crate::markdown::{table_of, write_blocks};

/// Lines of a server's log below a failure.
const LOG_LINES: usize = 20;

/// Notes that are spelled out; of more, only the number is shown.
const NOTES_SHOWN: usize = 60;

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(study: &Study, out: &mut dyn Write) -> io::Result<()> {
    let mut blocks = vec![head(study), medians(study), spread(study), notes(study)];
    blocks.push(compared(study));
    blocks.extend([subjects(study), environment(study), again(study)]);
    write_blocks(&blocks, out)
}

fn head(study: &Study) -> String {
    let title = if study.title.is_empty() { &study.name } else { &study.title };
    let mut text = format!("# {}\n\n", prose(title));
    for sentence in answer(study) {
        text += &format!("**{}.**\n\n", prose(&sentence));
    }
    if let Some(sure) = sureness(study) {
        text += &format!("*Confidence:* {}\n\n", prose(&sure));
    }
    for paragraph in study.description.split("\n\n").filter(|text| !text.trim().is_empty()) {
        let lines: Vec<String> = paragraph.lines().map(|line| prose(line.trim())).collect();
        text += &format!("{}\n\n", lines.join("\n").trim());
    }
    text + &prose(&facts::setting_words(study).join(" · "))
}

/// A table with a row for each case, and for what was left out.
fn by_case(study: &Study, value: impl Fn(&Case, &Column) -> String) -> String {
    let headings: Vec<String> = study.columns.iter().map(|it| prose(&heading(it))).collect();
    let mut head = vec!["#", "Load", "Tester", "Server", VERDICT];
    head.extend(headings.iter().map(String::as_str));
    let row = |row: &Row<'_>| {
        let name = |name: &str| if name == ALL { format!("*{ALL}*") } else { prose(name) };
        let mut line = vec![row.number.to_string(), name(row.load), prose(row.tester)];
        line.push(name(row.server));
        match &row.content {
            Ok(case) => {
                line.push(verdict(study, case));
                line.extend(study.columns.iter().map(|column| value(case, column)));
            }
            Err(reason) => {
                line.push(format!("skipped: {}", prose(reason)));
                line.extend(vec![String::new(); study.columns.len()]);
            }
        }
        line
    };
    let rows: Vec<Vec<String>> = facts::rows(study).iter().map(row).collect();
    table_of(&head, 5, &rows)
}

/// What is not as it should be stands out.
fn verdict(study: &Study, case: &Case) -> String {
    let words = prose(&verdict_words(study, case));
    match Standing::of_case(case) {
        _ if has_left_out(case) => format!("❌ {words}"),
        Standing::Suspect | Standing::Invalid => format!("⚠️ {words}"),
        _ => words,
    }
}

fn none() -> String {
    NO_FIGURE.to_owned()
}

fn medians(study: &Study) -> String {
    let value = |case: &Case, column: &Column| shown_words(case, column).unwrap_or_else(none);
    let table = by_case(study, value);
    let what = if study.repeats > 1 { "Medians of" } else { "Figures of" };
    let words = [repeats_words(study), legend(&study.columns), verdict_legend(study)];
    let words = words.into_iter().chain(facts::marks(study)).filter(|words| !words.is_empty());
    let words: Vec<String> = words.map(|words| prose(&words)).collect();
    format!("## Results\n\n{table}\n{what} {}.\n", words.join(". "))
}

/// How far the repeats are apart, where there are several.
fn spread(study: &Study) -> String {
    let Some(confidence) = facts::confidence(study) else { return String::new() };
    let value = |case: &Case, column: &Column| interval_words(case, column).unwrap_or_else(none);
    let table = by_case(study, value);
    format!(
        "### Between repeats\n\n{table}\nWhere the true median lies, with at least {:.0} % \
         confidence whatever the shape of the noise.\n",
        (confidence * 100.0).floor()
    )
}

fn notes(study: &Study) -> String {
    let notes = notes::notes(study);
    if notes.is_empty() {
        return String::new();
    }
    let mut text = "### Notes\n\n".to_owned();
    for note in notes.iter().take(NOTES_SHOWN) {
        text += &note_words(note);
    }
    if let more @ 1.. = notes.len().saturating_sub(NOTES_SHOWN) {
        text += &format!("- and {more} more\n");
    }
    text
}

fn note_words(note: &Note<'_>) -> String {
    let sign = match note.weight {
        Weight::Failed => "❌ ",
        Weight::Doubt => "⚠️ ",
        Weight::Note => "",
    };
    let mut text = format!("- {sign}**{}**: {}\n", prose(&note.about), prose(&note.text));
    if let Some(log) = note.log.filter(|log| !log.trim().is_empty()) {
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
        text += "\n  The end of its log:\n\n";
        text +=
            &fenced(&last.join("\n")).lines().map(|line| format!("  {line}\n")).collect::<String>();
        text += "\n";
    }
    text
}

/// A table for each load: the servers against the baseline.
fn compared(study: &Study) -> String {
    let Some(baseline) = &study.baseline else { return String::new() };
    let measures = study.measures();
    let tables: Vec<String> = facts::loads(study)
        .map(|load| against(study, load, &measures))
        .filter(|table| !table.is_empty())
        .collect();
    if tables.is_empty() {
        return String::new();
    }
    format!(
        "## Compared with {}\n\n{}\n{}\n",
        prose(baseline),
        tables.join("\n"),
        prose(COMPARED_HOW)
    )
}

fn against(study: &Study, load: &LoadFacts, measures: &[Measure]) -> String {
    let headings: Vec<String> = measures.iter().map(|it| prose(&facts::name(*it))).collect();
    let mut head = vec!["Server"];
    head.extend(headings.iter().map(String::as_str));
    let cell = |case: &Case, measure: Measure| {
        let Some(comparison) = against_baseline(study, case, measure) else { return String::new() };
        let words = decision_words(measure, &comparison);
        let words = if words.starts_with("can't") { words } else { format!("**{words}**") };
        if comparison.reason == Some(Reason::NothingMeasured) {
            let is_in_doubt = is_in_doubt(study, case, measure);
            return if is_in_doubt { IN_DOUBT.to_owned() } else { String::new() };
        }
        format!("{} {words}", change_words(&comparison))
    };
    let rows: Vec<Vec<String>> = study
        .cases
        .iter()
        .filter(|case| case.load == load.name && !case.runs.is_empty())
        .filter(|case| Some(&case.server) != study.baseline.as_ref())
        .map(|case| {
            let cells = measures.iter().map(|measure| cell(case, *measure));
            std::iter::once(prose(&case.server)).chain(cells).collect()
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let unranked = unranked_words(study, &load.name);
    let unranked = unranked.map(|words| format!("\n{}.\n", prose(&words))).unwrap_or_default();
    let answers: String = facts::answers(study, &load.name)
        .map(|(server, answer)| format!("- **{}**: {}\n", prose(server), prose(&answer)))
        .collect();
    let gap = if answers.is_empty() { "" } else { "\n" };
    format!("### {}\n\n{answers}{gap}{}{unranked}", prose(&load.name), table_of(&head, 1, &rows))
}

/// What was measured by what: versions, commands, CPUs.
fn subjects(study: &Study) -> String {
    let optional = |text: &Option<String>| prose(text.as_deref().unwrap_or("–"));
    let server = |it: &plimsoll_core::study::ServerFacts| {
        vec![prose(&it.name), optional(&it.version), optional(&it.cpus), code(&it.command)]
    };
    let load = |it: &LoadFacts| {
        vec![
            prose(&it.name),
            prose(&facts::tester_words(it)),
            optional(&it.cpus),
            code(&it.command),
        ]
    };
    let servers: Vec<Vec<String>> = study.servers.iter().map(server).collect();
    let loads: Vec<Vec<String>> = study.loads.iter().map(load).collect();
    format!(
        "## Servers and loads\n\n{}\n{}",
        table_of(&["Server", "Version", "CPUs", "Command"], 4, &servers),
        table_of(&["Load", "Tester", "CPUs", "Command"], 4, &loads)
    )
}

fn environment(study: &Study) -> String {
    let pairs = crate::host::whole(&study.environment);
    let row = |(name, value): &(String, String)| vec![prose(name), prose(value)];
    let rows: Vec<Vec<String>> = pairs.iter().map(row).collect();
    format!(
        "## Environment\n\n<details><summary>The host in full</summary>\n\n{}\n</details>\n",
        table_of(&["", ""], 2, &rows)
    )
}

fn again(study: &Study) -> String {
    format!(
        "## Run it again\n\n```sh\n{}\n```\n\nwith the suite {}: {}. The commands above run a \
         server or a load by itself.\n",
        facts::again(study),
        code(&study.name),
        prose(&repeats_words(study))
    )
}
