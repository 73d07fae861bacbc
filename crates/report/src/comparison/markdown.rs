//! A comparison as Markdown, GitHub's kind: the limits, what is known by measure, how sure it is,
//! and for each case a table of every measure. A summary of a step has its title first.

use std::io::{self, Write};

use plimsoll_core::comparison::{CaseContrast, Contrast, Outcome, SideFacts};

use super::answer::{Answer, Verdict, confidence, judged_change, outcome_word, unlike};
use super::words::{HEAD, cells, row_word};
use super::{case_name, count_sentence, legend, side_words, title};
use crate::markdown::escape::{code, prose};

/// Writes the report.
///
/// # Errors
/// Those of `out`.
pub fn write(contrast: &Contrast, out: &mut dyn Write) -> io::Result<()> {
    write_blocks(&blocks(contrast), out)
}

/// Writes the report below a title, to be added to the summary of a step.
///
/// # Errors
/// Those of `out`.
pub fn write_summary(contrast: &Contrast, out: &mut dyn Write) -> io::Result<()> {
    let mut blocks = blocks(contrast);
    blocks.insert(0, vec![format!("### {}", prose(&title(contrast)))]);
    write_blocks(&blocks, out)?;
    // What is added next is a block of its own.
    writeln!(out)
}

fn write_blocks(blocks: &[Vec<String>], out: &mut dyn Write) -> io::Result<()> {
    let blocks: Vec<String> =
        blocks.iter().filter(|lines| !lines.is_empty()).map(|lines| lines.join("\n")).collect();
    writeln!(out, "{}", blocks.join("\n\n"))
}

fn blocks(contrast: &Contrast) -> Vec<Vec<String>> {
    let mut blocks = vec![verdict(contrast), answer(contrast)];
    if let [case] = contrast.cases.as_slice() {
        let confidence = Some(confidence(case, &contrast.settings)).filter(|it| !it.is_empty());
        blocks.push(confidence.iter().map(|text| prose(text)).collect());
    }
    blocks.push(unlike(contrast).map(|text| prose(&text)).collect());
    blocks.extend([limits(contrast), sides(contrast)]);
    for case in &contrast.cases {
        let name = case_name(&case.server, &case.load);
        if contrast.cases.len() > 1 {
            blocks.push(vec![format!("### {}", prose(&name))]);
            blocks.push(vec![answer_words(case)]);
        }
        blocks.push(case.notes.iter().map(|note| format!("- {}", prose(note))).collect());
        blocks.push(one(case));
    }
    let legend = legend(contrast).iter().map(|text| prose(text)).collect::<Vec<_>>().join(" ");
    blocks.push(vec![format!("<sub>{legend}</sub>")]);
    blocks
}

fn verdict(contrast: &Contrast) -> Vec<String> {
    let Some(verdict) = Verdict::of(contrast) else { return Vec::new() };
    let sign = outcome_sign(verdict.outcome);
    vec![format!("{sign} **{}**: {}", prose(&verdict.word), prose(&verdict.sentence))]
}

fn outcome_sign(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "✅",
        Outcome::Undecided => "⚠️",
        Outcome::Failed => "❌",
    }
}

fn answer(contrast: &Contrast) -> Vec<String> {
    vec![match contrast.cases.as_slice() {
        [] => "**NOTHING**: no case stands on both sides".to_owned(),
        [case] => answer_words(case),
        _ => format!("**{}**", prose(&count_sentence(contrast))),
    }]
}

fn answer_words(case: &CaseContrast) -> String {
    let answer = Answer::of(case);
    format!("**{}**: {}", answer.word, prose(&answer.sentence))
}

fn sides(contrast: &Contrast) -> Vec<String> {
    let line = |word: &str, side: &SideFacts| {
        let words = side_words(side);
        let rest: Vec<String> = words[1..].iter().map(|text| prose(text)).collect();
        format!("- {word}: {}, {}", code(&words[0]), rest.join(", "))
    };
    let mut lines = vec![line("base", &contrast.base), line("new", &contrast.new)];
    lines.extend(contrast.notes.iter().map(|note| format!("- {}", prose(note))));
    lines
}

fn limits(contrast: &Contrast) -> Vec<String> {
    if contrast.limits.len() < 2 {
        return Vec::new();
    }
    let rows = contrast.limits.iter().map(|judged| {
        format!(
            "| {} {} | {} | {} | {} | {} |",
            outcome_sign(judged.outcome),
            outcome_word(judged.outcome),
            code(&judged.expr),
            prose(&case_name(&judged.server, &judged.load)),
            judged_change(judged),
            judged.note.as_deref().map(prose).unwrap_or_default(),
        )
    });
    let head = ["| | limit | case | change | |", "|---|---|---|--:|---|"].map(str::to_owned);
    head.into_iter().chain(rows).collect()
}

fn one(case: &CaseContrast) -> Vec<String> {
    let mut lines = vec![
        format!("| measure | {} | |", HEAD.join(" | ")),
        "|---|--:|--:|--:|--:|--:|--:|---|".to_owned(),
    ];
    let decisive = case.failures().map(|it| it.measure);
    lines.extend(case.measures().into_iter().map(|it| {
        let word = row_word(it, decisive == Some(it.measure));
        let word = match word.as_str() {
            "" | "can't tell" | "the same" => word,
            _ if it.in_family => format!("**{word}**"),
            _ => word,
        };
        format!("| {} | {} | {word} |", it.measure, cells(it).join(" | "))
    }));
    lines
}
